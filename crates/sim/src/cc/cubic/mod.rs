//! CUBIC: window growth by a cubic of time, TCP-friendly region, fast convergence; HyStart is in `hystart`
//! (RFC 9438 in the integer arithmetic of Linux 6.12 net/ipv4/tcp_cubic.c, version 2.3; where ACKs are counted, of Linux 3.9's, which has the
//! same version number: the plan is made for segments and divided by how many of them an ACK stands for).
//!
//! Leaves out: Linux 5.1 kept HyStart's clock and the minimum delay in ticks; here both are in microseconds for that stack, too.

mod curve;
mod eras;
mod hystart;

use self::curve::{cubic_root, curve_delta, CURVE_SHIFT, TIME_SHIFT};
use self::eras::OldCubic;
use self::hystart::HyStart;
use super::{
    AnyCc, CaState, CongestionControl, Control, Event, Growth, Needs, Parameter, Parameters, RateSample, State, Tell,
    Version, View, Window,
};

/// Unit of the parameter `beta`.
const BETA_SCALE: u32 = 1024;
/// Minimum of `beta`. With a lower one bictcp_update (Linux 6.12 tcp_cubic.c:304) loops for ever at a window of 2 segments: its `delta` is 0.
const LEAST_BETA: u32 = 205;

/// Fraction bits of the ratio of segments to ACKs.
const ACK_RATIO_SHIFT: u32 = 4;
/// Most segments an ACK counts for.
const ACK_RATIO_LIMIT: u32 = 32 << ACK_RATIO_SHIFT;

pub(super) const CONTROL: Control = Control {
    name: "cubic",
    summary: "CUBIC with HyStart (RFC 9438, Linux 6.12)",
    needs: Needs::NOTHING,
    since: Version(2, 6),
    parameters: &[
        Parameter::flag(
            "fast_convergence",
            true,
            "a flow that meets congestion below its last peak aims lower",
        ).module("fast_convergence"),
        Parameter::integer(
            "beta",
            717,
            LEAST_BETA,
            BETA_SCALE - 1,
            "window after a loss, 1024ths; below 205 Linux's Reno estimate of a window of 2 segments never ends (module parameter)",
        ),
        Parameter::integer(
            "initial_ssthresh",
            0,
            0,
            1 << 24,
            "threshold at the start if HyStart is off, segments; 0: none",
        ).module("initial_ssthresh"),
        Parameter::integer("bic_scale", 41, 1, 1024, "scale of the cubic: C is bic_scale/100 (module parameter)"),
        Parameter::flag("tcp_friendliness", true, "grows at least as Reno would").module("tcp_friendliness"),
        Parameter::flag("idle_shift", true, "the curve stands still while nothing is sent (not in linux-3.9)"),
        hystart::ENABLED,
        hystart::DETECT,
        hystart::LOW_WINDOW,
        hystart::ACK_DELTA_US,
        hystart::CLOCK,
        Parameter::word(
            "version",
            "2.3",
            &["2.0", "2.1", "2.2", "2.3"],
            "of the module; before 2.3 there is no HyStart, and beta and initial_ssthresh have other defaults",
        ),
    ],
    build: |p| match OldCubic::of(p.word("version"), p) {
        Some(old) => AnyCc::Boxed(Box::new(old)),
        None => AnyCc::Cubic(Cubic::new(p)),
    },
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::new("w_max", "packets", "window at the last reduction, lowered by fast convergence (bic_last_max_cwnd)"),
    State::new("origin", "packets", "plateau that the curve returns to (bic_origin_point)"),
    State::new("k_s", "s", "time from the start of the epoch to the plateau (bic_K)"),
    State::new("epoch_s", "s", "time since the start of the epoch (epoch_start); none outside an epoch"),
    State::new("w_est", "packets", "window that Reno would have by now (tcp_cwnd)"),
    State::new("cnt", "packets", "segments to acknowledge for an increase of the window by one"),
    State::new("base_rtt_ms", "ms", "least RTT that it has measured"),
    State::new("hystart_round_s", "s", "time since HyStart's round began; none once it looks for nothing any more"),
    State::new("hystart_rtt_ms", "ms", "least RTT of HyStart's round"),
    State::new("hystart_samples", "", "RTTs that HyStart has measured in its round"),
    State::flag("hystart_found", "HyStart looks for nothing any more: it has ended slow start, or is off"),
];

/// CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    pub(super) curve: Curve,
    config: Config,
    hystart: HyStart,
}

/// State that a timeout forgets.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// Segments to acknowledge per increase.
    cnt: u32,
    /// Window at the last reduction.
    pub last_max_cwnd: u32,
    last_cwnd: u32,
    last_time: u32,
    /// Plateau of the curve.
    pub origin_point: u32,
    /// Time from the start of the epoch to the plateau, 2^-10 s.
    pub k: u32,
    delay_min_us: u32,
    /// Start of the epoch, ticks; 0 before.
    pub epoch_start: u32,
    /// Segments counted towards the Reno estimate, and that estimate.
    ack_cnt: u32,
    tcp_cwnd: u32,
    /// Segments per ACK, times 16, where ACKs are counted.
    ack_ratio: u32,
}

impl Curve {
    const START: Self = Self {
        cnt: 0,
        last_max_cwnd: 0,
        last_cwnd: 0,
        last_time: 0,
        origin_point: 0,
        k: 0,
        delay_min_us: 0,
        epoch_start: 0,
        ack_cnt: 0,
        tcp_cwnd: 0,
        ack_ratio: 2 << ACK_RATIO_SHIFT,
    };

    fn state(&self, v: &View, tell: &mut Tell) {
        tell("w_max", f64::from(self.last_max_cwnd));
        tell("cnt", f64::from(self.cnt));
        if self.delay_min_us > 0 {
            tell("base_rtt_ms", f64::from(self.delay_min_us) / 1e3);
        }
        if self.epoch_start != 0 {
            tell("origin", f64::from(self.origin_point));
            tell("k_s", f64::from(self.k) / f64::from(1 << TIME_SHIFT));
            tell("epoch_s", f64::from(v.jiffies.wrapping_sub(self.epoch_start) as i32) / f64::from(v.hz));
            tell("w_est", f64::from(self.tcp_cwnd));
        }
    }
}

/// Values that stay for the whole connection.
#[derive(Clone, Debug)]
struct Config {
    beta: u32,
    fast_convergence: bool,
    tcp_friendliness: bool,
    idle_shift: bool,
    /// On a stack that counts ACKs, what a segment is planned for is divided by the segments of an ACK.
    weighs_acks: bool,
    initial_ssthresh: u32,
    /// C, 1024ths of a segment a tenth of a second cubed.
    scale: u64,
    /// Segments acknowledged per increase of the Reno estimate, times 8 over the window: 8 (1024 + beta) / 3 / (1024 - beta).
    friendly_scale: u32,
    /// Weight of one segment in `ack_cnt`, per `friendly_unit` of them: 1 but for CUBIC-SCE, which counts bytes.
    friendly_weight: u32,
    friendly_unit: u32,
}

impl Cubic {
    /// CUBIC with these parameters.
    fn new(p: &Parameters) -> Self {
        let beta = p.integer("beta");
        Self {
            curve: Curve::START,
            config: Config {
                beta,
                fast_convergence: p.flag("fast_convergence"),
                tcp_friendliness: p.flag("tcp_friendliness"),
                idle_shift: p.flag("idle_shift"),
                weighs_acks: true,
                initial_ssthresh: p.integer("initial_ssthresh"),
                scale: u64::from(p.integer("bic_scale")) * 10,
                friendly_scale: 8 * (BETA_SCALE + beta) / 3 / (BETA_SCALE - beta),
                friendly_weight: 1,
                friendly_unit: 1,
            },
            hystart: HyStart::new(p),
        }
    }

    /// CUBIC with its defaults, but a Reno estimate that counts `weight` for a segment acknowledged and grows by one per `unit` times the
    /// usual.
    pub(super) fn with_friendly_unit(weight: u32, unit: u32) -> Self {
        let mut cubic = Self::new(&Parameters::defaults(CONTROL.parameters));
        cubic.config = Config { weighs_acks: false, friendly_weight: weight, friendly_unit: unit, ..cubic.config };
        cubic
    }
}

impl Cubic {
    /// Plans `cnt` for a window and `acked` segments.
    #[inline]
    fn update(&mut self, v: &View, cwnd: u32, acked: u32) {
        let c = &mut self.curve;
        c.ack_cnt += acked * self.config.friendly_weight;
        if c.last_cwnd != cwnd || v.jiffies.wrapping_sub(c.last_time) as i32 > (v.hz / 32) as i32 {
            self.plan(v, cwnd, acked);
        }
    }

    /// The same for another window, or after 1/32 s.
    fn plan(&mut self, v: &View, cwnd: u32, acked: u32) {
        let now = v.jiffies;
        let by_ack = self.config.weighs_acks && v.growth == Growth::Acks;
        if self.curve.epoch_start == 0 || now != self.curve.last_time || by_ack {
            self.curve.last_cwnd = cwnd;
            self.curve.last_time = now;
            self.follow_curve(v, cwnd, acked);
        }
        if self.config.tcp_friendliness {
            self.curve.cnt = self.friendly(cwnd);
        }
        let cnt = self.curve.cnt;
        self.curve.cnt = if by_ack { ((cnt << ACK_RATIO_SHIFT) / self.curve.ack_ratio).max(1) } else { cnt.max(2) };
    }

    fn follow_curve(&mut self, v: &View, cwnd: u32, acked: u32) {
        let (c, config, now) = (&mut self.curve, &self.config, v.jiffies);
        if c.epoch_start == 0 {
            c.epoch_start = now;
            c.ack_cnt = acked * config.friendly_weight;
            c.tcp_cwnd = cwnd;
            if c.last_max_cwnd <= cwnd {
                c.k = 0;
                c.origin_point = cwnd;
            } else {
                let factor = (1u64 << CURVE_SHIFT) / config.scale;
                c.k = cubic_root(factor * u64::from(c.last_max_cwnd - cwnd));
                c.origin_point = c.last_max_cwnd;
            }
        }
        let (hz, k) = (u64::from(v.hz), u64::from(c.k));
        let ticks = i64::from(now.wrapping_sub(c.epoch_start) as i32)
            + (u64::from(c.delay_min_us) * hz).div_ceil(1_000_000) as i64;
        let time = ((ticks as u64) << TIME_SHIFT) / hz;
        let delta = curve_delta(config.scale, time.abs_diff(k));
        let target = if time < k { c.origin_point.wrapping_sub(delta) } else { c.origin_point.wrapping_add(delta) };
        c.cnt = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.wrapping_mul(100) };
        // Without a plateau yet, grow by at least 5 % an RTT.
        if c.last_max_cwnd == 0 {
            c.cnt = c.cnt.min(20);
        }
    }

    /// Never slower than Reno would be.
    fn friendly(&mut self, cwnd: u32) -> u32 {
        let c = &mut self.curve;
        let per_increase = (cwnd.wrapping_mul(self.config.friendly_scale) >> 3) * self.config.friendly_unit;
        debug_assert!(per_increase > 0, "the Reno estimate never ends");
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

impl CongestionControl for Cubic {
    fn init(&mut self, v: &View, w: &mut Window) {
        if self.hystart.is_enabled() {
            self.hystart.reset(v);
        } else if self.config.initial_ssthresh > 0 {
            w.ssthresh = self.config.initial_ssthresh;
        }
    }

    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        let (c, beta) = (&mut self.curve, self.config.beta);
        c.epoch_start = 0;
        let gives_way = self.config.fast_convergence && w.cwnd < c.last_max_cwnd;
        let lower = || w.cwnd.wrapping_mul(BETA_SCALE + beta) / (2 * BETA_SCALE);
        c.last_max_cwnd = if gives_way { lower() } else { w.cwnd };
        (w.cwnd.wrapping_mul(beta) / BETA_SCALE).max(2)
    }

    #[inline(always)]
    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        if w.in_slow_start(v) && w.is_limiting(v) {
            self.hystart.on_growth(v);
        }
        let acked = w.beyond_slow_start(v, acked);
        if acked > 0 {
            self.update(v, w.cwnd, acked);
            w.additive_increase(v, self.curve.cnt, acked);
        }
    }

    fn on_event(&mut self, v: &View, _: &mut Window, e: Event) {
        match e {
            Event::State(CaState::Loss) => {
                self.curve = Curve::START;
                self.hystart.restart(v);
            }
            Event::TxStart if self.curve.epoch_start != 0 && self.config.idle_shift => {
                let idle = v.jiffies.wrapping_sub(v.last_sent_jiffies) as i32;
                if idle > 0 {
                    self.curve.epoch_start = self.curve.epoch_start.wrapping_add(idle as u32).min(v.jiffies);
                }
            }
            Event::Renumbered(r) => self.hystart.renumber(r),
            _ => {}
        }
    }

    #[inline]
    fn pkts_acked(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        let c = &mut self.curve;
        if v.growth == Growth::Acks && v.state == CaState::Open {
            c.ack_ratio = (c.ack_ratio - (c.ack_ratio >> ACK_RATIO_SHIFT) + s.acked).min(ACK_RATIO_LIMIT);
        }
        if s.rtt_us < 0 {
            return;
        }
        // Just after a fast recovery delays are not to be trusted.
        if c.epoch_start != 0 && (v.jiffies.wrapping_sub(c.epoch_start) as i32) < v.hz as i32 {
            return;
        }
        let delay = (s.rtt_us as u32).max(1);
        if c.delay_min_us == 0 || c.delay_min_us > delay {
            c.delay_min_us = delay;
        }
        if w.in_slow_start(v) {
            self.hystart.update(v, w, delay, self.curve.delay_min_us);
        }
    }

    fn state(&self, v: &View, _: &Window, tell: &mut Tell) {
        self.curve.state(v, tell);
        self.hystart.state(v, tell);
    }

    fn words(&self) -> u32 {
        u32::from(self.hystart.is_done())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cubic(given: &serde_json::Value) -> Cubic {
        Cubic::new(&Parameters::resolve(CONTROL.parameters, &[], given.as_object().unwrap()).unwrap())
    }

    /// A connection in congestion avoidance at a window of `cwnd`.
    fn at(cwnd: u32, growth: Growth) -> (View, Window) {
        let mut v = View::new(1000, growth, false);
        (v.is_cwnd_limited, v.jiffies) = (true, 5000);
        (v, Window::new(cwnd, 1))
    }

    #[test]
    fn the_curve_returns_to_the_plateau_after_k() {
        let (mut c, (mut v, mut w)) = (cubic(&json!({})), at(1000, Growth::Segments));
        w.cwnd = c.ssthresh(&v, &w);
        assert_eq!(w.cwnd, 700);
        c.cong_avoid(&v, &mut w, 1);
        // K = cbrt(300 / 0.4) s = 9.09 s
        let k_ms = (u64::from(c.curve.k) * 1000) >> TIME_SHIFT;
        assert!((9050..9120).contains(&k_ms), "{k_ms}");
        for ms in 0..9100u32 {
            v.jiffies = 5000 + ms;
            c.cong_avoid(&v, &mut w, 10);
        }
        assert!((985..=1003).contains(&w.cwnd), "{}", w.cwnd);
    }

    #[test]
    fn the_curve_wraps_far_from_the_plateau_as_in_linux() {
        let (mut c, (mut v, mut w)) = (cubic(&json!({"tcp_friendliness": false})), at(1000, Growth::Segments));
        w.cwnd = c.ssthresh(&v, &w);
        c.cong_avoid(&v, &mut w, 1);
        for (s, wraps) in [(300, false), (400, true), (7200, true)] {
            v.jiffies = 5000 + 1000 * s;
            c.cong_avoid(&v, &mut w, 1);
            let cube = 410 * u128::from((s << TIME_SHIFT) - c.curve.k).pow(3);
            assert_eq!(cube > u128::from(u64::MAX), wraps, "{s} s");
            let target = 1000u32.wrapping_add((cube as u64 >> CURVE_SHIFT) as u32);
            let planned = if target > w.cwnd { w.cwnd / (target - w.cwnd) } else { 100 * w.cwnd };
            assert_eq!(c.curve.cnt, planned.max(2), "{s} s");
        }
    }

    #[test]
    fn the_reno_estimate_ends_for_every_beta_that_is_taken() {
        let resolve = |beta: u32, version: &str| {
            let given = json!({"beta": beta, "version": version});
            Parameters::resolve(CONTROL.parameters, &[], given.as_object().unwrap())
        };
        for beta in 1..BETA_SCALE {
            // At a window of two segments, the minimum of congestion avoidance.
            let ends = (2 * (8 * (BETA_SCALE + beta) / 3 / (BETA_SCALE - beta))) >> 3 > 0;
            for version in ["2.0", "2.1", "2.2", "2.3"] {
                assert_eq!(resolve(beta, version).is_ok(), ends, "{beta}");
            }
            if ends {
                let (mut c, (v, mut w)) = (cubic(&json!({"beta": beta})), at(2, Growth::Segments));
                c.cong_avoid(&v, &mut w, 50);
            }
        }
    }

    #[test]
    fn scale_and_beta_are_parameters() {
        // K = cbrt(500 / 3.2) s = 5.39 s.
        let (mut c, (v, mut w)) = (cubic(&json!({"bic_scale": 328, "beta": 512})), at(1000, Growth::Segments));
        w.cwnd = c.ssthresh(&v, &w);
        assert_eq!(w.cwnd, 500);
        c.cong_avoid(&v, &mut w, 1);
        let k_ms = (u64::from(c.curve.k) * 1000) >> TIME_SHIFT;
        assert!((5350..5400).contains(&k_ms), "{k_ms}");
    }

    #[test]
    fn fast_convergence_gives_way_if_it_is_on() {
        for (on, aim) in [(true, 900 * 1741 / 2048), (false, 900)] {
            let (mut c, (v, mut w)) = (cubic(&json!({"fast_convergence": on})), at(1000, Growth::Segments));
            c.ssthresh(&v, &w);
            w.cwnd = 900;
            c.ssthresh(&v, &w);
            assert_eq!(c.curve.last_max_cwnd, aim);
        }
    }

    #[test]
    fn a_window_far_below_the_plateau_grows_as_reno_does_only_with_tcp_friendliness() {
        // Half an RTT of 10 ms after a reduction from 20: the cubic itself has hardly moved.
        let grown = |on: bool| {
            let (mut c, (mut v, mut w)) = (cubic(&json!({"tcp_friendliness": on})), at(20, Growth::Segments));
            w.cwnd = c.ssthresh(&v, &w);
            for ms in 0..500u32 {
                v.jiffies = 5000 + ms;
                c.cong_avoid(&v, &mut w, 2);
            }
            w.cwnd
        };
        assert!(grown(true) > grown(false) + 10, "{} {}", grown(true), grown(false));
    }

    #[test]
    fn without_hystart_slow_start_ends_at_the_initial_threshold() {
        let start = |given| {
            let (mut c, (v, _)) = (cubic(&given), at(10, Growth::Segments));
            let mut w = Window::new(10, crate::cc::INFINITE_SSTHRESH);
            c.init(&v, &mut w);
            w.ssthresh
        };
        assert_eq!(start(json!({"hystart": false, "initial_ssthresh": 50})), 50);
        assert_eq!(start(json!({"initial_ssthresh": 50})), crate::cc::INFINITE_SSTHRESH);
    }

    /// CUBIC that counts ACKs, of 2 segments each, at a window of 1000 reduced to 700.
    fn counting_acks() -> (Cubic, View, Window) {
        let (mut c, (v, mut w)) = (cubic(&json!({})), at(1000, Growth::Acks));
        w.cwnd = c.ssthresh(&v, &w);
        (c, v, w)
    }

    fn acked(acked: u32) -> RateSample {
        RateSample { acked, rtt_us: -1, ..RateSample::default() }
    }

    #[test]
    fn counted_acks_stand_for_their_segments() {
        // Linux 3.9 bictcp_update: cnt = (cnt << 4) / delayed_ack.
        let (mut c, v, mut w) = counting_acks();
        c.cong_avoid(&v, &mut w, 1);
        let per_two = c.curve.cnt;
        let (mut c, v, mut w) = counting_acks();
        for _ in 0..500 {
            c.pkts_acked(&v, &mut w, &acked(1));
        }
        // The ratio keeps what its shift loses: 15/16 above one.
        assert_eq!(c.curve.ack_ratio, 31);
        (0..500).for_each(|_| c.pkts_acked(&v, &mut w, &acked(4)));
        c.cong_avoid(&v, &mut w, 1);
        assert_eq!((c.curve.ack_ratio, c.curve.cnt), (64, per_two / 2));
    }

    #[test]
    fn the_ratio_is_learnt_in_the_open_state_alone() {
        let (mut c, mut v, mut w) = counting_acks();
        v.state = CaState::Disorder;
        c.pkts_acked(&v, &mut w, &acked(30));
        assert_eq!(c.curve.ack_ratio, 32);
    }
}
