//! A control from a library, for one connection.

use std::ffi::{c_char, c_void, CStr};
use std::fmt;
use std::panic::resume_unwind;

use dumbbell_sim::cc::{
    BoxedControl, CongestionControl, Event, Lost, Needs, RateSample, Tell, View, Window, INFINITE_SSTHRESH,
};

use crate::interface::{self, Emitter};
use crate::library::Library;

/// Largest window that is taken for one, segments: more than any buffer holds.
pub const MOST_WINDOW: u32 = 1 << 24;

/// Longest name of a state variable, bytes.
const MOST_NAME: usize = 40;

/// Fault of a control that makes its run worthless; it is the payload of a panic.
#[derive(Debug)]
pub struct Fault(pub String);

impl Fault {
    /// End the run because of a control: `what` it did, and what was `expected`.
    pub fn raise(control: &str, v: &View, what: impl fmt::Display, expected: impl fmt::Display) -> ! {
        let (s, us) = (v.mstamp_us / 1_000_000, v.mstamp_us % 1_000_000);
        let whose = v.seed[1];
        let line = format!(
            "the congestion control {control} {what} at {s}.{us:06} s (connection {whose}); expected {expected}"
        );
        resume_unwind(Box::new(Self(line)))
    }

    /// Ends the run if a control has set a window of nonsense.
    #[inline(always)]
    pub fn check(control: &str, v: &View, w: &Window) {
        let cwnd = w.cwnd.wrapping_sub(1) < MOST_WINDOW;
        let ssthresh = w.ssthresh.wrapping_sub(1) < INFINITE_SSTHRESH;
        if !(cwnd && ssthresh) {
            Self::nonsense(control, v, w);
        }
    }

    /// Ends the run if a control that sets the pacing rate has set one of nonsense.
    #[inline(always)]
    pub fn check_rate(control: &str, v: &View, w: &Window) {
        if w.pacing_rate == 0 {
            Self::raise(control, v, "set a pacing rate of 0 bytes/s", "at least 1");
        }
    }

    #[cold]
    #[inline(never)]
    fn nonsense(control: &str, v: &View, w: &Window) -> ! {
        if w.cwnd.wrapping_sub(1) >= MOST_WINDOW {
            let what = format!("set a window of {} segments", w.cwnd);
            Self::raise(control, v, what, format_args!("1 to {MOST_WINDOW}"))
        }
        Self::threshold(control, v, w.ssthresh)
    }

    #[cold]
    fn threshold(control: &str, v: &View, segments: u32) -> ! {
        let what = format!("set a threshold of {segments} segments");
        Self::raise(control, v, what, format_args!("1 to {INFINITE_SSTHRESH}"))
    }
}

/// The control of a connection.
pub(crate) struct Foreign {
    library: &'static Library,
    /// The library's state for the connection; null if it keeps none.
    state: *mut c_void,
}

// SAFETY: the header says that another thread than the one that made a connection's state may use the state, one thread at a time.
unsafe impl Send for Foreign {}

impl Foreign {
    pub fn new(library: &'static Library, state: *mut c_void) -> Self {
        Self { library, state }
    }

    #[inline(always)]
    fn check(&self, v: &View, w: &Window) {
        // A bool that is neither is undefined behaviour once it is read as one.
        // SAFETY: it is there, and any byte is a u8.
        let flag = unsafe { (&raw const w.enters_cwr).cast::<u8>().read() };
        if flag > 1 {
            Fault::raise(&self.library.name, v, format_args!("set enters_cwr to {flag}"), "0 or 1");
        }
        Fault::check(&self.library.name, v, w);
    }
}

/// Calls a hook if the library has it. The arguments are there until it returns, and its signature is the header's.
macro_rules! call {
    ($self:ident.$hook:ident($($argument:expr),*)) => {
        $self.library.control.$hook.map(|hook| {
            // SAFETY: the caller who opened the library said that it has the functions of the header; it made the state itself.
            unsafe { hook($self.state, $($argument),*) }
        })
    };
}

impl CongestionControl for Foreign {
    fn init(&mut self, v: &View, w: &mut Window) {
        call!(self.init(v, w));
        self.check(v, w);
    }

    fn ssthresh(&mut self, v: &View, w: &Window) -> u32 {
        let threshold = call!(self.ssthresh(v, w)).unwrap_or(0);
        if threshold.wrapping_sub(1) >= INFINITE_SSTHRESH {
            Fault::threshold(&self.library.name, v, threshold);
        }
        threshold
    }

    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        call!(self.cong_avoid(v, w, acked));
        self.check(v, w);
    }

    fn cong_control(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        call!(self.cong_control(v, w, s));
        self.check(v, w);
        Fault::check_rate(&self.library.name, v, w);
    }

    fn undo_cwnd(&mut self, v: &View, w: &Window) -> u32 {
        let window = call!(self.undo_cwnd(v, w)).unwrap_or_else(|| w.cwnd.max(v.prior_cwnd));
        if window.wrapping_sub(1) >= MOST_WINDOW {
            let what = format!("goes back to a window of {window} segments");
            Fault::raise(&self.library.name, v, what, format_args!("1 to {MOST_WINDOW}"));
        }
        window
    }

    fn on_event(&mut self, v: &View, w: &mut Window, e: Event) {
        let (event, detail) = match e {
            Event::TxStart => (interface::EVENT_TX_START, 0),
            Event::CwndRestart => (interface::EVENT_CWND_RESTART, 0),
            Event::CompleteCwr => (interface::EVENT_COMPLETE_CWR, 0),
            Event::Loss => (interface::EVENT_LOSS, 0),
            Event::ProbeRepairedLoss(app_limited) => (interface::EVENT_PROBE_REPAIRED_LOSS, app_limited.into()),
            Event::State(state) => (interface::EVENT_STATE, state as u32),
            Event::Renumbered(_) => return,
        };
        call!(self.event(v, w, event, detail));
        self.check(v, w);
    }

    fn pkts_acked(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        call!(self.pkts_acked(v, w, s));
        self.check(v, w);
    }

    fn on_ack(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        call!(self.ack(v, w, s));
        self.check(v, w);
    }

    fn on_lost(&mut self, v: &View, w: &mut Window, lost: &Lost) {
        call!(self.lost(v, w, lost));
        self.check(v, w);
    }

    fn on_sent(&mut self, v: &View, w: &mut Window, segments: u32) {
        call!(self.sent(v, w, segments));
        self.check(v, w);
    }

    fn state(&self, v: &View, w: &Window, mut tell: &mut Tell) {
        let context = (&raw mut tell).cast::<c_void>();
        call!(self.tell(v, w, &Emitter { context, emit: Some(emit) }));
    }
}

/// Hands a variable that a library emits to whoever asked for it.
unsafe extern "C" fn emit(emitter: &Emitter, name: *const c_char, value: f64) {
    if name.is_null() || emitter.context.is_null() {
        return;
    }
    // SAFETY: `Foreign::state` made the context, which is there until it returns; the library says that the name is a string.
    let (told, name) = unsafe { (&mut *emitter.context.cast::<&mut Tell>(), CStr::from_ptr(name)) };
    if let Ok(name) = name.to_str() {
        if is_name(name) {
            told(name, value);
        }
    }
}

/// True if a state variable may have this name.
fn is_name(name: &str) -> bool {
    (1..=MOST_NAME).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

impl BoxedControl for Foreign {
    fn needs(&self) -> Needs {
        self.library.needs()
    }

    /// One look at the window for the three.
    fn on_progress(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        call!(self.pkts_acked(v, w, s));
        call!(self.ack(v, w, s));
        call!(self.cong_avoid(v, w, s.acked));
        self.check(v, w);
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        call!(self.destroy());
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Foreign").field("library", &self.library.name).finish_non_exhaustive()
    }
}
