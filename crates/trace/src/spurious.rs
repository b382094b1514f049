//! Retransmissions that were not needed, and the evidence for it. The receiver says that it had the data (D-SACK, RFC 2883). Or an ACK for
//! them echoes a timestamp from before the retransmission (Eifel, RFC 3522). Or they had been acknowledged already. Or, if the SYNs agreed
//! on no timestamps, their ACK came sooner after the retransmission than any segment's that was sent once. Each retransmission counts once.

use crate::packet::before;

/// Number of retransmissions that are remembered for later evidence.
const MOST: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Resent {
    start: i64,
    end: i64,
    time_ns: i64,
    /// Its timestamp.
    stamp: Option<u32>,
    acknowledged: bool,
    spurious: bool,
}

/// The latest retransmissions of one end.
#[derive(Debug, Default)]
pub struct Retransmissions {
    latest: Vec<Resent>,
    /// Place of the next one.
    next: usize,
}

impl Retransmissions {
    /// A packet was sent that had been sent before, of `[start, end)`. Returns true if that was known to be for nothing: everything in it was
    /// acknowledged (before `una`).
    pub fn sent(&mut self, start: i64, end: i64, time_ns: i64, stamp: Option<u32>, una: i64) -> bool {
        let needless = end <= una;
        let new = Resent { start, end, time_ns, stamp, acknowledged: needless, spurious: needless };
        if self.latest.len() < MOST {
            self.latest.push(new);
        } else {
            self.latest[self.next] = new;
            self.next = (self.next + 1) % MOST;
        }
        needless
    }

    /// An ACK up to `ack` came that echoes the timestamp `echo`; `least_rtt_ns` is the minimum RTT so far. Return how many retransmissions
    /// it shows to have been for nothing.
    pub fn acknowledged(&mut self, ack: i64, time_ns: i64, echo: Option<u32>, least_rtt_ns: Option<i64>) -> u64 {
        let mut found = 0;
        for each in self.latest.iter_mut().filter(|each| !each.acknowledged && each.end <= ack) {
            each.acknowledged = true;
            each.spurious = match (each.stamp, echo) {
                (Some(stamp), Some(echo)) => before(echo, stamp),
                _ => least_rtt_ns.is_some_and(|least| time_ns - each.time_ns < least),
            };
            found += u64::from(each.spurious);
        }
        found
    }

    /// The receiver reported `[start, end)` as received twice. Returns true if a retransmission is now known to have been for nothing.
    pub fn reported(&mut self, start: i64, end: i64) -> bool {
        let newest = self
            .latest
            .iter_mut()
            .filter(|each| !each.spurious && each.start < end && start < each.end)
            .max_by_key(|each| each.time_ns);
        newest.map(|each| each.spurious = true).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_retransmission_counts_once() {
        let mut all = Retransmissions::default();
        assert!(!all.sent(0, 100, 10, Some(7), 0) && !all.sent(100, 200, 11, Some(7), 0));
        // The ACK echoes the original of the first, and the retransmission of the second.
        assert_eq!(all.acknowledged(100, 12, Some(6), None), 1);
        assert_eq!(all.acknowledged(200, 13, Some(7), None), 0);
        assert!(!all.reported(0, 100) && all.reported(100, 200) && !all.reported(100, 200));
        assert!(all.sent(0, 100, 14, None, 200) && !all.reported(0, 100));
    }

    #[test]
    fn without_timestamps_the_rtt_says_so() {
        let mut all = Retransmissions::default();
        all.sent(0, 100, 1000, None, 0);
        all.sent(100, 200, 1000, None, 0);
        assert_eq!((all.acknowledged(100, 1019, None, Some(20)), all.acknowledged(200, 1020, None, Some(20))), (1, 0));
    }
}
