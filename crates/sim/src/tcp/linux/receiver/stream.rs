//! The receiving half of an end that also sends: ACKs ride on data, and wait for them while both ends take turns (ping-pong mode; Linux 6.12
//! include/net/inet_connection_sock.h, net/ipv4/tcp_output.c `tcp_event_ack_sent`, `tcp_event_data_sent`; tcp_input.c `tcp_measure_rcv_mss`,
//! `__tcp_ack_snd_check`; tcp.c `__tcp_cleanup_rbuf`).
//!
//! Leaves out: SACK blocks beside data, the exact charge of short segments to the receive buffer.

use super::Receiver;
use crate::outbox::Outbox;
use crate::packet::{flags, Packet, HEADERS};
use crate::tcp::common::layout::Layout;
use crate::time::Time;

/// What a full segment is taken for before one has come, bytes (TCP_MSS_DEFAULT).
pub(super) const FULL_UNSEEN: u32 = 536;
/// Shorter segments do not widen the window, bytes (`tcp_event_data_recv`).
const WIDENING: u32 = 128;

/// What only a half of a stream knows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// A second write of the sender's ended in what was not acknowledged yet.
    pub pushed_again: bool,
    /// Payload of a full segment, as far as it is known, bytes (`rcv_mss`).
    full: u32,
}

/// What a packet of this end says of the data that came.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::linux) struct Acknowledgement {
    pub ack: u32,
    pub window: u32,
    pub tsecr: u32,
    pub flags: u16,
}

impl Receiver {
    /// Makes this the half of a stream, whose segments tell how long they are.
    #[must_use]
    pub fn streaming(mut self) -> Self {
        let mss = self.layout.mss();
        self.stream = Some(Stream { pushed_again: false, full: FULL_UNSEEN.min(mss) });
        self.layout = Layout::stream(mss);
        self
    }

    /// Makes this the half of the end that opens the connection.
    #[must_use]
    pub fn opening(mut self) -> Self {
        self.buffer.open_first();
        self
    }

    /// The window of the SYN, which is not scaled, bytes.
    pub(in crate::tcp::linux) fn offered(&self) -> u32 {
        self.buffer.offered()
    }

    /// True once the handshake is complete.
    pub(in crate::tcp::linux) fn is_established(&self) -> bool {
        self.established
    }

    /// The connection that this end opened is established by the SYN-ACK `p`.
    pub(in crate::tcp::linux) fn connected(&mut self, p: &Packet, now: Time) {
        self.form.tsecr = p.tsval;
        self.hear_of_ecn(p, flags::ECE);
        self.established = true;
        self.buffer.establish(now / 1000);
    }

    /// Establishes the connection; us since the SYN-ACK was sent, unless that was more than once.
    pub(in crate::tcp::linux) fn accepted(&mut self, now: Time) -> Option<u32> {
        let rtt_us = (now / 1000 - self.rtt.syn_ack_us).max(1);
        self.establish(now);
        (self.rtt.syn_acks == 1).then_some(rtt_us as u32)
    }

    /// Puts data into the receive queue; what to do about an ACK is asked later.
    pub(in crate::tcp::linux) fn take_data(&mut self, p: &Packet, out: &mut impl Outbox) {
        if p.seq >= self.rcv_nxt && p.seq < self.buffer.end() {
            self.layout.note(p.seq, u32::from(p.len) - HEADERS);
        }
        self.queue_data(p, out);
    }

    /// Acknowledges now or later what nothing has acknowledged yet.
    pub(in crate::tcp::linux) fn check_ack_of_stream(&mut self, out: &mut impl Outbox) {
        if self.delay.is_scheduled() {
            self.check_ack(out);
        }
    }

    /// The application reads what there is: all bytes of the stream so far.
    pub(in crate::tcp::linux) fn read(&mut self, some: bool, out: &mut impl Outbox) -> u64 {
        self.on_read(some, out);
        self.layout.forget(self.buffer.acked_until());
        self.layout.before(self.rcv_nxt)
    }

    /// The RTT and the retransmission timeout of the connection are those that the sending half measures.
    pub(in crate::tcp::linux) fn take_estimates(&mut self, srtt_us: u64, rto: u64) {
        (self.rtt.srtt_us, self.rtt.rto) = (srtt_us, rto);
    }

    /// Acknowledges again what has come.
    pub(in crate::tcp::linux) fn acknowledge(&mut self, out: &mut impl Outbox) {
        self.send_ack(self.rcv_nxt, out);
    }

    /// A packet of the sending half takes the ACK along. One with `data` soon after data came shows that both ends take turns.
    pub(in crate::tcp::linux) fn ride(&mut self, data: bool, out: &mut impl Outbox) -> Acknowledgement {
        self.revoke_quick_if_tight();
        let window = self.buffer.advertise(self.rcv_nxt, self.charged());
        let flags = self.echo.take_flags();
        self.compression.note_ack(out);
        self.pushed = false;
        self.ack_now = false;
        if self.delay.is_scheduled() {
            self.delay.note_ack();
        }
        self.delay.clear_timer();
        if data && self.delay.takes_turns(out.now(), &self.clock) {
            self.delay.enter_ping_pong();
        }
        if let Some(stream) = &mut self.stream {
            stream.pushed_again = false;
        }
        Acknowledgement { ack: self.rcv_nxt, window, tsecr: self.form.tsecr, flags }
    }

    /// A payload is as long as that of the longest segment that came.
    pub(super) fn is_full(&self, payload: u32) -> bool {
        self.stream.as_ref().is_none_or(|stream| payload >= stream.full)
    }

    /// Notes how long a segment in order is; true if it may widen the window.
    pub(super) fn measure_in_stream(&mut self, p: &Packet) -> bool {
        let payload = u32::from(p.len) - HEADERS;
        let Some(stream) = &mut self.stream else { return true };
        if payload >= stream.full {
            stream.full = payload;
            self.buffer.measure();
            self.pushed |= p.has(flags::PSH) && self.kernel.acks_full_push;
        } else {
            stream.pushed_again |= self.pushed;
            self.pushed = true;
        }
        payload >= WIDENING
    }

    /// More than a full segment is not acknowledged.
    #[inline(always)]
    pub(super) fn is_more_than_one_full(&self) -> bool {
        if self.stream.is_some() || self.closing.has_ended() {
            return self.is_more_than_one_full_by_length();
        }
        self.rcv_nxt - self.buffer.acked_until() > 1
    }

    #[inline(never)]
    fn is_more_than_one_full_by_length(&self) -> bool {
        let Some(stream) = &self.stream else { return self.is_more_than_one_full_with_fin() };
        let fin = u64::from(self.closing.has_ended());
        self.layout.span(self.buffer.acked_until(), self.rcv_nxt) + fin > u64::from(stream.full)
    }

    /// The end of a write was read that earns an ACK at once.
    pub(super) fn is_write_to_acknowledge(&self) -> bool {
        match &self.stream {
            Some(stream) => stream.pushed_again || (self.pushed && !self.delay.in_ping_pong()),
            None => self.pushed && !self.delay.in_ping_pong(),
        }
    }
}
