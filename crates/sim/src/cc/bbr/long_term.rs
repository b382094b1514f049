//! The bandwidth that a policer allows (Linux 6.12 net/ipv4/tcp_bbr.c, `bbr_lt_bw_sampling`): two intervals with much loss and the same bandwidth.

use crate::cc::bandwidth::{rate_bytes_per_sec, BW_SHIFT, UNIT};
use crate::cc::View;

/// Rounds of an interval: the minimum, and four times as many are too many.
const LEAST_ROUNDS: u32 = 4;
/// Lost of delivered segments that show a policer, 256ths.
const LOSS: u64 = 50;
/// Two intervals agree if they differ by no more than 1/8 of the first, or by 4 kbit/s (bytes/s).
const RATIO: u32 = UNIT / 8;
const DIFFERENCE: u64 = 4000 / 8;
/// Rounds for which the bandwidth is used.
const USED_ROUNDS: u32 = 48;

/// Result of sampling for an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Nothing,
    /// There is a policer: its bandwidth is used from now on.
    Policed,
    /// It is not used any more.
    Over,
}

/// The sampling, and what came of it. Told of every ACK with a sample, and of timeouts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    /// Bandwidth of the last interval, or that of the policer while it is used; 0: none.
    bw: u32,
    is_used: bool,
    is_sampling: bool,
    rounds: u32,
    /// Where the interval began.
    start_ms: u32,
    start_delivered: u32,
    start_lost: u32,
}

impl LongTerm {
    /// The policer's bandwidth, while it is used.
    pub fn bw(&self) -> Option<u32> {
        self.is_used.then_some(self.bw)
    }

    /// Forgets all.
    pub fn reset(&mut self, v: &View) {
        *self = Self::default();
        self.begin(v);
    }

    fn begin(&mut self, v: &View) {
        self.start_ms = (v.delivered_us / 1000) as u32;
        (self.start_delivered, self.start_lost, self.rounds) = (v.delivered, v.lost, 0);
    }

    /// An ACK, or a timeout, that found `losses`. `cycles`: the pacing gain is cycling.
    pub fn update(&mut self, v: &View, losses: u32, is_app_limited: bool, round_start: bool, cycles: bool) -> Verdict {
        if self.is_used {
            if cycles && round_start {
                self.rounds += 1;
                if self.rounds >= USED_ROUNDS {
                    self.reset(v);
                    return Verdict::Over;
                }
            }
            return Verdict::Nothing;
        }
        if !self.is_sampling {
            // The policer's bucket is empty when it drops first.
            if losses == 0 {
                return Verdict::Nothing;
            }
            self.begin(v);
            self.is_sampling = true;
        }
        if is_app_limited {
            self.reset(v);
            return Verdict::Nothing;
        }
        self.rounds += u32::from(round_start);
        if self.rounds < LEAST_ROUNDS {
            return Verdict::Nothing;
        }
        if self.rounds > 4 * LEAST_ROUNDS {
            self.reset(v);
            return Verdict::Nothing;
        }
        // And it is empty again when it drops last.
        if losses == 0 {
            return Verdict::Nothing;
        }
        let lost = v.lost.wrapping_sub(self.start_lost);
        let delivered = v.delivered.wrapping_sub(self.start_delivered);
        if delivered == 0 || u64::from(lost) << 8 < LOSS * u64::from(delivered) {
            return Verdict::Nothing;
        }
        let ms = ((v.delivered_us / 1000) as u32).wrapping_sub(self.start_ms);
        if (ms as i32) < 1 {
            return Verdict::Nothing;
        }
        if ms >= u32::MAX / 1000 {
            self.reset(v);
            return Verdict::Nothing;
        }
        self.end_interval(v, ((u64::from(delivered) << BW_SHIFT) / u64::from(ms * 1000)) as u32)
    }

    fn end_interval(&mut self, v: &View, bw: u32) -> Verdict {
        if self.bw != 0 {
            let apart = bw.abs_diff(self.bw);
            // In 32 bits, as the kernel computes it.
            let agrees = apart.wrapping_mul(UNIT) <= RATIO.wrapping_mul(self.bw);
            if agrees || rate_bytes_per_sec(v, apart, UNIT) <= DIFFERENCE {
                self.bw = bw.wrapping_add(self.bw) >> 1;
                (self.is_used, self.rounds) = (true, 0);
                return Verdict::Policed;
            }
        }
        self.bw = bw;
        self.begin(v);
        Verdict::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Growth;

    /// Rounds of 10 ms in which 100 segments are sent and so many of them lost; says at which ACK the policer is found.
    fn rounds(lost: u32, limited_in: Option<u32>, sizes: impl Fn(u32) -> u32) -> (Option<u32>, LongTerm, View) {
        let mut v = View::new(1000, Growth::Segments, false);
        let mut lt = LongTerm::default();
        for round in 0..40 {
            v.delivered_us += 10_000;
            v.delivered += sizes(round);
            v.lost += lost;
            if lt.update(&v, lost, limited_in == Some(round), true, true) == Verdict::Policed {
                return (Some(round), lt, v);
            }
        }
        (None, lt, v)
    }

    #[test]
    fn two_like_intervals_of_four_rounds_with_a_fifth_lost_are_a_policer() {
        let (found, lt, _) = rounds(25, None, |_| 75);
        // The interval begins at the first loss, whose round counts; each is over in its fourth round.
        assert_eq!(found, Some(7));
        let bw = lt.bw().unwrap();
        assert_eq!(bw, (75 << BW_SHIFT) / 10_000, "75 segments in 10 ms");
    }

    #[test]
    fn less_loss_an_idle_application_or_another_bandwidth_is_none() {
        assert_eq!(rounds(14, None, |_| 75).0, None, "14 of 75 are less than 50 of 256");
        assert_eq!(rounds(15, None, |_| 75).0, Some(7));
        assert_eq!(
            rounds(25, Some(4), |_| 75).0,
            Some(12),
            "it begins anew after a sample that the application limited"
        );
        assert_eq!(
            rounds(25, None, |round| if round < 4 { 60 } else { 75 }).0,
            Some(11),
            "the second and the third agree"
        );
    }

    #[test]
    fn it_is_used_for_48_rounds_of_cycling() {
        let (_, mut lt, v) = rounds(25, None, |_| 75);
        let used = (1..).find(|_| lt.update(&v, 0, false, true, true) == Verdict::Over).unwrap();
        assert_eq!((used, lt.bw()), (48, None));
    }
}
