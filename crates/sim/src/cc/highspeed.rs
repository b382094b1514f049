//! HighSpeed TCP: additive increase and multiplicative decrease that depend on the window (RFC 3649 with the table of its appendix B; Linux
//! 6.12 net/ipv4/tcp_highspeed.c).
//!
//! Growth counts ACKs, not the segments that they acknowledge. The bound of 2^32/128 segments that the kernel sets is beyond any
//! receiver's window.

use super::{AnyCc, BoxedControl, CongestionControl, Control, Needs, State, Tell, Version, View, Window};

/// Row `i` holds for windows up to its first number: growth is by i + 1 segments a round trip, and a loss takes the second number of 256ths.
#[rustfmt::skip]
const AIMD: [(u32, u32); 72] = [
    (38, 128), (118, 112), (221, 104), (347, 98), (495, 93), (663, 89), (851, 86), (1058, 83),
    (1284, 81), (1529, 78), (1793, 76), (2076, 74), (2378, 72), (2699, 71), (3039, 69), (3399, 68),
    (3778, 66), (4177, 65), (4596, 64), (5036, 62), (5497, 61), (5979, 60), (6483, 59), (7009, 58),
    (7558, 57), (8130, 56), (8726, 55), (9346, 54), (9991, 53), (10661, 52), (11358, 52), (12082, 51),
    (12834, 50), (13614, 49), (14424, 48), (15265, 48), (16137, 47), (17042, 46), (17981, 45), (18955, 45),
    (19965, 44), (21013, 43), (22101, 43), (23230, 42), (24402, 41), (25618, 41), (26881, 40), (28193, 39),
    (29557, 39), (30975, 38), (32450, 38), (33986, 37), (35586, 36), (37253, 36), (38992, 35), (40808, 35),
    (42707, 34), (44694, 33), (46776, 33), (48961, 32), (51258, 32), (53677, 31), (56230, 30), (58932, 30),
    (61799, 29), (64851, 28), (68113, 28), (71617, 27), (75401, 26), (79517, 26), (84035, 25), (89053, 24),
];

pub(super) const CONTROL: Control = Control {
    name: "highspeed",
    summary: "HighSpeed TCP (RFC 3649, Linux 6.12)",
    needs: Needs::NOTHING,
    since: Version(2, 6),
    parameters: &[],
    build: |_| AnyCc::Boxed(Box::new(HighSpeed { row: 0 })),
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::new("increase", "packets", "growth of the window a round trip, by the row of the table (a(w))"),
    State::new("decrease", "share", "part of the window that a loss takes, by the row of the table (b(w))"),
];

/// The row of the table that the window was in last. A decrease leaves it; growth moves it.
#[derive(Clone, Debug)]
struct HighSpeed {
    row: usize,
}

impl HighSpeed {
    fn find_row(&mut self, cwnd: u32) {
        while self.row < AIMD.len() - 1 && cwnd > AIMD[self.row].0 {
            self.row += 1;
        }
        while self.row > 0 && cwnd <= AIMD[self.row - 1].0 {
            self.row -= 1;
        }
    }
}

impl BoxedControl for HighSpeed {}

impl CongestionControl for HighSpeed {
    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        (w.cwnd - ((w.cwnd * AIMD[self.row].1) >> 8)).max(2)
    }

    fn least_cwnd(&self, _: &View, w: &Window) -> u32 {
        w.ssthresh / 2
    }

    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        let slow = w.in_slow_start(v);
        let acked = w.beyond_slow_start(v, acked);
        // Segments that slow start leaves over are dropped.
        if slow || acked == 0 {
            return;
        }
        self.find_row(w.cwnd);
        w.cwnd_cnt += self.row as u32 + 1;
        if w.cwnd_cnt >= w.cwnd {
            w.cwnd_cnt -= w.cwnd;
            w.cwnd += 1;
        }
    }

    fn state(&self, _: &View, _: &Window, tell: &mut Tell) {
        tell("increase", (self.row + 1) as f64);
        tell("decrease", f64::from(AIMD[self.row].1) / 256.0);
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

    #[test]
    fn every_row_decreases_by_what_rfc_3649_says() {
        for (i, (cwnd, decrease)) in AIMD.iter().enumerate() {
            // b(w) of section 5, from 0.5 at a window of 38 to 0.1 at one of 83000.
            let (w, low, high) = (f64::from(*cwnd), 38f64, 83_000f64);
            let b = (0.1 - 0.5) * (w.ln() - low.ln()) / (high.ln() - low.ln()) + 0.5;
            assert_eq!(*decrease, (256.0 * b).floor() as u32, "row {i}");
            let mut lab = lab(*cwnd);
            lab.ack(1);
            lab.w.cwnd = *cwnd;
            assert_eq!(lab.reduced(), cwnd - ((cwnd * decrease) >> 8), "row {i}");
        }
    }

    #[test]
    fn a_window_grows_by_its_row_a_round_trip() {
        for (i, (cwnd, _)) in AIMD.iter().enumerate() {
            let mut lab = lab(cwnd - i as u32 - 1);
            lab.round();
            assert!(lab.w.cwnd.abs_diff(*cwnd) <= 1, "row {i}: {} instead of {cwnd}", lab.w.cwnd);
        }
    }

    #[test]
    fn delayed_acks_halve_growth() {
        let grown = |per_ack| {
            let mut lab = lab(2100);
            lab.per_ack = per_ack;
            lab.rounds(10);
            lab.w.cwnd - 2100
        };
        assert_eq!((grown(1), grown(2)), (129, 64));
    }

    #[test]
    fn a_second_loss_before_growth_decreases_by_the_row_of_the_first() {
        let mut lab = lab(10_661);
        lab.ack(1);
        let cut = |cwnd: u32, decrease| cwnd - ((cwnd * decrease) >> 8);
        lab.lose();
        assert_eq!(lab.w.cwnd, cut(10_661, 52));
        assert_eq!(lab.reduced(), cut(lab.w.cwnd, 52));
        lab.ack(1);
        assert_eq!(lab.reduced(), cut(lab.w.cwnd, 55), "after an ACK the row is that of the window");
    }

    #[test]
    fn slow_start_drops_what_it_leaves_over() {
        let mut lab = Lab::in_slow_start(made(&CONTROL, &json!({})), 10);
        lab.w.ssthresh = 12;
        lab.ack(10);
        assert_eq!((lab.w.cwnd, lab.w.cwnd_cnt), (12, 0));
    }
}
