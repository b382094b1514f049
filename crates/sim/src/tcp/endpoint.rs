//! The two ends of a flow, of whichever implementation.

use super::bsd;
use super::linux::sender::LimitedTimes;
use super::linux::{receiver, sender};
use crate::cc::{CaState, CongestionControl, State, Tell, INFINITE_SSTHRESH};
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
    State::new("reordering", "packets", "degree of reordering that is expected"),
];

/// What a sample shows of a sender; `None` where there is nothing yet. Windows are in segments of the full size.
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
    /// Of these, with an ECN echo.
    pub delivered_ce: u32,
    /// Congestion state.
    pub state: CaState,
}

/// A sender. There is one a flow, and none is moved in a run: its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub enum Sender {
    /// Linux's.
    Linux(sender::Sender),
    /// FreeBSD's.
    Bsd(bsd::sender::Sender),
}

impl Sender {
    /// connect().
    pub fn connect(&mut self, out: &mut impl Outbox) {
        match self {
            Self::Linux(s) => s.connect(out),
            Self::Bsd(s) => s.connect(out),
        }
    }

    /// The connection is there, and the flow is not cut off. Of FreeBSD's it is not asked.
    #[must_use]
    pub fn is_established(&self) -> bool {
        match self {
            Self::Linux(s) => s.is_established(),
            Self::Bsd(_) => true,
        }
    }

    /// The flow is cut off: nothing more is sent.
    pub fn abort(&mut self) {
        match self {
            Self::Linux(s) => s.abort(),
            Self::Bsd(s) => s.abort(),
        }
    }

    /// Which queue the host has of its own. Said before [`Self::connect`].
    pub fn on_host_with_queue(&mut self, kind: HostQueue) {
        match self {
            Self::Linux(s) => s.on_host_with_queue(kind),
            Self::Bsd(_) => {}
        }
    }

    /// The host's own queue holds what is sent until it may leave: the sender is paced. FreeBSD's is not.
    pub fn pace_in_host(&mut self) {
        match self {
            Self::Linux(s) => s.pace_in_host(),
            Self::Bsd(_) => {}
        }
    }

    /// A packet of this sender has left the host's own queue, sent on or dropped. True if the sender waited for that: then
    /// [`Self::on_room_in_host`] is due once all that left at the same time is told.
    pub fn on_left_host(&mut self, p: &Segment) -> bool {
        match self {
            Self::Linux(s) => s.on_left_host(p),
            Self::Bsd(_) => false,
        }
    }

    /// There is room in the host's own queue, and this sender waited for it.
    pub fn on_room_in_host(&mut self, out: &mut impl Outbox) {
        match self {
            Self::Linux(s) => s.on_room_in_host(out),
            Self::Bsd(_) => {}
        }
    }

    /// A packet of the receiver arrives.
    #[inline]
    pub fn on_ack(&mut self, p: &Segment, out: &mut impl Outbox) {
        match self {
            Self::Linux(s) => s.on_ack(p, out),
            Self::Bsd(s) => s.on_ack(p, out),
        }
    }

    /// All else of this time is done, and the application [waited for that](Outbox::act_last).
    pub fn on_application(&mut self, out: &mut impl Outbox) {
        match self {
            Self::Linux(s) => s.on_application(out),
            Self::Bsd(_) => {}
        }
    }

    /// An ACK arrives soon, and the sender itself is loaded: loads ahead what else it may touch.
    pub fn prefetch_behind(&self) {
        match self {
            Self::Linux(s) => s.prefetch_segment(),
            Self::Bsd(_) => {}
        }
    }

    /// The timer's event came.
    pub fn on_timer(&mut self, out: &mut impl Outbox) {
        match self {
            Self::Linux(s) => s.on_timer(out),
            Self::Bsd(s) => s.on_timer(out),
        }
    }

    /// The time has come at which the next segment of a paced sender may leave; FreeBSD's are not.
    pub fn on_departure_timer(&mut self, out: &mut impl Outbox) {
        match self {
            Self::Linux(s) => s.on_departure_timer(out),
            Self::Bsd(_) => {}
        }
    }

    /// The timer's event came: where it comes among the timers that fire now, if it fires. If not, its event moves.
    pub fn turn(&mut self, out: &mut impl Outbox) -> Option<Turn> {
        match self {
            Self::Linux(s) => s.turn(out),
            Self::Bsd(s) => s.turn(out),
        }
    }

    /// Fires the timer, as the `place`th of those that fire now.
    pub fn fire(&mut self, place: u32, out: &mut impl Outbox) {
        match self {
            Self::Linux(s) => s.fire(place, out),
            Self::Bsd(s) => s.fire(place, out),
        }
    }

    /// The connection is closed at both ends, as far as the sender knows; FreeBSD's sends no FIN: everything below `end` is acknowledged.
    #[must_use]
    pub fn has_closed(&self, end: u32) -> bool {
        match self {
            Self::Linux(s) => s.has_closed(),
            Self::Bsd(s) => s.acked_until() >= end,
        }
    }

    /// The smoothed RTT was too large for the number that the stack keeps it in. FreeBSD's holds that of the longest run.
    #[must_use]
    pub fn srtt_has_wrapped(&self) -> bool {
        match self {
            Self::Linux(s) => s.rtt.has_wrapped(),
            Self::Bsd(_) => false,
        }
    }

    /// Counters.
    #[must_use]
    pub fn counters(&self) -> &sender::Counters {
        match self {
            Self::Linux(s) => &s.counters,
            Self::Bsd(s) => &s.counters,
        }
    }

    /// How long what has limited sending until `at`, which is when the transfer was complete or later; FreeBSD's does not count that.
    #[must_use]
    pub fn limited_times(&self, at: Time) -> Option<LimitedTimes> {
        match self {
            Self::Linux(s) => Some(s.limited_times(at)),
            Self::Bsd(_) => None,
        }
    }

    /// Tells the state of the sender ([`STATE`]) and of its congestion control. FreeBSD's sender tells nothing.
    pub fn state(&self, tell: &mut Tell) {
        let Self::Linux(s) = self else { return };
        state_of(s, tell);
    }

    /// What a sample shows of it.
    #[must_use]
    pub fn sample(&self) -> SenderSample {
        match self {
            Self::Linux(s) => sample_of(s),
            Self::Bsd(s) => s.sample(),
        }
    }
}

/// Tells the state of a sender of Linux, and of its congestion control.
pub fn state_of(s: &sender::Sender, tell: &mut Tell) {
    let (v, w) = (&s.view, &s.window);
    if w.pacing_rate != u64::MAX {
        tell("pacing_bps", w.pacing_rate as f64 * 8.0);
    }
    tell("rto_ms", s.rto_us() as f64 / 1e3);
    if v.srtt_us8 != 0 {
        tell("rttvar_ms", f64::from(s.rtt.mdev_us()) / 1e3);
    }
    tell("sacked", f64::from(v.sacked_out));
    tell("lost", f64::from(v.lost_out));
    tell("retrans_out", f64::from(v.retrans_out));
    tell("reordering", f64::from(s.reordering_degree()));
    s.congestion_control().state(v, w, tell);
}

/// What a sample shows of a sender of Linux.
#[must_use]
pub fn sample_of(s: &sender::Sender) -> SenderSample {
    let (v, w) = (&s.view, &s.window);
    let measured = v.srtt_us8 != 0;
    SenderSample {
        cwnd: f64::from(w.cwnd),
        ssthresh: (w.ssthresh != INFINITE_SSTHRESH).then(|| f64::from(w.ssthresh)),
        srtt_ms: measured.then(|| f64::from(v.srtt_us8) / 8e3),
        rtt_ms: measured.then(|| f64::from(s.rtt.last_us()) / 1e3),
        min_rtt_ms: (v.min_rtt_us != u32::MAX).then(|| f64::from(v.min_rtt_us) / 1e3),
        in_flight: v.in_flight(),
        delivered: v.delivered,
        delivered_ce: v.delivered_ce,
        state: v.state,
    }
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

impl Receiver {
    /// A packet of the sender arrives.
    #[inline]
    pub fn on_packet(&mut self, p: &Segment, out: &mut impl Outbox) {
        match self {
            Self::Linux(r) => r.on_packet(p, out),
            Self::Bsd(r) => r.on_packet(p, out),
        }
    }

    /// connect(), where this end opens. FreeBSD's does not.
    pub fn connect(&mut self, out: &mut impl Outbox) {
        match self {
            Self::Linux(r) => r.connect(out),
            Self::Bsd(_) => {}
        }
    }

    /// As [`Sender::on_application`].
    pub fn on_application(&mut self, out: &mut impl Outbox) {
        match self {
            Self::Linux(r) => r.on_application(out),
            Self::Bsd(_) => {}
        }
    }

    /// The turn of an application that reads at a rate; see [`receiver::reader::TURN`].
    pub fn on_turn(&mut self, out: &mut impl Outbox) {
        match self {
            Self::Linux(r) => r.on_turn(out),
            Self::Bsd(_) => {}
        }
    }

    /// A packet arrives soon, and the receiver itself is loaded: loads ahead what else it may touch.
    pub fn prefetch_behind(&self) {
        match self {
            Self::Linux(r) => r.prefetch_ranges(),
            Self::Bsd(_) => {}
        }
    }

    /// The event of timer `which` came.
    pub fn on_timer(&mut self, which: usize, out: &mut impl Outbox) {
        match self {
            Self::Linux(r) => r.on_timer(which, out),
            Self::Bsd(r) => r.on_timer(out),
        }
    }

    /// The flow is cut off.
    pub fn abort(&mut self) {
        match self {
            Self::Linux(r) => r.abort(),
            Self::Bsd(_) => {}
        }
    }

    /// The connection is closed at both ends, as far as the receiver knows; FreeBSD's expects no FIN: the transfer is complete.
    #[must_use]
    pub fn has_closed(&self) -> bool {
        match self {
            Self::Linux(r) => r.has_closed(),
            Self::Bsd(r) => r.completed().is_some(),
        }
    }

    /// Counters.
    #[must_use]
    pub fn counters(&self) -> &receiver::Counters {
        match self {
            Self::Linux(r) => r.counters(),
            Self::Bsd(r) => r.counters(),
        }
    }

    /// Shift of the windows that it advertises.
    #[must_use]
    pub fn window_scale(&self) -> u8 {
        match self {
            Self::Linux(r) => r.window_scale(),
            Self::Bsd(r) => r.window_scale(),
        }
    }

    /// Payload read in order by the application, bytes.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        match self {
            Self::Linux(r) => r.bytes_read(),
            Self::Bsd(r) => r.bytes_read(),
        }
    }

    /// Time at which a sized transfer was complete.
    #[must_use]
    pub fn completed(&self) -> Option<Time> {
        match self {
            Self::Linux(r) => r.completed,
            Self::Bsd(r) => r.completed(),
        }
    }
}
