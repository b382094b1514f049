//! The sending half of an end that also receives: its application writes a stream of any sizes at any time (Linux 6.12 net/ipv4/tcp.c
//! `tcp_sendmsg_locked` and `tcp_push`; tcp_output.c `tcp_nagle_check`, `tcp_minshall_check`).
//!
//! Leaves out: autocorking, joining short segments when they are sent again.

use super::{Pending, Phase, Sender};
use crate::outbox::Outbox;
use crate::packet::{flags, Packet};
use crate::tcp::common::layout::Layout;

impl Sender {
    /// Makes this the half of a stream in which nothing is written yet.
    #[must_use]
    pub fn streaming(mut self) -> Self {
        self.layout = Layout::stream(self.layout.mss());
        self.buffer.begin_stream();
        self
    }

    /// The connection that the peer opened is established by the packet `p`; `rtt_us`: since the SYN-ACK, if that was sent once.
    pub(in crate::tcp::linux) fn accept(&mut self, p: &Packet, rtt_us: Option<u32>, out: &mut impl Outbox) {
        self.refresh(out.now());
        self.establish(p, rtt_us);
        self.buffer.open(&self.view, self.window.cwnd, &self.peer, self.reordering.degree());
    }

    /// Takes in the ACK of a packet, which also brings data or SACK blocks, or neither. Data behind an ACK that says nothing new are not a
    /// duplicate ACK (FLAG_DATA in `tcp_ack`).
    pub(in crate::tcp::linux) fn take_ack(&mut self, p: &Packet, data: bool, blocks: bool, out: &mut impl Outbox) {
        self.counters.acks_arrived += 1;
        self.refresh(out.now());
        if data && !blocks && p.seq == self.view.snd_una && !p.has(flags::ECE) {
            self.update_peer_window(p.window, p.seq);
            if self.view.packets_out == 0 {
                self.answer_of_probe(out);
            }
        } else {
            self.process_packet(p, out);
        }
    }

    /// Smoothed RTT, us, and the retransmission timeout, ticks.
    pub(in crate::tcp::linux) fn estimates(&self) -> (u64, u64) {
        (u64::from(self.view.srtt_us8 >> 3), self.rto_ticks())
    }

    /// True from the end of the handshake until the flow is cut off.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.phase == Phase::Established
    }

    /// The application writes.
    pub(in crate::tcp::linux) fn append(&mut self, bytes: u64, out: &mut impl Outbox) {
        self.refresh(out.now());
        self.restart_after_idle();
        self.note_write();
        self.layout.append(bytes, self.view.snd_nxt);
        self.release(false);
        self.write(out, false);
        self.chrono_written();
    }

    /// Hands what is written to the send buffer, but for a short end that Nagle's algorithm holds back: until `push` or until no other short
    /// segment is outstanding (Minshall's variant). What is written later goes into that end. `TCP_NODELAY` switches that off.
    pub(in crate::tcp::linux) fn release(&mut self, push: bool) {
        self.layout.forget(self.view.snd_una);
        let last = self.layout.end() - 1;
        let short_is_outstanding = self.layout.next_short(self.view.snd_una) < self.view.snd_nxt;
        let push = push || self.nodelay || self.close.is_requested();
        let held =
            !push && short_is_outstanding && last >= self.view.snd_nxt && self.layout.payload(last) < self.layout.mss();
        self.buffer.extend(self.layout.end() - u32::from(held), &self.view, self.window.cwnd, &self.peer);
    }

    /// The timer's event came. A loss probe sends new data without asking Nagle.
    pub(in crate::tcp::linux) fn on_stream_timer(&mut self, out: &mut impl Outbox) {
        if self.timer.is_due_for(Pending::LossProbe, &self.clock, out.now()) {
            self.release(true);
        }
        self.on_timer(out);
    }
}
