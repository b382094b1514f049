//! Connections without SACK: each duplicate ACK stands for one segment that has left the network (NewReno, RFC 6582; Linux 6.12
//! net/ipv4/tcp_input.c `tcp_add_reno_sack`, `tcp_remove_reno_sacks`, `tcp_check_reno_reordering`; tcp_recovery.c `tcp_newreno_mark_lost`).
//! `sacked_out` counts those segments, although nobody knows which they are.

use crate::cc::CaState;
use crate::tcp::linux::sender::ack::{flag, AckState};
use crate::tcp::linux::sender::scoreboard::mark;
use crate::tcp::linux::sender::Sender;

impl Sender {
    /// A duplicate ACK came.
    #[cold]
    pub(in crate::tcp::linux::sender) fn count_duplicate_ack(&mut self, ece: bool) {
        let before = self.view.sacked_out;
        self.view.sacked_out += 1;
        self.limit_duplicate_acks(0);
        self.count_delivered(self.view.sacked_out.saturating_sub(before), ece);
    }

    /// Outside recovery duplicate ACKs are counted from the last progress on.
    #[cold]
    pub(in crate::tcp::linux::sender) fn count_or_begin_again(&mut self, a: &AckState, ece: bool) {
        if a.flags & flag::UNA_ADVANCED != 0 {
            self.view.sacked_out = 0;
        }
        if a.duplicate {
            self.count_duplicate_ack(ece);
        }
    }

    /// An ACK has removed `acked` segments: one of them filled the hole, and the others are those that duplicate ACKs stood for.
    #[cold]
    pub(in crate::tcp::linux::sender) fn take_back_duplicate_acks(&mut self, acked: u32, a: &mut AckState, ece: bool) {
        if acked > 0 {
            self.count_delivered(acked.saturating_sub(self.view.sacked_out).max(1), ece);
            self.view.sacked_out = self.view.sacked_out.saturating_sub(acked - 1);
        }
        self.limit_duplicate_acks(acked);
        if a.flags & flag::RETRANS_ACKED != 0 {
            // Nothing tells the original transmission from the retransmission.
            a.flags &= !flag::ORIG_SACK_ACKED;
        }
    }

    /// Duplicate ACKs cannot stand for more than what is outstanding without the hole: more of them show that the network reorders.
    fn limit_duplicate_acks(&mut self, acked: u32) {
        let outstanding = self.view.packets_out;
        let holes = self.view.lost_out.max(1).min(outstanding);
        if self.view.sacked_out + holes > outstanding {
            self.view.sacked_out = outstanding - holes;
            self.reordering.raise_to(outstanding + acked);
        }
    }

    /// Without SACK a loss is known from enough duplicate ACKs, and in recovery from an ACK that ends at the next hole.
    #[cold]
    pub(in crate::tcp::linux::sender) fn mark_head_lost(&mut self, una_advanced: bool) {
        let state = self.view.state;
        if (state < CaState::Recovery && self.view.sacked_out >= self.reordering.degree())
            || (state == CaState::Recovery && una_advanced)
        {
            let head = self.view.snd_una;
            if self.board.get(head).marks & mark::LOST == 0 {
                self.mark_lost(head);
            }
        }
    }

    /// A SYN timed out: the state of loss that began then lasts until data are acknowledged (`tcp_try_undo_recovery`).
    #[cold]
    pub(in crate::tcp::linux::sender) fn hold_loss_of_syn(&mut self) {
        self.view.state = CaState::Loss;
        self.rec.extend_to(self.view.snd_una);
        self.rec.watch_timeout(true);
    }

    /// True if an episode of a connection without SACK is held until something beyond it is acknowledged: what comes before may be duplicate
    /// ACKs of the episode's own retransmissions (`tcp_is_non_sack_preventing_reopen`).
    pub(in crate::tcp::linux::sender) fn holds_episode(&mut self) -> bool {
        let holds = !self.sack && self.view.snd_una == self.rec.end();
        if holds && !self.any_retrans_done() {
            self.undo.forget_retransmissions();
        }
        holds
    }
}
