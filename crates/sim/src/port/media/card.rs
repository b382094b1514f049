//! A network card, which gathers packets for its host: one interrupt reports all packets since the last one.

use super::{Coming, Entry, Medium};
use crate::qdisc::QueueContext;
use crate::time::{Duration, Time};

/// A card.
#[derive(Debug)]
pub struct Card {
    /// Time between the first packet that an interrupt reports and the interrupt.
    after: Duration,
    next: Time,
}

impl Card {
    /// A card whose interrupts come this time after the first packet that they report.
    #[must_use]
    pub fn new(after: Duration) -> Self {
        Self { after, next: 0 }
    }
}

impl Medium for Card {
    #[cold]
    #[inline(never)]
    fn enter(&mut self, _coming: Coming, s: &mut QueueContext) -> Entry {
        if s.now >= self.next {
            self.next = s.now + self.after;
        }
        Entry::Leaves(self.next)
    }
}
