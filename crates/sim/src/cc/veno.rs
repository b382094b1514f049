//! Veno: Reno that tells random losses from those of a full queue by Vegas's estimate of what is queued (C. Fu, S. Liew, "TCP Veno: TCP
//! enhancement for transmission over wireless access networks", JSAC 21(2), 2003; Linux 6.12 net/ipv4/tcp_veno.c). What the kernel calls
//! the minimum RTT of a round is that of an ACK, as it is forgotten with each.

use super::reno::reno_cong_avoid;
use super::vegas::NO_RTT;
use super::{
    AnyCc, BoxedControl, CaState, CongestionControl, Control, Event, Needs, RateSample, State, Tell, Version, View,
    Window,
};
use crate::catalogue::state::ms_of_us;

/// Fraction bits of what is queued.
const SHIFT: u32 = 1;
/// With so much in a queue the path is congested: three segments.
const BETA: u32 = 3 << SHIFT;
const FEW_SAMPLES: u16 = 2;

pub(super) const CONTROL: Control = Control {
    name: "veno",
    summary: "Veno (Fu, Liew 2003, Linux 6.12)",
    needs: Needs { rtt_stamps: true, ..Needs::NOTHING },
    since: Version(2, 6),
    parameters: &[],
    build: |_| AnyCc::Boxed(Box::new(Veno::new())),
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::new("base_rtt_ms", "ms", "least RTT that it has measured"),
    State::new("round_rtt_ms", "ms", "least RTT since the last ACK that it looked at"),
    State::new("diff", "packets", "segments that it takes to be queued"),
];

/// Veno.
#[derive(Clone, Debug)]
struct Veno {
    /// The state is Open.
    watches: bool,
    /// RTTs ever sampled, modulo 2^16.
    samples: u16,
    /// Minimum RTT of the last ACK, and of the connection, us.
    min_rtt: u32,
    base_rtt: u32,
    /// The next increase of a congested flow is one; else it is skipped.
    increases: bool,
    /// Half segments in queues.
    diff: u32,
}

impl Veno {
    fn new() -> Self {
        Self { watches: false, samples: 0, min_rtt: NO_RTT, base_rtt: NO_RTT, increases: true, diff: 0 }
    }

    fn begin(&mut self) {
        (self.base_rtt, self.increases) = (NO_RTT, true);
        self.watch();
    }

    fn watch(&mut self) {
        (self.watches, self.min_rtt) = (true, NO_RTT);
    }

    /// Growth by what is queued.
    fn grow(&mut self, v: &View, w: &mut Window, acked: u32) {
        let target = ((u64::from(w.cwnd) * u64::from(self.base_rtt)) << SHIFT) / u64::from(self.min_rtt);
        self.diff = (w.cwnd << SHIFT).wrapping_sub(target as u32);
        let acked = w.beyond_slow_start(v, acked);
        if acked == 0 {
            return;
        }
        if self.diff < BETA {
            w.additive_increase(v, w.cwnd, acked);
        } else if w.cwnd_cnt >= w.cwnd {
            // Every other time, and the ACK itself does not count.
            w.cwnd += u32::from(self.increases);
            self.increases = !self.increases;
            w.cwnd_cnt = 0;
        } else {
            w.cwnd_cnt += acked;
        }
    }
}

impl BoxedControl for Veno {}

impl CongestionControl for Veno {
    fn init(&mut self, _: &View, _: &mut Window) {
        self.begin();
    }

    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        (if self.diff < BETA { w.cwnd * 4 / 5 } else { w.cwnd / 2 }).max(2)
    }

    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        if !self.watches {
            return reno_cong_avoid(v, w, acked);
        }
        if !w.is_limiting(v) {
            return;
        }
        if self.samples <= FEW_SAMPLES {
            reno_cong_avoid(v, w, acked);
        } else {
            self.grow(v, w, acked);
            w.cwnd = w.cwnd.max(2);
        }
        self.min_rtt = NO_RTT;
    }

    fn on_event(&mut self, _: &View, _: &mut Window, e: Event) {
        match e {
            Event::State(CaState::Open) => self.watch(),
            Event::State(_) => self.watches = false,
            Event::CwndRestart | Event::TxStart => self.begin(),
            Event::CompleteCwr | Event::Loss | Event::ProbeRepairedLoss(_) | Event::Renumbered(_) => {}
        }
    }

    fn pkts_acked(&mut self, _: &View, _: &mut Window, s: &RateSample) {
        if s.rtt_us < 0 {
            return;
        }
        // Never 0.
        let rtt = s.rtt_us as u32 + 1;
        self.base_rtt = self.base_rtt.min(rtt);
        self.min_rtt = self.min_rtt.min(rtt);
        self.samples = self.samples.wrapping_add(1);
    }

    fn state(&self, _: &View, _: &Window, tell: &mut Tell) {
        tell("base_rtt_ms", ms_of_us(self.base_rtt));
        tell("round_rtt_ms", ms_of_us(self.min_rtt));
        tell("diff", f64::from(self.diff) / f64::from(1 << SHIFT));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cc::lab::{made, Lab};

    fn lab(cwnd: u32) -> Lab {
        let mut lab = Lab::new(made(&CONTROL, &json!({})), cwnd);
        lab.round();
        lab.w.cwnd = cwnd;
        lab
    }

    #[test]
    fn a_loss_without_a_queue_takes_a_fifth_and_one_with_a_queue_a_half() {
        // A window of 100 and a path of 40.001 ms: as the target is truncated, 2.5 segments in a queue, 1.026 ms, pass for three.
        for (rtt_us, left) in [(40_000, 80), (41_020, 80), (41_030, 50)] {
            let mut lab = lab(100);
            lab.rtt_us = rtt_us;
            lab.ack(1);
            assert_eq!((lab.w.cwnd, lab.reduced()), (100, left), "{rtt_us} us");
        }
    }

    #[test]
    fn growth_halves_with_a_queue() {
        let mut free = lab(50);
        free.rounds(20);
        let mut congested = lab(50);
        congested.rtt_us = 80_000;
        congested.rounds(20);
        assert_eq!(free.w.cwnd - 50, 20);
        // Every other round, less one ACK in each.
        assert_eq!(congested.w.cwnd - 50, 10);
    }

    #[test]
    fn the_ack_that_raises_a_congested_window_does_not_count_itself() {
        let mut lab = lab(10);
        (lab.rtt_us, lab.w.cwnd_cnt) = (80_000, 9);
        lab.ack(2);
        assert_eq!((lab.w.cwnd, lab.w.cwnd_cnt), (10, 11));
        lab.ack(2);
        assert_eq!((lab.w.cwnd, lab.w.cwnd_cnt), (11, 0));
        lab.w.cwnd_cnt = 11;
        lab.ack(2);
        assert_eq!((lab.w.cwnd, lab.w.cwnd_cnt), (11, 0), "the next time it is skipped");
    }

    #[test]
    fn an_ack_without_a_sample_looks_like_congestion() {
        let mut lab = lab(100);
        lab.ack(1);
        assert_eq!(lab.reduced(), 80);
        lab.v.snd_una += 1;
        lab.w.ssthresh = 1;
        lab.cc.cong_avoid(&lab.v, &mut lab.w, 1);
        assert_eq!(lab.reduced(), 50);
    }

    #[test]
    fn what_was_queued_at_the_last_growth_decides_at_a_loss() {
        let mut lab = lab(100);
        lab.ack(1);
        lab.rtt_us = 80_000;
        lab.v.is_cwnd_limited = false;
        lab.ack(1);
        assert_eq!(lab.reduced(), 80, "the window limited nothing then, and nothing was computed");
    }

    #[test]
    fn samples_are_counted_in_sixteen_bits() {
        let (mut c, v, mut w) = (Veno::new(), View::new(1000, crate::cc::Growth::Segments, false), Window::new(10, 1));
        for _ in 0..=u16::MAX {
            c.pkts_acked(&v, &mut w, &RateSample::default());
        }
        assert_eq!(c.samples, 0, "for three ACKs it grows as Reno does");
    }

    #[test]
    fn sending_after_nothing_was_in_flight_forgets_the_least_rtt() {
        let mut lab = lab(100);
        lab.rtt_us = 80_000;
        lab.event(Event::TxStart);
        lab.ack(1);
        assert_eq!(lab.reduced(), 80);
    }
}
