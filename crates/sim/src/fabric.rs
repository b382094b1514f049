//! The fabric: ports, routes and the event set, i.e. everything between the two ends of a flow.

use crate::events::EventSet;
use crate::packet::{flags, DropCause, Packet, NO_SACK};
use crate::port::{Kind, Port};
use crate::probe::capture::Capture;
use crate::qdisc::{Dequeued, FlowTuple, Qdisc, Surroundings, Verdict};
use crate::tcp::sack::{Blocks, Slab};
use crate::time::{serialisation, Time, NEVER};

/// Packets of one flow that the fabric dropped or lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowDrops {
    /// Data.
    pub data: u64,
    /// ACKs.
    pub acks: u64,
}

/// The ports a flow's packets pass, in order.
#[derive(Clone, Debug)]
pub struct Route {
    /// Ports of the data.
    pub forward: Box<[u16]>,
    /// Ports of the ACKs.
    pub reverse: Box<[u16]>,
}

impl Route {
    /// The port at position `hop` of the way of `p`; `None` is its end.
    #[inline]
    fn port(&self, p: &Packet, hop: u8) -> Option<usize> {
        let hops = if p.has(flags::ACK) { &self.reverse } else { &self.forward };
        hops.get(usize::from(hop)).map(|&port| usize::from(port))
    }
}

/// Everything between the ends.
#[derive(Debug)]
pub struct Fabric {
    /// The current time.
    pub now: Time,
    /// Pending events.
    pub events: EventSet,
    /// The ports.
    pub ports: Vec<Port>,
    /// Routes by flow; streams of datagrams come after the TCP flows.
    pub routes: Vec<Route>,
    /// Addresses by flow.
    pub tuples: Vec<FlowTuple>,
    /// SACK blocks under way.
    pub sacks: Slab,
    /// Drops by flow.
    pub drops: Vec<FlowDrops>,
    /// Packets that have reached an end and wait to be handled at the current time.
    pub arrivals: Vec<Packet>,
    /// Notes packets at the hosts.
    pub capture: Option<Box<Capture>>,
    /// How many of them have been handled.
    handled: usize,
    dropped: Vec<(Packet, DropCause)>,
}

/// First event source of the ports: port `i` has sources `PORTS + 2 i` (shaper) and `PORTS + 2 i + 1` (pipe).
pub const PORTS: usize = 2;

impl Fabric {
    /// A fabric at time 0 with `sources` event sources in all.
    #[must_use]
    pub fn new(ports: Vec<Port>, routes: Vec<Route>, tuples: Vec<FlowTuple>, sources: usize) -> Self {
        let drops = vec![FlowDrops::default(); routes.len()];
        Self {
            now: 0,
            events: EventSet::new(sources.min(PORTS + 2 * ports.len()), sources),
            ports,
            routes,
            tuples,
            sacks: Slab::default(),
            drops,
            arrivals: Vec::new(),
            handled: 0,
            capture: None,
            dropped: Vec::new(),
        }
    }

    /// Puts a packet of a sender, with hop 0, on its way. The verdict is that of the first port.
    #[inline]
    pub fn send(&mut self, p: Packet) -> Verdict {
        let first = self.routes[p.flow as usize].forward.first().copied();
        self.set_out(p, first)
    }

    /// The same for a packet of a receiver. That there are two spares a look at flags that were just written, and are not there yet.
    #[inline]
    pub fn send_back(&mut self, p: Packet) -> Verdict {
        let first = self.routes[p.flow as usize].reverse.first().copied();
        self.set_out(p, first)
    }

    /// Hands a packet to the first port of its way, or to the end.
    #[inline]
    fn set_out(&mut self, mut p: Packet, first: Option<u16>) -> Verdict {
        if self.capture.is_some() {
            p = self.note_departure(p);
        }
        match first {
            Some(port) => self.enqueue(usize::from(port), p),
            None => {
                self.arrivals.push(p);
                Verdict::Queued
            }
        }
    }

    /// The next packet that has reached an end.
    #[inline]
    pub fn arrival(&mut self) -> Option<Packet> {
        if self.capture.is_some() {
            self.note_arrival();
        }
        let next = self.arrivals.get(self.handled).copied();
        self.handled += 1;
        if next.is_none() {
            self.arrivals.clear();
            self.handled = 0;
        }
        next
    }

    /// The packet as it travels when packets are noted. By value, so that the address of a packet that is not noted is never taken:
    /// that alone makes runs slower by a tenth.
    #[cold]
    #[inline(never)]
    fn note_departure(&mut self, mut p: Packet) -> Packet {
        if let Some(capture) = &mut self.capture {
            capture.departs(self.now, &mut p, &self.sacks);
        }
        p
    }

    /// Notes the packet that is next to be handled.
    #[cold]
    #[inline(never)]
    fn note_arrival(&mut self) {
        if let (Some(capture), Some(p)) = (&mut self.capture, self.arrivals.get_mut(self.handled)) {
            capture.arrives(self.now, p);
        }
    }

    /// Attaches SACK blocks to a packet.
    pub fn attach(&mut self, p: &mut Packet, blocks: Blocks) {
        p.sack = self.sacks.put(blocks);
    }

    /// Offers a packet to port `i`.
    fn enqueue(&mut self, i: usize, p: Packet) -> Verdict {
        let port = &mut self.ports[i];
        port.counters.arrived += 1;
        let Kind::Delay { rate_bps, limit, free_at } = &mut port.kind else { return self.queue(i, p) };
        if port.pipe.len() >= *limit {
            self.dropped.push((p, DropCause::Overflow));
            self.settle_drops(i);
            return Verdict::Dropped;
        }
        let mut out = self.now;
        if let Some(rate) = *rate_bps {
            out = out.max(*free_at) + serialisation(u64::from(p.len), rate);
            *free_at = out;
        }
        self.leave(i, &p, out);
        Verdict::Queued
    }

    /// Hands a packet to the discipline of port `i`, and asks for the next if nobody is to do so later.
    fn queue(&mut self, i: usize, p: Packet) -> Verdict {
        let port = &mut self.ports[i];
        let Kind::Queue { qdisc, .. } = &mut port.kind else { unreachable!("a delay stage queues nothing") };
        let (rng, dropped, tuples) = (&mut port.rng, &mut self.dropped, &self.tuples[..]);
        let verdict = qdisc.enqueue(p, &mut Surroundings { now: self.now, rng, dropped, tuples });
        let refilled = port.refilled;
        if !self.dropped.is_empty() {
            self.settle_drops(i);
        }
        // A later timer means that the shaper knows when it can serve; an earlier packet cannot change that,
        // except for cake, whose wake-up is the same for whatever packet comes next.
        if self.events.pending(PORTS + 2 * i) == NEVER {
            let next = self.serve(i);
            if next != NEVER {
                self.events.set(PORTS + 2 * i, next);
            }
        } else if refilled {
            self.serve_early(i);
        }
        verdict
    }

    /// Lets a port send what it may now; returns when it may send the next, or `NEVER` if nothing waits.
    fn serve(&mut self, i: usize) -> Time {
        loop {
            let port = &mut self.ports[i];
            let Kind::Queue { qdisc, shaper } = &mut port.kind else { unreachable!("a delay stage has no shaper") };
            let (rng, dropped, tuples) = (&mut port.rng, &mut self.dropped, &self.tuples[..]);
            let next = qdisc.dequeue_through(shaper, &mut Surroundings { now: self.now, rng, dropped, tuples });
            let out = shaper.out(self.now);
            if !self.dropped.is_empty() {
                self.settle_drops(i);
            }
            match &next {
                Dequeued::Packet(p) => self.leave(i, p, out),
                Dequeued::Wait(t) => return *t,
                Dequeued::Empty => return NEVER,
            }
        }
    }

    /// The bucket of port `i` was filled behind the timer's back, and now somebody looks.
    #[cold]
    fn serve_early(&mut self, i: usize) {
        self.ports[i].refilled = false;
        self.on_shaper(i);
    }

    /// A packet leaves the shaper of port `i` at `out` and enters the pipe. What changes in it is written where it arrives: a move
    /// of a packet in which something was just written waits for the write.
    #[inline(always)]
    fn leave(&mut self, i: usize, p: &Packet, out: Time) {
        let port = &mut self.ports[i];
        port.counters.sent += 1;
        port.counters.sent_bytes += u64::from(p.len);
        if self.now < port.outage_until {
            port.counters.lost += 1;
            self.forget(p);
            return;
        }
        let arrives = out + port.delay;
        if arrives == self.now && port.pipe.is_empty() {
            self.pass_on(p);
            return;
        }
        if port.pipe.is_empty() {
            self.events.set(PORTS + 2 * i + 1, arrives);
        }
        port.pipe.push_back(*p);
        if let Some(p) = port.pipe.back_mut() {
            p.time = arrives;
        }
    }

    /// A packet leaves a port for the next on its way, or for the end.
    #[inline]
    fn pass_on(&mut self, p: &Packet) {
        match self.routes[p.flow as usize].port(p, p.hop + 1) {
            Some(port) => {
                self.enqueue(port, Packet { hop: p.hop + 1, ..*p });
            }
            None => self.arrivals.push(*p),
        }
    }

    /// The shaper of port `i` wakes up.
    #[inline]
    pub fn on_shaper(&mut self, i: usize) {
        self.events.begin(PORTS + 2 * i);
        let next = self.serve(i);
        self.events.set(PORTS + 2 * i, next);
    }

    /// The first packet of the pipe of port `i` comes out.
    #[inline]
    pub fn on_pipe(&mut self, i: usize) {
        let port = &mut self.ports[i];
        let p = port.pipe.pop_front().expect("a pipe with an event holds a packet");
        let next = port.pipe_time();
        self.events.set(PORTS + 2 * i + 1, next);
        self.pass_on(&p);
    }

    /// Accounts for the packets in `dropped`.
    #[cold]
    fn settle_drops(&mut self, i: usize) {
        let mut dropped = std::mem::take(&mut self.dropped);
        for (p, cause) in dropped.drain(..) {
            self.ports[i].counters.drop(cause, self.now);
            self.forget(&p);
        }
        self.dropped = dropped;
    }

    /// A packet is no more.
    #[cold]
    fn forget(&mut self, p: &Packet) {
        if p.sack != NO_SACK {
            self.sacks.take(p.sack);
        }
        let d = &mut self.drops[p.flow as usize];
        if p.has(flags::ACK) {
            d.acks += 1;
        } else {
            d.data += 1;
        }
    }

    /// Packets inside the fabric by flow: data and ACKs.
    #[must_use]
    pub fn inside(&self) -> Vec<(u64, u64)> {
        let mut counts = vec![(0, 0); self.routes.len()];
        let mut add = |p: &Packet| {
            let count = &mut counts[p.flow as usize];
            if p.has(flags::ACK) {
                count.1 += 1;
            } else {
                count.0 += 1;
            }
        };
        for port in &self.ports {
            port.pipe.iter().for_each(&mut add);
            if let Kind::Queue { qdisc, .. } = &port.kind {
                qdisc.for_each(&mut add);
            }
        }
        self.arrivals[self.handled..].iter().for_each(&mut add);
        counts
    }
}
