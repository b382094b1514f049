//! Pages of many objects over the connections of a browser: each connection carries one request at a time, and the next object goes to
//! whichever is idle first (HTTP/1.1: RFC 9112 section 9.3 and 9.4, no pipelining). A first object, if there is one, comes before the others
//! are asked for. After the last byte of the last object the browser thinks for a while and asks for the next page.
//!
//! Leaves out: connections that are opened as they are needed (all are opened at the start and stay open), streams that share a connection
//! (HTTP/2), objects that lead to further ones.

use super::amount::{check_size, Amount};
use super::requests::Requests;
use super::session::{links, sessions, Act, Application, Session, Side};
use super::site::MAX_RESPONSE;
use super::Site;
use crate::catalogue::{Entry, Kind, Parameter, Preset};
use crate::draw::Distribution;
use crate::outbox::Outbox;
use crate::output::Transaction;
use crate::refusal::Flaws;
use crate::spec::PageSpec;
use crate::time::{Time, NEVER};

/// Entry in the catalogue.
pub const ENTRY: Entry = Entry::plain(
    "page",
    "pages of many objects",
    "Pages that a browser loads: many objects over several connections, each of which carries \
             one request at a time (HTTP/1.1 with persistent connections).",
    &[
        Parameter::new(
            "direction",
            Kind::Choice(crate::spec::DIRECTIONS),
            "",
            "Direction of the requests; objects go the other way. `src` is the browser's host, `dst` the \
             server's.",
        )
        .or(Preset::Word("forward"))
        .example("reverse"),
        Parameter::new("clients", Kind::Integer(""), "", "Browsers, each with connections of its own.")
            .or_number(1)
            .at_least(1)
            .at_most(10_000)
            .example("10"),
        Parameter::new(
            "start",
            Kind::Start,
            "",
            "Time at which a browser opens its connections and begins with its first page.",
        )
        .written_as("0s")
        .example("5s"),
        Parameter::new("opens", Kind::Choice(&["client", "server"]), "tcp.opener", "The end that calls connect().")
            .or(Preset::Word("client"))
            .example("server"),
        Parameter::new(
            "connections",
            Kind::Integer(""),
            "connections_each",
            "Connections of a browser. It opens all at the start and keeps them open.",
        )
        .or_number(6)
        .at_least(1)
        .at_most(100)
        .example("10"),
        Parameter::new("objects", Kind::Integer(""), "objects", "Objects of a page, without the first.")
            .or_number(50)
            .at_least(1)
            .at_most(1_000_000)
            .example("20"),
        Parameter::new("size", Kind::DrawnSize, "size_bytes", "Size of each object.")
            .within(1, MAX_RESPONSE as i64)
            .example("15kB"),
        Parameter::new(
            "first",
            Kind::DrawnSize,
            "first_bytes",
            "Size of an object that must arrive before the browser asks for the others; by default there \
             is none.",
        )
        .or(Preset::Unset)
        .within(1, MAX_RESPONSE as i64)
        .example("30kB"),
        Parameter::new("request", Kind::DrawnSize, "request_bytes", "Size of the request for each object.")
            .written_as("300B")
            .within(1, MAX_RESPONSE as i64)
            .example("300B"),
        Parameter::new(
            "think",
            Kind::DrawnDuration,
            "think_ns",
            "Time from the last byte of a page to the request for the next.",
        )
        .written_as("0s")
        .example("1s"),
        Parameter::optional_count("pages", "count", "Pages of each browser; by default as many as there is time for.")
            .example("10"),
    ],
);

/// A browser with its connections, and the server.
pub type Page = Session<Browser>;

/// A connection as the browser knows it.
#[derive(Clone, Debug, Default)]
struct Lane {
    requests: Requests,
    connected: bool,
    /// An object is under way.
    busy: bool,
}

/// The behaviour of a browser.
#[derive(Debug)]
pub struct Browser {
    lanes: Vec<Lane>,
    request: Amount,
    objects: u64,
    size: Amount,
    first: Option<Amount>,
    think: Amount,
    count: u64,
    /// The first object of this page has not been read whole.
    waits_for_first: bool,
    /// Objects of this page that nobody has asked for yet.
    left: u64,
    /// Pages so far.
    transactions: Vec<Transaction>,
}

/// The browsers of a workload.
pub fn build(spec: &PageSpec, site: &Site) -> Result<Vec<Page>, Flaws> {
    let (_, links) = Flaws::both(check(spec), links(&spec.tcp, site))?;
    let each = spec.connections_each as usize;
    sessions(links, each, &spec.tcp, site, |first| {
        let amount = |spec, what| Amount::build(spec, site.network.seed, &first.name, what);
        Ok(Browser {
            lanes: vec![Lane::default(); each],
            request: amount(&spec.request_bytes, "request")?,
            objects: spec.objects,
            size: amount(&spec.size_bytes, "size")?,
            first: spec.first_bytes.as_ref().map(|spec| amount(spec, "first")).transpose()?,
            think: amount(&spec.think_ns, "think")?,
            count: spec.count.unwrap_or(u64::MAX),
            waits_for_first: false,
            left: 0,
            transactions: vec![],
        })
    })
}

fn check(spec: &PageSpec) -> Result<(), Flaws> {
    let mut flaws = Flaws::default();
    let (each, all) = (spec.connections_each as usize, spec.tcp.connections.len());
    if each == 0 || !all.is_multiple_of(each) {
        flaws.add("connections_each", format_args!("{each} of {all} connections"), "the same number for each browser");
    }
    let first = spec.first_bytes.as_ref().map_or(Ok(()), |first| check_size("first_bytes", first, MAX_RESPONSE));
    let sizes = [("size_bytes", &spec.size_bytes), ("request_bytes", &spec.request_bytes)];
    let [size, request] = sizes.map(|(field, size)| check_size(field, size, MAX_RESPONSE));
    let think = Flaws::within("think_ns", Distribution::build(&spec.think_ns).map(|_| ()));
    let amounts = Flaws::both(Flaws::both(first, size), Flaws::both(request, think));
    flaws.at_least("objects", spec.objects, "objects", 1);
    flaws.at_least("count", spec.count.unwrap_or(1), "pages", 1);
    flaws.and(amounts).map(|_| ())
}

impl Browser {
    fn begin_page(&mut self, act: &mut Act<'_, impl Outbox>) {
        self.waits_for_first = self.first.is_some();
        self.left = self.objects;
        self.transactions.push(Transaction { start: act.now(), first_byte: None, end: None });
        self.ask_where_idle(act);
    }

    /// Asks for the next objects over every connection that has nothing to do, in order.
    fn ask_where_idle(&mut self, act: &mut Act<'_, impl Outbox>) {
        for which in 0..self.lanes.len() {
            if !self.lanes[which].connected || self.lanes[which].busy {
                continue;
            }
            let size = match &mut self.first {
                Some(first) if self.waits_for_first => {
                    if self.lanes.iter().any(|lane| lane.busy) {
                        return;
                    }
                    first.size()
                }
                _ if self.left == 0 => return,
                _ => {
                    self.left -= 1;
                    self.size.size()
                }
            };
            self.lanes[which].busy = true;
            self.lanes[which].requests.ask(which, self.request.size(), size, act);
        }
    }
}

impl Application for Browser {
    fn on_start(&mut self, act: &mut Act<'_, impl Outbox>) {
        self.begin_page(act);
    }

    fn on_connected(&mut self, which: usize, act: &mut Act<'_, impl Outbox>) {
        self.lanes[which].connected = true;
        self.ask_where_idle(act);
    }

    fn on_read(&mut self, which: usize, side: Side, bytes: u64, act: &mut Act<'_, impl Outbox>) {
        let is_whole = self.lanes[which].requests.on_read(which, side, bytes, act);
        let Some(page) = self.transactions.last_mut().filter(|_| side == Side::From) else { return };
        page.first_byte.get_or_insert(act.now());
        if !is_whole {
            return;
        }
        self.lanes[which].busy = false;
        self.waits_for_first = false;
        if self.left > 0 {
            return self.ask_where_idle(act);
        }
        if self.lanes.iter().any(|lane| lane.busy) {
            return;
        }
        page.end = Some(act.now());
        if self.transactions.len() as u64 == self.count {
            return act.close();
        }
        match self.think.time() {
            0 => self.begin_page(act),
            think => act.wake_at(act.now().saturating_add(think)),
        }
    }

    fn on_timer(&mut self, act: &mut Act<'_, impl Outbox>) {
        act.wake_at(NEVER);
        self.begin_page(act);
    }

    fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    fn completed(&self) -> Option<Time> {
        self.transactions.get(usize::try_from(self.count).ok()?.checked_sub(1)?)?.end
    }
}
