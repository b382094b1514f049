//! Retransmission timeouts (RFC 6298; Linux 6.12 net/ipv4/tcp_timer.c and tcp_input.c, `tcp_enter_loss`).
//!
//! Leaves out: thin-stream timeouts, giving up.

use crate::cc::{CaState, CongestionControl, Event};
use crate::outbox::Outbox;
use crate::tcp::common::lazy_timer::Ticks;
use crate::tcp::linux::options::Frto;
use crate::tcp::linux::sender::output::transmit::Retransmission;
use crate::tcp::linux::sender::scoreboard::mark;
use crate::tcp::linux::sender::{Pending, Sender};

impl Sender {
    /// us until the RTO of the oldest segment.
    pub(in crate::tcp::linux) fn rto_delta_us(&self) -> i64 {
        let head = self.board.get(self.view.snd_una).sent_us() + self.clock.to_us(self.rto_ticks());
        head as i64 - self.view.mstamp_us as i64
    }

    /// (Re)starts the retransmission timer after progress.
    #[inline(never)]
    pub(in crate::tcp::linux) fn rearm_rto(&mut self, out: &mut impl Outbox) {
        self.rearm_rto_inlined(out);
    }

    /// [`Self::rearm_rto`], for where most ACKs ask for it.
    #[inline(always)]
    fn rearm_rto_inlined(&mut self, out: &mut impl Outbox) {
        if self.view.packets_out == 0 {
            self.clear_timer();
            return;
        }
        let mut rto = self.rto_ticks();
        match self.timer.pending() {
            Pending::Reorder | Pending::LossProbe => rto = self.clock.in_ticks(self.rto_delta_us().max(1) as u64),
            Pending::EarlyRetransmit => {
                let elapsed = self.ticks_since(self.board.get(self.view.snd_una).sent_us());
                if elapsed < rto {
                    rto -= elapsed;
                }
            }
            Pending::Nothing | Pending::Retransmit | Pending::Persist => {}
        }
        self.set_timer(out, Pending::Retransmit, rto + self.pacing_delay(out.now()));
    }

    pub(in crate::tcp::linux) fn set_xmit_timer(&mut self, out: &mut impl Outbox) {
        if !self.schedule_loss_probe(out, true) {
            self.rearm_rto_inlined(out);
        }
    }

    pub(in crate::tcp::linux) fn on_retransmit_timeout(&mut self, out: &mut impl Outbox) {
        self.timer.mark_done();
        if self.view.packets_out == 0 {
            return;
        }
        self.counters.rto_timeouts += 1;
        match self.stack.frto {
            Frto::Rfc5682 => self.enter_loss(),
            Frto::Rfc4138 => self.enter_frto(),
            Frto::Off => self.enter_loss_by_count(),
        }
        // A retransmission into a closed window is a probe: Linux counts no timeout.
        let is_probe = self.peer.bytes() == 0;
        if !is_probe {
            self.rec.count_timeout();
        }
        let una = self.view.snd_una;
        if self.retransmit(out, una, true) == Retransmission::Dropped && !is_probe {
            return self.set_timer(out, Pending::Retransmit, self.ticks_to_local_retry());
        }
        self.rtt.back_off();
        self.set_timer(out, Pending::Retransmit, self.rto_ticks());
    }

    pub(in crate::tcp::linux) fn enter_loss(&mut self) {
        let new_recovery = self.view.state < CaState::Recovery;
        self.timeout_mark_lost();
        if self.view.state <= CaState::Disorder
            || self.rec.end() <= self.view.snd_una
            || (self.view.state == CaState::Loss && self.rec.made_progress())
        {
            self.undo.remember_ssthresh(self.window.current_ssthresh(&self.view));
            self.view.prior_cwnd = self.window.cwnd;
            self.window.ssthresh = self.cc.ssthresh(&self.view, &self.window);
            self.cc.on_event(&self.view, &mut self.window, Event::Loss);
            self.init_undo();
            self.counters.cwnd_reductions += 1;
        }
        self.window.cwnd = self.view.in_flight() + 1;
        self.window.cwnd_cnt = 0;
        if self.view.state <= CaState::Disorder && self.view.sacked_out >= self.reordering.initial() {
            self.reordering.reset_degree();
        }
        self.set_state(CaState::Loss);
        self.rec.extend_to(self.view.snd_nxt);
        self.probe.end();
        self.ecn.queue_cwr();
        self.rec.watch_timeout(new_recovery);
    }

    /// Marks everything lost but what was sent less than an RTT ago.
    fn timeout_mark_lost(&mut self) {
        let (una, nxt) = (self.view.snd_una, self.view.snd_nxt);
        let reneging = self.board.get(una).marks & mark::SACKED != 0;
        if reneging {
            self.view.sacked_out = 0;
            self.buffer.forget_all_merged();
            self.board.clear_runs();
            self.set_reneged(true);
        } else if !self.sack {
            self.view.sacked_out = 0;
        }
        for seq in una..nxt {
            let s = self.board.get_mut(seq);
            if reneging {
                s.marks &= !(mark::SACKED | mark::MERGED);
            } else {
                let sent_us = s.sent_us();
                if seq != una && self.rack_remaining(sent_us, 0) > 0 {
                    continue;
                }
            }
            self.mark_lost(seq);
        }
    }
}
