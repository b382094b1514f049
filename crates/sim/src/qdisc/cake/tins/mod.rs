//! A cake with several tins, or with keywords that the [cake with one](super::Cake) has not: which tin a packet's DSCP puts it in, and which
//! one is served next (Linux 6.12 net/sched/sch_cake.c, `cake_select_tin`, `cake_enqueue`, `cake_dequeue`). Each tin is a cake of its own
//! without a shaper; one shaper paces them all. A tin has a schedule at its share of the rate: the last one that is within its schedule goes
//! first, and when none is, the one whose turn comes first.
//!
//! Leaves out: tins by marks or by priority.

mod ack_filter;
mod estimate;
mod scheme;
mod totals;

pub use totals::TinTotals;

use self::estimate::Estimate;
use self::scheme::CODEPOINTS;
use self::totals::Counters;
use super::cobalt::Params;
use super::overflow::{Overflow, Place};
use super::shaper::Shaper;
use super::Cake;
use crate::packet::{DropCause, Packet, Verdict};
use crate::pool::{self, Id, Pool};
use crate::qdisc::{ClassTotals, Dequeued, Qdisc, QdiscStats, QdiscVisitor, QueueContext};
use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::spec::{CakeAckFilter, CakeDiffserv, CakeMore, QdiscSpec};
use crate::time::{Time, NEVER};

/// A tin.
#[derive(Clone, Debug)]
struct Tin {
    /// Its queues, with parameters for its share of the rate.
    cake: Cake,
    /// The part of the rate on which it has first claim, byte/s.
    rate: Option<u64>,
    /// Time at which its next packet is on schedule.
    schedule: Shaper,
    /// Without a rate: the bytes that it may send before the others have their turn, and its bytes in a round.
    deficit: i32,
    quantum: i32,
    counters: Counters,
}

/// The shaper of all tins.
#[derive(Clone, Debug)]
struct Pace {
    shaper: Shaper,
    /// A second clock, 1.5 times as slow, which packets that are dropped do not move: a packet waits only until the earlier of both.
    failsafe: Time,
}

impl Pace {
    /// Time at which the next packet may leave.
    fn next(&self) -> Time {
        self.shaper.next().min(self.failsafe)
    }

    /// A packet arrives when there is none.
    fn restart(&mut self, now: Time) {
        if self.shaper.next() < now {
            self.failsafe = now;
        }
        self.shaper.restart(now);
    }

    /// A packet of this many charged bytes is sent, or dropped.
    fn advance(&mut self, len: u32, dropped: bool) {
        self.shaper.advance(len);
        if !dropped {
            let taken = self.shaper.duration(len);
            self.failsafe += taken + (taken >> 1);
        }
    }
}

/// A cake with tins.
#[derive(Clone, Debug)]
pub struct CakeTins {
    diffserv: CakeDiffserv,
    more: CakeMore,
    tins: Vec<Tin>,
    /// The tin that is served, where no rate tells when a tin's turn is.
    current: usize,
    pace: Pace,
    overflow: Overflow,
    memory_limit: u64,
    /// The rate at which packets come, if the shaper is to follow it.
    estimate: Option<Estimate>,
    /// The packet that a peek dequeued, and its length (see [`crate::qdisc::peek_buffer`]).
    peek_buffer: Option<(Id, u32)>,
    stats: QdiscStats,
}

impl Tin {
    /// Its parameters for a share of the rate of all, byte/s.
    fn set_rate(&mut self, share: Option<u64>) {
        self.rate = share;
        self.schedule = self.schedule.at_rate(share);
        self.cake.take_parameters(share);
    }

    /// It has queues whose turn may come.
    fn is_in_service(&self) -> bool {
        self.cake.drr.is_in_service()
    }

    /// The parameters of COBALT at present.
    fn cobalt(&self, ingress: bool) -> Params {
        let params = self.cake.cobalt;
        if !ingress {
            return params;
        }
        let frame_time = self.schedule.duration(self.cake.nominal.frame);
        Params { gate: params.gate.max(2 * self.cake.drr.bulk_flows() * frame_time), ..params }
    }
}

impl CakeTins {
    /// Builds a cake with the tins of `diffserv` from its `QdiscSpec::Cake`; see [`Cake::from_spec`].
    ///
    /// # Errors
    /// Parameters out of range.
    pub fn from_spec(spec: &QdiscSpec, diffserv: CakeDiffserv, frame: u32, rng: &mut Rng) -> Result<Self, Flaws> {
        let whole = Cake::from_spec(spec, frame, rng)?;
        let QdiscSpec::Cake { rate_bps, more, .. } = *spec else { unreachable!("the discipline is a cake") };
        let rate = rate_bps.map(|bps| bps / 8);
        let scheme = diffserv.scheme();
        let tins = (0..scheme.count()).map(|tin| Tin {
            cake: whole.clone(),
            rate: None,
            schedule: whole.shaper.clone(),
            deficit: 0,
            quantum: scheme.quantum(tin),
            counters: Counters::default(),
        });
        let mut all = Self {
            diffserv,
            more,
            tins: tins.collect(),
            current: 0,
            pace: Pace { shaper: whole.shaper.clone(), failsafe: 0 },
            overflow: Overflow::default(),
            memory_limit: 0,
            estimate: rate.filter(|_| more.autorate_ingress).map(Estimate::new),
            peek_buffer: None,
            stats: QdiscStats::default(),
        };
        all.take_rate(rate);
        Ok(all)
    }

    /// Changes the shaper's rate, bit/s; see [`Cake::set_rate`].
    pub fn set_rate(&mut self, rate_bps: u64) {
        self.take_rate(Some(rate_bps / 8));
    }

    /// Change the shaper's rate, byte/s.
    fn take_rate(&mut self, rate: Option<u64>) {
        self.pace.shaper = self.pace.shaper.at_rate(rate);
        let scheme = self.diffserv.scheme();
        for (i, tin) in self.tins.iter_mut().enumerate() {
            tin.set_rate(rate.map(|rate| scheme.rate(i, rate)));
        }
        self.memory_limit = self.tins[0].cake.nominal.memory_limit(rate);
    }

    /// The sojourn times above which a packet counts as late, by tin, ns.
    #[cfg(test)]
    pub(super) fn gates(&self) -> Vec<Time> {
        self.tins.iter().map(|tin| tin.cobalt(self.more.ingress).gate).collect()
    }

    fn held(&self) -> usize {
        self.tins.iter().map(|tin| tin.cake.packets).sum()
    }

    pub(super) fn memory(&self) -> u64 {
        self.tins.iter().map(|tin| tin.cake.memory).sum()
    }

    /// Charges the bandwidth of a packet of a tin that is sent, or dropped; returns its charged length.
    fn charge(&mut self, tin: usize, len: u32, now: Time, dropped: bool) -> u32 {
        let charged = self.tins[tin].cake.framing.charged(len);
        if self.pace.shaper.is_limited() {
            self.tins[tin].schedule.follow(charged, now);
            self.pace.advance(charged, dropped);
        }
        charged
    }

    /// The queue of a tin has grown, or shrunk.
    fn note_backlog(&mut self, t: usize, queue: usize, grew: bool) {
        if self.overflow.is_live() {
            let queue = &self.tins[t].cake.drr.queues[queue];
            let place = Place::of(t, queue.slot);
            if grew {
                self.overflow.grew(place, queue.backlog);
            } else {
                self.overflow.shrank(place, queue.backlog);
            }
        }
    }

    /// Drops the ACK that the packet which came last in a queue makes needless, if there is one.
    fn filter_acks(&mut self, t: usize, queue: usize, s: &mut QueueContext) {
        let cake = &mut self.tins[t].cake;
        let q = &mut cake.drr.queues[queue];
        let Some((before, id)) = ack_filter::needless(self.more.ack_filter, &q.packets, s) else { return };
        let len = s.packets[id].bytes();
        q.packets.remove(before, id, &mut s.packets);
        q.backlog -= len;
        cake.forget(len);
        self.tins[t].counters.ack_drops += 1;
        if self.more.ingress {
            self.charge(t, len, s.now, true);
        }
        if let Some(estimate) = &mut self.estimate {
            estimate.take_back(len);
        }
        s.dropped.push((id, DropCause::Aqm));
    }

    /// Drops heads of the fattest queues until the memory limit holds; true if queue `arrived`, of a tin, lost a packet.
    #[cold]
    #[inline(never)]
    fn shed(&mut self, arrived: (usize, usize), s: &mut QueueContext) -> bool {
        let mut hit = false;
        while self.memory() > self.memory_limit {
            if !self.overflow.is_live() {
                let tins = self.tins.iter().zip(0..);
                let queues = tins.flat_map(|(tin, t)| {
                    tin.cake.drr.queues.iter().map(move |queue| (Place::of(t, queue.slot), queue.backlog))
                });
                self.overflow.build(queues);
            }
            let (t, slot) = self.overflow.victim().parts();
            let cake = &mut self.tins[t].cake;
            let head = cake.flows.queue_at(slot).and_then(|q| Some((q, cake.drr.queues[q].packets.pop(&s.packets)?)));
            let Some((q, id)) = head else {
                self.overflow.give_up();
                continue;
            };
            hit |= (t, q) == arrived;
            let len = s.packets[id].bytes();
            let queue = &mut cake.drr.queues[q];
            queue.backlog -= len;
            queue.cobalt.on_overflow(&cake.cobalt, s.now);
            cake.forget(len);
            self.tins[t].counters.drops += 1;
            if self.more.ingress {
                self.charge(t, len, s.now, true);
            }
            self.note_backlog(t, q, false);
            s.dropped.push((id, DropCause::Overflow));
        }
        hit
    }

    /// The tin to serve at `now`, if one has queues in service.
    fn choose(&mut self, now: Time) -> Option<usize> {
        if !self.tins.iter().any(Tin::is_in_service) {
            return None;
        }
        if self.pace.shaper.is_limited() {
            return self.choose_by_schedule(now);
        }
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit >= 0 && tin.is_in_service() {
                return Some(self.current);
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.quantum;
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }

    fn choose_by_schedule(&self, now: Time) -> Option<usize> {
        let mut best = None;
        let mut earliest = NEVER;
        for (i, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.is_in_service()) {
            let next = tin.schedule.next();
            if next <= now || next <= earliest {
                (best, earliest) = (Some(i), next);
            }
        }
        best
    }

    /// Takes the next packet out of the tins.
    fn next(&mut self, s: &mut QueueContext) -> Dequeued {
        let mut first = true;
        loop {
            if self.held() == 0 {
                return Dequeued::Empty;
            }
            if self.pace.next() > s.now {
                return Dequeued::Wait(self.pace.next());
            }
            let Some(t) = self.choose(s.now) else { return Dequeued::Empty };
            if let Some(id) = self.serve(t, &mut first, s) {
                return Dequeued::Packet(id);
            }
        }
    }

    /// Gives a queue of a tin its turn, and another one after a drop that counts as sent; none if it is found empty.
    fn serve(&mut self, t: usize, first: &mut bool, s: &mut QueueContext) -> Option<Id> {
        loop {
            let queue = self.tins[t].cake.drr.select(first, &mut s.rngs[s.port])?;
            loop {
                let cake = &mut self.tins[t].cake;
                let Some(id) = cake.drr.queues[queue].packets.pop(&s.packets) else {
                    cake.drr.retire(queue, &cake.cobalt, s.now);
                    return None;
                };
                let len = s.packets[id].bytes();
                let Some(cause) = self.judge(t, queue, id, s) else {
                    self.send(t, queue, len, s.now);
                    return Some(id);
                };
                s.dropped.push((id, cause));
                self.tins[t].counters.drops += 1;
                if self.more.ingress {
                    let charged = self.charge(t, len, s.now, true) as i32;
                    let tin = &mut self.tins[t];
                    tin.cake.drr.queues[queue].deficit -= charged;
                    tin.deficit = tin.deficit.wrapping_sub(charged);
                    break;
                }
            }
        }
    }

    /// Return why COBALT drops a packet that was taken out of a queue, or `None` if the packet passes. The last packet of a queue always
    /// passes.
    fn judge(&mut self, t: usize, queue: usize, id: Id, s: &mut QueueContext) -> Option<DropCause> {
        let tin = &mut self.tins[t];
        let params = tin.cobalt(self.more.ingress);
        let cake = &mut tin.cake;
        let q = &mut cake.drr.queues[queue];
        let last = q.packets.is_empty();
        let (slot, rng) = (&mut s.packets[id], &mut s.rngs[s.port]);
        let (len, mut ecn) = (slot.bytes(), slot.packet.ecn());
        let sojourn = s.now - slot.time;
        let signal = q.cobalt.judge(&params, s.now, sojourn, &mut ecn, rng);
        let sce = cake.ramp.on_departure(sojourn, signal.over_gate, &mut ecn, rng);
        slot.packet.set_ecn(ecn);
        q.backlog -= len;
        cake.forget(len);
        let drop = signal.drop.filter(|_| !last);
        if drop.is_none() {
            cake.stats.ce_marks += u64::from(signal.ce);
            cake.stats.sce_marks += u64::from(sce);
            self.stats.ce_marks += u64::from(signal.ce);
            self.stats.sce_marks += u64::from(sce);
            self.stats.last_sojourn = sojourn;
            tin.counters.note_delay(sojourn);
        }
        self.note_backlog(t, queue, false);
        drop
    }

    /// A packet leaves.
    fn send(&mut self, t: usize, queue: usize, len: u32, now: Time) {
        let charged = self.charge(t, len, now, false) as i32;
        let tin = &mut self.tins[t];
        tin.cake.drr.queues[queue].deficit -= charged;
        tin.deficit = tin.deficit.wrapping_sub(charged);
        if self.overflow.is_live() {
            self.overflow.on_sent();
        }
    }
}

impl Qdisc for CakeTins {
    // All are in functions of their own: one more copy of cake's code would change which parts of it are inlined.
    #[cold]
    #[inline(never)]
    fn accept<V: QdiscVisitor>(&mut self, visitor: V) -> V::Output {
        visitor.visit(self)
    }

    #[cold]
    #[inline(never)]
    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        let packet = &mut s.packets[id].packet;
        let (flow, len) = (packet.flow(), u32::from(packet.len));
        let dscp = packet.codepoint(s.tuples[flow].dscp);
        if self.more.wash && dscp > 0 {
            packet.wash();
        }
        let t = usize::from(self.diffserv.scheme().tins[usize::from(dscp) % CODEPOINTS]);
        let waits = self.held() > 0;
        let tin = &mut self.tins[t];
        if tin.cake.packets == 0 {
            tin.schedule.restart(s.now);
            if !waits {
                self.pace.restart(s.now);
            }
        }
        tin.counters.packets += 1;
        tin.counters.bytes += u64::from(len);
        if let Some(rate) = self.estimate.as_mut().and_then(|estimate| estimate.on_arrival(s.now, len)) {
            self.take_rate(Some(rate));
        }
        self.tins[t].cake.enqueue(id, s);
        let filters = self.more.ack_filter != CakeAckFilter::Off;
        if !filters && !self.overflow.is_live() && self.memory() <= self.memory_limit {
            return Verdict::Queued;
        }
        let queue = self.tins[t].cake.flows.find(&s.packets[id].packet, &s.tuples);
        if filters {
            self.filter_acks(t, queue, s);
        }
        self.note_backlog(t, queue, true);
        if self.memory() <= self.memory_limit || !self.shed((t, queue), s) {
            Verdict::Queued
        } else if self.tins[t].cake.drr.queues[queue].packets.is_empty() {
            Verdict::Dropped
        } else {
            Verdict::Congestion
        }
    }

    #[cold]
    #[inline(never)]
    fn release(&mut self, s: &mut QueueContext, leaving: &mut pool::Queue) -> Time {
        if let Some((id, _)) = self.peek_buffer.take() {
            leaving.push(id, &mut s.packets);
        }
        loop {
            match self.next(s) {
                Dequeued::Packet(id) => leaving.push(id, &mut s.packets),
                Dequeued::Wait(t) => return t,
                Dequeued::Empty => return NEVER,
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn dequeue(&mut self, s: &mut QueueContext) -> Dequeued {
        match self.peek_buffer.take() {
            Some((id, _)) => Dequeued::Packet(id),
            None => self.next(s),
        }
    }

    #[cold]
    #[inline(never)]
    fn peek(&mut self, s: &mut QueueContext) -> Option<u32> {
        if self.peek_buffer.is_none() {
            if let Dequeued::Packet(id) = self.next(s) {
                self.peek_buffer = Some((id, s.packets[id].bytes()));
            }
        }
        self.peek_buffer.map(|(_, len)| len)
    }

    fn for_each(&self, packets: &Pool, f: &mut dyn FnMut(&Packet)) {
        self.peek_buffer.iter().for_each(|&(id, _)| f(&packets[id].packet));
        self.tins.iter().for_each(|tin| tin.cake.for_each(packets, f));
    }

    fn shapes_itself(&self) -> bool {
        self.pace.shaper.is_limited()
    }

    fn packets(&self) -> usize {
        self.held() + usize::from(self.peek_buffer.is_some())
    }

    fn bytes(&self) -> u64 {
        let held: u64 = self.tins.iter().map(|tin| tin.cake.bytes).sum();
        held + self.peek_buffer.map_or(0, |(_, len)| u64::from(len))
    }
    /// In tc's order.
    fn classes(&self) -> Vec<ClassTotals> {
        self.diffserv.scheme().listed.iter().map(|&(tin, name)| self.tins[tin].totals(name)).collect()
    }

    fn stats(&self) -> &QdiscStats {
        &self.stats
    }
}
