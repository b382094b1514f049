//! The FINs at the receiving end: the sender's is read as the end of the data, upon which the application closes, too, so that the receiver
//! sends its own and waits for the answer (LAST_ACK; Linux 6.12 net/ipv4/tcp_input.c `tcp_fin`, `__tcp_ack_snd_check`; tcp_output.c
//! `tcp_send_fin`, `tcp_schedule_loss_probe`; tcp_timer.c `tcp_write_timeout`).
//!
//! A receiver sends nothing else that is acknowledged, so that its FIN is retransmitted by a timer of its own: as a loss probe first where the
//! kernel has them, then at each retransmission timeout.

use super::{Receiver, RttEstimates};
use crate::outbox::{End, Outbox};
use crate::packet::{Direction, Ecn, HEADERS, RST_FRAME};
use crate::segment::{flags, Segment};
use crate::tcp::common::lazy_timer::{LazyTimer, Ticks};
use crate::tcp::linux::clock::Clock;
use crate::tcp::linux::stack::Stack;
use crate::time::{Time, MS};

/// No segment.
const NONE: u32 = u32::MAX;
/// Longest retransmission timeout, ms (TCP_RTO_MAX).
const RTO_MAX_MS: u64 = 120_000;
/// A socket without an application gives up once it has waited as long as eight timeouts take that begin with 200 ms (`tcp_orphan_retries`,
/// `retransmits_timed_out`), ns.
const PATIENCE: Time = ((2 << 8) - 1) * 200 * MS;

/// How far the connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The sender's FIN has not come, or something before it is missing.
    Open,
    /// The application has read to the end.
    Ended,
    /// The receiver's FIN is sent; since when.
    LastAck(Time),
    /// It is acknowledged, or nobody waits for that any more.
    Closed,
}

/// The end of a connection at its receiver. Told of each FIN of the sender's and of the answer to its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closing {
    stage: Stage,
    /// First number beyond the sender's FIN, once one has come.
    end: u32,
    /// The sending half of this end has sent its own.
    sent_fin: bool,
    /// Sends the FIN again.
    timer: LazyTimer,
    /// The first time that is a loss probe.
    probes: bool,
    /// Least timeout, us, and the present one, ticks.
    rto_min_us: u64,
    timeout: u64,
}

impl Closing {
    /// Open. `source` is the timer's event source.
    pub fn new(source: usize, stack: &Stack) -> Self {
        Self {
            stage: Stage::Open,
            end: NONE,
            sent_fin: false,
            timer: LazyTimer::new(source),
            probes: stack.tail_loss_probe,
            rto_min_us: u64::from(stack.rto_min_ms) * 1000,
            timeout: 0,
        }
    }

    /// All has come up to `rcv_nxt`; true if that is now all there is.
    pub fn ends_at(&mut self, rcv_nxt: u32) -> bool {
        let ends = rcv_nxt == self.end && self.stage == Stage::Open;
        if ends {
            self.stage = Stage::Ended;
        }
        ends
    }

    /// The sender's FIN has come, and all that was before it.
    pub fn has_ended(&self) -> bool {
        self.stage != Stage::Open
    }

    /// The application has read to the end and has not closed yet.
    fn is_to_close(&self) -> bool {
        self.stage == Stage::Ended
    }

    /// When the FIN is sent for the first time.
    fn begin(&mut self, rtt: RttEstimates, clock: &Clock, out: &mut impl Outbox) {
        self.stage = Stage::LastAck(out.now());
        self.timeout = rtt.rto;
        let probe_us = 2 * rtt.srtt_us + self.rto_min_us;
        let after = if self.probes { clock.in_ticks(probe_us).min(rtt.rto) } else { rtt.rto };
        self.set_timer(after, clock, out);
    }

    fn set_timer(&mut self, after: u64, clock: &Clock, out: &mut impl Outbox) {
        let now = clock.tick(out.now());
        self.timer.set(clock, now, now + after, out);
    }

    /// The timer's event came; true if the FIN has to go again.
    fn on_timer(&mut self, clock: &Clock, out: &mut impl Outbox) -> bool {
        let Stage::LastAck(since) = self.stage else { return false };
        if !self.timer.expired(clock, out) {
            return false;
        }
        if out.now() - since >= PATIENCE {
            self.finish();
            return false;
        }
        if !std::mem::take(&mut self.probes) {
            self.timeout = (2 * self.timeout).min(clock.from_ms(RTO_MAX_MS));
        }
        self.set_timer(self.timeout, clock, out);
        true
    }

    fn finish(&mut self) {
        self.stage = Stage::Closed;
        self.timer.clear();
    }

    /// The timer is in use.
    pub fn is_waiting(&self) -> bool {
        matches!(self.stage, Stage::LastAck(_))
    }
}

impl Receiver {
    /// Notes the FIN of a segment, if it has one.
    #[inline]
    pub(super) fn note_fin(&mut self, p: &Segment) {
        if p.has(flags::FIN) {
            self.closing.end = self.end_of(p);
            if self.stream.is_some() {
                self.layout.end_at(self.closing.end - 1);
            }
        }
    }

    /// The sender's FIN is the next in order: both ends take turns from now on, so that the ACK may wait for this end's FIN.
    /// An end that has sent its own before acknowledges it at once, and tells what it had told before (`tcp_fin`).
    pub(super) fn on_fin(&mut self, out: &mut impl Outbox) {
        self.delay.schedule();
        self.delay.enter_ping_pong();
        if self.closing.sent_fin {
            self.send_ack(self.rcv_nxt, out);
        }
    }

    /// This end, which also sends, has closed.
    pub(in crate::tcp::linux) fn note_own_fin(&mut self) {
        self.closing.sent_fin = true;
    }

    /// Closes, if the application has read to the end.
    #[inline]
    pub(super) fn close_at_end(&mut self, out: &mut impl Outbox) {
        if self.closing.is_to_close() {
            self.close(out);
        }
    }

    #[cold]
    #[inline(never)]
    fn close(&mut self, out: &mut impl Outbox) {
        self.closing.begin(self.rtt, &self.clock, out);
        self.send_fin(out);
        self.form.flags |= flags::CLOSED;
    }

    fn send_fin(&mut self, out: &mut impl Outbox) {
        let flags = self.form.flags;
        self.form.flags = (flags & !flags::CLOSED) | flags::FIN;
        self.send_ack(self.rcv_nxt, out);
        self.form.flags = flags;
    }

    /// The event of the timer came that the FIN is retransmitted by.
    #[cold]
    #[inline(never)]
    pub(super) fn on_fin_timer(&mut self, out: &mut impl Outbox) {
        if self.closing.on_timer(&self.clock, out) {
            self.send_fin(out);
        }
        self.established &= !self.has_closed();
    }

    /// The sender has acknowledged the FIN.
    #[inline(never)]
    pub(super) fn on_fin_acknowledged(&mut self, p: &Segment, out: &mut impl Outbox) {
        if self.has_closed() {
            return self.reset(p, out);
        }
        if self.is_late(p) {
            return self.answer_bare(out);
        }
        self.closing.finish();
        self.established = false;
    }

    /// Answers a packet that reaches no connection any more (`tcp_v4_send_reset`). The number is what that packet acknowledges.
    pub(super) fn reset(&mut self, p: &Segment, out: &mut impl Outbox) {
        let flags = Direction::Reverse.flags() | flags::RST | (p.flags & flags::CLOSED) | Ecn::NotEct.flags();
        let len = RST_FRAME as u16;
        self.counters.acks_sent += 1;
        out.send(End::Receiver, Segment { len, flags, seq: self.rcv_nxt, window: 0, tsval: 0, tsecr: 0, ..self.form });
    }

    /// The flow is cut off: a FIN that is not acknowledged is not retransmitted.
    pub fn abort(&mut self) {
        self.stop_opening();
        if self.closing.is_waiting() {
            self.closing.finish();
        }
    }

    /// The FINs of both ends have arrived.
    #[must_use]
    pub fn has_closed(&self) -> bool {
        self.closing.stage == Stage::Closed
    }

    /// The sender's FIN has arrived, and all that was before it.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.closing.has_ended()
    }
}

/// The packet has neither data nor a FIN.
pub(super) fn is_bare(p: &Segment) -> bool {
    u32::from(p.len) == HEADERS && !p.has(flags::FIN)
}

/// The segment is a FIN without data.
pub(super) fn is_bare_fin(p: &Segment) -> bool {
    p.has(flags::FIN) && u32::from(p.len) == HEADERS
}
