//! The applications that act once all packets of an instant have been dealt with: as in Linux, where no process runs before the softirq is
//! over. An event that comes after all others of its time lets them act; there is none for a packet that arrives alone.

use super::Network;
use crate::outbox::End;
use crate::time::NEVER;

/// The applications that wait to act.
#[derive(Debug, Default)]
pub(super) struct Applications {
    waiting: Vec<(usize, End)>,
    /// The event that lets them act.
    source: usize,
}

impl Network {
    /// Event `source`, which is behind all others of its time, lets applications act.
    pub fn applications_act_by(&mut self, source: usize) {
        self.applications.source = source;
    }

    /// True if no other packet arrives the way of the one in hand at this time: neither let go by the same event, nor next in the same pipe.
    #[inline]
    pub(super) fn is_last_of_burst(&self) -> bool {
        self.arrivals.is_empty() && self.next_in_pipe > self.shared.now
    }

    /// The application at one end of a flow waits until all else of this time is done.
    #[cold]
    #[inline(never)]
    pub(super) fn add_application(&mut self, flow: usize, end: End) {
        self.applications.waiting.push((flow, end));
        self.events.set(self.applications.source, self.shared.now);
    }

    /// Takes the applications that wait to act, in order.
    pub fn take_applications(&mut self) -> Vec<(usize, End)> {
        self.events.set(self.applications.source, NEVER);
        std::mem::take(&mut self.applications.waiting)
    }
}
