//! YeAH: as fast as Scalable TCP while queues are short, as Reno while they are not, and it drains them itself (A. Baiocchi, A. Castellani, F.
//! Vacirca, "YeAH-TCP: yet another highspeed TCP", PFLDnet 2007; Linux 6.12 net/ipv4/tcp_yeah.c). Its rounds are Vegas's, but for that it
//! grows likewise in every state. The bound of 2^32/128 segments that the kernel sets is beyond any receiver's window.

use super::vegas::Rounds;
use super::{
    AnyCc, BoxedControl, CongestionControl, Control, Event, Needs, RateSample, State, Tell, Version, View, Window,
};

/// Segments in a queue that are too many.
const ALPHA: u32 = 80;
/// A delay above the path's by this part of it is too much.
const PHY: u32 = 8;
/// A loss takes at least 2^-3 of the window, draining at most 2^-1.
const DELTA: u32 = 3;
const EPSILON: u32 = 1;
/// After so many rounds as Reno the others are greedy, too, and a loss halves the window.
const RHO: u32 = 16;
/// After so many rounds of short queues the others are gone.
const ZETA: u32 = 50;
/// Scalable TCP's.
const AI_CNT: u32 = 100;
const MOST_ROUNDS: u32 = 0x00ff_ffff;

pub(super) const CONTROL: Control = Control {
    name: "yeah",
    summary: "YeAH (Baiocchi, Castellani, Vacirca 2007, Linux 6.12)",
    needs: Needs { rtt_stamps: true, ..Needs::NOTHING },
    since: Version(2, 6),
    parameters: &[],
    build: |_| AnyCc::Boxed(Box::new(Yeah::new())),
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::new("base_rtt_ms", "ms", "least RTT that it has measured"),
    State::new("round_rtt_ms", "ms", "least RTT of the round so far"),
    State::new("rtt_samples", "", "RTTs that it has measured in the round (cntRTT)"),
    State::flag("watched", "rounds are watched: there is no recovery (doing_vegas_now)"),
    State::new("diff", "packets", "segments that it took to be queued at the end of the last round (lastQ)"),
    State::new("reno_count", "packets", "window that a Reno flow in its place would have"),
];

/// YeAH.
#[derive(Clone, Debug)]
struct Yeah {
    rounds: Rounds,
    /// Segments in the queue at the end of the last round.
    last_queue: u32,
    /// Rounds as Reno in a row.
    reno_rounds: u32,
    /// Window that a Reno flow in its place would have.
    reno_count: u32,
    /// Rounds of short queues.
    fast_rounds: u32,
}

impl Yeah {
    fn new() -> Self {
        Self { rounds: Rounds::new(), last_queue: 0, reno_rounds: 0, reno_count: 2, fast_rounds: 0 }
    }

    /// A round with enough samples is over.
    fn adjust(&mut self, w: &mut Window) {
        let (rtt, base) = (self.rounds.min_rtt, self.rounds.base_rtt);
        let delay = rtt - base;
        let queue = (u64::from(w.cwnd) * u64::from(delay) / u64::from(rtt)) as u32;
        if queue > ALPHA || delay > base / PHY {
            if queue > ALPHA && w.cwnd > self.reno_count {
                w.cwnd = (w.cwnd - queue.min(w.cwnd >> EPSILON)).max(self.reno_count);
                w.ssthresh = w.cwnd;
            }
            self.reno_count = if self.reno_count <= 2 { (w.cwnd / 2).max(2) } else { self.reno_count + 1 };
            self.reno_rounds = (self.reno_rounds + 1).min(MOST_ROUNDS);
        } else {
            self.fast_rounds += 1;
            if self.fast_rounds > ZETA {
                (self.reno_count, self.fast_rounds) = (2, 0);
            }
            self.reno_rounds = 0;
        }
        self.last_queue = queue;
    }
}

impl BoxedControl for Yeah {}

impl CongestionControl for Yeah {
    fn init(&mut self, v: &View, _: &mut Window) {
        self.rounds.begin(v);
    }

    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        let half = (w.cwnd / 2).max(2);
        let taken = if self.reno_rounds < RHO { self.last_queue.min(half).max(w.cwnd >> DELTA) } else { half };
        self.fast_rounds = 0;
        self.reno_count = (self.reno_count / 2).max(2);
        w.cwnd.saturating_sub(taken).max(2)
    }

    fn least_cwnd(&self, _: &View, w: &Window) -> u32 {
        w.ssthresh / 2
    }

    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        if !w.is_limiting(v) {
            return;
        }
        let acked = w.beyond_slow_start(v, acked);
        if acked > 0 {
            w.additive_increase(v, if self.reno_rounds == 0 { w.cwnd.min(AI_CNT) } else { w.cwnd }, acked);
        }
        if self.rounds.is_over(v) {
            if self.rounds.has_samples() {
                self.adjust(w);
            }
            self.rounds.end = v.snd_nxt;
            self.rounds.forget();
        }
    }

    fn on_event(&mut self, v: &View, _: &mut Window, e: Event) {
        // The parts that are not Vegas's forget nothing.
        self.rounds.on_event(v, e);
    }

    fn pkts_acked(&mut self, _: &View, _: &mut Window, s: &RateSample) {
        self.rounds.take(s);
    }

    fn state(&self, _: &View, _: &Window, tell: &mut Tell) {
        self.rounds.state(tell);
        tell("diff", f64::from(self.last_queue));
        tell("reno_count", f64::from(self.reno_count));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cc::lab::{made, Lab};
    use crate::cc::CaState;

    /// One that has seen the path's RTT of 40 ms, and now one of `rtt_us`.
    fn queued(cwnd: u32, rtt_us: u64) -> Lab {
        let mut lab = Lab::new(made(&CONTROL, &json!({})), cwnd);
        lab.rounds(2);
        (lab.w.cwnd, lab.w.cwnd_cnt, lab.rtt_us) = (cwnd, 0, rtt_us);
        lab
    }

    #[test]
    fn with_short_queues_it_grows_as_scalable_tcp_and_with_long_ones_as_reno() {
        let mut fast = queued(1000, 40_000);
        fast.round();
        assert!((1009..=1011).contains(&fast.w.cwnd), "{}", fast.w.cwnd);
        // 80 of 1000 segments queued is a delay of 3.5 ms; one of 4 ms is below an eighth of the path's.
        let mut slow = queued(600, 45_500);
        slow.rounds(2);
        let before = slow.w.cwnd;
        slow.rounds(5);
        assert_eq!(slow.w.cwnd - before, 5);
    }

    #[test]
    fn a_queue_above_80_segments_is_drained_by_its_length_but_not_below_what_reno_would_have() {
        let mut c = Yeah::new();
        let mut w = Window::new(1000, 1);
        (c.rounds.base_rtt, c.rounds.min_rtt) = (40_000, 50_000);
        c.adjust(&mut w);
        assert_eq!((w.cwnd, w.ssthresh, c.reno_count, c.reno_rounds, c.last_queue), (800, 800, 400, 1, 200));
        c.adjust(&mut w);
        assert_eq!((w.cwnd, c.reno_count, c.reno_rounds), (640, 401, 2));
        (w.cwnd, c.reno_count) = (1000, 950);
        c.adjust(&mut w);
        assert_eq!(w.cwnd, 950);
        (w.cwnd, c.reno_count, c.rounds.min_rtt) = (1000, 2, 400_000);
        c.adjust(&mut w);
        assert_eq!(w.cwnd, 500, "at most half");
    }

    #[test]
    fn fifty_rounds_of_short_queues_forget_the_reno_flow() {
        let mut c = Yeah::new();
        let mut w = Window::new(1000, 1);
        (c.rounds.base_rtt, c.rounds.min_rtt, c.reno_count, c.reno_rounds) = (40_000, 40_000, 500, 3);
        for _ in 0..50 {
            c.adjust(&mut w);
        }
        assert_eq!((c.reno_count, c.fast_rounds, c.reno_rounds), (500, 50, 0));
        c.adjust(&mut w);
        assert_eq!((c.reno_count, c.fast_rounds), (2, 0));
    }

    #[test]
    fn a_loss_takes_the_queue_but_an_eighth_at_least_and_half_at_most() {
        let v = View::new(1000, crate::cc::Growth::Segments, false);
        for (queue, rounds, left) in [(0, 0, 875), (200, 15, 800), (900, 0, 500), (200, 16, 500)] {
            let mut c = Yeah { last_queue: queue, reno_rounds: rounds, fast_rounds: 7, reno_count: 9, ..Yeah::new() };
            assert_eq!(c.ssthresh(&v, &Window::new(1000, 1)), left);
            assert_eq!((c.fast_rounds, c.reno_count), (0, 4));
        }
        assert_eq!(Yeah::new().ssthresh(&v, &Window::new(1, 1)), 2);
    }

    #[test]
    fn it_grows_likewise_in_every_state_and_a_round_lasts_while_the_window_limits_nothing() {
        let mut lab = queued(1000, 40_000);
        lab.enter(CaState::Disorder);
        lab.round();
        assert!(lab.w.cwnd >= 1009, "{}", lab.w.cwnd);
        let before = lab.w.cwnd;
        lab.v.is_cwnd_limited = false;
        lab.rtt_us = 80_000;
        lab.rounds(5);
        assert_eq!(lab.w.cwnd, before, "nothing is drained then");
        lab.v.is_cwnd_limited = true;
        lab.rounds(2);
        assert!(lab.w.cwnd < before);
    }

    #[test]
    fn a_restart_forgets_the_least_rtt_but_not_the_reno_flow() {
        let v = View::new(1000, crate::cc::Growth::Segments, false);
        let mut c = Yeah { reno_count: 77, ..Yeah::new() };
        c.rounds.base_rtt = 40_000;
        c.on_event(&v, &mut Window::new(1000, 1), Event::TxStart);
        assert_eq!((c.reno_count, c.rounds.base_rtt), (77, crate::cc::vegas::NO_RTT));
    }
}
