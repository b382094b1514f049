//! The two ends of a connection, of whichever transport, dispatched statically.

use super::bsd;
use super::linux::{receiver, sender};
use super::transport::{LimitedTimes, ReceiverCounters, ReceivingEnd, SenderCounters, SenderSample, SendingEnd};
use crate::catalogue::{State, Tell};
use crate::outbox::{HostQueue, Outbox};
use crate::segment::Segment;
pub use crate::tcp::common::lazy_timer::Turn;
use crate::time::Time;

/// State variables of a sender that a scenario may record, whatever its congestion control; `ssthresh` and `ca_state` are series of every flow.
pub const STATE: &[State] = &[
    State::new(
        "pacing_bps",
        "bit/s",
        "rate that a paced sender sends at, and that sizes TSO segments; none before there is one (sk_pacing_rate)",
    ),
    State::new("rto_ms", "ms", "retransmission timeout, with its backoff"),
    State::new("rttvar_ms", "ms", "mean deviation of the RTT; none before the first measurement"),
    State::new("sacked", "packets", "outstanding segments that are SACKed"),
    State::new("lost", "packets", "outstanding segments that are deemed lost"),
    State::new("retrans_out", "packets", "retransmissions outstanding"),
    State::new("reordering", "packets", "degree of reordering that is expected; none with FreeBSD's TCP"),
    State::new("dupacks", "packets", "FreeBSD's TCP: duplicate ACKs in a row (t_dupacks)"),
    State::new(
        "bytes_acked",
        "bytes",
        "FreeBSD's TCP: acknowledged towards the next increase of the window (t_bytes_acked)",
    ),
];

/// A sender. There is one a flow, and none is moved in a run: its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub enum Sender {
    /// Linux's.
    Linux(sender::Sender),
    /// FreeBSD's.
    Bsd(bsd::sender::Sender),
}

/// A receiver; as [`Sender`].
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub enum Receiver {
    /// Linux's.
    Linux(receiver::Receiver),
    /// FreeBSD's.
    Bsd(bsd::receiver::Receiver),
}

/// Calls the method of an end's own, as [`SendingEnd`] or [`ReceivingEnd`] has it.
macro_rules! each {
    ($self:ident, $role:ident::$method:ident($($argument:expr),*)) => {
        match $self {
            Self::Linux(inner) => $role::$method(inner $(, $argument)*),
            Self::Bsd(inner) => $role::$method(inner $(, $argument)*),
        }
    };
}

impl SendingEnd for Sender {
    type Body = Segment;

    fn connect(&mut self, out: &mut impl Outbox) {
        each!(self, SendingEnd::connect(out));
    }
    fn abort(&mut self) {
        each!(self, SendingEnd::abort());
    }
    #[inline]
    fn on_ack(&mut self, p: &Segment, out: &mut impl Outbox) {
        each!(self, SendingEnd::on_ack(p, out));
    }
    fn turn(&mut self, out: &mut impl Outbox) -> Option<Turn> {
        each!(self, SendingEnd::turn(out))
    }
    fn fire(&mut self, place: u32, out: &mut impl Outbox) {
        each!(self, SendingEnd::fire(place, out));
    }
    fn has_closed(&self, end: u32) -> bool {
        each!(self, SendingEnd::has_closed(end))
    }
    fn counters(&self) -> &SenderCounters {
        each!(self, SendingEnd::counters())
    }
    fn sample(&self) -> SenderSample {
        each!(self, SendingEnd::sample())
    }
    fn has_connected(&self) -> bool {
        each!(self, SendingEnd::has_connected())
    }
    fn on_host_with_queue(&mut self, kind: HostQueue) {
        each!(self, SendingEnd::on_host_with_queue(kind));
    }
    fn pace_in_host(&mut self) {
        each!(self, SendingEnd::pace_in_host());
    }
    fn on_left_host(&mut self, p: &Segment) -> bool {
        each!(self, SendingEnd::on_left_host(p))
    }
    fn on_room_in_host(&mut self, out: &mut impl Outbox) {
        each!(self, SendingEnd::on_room_in_host(out));
    }
    fn on_application(&mut self, out: &mut impl Outbox) {
        each!(self, SendingEnd::on_application(out));
    }
    fn on_departure_timer(&mut self, out: &mut impl Outbox) {
        each!(self, SendingEnd::on_departure_timer(out));
    }
    fn prefetch_behind(&self) {
        each!(self, SendingEnd::prefetch_behind());
    }
    fn srtt_has_wrapped(&self) -> bool {
        each!(self, SendingEnd::srtt_has_wrapped())
    }
    fn limited_times(&self, at: Time) -> Option<LimitedTimes> {
        each!(self, SendingEnd::limited_times(at))
    }
    fn state(&self, now: Time, tell: &mut Tell) {
        each!(self, SendingEnd::state(now, tell));
    }
}

impl ReceivingEnd for Receiver {
    type Body = Segment;

    #[inline]
    fn on_packet(&mut self, p: &Segment, out: &mut impl Outbox) {
        each!(self, ReceivingEnd::on_packet(p, out));
    }
    fn on_timer(&mut self, which: usize, out: &mut impl Outbox) {
        each!(self, ReceivingEnd::on_timer(which, out));
    }
    fn has_closed(&self) -> bool {
        each!(self, ReceivingEnd::has_closed())
    }
    fn counters(&self) -> &ReceiverCounters {
        each!(self, ReceivingEnd::counters())
    }
    fn window_scale(&self) -> u8 {
        each!(self, ReceivingEnd::window_scale())
    }
    fn bytes_read(&self) -> u64 {
        each!(self, ReceivingEnd::bytes_read())
    }
    fn completed(&self) -> Option<Time> {
        each!(self, ReceivingEnd::completed())
    }
    fn connect(&mut self, out: &mut impl Outbox) {
        each!(self, ReceivingEnd::connect(out));
    }
    fn abort(&mut self) {
        each!(self, ReceivingEnd::abort());
    }
    fn on_application(&mut self, out: &mut impl Outbox) {
        each!(self, ReceivingEnd::on_application(out));
    }
    fn on_turn(&mut self, out: &mut impl Outbox) {
        each!(self, ReceivingEnd::on_turn(out));
    }
    fn prefetch_behind(&self) {
        each!(self, ReceivingEnd::prefetch_behind());
    }
}
