//! The time of a transfer on a path that nothing else uses, by a formula. Slowdowns are relative to this time.
//!
//! The formula adds a round trip for the handshake; rounds of slow start; the rest of the data at the rate of the slowest link; and the way
//! of the last byte. A round of slow start takes a round trip and the time of a full frame on the slowest link. The window doubles from the
//! initial one until a window fills the round trip. Left out: all links but the slowest, losses that slow start itself causes, leaving slow
//! start early (HyStart), delayed ACKs, the burst that a shaper's bucket lets through, and changes of the rate.

use crate::spec::{Direction, NetworkSpec, PartOfRtt, TcpSpec};
use crate::time::{Time, SEC};

/// A path that nothing else uses, and TCP's initial window.
#[derive(Clone, Debug)]
pub struct Alone {
    there: Way,
    back: Way,
    /// The minimum rate on the way of the data, bit/s; none: all are infinitely fast.
    rate_bps: Option<u64>,
    /// Payload of a full segment, bytes.
    segment_bytes: u32,
    /// Length of the headers of a segment, bytes.
    headers: u32,
    /// Segments.
    initial_cwnd: u32,
}

/// The delays of the ports on a way.
#[derive(Clone, Debug, Default)]
struct Way {
    /// For all connections, ns.
    delay: Time,
    /// Parts of the RTT that a connection has of its own.
    parts: Vec<PartOfRtt>,
}

impl Way {
    fn of(network: &NetworkSpec, path: usize, direction: Direction) -> Self {
        let mut way = Self::default();
        for &port in network.paths[path].ports(direction) {
            way.delay = way.delay.saturating_add(network.ports[port].delay_ns());
            way.parts.extend(network.ports[port].part_of_rtt());
        }
        way
    }

    fn time(&self, own_rtt: Time) -> Time {
        self.parts.iter().fold(self.delay, |sum, part| sum.saturating_add(part.of(own_rtt)))
    }
}

impl Alone {
    /// On path `path` of a network for connections with this in common.
    #[must_use]
    pub fn of(network: &NetworkSpec, path: usize, tcp: &TcpSpec, initial_cwnd: u32) -> Self {
        let (direction, segment_bytes) = (tcp.direction, tcp.segment_bytes);
        let ports = network.paths[path].ports(direction).iter();
        let rate_bps = ports.filter_map(|&port| network.ports[port].rate_bps()).min();
        let [there, back] = [direction, direction.opposite()].map(|direction| Way::of(network, path, direction));
        let headers = tcp.options().headers();
        Self { there, back, rate_bps, segment_bytes, headers, initial_cwnd }
    }

    /// Return the time from connect() to the last byte read, ns, for a transfer of `bytes` over a connection with an RTT of its own (0:
    /// none).
    #[must_use]
    pub fn time(&self, bytes: u64, own_rtt: Time) -> Time {
        // The bits and nanoseconds of the largest transfer need more than 64 bits.
        let ns = |bytes: u64, rate: u64| (u128::from(bytes) * u128::from(8 * SEC)).div_ceil(rate.into());
        let line = |bytes: u64| self.rate_bps.map_or(0, |rate| u64::try_from(ns(bytes, rate)).unwrap_or(u64::MAX));
        let there = self.there.time(own_rtt);
        let rtt = there.saturating_add(self.back.time(own_rtt));
        let full = u64::from(self.segment_bytes.max(1));
        let segments = bytes.div_ceil(full);
        let frame = line(full + u64::from(self.headers));
        let (mut time, mut sent, mut cwnd) = (rtt, 0, u64::from(self.initial_cwnd.max(1)));
        while segments - sent > cwnd && cwnd.saturating_mul(frame) < rtt {
            time = time.saturating_add(rtt + frame);
            sent += cwnd;
            cwnd = cwnd.saturating_mul(2);
        }
        let rest = bytes - sent * full + (segments - sent) * u64::from(self.headers);
        time.saturating_add(line(rest)).saturating_add(there)
    }
}

#[cfg(test)]
mod tests {
    use super::{Alone, Way};
    use crate::spec::PartOfRtt;
    use crate::time::MS;

    #[test]
    fn slow_start_takes_rounds_until_the_line_is_full() {
        // A full frame takes 1.2112 ms.
        let way = |delay| Way { delay, parts: vec![] };
        let alone = Alone {
            there: way(20 * MS),
            back: way(20 * MS),
            rate_bps: Some(10_000_000),
            segment_bytes: 1448,
            headers: 66,
            initial_cwnd: 10,
        };
        assert_eq!(alone.time(1448, 0), 60 * MS + 1_211_200);
        assert_eq!(alone.time(1, 0), 60 * MS + 67 * 800);
        assert_eq!(alone.time(14_480, 0), 60 * MS + 12_112_000);
        // One more waits for the first ACK.
        assert_eq!(alone.time(14_481, 0), 40 * MS + 41_211_200 + 67 * 800 + 20 * MS);
        // Two rounds later the window of 40 fills the round trip: the rest goes at the line's rate.
        assert_eq!(alone.time(1000 * 1448, 0), 40 * MS + 2 * 41_211_200 + 970 * 1_211_200 + 20 * MS);
        let endless = Alone { rate_bps: None, ..alone };
        assert_eq!(endless.time(14_480, 0), 60 * MS);
        let own = Way { delay: 5 * MS, parts: vec![PartOfRtt::Whole] };
        assert_eq!(Alone { back: own, ..endless }.time(14_480, 30 * MS), (20 + 35 + 20) * MS);
    }
}
