//! Vegas: once a round trip the window moves by one segment, towards two to four segments in queues (L. Brakmo, L. Peterson, "TCP Vegas: end to end
//! congestion avoidance on a global Internet", JSAC 13(8), 1995; Linux 6.12 net/ipv4/tcp_vegas.c). The state of its rounds, [`Rounds`], is
//! that of YeAH as well.

use super::reno::reno_cong_avoid;
use super::{
    AnyCc, BoxedControl, CaState, CongestionControl, Control, Event, Needs, Parameter, Parameters, RateSample, State,
    Tell, Version, View, Window,
};
use crate::catalogue::state::ms_of_us;

/// No RTT yet, us.
pub(super) const NO_RTT: u32 = 0x7fff_ffff;
/// With no more samples in a round, they may all be of delayed ACKs.
const FEW_SAMPLES: u32 = 2;

pub(super) const CONTROL: Control = Control {
    name: "vegas",
    summary: "Vegas (Brakmo, Peterson 1995, Linux 6.12)",
    needs: Needs { rtt_stamps: true, ..Needs::NOTHING },
    since: Version(2, 6),
    parameters: &[
        Parameter::integer("alpha", 2, 0, 1 << 20, "below so many segments in queues the window grows").module("alpha"),
        Parameter::integer("beta", 4, 0, 1 << 20, "above so many segments in queues it shrinks").module("beta"),
        Parameter::integer("gamma", 1, 0, 1 << 20, "above so many segments in queues slow start ends").module("gamma"),
    ],
    build: |p| AnyCc::Boxed(Box::new(Vegas::new(p))),
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::new("base_rtt_ms", "ms", "least RTT that it has measured (baseRTT)"),
    State::new("round_rtt_ms", "ms", "least RTT of the round so far (minRTT)"),
    State::new("rtt_samples", "", "RTTs that it has measured in the round (cntRTT)"),
    State::flag("watched", "rounds are watched: there is no recovery (doing_vegas_now)"),
    State::new("diff", "packets", "segments that it takes to be queued, by the RTTs of the round so far (diff)"),
];

/// RTTs of rounds, each of which ends when what was sent last at its start is acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    /// Rounds are watched: the state is Open.
    pub watched: bool,
    /// End of the round.
    pub end: u32,
    /// Least RTT of the round and ever, us.
    pub min_rtt: u32,
    pub base_rtt: u32,
    samples: u32,
}

impl Rounds {
    pub fn new() -> Self {
        Self { watched: false, end: 0, min_rtt: NO_RTT, base_rtt: NO_RTT, samples: 0 }
    }

    /// The connection begins, or does so anew: the path may be another.
    pub fn begin(&mut self, v: &View) {
        self.base_rtt = NO_RTT;
        self.watch(v);
    }

    fn watch(&mut self, v: &View) {
        (self.watched, self.end) = (true, v.snd_nxt);
        self.forget();
    }

    /// The samples of a round are of no use for the next.
    pub fn forget(&mut self) {
        (self.samples, self.min_rtt) = (0, NO_RTT);
    }

    /// Tells the RTTs.
    pub fn state(&self, tell: &mut Tell) {
        tell("base_rtt_ms", ms_of_us(self.base_rtt));
        tell("round_rtt_ms", ms_of_us(self.min_rtt));
        tell("rtt_samples", f64::from(self.samples));
        tell("watched", f64::from(u8::from(self.watched)));
    }

    /// The round is over.
    pub fn is_over(&self, v: &View) -> bool {
        v.snd_una > self.end
    }

    /// Some sample was hardly of a delayed ACK.
    pub fn has_samples(&self) -> bool {
        self.samples > FEW_SAMPLES
    }

    pub fn take(&mut self, s: &RateSample) {
        if s.rtt_us < 0 {
            return;
        }
        // Never 0.
        let rtt = s.rtt_us as u32 + 1;
        self.base_rtt = self.base_rtt.min(rtt);
        self.min_rtt = self.min_rtt.min(rtt);
        self.samples += 1;
    }

    /// Rounds are watched in state Open, and the minimum RTT is forgotten when nothing was in flight.
    pub fn on_event(&mut self, v: &View, e: Event) {
        match e {
            Event::State(CaState::Open) => self.watch(v),
            Event::State(_) => self.watched = false,
            Event::CwndRestart | Event::TxStart => self.begin(v),
            Event::Renumbered(r) => r.apply(&mut self.end),
            Event::CompleteCwr | Event::Loss | Event::ProbeRepairedLoss(_) => {}
        }
    }
}

/// Vegas.
#[derive(Clone, Debug)]
struct Vegas {
    rounds: Rounds,
    alpha: u32,
    beta: u32,
    gamma: u32,
}

impl Vegas {
    fn new(p: &Parameters) -> Self {
        let [alpha, beta, gamma] = ["alpha", "beta", "gamma"].map(|name| p.integer(name));
        Self { rounds: Rounds::new(), alpha, beta, gamma }
    }

    /// A round with enough samples is over.
    fn adjust(&mut self, v: &View, w: &mut Window, acked: u32) {
        let (rtt, base) = (self.rounds.min_rtt, self.rounds.base_rtt);
        // By the minimum RTT ever, not by that of the round: more than what is queued. The kernel's product has 32 bits.
        let diff = w.cwnd.wrapping_mul(rtt - base) / base;
        if w.in_slow_start(v) {
            if diff > self.gamma {
                let target = u64::from(w.cwnd) * u64::from(base) / u64::from(rtt);
                w.cwnd = w.cwnd.min(target as u32 + 1);
                w.ssthresh = w.ssthresh.min(w.cwnd);
            } else {
                w.slow_start(v, acked);
            }
        } else if diff > self.beta {
            w.cwnd -= 1;
            w.ssthresh = w.ssthresh.min(w.cwnd);
        } else if diff < self.alpha {
            w.cwnd += 1;
        }
        w.cwnd = w.cwnd.max(2);
        w.ssthresh = w.current_ssthresh(v);
    }
}

impl BoxedControl for Vegas {}

impl CongestionControl for Vegas {
    fn init(&mut self, v: &View, _: &mut Window) {
        self.rounds.begin(v);
    }

    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        (w.cwnd / 2).max(2)
    }

    fn least_cwnd(&self, _: &View, w: &Window) -> u32 {
        w.ssthresh / 2
    }

    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        if !self.rounds.watched {
            return reno_cong_avoid(v, w, acked);
        }
        if self.rounds.is_over(v) {
            self.rounds.end = v.snd_nxt;
            if self.rounds.has_samples() {
                self.adjust(v, w, acked);
            } else {
                reno_cong_avoid(v, w, acked);
            }
            self.rounds.forget();
        } else if w.in_slow_start(v) {
            // The window grows even if it does not limit sending.
            w.slow_start(v, acked);
        }
    }

    fn on_event(&mut self, v: &View, _: &mut Window, e: Event) {
        self.rounds.on_event(v, e);
    }

    fn pkts_acked(&mut self, _: &View, _: &mut Window, s: &RateSample) {
        self.rounds.take(s);
    }

    fn state(&self, _: &View, w: &Window, tell: &mut Tell) {
        self.rounds.state(tell);
        if self.rounds.has_samples() {
            let (rtt, base) = (self.rounds.min_rtt, self.rounds.base_rtt);
            tell("diff", f64::from(w.cwnd.wrapping_mul(rtt - base) / base));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cc::lab::{made, Lab};

    fn lab(cwnd: u32) -> Lab {
        Lab::new(made(&CONTROL, &json!({})), cwnd)
    }

    /// An RTT of 40 ms and `segments` of a window of `cwnd` in a queue, as Vegas counts them.
    fn with_queue(lab: &mut Lab, segments: u32) {
        lab.rtt_us = 40_000 + 40_001 * u64::from(segments) / u64::from(lab.w.cwnd) + 1;
    }

    #[test]
    fn the_window_moves_by_one_towards_two_to_four_queued_segments() {
        for (queued, change) in [(0, 1), (1, 1), (2, 0), (3, 0), (4, 0), (5, -1), (50, -1)] {
            let mut lab = lab(100);
            lab.rounds(2);
            let before = lab.w.cwnd;
            with_queue(&mut lab, queued);
            // The first ACK of a round still tells of the one before.
            lab.rounds(2);
            let steps = i64::from(lab.w.cwnd) - i64::from(before);
            assert_eq!(steps, 1 + change, "{queued} segments in a queue");
        }
    }

    #[test]
    fn slow_start_ends_for_good_at_the_target_and_the_threshold_stays_above_three_quarters() {
        let mut lab = Lab::in_slow_start(made(&CONTROL, &json!({})), 10);
        lab.rounds(3);
        assert_eq!(lab.w.cwnd, 80, "doubles");
        with_queue(&mut lab, 20);
        lab.rounds(2);
        let (rtt, target) = (lab.rtt_us + 1, lab.w.cwnd);
        assert!(target < 160 && lab.w.ssthresh <= target, "{target} {} at {rtt}", lab.w.ssthresh);
        assert!(lab.w.ssthresh >= target / 2 + target / 4);
        lab.rtt_us = 40_000;
        lab.rounds(5);
        assert!(lab.w.cwnd <= target + 5, "{}", lab.w.cwnd);
    }

    #[test]
    fn a_long_queue_overflows_the_difference_in_32_bits() {
        // 10,000 segments times 500 ms are more than 2^32 us: of 5,000,000,000 are left 705,032,704, or 7050 of 50,000 segments.
        let (mut vegas, mut v, mut w) = (
            Vegas::new(&Parameters::defaults(CONTROL.parameters)),
            View::new(1000, crate::cc::Growth::Segments, false),
            Window::new(10_000, 1),
        );
        vegas.beta = 7049;
        vegas.begin_round(600_000, 100_000);
        vegas.adjust(&v, &mut w, 1);
        assert_eq!(w.cwnd, 9999);
        vegas.beta = 7050;
        vegas.begin_round(600_000, 100_000);
        v.snd_una += 1;
        vegas.adjust(&v, &mut w, 1);
        assert_eq!(w.cwnd, 9999, "less than a window of 10,000 would show");
        // A value that does not overflow is right.
        vegas.begin_round(500_000, 100_000);
        (w.cwnd, vegas.alpha, vegas.beta) = (10_000, 0, 39_999);
        vegas.adjust(&v, &mut w, 1);
        assert_eq!(w.cwnd, 9999);
    }

    impl Vegas {
        fn begin_round(&mut self, rtt: u32, base: u32) {
            (self.rounds.min_rtt, self.rounds.base_rtt, self.rounds.samples) = (rtt, base, 9);
        }
    }

    #[test]
    fn a_flow_that_its_application_limits_still_moves_its_window() {
        let mut lab = lab(100);
        lab.v.is_cwnd_limited = false;
        lab.rounds(5);
        assert_eq!(lab.w.cwnd, 104);
    }

    #[test]
    fn sending_after_nothing_was_in_flight_forgets_the_least_rtt() {
        let mut lab = lab(100);
        lab.rounds(3);
        with_queue(&mut lab, 50);
        lab.event(Event::TxStart);
        let before = lab.w.cwnd;
        lab.rounds(4);
        assert!(lab.w.cwnd > before, "what was a queue is the path now");
    }

    #[test]
    fn outside_of_state_open_and_with_few_samples_it_is_reno() {
        let mut lab = lab(10);
        lab.enter(CaState::Disorder);
        with_queue(&mut lab, 9);
        lab.rounds(3);
        assert_eq!(lab.w.cwnd, 13);
        lab.enter(CaState::Open);
        lab.w.cwnd = 2;
        lab.rounds(3);
        assert_eq!(lab.w.cwnd, 3, "with two ACKs a round only the one that ends it counts");
    }
}
