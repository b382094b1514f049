//! A congestion control of one's own for dumbbell, in a shared library. Made by docs/interface.py;
//! do not edit.
#![allow(dead_code)]

use std::ffi::{c_char, c_void};

/// The version of this interface. It changes with each change that a library notices. A library of
/// another version is an error.
pub const ABI: u32 = 1;

/// It works on ECN marks: the receiver echoes them one by one, as DCTCP needs it. A scenario needs
/// ecn: true for this congestion control.
pub const NEEDS_ECN: u32 = 1 << 0;

/// cong_control sets the window after each ACK, in place of cong_avoid and of the sender's own
/// reduction (PRR).
pub const NEEDS_CONG_CONTROL: u32 = 1 << 1;

/// It reads the delivery rate of the samples.
pub const NEEDS_RATE_SAMPLES: u32 = 1 << 2;

/// It reads slow_path and the timestamps of the samples, or sets enters_cwr.
pub const NEEDS_WHOLE_ACKS: u32 = 1 << 3;

/// It is paced, at pacing_rate.
pub const NEEDS_PACING: u32 = 1 << 4;

/// lost is called for every segment that is deemed lost. A congestion control with this flag also
/// needs rate samples.
pub const NEEDS_LOSSES: u32 = 1 << 5;

/// First transmission when nothing was in flight.
pub const EVENT_TX_START: u32 = 0;

/// The window is about to be restarted, as nothing was sent for more than a retransmission timeout.
pub const EVENT_CWND_RESTART: u32 = 1;

/// A reduction (CWR or recovery) is complete; the window has been set to ssthresh.
pub const EVENT_COMPLETE_CWR: u32 = 2;

/// A retransmission timeout that is taken for a loss; the threshold has been reduced.
pub const EVENT_LOSS: u32 = 3;

/// The congestion state is about to become the one that is given with it; view->state is still the
/// old one.
pub const EVENT_STATE: u32 = 4;

/// A tail loss probe has repaired the loss of the last segment: a reduction is about to begin. The
/// value is 1 if the application limited sending when that segment was first sent, else 0.
pub const EVENT_PROBE_REPAIRED_LOSS: u32 = 5;

/// "No threshold yet", as Linux prints it, segments.
pub const INFINITE_SSTHRESH: u32 = 0x7fffffff;

/// Linux's congestion states.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaState {
    /// Nothing unusual.
    Open = 0,
    /// SACKs or duplicate ACKs seen.
    Disorder = 1,
    /// Window being reduced after a mark or a local drop.
    Cwr = 2,
    /// Fast recovery.
    Recovery = 3,
    /// After a retransmission timeout.
    Loss = 4,
}

/// Rule by which the window grows; the number is how far slow start goes beyond its threshold.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Segments that were delivered (3.13 and later).
    Segments = 0,
    /// ACKs: each counts once, whatever it acknowledges. The threshold itself still belongs to slow
    /// start.
    Acks = 1,
}

/// A connection as its congestion control sees it; sequence numbers count segments. A control reads
/// it, the sender alone writes it: it is the sender's own state, not a copy. Wide because it is all
/// that a control may look at, in one C struct without pointers (in Linux a control reads
/// tcp_sock).
#[repr(C)]
pub struct View {
    /// Now, us.
    pub mstamp_us: u64,
    /// Now, ticks.
    pub jiffies: u32,
    /// Ticks a second.
    pub hz: u32,
    /// First unacknowledged segment.
    pub snd_una: u32,
    /// Next new segment.
    pub snd_nxt: u32,
    /// Segments sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// SACKed segments among them.
    pub sacked_out: u32,
    /// Segments among them that are deemed lost.
    pub lost_out: u32,
    /// Retransmissions in flight.
    pub retrans_out: u32,
    /// Segments delivered, ever (retransmitted ones count once a delivery).
    pub delivered: u32,
    /// Segments among them that were acknowledged with an ECN echo.
    pub delivered_ce: u32,
    /// Smoothed RTT times 8, us; 0 before the first sample.
    pub srtt_us8: u32,
    /// Windowed minimum RTT, us; the largest number before the first sample.
    pub min_rtt_us: u32,
    /// Window at the start of the present reduction.
    pub prior_cwnd: u32,
    /// Most segments outstanding in the present window.
    pub max_packets_out: u32,
    /// Time of the last transmission of new data, ticks.
    pub last_sent_jiffies: u32,
    /// Congestion state.
    pub state: CaState,
    /// The window, not the application or the receiver, limits sending.
    pub is_cwnd_limited: bool,
    /// In slow start the flag does not count, only the rule that the window may double (Linux
    /// before 6.0).
    pub slow_start_ignores_limited_flag: bool,
    /// Rule by which the window grows.
    pub growth: Growth,
    /// Segments ever deemed lost.
    pub lost: u32,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// When something was delivered last, us; only kept for a control that needs rate samples.
    pub delivered_us: u64,
    /// Seed of the connection's random stream: the run's seed, and which connection of the run it
    /// is.
    pub seed: [u64; 2],
    /// The next segment leaves no earlier, ns; in the future while a paced sender waits.
    pub departure_ns: u64,
    /// The sender is paced.
    pub is_paced: bool,
    /// The receiver reports what it has beyond a gap (SACK), so that several losses of a round trip
    /// are seen at once.
    pub has_sack: bool,
}

/// Values that a congestion control sets, and the sender obeys. The sender itself sets the window
/// during a reduction (PRR), after a timeout and when a reduction is undone.
#[repr(C)]
pub struct Window {
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow-start threshold, segments.
    pub ssthresh: u32,
    /// Segments (or ACKs) counted towards the next increase by one.
    pub cwnd_cnt: u32,
    /// Rate of a paced sender, bytes/s. The rate also sizes TSO segments, and HyStart estimates the
    /// delay of ACKs by it. It is computed from the window after each ACK unless the control has a
    /// cong_control.
    pub pacing_rate: u64,
    /// Segments that are sent until so many are delivered do not show the rate of the path, as the
    /// application limits it; 0: they do. Set when an application writes that has kept the sender
    /// waiting, and by a control that holds back itself. Only kept for one that needs rate samples.
    pub app_limited: u32,
    /// Set by a control to have the window reduced as after an ECN echo, once the hook returns; the
    /// sender takes it back. Only for one that whole_acks, and in cong_avoid.
    pub enters_cwr: bool,
    /// Least size of a TSO segment where the pacing rate asks for a smaller one, segments (sysctl
    /// tcp_min_tso_segs).
    pub min_tso_segments: u32,
}

/// How fast segments were delivered from when the segment was sent that was sent last of those
/// newly delivered. Only taken for a control that needs it.
#[repr(C)]
pub struct DeliveryRate {
    /// Over so many us; negative: the sample says nothing about the rate. For cong_control and
    /// cong_avoid only.
    pub interval_us: i64,
    /// Segments delivered in that time; negative if it is not known. Likewise.
    pub delivered: i32,
    /// Segments among them that were acknowledged with an ECN echo; read likewise.
    pub delivered_ce: u32,
    /// Segments delivered, ever, when that segment was sent; 0: it is not known. May be read from
    /// pkts_acked on.
    pub prior_delivered: u32,
    /// Segments in flight when it was sent, itself included.
    pub tx_in_flight: u32,
    /// Segments deemed lost since it was sent.
    pub lost: i32,
    /// The application limited what was sent before it.
    pub is_app_limited: bool,
    /// The ACK is that of a lone short segment, and may have been delayed.
    pub is_ack_delayed: bool,
    /// The ACK is for all that was sent when the last segment was retransmitted as a loss probe: it
    /// may be for the first transmission or the second.
    pub is_of_loss_probe: bool,
}

/// The news of an ACK. A sample is made for each ACK and filled while that is processed; each hook
/// says what it may read.
#[repr(C)]
pub struct RateSample {
    /// RTT of the last segment newly acknowledged or SACKed that was never retransmitted, us;
    /// negative without a valid one.
    pub rtt_us: i64,
    /// Segments newly acknowledged by the cumulative point.
    pub acked: u32,
    /// Segments newly delivered, cumulatively or by SACK.
    pub delivered: u32,
    /// Segments newly marked as lost.
    pub losses: u32,
    /// Segments in flight before the ACK.
    pub prior_in_flight: u32,
    /// The receiver's window was updated (always true when the cumulative point moved).
    pub window_update: bool,
    /// ECN echo.
    pub ece: bool,
    /// SCE echo.
    pub esce: bool,
    /// Linux's header prediction does not take the ACK: it has SACK blocks or an ECN echo, offers
    /// another window than the last one, or acknowledges nothing new.
    pub slow_path: bool,
    /// The receiver's clock when it sent the ACK, and ours when the segment that it echoes was
    /// sent, ms (timestamp option).
    pub tsval: u32,
    /// See tsval.
    pub tsecr: u32,
    /// How fast segments are delivered.
    pub rate: DeliveryRate,
}

/// A segment that is deemed lost, for a control that needs to know. Those of a TSO segment are told
/// one by one, lowest first.
#[repr(C)]
pub struct Lost {
    /// Which segment.
    pub seq: u32,
    /// Segments in flight when it was sent last, itself included, and the TSO segment that it
    /// belongs to; 0: it is not known.
    pub tx_in_flight: u32,
    /// Segments deemed lost since, itself included.
    pub lost: i32,
    /// The application limited what was sent before it.
    pub is_app_limited: bool,
}

/// A parameter as the scenario has it: a number as its digits, a flag as on or off.
#[repr(C)]
pub struct Parameter {
    /// Its name.
    pub name: *const c_char,
    /// Its value.
    pub value: *const c_char,
}

/// Takes the values of state variables, which a scenario may record as series of the connection
/// (series: [control]).
#[repr(C)]
pub struct Emitter {
    /// The simulator's.
    pub context: *mut c_void,
    /// Emits the value of a variable: a name of printable ASCII of at most 40 characters, with its
    /// unit if it has one (bw_bps, rtt_ms). A variable without a value at the moment is left out.
    pub emit: Option<unsafe extern "C" fn(emitter: &Emitter, name: *const c_char, value: f64)>,
}

/// The exports of a library, returned by its function dumbbell_cc_v1. They stay as they are while
/// the library is loaded. Functions may be left out (NULL) if their comment says what happens then.
/// Their arguments are theirs only until they return. One thread computes a run; several
/// connections of a run may use a library, each with the state that create made for it. Wide
/// because it is all that a library may have.
#[repr(C)]
pub struct Control {
    /// The version of the interface: DUMBBELL_ABI.
    pub abi: u32,
    /// Sizes of the structures as the library knows them.
    pub control_size: u32,
    /// See control_size.
    pub view_size: u32,
    /// See control_size.
    pub window_size: u32,
    /// See control_size.
    pub sample_size: u32,
    /// See control_size.
    pub lost_size: u32,
    /// Needs of the congestion control: DUMBBELL_NEEDS_..., or 0.
    pub needs: u32,
    /// Windows that a send buffer which grows has room for, at most 255 (Linux's sndbuf_expand); 0:
    /// the usual 2.
    pub send_windows: u32,
    /// Makes the state of a connection, and reads the parameters. Returns NULL if a parameter is
    /// wrong, with the reason in error. Left out: the functions below get NULL for state, and
    /// parameters are an error.
    pub create: Option<unsafe extern "C" fn(parameters: *const Parameter, count: usize, error: *mut c_char, error_size: usize) -> *mut c_void>,
    /// Takes the state back. Left out: nothing is done.
    pub destroy: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// The connection is established. Left out: nothing is done.
    pub init: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &mut Window)>,
    /// The threshold after a loss or an ECN echo, segments. Must be there.
    pub ssthresh: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &Window) -> u32>,
    /// Growth for acked segments delivered, outside reductions. Must be there, unless it has a
    /// cong_control.
    pub cong_avoid: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &mut Window, acked: u32)>,
    /// Sets window and pacing rate after an ACK, whatever the state. Must be there if
    /// DUMBBELL_NEEDS_CONG_CONTROL is set, and only then.
    pub cong_control: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &mut Window, sample: &RateSample)>,
    /// The window after a reduction proved wrong, segments. Left out: the larger of the window and
    /// view->prior_cwnd.
    pub undo_cwnd: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &Window) -> u32>,
    /// An event, DUMBBELL_EVENT_..., with the value that some events have, else 0. Left out:
    /// nothing is done.
    pub event: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &mut Window, event: u32, detail: u32)>,
    /// An ACK moved the cumulative point or brought SACK blocks; rtt_us and acked of the sample may
    /// be read. Left out: nothing is done.
    pub pkts_acked: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &mut Window, sample: &RateSample)>,
    /// An ACK arrived; acked, window_update, ece and esce of the sample may be read. Left out:
    /// nothing is done.
    pub ack: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &mut Window, sample: &RateSample)>,
    /// A segment is deemed lost, or lost again; the view counts it already. Must be there if
    /// DUMBBELL_NEEDS_LOSSES is set, and only then.
    pub lost: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &mut Window, lost: &Lost)>,
    /// So many segments were sent, new ones or again; the view counts them already. Left out:
    /// nothing is done.
    pub sent: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &mut Window, segments: u32)>,
    /// Emits the state variables of the connection: it calls emitter->emit(emitter, name, value)
    /// for each. It is called at the times of the samples, only if the scenario asks for them, and
    /// must not change anything. Left out, as in tables that end before it: there are none.
    pub tell: Option<unsafe extern "C" fn(state: *mut c_void, view: &View, window: &Window, emitter: &Emitter)>,
}

// The table is only read.
unsafe impl Sync for Control {}
