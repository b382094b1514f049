//! The end of a connection: by an RST of the peer, by an application that aborts, or by the FINs of both ends. After it an end is in TIME_WAIT, or
//! closed, when nothing is left of it and all packets are answered by an RST (RFC 9293 sections 3.5.2 and 3.6, RFC 5961 section 3; Linux 6.12
//! net/ipv4/tcp_input.c `tcp_validate_incoming`, `tcp_reset`; tcp.c `tcp_disconnect`; tcp_output.c `tcp_send_active_reset`; tcp_minisocks.c
//! `tcp_check_req`, `tcp_time_wait`, `tcp_timewait_state_process`; tcp_ipv4.c `tcp_v4_timewait_ack`, `tcp_v4_send_reset`).
//!
//! Leaves out: the end of TIME_WAIT, and a SYN that opens the next connection.

use super::TwoWayEnd;
use crate::outbox::Outbox;
use crate::packet::{flags, Packet, HEADERS};
use crate::tcp::linux::stack::Stack;
use crate::tcp::linux::validate::Answers;
use crate::time::NEVER;

/// What is left of a connection. Told when the FINs of both ends have come, or an RST.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gone {
    /// The connection is there.
    Not,
    /// TIME_WAIT, with the window advertised last, bytes.
    Waits(u32),
    /// Nothing (TCP_CLOSE).
    Closed,
}

/// What an end knows of its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    pub gone: Gone,
    /// The application had closed when the peer's FIN came (FIN_WAIT1 or FIN_WAIT2, then TIME_WAIT; else LAST_ACK, then nothing).
    pub closed_first: bool,
    /// Limits the answers before there is a socket, and after it in TIME_WAIT.
    answers: Answers,
}

impl Ending {
    pub fn new(stack: &Stack) -> Self {
        Self { gone: Gone::Not, closed_first: false, answers: Answers::new(stack) }
    }

    /// The connection is there no more.
    #[inline]
    pub fn has_come(&self) -> bool {
        !matches!(self.gone, Gone::Not)
    }
}

impl TwoWayEnd {
    /// The FINs of both ends have come, and the peer knows that: the socket is done.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.sender.has_closed() && self.receiver.has_ended()
    }

    /// The socket is done (`tcp_done`), and its timers with it.
    #[cold]
    #[inline(never)]
    pub(super) fn finish(&mut self, out: &mut impl Outbox) {
        self.ending.gone =
            if self.ending.closed_first { Gone::Waits(self.receiver.window_left()) } else { Gone::Closed };
        self.stop_timers(out);
    }

    /// An RST arrives; `seq` is its number.
    #[cold]
    #[inline(never)]
    pub(super) fn on_reset(&mut self, seq: u32, out: &mut impl Outbox) {
        let is_synchronized = self.receiver.is_established();
        if self.receiver.is_reset_by(seq) || !is_synchronized && self.opens {
            self.vanish(out);
        } else if !self.receiver.is_stale(seq) && !self.receiver.is_beyond(seq) {
            // A challenge ACK: if the peer has closed, its next RST has the number that this asks for.
            if is_synchronized {
                let (receiver, mut out) = self.acknowledging(out);
                receiver.answer_bare(&mut out);
            } else if self.ending.answers.is_due(out.now()) {
                let window = self.receiver.window_left();
                let (receiver, mut out) = self.acknowledging(out);
                out.seq = 1;
                receiver.acknowledge_with(window, &mut out);
            }
        }
    }

    /// The application closes with an SO_LINGER of 0: the connection is reset. In LAST_ACK and CLOSING Linux tells the peer only if not all was sent.
    pub fn reset(&mut self, out: &mut impl Outbox) {
        let is_opening = !self.receiver.is_established();
        if self.ending.has_come() || is_opening && !self.opens {
            return;
        }
        let both_close = self.receiver.has_ended() && self.sender.close.is_requested();
        if !is_opening && (!both_close || self.sender.has_data()) {
            let (receiver, mut out) = self.acknowledging(out);
            receiver.send_reset(&mut out);
        }
        self.vanish(out);
    }

    /// Nothing is left of the connection.
    fn vanish(&mut self, out: &mut impl Outbox) {
        self.ending.gone = Gone::Closed;
        self.abort(out);
    }

    pub(super) fn stop_timers(&mut self, out: &mut impl Outbox) {
        for timer in 0..super::SOURCES {
            out.set_timer(self.source + timer, NEVER);
        }
    }

    /// A packet comes after the connection; `seq` is its number, `ack` what it acknowledges as it stands on the wire.
    #[cold]
    #[inline(never)]
    pub(super) fn answer_when_gone(&mut self, p: &Packet, seq: u32, ack: u32, out: &mut impl Outbox) {
        match self.ending.gone {
            Gone::Waits(window) => self.answer_in_time_wait(p, seq, window, out),
            _ if p.has(flags::RST) => {}
            _ => {
                let (receiver, mut acknowledging) = self.acknowledging(out);
                acknowledging.seq = ack;
                receiver.reset_stranger(&mut acknowledging);
            }
        }
    }

    fn answer_in_time_wait(&mut self, p: &Packet, seq: u32, window: u32, out: &mut impl Outbox) {
        let is_bare = u32::from(p.len) == HEADERS && !p.has(flags::FIN | flags::SYN);
        let is_old = p.tsval < self.receiver.echoed();
        if !is_old && seq == self.receiver.rcv_nxt && (is_bare || p.has(flags::RST)) {
            if p.has(flags::RST) {
                // TIME_WAIT assassination (sysctl tcp_rfc1337 is 0).
                self.ending.gone = Gone::Closed;
            } else {
                self.receiver.echo_from_now(p.tsval);
            }
        } else if !p.has(flags::RST) && (!is_bare || self.ending.answers.is_due(out.now())) {
            let (receiver, mut out) = self.acknowledging(out);
            receiver.acknowledge_with(window, &mut out);
        }
    }
}
