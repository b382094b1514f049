//! The short way of the common ACK, for the reason that Linux predicts headers: when nothing under way was ever marked, neither recovery nor
//! undo has anything to do, and what is left is to count, to take the RTT and to send what that allows.

use super::ack::flag;
use super::rack::TIMEOUT_MIN_US;
use super::sender::{Deadline, Pending, Phase, Sender};
use super::tcb::CaState;
use super::transmit::NONE;
use crate::cc::{AckEvent, AckSample, CongestionControl};
use crate::network::Network;
use crate::packet::{flags, Packet, FULL_FRAME, NO_SACK};

impl Sender {
    /// True for the common ACK: of new data, without SACK blocks, in state Open without an ECN echo or amid a reduction that is not recovery,
    /// when nothing that is under way was ever marked and more stays under way, so that a loss probe follows. All that [`Self::process_ack`]
    /// asks of each segment then has one answer.
    #[inline]
    pub(super) fn is_plain(&self, p: &Packet) -> bool {
        p.seq > self.t.snd_una
            && p.seq < self.t.snd_nxt
            && p.sack == NO_SACK
            && if self.calm { !p.has(flags::SYN | flags::ECE) } else { !p.has(flags::SYN) && self.is_amid_cwr(p.seq) }
    }

    /// Looks whether the next ACKs may be [plain](Self::is_plain) in state Open, after anything else than a plain ACK. These keep it so,
    /// unless congestion control's state changes when something is sent.
    pub(super) fn settle(&mut self) {
        self.calm = self.t.state == CaState::Open && self.is_undisturbed();
    }

    fn is_undisturbed(&self) -> bool {
        self.board.is_unmarked(self.t.snd_una)
            && self.rec.tlp_high_seq.is_none()
            && self.stack.tail_loss_probe
            && self.phase == Phase::Established
    }

    /// In state CWR, with `una` below its end and sent too late for RACK to suspect it.
    #[inline(never)]
    fn is_amid_cwr(&self, una: u32) -> bool {
        self.t.state == CaState::Cwr
            && una < self.rec.high_seq
            && !self.rack.is_past(self.board.get(una).sent_us(), una + 1)
            && self.is_undisturbed()
    }

    /// [`Self::on_plain_ack`] amid a reduction.
    #[inline(never)]
    pub(super) fn on_plain_ack_amid_cwr(&mut self, p: &Packet, net: &mut Network) {
        self.on_plain_ack(p, false, net);
    }

    /// What [`Self::on_ack`] does about a [plain](Self::is_plain) ACK. `calm` is what [`Self::settle`] has found; as it is written where this
    /// is called, and this is inlined, what is not done in state Open costs nothing there.
    #[inline(always)]
    pub(super) fn on_plain_ack(&mut self, p: &Packet, calm: bool, net: &mut Network) {
        let rtt_us = self.process_plain_ack(p, calm);
        let sent = if self.chunks.enabled { self.send_allowed(net) } else { self.send_plain(net) };
        self.plan_loss_probe(net, rtt_us, sent == 0);
    }

    /// What [`Self::process_ack`] does about a [plain](Self::is_plain) ACK, but for the timer. Returns the RTT of the last segment
    /// acknowledged, us.
    #[inline(always)]
    fn process_plain_ack(&mut self, p: &Packet, calm: bool) -> u64 {
        self.form.tsecr = self.form.tsecr.max(p.tsval);
        self.rec.timeouts = 0;
        self.update_window(p, p.seq);
        let (prior_una, una, now) = (self.t.snd_una, p.seq, self.t.mstamp_us);
        let acked = una - prior_una;
        self.t.snd_una = una;
        let ece = !calm && p.has(flags::ECE) && self.ecn;
        let event = |acked| AckEvent { acked, window_update: true, ece, esce: p.has(flags::ESCE) };
        if self.stack.ack_event_first {
            self.cc.in_ack_event(&mut self.t, event(acked));
        }
        let (first, last) = (*self.board.get(prior_una), *self.board.get(una - 1));
        self.board.unlist_unmarked(una);
        self.t.packets_out -= acked;
        self.count_delivered(acked, ece);
        self.rack_advance(0, una, last.sent_us());
        let ca_rtt_us = now - last.sent_us();
        let maybe_delayed = acked == 1 && self.frame_len(una - 1) < FULL_FRAME;
        self.take_rtt((now - first.sent_us()) as u32, ca_rtt_us as u32, maybe_delayed);
        if !self.rack.is_narrow() {
            self.rack_update_window(last.noted);
        }
        let sample = AckSample { acked, rtt_us: ca_rtt_us as i64 };
        if calm && !self.stack.ack_event_first {
            self.cc.on_progress(&mut self.t, sample, p.has(flags::ESCE));
        } else {
            self.progress_otherwise(sample, event(acked));
        }
        self.update_pacing_rate();
        ca_rtt_us
    }

    /// The end of a plain ACK amid a reduction, or where congestion control has heard of it first.
    #[inline(never)]
    fn progress_otherwise(&mut self, sample: AckSample, event: AckEvent) {
        self.cc.pkts_acked(&mut self.t, sample);
        if !self.stack.ack_event_first {
            self.cc.in_ack_event(&mut self.t, event);
        }
        if self.t.state == CaState::Open {
            self.cc.cong_avoid(&mut self.t, event.acked);
            return;
        }
        self.rack.advanced = false;
        self.rec.retrans_stamp = None;
        if event.ece {
            self.rec.prior_ssthresh = 0;
        }
        self.reduce_cwnd(event.acked, 0, flag::UNA_ADVANCED);
    }

    /// What [`Self::send_allowed`] does after a plain ACK, when single segments are sent: the window ends at one sequence number, because
    /// all that is outstanding is in flight. Leaves the timer to [`Self::plan_loss_probe`].
    #[inline(always)]
    fn send_plain(&mut self, net: &mut Network) -> u32 {
        let from = self.t.snd_nxt;
        let window_end = self.t.snd_una + self.t.cwnd;
        let allowed = window_end.saturating_sub(from);
        let to = window_end.min(self.window_end).min(self.buffer.written);
        let sent = if from < to { self.send_segments(net, to, NONE) } else { 0 };
        self.note_sent(sent, self.t.packets_out >= self.t.cwnd);
        let window_full = allowed <= 1 && sent == allowed;
        if self.buffer.may_refill(&self.t, window_full, self.rec.reordering)
            && self.buffer.refill(&self.t, window_full, self.windows(), self.rec.reordering)
        {
            sent + self.write(net, false)
        } else {
            sent
        }
    }

    /// Sets the timer for a loss probe, as [`Self::schedule_loss_probe`] does after a plain ACK whose last segment was under way for
    /// `rtt_us`, which the first outstanding one is not. When the probe comes before the RTO and the timer's event before both, its tick is
    /// computed only if it is still the deadline when that event comes.
    #[inline(always)]
    fn plan_loss_probe(&mut self, net: &mut Network, rtt_us: u64, advancing: bool) {
        let after_us = u64::from(self.t.srtt_us8 >> 2) + TIMEOUT_MIN_US;
        if self.t.packets_out > 1 && after_us + rtt_us <= self.rto_us && self.comes_after_event(after_us) {
            self.pending = Pending::LossProbe;
            self.set_deadline(Deadline::AfterUs(after_us));
        } else {
            self.schedule_loss_probe(net, advancing);
        }
    }
}
