//! ACK processing (FreeBSD 9.3 sys/netinet/tcp_input.c `tcp_do_segment`). Header prediction is no path of its own: for an ACK that it
//! accepts both do the same.
//!
//! Leaves out: PAWS, challenge ACKs.

use super::sender::{Phase, Sender};
use crate::attachment::Blocks;
use crate::outbox::Outbox;
use crate::packet::MSS;
use crate::segment::{flags, Segment};
use crate::tcp::common::lazy_timer::Ticks;
use crate::time::Time;

const SEG: u64 = MSS as u64;
/// Duplicate ACKs that show a loss (`tcprexmtthresh`).
const REXMT_THRESH: u32 = 3;

impl Sender {
    /// A packet of the receiver arrives.
    #[inline(never)]
    pub fn on_ack(&mut self, p: &Segment, out: &mut impl Outbox) {
        self.counters.acks_arrived += 1;
        let blocks = *out.take_attachment(p.attachment).blocks();
        self.rcv_tick = self.clock.tick(out.now());
        match (self.phase, p.has(flags::SYN)) {
            (Phase::SynSent, true) => self.on_syn_ack(p, out),
            (Phase::Established, true) => {
                // A SYN again: the ACK of the first was slow. Its flag is taken for an echo.
                self.hear_echo(p, out.now());
                self.ack_now = true;
                self.output(out, false);
            }
            (Phase::Established, false) => self.on_established(p, &blocks, out),
            (Phase::Closed, _) | (Phase::SynSent, false) => {}
        }
    }

    fn on_established(&mut self, p: &Segment, blocks: &Blocks, out: &mut impl Outbox) {
        let (ack, window) = (p.seq, u64::from(p.window));
        self.hear_echo(p, out.now());
        let mut last_sack = None;
        if blocks.count > 0 || !self.holes.is_empty() {
            last_sack = self.holes.update(self.snd_una, ack, self.snd_max, blocks.as_slice());
        }
        self.tell_of_ack(p, last_sack, out.now());
        self.note_delivery(ack.max(self.snd_una), p);
        let advanced = ack > self.snd_una;
        if advanced {
            self.on_new_ack(p, out);
        } else {
            self.note_timestamp(p);
            if window != self.snd_wnd {
                self.dupacks = 0;
            } else if self.on_duplicate(ack, out) {
                return;
            }
        }
        let mut needs_output = advanced && ack == self.snd_max;
        if self.snd_wl2 < ack || (self.snd_wl2 == ack && window > self.snd_wnd) {
            self.snd_wnd = window;
            self.snd_wl2 = ack;
            needs_output = true;
        }
        if needs_output || self.ack_now {
            self.output(out, false);
        }
        if advanced {
            self.write(out);
        }
    }

    /// An ACK may bring an ECN echo.
    fn hear_echo(&mut self, p: &Segment, now: Time) {
        if self.ecn.is_echo(p) {
            self.cc_mark(now);
        }
    }

    /// An ACK that changes nothing; true if it has been dealt with.
    fn on_duplicate(&mut self, ack: u32, out: &mut impl Outbox) -> bool {
        if !self.retransmit_pending() || ack != self.snd_una {
            self.dupacks = 0;
            return false;
        }
        self.dupacks += 1;
        if self.dupacks > REXMT_THRESH || self.window.fast_recovery {
            self.cc_ack_received(None, out.now());
            if self.window.fast_recovery {
                self.inflate();
            } else {
                self.window.cwnd += SEG;
            }
            self.output(out, false);
        } else if self.dupacks == REXMT_THRESH {
            self.enter_recovery(out);
        } else if self.limited_transmit {
            self.cc_ack_received(None, out.now());
            self.send_limited(out);
        } else {
            return false;
        }
        true
    }

    /// In recovery a segment may follow while less than the new window is out.
    fn inflate(&mut self) {
        let outstanding = i64::from(self.snd_nxt) - i64::from(self.holes.fack) + i64::from(self.holes.retransmitted);
        let w = &mut self.window;
        if outstanding * i64::from(MSS) < w.ssthresh as i64 {
            w.cwnd = (w.cwnd + SEG).min(w.ssthresh);
        }
    }

    fn enter_recovery(&mut self, out: &mut impl Outbox) {
        self.cc_loss();
        self.cc_ack_received(None, out.now());
        self.timer.clear();
        self.sack_newdata = self.snd_nxt;
        self.window.cwnd = SEG;
        self.output(out, false);
    }

    /// Each of the first two duplicate ACKs lets a new segment out, if the receiver's window does (RFC 3042).
    fn send_limited(&mut self, out: &mut impl Outbox) {
        if self.dupacks == 1 {
            self.limited_sent = 0;
        }
        let (cwnd, max) = (self.window.cwnd, self.snd_max);
        let outstanding = self.layout.span(self.snd_una, self.snd_nxt);
        self.window.cwnd = outstanding + u64::from(self.dupacks - self.limited_sent) * SEG;
        if self.buffer.held(self.snd_una) > outstanding {
            self.output(out, false);
        }
        self.limited_sent += self.snd_max - max;
        self.window.cwnd = cwnd;
    }

    /// Something was acknowledged.
    fn on_new_ack(&mut self, p: &Segment, out: &mut impl Outbox) {
        let ack = p.seq;
        let bytes = self.layout.span(self.snd_una, ack);
        if self.window.fast_recovery {
            if ack < self.snd_recover {
                self.on_partial_ack(bytes, out);
            } else {
                self.cc_post_recovery(self.layout.span(ack, self.snd_max), out.now());
            }
        }
        self.dupacks = 0;
        self.check_bad_retransmit(out.now());
        self.take_rtt(p, out.now());
        if ack == self.snd_max {
            self.timer.clear();
        } else if !self.persist_pending() {
            self.set_retransmit(out);
        }
        self.cc_ack_received(Some(bytes), out.now());
        self.snd_wnd = self.snd_wnd.saturating_sub(bytes);
        if self.window.cong_recovery && ack >= self.snd_recover {
            self.window.exit_recovery();
        }
        self.snd_una = ack;
        self.snd_recover = self.snd_recover.max(ack);
        self.snd_nxt = self.snd_nxt.max(ack);
    }

    /// Recovery goes on: one or two segments may follow.
    fn on_partial_ack(&mut self, bytes: u64, out: &mut impl Outbox) {
        self.timer.clear();
        let more = if bytes / SEG >= 2 { 2 } else { 1 };
        let new = self.snd_nxt.saturating_sub(self.sack_newdata);
        let outstanding = u64::from(self.holes.retransmitted) + u64::from(new);
        self.window.cwnd = ((outstanding + more) * SEG).min(self.window.ssthresh);
        self.ack_now = true;
        self.output(out, false);
    }
}
