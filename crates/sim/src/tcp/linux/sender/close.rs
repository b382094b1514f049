//! Closing: the FIN, and the answer to the other end's (RFC 9293 section 3.6; Linux 6.12 net/ipv4/tcp_output.c `tcp_send_fin`, `tcp_cwnd_test`;
//! tcp_input.c `tcp_fin`; tcp_minisocks.c `tcp_timewait_state_process`). The FIN goes with the last segment if that was not sent yet, and else in
//! a segment of its own. From then on it is a segment like others: what finds losses sends it again.
//!
//! Leaves out: closing before all that came is read (RST), both ends closing at once, the end of TIME_WAIT.

use super::{FastPath, Sender};
use crate::cc::Renumbering;
use crate::outbox::{End, Outbox};
use crate::packet::{Ecn, ACK_FRAME};
use crate::segment::{flags, Segment};
use crate::tcp::linux::validate::{self, Answers};

/// No segment.
const NONE: u32 = u32::MAX;

/// How far the connection is closed. Told when the application closes and when the other end's FIN arrives; asked where segments are sent.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::linux) struct Close {
    /// The application closes when it has written its transfer.
    after_transfer: bool,
    /// A FIN may be sent beyond the congestion window.
    beyond_cwnd: bool,
    /// The segment with the FIN.
    fin: u32,
    /// The other end has sent its FIN.
    peer_closed: bool,
    /// Limits the answers in TIME_WAIT.
    answers: Answers,
}

impl Close {
    /// Open.
    pub fn new(after_transfer: bool, beyond_cwnd: bool, answers: Answers) -> Self {
        Self { after_transfer, beyond_cwnd, fin: NONE, peer_closed: false, answers }
    }

    /// The application does not close.
    #[cfg(test)]
    pub fn keep_open(&mut self) {
        self.after_transfer = false;
    }

    /// The application has closed.
    #[inline]
    pub fn is_requested(&self) -> bool {
        self.fin != NONE
    }

    /// The segment with the FIN; the largest number if there is none.
    pub fn fin(&self) -> u32 {
        self.fin
    }

    /// A segment before the FIN is new or has gone.
    pub fn renumber(&mut self, r: Renumbering) {
        r.apply_to_flag(&mut self.fin);
    }

    /// There is another number of segments before it.
    pub fn move_fin(&mut self, fin: u32) {
        self.fin = fin;
    }

    /// The FIN bit of segment `seq`, if it has it.
    pub fn flag_of(&self, seq: u32) -> u16 {
        if seq == self.fin {
            flags::FIN
        } else {
            0
        }
    }

    /// The congestion window does not hold back segment `seq`, which is sent next.
    pub fn exceeds_window(&self, seq: u32) -> bool {
        self.beyond_cwnd && seq == self.fin
    }

    /// There is a FIN that the congestion window may not hold back.
    pub fn may_exceed_window(&self) -> bool {
        self.beyond_cwnd && self.is_requested()
    }
}

impl Sender {
    /// Sends what the windows allow of what the application has just written, and closes if that was all it had to write; returns how many
    /// segments went.
    pub(in crate::tcp::linux) fn write_refilled(&mut self, out: &mut impl Outbox) -> u32 {
        let sent = if self.tso.enabled {
            self.in_process(|this| this.send_messages(out))
        } else {
            // Who waits for room pushes what there is.
            self.stream.is_pushed = !self.buffer.is_complete();
            let sent = self.write(out, false);
            self.stream.is_pushed = false;
            sent
        };
        self.chrono_written();
        if self.close.after_transfer && self.buffer.is_complete() && !self.close.is_requested() {
            sent + self.in_process(|this| this.close(out))
        } else {
            sent
        }
    }

    /// The application closes, having written all; returns how many segments went.
    pub(in crate::tcp::linux) fn close(&mut self, out: &mut impl Outbox) -> u32 {
        if self.has_data() {
            self.layout.mark_last();
        } else {
            self.layout.append_bare();
            self.buffer.append_bare();
            if self.tso.enabled {
                self.skbs.entail();
            }
        }
        self.close.fin = self.layout.end() - 1;
        if self.layout.is_stream() {
            self.find_window_end();
        }
        if self.close.may_exceed_window() {
            self.fast_path = FastPath::Closed;
        }
        self.end_window_in_bytes(self.view.snd_una);
        self.stream.is_pushed = true;
        let sent = self.write(out, false);
        self.stream.is_pushed = false;
        sent
    }

    /// The other end's FIN has arrived, for the first time or again: acknowledges it.
    #[inline(never)]
    pub(super) fn answer_fin(&mut self, out: &mut impl Outbox) {
        self.note_fin_of_peer();
        let ack = self.bare_packet(out.now(), self.view.snd_nxt, flags::CLOSED);
        self.counters.sent += 1;
        out.send(End::Sender, ack);
    }

    /// The other end's FIN has arrived.
    pub(in crate::tcp::linux) fn note_fin_of_peer(&mut self) {
        self.close.peer_closed = true;
    }

    /// The other end's FIN has arrived.
    #[inline]
    #[must_use]
    pub fn has_heard_fin(&self) -> bool {
        self.close.peer_closed
    }

    /// A packet comes after the other end's FIN; true if nothing more is to be done about it. In TIME_WAIT an ACK of what that has sent is only
    /// noted, and all else is answered (`tcp_timewait_state_process`). Before, an ACK from before the FIN is not heard (`tcp_sequence`).
    #[cold]
    #[inline(never)]
    pub(super) fn is_done_with(&mut self, p: &Segment, out: &mut impl Outbox) -> bool {
        let is_old = !p.has(flags::CLOSED | flags::FIN | flags::SYN);
        if !self.has_closed() {
            if is_old {
                self.answer_late(p, out);
            }
            return is_old;
        }
        out.take_attachment(p.attachment);
        if p.has(flags::CLOSED) && !p.has(flags::FIN) && !validate::is_old(p.tsval, self.form.tsecr) {
            self.form.tsecr = p.tsval;
        } else if p.has(flags::FIN) || self.close.answers.is_due(out.now()) {
            let ack = self.packet(self.view.snd_nxt, ACK_FRAME, flags::CLOSED, Ecn::NotEct);
            self.counters.sent += 1;
            out.send(End::Sender, ack);
        }
        true
    }

    /// The other end has acknowledged the FIN.
    pub(in crate::tcp::linux) fn is_fin_acknowledged(&self) -> bool {
        self.view.snd_una > self.close.fin
    }

    /// The FINs of both ends have arrived, and this end knows that (TIME_WAIT, or closed).
    #[must_use]
    pub fn has_closed(&self) -> bool {
        self.close.peer_closed && self.is_fin_acknowledged()
    }
}
