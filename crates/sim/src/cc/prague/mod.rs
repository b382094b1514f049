//! TCP Prague, the congestion control of L4S (draft-briscoe-iccrg-prague-congestion-control; the rules and constants are those of version 0.7 of its
//! Linux module, and on request those of version 0.6, by which the tables of 2020 to 2022 were made): as DCTCP it reduces in proportion to the share of
//! marked packets, but it grows for unmarked segments alone, its window has a fraction, and below a target RTT its rate does not depend on the RTT.
//!
//! It works on the number of marks (AccECN), is paced, and sends ECT(1). A connection that agrees on no AccECN is Reno.
//!
//! Leaves out: other segment sizes at low rates (Prague has two packets in each virtual RTT, with shorter ones below about 1 Mbit/s), the size of
//! TSO segments (a pacing burst of 244 us; here the stack sizes them).

use super::{
    AnyCc, BoxedControl, CaState, CongestionControl, Control, Event, Needs, Parameter, Parameters, RateSample, State,
    Tell, Version, View, Window,
};

mod classic;
#[cfg(test)]
mod tests;

use classic::Detector;

/// Bits of the fraction of a window, and of a share of marks.
const FRACTION: u32 = 20;
const ONE: u64 = 1 << FRACTION;
const ALPHA_BITS: u32 = 24;
const MAX_ALPHA: u64 = 1 << ALPHA_BITS;
/// The share is smoothed by 2^-4 a round.
const GAIN_SHIFT: u32 = 4;
/// RTTs above are not scaled, us.
const MOST_SCALED_US: u64 = 100_000;
/// The segment size for which the rules are written: IP's MTU, bytes.
const REFERENCE_MTU: u64 = 1500;
/// IP and TCP headers with timestamps, bytes.
const HEADERS: u64 = 52;
/// Least window, segments, and least rate, bytes/s.
const LEAST_CWND: u32 = 2;
const LEAST_RATE: u64 = 12_500;
/// A window of at most so many segments of the reference size is steered by the rate.
const RATE_MODE_SEGMENTS: u64 = 4;
/// The average RTT that makes a window of a rate: weight 2^-7.
const SLOW_RTT_SHIFT: u32 = 7;
/// Offset of the pacing rate, 128ths: above the mean in the first half of a virtual RTT, below it in the second.
const RATE_OFFSET: u64 = 4;
/// Rounds after slow start after which the rate does not depend on the RTT.
const TRANSITION: u32 = 4;
const TRANSITION_0_6: u32 = 500;

pub(super) const CONTROL: Control = Control {
    name: "prague",
    summary: "TCP Prague (draft-briscoe-iccrg-prague-congestion-control), for L4S",
    needs: Needs { ecn: true, accecn: true, cong_control: true, pacing: true, ..Needs::NOTHING },
    since: Version::ANY,
    parameters: &[
        Parameter::word(
            "version",
            "0.7",
            &["0.7", "0.6"],
            "rules of the Linux module: 0.6 (2020 to 2022) begins with a share of marks of 1, has no rate mode, and depends on the RTT for 500 rounds",
        ),
        Parameter::word(
            "mode",
            "switch",
            &["switch", "window", "rate"],
            "what is steered: the window, the rate, or the rate while the window is small (0.6: always the window)",
        ),
        Parameter::flag("rtt_independence", true, "below the target RTT the rate does not depend on the RTT"),
        Parameter::integer("target_us", 25_000, 1_000, 100_000, "target RTT, us"),
        Parameter::word(
            "fallback",
            "off",
            &["off", "on", "module"],
            "look for a queue of classic ECN, and answer its marks as Reno does; module: with references a sixteenth as large, as in the Linux module of 2024, so that nearly each queue counts as classic",
        ),
    ],
    build: |p| AnyCc::Boxed(Box::new(Prague::new(p))),
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::new("alpha", "share", "smoothed share of marked packets"),
    State::new("frac_cwnd", "segments", "window with its fraction"),
    State::new("rate_bps", "bit/s", "rate with headers; in rate mode it is what is steered"),
    State::word("mode", &["window", "rate"], "what is steered"),
    State::new("classic", "share", "how sure it is that the queue is one of classic ECN; 0 without fallback"),
];

/// Quantity that Prague steers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Switch,
    Window,
    Rate,
}

/// Prague. Wide because window, rate and share of marks are steered together, as in the module.
#[derive(Clone, Debug)]
pub struct Prague {
    mode: Mode,
    is_rtt_independent: bool,
    target_us: u64,
    /// True if the rules are those of version 0.6: the share of marks begins with 1, and a whole window with a carry paces.
    is_old: bool,
    transition: u32,
    /// Share of marked packets, 16 * 2^24-ths.
    alpha16: u64,
    /// Window, 2^-20 segments.
    frac_cwnd: u64,
    /// Rate, bytes/s; steered in rate mode.
    rate: u64,
    steers_rate: bool,
    slow_rtt_us: u64,
    saw_ce: bool,
    in_loss: bool,
    /// A reduction ends slow start.
    ends_slow_start: bool,
    loss_cwnd: u64,
    /// Marks that were counted so far.
    delivered_ce: u32,
    /// The round: its end, and what was delivered when it began.
    next_seq: u32,
    round_delivered: u32,
    round_ce: u32,
    rounds: u32,
    /// Looks for queues of classic ECN.
    detector: Option<Detector>,
    /// Times of the last smoothing of the share and of the last reduction, us.
    alpha_us: u64,
    reduced_us: Option<u64>,
}

impl Prague {
    fn new(p: &Parameters) -> Self {
        let is_old = p.word("version") == "0.6";
        Self {
            mode: match p.word("mode") {
                _ if is_old => Mode::Window,
                "window" => Mode::Window,
                "rate" => Mode::Rate,
                _ => Mode::Switch,
            },
            is_rtt_independent: p.flag("rtt_independence"),
            target_us: p.integer("target_us").into(),
            is_old,
            transition: if is_old { TRANSITION_0_6 } else { TRANSITION },
            alpha16: if is_old { MAX_ALPHA << GAIN_SHIFT } else { 0 },
            frac_cwnd: 0,
            rate: 0,
            steers_rate: false,
            slow_rtt_us: 0,
            saw_ce: false,
            in_loss: false,
            ends_slow_start: false,
            loss_cwnd: 0,
            delivered_ce: 0,
            next_seq: 0,
            round_delivered: 0,
            round_ce: 0,
            rounds: 0,
            detector: match p.word("fallback") {
                "off" => None,
                fallback => Some(Detector::new(fallback == "module")),
            },
            alpha_us: 0,
            reduced_us: None,
        }
    }

    /// The share of marked packets, 2^-24.
    fn alpha(&self) -> u64 {
        self.alpha16 >> GAIN_SHIFT
    }

    /// The rate does not depend on the RTT, by now.
    fn is_independent(&self) -> bool {
        self.is_rtt_independent && self.rounds >= self.transition
    }

    fn virtual_rtt_us(&self, v: &View) -> u64 {
        srtt_us(v).max(self.target_us)
    }

    fn begin_round(&mut self, v: &View) {
        self.next_seq = v.snd_nxt;
        self.round_delivered = v.delivered;
        self.round_ce = v.delivered_ce;
    }

    /// Growth of a segment that was not marked, 2^-20 of that of Reno.
    fn additive_increase(&self, v: &View) -> u64 {
        let rtt = srtt_us(v);
        if !self.is_independent() || rtt >= self.target_us || rtt > MOST_SCALED_US {
            return ONE;
        }
        let target = self.target_us * self.target_us;
        (ONE * rtt * rtt + target / 2) / target
    }

    /// Takes a part of the window, 2^-24 times 1/2.
    fn reduce_by(&mut self, alpha: u64) {
        self.reduce_window_by(alpha, self.frac_cwnd);
        self.ends_slow_start = !self.is_old;
    }

    /// Takes a part of `of`, which is the window, 2^-24 times 1/2, and the same of the rate.
    fn reduce_window_by(&mut self, alpha: u64, of: u64) {
        let part = |of: u64| (u128::from(of) * u128::from(alpha) + u128::from(MAX_ALPHA)) >> (ALPHA_BITS + 1);
        self.frac_cwnd = self.frac_cwnd.saturating_sub(part(of) as u64);
        self.rate -= part(self.rate) as u64;
    }

    /// The state becomes CWR: a reduction in proportion to the share of marks, at most once in a target RTT.
    fn on_congestion(&mut self, v: &View, w: &Window) {
        let too_soon = self.reduced_us.is_some_and(|last| v.mstamp_us - last < self.target_us);
        if self.is_independent() && too_soon {
            return;
        }
        self.reduced_us = Some(v.mstamp_us);
        let least = self.detector.as_ref().map_or(0, Detector::least_alpha);
        let alpha = self.alpha().max(least);
        if self.is_old {
            self.reduce_window_by(alpha, u64::from(w.cwnd) << FRACTION);
        } else {
            self.reduce_by(alpha);
        }
    }

    fn on_loss(&mut self) {
        if !self.in_loss {
            self.loss_cwnd = self.frac_cwnd;
            self.reduce_by(MAX_ALPHA);
            self.in_loss = true;
        }
    }

    /// Growth for `acked` segments that were delivered without a mark.
    fn grow(&mut self, v: &View, w: &mut Window, mut acked: u32) {
        if w.in_slow_start(v) {
            let before = w.cwnd;
            acked = w.slow_start(v, acked);
            let grown = u64::from(w.cwnd - before) << FRACTION;
            self.frac_cwnd = if self.is_old { self.frac_cwnd + grown } else { u64::from(w.cwnd) << FRACTION };
        }
        let mtu = u64::from(v.mss) + HEADERS;
        if self.steers_rate {
            let rtt = self.virtual_rtt_us(v);
            let packets = (self.rate * rtt).div_ceil(mtu * 1_000_000).max(1);
            self.rate += u64::from(acked) * REFERENCE_MTU * 1_000_000 / rtt / packets;
        } else if self.is_old {
            let increase = u64::from(acked) * self.additive_increase(v) + u64::from(w.cwnd / 2);
            self.frac_cwnd += (increase / u64::from(w.cwnd.max(1))).max(acked.into());
        } else if acked > 0 {
            let numerator = (u128::from(acked) * u128::from(self.additive_increase(v))) << FRACTION;
            let increase = (numerator + u128::from(self.frac_cwnd / 2)) / u128::from(self.frac_cwnd.max(1));
            let increase = increase as u64 * REFERENCE_MTU / mtu;
            self.frac_cwnd += increase.max(acked.into());
        }
    }

    /// Choose whether the window or the rate is steered, and compute the other from it.
    fn choose_mode(&mut self, v: &View) {
        let mtu = u64::from(v.mss) + HEADERS;
        let rtt = srtt_us(v).max(1);
        let small = (self.frac_cwnd >> FRACTION) * mtu <= RATE_MODE_SEGMENTS * REFERENCE_MTU && self.saw_ce;
        let steers_rate = self.mode == Mode::Rate || (self.mode == Mode::Switch && small);
        if !self.steers_rate || !steers_rate {
            self.rate = (mtu * self.frac_cwnd / rtt * 1_000_000) >> FRACTION;
        }
        self.rate = self.rate.max(LEAST_RATE);
        if steers_rate {
            let rtt = if self.slow_rtt_us == 0 { rtt } else { self.slow_rtt_us };
            self.frac_cwnd = ((u128::from(self.rate * rtt) << FRACTION) / u128::from(mtu * 1_000_000)) as u64;
        }
        self.steers_rate = steers_rate;
    }

    /// The window of version 0.6 follows its carry once that is a whole segment, and loses it at the minimum window.
    fn carry_to_window(&mut self, w: &mut Window) {
        let whole = u64::from(w.cwnd) << FRACTION;
        if self.frac_cwnd + ONE <= whole {
            w.cwnd -= 1;
            if w.cwnd < LEAST_CWND {
                w.cwnd = LEAST_CWND;
                self.frac_cwnd = u64::from(LEAST_CWND) << FRACTION;
            }
            w.ssthresh = w.cwnd;
        } else if self.frac_cwnd >= whole + ONE {
            w.cwnd += 1;
        }
    }

    /// The window follows its fraction by one segment an ACK.
    fn step_window(&mut self, w: &mut Window) {
        let target = self.frac_cwnd.div_ceil(ONE).min(u64::from(u32::MAX)) as u32;
        let target = target.max(LEAST_CWND);
        if w.cwnd > target {
            w.cwnd -= 1;
            w.ssthresh = w.cwnd;
        } else if w.cwnd < target {
            w.cwnd += 1;
        }
    }

    /// A round is over: smooths the share of marks.
    fn smooth(&mut self, v: &View, w: &Window) {
        if v.snd_una < self.next_seq {
            return;
        }
        if self.is_independent() && v.mstamp_us - self.alpha_us < self.target_us {
            return;
        }
        if self.saw_ce {
            if let Some(detector) = &mut self.detector {
                detector.observe(v.min_rtt_us.into());
            }
            let delivered = u64::from((v.delivered - self.round_delivered).max(1));
            let share = (u64::from(v.delivered_ce - self.round_ce) << ALPHA_BITS) / delivered;
            self.alpha16 = (self.alpha16 + share - (self.alpha16 >> GAIN_SHIFT)).min(MAX_ALPHA << GAIN_SHIFT);
        }
        self.alpha_us = v.mstamp_us;
        self.begin_round(v);
        if !w.in_slow_start(v) {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    fn set_pacing_rate(&self, v: &View, w: &mut Window) {
        let mtu = u64::from(v.mss) + HEADERS;
        let mut rate = if self.steers_rate {
            let offset = self.rate * RATE_OFFSET / 128;
            let half = self.virtual_rtt_us(v) / 2;
            if v.mstamp_us - self.alpha_us < half {
                self.rate + offset
            } else {
                self.rate - offset
            }
        } else {
            let window = if self.is_old { w.cwnd.into() } else { self.frac_cwnd >> FRACTION };
            let rate = mtu * window.max(v.in_flight().into()) * 1_000_000 / srtt_us(v).max(1);
            if self.is_old {
                rate
            } else {
                rate.max(LEAST_RATE)
            }
        };
        if w.cwnd < w.ssthresh / 2 {
            rate *= 2;
        }
        w.pacing_rate = rate;
    }
}

/// Smoothed RTT, us.
fn srtt_us(v: &View) -> u64 {
    u64::from(v.srtt_us8 >> 3)
}

impl CongestionControl for Prague {
    fn init(&mut self, v: &View, w: &mut Window) {
        self.frac_cwnd = u64::from(w.cwnd) << FRACTION;
        self.delivered_ce = v.delivered_ce;
        self.slow_rtt_us = srtt_us(v);
        self.alpha_us = v.mstamp_us;
        if let Some(detector) = &mut self.detector {
            detector.begin(srtt_us(v));
        }
        self.begin_round(v);
        self.set_pacing_rate(v, w);
    }

    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        if let Some(detector) = &mut self.detector {
            detector.scale(w.ssthresh);
        }
        w.ssthresh
    }

    fn pkts_acked(&mut self, _: &View, _: &mut Window, s: &RateSample) {
        if let (Some(detector), Ok(rtt_us)) = (&mut self.detector, u64::try_from(s.rtt_us)) {
            detector.take_rtt(rtt_us);
        }
    }

    fn cong_avoid(&mut self, _: &View, _: &mut Window, _: u32) {}

    fn cong_control(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        let marks = v.delivered_ce - self.delivered_ce;
        self.delivered_ce = v.delivered_ce;
        if s.rtt_us > 0 {
            let sample = s.rtt_us as u64;
            self.slow_rtt_us = self.slow_rtt_us + (sample >> SLOW_RTT_SHIFT) - (self.slow_rtt_us >> SLOW_RTT_SHIFT);
        }
        if marks > 0 {
            if !self.saw_ce && !self.is_old {
                self.reduce_by(MAX_ALPHA);
            }
            self.saw_ce = true;
        }
        if std::mem::take(&mut self.ends_slow_start) {
            w.ssthresh = w.ssthresh.min(w.cwnd);
        }
        let acked = s.delivered.saturating_sub(marks);
        // Where the rate is steered, pacing limits and not the window, which follows from the rate.
        let grows = acked > 0 && !self.in_loss && (self.steers_rate || w.is_limiting(v));
        let in_slow_start = grows && w.in_slow_start(v);
        if grows {
            self.grow(v, w, acked);
        }
        self.choose_mode(v);
        if !self.is_old {
            self.step_window(w);
        } else if !in_slow_start || !w.in_slow_start(v) {
            self.carry_to_window(w);
        }
        self.smooth(v, w);
        self.set_pacing_rate(v, w);
    }

    fn undo_cwnd(&mut self, _: &View, w: &Window) -> u32 {
        self.frac_cwnd = self.frac_cwnd.max(self.loss_cwnd);
        w.cwnd.max(self.frac_cwnd.div_ceil(ONE) as u32)
    }

    fn on_event(&mut self, v: &View, w: &mut Window, e: Event) {
        match e {
            Event::State(CaState::Cwr) if v.state < CaState::Cwr => self.on_congestion(v, w),
            Event::State(CaState::Recovery) if v.state != CaState::Recovery => self.on_loss(),
            Event::Loss => self.on_loss(),
            Event::State(CaState::Open) => self.in_loss = false,
            Event::Renumbered(r) => r.apply(&mut self.next_seq),
            _ => {}
        }
    }

    fn words(&self) -> u32 {
        self.steers_rate.into()
    }

    fn state(&self, _: &View, _: &Window, tell: &mut Tell) {
        tell("alpha", self.alpha() as f64 / MAX_ALPHA as f64);
        tell("frac_cwnd", self.frac_cwnd as f64 / ONE as f64);
        tell("rate_bps", 8.0 * self.rate as f64);
        tell("mode", f64::from(u8::from(self.steers_rate)));
        tell("classic", self.detector.as_ref().map_or(0.0, Detector::certainty));
    }
}

impl BoxedControl for Prague {}
