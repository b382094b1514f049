//! fq_pie: PIE on each of many queues, sparse flows first (Linux 6.12 net/sched/sch_fq_pie.c).
//!
//! The memory limit is only counted against, never enforced, as in Linux. Left out: tc filters.

use super::ecn::mark_ce;
use super::flow_queues::{FlowQueues, FLOWS, MEMORY_LIMIT, QUANTUM};
use super::jiffies::Timer;
use super::parameters::limit_packets;
use super::peek_buffer::{Backlog, PeekByDequeue};
use super::pie::{Law, State, ALPHA, BETA, BYTEMODE, DQ_RATE_ESTIMATOR, ECN, MAX_PROB, TARGET, TUPDATE};
use super::{QdiscStats, QueueContext, Verdict};
use crate::catalogue::{self, Draws, Entry, Kind, Parameter};
use crate::packet::{DropCause, Packet};
use crate::pool::{Id, Pool};
use crate::rng::Rng;
use crate::spec::{PieSpec, QueuesSpec};
use crate::time::Time;

/// fq_pie's parameters.
pub const ENTRY: Entry = Entry {
    name: "fq_pie",
    summary: "PIE on a queue per flow, sparse flows first",
    about: "FlowQueue-PIE (Linux fq_pie).",
    draws: Draws::EachPacket,
    parameters: &[
        limit_packets().or_number(10_240),
        TARGET,
        TUPDATE,
        ALPHA,
        BETA,
        ECN,
        BYTEMODE,
        DQ_RATE_ESTIMATOR,
        FLOWS,
        QUANTUM,
        MEMORY_LIMIT,
        Parameter::new(
            "ecn_prob",
            Kind::Integer("%"),
            "ecn_prob",
            "Drop probability (%) above which ECN-capable packets are dropped, too.",
        )
        .or_number(10)
        .at_least(0)
        .at_most(100)
        .example("20")
        .tc("ecn_prob {}"),
    ],
    tc: &[
        "limit",
        "flows",
        "quantum",
        "memory_limit",
        "ecn_prob",
        "target",
        "tupdate",
        "alpha",
        "beta",
        "ecn",
        "bytemode",
        "dq_rate_estimator",
    ],
    since: "5.6",
};

/// State variables that a scenario may record.
pub(super) const STATE: &[catalogue::State] = &[
    catalogue::State::new("queues", "", "queues that hold packets"),
    catalogue::State::new("probability", "share", "largest probability of a drop or mark among the queues"),
];

/// Slots whose controllers run at one tick.
const UPDATES_AT_ONCE: u32 = 2048;

/// An fq_pie.
#[derive(Clone, Debug)]
pub struct FqPie {
    limit: usize,
    /// Above this probability also packets that could be marked are dropped.
    mark_up_to: u64,
    law: Law,
    flows: FlowQueues<State>,
    slots: u32,
    /// First slot whose controller runs next.
    cursor: u32,
    timer: Timer,
    stats: QdiscStats,
}

impl FqPie {
    /// Make an empty discipline of at most `limit` packets, on a device whose largest frame has `frame` bytes.
    #[must_use]
    pub fn new(limit: usize, queues: &QueuesSpec, ecn_prob: u64, control: &PieSpec, frame: u32, rng: &mut Rng) -> Self {
        let law = Law::new(control, frame);
        Self {
            limit,
            mark_up_to: MAX_PROB / 100 * ecn_prob,
            flows: FlowQueues::new(queues, rng),
            slots: queues.flows,
            cursor: 0,
            timer: Timer::new(law.tupdate),
            law,
            stats: QdiscStats::default(),
        }
    }

    /// Runs the controllers once; queues without a packet so far need none.
    fn update(&mut self) {
        let end = self.cursor.saturating_add(UPDATES_AT_ONCE).min(self.slots);
        for q in &mut self.flows.queues {
            if (self.cursor..end).contains(&q.slot) {
                self.law.update(&mut q.state, q.backlog);
            }
        }
        let done = end == self.slots;
        self.cursor = if done { 0 } else { end };
        self.timer.rearm(if done { self.law.tupdate } else { 0 });
    }
}

impl PeekByDequeue for FqPie {
    #[inline]
    fn run_timers(&mut self, now: Time) {
        while self.timer.is_due(now) {
            self.update();
        }
    }

    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        let p = &mut s.packets[id].packet;
        let queue = self.flows.classify(p, &s.tuples);
        let q = &mut self.flows.queues[queue];
        let full = self.flows.held.packets >= self.limit;
        if full || self.law.signals(&mut q.state, q.backlog, u32::from(p.len), &mut s.rngs[s.port]) {
            let mark = !full && self.law.ecn && q.state.prob <= self.mark_up_to;
            if !(mark && mark_ce(p)) {
                q.state.on_drop();
                s.dropped.push((id, if full { DropCause::Overflow } else { DropCause::Aqm }));
                // The packet is gone, yet its sender hears of congestion only, as in Linux.
                return Verdict::Congestion;
            }
            self.stats.ce_marks += 1;
        }
        self.flows.push(queue, id, s.now, &mut s.packets);
        Verdict::Queued
    }

    fn next(&mut self, s: &mut QueueContext) -> Option<Id> {
        loop {
            let queue = self.flows.select()?;
            self.flows.look_ahead(queue, &s.packets);
            let mut head = self.flows.head(queue);
            let Some(id) = head.pop(&s.packets) else {
                self.flows.retire(queue);
                continue;
            };
            let (len, arrival) = (s.packets[id].bytes(), s.packets[id].time);
            head.charge(len);
            let backlog = head.queue.backlog;
            self.law.on_departure(&mut head.queue.state, (len, arrival), backlog, s.now);
            self.stats.last_sojourn = s.now - arrival;
            return Some(id);
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
        tell("queues", self.flows.queues.iter().filter(|queue| queue.backlog > 0).count() as f64);
        let most = self.flows.queues.iter().map(|queue| queue.state.prob).max().unwrap_or(0);
        tell("probability", most as f64 / MAX_PROB as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::lab::{packet, Lab};
    use super::super::{Qdisc, Verdict};
    use crate::packet::{Ecn, ACK_FRAME, FULL_FRAME};
    use crate::spec::{PieSpec, QdiscSpec, QueuesSpec};
    use crate::time::{MS, SEC};

    fn lab(limit_packets: u64, flows: u32) -> Lab {
        let control = PieSpec {
            target_ns: 15 * MS,
            tupdate_ns: 15 * MS,
            alpha: 2,
            beta: 20,
            ecn: false,
            bytemode: false,
            dq_rate_estimator: false,
        };
        let queues = QueuesSpec { flows, quantum_bytes: FULL_FRAME, memory_limit_bytes: None };
        Lab::new(&QdiscSpec::FqPie { limit_packets, queues, ecn_prob: 10, control }, 1)
    }

    #[test]
    fn only_the_flow_that_queues_is_dropped() {
        for flows in [1024, 5000] {
            let mut lab = lab(1000, flows);
            let slot = 1_211_200;
            while lab.now < 20 * SEC {
                lab.now += slot;
                lab.offer_full(0, 1 + u32::from((lab.now / slot).is_multiple_of(4)), Ecn::NotEct);
                lab.offer(packet(1, ACK_FRAME, 0, Ecn::NotEct));
                lab.take();
                lab.take();
            }
            let losers = lab.losers();
            assert!(losers.len() > 1000 && losers.iter().all(|&flow| flow == 0), "{}", losers.len());
            assert!(lab.qdisc.packets() < 50, "{}", lab.qdisc.packets());
        }
    }

    #[test]
    fn a_full_discipline_drops_what_arrives_and_says_congestion() {
        let mut lab = lab(2, 1024);
        lab.offer_full(0, 2, Ecn::NotEct);
        assert_eq!(lab.offer(packet(1, ACK_FRAME, 9, Ecn::NotEct)), Verdict::Congestion);
        assert_eq!(lab.losers(), [1]);
    }
}
