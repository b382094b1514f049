//! Any congestion control behind one type: those that most runs use dispatched statically, the others of this crate and those of the caller's
//! own by a table of functions.

use super::bbr::Bbr;
use super::cubic::Cubic;
use super::dctcp::Dctcp;
use super::reno::Reno;
use super::sce::cubic::CubicSce;
use super::sce::SceWindow;
use super::{find, CongestionControl, Event, Lost, Needs, Parameters, RateSample, Tell, Value, View, Window, CONTROLS};
use serde_json::Map;

use crate::refusal::Flaws;

/// A congestion control that lies in memory of its own.
pub trait BoxedControl: CongestionControl + std::fmt::Debug + Send {
    /// The needs of a control of the caller's own. A control of this crate has them in [`CONTROLS`], except that parameters may make one need ECN.
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    /// The three hooks of an ACK that only makes progress, in one call.
    fn on_progress(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        self.pkts_acked(v, w, s);
        self.on_ack(v, w, s);
        self.cong_avoid(v, w, s.acked);
    }
}

/// Parameters as a description has them.
type Given = Map<String, serde_json::Value>;

macro_rules! any_cc {
    ($($variant:ident($control:ty)),*) => {
        /// Any congestion control.
        #[derive(Debug)]
        #[allow(missing_docs)]
        // A tag of its own is read in one step; in a value that a variant does not use it would have to be computed.
        #[repr(u8)]
        pub enum AnyCc {
            $($variant($control),)*
            /// One that fewer runs use, or the caller's own: whatever there are, the others pay nothing for it.
            Boxed(Box<dyn BoxedControl>),
        }

        impl AnyCc {
            /// The calls for an ACK that only makes progress ([`RateSample::progress`]): `pkts_acked`, `on_ack` and `cong_avoid` in one
            /// dispatch, as all three are called for nearly every ACK. Not for a control that has a `cong_control`.
            #[inline(always)]
            pub(crate) fn on_progress(&mut self, v: &View, w: &mut Window, acked: u32, rtt_us: i64, esce: bool) {
                match self {
                    $(Self::$variant(c) => {
                        let s = RateSample::progress(v, acked, rtt_us, esce);
                        c.pkts_acked(v, w, &s);
                        c.on_ack(v, w, &s);
                        c.cong_avoid(v, w, acked);
                    })*
                    Self::Boxed(c) => on_boxed_progress(c.as_mut(), v, w, acked, rtt_us, esce),
                }
            }
        }

        impl CongestionControl for AnyCc {
            #[cold]
            fn on_syn_acked(&mut self, rtt_us: i32) {
                match self { $(Self::$variant(c) => c.on_syn_acked(rtt_us),)* Self::Boxed(c) => c.on_syn_acked(rtt_us) }
            }
            fn init(&mut self, v: &View, w: &mut Window) {
                match self { $(Self::$variant(c) => c.init(v, w),)* Self::Boxed(c) => c.init(v, w) }
            }
            #[inline]
            fn ssthresh(&mut self, v: &View, w: &Window) -> u32 {
                match self { $(Self::$variant(c) => c.ssthresh(v, w),)* Self::Boxed(c) => c.ssthresh(v, w) }
            }
            fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
                match self { $(Self::$variant(c) => c.cong_avoid(v, w, acked),)* Self::Boxed(c) => c.cong_avoid(v, w, acked) }
            }
            fn cong_control(&mut self, v: &View, w: &mut Window, s: &RateSample) {
                match self { $(Self::$variant(c) => c.cong_control(v, w, s),)* Self::Boxed(c) => c.cong_control(v, w, s) }
            }
            fn undo_cwnd(&mut self, v: &View, w: &Window) -> u32 {
                match self { $(Self::$variant(c) => c.undo_cwnd(v, w),)* Self::Boxed(c) => c.undo_cwnd(v, w) }
            }
            #[cold]
            fn least_cwnd(&self, v: &View, w: &Window) -> u32 {
                match self { $(Self::$variant(c) => c.least_cwnd(v, w),)* Self::Boxed(c) => c.least_cwnd(v, w) }
            }
            #[inline]
            fn on_event(&mut self, v: &View, w: &mut Window, e: Event) {
                match self { $(Self::$variant(c) => c.on_event(v, w, e),)* Self::Boxed(c) => c.on_event(v, w, e) }
            }
            #[inline]
            fn pkts_acked(&mut self, v: &View, w: &mut Window, s: &RateSample) {
                match self { $(Self::$variant(c) => c.pkts_acked(v, w, s),)* Self::Boxed(c) => c.pkts_acked(v, w, s) }
            }
            #[inline]
            fn on_ack(&mut self, v: &View, w: &mut Window, s: &RateSample) {
                match self { $(Self::$variant(c) => c.on_ack(v, w, s),)* Self::Boxed(c) => c.on_ack(v, w, s) }
            }
            #[cold]
            fn on_lost(&mut self, v: &View, w: &mut Window, lost: &Lost) {
                match self { $(Self::$variant(c) => c.on_lost(v, w, lost),)* Self::Boxed(c) => c.on_lost(v, w, lost) }
            }
            #[cold]
            fn state(&self, v: &View, w: &Window, tell: &mut Tell) {
                match self { $(Self::$variant(c) => c.state(v, w, tell),)* Self::Boxed(c) => c.state(v, w, tell) }
            }
            fn words(&self) -> u32 {
                match self { $(Self::$variant(c) => c.words(),)* Self::Boxed(c) => c.words() }
            }
            #[inline]
            fn on_sent(&mut self, v: &View, w: &mut Window, segments: u32) {
                match self { $(Self::$variant(c) => c.on_sent(v, w, segments),)* Self::Boxed(c) => c.on_sent(v, w, segments) }
            }
        }
    };
}

/// Out of line, so that the sample need not lie in memory for the others.
#[inline(never)]
fn on_boxed_progress(c: &mut dyn BoxedControl, v: &View, w: &mut Window, acked: u32, rtt_us: i64, esce: bool) {
    c.on_progress(v, w, &RateSample::progress(v, acked, rtt_us, esce));
}

// Large controls lie in memory of their own, so that the senders of the others stay small.
any_cc!(Reno(Reno), Cubic(Cubic), Dctcp(Dctcp), SceWindow(SceWindow), CubicSce(CubicSce), Bbr(Box<Bbr>));

/// A control by name, and what it needs: one of [`CONTROLS`] with its parameters as `given`, else as the `stack` has them;
/// or what `custom` makes of both.
///
/// # Errors
/// There is none of that name, or a parameter is unknown or wrong.
pub fn build(
    name: &str,
    given: &Given,
    stack: &[(&'static str, Value)],
    custom: impl FnOnce(&str, &Given) -> Option<Result<Box<dyn BoxedControl>, Flaws>>,
) -> Result<(AnyCc, Needs), Flaws> {
    if let Some(control) = find(name) {
        let parameters = Parameters::resolve(control.parameters, stack, given)?;
        let cc = (control.build)(&parameters);
        let ecn = control.needs.ecn || matches!(&cc, AnyCc::Boxed(boxed) if boxed.needs().ecn);
        return Ok((cc, Needs { ecn, ..control.needs }));
    }
    let Some(custom) = custom(name, given) else {
        let names: Vec<&str> = CONTROLS.iter().map(|control| control.name).collect();
        return Err(Flaws::one("kind", format_args!("unknown {name:?}"), format_args!("one of {}", names.join(", "))));
    };
    let custom = custom?;
    let needs = custom.needs();
    Ok((AnyCc::Boxed(custom), needs))
}
