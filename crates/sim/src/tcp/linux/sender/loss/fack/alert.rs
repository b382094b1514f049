//! The state machine of recovery: when it begins, when it ends, and when the window is restored (Linux 3.9 net/ipv4/tcp_input.c,
//! tcp_fastretrans_alert and its callees; early retransmit: RFC 5827).
//!
//! Leaves out: thin streams (sysctls tcp_thin_*), MTU probing, the head-of-queue rules for connections without SACK.

use crate::cc::{CaState, CongestionControl, INFINITE_SSTHRESH};
use crate::outbox::Outbox;
use crate::tcp::common::lazy_timer::Ticks;
use crate::tcp::linux::options::{CwndReduction, EarlyRetransmit};
use crate::tcp::linux::sender::ack::{flag, AckState};
use crate::tcp::linux::sender::scoreboard::mark;
use crate::tcp::linux::sender::{Pending, Sender};

/// Most segments out at which early retransmit is considered (RFC 5827: fewer than four).
const EARLY_SEGMENTS: u32 = 4;
/// The reordering that early retransmit presupposes (sysctl tcp_reordering untouched).
const EARLY_REORDERING: u32 = 3;
/// Least delay of early retransmit, ms.
const EARLY_DELAY_MS: u64 = 2;

impl Sender {
    /// Update the state for an ACK that is unusual, or that comes in an unusual state. It removed `acked` segments; `prior_sacked` were SACKed
    /// before it.
    pub(in crate::tcp::linux) fn alert(&mut self, a: &AckState, acked: u32, prior_sacked: u32, out: &mut impl Outbox) {
        let ece = a.flags & flag::ECE != 0;
        let by_sack = a.flags & flag::DATA_SACKED != 0 && !self.marks_by_episode();
        let mut do_lost = a.duplicate || (by_sack && self.fackets_out() > self.reordering.degree());
        let mut entered = false;
        if ece {
            self.undo.forget_ssthresh();
        }
        if a.flags & flag::BEYOND_EPISODE != 0 {
            self.mark_as_overtaken();
        }
        self.leave_finished_state(a.tsecr);
        let newly = acked + self.view.sacked_out - prior_sacked;
        let state = self.view.state;
        match state {
            CaState::Recovery => {
                if a.flags & flag::UNA_ADVANCED != 0 {
                    do_lost = self.undo_partial(a, acked);
                }
            }
            CaState::Loss if !self.undo_loss(a.tsecr) => {
                self.moderate_cwnd();
                self.retransmit_by_count(out);
                return;
            }
            _ => {
                if self.view.state <= CaState::Disorder {
                    self.undo_by_dsack();
                }
                if !self.time_to_recover(ece, out) {
                    self.try_to_open_by_count(ece, newly);
                    return;
                }
                self.enter_recovery_by_count(ece);
                entered = true;
            }
        }
        if do_lost || self.fack_head_timed_out() {
            self.update_scoreboard(entered);
        }
        self.reduce_by_count(newly, a.flags, entered);
        self.retransmit_by_count(out);
    }

    /// Reduce the window for an ACK that newly acknowledges or SACKs `newly` segments. `entered`: the ACK began the reduction.
    fn reduce_by_count(&mut self, newly: u32, flags: u32, entered: bool) {
        match self.stack.cwnd_reduction {
            CwndReduction::Prr => self.reduce_proportionally(newly, 0, flags, entered),
            CwndReduction::RateHalving => self.halve_rate(),
        }
    }

    /// Restore the window if D-SACKs show that all retransmissions were unnecessary.
    fn undo_by_dsack(&mut self) {
        if self.undo.all_unnecessary() {
            self.undo_window(true);
            self.undo.forbid();
        }
    }

    /// End an episode once all segments that were out at its start are acknowledged.
    fn leave_finished_state(&mut self, tsecr: u32) {
        if self.view.state == CaState::Open {
            self.undo.forget_retransmissions();
            return;
        }
        if self.view.snd_una < self.rec.end() {
            return;
        }
        match self.view.state {
            CaState::Cwr if self.view.snd_una != self.rec.end() => {
                self.end_reduction();
                self.set_state(CaState::Open);
            }
            CaState::Disorder if self.stack.disorder_until_acked => {
                self.undo_by_dsack();
                if !self.undo.is_possible() || self.view.snd_una != self.rec.end() {
                    self.undo.forbid();
                    self.set_state(CaState::Open);
                }
            }
            state @ (CaState::Recovery | CaState::Loss) => {
                if self.may_undo(tsecr) {
                    self.undo_window(true);
                    self.undo.forbid();
                }
                self.set_state(CaState::Open);
                if state == CaState::Recovery {
                    self.end_reduction();
                }
            }
            _ => {}
        }
    }

    /// True if the gap is a loss rather than reordering.
    fn time_to_recover(&mut self, ece: bool, out: &mut impl Outbox) -> bool {
        if self.frto_waits() {
            return false;
        }
        let (v, reordering) = (&self.view, self.reordering.degree());
        if v.lost_out > 0 || self.dupacks() > reordering || self.fack_head_timed_out() {
            return true;
        }
        if v.packets_out <= reordering
            && v.sacked_out >= (v.packets_out / 2).max(self.stack.reordering)
            && !self.may_send_now()
        {
            // There is nothing to send, so that no more SACKs will come.
            return true;
        }
        self.may_retransmit_early()
            && v.retrans_out == 0
            && v.sacked_out > 0
            && v.packets_out == v.sacked_out + 1
            && v.packets_out < EARLY_SEGMENTS
            && !self.may_send_now()
            && !self.delay_early_retransmit(ece, out)
    }

    fn may_retransmit_early(&self) -> bool {
        self.stack.early_retransmit != EarlyRetransmit::Off
            && self.stack.reordering == EARLY_REORDERING
            && !self.reordering.was_seen()
    }

    /// True if early retransmit waits. It does not wait if the RTO would come first.
    fn delay_early_retransmit(&mut self, ece: bool, out: &mut impl Outbox) -> bool {
        if self.stack.early_retransmit != EarlyRetransmit::Delayed || ece || self.view.srtt_us8 == 0 {
            return false;
        }
        let quarter_rtt = u64::from(self.view.srtt_us8 >> 5) / self.clock.to_us(1);
        let delay = quarter_rtt.max(self.clock.from_ms(EARLY_DELAY_MS));
        let last = self.clock.tick(out.now()) + delay;
        if self.timer.expires(&self.clock).is_none_or(|expires| expires <= last) {
            return false;
        }
        self.set_timer(out, Pending::EarlyRetransmit, delay);
        true
    }

    /// Retransmit early, after the wait.
    pub(in crate::tcp::linux) fn resume_early_retransmit(&mut self, out: &mut impl Outbox) {
        self.rearm_rto(out);
        if self.may_retransmit_early() && self.view.packets_out > 0 {
            self.enter_recovery_by_count(false);
            self.update_scoreboard(true);
            self.retransmit_by_count(out);
        }
    }

    fn enter_recovery_by_count(&mut self, ece: bool) {
        self.undo.forget_ssthresh();
        self.undo.begin(self.view.snd_una, self.view.retrans_out as i32);
        if !self.view.in_reduction() {
            if !ece {
                self.undo.remember_ssthresh(self.window.current_ssthresh(&self.view));
            }
            self.init_reduction();
        } else if self.stack.cwnd_reduction == CwndReduction::RateHalving {
            self.rec.extend_to(self.view.snd_nxt);
            self.window.cwnd_cnt = 0;
        }
        self.set_state(CaState::Recovery);
    }

    fn try_to_open_by_count(&mut self, ece: bool, newly: u32) {
        let until_acked = self.stack.disorder_until_acked;
        let retransmitted = if until_acked { self.view.retrans_out > 0 } else { self.any_retrans_done() };
        if !self.frto_waits() && !retransmitted {
            self.undo.forget_retransmissions();
        }
        if ece {
            self.enter_cwr();
        }
        if self.view.state == CaState::Cwr {
            self.reduce_by_count(newly, 0, false);
            return;
        }
        if until_acked {
            self.settle(self.view.sacked_out > 0 || retransmitted || self.undo.is_possible());
        } else {
            self.try_keep_open();
        }
        if until_acked || self.view.state != CaState::Open {
            self.moderate_cwnd();
        }
    }

    fn undo_window(&mut self, with_ssthresh: bool) {
        if let Some(prior) = self.undo.prior_ssthresh() {
            self.window.cwnd = self.cc.undo_cwnd(&self.view, &self.window);
            if with_ssthresh {
                self.restore_ssthresh(prior);
            }
        } else if self.window.ssthresh < INFINITE_SSTHRESH {
            // Some congestion controls keep the threshold infinite, unlike all of Linux 3.9. An infinite threshold is no window to restore.
            self.window.cwnd = self.window.cwnd.max(self.window.ssthresh);
        }
        if self.stack.cwnd_reduction == CwndReduction::RateHalving {
            self.moderate_cwnd();
        }
        self.fack.walk.begin_again();
        self.counters.undos += 1;
    }

    /// Process a partial ACK in recovery. True if more segments are to be marked lost.
    fn undo_partial(&mut self, a: &AckState, acked: u32) -> bool {
        if !self.may_undo(a.tsecr) {
            return self.fackets_out() > self.reordering.degree();
        }
        if !self.any_retrans_done() {
            self.undo.forget_retransmissions();
        }
        // A late original filled the hole, not a retransmission.
        self.note_reordering(self.view.snd_una, self.view.snd_una + self.fackets_out() + acked);
        self.undo_window(false);
        false
    }

    /// Undo the effects of a timeout if it was unnecessary, and return true then.
    fn undo_loss(&mut self, tsecr: u32) -> bool {
        if !self.may_undo(tsecr) {
            return false;
        }
        for seq in self.view.snd_una..self.view.snd_nxt {
            self.board.get_mut(seq).marks &= !mark::LOST;
        }
        self.view.lost_out = 0;
        self.board.clear_lost();
        self.fack.walk.unmark();
        self.undo_window(true);
        self.rec.note_progress();
        self.undo.forbid();
        self.set_state(CaState::Open);
        true
    }
}
