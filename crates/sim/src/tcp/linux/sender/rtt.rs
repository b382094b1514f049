//! RTT estimation and RTO: RFC 6298 in the integer form of Linux 6.12 net/ipv4/tcp_input.c (srtt times 8, mdev times 4,
//! one variance a round trip), and the windowed minimum of lib/win_minmax.c.

use crate::cc::Renumbering;
use crate::tcp::common::lazy_timer::Ticks;
use crate::tcp::linux::clock::Clock;
use crate::tcp::linux::stack::Stack;

/// Length of the window of the minimum RTT (sysctl tcp_min_rtt_wlen), s.
const MIN_RTT_WINDOW_S: u32 = 300;

/// That of a connection whose handshake gave no sample, ms (TCP_TIMEOUT_FALLBACK).
const FALLBACK_RTO_MS: u64 = 3000;
/// Largest retransmission timeout, ms.
const RTO_MAX_MS: u64 = 120_000;
/// So many doublings of a tick exceed the largest timeout.
const MAX_BACKOFF: u16 = 17;
/// Most doublings of the interval between probes: twice the longest timeout over the minimum one, as a power of two.
const MOST_DOUBLINGS: u16 = 10;

/// How often something was retransmitted by a timer since the last sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Backoff {
    /// Doublings of the retransmission timeout.
    timeout: u16,
    /// Doublings of the interval between probes of a closed window: each timeout counts, too (`icsk_backoff`).
    probes: u16,
}

/// Smoothed RTT, variance and retransmission timeout. Told of every sample and of timeouts; asked whenever the timer is set.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// Unit that samples are rounded down to and the rest counts in, us.
    unit_us: u32,
    /// Smoothed RTT times 8; 0 before the first sample.
    srtt8: u32,
    mdev4: u32,
    mdev_max4: u32,
    rttvar4: u32,
    rtt_seq: u32,
    rto_min: u32,
    /// Last raw sample.
    last: u32,
    /// Retransmission timeout before backoff, us.
    rto_us: u64,
    backoff: Backoff,
    /// Largest retransmission timeout, ticks.
    rto_max: u64,
    /// The smoothed RTT has been too large for the kernel's number.
    wrapped: bool,
}

impl RttEstimator {
    /// No samples yet.
    #[must_use]
    pub(in crate::tcp::linux) fn new(stack: &Stack, clock: &Clock) -> Self {
        let unit_us = if stack.rtt_in_ticks { clock.to_us(1) as u32 } else { 1 };
        let rto_us = u64::from(stack.rto_initial_ms) * 1000;
        Self { rto_us, ..Self::with_unit(stack.rto_min_ms * 1000, unit_us, clock.from_ms(RTO_MAX_MS)) }
    }

    /// No samples yet; `unit_us` is 1 or, for kernels that count ticks, the length of one.
    fn with_unit(rto_min_us: u32, unit_us: u32, rto_max: u64) -> Self {
        let rto_min = rto_min_us / unit_us;
        Self {
            unit_us,
            srtt8: 0,
            mdev4: 0,
            mdev_max4: 0,
            rttvar4: 0,
            rtt_seq: 0,
            rto_min,
            last: 0,
            rto_us: 0,
            backoff: Backoff::default(),
            rto_max,
            wrapped: false,
        }
    }

    /// A segment in flight is new or has gone.
    pub fn renumber(&mut self, r: Renumbering) {
        r.apply_to_mark(&mut self.rtt_seq);
    }

    /// Takes a sample, us; `una` and `nxt` mark the round trips.
    #[inline(always)]
    pub fn sample(&mut self, rtt_us: u32, una: u32, nxt: u32) {
        let sample = if self.unit_us == 1 { rtt_us } else { (rtt_us / self.unit_us).max(1) };
        self.last = sample;
        let mut m = i64::from(sample);
        let mut srtt = i64::from(self.srtt8);
        if srtt == 0 {
            srtt = m << 3;
            self.mdev4 = sample << 1;
            self.rttvar4 = self.mdev4.max(self.rto_min);
            self.mdev_max4 = self.rttvar4;
            self.rtt_seq = nxt;
        } else {
            m -= srtt >> 3;
            srtt += m;
            if m < 0 {
                m = -m - i64::from(self.mdev4 >> 2);
                if m > 0 {
                    m >>= 3;
                }
            } else {
                m -= i64::from(self.mdev4 >> 2);
            }
            self.mdev4 = (i64::from(self.mdev4) + m) as u32;
            if self.mdev4 > self.mdev_max4 {
                self.mdev_max4 = self.mdev4;
                self.rttvar4 = self.rttvar4.max(self.mdev_max4);
            }
            if una > self.rtt_seq {
                if self.mdev_max4 < self.rttvar4 {
                    self.rttvar4 -= (self.rttvar4 - self.mdev_max4) >> 2;
                }
                self.rtt_seq = nxt;
                self.mdev_max4 = self.rto_min;
            }
        }
        self.backoff = Backoff::default();
        let rto_us = ((srtt >> 3) as u64 + u64::from(self.rttvar4)) * u64::from(self.unit_us);
        if rto_us > RTO_MAX_MS * 1000 {
            return self.take_large(srtt);
        }
        self.srtt8 = srtt.max(1) as u32;
        self.rto_us = rto_us;
    }

    /// A smoothed RTT that bounds the timeout (`tcp_bound_rto`). The kernel has 32 bits for 8 times the microseconds: from 536.87 s on what it
    /// keeps is the rest, and so is what its timeout is computed from.
    #[cold]
    #[inline(never)]
    fn take_large(&mut self, srtt: i64) {
        let unit_us = u64::from(self.unit_us);
        self.wrapped |= srtt as u64 * unit_us > u64::from(u32::MAX);
        self.srtt8 = (srtt as u32).max(1);
        self.rto_us = (u64::from((self.srtt8 >> 3).wrapping_add(self.rttvar4)) * unit_us).min(RTO_MAX_MS * 1000);
    }

    /// True if the smoothed RTT was ever too large for the kernel's number: from then on that may say anything.
    #[must_use]
    pub fn has_wrapped(&self) -> bool {
        self.wrapped
    }

    /// Last raw sample, us.
    #[must_use]
    pub fn last_us(&self) -> u32 {
        self.last * self.unit_us
    }

    /// Smoothed RTT times 8, us; 0 before the first sample.
    #[must_use]
    pub fn srtt_us8(&self) -> u32 {
        self.srtt8.wrapping_mul(self.unit_us)
    }

    /// Mean deviation, us.
    #[must_use]
    pub fn mdev_us(&self) -> u32 {
        (self.mdev4 >> 2) * self.unit_us
    }

    /// Retransmission timeout without backoff, us; the initial one before the first sample.
    #[inline]
    #[must_use]
    pub fn rto_us(&self) -> u64 {
        self.rto_us
    }

    /// Retransmission timeout, ticks.
    #[inline]
    #[must_use]
    pub(in crate::tcp::linux) fn rto_ticks(&self, clock: &Clock) -> u64 {
        let rto = clock.in_ticks(self.rto_us);
        if self.backoff.timeout == 0 {
            rto
        } else {
            (rto << self.backoff.timeout).min(self.rto_max)
        }
    }

    /// Largest retransmission timeout, ticks.
    #[inline]
    pub(in crate::tcp::linux) fn rto_max(&self) -> u64 {
        self.rto_max
    }

    /// The handshake gave no sample (tcp_metrics.c `tcp_init_metrics`, TCP_TIMEOUT_FALLBACK).
    pub fn fall_back(&mut self) {
        (self.rto_us, self.backoff) = (FALLBACK_RTO_MS * 1000, Backoff::default());
    }

    /// A timeout doubles the next one.
    pub fn back_off(&mut self) {
        self.backoff.timeout = (self.backoff.timeout + 1).min(MAX_BACKOFF);
        self.back_off_probes();
    }

    /// A probe of a closed window doubles the time until the next one.
    pub fn back_off_probes(&mut self) {
        self.backoff.probes = (self.backoff.probes + 1).min(MOST_DOUBLINGS);
    }

    /// The window that was probed is open.
    pub fn end_probes(&mut self) {
        self.backoff.probes = 0;
    }

    /// The time until the first probe of a closed window, doubled as often as something was retransmitted, ticks (`tcp_probe0_when`).
    pub(in crate::tcp::linux) fn ticks_to_probe(&self, first: u64) -> u64 {
        (first << self.backoff.probes).min(self.rto_max)
    }
}

/// Minimum over a sliding window, from three samples.
#[derive(Clone, Debug)]
pub struct WindowedMin {
    window: u32,
    samples: [(u32, u32); 3],
    /// For so many ticks from the first of the samples on, one that is larger than all three changes nothing.
    skips_for: u32,
}

impl WindowedMin {
    /// No samples yet; `hz` ticks a second.
    #[must_use]
    pub fn new(hz: u32) -> Self {
        Self { window: MIN_RTT_WINDOW_S * hz, samples: [(0, u32::MAX); 3], skips_for: 0 }
    }

    /// Takes a sample at tick `t`; returns the minimum.
    #[inline(always)]
    pub fn update(&mut self, t: u32, value: u32) -> u32 {
        let s = &self.samples;
        if value <= s[2].1 || t.wrapping_sub(s[0].0) > self.skips_for {
            self.take_and_skip(t, value);
        }
        self.samples[0].1
    }

    #[inline(never)]
    fn take_and_skip(&mut self, t: u32, value: u32) {
        self.take(t, value);
        let s = &self.samples;
        self.skips_for = match (s[1].0 == s[0].0, s[2].0 == s[1].0) {
            (true, _) => self.window / 4,
            (_, true) => self.window / 2,
            _ => self.window,
        };
    }

    fn take(&mut self, t: u32, value: u32) {
        let s = &mut self.samples;
        if value <= s[0].1 || t.wrapping_sub(s[2].0) > self.window {
            *s = [(t, value); 3];
            return;
        }
        if value <= s[1].1 {
            s[1] = (t, value);
            s[2] = s[1];
        } else if value <= s[2].1 {
            s[2] = (t, value);
        }
        let age = t.wrapping_sub(s[0].0);
        if age > self.window {
            *s = [s[1], s[2], (t, value)];
            if t.wrapping_sub(s[0].0) > self.window {
                *s = [s[1], s[2], (t, value)];
            }
        } else if s[1].0 == s[0].0 && age > self.window / 4 {
            s[1] = (t, value);
            s[2] = s[1];
        } else if s[2].0 == s[1].0 && age > self.window / 2 {
            s[2] = (t, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn first_sample_sets_srtt_and_the_floor() {
        let mut e = RttEstimator::with_unit(200_000, 1, 120_000);
        e.sample(20_000, 0, 1);
        assert_eq!(e.srtt_us8(), 160_000);
        assert_eq!(e.rto_us(), 220_000);
    }

    #[test]
    fn constant_rtt_keeps_the_200_ms_floor() {
        let mut e = RttEstimator::with_unit(200_000, 1, 120_000);
        for i in 0..1000 {
            e.sample(80_000, i, i + 10);
        }
        assert_eq!(e.srtt_us8() >> 3, 80_000);
        assert_eq!(e.rto_us(), 280_000);
    }

    #[test]
    fn ticks_round_down_and_a_sample_is_never_zero() {
        let mut e = RttEstimator::with_unit(200_000, 1000, 120_000);
        e.sample(20_900, 0, 1);
        assert_eq!((e.last_us(), e.srtt_us8(), e.rto_us()), (20_000, 160_000, 220_000));
        e.sample(23_999, 1, 2);
        assert_eq!(e.srtt_us8(), 163_000);
        let mut e = RttEstimator::with_unit(200_000, 4000, 120_000);
        e.sample(900, 0, 1);
        assert_eq!((e.last_us(), e.rto_us()), (4000, 204_000));
    }

    #[test]
    fn a_smoothed_rtt_of_537_seconds_wraps_as_in_32_bits_and_no_timeout_exceeds_two_minutes() {
        let mut e = RttEstimator::with_unit(200_000, 1, 120_000);
        e.sample(536_000_000, 0, 1);
        assert_eq!((e.srtt_us8(), e.rto_us(), e.has_wrapped()), (4_288_000_000, 120_000_000, false));
        // 7/8 and 1/8 are 4289 s times 8, whose rest is below a second; four deviations of a second and 536 s before were 1072 s.
        e.sample(600_000_000, 1, 2);
        let kept = (4_288_000_000_u64 + 64_000_000 - (1 << 32)) as u32;
        assert_eq!((e.srtt_us8(), e.has_wrapped()), (kept, true));
        assert_eq!(e.rto_us(), 120_000_000, "the deviation alone");
    }

    #[test]
    fn the_minimum_expires() {
        let mut w = WindowedMin::new(1000);
        assert_eq!(w.update(0, 10), 10);
        assert_eq!(w.update(100_000, 20), 10);
        assert_eq!(w.update(200_000, 25), 10);
        assert_eq!(w.update(300_001, 30), 20);
    }

    proptest! {
        #[test]
        fn skipped_samples_change_nothing(samples in prop::collection::vec((0u32..40_000, 1u32..1000), 1..200)) {
            let (mut quick, mut full, mut t) = (WindowedMin::new(1000), WindowedMin::new(1000), 0);
            for (after, value) in samples {
                t += after;
                full.take(t, value);
                prop_assert_eq!(quick.update(t, value), full.samples[0].1);
                prop_assert_eq!(quick.samples, full.samples);
            }
        }

        #[test]
        fn srtt_stays_within_the_samples(samples in prop::collection::vec(1_000u32..1_000_000, 1..200)) {
            let mut e = RttEstimator::with_unit(200_000, 1, 120_000);
            for (i, s) in samples.iter().enumerate() {
                e.sample(*s, i as u32, i as u32 + 5);
            }
            let (lo, hi) = (samples.iter().min().unwrap(), samples.iter().max().unwrap());
            prop_assert!(e.srtt_us8() >> 3 >= lo - 1 && e.srtt_us8() >> 3 <= hi + 1);
            prop_assert!(e.rto_us() >= 200_000);
        }
    }
}
