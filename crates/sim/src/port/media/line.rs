//! A FIFO line, or none, with a limit: the time at which a packet leaves is known when it comes.

use super::{Coming, Entry, Medium};
use crate::pool::Id;
use crate::qdisc::QueueContext;
use crate::time::{serialisation, Time};

/// A line.
#[derive(Debug)]
pub struct Line {
    rate_bps: Option<u64>,
    /// Most packets inside.
    limit: usize,
    /// Time at which the line is free.
    free_at: Time,
}

impl Line {
    /// A free line of this rate, for so many packets at most on the line and behind it.
    #[must_use]
    pub fn new(rate_bps: Option<u64>, limit: usize) -> Self {
        Self { rate_bps, limit, free_at: 0 }
    }

    /// Return when a packet leaves that comes while so many others are inside; `None` if there is no room for it.
    #[inline]
    pub fn take(&mut self, id: Id, inside: usize, s: &QueueContext) -> Option<Time> {
        if inside >= self.limit {
            return None;
        }
        let mut out = s.now;
        if let Some(rate) = self.rate_bps {
            out = out.max(self.free_at) + serialisation(u64::from(s.packets[id].bytes()), rate);
            self.free_at = out;
        }
        Some(out)
    }
}

impl Medium for Line {
    fn enter(&mut self, coming: Coming, s: &mut QueueContext) -> Entry {
        self.take(coming.id, coming.in_pipe, s).map_or(Entry::Refused, Entry::Leaves)
    }
}
