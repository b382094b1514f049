//! LP: Reno that gives way to others, by the delay of the way there alone (A. Kuzmanovic, E. Knightly, "TCP-LP: a distributed algorithm for low
//! priority data transfer", INFOCOM 2003; Linux 6.12 net/ipv4/tcp_lp.c). That delay is the difference of two hosts' clocks in the timestamp
//! option, each of which Linux gives an offset of its own a pair of addresses, and the kernel keeps eight times its average in 32 bits: with seven
//! offsets of eight the average is below the minimum delay, and the control is Reno.
//!
//! The offset of the peer's clock is drawn here, as packets carry clocks without.

use super::reno::reno_cong_avoid;
use super::{AnyCc, BoxedControl, CongestionControl, Control, Needs, RateSample, State, Tell, Version, View, Window};

/// Timestamps a second.
const TS_HZ: u32 = 1000;
/// A delay so many hundredths of the way from the minimum to the maximum is that of others' queues.
const THRESHOLD: u32 = 15;

pub(super) const CONTROL: Control = Control {
    name: "lp",
    summary: "Low Priority (Kuzmanovic, Knightly 2003, Linux 6.12)",
    needs: Needs { whole_acks: true, rtt_stamps: true, random: true, ..Needs::NOTHING },
    since: Version(2, 6),
    parameters: &[],
    build: |_| AnyCc::Boxed(Box::new(Lp::new())),
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::new("smoothed_owd_ms", "ms", "smoothed difference of the two clocks' timestamps, which is the one-way delay but for a constant; none before the first"),
    State::new("least_owd_ms", "ms", "least of these differences"),
    State::new("most_owd_ms", "ms", "largest of these differences"),
    State::new("remote_hz", "", "ticks a second of the peer's clock; none before it is known"),
    State::flag("inference", "the window was cut less than three round trips ago"),
];

/// LP. Times are timestamps, ms.
#[derive(Clone, Debug)]
struct Lp {
    /// Value of the peer's clock when the own clock showed 0.
    offset: u32,
    /// The clocks at the last sample: the peer's and ours.
    reference: Option<(u32, u32)>,
    /// Ticks a second of the peer's clock; 0: not known.
    remote_hz: u32,
    /// Delay there: smoothed, times 8; least; largest, and the one before which was larger.
    smoothed_8: u32,
    least: u32,
    most: u32,
    reserve: u32,
    last_drop: Option<u32>,
    /// Three round trips.
    inference: u32,
    /// The window was cut less than that ago.
    within_inference: bool,
}

impl Lp {
    fn new() -> Self {
        Self {
            offset: 0,
            reference: None,
            remote_hz: 0,
            smoothed_8: 0,
            least: u32::MAX,
            most: 0,
            reserve: 0,
            last_drop: None,
            inference: 0,
            within_inference: false,
        }
    }

    fn estimate_remote_hz(&mut self, tsval: u32, tsecr: u32) {
        let Some((remote, local)) = self.reference.replace((tsval, tsecr)) else { return };
        if tsval == remote || tsecr == local {
            return;
        }
        let hz = i64::from(TS_HZ.wrapping_mul(tsval.wrapping_sub(remote)) / tsecr.wrapping_sub(local));
        // The average drops its remainder: it may fall by one each time, and rises only if the sample is 64 above it.
        let old = i64::from(self.remote_hz << 6);
        self.remote_hz = if old > 0 { ((old + hz - (old >> 6)) >> 6) as u32 } else { hz as u32 };
    }

    /// The delay by the two clocks; none before the peer's is known. A clock that seems faster than ours counts for nothing, and below zero
    /// 2^32 is added.
    fn delay(&self, tsval: u32, tsecr: u32) -> Option<u32> {
        let unit = TS_HZ.checked_div(self.remote_hz)?;
        Some(tsval.wrapping_mul(unit).wrapping_sub(tsecr)).filter(|delay| *delay > 0)
    }

    fn sample(&mut self, tsval: u32, tsecr: u32) {
        self.estimate_remote_hz(tsval, tsecr);
        let Some(delay) = self.delay(tsval, tsecr) else { return };
        self.least = self.least.min(delay);
        if delay > self.most {
            self.most = if delay <= self.reserve || self.reserve == 0 { delay } else { self.reserve };
            self.reserve = self.reserve.max(delay);
        }
        self.smoothed_8 = if self.smoothed_8 == 0 {
            delay << 3
        } else {
            self.smoothed_8.wrapping_add(delay.wrapping_sub(self.smoothed_8 >> 3))
        };
    }
}

impl BoxedControl for Lp {}

impl CongestionControl for Lp {
    fn init(&mut self, v: &View, _: &mut Window) {
        self.offset = v.random_stream().u32();
    }

    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        (w.cwnd / 2).max(2)
    }

    fn least_cwnd(&self, _: &View, w: &Window) -> u32 {
        w.ssthresh / 2
    }

    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        if !self.within_inference {
            reno_cong_avoid(v, w, acked);
        }
    }

    fn pkts_acked(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        let now = (v.mstamp_us / 1000) as u32;
        if s.rtt_us > 0 {
            self.sample(s.tsval.wrapping_add(self.offset), s.tsecr);
        }
        let since = now.wrapping_sub(s.tsecr);
        if since as i32 > 0 {
            self.inference = since.wrapping_mul(3);
        }
        self.within_inference = self.last_drop.is_some_and(|at| now.wrapping_sub(at) < self.inference);
        // Before there is any delay the minimum is 2^32 - 1 and the largest 0.
        let smoothed = self.smoothed_8 >> 3;
        let spread = self.most.wrapping_sub(self.least).wrapping_mul(THRESHOLD) / 100;
        if smoothed < self.least.wrapping_add(spread) {
            return;
        }
        (self.least, self.most, self.reserve) = (smoothed, self.smoothed_8 >> 2, self.smoothed_8 >> 2);
        // The threshold stays: a flow that was in slow start is so again at once.
        w.cwnd = if self.within_inference { 1 } else { (w.cwnd / 2).max(1) };
        self.last_drop = Some(now);
    }

    fn state(&self, _: &View, _: &Window, tell: &mut Tell) {
        let ms = |ticks: u32| f64::from(ticks) * 1e3 / f64::from(TS_HZ);
        if self.smoothed_8 > 0 {
            tell("smoothed_owd_ms", ms(self.smoothed_8 >> 3));
            tell("least_owd_ms", ms(self.least));
            tell("most_owd_ms", ms(self.most));
        }
        if self.remote_hz > 0 {
            tell("remote_hz", f64::from(self.remote_hz));
        }
        tell("inference", f64::from(u8::from(self.within_inference)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{Growth, INFINITE_SSTHRESH};

    /// A flow whose peer's clock shows `offset` when ours shows 0, on a path with a delay there of 20 ms.
    struct Flow {
        lp: Lp,
        v: View,
        w: Window,
        now: u32,
    }

    impl Flow {
        fn new(offset: u32) -> Self {
            let v = View { is_cwnd_limited: true, ..View::new(1000, Growth::Segments, false) };
            Self { lp: Lp { offset, ..Lp::new() }, v, w: Window::new(100, INFINITE_SSTHRESH), now: 1000 }
        }

        /// An ACK, 5 ms after the one before, of a segment that queued for so many ms.
        fn ack(&mut self, queued: u32) {
            self.now += 5;
            self.v.mstamp_us = u64::from(self.now) * 1000;
            let (tsval, tsecr) = (self.now - 20, self.now - 40 - queued);
            let rtt_us = i64::from(40 + queued) * 1000;
            self.lp.pkts_acked(&self.v, &mut self.w, &RateSample { rtt_us, tsval, tsecr, ..RateSample::default() });
        }
    }

    #[test]
    fn the_peers_clock_is_estimated_from_two_samples_on() {
        let mut flow = Flow::new(7000);
        flow.ack(0);
        assert_eq!((flow.lp.remote_hz, flow.lp.smoothed_8), (0, 0));
        flow.ack(0);
        assert_eq!((flow.lp.remote_hz, flow.lp.least, flow.lp.smoothed_8), (1000, 7020, 8 * 7020));
    }

    #[test]
    fn the_estimate_falls_by_one_for_any_sample_below_and_rises_only_for_one_64_above() {
        let mut lp = Lp { remote_hz: 1000, reference: Some((0, 0)), ..Lp::new() };
        lp.estimate_remote_hz(999, 1000);
        assert_eq!(lp.remote_hz, 999);
        lp.estimate_remote_hz(999 + 1062, 2000);
        assert_eq!(lp.remote_hz, 999);
        lp.estimate_remote_hz(999 + 1062 + 1063, 3000);
        assert_eq!(lp.remote_hz, 1000);
        lp.estimate_remote_hz(10_000, 3000);
        assert_eq!(
            (lp.remote_hz, lp.reference),
            (1000, Some((10_000, 3000))),
            "no time passed here: only the reference is new"
        );
    }

    #[test]
    fn a_clock_that_seems_faster_than_ours_counts_for_nothing_and_delays_wrap_round() {
        let delay = |remote_hz, tsval, tsecr| Lp { remote_hz, ..Lp::new() }.delay(tsval, tsecr);
        assert_eq!(delay(0, 5000, 4000), None);
        assert_eq!((delay(1000, 5000, 4000), delay(501, 5000, 4000)), (Some(1000), Some(1000)));
        assert_eq!(delay(500, 5000, 4000), Some(6000));
        assert_eq!(delay(1001, 5000, 4000), Some(u32::MAX - 3999));
        assert_eq!((delay(1000, 4000, 5000), delay(1000, 5000, 5000)), (Some(u32::MAX - 999), None));
    }

    #[test]
    fn the_largest_delay_forgets_one_step() {
        let mut lp = Lp { remote_hz: 1000, ..Lp::new() };
        let mut after = |delay: u32| {
            lp.reference = None;
            lp.sample(5000 + delay, 5000);
            (lp.most, lp.reserve)
        };
        assert_eq!([after(50), after(80), after(70), after(90)], [(50, 50), (50, 80), (70, 80), (80, 90)]);
    }

    #[test]
    fn a_delay_above_a_seventh_of_its_range_halves_the_window_and_within_three_round_trips_makes_it_one() {
        let mut flow = Flow::new(1000);
        (0..50).for_each(|_| flow.ack(0));
        assert_eq!(flow.w.cwnd, 50, "a delay that does not vary is not below its own threshold");
        flow.w.cwnd = 100;
        let after = |flow: &mut Flow, smoothed: u32| {
            flow.lp.smoothed_8 = 8 * smoothed;
            (flow.lp.least, flow.lp.most, flow.lp.reserve) = (1000, 2000, 2000);
            flow.ack(0);
            flow.w.cwnd
        };
        assert_eq!(after(&mut flow, 1100), 100);
        flow.lp.last_drop = None;
        assert_eq!(after(&mut flow, 1200), 50);
        assert_eq!((flow.lp.least, flow.lp.most), (flow.lp.smoothed_8 >> 3, flow.lp.smoothed_8 >> 2));
        assert_eq!(after(&mut flow, 1200), 1, "again within the inference");
        assert!(flow.w.in_slow_start(&flow.v));
        let before = flow.w.cwnd;
        flow.lp.cong_avoid(&flow.v, &mut flow.w, 1);
        assert_eq!(flow.w.cwnd, before, "nothing grows meanwhile");
        flow.now += 200;
        flow.ack(0);
        flow.lp.cong_avoid(&flow.v, &mut flow.w, 1);
        assert_eq!(flow.w.cwnd, before + 1);
    }

    #[test]
    fn with_seven_offsets_of_eight_eight_times_the_delay_has_no_room_in_32_bits_and_it_is_reno() {
        for eighth in 1..8 {
            let mut flow = Flow::new((eighth << 29) + 12_345);
            (0..200).for_each(|_| flow.ack(0));
            (0..200).for_each(|_| flow.ack(500));
            assert_eq!(flow.w.cwnd, 100, "{eighth}");
        }
    }

    #[test]
    fn before_there_is_a_delay_nothing_is_above_the_threshold() {
        let mut flow = Flow::new(0);
        flow.lp.pkts_acked(&flow.v, &mut flow.w, &RateSample { rtt_us: -1, ..RateSample::default() });
        assert_eq!(flow.w.cwnd, 100);
    }
}
