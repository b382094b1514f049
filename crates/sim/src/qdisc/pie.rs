//! PIE: drops at arrival with a probability that a controller sets from the delay (RFC 8033; Linux 6.12 net/sched/sch_pie.c).
//!
//! Times are as Linux keeps them, in units of 64 ns; probabilities in units of 2^-56.

use super::ecn::set_ce;
use super::jiffies::{ticks, Timer};
use super::peeked::{Backlog, Deciding};
use super::{QdiscStats, QueueContext, Verdict};
use crate::packet::{DropCause, Packet, FULL_FRAME};
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
/// Time without drops at first, 64 ns.
const BURST: u64 = (150 * MS) >> 6;
/// Backlog below which nothing is dropped, bytes.
const FLOOR: u64 = 2 * FULL_FRAME as u64;

/// What the queues of a discipline share.
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
}

/// State of one queue.
#[derive(Clone, Debug)]
pub(super) struct State {
    delay: u64,
    delay_before: u64,
    /// What is left of the time without drops.
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
    /// The next congestion is met as the first one was.
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
    /// The described law.
    pub fn new(spec: &PieSpec, kind: &str) -> Result<Self, String> {
        if spec.tupdate_ns == 0 {
            return Err(format!("{kind}: tupdate_ns must be at least 1"));
        }
        if spec.alpha > 32 || spec.beta > 32 {
            return Err(format!("{kind}: alpha and beta must be 0 to 32, not {} and {}", spec.alpha, spec.beta));
        }
        Ok(Self {
            target: (spec.target_ns / US * US) >> 6,
            tupdate: ticks(spec.tupdate_ns / US * US),
            alpha: u64::from(spec.alpha),
            beta: u64::from(spec.beta),
            ecn: spec.ecn,
            bytemode: spec.bytemode,
            dq_rate_estimator: spec.dq_rate_estimator,
        })
    }

    /// Whether an arriving packet of `len` bytes is to be dropped or marked; its queue holds `backlog` bytes.
    pub fn signals(&self, state: &mut State, backlog: u64, len: u32, rng: &mut Rng) -> bool {
        if state.burst > 0 || (state.delay < self.target / 2 && state.prob < MAX_PROB / 5) || backlog < FLOOR {
            return false;
        }
        let prob = if self.bytemode && len <= FULL_FRAME {
            u64::from(len) * (state.prob / u64::from(FULL_FRAME))
        } else {
            state.prob
        };
        state.accumulated = if prob == 0 { 0 } else { state.accumulated.wrapping_add(prob) };
        // Drops neither cluster nor stay away for long.
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
            delta += step;
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
    /// An empty queue of at most `limit` packets.
    ///
    /// # Errors
    /// A parameter that Linux refuses, named.
    pub fn new(limit: usize, spec: &PieSpec) -> Result<Self, String> {
        let law = Law::new(spec, "pie")?;
        Ok(Self {
            limit,
            // The queue was there long before the run, and its timer has run all the while.
            timer: Timer::new(law.tupdate),
            law,
            state: State::default(),
            queue: Queue::default(),
            held: Backlog::default(),
            stats: QdiscStats::default(),
        })
    }
}

impl Deciding for Pie {
    #[inline]
    fn catch_up(&mut self, now: Time) {
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
            if !(mark && set_ce(&mut slot.packet.ecn)) {
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
}

#[cfg(test)]
mod tests {
    use super::super::lab::Lab;
    use super::super::Qdisc;
    use super::{Law, State, BURST, MAX_PROB, TICKS_PER_SEC};
    use crate::packet::{DropCause, Ecn, FULL_FRAME};
    use crate::rng::Rng;
    use crate::spec::{PieSpec, QdiscSpec};
    use crate::time::{MS, SEC};

    const SPEC: PieSpec = PieSpec {
        target_ns: 15 * MS,
        tupdate_ns: 15 * MS,
        alpha: 2,
        beta: 20,
        ecn: false,
        bytemode: false,
        dq_rate_estimator: false,
    };

    fn law(spec: PieSpec) -> Law {
        Law::new(&spec, "pie").unwrap()
    }

    fn probability(state: &State) -> f64 {
        state.prob as f64 / MAX_PROB as f64
    }

    /// After one update with this delay and trend, ms.
    fn updated(prob: f64, delay_ms: u64, before_ms: u64) -> f64 {
        let mut state = State {
            prob: (prob * MAX_PROB as f64) as u64,
            delay: (delay_ms * MS) >> 6,
            delay_before: (before_ms * MS) >> 6,
            ..State::default()
        };
        law(SPEC).update(&mut state, 100_000);
        probability(&state)
    }

    #[test]
    fn the_controller_is_gentler_at_small_probabilities() {
        // alpha 2/16 and beta 20/16, Hz, scaled down at the steps of RFC 8033, 5.2.
        for (prob, scale) in
            [(0.0, 2048.0), (5e-6, 512.0), (5e-5, 128.0), (5e-4, 32.0), (5e-3, 8.0), (5e-2, 2.0), (0.5, 1.0)]
        {
            let expected = (0.125 * 0.010 + 1.25 * 0.005) / scale;
            let got = updated(prob, 25, 20) - prob;
            assert!((got / expected - 1.0).abs() < 2e-3, "{prob}: {got} instead of {expected}");
        }
    }

    #[test]
    fn steps_are_bounded_above_ten_percent_and_larger_at_250_ms() {
        assert!((updated(0.5, 200, 20) - 0.52).abs() < 1e-6);
        let long = updated(0.5, 251, 251) - 0.5;
        assert!((long - 0.125 * 0.236 - 0.02).abs() < 0.03 && long > 0.02, "{long}");
        // As in Linux, certainty is no bound.
        assert!(updated(0.999, 300, 20) > 1.0);
        assert_eq!(updated(1e-7, 0, 200), 0.0);
    }

    #[test]
    fn without_delay_the_probability_decays() {
        let law = law(SPEC);
        let mut state = State { prob: MAX_PROB / 2, ..State::default() };
        law.update(&mut state, 0);
        let drift = 0.125 * 0.015;
        assert!((probability(&state) - (0.5 - drift) * (63.0 / 64.0)).abs() < 1e-6);
        // A backlog without a measurable delay does not count as none.
        let mut state = State { prob: MAX_PROB / 2, ..State::default() };
        law.update(&mut state, 1);
        assert!((probability(&state) - (0.5 - drift)).abs() < 1e-6);
    }

    #[test]
    fn the_burst_allowance_returns_when_congestion_is_over() {
        let law = law(SPEC);
        let mut state = State { burst: 0, ..State::default() };
        law.update(&mut state, 0);
        assert_eq!(state.burst, BURST);
        let mut state = State { burst: 0, prob: MAX_PROB / 2, ..State::default() };
        law.update(&mut state, 0);
        assert_eq!(state.burst, 0);
    }

    #[test]
    fn nothing_is_dropped_within_the_burst_below_half_the_target_or_on_a_short_queue() {
        let law = law(SPEC);
        let mut rng = Rng::for_component(1, "pie");
        let late = State { burst: 0, prob: MAX_PROB, delay: law.target, ..State::default() };
        let mut signals = |state: State, backlog| law.signals(&mut state.clone(), backlog, FULL_FRAME, &mut rng);
        assert!(signals(late.clone(), 100_000));
        assert!(!signals(State { burst: 1, ..late.clone() }, 100_000));
        assert!(!signals(late.clone(), 2 * u64::from(FULL_FRAME) - 1));
        let early = State { delay: law.target / 2 - 1, ..late };
        assert!(signals(early.clone(), 100_000));
        assert!(!signals(State { prob: MAX_PROB / 6, ..early }, 100_000));
    }

    #[test]
    fn drops_are_spread() {
        let law = law(SPEC);
        let mut rng = Rng::for_component(1, "pie");
        let mut state = State { burst: 0, prob: MAX_PROB / 10, delay: law.target, ..State::default() };
        let (mut gaps, mut gap) = (vec![], 0);
        for _ in 0..20_000 {
            gap += 1;
            if law.signals(&mut state, 100_000, FULL_FRAME, &mut rng) {
                state.on_drop();
                gaps.push(gap);
                gap = 0;
            }
        }
        // The sum of probabilities lies between 0.85 and 8.5.
        assert!(gaps.iter().all(|g| (9..=86).contains(g)), "{gaps:?}");
        let mean = gaps.iter().sum::<u32>() as f64 / gaps.len() as f64;
        assert!((mean - 17.5).abs() < 1.0, "{mean}: 8 packets without, then one in ten");
    }

    #[test]
    fn a_small_packet_is_spared_in_byte_mode() {
        let mut rng = Rng::for_component(1, "pie");
        let mut drops = |law: &Law, len| {
            let mut state = State { burst: 0, prob: MAX_PROB / 4, delay: law.target, ..State::default() };
            let dropped = |_: &u32| {
                let signal = law.signals(&mut state, 100_000, len, &mut rng);
                if signal {
                    state.on_drop();
                }
                signal
            };
            (0..10_000_u32).filter(dropped).count()
        };
        let bytes = law(PieSpec { bytemode: true, ..SPEC });
        assert!(drops(&bytes, 66) * 10 < drops(&law(SPEC), 66));
        assert!(drops(&bytes, FULL_FRAME) * 10 > 9 * drops(&law(SPEC), FULL_FRAME));
    }

    #[test]
    fn the_departure_rate_is_measured_over_sixteen_kilobytes() {
        let law = law(PieSpec { dq_rate_estimator: true, ..SPEC });
        let mut state = State::default();
        // A full packet every 1.2112 ms: 10 Mbit/s.
        for n in 1..200_u64 {
            law.on_departure(&mut state, (FULL_FRAME, 0), 50_000, n * 1_211_200);
        }
        let bytes_per_s = f64::from(state.rate) / 256.0 * TICKS_PER_SEC as f64;
        assert!((bytes_per_s / 1.25e6 - 1.0).abs() < 0.1, "{bytes_per_s}");
        law.update(&mut state, 50_000);
        let delay_s = state.delay as f64 / TICKS_PER_SEC as f64;
        assert!((delay_s - 0.04).abs() < 0.004, "{delay_s}");
    }

    #[test]
    fn marks_stand_in_for_drops_up_to_ten_percent() {
        let mut lab = Lab::new(&QdiscSpec::Pie { limit_packets: 1000, control: PieSpec { ecn: true, ..SPEC } }, 1);
        let slot = 1_211_200;
        let run = |lab: &mut Lab, until, ecn, every: u64| {
            while lab.now < until {
                lab.now += slot;
                lab.offer_full(0, 1 + u32::from((lab.now / slot).is_multiple_of(every)), ecn);
                lab.take();
            }
        };
        // A little too much: marks, which do not help here, until the probability has passed 10 %.
        run(&mut lab, 5 * SEC, Ecn::Ect0, 20);
        let (marks, drops) = (lab.qdisc.stats().ce_marks, lab.dropped.len());
        assert!(marks > 10, "{marks}");
        run(&mut lab, 40 * SEC, Ecn::Ect0, 3);
        assert!(lab.dropped.len() > drops + 1000, "{drops} {}", lab.dropped.len());
        let marked = lab.qdisc.stats().ce_marks;
        run(&mut lab, 50 * SEC, Ecn::Ect0, 3);
        assert_eq!(lab.qdisc.stats().ce_marks, marked, "above 10 % nothing is marked");
    }

    #[test]
    fn a_standing_queue_is_cut_to_the_target() {
        let mut lab = Lab::new(&QdiscSpec::Pie { limit_packets: 1000, control: SPEC }, 1);
        let slot = 1_211_200;
        let mut sojourns = vec![];
        while lab.now < 60 * SEC {
            lab.now += slot;
            // A tenth more than leaves.
            lab.offer_full(0, 1 + u32::from((lab.now / slot).is_multiple_of(10)), Ecn::NotEct);
            lab.take();
            if lab.now > 20 * SEC {
                sojourns.push(lab.qdisc.stats().last_sojourn);
            }
        }
        let mean = sojourns.iter().sum::<u64>() / sojourns.len() as u64;
        assert!((10 * MS..20 * MS).contains(&mean), "{mean}");
        assert!(lab.dropped.iter().all(|(_, cause)| *cause == DropCause::Aqm));
        let dropped = lab.dropped.len() as f64 / (60.0 * SEC as f64 / slot as f64 * 1.1);
        assert!((0.08..0.1).contains(&dropped), "{dropped}");
    }
}
