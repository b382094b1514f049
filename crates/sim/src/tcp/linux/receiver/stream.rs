//! The receiving half of an end that also sends: ACKs ride on data, and wait for them while both ends take turns (ping-pong mode; Linux 6.12
//! include/net/inet_connection_sock.h, net/ipv4/tcp_output.c `tcp_event_ack_sent`, `tcp_event_data_sent`; tcp_input.c `tcp_measure_rcv_mss`,
//! `__tcp_ack_snd_check`; tcp.c `__tcp_cleanup_rbuf`).
//!
//! Its numbers count bytes, from the SYN that has number 0. On the wire they wrap; here what lies far behind is taken off all of them.

use super::Receiver;
use crate::attachment::Blocks;
use crate::outbox::{End, Outbox};
use crate::packet::{Direction, Ecn, HEADERS, RST_FRAME};
use crate::segment::{flags, Segment};
use crate::tcp::common::layout::Layout;
use crate::tcp::common::lazy_timer::Ticks;
use crate::tcp::linux::request::Request;
use crate::time::Time;

/// Numbers of bytes beyond which some are taken off, and how many.
const FAR: u32 = 3 << 30;
const TAKEN_OFF: u32 = 1 << 31;

/// Bytes of a page. Memory is asked for, and given back, by pages (`__sk_mem_schedule`, `sk_mem_reclaim`).
const PAGE: u64 = 4096;

/// Knowledge that only a half of a stream has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// The bytes that were taken off the numbers so far.
    pub base: u64,
}

/// Acknowledgement that a packet of this end carries for the data that came.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::linux) struct Acknowledgement {
    pub ack: u32,
    pub window: u32,
    pub tsecr: u32,
    pub flags: u16,
    pub blocks: Blocks,
}

impl Receiver {
    /// Makes this the half of a stream, whose segments tell how long they are.
    #[must_use]
    pub fn streaming(mut self) -> Self {
        self.stream = Some(Stream { base: 0 });
        self.layout = Layout::bytes();
        self.kernel.cost = self.kernel.cost.in_bytes();
        self
    }

    /// First number beyond a segment: in a stream each byte has one, and the FIN.
    #[inline]
    pub(super) fn end_of(&self, p: &Segment) -> u32 {
        if self.stream.is_some() {
            p.seq + u32::from(p.len) - HEADERS + u32::from(p.has(flags::FIN))
        } else {
            p.seq + 1
        }
    }

    /// Add this to a number of this half to get the number on the wire, which wraps.
    pub(in crate::tcp::linux) fn base(&self) -> u32 {
        self.stream.as_ref().map_or(0, |stream| stream.base as u32)
    }

    /// The number of this half that stands on the wire as `wire`: the one nearest to what is expected.
    pub(in crate::tcp::linux) fn number(&self, wire: u32) -> u32 {
        let ahead = wire.wrapping_sub(self.rcv_nxt.wrapping_add(self.base())) as i32;
        self.rcv_nxt.saturating_add_signed(ahead)
    }

    /// Takes off the numbers what lies far behind, once nothing is missing.
    fn rebase(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        if self.rcv_nxt < FAR || !self.early.is_empty() || self.closing.has_ended() {
            return;
        }
        stream.base += u64::from(TAKEN_OFF);
        self.rcv_nxt -= TAKEN_OFF;
        self.buffer.rebase(TAKEN_OFF);
        self.compression.rebase(TAKEN_OFF);
        self.early.forget_duplicate();
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
    pub(in crate::tcp::linux) fn connected(&mut self, p: &Segment, now: Time) {
        self.form.tsecr = p.tsval;
        self.hear_of_ecn(p, flags::ECE);
        self.established = true;
        self.delay.establish(now);
        self.buffer.establish(now / 1000);
    }

    /// The other end's SYN has crossed this one's.
    pub(in crate::tcp::linux) fn cross(&mut self, p: &Segment) {
        self.form.tsecr = p.tsval;
        self.hear_of_ecn(p, flags::ECN_SETUP);
    }

    /// The connection is established whose SYNs have crossed. That counts as no arrival of data.
    pub(in crate::tcp::linux) fn end_crossing(&mut self, now: Time) {
        self.established = true;
        self.buffer.establish(now / 1000);
    }

    /// Establishes the connection that the other end opened; its request, and us since the last SYN-ACK.
    pub(in crate::tcp::linux) fn accepted(&mut self, out: &mut impl Outbox) -> (Request, u32) {
        let rtt_us = (out.now() / 1000 - self.rtt.syn_ack_us).max(1);
        self.end_opening(out);
        self.establish(out.now());
        (self.opening.request, rtt_us as u32)
    }

    /// Puts data into the receive queue; what to do about an ACK is asked later. Of a segment that came again and is not reported yet nothing is known
    /// any more, unless header prediction takes the data (`is_predicted`).
    pub(in crate::tcp::linux) fn take_data(&mut self, p: &Segment, is_predicted: bool, out: &mut impl Outbox) {
        if !is_predicted {
            self.early.forget_duplicate();
        }
        self.queue_data(p, out);
    }

    /// Nothing came before what is missing.
    pub(in crate::tcp::linux) fn misses_nothing(&self) -> bool {
        self.early.is_empty()
    }

    /// True if the connection has memory for this packet that it need not ask for (`sk_forward_alloc`); its other half is `charged` so many bytes.
    pub(in crate::tcp::linux) fn has_memory_for(&self, p: &Segment, charged: u64) -> bool {
        let charged = charged + self.charged();
        let left = charged.next_multiple_of(PAGE) - charged;
        !self.kernel.returns_memory || self.kernel.cost.head + u64::from(u32::from(p.len) - HEADERS) <= left
    }

    /// Acknowledges now or later what nothing has acknowledged yet.
    pub(in crate::tcp::linux) fn check_ack_of_stream(&mut self, out: &mut impl Outbox) {
        if self.delay.is_scheduled() {
            self.check_ack(out);
        }
    }

    /// The application reads no more and gives up what it has not read; true if there was something.
    pub(in crate::tcp::linux) fn drop_unread(&mut self) -> bool {
        !std::mem::take(&mut self.unread).is_empty()
    }

    /// The application reads what there is.
    pub(in crate::tcp::linux) fn read(&mut self, some: bool, out: &mut impl Outbox) {
        self.on_read(some, out);
        self.rebase();
    }

    /// The RTT and the retransmission timeout of the connection are those that the sending half measures.
    pub(in crate::tcp::linux) fn take_estimates(&mut self, (srtt_us, rto): (u64, u64)) {
        if srtt_us != self.rtt.srtt_us {
            self.rtt.srtt = self.clock.in_ticks(srtt_us);
        }
        (self.rtt.srtt_us, self.rtt.rto) = (srtt_us, rto);
    }

    /// The end looks at the clock, because a packet has come or its application writes (`tcp_mstamp_refresh`).
    pub(in crate::tcp::linux) fn look(&mut self, now: Time) {
        self.compression.look(now);
    }

    /// Return the rest of the window advertised last, bytes (`tcp_receive_window`).
    pub(in crate::tcp::linux) fn window_left(&self) -> u32 {
        self.buffer.left(self.unacknowledged()) as u32
    }

    /// An RST with this number is believed: the one expected, or after the peer's FIN the one before, or the one behind the highest SACK block.
    pub(in crate::tcp::linux) fn is_reset_by(&self, seq: u32) -> bool {
        let follows_fin = self.closing.has_ended() && seq + 1 == self.rcv_nxt;
        let is_acceptable = !self.is_stale(seq) && !self.is_beyond(seq);
        follows_fin || is_acceptable && (seq == self.rcv_nxt || self.early.reported_until() == Some(seq))
    }

    /// Resets the connection (`tcp_send_active_reset`).
    pub(in crate::tcp::linux) fn send_reset(&mut self, out: &mut impl Outbox) {
        self.form.flags |= flags::RST;
        self.send_ack(self.rcv_nxt, out);
    }

    /// This is the timestamp to echo.
    pub(in crate::tcp::linux) fn echo_from_now(&mut self, tsval: u32) {
        self.form.tsecr = tsval;
    }

    /// Answers a packet where there is no socket, and its last window is all that is known of it (`tcp_v4_timewait_ack`, `tcp_v4_reqsk_send_ack`).
    pub(in crate::tcp::linux) fn acknowledge_with(&mut self, window: u32, out: &mut impl Outbox) {
        let ack = self.ack_packet(self.rcv_nxt, window, out.now());
        self.counters.acks_sent += 1;
        out.send(End::Receiver, Segment { flags: Direction::Reverse.flags() | Ecn::NotEct.flags(), ..ack });
    }

    /// Answers a packet that reaches no connection. It has the number that the packet acknowledges, and acknowledges nothing (`tcp_v4_send_reset`).
    pub(in crate::tcp::linux) fn reset_stranger(&mut self, out: &mut impl Outbox) {
        let flags = Direction::Reverse.flags() | flags::RST | Ecn::NotEct.flags();
        let len = RST_FRAME as u16;
        let unnumbered = 0_u32.wrapping_sub(self.base());
        out.send(End::Receiver, Segment { len, flags, seq: unnumbered, window: 0, tsval: 0, tsecr: 0, ..self.form });
    }

    /// Bytes that the SACK blocks take of the next packet.
    pub(in crate::tcp::linux) fn option_bytes(&self) -> u32 {
        self.early.option_bytes()
    }

    /// A packet of the sending half takes the ACK along, with the SACK blocks that there are. One with `data` soon after data came shows that both ends take turns.
    pub(in crate::tcp::linux) fn ride(&mut self, data: bool, out: &mut impl Outbox) -> Acknowledgement {
        let window = self.advertise();
        let flags = self.echo.take_flags();
        self.compression.note_ack(out);
        (self.pushed, self.pushed_again) = (false, false);
        self.ack_now = false;
        if self.delay.is_scheduled() {
            self.delay.note_ack();
        }
        self.delay.stop_waiting();
        if data && self.delay.takes_turns(out.now(), &self.clock) {
            self.delay.enter_ping_pong();
        }
        let blocks = self.early.take_blocks().unwrap_or_default();
        Acknowledgement { ack: self.rcv_nxt, window, tsecr: self.form.tsecr, flags, blocks }
    }

    /// More than a full segment is not acknowledged.
    #[inline(always)]
    pub(super) fn is_more_than_one_full(&self) -> bool {
        if self.stream.is_some() || self.closing.has_ended() {
            return self.unacknowledged() > self.buffer.seen_mss();
        }
        self.rcv_nxt - self.buffer.acked_until() > 1
    }

    /// The end of a write was read that earns an ACK at once.
    pub(super) fn is_write_to_acknowledge(&self) -> bool {
        self.pushed_again || (self.pushed && !self.delay.in_ping_pong())
    }
}
