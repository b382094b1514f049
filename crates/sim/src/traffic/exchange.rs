//! Requests and responses over one connection: the client writes a request; the server, having read all of it, writes the response; after the
//! last byte the client thinks for a while and asks again. After the last response the client closes, and then the server.

use super::amount::{check_size, Amount};
use super::requests::Requests;
use super::session::{links, sessions, Act, Application, Session, Side};
use super::site::MOST_SEGMENTS;
use super::Site;
use crate::catalogue::{Entry, Kind, Parameter, Preset};
use crate::draw::Distribution;
use crate::outbox::Outbox;
use crate::output::Transaction;
use crate::refusal::Flaws;
use crate::spec::ExchangeSpec;
use crate::time::{Time, NEVER};

/// Entry in the catalogue.
pub const ENTRY: Entry = Entry::plain(
    "exchange",
    "requests and responses",
    "Requests and responses over TCP connections that stay open: the client asks, the server \
             answers once it has read the whole request, and the client asks again after a time of \
             thinking.",
    &[
        Parameter::new(
            "direction",
            Kind::Choice(crate::spec::DIRECTIONS),
            "",
            "Direction of the requests; responses go the other way. `src` is the client's host, `dst` \
             the server's.",
        )
        .or(Preset::Word("forward"))
        .example("reverse"),
        Parameter::new("connections", Kind::Integer(""), "", "Number of connections. Each is a client of its own.")
            .or_number(1)
            .at_least(1)
            .at_most(100_000)
            .example("10"),
        Parameter::new("start", Kind::Start, "", "Time at which they are opened.").written_as("0s").example("5s"),
        Parameter::new(
            "opens",
            Kind::Choice(&["client", "server"]),
            "tcp.opener",
            "The end that calls connect(). In either case the client asks first.",
        )
        .or(Preset::Word("client"))
        .example("server"),
        Parameter::new("request", Kind::DrawnSize, "request_bytes", "Size of a request.").example("300B"),
        Parameter::new("response", Kind::DrawnSize, "response_bytes", "Size of a response.").example("15kB"),
        Parameter::optional_count(
            "count",
            "count",
            "Requests over each connection; by default as many as there is time for.",
        )
        .example("100"),
        Parameter::new(
            "think",
            Kind::DrawnDuration,
            "think_ns",
            "Time from the last byte of a response to the next request.",
        )
        .written_as("0s")
        .example("1s"),
    ],
);

/// An exchange, both ends.
pub type Exchange = Session<Asking>;

/// The behaviour of a client.
#[derive(Debug)]
pub struct Asking {
    request: Amount,
    response: Amount,
    count: u64,
    think: Amount,
    requests: Requests,
    /// Transactions requested so far.
    transactions: Vec<Transaction>,
}

/// The exchanges of a workload.
pub fn build(spec: &ExchangeSpec, site: &Site) -> Result<Vec<Exchange>, Flaws> {
    let (_, links) = Flaws::both(check_sizes(spec), links(&spec.tcp, site))?;
    sessions(links, 1, &spec.tcp, site, |first| {
        let amount = |spec, what| Amount::build(spec, site.network.seed, &first.name, what);
        Ok(Asking {
            request: amount(&spec.request_bytes, "request")?,
            response: amount(&spec.response_bytes, "response")?,
            count: spec.count,
            think: amount(&spec.think_ns, "think")?,
            requests: Requests::default(),
            transactions: vec![],
        })
    })
}

/// Refuses requests and responses without a byte, and more in all than sequence numbers count.
fn check_sizes(spec: &ExchangeSpec) -> Result<(), Flaws> {
    let mut flaws = Flaws::default();
    flaws.at_least("count", spec.count, "requests", 1);
    let most = (MOST_SEGMENTS / spec.count.max(1)).saturating_mul(u64::from(spec.tcp.segment_bytes));
    let sizes = [("request_bytes", &spec.request_bytes), ("response_bytes", &spec.response_bytes)];
    let [request, response] = sizes.map(|(field, size)| check_size(field, size, most));
    let think = Flaws::within("think_ns", Distribution::build(&spec.think_ns).map(|_| ()));
    flaws.and(Flaws::both(Flaws::both(request, response), think)).map(|_| ())
}

impl Asking {
    fn ask(&mut self, act: &mut Act<'_, impl Outbox>) {
        act.wake_at(NEVER);
        self.transactions.push(Transaction { start: act.now(), first_byte: None, end: None });
        self.requests.ask(0, self.request.size(), self.response.size(), act);
    }
}

impl Application for Asking {
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
        if self.transactions.len() as u64 == self.count {
            return act.close();
        }
        match self.think.time() {
            0 => self.ask(act),
            think => act.wake_at(act.now().saturating_add(think)),
        }
    }

    fn on_timer(&mut self, act: &mut Act<'_, impl Outbox>) {
        self.ask(act);
    }

    fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    fn completed(&self) -> Option<Time> {
        self.transactions.get(self.count as usize - 1)?.end
    }
}
