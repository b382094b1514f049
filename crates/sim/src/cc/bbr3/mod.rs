//! BBR version 3: draft-ietf-ccwg-bbr-06 (6 July 2026, tag of that name at 6db913f; the repository's text of 3 August 2026, 4ce5e87, has the same
//! algorithm), and as google/bbr has it (branch v3 at 001a430b, net/ipv4/tcp_bbr.c): the model of version 1, with bounds of rate and data in flight
//! that follow losses, and with probing for bandwidth every two to three seconds. Arithmetic and units are those of the kernel's versions, segments and
//! integers, in both variants. `dumbbell conform bbr3` runs the test cases of the draft's appendix.
//!
//! - `variant`: constants, and where the two differ
//! - `startup`: when the pipe is full, DRAIN
//! - `signals`: what the last round showed
//! - `bounds`: how much of it is taken back at losses, and how it is raised
//! - `cycle`: DOWN, CRUISE, REFILL, UP
//! - `probe_rtt`: the minimum RTT, PROBE_RTT
//! - `window`: rate and window from all that
//! - `ecn`: shallow marks
//! - `undo`: what an episode of losses changed and may prove wrong
//!
//! Where the draft contradicts itself or leaves something open, the pseudocode decides:
//!
//! - DRAIN ends when `round_count > drain_start_round + 3`, in the fourth round; the text says three.
//! - After losses in STARTUP both flags of a full pipe are set, as the appendix wants; the text sets `full_bw_reached` alone. The other one has no effect.
//! - `HandleInflightTooHigh` leaves `inflight_longterm` where the application limits; the appendix wants it updated.
//! - `BoundCwndForModel` does not bound DRAIN by `inflight_longterm`, as the table of controls does.
//! - An undo of losses that ended UP enters REFILL; the appendix wants UP.
//! - State for an undo is saved once an episode, at its first loss, as the text says. The pseudocode saves it again in each round of losses and when
//!   recovery begins, and would not find what the first loss has changed.
//! - `GenerateRateSample` does not fill in `RS.lost` and `RS.tx_in_flight`: they are those of the segment sent last of those that the ACK delivers, and
//!   `HandleLostPacket` does not overwrite those of the next ACK.
//! - Gains of DOWN, CRUISE, REFILL and UP (0.90, 1, 1, 1.25; cwnd 2.25 in UP) are those of the text and the table; the pseudocode sets none.
//! - PROBE_RTT keeps half a BDP in flight, at least four segments; the definition of ProbeRTTDuration says MinPipeCwnd.
//! - `AdvanceMaxBwFilter` in a cycle without samples keeps the maximum.
//! - Marks "MUST" count as congestion, and the draft does not say how: a marked segment counts as a lost one.
//! - A loss that a tail loss probe repaired counts as google's.
//!
//! Linux's sampler of delivery rates is the transport's: it notes that the application limits when that writes, not when ACKs or timers come. Times of
//! PROBE_RTT count in ticks. The offload budget has the draft's send quantum; TSO segments on hosts with TSO have Linux's size.
//!
//! Leaves out: of google's tree, protective load balancing, ACKs without regard to the receive window (`fast_ack_mode`), and TSO segments by the minimum
//! RTT of 10 s, not of 300 s.

mod bounds;
mod cycle;
mod ecn;
mod probe_rtt;
mod signals;
mod startup;
#[cfg(test)]
mod tests;
mod undo;
mod variant;
mod window;

use self::bounds::Bounds;
use self::cycle::Probe;
use self::ecn::Ecn;
use self::probe_rtt::MinRtt;
use self::signals::{Round, Signals};
use self::startup::{FullPipe, Startup};
use self::undo::Undo;
use self::variant::Variant;
use self::window::Extra;
use super::bandwidth::{bits_per_sec, initial_bw, BW_UNIT, UNIT};
use super::{
    AnyCc, BoxedControl, CaState, CongestionControl, Control, Event, Lost, Needs, Parameter, Parameters, RateSample,
    State, Tell, Version, View, Window, INFINITE_SSTHRESH,
};
use crate::catalogue::state::ms_of_us;
use crate::rng::Rng;

/// 4 ln 2, the smallest gain that doubles the rate each round.
const STARTUP_GAIN: u32 = UNIT * 277 / 100 + 1;
/// Least window, segments.
const MIN_CWND: u32 = 4;
/// Bounds that are not set.
const NONE: u32 = u32::MAX;

pub(super) const CONTROL: Control = Control {
    name: "bbr3",
    summary: "BBR version 3 (draft of the IETF of 2026, or Google)",
    needs: Needs {
        cong_control: true,
        rate_samples: true,
        losses: true,
        pacing: true,
        random: true,
        send_windows: 3,
        ..Needs::NOTHING
    },
    since: Version::ANY,
    parameters: &[
        Parameter::word(
            "variant",
            "draft",
            Variant::WORDS,
            "constants and rules of the IETF's draft, or of Google's Linux (branch v3)",
        ),
        Parameter::flag(
            "ecn_low",
            false,
            "answers to marks as those of a shallow queue, at RTTs of up to 5 ms (google; route feature ecn_low)",
        ),
    ],
    build: |p| AnyCc::Boxed(Box::new(Bbr3::new(p))),
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::word("mode", &["startup", "drain", "probe_bw", "probe_rtt"], "what it is doing"),
    State::word("phase", &["down", "cruise", "refill", "up"], "phase of PROBE_BW; none outside"),
    State::new(
        "bw_bps",
        "bit/s",
        "bandwidth that the rate is set by, payload of full segments: the maximum, within what losses leave (BBR.bw)",
    ),
    State::new("max_bw_bps", "bit/s", "maximum of the delivery rate in this cycle and the one before (BBR.max_bw)"),
    State::new(
        "bw_lo_bps",
        "bit/s",
        "bound of the bandwidth that losses of this cycle leave (BBR.bw_shortterm); none if there is none",
    ),
    State::new("full_bw_bps", "bit/s", "bandwidth that growth in STARTUP is measured from"),
    State::flag("pipe_full", "STARTUP has filled the pipe (BBR.full_bw_reached)"),
    State::flag("bw_full", "bandwidth has not grown by a quarter for three rounds (BBR.full_bw_now)"),
    State::new("full_rounds", "", "rounds without such growth so far (BBR.full_bw_count)"),
    State::flag("probe_too_high", "the last probing lost too much (BBR.prev_probe_too_high)"),
    State::flag("idle_restart", "nothing is delivered yet after a pause of the application"),
    State::new(
        "extra_acked",
        "packets",
        "segments acknowledged beyond what the bandwidth lets expect, that the window has room for",
    ),
    State::new("probe_wait_ms", "ms", "time to the next probing for bandwidth, counted from the end of the last one"),
    State::new(
        "inflight_hi",
        "packets",
        "data in flight beyond which too much was lost (BBR.inflight_longterm); none if there is no bound",
    ),
    State::new(
        "inflight_lo",
        "packets",
        "bound of data in flight that losses of this cycle leave (BBR.inflight_shortterm); none if there is none",
    ),
    State::new("model_min_rtt_ms", "ms", "least RTT of the model, of the last ten seconds"),
    State::new("pacing_gain", "", "factor of the pacing rate"),
    State::new("cwnd_gain", "", "factor of the window"),
    State::new("round", "", "rounds counted so far"),
    State::new("probe_rounds", "", "rounds since the last probing for bandwidth"),
    State::new("loss_in_round", "", "1 if something was lost in this round, else 0"),
    State::new("ecn_alpha", "share", "smoothed share of marked segments, where marks count; else none"),
    State::new("prior_cwnd", "packets", "window that is restored after recovery or PROBE_RTT"),
];

/// State of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Doubles the rate each round until the pipe is full.
    Startup,
    /// Drains what that has queued.
    Drain,
    /// Sends less than is delivered.
    Down,
    /// It sends as much as is delivered.
    Cruise,
    /// Fills the pipe again for a round.
    Refill,
    /// More, to see whether that is delivered too.
    Up,
    /// Sends little, to see the minimum RTT.
    ProbeRtt,
}

impl Mode {
    /// One of the phases of PROBE_BW.
    fn probes_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Return the index of the mode and, in PROBE_BW, of the phase among the words of [`STATE`].
    fn named(self) -> (u8, Option<u8>) {
        match self {
            Self::Startup => (0, None),
            Self::Drain => (1, None),
            Self::Down => (2, Some(0)),
            Self::Cruise => (2, Some(1)),
            Self::Refill => (2, Some(2)),
            Self::Up => (2, Some(3)),
            Self::ProbeRtt => (3, None),
        }
    }

    /// Losses do not lower the bounds, as more than before is sent on purpose.
    fn is_accelerating(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// An ACK, and the bandwidth that it shows.
struct Ack<'a> {
    s: &'a RateSample,
    /// 0: none.
    bw: u32,
}

impl<'a> Ack<'a> {
    fn new(s: &'a RateSample) -> Self {
        let known = s.rate.interval_us > 0 && s.rate.delivered >= 0;
        let bw = if known { (s.rate.delivered as u64 * BW_UNIT).div_ceil(s.rate.interval_us as u64) as u32 } else { 0 };
        Self { s, bw }
    }

    /// It delivered something, and shows at what rate.
    fn shows_rate(&self) -> bool {
        self.s.rate.interval_us > 0 && self.s.delivered > 0
    }

    /// It delivered something, and it is known when that was sent. An interval below the minimum RTT shows no rate, but it counts for rounds and
    /// for data delivered in the draft, as `GenerateRateSample` leaves the rest of the sample.
    fn is_known(&self, variant: Variant) -> bool {
        if variant.is_google() {
            self.shows_rate()
        } else {
            self.s.delivered > 0 && self.s.rate.prior_delivered != 0 && self.s.rate.delivered >= 0
        }
    }
}

/// BBR version 3. Wide because its steps share one model, as the kernel's `struct bbr` does.
#[derive(Clone, Debug)]
pub(super) struct Bbr3 {
    variant: Variant,
    mode: Mode,
    random: Option<Rng>,
    round: Round,
    signals: Signals,
    bounds: Bounds,
    startup: Startup,
    full: FullPipe,
    probe: Probe,
    min_rtt: MinRtt,
    extra: Extra,
    ecn: Ecn,
    undo: Undo,
    /// The window before recovery or PROBE_RTT, segments.
    prior_cwnd: u32,
    /// State at the last ACK.
    previous: CaState,
    /// The next ACK is the first after a pause of the application.
    idle_restart: bool,
    /// The window is as large as the model wants it.
    at_target: bool,
    pacing_gain: u32,
    cwnd_gain: u32,
}

impl Bbr3 {
    fn new(p: &Parameters) -> Self {
        let variant = Variant::of(p.word("variant"));
        Self::of(variant, p.flag("ecn_low"))
    }

    fn of(variant: Variant, ecn_low: bool) -> Self {
        Self {
            variant,
            mode: Mode::Startup,
            random: None,
            round: Round::default(),
            signals: Signals::default(),
            bounds: Bounds::default(),
            startup: Startup::default(),
            full: FullPipe::default(),
            probe: Probe::default(),
            min_rtt: MinRtt::default(),
            extra: Extra::default(),
            ecn: Ecn::new(ecn_low && variant.is_google()),
            undo: Undo::default(),
            prior_cwnd: 0,
            previous: CaState::Open,
            idle_restart: false,
            at_target: false,
            pacing_gain: STARTUP_GAIN,
            cwnd_gain: 2 * UNIT,
        }
    }

    /// The bandwidth to send at.
    fn bw(&self) -> u32 {
        self.bounds.max_bw().min(self.bounds.bw_lo)
    }

    fn save_cwnd(&mut self, w: &Window) {
        let is_good = self.previous < CaState::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if is_good { w.cwnd } else { self.prior_cwnd.max(w.cwnd) };
    }

    fn restore_cwnd(&mut self, w: &mut Window) {
        w.cwnd = w.cwnd.max(self.prior_cwnd);
        self.at_target = false;
    }

    fn update_model(&mut self, v: &View, w: &mut Window, a: &Ack) {
        self.update_signals(w, a);
        self.update_extra(v, w, a);
        self.note_marks(v, w, a);
        self.check_losses_of_startup(v, w, a);
        self.check_pipe(a);
        self.update_phase(v, w, a);
    }

    fn update_phase(&mut self, v: &View, w: &mut Window, a: &Ack) {
        self.check_drain(v, w);
        self.update_cycle(v, w, a);
        self.update_min_rtt(v, w, a.s);
    }

    /// The application limits sending, less than the bandwidth was delivered without losses, and the window is as large as it gets.
    fn may_skip(&self, a: &Ack) -> bool {
        self.variant.is_google()
            && self.at_target
            && a.s.rate.is_app_limited
            && a.bw < self.bounds.max_bw()
            && !self.signals.loss_in_round
            && !self.ecn.in_round
    }

    /// Takes in an ACK that tells little; true if window and rate stay.
    fn skim(&mut self, v: &View, w: &mut Window, a: &Ack) -> bool {
        let before = (self.mode, self.min_rtt.us());
        self.update_phase(v, w, a);
        (self.mode, self.min_rtt.us()) == before && self.at_target
    }

    fn update_gains(&mut self) {
        let google = self.variant.is_google();
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (STARTUP_GAIN, 2 * UNIT),
            Mode::Drain => (self.variant.drain_gain(), 2 * UNIT),
            Mode::Down => (self.variant.down_gain(), 2 * UNIT),
            Mode::Cruise | Mode::Refill => (UNIT, 2 * UNIT),
            Mode::Up => (UNIT * 5 / 4, UNIT * 9 / 4),
            Mode::ProbeRtt => (UNIT, if google { UNIT } else { UNIT / 2 }),
        };
    }
}

impl CongestionControl for Bbr3 {
    fn init(&mut self, v: &View, w: &mut Window) {
        w.ssthresh = INFINITE_SSTHRESH;
        *self = Self::of(self.variant, self.ecn.is_low());
        self.round.begin(v);
        self.signals.begin(v);
        self.min_rtt.begin(v);
        self.extra.begin(v, w.cwnd);
        self.prior_cwnd = v.prior_cwnd;
        w.pacing_rate = Self::rate(v, initial_bw(v, w.cwnd), STARTUP_GAIN);
    }

    fn ssthresh(&mut self, _v: &View, w: &Window) -> u32 {
        self.save_cwnd(w);
        if self.variant.is_google() || !self.undo.is_saved() {
            self.undo.save(&self.bounds);
        }
        w.ssthresh
    }

    fn cong_avoid(&mut self, _v: &View, _w: &mut Window, _acked: u32) {}

    fn cong_control(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        let a = &Ack::new(s);
        let is_known = if self.variant.is_google() { s.rate.interval_us > 0 } else { a.is_known(self.variant) };
        self.round.update(v, a, is_known);
        if self.round.start {
            self.probe.count_round();
            self.update_ecn(v, w);
        }
        self.ecn.note(s);
        self.update_latest(v, a);
        let done = if self.may_skip(a) {
            self.skim(v, w, a)
        } else {
            self.update_model(v, w, a);
            false
        };
        if !done {
            self.update_gains();
            self.set_pacing_rate(v, w, self.pacing_gain);
            self.set_cwnd(v, w, s);
            self.bound_cwnd(w);
        }
        self.end_ack(v, a);
    }

    fn undo_cwnd(&mut self, v: &View, w: &Window) -> u32 {
        self.undo_losses(v);
        if self.variant.is_google() {
            self.prior_cwnd
        } else {
            self.prior_cwnd.max(w.cwnd)
        }
    }

    fn on_event(&mut self, v: &View, w: &mut Window, e: Event) {
        match e {
            Event::State(state) => self.change_state(v, w, state),
            Event::TxStart if w.app_limited != 0 => {
                self.idle_restart = true;
                self.extra.begin_epoch(v);
                if self.mode.probes_bw() {
                    self.set_pacing_rate(v, w, UNIT);
                } else if self.mode == Mode::ProbeRtt {
                    self.check_probe_rtt_done(v, w);
                }
            }
            Event::ProbeRepairedLoss(is_app_limited) => {
                let tx_in_flight = self.signals.inflight_latest + 1;
                self.note_loss(v, w);
                self.judge_loss(v, w, &Lost { tx_in_flight, lost: 1, is_app_limited, seq: 0 }, false);
            }
            _ => {}
        }
    }

    fn on_lost(&mut self, v: &View, w: &mut Window, lost: &Lost) {
        self.note_loss(v, w);
        self.startup.note(lost);
        self.judge_loss(v, w, lost, true);
    }

    fn state(&self, v: &View, _: &Window, tell: &mut Tell) {
        let (mode, phase) = self.mode.named();
        tell("mode", f64::from(mode));
        if let Some(phase) = phase {
            tell("phase", f64::from(phase));
        }
        let b = &self.bounds;
        tell("bw_bps", bits_per_sec(v, self.bw()));
        tell("max_bw_bps", bits_per_sec(v, b.max_bw()));
        tell("full_bw_bps", bits_per_sec(v, self.full.bw()));
        tell("pipe_full", f64::from(u8::from(self.full.was)));
        if b.bw_lo != NONE {
            tell("bw_lo_bps", bits_per_sec(v, b.bw_lo));
        }
        for (name, bound) in [("inflight_hi", b.inflight_hi), ("inflight_lo", b.inflight_lo)] {
            if bound != NONE {
                tell(name, f64::from(bound));
            }
        }
        tell("model_min_rtt_ms", ms_of_us(self.min_rtt.us()));
        tell("pacing_gain", f64::from(self.pacing_gain) / f64::from(UNIT));
        tell("cwnd_gain", f64::from(self.cwnd_gain) / f64::from(UNIT));
        tell("round", f64::from(self.round.count));
        tell("probe_rounds", f64::from(self.probe.rounds()));
        tell("loss_in_round", f64::from(u8::from(self.signals.loss_in_round)));
        tell("bw_full", f64::from(u8::from(self.full.is_now)));
        tell("full_rounds", f64::from(self.full.rounds));
        tell("probe_too_high", f64::from(u8::from(self.probe.was_too_high)));
        tell("idle_restart", f64::from(u8::from(self.idle_restart)));
        tell("extra_acked", f64::from(self.extra_acked()));
        tell("probe_wait_ms", self.probe.wait_us() as f64 / 1e3);
        if let Some(alpha) = self.ecn.used_alpha() {
            tell("ecn_alpha", f64::from(alpha) / f64::from(UNIT));
        }
        tell("prior_cwnd", f64::from(self.prior_cwnd));
    }

    fn words(&self) -> u32 {
        let flags = [self.full.was, self.full.is_now, self.probe.was_too_high, self.idle_restart];
        flags.iter().zip(8..).fold(self.mode as u32, |words, (&flag, bit)| words | u32::from(flag) << bit)
    }
}

impl BoxedControl for Bbr3 {
    fn needs(&self) -> Needs {
        Needs { ecn: self.ecn.is_low(), ..CONTROL.needs }
    }
}
