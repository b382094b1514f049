//! Scalable TCP: the window grows by one segment for every hundred acknowledged, whatever it is, and loses an eighth (T. Kelly, "Scalable TCP:
//! improving performance in highspeed wide area networks", CCR 33(2), 2003; Linux 6.12 net/ipv4/tcp_scalable.c).

use super::{
    AnyCc, BoxedControl, CongestionControl, Control, Needs, Parameter, Parameters, State, Tell, Version, View, Window,
};

/// A loss takes the window less 2^-3 of it.
const DECREASE_SHIFT: u32 = 3;

pub(super) const CONTROL: Control = Control {
    name: "scalable",
    summary: "Scalable TCP (Kelly 2003, Linux 6.12)",
    needs: Needs::NOTHING,
    since: Version(2, 6),
    parameters: &[Parameter::integer(
        "ai_cnt",
        100,
        1,
        1 << 24,
        "segments acknowledged per increase of a window above this (TCP_SCALABLE_AI_CNT; 50 until Linux 4.16)",
    )],
    build: |p| AnyCc::Boxed(Box::new(Scalable::new(p))),
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] =
    &[State::new("cnt", "packets", "segments to acknowledge for an increase of the window by one, outside slow start")];

/// Scalable TCP keeps no state.
#[derive(Clone, Debug)]
struct Scalable {
    ai_cnt: u32,
}

impl Scalable {
    fn new(p: &Parameters) -> Self {
        Self { ai_cnt: p.integer("ai_cnt") }
    }
}

impl BoxedControl for Scalable {}

impl CongestionControl for Scalable {
    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        (w.cwnd - (w.cwnd >> DECREASE_SHIFT)).max(2)
    }

    fn least_cwnd(&self, _: &View, w: &Window) -> u32 {
        w.ssthresh / 2
    }

    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        let acked = w.beyond_slow_start(v, acked);
        if acked > 0 {
            w.additive_increase(v, w.cwnd.min(self.ai_cnt), acked);
        }
    }

    fn state(&self, _: &View, w: &Window, tell: &mut Tell) {
        tell("cnt", f64::from(w.cwnd.min(self.ai_cnt)));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cc::lab::{made, Lab};

    #[test]
    fn a_window_grows_by_one_percent_a_round_trip_and_takes_as_long_to_recover_whatever_it_is() {
        // ln(8/7) / ln(1.01) = 13.4 round trips from 7/8 of the window back to it.
        for cwnd in [800, 8000, 80_000] {
            let mut lab = Lab::new(made(&CONTROL, &json!({})), cwnd);
            lab.lose();
            assert_eq!(lab.w.cwnd, cwnd - cwnd / 8);
            assert_eq!(lab.rounds_until(cwnd), 14, "{cwnd}");
        }
    }

    #[test]
    fn a_window_below_a_hundred_grows_as_renos_does() {
        let mut lab = Lab::new(made(&CONTROL, &json!({})), 40);
        lab.rounds(10);
        assert_eq!(lab.w.cwnd, 50);
        let mut lab = Lab::new(made(&CONTROL, &json!({"ai_cnt": 20})), 40);
        lab.rounds(1);
        assert_eq!(lab.w.cwnd, 42);
    }

    #[test]
    fn a_window_of_two_is_not_cut() {
        let mut lab = Lab::new(made(&CONTROL, &json!({})), 2);
        lab.lose();
        assert_eq!(lab.w.cwnd, 2);
    }
}
