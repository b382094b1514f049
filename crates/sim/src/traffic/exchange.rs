//! Requests and responses over one connection: the client writes a request; the server, having read all of it, writes the response; after the
//! last byte the client thinks for a while and asks again. After the last response the client closes, and then the server.

use super::bulk::control;
use super::site::{can_be_made, check_ends, MOST_SEGMENTS};
use super::{Exchanged, Site, Traffic};
use crate::attachment::Attachment;
use crate::capture::FlowHeaders;
use crate::network::FlowDrops;
use crate::outbox::Outbox;
use crate::output::Transaction;
use crate::packet::{flags, FlowTuple, Packet};
use crate::probe::{flow_row, FlowRow, GroupTotals, Limits, Volume};
use crate::refusal::Flaws;
use crate::spec::{ConnectionSpec, Direction, ExchangeSpec, Heading, Opener};
use crate::tcp::implementation::Implementation;
use crate::tcp::linux::sender::LimitedTimes;
use crate::tcp::linux::stack::Stack;
use crate::tcp::linux::two_way::{TwoWayEnd, SOURCES as END_SOURCES};
use crate::time::{Time, NEVER};

/// The application's event source, after the client's and the server's.
const APPLICATION: usize = 2 * END_SOURCES;

/// An exchange, both ends.
#[derive(Debug)]
pub struct Exchange {
    name: String,
    /// The end that asks; its data take the first direction.
    client: TwoWayEnd,
    /// The end that answers.
    server: TwoWayEnd,
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
    transactions: Vec<Transaction>,
    /// For how long what limited the server, when it closed.
    limits: Option<LimitedTimes>,
}

/// The exchanges of a workload.
pub fn build(spec: &ExchangeSpec, site: &Site) -> Result<Vec<Exchange>, Flaws> {
    let (mut flaws, tcp) = (Flaws::default(), &spec.tcp);
    for (field, given) in
        [("transfer_bytes", tcp.transfer_bytes), ("first_write_bytes", tcp.first_write_bytes.map(u64::from))]
    {
        if let Some(bytes) = given {
            flaws.add(field, format_args!("{bytes} bytes"), "none beside requests and responses");
        }
    }
    if let Some(bps) = tcp.host.reads_bps {
        flaws.add("host.reads_bps", format_args!("{bps} bit/s"), "none beside requests and responses");
    }
    if tcp.host.tso {
        flaws.add("host.tso", true, false);
    }
    check_ends(tcp, site.network.mtu_bytes, &mut flaws);
    let stack = Flaws::within("stack", Implementation::from_spec(&tcp.stack)).and_then(|stack| match stack {
        Implementation::Linux(stack) => Ok(stack),
        Implementation::Bsd(_) => Err(Flaws::one("stack.name", &tcp.stack.name, "a stack of Linux")),
    });
    let end = |stack: &Stack, index: u32, source: usize, first: bool| -> Result<TwoWayEnd, Flaws> {
        can_be_made(tcp)?;
        let opens = first == (tcp.opener == Opener::From);
        let (cc, needs) = control(tcp, stack, site.controls)?;
        Ok(TwoWayEnd::new(index, source, tcp, stack, cc, needs, first, opens))
    };
    let exchange = |stack: &Stack, connection: &ConnectionSpec, i: usize| {
        let (index, source) = (site.index + i as u32, site.source + Exchange::SOURCES * i);
        let client = end(stack, index, source, true)?;
        let server = end(stack, index, source + END_SOURCES, false)?;
        Ok(Exchange::new(spec, connection, source, client, server, site.network.duration_ns))
    };
    let made =
        stack.and_then(|stack| tcp.connections.iter().zip(0..).map(|(each, i)| exchange(&stack, each, i)).collect());
    let made = flaws.and(Flaws::both(site.check(Heading::from(tcp)), made));
    let made = Flaws::within("tcp", made.map(|((), exchanges)| exchanges));
    Flaws::both(check_sizes(spec), made).map(|((), exchanges)| exchanges)
}

/// Refuses requests and responses without a byte, and more in all than sequence numbers count.
fn check_sizes(spec: &ExchangeSpec) -> Result<(), Flaws> {
    let mut flaws = Flaws::default();
    flaws.at_least("count", spec.count, "requests", 1);
    for (field, bytes) in [("request_bytes", spec.request_bytes), ("response_bytes", spec.response_bytes)] {
        let most = (MOST_SEGMENTS / spec.count.max(1)).saturating_mul(u64::from(spec.tcp.segment_bytes));
        flaws.range(field, bytes, "bytes", 1..=most);
    }
    flaws.done()
}

impl Exchange {
    /// An exchange that has not begun. Its events begin with `source`.
    fn new(
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
            limits: None,
        }
    }

    /// When the last byte of the last response was read.
    fn completed(&self) -> Option<Time> {
        self.transactions.get(self.count as usize - 1)?.end
    }

    fn wake_at(&self, at: Time, out: &mut impl Outbox) {
        out.set_timer(self.source + APPLICATION, at.min(self.stop));
    }

    /// The end that sends such packets.
    fn sender_of(&mut self, p: &Packet) -> &mut TwoWayEnd {
        if p.has(flags::ACK) {
            &mut self.server
        } else {
            &mut self.client
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
            return self.client.close(out);
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

impl Traffic for Exchange {
    const SOURCES: usize = APPLICATION + 1;
    const HAS_GROUP: bool = true;

    fn name(&self) -> &str {
        &self.name
    }

    /// Sets the time of the opener's connect().
    fn schedule(&self, out: &mut impl Outbox) {
        self.wake_at(self.start, out);
    }

    fn on_timer(&mut self, which: usize, out: &mut impl Outbox) {
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

    fn on_packet(&mut self, p: &Packet, out: &mut impl Outbox) {
        if p.has(flags::ACK) {
            self.on_packet_of_server(p, out);
        } else {
            let read = self.server.on_packet(p, out);
            let due = read / self.request_bytes * self.response_bytes;
            if due > self.answered {
                self.server.write(due - self.answered, out);
                self.answered = due;
            }
            if self.server.is_to_close() {
                self.limits = Some(self.server.sender().limited_times(out.now()));
                self.server.close(out);
            }
        }
    }

    fn on_hosts_with_queues(&mut self, [client, server]: [bool; 2]) {
        self.client.on_host_with_queue(client);
        self.server.on_host_with_queue(server);
    }

    fn on_left_host(&mut self, p: &Packet, attachment: &Attachment) -> bool {
        self.sender_of(p).on_left_host(p, attachment)
    }

    fn on_room_in_host(&mut self, p: &Packet, out: &mut impl Outbox) {
        self.sender_of(p).on_room_in_host(out);
    }

    fn exchanged(&self) -> Exchanged {
        let (client, server) = (self.client.counters(), self.server.counters());
        Exchanged { sent: client.sent, arrived: server.arrived, sent_back: server.sent, arrived_back: client.arrived }
    }

    /// Numbers of both directions together, but for packets: what the client sent stands with the data, what the server sent with the ACKs.
    fn row(&self, drops: &FlowDrops, inside: (u64, u64), end: Time) -> FlowRow {
        let ends = [&self.client, &self.server];
        let both = |count: fn(&TwoWayEnd) -> u64| ends.into_iter().map(count).sum::<u64>();
        let (Exchanged { sent, arrived, sent_back, arrived_back }, view) =
            (self.exchanged(), &self.client.sender().view);
        let ms = |us: u32, factor: f64, unknown: u32| if us == unknown { f64::NAN } else { f64::from(us) / factor };
        let ended = self.completed().unwrap_or(self.stop).min(end).max(self.start);
        let until_stop = || self.server.sender().limited_times(self.stop.min(end));
        let limits = Limits::of(Some(self.limits.unwrap_or_else(until_stop)), ended - self.start);
        flow_row! {
            "start_ns": self.start,
            "end_ns": ended,
            "completed_ns": self.completed().map_or(f64::NAN, |t| t as f64),
            "rx_bytes": both(|end| end.receiver().bytes_read()),
            "sent_packets": sent,
            "arrived_packets": arrived,
            "duplicate_packets": both(|end| end.receiver().counters().duplicates),
            "dropped_packets": drops.data,
            "in_flight_packets": inside.0,
            "retransmits": both(|end| end.sender().counters.retransmits),
            "cwnd_limited_ms": limits.cwnd_ms,
            "rwnd_limited_ms": limits.rwnd_ms,
            "sndbuf_limited_ms": limits.sndbuf_ms,
            "app_limited_ms": limits.app_ms,
            "acks_sent": sent_back,
            "acks_arrived": arrived_back,
            "acks_dropped": drops.acks,
            "acks_in_flight": inside.1,
            "delivered": both(|end| end.sender().view.delivered.into()),
            "delivered_ce": both(|end| end.sender().view.delivered_ce.into()),
            "ce_arrived": both(|end| end.receiver().counters().ce),
            "sce_arrived": both(|end| end.receiver().counters().sce),
            "cwnd_reductions": both(|end| end.sender().counters.cwnd_reductions),
            "rto_timeouts": both(|end| end.sender().counters.rto_timeouts),
            "tlp_probes": both(|end| end.sender().counters.tlp_probes),
            "undos": both(|end| end.sender().counters.undos),
            "min_rtt_ms": ms(view.min_rtt_us, 1e3, u32::MAX),
            "srtt_ms": ms(view.srtt_us8, 8e3, 0),
        }
    }

    fn count(&self, totals: &mut GroupTotals) {
        let ends = [&self.client, &self.server];
        let both = |count: fn(&TwoWayEnd) -> u64| ends.into_iter().map(count).sum();
        if self.opened {
            totals.begin();
        }
        let volume = Volume {
            rx_bytes: both(|end| end.receiver().bytes_read()),
            sent: both(|end| end.sender().counters.sent),
            delivered: both(|end| end.sender().view.delivered.into()),
            delivered_ce: both(|end| end.sender().view.delivered_ce.into()),
            retransmits: both(|end| end.sender().counters.retransmits),
            rto_timeouts: both(|end| end.sender().counters.rto_timeouts),
        };
        totals.add(self.completed().map(|completed| completed - self.start), volume);
        totals.add_latencies(self.transactions.iter().filter_map(|each| Some(each.end? - each.start)));
    }

    fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    fn headers(&self, direction: Direction, tuple: FlowTuple) -> FlowHeaders {
        let mss = self.client.sender().mss();
        FlowHeaders::two_way(direction, mss, tuple, [self.client.window_scale(), self.server.window_scale()])
    }
}
