//! `autorate-ingress`: the rate at which packets come, measured where they come without gaps (Linux 6.12 net/sched/sch_cake.c,
//! `cake_enqueue`). Its clock is that of a kernel on a machine that has been up for some time.

use super::totals::moved;
use crate::time::{Time, MS, SEC};

/// Time since the machine was switched on when a run begins. The first window begins when the machine is switched on, so that it says next
/// to nothing about the rate.
const UP: Time = 44 * SEC;
/// The rate is not changed for this time after the start.
const FIRST_CHANGE: Time = 250 * MS;

/// State of the estimate of the rate.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    last_packet: Time,
    /// Moving mean of the times between packets, of which longer ones count more, ns.
    gap: u64,
    window_begin: Time,
    window_bytes: u64,
    /// Moving mean of the rates of windows, of which higher ones count more, byte/s.
    peak: u64,
}

impl Estimate {
    /// At the start, for a shaper of `rate` byte/s.
    pub fn new(rate: u64) -> Self {
        Self { last_packet: 0, gap: 0, window_begin: 0, window_bytes: 0, peak: rate }
    }

    /// A packet of `len` bytes arrives; the shaper's rate from now on, byte/s, if it changes.
    pub fn on_arrival(&mut self, now: Time, len: u32) -> Option<u64> {
        let now = now + UP;
        self.window_bytes += u64::from(len);
        let gap = (now - self.last_packet).min(SEC);
        self.gap = moved(self.gap, gap, if gap > self.gap { 2 } else { 8 });
        self.last_packet = now;
        if gap <= self.gap {
            return None;
        }
        let rate = self.window_bytes.wrapping_mul(SEC) / (now - self.window_begin);
        self.peak = moved(self.peak, rate, if rate > self.peak { 2 } else { 8 });
        (self.window_bytes, self.window_begin) = (0, now);
        (now > FIRST_CHANGE).then_some((self.peak * 15) >> 4)
    }

    /// Subtract `len` bytes that arrived and were then filtered.
    pub fn take_back(&mut self, len: u32) {
        self.window_bytes = self.window_bytes.saturating_sub(u64::from(len));
    }
}

#[cfg(test)]
mod tests {
    use super::Estimate;
    use crate::time::{MS, SEC};

    #[test]
    fn a_window_ends_with_the_first_gap_above_the_mean_gap() {
        let mut estimate = Estimate::new(1_000_000);
        // The first packet after 44 s: 1 s at most counts, a quarter of which is the mean; the window of 1000 bytes in 44 s gives 22 byte/s.
        // 1000000 - 3906 + 0, and 15/16 of that.
        assert_eq!(estimate.on_arrival(0, 1000), Some(933_838));
        assert_eq!((estimate.gap, estimate.peak), (250_000_000, 996_094));
        // Gaps below the mean add to the window; the mean falls by 1/256 each.
        for i in 1..=1000 {
            assert_eq!(estimate.on_arrival(i * MS, 1000), None);
        }
        assert_eq!(estimate.window_bytes, 1_000_000);
        // A gap of 11 ms above the mean, which is then more than 1 ms: 1001 packets in 1.011 s.
        assert!(estimate.gap < 10 * MS, "{}", estimate.gap);
        let rate = 1_001_000 * 1000 / 1011;
        let peak: u64 = 996_094 - (996_094 >> 8) + (rate >> 8);
        assert!(rate < 996_094);
        assert_eq!(estimate.on_arrival(SEC + 11 * MS, 1000), Some((peak * 15) >> 4));
    }
}
