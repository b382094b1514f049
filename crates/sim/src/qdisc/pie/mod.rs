//! PIE: drops at arrival with a probability that a controller sets from the delay (RFC 8033; Linux 6.12 net/sched/sch_pie.c).
//!
//! Times are as Linux keeps them, in units of 64 ns; probabilities in units of 2^-56.

use super::ecn::mark_ce;
use super::jiffies::{ticks, Timer};
use super::parameters::{limit_packets, LEAST_NS, MOST_NS, TODAY};
use super::peek_buffer::{Backlog, PeekByDequeue};
use super::{QdiscStats, QueueContext, Verdict};
use crate::catalogue::{self, Draws, Entry, Feature, Kind, Parameter, Preset};
use crate::packet::{DropCause, Packet};
use crate::pool::{Id, Pool, Queue};
use crate::rng::Rng;
use crate::spec::PieSpec;
use crate::time::{Time, MS, SEC, US};

/// Certainty.
pub(super) const MAX_PROB: u64 = u64::MAX >> 8;
/// Units of time in a second.
const TICKS_PER_SEC: u64 = SEC >> 6;
/// Bytes that must leave for an estimate of the departure rate.
const RATE_CYCLE: u64 = 16 * 1024;
/// Fraction bits of the departure rate.
const RATE_SHIFT: u32 = 8;
/// Unit of its times, ns.
const NS_PER_TICK: f64 = 64.0;
/// Time without drops at first, 64 ns.
const BURST: u64 = (150 * MS) >> 6;
/// Backlog below which nothing is dropped, largest frames.
const FLOOR: u64 = 2;

/// Parameters that fq_pie has, too.
pub(super) const TARGET: Parameter =
    Parameter::new("target", Kind::Duration, "control.target_ns", "Sojourn time that the controller aims at.")
        .or_number(15_000_000)
        .at_least(LEAST_NS)
        .at_most(MOST_NS)
        .example("20ms")
        .tc("target {}us");
pub(super) const TUPDATE: Parameter =
    Parameter::new("tupdate", Kind::Duration, "control.tupdate_ns", "Time between updates of the drop probability.")
        .or_number(15_000_000)
        .at_least(LEAST_NS)
        .at_most(MOST_NS)
        .example("30ms")
        .tc("tupdate {}us");
pub(super) const ALPHA: Parameter =
    weight("alpha", "control.alpha", "Weight of the deviation from the target, in sixteenths, Hz.", 2)
        .example("4")
        .tc("alpha {}");
pub(super) const BETA: Parameter =
    weight("beta", "control.beta", "Weight of the trend of the delay, in sixteenths, Hz.", 20)
        .example("10")
        .tc("beta {}");
pub(super) const ECN: Parameter =
    flag("ecn", "control.ecn", "Marks ECN-capable packets instead of dropping them while the probability is low.")
        .tc("ecn|noecn");
pub(super) const BYTEMODE: Parameter =
    flag("bytemode", "control.bytemode", "Scales the probability by the packet's size.").tc("bytemode|nobytemode");
pub(super) const DQ_RATE_ESTIMATOR: Parameter = flag(
    "dq_rate_estimator",
    "control.dq_rate_estimator",
    "Estimates the delay by Little's law (the departure rate) instead of from time stamps.",
)
.since("5.5")
.tc("dq_rate_estimator|no_dq_rate_estimator");

/// pie's parameters.
pub const ENTRY: Entry = Entry {
    name: "pie",
    summary: "PIE on one queue (RFC 8033)",
    about: "PIE (RFC 8033, Linux pie).",
    draws: Draws::EachPacket,
    parameters: &[
        Parameter::new(
            "variant",
            Kind::Choice(&["linux-6.12", "2013"]),
            "",
            "`2013`: the module that its authors distributed before Linux had it; times in whole milliseconds.",
        )
        .or(Preset::Word("linux-6.12"))
        .needs(Feature::OtherKernels)
        .example("2013"),
        limit_packets().or_number(1000),
        TARGET,
        TUPDATE,
        ALPHA,
        BETA,
        ECN.only(TODAY),
        BYTEMODE.only(TODAY),
        DQ_RATE_ESTIMATOR.only(TODAY),
        Parameter::new("hz", Kind::Integer(""), "control.hz", "Ticks a second, in which the variant 2013 counts time.")
            .or_number(1000)
            .at_least(100)
            .at_most(10_000)
            .only(&["2013"])
            .example("250"),
    ],
    tc: &[],
    since: "3.14",
};

/// State variables that a scenario may record.
pub(super) const STATE: &[catalogue::State] = &[
    catalogue::State::new(
        "probability",
        "share",
        "probability of a drop or mark, as of the last update before a packet came or went",
    ),
    catalogue::State::new("burst_ms", "ms", "rest of the time without drops"),
    catalogue::State::new("qdelay_ms", "ms", "delay that it has measured or estimated"),
    catalogue::State::new("departure_bps", "bit/s", "departure rate that it has measured; none without an estimate"),
];

/// tc's bounds of a weight of the controller.
const fn weight(name: &'static str, field: &'static str, meaning: &'static str, default: i64) -> Parameter {
    Parameter::new(name, Kind::Integer(""), field, meaning).or_number(default).at_least(0).at_most(32)
}

const fn flag(name: &'static str, field: &'static str, meaning: &'static str) -> Parameter {
    Parameter::new(name, Kind::Flag, field, meaning).or(Preset::Flag(false)).example("true")
}

/// State that the queues of a discipline share.
#[derive(Clone, Debug)]
pub(super) struct Law {
    /// Delay aimed at, 64 ns.
    target: u64,
    /// Ticks between updates.
    pub tupdate: u64,
    alpha: u64,
    beta: u64,
    pub ecn: bool,
    bytemode: bool,
    dq_rate_estimator: bool,
    /// The device's largest frame, bytes.
    frame: u32,
}

/// State of one queue.
#[derive(Clone, Debug)]
pub(super) struct State {
    delay: u64,
    delay_before: u64,
    /// Rest of the time without drops.
    burst: u64,
    /// Last departure, or start of the measurement of the departure rate.
    since: Option<u64>,
    /// Probability of a drop.
    pub prob: u64,
    /// Sum of the probabilities since the last drop.
    accumulated: u64,
    /// Bytes that left since `since`, if the departure rate is being measured.
    measured: Option<u64>,
    /// Departure rate, bytes per 64 ns, `RATE_SHIFT` fraction bits; 0 without an estimate.
    rate: u32,
}

impl Default for State {
    fn default() -> Self {
        Self { delay: 0, delay_before: 0, burst: BURST, since: None, prob: 0, accumulated: 0, measured: None, rate: 0 }
    }
}

impl State {
    /// Tells what it keeps, by the names of [`STATE`].
    fn tell(&self, tell: &mut catalogue::Tell) {
        tell("probability", self.prob as f64 / MAX_PROB as f64);
        tell("burst_ms", self.burst as f64 * NS_PER_TICK / 1e6);
        tell("qdelay_ms", self.delay as f64 * NS_PER_TICK / 1e6);
        if self.rate > 0 {
            let bytes_per_tick = f64::from(self.rate) / f64::from(1 << RATE_SHIFT);
            tell("departure_bps", bytes_per_tick * 8e9 / NS_PER_TICK);
        }
    }

    /// Back to the beginning: the next congestion gets the burst allowance again.
    fn restart(&mut self) {
        self.burst = BURST;
        self.since = None;
        self.accumulated = 0;
        self.measured = None;
        self.rate = 0;
    }

    /// A packet was dropped.
    pub fn on_drop(&mut self) {
        self.accumulated = 0;
    }
}

impl Law {
    /// The described law, on a device whose largest frame has `frame` bytes.
    pub fn new(spec: &PieSpec, frame: u32) -> Self {
        Self {
            target: (spec.target_ns / US * US) >> 6,
            tupdate: ticks(spec.tupdate_ns / US * US),
            alpha: u64::from(spec.alpha),
            beta: u64::from(spec.beta),
            ecn: spec.ecn,
            bytemode: spec.bytemode,
            dq_rate_estimator: spec.dq_rate_estimator,
            frame,
        }
    }

    /// True if an arriving packet of `len` bytes is to be dropped or marked. Its queue holds `backlog` bytes.
    pub fn signals(&self, state: &mut State, backlog: u64, len: u32, rng: &mut Rng) -> bool {
        if state.burst > 0
            || (state.delay < self.target / 2 && state.prob < MAX_PROB / 5)
            || backlog < FLOOR * u64::from(self.frame)
        {
            return false;
        }
        let prob = if self.bytemode && len <= self.frame {
            u64::from(len) * (state.prob / u64::from(self.frame))
        } else {
            state.prob
        };
        state.accumulated = if prob == 0 { 0 } else { state.accumulated.wrapping_add(prob) };
        // Neither two drops soon after each other nor long times without one (RFC 8033, 5.4).
        if state.accumulated < MAX_PROB / 100 * 85 {
            return false;
        }
        if state.accumulated >= MAX_PROB / 2 * 17 {
            return true;
        }
        if rng.u64() >> 8 < prob {
            state.accumulated = 0;
            return true;
        }
        false
    }

    /// A packet (its length, its arrival) left its queue, which then held `backlog` bytes.
    pub fn on_departure(&self, state: &mut State, p: (u32, Time), backlog: u64, now: Time) {
        let ((len, arrival), now) = (p, now >> 6);
        let elapsed = |since: u64| u64::from((now - since) as u32);
        let span = if self.dq_rate_estimator {
            if backlog >= RATE_CYCLE && state.measured.is_none() {
                state.since = Some(now);
                state.measured = Some(0);
            }
            let Some(measured) = &mut state.measured else { return };
            *measured += u64::from(len);
            if *measured < RATE_CYCLE {
                return;
            }
            let span = state.since.map_or(0, elapsed);
            if span == 0 {
                return;
            }
            let rate = (((*measured as u32) << RATE_SHIFT) / span as u32, state.rate);
            state.rate = match rate {
                (rate, 0) => rate,
                (rate, before) => before - (before >> 3) + (rate >> 3),
            };
            if backlog < RATE_CYCLE {
                state.measured = None;
            } else {
                state.measured = Some(0);
                state.since = Some(now);
            }
            span
        } else {
            state.delay = if backlog > 0 { now - (arrival >> 6) } else { 0 };
            let span = state.since.map_or(0, elapsed);
            state.since = Some(now);
            span
        };
        state.burst = state.burst.saturating_sub(span);
    }

    /// The controller runs; the queue holds `backlog` bytes.
    pub fn update(&self, state: &mut State, backlog: u64) {
        let (delay, before) = if self.dq_rate_estimator {
            let before = state.delay;
            state.delay_before = before;
            (((backlog as u32) << RATE_SHIFT).checked_div(state.rate).map_or(0, u64::from), before)
        } else {
            (state.delay, state.delay_before)
        };
        // A short queue has no measurable delay.
        let mut settle = delay != 0 || backlog == 0;

        let mut alpha = (self.alpha * (MAX_PROB / TICKS_PER_SEC)) >> 4;
        let mut beta = (self.beta * (MAX_PROB / TICKS_PER_SEC)) >> 4;
        if state.prob < MAX_PROB / 10 {
            alpha >>= 1;
            beta >>= 1;
            let mut power = 100;
            while power <= 1_000_000 && state.prob < MAX_PROB / power {
                alpha >>= 2;
                beta >>= 2;
                power *= 10;
            }
        }
        let mut delta = (alpha.wrapping_mul(delay.wrapping_sub(self.target)))
            .wrapping_add(beta.wrapping_mul(delay.wrapping_sub(before))) as i64;
        let step = (MAX_PROB / 50) as i64;
        if delta > step && state.prob >= MAX_PROB / 10 {
            delta = (MAX_PROB / 100 * 2) as i64;
        }
        if delay > (250 * MS) >> 6 {
            // Wraps where the terms above have, as pie_calculate_probability does (sch_pie.c:381).
            delta = delta.wrapping_add(step);
        }
        let prob = state.prob.wrapping_add(delta as u64);
        state.prob = if delta > 0 && prob < state.prob {
            settle = false;
            MAX_PROB
        } else if delta <= 0 && prob > state.prob {
            0
        } else {
            prob
        };
        if delay == 0 && before == 0 && settle {
            state.prob -= state.prob / 64;
        }
        state.delay = delay;
        let low = self.target / 2;
        let known = !self.dq_rate_estimator || state.rate > 0;
        if state.delay < low && state.delay_before < low && state.prob == 0 && known {
            state.restart();
        }
        if !self.dq_rate_estimator {
            state.delay_before = delay;
        }
    }
}

/// One queue under PIE.
#[derive(Clone, Debug)]
pub struct Pie {
    limit: usize,
    law: Law,
    state: State,
    timer: Timer,
    queue: Queue,
    held: Backlog,
    stats: QdiscStats,
}

impl Pie {
    /// Make an empty queue of at most `limit` packets.
    #[must_use]
    pub fn new(limit: usize, spec: &PieSpec, frame: u32) -> Self {
        let law = Law::new(spec, frame);
        Self {
            limit,
            timer: Timer::new(law.tupdate),
            law,
            state: State::default(),
            queue: Queue::default(),
            held: Backlog::default(),
            stats: QdiscStats::default(),
        }
    }
}

impl PeekByDequeue for Pie {
    #[inline]
    fn run_timers(&mut self, now: Time) {
        while self.timer.is_due(now) {
            self.law.update(&mut self.state, self.held.bytes);
            self.timer.rearm(self.law.tupdate);
        }
    }

    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        let slot = &mut s.packets[id];
        let len = slot.bytes();
        let full = self.held.packets >= self.limit;
        if full || self.law.signals(&mut self.state, self.held.bytes, len, &mut s.rngs[s.port]) {
            // Packets that can be marked are, up to a probability of 10 %.
            let mark = !full && self.law.ecn && self.state.prob <= MAX_PROB / 10;
            if !(mark && mark_ce(&mut slot.packet)) {
                self.state.on_drop();
                s.dropped.push((id, if full { DropCause::Overflow } else { DropCause::Aqm }));
                return Verdict::Dropped;
            }
            self.stats.ce_marks += 1;
        }
        slot.time = s.now;
        self.held.add(len);
        self.queue.push(id, &mut s.packets);
        Verdict::Queued
    }

    fn next(&mut self, s: &mut QueueContext) -> Option<Id> {
        let id = self.queue.pop(&s.packets)?;
        let (len, arrival) = (s.packets[id].bytes(), s.packets[id].time);
        self.held.remove(len);
        self.law.on_departure(&mut self.state, (len, arrival), self.held.bytes, s.now);
        self.stats.last_sojourn = s.now - arrival;
        Some(id)
    }

    fn backlog(&mut self) -> &mut Backlog {
        &mut self.held
    }

    fn held(&self) -> Backlog {
        self.held
    }

    fn for_each(&self, packets: &Pool, f: &mut dyn FnMut(&Packet)) {
        self.queue.iter(packets).for_each(f);
    }

    fn stats(&self) -> &QdiscStats {
        &self.stats
    }

    fn state(&self, _: Time, tell: &mut catalogue::Tell) {
        self.state.tell(tell);
    }
}

#[cfg(test)]
mod tests;
