//! Packets that are dropped before anything else looks at them, and the timestamp to echo: segments that a retransmission has overtaken (PAWS, RFC 7323) and
//! those from before all that was acknowledged (Linux 6.12 net/ipv4/tcp_input.c `tcp_validate_incoming`, `tcp_paws_discard`, `tcp_sequence`,
//! `tcp_replace_ts_recent`, `tcp_send_dupack`).

use super::{Receiver, MAX_QUICK};
use crate::outbox::Outbox;
use crate::packet::HEADERS;
use crate::segment::{flags, Segment};
use crate::tcp::linux::validate::is_old;
use crate::time::Time;

impl Receiver {
    /// The timestamp of a packet is too old.
    #[inline]
    pub(in crate::tcp::linux) fn is_late(&self, p: &Segment) -> bool {
        is_old(p.tsval, self.form.tsecr)
    }

    /// The timestamp to echo.
    pub(in crate::tcp::linux) fn echoed(&self) -> u32 {
        self.form.tsecr
    }

    /// A packet without data that has this number is not answered if its timestamp is too old (`tcp_disordered_ack_check`).
    pub(in crate::tcp::linux) fn ignores_late(&self, seq: u32) -> bool {
        self.kernel.ignores_old_acks && seq < self.rcv_nxt
    }

    /// The payload of a packet, up to the segment `end`, lies before all that was acknowledged.
    #[inline]
    pub(in crate::tcp::linux) fn is_stale(&self, end: u32) -> bool {
        end < self.buffer.acked_until()
    }

    /// A segment is dropped.
    #[inline]
    pub(super) fn refuses(&self, p: &Segment) -> bool {
        self.is_late(p) || self.is_stale(p.seq + 1) || self.is_beyond(p.seq)
    }

    /// A packet begins beyond the end of the window (`tcp_sequence`).
    #[inline]
    pub(in crate::tcp::linux) fn is_beyond(&self, seq: u32) -> bool {
        seq > self.rcv_nxt
            && self.bytes_at_most(seq) > self.buffer.advertised()
            && self.bytes_unacknowledged(seq) > self.buffer.advertised()
    }

    /// Answers the segment `[seq, end)`, which is dropped, by a duplicate ACK.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp::linux) fn refuse(&mut self, seq: u32, end: u32, out: &mut impl Outbox) {
        if seq < self.rcv_nxt {
            self.counters.duplicates += 1;
            self.enter_quick(MAX_QUICK);
            self.early.report_duplicate(seq, end.min(self.rcv_nxt));
        }
        self.send_ack(self.rcv_nxt, out);
    }

    /// Answers a packet without data that is dropped, a probe of the window among them.
    pub(in crate::tcp::linux) fn answer_bare(&mut self, out: &mut impl Outbox) {
        if self.answers.is_due(out.now()) {
            self.send_ack(self.rcv_nxt, out);
        }
    }

    /// A packet of the sender that has no data and does not close: a probe of the window, the end of the handshake when data have come before it,
    /// or the answer to an ACK that was dropped.
    #[inline(never)]
    pub(super) fn on_bare(&mut self, p: &Segment, out: &mut impl Outbox) {
        if self.is_late(p) || self.is_stale(p.seq) {
            if !(self.is_late(p) && self.ignores_late(p.seq)) {
                self.answer_bare(out);
            }
        } else {
            self.note_timestamp(p.seq, p);
            self.buffer.note_echo(p.tsecr);
        }
    }

    /// Data in order wait to be read.
    fn has_unread(&self) -> bool {
        self.reader.as_ref().map_or(!self.unread.is_empty(), |reader| !reader.has_read_all())
    }

    /// Notes the timestamps of a segment.
    #[inline]
    pub(super) fn take_timestamps(&mut self, p: &Segment, now: Time) {
        self.note_timestamp(p.seq, p);
        self.time_echo(p, now);
    }

    /// RTT by the timestamp that a full segment echoes (`tcp_rcv_rtt_measure_ts`).
    #[inline]
    fn time_echo(&mut self, p: &Segment, now: Time) {
        let length = u64::from(u32::from(p.len) - HEADERS + u32::from(p.has(flags::FIN)));
        if length >= self.buffer.seen_mss() {
            let waits = self.has_unread();
            self.buffer.rtt_by_timestamp(p.tsecr, waits, now);
        } else {
            self.buffer.note_echo(p.tsecr);
        }
    }

    /// Notes the timestamps of a packet of a stream whose first number, or the next one where it has none, is `seq`.
    pub(in crate::tcp::linux) fn take_timestamps_of_stream(
        &mut self,
        seq: u32,
        p: &Segment,
        has_data: bool,
        now: Time,
    ) {
        self.note_timestamp(seq, p);
        if has_data {
            self.time_echo(p, now);
        } else {
            self.buffer.note_echo(p.tsecr);
        }
    }

    /// The timestamp to echo is that of the segment that the last ACK asked for.
    #[inline]
    pub(in crate::tcp::linux) fn note_timestamp(&mut self, seq: u32, p: &Segment) {
        if self.buffer.is_acked(seq) && p.tsval >= self.form.tsecr {
            self.form.tsecr = p.tsval;
        }
    }
}
