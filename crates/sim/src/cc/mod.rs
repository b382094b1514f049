//! Congestion controls: one file each, one trait, chosen once a connection. [`CONTROLS`] lists them with their parameters.

mod any;
mod bandwidth;
mod bbr;
mod bbr3;
mod bic;
mod cdg;
mod control;
mod cubic;
mod dctcp;
mod fast;
mod highspeed;
mod htcp;
mod hybla;
mod illinois;
#[cfg(test)]
mod lab;
mod lp;
mod nv;
mod parameters;
mod prague;
mod reno;
mod renumbering;
mod scalable;
mod sce;
mod vegas;
mod veno;
mod view;
mod westwood;
mod yeah;

pub use crate::catalogue::{Parameter, State, Tell};
pub use any::{build, AnyCc, BoxedControl};
pub use control::{find, Control, Needs, Version};
pub use parameters::{Parameters, Value};
pub use reno::Reno;
pub use renumbering::Renumbering;
pub use view::{CaState, DeliveryRate, Event, Growth, Lost, RateSample, View, Window, INFINITE_SSTHRESH};

/// The congestion controls. A new one is a file with a `CONTROL`, and a line here. One that most runs use has a variant of [`AnyCc`] too.
pub const CONTROLS: &[Control] = &[
    reno::CONTROL,
    cubic::CONTROL,
    dctcp::CONTROL,
    sce::reno::CONTROL,
    sce::dctcp::CONTROL,
    sce::cubic::CONTROL,
    bbr::CONTROL,
    bbr3::CONTROL,
    bic::CONTROL,
    cdg::CONTROL,
    fast::CONTROL,
    highspeed::CONTROL,
    htcp::CONTROL,
    hybla::CONTROL,
    illinois::CONTROL,
    lp::CONTROL,
    nv::CONTROL,
    prague::CONTROL,
    scalable::CONTROL,
    vegas::CONTROL,
    veno::CONTROL,
    westwood::CONTROL,
    yeah::CONTROL,
];

/// The state variables of controls, by name. A control that is not listed has none.
pub const STATES: &[(&str, &[State])] = &[
    ("cubic", cubic::STATE),
    ("cubic-sce", cubic::STATE),
    ("dctcp", dctcp::STATE),
    ("bbr", bbr::STATE),
    ("bbr3", bbr3::STATE),
    ("bic", bic::STATE),
    ("cdg", cdg::STATE),
    ("dctcp-sce", sce::STATE),
    ("fast", fast::STATE),
    ("highspeed", highspeed::STATE),
    ("htcp", htcp::STATE),
    ("hybla", hybla::STATE),
    ("illinois", illinois::STATE),
    ("lp", lp::STATE),
    ("nv", nv::STATE),
    ("prague", prague::STATE),
    ("reno-sce", sce::STATE),
    ("scalable", scalable::STATE),
    ("vegas", vegas::STATE),
    ("veno", veno::STATE),
    ("westwood", westwood::STATE),
    ("yeah", yeah::STATE),
];

/// Return the state variables of the control of this name; none if it declares none.
pub(crate) fn states_of(kind: &str) -> &'static [State] {
    STATES.iter().find(|(name, _)| *name == kind).map_or(&[], |(_, states)| states)
}

/// A congestion control: it sees a connection through a [`View`], hears of ACKs, losses and other [`Event`]s, and sets the [`Window`].
///
/// For an ACK the hooks are called in this order: [`pkts_acked`](Self::pkts_acked) and [`on_ack`](Self::on_ack) (on some stacks the other
/// way round), then losses are looked for (which may call [`on_event`](Self::on_event), [`ssthresh`](Self::ssthresh) and
/// [`undo_cwnd`](Self::undo_cwnd)), then [`cong_control`](Self::cong_control) or [`cong_avoid`](Self::cong_avoid), then segments are sent
/// ([`on_sent`](Self::on_sent)).
pub trait CongestionControl {
    /// The answer to the SYN arrived, before [`init`](Self::init), after so many us. At a client alone, and not if the SYN was retransmitted. In
    /// Linux it is `pkts_acked` that is called; what it leaves is mostly cleared by `init`.
    fn on_syn_acked(&mut self, _rtt_us: i32) {}

    /// The connection is established.
    fn init(&mut self, _v: &View, _w: &mut Window) {}

    /// The threshold after a loss or an ECN echo, segments.
    fn ssthresh(&mut self, v: &View, w: &Window) -> u32;

    /// Growth for `acked` segments delivered, outside reductions.
    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32);

    /// Sets window and pacing rate after an ACK, whatever the state, in place of `cong_avoid` and of the sender's own reduction (PRR). Only
    /// called for a control that [`Needs::cong_control`] says has it. All of the sample may be read.
    fn cong_control(&mut self, _v: &View, _w: &mut Window, _s: &RateSample) {}

    /// The window after a reduction proved wrong, segments.
    fn undo_cwnd(&mut self, v: &View, w: &Window) -> u32 {
        w.cwnd.max(v.prior_cwnd)
    }

    /// Lower bound of the window during a reduction by rate halving, segments (`min_cwnd` of Linux 2.6.18).
    fn least_cwnd(&self, _v: &View, w: &Window) -> u32 {
        w.ssthresh
    }

    /// See [`Event`].
    fn on_event(&mut self, _v: &View, _w: &mut Window, _e: Event) {}

    /// An ACK moved the cumulative point or brought SACK blocks. `rtt_us` and `acked` of the sample may be read, and its timestamps by a
    /// control that [`Needs::whole_acks`].
    fn pkts_acked(&mut self, _v: &View, _w: &mut Window, _s: &RateSample) {}

    /// An ACK arrived. `acked`, `window_update`, `ece` and `esce` of the sample may be read, and `slow_path` by a control that
    /// [`Needs::whole_acks`].
    fn on_ack(&mut self, _v: &View, _w: &mut Window, _s: &RateSample) {}

    /// A segment is deemed lost, or lost again; the view counts it already. Only called for a control that [`Needs::losses`].
    fn on_lost(&mut self, _v: &View, _w: &mut Window, _lost: &Lost) {}

    /// So many segments were sent, new ones or again; the view counts them already.
    fn on_sent(&mut self, _v: &View, _w: &mut Window, _segments: u32) {}

    /// Tells the values of its state variables, which are declared in its file ([`STATES`]). Only the sampler calls it, where a scenario asks
    /// for them.
    fn state(&self, _v: &View, _w: &Window, _tell: &mut Tell) {}

    /// Return a number that differs whenever one of its state variables that are words has another value. Only the recorder of events calls
    /// it, where a scenario asks for them.
    fn words(&self) -> u32 {
        0
    }
}
