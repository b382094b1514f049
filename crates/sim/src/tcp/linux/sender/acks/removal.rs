//! Removal of what an ACK acknowledges, and the RTT samples that it gives (Linux 6.12 net/ipv4/tcp_input.c, `tcp_clean_rtx_queue`,
//! `tcp_ack_update_rtt`).

use crate::cc::CongestionControl;
use crate::tcp::linux::sender::ack::{flag, AckState};
use crate::tcp::linux::sender::scoreboard::mark;
use crate::tcp::linux::sender::Sender;

/// Facts about the segments that an ACK removes.
struct Removed {
    /// Earliest and latest transmission of those that were neither retransmitted nor SACKed, us.
    first_us: Option<u64>,
    last_us: u64,
    /// Lowest of these, or the next new segment.
    reord: u32,
}

impl Sender {
    /// Removes the segments that `snd_una` now covers, of which there are some.
    #[inline(never)]
    fn remove_segments(&mut self, a: &mut AckState, ece: bool) -> Removed {
        let una = self.view.snd_una;
        let prior_sacked = self.view.sacked_out;
        let mut removed = Removed { first_us: None, last_us: 0, reord: self.view.snd_nxt };
        for seq in a.prior_una..una {
            let s = *self.board.get(seq);
            if s.marks & mark::ANY_RETRANS != 0 {
                if s.marks & mark::RETRANS != 0 {
                    self.view.retrans_out -= 1;
                }
                a.flags |= flag::RETRANS_ACKED;
            } else if s.marks & mark::SACKED == 0 {
                removed.last_us = s.sent_us();
                removed.first_us.get_or_insert(s.sent_us());
                removed.reord = removed.reord.min(seq);
                if seq < self.rec.end() {
                    a.flags |= flag::ORIG_SACK_ACKED;
                }
            }
            if s.marks & mark::SACKED != 0 {
                self.view.sacked_out -= 1;
                self.buffer.forget_merged(s.marks & mark::MERGED != 0);
            } else if self.sack {
                self.count_delivered(1, ece);
                // One that was SACKed has told when it was (`tcp_rate_skb_delivered`).
                a.note_delivery(s.sent_us(), seq, s.noted);
                let spurious =
                    s.marks & mark::ANY_RETRANS != 0 && self.timestamps && a.tsecr < (s.sent_us() / 1000) as u32;
                if !spurious {
                    self.rack_advance(s.marks, seq + 1, s.sent_us());
                }
            }
            if s.marks & mark::LOST != 0 {
                self.view.lost_out -= 1;
            }
            self.board.unlist(seq);
        }
        if self.sampler.is_some() {
            self.note_deliveries(a.prior_una..una);
        }
        self.view.packets_out -= una - a.prior_una;
        if self.view.packets_out == 0 {
            self.chrono_acknowledged();
        }
        a.flags |= flag::DATA_ACKED;
        if prior_sacked > 0 {
            self.board.trim_runs(una);
            self.part_from_removed(una);
        }
        removed
    }

    /// If the first segment that is left was joined to one that is removed, it has a head of its own again (`tcp_trim_head`).
    fn part_from_removed(&mut self, una: u32) {
        if self.view.packets_out > 0 {
            self.part(una);
        }
    }

    /// Segment `seq` has a head of its own again if it was joined to the one before; true if it was.
    pub(super) fn part(&mut self, seq: u32) -> bool {
        let was_joined = self.board.get(seq).marks & mark::MERGED != 0;
        if was_joined {
            self.board.get_mut(seq).marks &= !mark::MERGED;
            self.buffer.forget_merged(true);
        }
        was_joined
    }

    /// Removes what `snd_una` now covers, and takes RTT samples.
    #[inline(always)]
    pub(in crate::tcp::linux::sender) fn remove_acked(&mut self, a: &mut AckState, prior_sacked_seq: u32, ece: bool) {
        let una = self.view.snd_una;
        let prior_sacked = self.view.sacked_out;
        let acked = una - a.prior_una;
        // While a segment is missing most ACKs remove none.
        let removed = (acked > 0).then(|| self.remove_segments(a, ece));
        self.sample_transmission(&mut a.sample);
        if self.view.packets_out > 0 && self.board.get(una).marks & mark::SACKED != 0 {
            a.flags |= flag::RENEGING;
        }
        let (mut seq_rtt, mut sack_rtt, mut ca_rtt) = (-1, -1, -1);
        let first_us = removed.as_ref().and_then(|removed| removed.first_us);
        if let (Some(first), Some(removed), 0) = (first_us, &removed, a.flags & flag::RETRANS_ACKED) {
            seq_rtt = self.us_since(first) as i64;
            ca_rtt = self.us_since(removed.last_us) as i64;
            // Linux suspects a delayed ACK only of a lone short segment.
            if acked == 1 && prior_sacked == 0 && self.layout.payload(una - 1) < self.layout.mss() {
                a.flags |= flag::MAYBE_DELAYED;
            }
        }
        if let Some(first) = a.first_sacked_us {
            sack_rtt = self.us_since(first) as i64;
            ca_rtt = self.us_since(a.last_sacked_us) as i64;
        }
        let updated = self.ack_rtt(a, seq_rtt, sack_rtt, &mut ca_rtt);
        if let Some(removed) = removed {
            a.flags |= flag::SET_XMIT_TIMER;
            if !self.sack {
                self.take_back_duplicate_acks(acked, a, ece);
            } else if removed.reord < prior_sacked_seq {
                self.check_reordering(removed.reord);
            }
        } else if updated
            && self.view.packets_out > 0
            && sack_rtt >= 0
            && sack_rtt > self.us_since(self.board.get(una).sent_us()) as i64
        {
            // Measured on data sent before the head was last sent.
            a.flags |= flag::SET_XMIT_TIMER;
        }
        a.sample.rtt_us = ca_rtt;
        self.cc.pkts_acked(&self.view, &mut self.window, &a.sample);
    }

    /// Chooses the RTT sample: acknowledged, else SACKed, else by timestamp; true if there was one.
    #[inline(always)]
    fn ack_rtt(&mut self, a: &AckState, seq_rtt: i64, sack_rtt: i64, ca_rtt: &mut i64) -> bool {
        let mut rtt = if seq_rtt < 0 { sack_rtt } else { seq_rtt };
        if rtt < 0 && a.tsecr != 0 && a.flags & flag::DATA_ACKED != 0 {
            rtt = self.ms_since_echo(a.tsecr).map_or(-1, |ms| i64::from(ms) * 1000);
            *ca_rtt = rtt;
        }
        if rtt < 0 {
            return false;
        }
        self.take_rtt(rtt as u32, (*ca_rtt).max(0) as u32, a.flags & flag::MAYBE_DELAYED != 0);
        true
    }

    /// Feeds the estimators.
    #[inline(always)]
    pub(in crate::tcp::linux) fn take_rtt(&mut self, rtt_us: u32, ca_rtt_us: u32, maybe_delayed: bool) {
        if !(maybe_delayed && ca_rtt_us > self.view.min_rtt_us) {
            let sample = if ca_rtt_us == 0 { self.clock.to_us(1) as u32 } else { ca_rtt_us };
            self.view.min_rtt_us = self.min_rtt.update(self.view.jiffies, sample);
        }
        self.rtt.sample(rtt_us, self.view.snd_una, self.view.snd_nxt);
        self.view.srtt_us8 = self.rtt.srtt_us8();
    }
}
