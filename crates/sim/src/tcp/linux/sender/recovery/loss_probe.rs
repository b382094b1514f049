//! Tail loss probes (RFC 8985 section 7; Linux 6.12 net/ipv4/tcp_output.c, `tcp_schedule_loss_probe`, `tcp_send_loss_probe`, and
//! tcp_input.c, `tcp_process_tlp_ack`).

use crate::cc::{CaState, CongestionControl, Event, Renumbering};
use crate::outbox::Outbox;
use crate::tcp::common::lazy_timer::Ticks;
use crate::tcp::linux::sender::ack::flag;
use crate::tcp::linux::sender::loss::rack::TIMEOUT_MIN_US;
use crate::tcp::linux::sender::output::transmit::Retransmission;
use crate::tcp::linux::sender::{Pending, Sender};

/// The probe that is out. Told when one was sent and when a reduction begins; asked at each ACK until one answers it.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp::linux) struct LossProbe {
    /// First segment beyond what was outstanding when the probe was sent; none: there is no probe.
    high_seq: Option<u32>,
    /// It sent the last segment again; else a new one.
    retransmitted: bool,
    /// The application limited sending when that was sent first.
    was_app_limited: bool,
}

impl LossProbe {
    /// A segment in flight is new or has gone.
    pub fn renumber(&mut self, r: Renumbering) {
        self.high_seq.iter_mut().for_each(|seq| r.apply(seq));
    }

    /// It is not answered yet.
    #[inline]
    pub fn is_out(&self) -> bool {
        self.high_seq.is_some()
    }

    /// One that sent a segment again is not answered yet.
    pub fn has_retransmitted(&self) -> bool {
        self.is_out() && self.retransmitted
    }

    /// It is out, and `end` is the first segment beyond it.
    pub fn ends_at(&self, end: u32) -> bool {
        self.high_seq == Some(end)
    }

    /// It is answered, or what happened since makes it meaningless.
    pub fn end(&mut self) {
        self.high_seq = None;
    }
}

impl Sender {
    /// Schedules a tail loss probe; false if none is due.
    #[inline]
    pub(in crate::tcp::linux) fn schedule_loss_probe(&mut self, out: &mut impl Outbox, advancing: bool) -> bool {
        let is_due = matches!(self.view.state, CaState::Open | CaState::Cwr)
            && self.stack.tail_loss_probe
            && self.sack
            && self.view.packets_out > 0;
        if is_due {
            self.set_probe_timer(out, advancing);
        }
        is_due
    }

    #[inline(never)]
    fn set_probe_timer(&mut self, out: &mut impl Outbox, advancing: bool) {
        let mut after_us = if self.view.srtt_us8 == 0 {
            1_000_000
        } else {
            let slack =
                if self.view.packets_out == 1 { u64::from(self.stack.rto_min_ms) * 1000 } else { TIMEOUT_MIN_US };
            u64::from(self.view.srtt_us8 >> 2) + slack
        };
        // The RTO may come first: a timeout in ticks is never less than in microseconds.
        let before_rto = !advancing
            && self.view.mstamp_us + after_us <= self.board.get(self.view.snd_una).sent_us() + self.rtt.rto_us();
        let paced = self.pacing_delay(out.now());
        let mut most = u64::MAX;
        if advancing {
            most = self.rto_ticks();
        } else if !before_rto {
            let delta = self.rto_delta_us();
            if delta > 0 {
                after_us = after_us.min(delta as u64);
            }
        }
        let after = self.clock.in_ticks(after_us).min(most) + paced;
        if before_rto && self.timer.pending() != Pending::Retransmit {
            // The new data have set the timer for the RTO first (`tcp_event_new_data_sent`), which is another tick.
            self.timer.requeue();
        }
        self.set_timer(out, Pending::LossProbe, after);
    }

    pub(in crate::tcp::linux) fn send_loss_probe(&mut self, out: &mut impl Outbox) {
        if !self.probe.is_out() && self.view.packets_out > 0 {
            self.probe.retransmitted = false;
            let is_open = if self.layout.is_stream() {
                self.window_takes_next(self.current_mss(out))
            } else if self.tso.enabled {
                self.window_takes_head()
            } else {
                self.view.snd_nxt < self.peer.end()
            };
            let sent = if self.has_data() && is_open {
                self.write(out, true) > 0
            } else {
                let last = self.view.snd_nxt - 1;
                self.probe.was_app_limited = self.was_app_limited(last);
                self.probe.retransmitted = self.retransmit(out, last, false) == Retransmission::Sent;
                self.probe.retransmitted
            };
            if sent {
                self.counters.tlp_probes += 1;
                self.probe.high_seq = Some(self.view.snd_nxt);
                // The timer now runs from here.
                self.timer.mark_done();
            }
        }
        self.rearm_rto(out);
    }

    /// Ends a probe episode.
    #[inline]
    pub(in crate::tcp::linux) fn process_tlp_ack(&mut self, ack: u32, flags: u32) {
        if let Some(high) = self.probe.high_seq.filter(|&high| ack >= high) {
            self.answer_loss_probe(ack, high, flags);
        }
    }

    /// The ACK is for all that was sent until the probe, `high` being the first segment beyond it.
    #[inline(never)]
    fn answer_loss_probe(&mut self, ack: u32, high: u32, flags: u32) {
        if !self.probe.retransmitted || flags & flag::DSACK_TLP != 0 {
            self.probe.end();
        } else if ack > high {
            // The probe repaired a loss.
            let e = Event::ProbeRepairedLoss(self.probe.was_app_limited);
            self.cc.on_event(&self.view, &mut self.window, e);
            self.init_reduction();
            self.set_state(CaState::Cwr);
            self.end_reduction();
            self.try_keep_open();
        } else if flags & (flag::UNA_ADVANCED | flag::NOT_DUP | flag::DATA_SACKED) == 0 {
            self.probe.end();
        }
    }
}
