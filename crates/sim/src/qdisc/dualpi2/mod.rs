//! DualPI2: a queue with little delay for L4S traffic and one for all else, coupled so that flows of either get the same rate (RFC 9332;
//! Linux 7.3 net/sched/sch_dualpi2.c). The variant `rfc9332` is the pseudocode of RFC 9332, Appendix A, with the kernel's scheduler, which
//! that leaves open.
//!
//! Left out: tc filters and priorities that choose the queue; chunks of several segments that are left whole.

mod coupling;
mod parameters;
mod pi;
mod scheduler;
#[cfg(test)]
mod tests;
mod totals;

use std::collections::VecDeque;

pub use parameters::{ENTRY, STATE};

use self::coupling::{Deterministic, Random, Signal, Step, Sum};
use self::pi::{Controller, MAX_PROB};
use self::scheduler::{Class, Scheduler};
use self::totals::Totals;
use super::class::DelayTotals;
use super::ecn::mark_ce;
use super::peek_buffer::{Backlog, PeekByDequeue};
use super::truesize::truesize;
use super::{ClassTotals, QdiscStats, QueueContext, Verdict};
use crate::catalogue;
use crate::packet::{DropCause, Packet};
use crate::pool::{Id, Pool, Queue};
use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::spec::{DualPi2Mask, DualPi2Spec, DualPi2Variant};
use crate::time::{Time, US};

/// Backlog of both queues below which the coupled probabilities do not apply, largest frames.
const FLOOR: u64 = 2;
/// Names of the classes, by their number.
const NAMES: [&str; 2] = ["L", "C"];
const BOTH: [Class; 2] = [Class::L, Class::C];

/// Packets of a class.
#[derive(Clone, Debug, Default)]
struct Lane {
    queue: Queue,
    bytes: u64,
    totals: Totals,
}

/// The rules by which packets are marked and dropped.
#[derive(Clone, Debug)]
enum Law {
    Linux {
        random: Random,
        step: Step,
        /// Length of the L4S queue from which on arriving packets are subject to the step.
        min_qlen_step: usize,
        /// For each packet of the L4S queue: it is subject to the step. Empty if all are.
        stepped: VecDeque<bool>,
        drop_enqueue: bool,
    },
    Rfc(Deterministic),
}

/// A dualpi2. Wide because two queues share a limit, a controller and a scheduler.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    limit: usize,
    memory_limit: u64,
    memory: u64,
    /// The device's largest frame, bytes.
    frame: u32,
    /// Bits of the ECN field of which a packet of the L4S queue has one.
    mask: u8,
    law: Law,
    controller: Controller,
    scheduler: Scheduler,
    lanes: [Lane; 2],
    held: Backlog,
    stats: QdiscStats,
}

impl DualPi2 {
    /// Make an empty discipline, on a device whose largest frame has `frame` bytes.
    ///
    /// # Errors
    /// A ramp that ends where it begins, or before.
    pub fn new(spec: &DualPi2Spec, frame: u32) -> Result<Self, Flaws> {
        let count = |packets: u64| usize::try_from(packets).unwrap_or(usize::MAX);
        let whole = |ns: u64| ns / US * US;
        let (target, period) = (whole(spec.target_ns), whole(spec.tupdate_ns));
        let (law, controller) = match spec.variant {
            DualPi2Variant::Linux => {
                let random = Random { factor: spec.coupling, drop_on_overload: spec.drop_on_overload };
                let by_time = Step::Time(whole(spec.step_ns));
                let step = spec.step_packets.map_or(by_time, |packets| Step::Packets(count(packets)));
                let min_qlen_step = count(spec.min_qlen_step_packets);
                let drop_enqueue = spec.drop_enqueue;
                let most = if spec.drop_on_overload { MAX_PROB } else { MAX_PROB / spec.coupling };
                let controller = Controller::linux(target, period, [spec.alpha, spec.beta], most);
                (Law::Linux { random, step, min_qlen_step, stepped: VecDeque::new(), drop_enqueue }, controller)
            }
            DualPi2Variant::Rfc => {
                let ramp = [spec.ramp_from_ns, spec.ramp_to_ns];
                if ramp[1] <= ramp[0] {
                    let what = format_args!("{} ns is not after ramp_from_ns, {} ns", ramp[1], ramp[0]);
                    return Err(Flaws::one("ramp_to_ns", what, format_args!("at least {}", ramp[0] + 1)));
                }
                let sums = [Sum::default(); 2];
                let law = Law::Rfc(Deterministic { factor: f64::from(spec.coupling), ramp, sums });
                (law, Controller::rfc(target, period, [spec.alpha, spec.beta]))
            }
        };
        Ok(Self {
            limit: count(spec.limit_packets),
            memory_limit: spec
                .memory_limit_bytes
                .unwrap_or_else(|| (spec.limit_packets * 2 * u64::from(frame)).min(u64::from(u32::MAX))),
            memory: 0,
            frame,
            mask: match spec.ecn_mask {
                DualPi2Mask::L4sEct => 0b01,
                DualPi2Mask::AnyEct => 0b11,
            },
            law,
            controller,
            scheduler: Scheduler::new(spec.classic_protection, frame),
            lanes: Default::default(),
            held: Backlog::default(),
            stats: QdiscStats::default(),
        })
    }

    /// Times at which the first packets of the queues came.
    fn heads(&self, pool: &Pool) -> [Option<Time>; 2] {
        [&self.lanes[0], &self.lanes[1]].map(|lane| lane.queue.first().map(|id| pool[id].time))
    }

    /// Makes the updates of the probability that are due.
    #[inline]
    fn run_controller(&mut self, s: &QueueContext) {
        if self.controller.is_due(s.now) {
            self.update(s);
        }
    }

    #[inline(never)]
    fn update(&mut self, s: &QueueContext) {
        let heads = self.heads(&s.packets);
        self.controller.run(s.now, heads);
    }

    /// The class of a packet.
    #[inline]
    fn class_of(&self, p: &Packet) -> Class {
        if p.ecn().bits() & self.mask != 0 {
            Class::L
        } else {
            Class::C
        }
    }

    /// The coupled fate of a packet of a class, by the kernel's rules.
    #[inline]
    fn coupled(&self, random: Random, class: Class, rng: &mut Rng) -> Signal {
        if self.held.bytes < FLOOR * u64::from(self.frame) {
            return Signal::Pass;
        }
        match class {
            Class::C => random.classic(self.controller.prob(), rng),
            Class::L => random.l4s(self.controller.prob(), rng),
        }
    }

    /// Marks a packet if it must be. True if it must be dropped.
    #[inline]
    fn obeys(&mut self, signal: Signal, class: Class, p: &mut Packet) -> bool {
        match signal {
            Signal::Pass => false,
            Signal::Drop => true,
            Signal::Mark | Signal::Native if !mark_ce(p) => true,
            Signal::Mark | Signal::Native => {
                self.stats.ce_marks += 1;
                let totals = &mut self.lanes[class as usize].totals;
                *(if signal == Signal::Native { &mut totals.step_marks } else { &mut totals.coupled_marks }) += 1;
                false
            }
        }
    }

    /// Decides on a packet that leaves its queue, which it has waited in for `sojourn`. True if it must be dropped.
    #[inline]
    fn drops(&mut self, class: Class, sojourn: Time, p: &mut Packet, rng: &mut Rng) -> bool {
        let rest = self.lanes[Class::L as usize].queue.len();
        match &mut self.law {
            Law::Linux { random, step, stepped, drop_enqueue, .. } => {
                let (random, decided) = (*random, *drop_enqueue);
                let subject = class == Class::L && stepped.pop_front().unwrap_or(true);
                let beyond = subject && step.is_beyond(sojourn, rest);
                let signal = if decided { Signal::Pass } else { self.coupled(random, class, rng) };
                self.obeys(signal, class, p) || (beyond && self.obeys(Signal::Native, class, p))
            }
            Law::Rfc(law) => {
                let signal = match class {
                    Class::C => law.classic(&self.controller),
                    // The ramp needs more than one packet.
                    Class::L => law.l4s(&self.controller, if rest > 0 { sojourn } else { 0 }),
                };
                self.obeys(signal, class, p)
            }
        }
    }
}

impl PeekByDequeue for DualPi2 {
    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        self.run_controller(s);
        let len = s.packets[id].bytes();
        let class = self.class_of(&s.packets[id].packet);
        let charge = u64::from(truesize(len));
        let totals = &mut self.lanes[class as usize].totals;
        totals.arrived_packets += 1;
        totals.arrived_bytes += u64::from(len);
        if self.held.packets >= self.limit || self.memory + charge > self.memory_limit {
            totals.dropped += 1;
            s.dropped.push((id, DropCause::Overflow));
            return Verdict::Dropped;
        }
        let before = self.lanes[class as usize].queue.len();
        if let Law::Linux { random, drop_enqueue: true, .. } = self.law {
            let signal = self.coupled(random, class, &mut s.rngs[s.port]);
            if self.obeys(signal, class, &mut s.packets[id].packet) {
                self.lanes[class as usize].totals.dropped += 1;
                s.dropped.push((id, DropCause::Aqm));
                // A local sender is not told: the kernel's answer is NET_XMIT_SUCCESS | __NET_XMIT_BYPASS.
                return Verdict::Queued;
            }
        }
        if let (Law::Linux { min_qlen_step: least @ 1.., stepped, .. }, Class::L) = (&mut self.law, class) {
            stepped.push_back(before >= *least);
        }
        s.packets[id].time = s.now;
        self.held.add(len);
        self.memory += charge;
        let lane = &mut self.lanes[class as usize];
        lane.bytes += u64::from(len);
        lane.queue.push(id, &mut s.packets);
        Verdict::Queued
    }

    #[inline]
    fn next(&mut self, s: &mut QueueContext) -> Option<Id> {
        self.run_controller(s);
        loop {
            let counts = [self.lanes[0].queue.len(), self.lanes[1].queue.len()];
            let class = self.scheduler.next(counts)?;
            let lane = &mut self.lanes[class as usize];
            let id = lane.queue.pop(&s.packets)?;
            let slot = &mut s.packets[id];
            let (len, sojourn) = (slot.bytes(), s.now - slot.time);
            lane.bytes -= u64::from(len);
            self.held.remove(len);
            self.memory -= u64::from(truesize(len));
            if self.drops(class, sojourn, &mut slot.packet, &mut s.rngs[s.port]) {
                self.lanes[class as usize].totals.dropped += 1;
                s.dropped.push((id, DropCause::Aqm));
                continue;
            }
            if counts[0] > 0 && counts[1] > 0 {
                self.scheduler.charge(class, len);
            }
            let totals = &mut self.lanes[class as usize].totals;
            totals.sojourns.add(sojourn);
            self.stats.last_sojourn = sojourn;
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
        for lane in &self.lanes {
            lane.queue.iter(packets).for_each(&mut *f);
        }
    }

    fn stats(&self) -> &QdiscStats {
        &self.stats
    }

    fn state(&self, _: Time, tell: &mut catalogue::Tell) {
        let base = self.controller.ratio();
        let factor = match &self.law {
            Law::Linux { random, .. } => f64::from(random.factor),
            Law::Rfc(law) => law.factor,
        };
        tell("base_probability", base);
        tell("classic_probability", base * base);
        tell("coupled_probability", (base * factor).min(1.0));
        tell("wrr_credit_bytes", self.scheduler.credit() as f64 / 100.0);
        let [l4s, classic] = [0, 1].map(|class: usize| self.lanes[class].totals.sojourns.last());
        tell("l4s_sojourn_ms", l4s.map_or(f64::NAN, |ns| ns as f64 / 1e6));
        tell("classic_sojourn_ms", classic.map_or(f64::NAN, |ns| ns as f64 / 1e6));
    }

    fn classes(&self) -> Vec<ClassTotals> {
        BOTH.iter()
            .map(|&class| {
                let Lane { bytes, totals, .. } = &self.lanes[class as usize];
                ClassTotals {
                    name: NAMES[class as usize],
                    arrived_packets: totals.arrived_packets,
                    arrived_bytes: totals.arrived_bytes,
                    dropped: totals.dropped,
                    ce_marks: totals.coupled_marks + totals.step_marks,
                    sce_marks: 0,
                    backlog_bytes: *bytes,
                    tin: None,
                    delays: Some(DelayTotals {
                        sent_packets: totals.sojourns.count(),
                        step_marks: totals.step_marks,
                        mean: totals.sojourns.mean(),
                        p99: totals.sojourns.quantile(990),
                        median: totals.sojourns.quantile(500),
                        most: totals.sojourns.most(),
                    }),
                }
            })
            .collect()
    }
}
