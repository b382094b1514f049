//! How many more segments are acknowledged at once than the bandwidth lets expect (Linux 6.12 net/ipv4/tcp_bbr.c,
//! `bbr_update_ack_aggregation`): the window has room for these, so that sending goes on between bursts of ACKs.

use super::BW_SHIFT;

/// Rounds that one of the two halves of the window lasts.
pub(in crate::cc) const ROUNDS: u32 = 5;
/// An epoch with so many segments has gone on for too long.
const EPOCH_LIMIT: u32 = 1 << 20;
/// The most that the number of an epoch holds.
const MOST_ACKED: u32 = 0xf_ffff;

/// A time in which segments come faster than the bandwidth lets expect.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cc) struct Epoch {
    start_us: u64,
    acked: u32,
}

impl Epoch {
    /// One begins now.
    pub fn new(now_us: u64) -> Self {
        Self { start_us: now_us, acked: 0 }
    }

    /// `acked` segments were delivered at `now_us`, at a bandwidth of `bw`: how many more there were in the epoch than expected, at most `cwnd`.
    pub fn extra(&mut self, acked: u32, bw: u32, now_us: u64, cwnd: u32) -> u32 {
        let passed_us = u64::from(now_us.saturating_sub(self.start_us) as u32);
        let mut expected = ((u64::from(bw) * passed_us) >> BW_SHIFT) as u32;
        if self.acked <= expected || self.acked + acked >= EPOCH_LIMIT {
            *self = Self::new(now_us);
            expected = 0;
        }
        self.acked = (self.acked + acked).min(MOST_ACKED);
        self.acked.wrapping_sub(expected).min(cwnd)
    }
}

/// The most segments beyond what was expected, of the last 5 to 10 rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cc) struct Aggregation {
    extra: [u32; 2],
    half: usize,
    rounds: u32,
    epoch: Epoch,
}

impl Aggregation {
    /// The connection begins.
    pub fn new(now_us: u64) -> Self {
        Self { epoch: Epoch::new(now_us), ..Self::default() }
    }

    /// After a pause there is nothing to compare with.
    pub fn begin_epoch(&mut self, now_us: u64) {
        self.epoch = Epoch::new(now_us);
    }

    /// The most in the window, segments.
    pub fn extra(&self) -> u32 {
        self.extra[0].max(self.extra[1])
    }

    /// `acked` segments were delivered at `now_us`, at a bandwidth of `bw`. A half of the window lasts `rounds`.
    pub fn update(&mut self, round_start: bool, rounds: u32, acked: u32, bw: u32, now_us: u64, cwnd: u32) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= rounds {
                self.rounds = 0;
                self.half = 1 - self.half;
                self.extra[self.half] = 0;
            }
        }
        let extra = self.epoch.extra(acked, bw, now_us, cwnd);
        if extra > self.extra[self.half] {
            // 16 bits in the kernel.
            self.extra[self.half] = extra & 0xffff;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_at_once_beyond_the_bandwidth_counts_for_five_to_ten_rounds() {
        // One segment a millisecond.
        let bw = (1 << BW_SHIFT) / 1000;
        let mut a = Aggregation::new(0);
        a.update(false, ROUNDS, 1, bw, 1000, 100);
        assert_eq!(a.extra(), 1, "an epoch begins with what ends the one before");
        // 20 at once a millisecond later, of which one was expected.
        a.update(false, ROUNDS, 20, bw, 2001, 100);
        assert_eq!(a.extra(), 20);
        a.update(false, ROUNDS, 20, bw, 2001, 8);
        assert_eq!(a.extra(), 20, "no more than the window");
        // They come after 40 ms, as slowly as expected: a new epoch, and the old value stays while its half is in the window.
        for round in 1..=10 {
            a.update(true, ROUNDS, 1, bw, 100_000 * round, 100);
            assert_eq!(a.extra(), if round < 10 { 20 } else { 1 }, "round {round}");
        }
    }
}
