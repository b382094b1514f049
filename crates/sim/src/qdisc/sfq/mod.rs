//! SFQ: queues that flows are hashed to, served in turn by bytes; when the room is used up the longest loses a packet
//! (McKenney 1990; Linux 6.12 net/sched/sch_sfq.c).
//!
//! The timer that changes the hash is deferrable in Linux: it waits for other work, as here it waits for a packet.
//!
//! Left out: RED on each queue (`redflowlimit` and what goes with it), tc filters.

mod depths;

use std::collections::VecDeque;

use self::depths::Depths;
use super::hash::{directed, Hasher};
use super::jiffies::Timer;
use super::parameters::{limit_packets, quantum, MOST, ONE_FRAME};
use super::peek_buffer::{Backlog, PeekByDequeue};
use super::{QdiscStats, QueueContext, Verdict};
use crate::catalogue::{Draws, Entry, Kind, Parameter, Preset};
use crate::packet::{DropCause, Packet};
use crate::pool::{Id, Pool};
use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::spec::SfqSpec;

/// Largest depth of a slot, packets.
const MAX_DEPTH: u64 = 127;
/// Default number of slots.
const FLOWS: u64 = 128;
/// Slots, at most.
const MAX_FLOWS: u64 = 65_408;
/// Ticks of a second.
const HZ: u64 = 1000;
/// Linux counts the ticks between changes of the hash in an `int`.
const MOST_PERTURB_S: i64 = i32::MAX as i64 / HZ as i64;
/// A bucket without a slot.
const NONE: u32 = u32::MAX;

/// sfq's parameters.
pub const ENTRY: Entry = Entry {
    name: "sfq",
    summary: "stochastic fairness queueing: flows in turn, the longest queue loses",
    about: "Stochastic fairness queueing (McKenney 1990, Linux sfq).",
    draws: Draws::Hash,
    parameters: &[
        limit_packets().or_number(127).at_least(2),
        Parameter::new("divisor", Kind::Integer(""), "divisor", "Buckets that flows are hashed to; a power of two.")
            .or_number(1024)
            .at_least(1)
            .at_most(65_536)
            .example("1024")
            .tc("divisor {}"),
        quantum("quantum_bytes", 1, ONE_FRAME),
        Parameter::new("depth", Kind::Packets, "depth_packets", "Maximum number of packets of a flow.")
            .or_number(MAX_DEPTH as i64)
            .at_least(1)
            .at_most(MOST)
            .since("3.3")
            .example("32p")
            .tc("depth {}"),
        Parameter::new(
            "perturb",
            Kind::Seconds,
            "perturb_s",
            "Time between changes of the hash, in whole seconds; `0s`: never.",
        )
        .or_number(0)
        .at_most(MOST_PERTURB_S)
        .example("10s")
        .tc("perturb {}"),
        Parameter::new("headdrop", Kind::Flag, "headdrop", "Drops the oldest packet instead of the newest.")
            .or(Preset::Flag(false))
            .since("3.3")
            .example("true")
            .tc("headdrop|"),
        Parameter::new(
            "flows",
            Kind::Integer(""),
            "flows",
            "Maximum number of queues, at most `divisor`. Packets of further flows are dropped while all are taken.",
        )
        .or_number(FLOWS as i64)
        .at_least(1)
        .at_most(MAX_FLOWS as i64)
        .sparse()
        .since("3.3")
        .example("128")
        .tc("flows {}"),
    ],
    tc: &["limit", "divisor", "quantum", "depth", "flows", "perturb", "headdrop"],
    since: "2.2",
};

/// A queue in service.
#[derive(Clone, Debug, Default)]
struct Slot {
    packets: VecDeque<Id>,
    /// The bucket it serves.
    bucket: u32,
    /// The slot whose turn is next.
    next: u32,
    /// Bytes it may send before its turn ends.
    allot: i64,
}

/// An SFQ.
#[derive(Clone, Debug)]
pub struct Sfq {
    limit: usize,
    depth: usize,
    quantum: i64,
    headdrop: bool,
    hasher: Hasher,
    /// For each bucket: its slot.
    buckets: Box<[u32]>,
    slots: Box<[Slot]>,
    depths: Depths,
    /// The slot before the one whose turn it is.
    tail: Option<usize>,
    /// Ticks between changes of the hash, and when the next is due.
    perturb: Option<(u64, Timer)>,
    held: Backlog,
    stats: QdiscStats,
}

impl Sfq {
    /// Make an empty discipline; the hash key comes from `rng`.
    ///
    /// # Errors
    /// Parameters that together are an error in tc or Linux.
    pub fn new(spec: &SfqSpec, rng: &mut Rng) -> Result<Self, Flaws> {
        let mut flaws = Flaws::default();
        if !spec.divisor.is_power_of_two() {
            flaws.add("divisor", format_args!("{} buckets", spec.divisor), "a power of two");
        }
        let depth = spec.depth_packets.min(MAX_DEPTH);
        let flows = spec.flows.map_or(FLOWS, u64::from).min(u64::from(spec.divisor));
        let limit = spec.limit_packets.min(depth * flows);
        flaws.at_least("depth_packets", limit, "packets in all queues together", 2);
        flaws.done()?;
        let flows = flows.min(limit) as usize;
        let ticks = u64::from(spec.perturb_s) * HZ;
        Ok(Self {
            limit: limit as usize,
            depth: depth as usize,
            quantum: i64::from(spec.quantum_bytes),
            headdrop: spec.headdrop,
            hasher: Hasher::new(rng),
            buckets: vec![NONE; spec.divisor as usize].into(),
            slots: vec![Slot::default(); flows].into(),
            depths: Depths::new(flows, depth as usize),
            tail: None,
            perturb: (ticks > 0).then(|| (ticks, Timer::new(ticks))),
            held: Backlog::default(),
            stats: QdiscStats::default(),
        })
    }

    fn bucket(&self, p: &Packet, s: &QueueContext) -> usize {
        self.hasher.flow(&directed(&s.tuples[p.flow()], p)) as usize & (self.buckets.len() - 1)
    }

    /// The slot of a bucket, with a new one if it has none; `None` if all are taken.
    fn slot_of(&mut self, bucket: usize) -> Option<usize> {
        if self.buckets[bucket] == NONE {
            let free = self.depths.first(0)?;
            self.buckets[bucket] = free as u32;
            self.slots[free].bucket = bucket as u32;
        }
        Some(self.buckets[bucket] as usize)
    }

    /// Adds a packet to a slot, whose turn is last if it was empty.
    #[inline]
    fn push(&mut self, x: usize, id: Id) {
        self.depths.deepen(x, self.slots[x].packets.len());
        self.slots[x].packets.push_back(id);
        if self.slots[x].packets.len() == 1 {
            self.slots[x].next = match self.tail {
                None => x as u32,
                Some(tail) => std::mem::replace(&mut self.slots[tail].next, x as u32),
            };
            self.tail = Some(x);
            self.slots[x].allot = self.quantum;
        }
    }

    /// Takes a packet out of a slot.
    #[inline]
    fn pop(&mut self, x: usize, from_head: bool) -> Id {
        let slot = &mut self.slots[x];
        self.depths.lower(x, slot.packets.len());
        if from_head { slot.packets.pop_front() } else { slot.packets.pop_back() }
            .expect("a slot in service has packets")
    }

    /// The slot after the tail, which is now empty, leaves the round.
    #[inline]
    fn retire(&mut self, tail: usize, x: usize) {
        self.buckets[self.slots[x].bucket as usize] = NONE;
        if x == tail {
            self.tail = None;
        } else {
            self.slots[tail].next = self.slots[x].next;
        }
    }

    /// Drops a packet of the longest queue.
    #[cold]
    fn shed(&mut self, s: &mut QueueContext) {
        let deepest = self.depths.deepest();
        let longest = self.depths.first(deepest);
        let (Some(longest), Some(tail)) = (longest, self.tail) else { return };
        let x = if deepest > 1 { longest } else { self.slots[tail].next as usize };
        let id = self.pop(x, self.headdrop);
        if deepest == 1 {
            self.retire(tail, x);
        }
        self.held.remove(s.packets[id].bytes());
        s.dropped.push((id, DropCause::Overflow));
    }

    /// Change the hash as often as that was due, and move queued packets to the slots where they belong then.
    #[inline]
    fn perturb(&mut self, s: &mut QueueContext) {
        while let Some((ticks, timer)) = &mut self.perturb {
            if !timer.is_due(s.now) {
                break;
            }
            timer.rearm(*ticks);
            self.hasher = Hasher::new(&mut s.rngs[s.port]);
            if self.tail.take().is_some() {
                self.rehash(s);
            }
        }
    }

    #[cold]
    fn rehash(&mut self, s: &mut QueueContext) {
        let mut queued = Vec::with_capacity(self.held.packets);
        for x in 0..self.slots.len() {
            while !self.slots[x].packets.is_empty() {
                queued.push(self.pop(x, true));
            }
        }
        self.buckets.fill(NONE);
        for id in queued {
            match self.slot_of(self.bucket(&s.packets[id].packet, s)) {
                Some(x) if self.slots[x].packets.len() < self.depth => self.push(x, id),
                _ => {
                    self.held.remove(s.packets[id].bytes());
                    s.dropped.push((id, DropCause::Overflow));
                }
            }
        }
    }
}

impl PeekByDequeue for Sfq {
    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        self.perturb(s);
        let slot = &mut s.packets[id];
        slot.time = s.now;
        let len = slot.bytes();
        let Some(x) = self.slot_of(self.bucket(&s.packets[id].packet, s)) else {
            s.dropped.push((id, DropCause::Overflow));
            return Verdict::Dropped;
        };
        if self.slots[x].packets.len() >= self.depth {
            if !self.headdrop {
                s.dropped.push((id, DropCause::Overflow));
                return Verdict::Dropped;
            }
            let packets = &mut self.slots[x].packets;
            packets.push_back(id);
            self.held.add(len);
            let oldest = packets.pop_front().expect("the slot is full");
            self.held.remove(s.packets[oldest].bytes());
            s.dropped.push((oldest, DropCause::Overflow));
            return Verdict::Congestion;
        }
        self.held.add(len);
        self.push(x, id);
        if self.held.packets <= self.limit {
            return Verdict::Queued;
        }
        let before = self.slots[x].packets.len();
        self.shed(s);
        if self.slots[x].packets.len() == before {
            Verdict::Queued
        } else {
            Verdict::Congestion
        }
    }

    fn next(&mut self, s: &mut QueueContext) -> Option<Id> {
        self.perturb(s);
        loop {
            let tail = self.tail?;
            let x = self.slots[tail].next as usize;
            if self.slots[x].allot <= 0 {
                self.slots[x].allot += self.quantum;
                self.tail = Some(x);
                continue;
            }
            let id = self.pop(x, true);
            let slot = &s.packets[id];
            self.held.remove(slot.bytes());
            if self.slots[x].packets.is_empty() {
                self.retire(tail, x);
            } else {
                self.slots[x].allot -= i64::from(slot.bytes());
            }
            self.stats.last_sojourn = s.now - slot.time;
            return Some(id);
        }
    }

    fn backlog(&mut self) -> &mut Backlog {
        &mut self.held
    }

    fn held(&self) -> Backlog {
        self.held
    }

    fn for_each(&self, packets: &Pool, f: &mut dyn FnMut(&Packet)) {
        self.slots.iter().flat_map(|slot| &slot.packets).for_each(|&id| f(&packets[id].packet));
    }

    fn stats(&self) -> &QdiscStats {
        &self.stats
    }
}

#[cfg(test)]
mod tests;
