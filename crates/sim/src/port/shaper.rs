//! Shapers: when the next packet may leave a queue discipline.

use super::htb::Htb;
use super::tbf::Tbf;
use crate::network::ShaperSpec;
use crate::qdisc::{Dequeued, Qdisc, Surroundings};
use crate::time::{serialisation, Time, SEC};

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

    /// Takes the next packet of `qdisc` that may go by now; see [`Self::out`].
    #[inline(always)]
    pub fn dequeue(&mut self, qdisc: &mut impl Qdisc, s: &mut Surroundings) -> Dequeued {
        let now = s.now;
        if qdisc.packets() == 0 {
            // A free line asks for a packet; the others know that there is none.
            if let Self::Link { free_at, .. } = self {
                qdisc.found_empty((*free_at).max(now));
            }
            return Dequeued::Empty;
        }
        match self {
            // A line takes a packet out only when it is free; a token bucket must know its length first.
            Self::Link { free_at, .. } if *free_at > now => Dequeued::Wait(*free_at),
            Self::Link { rate_bps, free_at } => {
                qdisc.dequeue(s).counted(|len| *free_at = now + serialisation(u64::from(len), *rate_bps))
            }
            Self::Htb(htb) if htb.ready() > now => Dequeued::Wait(htb.ready()),
            Self::Htb(htb) => qdisc.dequeue(s).counted(|len| htb.take(len, now)),
            Self::Tbf(tbf) => qdisc.dequeue_when(|len| tbf.ready(len, now), s).counted(|len| tbf.take(len, now)),
            Self::Own => qdisc.dequeue(s),
        }
    }

    /// When the last bit of a packet that was taken `now` is out.
    #[inline]
    #[must_use]
    pub fn out(&self, now: Time) -> Time {
        match self {
            Self::Link { free_at, .. } => *free_at,
            Self::Tbf(_) | Self::Htb(_) | Self::Own => now,
        }
    }
}

/// Time that `bytes` take at `rate_bps`, ns, rounded down; saturates well below overflow.
pub(super) fn tokens_for(bytes: u64, rate_bps: u64) -> i64 {
    i64::try_from(u128::from(bytes) * 8 * u128::from(SEC) / u128::from(rate_bps)).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Ecn, FULL_FRAME};
    use crate::qdisc::lab::packet;
    use crate::qdisc::{Fifo, Limit};
    use crate::rng::Rng;

    #[test]
    fn link_stores_and_forwards() {
        let mut line = Shaper::build(&ShaperSpec::Link { rate_bps: 12_112_000 }).unwrap();
        let mut rng = Rng::for_component(1, "port/q");
        let mut s = Surroundings { now: 7, rng: &mut rng, dropped: &mut vec![], tuples: &[] };
        let mut fifo = Fifo::new(Limit::Packets(2));
        for seq in 0..2 {
            fifo.enqueue(packet(0, FULL_FRAME, seq, Ecn::NotEct), &mut s);
        }
        assert!(matches!(line.dequeue(&mut fifo, &mut s), Dequeued::Packet(p) if p.seq == 0));
        assert_eq!(line.out(s.now), 1_000_007);
        assert!(matches!(line.dequeue(&mut fifo, &mut s), Dequeued::Wait(1_000_007)));
        s.now = 1_000_007;
        assert!(matches!(line.dequeue(&mut fifo, &mut s), Dequeued::Packet(p) if p.seq == 1));
        assert_eq!(line.out(s.now), 2_000_007);
        assert!(matches!(line.dequeue(&mut fifo, &mut s), Dequeued::Empty));
    }
}
