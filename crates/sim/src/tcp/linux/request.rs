//! A connection that the other end opens, until that answers the SYN-ACK (Linux 6.12 include/net/request_sock.h; net/ipv4/inet_connection_sock.c
//! `reqsk_timer_handler`, `inet_rtx_syn_ack`; tcp_minisocks.c `tcp_check_req`). Both halves of an end ask here when the SYN-ACK goes again.
//!
//! Leaves out: giving up.

use crate::segment::{flags, Segment};
use crate::tcp::linux::clock::Clock;
use crate::tcp::linux::stack::Stack;
use crate::tcp::linux::validate::Answers;
use crate::time::Time;

/// Longest timeout of a SYN or a SYN-ACK, ms (TCP_RTO_MAX).
pub(super) const TIMEOUT_MAX_MS: u64 = 120_000;

/// The answer to a packet before the handshake has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    /// It is taken in.
    Take,
    /// It is dropped, and answered by the SYN-ACK again, by a bare ACK, or by nothing.
    SynAck,
    Ack,
    Nothing,
}

/// The SYN-ACKs sent.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::linux) struct Request {
    sent: u32,
    /// How often nothing came in time (`num_timeout`).
    timeouts: u32,
    /// The first timeout and the longest, ticks.
    timeout: u64,
    most: u64,
    answers: Answers,
}

impl Request {
    /// No SYN has come.
    pub fn new(stack: &Stack, clock: &Clock) -> Self {
        Self {
            sent: 0,
            timeouts: 0,
            timeout: clock.from_ms(u64::from(stack.rto_initial_ms)),
            most: clock.from_ms(TIMEOUT_MAX_MS),
            answers: Answers::new(stack),
        }
    }

    /// A SYN has come.
    pub fn has_begun(&self) -> bool {
        self.sent > 0
    }

    /// The packet `p` comes; `echoed` is the timestamp of the first SYN. One that is older is dropped. A SYN that comes again, and what is dropped, is not
    /// answered too often, unless it is data (`tcp_oow_rate_limited`).
    pub fn react(&mut self, p: &Segment, data: bool, echoed: u32, now: Time) -> Reaction {
        let (syn, tsval) = (p.has(flags::SYN), p.tsval);
        let is_old = self.has_begun() && tsval < echoed;
        match (syn, is_old) {
            (true, false) if !self.has_begun() || self.answers.is_due(now) => Reaction::SynAck,
            (false, false) => Reaction::Take,
            (_, true) if data && !syn || self.answers.is_due(now) => Reaction::Ack,
            _ => Reaction::Nothing,
        }
    }

    /// A SYN-ACK is sent.
    pub fn note_sent(&mut self) {
        self.sent += 1;
    }

    /// Nothing came in time.
    pub fn note_timeout(&mut self) {
        self.timeouts += 1;
    }

    /// The SYN-ACK was sent more than once: what ends the handshake may answer any of them.
    pub fn is_resent(&self) -> bool {
        self.sent > 1
    }

    /// How often it was retransmitted.
    pub fn retransmits(&self) -> u32 {
        self.sent.saturating_sub(1)
    }

    /// Number of timeouts.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// More than one was retransmitted, and not only because SYNs came again: the window begins with one segment (`tcp_init_transfer`).
    pub fn shrinks_window(&self) -> bool {
        self.retransmits() > 1 && self.timeouts > 0
    }

    /// After how many ticks the SYN-ACK goes again (`reqsk_timeout`).
    pub fn timeout(&self) -> u64 {
        (self.timeout << self.timeouts.min(10)).min(self.most)
    }
}
