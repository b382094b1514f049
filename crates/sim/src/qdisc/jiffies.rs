//! Periodic work of a queue discipline, on the kernel's clock of 1000 ticks a second (Linux 6.12 kernel/time/timer.c).
//!
//! The work depends on the queue alone, and the queue changes only when packets come or go. So the work needs no event of its own: before a
//! packet comes or goes, the discipline does all work that was due until then.

use crate::time::{Time, MS};

/// A tick, ns.
pub(super) const JIFFY: u64 = MS;

/// Slots of a level of the timer wheel, less one.
const LEVEL: u64 = 63;

/// A timer in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    next: u64,
}

impl Timer {
    /// Armed at time 0 to expire after `delay` ticks.
    pub fn new(delay: u64) -> Self {
        Self { next: expiry(0, delay) }
    }

    /// The timer has expired by `now`.
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        self.time() <= now
    }

    /// Time at which it expires.
    #[inline]
    pub fn time(&self) -> Time {
        self.next * JIFFY
    }

    /// Armed again by its own expiry for `delay` ticks later.
    pub fn rearm(&mut self, delay: u64) {
        // The wheel's own clock is a tick ahead while it expires timers: the level is that of one tick less.
        self.next = expiry_from(self.next + 1, self.next + delay);
    }
}

/// The tick at which a timer armed at tick `now` for `delay` ticks expires: never early, so that even the wheel's finest
/// level adds one tick; a coarser level is eight times as coarse as the one before.
fn expiry(now: u64, delay: u64) -> u64 {
    expiry_from(now, now + delay)
}

/// The same for tick `wanted`, by a wheel whose clock shows `clock`.
fn expiry_from(clock: u64, wanted: u64) -> u64 {
    let (delay, mut shift) = (wanted.saturating_sub(clock), 0);
    while delay >= LEVEL << shift {
        shift += 3;
    }
    ((wanted >> shift) + 1) << shift
}

/// Ticks of a span that tc gives in microseconds, rounded up.
pub(super) fn ticks(span_ns: u64) -> u64 {
    span_ns.div_ceil(JIFFY)
}

#[cfg(test)]
mod tests {
    use super::{expiry, ticks, Timer};
    use crate::time::{MS, US};

    #[test]
    fn a_timer_never_expires_early_and_is_as_late_as_its_level_is_coarse() {
        assert_eq!(expiry(100, 0), 101);
        assert_eq!(expiry(100, 15), 116);
        assert_eq!(expiry(0, 62), 63);
        assert_eq!(expiry(0, 63), 64);
        assert_eq!(expiry(0, 500), 504);
        assert_eq!(expiry(3, 504), 512);
        assert_eq!(expiry(0, 10_000), 10_240);
    }

    #[test]
    fn periods() {
        assert_eq!(ticks(15 * MS), 15);
        assert_eq!(ticks(15 * MS + US), 16);
        let mut timer = Timer::new(15);
        assert!(!timer.is_due(16 * MS - 1) && timer.is_due(16 * MS));
        timer.rearm(15);
        assert_eq!(timer.next, 32);
        timer.rearm(63);
        assert_eq!(timer.next, 32 + 64);
        timer.rearm(0);
        assert_eq!(timer.next, 97);
    }
}
