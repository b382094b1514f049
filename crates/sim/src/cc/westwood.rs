//! Westwood+: after a loss the window becomes what the estimated bandwidth carries in the minimum RTT (S. Mascolo et al., "TCP Westwood:
//! bandwidth estimation for enhanced transport over wireless links", MobiCom 2001; L. Grieco, S. Mascolo, CCR 34(2), 2004; Linux 6.12
//! net/ipv4/tcp_westwood.c). Between losses it is Reno. Times are ticks, the bandwidth is bytes a tick, so that below a segment a tick it is
//! coarse.
//!
//! The version of 2.6.16 has filters that begin at 0 (so that they lag far behind a window that grows exponentially), takes the smoothed RTT, counts the
//! first ACK whole, never takes the minimum RTT anew, and leaves the threshold of a timeout to Reno (but with F-RTO, which kernels of the time had switched
//! off).
//!
//! Leaves out: that a short segment, the last of a write, brings fewer bytes than a full one.

use super::reno::reno_cong_avoid;
use super::{
    AnyCc, BoxedControl, CongestionControl, Control, Event, Needs, Parameter, RateSample, State, Tell, Version, View,
    Window,
};

/// Least time over which bandwidth is measured: a twentieth of a second.
const LEAST_WINDOW_PER_S: u32 = 20;
/// RTT before the first sample, s.
const INITIAL_RTT_S: u32 = 20;

pub(super) const CONTROL: Control = Control {
    name: "westwood",
    summary: "Westwood+ (Mascolo et al. 2001, Linux 6.12)",
    needs: Needs { whole_acks: true, ..Needs::NOTHING },
    since: Version(2, 6),
    parameters: &[Parameter::word(
        "version",
        "today",
        &["linux-2.6.16", "today"],
        "that of Linux 2.6.16 begins its filters at 0, takes smoothed RTTs and never forgets the minimum",
    )],
    build: |p| {
        let is_early = p.word("version") == "linux-2.6.16";
        AnyCc::Boxed(Box::new(Westwood { is_early, ..Westwood::default() }))
    },
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::new("bw_bps", "bit/s", "bandwidth that the window after a loss is set by (bw_est)"),
    State::new("base_rtt_ms", "ms", "least RTT that it has measured"),
    State::new("last_rtt_ms", "ms", "RTT that it has measured last"),
];

/// Westwood+.
#[derive(Clone, Debug, Default)]
struct Westwood {
    /// The version of 2.6.16.
    is_early: bool,
    /// Bandwidth, bytes a tick: smoothed once, and twice.
    smoothed_once: u32,
    bandwidth: u32,
    /// Since when bytes are counted, and how many.
    window_start: u32,
    bytes: u32,
    /// Acknowledged at the last ACK; none before the first.
    snd_una: Option<u32>,
    /// Bytes that duplicate ACKs have stood for, which an ACK of what was missing acknowledges again.
    accounted: u32,
    rtt: u32,
    rtt_min: u32,
    /// The minimum RTT is to be taken anew.
    forgets_rtt_min: bool,
}

impl Westwood {
    /// Ends the measurement of a round trip.
    fn update_bandwidth(&mut self, v: &View) {
        let took = v.jiffies.wrapping_sub(self.window_start);
        if self.rtt == 0 || took <= self.rtt.max(v.hz / LEAST_WINDOW_PER_S) {
            return;
        }
        let (sample, smooth) = (self.bytes / took, |old: u32, new: u32| old.wrapping_mul(7).wrapping_add(new) >> 3);
        if self.smoothed_once == 0 && self.bandwidth == 0 && !self.is_early {
            (self.smoothed_once, self.bandwidth) = (sample, sample);
        } else {
            self.smoothed_once = smooth(self.smoothed_once, sample);
            self.bandwidth = smooth(self.bandwidth, self.smoothed_once);
        }
        (self.bytes, self.window_start) = (0, v.jiffies);
    }

    /// Bytes that arrived with an ACK that acknowledges `acked` bytes and is not of the usual kind.
    fn arrived(&mut self, acked: u32, mss: u32) -> u32 {
        if acked == 0 {
            self.accounted = self.accounted.wrapping_add(mss); // 32 bits in westwood_acked_count (tcp_westwood.c:191), too
            return mss;
        }
        if acked <= mss {
            return acked;
        }
        if self.accounted >= acked {
            self.accounted -= acked;
            return mss;
        }
        acked - std::mem::take(&mut self.accounted)
    }

    /// Segments that the bandwidth carries in the minimum RTT.
    fn estimate(&self, mss: u32) -> u32 {
        (self.bandwidth.wrapping_mul(self.rtt_min) / mss).max(2)
    }
}

impl BoxedControl for Westwood {}

impl CongestionControl for Westwood {
    fn init(&mut self, v: &View, _: &mut Window) {
        (self.rtt, self.rtt_min) = (INITIAL_RTT_S * v.hz, INITIAL_RTT_S * v.hz);
        (self.window_start, self.forgets_rtt_min) = (v.jiffies, !self.is_early);
        self.snd_una = self.is_early.then_some(v.snd_una);
    }

    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        (w.cwnd / 2).max(2)
    }

    fn least_cwnd(&self, v: &View, _: &Window) -> u32 {
        self.estimate(v.mss)
    }

    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        reno_cong_avoid(v, w, acked);
    }

    fn on_event(&mut self, v: &View, w: &mut Window, e: Event) {
        match e {
            Event::CompleteCwr => {
                w.ssthresh = self.estimate(v.mss);
                w.cwnd = w.ssthresh;
            }
            Event::Loss if !self.is_early => {
                w.ssthresh = self.estimate(v.mss);
                self.forgets_rtt_min = true;
            }
            _ => {}
        }
    }

    fn pkts_acked(&mut self, v: &View, _: &mut Window, s: &RateSample) {
        if self.is_early {
            self.rtt = v.ticks_of_us(v.srtt_us8 >> 3);
        } else if s.rtt_us > 0 {
            self.rtt = v.ticks_of_us(s.rtt_us as u32);
        }
    }

    fn on_ack(&mut self, v: &View, _: &mut Window, s: &RateSample) {
        // The first ACK does not count.
        let before = self.snd_una.replace(v.snd_una).unwrap_or(v.snd_una);
        self.update_bandwidth(v);
        let acked = v.snd_una.wrapping_sub(before).wrapping_mul(v.mss);
        let arrived = if s.slow_path { self.arrived(acked, v.mss) } else { acked };
        self.bytes = self.bytes.wrapping_add(arrived);
        self.rtt_min = if self.forgets_rtt_min { self.rtt } else { self.rtt.min(self.rtt_min) };
        self.forgets_rtt_min = false;
    }

    fn state(&self, v: &View, _: &Window, tell: &mut Tell) {
        tell("bw_bps", f64::from(self.bandwidth) * f64::from(v.hz) * 8.0);
        tell("base_rtt_ms", f64::from(self.rtt_min) * 1e3 / f64::from(v.hz));
        tell("last_rtt_ms", f64::from(self.rtt) * 1e3 / f64::from(v.hz));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cc::lab::{made, Lab};
    use crate::cc::{CaState, Growth};
    use crate::packet::MSS;

    fn lab(cwnd: u32) -> Lab {
        Lab::new(made(&CONTROL, &json!({})), cwnd)
    }

    /// One that has measured `bandwidth` bytes a tick and an RTT of `rtt` ticks.
    fn measured(bandwidth: u32, rtt: u32) -> (Westwood, View, Window) {
        let v = View::new(1000, Growth::Segments, false);
        (Westwood { bandwidth, rtt, rtt_min: rtt, ..Westwood::default() }, v, Window::new(100, 1))
    }

    #[test]
    fn a_loss_leaves_what_the_path_carries_and_does_so_at_the_end_of_recovery() {
        // 100 segments an RTT of 40 ms fill the path; the queue holds 100 more.
        let mut lab = lab(100);
        lab.rounds(60);
        lab.cc.cong_avoid(&lab.v, &mut lab.w, 0);
        lab.w.cwnd = 200;
        lab.v.prior_cwnd = 200;
        assert_eq!(lab.reduced(), 100, "Reno's half while it lasts");
        lab.w.cwnd = 100;
        lab.enter(CaState::Recovery);
        lab.event(Event::CompleteCwr);
        assert_eq!(lab.w.cwnd, lab.w.ssthresh);
        // Arrivals grew by a segment a round trip from 100 to 160 while they were measured.
        assert!((135..=160).contains(&lab.w.cwnd), "{}", lab.w.cwnd);
    }

    #[test]
    fn the_estimate_is_bandwidth_times_least_rtt_and_never_below_two_segments() {
        for (bandwidth, rtt, segments) in [(1448, 40, 40), (1447, 40, 39), (10, 40, 2), (0, 0, 2)] {
            let (mut c, v, mut w) = measured(bandwidth, rtt);
            c.on_event(&v, &mut w, Event::CompleteCwr);
            assert_eq!((w.cwnd, w.ssthresh), (segments, segments));
        }
    }

    #[test]
    fn a_timeout_sets_the_threshold_and_forgets_the_least_rtt() {
        let (mut c, v, mut w) = measured(1448, 40);
        c.on_event(&v, &mut w, Event::Loss);
        assert_eq!((w.cwnd, w.ssthresh), (100, 40));
        c.rtt = 300;
        c.on_ack(&v, &mut w, &RateSample::default());
        assert_eq!(c.rtt_min, 300);
        c.rtt = 400;
        c.on_ack(&v, &mut w, &RateSample::default());
        assert_eq!(c.rtt_min, 300);
    }

    #[test]
    fn bandwidth_is_filtered_twice_over_windows_of_at_least_a_twentieth_of_a_second() {
        let (mut c, mut v, mut w) = measured(0, 10);
        c.init(&v, &mut w);
        c.rtt = 10;
        let mut after = |ms: u32, segments: u32, v: &mut View| {
            v.jiffies += ms;
            c.on_ack(v, &mut w, &RateSample::default());
            v.snd_una += segments;
            c.on_ack(v, &mut w, &RateSample::default());
            (c.smoothed_once, c.bandwidth)
        };
        assert_eq!(after(1, 100, &mut v), (0, 0));
        assert_eq!(after(49, 0, &mut v), (0, 0), "50 ms are not more than 50 ms");
        let first = 100 * MSS / 51;
        assert_eq!(after(1, 0, &mut v), (first, first));
        let once = 7 * first / 8;
        assert_eq!(after(51, 0, &mut v), (once, (7 * first + once) / 8));
    }

    #[test]
    fn of_the_first_ack_nothing_counts() {
        let (mut c, mut v, mut w) = measured(0, 10);
        v.snd_una = 11;
        c.on_ack(&v, &mut w, &RateSample::default());
        assert_eq!(c.bytes, 0);
        v.snd_una = 13;
        c.on_ack(&v, &mut w, &RateSample::default());
        assert_eq!(c.bytes, 2 * MSS);
    }

    #[test]
    fn what_duplicate_acks_stood_for_is_taken_off_only_where_header_prediction_fails() {
        for (slow_path, bytes, left) in [(true, 3 + 6, 0), (false, 3 + 9, 3)] {
            let (mut c, mut v, mut w) = measured(0, 10);
            v.snd_una = 1;
            c.on_ack(&v, &mut w, &RateSample::default());
            (0..3).for_each(|_| c.on_ack(&v, &mut w, &RateSample { slow_path: true, ..RateSample::default() }));
            v.snd_una = 10;
            c.on_ack(&v, &mut w, &RateSample { slow_path, ..RateSample::default() });
            assert_eq!((c.bytes, c.accounted), (bytes * MSS, left * MSS), "slow path: {slow_path}");
        }
        let (mut c, ..) = measured(0, 10);
        c.accounted = 5 * MSS;
        assert_eq!((c.arrived(3 * MSS, MSS), c.accounted), (MSS, 2 * MSS));
        assert_eq!((c.arrived(MSS, MSS), c.accounted), (MSS, 2 * MSS));
    }

    #[test]
    fn what_duplicate_acks_stand_for_wraps_as_in_linux() {
        let (mut c, ..) = measured(0, 10);
        c.accounted = u32::MAX - 9;
        assert_eq!((c.arrived(0, 100), c.accounted), (100, 90));
    }

    #[test]
    fn the_version_of_2006_lags_behind_growth_and_takes_the_smoothed_rtt() {
        let estimates = ["linux-2.6.16", "today"].map(|version| {
            let mut lab = Lab::in_slow_start(made(&CONTROL, &json!({"version": version})), 10);
            lab.rtt_us = 60_000;
            (lab.v.srtt_us8, lab.per_ack) = (8 * 60_000, 1);
            // Doubles each round trip, up to 640 segments.
            lab.rounds(6);
            lab.round();
            lab.event(Event::CompleteCwr);
            lab.w.cwnd
        });
        // Two filters by an eighth return (1/8) g / (g - 7/8) of a rate that grows by g each, 4.9 % of the 320 to 640 segments of the last rounds.
        assert!((12..=32).contains(&estimates[0]), "{estimates:?}");
        assert!(estimates[1] > estimates[0] + 4, "seeded with the first sample: {estimates:?}");
    }

    #[test]
    fn the_version_of_2006_counts_the_first_ack_keeps_the_least_rtt_and_halves_at_a_timeout() {
        let (mut early, mut v, mut w) = measured(1000, 40);
        early.is_early = true;
        v.snd_una = 1;
        early.init(&v, &mut w);
        (v.snd_una, v.srtt_us8) = (5, 8 * 70_000);
        early.pkts_acked(&v, &mut w, &RateSample { rtt_us: 30_000, acked: 4, ..RateSample::default() });
        early.on_ack(&v, &mut w, &RateSample { acked: 4, ..RateSample::default() });
        assert_eq!((early.bytes, early.rtt, early.rtt_min), (4 * MSS, 70, 70));
        w.ssthresh = 33;
        early.on_event(&v, &mut w, Event::Loss);
        assert_eq!((w.ssthresh, early.forgets_rtt_min), (33, false));
    }
}
