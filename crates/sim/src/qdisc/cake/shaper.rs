//! The deficit-mode shaper: a virtual clock that advances by the time each departing packet occupies the link.
//!
//! An isolated packet leaves at once and its duration is charged to its successor; a late service is caught up because
//! the clock advances from its own value. Linux keeps a second "failsafe" clock that runs 1.5 times as fast and holds a
//! packet back only together with the first; in egress mode it is never the earlier one and is left out.

use crate::time::{Duration, Time, SEC};

/// Least rate the arithmetic works with, byte/s.
const LEAST_RATE: u64 = 64;
/// Bits of precision of the time a byte takes.
const PRECISION: u32 = 34;

/// A virtual clock.
#[derive(Clone, Debug)]
pub(super) struct Shaper {
    /// Time a byte takes, ns, scaled by 2^shift; 0 is unlimited.
    ns_per_byte: u64,
    shift: u32,
    next: Time,
}

impl Shaper {
    /// A shaper of `rate` byte/s; `None` is unlimited.
    pub fn new(rate: Option<u64>) -> Self {
        let (ns_per_byte, shift) = rate.map_or((0, 0), |rate| {
            let scaled = (SEC << PRECISION) / rate.max(LEAST_RATE);
            let excess = (u64::BITS - scaled.leading_zeros()).saturating_sub(PRECISION);
            (scaled >> excess, PRECISION - excess)
        });
        Self { ns_per_byte, shift, next: 0 }
    }

    /// The same clock at another rate.
    pub fn at_rate(&self, rate: Option<u64>) -> Self {
        Self { next: self.next, ..Self::new(rate) }
    }

    /// There is a rate.
    #[inline]
    pub fn is_limited(&self) -> bool {
        self.ns_per_byte > 0
    }

    /// Time `len` bytes occupy the link, ns, rounded down.
    #[inline]
    pub fn duration(&self, len: u32) -> Duration {
        (u64::from(len) * self.ns_per_byte) >> self.shift
    }

    /// Earliest departure of the next packet.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// A packet arrives at an empty queue: unused time is not saved up.
    #[inline]
    pub fn restart(&mut self, now: Time) {
        self.next = self.next.max(now);
    }

    /// A packet of `len` charged bytes departs `now` from a tin, whether its turn had come or not: its next turn is never later than the time
    /// that this packet takes, unless it was before.
    pub fn follow(&mut self, len: u32, now: Time) {
        let taken = self.duration(len);
        self.next = if self.next < now { self.next + taken } else { self.next.max(now + taken) };
    }

    /// A packet of `len` charged bytes departs.
    #[inline]
    pub fn advance(&mut self, len: u32) {
        self.next += self.duration(len);
    }
}

#[cfg(test)]
mod tests {
    use super::Shaper;
    use crate::packet::FULL_FRAME;

    #[test]
    fn duration_of_a_full_frame_at_the_published_rates() {
        for (bps, tau_us) in [
            (500_000, 24_224.0),
            (1_000_000, 12_112.0),
            (2_000_000, 6_056.0),
            (5_000_000, 2_422.4),
            (10_000_000, 1_211.2),
            (25_000_000, 484.48),
            (50_000_000, 242.24),
            (100_000_000, 121.12),
        ] {
            let tau = Shaper::new(Some(bps / 8)).duration(FULL_FRAME) as f64 / 1e3;
            assert!((tau - tau_us).abs() / tau_us < 1e-5, "{bps}: {tau} us");
        }
    }

    #[test]
    fn factor_keeps_33_or_34_bits() {
        for rate in [64, 100, 62_500, 125_000, 12_500_000, 1_250_000_000, 999_999_999, 12_500_000_000] {
            let s = Shaper::new(Some(rate));
            let bits = 64 - s.ns_per_byte.leading_zeros();
            let exact = 1514e9 / rate as f64;
            assert!(bits <= 34 && (bits == 34 || s.shift == 34), "{rate}: {bits} bits, shift {}", s.shift);
            assert!((s.duration(1514) as f64 - exact).abs() <= 1.0 + exact * 1e-9, "{rate}");
        }
        assert_eq!(Shaper::new(Some(1)).duration(1514), Shaper::new(Some(64)).duration(1514));
        assert_eq!(Shaper::new(None).duration(1514), 0);
    }

    #[test]
    fn clock_restarts_only_when_it_lies_in_the_past() {
        let mut s = Shaper::new(Some(1_250_000));
        s.restart(1_000);
        assert_eq!(s.next(), 1_000);
        s.advance(1514);
        let next = s.next();
        assert!(next.abs_diff(1_000 + 1_211_200) <= 1);
        s.restart(2_000);
        assert_eq!(s.next(), next);
        s.restart(next + 5);
        assert_eq!(s.next(), next + 5);
    }
}
