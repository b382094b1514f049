//! RED: drops or marks at arrival with a probability that grows with the average queue (Floyd and Jacobson 1993; Linux 6.12
//! net/sched/sch_red.c, include/net/red.h), on a FIFO limited in bytes.
//!
//! - Above `max` Linux's RED signals for every packet, at once: it is not gentle, and tc has no such keyword. `gentle` is Floyd's
//!   recommendation (see [`mark`]).
//! - An idle period begins when a device asks an empty queue for a packet. tbf and htb look first, so that behind them the average stays
//!   where it was, however long the pause.
//! - The adaptation is that of the kernel's code, which tc of today cannot start: the kernel looks for the flag where tc no longer puts it
//!   (`__red_change` looks at `tc_red_qopt`, iproute2 6.1 sends `TCA_RED_FLAGS`).
//! - The parameters are tc's translation of its keywords (see [`tc`]).
//!
//! Left out: qevents, offload, a change while it works.

mod average;
mod mark;
mod tc;

use self::average::{Average, Filter};
use self::mark::{Action, Law, State};
use super::ecn::mark_ce;
use super::fifo::{Fifo, Limit};
use super::jiffies::Timer;
use super::{Dequeued, Qdisc, QdiscStats, QueueContext, Verdict};
use crate::packet::{DropCause, Packet};
use crate::pool::{Id, Pool};
use crate::refusal::Flaws;
use crate::spec::RedSpec;
use crate::time::Time;

/// Ticks between adaptations.
const ADAPT_TICKS: u64 = 500;

/// A queue under RED.
#[derive(Clone, Debug)]
pub struct Red {
    filter: Filter,
    average: Average,
    law: Law,
    state: State,
    ecn: bool,
    harddrop: bool,
    nodrop: bool,
    /// Timer of the adaptation.
    timer: Option<Timer>,
    queue: Fifo,
    stats: QdiscStats,
}

impl Red {
    /// Make an empty queue of at most `limit_bytes`.
    ///
    /// # Errors
    /// Parameters that are an error in tc or Linux.
    pub fn new(limit_bytes: u64, spec: &RedSpec) -> Result<Self, Flaws> {
        let mut flaws = Flaws::default();
        flaws.at_least("limit_bytes", limit_bytes, "bytes", 1);
        let made = Flaws::both(tc::probability(spec), tc::filter(spec));
        let (probability, (wlog, damping)) = flaws.and(Flaws::within("control", made))?;
        let mut law = Law::new(spec.min_bytes, spec.max_bytes, probability, spec.gentle);
        let timer = spec.adaptive.then(|| Timer::new(ADAPT_TICKS));
        if timer.is_some() {
            // The queue was there, and empty, long before the run.
            while law.adapt(0) {}
        }
        Ok(Self {
            filter: Filter::new(wlog, damping),
            average: Average::default(),
            law,
            state: State::default(),
            ecn: spec.ecn,
            harddrop: spec.harddrop,
            nodrop: spec.nodrop,
            timer,
            queue: Fifo::new(Limit::Bytes(limit_bytes)),
            stats: QdiscStats::default(),
        })
    }

    /// Runs the adaptation as often as it was due by `now`.
    #[inline]
    fn run_timers(&mut self, now: Time) {
        let Some(timer) = &mut self.timer else { return };
        while timer.is_due(now) {
            let average = self.average.at(timer.time(), &self.filter);
            self.law.adapt(self.filter.bytes(average));
            timer.rearm(ADAPT_TICKS);
        }
    }
}

impl Qdisc for Red {
    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        self.run_timers(s.now);
        let average = self.average.on_arrival(self.queue.bytes(), s.now, &self.filter);
        let may_mark = match self.law.decide(&mut self.state, average, &self.filter, &mut s.rngs[s.port]) {
            Action::Pass => return self.queue.enqueue(id, s),
            Action::Early => self.ecn,
            Action::Hard => self.ecn && !self.harddrop,
        };
        if may_mark && mark_ce(&mut s.packets[id].packet) {
            let verdict = self.queue.enqueue(id, s);
            self.stats.ce_marks += u64::from(verdict == Verdict::Queued);
            return verdict;
        }
        if may_mark && self.nodrop {
            return self.queue.enqueue(id, s);
        }
        // The packet is gone, yet its sender hears of congestion only, as in Linux.
        s.dropped.push((id, DropCause::Aqm));
        Verdict::Congestion
    }

    fn dequeue(&mut self, s: &mut QueueContext) -> Dequeued {
        let taken = self.queue.dequeue(s);
        match taken {
            Dequeued::Packet(_) => self.stats.last_sojourn = self.queue.stats().last_sojourn,
            _ => self.found_empty(s.now),
        }
        taken
    }

    fn found_empty(&mut self, at: Time) {
        self.run_timers(at);
        self.average.idle_from(at);
    }

    fn peek(&mut self, s: &mut QueueContext) -> Option<u32> {
        self.queue.peek(s)
    }

    fn for_each(&self, packets: &Pool, f: &mut dyn FnMut(&Packet)) {
        self.queue.for_each(packets, f);
    }

    fn packets(&self) -> usize {
        self.queue.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn stats(&self) -> &QdiscStats {
        &self.stats
    }
}

#[cfg(test)]
mod tests;
