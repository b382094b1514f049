//! A transport, as the simulation drives it: the two ends of a connection that sends data in one direction. Linux's TCP and FreeBSD's are
//! behind these traits, each in a folder of its own, and so is any other transport. A method with a body is for transports that have something of
//! the kind: the others leave it out.

use crate::catalogue::Tell;
use crate::cc::CaState;
use crate::outbox::{HostQueue, Outbox};
use crate::packet::Packet;
use crate::tcp::common::lazy_timer::Turn;
use crate::time::Time;

/// A sample of a sender. A field is `None` where there is no value yet. Windows are in segments of the full size.
#[derive(Clone, Copy, Debug)]
pub struct SenderSample {
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Slow-start threshold, segments.
    pub ssthresh: Option<f64>,
    /// The stack's smoothed RTT, ms.
    pub srtt_ms: Option<f64>,
    /// Its last sample, ms.
    pub rtt_ms: Option<f64>,
    /// Its least RTT, ms.
    pub min_rtt_ms: Option<f64>,
    /// Segments that count as outstanding.
    pub in_flight: u32,
    /// Segments known to be delivered.
    pub delivered: u32,
    /// Delivered segments whose ACK had an ECN echo.
    pub delivered_ce: u32,
    /// Congestion state.
    pub state: CaState,
}

/// The counters of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderCounters {
    /// Packets sent, all kinds.
    pub sent: u64,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// ACKs that arrived.
    pub acks_arrived: u64,
    /// Retransmission timeouts.
    pub rto_timeouts: u64,
    /// Tail loss probes.
    pub tlp_probes: u64,
    /// Reductions undone.
    pub undos: u64,
    /// Reductions of the window by a congestion signal.
    pub cwnd_reductions: u64,
}

/// The counters of a receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiverCounters {
    /// Packets that arrived, all kinds.
    pub arrived: u64,
    /// Data segments among them that had arrived before.
    pub duplicates: u64,
    /// ACKs sent.
    pub acks_sent: u64,
    /// CE marks seen.
    pub ce: u64,
    /// SCE marks seen.
    pub sce: u64,
}

/// Time since the connection was made by what limited sending, us. All other time the application had nothing to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitedTimes {
    /// The congestion window.
    pub cwnd_us: u64,
    /// The receiver's window.
    pub rwnd_us: u64,
    /// The send buffer.
    pub sndbuf_us: u64,
}

/// The end that sends the data.
pub trait SendingEnd {
    /// A packet as this end reads it.
    type Body: From<Packet>;

    /// connect().
    fn connect(&mut self, out: &mut impl Outbox);

    /// The flow is cut off: nothing more is sent.
    fn abort(&mut self);

    /// A packet of the receiver arrives.
    fn on_ack(&mut self, p: &Self::Body, out: &mut impl Outbox);

    /// Return the turn of the timer, whose event came, among the timers that fire now, if it fires. If not, its event moves.
    fn turn(&mut self, out: &mut impl Outbox) -> Option<Turn>;

    /// Fires the timer, as the `place`th of those that fire now.
    fn fire(&mut self, place: u32, out: &mut impl Outbox);

    /// True if the connection is closed at both ends, as far as the sender knows. `end` is the first segment beyond a transfer.
    fn has_closed(&self, end: u32) -> bool;

    /// Counters.
    fn counters(&self) -> &SenderCounters;

    /// A sample of the sender.
    fn sample(&self) -> SenderSample;

    /// True from the end of the handshake on, also after the flow is cut off. Asked where the receiver opens.
    fn has_connected(&self) -> bool {
        true
    }

    /// The host has such a queue of its own. Said before [`Self::connect`].
    fn on_host_with_queue(&mut self, _kind: HostQueue) {}

    /// The host's own queue holds what is sent until it may leave: the sender is paced.
    fn pace_in_host(&mut self) {}

    /// A packet of this sender has left the host's own queue, sent on or dropped. True if the sender waited for that: then
    /// [`Self::on_room_in_host`] is due once all that left at the same time is told.
    fn on_left_host(&mut self, _p: &Self::Body) -> bool {
        false
    }

    /// There is room in the host's own queue, and this sender waited for it.
    fn on_room_in_host(&mut self, _out: &mut impl Outbox) {}

    /// All else of this time is done, and the application [waited for that](Outbox::act_last).
    fn on_application(&mut self, _out: &mut impl Outbox) {}

    /// The time has come at which the next segment of a paced sender may leave.
    fn on_departure_timer(&mut self, _out: &mut impl Outbox) {}

    /// An ACK arrives soon, and the sender itself is loaded: loads ahead what else it may touch.
    fn prefetch_behind(&self) {}

    /// True if the smoothed RTT was too large for the number that the stack keeps it in.
    fn srtt_has_wrapped(&self) -> bool {
        false
    }

    /// Return how long what has limited sending until `at`, which is when the transfer was complete or later.
    fn limited_times(&self, _at: Time) -> Option<LimitedTimes> {
        None
    }

    /// Tells the state of the sender ([`STATE`](super::endpoint::STATE)) and of its congestion control.
    fn state(&self, _now: Time, _tell: &mut Tell) {}
}

/// The end that receives the data.
pub trait ReceivingEnd {
    /// A packet as this end reads it.
    type Body: From<Packet>;

    /// A packet of the sender arrives.
    fn on_packet(&mut self, p: &Self::Body, out: &mut impl Outbox);

    /// The event of timer `which` came.
    fn on_timer(&mut self, which: usize, out: &mut impl Outbox);

    /// True if the connection is closed at both ends, as far as the receiver knows.
    fn has_closed(&self) -> bool;

    /// Counters.
    fn counters(&self) -> &ReceiverCounters;

    /// Shift of the windows that it advertises.
    fn window_scale(&self) -> u8;

    /// Payload read in order by the application, bytes.
    fn bytes_read(&self) -> u64;

    /// Time at which a sized transfer was complete.
    fn completed(&self) -> Option<Time>;

    /// connect(), where this end opens.
    fn connect(&mut self, _out: &mut impl Outbox) {}

    /// The flow is cut off.
    fn abort(&mut self) {}

    /// See [`SendingEnd::on_application`].
    fn on_application(&mut self, _out: &mut impl Outbox) {}

    /// The turn of an application that reads at a rate.
    fn on_turn(&mut self, _out: &mut impl Outbox) {}

    /// A packet arrives soon, and the receiver itself is loaded: loads ahead what else it may touch.
    fn prefetch_behind(&self) {}
}

/// Writes methods of a trait that only pass a call on, by a macro `by!(self, Trait::method(arguments))`. A first list has the methods that change
/// the end, a second one the methods that do not.
macro_rules! passed_on {
    ($by:ident, $role:ident;
        $($(#[$attribute:meta])* fn $method:ident(&mut $me:ident $(, $name:ident: $kind:ty)*) $(-> $result:ty)?;)*
        const
        $(fn $asked:ident(&$it:ident $(, $argument:ident: $of:ty)*) $(-> $answer:ty)?;)*
    ) => {
        $($(#[$attribute])*
        fn $method(&mut $me $(, $name: $kind)*) $(-> $result)? {
            $by!($me, $role::$method($($name),*))
        })*
        $(fn $asked(&$it $(, $argument: $of)*) $(-> $answer)? {
            $by!($it, $role::$asked($($argument),*))
        })*
    };
}
pub(super) use passed_on;

/// Calls the method of the same name that the end has outside the trait.
macro_rules! own {
    ($self:ident, $role:ident::$method:ident($($argument:expr),*)) => {
        $self.$method($($argument),*)
    };
}
pub(super) use own;
