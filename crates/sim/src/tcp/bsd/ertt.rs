//! RTTs a segment, and one marked segment a round trip, for CDG (tag releng/9.3 sys/netinet/khelp/h_ertt.c r239474). An ACK of a single
//! segment that may have been delayed gives no RTT.
//!
//! Leaves out: segmentation offload, what else it counts of a round trip (bytes sent, the window).

use std::collections::VecDeque;

/// Weight of the guess that ACKs are delayed (`DLYACK_SMOOTH`).
const DELAYED_SMOOTH: u8 = 5;
/// Errors in timestamps after which they are not looked at (`MAX_TS_ERR`).
const MOST_ERRORS: u8 = 10;

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    seq: u32,
    bytes: u32,
    /// Its timestamp, and the one that it echoed.
    tsval: u32,
    tsecr: u32,
    /// The round trip of this segment is measured.
    marked: bool,
}

/// An ACK, before what it acknowledges is taken away.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    /// Segment that is expected next.
    pub ack: u32,
    /// Bytes that it acknowledges anew; negative: it is old.
    pub bytes: i64,
    /// End of the highest block that it brought, if the scoreboard took in any.
    pub last_sack: Option<u32>,
    pub tsval: u32,
    pub tsecr: u32,
    pub now_ms: u32,
}

/// Measurement of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Ertt {
    sent: VecDeque<Sent>,
    /// Last RTT, ms, plus 1; 0 before the first.
    pub rtt: i32,
    /// A round trip was measured since the module looked.
    pub new_measurement: bool,
    in_progress: bool,
    /// Guess that ACKs are delayed, 0 to 5.
    delayed: u8,
    errors: u8,
}

impl Ertt {
    /// A segment leaves.
    pub fn on_sent(&mut self, seq: u32, bytes: u32, tsval: u32, tsecr: u32) {
        let marked = !std::mem::replace(&mut self.in_progress, true);
        self.sent.push_back(Sent { seq, bytes, tsval, tsecr, marked });
    }

    /// An ACK arrives.
    pub fn on_ack(&mut self, heard: &Heard) {
        let by_sack = heard.last_sack.is_some();
        if heard.bytes <= 0 && !by_sack {
            return;
        }
        let ack = match heard.last_sack {
            Some(end) if heard.bytes == 0 => end,
            _ => heard.ack,
        };
        let mut measured = false;
        while let Some(&first) = self.sent.front() {
            if ack > first.seq + 1 {
                measured |= first.marked;
                self.sent.pop_front();
                continue;
            }
            let several = !by_sack && self.guess(heard.bytes, i64::from(first.bytes));
            if self.errors < MOST_ERRORS && heard.tsecr != 0 {
                if self.delayed == 0 && heard.tsecr < first.tsval {
                    break;
                }
                if heard.tsecr > first.tsval {
                    measured |= first.marked;
                    self.sent.pop_front();
                    continue;
                }
                if heard.tsecr == first.tsval && heard.tsval < first.tsecr {
                    self.errors += 1;
                }
            }
            if ack <= first.seq {
                break;
            }
            if self.delayed == 0 || several || by_sack {
                self.rtt = (heard.now_ms - first.tsval + 1) as i32;
            }
            measured |= first.marked;
            self.sent.pop_front();
            break;
        }
        if measured {
            (self.new_measurement, self.in_progress) = (true, false);
        }
    }

    /// Guesses from an ACK for so many bytes if the peer delays its ACKs; true if it is for several segments.
    fn guess(&mut self, acked: i64, first: i64) -> bool {
        let several = acked > i64::from(crate::packet::MSS) || acked > first;
        if several {
            self.delayed = (self.delayed + 1).min(DELAYED_SMOOTH);
        } else if acked == i64::from(crate::packet::MSS) || acked == first {
            self.delayed = self.delayed.saturating_sub(1);
        }
        several
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::MSS;

    /// An ACK for `segments` new ones up to `ack`, at `now_ms`, which echoes `tsecr`.
    fn heard(ack: u32, segments: u32, tsecr: u32, now_ms: u32) -> Heard {
        Heard { ack, bytes: i64::from(segments * MSS), last_sack: None, tsval: now_ms, tsecr, now_ms }
    }

    fn sent(times: &[u32]) -> Ertt {
        let mut e = Ertt::default();
        for (i, &ms) in times.iter().enumerate() {
            e.on_sent(i as u32 + 1, MSS, ms, 0);
        }
        e
    }

    #[test]
    fn one_segment_a_round_trip_is_marked() {
        let mut e = sent(&[10, 11, 12, 13]);
        e.on_ack(&heard(2, 1, 10, 40));
        assert_eq!((e.rtt, e.new_measurement), (31, true));
        e.new_measurement = false;
        e.on_ack(&heard(3, 1, 11, 42));
        assert_eq!((e.rtt, e.new_measurement), (32, false), "the next mark goes on the next segment that leaves");
        e.on_sent(5, MSS, 42, 0);
        e.on_ack(&heard(4, 1, 12, 43));
        e.on_ack(&heard(5, 1, 13, 44));
        assert!(!e.new_measurement);
        e.on_ack(&heard(6, 1, 42, 80));
        assert_eq!((e.rtt, e.new_measurement), (39, true));
    }

    #[test]
    fn an_ack_for_two_measures_the_second_and_a_delayed_one_measures_nothing() {
        let mut e = sent(&[10, 20, 30]);
        e.on_ack(&heard(3, 2, 10, 60));
        assert_eq!((e.rtt, e.new_measurement), (41, true), "the marked first is passed, and a measurement forced");
        // One segment alone: it may have waited for the timer.
        e.on_ack(&heard(4, 1, 30, 190));
        assert_eq!(e.rtt, 161, "the guess of delayed ACKs is back at none");
        let mut e = sent(&[10, 20, 30, 40, 50]);
        e.on_ack(&heard(3, 2, 10, 60));
        e.on_ack(&heard(5, 2, 30, 70));
        e.on_ack(&heard(6, 1, 50, 300));
        assert_eq!(e.rtt, 31, "after two ACKs of two, one of one is taken for delayed");
    }

    #[test]
    fn a_block_measures_what_it_reports() {
        let mut e = sent(&[10, 11, 12]);
        e.on_ack(&Heard { bytes: 0, last_sack: Some(3), ..heard(1, 0, 9, 50) });
        // The echo is older than the segments: the ACK tells nothing of them.
        assert_eq!((e.rtt, e.new_measurement), (0, true));
        let mut e = sent(&[10, 10, 10]);
        e.on_ack(&Heard { bytes: 0, last_sack: Some(3), ..heard(1, 0, 10, 50) });
        assert_eq!((e.rtt, e.new_measurement), (41, true));
    }

    #[test]
    fn an_old_ack_changes_nothing() {
        let mut e = sent(&[10]);
        e.on_ack(&Heard { bytes: -1448, ..heard(1, 0, 10, 50) });
        e.on_ack(&heard(1, 0, 10, 50));
        assert_eq!((e.rtt, e.new_measurement, e.sent.len()), (0, false, 1));
    }
}
