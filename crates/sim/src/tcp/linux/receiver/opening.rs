//! The packets of the handshake that are retransmitted. The receiving end calls connect(), as in a download: its SYN, retransmitted until the SYN-ACK
//! comes, and the packet that ends the handshake. Or it is called: its SYN-ACK, retransmitted until something comes (RFC 9293 section 3.5; Linux 6.12
//! net/ipv4/tcp_output.c `tcp_connect`; tcp_timer.c `tcp_retransmit_timer`; tcp_input.c `tcp_rcv_synsent_state_process`).
//!
//! Leaves out: giving up.

use super::Receiver;
use crate::outbox::{End, Outbox};
use crate::packet::SYN_FRAME;
use crate::segment::{flags, Segment};
use crate::tcp::common::lazy_timer::{LazyTimer, Ticks};
use crate::tcp::linux::clock::Clock;
use crate::tcp::linux::request::{Request, TIMEOUT_MAX_MS};
use crate::tcp::linux::stack::Stack;
use crate::time::NEVER;

/// The SYNs, or SYN-ACKs, sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// This end has called connect().
    pub has_begun: bool,
    /// Or else the other end has.
    pub request: Request,
    timer: LazyTimer,
    source: usize,
    /// Timeout of a SYN, ticks.
    timeout: u64,
    retransmits: u32,
    /// Retransmissions after which the timeout doubles.
    linear: u32,
    /// True if a retransmission does not offer ECN any more.
    ecn_fallback: bool,
}

impl Opening {
    /// None yet. `source` is the timer's event source.
    pub fn new(source: usize, stack: &Stack, clock: &Clock) -> Self {
        Self {
            has_begun: false,
            request: Request::new(stack, clock),
            timer: LazyTimer::new(source),
            source,
            timeout: clock.from_ms(u64::from(stack.rto_initial_ms)),
            retransmits: 0,
            linear: stack.syn_linear_timeouts,
            ecn_fallback: stack.ecn_fallback,
        }
    }
}

impl Receiver {
    /// connect(): sends the SYN.
    pub fn connect(&mut self, out: &mut impl Outbox) {
        self.buffer.open_first();
        self.opening.has_begun = true;
        self.send_syn(out);
    }

    fn send_syn(&mut self, out: &mut impl Outbox) {
        let p = self.ack_packet(1, self.buffer.offered(), out.now());
        let offers_ecn = self.echo.is_on() && !(self.opening.retransmits > 0 && self.opening.ecn_fallback);
        let offer = match self.accurate_offer(self.opening.retransmits, self.opening.ecn_fallback) {
            Some(bits) => bits,
            None if offers_ecn => flags::ECN_SETUP,
            None => 0,
        };
        let syn = Segment { len: SYN_FRAME as u16, flags: p.flags | flags::SYN | flags::HANDSHAKE | offer, ..p };
        self.rtt.syn_ack_us = out.now() / 1000;
        self.counters.acks_sent += 1;
        out.send(End::Receiver, syn);
        self.time_opening(self.opening.timeout, out);
    }

    /// Arms the timer that retransmits the SYN or SYN-ACK after so many ticks.
    pub(super) fn time_opening(&mut self, timeout: u64, out: &mut impl Outbox) {
        let now = self.clock.tick(out.now());
        self.opening.timer.set(&self.clock, now, now + timeout, out);
    }

    /// The other end's packet ends the handshake: from now on another timer uses the event source.
    pub(in crate::tcp::linux) fn end_opening(&mut self, out: &mut impl Outbox) {
        self.opening.timer.clear();
        out.set_timer(self.opening.source, NEVER);
    }

    /// The event of the timer came that the SYN, or the SYN-ACK, is retransmitted by.
    #[cold]
    #[inline(never)]
    pub(super) fn on_syn_timer(&mut self, out: &mut impl Outbox) {
        let opening = &mut self.opening;
        if !opening.timer.expired(&self.clock, out) {
            return;
        }
        if !opening.has_begun {
            opening.request.note_timeout();
            return self.send_syn_ack(out);
        }
        opening.retransmits += 1;
        if opening.retransmits > opening.linear {
            opening.timeout = (2 * opening.timeout).min(self.clock.from_ms(TIMEOUT_MAX_MS));
        }
        self.send_syn(out);
    }

    /// The SYN-ACK `p` arrives, perhaps again because what ended the handshake got lost.
    pub(super) fn on_syn_ack(&mut self, p: &Segment, out: &mut impl Outbox) {
        if !self.established {
            self.end_opening(out);
            self.form.tsecr = p.tsval;
            self.hear_of_ecn(p, flags::ECE);
            self.establish(out.now());
            if self.opening.retransmits > 0 {
                self.note_rtt_by_timestamp(p, out.now());
            }
        }
        self.send_ack(self.rcv_nxt, out);
    }

    /// The flow is cut off before the connection was there.
    pub(super) fn stop_opening(&mut self) {
        self.opening.timer.clear();
    }
}
