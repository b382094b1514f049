//! The two ends of a connection, of whichever transport, dispatched statically.

use super::bsd;
use super::linux::{receiver, sender};
use super::transport::{
    passed_on, LimitedTimes, ReceiverCounters, ReceivingEnd, SenderCounters, SenderSample, SendingEnd,
};
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

    passed_on! { each, SendingEnd;
        fn connect(&mut self, out: &mut impl Outbox);
        fn abort(&mut self);
        #[inline]
        fn on_ack(&mut self, p: &Segment, out: &mut impl Outbox);
        fn turn(&mut self, out: &mut impl Outbox) -> Option<Turn>;
        fn fire(&mut self, place: u32, out: &mut impl Outbox);
        fn on_host_with_queue(&mut self, kind: HostQueue);
        fn pace_in_host(&mut self);
        fn on_left_host(&mut self, p: &Segment) -> bool;
        fn on_room_in_host(&mut self, out: &mut impl Outbox);
        fn on_application(&mut self, out: &mut impl Outbox);
        fn on_departure_timer(&mut self, out: &mut impl Outbox);
        const
        fn has_closed(&self, end: u32) -> bool;
        fn counters(&self) -> &SenderCounters;
        fn sample(&self) -> SenderSample;
        fn has_connected(&self) -> bool;
        fn prefetch_behind(&self);
        fn srtt_has_wrapped(&self) -> bool;
        fn limited_times(&self, at: Time) -> Option<LimitedTimes>;
        fn state(&self, now: Time, tell: &mut Tell);
    }
}

impl ReceivingEnd for Receiver {
    type Body = Segment;

    passed_on! { each, ReceivingEnd;
        #[inline]
        fn on_packet(&mut self, p: &Segment, out: &mut impl Outbox);
        fn on_timer(&mut self, which: usize, out: &mut impl Outbox);
        fn connect(&mut self, out: &mut impl Outbox);
        fn abort(&mut self);
        fn on_application(&mut self, out: &mut impl Outbox);
        fn on_turn(&mut self, out: &mut impl Outbox);
        const
        fn has_closed(&self) -> bool;
        fn counters(&self) -> &ReceiverCounters;
        fn window_scale(&self) -> u8;
        fn bytes_read(&self) -> u64;
        fn completed(&self) -> Option<Time>;
        fn prefetch_behind(&self);
    }
}
