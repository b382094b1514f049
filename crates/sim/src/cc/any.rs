//! Any congestion control behind one type: those of this crate dispatched statically, and one of the caller's own.

use super::cubic::Cubic;
use super::cubic_sce::CubicSce;
use super::dctcp::Dctcp;
use super::reno::Reno;
use super::sce::SceWindow;
use super::{find, CongestionControl, Event, Needs, Parameters, RateSample, Value, View, Window, CONTROLS};
use serde_json::Map;

use crate::refusal::Flaws;

/// A congestion control brought by the user of the crate.
pub trait CustomControl: CongestionControl + std::fmt::Debug + Send {
    /// What it needs from the connection.
    fn needs(&self) -> Needs {
        Needs::default()
    }
}

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
            /// What an ACK that only makes progress brings ([`RateSample::progress`]): `pkts_acked`, `on_ack` and `cong_avoid` in one
            /// dispatch, as all three are called for nearly every ACK. Not for a control that has a `cong_control`.
            #[inline(always)]
            pub(crate) fn on_progress(&mut self, v: &View, w: &mut Window, acked: u32, rtt_us: i64, esce: bool) {
                match self {
                    $(Self::$variant(c) => on_progress(c, v, w, acked, rtt_us, esce),)*
                    Self::Custom(c) => on_custom_progress(c.as_mut(), v, w, acked, rtt_us, esce),
                }
            }
        }

        impl CongestionControl for AnyCc {
            fn init(&mut self, v: &View, w: &mut Window) {
                match self { $(Self::$variant(c) => c.init(v, w),)* Self::Custom(c) => c.init(v, w) }
            }
            #[inline]
            fn ssthresh(&mut self, v: &View, w: &Window) -> u32 {
                match self { $(Self::$variant(c) => c.ssthresh(v, w),)* Self::Custom(c) => c.ssthresh(v, w) }
            }
            fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
                match self { $(Self::$variant(c) => c.cong_avoid(v, w, acked),)* Self::Custom(c) => c.cong_avoid(v, w, acked) }
            }
            fn cong_control(&mut self, v: &View, w: &mut Window, s: &RateSample) {
                match self { $(Self::$variant(c) => c.cong_control(v, w, s),)* Self::Custom(c) => c.cong_control(v, w, s) }
            }
            fn undo_cwnd(&mut self, v: &View, w: &Window) -> u32 {
                match self { $(Self::$variant(c) => c.undo_cwnd(v, w),)* Self::Custom(c) => c.undo_cwnd(v, w) }
            }
            #[inline]
            fn on_event(&mut self, v: &View, w: &mut Window, e: Event) {
                match self { $(Self::$variant(c) => c.on_event(v, w, e),)* Self::Custom(c) => c.on_event(v, w, e) }
            }
            #[inline]
            fn pkts_acked(&mut self, v: &View, w: &mut Window, s: &RateSample) {
                match self { $(Self::$variant(c) => c.pkts_acked(v, w, s),)* Self::Custom(c) => c.pkts_acked(v, w, s) }
            }
            #[inline]
            fn on_ack(&mut self, v: &View, w: &mut Window, s: &RateSample) {
                match self { $(Self::$variant(c) => c.on_ack(v, w, s),)* Self::Custom(c) => c.on_ack(v, w, s) }
            }
            #[inline]
            fn on_sent(&mut self, v: &View, w: &mut Window, segments: u32) {
                match self { $(Self::$variant(c) => c.on_sent(v, w, segments),)* Self::Custom(c) => c.on_sent(v, w, segments) }
            }
        }
    };
}

#[inline]
fn on_progress<C: CongestionControl + ?Sized>(
    c: &mut C,
    v: &View,
    w: &mut Window,
    acked: u32,
    rtt_us: i64,
    esce: bool,
) {
    let s = RateSample::progress(v, acked, rtt_us, esce);
    c.pkts_acked(v, w, &s);
    c.on_ack(v, w, &s);
    c.cong_avoid(v, w, acked);
}

/// Out of line, so that the sample need not lie in memory for the controls of this crate.
#[inline(never)]
fn on_custom_progress(c: &mut dyn CustomControl, v: &View, w: &mut Window, acked: u32, rtt_us: i64, esce: bool) {
    on_progress(c, v, w, acked, rtt_us, esce);
}

any_cc!(Reno, Cubic, Dctcp, SceWindow, CubicSce);

/// A control by name, and what it needs: one of [`CONTROLS`] with its parameters as `given`, else as the `stack` has them;
/// or what `custom` makes.
///
/// # Errors
/// There is none of that name, or a parameter is unknown or wrong.
pub(crate) fn build(
    name: &str,
    given: &Map<String, serde_json::Value>,
    stack: &[(&'static str, Value)],
    custom: impl FnOnce(&str) -> Option<Box<dyn CustomControl>>,
) -> Result<(AnyCc, Needs), Flaws> {
    if let Some(control) = find(name) {
        let parameters = Parameters::resolve(control.parameters, stack, given)?;
        return Ok(((control.build)(&parameters), control.needs));
    }
    let Some(custom) = custom(name) else {
        let names: Vec<&str> = CONTROLS.iter().map(|control| control.name).collect();
        return Err(Flaws::one("kind", format_args!("unknown {name:?}"), format_args!("one of {}", names.join(", "))));
    };
    Parameters::resolve(&[], &[], given)?;
    let needs = custom.needs();
    Ok((AnyCc::Custom(custom), needs))
}
