//! BBR version 1 (Cardwell et al., ACM Queue 14(5), 2016; Linux 6.12 net/ipv4/tcp_bbr.c): a model of the path, its bandwidth and its least round
//! trip, from which pacing rate and window follow. The arithmetic is the kernel's, in its widths.
//!
//! Parts that later versions share with it are in `bandwidth`; `long_term` has the rate of a policer.
//!
//! Leaves out: connections whose handshake gives no round trip and no timestamps.

mod long_term;

use self::long_term::{LongTerm, Verdict};
use super::bandwidth::aggregation::{Aggregation, ROUNDS as AGGREGATION_ROUNDS};
use super::bandwidth::filter::WindowedMax;
use super::bandwidth::{
    bdp, bits_per_sec, delivered_until_departure, initial_bw, is_after, most_aggregation, rate_bytes_per_sec, BW_UNIT,
    INITIAL_CWND, MOST_TSO_BYTES, PACING_SHIFT, UNIT,
};
use super::{
    AnyCc, CaState, CongestionControl, Control, Event, Needs, RateSample, State, Tell, Version, View, Window,
    INFINITE_SSTHRESH,
};
use crate::catalogue::state::ms_of_us;
use crate::rng::Rng;

/// 2/ln(2), the smallest gain that doubles the rate each round; and its inverse, which drains what the last round queued.
const HIGH_GAIN: u32 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u32 = UNIT * 1000 / 2885;
/// Windows are so large that delayed ACKs do not stop sending.
const CWND_GAIN: u32 = UNIT * 2;
/// Pacing gains of the phases in which bandwidth is probed for: more, less, and six of the same.
const CYCLE: [u32; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// The phase to begin with is any of so many.
const CYCLE_RANDOM: u32 = 7;
/// Window of the bandwidth, rounds.
const BW_ROUNDS: u32 = CYCLE.len() as u32 + 2;
/// Window of the minimum RTT, s.
const MIN_RTT_WINDOW_S: u32 = 10;
/// How long it is looked for with few segments in flight, ms.
const PROBE_RTT_MS: u32 = 200;
/// How many these are, and the minimum window.
const MIN_CWND: u32 = 4;
/// The pipe is full if the bandwidth has not grown by a quarter in three rounds.
const FULL_BW_GAIN: u64 = UNIT as u64 * 5 / 4;
const FULL_BW_ROUNDS: u32 = 3;
/// Below this rate TSO segments may have one segment, bytes/s.
const MIN_TSO_RATE: u64 = 1_200_000 >> 3;
/// A TSO segment has no more segments.
const MOST_TSO_SEGMENTS: u32 = 0x7f;

pub(super) const CONTROL: Control = Control {
    name: "bbr",
    summary: "BBR version 1 (Linux 6.12)",
    needs: Needs {
        cong_control: true,
        rate_samples: true,
        pacing: true,
        random: true,
        send_windows: 3,
        ..Needs::NOTHING
    },
    since: Version(4, 9),
    parameters: &[],
    build: |_| AnyCc::Bbr(Box::new(Bbr::new())),
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::word("mode", &["startup", "drain", "probe_bw", "probe_rtt"], "what it is doing"),
    State::new("phase", "", "phase of the gain cycle in PROBE_BW, 0 to 7: more, less, and six of the same; none outside"),
    State::new("bw_bps", "bit/s", "bandwidth that the rate is set by, payload of full segments: the policer's while one is found, else the maximum"),
    State::new("max_bw_bps", "bit/s", "maximum of the delivery rate in the last ten rounds"),
    State::new("full_bw_bps", "bit/s", "bandwidth that growth in STARTUP is measured from"),
    State::flag("pipe_full", "STARTUP has filled the pipe"),
    State::new("model_min_rtt_ms", "ms", "least RTT of the model, of the last ten seconds"),
    State::new("pacing_gain", "", "factor of the pacing rate"),
    State::new("cwnd_gain", "", "factor of the window"),
    State::new("round", "", "rounds counted so far"),
    State::new("extra_acked", "packets", "room in the window for ACKs that come in bursts"),
    State::new("prior_cwnd", "packets", "window that is restored after recovery or PROBE_RTT"),
];

/// State of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Doubles the rate each round until the pipe is full.
    Startup,
    /// Drains what that has queued.
    Drain,
    /// Cycles the pacing gain.
    ProbeBw,
    /// Sends little, to see the minimum RTT.
    ProbeRtt,
}

/// BBR. Wide because its steps share one model, as the kernel's `struct bbr` does.
#[derive(Clone, Debug)]
pub struct Bbr {
    mode: Mode,
    random: Option<Rng>,
    min_rtt_us: u32,
    min_rtt_stamp: u32,
    /// When PROBE_RTT may end, ticks; none: too much is in flight yet.
    probe_rtt_done: Option<u32>,
    probe_rtt_round_done: bool,
    bw: WindowedMax,
    rounds: u32,
    /// A round ends with the delivery of something sent when so many segments had been delivered.
    next_round_delivered: u32,
    round_start: bool,
    cycle_us: u64,
    cycle: usize,
    /// State at the last ACK that delivered something.
    previous: CaState,
    conserves: bool,
    idle_restart: bool,
    long_term: LongTerm,
    pacing_gain: u32,
    cwnd_gain: u32,
    pipe_is_full: bool,
    full_rounds: u32,
    full_bw: u32,
    prior_cwnd: u32,
    aggregation: Aggregation,
}

impl Bbr {
    fn new() -> Self {
        Self {
            mode: Mode::Startup,
            random: None,
            min_rtt_us: u32::MAX,
            min_rtt_stamp: 0,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            bw: WindowedMax::default(),
            rounds: 0,
            next_round_delivered: 0,
            round_start: false,
            cycle_us: 0,
            cycle: 0,
            previous: CaState::Open,
            conserves: false,
            idle_restart: false,
            long_term: LongTerm::default(),
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pipe_is_full: false,
            full_rounds: 0,
            full_bw: 0,
            prior_cwnd: 0,
            aggregation: Aggregation::default(),
        }
    }

    fn bw(&self) -> u32 {
        self.long_term.bw().unwrap_or_else(|| self.bw.get())
    }

    fn set_rate(w: &mut Window, rate: u64) {
        w.pacing_rate = rate;
        w.min_tso_segments = if rate < MIN_TSO_RATE { 1 } else { 2 };
    }

    fn set_pacing_rate(&self, v: &View, w: &mut Window, gain: u32) {
        let rate = rate_bytes_per_sec(v, self.bw(), gain);
        if self.pipe_is_full || rate > w.pacing_rate {
            Self::set_rate(w, rate);
        }
    }

    /// TSO segment at the pacing rate, segments.
    fn tso_goal(v: &View, w: &Window) -> u32 {
        let bytes = (w.pacing_rate >> PACING_SHIFT).min(MOST_TSO_BYTES) as u32;
        (bytes / v.mss).max(w.min_tso_segments).min(MOST_TSO_SEGMENTS)
    }

    /// Bandwidth times delay times `gain`, segments.
    fn bdp(&self, bw: u32, gain: u32) -> u32 {
        bdp(bw, self.min_rtt_us, gain)
    }

    /// With room for TSO segments in both hosts, and for delayed ACKs.
    fn with_budget(&self, v: &View, w: &Window, cwnd: u32) -> u32 {
        let cwnd = (cwnd + 3 * Self::tso_goal(v, w) + 1) & !1;
        cwnd + if self.mode == Mode::ProbeBw && self.cycle == 0 { 2 } else { 0 }
    }

    #[inline(never)]
    fn inflight(&self, v: &View, w: &Window, bw: u32, gain: u32) -> u32 {
        self.with_budget(v, w, self.bdp(bw, gain))
    }

    /// Segments in the network when the next segment leaves, `in_flight` being the segments now.
    fn in_network(&self, v: &View, w: &Window, in_flight: u32) -> u32 {
        let more = if self.pacing_gain > UNIT { Self::tso_goal(v, w) } else { 0 };
        (in_flight + more).saturating_sub(delivered_until_departure(v, self.bw()))
    }

    fn save_cwnd(&mut self, w: &Window) {
        self.prior_cwnd = if self.previous < CaState::Recovery && self.mode != Mode::ProbeRtt {
            w.cwnd
        } else {
            self.prior_cwnd.max(w.cwnd)
        };
    }

    fn begin_cycling(&mut self, v: &View) {
        self.mode = Mode::ProbeBw;
        let random = self.random.get_or_insert_with(|| v.random_stream());
        self.cycle = CYCLE.len() - 1 - random.below(CYCLE_RANDOM) as usize;
        self.advance_cycle(v);
    }

    fn advance_cycle(&mut self, v: &View) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_us = v.delivered_us;
    }

    #[inline(always)]
    fn sample_long_term(&mut self, v: &View, losses: u32, is_app_limited: bool) {
        let cycles = self.mode == Mode::ProbeBw;
        match self.long_term.update(v, losses, is_app_limited, self.round_start, cycles) {
            Verdict::Nothing => {}
            Verdict::Policed => self.pacing_gain = UNIT,
            Verdict::Over => self.begin_cycling(v),
        }
    }

    fn update_bw(&mut self, v: &View, s: &RateSample) {
        self.round_start = false;
        if s.rate.delivered < 0 || s.rate.interval_us <= 0 {
            return;
        }
        if !is_after(self.next_round_delivered, s.rate.prior_delivered) {
            self.next_round_delivered = v.delivered;
            self.rounds = self.rounds.wrapping_add(1);
            (self.round_start, self.conserves) = (true, false);
        }
        self.sample_long_term(v, s.losses, s.rate.is_app_limited);
        let bw = s.rate.delivered as u64 * BW_UNIT / s.rate.interval_us as u64;
        if !s.rate.is_app_limited || bw >= u64::from(self.bw.get()) {
            self.bw.update(BW_ROUNDS, self.rounds, bw as u32);
        }
    }

    fn update_aggregation(&mut self, v: &View, w: &Window, s: &RateSample) {
        if s.delivered > 0 && s.rate.delivered >= 0 && s.rate.interval_us > 0 {
            let (round_start, bw) = (self.round_start, self.bw());
            self.aggregation.update(round_start, AGGREGATION_ROUNDS, s.delivered, bw, v.delivered_us, w.cwnd);
        }
    }

    fn is_phase_over(&self, v: &View, w: &Window, s: &RateSample) -> bool {
        let lasted = v.delivered_us.saturating_sub(self.cycle_us) > u64::from(self.min_rtt_us);
        if self.pacing_gain == UNIT {
            return lasted;
        }
        let (in_network, bw) = (self.in_network(v, w, s.prior_in_flight), self.bw.get());
        if self.pacing_gain > UNIT {
            lasted && (s.losses > 0 || in_network >= self.inflight(v, w, bw, self.pacing_gain))
        } else {
            lasted || in_network <= self.inflight(v, w, bw, UNIT)
        }
    }

    fn check_pipe(&mut self, s: &RateSample) {
        if self.pipe_is_full || !self.round_start || s.rate.is_app_limited {
            return;
        }
        if u64::from(self.bw.get()) >= (u64::from(self.full_bw) * FULL_BW_GAIN) >> 8 {
            (self.full_bw, self.full_rounds) = (self.bw.get(), 0);
            return;
        }
        self.full_rounds += 1;
        self.pipe_is_full = self.full_rounds >= FULL_BW_ROUNDS;
    }

    fn check_drain(&mut self, v: &View, w: &mut Window) {
        if self.mode == Mode::Startup && self.pipe_is_full {
            self.mode = Mode::Drain;
            w.ssthresh = self.inflight(v, w, self.bw.get(), UNIT);
        }
        if self.mode == Mode::Drain && self.in_network(v, w, v.in_flight()) <= self.inflight(v, w, self.bw.get(), UNIT)
        {
            self.begin_cycling(v);
        }
    }

    fn check_probe_rtt_done(&mut self, v: &View, w: &mut Window) {
        if !self.probe_rtt_done.is_some_and(|done| is_after(v.jiffies, done)) {
            return;
        }
        self.min_rtt_stamp = v.jiffies;
        w.cwnd = w.cwnd.max(self.prior_cwnd);
        if self.pipe_is_full {
            self.begin_cycling(v);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_min_rtt(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        let expired = is_after(v.jiffies, self.min_rtt_stamp.wrapping_add(MIN_RTT_WINDOW_S * v.hz));
        if s.rtt_us >= 0 && (s.rtt_us < i64::from(self.min_rtt_us) || (expired && !s.rate.is_ack_delayed)) {
            (self.min_rtt_us, self.min_rtt_stamp) = (s.rtt_us as u32, v.jiffies);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_cwnd_for_probe(w);
            self.probe_rtt_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            // Rates seen now do not count.
            w.app_limited = v.delivered.wrapping_add(v.in_flight()).max(1);
            if self.probe_rtt_done.is_some() {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(v, w);
                }
            } else if v.in_flight() <= MIN_CWND {
                self.probe_rtt_done = Some(v.jiffies.wrapping_add((PROBE_RTT_MS * v.hz).div_ceil(1000)));
                self.probe_rtt_round_done = false;
                self.next_round_delivered = v.delivered;
            }
        }
        if s.rate.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// The kernel changes the mode first, so that a window that is already small does not replace the one to go back to.
    fn save_cwnd_for_probe(&mut self, w: &Window) {
        self.mode = Mode::ProbeRtt;
        self.save_cwnd(w);
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.long_term.bw().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    /// The window during recovery and after it, and whether that is all.
    fn recover(&mut self, v: &View, w: &mut Window, s: &RateSample) -> bool {
        let before = self.previous;
        if s.losses > 0 {
            w.cwnd = (w.cwnd.wrapping_sub(s.losses) as i32).max(1) as u32;
        }
        if v.state == CaState::Recovery && before != CaState::Recovery {
            self.conserves = true;
            self.next_round_delivered = v.delivered;
            w.cwnd = v.in_flight() + s.delivered;
        } else if before >= CaState::Recovery && v.state < CaState::Recovery {
            w.cwnd = w.cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        self.previous = v.state;
        if self.conserves {
            w.cwnd = w.cwnd.max(v.in_flight() + s.delivered);
        }
        self.conserves
    }

    fn set_cwnd(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        if s.delivered > 0 && !self.recover(v, w, s) {
            let bw = self.bw();
            let target = self.with_budget(v, w, self.bdp(bw, self.cwnd_gain) + self.aggregation_cwnd(bw));
            if self.pipe_is_full {
                w.cwnd = (w.cwnd + s.delivered).min(target);
            } else if w.cwnd < target || v.delivered < INITIAL_CWND {
                w.cwnd += s.delivered;
            }
            w.cwnd = w.cwnd.max(MIN_CWND);
        }
        if self.mode == Mode::ProbeRtt {
            w.cwnd = w.cwnd.min(MIN_CWND);
        }
    }

    fn aggregation_cwnd(&self, bw: u32) -> u32 {
        if !self.pipe_is_full {
            return 0;
        }
        self.aggregation.extra().min(most_aggregation(bw))
    }
}

impl CongestionControl for Bbr {
    fn init(&mut self, v: &View, w: &mut Window) {
        w.ssthresh = INFINITE_SSTHRESH;
        *self = Self::new();
        self.next_round_delivered = v.delivered;
        (self.min_rtt_us, self.min_rtt_stamp) = (v.min_rtt_us, v.jiffies);
        self.aggregation = Aggregation::new(v.mstamp_us);
        self.long_term.reset(v);
        Self::set_rate(w, rate_bytes_per_sec(v, initial_bw(v, w.cwnd), HIGH_GAIN));
    }

    fn ssthresh(&mut self, _v: &View, w: &Window) -> u32 {
        self.save_cwnd(w);
        w.ssthresh
    }

    fn cong_avoid(&mut self, _v: &View, _w: &mut Window, _acked: u32) {}

    fn cong_control(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        self.update_bw(v, s);
        self.update_aggregation(v, w, s);
        if self.mode == Mode::ProbeBw && self.is_phase_over(v, w, s) {
            self.advance_cycle(v);
        }
        self.check_pipe(s);
        self.check_drain(v, w);
        self.update_min_rtt(v, w, s);
        self.update_gains();
        self.set_pacing_rate(v, w, self.pacing_gain);
        self.set_cwnd(v, w, s);
    }

    fn undo_cwnd(&mut self, v: &View, w: &Window) -> u32 {
        (self.full_bw, self.full_rounds) = (0, 0);
        self.long_term.reset(v);
        w.cwnd
    }

    fn on_event(&mut self, v: &View, w: &mut Window, e: Event) {
        match e {
            Event::State(CaState::Loss) => {
                self.previous = CaState::Loss;
                self.full_bw = 0;
                // A timeout ends a round.
                self.round_start = true;
                self.sample_long_term(v, 1, false);
            }
            Event::TxStart if w.app_limited != 0 => {
                self.idle_restart = true;
                self.aggregation.begin_epoch(v.mstamp_us);
                if self.mode == Mode::ProbeBw {
                    self.set_pacing_rate(v, w, UNIT);
                } else if self.mode == Mode::ProbeRtt {
                    self.check_probe_rtt_done(v, w);
                }
            }
            _ => {}
        }
    }

    fn state(&self, v: &View, _: &Window, tell: &mut Tell) {
        tell("mode", f64::from(self.mode as u8));
        if self.mode == Mode::ProbeBw {
            tell("phase", self.cycle as f64);
        }
        tell("bw_bps", bits_per_sec(v, self.bw()));
        tell("max_bw_bps", bits_per_sec(v, self.bw.get()));
        tell("full_bw_bps", bits_per_sec(v, self.full_bw));
        tell("pipe_full", f64::from(u8::from(self.pipe_is_full)));
        tell("model_min_rtt_ms", ms_of_us(self.min_rtt_us));
        tell("pacing_gain", f64::from(self.pacing_gain) / f64::from(UNIT));
        tell("cwnd_gain", f64::from(self.cwnd_gain) / f64::from(UNIT));
        tell("round", f64::from(self.rounds));
        tell("extra_acked", f64::from(self.aggregation.extra()));
        tell("prior_cwnd", f64::from(self.prior_cwnd));
    }

    fn words(&self) -> u32 {
        self.mode as u32 | u32::from(self.pipe_is_full) << 8
    }
}

#[cfg(test)]
mod tests;
