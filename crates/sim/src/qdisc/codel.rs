//! CoDel: drops or marks at departure, at intervals that shrink with the square root of a count, once packets have waited
//! longer than a target for an interval (RFC 8289; Linux 6.12 include/net/codel_impl.h, net/sched/sch_codel.c; what 3.10 has
//! otherwise is data, see [`CodelSpec`]).
//!
//! Times are as Linux keeps them, in units of 1024 ns and 32 bits. Left out: the mask and selector of `ce_threshold`.

use super::ecn::set_ce;
use super::peeked::{Backlog, Deciding};
use super::{QdiscStats, QueueContext, Verdict};
use crate::packet::{DropCause, Packet, FULL_FRAME};
use crate::pool::{self, Id, Pool, Slot};
use crate::spec::{CodelFloor, CodelSpec};
use crate::time::{Time, US};

/// A time, 1024 ns.
type Tick = u32;

/// Linux zeroes the times of a new queue, and its clock has run for long when a qdisc is created: none of them is recent.
const BOOT: Tick = 1 << 26;

fn tick(t: Time) -> Tick {
    BOOT.wrapping_add((t >> 10) as Tick)
}

/// True if `a` is later than `b`, on a clock that wraps.
fn after(a: Tick, b: Tick) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// Bits of the reciprocal square root that Linux does not keep.
const INV_SQRT_SHIFT: u32 = 16;
/// Times the interval within which the frequency of the last episode is taken up again.
const RECENT: u32 = 16;

/// What counts as the largest packet before a larger one has left, bytes.
const LEAST_LARGEST: u32 = 256;

/// What the queues of a discipline share.
#[derive(Clone, Debug)]
pub(super) struct Law {
    target: Tick,
    interval: Tick,
    ecn: bool,
    ce_threshold: Option<Tick>,
    floor: CodelFloor,
    forgets_when_empty: bool,
    /// Largest packet that left, bytes.
    largest: u32,
}

/// State of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    /// Signals' frequency; more since the qdisc dropped for want of room.
    pub count: u32,
    /// The count at the start of the episode.
    last_count: u32,
    dropping: bool,
    /// 2^16 / sqrt(count).
    inv_sqrt: u16,
    /// When the sojourn will have been above the target for an interval; 0: it is not.
    first_above: Tick,
    drop_next: Tick,
    /// Sojourn of the last packet looked at.
    sojourn: Tick,
}

/// A queue under a law.
pub(super) trait Source {
    /// Its state.
    fn state(&mut self) -> &mut State;
    /// The oldest packet.
    fn head(&self) -> Option<Id>;
    /// Takes the oldest packet.
    fn pop(&mut self, pool: &Pool) -> Option<Id>;
    /// Bytes that the whole discipline holds.
    fn backlog(&self) -> u64;
}

impl State {
    /// One Newton step towards 1 / sqrt(count).
    fn newton_step(&mut self) {
        let x = u32::from(self.inv_sqrt) << INV_SQRT_SHIFT;
        let square = (u64::from(x) * u64::from(x)) >> 32;
        let correction = (3_u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square)) >> 2;
        self.inv_sqrt = ((correction.wrapping_mul(u64::from(x)) >> 31) as u32 >> INV_SQRT_SHIFT) as u16;
    }

    /// The next signal comes interval / sqrt(count) later.
    fn defer(&mut self, interval: Tick) {
        let x = u32::from(self.inv_sqrt) << INV_SQRT_SHIFT;
        self.drop_next = self.drop_next.wrapping_add(((u64::from(interval) * u64::from(x)) >> 32) as Tick);
    }
}

impl Law {
    /// The described law.
    pub fn new(spec: &CodelSpec, kind: &str) -> Result<Self, String> {
        // tc hands over whole microseconds.
        let ticks = |name: &str, ns: u64| {
            Tick::try_from((ns / US * US) >> 10)
                .ok()
                .filter(|&t| t <= Tick::MAX / RECENT)
                .ok_or_else(|| format!("{kind}: {name} of {ns} ns is too long"))
        };
        Ok(Self {
            target: ticks("target", spec.target_ns)?,
            interval: ticks("interval", spec.interval_ns)?,
            ecn: spec.ecn,
            ce_threshold: spec.ce_threshold_ns.map(|ns| ticks("ce_threshold", ns)).transpose()?,
            floor: spec.floor,
            forgets_when_empty: spec.forgets_when_empty,
            largest: LEAST_LARGEST,
        })
    }

    /// The head has waited too long for too long.
    #[inline]
    fn late(&mut self, state: &mut State, head: &Slot, backlog: u64, now: Tick) -> bool {
        let len = head.bytes();
        state.sojourn = now.wrapping_sub(tick(head.time));
        let floor = match self.floor {
            CodelFloor::Mtu => FULL_FRAME,
            CodelFloor::LargestSeen => {
                self.largest = self.largest.max(len);
                self.largest
            }
        };
        // What the head leaves behind counts.
        if after(self.target, state.sojourn) || backlog <= u64::from(floor) + u64::from(len) {
            state.first_above = 0;
            false
        } else if state.first_above == 0 {
            state.first_above = now.wrapping_add(self.interval);
            false
        } else {
            after(now, state.first_above)
        }
    }

    /// As [`Self::late`], of a queue that may be empty.
    fn head_is_late(&mut self, source: &mut impl Source, now: Tick, pool: &Pool) -> bool {
        let backlog = source.backlog();
        match source.head() {
            Some(head) => self.late(source.state(), &pool[head], backlog, now),
            None => {
                source.state().first_above = 0;
                false
            }
        }
    }

    /// Takes the next packet of a queue that may pass; what may not goes to `dropped`.
    #[inline]
    pub fn dequeue(&mut self, source: &mut impl Source, s: &mut QueueContext, stats: &mut QdiscStats) -> Option<Id> {
        let Some(head) = source.head() else {
            let state = source.state();
            if self.forgets_when_empty {
                state.first_above = 0;
            }
            state.dropping = false;
            return None;
        };
        let (at, backlog) = (tick(s.now), source.backlog());
        let late = self.late(source.state(), &s.packets[head], backlog, at);
        if late || source.state().dropping {
            self.signal(source, late, at, s, stats);
        }
        if let Some(threshold) = self.ce_threshold {
            stats.ce_marks += u64::from(after(source.state().sojourn, threshold) && mark(source, &mut s.packets));
        }
        let id = source.pop(&s.packets)?;
        stats.last_sojourn = s.now - s.packets[id].time;
        Some(id)
    }

    /// Marks the head or drops heads as an episode goes on, or begins; afterwards the head may pass. Apart, because most packets
    /// pass without it.
    #[cold]
    #[inline(never)]
    fn signal(&mut self, source: &mut impl Source, late: bool, at: Tick, s: &mut QueueContext, stats: &mut QdiscStats) {
        if source.state().dropping {
            source.state().dropping = late;
            while source.state().dropping && !after(source.state().drop_next, at) {
                let state = source.state();
                state.count = state.count.wrapping_add(1);
                state.newton_step();
                if self.ecn && mark(source, &mut s.packets) {
                    stats.ce_marks += 1;
                    source.state().defer(self.interval);
                    break;
                }
                s.dropped.extend(source.pop(&s.packets).map(|id| (id, DropCause::Aqm)));
                if self.head_is_late(source, at, &s.packets) {
                    source.state().defer(self.interval);
                } else {
                    source.state().dropping = false;
                }
            }
        } else {
            if self.ecn && mark(source, &mut s.packets) {
                stats.ce_marks += 1;
            } else {
                s.dropped.extend(source.pop(&s.packets).map(|id| (id, DropCause::Aqm)));
                self.head_is_late(source, at, &s.packets);
            }
            let state = source.state();
            state.dropping = true;
            // The frequency that controlled the queue lately is a good one to start with.
            let grown = state.count.wrapping_sub(state.last_count);
            if grown > 1 && after(RECENT * self.interval, at.wrapping_sub(state.drop_next)) {
                state.count = grown;
                state.newton_step();
            } else {
                state.count = 1;
                state.inv_sqrt = u16::MAX;
            }
            state.last_count = state.count;
            state.drop_next = at;
            state.defer(self.interval);
        }
    }
}

/// Requests a CE mark for the head, see [`set_ce`].
fn mark(source: &impl Source, pool: &mut Pool) -> bool {
    source.head().is_some_and(|id| set_ce(&mut pool[id].packet.ecn))
}

/// One queue under CoDel.
#[derive(Clone, Debug)]
pub struct Codel {
    limit: usize,
    law: Law,
    queue: Queue,
    stats: QdiscStats,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    state: State,
    packets: pool::Queue,
    held: Backlog,
}

impl Source for Queue {
    #[inline]
    fn state(&mut self) -> &mut State {
        &mut self.state
    }

    #[inline]
    fn head(&self) -> Option<Id> {
        self.packets.first()
    }

    #[inline]
    fn pop(&mut self, pool: &Pool) -> Option<Id> {
        let id = self.packets.pop(pool)?;
        self.held.remove(pool[id].bytes());
        Some(id)
    }

    fn backlog(&self) -> u64 {
        self.held.bytes
    }
}

impl Codel {
    /// An empty queue of at most `limit` packets.
    ///
    /// # Errors
    /// A parameter outside what Linux can hold, named.
    pub fn new(limit: usize, spec: &CodelSpec) -> Result<Self, String> {
        let law = Law::new(spec, "codel")?;
        Ok(Self { limit, law, queue: Queue::default(), stats: QdiscStats::default() })
    }
}

impl Deciding for Codel {
    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        if self.queue.held.packets >= self.limit {
            s.dropped.push((id, DropCause::Overflow));
            return Verdict::Dropped;
        }
        let slot = &mut s.packets[id];
        slot.time = s.now;
        self.queue.held.add(slot.bytes());
        self.queue.packets.push(id, &mut s.packets);
        Verdict::Queued
    }

    fn next(&mut self, s: &mut QueueContext) -> Option<Id> {
        self.law.dequeue(&mut self.queue, s, &mut self.stats)
    }

    fn backlog(&mut self) -> &mut Backlog {
        &mut self.queue.held
    }

    fn held(&self) -> Backlog {
        self.queue.held
    }

    fn for_each(&self, packets: &Pool, f: &mut dyn FnMut(&Packet)) {
        self.queue.packets.iter(packets).for_each(f);
    }

    fn stats(&self) -> &QdiscStats {
        &self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::super::lab::{packet, queue_context, Lab};
    use super::super::{Qdisc, QdiscStats};
    use super::{Law, Source, State};
    use crate::packet::{DropCause, Ecn, FULL_FRAME};
    use crate::pool::{self, Id, Pool};
    use crate::rng::Rng;
    use crate::spec::{CodelFloor, CodelSpec, QdiscSpec};
    use crate::time::{Time, MS};

    /// A full packet at 10 Mbit/s, ns.
    const SLOT: u64 = 1_211_200;

    fn spec(ecn: bool) -> CodelSpec {
        CodelSpec {
            target_ns: 5 * MS,
            interval_ns: 100 * MS,
            ecn,
            ce_threshold_ns: None,
            floor: CodelFloor::Mtu,
            forgets_when_empty: true,
        }
    }

    fn lab(control: CodelSpec) -> Lab {
        Lab::new(&QdiscSpec::Codel { limit_packets: 1000, control }, 1)
    }

    /// A packet leaves every slot and another comes; returns the times of signals up to `until`.
    fn overload(lab: &mut Lab, ecn: Ecn, until: Time) -> Vec<Time> {
        let mut signals = vec![];
        while lab.now < until {
            lab.now += SLOT;
            let marks = lab.qdisc.stats().ce_marks;
            lab.take();
            let count = lab.dropped.drain(..).count() as u64 + lab.qdisc.stats().ce_marks - marks;
            signals.extend((0..count).map(|_| lab.now));
            lab.offer_full(0, 1, ecn);
        }
        signals
    }

    #[test]
    fn signals_begin_after_an_interval_and_come_at_its_inverse_square_roots() {
        let mut lab = lab(spec(true));
        lab.offer_full(0, 100, Ecn::Ect0);
        let signals = overload(&mut lab, Ecn::Ect0, 1500 * MS);
        // The first packet that waited 5 ms leaves at the fifth slot; an interval later the first signal comes.
        let first = 5 * SLOT + 100 * MS;
        assert!((first..first + 2 * SLOT).contains(&signals[0]), "{signals:?}");
        for (n, pair) in (1..).zip(signals.windows(2)) {
            // The first Newton step, from 1, takes 1 / sqrt(2) for 1/2.
            let expected = if n == 2 { 50e6 } else { 100e6 / f64::from(n).sqrt() };
            let gap = (pair[1] - pair[0]) as f64;
            assert!((gap - expected).abs() < 3e6, "gap {n}: {gap}, not {expected}");
        }
        assert!(signals.len() > 40);
    }

    #[test]
    fn what_cannot_be_marked_is_dropped() {
        let mut lab = lab(spec(true));
        lab.offer_full(0, 100, Ecn::NotEct);
        assert!(!overload(&mut lab, Ecn::NotEct, 500 * MS).is_empty());
        assert_eq!(lab.qdisc.stats().ce_marks, 0);
    }

    #[test]
    fn a_full_packet_may_stand() {
        // One packet arrives when one leaves, having waited 50 ms: only one is ever left behind.
        let mut lab = lab(spec(false));
        lab.offer_full(0, 2, Ecn::NotEct);
        for _ in 0..100 {
            lab.now += 50 * MS;
            lab.take();
            lab.offer_full(0, 1, Ecn::NotEct);
        }
        assert!(lab.dropped.is_empty());
    }

    #[test]
    fn an_old_kernel_tolerates_the_largest_packet_seen() {
        let control = CodelSpec { floor: CodelFloor::LargestSeen, ..spec(false) };
        let mut lab = lab(control);
        let small = |lab: &mut Lab| {
            lab.offer(super::super::lab::packet(0, 66, 0, Ecn::NotEct));
        };
        (0..5).for_each(|_| small(&mut lab));
        for _ in 0..100 {
            lab.now += 50 * MS;
            lab.take();
            small(&mut lab);
        }
        assert!(!lab.dropped.is_empty(), "four packets of 66 bytes are more than the largest");
    }

    #[test]
    fn an_episode_soon_after_another_goes_on_at_its_frequency() {
        let mut lab = lab(spec(true));
        lab.offer_full(0, 100, Ecn::Ect0);
        let first = overload(&mut lab, Ecn::Ect0, 1000 * MS);
        while lab.take().is_some() {}
        lab.offer_full(0, 100, Ecn::Ect0);
        let until = lab.now + 300 * MS;
        let again = overload(&mut lab, Ecn::Ect0, until);
        let gap = again[1] - again[0];
        assert!(first[1] - first[0] > 95 * MS);
        assert!(gap < 30 * MS, "{gap}");
    }

    #[test]
    fn an_episode_starts_anew_after_sixteen_intervals() {
        // Its first signal comes 106 ms after the queue has filled.
        for (idle, anew) in [(1400 * MS, false), (1600 * MS, true)] {
            let mut lab = lab(spec(true));
            lab.offer_full(0, 100, Ecn::Ect0);
            overload(&mut lab, Ecn::Ect0, 1000 * MS);
            while lab.take().is_some() {}
            lab.now += idle;
            lab.offer_full(0, 100, Ecn::Ect0);
            let until = lab.now + 300 * MS;
            let again = overload(&mut lab, Ecn::Ect0, until);
            assert_eq!(again[1] - again[0] > 95 * MS, anew, "{idle}: {again:?}");
        }
    }

    #[test]
    fn an_episode_takes_up_what_the_last_one_alone_has_counted() {
        let mut lab = lab(spec(true));
        let mut gaps = vec![];
        for length in [1000 * MS, 250 * MS, 250 * MS] {
            lab.offer_full(0, 100, Ecn::Ect0);
            let until = lab.now + length;
            let signals = overload(&mut lab, Ecn::Ect0, until);
            gaps.push(signals[1] - signals[0]);
            while lab.take().is_some() {}
        }
        assert!(gaps[1] < 30 * MS && gaps[2] > gaps[1], "{gaps:?}");
    }

    #[test]
    fn an_empty_queue_among_others_forgets_that_it_was_late_where_the_kernel_does() {
        /// One queue of a discipline that holds much else.
        struct One {
            state: State,
            packets: pool::Queue,
        }
        impl Source for One {
            fn state(&mut self) -> &mut State {
                &mut self.state
            }
            fn head(&self) -> Option<Id> {
                self.packets.first()
            }
            fn pop(&mut self, pool: &Pool) -> Option<Id> {
                self.packets.pop(pool)
            }
            fn backlog(&self) -> u64 {
                100_000
            }
        }
        for forgets_when_empty in [true, false] {
            let mut law = Law::new(&CodelSpec { forgets_when_empty, ..spec(false) }, "codel").unwrap();
            let (mut stats, mut s) = (QdiscStats::default(), queue_context(Rng::for_component(1, "port/q"), vec![]));
            let mut one = One { state: State::default(), packets: pool::Queue::default() };
            let mut take = |waiting: bool, now: Time| {
                s.now = now;
                if waiting {
                    let id = s.packets.put(packet(0, FULL_FRAME, 0, Ecn::NotEct));
                    s.packets[id].time = now - 10 * MS;
                    one.packets.push(id, &mut s.packets);
                }
                law.dequeue(&mut one, &mut s, &mut stats).is_some()
            };
            assert!(take(true, 20 * MS), "late for the first time");
            assert!(!take(false, 30 * MS), "empty");
            let passes = take(true, 130 * MS);
            assert_eq!(passes, forgets_when_empty, "late for an interval, if the time before counts");
        }
    }

    #[test]
    fn the_threshold_marks_whatever_waited_longer() {
        let mut lab = lab(CodelSpec { ce_threshold_ns: Some(2 * MS), ..spec(false) });
        lab.offer_full(0, 3, Ecn::Ect0);
        let taken = |lab: &mut Lab, at| {
            lab.now = at;
            lab.take().map(|p| p.ecn)
        };
        assert_eq!(taken(&mut lab, MS), Some(Ecn::Ect0));
        assert_eq!(taken(&mut lab, 3 * MS), Some(Ecn::Ce));
        assert_eq!(lab.qdisc.stats().ce_marks, 1);
    }

    #[test]
    fn a_full_queue_drops_what_arrives() {
        let mut lab = Lab::new(&QdiscSpec::Codel { limit_packets: 2, control: spec(false) }, 1);
        lab.offer_full(0, 3, Ecn::NotEct);
        assert_eq!(
            lab.dropped.iter().map(|(p, cause)| (p.seq, *cause)).collect::<Vec<_>>(),
            [(3, DropCause::Overflow)]
        );
        // A packet at hand counts as held.
        lab.dropped.clear();
        assert!(lab.peek().is_some());
        lab.offer_full(0, 1, Ecn::NotEct);
        assert_eq!(lab.dropped.len(), 1);
    }
}
