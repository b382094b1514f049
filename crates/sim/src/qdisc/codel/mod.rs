//! CoDel: drops or marks at departure, at intervals that shrink with the square root of a count, once packets have waited longer than a
//! target for an interval (RFC 8289; Linux 6.12 include/net/codel_impl.h, net/sched/sch_codel.c; the differences of 3.10 are data, see
//! [`CodelSpec`]).
//!
//! Times are as Linux keeps them, in units of 1024 ns and 32 bits.

use super::ecn::mark_ce;
use super::parameters::{limit_packets, LEAST_NS, TODAY};
use super::peek_buffer::{Backlog, PeekByDequeue};
use super::{QdiscStats, QueueContext, Verdict};
use crate::catalogue::{self, Draws, Entry, Feature, Kind, Parameter, Preset};
use crate::packet::{DropCause, Packet};
use crate::pool::{self, Id, Pool, Slot};
use crate::spec::{CodelFloor, CodelSpec};
use crate::time::{Time, SEC, US};

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

/// The longest time that the arithmetic of an episode takes, in whole seconds.
const MOST_NS: i64 = (((Tick::MAX / RECENT) as u64) * 1024 / SEC * SEC) as i64;

/// Parameters that fq_codel has, too.
pub(super) const VARIANT: Parameter =
    Parameter::new("variant", Kind::Choice(&["linux-6.12", "linux-3.10"]), "", "Version of the kernel's code.")
        .or(Preset::Word("linux-6.12"))
        .needs(Feature::OtherKernels)
        .example("linux-3.10");
pub(super) const TARGET: Parameter = Parameter::new(
    "target",
    Kind::Duration,
    "control.target_ns",
    "Sojourn time that the queue may have for longer than an interval without a signal.",
)
.or_number(5_000_000)
.at_least(LEAST_NS)
.at_most(MOST_NS)
.example("20ms")
.tc("target {}us");
pub(super) const INTERVAL: Parameter = Parameter::new(
    "interval",
    Kind::Duration,
    "control.interval_ns",
    "Time above the target until the first signal, about the longest RTT of the flows.",
)
.or_number(100_000_000)
.at_least(LEAST_NS)
.at_most(MOST_NS)
.example("300ms")
.tc("interval {}us");
pub(super) const ECN: Parameter =
    Parameter::new("ecn", Kind::Flag, "control.ecn", "Marks ECN-capable packets instead of dropping them.")
        .or(Preset::Flag(false))
        .example("true")
        .tc("ecn|noecn");
pub(super) const CE_THRESHOLD: Parameter = Parameter::new(
    "ce_threshold",
    Kind::Duration,
    "control.ce_threshold_ns",
    "Sojourn time above which packets are CE-marked.",
)
.or(Preset::Unset)
.at_most(MOST_NS)
.only(TODAY)
.since("4.2")
.example("1ms")
.tc("ce_threshold {}us");

/// codel's parameters.
pub const ENTRY: Entry = Entry {
    name: "codel",
    summary: "CoDel on one queue (RFC 8289)",
    about: "CoDel (RFC 8289, Linux codel).",
    draws: Draws::Nothing,
    parameters: &[VARIANT, limit_packets().or_number(1000), TARGET, INTERVAL, ECN, CE_THRESHOLD],
    tc: &[],
    since: "3.5",
};

/// State variables that a scenario may record.
pub(super) const STATE: &[catalogue::State] = &[
    catalogue::State::new("codel_count", "", "signals of this episode: the more, the shorter the gaps between them"),
    catalogue::State::new("codel_last_count", "", "count at the start of the episode"),
    catalogue::State::flag(
        "dropping",
        "the sojourn has been above the target for an interval, and packets are dropped or marked",
    ),
    catalogue::State::new(
        "drop_next_ms",
        "ms",
        "time until the next drop or mark, negative if it is due; none while nothing is dropped",
    ),
];

/// Size of the largest packet while only smaller ones have left, bytes.
const LEAST_LARGEST: u32 = 256;

/// State that the queues of a discipline share.
#[derive(Clone, Debug)]
pub(super) struct Law {
    target: Tick,
    interval: Tick,
    ecn: bool,
    ce_threshold: Option<Tick>,
    /// Packets that the threshold applies to: those whose DS field has, where the second number has ones, the bits of the first number.
    selector: (u8, u8),
    floor: CodelFloor,
    /// The device's largest frame, bytes.
    frame: u32,
    forgets_when_empty: bool,
    /// Largest packet that left, bytes.
    largest: u32,
}

/// State of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    /// Signals of this episode: the more, the shorter the gaps. fq_codel adds the packets that it drops at a limit.
    pub count: u32,
    /// The count at the start of the episode.
    last_count: u32,
    dropping: bool,
    /// 2^16 / sqrt(count).
    inv_sqrt: u16,
    /// Time at which the sojourn will have been above the target for an interval; 0: the sojourn is not above the target.
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
    /// Packets are dropped or marked.
    pub fn is_dropping(&self) -> bool {
        self.dropping
    }

    /// Tells what it keeps, by the names of [`STATE`].
    fn tell(&self, now: Time, tell: &mut catalogue::Tell) {
        tell("codel_count", f64::from(self.count));
        tell("codel_last_count", f64::from(self.last_count));
        tell("dropping", f64::from(u8::from(self.dropping)));
        if self.dropping {
            tell("drop_next_ms", f64::from(self.drop_next.wrapping_sub(tick(now)) as i32) * 1024.0 / 1e6);
        }
    }

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
    /// The described law, on a device whose largest frame has `frame` bytes.
    pub fn new(spec: &CodelSpec, frame: u32) -> Self {
        // tc hands over whole microseconds.
        let ticks = |ns: u64| ((ns / US * US) >> 10) as Tick;
        Self {
            target: ticks(spec.target_ns),
            interval: ticks(spec.interval_ns),
            ecn: spec.ecn,
            ce_threshold: spec.ce_threshold_ns.map(ticks),
            selector: spec.ce_threshold_selector.unwrap_or((0, 0)),
            floor: spec.floor,
            frame,
            forgets_when_empty: spec.forgets_when_empty,
            largest: LEAST_LARGEST,
        }
    }

    /// True if heads have waited longer than the target for an interval.
    #[inline]
    fn late(&mut self, state: &mut State, head: &Slot, backlog: u64, now: Tick) -> bool {
        let len = head.bytes();
        state.sojourn = now.wrapping_sub(tick(head.time));
        let floor = match self.floor {
            CodelFloor::Mtu => self.frame,
            CodelFloor::LargestSeen => {
                self.largest = self.largest.max(len);
                self.largest
            }
        };
        // A backlog of a packet is always tolerated; the head itself does not count.
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

    /// True if the head of a queue is late as in [`Self::late`]. The queue may be empty.
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

    /// Take the next packet of a queue that may pass; packets that may not pass go to `dropped`.
    #[inline(always)]
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
            let exceeded = after(source.state().sojourn, threshold) && self.selects(source, s);
            stats.ce_marks += u64::from(exceeded && mark(source, &mut s.packets));
        }
        let id = source.pop(&s.packets)?;
        stats.last_sojourn = s.now - s.packets[id].time;
        Some(id)
    }

    /// The threshold is for the head.
    fn selects(&self, source: &impl Source, s: &QueueContext) -> bool {
        let (value, mask) = self.selector;
        mask == 0
            || source.head().is_some_and(|id| {
                let p = &s.packets[id].packet;
                (p.codepoint(s.tuples[p.flow()].dscp) << 2 | p.ecn().bits()) & mask == value
            })
    }

    /// An episode goes on or begins: marks the head or drops heads, after which the head may pass. Out of line, because most packets pass
    /// without it.
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
            // Soon after the last episode, the frequency that controlled the queue then is a good one to start with.
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
    source.head().is_some_and(|id| mark_ce(&mut pool[id].packet))
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
    #[must_use]
    pub fn new(limit: usize, spec: &CodelSpec, frame: u32) -> Self {
        let law = Law::new(spec, frame);
        Self { limit, law, queue: Queue::default(), stats: QdiscStats::default() }
    }
}

impl PeekByDequeue for Codel {
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

    fn state(&self, now: Time, tell: &mut catalogue::Tell) {
        self.queue.state.tell(now, tell);
    }
}

#[cfg(test)]
mod tests;
