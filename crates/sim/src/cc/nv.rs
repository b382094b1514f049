//! NV (New Vegas): what was delivered while a segment was under way, over its RTT, is the rate; a window above what the maximum rate of a round
//! carries in the minimum RTT is cut back to that and a pad (L. Brakmo, "TCP-NV: congestion avoidance for data centers", Linux Plumbers Conference
//! 2010; Linux 6.12 net/ipv4/tcp_nv.c). It decides by numbers of ACKs, and so depends on how many segments these acknowledge.
//!
//! Leaves out: bounds of the RTT, which only a BPF program can set; growing to catch up, which nothing in the kernel begins.

use super::{
    AnyCc, BoxedControl, CaState, CongestionControl, Control, Event, Needs, Parameter, Parameters, RateSample, State,
    Tell, Version, View, Window, INFINITE_SSTHRESH,
};
use crate::catalogue::state::ms_of_us;
use crate::rng::Rng;

/// So many segments beyond a window are no reason to let it grow.
const PAD_BUFFER: u32 = 2;
/// Least window of a round, segments; it grows by so many, to so many, while a round has one ACK alone.
const MIN_WINDOW: u32 = 4;
const MIN_WINDOW_GROWTH: u32 = 2;
const MOST_MIN_WINDOW: u32 = 81;
/// A decision takes so much of the excess of a window, 128ths; a loss leaves so much, 1024ths.
const DECREASE: u32 = 38;
const LOSS_FACTOR: u32 = 819;
/// After so many decisions without congestion growth becomes one step less slow; its least step.
const GROWTH_RATE_NEG: u32 = 8;
const LEAST_GROWTH: i32 = -8;
/// ACKs before a decision: to shrink, to end slow start, to grow.
const DECREASE_CALLS: u32 = 60;
const SSTHRESH_CALLS: u32 = 30;
const INCREASE_CALLS: u32 = 20;
/// Rounds before a decision; beyond so many without one the window stops growing.
const LEAST_ROUNDS: u32 = 2;
const STOP_ROUNDS: u32 = 10;
/// Counters of ACKs and rounds have eight bits and stay at the most.
const MOST_COUNT: u32 = 255;
/// Time to the first reset of the minimum RTT, s.
const FIRST_RESET_S: u32 = 2;
/// Unit of rates is 100 bit/s: bytes over us times this.
const RATE_UNIT: u64 = 80_000;
const NO_RTT: u32 = u32::MAX;

pub(super) const CONTROL: Control = Control {
    name: "nv",
    summary: "New Vegas (Brakmo 2010, Linux 6.12)",
    needs: Needs { rate_samples: true, random: true, ..Needs::NOTHING },
    since: Version(4, 8),
    parameters: &[
        Parameter::integer("pad", 10, 0, 1 << 16, "segments that may wait in queues").module("nv_pad"),
        Parameter::integer("reset_period", 5, 1, 600, "the minimum RTT is reset about that often, s")
            .module("nv_reset_period"),
        Parameter::integer("min_cwnd", 2, 1, 1 << 16, "least window without losses, segments").module("nv_min_cwnd"),
    ],
    build: |p| AnyCc::Boxed(Box::new(Nv::new(p))),
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::new("base_rtt_ms", "ms", "least RTT that it takes for the path's"),
    State::new("mean_rtt_ms", "ms", "averaged RTT; none before the first"),
    State::new("growth", "", "two to the power of its negative slows growth down"),
];

/// NV.
#[derive(Clone, Debug)]
struct Nv {
    pad: u32,
    reset_period: u32,
    min_cwnd: u32,
    rng: Option<Rng>,
    /// Growth is slower than Reno's by two to the power of its negative.
    growth: i32,
    may_grow: bool,
    /// The round is to begin anew once the state is Open.
    resets: bool,
    /// With a smaller window decisions would rest on one ACK a round.
    min_window: u32,
    /// RTT: averaged, least, and least since the last reset, us.
    rtt: u32,
    min_rtt: u32,
    next_min_rtt: u32,
    reset_at: u32,
    last_una: u32,
    decisions_without_congestion: u32,
    round: Round,
}

/// Since the last decision.
#[derive(Clone, Debug, Default)]
struct Round {
    /// Ends when this is acknowledged.
    end: u32,
    max_rate: u32,
    calls: u32,
    rounds: u32,
}

/// Result of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Shrink,
    Grow,
    None,
}

impl Nv {
    fn new(p: &Parameters) -> Self {
        Self {
            pad: p.integer("pad"),
            reset_period: p.integer("reset_period"),
            min_cwnd: p.integer("min_cwnd"),
            rng: None,
            growth: 0,
            may_grow: true,
            resets: false,
            min_window: MIN_WINDOW,
            rtt: 0,
            min_rtt: NO_RTT,
            next_min_rtt: NO_RTT,
            reset_at: 0,
            last_una: 0,
            decisions_without_congestion: 0,
            round: Round::default(),
        }
    }

    fn reset(&mut self, v: &View) {
        self.round = Round { end: v.snd_una, ..Round::default() };
        (self.resets, self.rtt, self.decisions_without_congestion, self.last_una) = (false, 0, 0, v.snd_una);
    }

    /// Takes an RTT, us, and what was delivered meanwhile, bytes.
    fn measure(&mut self, v: &View, rtt_us: u32, in_flight: u32) {
        if self.rtt > 0 {
            self.rtt = ((u64::from(rtt_us) + u64::from(self.rtt)) / 2) as u32;
        } else {
            (self.rtt, self.min_rtt) = (rtt_us, rtt_us.wrapping_mul(2));
        }
        let rate = (u64::from(in_flight) * RATE_UNIT / u64::from(self.rtt.max(1))) as u32;
        self.round.max_rate = self.round.max_rate.max(rate);
        self.round.calls = (self.round.calls + 1).min(MOST_COUNT);
        self.min_rtt = self.min_rtt.min(self.rtt);
        self.next_min_rtt = self.next_min_rtt.min(self.rtt);
        if v.jiffies.wrapping_sub(self.reset_at) as i32 >= 0 {
            (self.min_rtt, self.next_min_rtt) = (self.next_min_rtt, NO_RTT);
            // Three to five fourths of the period.
            let random = self.rng.get_or_insert_with(|| v.random_stream()).u32() & 0xff;
            self.reset_at = v.jiffies.wrapping_add((self.reset_period * (384 + random)).wrapping_mul(v.hz) >> 9);
            self.min_window = (self.min_window / 2).max(MIN_WINDOW);
        }
    }

    /// The decision at a window of `cwnd`, given how much is enough.
    fn decide(&mut self, w: &Window, enough: u32) -> Decision {
        let r = &self.round;
        if w.cwnd > enough {
            if r.rounds < LEAST_ROUNDS {
                return Decision::None;
            }
            if w.ssthresh == INFINITE_SSTHRESH {
                return if r.calls < SSTHRESH_CALLS { Decision::None } else { Decision::Shrink };
            }
            if r.calls < DECREASE_CALLS {
                self.may_grow &= r.rounds <= STOP_ROUNDS;
                return Decision::None;
            }
            return Decision::Shrink;
        }
        if w.cwnd <= enough.wrapping_sub(PAD_BUFFER) && r.calls >= INCREASE_CALLS {
            Decision::Grow
        } else {
            Decision::None
        }
    }

    fn shrink(&mut self, w: &mut Window, enough: u32) {
        self.may_grow = false;
        w.ssthresh = enough;
        let excess = w.cwnd - enough;
        w.cwnd -= if excess > 2 { (excess.wrapping_mul(DECREASE) >> 7).max(2) } else { excess };
        self.growth = self.growth.min(0);
        self.decisions_without_congestion = 0;
    }

    fn grow(&mut self) {
        self.may_grow = true;
        self.decisions_without_congestion += 1;
        if self.growth < 0 && self.decisions_without_congestion > GROWTH_RATE_NEG {
            self.growth += 1;
            self.decisions_without_congestion = 0;
        }
    }

    /// A round is over; so many segments were acknowledged by the ACK in hand.
    fn end_round(&mut self, v: &View, w: &mut Window, acked: u32) {
        self.round.end = v.snd_nxt;
        self.round.rounds = (self.round.rounds + 1).min(MOST_COUNT);
        if self.round.calls == 1 && acked >= self.min_window - 1 && self.min_window < MOST_MIN_WINDOW {
            self.min_window = (self.min_window + MIN_WINDOW_GROWTH).min(MOST_MIN_WINDOW);
            self.round.end = v.snd_nxt.wrapping_add(self.min_window);
            self.round.calls = 0;
            self.may_grow = true;
            return;
        }
        let carried = u64::from(self.round.max_rate) * u64::from(self.min_rtt) / (RATE_UNIT * u64::from(v.mss));
        let enough = (carried as u32).wrapping_add(self.pad);
        match self.decide(w, enough) {
            Decision::None => return,
            Decision::Shrink => self.shrink(w, enough),
            Decision::Grow => self.grow(),
        }
        (self.round.calls, self.round.rounds, self.round.max_rate) = (0, 0, 0);
        w.cwnd = w.cwnd.max(self.min_cwnd);
    }
}

impl BoxedControl for Nv {}

impl CongestionControl for Nv {
    fn init(&mut self, v: &View, _: &mut Window) {
        self.reset(v);
        self.reset_at = v.jiffies.wrapping_add(FIRST_RESET_S * v.hz);
    }

    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        (w.cwnd.wrapping_mul(LOSS_FACTOR) >> 10).max(2)
    }

    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        if !self.may_grow {
            return;
        }
        let acked = w.beyond_slow_start(v, acked);
        if acked > 0 {
            let every =
                if self.growth < 0 { w.cwnd << self.growth.unsigned_abs() } else { (w.cwnd >> self.growth).max(4) };
            w.additive_increase(v, every, acked);
        }
    }

    fn on_event(&mut self, v: &View, _: &mut Window, e: Event) {
        match e {
            Event::State(CaState::Open) if self.resets => self.reset(v),
            Event::State(new @ (CaState::Loss | CaState::Cwr | CaState::Recovery)) => {
                (self.resets, self.may_grow) = (true, false);
                if new == CaState::Loss {
                    self.growth = (self.growth.min(0) - 1).max(LEAST_GROWTH);
                }
            }
            Event::Renumbered(r) => r.apply(&mut self.round.end),
            _ => {}
        }
    }

    fn pkts_acked(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        if s.rtt_us < 0 || v.state > CaState::Disorder {
            return;
        }
        let acked = v.snd_una.wrapping_sub(self.last_una);
        self.last_una = v.snd_una;
        let in_flight = v.delivered.wrapping_sub(s.rate.prior_delivered).wrapping_mul(v.mss);
        if in_flight == 0 {
            return;
        }
        self.measure(v, s.rtt_us as u32, in_flight);
        if (self.round.end.wrapping_sub(v.snd_una) as i32) < 0 {
            self.end_round(v, w, acked);
        }
    }

    fn state(&self, _: &View, _: &Window, tell: &mut Tell) {
        tell("base_rtt_ms", ms_of_us(self.min_rtt));
        if self.rtt > 0 {
            tell("mean_rtt_ms", ms_of_us(self.rtt));
        }
        tell("growth", f64::from(self.growth));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{DeliveryRate, Growth};
    use crate::packet::MSS;

    struct Flow {
        nv: Nv,
        v: View,
        w: Window,
    }

    impl Flow {
        fn new(cwnd: u32, ssthresh: u32) -> Self {
            let mut nv = Nv::new(&Parameters::defaults(CONTROL.parameters));
            let mut v = View { is_cwnd_limited: true, jiffies: 1000, ..View::new(1000, Growth::Segments, false) };
            (v.snd_una, v.snd_nxt, v.delivered) = (1, 1, 1);
            let mut w = Window::new(cwnd, ssthresh);
            nv.init(&v, &mut w);
            Self { nv, v, w }
        }

        /// An ACK of `acked` segments after `rtt_us`, in which `delivered` were.
        fn ack(&mut self, acked: u32, rtt_us: i64, delivered: u32) {
            self.v.snd_una += acked;
            self.v.snd_nxt = self.v.snd_nxt.max(self.v.snd_una + self.w.cwnd);
            self.v.delivered += acked;
            let prior_delivered = self.v.delivered.wrapping_sub(delivered);
            let rate = DeliveryRate { prior_delivered, ..DeliveryRate::default() };
            self.nv.pkts_acked(&self.v, &mut self.w, &RateSample { rtt_us, acked, rate, ..RateSample::default() });
        }

        /// A round of as many ACKs as the window has segments.
        fn round(&mut self, rtt_us: i64, delivered: u32) {
            (0..self.w.cwnd).for_each(|_| self.ack(1, rtt_us, delivered));
        }
    }

    #[test]
    fn a_window_above_what_the_path_carries_gives_back_three_tenths_of_the_excess() {
        // 100 segments in 40 ms fill the path; the window is 200, so that the RTT is 80 ms and what is delivered in it 200.
        let mut f = Flow::new(200, 150);
        f.ack(1, 40_000, 100);
        assert_eq!(f.nv.min_rtt, 40_000);
        f.round(80_000, 200);
        f.round(80_000, 200);
        f.round(80_000, 200);
        // The average follows the RTT by halves: the maximum rate is that of 60 ms, which carries 133 segments in 40 ms.
        let excess = 200 - (133 + 10);
        assert_eq!((f.w.cwnd, f.w.ssthresh, f.nv.may_grow), (200 - excess * 38 / 128, 143, false));
        let before = f.w.cwnd;
        f.nv.cong_avoid(&f.v, &mut f.w, 50);
        assert_eq!(f.w.cwnd, before);
    }

    #[test]
    fn decisions_wait_for_enough_acks() {
        for (calls, ssthresh, decision) in [
            (59, 100, Decision::None),
            (60, 100, Decision::Shrink),
            (29, INFINITE_SSTHRESH, Decision::None),
            (30, INFINITE_SSTHRESH, Decision::Shrink),
        ] {
            let mut f = Flow::new(200, ssthresh);
            f.nv.round = Round { calls, rounds: 2, ..Round::default() };
            assert_eq!(f.nv.decide(&f.w, 100), decision, "{calls}");
            f.nv.round.rounds = 1;
            assert_eq!(f.nv.decide(&f.w, 100), Decision::None);
        }
        for (calls, cwnd, decision) in [(19, 98, Decision::None), (20, 98, Decision::Grow), (20, 99, Decision::None)] {
            let mut f = Flow::new(cwnd, 10);
            f.nv.round.calls = calls;
            assert_eq!(f.nv.decide(&f.w, 100), decision);
        }
    }

    #[test]
    fn after_ten_rounds_without_a_decision_the_window_stops_growing() {
        for (rounds, may_grow) in [(10, true), (11, false)] {
            let mut f = Flow::new(200, 100);
            f.nv.round = Round { calls: 59, rounds, ..Round::default() };
            f.nv.decide(&f.w, 100);
            assert_eq!(f.nv.may_grow, may_grow);
        }
    }

    #[test]
    fn a_loss_takes_a_fifth_and_a_timeout_halves_growth_at_most_eight_times() {
        let mut f = Flow::new(100, 10);
        assert_eq!(f.nv.ssthresh(&f.v, &f.w), 79);
        for n in 1..=10 {
            f.nv.on_event(&f.v, &mut f.w, Event::State(CaState::Loss));
            f.nv.on_event(&f.v, &mut f.w, Event::State(CaState::Open));
            assert_eq!(f.nv.growth, -n.min(8));
        }
        f.nv.may_grow = true;
        f.w.cwnd = 10;
        f.nv.cong_avoid(&f.v, &mut f.w, 10 * 256 - 1);
        assert_eq!(f.w.cwnd, 10);
        f.nv.cong_avoid(&f.v, &mut f.w, 1);
        assert_eq!(f.w.cwnd, 11);
        (0..9).for_each(|_| f.nv.grow());
        assert_eq!(f.nv.growth, -7, "nine decisions without congestion");
    }

    #[test]
    fn growth_ends_with_a_loss_and_goes_on_after_a_decision() {
        let mut f = Flow::new(100, 10);
        f.nv.on_event(&f.v, &mut f.w, Event::State(CaState::Recovery));
        f.nv.cong_avoid(&f.v, &mut f.w, 200);
        assert_eq!(f.w.cwnd, 100);
        f.nv.on_event(&f.v, &mut f.w, Event::State(CaState::Open));
        assert!(!f.nv.may_grow && !f.nv.resets);
        f.round(40_000, 400);
        f.round(40_000, 400);
        assert!(f.nv.may_grow, "much more is delivered than the window says");
    }

    #[test]
    fn one_ack_a_round_makes_the_round_longer() {
        let mut f = Flow::new(8, 4);
        f.ack(1, 40_000, 8);
        assert_eq!((f.nv.round.calls, f.nv.min_window), (1, 4), "too little was acknowledged");
        f.nv.round.calls = 0;
        f.ack(9, 40_000, 8);
        assert_eq!((f.nv.round.calls, f.nv.min_window), (0, 6));
        assert_eq!(f.nv.round.end, f.v.snd_nxt + 6);
    }

    #[test]
    fn the_least_rtt_is_taken_anew_after_three_to_five_fourths_of_the_period() {
        let mut f = Flow::new(100, 10);
        f.ack(1, 40_000, 100);
        let mut between = vec![];
        f.v.jiffies = f.nv.reset_at;
        for _ in 0..200 {
            f.ack(1, 90_000, 100);
            between.push(f.nv.reset_at - f.v.jiffies);
            f.v.jiffies = f.nv.reset_at;
        }
        assert!(between.iter().all(|ms| (3750..6250).contains(ms)));
        assert!(between.iter().max().unwrap() - between.iter().min().unwrap() > 2000);
        assert!(f.nv.min_rtt > 80_000, "{}", f.nv.min_rtt);
    }

    #[test]
    fn the_rate_is_in_hundreds_of_bits_per_second() {
        let mut f = Flow::new(100, 10);
        f.ack(1, 10_000, 100);
        assert_eq!(f.nv.round.max_rate, 100 * MSS * 8);
    }
}
