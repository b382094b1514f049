//! The controller: a base probability p' that follows the greater of the two queues' delays (RFC 9332, Appendix A.1; Linux 7.3
//! net/sched/sch_dualpi2.c `calculate_probability`).
//!
//! The controller runs at a fixed period, and its input changes only when packets come or go. So it needs no event of its own: before a
//! packet comes or goes, all updates that were due until then are made.

use crate::time::{Time, SEC};

/// Certainty.
pub(super) const MAX_PROB: u32 = u32::MAX;

/// Units of a weight in a second: weights come in 1/256 Hz.
const WEIGHT_SHIFT: u32 = 8;
/// The kernel keeps weights in units of 64 ns.
const GRANULARITY: u32 = 6;

/// The arithmetic of an update.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    /// The kernel's integers.
    Linux {
        /// Change of the probability by a delay of 64 ns beyond the target, and by 64 ns of growth.
        alpha: u32,
        beta: u32,
        prob: u32,
        /// The maximum probability: below certainty without drops on overload.
        most: u32,
    },
    /// Real numbers: weights in 1/s, as the RFC has it.
    Rfc { alpha: f64, beta: f64, prob: f64 },
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Controller {
    target: u64,
    period: u64,
    next: Time,
    /// Delay at the last update, ns.
    last: u64,
    law: Law,
}

/// A weight of 1/256 Hz in the kernel's units.
pub(super) fn scaled(weight: u32) -> u32 {
    (((u64::from(weight) * u64::from(MAX_PROB)) >> (WEIGHT_SHIFT - GRANULARITY)) / SEC) as u32
}

impl Controller {
    /// The kernel's, which does not exceed `most`.
    pub fn linux(target: u64, period: u64, [alpha, beta]: [u32; 2], most: u32) -> Self {
        let law = Law::Linux { alpha: scaled(alpha), beta: scaled(beta), prob: 0, most };
        Self { target, period, next: period, last: 0, law }
    }

    /// The RFC's.
    pub fn rfc(target: u64, period: u64, weights: [u32; 2]) -> Self {
        let [alpha, beta] = weights.map(|weight| f64::from(weight) / f64::from(1 << WEIGHT_SHIFT));
        Self { target, period, next: period, last: 0, law: Law::Rfc { alpha, beta, prob: 0.0 } }
    }

    /// The base probability, units of 2^-32.
    #[inline]
    pub fn prob(&self) -> u32 {
        match self.law {
            Law::Linux { prob, .. } => prob,
            Law::Rfc { prob, .. } => (prob * f64::from(MAX_PROB)) as u32,
        }
    }

    /// The base probability as a number.
    #[inline]
    pub fn ratio(&self) -> f64 {
        match self.law {
            Law::Linux { prob, .. } => f64::from(prob) / f64::from(MAX_PROB),
            Law::Rfc { prob, .. } => prob,
        }
    }

    /// An update is due by `now`.
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        self.next <= now
    }

    /// Makes the updates that are due by `now`. The packets at the heads of the queues have come at `heads`.
    pub fn run(&mut self, now: Time, heads: [Option<Time>; 2]) {
        while self.next <= now {
            let delay = heads.into_iter().flatten().map(|since| self.next - since).max();
            let before = (self.last, self.law);
            self.update(delay.unwrap_or(0));
            self.next += self.period;
            if delay.is_none() && before == (self.last, self.law) && self.next <= now {
                // Nothing changes until a packet comes.
                self.next += (now - self.next) / self.period * self.period;
            }
        }
    }

    /// The queues have a delay of `delay` ns.
    fn update(&mut self, delay: u64) {
        let (beyond, growth) = (delay.wrapping_sub(self.target) as i64, delay.wrapping_sub(self.last) as i64);
        self.last = delay;
        match &mut self.law {
            Law::Linux { alpha, beta, prob, most } => {
                let delta = beyond.wrapping_mul(i64::from(*alpha)).wrapping_add(growth.wrapping_mul(i64::from(*beta)));
                let step = (delta.unsigned_abs() >> GRANULARITY) as u32;
                let (changed, wrapped) =
                    if delta > 0 { prob.overflowing_add(step) } else { prob.overflowing_sub(step) };
                *prob = match (wrapped, delta > 0) {
                    (false, _) => changed,
                    (true, true) => MAX_PROB,
                    (true, false) => 0,
                };
                *prob = (*prob).min(*most);
            }
            Law::Rfc { alpha, beta, prob } => {
                let seconds = |ns: i64| ns as f64 / SEC as f64;
                *prob = (*prob + *alpha * seconds(beyond) + *beta * seconds(growth)).clamp(0.0, 1.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{scaled, Controller, MAX_PROB};
    use crate::time::{MS, SEC};

    #[test]
    fn weights_are_those_that_the_kernel_keeps() {
        // floor(41 * (2^32 - 1) / 4 / 10^9), and of 819.
        assert_eq!([scaled(41), scaled(819), scaled(1)], [44, 879, 1]);
    }

    #[test]
    fn an_update_by_hand() {
        let mut pi = Controller::linux(15 * MS, 16 * MS, [41, 819], MAX_PROB);
        // 20 ms: (5 ms x 44 + 20 ms x 879) / 64.
        pi.update(20 * MS);
        assert_eq!(pi.prob(), ((5 * MS * 44 + 20 * MS * 879) / 64) as u32);
        let before = pi.prob();
        // Still 20 ms: the integral part alone.
        pi.update(20 * MS);
        assert_eq!(pi.prob(), before + (5 * MS * 44 / 64) as u32);
        // 10 ms: both parts lower it.
        let before = pi.prob();
        pi.update(10 * MS);
        assert_eq!(pi.prob(), before - ((5 * MS * 44 + 10 * MS * 879) / 64) as u32);
    }

    #[test]
    fn probabilities_stay_within_their_bounds() {
        let mut pi = Controller::linux(15 * MS, 16 * MS, [41, 819], MAX_PROB);
        pi.update(0);
        assert_eq!(pi.prob(), 0);
        (0..40).for_each(|i| pi.update(i * 100 * MS));
        assert_eq!(pi.prob(), MAX_PROB);
        let mut capped = Controller::linux(15 * MS, 16 * MS, [41, 819], MAX_PROB / 2);
        (0..40).for_each(|i| capped.update(i * 100 * MS));
        assert_eq!(capped.prob(), MAX_PROB / 2);
    }

    #[test]
    fn updates_follow_the_older_of_the_heads_at_their_own_time() {
        let mut pi = Controller::linux(15 * MS, 16 * MS, [41, 819], MAX_PROB);
        pi.run(40 * MS, [Some(10 * MS), Some(4 * MS)]);
        let mut by_hand = Controller::linux(15 * MS, 16 * MS, [41, 819], MAX_PROB);
        by_hand.update(12 * MS);
        by_hand.update(28 * MS);
        assert_eq!((pi.prob(), pi.next), (by_hand.prob(), 48 * MS));
    }

    #[test]
    fn idle_time_costs_nothing_and_changes_nothing() {
        let mut pi = Controller::linux(15 * MS, 16 * MS, [41, 819], MAX_PROB);
        pi.run(100 * MS, [Some(0), None]);
        assert!(pi.prob() > 0);
        pi.run(1_000_000_000 * SEC, [None, None]);
        assert_eq!((pi.prob(), pi.last, pi.next % (16 * MS)), (0, 0, 0));
        assert!(!pi.is_due(1_000_000_000 * SEC) && pi.is_due(1_000_000_000 * SEC + 16 * MS));
    }

    #[test]
    fn the_rfc_s_arithmetic_is_that_of_real_numbers() {
        let mut pi = Controller::rfc(15 * MS, 15 * MS, [38, 768]);
        pi.update(20 * MS);
        assert!((pi.ratio() - (38.0 / 256.0 * 0.005 + 3.0 * 0.020)).abs() < 1e-12);
    }
}
