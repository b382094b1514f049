//! A link that loses, delays unevenly, reorders, duplicates and corrupts packets, as netem does (Linux 6.12 net/sched/sch_netem.c,
//! `netem_enqueue`, `tfifo_enqueue`, `netem_peek`).
//!
//! Packets are duplicated, lost, corrupted, dropped for want of room and delayed, in this order. A duplicate goes in ahead of its original,
//! and through all steps but duplication. Each fault has a random stream of its own, so that one does not shift another.
//!
//! Left out: slots, the four-state model of loss.

mod jitter;
mod loss;
mod parameters;
mod random;
mod tables;
#[cfg(test)]
mod tests;

pub use self::parameters::ENTRIES;
use self::parameters::{BIT_ERRORS, REORDER};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use self::jitter::Jitter;
use self::loss::Loss;
use self::random::{Numbers, Share};
pub use self::tables::{normal, pareto, paretonormal};
use crate::pool::{Id, Pool, Queue};
use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::spec::{Chance, FaultsSpec, ReorderSpec};
use crate::time::{serialisation, Duration, Time, NEVER};

/// Counts of the packets that each fault hit.
#[derive(Clone, Copy, Debug, Default)]
pub struct FaultCounts {
    /// Lost at random.
    pub lost: u64,
    /// Copies that were made.
    pub duplicated: u64,
    /// Packets with a wrong bit from here on.
    pub corrupted: u64,
    /// Packets that left at once, past those that are delayed.
    pub reordered: u64,
}

/// The rule that chooses packets to overtake others.
#[derive(Clone, Debug)]
struct Reorder {
    share: Chance,
    numbers: Numbers,
    gap: u32,
    /// Delayed since one overtook.
    passed: u32,
}

impl Reorder {
    fn new(spec: &ReorderSpec, rng: Rng) -> Self {
        Self { share: spec.share, numbers: Numbers::new(rng, spec.correlation), gap: spec.gap, passed: 0 }
    }

    /// True if the next packet overtakes.
    fn draw(&mut self) -> bool {
        let overtakes = self.passed >= self.gap - 1 && self.share >= self.numbers.draw();
        self.passed = if overtakes { 0 } else { self.passed.saturating_add(1) };
        overtakes
    }
}

/// The link, with the packets on their way.
#[derive(Debug)]
pub struct Faults {
    delay: i64,
    rate_bps: Option<u64>,
    limit: usize,
    duplicate: Option<Share>,
    loss: Option<Loss>,
    /// An ECN-capable packet that would be lost is marked instead.
    pub marks: bool,
    corrupt: Option<Share>,
    reorder: Option<Reorder>,
    jitter: Option<Jitter>,
    /// A packet leaves after those before it.
    keeps_order: bool,
    /// Packets that leave in the order in which they came, and when the last of them leaves.
    waiting: Queue,
    last: Time,
    /// Packets that leave before that: when, their numbers, and themselves.
    early: BinaryHeap<Reverse<(Time, u64, Id)>>,
    came: u64,
    /// Counts of the packets that each fault hit.
    pub counts: FaultCounts,
}

impl Faults {
    /// The link `id` in a run with `seed`.
    ///
    /// # Errors
    /// What of it cannot be.
    pub fn build(
        spec: &FaultsSpec,
        (id, seed): (&str, u64),
        delay: Duration,
        rate_bps: Option<u64>,
        limit: usize,
    ) -> Result<Self, Flaws> {
        let rng = |fault: &str| Rng::for_component(seed, &format!("faults/{id}/{fault}"));
        let reorder = spec.reorder.map_or(Ok(()), |reorder| REORDER.check(&reorder));
        let loss = spec.loss.map_or(Ok(()), |loss| BIT_ERRORS.check(&loss));
        let jitter = spec.jitter.as_ref().map(|jitter| Jitter::build(jitter, rng("jitter"))).transpose();
        let bounded = Flaws::both(Flaws::within("reorder", reorder), Flaws::within("loss", loss));
        let (_, jitter) = Flaws::both(bounded, Flaws::within("jitter", jitter))?;
        Ok(Self {
            delay: delay as i64,
            rate_bps,
            limit,
            duplicate: spec.duplicate.map(|share| Share::new(share, rng("duplicate"))),
            marks: spec.ecn,
            loss: spec.loss.as_ref().map(|loss| Loss::new(loss, rng("loss"))),
            corrupt: spec.corrupt.map(|share| Share::new(share, rng("corrupt"))),
            reorder: spec.reorder.as_ref().map(|reorder| Reorder::new(reorder, rng("reorder"))),
            jitter,
            keeps_order: rate_bps.is_some() || spec.jitter.as_ref().is_some_and(|jitter| jitter.keep_order),
            waiting: Queue::default(),
            last: 0,
            early: BinaryHeap::new(),
            came: 0,
            counts: FaultCounts::default(),
        })
    }

    /// True if the next packet is duplicated.
    pub fn duplicates(&mut self) -> bool {
        self.duplicate.as_mut().is_some_and(Share::draw)
    }

    /// True if the next packet, whose frame has `bytes` bytes, is lost.
    pub fn loses(&mut self, bytes: u32) -> bool {
        self.loss.as_mut().is_some_and(|loss| loss.draw(bytes))
    }

    /// True if a bit of the next packet is wrong from here on.
    pub fn corrupts(&mut self) -> bool {
        self.corrupt.as_mut().is_some_and(Share::draw)
    }

    /// Some packets are corrupted.
    #[must_use]
    pub fn may_corrupt(&self) -> bool {
        self.corrupt.is_some()
    }

    /// There is no room for another packet.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.waiting.len() + self.early.len() >= self.limit
    }

    /// Return when a packet of this many bytes leaves that comes now; `None` if it overtakes all others.
    pub fn due(&mut self, now: Time, bytes: u32) -> Option<Time> {
        if self.reorder.as_mut().is_some_and(Reorder::draw) {
            self.counts.reordered += 1;
            return None;
        }
        let mut due = now as i64 + self.delay + self.jitter.as_mut().map_or(0, Jitter::draw);
        if self.keeps_order && !self.waiting.is_empty() {
            due = due.max(self.last as i64);
        }
        if let Some(rate) = self.rate_bps {
            due += serialisation(u64::from(bytes), rate) as i64;
        }
        Some(now.max(due.max(0) as Time))
    }

    /// A packet will leave when it is due.
    pub fn push(&mut self, id: Id, due: Time, packets: &mut Pool) {
        if self.waiting.is_empty() || due >= self.last {
            packets[id].time = due;
            self.waiting.push(id, packets);
            self.last = due;
        } else {
            self.early.push(Reverse((due, self.came, id)));
            self.came += 1;
        }
    }

    /// Return when the next packet leaves.
    #[must_use]
    pub fn next(&self, packets: &Pool) -> Time {
        let waiting = self.waiting.first().map_or(NEVER, |id| packets[id].time);
        self.early.peek().map_or(waiting, |Reverse((due, ..))| waiting.min(*due))
    }

    /// The next packet leaves.
    pub fn pop(&mut self, packets: &Pool) -> Option<Id> {
        let waiting = self.waiting.first().map_or(NEVER, |id| packets[id].time);
        if self.early.peek().is_some_and(|Reverse((due, ..))| *due < waiting) {
            return self.early.pop().map(|Reverse((_, _, id))| id);
        }
        self.waiting.pop_ahead(packets)
    }

    /// All of them, in no order.
    pub fn for_each(&self, packets: &Pool, mut look: impl FnMut(&crate::packet::Packet)) {
        self.waiting.iter(packets).for_each(&mut look);
        self.early.iter().for_each(|Reverse((_, _, id))| look(&packets[*id].packet));
    }
}
