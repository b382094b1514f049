//! Streaming by chunks. A player asks for one chunk after the other, each as soon as its buffer has room for it and the one before has
//! come, one request at a time. It starts to play when the buffer has as much as it wants to begin with, and plays as long as there is
//! something in the buffer. When the buffer is empty it stalls until there is as much again. [`Playback`] computes the result from nothing
//! but the times at which chunks came.
//!
//! Leaves out: the choice among several rates (a ladder), seeking, chunks of different sizes.

use super::requests::Requests;
use super::session::{links, sessions, Act, Application, Session, Side};
use super::site::MAX_RESPONSE;
use super::Site;
use crate::catalogue::{Entry, Kind, Parameter, Preset};
use crate::outbox::Outbox;
use crate::output::Transaction;
use crate::playback::{Playback, Player};
use crate::refusal::Flaws;
use crate::spec::StreamingSpec;
use crate::time::{Time, NEVER};

/// Entry in the catalogue.
pub const ENTRY: Entry = Entry::plain(
    "streaming",
    "streaming by chunks",
    "Players that ask for one chunk after the other, each as soon as there is room in the \
             buffer, and play the chunks.",
    &[
        Parameter::new(
            "direction",
            Kind::Choice(crate::spec::DIRECTIONS),
            "",
            "Direction of the requests; chunks go the other way. `src` is the player's host, `dst` the server's.",
        )
        .or(Preset::Word("forward"))
        .example("reverse"),
        Parameter::new("connections", Kind::Integer(""), "", "Number of connections. Each is a player of its own.")
            .or_number(1)
            .at_least(1)
            .at_most(100_000)
            .example("10"),
        Parameter::new("start", Kind::Start, "", "Time at which they are opened.").written_as("0s").example("5s"),
        Parameter::new("opens", Kind::Choice(&["client", "server"]), "tcp.opener", "The end that calls connect().")
            .or(Preset::Word("client"))
            .example("server"),
        Parameter::new(
            "bitrate",
            Kind::Rate,
            "",
            "Bitrate of the stream. There is one bitrate, and no ladder of several to choose from.",
        )
        .example("5mbit"),
        Parameter::new("chunk", Kind::Duration, "chunk_ns", "Playing time of a chunk; its size is that at `bitrate`.")
            .written_as("4s")
            .at_least(1)
            .example("2s"),
        Parameter::new(
            "buffer",
            Kind::Duration,
            "buffer_ns",
            "Size of a player's buffer, in playing time. The player asks for a chunk when there is room for it.",
        )
        .written_as("30s")
        .example("20s"),
        Parameter::new(
            "start_at",
            Kind::Duration,
            "start_at_ns",
            "Playing time that must be in the buffer before it plays, at first and after a stall; by \
             default a chunk.",
        )
        .or(Preset::Unset)
        .example("4s"),
        Parameter::new("request", Kind::Size, "request_bytes", "Size of the request for each chunk.")
            .written_as("300B")
            .within(1, MAX_RESPONSE as i64)
            .example("300B"),
        Parameter::optional_count("chunks", "count", "Number of chunks; by default there is no end.").example("100"),
    ],
);

/// A player and its server.
pub type Streaming = Session<Viewing>;

/// The behaviour of a viewer.
#[derive(Debug)]
pub struct Viewing {
    request_bytes: u64,
    chunk_bytes: u64,
    /// Most in the buffer, ns of playing time.
    buffer: Time,
    count: u64,
    requests: Requests,
    playback: Playback,
    /// Chunks so far.
    transactions: Vec<Transaction>,
}

/// The players of a workload.
pub fn build(spec: &StreamingSpec, site: &Site) -> Result<Vec<Streaming>, Flaws> {
    let (_, links) = Flaws::both(check(spec), links(&spec.tcp, site))?;
    let player = Player { chunk_ns: spec.chunk_ns, start_at_ns: spec.start_at_ns, chunks: spec.count };
    sessions(links, 1, &spec.tcp, site, |first| {
        Ok(Viewing {
            request_bytes: spec.request_bytes,
            chunk_bytes: spec.chunk_bytes,
            buffer: spec.buffer_ns,
            count: spec.count.unwrap_or(u64::MAX),
            requests: Requests::default(),
            playback: Playback::new(player, first.start_ns),
            transactions: vec![],
        })
    })
}

fn check(spec: &StreamingSpec) -> Result<(), Flaws> {
    let mut flaws = Flaws::default();
    flaws.at_least("chunk_ns", spec.chunk_ns, "ns", 1);
    flaws.range("chunk_bytes", spec.chunk_bytes, "bytes", 1..=MAX_RESPONSE);
    flaws.range("request_bytes", spec.request_bytes, "bytes", 1..=MAX_RESPONSE);
    flaws.at_least("count", spec.count.unwrap_or(1), "chunks", 1);
    let whole = spec.buffer_ns - spec.buffer_ns % spec.chunk_ns.max(1);
    flaws.range("start_at_ns", spec.start_at_ns, "ns", 1..=whole.max(1));
    flaws.at_least("buffer_ns", spec.buffer_ns, "ns", spec.chunk_ns);
    flaws.done()
}

impl Viewing {
    fn ask(&mut self, act: &mut Act<'_, impl Outbox>) {
        act.wake_at(NEVER);
        self.transactions.push(Transaction { start: act.now(), first_byte: None, end: None });
        self.requests.ask(0, self.request_bytes, self.chunk_bytes, act);
    }
}

impl Application for Viewing {
    fn on_connected(&mut self, _which: usize, act: &mut Act<'_, impl Outbox>) {
        self.ask(act);
    }

    fn on_read(&mut self, which: usize, side: Side, bytes: u64, act: &mut Act<'_, impl Outbox>) {
        let is_whole = self.requests.on_read(which, side, bytes, act);
        let Some(last) = self.transactions.last_mut().filter(|_| side == Side::From) else { return };
        last.first_byte.get_or_insert(act.now());
        if !is_whole {
            return;
        }
        last.end = Some(act.now());
        self.playback.add_chunk(act.now());
        if self.transactions.len() as u64 == self.count {
            return act.close();
        }
        let wait = self.playback.until_room(self.buffer);
        if wait == 0 {
            self.ask(act);
        } else {
            act.wake_at(act.now().saturating_add(wait));
        }
    }

    fn on_timer(&mut self, act: &mut Act<'_, impl Outbox>) {
        self.ask(act);
    }

    fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    fn completed(&self) -> Option<Time> {
        self.transactions.get(usize::try_from(self.count).ok()?.checked_sub(1)?)?.end
    }

    fn player(&self) -> Option<Player> {
        Some(self.playback.player())
    }
}
