//! TCP connections that stay open, and the application that uses them: the common part of exchanges, pages, streaming and on-off sources. A
//! connection has two [ends](TwoWayEnd). An [`Application`] gets the bytes that they have read and says what they write, on all connections
//! of a session together. Applications act packet by packet.

use std::borrow::Cow;

use super::bulk::control;
use super::site::{can_be_made, check_ends};
use super::{Exchanged, Site, Traffic};
use crate::attachment::Attachment;
use crate::capture::FlowHeaders;
use crate::network::FlowDrops;
use crate::outbox::{HostQueue, Outbox};
use crate::output::{Table, Transaction};
use crate::packet::{FlowTuple, Packet};
use crate::playback::{view, Player, Viewed};
use crate::probe::{flow_row, latencies, levels, FlowRow, GroupTotals, Limits, Volume};
use crate::refusal::Flaws;
use crate::spec::{ConnectionSpec, Direction, Heading, Opener, TcpSpec};
use crate::tcp::implementation::Implementation;
use crate::tcp::linux::sender::Sender;
use crate::tcp::linux::stack::Stack;
use crate::tcp::linux::two_way::{TwoWayEnd, SOURCES as END_SOURCES};
use crate::time::{Time, NEVER};

/// The application's event source, after those of the two ends of the first connection. The other connections leave theirs unused.
const APPLICATION: usize = 2 * END_SOURCES;

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// On the host `from`: the client, or the source of data. Its data take the first direction.
    From,
    /// On the host `to`.
    To,
}

/// An application that uses the connections of a session. One object is both ends, and says what each side does.
pub trait Application {
    /// The end whose data matter: the results name its limits.
    const SOURCE: Side = Side::To;

    /// The connections are being opened.
    fn on_start(&mut self, _act: &mut Act<'_, impl Outbox>) {}

    /// The end `from` of connection `which` can write from now on.
    fn on_connected(&mut self, which: usize, act: &mut Act<'_, impl Outbox>);

    /// An end of connection `which` has read more: `bytes` so far.
    fn on_read(&mut self, which: usize, side: Side, bytes: u64, act: &mut Act<'_, impl Outbox>);

    /// The time has come that it [asked for](Act::wake_at).
    fn on_timer(&mut self, act: &mut Act<'_, impl Outbox>);

    /// Return the transactions that it has waited for: responses, pages, chunks, writes that are read.
    fn transactions(&self) -> &[Transaction];

    /// Return when it finished the last of its work.
    fn completed(&self) -> Option<Time> {
        None
    }

    /// Return the player, if it waits for chunks that are played.
    fn player(&self) -> Option<Player> {
        None
    }
}

/// A connection.
#[derive(Debug)]
pub struct Link {
    name: String,
    from: TwoWayEnd,
    to: TwoWayEnd,
    /// Bytes that the application knows to be read at either end.
    read: [u64; 2],
    /// Time at which the end whose data matter closed.
    closed: Option<Time>,
}

impl Link {
    fn end(&mut self, side: Side) -> &mut TwoWayEnd {
        match side {
            Side::From => &mut self.from,
            Side::To => &mut self.to,
        }
    }

    /// A sum over both ends.
    fn both(&self, count: fn(&TwoWayEnd) -> u64) -> u64 {
        count(&self.from) + count(&self.to)
    }

    fn volume(&self) -> Volume {
        Volume {
            rx_bytes: self.both(|end| end.receiver().bytes_read()),
            sent: self.both(|end| end.counters().sent),
            delivered: self.both(|end| end.sender().view.delivered.into()),
            delivered_ce: self.both(|end| end.sender().view.delivered_ce.into()),
            retransmits: self.both(|end| end.sender().counters.retransmits),
            rto_timeouts: self.both(|end| end.sender().counters.rto_timeouts),
        }
    }
}

/// All that an application can act on.
pub struct Act<'a, O> {
    links: &'a mut [Link],
    /// The application's event source.
    source: usize,
    stop: Time,
    out: &'a mut O,
}

impl<O: Outbox> Act<'_, O> {
    /// The current time.
    pub fn now(&self) -> Time {
        self.out.now()
    }

    /// An end of connection `which` writes.
    pub fn write(&mut self, which: usize, side: Side, bytes: u64) {
        self.links[which].end(side).write(bytes, self.out);
    }

    /// Close the end `from` of every connection, after all its writes; the other end then closes by itself. A connection that was never
    /// opened is given up.
    pub fn close(&mut self) {
        for link in &mut *self.links {
            if link.from.is_established() {
                link.from.close(self.out);
            } else {
                link.from.abort(self.out);
                link.to.abort(self.out);
            }
        }
    }

    /// Ask for an event at a time, in place of the earlier request; `NEVER` is none.
    pub fn wake_at(&mut self, at: Time) {
        self.out.set_timer(self.source, at.min(self.stop));
    }
}

/// Connections and their application.
#[derive(Debug)]
pub struct Session<A> {
    links: Vec<Link>,
    application: A,
    /// Index of the first connection among all flows.
    index: usize,
    /// First event source.
    source: usize,
    start: Time,
    stop: Time,
    opener: Opener,
    /// The opener has called connect().
    opened: bool,
    /// The connection was cut off: the bytes of packets from before belong to no application any more.
    stopped: bool,
}

/// The connections of a workload, which is the field `tcp` of its description.
///
/// # Errors
/// All that cannot be run.
pub fn links(tcp: &TcpSpec, site: &Site) -> Result<Vec<Link>, Flaws> {
    let mut flaws = Flaws::default();
    for (field, given) in
        [("transfer_bytes", tcp.transfer_bytes), ("first_write_bytes", tcp.first_write_bytes.map(u64::from))]
    {
        if let Some(bytes) = given {
            flaws.add(field, format_args!("{bytes} bytes"), "none, because the application says it");
        }
    }
    if let Some(bps) = tcp.host.reads_bps {
        flaws.add("host.reads_bps", format_args!("{bps} bit/s"), "none, because the application says it");
    }
    for (field, asked) in [("host.tso", tcp.host.tso), ("gro", tcp.gro)] {
        if asked {
            flaws.add(field, true, false);
        }
    }
    if tcp.accecn.is_some() {
        flaws.add("accecn", "AccECN where both ends send", "ecn: on");
    }
    check_ends(tcp, site.network.mtu_bytes, &mut flaws);
    site.check_pacing(tcp, &[tcp.from, tcp.to], &mut flaws);
    let stack = Flaws::within("stack", Implementation::from_spec(&tcp.stack)).and_then(|stack| match stack {
        Implementation::Linux(stack) => Ok(stack),
        Implementation::Bsd(_) => Err(Flaws::one("stack.name", &tcp.stack.name, "a stack of Linux")),
    });
    let end = |stack: &Stack, index: u32, source: usize, first: bool| -> Result<TwoWayEnd, Flaws> {
        can_be_made(tcp)?;
        let opens = first == (tcp.opener == Opener::From);
        let (cc, needs) = control(tcp, stack, site.controls)?;
        // The two ends draw apart.
        let seed = [site.network.seed, u64::from(index) | u64::from(!first) << 32];
        let own = if first { tcp.at_sender() } else { Cow::Borrowed(tcp) };
        Ok(TwoWayEnd::new(index, source, &own, stack, cc, needs, first, opens).seeded(seed))
    };
    let link = |stack: &Stack, connection: &ConnectionSpec, i: usize| {
        let (index, source) = (site.index + i as u32, site.source + (APPLICATION + 1) * i);
        let from = end(stack, index, source, true)?;
        let to = end(stack, index, source + END_SOURCES, false)?;
        Ok(Link { name: connection.name.clone(), from, to, read: [0; 2], closed: None })
    };
    let made = stack.and_then(|stack| tcp.connections.iter().zip(0..).map(|(each, i)| link(&stack, each, i)).collect());
    let made = flaws.and(Flaws::both(site.check(Heading::from(tcp)), made));
    Flaws::within("tcp", made.map(|((), links)| links))
}

/// The sessions of a workload, of `each` connections. `application` makes the application of the session with that first connection.
///
/// # Errors
/// What the application cannot be.
pub fn sessions<A>(
    links: Vec<Link>,
    each: usize,
    tcp: &TcpSpec,
    site: &Site,
    application: impl Fn(&ConnectionSpec) -> Result<A, Flaws>,
) -> Result<Vec<Session<A>>, Flaws> {
    let mut links = links.into_iter();
    let firsts = tcp.connections.iter().step_by(each).zip((0..).step_by(each));
    let session = |(first, i): (&ConnectionSpec, usize)| {
        Ok(Session {
            links: links.by_ref().take(each).collect(),
            application: application(first)?,
            index: site.index as usize + i,
            source: site.source + (APPLICATION + 1) * i,
            start: first.start_ns,
            stop: first.stop_ns.unwrap_or(NEVER).min(site.network.duration_ns),
            opener: tcp.opener,
            opened: false,
            stopped: false,
        })
    };
    firsts.map(session).collect()
}

impl<A: Application> Session<A> {
    /// Return the application, and all that it can act on.
    fn acting<'a, O: Outbox>(&'a mut self, out: &'a mut O) -> (&'a mut A, Act<'a, O>) {
        let act = Act { links: &mut self.links, source: self.source + APPLICATION, stop: self.stop, out };
        (&mut self.application, act)
    }

    fn open(&mut self, out: &mut impl Outbox) {
        self.opened = true;
        out.set_timer(self.source + APPLICATION, self.stop);
        let (application, mut act) = self.acting(out);
        application.on_start(&mut act);
        for link in &mut self.links {
            match self.opener {
                Opener::From => link.from.open(out),
                Opener::To => link.to.open(out),
            }
        }
    }

    fn stop(&mut self, out: &mut impl Outbox) {
        self.stopped = true;
        for link in &mut self.links {
            link.from.abort(out);
            link.to.abort(out);
        }
        out.set_timer(self.source + APPLICATION, NEVER);
    }

    /// A packet has reached an end of a connection.
    fn on_arrival(&mut self, which: usize, side: Side, p: &Packet, out: &mut impl Outbox) {
        let link = &mut self.links[which];
        let was_established = link.from.is_established();
        let read = link.end(side).on_packet(&(*p).into(), out);
        if self.stopped {
            return;
        }
        let is_new = read > link.read[side as usize];
        let connects = !was_established && link.from.is_established();
        if is_new {
            link.read[side as usize] = read;
        }
        let (application, mut act) = self.acting(out);
        if connects {
            application.on_connected(which, &mut act);
        }
        if is_new {
            application.on_read(which, side, read, &mut act);
        }
        let link = &mut self.links[which];
        if link.end(side).is_to_close() {
            if side == A::SOURCE {
                link.closed = Some(out.now());
            }
            link.end(side).close(out);
        }
    }

    /// Return the totals of a player by the `end` of the run, and the level of its buffer at the times `at`, s.
    fn viewed(&self, end: Time, at: &[Time]) -> Option<(Viewed, Vec<f64>)> {
        let chunks: Vec<Time> = self.transactions().iter().filter_map(|chunk| chunk.end).collect();
        Some(view(self.application.player()?, self.start, &chunks, self.stop.min(end).max(self.start), at))
    }

    /// Return the end that sends packets like this one.
    fn sender_of(&mut self, p: &Packet) -> &mut TwoWayEnd {
        let link = &mut self.links[p.flow() - self.index];
        link.end(if p.is_reverse() { Side::To } else { Side::From })
    }
}

impl<A: Application> Traffic for Session<A> {
    const SOURCES: usize = APPLICATION + 1;
    const HAS_GROUP: bool = true;

    fn flows(&self) -> usize {
        self.links.len()
    }

    fn name(&self, which: usize) -> &str {
        &self.links[which].name
    }

    /// Sets the time of the opener's connect().
    fn schedule(&self, out: &mut impl Outbox) {
        out.set_timer(self.source + APPLICATION, self.start.min(self.stop));
    }

    fn on_timer(&mut self, which: usize, out: &mut impl Outbox) {
        let (link, which) = (which / Self::SOURCES, which % Self::SOURCES);
        if which < END_SOURCES {
            self.links[link].from.on_timer(which, out);
        } else if which < APPLICATION {
            self.links[link].to.on_timer(which - END_SOURCES, out);
        } else if out.now() >= self.stop {
            self.stop(out);
        } else if self.opened {
            out.set_timer(self.source + APPLICATION, self.stop);
            let (application, mut act) = self.acting(out);
            application.on_timer(&mut act);
        } else {
            self.open(out);
        }
    }

    fn on_packet(&mut self, p: &Packet, out: &mut impl Outbox) {
        let side = if p.is_reverse() { Side::From } else { Side::To };
        self.on_arrival(p.flow() - self.index, side, p, out);
    }

    fn on_hosts_with_queues(&mut self, [from, to]: [HostQueue; 2]) {
        for link in &mut self.links {
            link.from.on_host_with_queue(from);
            link.to.on_host_with_queue(to);
        }
    }

    fn on_left_host(&mut self, p: &Packet, attachment: &Attachment) -> bool {
        self.sender_of(p).on_left_host(&(*p).into(), attachment)
    }

    fn on_room_in_host(&mut self, p: &Packet, out: &mut impl Outbox) {
        self.sender_of(p).on_room_in_host(out);
    }

    fn sender(&self, which: usize) -> Option<(&Sender, u64)> {
        let Link { from, to, .. } = &self.links[which];
        let (source, reader) = if A::SOURCE == Side::From { (from, to) } else { (to, from) };
        (self.opened && !self.stopped).then(|| (source.sender(), reader.receiver().bytes_read()))
    }

    fn brings_acks(&self, p: &Packet) -> bool {
        p.is_reverse() == (A::SOURCE == Side::From)
    }

    fn exchanged(&self, which: usize) -> Exchanged {
        let Link { from, to, .. } = &self.links[which];
        let (from, to) = (from.counters(), to.counters());
        Exchanged { sent: from.sent, arrived: to.arrived, sent_back: to.sent, arrived_back: from.arrived }
    }

    /// Numbers are those of both directions together, except for packets: the packets of the end `from` stand with the data, those of the
    /// other end with the ACKs.
    fn row(&self, which: usize, drops: &FlowDrops, inside: (u64, u64), end: Time) -> FlowRow {
        let link = &self.links[which];
        let both = |count| link.both(count);
        let (Exchanged { sent, arrived, sent_back, arrived_back }, view) =
            (self.exchanged(which), &link.from.sender().view);
        let completed = self.application.completed();
        let ended = completed.unwrap_or(self.stop).min(end).max(self.start);
        let source = if A::SOURCE == Side::From { &link.from } else { &link.to };
        let times = source.sender().limited_times(link.closed.unwrap_or(ended).min(ended));
        let limits = Limits::of(Some(times), ended - self.start);
        let viewed = self.viewed(end, &[]).map(|(viewed, _)| viewed);
        let ms = |us: u32, factor: f64, unknown: u32| if us == unknown { f64::NAN } else { f64::from(us) / factor };
        flow_row! {
            "start_ns": self.start,
            "end_ns": ended,
            "completed_ns": completed.map_or(f64::NAN, |t| t as f64),
            "rx_bytes": both(|end| end.receiver().bytes_read()),
            "sent_packets": sent,
            "arrived_packets": arrived,
            "duplicate_packets": both(|end| end.receiver().counters().duplicates),
            "dropped_packets": drops.data,
            "in_flight_packets": inside.0,
            "duplicated_packets": drops.data_copies,
            "retransmits": both(|end| end.sender().counters.retransmits),
            "cwnd_limited_ms": limits.cwnd_ms,
            "rwnd_limited_ms": limits.rwnd_ms,
            "sndbuf_limited_ms": limits.sndbuf_ms,
            "app_limited_ms": limits.app_ms,
            "acks_sent": sent_back,
            "acks_arrived": arrived_back,
            "acks_dropped": drops.acks,
            "acks_in_flight": inside.1,
            "acks_duplicated": drops.ack_copies,
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
            "startup_ms": viewed.and_then(|viewed| viewed.startup_ns).map_or(f64::NAN, |ns| ns as f64 / 1e6),
            "stalls": viewed.map_or(f64::NAN, |viewed| viewed.stalls as f64),
            "stalled_ms": viewed.map_or(f64::NAN, |viewed| viewed.stalled_ns as f64 / 1e6),
        }
    }

    fn count(&self, totals: &mut GroupTotals, end: Time) {
        let completion = self.application.completed().map(|completed| completed - self.start);
        for link in &self.links {
            if self.opened {
                totals.begin();
            }
            totals.add(completion, link.volume());
        }
        totals.add_latencies(self.transactions().iter().filter_map(|each| Some(each.end? - each.start)));
        if let Some((viewed, _)) = self.viewed(end, &[]) {
            totals.add_viewed(viewed);
        }
    }

    fn transactions(&self) -> &[Transaction] {
        self.application.transactions()
    }

    /// The series of several connections together belong to their group.
    fn series(&self, interval: Time, end: Time) -> Vec<Table> {
        let [link] = &*self.links else { return vec![] };
        let entity = format!("flow/{}", link.name);
        let mut tables = vec![];
        if !self.transactions().is_empty() {
            tables.push(latencies(entity.clone(), self.transactions()));
        }
        let last = self.stop.min(end);
        let at: Vec<Time> = (0..=last / interval).map(|i| i * interval).filter(|&at| at >= self.start).collect();
        if let Some((_, values)) = self.viewed(end, &at) {
            tables.push(levels(entity, &at, values));
        }
        tables
    }

    fn headers(&self, which: usize, direction: Direction, tuple: FlowTuple) -> FlowHeaders {
        let Link { from, to, .. } = &self.links[which];
        FlowHeaders::two_way(direction, from.sender().mss(), tuple, [from.window_scale(), to.window_scale()])
    }
}
