//! The end of a connection: by an RST of the peer, by an application that aborts, or by the FINs of both ends. After it an end is in TIME_WAIT, or
//! closed, when nothing is left of it and all packets are answered by an RST (RFC 9293 sections 3.5.2 and 3.6, RFC 5961 section 3; Linux 6.12
//! net/ipv4/tcp_input.c `tcp_validate_incoming`, `tcp_reset`; tcp.c `tcp_disconnect`; tcp_output.c `tcp_send_active_reset`; tcp_minisocks.c
//! `tcp_check_req`, `tcp_time_wait`, `tcp_timewait_state_process`; tcp_ipv4.c `tcp_v4_timewait_ack`, `tcp_v4_send_reset`).
//!
//! Leaves out: the end of TIME_WAIT, and a SYN that opens the next connection.

use super::TwoWayEnd;
use crate::outbox::Outbox;
use crate::packet::HEADERS;
use crate::segment::{flags, Segment};
use crate::tcp::linux::stack::Stack;
use crate::tcp::linux::validate::Answers;
use crate::time::NEVER;

/// Rest of a connection. Told when the FINs of both ends have come, or an RST.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gone {
    /// The connection is there.
    Not,
    /// TIME_WAIT, with the window advertised last, bytes.
    Waits(u32),
    /// FIN_WAIT2 of a socket that its application has closed (`tw_substate`), with the same window.
    HalfClosed(u32),
    /// Nothing (TCP_CLOSE).
    Closed,
}

/// Knowledge of an end about its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    pub gone: Gone,
    /// The application had closed when the peer's FIN came (FIN_WAIT1 or FIN_WAIT2, then TIME_WAIT; else LAST_ACK, then nothing).
    pub closed_first: bool,
    /// The application has closed the socket, and takes no more data (SOCK_DEAD).
    pub is_orphan: bool,
    /// Limits the answers before there is a socket, and after it in TIME_WAIT.
    answers: Answers,
}

impl Ending {
    pub fn new(stack: &Stack) -> Self {
        Self { gone: Gone::Not, closed_first: false, is_orphan: false, answers: Answers::new(stack) }
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
        let is_synchronized = self.receiver.is_established() || self.sender.is_crossed();
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
        let is_opening = !self.receiver.is_established() && !self.sender.is_crossed();
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

    /// The application closes the socket: close(). What it has not read is lost, so that the connection is reset; what it has not yet been able to
    /// write is not sent (`__tcp_close`).
    pub fn quit(&mut self, out: &mut impl Outbox) {
        if self.ending.has_come() || !self.receiver.is_established() && !self.opens {
            return;
        }
        if !self.receiver.is_established() {
            return self.vanish(out);
        }
        if self.receiver.drop_unread() {
            let (receiver, mut acknowledging) = self.acknowledging(out);
            receiver.send_reset(&mut acknowledging);
            return self.vanish(out);
        }
        self.ending.is_orphan = true;
        if !self.sender.close.is_requested() {
            self.sender.drop_waiting();
            self.close(out);
        }
        self.leave_half_closed(out);
    }

    /// The peer knows of the FIN of a socket without an application, and has not closed itself: little is left of the socket (`tcp_time_wait`).
    fn leave_half_closed(&mut self, out: &mut impl Outbox) {
        if self.ending.is_orphan && !self.receiver.has_ended() && self.sender.is_fin_acknowledged() {
            self.ending.gone = Gone::HalfClosed(self.receiver.window_left());
            self.stop_timers(out);
        }
    }

    /// A packet of the peer, whose data end at `end`, reaches a socket without an application before the peer's FIN has; `ack` stands in it. True if
    /// the socket is gone then (`tcp_rcv_state_process`).
    #[cold]
    #[inline(never)]
    pub(super) fn ends_orphan(&mut self, p: &Segment, end: u32, ack: u32, out: &mut impl Outbox) -> bool {
        if u32::from(p.len) > HEADERS && end > self.receiver.rcv_nxt {
            self.vanish(out);
            self.reset_stranger(ack, out);
        } else if !p.has(flags::FIN) {
            self.leave_half_closed(out);
        }
        self.ending.has_come()
    }

    fn reset_stranger(&mut self, ack: u32, out: &mut impl Outbox) {
        let (receiver, mut acknowledging) = self.acknowledging(out);
        acknowledging.seq = ack;
        receiver.reset_stranger(&mut acknowledging);
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
    pub(super) fn answer_when_gone(&mut self, p: &Segment, seq: u32, ack: u32, out: &mut impl Outbox) {
        match self.ending.gone {
            Gone::Waits(window) => self.answer_in_time_wait(p, seq, window, out),
            Gone::HalfClosed(window) => self.answer_half_closed(p, seq, ack, window, out),
            _ if p.has(flags::RST) => {}
            _ => self.reset_stranger(ack, out),
        }
    }

    fn answer_half_closed(&mut self, p: &Segment, seq: u32, ack: u32, window: u32, out: &mut impl Outbox) {
        let next = self.receiver.rcv_nxt;
        let fin = u32::from(p.has(flags::FIN));
        let (end, edge) = (seq + u32::from(p.len) - HEADERS + fin, next + window);
        let is_in_window = seq == next || end > next && seq < edge || seq == edge && end == seq;
        if p.tsval < self.receiver.echoed() || !is_in_window {
            if !p.has(flags::RST) && (end > seq || self.ending.answers.is_due(out.now())) {
                let (receiver, mut out) = self.acknowledging(out);
                receiver.acknowledge_with(window, &mut out);
            }
        } else if p.has(flags::RST) {
            self.ending.gone = Gone::Closed;
        } else if end == next + 1 && fin > 0 {
            self.receiver.rcv_nxt = end;
            self.receiver.echo_from_now(p.tsval);
            self.ending.gone = Gone::Waits(window);
            let (receiver, mut out) = self.acknowledging(out);
            receiver.acknowledge_with(window, &mut out);
        } else if end > next && end > seq {
            // Nobody reads data that come now.
            self.ending.gone = Gone::Closed;
            self.reset_stranger(ack, out);
        }
    }

    fn answer_in_time_wait(&mut self, p: &Segment, seq: u32, window: u32, out: &mut impl Outbox) {
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
