//! Timeouts: F-RTO in its first form with SACK, which marks nothing as lost before two ACKs have told (RFC 4138 appendix B; Linux 3.9
//! net/ipv4/tcp_input.c, tcp_enter_frto, tcp_process_frto), or slow start at once (tcp_enter_loss).
//!
//! Leaves out: the other responses to a spurious timeout (sysctl tcp_frto_response 1 and 2), basic F-RTO (tcp_frto 1).

use crate::cc::{CaState, CongestionControl, Event};
use crate::tcp::linux::sender::ack::{flag, AckState};
use crate::tcp::linux::sender::scoreboard::mark;
use crate::tcp::linux::sender::Sender;

/// Segments that may be sent when the first ACK shows that the timeout was for a loss, and when a later one does.
const AFTER_FIRST: u32 = 2;
const AFTER_LATER: u32 = 3;

impl Sender {
    /// F-RTO is at work: recovery must wait.
    pub(in crate::tcp::linux) fn frto_waits(&self) -> bool {
        self.fack.frto_step > 0
    }

    /// The timer fired: waits for what the retransmission of the first segment brings.
    pub(in crate::tcp::linux) fn enter_frto(&mut self) {
        let (una, high_seq, waits) = (self.view.snd_una, self.rec.end(), self.frto_waits());
        let untouched = !waits && self.view.state <= CaState::Disorder;
        let answered = (self.view.state == CaState::Loss || waits) && self.rec.made_progress();
        if untouched || una == high_seq || answered {
            self.undo.remember_ssthresh(self.window.current_ssthresh(&self.view));
            let cwnd = self.window.cwnd;
            if waits {
                // The reduction of the timeout before has not been made yet.
                self.window.cwnd = 2;
            }
            self.view.prior_cwnd = self.window.cwnd;
            self.window.ssthresh = self.cc.ssthresh(&self.view, &self.window);
            self.window.cwnd = cwnd;
            self.counters.cwnd_reductions += 1;
        }
        self.undo.begin(una, 0);
        let head = self.board.get_mut(una);
        if head.marks & mark::ANY_RETRANS != 0 {
            self.undo.forbid();
        }
        if head.marks & mark::RETRANS != 0 {
            head.marks &= !mark::RETRANS;
            self.view.retrans_out -= 1;
        }
        self.window.cwnd = self.window.cwnd.min(self.view.in_flight() + 1);
        let recovering = waits || self.view.state >= CaState::Recovery;
        self.fack.frto_highmark = Some(if recovering && high_seq > una { high_seq } else { self.view.snd_nxt });
        self.set_state(CaState::Disorder);
        self.rec.extend_to(self.view.snd_nxt);
        self.fack.frto_step = 1;
    }

    /// Tells F-RTO of an ACK; true if the window is not to grow.
    pub(in crate::tcp::linux) fn process_frto(&mut self, a: &AckState) -> bool {
        let Some(highmark) = self.fack.frto_highmark.filter(|_| self.frto_waits()) else { return false };
        let has = |wanted: u32| a.flags & wanted != 0;
        let later = self.fack.frto_step > 1;
        if has(flag::NONHEAD_RETRANS_ACKED) || (later && has(flag::RETRANS_ACKED)) {
            self.undo.forbid();
        }
        if self.view.snd_una >= highmark {
            self.enter_frto_loss(if later { AFTER_LATER } else { AFTER_FIRST }, a.flags);
            return true;
        }
        if !later {
            if !has(flag::DATA_ACKED) {
                if self.view.in_flight() == 0 {
                    self.enter_frto_loss(AFTER_FIRST, a.flags);
                } else {
                    // Nothing new before the first ACK.
                    self.window.cwnd = self.window.cwnd.min(self.view.in_flight());
                }
                return true;
            }
            self.window.cwnd = self.view.in_flight() + AFTER_FIRST;
            self.fack.frto_step = 2;
            if !self.may_send_now() {
                self.enter_frto_loss(AFTER_FIRST, a.flags);
            }
            return true;
        }
        let progress = has(flag::FORWARD_PROGRESS);
        if !progress || (has(flag::DATA_SACKED) && !a.only_orig_sacked) {
            if progress || !has(flag::NOT_DUP) {
                self.enter_frto_loss(AFTER_LATER, a.flags);
            }
            return true;
        }
        // Spurious: what was sent before the timeout still arrives. The threshold stays reduced.
        self.undo.forget_ssthresh();
        if self.view.state < CaState::Cwr {
            self.start_reduction();
            self.set_state(CaState::Cwr);
        }
        self.fack.frto_step = 0;
        self.undo.forbid();
        false
    }

    /// The timeout was for a loss: all is lost but what is SACKed; `allowed` segments may be sent now.
    fn enter_frto_loss(&mut self, allowed: u32, flags: u32) {
        self.view.lost_out = 0;
        self.view.retrans_out = 0;
        self.board.clear_lost();
        let head_waits = self.fack.frto_step == 1 && flags & flag::DATA_ACKED == 0;
        for seq in self.view.snd_una..self.view.snd_nxt {
            let s = self.board.get_mut(seq);
            if head_waits && seq == self.view.snd_una {
                // The retransmission that the timer made is still out.
                self.view.retrans_out += u32::from(s.marks & mark::RETRANS != 0);
            } else {
                if s.marks & mark::ANY_RETRANS != 0 {
                    self.undo.forbid();
                }
                s.marks &= !mark::RETRANS;
            }
            s.marks &= !mark::LOST;
            self.lose(seq);
        }
        self.window.cwnd = self.view.in_flight() + allowed;
        self.start_loss();
    }

    /// The timer fired: slow start from one segment; all is lost but what is SACKed.
    pub(in crate::tcp::linux) fn enter_loss_by_count(&mut self) {
        let una = self.view.snd_una;
        if self.view.state <= CaState::Disorder
            || una == self.rec.end()
            || (self.view.state == CaState::Loss && self.rec.made_progress())
        {
            self.undo.remember_ssthresh(self.window.current_ssthresh(&self.view));
            self.view.prior_cwnd = self.window.cwnd;
            self.window.ssthresh = self.cc.ssthresh(&self.view, &self.window);
            self.cc.on_event(&self.view, &mut self.window, Event::Loss);
            self.counters.cwnd_reductions += 1;
        }
        self.window.cwnd = 1;
        self.view.lost_out = 0;
        self.view.retrans_out = 0;
        self.board.clear_lost();
        self.undo.begin(una, 0);
        for seq in una..self.view.snd_nxt {
            let s = self.board.get_mut(seq);
            if s.marks & mark::ANY_RETRANS != 0 {
                self.undo.forbid();
            }
            s.marks &= !(mark::RETRANS | mark::LOST);
            self.lose(seq);
        }
        self.start_loss();
    }

    fn lose(&mut self, seq: u32) {
        let s = self.board.get_mut(seq);
        if s.marks & mark::SACKED == 0 {
            s.marks |= mark::LOST;
            self.view.lost_out += 1;
            self.view.lost += 1;
            self.board.push_lost(seq);
        }
    }

    fn start_loss(&mut self) {
        self.fack.walk.begin_again();
        self.fack.walk.unmark();
        self.window.cwnd_cnt = 0;
        self.fack.frto_step = 0;
        self.reordering.reset_degree();
        self.set_state(CaState::Loss);
        self.rec.extend_to(self.view.snd_nxt);
        self.ecn.queue_cwr();
    }
}
