//! Kernel time: jiffies, and the timer wheel's rounding (Linux 6.12 kernel/time/timer.c).

use crate::time::{Time, SEC};

/// Level bits of the wheel: 64 slots a level, each level 8 times as coarse.
const LEVEL_SIZE: u64 = 64;
const LEVEL_SHIFT: u32 = 3;

/// Converts between time and the ticks of a kernel with a given HZ.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    tick: u64,
}

impl Clock {
    /// A clock of `hz` ticks a second.
    #[must_use]
    pub fn new(hz: u32) -> Self {
        Self { tick: SEC / u64::from(hz) }
    }

    /// The tick that `now` falls in.
    #[inline]
    #[must_use]
    pub fn jiffies(&self, now: Time) -> u64 {
        now / self.tick
    }

    /// Microseconds to ticks, rounded up.
    #[inline]
    #[must_use]
    pub fn from_us(&self, us: u64) -> u64 {
        (us * 1000).div_ceil(self.tick)
    }

    /// Ticks to microseconds.
    #[inline]
    #[must_use]
    pub fn to_us(&self, jiffies: u64) -> u64 {
        jiffies * self.tick / 1000
    }

    /// Milliseconds to ticks, rounded up.
    #[must_use]
    pub fn from_ms(&self, ms: u64) -> u64 {
        self.from_us(ms * 1000)
    }

    /// When a timer set at `now` for tick `expires` really fires: the wheel rounds up to the granularity of the level
    /// that the timer falls in, and never fires in the tick of its expiry.
    #[inline]
    #[must_use]
    pub fn fires(&self, now: Time, expires: u64) -> Time {
        let delta = expires.saturating_sub(self.jiffies(now));
        let mut level = 0;
        while level < 8 && delta >= (LEVEL_SIZE - 1) << (level * LEVEL_SHIFT) {
            level += 1;
        }
        let shift = level * LEVEL_SHIFT;
        (((expires >> shift) + 1) << shift) * self.tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MS;

    #[test]
    fn the_wheel_rounds_up_by_level() {
        let c = Clock::new(1000);
        // Below 63 ticks: one tick late.
        assert_eq!(c.fires(10 * MS, 50), 51 * MS);
        // From 63 ticks: 8 ms granularity.
        assert_eq!(c.fires(0, 63), 64 * MS);
        assert_eq!(c.fires(0, 201), 208 * MS);
        assert_eq!(c.fires(0, 208), 216 * MS);
        // From 504 ticks: 64 ms.
        assert_eq!(c.fires(0, 504), 512 * MS);
    }

    #[test]
    fn conversions_round_up() {
        let c = Clock::new(1000);
        assert_eq!(c.from_us(1), 1);
        assert_eq!(c.from_us(2000), 2);
        assert_eq!(c.from_us(2001), 3);
        assert_eq!(Clock::new(250).from_ms(5), 2);
    }
}
