//! Shapers: when the next packet may leave a queue discipline.

use crate::network::ShaperSpec;
use crate::time::{serialisation, Duration, Time, SEC};

/// State of a shaper.
#[derive(Clone, Debug)]
pub enum Shaper {
    /// Store and forward: a packet is taken when the line is free and has left one serialisation time later.
    Link {
        /// Rate, bit/s.
        rate_bps: u64,
        /// When the line is free.
        free_at: Time,
    },
    /// Token bucket, Linux 6.12 net/sched/sch_tbf.c with one rate: tokens count time; a packet leaves, whole, once
    /// there are tokens for it.
    Tbf {
        /// Rate, bit/s.
        rate_bps: u64,
        /// Bucket, ns.
        bucket: i64,
        /// Tokens, ns.
        tokens: i64,
        /// Time of the last update.
        updated: Time,
    },
    /// The qdisc shapes itself.
    Own,
}

impl Shaper {
    /// Builds a shaper; an error says which parameter cannot be.
    pub fn build(spec: &ShaperSpec) -> Result<Self, String> {
        match *spec {
            ShaperSpec::Link { rate_bps: 0 } | ShaperSpec::Tbf { rate_bps: 0, .. } => Err("rate is 0".to_owned()),
            ShaperSpec::Link { rate_bps } => Ok(Self::Link { rate_bps, free_at: 0 }),
            ShaperSpec::Tbf { rate_bps, burst_bytes } => {
                if burst_bytes < u64::from(crate::packet::FULL_FRAME) {
                    return Err(format!("burst of {burst_bytes} bytes is below one frame (1514)"));
                }
                let bucket = Self::tokens_for(burst_bytes, rate_bps);
                Ok(Self::Tbf { rate_bps, bucket, tokens: bucket, updated: 0 })
            }
            ShaperSpec::Own => Ok(Self::Own),
        }
    }

    /// Time that `bytes` take at `rate_bps`, ns; saturates well below overflow.
    fn tokens_for(bytes: u64, rate_bps: u64) -> i64 {
        i64::try_from(u128::from(bytes) * 8 * u128::from(SEC) / u128::from(rate_bps)).unwrap_or(i64::MAX / 4)
    }

    /// When a packet of `len` bytes may be taken, `now` at the earliest.
    #[must_use]
    pub fn ready(&self, len: u32, now: Time) -> Time {
        match *self {
            Self::Link { free_at, .. } => free_at.max(now),
            Self::Tbf { rate_bps, bucket, tokens, updated } => {
                let have = (tokens + (now - updated) as i64).min(bucket);
                let missing = Self::tokens_for(u64::from(len), rate_bps) - have;
                now + missing.max(0) as u64
            }
            Self::Own => now,
        }
    }

    /// Takes a packet of `len` bytes at `now`; returns how much later its last bit is out.
    pub fn take(&mut self, len: u32, now: Time) -> Duration {
        match self {
            Self::Link { rate_bps, free_at } => {
                let ser = serialisation(u64::from(len), *rate_bps);
                *free_at = now + ser;
                ser
            }
            Self::Tbf { rate_bps, bucket, tokens, updated } => {
                *tokens =
                    (*tokens + (now - *updated) as i64).min(*bucket) - Self::tokens_for(u64::from(len), *rate_bps);
                *updated = now;
                0
            }
            Self::Own => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tbf_lets_an_idle_packet_go_at_once_and_spaces_the_rest() {
        let mut s = Shaper::build(&ShaperSpec::Tbf { rate_bps: 10_000_000, burst_bytes: 1540 }).unwrap();
        let mut now = 5 * SEC;
        assert_eq!(s.ready(1514, now), now);
        s.take(1514, now);
        // 1540 - 1514 bytes of tokens are left for the second.
        assert_eq!(s.ready(1514, now), now + (1514 - 26) * 800);
        for _ in 0..100 {
            let next = s.ready(1514, now);
            s.take(1514, next);
            now = next;
        }
        assert_eq!(now, 5 * SEC + (1514 * 100 - 26) * 800);
    }

    #[test]
    fn link_stores_and_forwards() {
        let mut s = Shaper::build(&ShaperSpec::Link { rate_bps: 12_112_000 }).unwrap();
        assert_eq!(s.take(1514, 7), 1_000_000);
        assert_eq!(s.ready(66, 8), 1_000_007);
    }
}
