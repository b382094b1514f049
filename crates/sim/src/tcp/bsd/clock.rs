//! Kernel time (FreeBSD 9.3 sys/kern/kern_timeout.c): a callout for a tick fires with that tick, neither rounded nor late.

use crate::tcp::common::lazy_timer::Ticks;
use crate::time::{Time, SEC, US};

/// Converts between time and the ticks of a kernel with a given HZ.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Clock {
    tick: u64,
}

impl Clock {
    pub fn new(hz: u32) -> Self {
        Self { tick: SEC / u64::from(hz) }
    }
}

impl Ticks for Clock {
    #[inline]
    fn tick(&self, time: Time) -> u64 {
        time / self.tick
    }

    #[inline]
    fn start(&self, tick: u64) -> Time {
        tick * self.tick
    }

    fn in_ticks(&self, us: u64) -> u64 {
        (us * US).div_ceil(self.tick)
    }

    fn fires(&self, _: u64, _: u64, expires: u64) -> u64 {
        expires
    }

    /// Callouts of a tick are a queue.
    fn is_last_set_first(&self) -> bool {
        false
    }
}
