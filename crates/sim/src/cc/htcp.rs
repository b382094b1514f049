//! H-TCP: growth that rises with the time since the last loss, and a decrease by the ratio of the minimum to the maximum RTT unless the throughput
//! has changed (R. Shorten, D. Leith, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004; Linux 6.12 net/ipv4/tcp_htcp.c).
//! It counts in ticks: on a kernel of fewer ticks a second it is another control.
//!
//! The version of 2.6.18 has an alpha of 16 bits, seven of which are a fraction: from 512 on it wraps round. It takes the smoothed RTT, and that
//! only beyond slow start; the largest RTT only counts from the fourth round trip after a loss, and when there has been one.

use super::{
    AnyCc, BoxedControl, CaState, CongestionControl, Control, Event, Needs, Parameter, Parameters, RateSample, State,
    Tell, Version, View, Window,
};

/// Fraction bits of alpha and beta.
const SHIFT: u32 = 7;
const ALPHA_BASE: u32 = 1 << SHIFT;
const BETA_MIN: u8 = 1 << (SHIFT - 1);
/// 0.8.
const BETA_MAX: u8 = 102;

pub(super) const CONTROL: Control = Control {
    name: "htcp",
    summary: "H-TCP (Shorten, Leith 2004, Linux 6.12)",
    needs: Needs::NOTHING,
    since: Version(2, 6),
    parameters: &[
        Parameter::flag("use_rtt_scaling", true, "grows by time, not by round trips").module("use_rtt_scaling"),
        Parameter::flag("use_bandwidth_switch", true, "halves the window where the throughput has changed by a fifth")
            .module("use_bandwidth_switch"),
        Parameter::word(
            "version",
            "today",
            &["linux-2.6.18", "today"],
            "that of Linux 2.6.18 takes smoothed RTTs, and its growth wraps round at 512 segments a round trip",
        ),
    ],
    build: |p| AnyCc::Boxed(Box::new(Htcp::new(p))),
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::new("increase", "packets", "growth of the window a round trip (alpha)"),
    State::new("decrease", "share", "part of the window that a loss takes (1 - beta)"),
    State::new("base_rtt_ms", "ms", "least RTT that it has measured; none before the first"),
    State::new("max_rtt_ms", "ms", "largest RTT since the last loss; none before the first"),
    State::new("since_loss_s", "s", "time since the last loss, which growth rises with"),
    State::new("throughput_pps", "packets/s", "largest throughput since the last loss (maxB)"),
];

/// H-TCP. Times are ticks.
#[derive(Clone, Debug)]
struct Htcp {
    use_rtt_scaling: bool,
    use_bandwidth_switch: bool,
    /// The version of 2.6.18.
    is_early: bool,
    alpha: u32,
    beta: u8,
    /// The next decrease may be by the ratio of RTTs: there has been one before.
    modeswitch: bool,
    /// Segments of the last ACK.
    pkts_acked: u16,
    min_rtt: u32,
    max_rtt: u32,
    last_cong: u32,
    /// `last_cong`, `max_rtt` and the throughput's `old_max` before the present reduction.
    undo: Option<(u32, u32, u32)>,
    throughput: Throughput,
}

/// Throughput, segments/s.
#[derive(Clone, Debug, Default)]
struct Throughput {
    /// Segments since `since`.
    packets: u32,
    since: u32,
    smoothed: u32,
    max: u32,
    /// The largest before the last loss.
    old_max: u32,
}

impl Htcp {
    fn new(p: &Parameters) -> Self {
        Self {
            use_rtt_scaling: p.flag("use_rtt_scaling"),
            use_bandwidth_switch: p.flag("use_bandwidth_switch"),
            is_early: p.word("version") == "linux-2.6.18",
            alpha: ALPHA_BASE,
            beta: BETA_MIN,
            modeswitch: false,
            pkts_acked: 1,
            min_rtt: 0,
            max_rtt: 0,
            last_cong: 0,
            undo: None,
            throughput: Throughput::default(),
        }
    }

    fn take_rtt(&mut self, v: &View, rtt: u32) {
        if self.min_rtt == 0 || self.min_rtt > rtt {
            self.min_rtt = rtt;
        }
        if v.state == CaState::Open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if rtt <= self.max_rtt + v.ticks_of_us(20_000) {
                self.max_rtt = self.max_rtt.max(rtt);
            }
        }
    }

    /// The same of 2.6.18: of the smoothed RTT.
    fn take_smoothed_rtt(&mut self, v: &View, w: &Window) {
        let rtt = v.ticks_of_us(v.srtt_us8 >> 3);
        if self.min_rtt == 0 || self.min_rtt > rtt {
            self.min_rtt = rtt;
        }
        let settled = self.min_rtt > 0 && v.jiffies.wrapping_sub(self.last_cong) / self.min_rtt > 3;
        if v.state == CaState::Open && w.ssthresh < 0xffff && settled {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if rtt <= self.max_rtt + v.ticks_of_us(20_000) {
                self.max_rtt = self.max_rtt.max(rtt);
            }
        }
    }

    fn measure_throughput(&mut self, v: &View, cwnd: u32, acked: u32) {
        let (t, now) = (&mut self.throughput, v.jiffies);
        if v.state > CaState::Disorder {
            (t.packets, t.since) = (0, now);
            return;
        }
        t.packets = t.packets.wrapping_add(acked);
        let took = now.wrapping_sub(t.since);
        // An alpha above the window makes the kernel's difference wrap round: then nothing is measured.
        let enough = cwnd.wrapping_sub((self.alpha >> SHIFT).max(1));
        if t.packets < enough || took < self.min_rtt || self.min_rtt == 0 {
            return;
        }
        let rate = t.packets.wrapping_mul(v.hz) / took;
        if now.wrapping_sub(self.last_cong) / self.min_rtt <= 3 {
            (t.smoothed, t.max) = (rate, rate);
        } else {
            t.smoothed = t.smoothed.wrapping_mul(3).wrapping_add(rate) / 4;
            t.max = t.max.max(t.smoothed);
        }
        (t.packets, t.since) = (0, now);
    }

    fn update_beta(&mut self, v: &View) {
        if self.use_bandwidth_switch {
            let (max, old) = (self.throughput.max, self.throughput.old_max);
            self.throughput.old_max = max;
            // Within a fifth, compared as sequence numbers are.
            let (from, to) = (old.wrapping_mul(4), old.wrapping_mul(6));
            if to.wrapping_sub(from) < max.wrapping_mul(5).wrapping_sub(from) {
                (self.beta, self.modeswitch) = (BETA_MIN, false);
                return;
            }
        }
        if self.modeswitch && self.min_rtt > v.ticks_of_us(10_000) && self.max_rtt > 0 {
            // In eight bits before it is bounded.
            self.beta = (((self.min_rtt << SHIFT) / self.max_rtt) as u8).clamp(BETA_MIN, BETA_MAX);
        } else {
            (self.beta, self.modeswitch) = (BETA_MIN, true);
        }
    }

    fn update_alpha(&mut self, v: &View) {
        let (hz, since) = (v.hz, v.jiffies.wrapping_sub(self.last_cong));
        let mut factor = 1;
        if since > hz {
            let diff = since - hz;
            // The kernel's square has 32 bits: two times 65536 ticks after the first second growth falls back to where it was.
            let square = (diff / 2).wrapping_mul(diff / 2) / hz;
            factor = diff.wrapping_mul(10).wrapping_add(square) / hz + 1;
        }
        if self.use_rtt_scaling && self.min_rtt > 0 {
            let scale = ((hz << 3) / (10 * self.min_rtt)).clamp(1 << 2, 10 << 3);
            factor = ((factor << 3) / scale).max(1);
        }
        self.alpha = (2 * factor).wrapping_mul(ALPHA_BASE - u32::from(self.beta));
        if self.is_early {
            self.alpha &= 0xffff;
        }
        if self.alpha == 0 {
            self.alpha = ALPHA_BASE;
        }
    }
}

impl BoxedControl for Htcp {}

impl CongestionControl for Htcp {
    fn init(&mut self, v: &View, _: &mut Window) {
        self.last_cong = v.jiffies;
    }

    fn ssthresh(&mut self, v: &View, w: &Window) -> u32 {
        self.update_beta(v);
        self.update_alpha(v);
        // The largest RTT fades, as paths change.
        if self.min_rtt > 0 && self.max_rtt > self.min_rtt {
            self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * 95 / 100;
        }
        (w.cwnd.wrapping_mul(u32::from(self.beta)) >> SHIFT).max(2)
    }

    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        let slow = w.in_slow_start(v);
        let acked = w.beyond_slow_start(v, acked);
        if slow || acked == 0 {
            return;
        }
        if self.is_early {
            self.take_smoothed_rtt(v, w);
        }
        if w.cwnd_cnt.wrapping_mul(self.alpha) >> SHIFT >= w.cwnd {
            w.cwnd += 1;
            w.cwnd_cnt = 0;
            self.update_alpha(v);
        } else {
            w.cwnd_cnt += u32::from(self.pkts_acked);
        }
        self.pkts_acked = 1;
    }

    fn undo_cwnd(&mut self, v: &View, w: &Window) -> u32 {
        if let Some(before) = self.undo.take() {
            (self.last_cong, self.max_rtt, self.throughput.old_max) = before;
        }
        if self.is_early {
            return w.cwnd.max((w.ssthresh << SHIFT) / u32::from(self.beta));
        }
        w.cwnd.max(v.prior_cwnd)
    }

    fn on_event(&mut self, v: &View, _: &mut Window, e: Event) {
        match e {
            Event::State(CaState::Open) if self.undo.take().is_some() => self.last_cong = v.jiffies,
            Event::State(CaState::Cwr | CaState::Recovery | CaState::Loss) => {
                self.undo = Some((self.last_cong, self.max_rtt, self.throughput.old_max));
                self.last_cong = v.jiffies;
            }
            _ => {}
        }
    }

    fn pkts_acked(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        if v.state == CaState::Open {
            self.pkts_acked = s.acked as u16;
        }
        if s.rtt_us > 0 && !self.is_early {
            self.take_rtt(v, v.ticks_of_us(s.rtt_us as u32));
        }
        if self.use_bandwidth_switch {
            self.measure_throughput(v, w.cwnd, s.acked);
        }
    }

    fn state(&self, v: &View, _: &Window, tell: &mut Tell) {
        let ms = |ticks: u32| f64::from(ticks) * 1e3 / f64::from(v.hz);
        tell("increase", f64::from(self.alpha) / f64::from(ALPHA_BASE));
        tell("decrease", 1.0 - f64::from(self.beta) / f64::from(1 << SHIFT));
        if self.min_rtt > 0 {
            tell("base_rtt_ms", ms(self.min_rtt));
            tell("max_rtt_ms", ms(self.max_rtt));
        }
        tell("since_loss_s", ms(v.jiffies.wrapping_sub(self.last_cong)) / 1e3);
        tell("throughput_pps", f64::from(self.throughput.max));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cc::lab::{made, Lab};
    use crate::cc::Growth;

    fn htcp(given: &serde_json::Value) -> (Htcp, View, Window) {
        let p = Parameters::resolve(CONTROL.parameters, &[], given.as_object().unwrap()).unwrap();
        let mut v = View::new(1000, Growth::Segments, false);
        v.jiffies = 100_000;
        let mut h = Htcp::new(&p);
        let mut w = Window::new(100, 1);
        h.init(&v, &mut w);
        (h, v, w)
    }

    fn sample(rtt_us: i64, acked: u32) -> RateSample {
        RateSample { rtt_us, acked, ..RateSample::default() }
    }

    #[test]
    fn growth_follows_the_time_since_the_loss() {
        // alpha(t) = 1 + 10 (t - 1) + ((t - 1) / 2)^2 above a second, times 2 (1 - beta); without scaling by the RTT.
        for (ms, alpha) in [(500, 1), (1000, 1), (2000, 11), (3000, 22), (11_000, 126)] {
            let (mut h, mut v, _) = htcp(&json!({"use_rtt_scaling": false}));
            v.jiffies += ms;
            h.update_alpha(&v);
            assert_eq!(h.alpha, alpha << SHIFT, "{ms} ms after a loss");
        }
    }

    #[test]
    fn scaling_makes_growth_one_of_time() {
        for (rtt_ms, alpha) in [(10, 22 / 10), (100, 22), (40, 22 * 8 / 20), (1000, 44)] {
            let (mut h, mut v, _) = htcp(&json!({}));
            (h.min_rtt, v.jiffies) = (rtt_ms, v.jiffies + 3000);
            h.update_alpha(&v);
            assert_eq!(h.alpha, alpha << SHIFT, "{rtt_ms} ms");
        }
    }

    #[test]
    fn two_minutes_after_a_loss_the_square_overflows_in_32_bits_and_growth_falls_back() {
        let alpha = |ms: u32| {
            let (mut h, mut v, _) = htcp(&json!({"use_rtt_scaling": false}));
            v.jiffies += ms;
            h.update_alpha(&v);
            h.alpha >> SHIFT
        };
        assert_eq!(alpha(1000 + 2 * 65_535), 1 + (1_310_700 + 65_535 * 65_535 / 1000) / 1000);
        assert_eq!(alpha(1000 + 2 * 65_536), 1 + 1_310_720 / 1000);
    }

    #[test]
    fn an_alpha_above_the_window_stops_measuring_throughput() {
        let rate = |alpha: u32| {
            let (mut h, mut v, _) = htcp(&json!({}));
            (h.min_rtt, h.alpha) = (40, alpha << SHIFT);
            v.jiffies += 50;
            h.measure_throughput(&v, 100, 99);
            h.throughput.max
        };
        assert_eq!(rate(1), 99 * 1000 / 100_050, "since time began");
        assert_eq!(rate(101), 0);
    }

    #[test]
    fn a_decrease_is_by_the_ratio_of_rtts_from_the_second_loss_on() {
        let (mut h, mut v, w) = htcp(&json!({"use_bandwidth_switch": false}));
        (h.min_rtt, h.max_rtt) = (60, 100);
        assert_eq!(h.ssthresh(&v, &w), 50);
        assert_eq!(h.max_rtt, 98, "fades by a twentieth of the queueing delay");
        assert_eq!(h.ssthresh(&v, &w), 100 * (60 * 128 / 98) / 128);
        h.max_rtt = 61;
        assert_eq!(h.ssthresh(&v, &w), 100 * 102 / 128, "at most 0.8");
        h.max_rtt = 1000;
        assert_eq!(h.ssthresh(&v, &w), 50, "at least a half");
        (h.min_rtt, h.max_rtt) = (10, 12);
        assert_eq!(h.ssthresh(&v, &w), 50, "an RTT of 10 ms is too short to tell");
        v.hz = 100;
        (h.min_rtt, h.max_rtt) = (6, 10);
        assert_eq!(h.ssthresh(&v, &w), 100 * (6 * 128 / 10) / 128, "in ticks of 10 ms");
    }

    #[test]
    fn a_change_of_throughput_by_more_than_a_fifth_halves_the_window() {
        let (mut h, v, w) = htcp(&json!({}));
        (h.min_rtt, h.max_rtt, h.modeswitch) = (60, 61, true);
        (h.throughput.max, h.throughput.old_max) = (1000, 1000);
        assert_eq!(h.ssthresh(&v, &w), 100 * 102 / 128);
        h.throughput.max = 1201;
        assert_eq!((h.ssthresh(&v, &w), h.modeswitch, h.throughput.old_max), (50, false, 1201));
        assert_eq!((h.ssthresh(&v, &w), h.modeswitch), (50, true), "the next one only switches back");
        assert_eq!(h.ssthresh(&v, &w), 100 * 102 / 128);
    }

    #[test]
    fn alpha_is_computed_when_the_window_grows_and_not_before() {
        let mut lab = Lab::new(made(&CONTROL, &json!({"use_rtt_scaling": false})), 100);
        lab.rounds(20);
        let slow = lab.w.cwnd;
        assert_eq!(slow, 119, "one a round trip, but for the ACK that raises the window and counts for nothing");
        lab.pass(10_000_000);
        lab.rounds(2);
        assert!(lab.w.cwnd > slow + 60, "{}", lab.w.cwnd);
    }

    #[test]
    fn the_ack_that_raises_the_window_is_not_counted() {
        let (mut h, mut v, mut w) = htcp(&json!({}));
        v.is_cwnd_limited = true;
        w.cwnd_cnt = 99;
        h.pkts_acked(&v, &mut w, &sample(40_000, 2));
        h.cong_avoid(&v, &mut w, 2);
        assert_eq!((w.cwnd, w.cwnd_cnt), (100, 101));
        h.pkts_acked(&v, &mut w, &sample(40_000, 2));
        h.cong_avoid(&v, &mut w, 2);
        assert_eq!((w.cwnd, w.cwnd_cnt), (101, 0));
        h.cong_avoid(&v, &mut w, 2);
        assert_eq!(w.cwnd_cnt, 1, "without word of another ACK it counts for one");
    }

    #[test]
    fn an_undo_restores_the_faded_largest_rtt_as_the_reduction_came_before_the_state() {
        let (mut h, mut v, mut w) = htcp(&json!({"use_bandwidth_switch": false}));
        (h.min_rtt, h.max_rtt) = (60, 100);
        v.jiffies += 700;
        h.ssthresh(&v, &w);
        h.on_event(&v, &mut w, Event::State(CaState::Recovery));
        (h.max_rtt, v.prior_cwnd) = (70, 120);
        assert_eq!(h.undo_cwnd(&v, &w), 120);
        assert_eq!((h.max_rtt, h.last_cong), (98, 100_000));
        v.jiffies += 10;
        h.on_event(&v, &mut w, Event::State(CaState::Open));
        assert_eq!(h.last_cong, 100_000, "undone, the loss is no loss");
        h.on_event(&v, &mut w, Event::State(CaState::Cwr));
        v.jiffies += 40;
        h.on_event(&v, &mut w, Event::State(CaState::Open));
        assert_eq!(h.last_cong, 100_750, "else the time begins with its end");
    }

    #[test]
    fn the_largest_rtt_follows_by_twenty_milliseconds_at_a_time_in_state_open() {
        let (mut h, mut v, mut w) = htcp(&json!({}));
        for (rtt_us, max) in [(40_000, 40), (59_500, 60), (81_000, 60), (80_000, 80)] {
            h.pkts_acked(&v, &mut w, &sample(rtt_us, 1));
            assert_eq!((h.min_rtt, h.max_rtt), (40, max));
        }
        v.state = CaState::Disorder;
        h.pkts_acked(&v, &mut w, &sample(90_000, 1));
        assert_eq!(h.max_rtt, 80);
    }

    #[test]
    fn the_alpha_of_2006_wraps_round_at_512() {
        // Over 320 ms or more it is doubled: 2 * 256 after 18.7 s.
        for (ms, alpha) in [(18_000, 2 * 243), (18_700, 1), (25_000, 2 * 385 - 512)] {
            let (mut h, mut v, _) = htcp(&json!({"version": "linux-2.6.18"}));
            (h.min_rtt, v.jiffies) = (320, v.jiffies + ms);
            h.update_alpha(&v);
            assert!((h.alpha >> SHIFT).abs_diff(alpha) <= 2, "{} after {ms} ms", h.alpha >> SHIFT);
        }
    }

    #[test]
    fn the_rtts_of_2006_are_smoothed_and_the_largest_counts_after_three_round_trips_and_a_loss() {
        let (mut h, mut v, mut w) = htcp(&json!({"version": "linux-2.6.18"}));
        h.pkts_acked(&v, &mut w, &sample(10_000, 1));
        assert_eq!((h.min_rtt, h.max_rtt), (0, 0));
        v.is_cwnd_limited = true;
        v.srtt_us8 = 8 * 40_000;
        h.cong_avoid(&v, &mut w, 1);
        v.srtt_us8 = 8 * 55_000;
        v.jiffies += 159;
        h.cong_avoid(&v, &mut w, 1);
        assert_eq!((h.min_rtt, h.max_rtt), (40, 0), "three round trips");
        v.jiffies += 1;
        w.ssthresh = 0xffff;
        h.cong_avoid(&v, &mut w, 1);
        assert_eq!(h.max_rtt, 0, "in slow start, or as good as that");
        w.ssthresh = 50;
        h.cong_avoid(&v, &mut w, 1);
        assert_eq!((h.min_rtt, h.max_rtt), (40, 55));
        (w.ssthresh, h.beta) = (64, 64);
        assert_eq!(h.undo_cwnd(&v, &w), 128, "of the threshold");
    }
}
