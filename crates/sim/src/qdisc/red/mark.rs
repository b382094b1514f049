//! RED's signals: its drop law, the spacing of signals, and the adaptation of the largest probability (Linux 6.12 include/net/red.h; Floyd,
//! Gummadi and Shenker 2001, "Adaptive RED").
//!
//! `gentle` is after S. Floyd, "Recommendation on using the 'gentle_' variant of RED" (2000), and RED of ns-3 (3.42, red-queue-disc.cc):
//! from `max` to twice `max` the probability rises linearly from the largest to 1. Only from there on is every packet signalled for. The
//! spacing of the signals is Linux's.

use super::average::Filter;
use crate::rng::Rng;

/// A hundredth, units of 2^-32.
const ONE_PERCENT: u32 = 42_949_673;
/// Largest probability up to which it is raised.
const MAX_P_MAX: u32 = 50 * ONE_PERCENT;
/// Largest probability down to which it is lowered.
const MAX_P_MIN: u32 = ONE_PERCENT;

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Pass,
    /// Signal by chance.
    Early,
    /// Signal for certain.
    Hard,
}

/// State since the last signal.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// Packets since the last signal; -1: the average was not between the thresholds.
    count: i64,
    /// Random number that the next signal waits for, bytes.
    wait: u64,
}

impl State {
    /// Packets since the last signal; -1: the average was not between the thresholds.
    pub fn since_signal(&self) -> i64 {
        self.count
    }
}

impl Default for State {
    fn default() -> Self {
        Self { count: -1, wait: 0 }
    }
}

/// Thresholds and probability.
#[derive(Clone, Debug)]
pub(super) struct Law {
    min: u64,
    max: u64,
    gentle: bool,
    /// Distance from `min` to `max`, bytes; at least 1.
    delta: u32,
    /// Probability of a signal at `max`, units of 2^-32.
    max_p: u32,
    /// The same by byte above `min`.
    per_byte: u32,
}

impl Law {
    /// Thresholds in bytes.
    pub fn new(min: u64, max: u64, max_p: u32, gentle: bool) -> Self {
        let delta = u32::try_from(max - min).expect("the thresholds were checked").max(1);
        Self { min, max, gentle, delta, max_p, per_byte: (max_p / delta).max(1) }
    }

    /// Decide about an arriving packet, given the average.
    pub fn decide(&self, state: &mut State, average: u64, filter: &Filter, rng: &mut Rng) -> Action {
        if average < filter.scaled(self.min) {
            state.count = -1;
            return Action::Pass;
        }
        let Some(excess) = self.excess(average, filter) else {
            state.count = -1;
            return Action::Hard;
        };
        state.count += 1;
        let signals = state.count > 0 && excess * state.count as u64 >= state.wait;
        if signals || state.count == 0 {
            state.count = 0;
            state.wait = u64::from(rng.u32() / self.per_byte);
        }
        if signals {
            Action::Early
        } else {
            Action::Pass
        }
    }

    /// Bytes of the average above `min`, to which the probability is proportional; `None`: certainty.
    #[inline]
    fn excess(&self, average: u64, filter: &Filter) -> Option<u64> {
        if average < filter.scaled(self.max) {
            return Some(filter.bytes(average - filter.scaled(self.min)));
        }
        if !self.gentle || average >= filter.scaled(2 * self.max) {
            return None;
        }
        // Return a distance above `min` that makes the probability rise to 1 at twice `max`.
        let rest = (1_u64 << 32) - u64::from(self.max_p);
        let above = filter.bytes(average) - self.max;
        let more = u128::from(rest) * u128::from(above) / u128::from(self.max) / u128::from(self.per_byte);
        Some(u64::from(self.delta) + more as u64)
    }

    /// Moves the largest probability towards where the average, in bytes, is midway between the thresholds. False if it is left.
    pub fn adapt(&mut self, average: u64) -> bool {
        let fifth = u64::from(self.delta / 5);
        if average > self.min + 3 * fifth && self.max_p <= MAX_P_MAX {
            self.max_p += ONE_PERCENT.min(self.max_p / 4);
        } else if average < self.min + 2 * fifth && self.max_p >= MAX_P_MIN {
            self.max_p = self.max_p / 10 * 9;
        } else {
            return false;
        }
        let rounded = (u64::from(self.max_p) + u64::from(self.delta / 2)) / u64::from(self.delta);
        self.per_byte = (rounded as u32).max(1);
        true
    }

    /// Probability of a signal at `max`, units of 2^-32.
    #[cfg(test)]
    pub fn max_p(&self) -> u32 {
        self.max_p
    }
}
