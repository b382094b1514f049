//! cake: shaper, flow isolation and COBALT in one qdisc (Linux 6.12 net/sched/sch_cake.c), with the SCE ramp of the 2019
//! reference implementation of draft-morton-tsvwg-sce.
//!
//! Left out: NAT, tc filters. Super-packets do not occur: senders hand over packets one by one, as cake with split-gso makes them.

pub mod cobalt;
mod drr;
mod flows;
mod framing;
mod hosts;
mod overflow;
mod parameters;
mod places;
#[cfg(test)]
mod properties;
pub mod sce;
mod shaper;
#[cfg(test)]
mod tests;
mod tins;

pub use self::parameters::ENTRY;
pub use self::tins::{CakeTins, TinTotals};

use self::cobalt::Params;
use self::drr::Drr;
use self::flows::Flows;
use self::framing::Framing;
use self::overflow::{Overflow, Place};
use self::sce::Ramp;
use self::shaper::Shaper;
use super::truesize::truesize;
use super::{Dequeued, Qdisc, QdiscStats, QueueContext, Verdict};
use crate::catalogue::{State, Tell};
use crate::packet::{DropCause, Packet};
use crate::pool::{self, Id, Pool};
use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::spec::QdiscSpec;
use crate::time::{Time, NEVER, US};

/// Packet limit that bounds the memory limit, full frames.
const LIMIT_PACKETS: u64 = 10240;
/// Least memory limit of a shaped cake without keyword `memlimit`, bytes.
const LEAST_MEMORY: u32 = 4 << 20;

/// Least rate, bit/s: tc hands the kernel byte/s.
pub const LEAST_RATE_BPS: u64 = 8;

/// State variables that a scenario may record. A cake with several tins records the totals of each tin instead.
pub(super) const STATE: &[State] = &[
    State::new("queues", "", "queues that hold packets"),
    State::new("dropping_queues", "", "queues whose packets wait too long, so that CoDel drops or marks them"),
    State::new("codel_count", "", "largest count of signals among the queues that drop; 0 if none does"),
    State::new("probability", "share", "largest probability of a drop by BLUE among the queues"),
    State::new("bulk_flows", "", "queues that always have something to send"),
    State::new("memory_bytes", "bytes", "memory charged for the packets held"),
];

/// The configured values of the other parameters that depend on the rate.
#[derive(Clone, Copy, Debug)]
struct Nominal {
    interval_us: u64,
    /// Keyword `memlimit`, bytes; 0 is cake's own choice.
    memory_limit: u32,
    /// The device's largest frame, bytes.
    frame: u32,
    /// The ramp's parameter.
    sce: u32,
}

/// The result of taking the first packet of a queue.
enum Taken {
    Passed(Id),
    Dropped,
    /// There was none.
    Empty,
}

/// A cake with one tin, or a tin of [one with several](CakeTins).
#[derive(Clone, Debug)]
pub struct Cake {
    nominal: Nominal,
    shaper: Shaper,
    framing: Framing,
    flows: Flows,
    drr: Drr,
    cobalt: Params,
    ramp: Ramp,
    overflow: Overflow,
    /// Memory charged for the packets held, and its limit, bytes.
    memory: u64,
    memory_limit: u64,
    /// Packets and bytes in the queues.
    packets: usize,
    bytes: u64,
    /// The packet that a peek dequeued, and its length (see [`super::peek_buffer`]).
    peek_buffer: Option<(Id, u32)>,
    stats: QdiscStats,
}

impl Cake {
    /// Builds a cake from `QdiscSpec::Cake`, on a device whose largest frame has `frame` bytes; `rng` gives the hash perturbation.
    ///
    /// # Errors
    /// A ramp that no keyword gives.
    pub fn from_spec(spec: &QdiscSpec, frame: u32, rng: &mut Rng) -> Result<Self, Flaws> {
        let QdiscSpec::Cake {
            rate_bps,
            isolation,
            rtt_ns,
            overhead_bytes,
            mpu_bytes,
            framing,
            memory_limit_bytes,
            sce,
            diffserv: _,
            more: _,
        } = *spec
        else {
            unreachable!("the discipline is a cake")
        };
        let nominal = Nominal {
            // tc hands the kernel whole microseconds.
            interval_us: rtt_ns / US,
            memory_limit: memory_limit_bytes.unwrap_or(0) as u32,
            frame,
            sce,
        };
        let rate = rate_bps.map(|bps| bps / 8);
        let shaper = Shaper::new(rate);
        let cobalt = nominal.cobalt(&shaper);
        let framing = Framing::new(overhead_bytes, mpu_bytes, framing);
        let ramp = Ramp::new(sce, cobalt.target)?;
        Ok(Self {
            nominal,
            framing,
            flows: Flows::new(isolation, rng),
            drr: Drr::new(isolation, rate),
            ramp,
            memory_limit: nominal.memory_limit(rate),
            shaper,
            cobalt,
            overflow: Overflow::default(),
            memory: 0,
            packets: 0,
            bytes: 0,
            peek_buffer: None,
            stats: QdiscStats::default(),
        })
    }

    /// For a tin: take the parameters for its share of the rate, byte/s. The shaper of all tins paces the tin, and the memory of all tins
    /// is limited together.
    fn take_parameters(&mut self, rate: Option<u64>) {
        self.cobalt = self.nominal.cobalt(&Shaper::new(rate));
        self.ramp = Ramp::new(self.nominal.sce, self.cobalt.target).expect("the ramp's parameter was accepted before");
        self.drr.set_rate(rate);
        self.shaper = Shaper::new(None);
        self.memory_limit = u64::MAX;
    }

    /// Changes the shaper's rate, bit/s, and all that follows from it. The next departure stays when it was to be.
    pub fn set_rate(&mut self, rate_bps: u64) {
        let rate = Some(rate_bps / 8);
        self.shaper = self.shaper.at_rate(rate);
        self.cobalt = self.nominal.cobalt(&self.shaper);
        self.ramp = Ramp::new(self.nominal.sce, self.cobalt.target).expect("the ramp's parameter was accepted before");
        self.drr.set_rate(rate);
        self.memory_limit = self.nominal.memory_limit(rate);
    }

    /// Drops heads of the fattest queues until the memory limit holds; true if `arrived` lost a packet.
    #[cold]
    #[inline(never)]
    fn shed(&mut self, arrived: usize, s: &mut QueueContext) -> bool {
        let mut hit = false;
        while self.memory > self.memory_limit {
            if !self.overflow.is_live() {
                self.overflow.build(self.drr.queues.iter().map(|q| (Place::of(0, q.slot), q.backlog)));
            }
            let (_, slot) = self.overflow.victim().parts();
            let victim = self.flows.queue_at(slot);
            hit |= victim == Some(arrived);
            let Some(q) = victim.map(|victim| &mut self.drr.queues[victim]) else {
                self.overflow.give_up();
                continue;
            };
            let Some(id) = q.packets.pop(&s.packets) else {
                self.overflow.give_up();
                continue;
            };
            let len = s.packets[id].bytes();
            q.backlog -= len;
            q.cobalt.on_overflow(&self.cobalt, s.now);
            self.overflow.shrank(Place::of(0, q.slot), q.backlog);
            self.forget(len);
            s.dropped.push((id, DropCause::Overflow));
        }
        hit
    }

    /// A packet of `len` bytes is no longer held.
    #[inline]
    fn forget(&mut self, len: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(len);
        self.memory -= u64::from(truesize(len));
    }

    /// Takes the next packet out of the queues.
    #[inline(never)]
    fn next(&mut self, s: &mut QueueContext) -> Dequeued {
        self.next_inline(s)
    }

    /// The same, inlined into [`Self::release`] and nowhere else: were there two copies, the compiler would no longer inline its parts.
    #[inline(always)]
    fn next_inline(&mut self, s: &mut QueueContext) -> Dequeued {
        let mut first = true;
        loop {
            if self.packets == 0 {
                return Dequeued::Empty;
            }
            if self.shaper.next() > s.now {
                return Dequeued::Wait(self.shaper.next());
            }
            let Some(queue) = self.drr.select(&mut first, &mut s.rngs[s.port]) else { return Dequeued::Empty };
            if let Some(id) = self.take(queue, s) {
                return Dequeued::Packet(id);
            }
            self.drr.retire(queue, &self.cobalt, s.now);
        }
    }

    /// Takes the next packet of a queue that its AQM lets pass; the last one always passes.
    #[inline(always)]
    fn take(&mut self, queue: usize, s: &mut QueueContext) -> Option<Id> {
        match self.take_first(queue, s) {
            Taken::Passed(id) => Some(id),
            Taken::Dropped => Some(self.take_after_drop(queue, s)),
            Taken::Empty => None,
        }
    }

    /// Takes on after the first packet was dropped; the last one always passes. Out of line: a loop around every packet would need more
    /// registers than there are.
    #[cold]
    #[inline(never)]
    fn take_after_drop(&mut self, queue: usize, s: &mut QueueContext) -> Id {
        loop {
            match self.take_first(queue, s) {
                Taken::Passed(id) => return id,
                Taken::Dropped => {}
                Taken::Empty => unreachable!("the last packet of a queue always passes"),
            }
        }
    }

    /// Takes the first packet of a queue past its AQM.
    #[inline(always)]
    fn take_first(&mut self, queue: usize, s: &mut QueueContext) -> Taken {
        let q = &mut self.drr.queues[queue];
        let Some(id) = q.packets.pop(&s.packets) else { return Taken::Empty };
        let last = q.packets.is_empty();
        let (slot, rng) = (&mut s.packets[id], &mut s.rngs[s.port]);
        let (len, mut ecn) = (slot.bytes(), slot.packet.ecn());
        let sojourn = s.now - slot.time;
        let signal = q.cobalt.on_departure(&self.cobalt, s.now, sojourn, &mut ecn, rng);
        let sce = self.ramp.on_departure(sojourn, signal.over_gate, &mut ecn, rng);
        slot.packet.set_ecn(ecn);
        let drop = signal.drop.filter(|_| !last);
        q.backlog -= len;
        if drop.is_none() {
            let charged = self.framing.charged(len);
            q.deficit -= charged as i32;
            self.shaper.advance(charged);
            self.stats.ce_marks += u64::from(signal.ce);
            self.stats.sce_marks += u64::from(sce);
            self.stats.last_sojourn = sojourn;
        }
        if self.overflow.is_live() {
            self.overflow.shrank(Place::of(0, q.slot), q.backlog);
            if drop.is_none() {
                self.overflow.on_sent();
            }
        }
        self.forget(len);
        match drop {
            Some(cause) => {
                s.dropped.push((id, cause));
                Taken::Dropped
            }
            None => Taken::Passed(id),
        }
    }
}

impl Nominal {
    /// COBALT's parameters behind a shaper.
    fn cobalt(&self, shaper: &Shaper) -> Params {
        let target_us = (self.interval_us / 20).max(1);
        Params::new(target_us * US, self.interval_us * US, shaper.duration(self.frame))
    }

    /// The memory limit for a shaper of `rate` byte/s, bytes.
    fn memory_limit(&self, rate: Option<u64>) -> u64 {
        let wanted = match (self.memory_limit, rate) {
            // Four times the bytes that the rate carries in an interval, as far as they fit 32 bits.
            (0, Some(rate)) => ((rate.wrapping_mul(self.interval_us) / (1_000_000 / 4)) as u32).max(LEAST_MEMORY),
            (0, None) => u32::MAX,
            (bytes, _) => bytes,
        };
        u64::from(wanted).min((LIMIT_PACKETS * u64::from(self.frame)).max(u64::from(self.memory_limit)))
    }
}

impl Qdisc for Cake {
    #[inline]
    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        let slot = &mut s.packets[id];
        slot.time = s.now;
        let len = slot.bytes();
        let queue = self.flows.classify(&slot.packet, &s.tuples, &mut self.drr);
        if self.packets == 0 {
            self.shaper.restart(s.now);
        }
        let q = &mut self.drr.queues[queue];
        q.backlog += len;
        q.packets.push(id, &mut s.packets);
        self.packets += 1;
        self.bytes += u64::from(len);
        self.memory += u64::from(truesize(len));
        if self.overflow.is_live() {
            self.overflow.grew(Place::of(0, q.slot), q.backlog);
        }
        if q.wants_activation() {
            self.drr.activate(queue, &mut s.rngs[s.port]);
        }
        if self.memory <= self.memory_limit || !self.shed(queue, s) {
            Verdict::Queued
        } else if self.drr.queues[queue].packets.is_empty() {
            Verdict::Dropped
        } else {
            Verdict::Congestion
        }
    }

    /// A loop of its own, which keeps its values in registers.
    #[inline(always)]
    fn release(&mut self, s: &mut QueueContext, leaving: &mut pool::Queue) -> Time {
        if let Some((id, _)) = self.peek_buffer.take() {
            leaving.push(id, &mut s.packets);
        }
        loop {
            match self.next_inline(s) {
                Dequeued::Packet(id) => leaving.push(id, &mut s.packets),
                Dequeued::Wait(t) => return t,
                Dequeued::Empty => return NEVER,
            }
        }
    }

    #[inline]
    fn dequeue(&mut self, s: &mut QueueContext) -> Dequeued {
        if self.peek_buffer.is_none() {
            return self.next(s);
        }
        self.peek_buffer.take().map_or(Dequeued::Empty, |(id, _)| Dequeued::Packet(id))
    }

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
        self.drr.queues.iter().flat_map(|q| q.packets.iter(packets)).for_each(f);
    }

    fn shapes_itself(&self) -> bool {
        self.shaper.is_limited()
    }

    fn packets(&self) -> usize {
        self.packets + usize::from(self.peek_buffer.is_some())
    }

    fn bytes(&self) -> u64 {
        self.bytes + self.peek_buffer.map_or(0, |(_, len)| u64::from(len))
    }

    fn stats(&self) -> &QdiscStats {
        &self.stats
    }

    fn state(&self, _: Time, tell: &mut Tell) {
        let dropping = || self.drr.queues.iter().filter(|queue| queue.cobalt.is_dropping());
        tell("queues", self.drr.queues.iter().filter(|queue| queue.backlog > 0).count() as f64);
        tell("dropping_queues", dropping().count() as f64);
        tell("codel_count", f64::from(dropping().map(|queue| queue.cobalt.count()).max().unwrap_or(0)));
        let blue = self.drr.queues.iter().map(|queue| queue.cobalt.probability()).fold(0.0, f64::max);
        tell("probability", blue);
        tell("bulk_flows", self.drr.bulk_flows() as f64);
        tell("memory_bytes", self.memory as f64);
    }
}
