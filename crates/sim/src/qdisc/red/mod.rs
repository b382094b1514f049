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
use super::parameters::{limit_bytes, MOST};
use super::{Dequeued, Qdisc, QdiscStats, QueueContext, Verdict};
use crate::catalogue::{self, Draws, Entry, Feature, Kind, Parameter, Preset};
use crate::packet::{DropCause, Packet};
use crate::pool::{Id, Pool};
use crate::refusal::Flaws;
use crate::spec::RedSpec;
use crate::time::Time;

/// Ticks between adaptations.
const ADAPT_TICKS: u64 = 500;

/// red's parameters. What tc makes of several of them together is in [`tc`].
pub const ENTRY: Entry = Entry {
    name: "red",
    summary: "RED, adaptive and gentle RED",
    about: "RED (Floyd and Jacobson 1993, Linux red).",
    draws: Draws::EachPacket,
    parameters: &[
        limit_bytes("Limit of the real queue, not of its average, bytes or `bdp`.").tc("limit {}"),
        threshold("min", "control.min_bytes", "Average queue at which marking begins, bytes or `bdp`.")
            .example("30kB")
            .tc("min {}"),
        threshold("max", "control.max_bytes", "Average queue at which marking is most likely, bytes or `bdp`.")
            .example("90kB")
            .tc("max {}"),
        Parameter::new("probability", Kind::Probability, "control.max_p", "Probability of a mark at `max`.")
            .or_number(20_000)
            .at_least(1)
            .at_most(1_000_000)
            .example("0.1")
            .tc("probability {}"),
        Parameter::new(
            "avpkt",
            Kind::Size,
            "control.avpkt_bytes",
            "Average packet, for the time constant and for idle times.",
        )
        .or_number(1000)
        .at_least(1)
        .at_most(MOST)
        .example("500B")
        .tc("avpkt {}"),
        Parameter::new(
            "burst",
            Kind::Packets,
            "control.burst_packets",
            "Packets let through as a burst; by default (2 min + max) / (3 avpkt), tc's recommendation, but enough to reach `min`.",
        )
        .or(Preset::Unset)
        .at_least(1)
        .at_most(MOST)
        .example("60p")
        .tc("burst {}"),
        flag("ecn", "control.ecn", "Marks ECN-capable packets instead of dropping them.").tc("ecn|"),
        flag("harddrop", "control.harddrop", "Drops instead of marking above `max`.").tc("harddrop|"),
        flag(
            "nodrop",
            "control.nodrop",
            "With `ecn`: lets packets pass that cannot be marked, where others are marked.",
        )
        .sparse()
        .since("5.7")
        .tc("nodrop|"),
        flag(
            "adaptive",
            "control.adaptive",
            "Adapts the probability (Adaptive RED, Floyd et al. 2001); today's tc cannot start it on today's kernel.",
        )
        .needs(Feature::AdaptiveRed),
        flag(
            "gentle",
            "control.gentle",
            "Lets the probability rise above `max`, to 1 at twice `max` (Floyd 2000). Linux's RED cannot do this.",
        )
        .needs(Feature::GentleRed),
    ],
    tc: &["limit", "min", "max", "avpkt", "burst", "probability", "bandwidth", "ecn", "harddrop", "nodrop"],
    since: "2.2",
};

/// State variables that a scenario may record.
pub(super) const STATE: &[catalogue::State] = &[
    catalogue::State::new("average_bytes", "bytes", "average queue, as of the last packet that came"),
    catalogue::State::new(
        "red_count",
        "",
        "packets since the last signal; -1 while the average is not between the thresholds",
    ),
];

const fn threshold(name: &'static str, field: &'static str, meaning: &'static str) -> Parameter {
    Parameter::new(name, Kind::LimitBytes, field, meaning).at_least(1).at_most(MOST)
}

const fn flag(name: &'static str, field: &'static str, meaning: &'static str) -> Parameter {
    Parameter::new(name, Kind::Flag, field, meaning).or(Preset::Flag(false)).example("true")
}

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
        let (wlog, damping) = Flaws::within("control", tc::filter(spec))?;
        let mut law = Law::new(spec.min_bytes, spec.max_bytes, tc::probability(spec), spec.gentle);
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
            // Linux counts the mark of a packet for which there is no room then, too.
            self.stats.ce_marks += 1;
            return self.queue.enqueue(id, s);
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

    fn state(&self, _: Time, tell: &mut catalogue::Tell) {
        tell("average_bytes", self.filter.bytes(self.average.last()) as f64);
        tell("red_count", self.state.since_signal() as f64);
    }
}

#[cfg(test)]
mod tests;
