//! RED's average queue: an exponentially weighted mean over arrivals, with the arrivals that an idle time would have had
//! (Linux 6.12 include/net/red.h).

use super::tc::IdleDamping;
use crate::time::{Time, US};

/// The constants of the mean.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    /// The weight of an arrival is 2^-wlog, and the mean has as many fraction bits.
    wlog: u32,
    damping: IdleDamping,
}

impl Filter {
    pub fn new(wlog: u32, damping: IdleDamping) -> Self {
        Self { wlog, damping }
    }

    /// A mean in whole bytes.
    #[inline]
    pub fn bytes(&self, average: u64) -> u64 {
        average >> self.wlog
    }

    /// Whole bytes as a mean.
    #[inline]
    pub fn scaled(&self, bytes: u64) -> u64 {
        bytes << self.wlog
    }

    /// Return the mean after an idle time.
    fn damped(&self, average: u64, idle_ns: u64) -> u64 {
        let IdleDamping { cell_log, shifts } = &self.damping;
        let us = (idle_ns / US).min(255 << cell_log);
        match shifts[(us >> cell_log) as usize] {
            // Cells are too coarse at first: the first terms of the exponential.
            0 => {
                let loss = average.wrapping_mul(us) >> cell_log;
                if loss < average / 2 {
                    average - loss
                } else {
                    average / 2
                }
            }
            shift => average >> shift,
        }
    }
}

/// The mean, in bytes with fraction bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Average {
    value: u64,
    /// Start of the queue's idle time.
    idle_since: Option<Time>,
}

impl Average {
    /// A packet arrives at a queue of `backlog` bytes; returns the new mean.
    #[inline]
    pub fn on_arrival(&mut self, backlog: u64, now: Time, filter: &Filter) -> u64 {
        self.value = match self.idle_since.take() {
            Some(since) if since < now => filter.damped(self.value, now - since),
            _ => self.value + backlog - (self.value >> filter.wlog),
        };
        self.value
    }

    /// The mean as of the last arrival.
    pub fn last(&self) -> u64 {
        self.value
    }

    /// The mean at a moment without an arrival.
    pub fn at(&self, now: Time, filter: &Filter) -> u64 {
        match self.idle_since {
            Some(since) if since < now => filter.damped(self.value, now - since),
            _ => self.value,
        }
    }

    /// Nobody found a packet to send at this time.
    #[inline]
    pub fn idle_from(&mut self, at: Time) {
        self.idle_since.get_or_insert(at);
    }
}
