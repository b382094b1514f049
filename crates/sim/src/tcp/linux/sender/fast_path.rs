//! The fast path of the common ACK (Linux has header prediction for the same reason): while no segment in flight was ever marked, neither
//! recovery nor undo has anything to do, and what is left is to count, to take the RTT and to send what that allows. A property test
//! (`fast_path_tests`) shows that it ends where the full path does.

use super::ack::flag;
use super::loss::rack::TIMEOUT_MIN_US;
use super::output::transmit::NONE;
use super::{FastPath, Pending, Phase, Sender, Sending};
use crate::cc::{CaState, CongestionControl, RateSample};
use crate::outbox::Outbox;
use crate::packet::NO_ATTACHMENT;
use crate::segment::{flags, Segment};
use crate::tcp::common::lazy_timer::Ticks;

impl Sender {
    /// True if [`Self::on_fast_ack`] can handle the packet: an ACK of new data, without SACK blocks, while no segment in flight was ever
    /// marked, and with more left in flight, so that a loss probe is due afterwards. Its timestamp is no older than the last one. Either the state
    /// is Open and there is no ECN echo, or the window is being reduced in CWR. Every question that [`Self::process_ack`] asks of each segment then has one answer.
    #[inline]
    pub(in crate::tcp::linux) fn takes_fast_path(&self, p: &Segment) -> bool {
        p.seq > self.view.snd_una
            && p.seq < self.view.snd_nxt
            && p.attachment == NO_ATTACHMENT
            && p.tsval >= self.form.tsecr
            && if self.fast_path != FastPath::Closed {
                !p.has(flags::SYN | flags::ECE)
            } else {
                !p.has(flags::SYN) && self.may_take_fast_path_in_cwr(p.seq)
            }
    }

    /// Looks again whether ACKs may [take the fast path](Self::takes_fast_path) in state Open. Called after everything that is not on the
    /// fast path; the fast path itself changes nothing about that, unless sending changes the congestion state.
    pub(in crate::tcp::linux) fn update_fast_path(&mut self) {
        let several =
            self.stack.ack_event_first || self.needs.rate_samples || self.needs.whole_acks || self.needs.cong_control;
        self.fast_path = match self.view.state == CaState::Open && self.nothing_in_flight_is_marked() {
            false => FastPath::Closed,
            true if several => FastPath::SeveralCalls,
            true => FastPath::OneCall,
        };
    }

    fn nothing_in_flight_is_marked(&self) -> bool {
        self.board.is_unmarked(self.view.snd_una)
            && !self.probe.is_out()
            && self.stack.tail_loss_probe
            && !self.close.may_exceed_window()
            && self.sack
            && !self.has_heard_fin()
            && !self.peer.is_small()
            && !self.buffer.is_stream()
            && self.accecn.is_none()
            && self.phase == Phase::Established
    }

    /// In state CWR, if `una` does not end it, and the segment at `una` was sent too late for RACK to suspect it.
    #[inline(never)]
    fn may_take_fast_path_in_cwr(&self, una: u32) -> bool {
        self.view.state == CaState::Cwr
            && una < self.rec.end()
            && !self.rack.is_past(self.board.get(una).sent_us(), una + 1)
            && self.nothing_in_flight_is_marked()
    }

    /// [`Self::on_fast_ack`] in state CWR.
    #[inline(never)]
    pub(in crate::tcp::linux) fn on_fast_ack_in_cwr(&mut self, p: &Segment, out: &mut impl Outbox) {
        self.on_fast_ack(p, false, out);
    }

    /// Does the work of [`Self::on_ack`] for an ACK that [takes the fast path](Self::takes_fast_path). `open`: in state Open. It is a literal
    /// where this is called and this is inlined, so that what is only done in state CWR costs nothing in state Open.
    #[inline(always)]
    pub(in crate::tcp::linux) fn on_fast_ack(&mut self, p: &Segment, open: bool, out: &mut impl Outbox) {
        let rtt_us = self.process_fast_ack(p, open);
        let sent = match self.sending {
            Sending::Runs => self.send_allowed_in_one_run::<false>(out),
            Sending::NotedRuns => self.send_allowed_in_one_noted_run(out),
            Sending::Steps | Sending::NotedSteps => self.send_allowed_in_steps(out),
        };
        if self.sending != Sending::Runs && self.pacing_delay(out.now()) > 0 {
            self.schedule_loss_probe(out, sent == 0);
        } else {
            self.schedule_likely_loss_probe(out, rtt_us, sent == 0);
        }
    }

    /// Does the work of [`Self::process_ack`] for such an ACK, but for the timer. Returns the RTT of the last segment acknowledged, us.
    #[inline(always)]
    fn process_fast_ack(&mut self, p: &Segment, open: bool) -> u64 {
        self.form.tsecr = self.form.tsecr.max(p.tsval);
        self.rec.note_progress();
        self.take_peer_window(p.window, p.seq);
        let (prior_una, una) = (self.view.snd_una, p.seq);
        let acked = una - prior_una;
        self.view.snd_una = una;
        let ece = !open && p.has(flags::ECE) && self.ecn.is_echoed();
        if self.stack.ack_event_first {
            self.tell_of_ack(p, acked, ece);
        }
        let (first, last) = (*self.board.get(prior_una), *self.board.get(una - 1));
        self.board.unlist_unmarked(una);
        self.view.packets_out -= acked;
        self.count_delivered(acked, ece);
        self.rack_advance(0, una, last.sent_us());
        let ca_rtt_us = self.us_since(last.sent_us());
        let maybe_delayed = acked == 1 && self.layout.payload(una - 1) < self.layout.mss();
        self.take_rtt(self.us_since(first.sent_us()) as u32, ca_rtt_us as u32, maybe_delayed);
        if !self.rack.is_narrow() {
            self.rack_update_window(last.noted);
        }
        if open && self.fast_path == FastPath::OneCall {
            self.cc.on_progress(&self.view, &mut self.window, acked, ca_rtt_us as i64, p.has(flags::ESCE));
            self.update_pacing_rate();
        } else {
            self.steer_window_separately(p, acked, ca_rtt_us as i64, ece, maybe_delayed);
        }
        ca_rtt_us
    }

    /// Tells congestion control of an ACK on a stack that does so before the acknowledged segments are counted.
    #[inline(never)]
    fn tell_of_ack(&mut self, p: &Segment, acked: u32, ece: bool) {
        let prior_in_flight = self.view.packets_out;
        let sample = self.whole_sample(p, acked, -1, ece);
        self.cc.on_ack(&self.view, &mut self.window, &RateSample { prior_in_flight, ..sample });
    }

    /// All that the ACK `p` says by itself.
    fn whole_sample(&self, p: &Segment, acked: u32, rtt_us: i64, ece: bool) -> RateSample {
        let slow_path = ece || self.peer.was_changed_by(p.seq);
        let progress = RateSample::progress(&self.view, acked, rtt_us, p.has(flags::ESCE));
        RateSample { ece, slow_path, tsval: p.tsval, tsecr: p.tsecr, ..progress }
    }

    /// Tells congestion control of an ACK on the fast path in state CWR, or on a stack whose control has been told of the event before, or that
    /// needs a rate sample or whole ACKs, or that sets window and rate itself.
    #[inline(never)]
    fn steer_window_separately(&mut self, p: &Segment, acked: u32, rtt_us: i64, ece: bool, maybe_delayed: bool) {
        let mut sample = self.whole_sample(p, acked, rtt_us, ece);
        if self.sampler.is_some() {
            // The last of the segments that were sent once and in order was sent last.
            let last = self.view.snd_una;
            self.begin_sample(last);
            self.note_deliveries(last - 1..last);
            self.sample_transmission(&mut sample);
        }
        self.cc.pkts_acked(&self.view, &mut self.window, &sample);
        if !self.stack.ack_event_first {
            self.cc.on_ack(&self.view, &mut self.window, &sample);
        }
        self.sample_rate(&mut sample, maybe_delayed);
        let open = self.view.state == CaState::Open;
        if !open {
            self.rack.trust();
            self.undo.forget_retransmissions();
            if sample.ece {
                self.undo.forget_ssthresh();
            }
        }
        if self.needs.cong_control {
            return self.obey_control(&sample);
        }
        if open {
            self.cc.cong_avoid(&self.view, &mut self.window, sample.acked);
            self.reduce_if_asked();
        } else {
            self.reduce_cwnd(sample.acked, 0, flag::UNA_ADVANCED);
        }
        self.update_pacing_rate();
    }

    /// [`Self::send_allowed_in_one_run`] for a control that needs rate samples.
    #[inline(never)]
    fn send_allowed_in_one_noted_run(&mut self, out: &mut impl Outbox) -> u32 {
        self.send_allowed_in_one_run::<true>(out)
    }

    /// Does the work of [`Self::send_allowed`] on the fast path without TSO: as everything outstanding is in flight, the window ends at one
    /// sequence number, and what it allows goes in one run. Leaves the timer to [`Self::schedule_likely_loss_probe`].
    #[inline(always)]
    fn send_allowed_in_one_run<const NOTED: bool>(&mut self, out: &mut impl Outbox) -> u32 {
        let from = self.view.snd_nxt;
        let cwnd_end = self.view.snd_una.saturating_add(self.window.cwnd);
        let allowed = cwnd_end.saturating_sub(from);
        let to = cwnd_end.min(self.peer.end()).min(self.buffer.written);
        let sent = match from < to {
            true if NOTED => self.send_noted_segments(out, to, NONE),
            true => self.send_segments(out, to, NONE),
            false => 0,
        };
        let limited = from < self.buffer.written && self.view.packets_out >= self.window.cwnd;
        self.note_sent(sent, limited);
        if !limited || self.chrono.is_receiver() {
            self.chrono_after_run(from, sent, cwnd_end);
        }
        let window_full = allowed <= 1 && sent == allowed;
        if self.buffer.may_refill(&self.view, self.window.cwnd, window_full, self.reordering.degree()) {
            sent + self.wake_application_separately(window_full, out)
        } else {
            sent
        }
    }

    /// Sending is, or becomes, limited by something else than the congestion window; `sent` segments went from `from` on.
    #[inline(never)]
    fn chrono_after_run(&mut self, from: u32, sent: u32, cwnd_end: u32) {
        let nxt = self.view.snd_nxt;
        if from < self.buffer.written {
            self.chrono_sent(self.has_data() && nxt < cwnd_end && nxt >= self.peer.end());
        }
        if sent > 0 && !self.window.is_limiting(&self.view) {
            self.chrono_starved();
        }
    }

    /// Does the work of [`Self::schedule_loss_probe`] on the fast path. The last segment acknowledged was sent `rtt_us` ago, the first outstanding
    /// one no earlier. The probe nearly always comes before the RTO.
    #[inline(always)]
    fn schedule_likely_loss_probe(&mut self, out: &mut impl Outbox, rtt_us: u64, advancing: bool) {
        let after_us = u64::from(self.view.srtt_us8 >> 2) + TIMEOUT_MIN_US;
        let before_rto = self.view.packets_out > 1 && after_us + rtt_us <= self.rtt.rto_us();
        if before_rto {
            self.set_timer(out, Pending::LossProbe, self.clock.in_ticks(after_us));
        } else {
            self.schedule_loss_probe(out, advancing);
        }
    }
}
