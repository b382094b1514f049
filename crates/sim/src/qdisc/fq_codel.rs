//! fq_codel: CoDel on each of many queues, sparse flows first (RFC 8290; Linux 6.12 net/sched/sch_fq_codel.c).
//!
//! Left out: tc filters.

use super::codel::{Law, Source, State, CE_THRESHOLD, ECN, INTERVAL, TARGET, VARIANT};
use super::flow_queues::{FlowQueues, Head, FLOWS, MEMORY_LIMIT, QUANTUM};
use super::parameters::{limit_packets, MOST, TODAY};
use super::peek_buffer::{Backlog, PeekByDequeue};
use super::{QdiscStats, QueueContext, Verdict};
use crate::catalogue::{self, Draws, Entry, Kind, Parameter, Preset};
use crate::packet::{DropCause, Packet};
use crate::pool::{Id, Pool};
use crate::rng::Rng;
use crate::spec::{CodelSpec, QueuesSpec};
use crate::time::Time;

/// fq_codel's parameters.
pub const ENTRY: Entry = Entry {
    name: "fq_codel",
    summary: "CoDel on a queue per flow, sparse flows first (RFC 8290)",
    about: "FlowQueue-CoDel (RFC 8290, Linux fq_codel).",
    draws: Draws::Hash,
    parameters: &[
        Parameter {
            meaning: "Version of the kernel's code. The code of 3.10 drops a single packet of the fattest flow when the limit is met.",
            ..VARIANT
        },
        limit_packets().or_number(10_240),
        TARGET,
        INTERVAL,
        ECN.or(Preset::Flag(true)).example("false"),
        CE_THRESHOLD,
        Parameter::new(
            "ce_threshold_selector",
            Kind::Text(r"^(0x[0-9a-fA-F]{1,2}|[0-9]{1,3})/(0x[0-9a-fA-F]{1,2}|[0-9]{1,3})$"),
            "control.ce_threshold_selector",
            "VALUE/MASK: `ce_threshold` is only for packets whose DS field, with the ECN field, is VALUE where MASK has ones. `1/3`: ECT(1).",
        )
        .or(Preset::Unset)
        .sparse()
        .only(TODAY)
        .since("5.16")
        .example("1/3")
        .tc("ce_threshold_selector {}"),
        FLOWS,
        QUANTUM,
        // Linux lowers greater ones to 2^31.
        MEMORY_LIMIT.at_most(1 << 31).only(TODAY).since("4.7"),
        Parameter::new(
            "drop_batch",
            Kind::Integer("packets"),
            "drop_batch",
            "Maximum number of packets dropped at once when the limit is met.",
        )
        .or_number(64)
        .at_least(1)
        .at_most(MOST)
        .only(TODAY)
        .since("4.7")
        .example("64")
        .tc("drop_batch {}"),
    ],
    tc: &[
        "limit",
        "flows",
        "quantum",
        "memory_limit",
        "drop_batch",
        "target",
        "interval",
        "ecn",
        "ce_threshold",
        "ce_threshold_selector",
    ],
    since: "3.5",
};

/// State variables that a scenario may record.
pub(super) const STATE: &[catalogue::State] = &[
    catalogue::State::new("queues", "", "queues that hold packets"),
    catalogue::State::new("dropping_queues", "", "queues whose sojourn has been above the target for an interval"),
    catalogue::State::new("codel_count", "", "largest count of signals among the queues that drop; 0 if none does"),
];

/// An fq_codel.
#[derive(Clone, Debug)]
pub struct FqCodel {
    limit: usize,
    memory_limit: u64,
    drop_batch: u64,
    drops_raise_count: bool,
    law: Law,
    flows: FlowQueues<State>,
    stats: QdiscStats,
}

impl Source for Head<'_, State> {
    #[inline]
    fn state(&mut self) -> &mut State {
        &mut self.queue.state
    }

    #[inline]
    fn head(&self) -> Option<Id> {
        self.queue.packets.first()
    }

    #[inline]
    fn pop(&mut self, pool: &Pool) -> Option<Id> {
        self.pop(pool)
    }

    #[inline]
    fn backlog(&self) -> u64 {
        self.held.bytes
    }
}

impl FqCodel {
    /// Make an empty discipline of at most `limit` packets, on a device whose largest frame has `frame` bytes.
    pub fn new(
        limit: usize,
        queues: &QueuesSpec,
        drop_batch: u64,
        drops_raise_count: bool,
        control: &CodelSpec,
        frame: u32,
        rng: &mut Rng,
    ) -> Self {
        Self {
            limit,
            memory_limit: queues.memory_limit_bytes.unwrap_or(u64::MAX),
            drop_batch,
            drops_raise_count,
            law: Law::new(control, frame),
            flows: FlowQueues::new(queues, rng),
            stats: QdiscStats::default(),
        }
    }

    /// Drop up to a batch, or half of the fattest queue, from its head. Return the queue.
    #[cold]
    fn shed(&mut self, s: &mut QueueContext) -> Option<usize> {
        let fattest = self.flows.fattest()?;
        let threshold = self.flows.queues[fattest].backlog / 2;
        let (mut dropped, mut bytes) = (0_u32, 0);
        while let Some(id) = self.flows.pop(fattest, &s.packets) {
            dropped += 1;
            bytes += u64::from(s.packets[id].bytes());
            s.dropped.push((id, DropCause::Overflow));
            if u64::from(dropped) >= self.drop_batch || bytes >= threshold {
                break;
            }
        }
        if self.drops_raise_count {
            let state = &mut self.flows.queues[fattest].state;
            state.count = state.count.wrapping_add(dropped);
        }
        Some(fattest)
    }
}

impl PeekByDequeue for FqCodel {
    #[inline]
    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        let queue = self.flows.classify(&s.packets[id].packet, &s.tuples);
        self.flows.push(queue, id, s.now, &mut s.packets);
        if self.flows.held.packets <= self.limit && self.flows.memory <= self.memory_limit {
            return Verdict::Queued;
        }
        match self.shed(s) {
            Some(shed) if shed == queue => Verdict::Congestion,
            _ => Verdict::Queued,
        }
    }

    #[inline(always)]
    fn next(&mut self, s: &mut QueueContext) -> Option<Id> {
        loop {
            let queue = self.flows.select()?;
            self.flows.look_ahead(queue, &s.packets);
            let mut head = self.flows.head(queue);
            if let Some(id) = self.law.dequeue(&mut head, s, &mut self.stats) {
                head.charge(s.packets[id].bytes());
                return Some(id);
            }
            self.flows.retire(queue);
        }
    }

    fn expect_later(&self, p: &Packet) {
        self.flows.expect_later(p);
    }

    fn expect(&self, p: &Packet) {
        self.flows.expect(p);
    }

    fn forget(&mut self, flow: usize) {
        self.flows.forget(flow);
    }

    fn backlog(&mut self) -> &mut Backlog {
        &mut self.flows.held
    }

    fn held(&self) -> Backlog {
        self.flows.held
    }

    fn for_each(&self, packets: &Pool, f: &mut dyn FnMut(&Packet)) {
        self.flows.for_each(packets, f);
    }

    fn stats(&self) -> &QdiscStats {
        &self.stats
    }

    fn state(&self, _: Time, tell: &mut catalogue::Tell) {
        let dropping = || self.flows.queues.iter().filter(|queue| queue.state.is_dropping());
        tell("queues", self.flows.queues.iter().filter(|queue| queue.backlog > 0).count() as f64);
        tell("dropping_queues", dropping().count() as f64);
        tell("codel_count", f64::from(dropping().map(|queue| queue.state.count).max().unwrap_or(0)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::lab::{packet, Lab};
    use super::super::{Qdisc, Verdict};
    use crate::packet::{Ecn, ACK_FRAME, FULL_FRAME};
    use crate::spec::{CodelFloor, CodelSpec, QdiscSpec, QueuesSpec};
    use crate::time::MS;

    fn lab(limit_packets: u64, memory: Option<u64>, drop_batch: u64) -> Lab {
        let control = CodelSpec {
            target_ns: 5 * MS,
            interval_ns: 100 * MS,
            ecn: true,
            ce_threshold_ns: None,
            ce_threshold_selector: None,
            floor: CodelFloor::Mtu,
            forgets_when_empty: true,
        };
        let queues = QueuesSpec { flows: 1024, quantum_bytes: FULL_FRAME, memory_limit_bytes: memory };
        Lab::new(&QdiscSpec::FqCodel { limit_packets, queues, drop_batch, drops_raise_count: true, control }, 1)
    }

    fn flows(lab: &mut Lab, count: usize) -> Vec<usize> {
        (0..count).filter_map(|_| lab.take()).map(|p| p.flow()).collect()
    }

    #[test]
    fn flows_take_turns_of_a_quantum() {
        let mut lab = lab(1000, None, 64);
        for flow in 0..3 {
            lab.offer_full(flow, 4, Ecn::NotEct);
        }
        assert_eq!(flows(&mut lab, 12), [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn a_sparse_flow_goes_first_and_cannot_starve_the_others() {
        let mut lab = lab(1000, None, 64);
        lab.offer_full(0, 8, Ecn::NotEct);
        flows(&mut lab, 2);
        lab.offer(packet(1, ACK_FRAME, 0, Ecn::NotEct));
        assert_eq!(flows(&mut lab, 1), [1]);
        // The flow comes again before its queue was found empty: it is still new, with the rest of its quantum.
        lab.offer(packet(1, ACK_FRAME, 1, Ecn::NotEct));
        assert_eq!(flows(&mut lab, 2), [1, 0]);
        // Found empty, it had to pass through the old flows: it is not new yet.
        lab.offer(packet(1, ACK_FRAME, 2, Ecn::NotEct));
        assert_eq!(flows(&mut lab, 2), [1, 0]);
    }

    #[test]
    fn overflow_halves_the_fattest_flow_from_its_head() {
        let mut lab = lab(20, None, 64);
        lab.offer_full(0, 16, Ecn::NotEct);
        lab.offer_full(1, 4, Ecn::NotEct);
        assert_eq!(lab.offer(packet(1, FULL_FRAME, 99, Ecn::NotEct)), Verdict::Queued);
        assert_eq!(lab.dropped.iter().map(|(p, _)| p.number()).collect::<Vec<_>>(), (1..=8).collect::<Vec<_>>());
        assert_eq!(lab.losers(), [0; 8]);
        assert_eq!(lab.qdisc.packets(), 13);
    }

    #[test]
    fn a_batch_bounds_the_drops_and_the_sender_hears_of_them() {
        let mut lab = lab(20, None, 3);
        lab.offer_full(0, 20, Ecn::NotEct);
        assert_eq!(lab.offer(packet(0, FULL_FRAME, 99, Ecn::NotEct)), Verdict::Congestion);
        assert_eq!(lab.losers(), [0; 3]);
    }

    #[test]
    fn memory_counts_as_well_as_packets() {
        let mut lab = lab(1000, Some(10 * 2304), 64);
        lab.offer_full(0, 10, Ecn::NotEct);
        assert!(lab.dropped.is_empty());
        lab.offer_full(0, 1, Ecn::NotEct);
        assert_eq!(lab.dropped.len(), 6);
    }

    #[test]
    fn an_overflow_at_the_start_is_no_episode_of_codel() {
        // A queue at 10 Mbit/s that overflows from the first moment on, and always stands above the target.
        let mut lab = lab(15, None, 1);
        let mut at_once = vec![];
        for _ in 0..400 {
            lab.offer_full(0, 2, Ecn::NotEct);
            lab.dropped.clear();
            lab.now += 1_211_200;
            lab.take();
            at_once.push(lab.dropped.drain(..).count());
        }
        assert_eq!(at_once.iter().max(), Some(&1), "{at_once:?}");
    }

    #[test]
    fn each_flow_has_its_own_codel() {
        let mut lab = lab(1000, None, 64);
        lab.offer_full(0, 400, Ecn::Ect0);
        let (mut marked, mut sparse) = (0, 0);
        for _ in 0..300 {
            lab.now += 1_211_200;
            lab.offer(packet(1, ACK_FRAME, 0, Ecn::Ect0));
            for p in [lab.take(), lab.take()].into_iter().flatten() {
                let ce = u32::from(p.ecn() == Ecn::Ce);
                *(if p.flow() == 0 { &mut marked } else { &mut sparse }) += ce;
            }
        }
        assert!(marked > 3 && sparse == 0, "{marked} {sparse}");
    }
}
