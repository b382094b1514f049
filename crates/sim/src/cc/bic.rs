//! BIC: a search for the window of the last loss by halves, then away from it by doubling steps (L. Xu, K. Harfoush, I. Rhee, "Binary increase
//! congestion control for fast long-distance networks", INFOCOM 2004; Linux 6.12 net/ipv4/tcp_bic.c). It has neither HyStart nor a region in
//! which it is as friendly as Reno.
//!
//! Leaves out: the start of an epoch, which the kernel notes and never reads.

use super::{
    AnyCc, BoxedControl, CaState, CongestionControl, Control, Event, Needs, Parameter, Parameters, RateSample, State,
    Tell, Version, View, Window,
};

/// Unit of the parameter `beta`.
const BETA_SCALE: u32 = 1024;
/// A step of the search goes so far of the way: a fourth.
const B: u32 = 4;
/// Fraction bits of the ratio of segments to ACKs.
const ACK_RATIO_SHIFT: u32 = 4;
/// Without a loss yet, growth is by a twentieth a round trip at least.
const LEAST_GROWTH: u32 = 20;

pub(super) const CONTROL: Control = Control {
    name: "bic",
    summary: "BIC (Xu, Harfoush, Rhee 2004, Linux 6.12)",
    needs: Needs::NOTHING,
    since: Version(2, 6),
    parameters: &[
        Parameter::flag("fast_convergence", true, "a flow that meets congestion below its last peak aims lower")
            .module("fast_convergence"),
        Parameter::integer("max_increment", 16, 1, 1 << 16, "most segments a round trip").module("max_increment"),
        Parameter::integer("low_window", 14, 0, 1 << 24, "grows and loses as Reno up to this window, segments")
            .module("low_window"),
        Parameter::integer("beta", 819, 1, BETA_SCALE - 1, "window after a loss, 1024ths").module("beta"),
        Parameter::integer("initial_ssthresh", 0, 0, 1 << 24, "threshold at the start, segments; 0: none")
            .module("initial_ssthresh"),
        Parameter::integer("smooth_part", 20, 1, 1 << 10, "round trips for the last segments of the search, times 4")
            .module("smooth_part"),
    ],
    build: |p| AnyCc::Boxed(Box::new(Bic::new(p))),
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::new("w_max", "packets", "window at the last reduction, lowered by fast convergence (last_max_cwnd)"),
    State::new("cnt", "packets", "segments to acknowledge for an increase of the window by one"),
];

/// BIC.
#[derive(Clone, Debug)]
struct Bic {
    search: Search,
    fast_convergence: bool,
    max_increment: u32,
    low_window: u32,
    beta: u32,
    initial_ssthresh: u32,
    smooth_part: u32,
}

/// State that a timeout forgets.
#[derive(Clone, Debug)]
struct Search {
    /// Segments to acknowledge per increase.
    cnt: u32,
    /// Window at the last loss.
    last_max_cwnd: u32,
    last_cwnd: u32,
    last_time: u32,
    /// Segments per ACK, times 16.
    ack_ratio: u32,
}

impl Search {
    const START: Self = Self { cnt: 0, last_max_cwnd: 0, last_cwnd: 0, last_time: 0, ack_ratio: 2 << ACK_RATIO_SHIFT };
}

impl Bic {
    fn new(p: &Parameters) -> Self {
        Self {
            search: Search::START,
            fast_convergence: p.flag("fast_convergence"),
            max_increment: p.integer("max_increment"),
            low_window: p.integer("low_window"),
            beta: p.integer("beta"),
            initial_ssthresh: p.integer("initial_ssthresh"),
            smooth_part: p.integer("smooth_part"),
        }
    }

    /// Plans `cnt` for another window, or again after 1/32 s.
    fn update(&mut self, v: &View, cwnd: u32) {
        let s = &mut self.search;
        if s.last_cwnd == cwnd && v.jiffies.wrapping_sub(s.last_time) as i32 <= (v.hz / 32) as i32 {
            return;
        }
        (s.last_cwnd, s.last_time) = (cwnd, v.jiffies);
        if cwnd <= self.low_window {
            s.cnt = cwnd;
            return;
        }
        let smooth = cwnd * self.smooth_part / B;
        s.cnt = if cwnd < s.last_max_cwnd {
            match (s.last_max_cwnd - cwnd) / B {
                step if step > self.max_increment => cwnd / self.max_increment,
                0 | 1 => smooth,
                step => cwnd / step,
            }
        } else {
            match cwnd - s.last_max_cwnd {
                beyond if beyond < B => smooth,
                beyond if beyond < self.max_increment * (B - 1) => cwnd * (B - 1) / beyond,
                _ => cwnd / self.max_increment,
            }
        };
        if s.last_max_cwnd == 0 {
            s.cnt = s.cnt.min(LEAST_GROWTH);
        }
        s.cnt = ((s.cnt << ACK_RATIO_SHIFT) / s.ack_ratio).max(1);
    }
}

impl BoxedControl for Bic {}

impl CongestionControl for Bic {
    fn init(&mut self, _: &View, w: &mut Window) {
        if self.initial_ssthresh > 0 {
            w.ssthresh = self.initial_ssthresh;
        }
    }

    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        let s = &mut self.search;
        let gives_way = self.fast_convergence && w.cwnd < s.last_max_cwnd;
        s.last_max_cwnd =
            if gives_way { w.cwnd.wrapping_mul(BETA_SCALE + self.beta) / (2 * BETA_SCALE) } else { w.cwnd };
        let left = if w.cwnd <= self.low_window { w.cwnd / 2 } else { w.cwnd.wrapping_mul(self.beta) / BETA_SCALE };
        left.max(2)
    }

    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        let acked = w.beyond_slow_start(v, acked);
        if acked > 0 {
            self.update(v, w.cwnd);
            w.additive_increase(v, self.search.cnt, acked);
        }
    }

    fn on_event(&mut self, _: &View, _: &mut Window, e: Event) {
        if e == Event::State(CaState::Loss) {
            self.search = Search::START;
        }
    }

    fn pkts_acked(&mut self, v: &View, _: &mut Window, s: &RateSample) {
        if v.state == CaState::Open {
            let ratio = &mut self.search.ack_ratio;
            *ratio = *ratio + s.acked - (*ratio >> ACK_RATIO_SHIFT);
        }
    }

    fn state(&self, _: &View, _: &Window, tell: &mut Tell) {
        tell("w_max", f64::from(self.search.last_max_cwnd));
        tell("cnt", f64::from(self.search.cnt));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cc::lab::{made, Lab};

    fn bic(given: &serde_json::Value) -> Bic {
        Bic::new(&Parameters::resolve(CONTROL.parameters, &[], given.as_object().unwrap()).unwrap())
    }

    /// The plan at a window of `cwnd` after a loss at one of `last_max`, with `ratio` 16ths of segments an ACK.
    fn planned(last_max: u32, cwnd: u32, ratio: u32) -> u32 {
        let mut bic = bic(&json!({}));
        (bic.search.last_max_cwnd, bic.search.ack_ratio) = (last_max, ratio);
        bic.update(&View::new(1000, crate::cc::Growth::Segments, false), cwnd);
        bic.search.cnt
    }

    #[test]
    fn each_part_of_the_search_has_its_step() {
        for (last_max, cwnd, segments) in [
            (1000, 800, 800 / 16),       // far below: 16 a round trip
            (1000, 940, 940 / 15),       // a fourth of the way
            (1000, 995, 995 * 20 / 4),   // the last segments
            (1000, 1003, 1003 * 20 / 4), // just beyond
            (1000, 1010, 1010 * 3 / 10), // away by growing steps
            (1000, 1047, 1047 * 3 / 47),
            (1000, 1048, 1048 / 16),
            (0, 1000, 20), // no loss yet: a twentieth a round trip at least
            (0, 100, 100 / 16),
        ] {
            assert_eq!(planned(last_max, cwnd, 16), segments, "{cwnd} after {last_max}");
            assert_eq!(planned(last_max, cwnd, 32), (segments / 2).max(1), "{cwnd} after {last_max}, delayed ACKs");
        }
    }

    #[test]
    fn a_small_window_is_renos_and_is_not_corrected_for_delayed_acks() {
        assert_eq!((planned(100, 14, 16), planned(100, 14, 32)), (14, 14));
        assert_eq!(planned(100, 15, 16), 1, "15 / 16, at least 1");
        let mut lab = Lab::new(made(&CONTROL, &json!({})), 14);
        assert_eq!(lab.reduced(), 7);
        lab.w.cwnd = 15;
        assert_eq!(lab.reduced(), 15 * 819 / 1024);
    }

    #[test]
    fn after_a_loss_growth_returns_to_the_peak_by_sixteens_and_then_by_halves() {
        let mut lab = Lab::new(made(&CONTROL, &json!({})), 1000);
        lab.rounds(20);
        let peak = lab.w.cwnd;
        lab.lose();
        let start = lab.w.cwnd;
        assert_eq!(start, peak * 819 / 1024);
        // 16 a round trip, corrected for ACKs that are taken to stand for 31/16 segments.
        lab.rounds(4);
        assert_eq!((lab.w.cwnd - start) / 4, 31);
        let far = lab.rounds_until(peak - 4 * 16) + 4;
        assert!(far.abs_diff((peak - start) / 31) <= 2, "{far} round trips for {} segments", peak - start);
        // Then a fourth of the rest at a time, and the last segments in five round trips each, less than three by that correction.
        let near = lab.rounds_until(peak);
        assert!((12..=24).contains(&near), "{near}");
    }

    #[test]
    fn a_timeout_forgets_the_peak_that_its_own_reduction_has_just_noted() {
        let mut bic = bic(&json!({}));
        let (v, mut w) = (View::new(1000, crate::cc::Growth::Segments, false), Window::new(1000, 1));
        bic.ssthresh(&v, &w);
        assert_eq!(bic.search.last_max_cwnd, 1000);
        bic.on_event(&v, &mut w, Event::Loss);
        assert_eq!(bic.search.last_max_cwnd, 1000);
        bic.on_event(&v, &mut w, Event::State(CaState::Loss));
        assert_eq!((bic.search.last_max_cwnd, bic.search.cnt, bic.search.ack_ratio), (0, 0, 32));
    }

    #[test]
    fn an_undo_does_not_bring_back_the_peak_of_before() {
        let mut bic = bic(&json!({}));
        let (mut v, mut w) = (View::new(1000, crate::cc::Growth::Segments, false), Window::new(1000, 1));
        bic.ssthresh(&v, &w);
        w.cwnd = 900;
        v.prior_cwnd = 900;
        bic.ssthresh(&v, &w);
        assert_eq!(bic.undo_cwnd(&v, &w), 900);
        assert_eq!(bic.search.last_max_cwnd, 900 * 1843 / 2048);
    }

    #[test]
    fn the_plan_stands_for_a_32nd_of_a_second_unless_the_window_changes() {
        let mut bic = bic(&json!({}));
        let mut v = View::new(1000, crate::cc::Growth::Segments, false);
        v.jiffies = 1000;
        bic.search.last_max_cwnd = 1000;
        bic.update(&v, 800);
        bic.search.last_max_cwnd = 2000;
        v.jiffies = 1031;
        bic.search.ack_ratio = 16;
        bic.update(&v, 800);
        assert_eq!(bic.search.cnt, 800 / 16 / 2);
        v.jiffies = 1032;
        bic.update(&v, 800);
        assert_eq!(bic.search.cnt, 800 / 16);
    }

    #[test]
    fn an_ack_for_each_segment_is_taken_for_one_of_almost_two() {
        // From 32/16 the average in whole sixteenths comes down to 31/16 and no further.
        let (mut bic, v, mut w) =
            (bic(&json!({})), View::new(1000, crate::cc::Growth::Segments, false), Window::new(10, 1));
        let s = RateSample { acked: 1, ..RateSample::default() };
        (0..1000).for_each(|_| bic.pkts_acked(&v, &mut w, &s));
        assert_eq!(bic.search.ack_ratio, 31);
    }

    #[test]
    fn segments_per_ack_are_learnt_in_state_open_only() {
        let mut lab = bic(&json!({}));
        let (mut v, mut w) = (View::new(1000, crate::cc::Growth::Segments, false), Window::new(10, 1));
        v.state = CaState::Disorder;
        let s = RateSample { acked: 8, ..RateSample::default() };
        lab.pkts_acked(&v, &mut w, &s);
        assert_eq!(lab.search.ack_ratio, 32);
        v.state = CaState::Open;
        (0..300).for_each(|_| lab.pkts_acked(&v, &mut w, &s));
        assert!((8 * 16..9 * 16).contains(&lab.search.ack_ratio), "{}", lab.search.ack_ratio);
    }
}
