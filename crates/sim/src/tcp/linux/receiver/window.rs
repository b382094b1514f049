//! The window of a receiver, counted in bytes: what came, what is left, and what a packet advertises (Linux 6.12 net/ipv4/tcp_output.c
//! `tcp_select_window`, tcp_input.c `tcp_measure_rcv_mss`, `tcp_data_queue`, tcp.c `__tcp_cleanup_rbuf`).

use super::buffer::{Length, ReceiveBuffer};
use super::closing::is_bare_fin;
use super::Receiver;
use crate::packet::HEADERS;
use crate::segment::{flags, Segment};
use crate::spec::{Opener, TcpSpec};
use crate::tcp::common::idle_window::IdleWindow;
use crate::tcp::linux::stack::Stack;
use crate::time::{Time, US};

/// Return the window of the end that sends the data of one-way connections.
pub fn idle_window(spec: &TcpSpec, stack: &Stack) -> IdleWindow {
    let mut buffer = ReceiveBuffer::of(&spec.at_sender(), stack, spec.payload_bytes());
    if spec.opener == Opener::From {
        buffer.open_first();
    }
    let syn = buffer.offered() as u16;
    IdleWindow { syn, bytes: buffer.advertise(1, 0, 0), scale: buffer.scale() }
}

impl Receiver {
    /// Notes how long a segment is, and whether a write of the sender's ends with it.
    #[inline]
    pub(super) fn measure(&mut self, p: &Segment) {
        match self.buffer.measure(u32::from(p.len) - HEADERS, p.has(flags::PSH | flags::FIN)) {
            Length::Full => self.pushed |= p.has(flags::PSH) && self.kernel.acks_full_push,
            Length::Short => {
                self.pushed_again |= self.pushed;
                self.pushed = true;
            }
            Length::FullAgain => {}
        }
    }

    /// The window of a packet about to be sent, bytes.
    #[inline(always)]
    pub(super) fn advertise(&mut self) -> u32 {
        self.revoke_quick_if_tight();
        self.buffer.advertise(self.rcv_nxt, self.unacknowledged(), self.charged())
    }

    /// Sequence numbers that came in order and are not acknowledged.
    #[inline(always)]
    pub(super) fn unacknowledged(&self) -> u64 {
        let from = self.buffer.acked_until();
        if from == self.rcv_nxt {
            return 0;
        }
        self.bytes_between(from, self.rcv_nxt) + u64::from(self.closing.has_ended())
    }

    /// Payload of what has the numbers `from..to`, bytes.
    #[inline]
    pub(super) fn bytes_between(&self, from: u32, to: u32) -> u64 {
        if to <= self.layout.next_short(from) && to <= self.layout.end() {
            u64::from(to - from) * u64::from(self.layout.mss())
        } else {
            self.bytes_of_data(to) - self.bytes_of_data(from)
        }
    }

    /// Payload before a number, bytes; in a stream without what was taken off the numbers. A FIN of its own has a number as segments have.
    #[inline]
    pub(super) fn bytes_of_data(&self, number: u32) -> u64 {
        self.layout.before(number.min(self.layout.end()))
    }

    /// No quick ACKs once less than half of the buffer is free (`__tcp_select_window`).
    pub(super) fn revoke_quick_if_tight(&mut self) {
        if self.buffer.is_tight(self.charged()) {
            self.delay.revoke_quick();
        }
    }

    /// Bytes that take room in the buffer.
    pub(super) fn charged(&self) -> u64 {
        self.early.charged() + self.unread.charged
    }

    /// The window is closed to the next segment, unless that is a FIN alone (`tcp_data_queue`).
    #[inline(always)]
    pub(super) fn is_closed_to(&self, p: &Segment) -> bool {
        self.bytes_at_most(p.seq) >= self.buffer.advertised() && self.has_no_room_for(p)
    }

    #[cold]
    #[inline(never)]
    fn has_no_room_for(&self, p: &Segment) -> bool {
        self.buffer.left(self.unacknowledged()) == 0 && !is_bare_fin(p)
    }

    /// A segment behind the next one begins inside the window.
    #[inline]
    pub(super) fn has_room_for(&self, seq: u32) -> bool {
        self.bytes_at_most(seq) < self.buffer.advertised() || self.bytes_unacknowledged(seq) < self.buffer.advertised()
    }

    /// The most bytes that can lie between the last ACK and `seq`. That is enough to know for most segments, which come long before the window
    /// ends.
    #[inline]
    pub(super) fn bytes_at_most(&self, seq: u32) -> u64 {
        u64::from(seq - self.buffer.acked_until()) * u64::from(self.layout.mss())
    }

    /// Payload between the last ACK and `seq`, bytes.
    #[inline(never)]
    pub(super) fn bytes_unacknowledged(&self, seq: u32) -> u64 {
        self.bytes_between(self.buffer.acked_until(), seq)
    }

    /// Reading has made room for twice the window that is left. To ask for the window ends quick ACKs in a tight buffer.
    #[inline(always)]
    pub(super) fn opens_wide(&mut self) -> bool {
        let came = self.unacknowledged();
        let is_to_ask = self.buffer.is_half_used(came);
        if is_to_ask {
            self.revoke_quick_if_tight();
        }
        is_to_ask && self.buffer.opens_wide(came, self.charged())
    }

    /// The application has read what shares the first head, so many segments are behind that, and a round trip has passed.
    #[inline(never)]
    pub(super) fn tune(&mut self, behind_first: u32, now: Time) {
        if behind_first > 0 || !self.layout.is_full() {
            return self.tune_in_full(behind_first, now);
        }
        let came = self.bytes_of_data(self.rcv_nxt);
        self.buffer.tune(came, u64::from(self.closing.has_ended()), self.bytes_early(), now / US);
    }

    /// How far what came out of order reaches behind what is missing, bytes.
    pub(super) fn bytes_early(&self) -> u64 {
        self.early.until().map_or(0, |end| self.bytes_between(self.rcv_nxt, end))
    }

    #[inline(never)]
    fn tune_in_full(&mut self, behind_first: u32, now: Time) {
        let came = self.bytes_of_data(self.rcv_nxt);
        let read = self.bytes_of_data(self.rcv_nxt - behind_first);
        self.buffer.tune(read, came + u64::from(self.closing.has_ended()) - read, self.bytes_early(), now / US);
    }
}
