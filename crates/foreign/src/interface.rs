//! The interface between the simulator and a control in a shared library, in the layout of C. The header `dumbbell_cc.h` and its twin in Rust
//! are made from this file and from `crates/sim/src/cc/view.rs` (docs/interface.py).

use std::ffi::{c_char, c_void};

use dumbbell_sim::cc::{Lost, RateSample, View, Window};

/// The version of this interface. It changes with each change that a library notices. A library of another version is an error.
pub const ABI: u32 = 1;

/// It works on ECN marks: the receiver echoes them one by one, as DCTCP needs it. A scenario needs `ecn: true` for this congestion control.
pub const NEEDS_ECN: u32 = 1 << 0;
/// `cong_control` sets the window after each ACK, in place of `cong_avoid` and of the sender's own reduction (PRR).
pub const NEEDS_CONG_CONTROL: u32 = 1 << 1;
/// It reads the delivery rate of the samples.
pub const NEEDS_RATE_SAMPLES: u32 = 1 << 2;
/// It reads `slow_path` and the timestamps of the samples, or sets `enters_cwr`.
pub const NEEDS_WHOLE_ACKS: u32 = 1 << 3;
/// It is paced, at `pacing_rate`.
pub const NEEDS_PACING: u32 = 1 << 4;
/// `lost` is called for every segment that is deemed lost. A congestion control with this flag also needs rate samples.
pub const NEEDS_LOSSES: u32 = 1 << 5;

/// First transmission when nothing was in flight.
pub const EVENT_TX_START: u32 = 0;
/// The window is about to be restarted, as nothing was sent for more than a retransmission timeout.
pub const EVENT_CWND_RESTART: u32 = 1;
/// A reduction (CWR or recovery) is complete; the window has been set to ssthresh.
pub const EVENT_COMPLETE_CWR: u32 = 2;
/// A retransmission timeout that is taken for a loss; the threshold has been reduced.
pub const EVENT_LOSS: u32 = 3;
/// The congestion state is about to become the one that is given with it; `view->state` is still the old one.
pub const EVENT_STATE: u32 = 4;
/// A tail loss probe has repaired the loss of the last segment: a reduction is about to begin. The value is 1 if the application limited
/// sending when that segment was first sent, else 0.
pub const EVENT_PROBE_REPAIRED_LOSS: u32 = 5;

/// A parameter as the scenario has it: a number as its digits, a flag as `on` or `off`.
#[repr(C)]
#[derive(Debug)]
pub struct Parameter {
    /// Its name.
    pub name: *const c_char,
    /// Its value.
    pub value: *const c_char,
}

/// Takes the values of state variables, which a scenario may record as series of the connection (`series: [control]`).
#[repr(C)]
#[derive(Debug)]
pub struct Emitter {
    /// The simulator's.
    pub context: *mut c_void,
    /// Emits the value of a variable: a name of printable ASCII of at most 40 characters, with its unit if it has one (`bw_bps`, `rtt_ms`).
    /// A variable without a value at the moment is left out.
    pub emit: Option<unsafe extern "C" fn(emitter: &Emitter, name: *const c_char, value: f64)>,
}

/// The exports of a library, returned by its function `dumbbell_cc_v1`. They stay as they are while the library is loaded. Functions may be
/// left out (NULL) if their comment says what happens then. Their arguments are theirs only until they return. One thread computes a run;
/// several connections of a run may use a library, each with the state that `create` made for it. Wide because it is all that a library may
/// have.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// The version of the interface: DUMBBELL_ABI.
    pub abi: u32,
    /// Sizes of the structures as the library knows them.
    pub control_size: u32,
    /// See `control_size`.
    pub view_size: u32,
    /// See `control_size`.
    pub window_size: u32,
    /// See `control_size`.
    pub sample_size: u32,
    /// See `control_size`.
    pub lost_size: u32,
    /// Needs of the congestion control: DUMBBELL_NEEDS_..., or 0.
    pub needs: u32,
    /// Windows that a send buffer which grows has room for, at most 255 (Linux's sndbuf_expand); 0: the usual 2.
    pub send_windows: u32,
    /// Makes the state of a connection, and reads the parameters. Returns NULL if a parameter is wrong, with the reason in `error`. Left
    /// out: the functions below get NULL for `state`, and parameters are an error.
    pub create: Option<
        unsafe extern "C" fn(
            parameters: *const Parameter,
            count: usize,
            error: *mut c_char,
            error_size: usize,
        ) -> *mut c_void,
    >,
    /// Takes the state back. Left out: nothing is done.
    pub destroy: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// The connection is established. Left out: nothing is done.
    pub init: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &mut Window)>,
    /// The threshold after a loss or an ECN echo, segments. Must be there.
    pub ssthresh: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &Window) -> u32>,
    /// Growth for `acked` segments delivered, outside reductions. Must be there, unless it has a `cong_control`.
    pub cong_avoid: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &mut Window, acked: u32)>,
    /// Sets window and pacing rate after an ACK, whatever the state. Must be there if DUMBBELL_NEEDS_CONG_CONTROL is set, and only then.
    pub cong_control:
        Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &mut Window, sample: &RateSample)>,
    /// The window after a reduction proved wrong, segments. Left out: the larger of the window and `view->prior_cwnd`.
    pub undo_cwnd: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &Window) -> u32>,
    /// An event, DUMBBELL_EVENT_..., with the value that some events have, else 0. Left out: nothing is done.
    pub event:
        Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &mut Window, event: u32, detail: u32)>,
    /// An ACK moved the cumulative point or brought SACK blocks; `rtt_us` and `acked` of the sample may be read. Left out: nothing is done.
    pub pkts_acked:
        Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &mut Window, sample: &RateSample)>,
    /// An ACK arrived; `acked`, `window_update`, `ece` and `esce` of the sample may be read. Left out: nothing is done.
    pub ack: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &mut Window, sample: &RateSample)>,
    /// A segment is deemed lost, or lost again; the view counts it already. Must be there if DUMBBELL_NEEDS_LOSSES is set, and only then.
    pub lost: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &mut Window, lost: &Lost)>,
    /// So many segments were sent, new ones or again; the view counts them already. Left out: nothing is done.
    pub sent: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &mut Window, segments: u32)>,
    /// Emits the state variables of the connection: it calls `emitter->emit(emitter, name, value)` for each. It is called at the times of the
    /// samples, only if the scenario asks for them, and must not change anything. Left out, as in tables that end before it: there are none.
    pub tell: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &Window, emitter: &Emitter)>,
}

/// Size of the table before `tell` was added, bytes. Libraries with such a table still run.
pub const SIZE_WITHOUT_TELL: usize = std::mem::offset_of!(Control, tell);

/// The function that a library exports as `dumbbell_cc_v1`.
pub type Entry = unsafe extern "C" fn() -> *const Control;
