//! The network: ports, routes and the event set, i.e. everything between the two ends of a flow.

mod applications;
mod hosts;
mod inside;
mod inspection;
mod keeping;
mod outbox;
mod record;
mod routes;
mod shares;

pub use hosts::Released;
pub use routes::{FlowWay, Routes};
pub use shares::Shares;

pub use record::Watch;

use crate::attachment::Attachments;
use crate::events::EventSet;
use crate::fingerprint::{Fingerprint, PacketEvent};
use crate::headers::Headers;
use crate::packet::{DropCause, FlowTuple, Packet, Verdict, Way};
use crate::pool::{Id, Pool, Queue};
use crate::port::media::{Coming, Entry, Medium};
use crate::port::{AnyMedium, Change, Port};
use crate::qdisc::QueueContext;
use crate::rng::Rng;
use crate::tap::Tap;
use crate::time::{Time, NEVER};

/// Packets of one flow that the network dropped, lost or duplicated.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowDrops {
    /// Data.
    pub data: u64,
    /// ACKs.
    pub acks: u64,
    /// Copies of data that the network made.
    pub data_copies: u64,
    /// Copies of ACKs.
    pub ack_copies: u64,
}

/// Everything between the ends.
#[derive(Debug)]
pub struct Network {
    /// Pending events.
    pub events: EventSet,
    /// The ports.
    pub ports: Vec<Port>,
    /// The ways of all flows; streams of datagrams come after the TCP flows.
    pub routes: Routes,
    /// The current time, packets under way, addresses and all else that queues may touch.
    pub shared: QueueContext,
    /// Drops by flow.
    pub drops: Vec<FlowDrops>,
    /// Packets that have reached an end and wait to be handled at the current time.
    pub arrivals: Queue,
    tap: Option<Box<Tap>>,
    /// Packets that have reached an end are noted there, or may have a wrong bit.
    inspects: bool,
    /// True if the frames of some flow have other lengths than its ends count.
    refits: bool,
    /// Counts the bytes that flows send through [watched](Port::watched_until) ports.
    pub shares: Option<Box<Shares>>,
    /// Hashes the events of packets.
    pub fingerprint: Fingerprint,
    /// Packets that have left the hosts' own queues; `None` if no host has a queue.
    releases: Option<Box<hosts::Releases>>,
    applications: applications::Applications,
    /// Time at which the next packet comes out of the pipe of which one has just come out; `NEVER` if none has.
    next_in_pipe: Time,
    /// Records what happens to flows, if somebody asks for it.
    pub watch: Option<Box<dyn Watch>>,
}

/// First event source of the ports: port `i` has sources `PORTS + 2 i` (shaper) and `PORTS + 2 i + 1` (pipe).
pub const PORTS: usize = 2;

impl Network {
    /// A network at time 0, of packets with these headers; the random stream of each port comes from `seed` and its id.
    #[must_use]
    pub fn new(
        ports: Vec<Port>,
        routes: Routes,
        tuples: Vec<FlowTuple>,
        headers: &'static dyn Headers,
        events: EventSet,
        seed: u64,
    ) -> Self {
        let drops = vec![FlowDrops::default(); routes.flows()];
        let rngs = ports.iter().map(|port| Rng::for_component(seed, &format!("port/{}", port.id))).collect();
        let (packets, dropped, attachments) = (Pool::default(), Vec::new(), Attachments::default());
        let mut network = Self {
            events,
            ports,
            routes,
            shared: QueueContext {
                now: 0,
                port: 0,
                rngs,
                packets,
                dropped,
                tuples,
                headers,
                attachments,
                departure: 0,
            },
            drops,
            arrivals: Queue::default(),
            tap: None,
            inspects: false,
            refits: false,
            shares: None,
            fingerprint: Fingerprint::default(),
            releases: None,
            applications: applications::Applications::default(),
            next_in_pipe: NEVER,
            watch: None,
        };
        network.expect_corruption();
        (0..network.shared.tuples.len()).for_each(|flow| network.expect_headers(flow));
        network
    }

    /// Packets are noted at the hosts, and where this says.
    pub fn put_tap(&mut self, tap: Tap) {
        tap.ports().for_each(|port| self.ports[port].watch());
        (self.tap, self.inspects) = (Some(Box::new(tap)), true);
    }

    /// Return the tap, which notes packets, if there is one.
    pub fn tap(&mut self) -> Option<&mut Tap> {
        self.tap.as_deref_mut()
    }

    /// Take the tap with its notes out of the network.
    pub fn take_tap(&mut self) -> Option<Box<Tap>> {
        self.tap.take()
    }

    /// Return the number of packets noted for captures.
    pub fn noted(&self) -> usize {
        self.tap.as_ref().map_or(0, |tap| tap.noted())
    }

    /// The current time.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Time {
        self.shared.now
    }

    /// The flow with this index, at most one beyond all so far, is a new one: number `number` of all that there have been.
    pub fn renew_flow(&mut self, flow: usize, number: u64, way: FlowWay, tuple: FlowTuple) {
        assert!(flow < Way::MAX_FLOWS as usize, "fewer than 2^24 connections at a time");
        self.routes.renew(flow, way);
        if flow == self.drops.len() {
            self.drops.push(FlowDrops::default());
            self.shared.tuples.push(tuple);
        }
        (self.drops[flow], self.shared.tuples[flow]) = (FlowDrops::default(), tuple);
        self.fingerprint.renumber(flow, number);
        self.expect_headers(flow);
    }

    /// No packet of the flow with this index is under way any more, and none will come.
    pub fn forget_flow(&mut self, flow: usize) {
        for port in &mut self.ports {
            port.medium.forget(flow);
        }
    }

    /// Hands a packet to the first port of its way, or to the end.
    #[inline(always)]
    fn set_out(&mut self, p: Packet, first: Option<usize>) -> Verdict {
        let id = self.shared.packets.put(p);
        if self.inspects {
            self.inspect_departure(id);
        }
        match first {
            Some(port) => self.enqueue(port, id),
            None => {
                self.arrivals.push(id, &mut self.shared.packets);
                Verdict::Queued
            }
        }
    }

    /// Takes the next packet that has reached an end, as who reads it has it.
    #[inline]
    pub fn arrival<T: From<Packet>>(&mut self) -> Option<T> {
        let mut id = self.arrivals.pop(&self.shared.packets)?;
        if self.inspects {
            id = self.inspect(id)?;
        }
        self.fingerprint.note(self.shared.now, None, &self.shared.packets[id].packet, PacketEvent::Arrived);
        Some(self.shared.packets.take(id).into())
    }

    /// A packet comes to port `i`. Lines are most ports: for them this is short.
    #[inline(never)]
    fn enqueue(&mut self, i: usize, id: Id) -> Verdict {
        let port = &mut self.ports[i];
        port.counters.arrived += 1;
        match &mut port.medium {
            AnyMedium::Line(line) => match line.take(id, port.pipe.len(), &self.shared) {
                Some(out) => self.go_through(i, id, out),
                None => self.refuse(i, id),
            },
            _ => self.enter(i, id),
        }
    }

    /// A packet comes to port `i`, whose shaper may let another go first.
    #[inline(never)]
    fn enter(&mut self, i: usize, id: Id) -> Verdict {
        let mut port = &mut self.ports[i];
        if port.next == self.shared.now {
            self.leave_first(i);
            port = &mut self.ports[i];
        }
        match &mut port.medium {
            AnyMedium::Queue(queue) => {
                let waits = (port.next, port.refilled);
                self.shared.port = i;
                let verdict = queue.offer(id, &mut self.shared);
                self.after_offer(i, id, verdict, waits)
            }
            _ => self.enter_any(i, id),
        }
    }

    /// A packet comes to port `i`, whatever its medium.
    #[cold]
    #[inline(never)]
    fn enter_any(&mut self, i: usize, id: Id) -> Verdict {
        let port = &mut self.ports[i];
        let waits = (port.next, port.refilled);
        let coming = Coming { id, in_pipe: port.pipe.len(), delay: port.delay, rtts: self.routes.rtts() };
        match port.medium.enter(coming, &mut self.shared) {
            Entry::Leaves(out) => self.go_through(i, id, out),
            Entry::Offered(verdict) => self.after_offer(i, id, verdict, waits),
            Entry::Refused => self.refuse(i, id),
            Entry::Kept { copy, original } => self.settle(i, id, copy, original),
        }
    }

    /// The medium of port `i` lets a packet out at `out`.
    #[inline(never)]
    fn go_through(&mut self, i: usize, id: Id, out: Time) -> Verdict {
        self.note(i, id, PacketEvent::Offered(Verdict::Queued));
        self.leave(i, id, out);
        Verdict::Queued
    }

    /// Port `i` has no room for a packet.
    #[cold]
    #[inline(never)]
    fn refuse(&mut self, i: usize, id: Id) -> Verdict {
        self.note(i, id, PacketEvent::Offered(Verdict::Dropped));
        self.shared.dropped.push((id, DropCause::Overflow));
        self.count_drops(i, Some(id));
        Verdict::Dropped
    }

    /// The discipline of port `i` was offered a packet: serve the port unless its shaper's timer will. `next` and `refilled` are the port's.
    #[inline(always)]
    fn after_offer(&mut self, i: usize, id: Id, verdict: Verdict, (next, refilled): (Time, bool)) -> Verdict {
        self.note(i, id, PacketEvent::Offered(verdict));
        if !self.shared.dropped.is_empty() {
            self.count_drops(i, (verdict == Verdict::Dropped).then_some(id));
        }
        // If the shaper's timer is set, it already knows when it can send the next packet, and this one does not change that.
        if next == NEVER {
            let next = self.serve(i);
            if next != NEVER {
                self.events.set_busy(PORTS + 2 * i, next);
            }
        } else if refilled {
            self.serve_early(i);
        }
        verdict
    }

    /// Let a port send all that it may now. Return when it may send the next packet, or `NEVER` if nothing waits, as behind a medium without
    /// a shaper.
    #[inline(never)]
    fn serve(&mut self, i: usize) -> Time {
        let port = &mut self.ports[i];
        let AnyMedium::Queue(queue) = &mut port.medium else { return NEVER };
        let mut leaving = Queue::default();
        self.shared.port = i;
        let next = queue.serve(&mut self.shared, &mut leaving);
        port.next = next;
        let out = queue.out(self.shared.now);
        if !self.shared.dropped.is_empty() {
            self.count_drops(i, None);
        }
        while let Some(id) = leaving.pop(&self.shared.packets) {
            self.leave(i, id, out);
        }
        next
    }

    /// A packet arrives at port `i` just as another may leave it. In Linux that one goes first: the softirq that sends (NET_TX) runs before the
    /// one that receives (NET_RX).
    #[cold]
    #[inline(never)]
    fn leave_first(&mut self, i: usize) {
        self.on_shaper(i);
    }

    /// More may leave port `i` than its timer says: as in Linux, the next arrival finds that out.
    #[cold]
    fn serve_early(&mut self, i: usize) {
        let port = &mut self.ports[i];
        port.refilled = port.may_ask_early();
        self.on_shaper(i);
    }

    /// A packet leaves the shaper of port `i` at `out` and enters the pipe.
    #[inline(always)]
    fn leave(&mut self, i: usize, id: Id, out: Time) {
        if self.shared.now < self.ports[i].watched_until {
            return self.leave_watched(i, id, out);
        }
        self.let_out(i, id, out);
    }

    /// A packet left port `i` at `out`: it enters the pipe, or goes on at once if that takes no time.
    #[inline(always)]
    fn let_out(&mut self, i: usize, id: Id, out: Time) {
        let (port, slot, now) = (&mut self.ports[i], &mut self.shared.packets[id], self.shared.now);
        port.counters.sent += 1;
        port.counters.sent_bytes += u64::from(slot.bytes());
        self.fingerprint.note(out, Some(i), &slot.packet, PacketEvent::Left);
        let arrives = out + port.delay;
        if port.pipe.is_empty() {
            if arrives == now {
                return self.pass_on(i, id);
            }
            self.events.set(PORTS + 2 * i + 1, arrives);
        }
        slot.time = arrives;
        port.pipe.push(id, &mut self.shared.packets);
    }

    /// Something happens to port `i`.
    pub fn change(&mut self, i: usize, what: Change) {
        if what == Change::Release {
            let mut held = self.ports[i].chosen.release();
            while let Some(id) = held.pop(&self.shared.packets) {
                self.leave_watched(i, id, self.shared.now);
            }
        } else {
            self.ports[i].change(what);
        }
    }

    /// A packet leaves the shaper of port `i`, which is on a host, has an outage or a tap, or counts whose packets leave.
    #[cold]
    #[inline(never)]
    fn leave_watched(&mut self, i: usize, id: Id, out: Time) {
        if self.ports[i].chosen.holds() {
            return self.ports[i].chosen.held.push(id, &mut self.shared.packets);
        }
        if let Some(shares) = &mut self.shares {
            shares.count(i, &self.shared.packets[id].packet);
        }
        self.note_release(i, id);
        let (port, now) = (&mut self.ports[i], self.shared.now);
        let is_lost = port.chosen.loses() || now < port.outage_until;
        if let Some(tap) = &mut self.tap {
            let p = &self.shared.packets[id].packet;
            tap.leaves(i, self.routes.is_own_queue(p), p, out, (!is_lost).then_some(out + port.delay));
        }
        if !is_lost {
            return self.let_out(i, id, out);
        }
        port.counters.sent += 1;
        port.counters.sent_bytes += u64::from(self.shared.packets[id].bytes());
        port.counters.lost += 1;
        self.note(i, id, PacketEvent::Lost);
        self.record_drop(i, id, None);
        self.forget(id);
    }

    /// Note an event of a packet at port `i` now.
    #[inline(always)]
    fn note(&mut self, i: usize, id: Id, what: PacketEvent) {
        if Fingerprint::IS_TAKEN {
            self.fingerprint.note(self.shared.now, Some(i), &self.shared.packets[id].packet, what);
        }
    }

    /// A packet goes on from port `i` to the next on its way, or to its end. Its hop count is not written in the second case: the packet is
    /// read as a whole right after that, and such a read has to wait for a write of a part.
    #[inline(always)]
    fn pass_on(&mut self, i: usize, id: Id) {
        let p = &mut self.shared.packets[id].packet;
        let way = p.way.further();
        match self.routes.next(i, p, way.hops()) {
            Some(port) => {
                p.way = way;
                self.enqueue(port, id);
            }
            None => self.arrivals.push(id, &mut self.shared.packets),
        }
    }

    /// The shaper of port `i` wakes up.
    #[inline]
    pub fn on_shaper(&mut self, i: usize) {
        self.next_in_pipe = NEVER;
        let next = self.serve(i);
        self.events.set_busy(PORTS + 2 * i, next);
    }

    /// The first packet of the pipe of port `i` comes out.
    #[inline]
    pub fn on_pipe(&mut self, i: usize) {
        let port = &mut self.ports[i];
        let Some(id) = port.pipe.pop_ahead(&self.shared.packets) else { return self.leave_medium(i) };
        let next = port.pipe_time(&self.shared.packets);
        self.next_in_pipe = next;
        self.events.set_busy(PORTS + 2 * i + 1, next);
        self.pass_on(i, id);
    }

    /// Load ahead the memory that the packets which come out of port `i` next will touch. Return those of them that reach their end then.
    pub fn look_ahead(&self, i: usize) -> impl Iterator<Item = &Packet> {
        let port = &self.ports[i];
        let packets = &self.shared.packets;
        let peeked = port.medium.peeked();
        if let Some(id) = port.pipe.second_of_many(packets) {
            let p = &packets[id].packet;
            if let Some(port) = self.routes.next(i, p, p.way.further().hops()) {
                self.ports[port].medium.expect_later(p);
            }
        }
        let next = port.pipe.first().into_iter().chain(peeked).map(|id| &packets[id].packet);
        next.filter(move |p| self.expect(i, p, p.way.further()))
    }

    /// A packet soon goes on from port `i`, its way then being `way`. True if that is its end, or if only a queue lies before that in which
    /// nothing waits.
    fn expect(&self, i: usize, p: &Packet, way: Way) -> bool {
        self.shared.attachments.prefetch(p);
        let Some(port) = self.routes.next(i, p, way.hops()) else { return true };
        self.ports[port].medium.expect(p) && self.routes.next(port, p, way.further().hops()).is_none()
    }

    /// Count the packets that the discipline of port `i` dropped, and forget them. The sender of `refused`, a packet that the discipline
    /// did not accept, learns of the drop by the verdict.
    #[cold]
    fn count_drops(&mut self, i: usize, refused: Option<Id>) {
        for at in 0..self.shared.dropped.len() {
            let (id, cause) = self.shared.dropped[at];
            self.ports[i].counters.drop(cause, self.shared.now);
            if self.releases.is_some() && refused != Some(id) {
                self.note_release(i, id);
            }
            self.note(i, id, PacketEvent::Dropped(cause));
            self.record_drop(i, id, Some(cause));
            self.forget(id);
        }
        self.shared.dropped.clear();
    }

    /// A packet was dropped or lost.
    #[inline(always)]
    fn forget(&mut self, id: Id) {
        let p = self.shared.packets.take(id);
        self.shared.attachments.take(p.attachment);
        let d = &mut self.drops[p.flow()];
        if p.is_reverse() {
            d.acks += 1;
        } else {
            d.data += 1;
        }
    }
}
