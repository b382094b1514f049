//! Requests and responses over one connection: the client writes a request; the server, having read all of it, writes the response; after the
//! last byte the client thinks for a while and asks again.

use crate::outbox::Outbox;
use crate::packet::{flags, Packet};
use crate::spec::{ConnectionSpec, ExchangeSpec, Opener};
use crate::tcp::linux::two_way::{TwoWayEnd, SOURCES as END_SOURCES};
use crate::time::{Time, NEVER};

/// Event sources of an exchange: the client's, the server's, the application's.
pub const SOURCES: usize = 2 * END_SOURCES + 1;
const APPLICATION: usize = 2 * END_SOURCES;

/// A request and its response, as the client sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The request is written, ns.
    pub start: Time,
    /// The first byte of the response is read, ns.
    pub first_byte: Option<Time>,
    /// The last byte of the response is read, ns.
    pub end: Option<Time>,
}

/// An exchange, both ends.
#[derive(Debug)]
pub struct Exchange {
    /// Name in the results.
    pub name: String,
    /// The end that asks; its data take the first direction.
    pub client: TwoWayEnd,
    /// The end that answers.
    pub server: TwoWayEnd,
    source: usize,
    start: Time,
    stop: Time,
    client_opens: bool,
    request_bytes: u64,
    response_bytes: u64,
    count: u64,
    think: Time,
    /// The opener has called connect().
    opened: bool,
    /// Bytes of responses that the server has written.
    answered: u64,
    /// What has been asked for so far.
    pub transactions: Vec<Transaction>,
}

impl Exchange {
    /// An exchange that has not begun. Its events begin with `source`.
    #[must_use]
    pub fn new(
        spec: &ExchangeSpec,
        connection: &ConnectionSpec,
        source: usize,
        client: TwoWayEnd,
        server: TwoWayEnd,
        end: Time,
    ) -> Self {
        Self {
            name: connection.name.clone(),
            client,
            server,
            source,
            start: connection.start_ns,
            stop: connection.stop_ns.unwrap_or(NEVER).min(end),
            client_opens: spec.tcp.opener == Opener::From,
            request_bytes: spec.request_bytes,
            response_bytes: spec.response_bytes,
            count: spec.count,
            think: spec.think_ns,
            opened: false,
            answered: 0,
            transactions: vec![],
        }
    }

    /// Sets the time of the opener's connect().
    pub fn schedule(&self, out: &mut impl Outbox) {
        self.wake_at(self.start, out);
    }

    fn wake_at(&self, at: Time, out: &mut impl Outbox) {
        out.set_timer(self.source + APPLICATION, at.min(self.stop));
    }

    /// The event of timer `which` came.
    pub fn on_timer(&mut self, which: usize, out: &mut impl Outbox) {
        if which < END_SOURCES {
            self.client.on_timer(which, out);
        } else if which < APPLICATION {
            self.server.on_timer(which - END_SOURCES, out);
        } else if out.now() >= self.stop {
            self.client.abort(out);
            self.server.abort(out);
            out.set_timer(self.source + APPLICATION, NEVER);
        } else if self.opened {
            self.ask(out);
        } else {
            self.opened = true;
            self.wake_at(NEVER, out);
            if self.client_opens {
                self.client.open(out);
            } else {
                self.server.open(out);
            }
        }
    }

    /// A packet has reached its end.
    pub fn on_packet(&mut self, p: &Packet, out: &mut impl Outbox) {
        if p.has(flags::ACK) {
            self.on_packet_of_server(p, out);
        } else {
            let read = self.server.on_packet(p, out);
            let due = read / self.request_bytes * self.response_bytes;
            if due > self.answered {
                self.server.write(due - self.answered, out);
                self.answered = due;
            }
        }
    }

    fn on_packet_of_server(&mut self, p: &Packet, out: &mut impl Outbox) {
        let was_established = self.client.is_established();
        let read = self.client.on_packet(p, out);
        if !was_established && self.client.is_established() {
            self.ask(out);
        }
        let finished = (self.transactions.len() as u64).saturating_sub(1) * self.response_bytes;
        let Some(last) = self.transactions.last_mut().filter(|last| read > finished && last.end.is_none()) else {
            return;
        };
        last.first_byte.get_or_insert(out.now());
        if read < finished + self.response_bytes {
            return;
        }
        last.end = Some(out.now());
        if self.transactions.len() as u64 == self.count {
            return;
        }
        if self.think == 0 {
            self.ask(out);
        } else {
            self.wake_at(out.now().saturating_add(self.think), out);
        }
    }

    fn ask(&mut self, out: &mut impl Outbox) {
        self.wake_at(NEVER, out);
        self.transactions.push(Transaction { start: out.now(), first_byte: None, end: None });
        self.client.write(self.request_bytes, out);
    }
}
