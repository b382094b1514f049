//! A source with a rate of its own: the application produces data in writes of one size at a regular pace, always or in periods with pauses
//! between. Data that the connection cannot take waits in the application and is late; the source does not slow down.

use std::collections::VecDeque;

use super::amount::{check_size, Amount};
use super::session::{links, sessions, Act, Application, Session, Side};
use super::site::{MAX_RESPONSE, MOST_SEGMENTS};
use super::Site;
use crate::catalogue::{Entry, Kind, Parameter, Preset};
use crate::draw::Distribution;
use crate::outbox::Outbox;
use crate::output::Transaction;
use crate::refusal::Flaws;
use crate::spec::{DistributionSpec, OnOffSpec, PeriodSpec};
use crate::time::{Time, NEVER};

/// Entry in the catalogue.
pub const ENTRY: Entry = Entry::plain(
    "onoff",
    "a source with a rate of its own",
    "TCP whose application limits it: it produces data at a rate, always or in periods with \
             pauses between. The network does not change the rate.",
    &[
        Parameter::new(
            "direction",
            Kind::Choice(crate::spec::DIRECTIONS),
            "",
            "Direction of the data. `src` is the source's host.",
        )
        .or(Preset::Word("forward"))
        .example("reverse"),
        Parameter::new("connections", Kind::Integer(""), "", "Number of connections. Each is a source of its own.")
            .or_number(1)
            .at_least(1)
            .at_most(100_000)
            .example("10"),
        Parameter::new("start", Kind::Start, "", "Time at which they are opened; they produce the first data then.")
            .written_as("0s")
            .example("5s"),
        Parameter::new("opens", Kind::Choice(&["sender", "receiver"]), "tcp.opener", "The end that calls connect().")
            .or(Preset::Word("sender"))
            .example("receiver"),
        Parameter::new(
            "rate",
            Kind::Rate,
            "",
            "Rate of the payload while it is on. Without a rate a whole `burst` is written at once.",
        )
        .or(Preset::Unset)
        .example("1mbit"),
        Parameter::new("write", Kind::Size, "write_bytes", "Size of a write. A write is due every `write` / `rate`.")
            .written_as("10kB")
            .at_least(1)
            .example("1448B"),
        Parameter::new("on", Kind::DrawnDuration, "", "Length of each time that it is on; by default it is always on.")
            .or(Preset::Unset)
            .example("2s"),
        Parameter::new(
            "burst",
            Kind::DrawnSize,
            "",
            "Bytes that it produces each time that it is on, in place of `on`.",
        )
        .or(Preset::Unset)
        .example("100kB"),
        Parameter::new("off", Kind::DrawnDuration, "off_ns", "Pause from the end of one such time to the next.")
            .written_as("0s")
            .example("1s"),
    ],
);

/// Least time between two bursts, ns.
const LEAST_PAUSE: Time = 1000;

/// Most full segments that a source produces: sequence numbers end some time after it.
const MOST_PRODUCED: u64 = MOST_SEGMENTS / 4;

/// A source and the reader of its data.
pub type OnOff = Session<Source>;

/// The behaviour of a source.
#[derive(Debug)]
pub struct Source {
    segment_bytes: u64,
    write_bytes: u64,
    interval: Time,
    period: Option<Period>,
    off: Amount,
    /// The `from` end is connected.
    connected: bool,
    /// Produced before that, bytes.
    kept: u64,
    /// Rest of this period, and the times of the next write and of the next period. Without periods nothing ends.
    left: Left,
    next_write: Time,
    /// Produced so far, bytes, and of the writes that were not read yet where they end.
    produced: u64,
    unread: VecDeque<u64>,
    transactions: Vec<Transaction>,
}

/// Length of the periods.
#[derive(Clone, Debug)]
enum Period {
    Time(Amount),
    Bytes(Amount),
}

/// Rest of a period.
#[derive(Clone, Copy, Debug)]
enum Left {
    /// For ever.
    All,
    /// Until then.
    Until(Time),
    /// So many bytes.
    Bytes(u64),
}

/// The sources of a workload.
pub fn build(spec: &OnOffSpec, site: &Site) -> Result<Vec<OnOff>, Flaws> {
    let (_, links) = Flaws::both(check(spec, site.network.duration_ns), links(&spec.tcp, site))?;
    sessions(links, 1, &spec.tcp, site, |first| {
        let amount = |spec, what| Amount::build(spec, site.network.seed, &first.name, what);
        let period = match &spec.on {
            Some(PeriodSpec::Time { ns }) => Some(Period::Time(amount(ns, "on")?)),
            Some(PeriodSpec::Bytes { bytes }) => Some(Period::Bytes(amount(bytes, "burst")?)),
            None => None,
        };
        Ok(Source {
            segment_bytes: spec.tcp.segment_bytes.max(1).into(),
            write_bytes: spec.write_bytes,
            interval: spec.interval_ns,
            period,
            off: amount(&spec.off_ns, "off")?,
            connected: false,
            kept: 0,
            left: Left::All,
            next_write: 0,
            produced: 0,
            unread: VecDeque::new(),
            transactions: vec![],
        })
    })
}

/// Check a source. Errors are writes of nothing, endless writes at one time, and more bytes in a run than sequence numbers count.
fn check(spec: &OnOffSpec, duration: Time) -> Result<(), Flaws> {
    let mut flaws = Flaws::default();
    flaws.at_least("write_bytes", spec.write_bytes, "bytes", 1);
    let on = match &spec.on {
        Some(PeriodSpec::Bytes { bytes }) => check_size("on.bytes", bytes, MAX_RESPONSE),
        Some(PeriodSpec::Time { ns }) => {
            if *ns == DistributionSpec::Fixed(0) {
                flaws.add("on.ns", "0 ns", "at least 1");
            }
            Flaws::within("on.ns", Distribution::build(ns).map(|_| ()))
        }
        None => Ok(()),
    };
    let bursts = matches!(spec.on, Some(PeriodSpec::Bytes { .. })) && spec.off_ns != DistributionSpec::Fixed(0);
    if spec.interval_ns == 0 && !bursts {
        flaws.add("interval_ns", "0 ns", "at least 1, or periods of a size with a time between");
    }
    let off = Flaws::within("off_ns", Distribution::build(&spec.off_ns).map(|_| ()));
    flaws.and(Flaws::both(on, off))?;
    let (bytes, interval) = match (&spec.on, &spec.off_ns) {
        (Some(PeriodSpec::Bytes { bytes: DistributionSpec::Fixed(bytes) }), DistributionSpec::Fixed(off))
            if spec.interval_ns == 0 =>
        {
            (*bytes, *off)
        }
        _ => (spec.write_bytes, spec.interval_ns.max(LEAST_PAUSE)),
    };
    let most = (MOST_SEGMENTS / (duration / interval + 1)).saturating_mul(u64::from(spec.tcp.segment_bytes));
    let mut flaws = Flaws::default();
    flaws.at_most("write_bytes", bytes, "bytes as often as that", most);
    flaws.done()
}

impl Source {
    fn begin_period(&mut self, at: Time) {
        self.next_write = at;
        self.left = match &mut self.period {
            None => Left::All,
            Some(Period::Time(time)) => Left::Until(at.saturating_add(time.time())),
            Some(Period::Bytes(bytes)) => Left::Bytes(bytes.size()),
        };
    }

    /// Produce the data that are due now, and plan the next event.
    fn produce(&mut self, act: &mut Act<'_, impl Outbox>) {
        let mut bytes = self.write_bytes;
        if let Left::Bytes(left) = &mut self.left {
            bytes = if self.interval == 0 { *left } else { bytes.min(*left) };
            *left -= bytes;
        }
        if (self.produced + bytes) / self.segment_bytes > MOST_PRODUCED {
            return act.wake_at(NEVER);
        }
        self.produced += bytes;
        self.unread.push_back(self.produced);
        self.transactions.push(Transaction { start: act.now(), first_byte: None, end: None });
        if self.connected {
            act.write(0, Side::From, bytes);
        } else {
            self.kept += bytes;
        }
        self.next_write = self.next_write.saturating_add(self.interval);
        let period_ends = match self.left {
            Left::All => None,
            Left::Until(end) => (self.next_write >= end).then_some(end),
            Left::Bytes(left) => (left == 0).then_some(self.next_write),
        };
        if let Some(end) = period_ends {
            // Bursts that are drawn with no time between would never let time pass.
            let least = if self.interval == 0 { LEAST_PAUSE } else { 0 };
            let off = self.off.time().max(least);
            self.begin_period(end.saturating_add(off));
        }
        act.wake_at(self.next_write);
    }
}

impl Application for Source {
    const SOURCE: Side = Side::From;

    fn on_start(&mut self, act: &mut Act<'_, impl Outbox>) {
        self.begin_period(act.now());
        self.produce(act);
    }

    fn on_connected(&mut self, _which: usize, act: &mut Act<'_, impl Outbox>) {
        self.connected = true;
        act.write(0, Side::From, std::mem::take(&mut self.kept));
    }

    fn on_read(&mut self, _which: usize, _side: Side, bytes: u64, act: &mut Act<'_, impl Outbox>) {
        let mut late = self.transactions.len() - self.unread.len();
        while self.unread.front().is_some_and(|&end| end <= bytes) {
            self.unread.pop_front();
            self.transactions[late].end = Some(act.now());
            late += 1;
        }
    }

    fn on_timer(&mut self, act: &mut Act<'_, impl Outbox>) {
        self.produce(act);
    }

    fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }
}
