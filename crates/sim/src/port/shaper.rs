//! Shapers: when the next packet may leave a queue discipline.

use super::htb::Htb;
use super::tbf::Tbf;
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
    /// Token bucket filter.
    Tbf(Tbf),
    /// A class of a hierarchical token bucket.
    Htb(Htb),
    /// The qdisc shapes itself.
    Own,
}

impl Shaper {
    /// Builds a shaper; an error says which parameter cannot be.
    pub fn build(spec: &ShaperSpec) -> Result<Self, String> {
        match *spec {
            ShaperSpec::Link { rate_bps: 0 }
            | ShaperSpec::Tbf { rate_bps: 0, .. }
            | ShaperSpec::Htb { rate_bps: 0, .. } => Err("rate is 0".to_owned()),
            ShaperSpec::Link { rate_bps } => Ok(Self::Link { rate_bps, free_at: 0 }),
            ShaperSpec::Tbf { rate_bps, burst_bytes } => Ok(Self::Tbf(Tbf::new(rate_bps, burst_bytes)?)),
            ShaperSpec::Htb { rate_bps, burst_bytes } => Ok(Self::Htb(Htb::new(rate_bps, burst_bytes))),
            ShaperSpec::Own => Ok(Self::Own),
        }
    }

    /// Takes a packet of `len` bytes at `now`; returns how much later its last bit is out.
    #[inline]
    pub fn take(&mut self, len: u32, now: Time) -> Duration {
        match self {
            Self::Link { rate_bps, free_at } => {
                let ser = serialisation(u64::from(len), *rate_bps);
                *free_at = now + ser;
                return ser;
            }
            Self::Tbf(tbf) => tbf.take(len, now),
            Self::Htb(htb) => htb.take(len, now),
            Self::Own => {}
        }
        0
    }
}

/// Time that `bytes` take at `rate_bps`, ns, rounded down; saturates well below overflow.
pub(super) fn tokens_for(bytes: u64, rate_bps: u64) -> i64 {
    i64::try_from(u128::from(bytes) * 8 * u128::from(SEC) / u128::from(rate_bps)).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_stores_and_forwards() {
        let mut s = Shaper::build(&ShaperSpec::Link { rate_bps: 12_112_000 }).unwrap();
        assert_eq!(s.take(1514, 7), 1_000_000);
        assert!(matches!(s, Shaper::Link { free_at: 1_000_007, .. }));
    }
}
