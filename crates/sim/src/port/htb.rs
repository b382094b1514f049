//! Hierarchical token bucket with a single class whose ceil is its rate (Linux 6.12 net/sched/sch_htb.c).
//!
//! A packet may leave while the class owes no tokens, whatever its length, and leaves the class in debt; the class's timer is the moment at
//! which the debt is paid. So the child is asked for a packet only when that may go: nothing is taken out to look at it. Left out: classes,
//! borrowing, priorities and quanta, which a single class does not use.

use super::bucket::{burst, entry, tokens_for};
use crate::catalogue::Entry;
use crate::time::{Time, SEC, US};

/// Most time that a class may owe, or that counts as passed between two packets, ns.
const MOST_DEBT: i64 = 60 * SEC as i64;
/// Unit in which tc hands the kernel a bucket, ns.
const TICK: i64 = 64;

/// Entry in the catalogue. By default the bucket has 1600 bytes, as in the kernel runs of the oracle study.
pub(super) const ENTRY: Entry = entry(
    "htb",
    "one class of htb: a packet leaves while there are tokens at all, and the class pays later",
    &[burst(86)],
    "2.4.20",
);

/// A class.
#[derive(Clone, Debug)]
pub struct Htb {
    rate_bps: u64,
    burst_bytes: u64,
    /// Bucket, ns.
    bucket: i64,
    /// Tokens at the last update, ns; below 0 is a debt.
    tokens: i64,
    updated: Time,
}

impl Htb {
    /// A class with a full bucket of `burst_bytes`.
    #[must_use]
    pub fn new(rate_bps: u64, burst_bytes: u64) -> Self {
        let bucket = Self::bucket_for(burst_bytes, rate_bps);
        Self { rate_bps, burst_bytes, bucket, tokens: bucket, updated: 0 }
    }

    /// The time that fills a bucket as tc computes it: whole us, then whole ticks.
    fn bucket_for(burst_bytes: u64, rate_bps: u64) -> i64 {
        let us = US as i64;
        tokens_for(burst_bytes, rate_bps) / us * us / TICK * TICK
    }

    /// Return the time at which the class owes nothing, which may be past.
    #[must_use]
    pub fn ready(&self) -> Time {
        self.updated + (-self.tokens).max(0) as u64
    }

    /// Takes a packet of `len` bytes at `now`.
    pub fn take(&mut self, len: u32, now: Time) {
        let elapsed = ((now - self.updated) as i64).min(MOST_DEBT);
        let left = (self.tokens + elapsed).min(self.bucket) - tokens_for(u64::from(len), self.rate_bps);
        self.tokens = left.max(1 - MOST_DEBT);
        self.updated = now;
    }

    /// Change the rate. Tokens and debts keep their length in time.
    pub fn set_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps;
        self.bucket = Self::bucket_for(self.burst_bytes, rate_bps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_in_the_bucket_lets_one_more_packet_go() {
        let mut s = Htb::new(10_000_000, 1600);
        let now = 5 * SEC;
        s.take(1514, now);
        assert!(s.ready() <= now, "86 bytes are left");
        s.take(1514, now);
        assert_eq!(s.ready(), now + (2 * 1514 - 1600) * 800);
        let next = s.ready();
        s.take(66, next);
        assert_eq!(s.ready(), next + 66 * 800);
    }

    #[test]
    fn the_bucket_is_what_tc_makes_of_it() {
        // 1600 bytes at 3 Mbit/s are 4266.7 us; `tc -s class show` says 66656 tokens.
        assert_eq!(Htb::new(3_000_000, 1600).tokens, 66_656 * 64);
    }

    #[test]
    fn a_change_of_rate_keeps_the_debt() {
        let mut s = Htb::new(10_000_000, 1600);
        s.take(1514, 0);
        s.take(1514, 0);
        let debt = s.ready();
        s.set_rate(1_000_000);
        assert_eq!(s.ready(), debt);
        s.take(1514, debt);
        assert_eq!(s.ready(), debt + 1514 * 8000);
    }

    #[test]
    fn nobody_owes_more_than_a_minute() {
        let mut s = Htb::new(8, 1600);
        s.take(1514, 0);
        s.take(1514, 0);
        assert_eq!(s.ready(), 60 * SEC - 1);
    }
}
