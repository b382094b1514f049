//! CUBIC as earlier kernels had it (net/ipv4/tcp_cubic.c of Linux 2.6.17, 2.6.24 and, in the sources of CentOS 5, what came with 2.6.25): versions 2.0, 2.1
//! and 2.2 of the module, without HyStart. They are a type of their own, so that today's, which most runs use, pays nothing for them.
//!
//! | | 2.0 | 2.1 | 2.2 |
//! | --- | --- | --- | --- |
//! | a loss leaves (`beta`) | 819/1024 | 819/1024 | 717/1024 |
//! | threshold at the start (`initial_ssthresh`) | 100 | none | none |
//! | most growth (`max_increment` of 16) | 2 segments per 100 ms, as the minimum RTT is in other units than the formula takes it for | 16 per 100 ms, beyond the plateau only | any |
//! | the curve | C is 32/1024, while the time to the plateau is for 410/1024: the target is near the plateau from the first | 410/1024 | 410/1024 |
//! | growth before a loss | 2 % a round trip | 2 % | by the curve |
//!
//! Inferred: where a stack counts segments, these are planned for segments; the kernels of the time counted ACKs and divided by how many segments one stands
//! for, as is done here where the stack does so. The cube root of 2.0 is exact, where the kernel's was within 1.

use super::curve::{cubic_root, curve_delta};
use crate::cc::{BoxedControl, CaState, CongestionControl, Event, Growth, Parameters, RateSample, Tell, View, Window};

/// Unit of `beta`.
const BETA_SCALE: u32 = 1024;
/// Time unit of the curve: 2^-10 s.
const TIME_SHIFT: u32 = 10;
/// Fraction bits of the curve.
const CURVE_SHIFT: u32 = 10 + 3 * TIME_SHIFT;
/// Most segments a tenth of a second.
const MAX_INCREMENT: u32 = 16;
/// Before a loss a segment for each so many.
const START_COUNT: u32 = 50;
/// Fraction bits of the ratio of segments to ACKs.
const ACK_RATIO_SHIFT: u32 = 4;

/// A version of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Module {
    V20,
    V21,
    V22,
}

/// CUBIC of an earlier kernel.
#[derive(Clone, Debug)]
pub(super) struct OldCubic {
    module: Module,
    beta: u32,
    initial_ssthresh: u32,
    fast_convergence: bool,
    tcp_friendliness: bool,
    /// C, 1024ths of a segment a tenth of a second cubed: for the time to the plateau, and for the curve.
    scale: u64,
    curve_scale: u64,
    friendly_scale: u32,
    curve: Curve,
}

/// State that a timeout forgets.
#[derive(Clone, Debug)]
struct Curve {
    /// Segments to acknowledge per increase.
    cnt: u32,
    last_max_cwnd: u32,
    /// There has been a loss.
    had_loss: bool,
    last_cwnd: u32,
    last_time: u32,
    origin_point: u32,
    /// Time from the start of the epoch to the plateau, 2^-10 s.
    k: u32,
    /// Least RTT, ticks in 2.0 and eighths of them later; 0: none.
    delay_min: u32,
    epoch_start: u32,
    ack_cnt: u32,
    tcp_cwnd: u32,
    /// Segments per ACK, times 16.
    ack_ratio: u32,
}

impl Curve {
    const START: Self = Self {
        cnt: 0,
        last_max_cwnd: 0,
        had_loss: false,
        last_cwnd: 0,
        last_time: 0,
        origin_point: 0,
        k: 0,
        delay_min: 0,
        epoch_start: 0,
        ack_cnt: 0,
        tcp_cwnd: 0,
        ack_ratio: 2 << ACK_RATIO_SHIFT,
    };
}

/// The integer whose cube is nearest.
fn nearest_root(a: u64) -> u32 {
    let cube = |x: u64| u128::from(x).pow(3);
    let (mut low, mut high) = (0u64, 1u64 << 22);
    while low + 1 < high {
        let mid = (low + high) / 2;
        if cube(mid) <= u128::from(a) {
            low = mid;
        } else {
            high = mid;
        }
    }
    if u128::from(a) - cube(low) < cube(high) - u128::from(a) {
        low as u32
    } else {
        high as u32
    }
}

impl OldCubic {
    /// That of a `version` of the module; none: it is today's.
    pub fn of(version: &str, p: &Parameters) -> Option<Self> {
        let (module, beta, initial_ssthresh) = match version {
            "2.0" => (Module::V20, 819, 100),
            "2.1" => (Module::V21, 819, 0),
            "2.2" => (Module::V22, 717, 0),
            _ => return None,
        };
        let (beta, bic_scale) = (p.integer_or("beta", beta), u64::from(p.integer("bic_scale")));
        Some(Self {
            module,
            beta,
            initial_ssthresh: p.integer_or("initial_ssthresh", initial_ssthresh),
            fast_convergence: p.flag("fast_convergence"),
            tcp_friendliness: p.flag("tcp_friendliness"),
            scale: bic_scale * 10,
            curve_scale: if module == Module::V20 { bic_scale * 8 / 10 } else { bic_scale * 10 },
            friendly_scale: 8 * (BETA_SCALE + beta) / 3 / (BETA_SCALE - beta),
            curve: Curve::START,
        })
    }

    /// Plans `cnt` for another window, or again after 1/32 s.
    fn update(&mut self, v: &View, cwnd: u32, acked: u32) {
        let (now, c) = (v.jiffies, &mut self.curve);
        c.ack_cnt += acked;
        if c.last_cwnd == cwnd && now.wrapping_sub(c.last_time) as i32 <= (v.hz / 32) as i32 {
            return;
        }
        (c.last_cwnd, c.last_time) = (cwnd, now);
        if c.epoch_start == 0 {
            self.begin_epoch(now, cwnd, acked);
        }
        self.curve.cnt = self.follow(v, cwnd);
        if !self.curve.had_loss && self.module != Module::V22 {
            self.curve.cnt = START_COUNT;
        }
        if self.tcp_friendliness {
            self.curve.cnt = self.friendly(cwnd);
        }
        let c = &mut self.curve;
        if v.growth == Growth::Acks {
            c.cnt = (c.cnt << ACK_RATIO_SHIFT) / c.ack_ratio;
        }
        c.cnt = c.cnt.max(1);
    }

    fn begin_epoch(&mut self, now: u32, cwnd: u32, acked: u32) {
        let c = &mut self.curve;
        (c.epoch_start, c.ack_cnt, c.tcp_cwnd) = (now, acked, cwnd);
        if c.last_max_cwnd <= cwnd {
            (c.k, c.origin_point) = (0, cwnd);
            return;
        }
        let cube = (1u64 << CURVE_SHIFT) / self.scale * u64::from(c.last_max_cwnd - cwnd);
        c.k = if self.module == Module::V20 { nearest_root(cube) } else { cubic_root(cube) };
        c.origin_point = c.last_max_cwnd;
    }

    /// Segments to acknowledge per increase, for the target of the curve a least RTT ahead.
    fn follow(&self, v: &View, cwnd: u32) -> u32 {
        let c = &self.curve;
        let ahead = if self.module == Module::V20 { c.delay_min } else { c.delay_min >> 3 };
        let ticks = v.jiffies.wrapping_add(ahead).wrapping_sub(c.epoch_start);
        let t = (ticks << TIME_SHIFT) / v.hz;
        let delta = curve_delta(self.curve_scale, u64::from(t.abs_diff(c.k)));
        let target = if t < c.k { c.origin_point.wrapping_sub(delta) } else { c.origin_point.wrapping_add(delta) };
        let cnt = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.wrapping_mul(100) };
        let bounded = match self.module {
            Module::V20 => true,
            Module::V21 => t >= c.k,
            Module::V22 => false,
        };
        if !bounded || c.delay_min == 0 {
            return cnt;
        }
        // Right for eighths of a tick.
        cnt.max(cwnd.wrapping_mul(v.hz * 8) / (10 * MAX_INCREMENT * c.delay_min))
    }

    /// Never slower than Reno would be.
    fn friendly(&mut self, cwnd: u32) -> u32 {
        let per_increase = cwnd.wrapping_mul(self.friendly_scale) >> 3;
        debug_assert!(per_increase > 0, "the Reno estimate never ends");
        let c = &mut self.curve;
        while c.ack_cnt > per_increase {
            c.ack_cnt -= per_increase;
            c.tcp_cwnd += 1;
        }
        if c.tcp_cwnd > cwnd {
            c.cnt.min(cwnd / (c.tcp_cwnd - cwnd))
        } else {
            c.cnt
        }
    }
}

impl BoxedControl for OldCubic {}

impl CongestionControl for OldCubic {
    fn init(&mut self, _: &View, w: &mut Window) {
        if self.initial_ssthresh > 0 {
            w.ssthresh = self.initial_ssthresh;
        }
    }

    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        let c = &mut self.curve;
        (c.epoch_start, c.had_loss) = (0, true);
        let gives_way = self.fast_convergence && w.cwnd < c.last_max_cwnd;
        let lower = || w.cwnd.wrapping_mul(BETA_SCALE + self.beta) / (2 * BETA_SCALE);
        c.last_max_cwnd = if gives_way { lower() } else { w.cwnd };
        (w.cwnd.wrapping_mul(self.beta) / BETA_SCALE).max(2)
    }

    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        let acked = w.beyond_slow_start(v, acked);
        if acked > 0 {
            self.update(v, w.cwnd, acked);
            w.additive_increase(v, self.curve.cnt, acked);
        }
    }

    fn undo_cwnd(&mut self, _: &View, w: &Window) -> u32 {
        w.cwnd.max(self.curve.last_max_cwnd)
    }

    fn on_event(&mut self, _: &View, _: &mut Window, e: Event) {
        if e == Event::State(CaState::Loss) {
            self.curve = Curve::START;
        }
    }

    fn pkts_acked(&mut self, v: &View, _: &mut Window, s: &RateSample) {
        let c = &mut self.curve;
        if s.acked > 0 && v.state == CaState::Open {
            c.ack_ratio = c.ack_ratio + s.acked - (c.ack_ratio >> ACK_RATIO_SHIFT);
        }
        // Just after a fast recovery delays are not to be trusted.
        if s.rtt_us < 0 || (v.jiffies.wrapping_sub(c.epoch_start) as i32) < v.hz as i32 {
            return;
        }
        let ticks = v.ticks_of_us(s.rtt_us as u32);
        let delay = (if self.module == Module::V20 { ticks } else { ticks << 3 }).max(1);
        if c.delay_min == 0 || c.delay_min > delay {
            c.delay_min = delay;
        }
    }

    fn state(&self, v: &View, _: &Window, tell: &mut Tell) {
        let c = &self.curve;
        tell("w_max", f64::from(c.last_max_cwnd));
        tell("cnt", f64::from(c.cnt));
        if c.epoch_start != 0 {
            tell("origin", f64::from(c.origin_point));
            tell("k_s", f64::from(c.k) / 1024.0);
            tell("epoch_s", f64::from(v.jiffies.wrapping_sub(c.epoch_start) as i32) / f64::from(v.hz));
            tell("w_est", f64::from(c.tcp_cwnd));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::cc::cubic::CONTROL;
    use crate::cc::lab::{made, Lab};

    fn old(given: &serde_json::Value) -> OldCubic {
        let p = Parameters::resolve(CONTROL.parameters, &[], given.as_object().unwrap()).unwrap();
        OldCubic::of(p.word("version"), &p).unwrap()
    }

    fn lab(version: &str, cwnd: u32) -> Lab {
        Lab::new(made(&CONTROL, &json!({"version": version})), cwnd)
    }

    /// Windows after each of so many round trips of 40 ms.
    fn windows(lab: &mut Lab, rounds: u32) -> Vec<u32> {
        (0..rounds)
            .map(|_| {
                lab.round();
                lab.w.cwnd
            })
            .collect()
    }

    proptest! {
        #[test]
        fn the_root_is_the_nearest(a in 0u64..(1 << 60)) {
            let exact = (a as f64).cbrt();
            prop_assert!((f64::from(nearest_root(a)) - exact).abs() <= 0.5 + 1e-6 * exact);
        }
    }

    #[test]
    fn each_version_has_its_own_defaults_but_what_is_given_counts() {
        let of = |given| {
            let old = old(&given);
            (old.beta, old.initial_ssthresh, old.curve_scale)
        };
        assert_eq!(of(json!({"version": "2.0"})), (819, 100, 32));
        assert_eq!(of(json!({"version": "2.1"})), (819, 0, 410));
        assert_eq!(of(json!({"version": "2.2"})), (717, 0, 410));
        assert_eq!(of(json!({"version": "2.1", "beta": 717, "initial_ssthresh": 100})), (717, 100, 410));
        let p = Parameters::defaults(CONTROL.parameters);
        assert!(OldCubic::of(p.word("version"), &p).is_none(), "today's");
    }

    #[test]
    fn a_loss_leaves_four_fifths_and_a_second_one_below_the_peak_aims_lower() {
        for (version, left, lower) in [("2.0", 799, 719), ("2.1", 799, 719), ("2.2", 700, 680)] {
            let mut lab = lab(version, 1000);
            assert_eq!(lab.reduced(), left, "{version}");
            let mut old = old(&json!({"version": version}));
            old.curve.last_max_cwnd = 1000;
            old.ssthresh(&lab.v, &Window::new(800, 1));
            assert_eq!(old.curve.last_max_cwnd, lower, "{version}");
        }
    }

    #[test]
    fn before_a_loss_growth_is_by_2_percent_or_by_the_curve() {
        for version in ["2.0", "2.1"] {
            assert_eq!(windows(&mut lab(version, 1000), 3), [1020, 1040, 1061], "{version}");
        }
        let grown = |friendly: bool| {
            let given = json!({"version": "2.2", "tcp_friendliness": friendly});
            windows(&mut Lab::new(made(&CONTROL, &given), 1000), 50)[49] - 1000
        };
        assert!((2..=6).contains(&grown(false)), "0.4 (2.04 s)^3 = 3.4: {}", grown(false));
        assert!(
            (25..=27).contains(&grown(true)),
            "0.53 a round trip, as Reno would with a decrease by 0.3: {}",
            grown(true)
        );
    }

    /// Seconds until the window of 800 that a loss at 1000 has left is `cwnd`.
    fn seconds_to(version: &str, cwnd: u32) -> f64 {
        let mut lab = lab(version, 1000);
        lab.cc.on_event(&lab.v, &mut lab.w, Event::CompleteCwr);
        lab.lose();
        f64::from(lab.rounds_until(cwnd)) * 0.04
    }

    #[test]
    fn the_curve_of_2_1_reaches_its_plateau_as_the_cubic_says() {
        // K = cbrt(201 / 0.4004) = 7.95 s; a third of the way at K (1 - cbrt(2/3)).
        assert!((seconds_to("2.1", 866) - 1.0).abs() < 0.15, "{}", seconds_to("2.1", 866));
        assert!((seconds_to("2.1", 995) - 5.6).abs() < 0.4, "{}", seconds_to("2.1", 995));
    }

    #[test]
    fn in_2_0_growth_is_two_segments_a_tenth_of_a_second_whatever_the_curve() {
        // 0.8 a round trip of 40 ms, while the target is at 92 % of the gap at once.
        let mut lab = lab("2.0", 1000);
        lab.lose();
        // The minimum RTT is not known before a second has passed.
        lab.rounds(30);
        let from = lab.w.cwnd;
        lab.rounds(50);
        let grown = lab.w.cwnd - from;
        assert!((36..=44).contains(&grown), "{grown} in two seconds");
    }

    #[test]
    fn in_2_1_growth_beyond_the_plateau_is_160_segments_a_second() {
        let mut lab = lab("2.1", 1000);
        lab.lose();
        lab.round();
        // Far beyond the plateau the curve is steeper than that.
        lab.pass(60_000_000);
        lab.rounds(5);
        let from = lab.w.cwnd;
        lab.rounds(25);
        let grown = lab.w.cwnd - from;
        assert!((150..=170).contains(&grown), "{grown} in a second");
        let mut unbounded = self::lab("2.2", 1000);
        unbounded.lose();
        unbounded.round();
        unbounded.pass(60_000_000);
        unbounded.rounds(5);
        let from = unbounded.w.cwnd;
        unbounded.rounds(25);
        assert!(unbounded.w.cwnd - from > 1000, "2.2 has no such bound");
    }

    #[test]
    fn a_timeout_forgets_all_and_growth_is_by_2_percent_again() {
        let mut lab = lab("2.1", 1000);
        lab.lose();
        lab.time_out();
        lab.enter(CaState::Open);
        (lab.w.cwnd, lab.w.ssthresh) = (500, 400);
        assert_eq!(windows(&mut lab, 2), [510, 520]);
    }

    #[test]
    fn where_acks_are_counted_one_stands_for_the_segments_of_delayed_acks() {
        let grown = |growth: Growth, per_ack: u32| {
            let mut lab = lab("2.1", 1000);
            (lab.v.growth, lab.per_ack) = (growth, per_ack);
            windows(&mut lab, 8)[7] - 1000
        };
        let all = grown(Growth::Segments, 2);
        assert!(grown(Growth::Acks, 2).abs_diff(all) <= 12, "{} {all}", grown(Growth::Acks, 2));
    }
}
