//! Kernel time: jiffies, and the timer wheel's rounding (Linux 6.12 kernel/time/timer.c; `slack`: Linux 3.9 kernel/timer.c).

use crate::tcp::common::lazy_timer::Ticks;
use crate::tcp::linux::options::TimerWheel;
use crate::tcp::linux::stack::Stack;
use crate::time::{Time, MS, SEC, US};

/// Level bits of the wheel: 64 slots a level, each level 8 times as coarse.
const LEVEL_SIZE: u64 = 64;
const LEVEL_SHIFT: u32 = 3;

/// Converts between time and the ticks of a kernel with a given HZ.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    tick: u64,
    /// 2^(64 + `shift`) over `tick`, rounded up, and the logarithm of `tick`, rounded down: ticks are counted several times a packet, and a
    /// multiplication is cheaper than a division.
    reciprocal: u64,
    shift: u32,
    wheel: TimerWheel,
}

impl Clock {
    /// The clock of a stack.
    #[must_use]
    pub fn of(stack: &Stack) -> Self {
        Self::new(stack.hz, stack.timer_wheel)
    }

    /// A clock of `hz` ticks a second.
    #[must_use]
    pub fn new(hz: u32, wheel: TimerWheel) -> Self {
        let tick = SEC / u64::from(hz);
        debug_assert!(!tick.is_power_of_two(), "the reciprocal has 65 bits");
        let shift = tick.ilog2();
        Self { tick, reciprocal: ((1u128 << (u64::BITS + shift)) / u128::from(tick)) as u64 + 1, shift, wheel }
    }

    /// Whole ticks in a span of less than 2^63 ns.
    #[inline]
    fn ticks(&self, ns: u64) -> u64 {
        // The reciprocal is less than 1 too large, so that the product is less than 2^63 too large. A quotient that is not whole lacks at least one
        // part in `tick` of the next whole number, and that is more than 2^63 of the product.
        ((u128::from(ns) * u128::from(self.reciprocal)) >> 64) as u64 >> self.shift
    }

    /// True if the ticks of a time are its milliseconds.
    #[inline]
    #[must_use]
    pub fn ticks_are_ms(&self) -> bool {
        self.tick == MS
    }

    /// Ticks to microseconds.
    #[inline]
    #[must_use]
    pub fn to_us(&self, jiffies: u64) -> u64 {
        jiffies * self.tick / 1000
    }

    /// The tick with which a timer of a wheel without levels fires that is set in tick `now` for tick `expires`.
    #[inline(never)]
    fn fires_without_levels(&self, now: u64, expires: u64) -> u64 {
        if self.wheel == TimerWheel::Exact {
            return expires.max(now + 1);
        }
        let slack = expires.saturating_sub(now) / 256;
        let expires = expires.max(now + 1);
        let latest = expires + slack;
        // It chooses the tick from `expires` to `latest` that ends in the most zeros, so that timers fire together.
        let zeros = (expires ^ latest).checked_ilog2().unwrap_or(0);
        (latest >> zeros) << zeros
    }

    /// Milliseconds to ticks, rounded up.
    #[must_use]
    pub fn from_ms(&self, ms: u64) -> u64 {
        self.in_ticks(ms * 1000)
    }
}

impl Ticks for Clock {
    #[inline]
    fn tick(&self, time: Time) -> u64 {
        self.ticks(time)
    }

    #[inline]
    fn start(&self, tick: u64) -> Time {
        tick * self.tick
    }

    #[allow(
        clippy::manual_div_ceil,
        reason = "`div_ceil` asks for the remainder as well, which takes more than twice the instructions"
    )]
    #[inline]
    fn in_ticks(&self, us: u64) -> u64 {
        if self.ticks_are_ms() {
            (us + (MS / US - 1)) / (MS / US)
        } else {
            self.ticks(us * US + self.tick - 1)
        }
    }

    /// A wheel of levels rounds up to the granularity of the level that the timer falls in, and never fires in the tick of its expiry. Its own
    /// clock chooses the level. That is one tick ahead when the timers of the present tick have been run: where their handlers set timers
    /// (`__run_timers`, `calc_wheel_index`).
    #[inline]
    fn fires(&self, now: u64, run: u64, expires: u64) -> u64 {
        if self.wheel != TimerWheel::Levels {
            return self.fires_without_levels(now, expires);
        }
        let shift = self.level(now, run, expires) * LEVEL_SHIFT;
        ((expires >> shift) + 1) << shift
    }

    #[inline]
    fn level(&self, now: u64, run: u64, expires: u64) -> u32 {
        if self.wheel != TimerWheel::Levels {
            return 0;
        }
        let delta = expires.saturating_sub(now.max(run));
        let mut level = 0;
        while level < 8 && delta >= (LEVEL_SIZE - 1) << (level * LEVEL_SHIFT) {
            level += 1;
        }
        level
    }

    /// A slot of the wheel is a stack since it has levels; before, it was a queue (`enqueue_timer`, `collect_expired_timers`).
    fn is_last_set_first(&self) -> bool {
        self.wheel == TimerWheel::Levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_wheel_rounds_up_by_level() {
        let c = Clock::new(1000, TimerWheel::Levels);
        // Below 63 ticks: one tick late.
        assert_eq!(c.fires(10, 0, 50), 51);
        // From 63 ticks: 8 ms granularity.
        assert_eq!(c.fires(0, 0, 63), 64);
        assert_eq!(c.fires(0, 0, 201), 208);
        assert_eq!(c.fires(0, 0, 208), 216);
        // From 504 ticks: 64 ms.
        assert_eq!(c.fires(3, 0, 507), 512);
        // One tick less where the timers of the tick have been run.
        assert_eq!(c.fires(3, 4, 507), 512);
        assert_eq!([c.fires(9, 9, 513), c.fires(9, 10, 513)], [576, 520]);
    }

    #[test]
    fn slack_begins_at_256_ticks() {
        let c = Clock::new(1000, TimerWheel::Slack);
        assert_eq!(c.fires(10, 0, 210), 210);
        // 300 + 300 / 256 = 301: bit 0 differs, nothing to clear.
        assert_eq!(c.fires(0, 0, 300), 301);
        // 1023 + 3 = 1026: from bit 10 on they differ.
        assert_eq!(c.fires(0, 0, 1023), 1024);
    }

    #[test]
    fn before_that_a_timer_fires_in_its_tick() {
        let c = Clock::new(1000, TimerWheel::Exact);
        assert_eq!([c.fires(10, 0, 210), c.fires(0, 0, 1023), c.fires(7, 8, 7)], [210, 1023, 8]);
    }

    proptest! {
        #[test]
        fn ticks_are_those_of_a_division(hz in 1u32..=1000, ticks in 0u64..1 << 33, off in -1i64..=1, ns: u64) {
            let c = Clock::new(hz, TimerWheel::Levels);
            for ns in [(ticks * c.tick).saturating_add_signed(off), ns] {
                prop_assert_eq!(c.tick(ns), ns / c.tick);
            }
        }
    }

    #[test]
    fn conversions_round_up() {
        let c = Clock::new(1000, TimerWheel::Levels);
        assert_eq!(c.in_ticks(1), 1);
        assert_eq!(c.in_ticks(2000), 2);
        assert_eq!(c.in_ticks(2001), 3);
        assert_eq!(Clock::new(250, TimerWheel::Levels).from_ms(5), 2);
    }
}
