//! FAST TCP: the window moves towards the one that keeps `alpha` segments in queues (C. Jin, D. Wei, S. Low, "FAST TCP: motivation, architecture,
//! algorithms, performance", INFOCOM 2004: w = min(2w, (1 - gamma) w + gamma (baseRTT/RTT w + alpha))). No kernel has it; how the pieces work is that of
//! the public ns-2 module (T. Cui, L. Andrew, `tcp-fast.cc` 1.1.3): the mean RTT, the window of a round trip ago, growth by a segment each ACK while next
//! to nothing is queued, updates in every other round trip at most every 10 ms, increases spread over ACKs, what a rounded window owes.
//!
//! Inferred, as the module stands on ns-2's own TCP: losses are recovered and windows restarted as Linux does it, from half of the window; growth by an ACK
//! is by what it acknowledges where the stack counts segments; a window that does not limit sending does not grow. The module's default of `alpha`, 100
//! segments, is for fast paths; the authors' Linux had 8, 20 and 200 for those below 10, below 100 and above 100 Mbit/s.
//!
//! Leaves out: sending the oldest segment again after two mean RTTs, where Linux has its own timers.

use std::collections::VecDeque;

use super::{
    AnyCc, BoxedControl, CongestionControl, Control, Event, Needs, Parameter, Parameters, RateSample, State, Tell,
    Version, View, Window, INFINITE_SSTHRESH,
};
use crate::catalogue::state::ms_of_us;

/// The mean RTT has so many more bits than microseconds.
const MEAN_SHIFT: u32 = 16;
/// It follows an RTT by 1/256, or by 3/window if that is less.
const MEAN_SCALE: u32 = 256;
/// The window's fraction, per segment.
const SEGMENT: u64 = 1 << 20;
/// Least window, segments.
const MIN_CWND: u32 = 2;
/// Increases are spread over ACKs from this RTT on, us; and all at once up to this window.
const SPREAD_RTT_US: u32 = 4000;
const SPREAD_CWND: u32 = 4;

pub(super) const CONTROL: Control = Control {
    name: "fast",
    summary: "FAST TCP (Jin, Wei, Low 2004, and its ns-2 module)",
    needs: Needs { rtt_stamps: true, ..Needs::NOTHING },
    since: Version::ANY,
    parameters: &[
        Parameter::integer("alpha", 100, 1, 1 << 20, "segments of the flow that wait in queues"),
        Parameter::integer(
            "beta",
            0,
            0,
            1 << 20,
            "the window stays while from alpha to so many segments wait; 0: there is no such range",
        ),
        Parameter::integer("gamma", 50, 1, 100, "how far an update goes towards the new window, per cent"),
        Parameter::integer(
            "mi_threshold_us",
            750,
            0,
            1_000_000,
            "grows by a segment for each acknowledged below this queueing delay, us",
        ),
        Parameter::integer("update_interval_us", 10_000, 0, 1_000_000, "least time between updates, us"),
        Parameter::flag("every_other_rtt", true, "updates the window only in every other round trip"),
    ],
    build: |p| AnyCc::Boxed(Box::new(Fast::new(p))),
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::new("base_rtt_ms", "ms", "least RTT that it has measured (baseRTT)"),
    State::new("mean_rtt_ms", "ms", "averaged RTT (avgRTT); none before the first"),
    State::new("diff", "packets", "segments that it takes to be queued, by the averaged RTT; none before the first"),
    State::new("old_cwnd", "packets", "window of a round trip ago, which the next is computed from"),
    State::flag("updates", "the window is updated in this round trip"),
];

/// Parameters of a description.
#[derive(Clone, Copy, Debug)]
struct Settings {
    alpha: u32,
    beta: u32,
    gamma: u32,
    mi_threshold_us: u32,
    interval_us: u64,
    every_other: bool,
}

/// Increase that is left to be spread over ACKs.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    left: u32,
    /// One every so many ACKs, and how many there were since the last.
    spacing: u32,
    acks: u32,
}

/// FAST.
#[derive(Clone, Debug)]
struct Fast {
    set: Settings,
    base_us: u32,
    /// Mean RTT, us << [`MEAN_SHIFT`]; 0: none yet.
    mean: u64,
    /// RTT of the ACK in hand.
    rtt_us: u32,
    /// First segments beyond those that were sent, and the windows then; and the window when the segment last acknowledged was sent.
    sent: VecDeque<(u32, u32)>,
    old_cwnd: u32,
    /// Updates take place in this round trip, which began then.
    updates: bool,
    round_us: u64,
    updated_us: u64,
    /// ACKs in this round trip, and in the last.
    acks: u32,
    acks_before: u32,
    spread: Spread,
    /// Remainder that rounding has cut off, in units of [`SEGMENT`].
    remainder: u64,
}

impl Fast {
    fn new(p: &Parameters) -> Self {
        let alpha = p.integer("alpha");
        let set = Settings {
            alpha,
            beta: p.integer("beta").max(alpha),
            gamma: p.integer("gamma"),
            mi_threshold_us: p.integer("mi_threshold_us"),
            interval_us: u64::from(p.integer("update_interval_us")),
            every_other: p.flag("every_other_rtt"),
        };
        Self {
            set,
            base_us: u32::MAX,
            mean: 0,
            rtt_us: 0,
            sent: VecDeque::new(),
            old_cwnd: 0,
            updates: true,
            round_us: 0,
            updated_us: 0,
            acks: 0,
            acks_before: 0,
            spread: Spread::default(),
            remainder: 0,
        }
    }

    fn mean_us(&self) -> u64 {
        self.mean >> MEAN_SHIFT
    }

    fn take_rtt(&mut self, v: &View, rtt_us: u32) {
        self.rtt_us = rtt_us;
        self.base_us = self.base_us.min(rtt_us);
        let rtt = u64::from(rtt_us) << MEAN_SHIFT;
        if self.mean == 0 {
            self.mean = rtt;
            return;
        }
        let scale = u64::from((v.packets_out / 3).max(MEAN_SCALE));
        self.mean = self.mean - self.mean / scale + rtt / scale;
    }

    /// The window that the law asks for.
    fn target(&mut self, w: &Window) -> u32 {
        let (mean, base, old) = (self.mean_us().max(1), u64::from(self.base_us), u64::from(self.old_cwnd));
        let queued = old * mean.saturating_sub(base);
        let (alpha, beta) = (u64::from(self.set.alpha), u64::from(self.set.beta));
        if queued >= alpha * mean && queued < beta * mean {
            return w.cwnd;
        }
        let towards = u128::from(old * base) * u128::from(SEGMENT) / u128::from(mean) + u128::from(alpha * SEGMENT);
        let (cwnd, gamma) = (u128::from(u64::from(w.cwnd) * SEGMENT), u128::from(self.set.gamma));
        let next = ((cwnd * (100 - gamma) + towards * gamma) / 100) as u64;
        let mut whole = next / SEGMENT;
        self.remainder += next % SEGMENT;
        if self.remainder > SEGMENT {
            self.remainder -= SEGMENT;
            whole += 1;
        }
        (whole as u32).clamp(MIN_CWND, (2 * w.cwnd).max(MIN_CWND))
    }

    /// Spreads `more` segments, and what is left of those before, over the ACKs of an interval.
    fn spread(&mut self, w: &mut Window, more: u32) {
        let spread = &mut self.spread;
        if more > 0 {
            spread.left += more;
            let acks = u64::from(self.acks_before) * self.set.interval_us / (self.mean >> MEAN_SHIFT).max(1);
            spread.spacing = (acks / u64::from(spread.left)) as u32;
            spread.acks = 1;
        } else {
            spread.acks += 1;
        }
        if spread.left == 0 {
            return;
        }
        if w.cwnd <= SPREAD_CWND {
            let now = spread.left.min(w.cwnd);
            w.cwnd += now;
            (spread.left, spread.acks) = (spread.left - now, 0);
        } else if spread.acks >= spread.spacing {
            w.cwnd += 1;
            (spread.left, spread.acks) = (spread.left - 1, 0);
        }
    }

    fn count_round(&mut self, now_us: u64) {
        if self.round_us + u64::from(self.rtt_us) < now_us {
            self.round_us = now_us;
            (self.acks_before, self.acks) = (self.acks, 0);
            self.updates = !self.updates || !self.set.every_other;
        }
        self.acks += 1;
    }

    fn update(&mut self, v: &View, w: &mut Window) {
        self.updated_us = v.mstamp_us;
        self.spread.left = 0;
        let target = self.target(w);
        if target < w.cwnd {
            w.cwnd = target;
        } else if v.is_cwnd_limited {
            self.grow(w, target - w.cwnd);
        }
    }

    fn grow(&mut self, w: &mut Window, more: u32) {
        if self.base_us >= SPREAD_RTT_US {
            self.spread(w, more);
        } else {
            w.cwnd += more;
        }
    }
}

impl BoxedControl for Fast {}

impl CongestionControl for Fast {
    fn init(&mut self, v: &View, w: &mut Window) {
        // The law alone decides.
        w.ssthresh = INFINITE_SSTHRESH;
        (self.old_cwnd, self.round_us, self.updated_us) = (w.cwnd, v.mstamp_us, v.mstamp_us);
    }

    fn ssthresh(&mut self, v: &View, w: &Window) -> u32 {
        self.updated_us = v.mstamp_us;
        self.spread = Spread::default();
        (w.cwnd / 2).max(MIN_CWND)
    }

    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        w.cwnd = w.cwnd.max(MIN_CWND);
        self.count_round(v.mstamp_us);
        let queueing = self.mean_us().saturating_sub(u64::from(self.base_us));
        if queueing < u64::from(self.set.mi_threshold_us) {
            if v.is_cwnd_limited || w.is_limiting(v) {
                w.cwnd += if v.growth as u32 == 0 { acked } else { 1 };
            }
            self.updated_us = v.mstamp_us;
        } else if v.mstamp_us >= self.updated_us + self.set.interval_us && self.updates {
            self.update(v, w);
        } else if self.spread.left > 0 {
            self.spread(w, 0);
        }
    }

    fn pkts_acked(&mut self, v: &View, _w: &mut Window, s: &RateSample) {
        while let Some(&(end, cwnd)) = self.sent.front() {
            if end > v.snd_una {
                break;
            }
            self.old_cwnd = cwnd;
            self.sent.pop_front();
        }
        if s.acked > 0 && s.rtt_us >= 0 && !v.in_reduction() {
            self.take_rtt(v, s.rtt_us as u32);
        }
    }

    fn on_event(&mut self, _: &View, _: &mut Window, e: Event) {
        if let Event::Renumbered(r) = e {
            self.sent.iter_mut().for_each(|(end, _)| r.apply(end));
        }
    }

    fn on_sent(&mut self, v: &View, _w: &mut Window, _segments: u32) {
        if self.sent.back().is_none_or(|&(end, _)| end != v.snd_nxt) {
            self.sent.push_back((v.snd_nxt, v.in_flight()));
        }
    }

    fn state(&self, _: &View, _: &Window, tell: &mut Tell) {
        tell("base_rtt_ms", ms_of_us(self.base_us));
        if self.mean > 0 {
            let mean = self.mean_us().max(1);
            tell("mean_rtt_ms", mean as f64 / 1e3);
            let queued = u64::from(self.old_cwnd) * mean.saturating_sub(u64::from(self.base_us));
            tell("diff", queued as f64 / mean as f64);
        }
        tell("old_cwnd", f64::from(self.old_cwnd));
        tell("updates", f64::from(u8::from(self.updates)));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::lab::{made, Lab};
    use super::*;
    use crate::cc::Growth;

    fn lab(given: &serde_json::Value, cwnd: u32) -> Lab {
        Lab::in_slow_start(made(&CONTROL, given), cwnd)
    }

    /// A round trip over a path of 40 ms that takes 2 segments a ms: what is beyond 80 in flight waits. Segments are sent as ACKs let them.
    fn round_with_queue(lab: &mut Lab) {
        let window = lab.w.cwnd;
        lab.rtt_us = (u64::from(window) * 500).max(40_000);
        (lab.v.packets_out, lab.v.max_packets_out) = (window, window);
        lab.v.snd_nxt = lab.v.snd_una + window;
        lab.cc.on_sent(&lab.v, &mut lab.w, window);
        for _ in 0..window {
            lab.pass(lab.rtt_us / u64::from(window));
            lab.ack(1);
            lab.v.snd_nxt += 1;
            lab.cc.on_sent(&lab.v, &mut lab.w, 1);
        }
    }

    /// At a window of `cwnd`, once the path was seen without a queue.
    fn on_path(given: &serde_json::Value, cwnd: u32) -> Lab {
        let mut lab = lab(given, 40);
        round_with_queue(&mut lab);
        lab.w.cwnd = cwnd;
        lab
    }

    #[test]
    fn it_starts_by_doubling_as_nothing_is_queued() {
        let mut lab = lab(&json!({}), 10);
        lab.rounds(4);
        assert_eq!(lab.w.cwnd, 160);
        assert_eq!(lab.w.ssthresh, INFINITE_SSTHRESH, "the law alone decides");
        lab.v.growth = Growth::Acks;
        lab.per_ack = 2;
        lab.round();
        assert_eq!(lab.w.cwnd, 160 + 80, "a segment each ACK where these are counted");
    }

    #[test]
    fn a_window_that_does_not_limit_sending_stays() {
        let mut lab = lab(&json!({}), 100);
        (lab.v.is_cwnd_limited, lab.v.packets_out, lab.v.max_packets_out) = (false, 20, 20);
        (0..50).for_each(|_| lab.ack(1));
        assert_eq!(lab.w.cwnd, 100);
    }

    #[test]
    fn alpha_segments_wait_in_the_end_from_below_and_from_above() {
        for (alpha, cwnd) in [(20, 40), (20, 400), (60, 40), (100, 40)] {
            let mut lab = on_path(&json!({"alpha": alpha}), cwnd);
            (0..200).for_each(|_| round_with_queue(&mut lab));
            assert!(lab.w.cwnd.abs_diff(80 + alpha) <= 2, "alpha {alpha} from {cwnd}: {}", lab.w.cwnd);
        }
    }

    #[test]
    fn from_alpha_to_beta_the_window_stays() {
        let mut lab = on_path(&json!({"alpha": 20, "beta": 60}), 120);
        (0..100).for_each(|_| round_with_queue(&mut lab));
        // By ACKs it has grown until the mean showed a queue.
        let there = lab.w.cwnd;
        assert!((100..=140).contains(&there), "{there}");
        (0..50).for_each(|_| round_with_queue(&mut lab));
        assert_eq!(lab.w.cwnd, there);
        lab.w.cwnd = 180;
        (0..200).for_each(|_| round_with_queue(&mut lab));
        assert!((100..=140).contains(&lab.w.cwnd), "{}: not more than 60", lab.w.cwnd);
    }

    fn fast(given: &serde_json::Value) -> Fast {
        Fast::new(&Parameters::resolve(CONTROL.parameters, &[], given.as_object().unwrap()).unwrap())
    }

    #[test]
    fn an_update_goes_half_of_the_way_and_rounding_is_made_up_for() {
        let mut fast = fast(&json!({"alpha": 10}));
        (fast.base_us, fast.mean, fast.old_cwnd) = (40_000, 50_000 << MEAN_SHIFT, 101);
        // 101 * 4/5 + 10 = 90.8; half of the way from 101 is 95.9.
        let targets: Vec<u32> = (0..10).map(|_| fast.target(&Window::new(101, 1))).collect();
        assert_eq!(
            targets.iter().filter(|&&target| target == 96).count(),
            9 - 1,
            "{targets:?}: nine tenths of them, a whole one late"
        );
        assert!(targets.iter().all(|target| (95..=96).contains(target)));
    }

    #[test]
    fn a_window_at_most_doubles_and_keeps_two_segments() {
        let mut fast = fast(&json!({"alpha": 100, "gamma": 100}));
        (fast.base_us, fast.mean, fast.old_cwnd) = (40_000, 50_000 << MEAN_SHIFT, 10);
        assert_eq!(fast.target(&Window::new(10, 1)), 20);
        (fast.set.alpha, fast.set.beta, fast.mean) = (1, 1, 400_000 << MEAN_SHIFT);
        assert_eq!(fast.target(&Window::new(10, 1)), 2);
    }

    #[test]
    fn the_mean_follows_an_rtt_by_a_256th_or_less_with_a_large_window() {
        let mut fast = fast(&json!({}));
        let mut v = View::new(1000, Growth::Segments, false);
        fast.take_rtt(&v, 40_000);
        assert_eq!((fast.mean_us(), fast.base_us), (40_000, 40_000));
        fast.take_rtt(&v, 65_600);
        assert_eq!((fast.mean_us(), fast.base_us), (40_100, 40_000));
        v.packets_out = 3000;
        fast.take_rtt(&v, 140_100);
        assert_eq!(fast.mean_us(), 40_200, "by a thousandth");
    }

    #[test]
    fn updates_come_in_every_other_round_trip_and_ten_milliseconds_apart() {
        let times = |every_other: bool| {
            let mut fast = fast(&json!({"alpha": 4, "every_other_rtt": every_other}));
            let (mut v, mut w) = (View::new(1000, Growth::Segments, false), Window::new(300, 1));
            v.is_cwnd_limited = true;
            fast.init(&v, &mut w);
            (fast.base_us, fast.mean, fast.rtt_us) = (20_000, 40_000 << MEAN_SHIFT, 40_000);
            let mut times = vec![];
            for ms in (0..=160).step_by(2) {
                let before = fast.updated_us;
                v.mstamp_us = ms * 1000;
                fast.cong_avoid(&v, &mut w, 1);
                if fast.updated_us != before {
                    times.push(ms);
                }
            }
            times
        };
        // A round trip is over 42 ms after it began.
        assert_eq!(times(false), (10..=160).step_by(10).collect::<Vec<u64>>());
        assert_eq!(times(true), [10, 20, 30, 40, 84, 94, 104, 114, 124]);
    }

    #[test]
    fn a_loss_halves_the_window_and_a_timeout_leaves_two_segments() {
        let mut lab = lab(&json!({}), 100);
        assert_eq!(lab.reduced(), 50);
        lab.lose();
        assert_eq!(lab.w.cwnd, 50);
        lab.time_out();
        lab.ack(1);
        assert!((2..=3).contains(&lab.w.cwnd), "{}", lab.w.cwnd);
        lab.w.cwnd = 3;
        assert_eq!(lab.reduced(), 2);
    }

    #[test]
    fn increases_are_spread_over_acks_on_long_paths() {
        let mut fast = fast(&json!({}));
        (fast.base_us, fast.mean, fast.acks_before) = (40_000, 40_000 << MEAN_SHIFT, 400);
        let mut w = Window::new(100, 1);
        // 100 ACKs in 10 ms, for 10 segments: one every ten ACKs.
        fast.spread(&mut w, 10);
        let grown: Vec<u32> = (0..100)
            .map(|_| {
                fast.spread(&mut w, 0);
                w.cwnd - 100
            })
            .collect();
        assert_eq!([grown[8], grown[18], grown[98]], [1, 2, 10]);
        (fast.base_us, fast.spread) = (3999, Spread::default());
        fast.grow(&mut w, 10);
        assert_eq!(w.cwnd, 120, "at once on short ones");
    }
}
