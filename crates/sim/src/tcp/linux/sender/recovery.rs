//! Loss recovery: the state machine, PRR (RFC 6937), F-RTO (RFC 5682), retransmission
//! (Linux 6.12 net/ipv4/tcp_input.c). Detection is in `rack`, timers in `timeout`, undo in `undo`.
//!
//! Leaves out: connections without SACK or timestamps, MTU probing.

use super::ack::{flag, AckState, Rexmit};
use super::scoreboard::mark;
use super::{Pending, Sender};
use crate::cc::{CaState, CongestionControl, Event, INFINITE_SSTHRESH};
use crate::outbox::Outbox;
use crate::tcp::common::lazy_timer::Ticks;
use crate::tcp::linux::stack::{PrrBelowSsthresh, Stack};

/// State of recovery.
#[derive(Clone, Debug)]
pub(in crate::tcp::linux) struct Recovery {
    /// End of the episode.
    pub high_seq: u32,
    pub prior_ssthresh: u32,
    pub undo_marker: Option<u32>,
    /// Retransmissions not yet known to be unnecessary; negative before the first.
    pub undo_retrans: i32,
    /// Timestamp of the first retransmission of the episode, ms.
    pub retrans_stamp: Option<u32>,
    pub prr_delivered: u32,
    pub prr_out: u32,
    pub tlp_high_seq: Option<u32>,
    pub tlp_retrans: bool,
    pub frto: bool,
    /// Timeouts since the last progress.
    pub timeouts: u32,
    pub reordering: u32,
    pub initial_reordering: u32,
    pub reordering_seen: bool,
    pub dsack_dups: u64,
    /// Segments ever marked lost.
    pub lost: u32,
}

impl Recovery {
    pub fn new(stack: &Stack) -> Self {
        let reordering = stack.reordering;
        Self {
            high_seq: 0,
            prior_ssthresh: 0,
            undo_marker: None,
            undo_retrans: -1,
            retrans_stamp: None,
            prr_delivered: 0,
            prr_out: 0,
            tlp_high_seq: None,
            tlp_retrans: false,
            frto: false,
            timeouts: 0,
            reordering,
            initial_reordering: reordering,
            reordering_seen: false,
            dsack_dups: 0,
            lost: 0,
        }
    }
}

impl Sender {
    pub(in crate::tcp::linux) fn set_state(&mut self, new: CaState) {
        self.cc.on_event(&self.view, &mut self.window, Event::State(new));
        self.view.state = new;
        self.fast_path_open = false;
    }

    pub(in crate::tcp::linux) fn init_undo(&mut self) {
        self.rec.undo_marker = Some(self.view.snd_una);
        let mut out = self.view.retrans_out as i32;
        if self.rec.tlp_high_seq.is_some() && self.rec.tlp_retrans {
            out += 1;
        }
        // Zero would mean "undo now".
        self.rec.undo_retrans = if out == 0 { -1 } else { out };
    }

    pub(in crate::tcp::linux) fn init_reduction(&mut self) {
        self.start_reduction();
        self.window.ssthresh = self.cc.ssthresh(&self.view, &self.window);
        self.counters.cwnd_reductions += 1;
    }

    /// A reduction to the threshold that there is.
    pub(in crate::tcp::linux) fn start_reduction(&mut self) {
        self.rec.high_seq = self.view.snd_nxt;
        self.rec.tlp_high_seq = None;
        self.window.cwnd_cnt = 0;
        self.view.prior_cwnd = self.window.cwnd;
        self.rec.prr_delivered = 0;
        self.rec.prr_out = 0;
        self.queue_cwr = self.ecn;
    }

    /// Proportional rate reduction, if something was delivered. Entering recovery always sends one.
    pub(in crate::tcp::linux) fn reduce_cwnd(&mut self, delivered: u32, newly_lost: u32, flags: u32) {
        if delivered > 0 {
            self.reduce_proportionally(delivered, newly_lost, flags, self.rec.prr_out == 0);
        }
    }

    /// Proportional rate reduction; `send_one` whatever it says.
    pub(in crate::tcp::linux) fn reduce_proportionally(
        &mut self,
        delivered: u32,
        newly_lost: u32,
        flags: u32,
        send_one: bool,
    ) {
        let rec = &mut self.rec;
        rec.prr_delivered += delivered;
        let in_flight = self.view.in_flight();
        let delta = i64::from(self.window.ssthresh) - i64::from(in_flight);
        let (prr_delivered, prr_out) = (i64::from(rec.prr_delivered), i64::from(rec.prr_out));
        let delivered = i64::from(delivered);
        let mut quota = if delta < 0 {
            let prior = i64::from(self.view.prior_cwnd);
            (i64::from(self.window.ssthresh) * prr_delivered + prior - 1) / prior - prr_out
        } else {
            let slow_start = (prr_delivered - prr_out).max(delivered);
            let quota = match self.stack.prr_below_ssthresh {
                PrrBelowSsthresh::Una => slow_start + i64::from(flags & flag::UNA_ADVANCED != 0 && newly_lost == 0),
                PrrBelowSsthresh::Retransmission => {
                    if flags & flag::RETRANS_ACKED != 0 && flags & flag::LOST_RETRANS == 0 {
                        slow_start + 1
                    } else {
                        delivered
                    }
                }
                PrrBelowSsthresh::SlowStart => slow_start + 1,
            };
            quota.min(delta)
        };
        quota = quota.max(i64::from(send_one));
        self.window.cwnd = (i64::from(in_flight) + quota).max(0) as u32;
    }

    pub(in crate::tcp::linux) fn end_reduction(&mut self) {
        if self.needs.cong_control {
            return;
        }
        if self.window.ssthresh < INFINITE_SSTHRESH
            && (self.view.state == CaState::Cwr || self.rec.undo_marker.is_some())
        {
            self.window.cwnd = self.window.ssthresh;
        }
        self.cc.on_event(&self.view, &mut self.window, Event::CompleteCwr);
    }

    /// A mark or a local drop: reduce without retransmitting; not to be undone.
    pub(in crate::tcp::linux) fn enter_cwr(&mut self) {
        self.rec.prior_ssthresh = 0;
        if self.view.state < CaState::Cwr {
            self.rec.undo_marker = None;
            self.init_reduction();
            self.set_state(CaState::Cwr);
        }
    }

    pub(in crate::tcp::linux) fn enter_recovery(&mut self, ece: bool) {
        if !self.any_retrans_done() {
            self.rec.retrans_stamp = None;
        }
        self.rec.prior_ssthresh = 0;
        self.init_undo();
        if !self.view.in_reduction() {
            if !ece {
                self.rec.prior_ssthresh = self.window.current_ssthresh(&self.view);
            }
            self.init_reduction();
        }
        self.set_state(CaState::Recovery);
    }

    pub(in crate::tcp::linux) fn try_keep_open(&mut self) {
        let disorder = self.view.sacked_out + self.view.lost_out > 0 || self.any_retrans_done();
        let state = if disorder { CaState::Disorder } else { CaState::Open };
        if self.view.state != state {
            self.set_state(state);
            self.rec.high_seq = self.view.snd_nxt;
        }
    }

    fn try_to_open(&mut self, flags: u32) {
        if !self.any_retrans_done() {
            self.rec.retrans_stamp = None;
        }
        if flags & flag::ECE != 0 {
            self.enter_cwr();
        }
        if self.view.state != CaState::Cwr {
            self.try_keep_open();
        }
    }

    pub(in crate::tcp::linux) fn any_retrans_done(&self) -> bool {
        self.view.retrans_out > 0
            || (self.view.packets_out > 0 && self.board.get(self.view.snd_una).marks & mark::EVER_RETRANS != 0)
    }

    fn identify_loss(&mut self, a: &mut AckState, out: &mut impl Outbox) {
        if self.view.packets_out == 0 {
            return;
        }
        let retrans = self.view.retrans_out;
        if self.rack_mark_lost(out) {
            a.flags &= !flag::SET_XMIT_TIMER;
        }
        if retrans > self.view.retrans_out {
            a.flags |= flag::LOST_RETRANS;
        }
    }

    /// What an unusual ACK means for the state.
    pub(in crate::tcp::linux) fn on_dubious_ack(&mut self, a: &mut AckState, out: &mut impl Outbox) {
        let ece = a.flags & flag::ECE != 0;
        if self.view.packets_out == 0 {
            self.view.sacked_out = 0;
        }
        if ece {
            self.rec.prior_ssthresh = 0;
        }
        if a.flags & flag::RENEGING != 0 && a.flags & flag::UNA_ADVANCED != 0 {
            // The receiver may only be slow to say so: wait half an RTT.
            let after = self.clock.from_us(u64::from(self.view.srtt_us8 >> 4)).max(self.clock.from_ms(10));
            self.set_timer(out, Pending::Retransmit, after);
            a.flags &= !flag::SET_XMIT_TIMER;
            return;
        }
        if self.view.state == CaState::Open {
            self.rec.retrans_stamp = None;
        } else if self.view.snd_una >= self.rec.high_seq {
            match self.view.state {
                CaState::Cwr if self.view.snd_una != self.rec.high_seq => {
                    self.end_reduction();
                    self.set_state(CaState::Open);
                }
                CaState::Recovery => {
                    self.try_undo_recovery(a.tsecr);
                    self.end_reduction();
                }
                _ => {}
            }
        }
        match self.view.state {
            CaState::Recovery => {
                if a.flags & flag::UNA_ADVANCED != 0 && self.try_undo_partial(a) {
                    return;
                }
                if self.try_undo_dsack() {
                    self.try_to_open(a.flags);
                }
                self.identify_loss(a, out);
                if self.view.state != CaState::Recovery {
                    if self.view.lost_out == 0 {
                        return;
                    }
                    self.enter_recovery(ece);
                }
            }
            CaState::Loss => {
                self.process_loss(a);
                self.identify_loss(a, out);
                if self.view.state != CaState::Open && a.flags & flag::LOST_RETRANS == 0 {
                    return;
                }
                if !self.look_for_recovery(a, out, ece) {
                    return;
                }
            }
            _ => {
                if !self.look_for_recovery(a, out, ece) {
                    return;
                }
            }
        }
        a.rexmit = Rexmit::Lost;
    }

    /// Enters recovery if something is lost; true if it did.
    fn look_for_recovery(&mut self, a: &mut AckState, out: &mut impl Outbox, ece: bool) -> bool {
        if self.view.state <= CaState::Disorder {
            self.try_undo_dsack();
        }
        self.identify_loss(a, out);
        if self.view.lost_out == 0 {
            self.try_to_open(a.flags);
            return false;
        }
        self.enter_recovery(ece);
        true
    }

    /// An ACK after a timeout.
    fn process_loss(&mut self, a: &mut AckState) {
        let recovered = self.view.snd_una >= self.rec.high_seq;
        if a.flags & flag::UNA_ADVANCED != 0 && self.try_undo_loss(false, a.tsecr) {
            return;
        }
        if self.rec.frto {
            if a.flags & flag::ORIG_SACK_ACKED != 0 && self.try_undo_loss(true, a.tsecr) {
                return;
            }
            if self.view.snd_nxt > self.rec.high_seq {
                if a.flags & flag::DATA_SACKED != 0 || a.duplicate {
                    self.rec.frto = false;
                }
            } else if a.flags & flag::UNA_ADVANCED != 0 && !recovered {
                self.rec.high_seq = self.view.snd_nxt;
                if self.has_data() && self.window_end > self.view.snd_nxt {
                    a.rexmit = Rexmit::New;
                    return;
                }
                self.rec.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery(a.tsecr);
            return;
        }
        a.rexmit = Rexmit::Lost;
    }

    /// Retransmits lost segments, lowest first, as the window allows.
    pub(in crate::tcp::linux) fn retransmit_lost(&mut self, out: &mut impl Outbox) {
        if self.view.packets_out == 0 {
            return;
        }
        let mut rearm = false;
        while self.window.cwnd > self.view.in_flight() && self.view.retrans_out < self.view.lost_out {
            let Some(seq) = self.board.next_lost(self.view.snd_una) else { break };
            if !self.retransmit(out, seq, true) {
                break;
            }
            if self.view.in_reduction() {
                self.rec.prr_out += 1;
            }
            rearm |= seq == self.view.snd_una && self.pending != Pending::Reorder;
        }
        if rearm {
            self.set_timer(out, Pending::Retransmit, self.rto_jiffies());
        }
    }

    /// Sends what recovery asks for once the window is known.
    pub(in crate::tcp::linux) fn send_recovery(&mut self, rexmit: Rexmit, out: &mut impl Outbox) {
        match rexmit {
            Rexmit::None => return,
            Rexmit::New => {
                self.write(out, false);
                if self.view.snd_nxt > self.rec.high_seq {
                    return;
                }
                self.rec.frto = false;
            }
            Rexmit::Lost => {}
        }
        self.retransmit_lost(out);
    }
}
