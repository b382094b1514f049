//! fq: a queue per flow, served in turn by bytes, flows that lately became active first (Linux 6.12 net/sched/sch_fq.c).
//!
//! - Packets that a router forwards belong to no socket and carry no time to send: their flows are told apart by a hash of addresses and
//!   ports, of 10 bits, and nothing is held back.
//! - On a host the data of a connection are a flow of their own and say when they are to leave. A flow whose first packet is not due is set
//!   aside until then; then it comes last among the old ones. The timer may be 10 us late, unless something else wakes the queue.
//! - While no flow waits, up to eight packets bypass the flows in one queue for all, Linux's `internal`.
//! - A flow that has been idle for 3 s is removed when a packet of another one is looked up and comes past it (`fq_gc`). If the flow
//!   returns it counts as new. The flows lie in 1024 trees by a hash of the hash, and no more than two in one tree: the older one is the
//!   root, and a search begins with the root.
//! - There are three bands of priority, and packets without a DSCP are all in the second band. But Linux lists a flow before it notes the
//!   flow's band, and so a new flow stands in the first band: the second band goes on until it has sent its 192 KiB or has nothing to send,
//!   and only then does the new flow get its first turn. Later turns are in the second band.
//!
//! Left out: rates of its own (maxrate, low_rate_threshold), `orphan_mask`, `buckets`, bands by DSCP; the removal of idle flows of sockets.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::ecn::mark_ce;
use super::hash::{directed, Hasher};
use super::jiffies::JIFFY;
use super::lists::{List, Lists};
use super::parameters::{limit_packets, quantum, MOST, MOST_NS};
use super::peek_buffer::{Backlog, PeekByDequeue};
use super::{Dequeued, QdiscStats, QueueContext, Verdict};
use crate::catalogue::{Draws, Entry, Feature, Kind, Parameter, Preset};
use crate::packet::{DropCause, FlowTuple, Packet};
use crate::pool::{Id, Pool, Queue};
use crate::rng::Rng;
use crate::spec::FqSpec;
use crate::time::{Time, SEC, US};

/// Flows that the hash tells apart.
const FLOWS: usize = 1024;
/// Packets that may bypass the flows.
const FAST_PATH: usize = 8;
/// Default pause after which a flow gets a quantum, ticks.
const REFILL_TICKS: u64 = 40;
/// Age at which an idle flow may be removed, ticks.
const REMOVAL_TICKS: u64 = 3000;
/// Maximum delay of the timer that waits for a departure (`timer_slack`), and maximum distance of a departure in the future (`horizon`).
const TIMER_SLACK: Time = 10 * US;
const HORIZON: Time = 10 * SEC;
/// Linux's factor of hashes (include/linux/hash.h GOLDEN_RATIO_64).
const GOLDEN_RATIO: u64 = 0x61c8_8646_80b5_83eb;
/// No flow.
const NONE: u16 = u16::MAX;

/// Bytes of a turn of each band.
const BAND_QUANTA: [i64; 3] = [9 << 16, 3 << 16, 1 << 16];
/// The band of flows seen for the first time, and that of all others.
const FIRST: usize = 0;
const SECOND: usize = 1;

/// fq's parameters.
pub const ENTRY: Entry = Entry {
    name: "fq",
    summary: "fair queue: a queue per flow, new flows first",
    about: "Fair queue (Linux fq). On a router it only schedules flows, because it paces only local senders.",
    draws: Draws::Hash,
    parameters: &[
        limit_packets().or_number(10_000),
        Parameter::new("flow_limit", Kind::Packets, "flow_limit_packets", "Maximum number of packets of a flow.")
            .or_number(100)
            .at_most(MOST)
            .example("50p")
            .tc("flow_limit {}"),
        quantum("quantum_bytes", 2, "Bytes that a flow may send in its turn; by default two of the largest frames."),
        Parameter::new(
            "initial_quantum",
            Kind::Size,
            "initial_quantum_bytes",
            "Bytes that a new flow may send in its first turn; by default ten of the largest frames.",
        )
        .or(Preset::Frames(10))
        .at_most(1 << 20)
        .example("30kB")
        .tc("initial_quantum {}"),
        Parameter::new(
            "refill_delay",
            Kind::Duration,
            "refill_delay_ns",
            "Pause after which a flow has a whole turn again; by default 40 ms.",
        )
        .or(Preset::Unset)
        .at_most(MOST_NS)
        .sparse()
        .example("10ms")
        .tc("refill_delay {}us"),
        Parameter::new(
            "ce_threshold",
            Kind::Duration,
            "ce_threshold_ns",
            "Sojourn time above which packets are CE-marked.",
        )
        .or(Preset::Unset)
        .at_most(MOST_NS)
        .needs(Feature::FqCeThreshold)
        .since("5.0")
        .example("1ms"),
    ],
    tc: &[],
    since: "3.12",
};

/// A flow.
#[derive(Clone, Debug)]
struct Flow {
    /// Number of flows created before it.
    number: u64,
    packets: Queue,
    /// Bytes it may send before its turn ends.
    credit: i64,
    /// Tick at which it left the round; `None`: it is in it.
    left: Option<u64>,
    /// It is set aside until its first packet is due.
    throttled: bool,
}

/// Parameters of tc.
#[derive(Clone, Debug)]
struct Parameters {
    limit: usize,
    flow_limit: usize,
    quantum: i64,
    initial_quantum: i64,
    ce_threshold: Option<u64>,
    /// Pause after which a flow gets a quantum, ticks.
    refill_ticks: u64,
}

/// An fq. Wide because a flow is found by two keys and waits in one of four places: either band, the rest, or set aside.
#[derive(Clone, Debug)]
pub struct Fq {
    parameters: Parameters,
    hasher: Hasher,
    /// For each value of the hash: the index of its flow plus one, or 0 if there is none yet.
    by_hash: Box<[u32]>,
    flows: Vec<Flow>,
    /// Indices of flows that were removed.
    removed: Vec<usize>,
    created: u64,
    /// For each value of the hash: the other value in its tree, or `NONE`.
    other: Box<[u16]>,
    /// Flows of the first band, which have not been served yet.
    first_band: VecDeque<usize>,
    /// Flows of the second.
    lists: Lists,
    /// The band whose turn it is, and the bytes that each may send before its turn ends.
    band: usize,
    band_credits: [i64; 3],
    /// For each direction of a connection whose sender says when packets leave: the index of its flow plus one, or 0 if there is none yet.
    sockets: Vec<u32>,
    /// Flows set aside: when the first packet of each is due, and in which order they were.
    throttled: BinaryHeap<Reverse<(Time, u64, usize)>>,
    throttles: u64,
    /// Packets in flows, and flows that have some and are not set aside.
    waiting: usize,
    ready: usize,
    /// Packets that bypass the flows.
    internal: Queue,
    held: Backlog,
    stats: QdiscStats,
}

impl Fq {
    /// Make a discipline without flows; the hash key comes from `rng`.
    pub fn new(spec: &FqSpec, rng: &mut Rng) -> Self {
        let packets = |limit| usize::try_from(limit).unwrap_or(usize::MAX);
        Self {
            parameters: Parameters {
                limit: packets(spec.limit_packets),
                flow_limit: packets(spec.flow_limit_packets),
                quantum: i64::from(spec.quantum_bytes),
                initial_quantum: i64::from(spec.initial_quantum_bytes),
                ce_threshold: spec.ce_threshold_ns.map(|ns| ns / US * US),
                // In whole microseconds, which Linux rounds up to ticks.
                refill_ticks: spec.refill_delay_ns.map_or(REFILL_TICKS, |ns| (ns / US * US).div_ceil(JIFFY)),
            },
            hasher: Hasher::new(rng),
            by_hash: vec![0; FLOWS].into(),
            flows: Vec::new(),
            removed: Vec::new(),
            created: 0,
            other: others(),
            first_band: VecDeque::new(),
            lists: Lists::new(),
            band: FIRST,
            band_credits: [0; 3],
            sockets: Vec::new(),
            throttled: BinaryHeap::new(),
            throttles: 0,
            waiting: 0,
            ready: 0,
            internal: Queue::default(),
            held: Backlog::default(),
            stats: QdiscStats::default(),
        }
    }

    /// The flow of a packet, created if it is the first.
    fn classify(&mut self, p: &Packet, now: Time, tuples: &[FlowTuple]) -> usize {
        let hash = self.hasher.flow(&directed(&tuples[p.flow()], p)) as usize % FLOWS;
        if self.other[hash] != NONE {
            self.remove_idle(self.other[hash].into(), hash, now);
        }
        match self.by_hash[hash] {
            0 => {
                let f = self.create();
                self.by_hash[hash] = f as u32 + 1;
                f
            }
            flow => flow as usize - 1,
        }
    }

    /// The flow of a packet that says when it is to leave.
    fn of_socket(&mut self, p: &Packet) -> usize {
        let socket = 2 * p.flow() + p.direction() as usize;
        if self.sockets.len() <= socket {
            self.sockets.resize(socket + 1, 0);
        }
        if self.sockets[socket] == 0 {
            self.sockets[socket] = self.create() as u32 + 1;
        }
        self.sockets[socket] as usize - 1
    }

    #[cold]
    fn create(&mut self) -> usize {
        let (number, credit) = (self.created, self.parameters.initial_quantum);
        self.created += 1;
        let flow = Flow { number, packets: Queue::default(), credit, left: None, throttled: false };
        let f = if let Some(f) = self.removed.pop() {
            self.flows[f] = flow;
            f
        } else {
            self.lists.add_queue();
            self.flows.push(flow);
            self.flows.len() - 1
        };
        self.first_band.push_back(f);
        f
    }

    /// Removes the flow of hash `other` if it has been idle for long and the search for `hash`, which is in the same tree, comes past it.
    fn remove_idle(&mut self, other: usize, hash: usize, now: Time) {
        let flow = |hash: usize| (self.by_hash[hash] as usize).checked_sub(1);
        let Some(f) = flow(other) else { return };
        let is_root = flow(hash).is_none_or(|own| self.flows[f].number < self.flows[own].number);
        if is_root && self.flows[f].left.is_some_and(|left| now / JIFFY > left + REMOVAL_TICKS) {
            self.by_hash[other] = 0;
            self.removed.push(f);
        }
    }
}

/// For each value of the hash: the other value whose flow is in the same tree. Linux's key of a flow without a socket is odd.
fn others() -> Box<[u16]> {
    let mut first = [NONE; FLOWS];
    let mut others = vec![NONE; FLOWS];
    for hash in 0..FLOWS {
        let tree = ((2 * hash as u64 + 1).wrapping_mul(GOLDEN_RATIO) >> (u64::BITS - FLOWS.ilog2())) as usize;
        match first[tree] {
            NONE => first[tree] = hash as u16,
            earlier => {
                debug_assert_eq!(others[usize::from(earlier)], NONE, "a tree has two flows at most");
                (others[hash], others[usize::from(earlier)]) = (earlier, hash as u16);
            }
        }
    }
    others.into()
}

impl Fq {
    /// The flow whose turn it is.
    #[inline]
    fn select(&mut self) -> Option<usize> {
        let mut without_flows = 0;
        loop {
            let first = match self.band {
                _ if self.band_credits[self.band] <= 0 => None,
                FIRST => self.first_band.front().copied(),
                SECOND => self.lists.first(List::New).or_else(|| self.lists.first(List::Old)),
                _ => None,
            };
            if first.is_some() {
                return first;
            }
            if without_flows == BAND_QUANTA.len() {
                return None;
            }
            self.band = (self.band + 1) % BAND_QUANTA.len();
            let (credit, quantum) = (&mut self.band_credits[self.band], BAND_QUANTA[self.band]);
            *credit = (*credit + quantum).min(quantum);
            without_flows = if *credit > 0 { without_flows + 1 } else { 0 };
        }
    }

    /// Sets the flow aside, whose turn it is, as its first packet is not due before `due`.
    fn throttle(&mut self, f: usize, due: Time) {
        if self.first_band.front() == Some(&f) {
            self.first_band.pop_front();
        } else {
            self.lists.remove(f);
        }
        self.throttled.push(Reverse((due, self.throttles, f)));
        self.throttles += 1;
        self.flows[f].throttled = true;
        self.ready -= 1;
    }

    /// Takes back the flows whose first packet is due.
    fn check_throttled(&mut self, now: Time) {
        while self.throttled.peek().is_some_and(|&Reverse((due, ..))| due <= now) {
            let Some(Reverse((.., f))) = self.throttled.pop() else { return };
            self.flows[f].throttled = false;
            self.ready += 1;
            self.lists.move_to_end(f, List::Old);
        }
    }

    /// No flow waits that may send: a packet that is due may bypass them.
    fn has_fast_path(&self, now: Time) -> bool {
        self.ready == 0
            && self.internal.len() < FAST_PATH
            && self.throttled.peek().is_none_or(|&Reverse((due, ..))| due > now)
    }

    /// The turn of the flow has ended: its next turn comes after those of all others.
    #[inline]
    fn end_turn(&mut self, f: usize) {
        if self.first_band.front() == Some(&f) {
            self.first_band.pop_front();
        }
        self.lists.move_to_end(f, List::Old);
    }
}

/// The tick as Linux stores it in a flow: odd, to tell it from an address.
fn tick(now: Time) -> u64 {
    (now / JIFFY) | 1
}

impl PeekByDequeue for Fq {
    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        let (now, departure) = (s.now, std::mem::take(&mut s.departure));
        let slot = &mut s.packets[id];
        slot.time = departure.max(now);
        let (due, len) = (slot.time, slot.bytes());
        if self.waiting >= self.parameters.limit || due > now + HORIZON {
            s.dropped.push((id, DropCause::Overflow));
            return Verdict::Dropped;
        }
        if due == now && (self.held.packets == 0 || self.has_fast_path(now)) {
            self.held.add(len);
            self.internal.push(id, &mut s.packets);
            return Verdict::Queued;
        }
        let f = if departure == 0 { self.classify(&slot.packet, now, &s.tuples) } else { self.of_socket(&slot.packet) };
        let flow = &mut self.flows[f];
        if flow.packets.len() >= self.parameters.flow_limit {
            s.dropped.push((id, DropCause::Overflow));
            return Verdict::Dropped;
        }
        if let Some(left) = flow.left.take() {
            self.lists.move_to_end(f, List::New);
            if now / JIFFY > left + self.parameters.refill_ticks {
                flow.credit = flow.credit.max(self.parameters.quantum);
            }
        }
        self.ready += usize::from(flow.packets.is_empty() && !flow.throttled);
        flow.packets.push(id, &mut s.packets);
        self.waiting += 1;
        self.held.add(len);
        Verdict::Queued
    }

    fn next(&mut self, s: &mut QueueContext) -> Option<Id> {
        if let Some(id) = self.internal.pop(&s.packets) {
            let slot = &s.packets[id];
            self.held.remove(slot.bytes());
            self.stats.last_sojourn = s.now - slot.time;
            return Some(id);
        }
        if self.waiting == 0 {
            return None;
        }
        self.check_throttled(s.now);
        loop {
            let f = self.select()?;
            let flow = &mut self.flows[f];
            if flow.credit <= 0 {
                flow.credit += self.parameters.quantum;
                self.end_turn(f);
                continue;
            }
            if let Some(due) = flow.packets.first().map(|id| s.packets[id].time).filter(|&due| due > s.now) {
                self.throttle(f, due);
                continue;
            }
            let Some(id) = flow.packets.pop(&s.packets) else {
                // A new flow passes once through the list of old ones, so that it cannot starve them.
                if self.lists.list_of(f) == Some(List::Old) {
                    self.lists.remove(f);
                    flow.left = Some(tick(s.now));
                } else {
                    self.end_turn(f);
                }
                continue;
            };
            let slot = &mut s.packets[id];
            let (len, sojourn) = (slot.bytes(), s.now - slot.time);
            flow.credit -= i64::from(len);
            self.ready -= usize::from(flow.packets.is_empty());
            self.band_credits[self.band] -= i64::from(len);
            self.waiting -= 1;
            self.held.remove(len);
            self.stats.last_sojourn = sojourn;
            if self.parameters.ce_threshold.is_some_and(|most| sojourn > most) && mark_ce(&mut slot.packet) {
                self.stats.ce_marks += 1;
            }
            return Some(id);
        }
    }

    fn without_next(&self) -> Dequeued {
        self.throttled.peek().map_or(Dequeued::Empty, |&Reverse((due, ..))| Dequeued::Wait(due + TIMER_SLACK))
    }

    fn forget(&mut self, flow: usize) {
        for socket in [2 * flow, 2 * flow + 1] {
            let Some(f) = self.sockets.get_mut(socket).map(std::mem::take).filter(|&f| f > 0) else { continue };
            if self.flows[f as usize - 1].left.is_some() {
                self.removed.push(f as usize - 1);
            }
        }
    }

    fn backlog(&mut self) -> &mut Backlog {
        &mut self.held
    }

    fn held(&self) -> Backlog {
        self.held
    }

    fn for_each(&self, packets: &Pool, f: &mut dyn FnMut(&Packet)) {
        self.internal.iter(packets).chain(self.flows.iter().flat_map(|flow| flow.packets.iter(packets))).for_each(f);
    }

    fn stats(&self) -> &QdiscStats {
        &self.stats
    }
}
