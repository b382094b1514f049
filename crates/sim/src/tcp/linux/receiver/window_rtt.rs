//! The receiver's own estimate of the RTT (Linux 6.12 net/ipv4/tcp_input.c, `tcp_rcv_rtt_measure_ts`, `tcp_rcv_rtt_measure`): it cannot time
//! its own data, as it sends none.

use crate::time::{Time, MS, US};

/// The estimate. Told of every full segment; asked when the buffer adapts and when duplicate ACKs are held back.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowRtt {
    /// Times 8, us; 0: none yet.
    us8: u64,
    /// When the window whose filling is timed was empty, us; 0: none is.
    from_us: u64,
    /// The number at which it is full.
    full_at: u64,
    /// The echo that was last taken as a sample.
    last_tsecr: u32,
    /// A longer sample counts only if all has been read.
    of_read: bool,
}

impl Default for WindowRtt {
    fn default() -> Self {
        Self { us8: 0, from_us: 0, full_at: 1, last_tsecr: u32::MAX, of_read: false }
    }
}

impl WindowRtt {
    /// Makes this an estimate for which a longer sample counts only if the application has read all.
    #[must_use]
    pub fn of_read(self, of_read: bool) -> Self {
        Self { of_read, ..self }
    }

    /// Without timestamps nothing ever echoes another one than 0, which is no sample.
    pub fn expect_no_echo(&mut self) {
        self.last_tsecr = 0;
    }

    /// Times 8, us; 0: none yet.
    #[inline]
    pub fn us8(&self) -> u64 {
        self.us8
    }

    /// All numbers are `by` lower from now on.
    pub fn rebase(&mut self, by: u32) {
        self.full_at = self.full_at.saturating_sub(u64::from(by));
    }

    /// The filling of a window is timed.
    pub fn is_timing(&self) -> bool {
        self.from_us != 0
    }

    /// Number at which the window whose filling is timed is full.
    pub fn window_ends(&self) -> u64 {
        self.full_at
    }

    /// True if [`Self::by_window`] has something to do.
    #[inline]
    pub fn is_window_full(&self, rcv_nxt: u64) -> bool {
        rcv_nxt >= self.full_at || self.from_us == 0
    }

    /// True if [`Self::by_timestamp`] has something to do.
    #[inline]
    pub fn is_new_echo(&self, tsecr: u32) -> bool {
        tsecr != self.last_tsecr
    }

    /// A packet that is not as long as others echoes a timestamp of ours, ms: that is no sample, and later ones with it are none.
    pub fn note_echo(&mut self, tsecr: u32) {
        self.last_tsecr = tsecr;
    }

    /// A segment echoes a timestamp of ours, ms, that none did before, while something `waits` to be read or nothing does; true if that was a sample.
    pub fn by_timestamp(&mut self, tsecr: u32, waits: bool, now: Time) -> bool {
        self.last_tsecr = tsecr;
        let sample = u64::from(((now / MS) as u32).saturating_sub(tsecr)) * 1000;
        if sample > 0 && (self.us8 == 0 || sample << 3 < self.us8) {
            self.us8 = sample << 3;
        } else if sample > 0 && !(waits && self.of_read) {
            self.us8 = self.us8 - (self.us8 >> 3) + sample;
        }
        sample > 0
    }

    /// The window is full: takes the time as a sample if that lowers the estimate, and times the next one, which is full at a number. True if it did.
    pub fn by_window(&mut self, full_at: u64, now: Time) -> bool {
        let now_us = now / US;
        let sample = (now_us - self.from_us).max(1) << 3;
        let lowers = self.from_us != 0 && (self.us8 == 0 || sample < self.us8);
        if lowers {
            self.us8 = sample;
        }
        self.full_at = full_at;
        self.from_us = now_us;
        lowers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echoes_are_averaged_and_a_lower_one_counts_at_once() {
        let mut rtt = WindowRtt::default();
        assert!(rtt.is_new_echo(0), "what left in the first millisecond is echoed as 0");
        assert!(rtt.by_timestamp(10, false, 50 * MS));
        assert_eq!(rtt.us8() >> 3, 40_000);
        assert!(!rtt.is_new_echo(10), "the same echo says nothing new");
        assert!(rtt.by_timestamp(11, true, 91 * MS));
        assert_eq!(rtt.us8() >> 3, 45_000);
        assert!(rtt.by_timestamp(90, false, 100 * MS));
        assert_eq!(rtt.us8() >> 3, 10_000);
    }

    #[test]
    fn what_waits_to_be_read_keeps_a_longer_echo_from_counting() {
        let mut rtt = WindowRtt::default().of_read(true);
        assert!(rtt.by_timestamp(10, true, 50 * MS));
        assert!(rtt.by_timestamp(11, true, 91 * MS));
        assert_eq!(rtt.us8() >> 3, 40_000, "the first counts at once, the second is longer");
        assert!(rtt.by_timestamp(12, false, 92 * MS));
        assert_eq!(rtt.us8() >> 3, 45_000, "all has been read");
        assert!(rtt.by_timestamp(90, true, 100 * MS));
        assert_eq!(rtt.us8() >> 3, 10_000, "a shorter one counts");
    }

    #[test]
    fn the_time_of_a_window_only_lowers_it() {
        let mut rtt = WindowRtt::default();
        assert!(rtt.is_window_full(1));
        assert!(!rtt.by_window(11, 5 * MS));
        assert!(!rtt.is_window_full(10) && rtt.is_window_full(11));
        assert!(rtt.by_window(21, 25 * MS));
        assert_eq!(rtt.us8() >> 3, 20_000);
        assert!(!rtt.by_window(31, 65 * MS));
        assert_eq!(rtt.us8() >> 3, 20_000);
    }
}
