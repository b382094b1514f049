//! fq: a queue per flow, served in turn by bytes, flows that lately became active first (Linux 6.12 net/sched/sch_fq.c), as it is
//! for packets that a router forwards: they belong to no socket and carry no time to send, so that nothing is paced.
//!
//! - Flows are told apart by a hash of addresses and ports, of 10 bits.
//! - While no flow waits, up to eight packets bypass the flows in one queue for all, Linux's `internal`.
//! - There are three bands of priority, and packets without a DSCP are all of the second. But Linux lists a flow before it notes the
//!   flow's band, and so a flow that is seen for the first time stands in the first band: the second goes on until it has sent
//!   its 192 KiB or has nothing to send, and only then does the new flow get its first turn. Later turns are in the second band.
//!
//! Left out: pacing and what goes with it (sockets, maxrate, horizon, low_rate_threshold), bands by DSCP, removing flows that were
//! idle for long (one that returns would start afresh).

use std::collections::VecDeque;

use super::ecn::mark_ce;
use super::hash::{directed, Hasher};
use super::jiffies::JIFFY;
use super::lists::{List, Lists};
use super::peek_buffer::{Backlog, PeekByDequeue};
use super::{QdiscStats, QueueContext, Verdict};
use crate::packet::{DropCause, FlowTuple, Packet};
use crate::pool::{Id, Pool, Queue};
use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::spec::FqSpec;
use crate::time::{Time, US};

/// Flows that the hash tells apart.
const FLOWS: usize = 1024;
/// Packets that may bypass the flows.
const FAST_PATH: usize = 8;
/// Pause after which a flow gets a quantum, ticks.
const REFILL_TICKS: u64 = 40;
/// Bounds of the quantum, bytes.
const LEAST_QUANTUM: u32 = 256;
const MAX_QUANTUM: u32 = 1 << 20;

/// Bytes of a turn of each band.
const BAND_QUANTA: [i64; 3] = [9 << 16, 3 << 16, 1 << 16];
/// The band of flows seen for the first time, and that of all others.
const FIRST: usize = 0;
const SECOND: usize = 1;

/// A flow.
#[derive(Clone, Debug)]
struct Flow {
    packets: Queue,
    /// Bytes it may send before its turn ends.
    credit: i64,
    /// Tick at which it left the round; `None`: it is in it.
    left: Option<u64>,
}

/// What tc is told.
#[derive(Clone, Debug)]
struct Parameters {
    limit: usize,
    flow_limit: usize,
    quantum: i64,
    initial_quantum: i64,
    ce_threshold: Option<u64>,
}

/// An fq.
#[derive(Clone, Debug)]
pub struct Fq {
    parameters: Parameters,
    hasher: Hasher,
    /// Of each value of the hash, the index of its flow plus one; 0 is none yet.
    by_hash: Box<[u32]>,
    /// In order of creation.
    flows: Vec<Flow>,
    /// Flows of the first band, which have not been served yet.
    first_band: VecDeque<usize>,
    /// Flows of the second.
    lists: Lists,
    /// The band whose turn it is, and the bytes that each may send before its turn ends.
    band: usize,
    band_credits: [i64; 3],
    /// Packets in flows.
    waiting: usize,
    /// Packets that bypass the flows.
    internal: Queue,
    held: Backlog,
    stats: QdiscStats,
}

impl Fq {
    /// Without flows; the hash key comes from `rng`.
    ///
    /// # Errors
    /// Parameters that Linux refuses.
    pub fn new(spec: &FqSpec, rng: &mut Rng) -> Result<Self, Flaws> {
        let mut flaws = Flaws::default();
        flaws.at_most("initial_quantum_bytes", spec.initial_quantum_bytes, "bytes", MAX_QUANTUM);
        flaws.done()?;
        let packets = |limit| usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(Self {
            parameters: Parameters {
                limit: packets(spec.limit_packets),
                flow_limit: packets(spec.flow_limit_packets),
                quantum: i64::from(spec.quantum_bytes.clamp(LEAST_QUANTUM, MAX_QUANTUM)),
                initial_quantum: i64::from(spec.initial_quantum_bytes),
                ce_threshold: spec.ce_threshold_ns.map(|ns| ns / US * US),
            },
            hasher: Hasher::new(rng),
            by_hash: vec![0; FLOWS].into(),
            flows: Vec::new(),
            first_band: VecDeque::new(),
            lists: Lists::new(),
            band: FIRST,
            band_credits: [0; 3],
            waiting: 0,
            internal: Queue::default(),
            held: Backlog::default(),
            stats: QdiscStats::default(),
        })
    }

    /// The flow of a packet, created if it is the first.
    fn classify(&mut self, p: &Packet, tuples: &[FlowTuple]) -> usize {
        let hash = self.hasher.flow(&directed(&tuples[p.flow()], p)) as usize % FLOWS;
        if self.by_hash[hash] == 0 {
            self.lists.add_queue();
            self.flows.push(Flow { packets: Queue::default(), credit: self.parameters.initial_quantum, left: None });
            self.by_hash[hash] = self.flows.len() as u32;
            self.first_band.push_back(self.flows.len() - 1);
        }
        self.by_hash[hash] as usize - 1
    }
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

    /// The turn of the flow has ended: its next one comes after those of all others.
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
        let slot = &mut s.packets[id];
        slot.time = s.now;
        let len = slot.bytes();
        if self.waiting >= self.parameters.limit {
            s.dropped.push((id, DropCause::Overflow));
            return Verdict::Dropped;
        }
        if self.held.packets == 0 || (self.waiting == 0 && self.internal.len() < FAST_PATH) {
            self.held.add(len);
            self.internal.push(id, &mut s.packets);
            return Verdict::Queued;
        }
        let f = self.classify(&slot.packet, &s.tuples);
        let flow = &mut self.flows[f];
        if flow.packets.len() >= self.parameters.flow_limit {
            s.dropped.push((id, DropCause::Overflow));
            return Verdict::Dropped;
        }
        if let Some(left) = flow.left.take() {
            self.lists.move_to_end(f, List::New);
            if s.now / JIFFY > left + REFILL_TICKS {
                flow.credit = flow.credit.max(self.parameters.quantum);
            }
        }
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
        loop {
            let f = self.select()?;
            let flow = &mut self.flows[f];
            if flow.credit <= 0 {
                flow.credit += self.parameters.quantum;
                self.end_turn(f);
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

#[cfg(test)]
mod tests {
    use super::super::lab::{packet, Lab};
    use super::super::{Qdisc, Verdict};
    use super::Fq;
    use crate::packet::{DropCause, Ecn, ACK_FRAME, FULL_FRAME};
    use crate::rng::Rng;
    use crate::spec::{FqSpec, QdiscSpec};
    use crate::time::MS;

    const SPEC: FqSpec = FqSpec {
        limit_packets: 10_000,
        flow_limit_packets: 100,
        quantum_bytes: 2 * FULL_FRAME,
        initial_quantum_bytes: 10 * FULL_FRAME,
        ce_threshold_ns: None,
    };

    fn lab(spec: FqSpec) -> Lab {
        Lab::new(&QdiscSpec::Fq(spec), 1)
    }

    /// With the queue that passes by filled, by flow 63, so that what follows waits in flows.
    fn busy(spec: FqSpec) -> Lab {
        let mut lab = lab(spec);
        lab.offer_full(63, 8, Ecn::NotEct);
        lab
    }

    fn flows(lab: &mut Lab, count: usize) -> Vec<usize> {
        (0..count).filter_map(|_| lab.take()).map(|p| p.flow()).collect()
    }

    /// Runs of a flow's packets: (flow, packets).
    fn runs(order: &[usize]) -> Vec<(usize, usize)> {
        order.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect()
    }

    #[test]
    fn eight_packets_pass_by_while_no_flow_waits() {
        let mut lab = lab(SPEC);
        for flow in 0..8 {
            lab.offer_full(flow % 2, 1, Ecn::NotEct);
        }
        lab.offer_full(2, 20, Ecn::NotEct);
        lab.offer_full(3, 1, Ecn::NotEct);
        // A flow waits: no more pass by, though there is room.
        assert_eq!(flows(&mut lab, 4), [0, 1, 0, 1]);
        lab.offer_full(4, 1, Ecn::NotEct);
        let order = flows(&mut lab, 40);
        assert_eq!(order[..4], [0, 1, 0, 1]);
        assert_eq!(runs(&order[4..]), [(2, 10), (3, 1), (4, 1), (2, 10)]);
        // One in the peek buffer counts as well.
        lab.offer_full(5, 1, Ecn::NotEct);
        assert_eq!(lab.peek(), Some(FULL_FRAME));
        lab.offer_full(5, 9, Ecn::NotEct);
        lab.offer_full(6, 1, Ecn::NotEct);
        assert_eq!(runs(&flows(&mut lab, 20)), [(5, 10), (6, 1)]);
    }

    #[test]
    fn a_flow_begins_with_ten_packets_and_goes_on_by_two() {
        let mut lab = busy(SPEC);
        for flow in 0..2 {
            lab.offer_full(flow, 14, Ecn::NotEct);
        }
        let order = flows(&mut lab, 100);
        assert_eq!(runs(&order), [(63, 8), (0, 10), (1, 10), (0, 2), (1, 2), (0, 2), (1, 2)]);
    }

    #[test]
    fn a_new_flow_goes_first_and_cannot_starve_the_others() {
        let mut lab = busy(SPEC);
        lab.offer_full(0, 30, Ecn::NotEct);
        assert_eq!(flows(&mut lab, 8 + 10).len(), 18);
        // Flow 0 has used up its first turn.
        lab.offer_full(1, 1, Ecn::NotEct);
        assert_eq!(flows(&mut lab, 1), [1]);
        lab.offer_full(1, 1, Ecn::NotEct);
        assert_eq!(flows(&mut lab, 1), [1]);
        // Found empty it passes through the old ones.
        assert_eq!(flows(&mut lab, 1), [0]);
        lab.offer_full(1, 1, Ecn::NotEct);
        assert_eq!(flows(&mut lab, 2), [0, 1]);
    }

    /// How many full packets flow 0 sends in its first turn after it sent one of a credit of 1600 bytes, left the round of others,
    /// and paused.
    fn turn_after(pause: u64) -> usize {
        let mut lab = busy(FqSpec { initial_quantum_bytes: 1600, ..SPEC });
        lab.offer_full(0, 1, Ecn::NotEct);
        lab.offer_full(1, 40, Ecn::NotEct);
        // Flow 1 is in the midst of a turn of two packets.
        assert_eq!(flows(&mut lab, 8 + 1 + 11).len(), 20);
        lab.now += pause;
        lab.offer_full(0, 9, Ecn::NotEct);
        let order = flows(&mut lab, 100);
        assert_eq!(order[0], 0);
        runs(&order)[0].1
    }

    #[test]
    fn a_pause_refills_the_credit() {
        // 86 bytes are left: enough for one packet more. A quantum is two packets.
        assert_eq!(turn_after(30 * MS), 1);
        assert_eq!(turn_after(41 * MS), 1);
        assert_eq!(turn_after(43 * MS), 2);
    }

    #[test]
    fn a_flow_never_seen_waits_until_the_second_band_has_sent_its_part() {
        let mut lab = busy(FqSpec { flow_limit_packets: 1000, ..SPEC });
        lab.offer_full(0, 300, Ecn::NotEct);
        // The first turn of flow 0 was in the first band, the rest is in the second.
        assert_eq!(runs(&flows(&mut lab, 30)), [(63, 8), (0, 22)]);
        lab.offer_full(1, 30, Ecn::NotEct);
        // 192 KiB less the twelve packets so far; then the new flow has ten, and two of a turn that is the next in the second band.
        let rest = 3_usize * 65_536 / FULL_FRAME as usize + 1 - 12;
        let order = runs(&flows(&mut lab, 200));
        assert_eq!(order[..2], [(0, rest), (1, 12)]);
        // From now on it takes turns.
        assert!(order[2..10].iter().all(|&(_, count)| count == 2), "{order:?}");
        // Known, and back after a pause, it goes first.
        assert_eq!(flows(&mut lab, 98).last(), Some(&0));
        lab.offer_full(1, 1, Ecn::NotEct);
        assert_eq!(flows(&mut lab, 1), [1]);
    }

    #[test]
    fn limits_of_a_flow_and_of_all() {
        let mut lab = busy(FqSpec { flow_limit_packets: 5, limit_packets: 8, ..SPEC });
        lab.offer_full(0, 5, Ecn::NotEct);
        assert_eq!(lab.offer(packet(0, FULL_FRAME, 99, Ecn::NotEct)), Verdict::Dropped);
        lab.offer_full(1, 3, Ecn::NotEct);
        assert_eq!(lab.offer(packet(2, ACK_FRAME, 99, Ecn::NotEct)), Verdict::Dropped);
        assert!(lab.dropped.iter().all(|(p, cause)| p.seq == 99 && *cause == DropCause::Overflow));
        // What passes by counts against neither.
        assert_eq!((lab.losers(), lab.qdisc.packets()), (vec![0, 2], 16));
    }

    #[test]
    fn what_waited_too_long_is_marked_if_it_waited_in_a_flow() {
        let mut lab = lab(FqSpec { ce_threshold_ns: Some(5 * MS), ..SPEC });
        lab.offer_full(0, 10, Ecn::Ect0);
        lab.offer_full(1, 1, Ecn::NotEct);
        lab.now = 5 * MS;
        let marked =
            |lab: &mut Lab, count: usize| (0..count).map(|_| lab.take().unwrap().ecn() == Ecn::Ce).collect::<Vec<_>>();
        assert_eq!(marked(&mut lab, 9), [false; 9]);
        lab.now += 1;
        assert_eq!(marked(&mut lab, 2), [true, false]);
        assert_eq!(lab.qdisc.stats().ce_marks, 1);
    }

    #[test]
    fn bounds() {
        let mut rng = Rng::for_component(1, "fq");
        let fq = Fq::new(&FqSpec { quantum_bytes: 1, ..SPEC }, &mut rng).unwrap();
        assert_eq!(fq.parameters.quantum, 256);
        let huge = FqSpec { initial_quantum_bytes: (1 << 20) + 1, ..SPEC };
        assert_eq!(Fq::new(&huge, &mut rng).unwrap_err().fields(), ["initial_quantum_bytes"]);
    }
}
