//! Tail loss probes (RFC 8985 section 7) and retransmission timeouts (RFC 6298; Linux 6.12 net/ipv4/tcp_timer.c and tcp_output.c).
//!
//! Leaves out: thin-stream timeouts, giving up.

use super::ack::flag;
use super::scoreboard::mark;
use super::{Pending, Sender};
use crate::cc::{CaState, CongestionControl, Event};
use crate::outbox::Outbox;
use crate::tcp::common::lazy_timer::Ticks;
use crate::tcp::linux::loss::rack::TIMEOUT_MIN_US;
use crate::tcp::linux::options::Frto;

impl Sender {
    /// us until the RTO of the oldest segment.
    pub(in crate::tcp::linux) fn rto_delta_us(&self) -> i64 {
        let head = self.board.get(self.view.snd_una).sent_us() + self.clock.to_us(self.rto_jiffies());
        head as i64 - self.view.mstamp_us as i64
    }

    /// Schedules a tail loss probe; false if none is due.
    pub(in crate::tcp::linux) fn schedule_loss_probe(&mut self, out: &mut impl Outbox, advancing: bool) -> bool {
        if !self.stack.tail_loss_probe
            || self.view.packets_out == 0
            || !matches!(self.view.state, CaState::Open | CaState::Cwr)
        {
            return false;
        }
        let mut after_us = if self.view.srtt_us8 == 0 {
            1_000_000
        } else {
            let slack =
                if self.view.packets_out == 1 { u64::from(self.stack.rto_min_ms) * 1000 } else { TIMEOUT_MIN_US };
            u64::from(self.view.srtt_us8 >> 2) + slack
        };
        let mut most = u64::MAX;
        if advancing {
            most = self.rto_jiffies();
        } else if self.view.mstamp_us + after_us > self.board.get(self.view.snd_una).sent_us() + self.rto_us {
            // The RTO may come first: a timeout in ticks is never less than in microseconds.
            let delta = self.rto_delta_us();
            if delta > 0 {
                after_us = after_us.min(delta as u64);
            }
        }
        let after = self.clock.from_us(after_us).min(most);
        self.set_timer(out, Pending::LossProbe, after);
        true
    }

    pub(in crate::tcp::linux) fn send_loss_probe(&mut self, out: &mut impl Outbox) {
        if self.rec.tlp_high_seq.is_none() && self.view.packets_out > 0 {
            self.rec.tlp_retrans = false;
            let sent = if self.has_data() && self.view.snd_nxt < self.window_end {
                self.write(out, true) > 0
            } else {
                let last = self.view.snd_nxt - 1;
                self.rec.tlp_retrans = self.retransmit(out, last, false);
                self.rec.tlp_retrans
            };
            if sent {
                self.counters.tlp_probes += 1;
                self.rec.tlp_high_seq = Some(self.view.snd_nxt);
                // The timer now runs from here.
                self.pending = Pending::Nothing;
            }
        }
        self.rearm_rto(out);
    }

    /// (Re)starts the retransmission timer after progress.
    pub(in crate::tcp::linux) fn rearm_rto(&mut self, out: &mut impl Outbox) {
        if self.view.packets_out == 0 {
            self.clear_timer();
            return;
        }
        let mut rto = self.rto_jiffies();
        match self.pending {
            Pending::Reorder | Pending::LossProbe => rto = self.clock.from_us(self.rto_delta_us().max(1) as u64),
            Pending::EarlyRetransmit => {
                let elapsed = self.ticks_since(self.board.get(self.view.snd_una).sent_us());
                if elapsed < rto {
                    rto -= elapsed;
                }
            }
            Pending::Nothing | Pending::Retransmit | Pending::Resend => {}
        }
        self.set_timer(out, Pending::Retransmit, rto);
    }

    pub(in crate::tcp::linux) fn set_xmit_timer(&mut self, out: &mut impl Outbox) {
        if !self.schedule_loss_probe(out, true) {
            self.rearm_rto(out);
        }
    }

    pub(in crate::tcp::linux) fn on_retransmit_timeout(&mut self, out: &mut impl Outbox) {
        self.pending = Pending::Nothing;
        if self.view.packets_out == 0 {
            return;
        }
        self.counters.rto_timeouts += 1;
        match self.stack.frto {
            Frto::Rfc5682 => self.enter_loss(),
            Frto::Rfc4138 => self.enter_frto(),
            Frto::Off => self.enter_loss_by_count(),
        }
        self.rec.timeouts += 1;
        let una = self.view.snd_una;
        self.retransmit(out, una, true);
        self.back_off();
        self.set_timer(out, Pending::Retransmit, self.rto_jiffies());
    }

    pub(in crate::tcp::linux) fn enter_loss(&mut self) {
        let new_recovery = self.view.state < CaState::Recovery;
        self.timeout_mark_lost();
        if self.view.state <= CaState::Disorder
            || self.rec.high_seq <= self.view.snd_una
            || (self.view.state == CaState::Loss && self.rec.timeouts == 0)
        {
            self.rec.prior_ssthresh = self.window.current_ssthresh(&self.view);
            self.view.prior_cwnd = self.window.cwnd;
            self.window.ssthresh = self.cc.ssthresh(&self.view, &self.window);
            self.cc.on_event(&self.view, &mut self.window, Event::Loss);
            self.init_undo();
            self.counters.cwnd_reductions += 1;
        }
        self.window.cwnd = self.view.in_flight() + 1;
        self.window.cwnd_cnt = 0;
        if self.view.state <= CaState::Disorder && self.view.sacked_out >= self.rec.initial_reordering {
            self.rec.reordering = self.rec.reordering.min(self.rec.initial_reordering);
        }
        self.set_state(CaState::Loss);
        self.rec.high_seq = self.view.snd_nxt;
        self.rec.tlp_high_seq = None;
        self.queue_cwr = self.ecn;
        self.rec.frto = new_recovery || self.rec.timeouts > 0;
    }

    /// Marks everything lost but what was sent less than an RTT ago.
    fn timeout_mark_lost(&mut self) {
        let (una, nxt) = (self.view.snd_una, self.view.snd_nxt);
        let reneging = self.board.get(una).marks & mark::SACKED != 0;
        if reneging {
            self.view.sacked_out = 0;
            self.board.clear_runs();
        }
        for seq in una..nxt {
            let s = self.board.get_mut(seq);
            if reneging {
                s.marks &= !mark::SACKED;
            } else {
                let sent_us = s.sent_us();
                if seq != una && self.rack_remaining(sent_us, 0) > 0 {
                    continue;
                }
            }
            self.mark_lost(seq);
        }
    }

    /// Ends a probe episode.
    pub(in crate::tcp::linux) fn process_tlp_ack(&mut self, ack: u32, flags: u32) {
        let Some(high) = self.rec.tlp_high_seq else { return };
        if ack < high {
            return;
        }
        if !self.rec.tlp_retrans || flags & flag::DSACK_TLP != 0 {
            self.rec.tlp_high_seq = None;
        } else if ack > high {
            // The probe repaired a loss.
            self.init_reduction();
            self.set_state(CaState::Cwr);
            self.end_reduction();
            self.try_keep_open();
        } else if flags & (flag::UNA_ADVANCED | flag::NOT_DUP | flag::DATA_SACKED) == 0 {
            self.rec.tlp_high_seq = None;
        }
    }
}
