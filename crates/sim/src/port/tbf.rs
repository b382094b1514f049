//! Token bucket filter with one rate (Linux 6.12 net/sched/sch_tbf.c): tokens count time; a packet leaves, whole, once there are
//! tokens for it.

use super::bucket::{burst, entry, tokens_for};
use crate::catalogue::Entry;
use crate::refusal::Flaws;
use crate::time::Time;

/// Entry in the catalogue. By default the bucket has 1540 bytes, as in the kernel runs of the oracle study.
pub(super) const ENTRY: Entry = entry(
    "tbf",
    "token bucket filter: a packet of an idle bucket goes at once, and packets then leave one by one",
    &[burst(26)],
    "2.2",
);

/// A token bucket.
#[derive(Clone, Debug)]
pub struct Tbf {
    rate_bps: u64,
    burst_bytes: u64,
    /// Bucket, ns.
    bucket: i64,
    /// Tokens at the last update, ns.
    tokens: i64,
    updated: Time,
    /// Length of the packet that was last looked at and its tokens: most have the same, and a division is slow.
    last: (u32, i64),
}

impl Tbf {
    /// A full bucket of `burst_bytes`, for frames of `frame` bytes at most.
    ///
    /// # Errors
    /// A bucket that never has the tokens for a full packet.
    pub fn new(rate_bps: u64, burst_bytes: u64, frame: u32) -> Result<Self, Flaws> {
        let mut flaws = Flaws::default();
        flaws.at_least("burst_bytes", burst_bytes, "bytes", u64::from(frame));
        flaws.done()?;
        let bucket = tokens_for(burst_bytes, rate_bps);
        Ok(Self { rate_bps, burst_bytes, bucket, tokens: bucket, updated: 0, last: (0, 0) })
    }

    /// Tokens that a packet of `len` bytes takes.
    #[inline]
    fn tokens_of(&mut self, len: u32) -> i64 {
        if self.last.0 != len {
            self.last = (len, tokens_for(u64::from(len), self.rate_bps));
        }
        self.last.1
    }

    /// Tokens at `now`.
    #[inline]
    fn tokens_at(&self, now: Time) -> i64 {
        (self.tokens + (now - self.updated) as i64).min(self.bucket)
    }

    /// Takes a packet of `len` bytes if there are tokens for it at `now`; returns when there are, which is then `now`.
    #[inline]
    pub fn take(&mut self, len: u32, now: Time) -> Time {
        let left = self.tokens_at(now) - self.tokens_of(len);
        if left < 0 {
            return now + left.unsigned_abs();
        }
        self.tokens = left;
        self.updated = now;
        now
    }

    /// The rate changes: the bucket has the same bytes, and Linux fills it.
    pub fn set_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps;
        self.bucket = tokens_for(self.burst_bytes, rate_bps);
        self.tokens = self.bucket;
        self.last = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::Tbf;
    use crate::time::SEC;

    #[test]
    fn an_idle_packet_goes_at_once_and_the_rest_are_spaced() {
        let mut s = Tbf::new(10_000_000, 1540, 1514).unwrap();
        let mut now = 5 * SEC;
        assert_eq!(s.take(1514, now), now);
        // 1540 - 1514 bytes of tokens are left for the second.
        assert_eq!(s.take(1514, now), now + (1514 - 26) * 800);
        for _ in 0..100 {
            now = s.take(1514, now);
            assert_eq!(s.take(1514, now), now);
        }
        assert_eq!(now, 5 * SEC + (1514 * 100 - 26) * 800);
    }

    #[test]
    fn a_change_of_rate_fills_the_bucket() {
        let mut s = Tbf::new(10_000_000, 1540, 1514).unwrap();
        s.take(1514, 0);
        s.set_rate(1_000_000);
        assert_eq!(s.take(1514, 7), 7);
        assert_eq!(s.take(1514, 7), 7 + (1514 - 26) * 8000);
    }
}
