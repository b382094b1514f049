//! Congestion controls: one file each, one small trait, chosen once per run.

mod cubic;
mod cubic_sce;
mod dctcp;
mod dctcp_sce;
mod hystart;
mod reno;
mod reno_sce;
mod sce;

pub use cubic::Cubic;
pub use cubic_sce::CubicSce;
pub use dctcp::Dctcp;
pub use dctcp_sce::dctcp_sce;
pub use reno::Reno;
pub use reno_sce::reno_sce;
pub use sce::SceWindow;

use crate::tcp::linux::sender::tcb::{CaState, Tcb};
use crate::tcp::linux::stack::Stack;

/// What an ACK says, before recovery and growth.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckEvent {
    /// Segments newly acknowledged by the cumulative point.
    pub acked: u32,
    /// The window was updated (always true when the cumulative point moved).
    pub window_update: bool,
    /// ECN echo.
    pub ece: bool,
    /// SCE echo.
    pub esce: bool,
}

/// RTT and count of the segments that an ACK removed.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Segments cumulatively acknowledged.
    pub acked: u32,
    /// RTT of the last segment (S)ACKed, us; negative without a valid one.
    pub rtt_us: i64,
}

/// Things that happen to a window besides ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// First transmission when nothing was in flight.
    TxStart,
    /// A reduction (CWR or recovery) is complete; the window has been set to ssthresh.
    CompleteCwr,
    /// A retransmission timeout.
    Loss,
}

/// A congestion control.
pub trait CongestionControl {
    /// The connection is established.
    fn init(&mut self, _t: &mut Tcb) {}
    /// The threshold after a congestion signal, segments.
    fn ssthresh(&mut self, t: &Tcb) -> u32;
    /// Growth for `acked` segments delivered, outside reductions.
    fn cong_avoid(&mut self, t: &mut Tcb, acked: u32);
    /// The window after a reduction proved wrong, segments.
    fn undo_cwnd(&mut self, t: &Tcb) -> u32 {
        t.cwnd.max(t.prior_cwnd)
    }
    /// The congestion state is about to become `new`.
    fn set_state(&mut self, _t: &mut Tcb, _new: CaState) {}
    /// See [`Event`].
    fn cwnd_event(&mut self, _t: &mut Tcb, _e: Event) {}
    /// Segments were acknowledged.
    fn pkts_acked(&mut self, _t: &mut Tcb, _s: AckSample) {}
    /// An ACK arrived.
    fn in_ack_event(&mut self, _t: &mut Tcb, _e: AckEvent) {}
}

/// Name, summary, and whether it needs ECN.
pub const CONTROLS: &[(&str, &str, bool)] = &[
    ("reno", "NewReno growth as Linux counts it (RFC 5681, RFC 3465)", false),
    ("cubic", "CUBIC with HyStart (RFC 9438, Linux 6.12)", false),
    ("dctcp", "Data Center TCP (RFC 8257, Linux 6.12)", true),
    ("reno-sce", "Reno that answers SCE marks (SCE tree, June 2019)", false),
    ("dctcp-sce", "DCTCP's response to SCE marks (SCE tree, June 2019)", false),
    ("cubic-sce", "CUBIC that answers SCE marks (SCE tree, in progress in 2019)", false),
];

macro_rules! any_cc {
    ($($variant:ident),*) => {
        /// Any congestion control, dispatched statically.
        #[derive(Debug)]
        #[allow(missing_docs)]
        // A tag of its own is read in one step; in a value that a variant does not use it would have to be computed.
        #[repr(u8)]
        pub enum AnyCc {
            $($variant($variant),)*
            /// A plug-in.
            Custom(Box<dyn CustomControl>),
        }

        impl AnyCc {
            /// What an ACK that only makes progress, with an SCE echo or without, brings: `pkts_acked`, `in_ack_event` and `cong_avoid` in one dispatch, as all three are
            /// called for nearly every ACK.
            #[inline]
            pub(crate) fn on_progress(&mut self, t: &mut Tcb, s: AckSample, esce: bool) {
                match self {
                    $(Self::$variant(c) => on_progress(c, t, s, esce),)*
                    Self::Custom(c) => on_progress(c.as_mut(), t, s, esce),
                }
            }
        }

        impl CongestionControl for AnyCc {
            fn init(&mut self, t: &mut Tcb) {
                match self { $(Self::$variant(c) => c.init(t),)* Self::Custom(c) => c.init(t) }
            }
            #[inline]
            fn ssthresh(&mut self, t: &Tcb) -> u32 {
                match self { $(Self::$variant(c) => c.ssthresh(t),)* Self::Custom(c) => c.ssthresh(t) }
            }
            fn cong_avoid(&mut self, t: &mut Tcb, acked: u32) {
                match self { $(Self::$variant(c) => c.cong_avoid(t, acked),)* Self::Custom(c) => c.cong_avoid(t, acked) }
            }
            fn undo_cwnd(&mut self, t: &Tcb) -> u32 {
                match self { $(Self::$variant(c) => c.undo_cwnd(t),)* Self::Custom(c) => c.undo_cwnd(t) }
            }
            fn set_state(&mut self, t: &mut Tcb, new: CaState) {
                match self { $(Self::$variant(c) => c.set_state(t, new),)* Self::Custom(c) => c.set_state(t, new) }
            }
            #[inline]
            fn cwnd_event(&mut self, t: &mut Tcb, e: Event) {
                match self { $(Self::$variant(c) => c.cwnd_event(t, e),)* Self::Custom(c) => c.cwnd_event(t, e) }
            }
            #[inline]
            fn pkts_acked(&mut self, t: &mut Tcb, s: AckSample) {
                match self { $(Self::$variant(c) => c.pkts_acked(t, s),)* Self::Custom(c) => c.pkts_acked(t, s) }
            }
            #[inline]
            fn in_ack_event(&mut self, t: &mut Tcb, e: AckEvent) {
                match self { $(Self::$variant(c) => c.in_ack_event(t, e),)* Self::Custom(c) => c.in_ack_event(t, e) }
            }
        }
    };
}

fn on_progress<C: CongestionControl + ?Sized>(c: &mut C, t: &mut Tcb, s: AckSample, esce: bool) {
    c.pkts_acked(t, s);
    c.in_ack_event(t, AckEvent { acked: s.acked, window_update: true, ece: false, esce });
    c.cong_avoid(t, s.acked);
}

any_cc!(Reno, Cubic, Dctcp, SceWindow, CubicSce);

/// A congestion control brought by the user of the crate.
pub trait CustomControl: CongestionControl + std::fmt::Debug + Send {}

impl AnyCc {
    /// The named congestion control on a stack; `None` if there is none of that name.
    #[must_use]
    pub fn build(name: &str, stack: &Stack) -> Option<Self> {
        Some(match name {
            "reno" => Self::Reno(Reno),
            "cubic" => Self::Cubic(Cubic::new(stack)),
            "dctcp" => Self::Dctcp(Dctcp::new(stack)),
            "reno-sce" => Self::SceWindow(reno_sce(stack)),
            "dctcp-sce" => Self::SceWindow(dctcp_sce(stack)),
            "cubic-sce" => Self::CubicSce(CubicSce::new(stack)),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::StackSpec;

    #[test]
    fn every_listed_control_can_be_built() {
        let spec = StackSpec { name: "linux-6.12".into(), options: serde_json::Map::new() };
        let stack = Stack::from_spec(&spec).unwrap();
        for (name, ..) in CONTROLS {
            assert!(AnyCc::build(name, &stack).is_some(), "{name}");
        }
        assert!(AnyCc::build("vegas2", &stack).is_none());
    }
}
