//! Undoing reductions that proved wrong: by timestamps (Eifel, RFC 3522), by D-SACK (RFC 3708), after a spurious timeout
//! (F-RTO, RFC 5682), as Linux 6.12 net/ipv4/tcp_input.c does.

use super::ack::AckState;
use super::scoreboard::mark;
use super::Sender;
use crate::cc::{CaState, CongestionControl};
use crate::tcp::linux::loss::rack::REORDER_PERSIST;

impl Sender {
    /// The ACK echoes a timestamp from before the first retransmission (or nothing was retransmitted).
    fn packet_delayed(&self, tsecr: u32) -> bool {
        self.rec.retrans_stamp.is_none_or(|stamp| tsecr < stamp)
    }

    pub(in crate::tcp::linux) fn may_undo(&self, tsecr: u32) -> bool {
        self.rec.undo_marker.is_some() && (self.rec.undo_retrans == 0 || self.packet_delayed(tsecr))
    }

    fn undo_reduction(&mut self, unmark_loss: bool) {
        if unmark_loss {
            for seq in self.view.snd_una..self.view.snd_nxt {
                self.board.get_mut(seq).marks &= !mark::LOST;
            }
            self.view.lost_out = 0;
            self.board.clear_lost();
        }
        if self.rec.prior_ssthresh != 0 {
            self.window.cwnd = self.cc.undo_cwnd(&self.view, &self.window);
            if self.rec.prior_ssthresh > self.window.ssthresh {
                self.window.ssthresh = self.rec.prior_ssthresh;
                self.queue_cwr = false;
            }
        }
        self.rec.undo_marker = None;
        self.rack.advanced = true;
        self.counters.undos += 1;
    }

    pub(in crate::tcp::linux) fn try_undo_recovery(&mut self, tsecr: u32) {
        if self.may_undo(tsecr) {
            self.undo_reduction(false);
        } else {
            self.rack.persist = self.rack.persist.saturating_sub(1);
        }
        self.set_state(CaState::Open);
    }

    pub(in crate::tcp::linux) fn try_undo_dsack(&mut self) -> bool {
        if self.rec.undo_marker.is_none() || self.rec.undo_retrans != 0 {
            return false;
        }
        self.rack.persist = (self.rack.persist + 1).min(REORDER_PERSIST);
        self.undo_reduction(false);
        true
    }

    pub(in crate::tcp::linux) fn try_undo_loss(&mut self, frto: bool, tsecr: u32) -> bool {
        if !frto && !self.may_undo(tsecr) {
            return false;
        }
        self.undo_reduction(true);
        self.rec.timeouts = 0;
        self.set_state(CaState::Open);
        true
    }

    /// Undo on a partial ACK in recovery; true if nothing more is to be marked or retransmitted now.
    pub(in crate::tcp::linux) fn try_undo_partial(&mut self, a: &AckState) -> bool {
        if self.rec.undo_marker.is_some() && self.packet_delayed(a.tsecr) {
            self.check_reordering(a.prior_una);
            if self.view.retrans_out > 0 {
                return true;
            }
            if !self.any_retrans_done() {
                self.rec.retrans_stamp = None;
            }
            self.undo_reduction(true);
            self.try_keep_open();
        }
        false
    }

    /// Something above `low` was delivered before `low`, which was never retransmitted.
    pub(in crate::tcp::linux) fn check_reordering(&mut self, low: u32) {
        self.note_reordering(low, self.highest_sacked_seq());
    }

    /// Something just below `high` was delivered before `low`, which was never retransmitted.
    pub(in crate::tcp::linux) fn note_reordering(&mut self, low: u32, high: u32) {
        if low >= high {
            return;
        }
        let distance = high - low;
        if distance > self.rec.reordering {
            self.rec.reordering = distance.min(self.stack.max_reordering);
            self.fack.disable();
        }
        self.rec.reordering_seen = true;
    }

    /// End of the highest SACKed range, or the cumulative point.
    pub(in crate::tcp::linux) fn highest_sacked_seq(&self) -> u32 {
        if self.view.sacked_out == 0 {
            self.view.snd_una
        } else {
            self.board.highest_sacked.max(self.view.snd_una)
        }
    }
}
