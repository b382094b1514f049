//! Hybla: grows as a flow on a path of 25 ms would, whatever the RTT (C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous
//! networks", International Journal of Satellite Communications and Networking 22(5), 2004; Linux 6.12 net/ipv4/tcp_hybla.c). Growth
//! counts ACKs, not the segments that they acknowledge, and the initial window is 1 below 50 ms.

use super::reno::reno_cong_avoid;
use super::{
    AnyCc, BoxedControl, CaState, CongestionControl, Control, Event, Needs, Parameter, Parameters, State, Tell,
    Version, View, Window,
};

/// Fraction bits of rho, the RTT over that of the reference, and of increases.
const RHO_SHIFT: u32 = 3;
const SHIFT: u32 = 7;
/// Largest window, segments (`snd_cwnd_clamp`).
const MOST: u32 = 65_535;
/// 2^(i/8), with 7 fraction bits.
const POWERS: [u32; 8] = [128, 139, 152, 165, 181, 197, 215, 234];

pub(super) const CONTROL: Control = Control {
    name: "hybla",
    summary: "Hybla (Caini, Firrincieli 2004, Linux 6.12)",
    needs: Needs::NOTHING,
    since: Version(2, 6),
    parameters: &[Parameter::integer("rtt0", 25, 1, 10_000, "reference RTT, ms").module("rtt0")],
    build: |p| AnyCc::Boxed(Box::new(Hybla::new(p))),
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::new("rho", "ratio", "smoothed RTT over that of the reference, at least 1 (rho)"),
    State::new("base_rtt_ms", "ms", "least smoothed RTT that it has measured; none before the first"),
    State::flag("active", "growth is that of the reference; else it is Reno's, in recovery"),
];

/// Hybla.
#[derive(Clone, Debug)]
struct Hybla {
    rtt0_us: u32,
    /// The state is Open.
    active: bool,
    /// RTT over that of the reference, eighths, at least 1; and its square, 128ths.
    rho_8: u32,
    rho2_128: u32,
    /// Remainder of increases, 128ths. Nothing resets it.
    cents: u32,
    /// Least smoothed RTT, us times 8.
    min_srtt_us8: u32,
}

impl Hybla {
    fn new(p: &Parameters) -> Self {
        Self { rtt0_us: p.integer("rtt0") * 1000, active: true, rho_8: 0, rho2_128: 0, cents: 0, min_srtt_us8: 0 }
    }

    fn measure(&mut self, srtt_us8: u32) {
        self.min_srtt_us8 = srtt_us8;
        self.rho_8 = (srtt_us8 / self.rtt0_us).max(1 << RHO_SHIFT);
        self.rho2_128 = self.rho_8.wrapping_mul(self.rho_8) << 1;
    }

    fn rho(&self) -> u32 {
        self.rho_8 >> RHO_SHIFT
    }

    /// Growth of an ACK in slow start, 128ths: 2^rho - 1.
    fn slow_start_increase(&self) -> u32 {
        ((1 << self.rho().min(16)) * POWERS[(self.rho_8 % 8) as usize]) - (1 << SHIFT)
    }

    fn grow(&mut self, w: &mut Window, slow: bool) {
        let increase = if slow { self.slow_start_increase() } else { self.rho2_128 / w.cwnd };
        if !slow && increase < 1 << SHIFT {
            w.cwnd_cnt += 1;
        }
        w.cwnd += increase >> SHIFT;
        self.cents += increase % (1 << SHIFT);
        if self.cents >= 1 << SHIFT {
            w.cwnd += self.cents >> SHIFT;
            self.cents %= 1 << SHIFT;
            w.cwnd_cnt = 0;
        }
        // So large a window that an increase is none: as Reno.
        if increase == 0 && w.cwnd_cnt >= w.cwnd {
            w.cwnd += 1;
            w.cwnd_cnt = 0;
        }
        if slow {
            w.cwnd = w.cwnd.min(w.ssthresh);
        }
    }
}

impl BoxedControl for Hybla {}

impl CongestionControl for Hybla {
    fn init(&mut self, v: &View, w: &mut Window) {
        self.measure(v.srtt_us8);
        w.cwnd = self.rho();
    }

    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        (w.cwnd / 2).max(2)
    }

    fn least_cwnd(&self, _: &View, w: &Window) -> u32 {
        w.ssthresh / 2
    }

    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        if v.srtt_us8 < self.min_srtt_us8 {
            self.measure(v.srtt_us8);
        }
        if !w.is_limiting(v) {
            return;
        }
        if self.active {
            self.grow(w, w.in_slow_start(v));
        } else {
            reno_cong_avoid(v, w, acked);
        }
        w.cwnd = w.cwnd.min(MOST);
    }

    fn on_event(&mut self, _: &View, _: &mut Window, e: Event) {
        if let Event::State(new) = e {
            self.active = new == CaState::Open;
        }
    }

    fn state(&self, _: &View, _: &Window, tell: &mut Tell) {
        if self.min_srtt_us8 > 0 {
            tell("rho", f64::from(self.rho_8) / f64::from(1 << RHO_SHIFT));
            tell("base_rtt_ms", f64::from(self.min_srtt_us8) / 8e3);
        }
        tell("active", f64::from(u8::from(self.active)));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cc::lab::{made, Lab};
    use crate::cc::Growth;

    /// With a smoothed RTT of `rtt_ms`, at a window of `cwnd`.
    fn hybla(rtt_ms: u32, cwnd: u32, ssthresh: u32) -> (Hybla, View, Window) {
        let mut c = Hybla::new(&Parameters::defaults(CONTROL.parameters));
        let mut v = View::new(1000, Growth::Segments, false);
        (v.is_cwnd_limited, v.srtt_us8) = (true, 8000 * rtt_ms);
        let mut w = Window::new(10, ssthresh);
        c.init(&v, &mut w);
        w.cwnd = cwnd;
        (c, v, w)
    }

    #[test]
    fn the_initial_window_is_the_ratio_of_rtts() {
        for (rtt_ms, cwnd) in [(1, 1), (49, 1), (50, 2), (100, 4), (600, 24)] {
            let (mut c, mut v, mut w) = hybla(10, 10, 1);
            v.srtt_us8 = 8000 * rtt_ms;
            c.init(&v, &mut w);
            assert_eq!(w.cwnd, cwnd, "{rtt_ms} ms");
        }
    }

    #[test]
    fn growth_by_time_does_not_depend_on_the_rtt() {
        // rho^2 segments a round trip of rho times 25 ms: 40 a second times rho; the reference's 40 a second at its own window.
        for (rtt_us, rho) in [(25_000_u64, 1), (100_000, 4), (200_000, 8)] {
            let mut lab = Lab::new(made(&CONTROL, &json!({})), 1000);
            lab.rtt_us = rtt_us;
            lab.v.srtt_us8 = 8 * rtt_us as u32;
            lab.cc.init(&lab.v, &mut lab.w);
            lab.w.cwnd = 200;
            let rounds = 2_000_000 / rtt_us;
            lab.rounds(rounds as u32);
            let grown = f64::from(lab.w.cwnd - 200);
            let expected = (rho * rho) as f64 * rounds as f64;
            assert!((grown / expected - 1.0).abs() < 0.2, "{rtt_us}: {grown} instead of {expected}");
        }
    }

    #[test]
    fn slow_start_grows_by_powers_of_two_of_the_ratio_and_stops_at_the_threshold() {
        for (rtt_ms, grown) in [(25, 1), (50, 3), (100, 15), (400, 65_535)] {
            let (mut c, v, mut w) = hybla(rtt_ms, 10, u32::MAX);
            c.cong_avoid(&v, &mut w, 1);
            assert_eq!(w.cwnd, (10 + grown).min(MOST), "{rtt_ms} ms");
        }
        let (mut c, v, mut w) = hybla(100, 10, 17);
        c.cong_avoid(&v, &mut w, 1);
        assert_eq!(w.cwnd, 17);
        for (eighths, power) in POWERS.iter().enumerate() {
            assert_eq!(*power, (128.0 * 2f64.powf(eighths as f64 / 8.0) + 1e-9).floor() as u32, "{eighths}");
        }
    }

    #[test]
    fn growth_counts_acks() {
        let grown = |acked| {
            let (mut c, v, mut w) = hybla(100, 100, 1);
            (0..50).for_each(|_| c.cong_avoid(&v, &mut w, acked));
            w.cwnd
        };
        assert_eq!(grown(1), grown(8));
    }

    #[test]
    fn a_window_so_large_that_increases_are_none_grows_as_renos() {
        let (mut c, v, mut w) = hybla(25, 200, 1);
        (0..200).for_each(|_| c.cong_avoid(&v, &mut w, 1));
        assert_eq!(w.cwnd, 201);
    }

    #[test]
    fn no_window_is_larger_than_65535_and_what_was_left_of_increases_outlives_losses() {
        let (mut c, mut v, mut w) = hybla(300, 65_535, 1);
        c.cong_avoid(&v, &mut w, 1);
        assert_eq!(w.cwnd, 65_535);
        c.cents = 100;
        c.on_event(&v, &mut w, Event::State(CaState::Recovery));
        c.on_event(&v, &mut w, Event::Loss);
        assert_eq!(c.cents, 100);
        // Outside of state Open it is Reno.
        v.state = CaState::Disorder;
        (w.cwnd, w.cwnd_cnt) = (10, 9);
        c.cong_avoid(&v, &mut w, 1);
        assert_eq!(w.cwnd, 11);
    }

    #[test]
    fn the_ratio_follows_the_least_smoothed_rtt() {
        let (mut c, mut v, mut w) = hybla(100, 100, 1);
        v.srtt_us8 = 8000 * 200;
        c.cong_avoid(&v, &mut w, 1);
        assert_eq!(c.rho(), 4);
        v.srtt_us8 = 8000 * 50;
        c.cong_avoid(&v, &mut w, 1);
        assert_eq!(c.rho(), 2);
    }
}
