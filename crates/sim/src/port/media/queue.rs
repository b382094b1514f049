//! A queue discipline behind a shaper.

use super::{Coming, Entry, Medium};
use crate::catalogue::Tell;
use crate::packet::{Packet, Verdict};
use crate::pool::{self, Id, Pool};
use crate::port::Shaper;
use crate::qdisc::{AnyQdisc, ClassTotals, Qdisc, QdiscStats, QueueContext};
use crate::time::Time;

/// A discipline and its shaper.
#[derive(Debug)]
pub struct Queue {
    qdisc: AnyQdisc,
    shaper: Shaper,
}

impl Queue {
    /// A discipline that this shaper asks for packets.
    #[must_use]
    pub fn new(qdisc: AnyQdisc, shaper: Shaper) -> Self {
        Self { qdisc, shaper }
    }

    /// Offers a packet to the discipline.
    #[inline(always)]
    pub fn offer(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        self.qdisc.enqueue(id, s)
    }

    /// Moves the packets that may leave by now to `leaving`, in order; returns when the next may, or `NEVER` if none waits.
    #[inline(always)]
    pub fn serve(&mut self, s: &mut QueueContext, leaving: &mut pool::Queue) -> Time {
        self.shaper.serve(&mut self.qdisc, s, leaving)
    }

    /// Return when the packets that leave now are out. A link takes one packet at a time, and that packet has left when the link is free;
    /// other shapers send at once.
    #[inline]
    #[must_use]
    pub fn out(&self, now: Time) -> Time {
        self.shaper.out(now)
    }
}

impl Medium for Queue {
    fn enter(&mut self, coming: Coming, s: &mut QueueContext) -> Entry {
        Entry::Offered(self.offer(coming.id, s))
    }

    fn for_each(&self, packets: &Pool, look: &mut dyn FnMut(&Packet)) {
        self.qdisc.for_each(packets, look);
    }

    fn backlog(&self) -> (usize, u64) {
        (self.qdisc.packets(), self.qdisc.bytes())
    }

    #[inline]
    fn peeked(&self) -> Option<Id> {
        self.qdisc.peeked()
    }

    #[inline]
    fn expect_later(&self, p: &Packet) {
        self.qdisc.expect_later(p);
    }

    #[inline]
    fn expect(&self, p: &Packet) -> bool {
        self.qdisc.expect(p);
        self.qdisc.packets() == 0
    }

    fn forget(&mut self, flow: usize) {
        self.qdisc.forget(flow);
    }

    fn set_rate(&mut self, rate_bps: u64) -> bool {
        if matches!(self.shaper, Shaper::Own) {
            self.qdisc.set_rate(rate_bps);
        }
        self.shaper.set_rate(rate_bps)
    }

    fn paces(&self) -> bool {
        matches!(self.qdisc, AnyQdisc::Fq(_))
    }

    fn orphans(&self) -> bool {
        matches!(self.qdisc, AnyQdisc::Netem(_))
    }

    fn stats(&self) -> QdiscStats {
        *self.qdisc.stats()
    }

    fn classes(&self) -> Vec<ClassTotals> {
        self.qdisc.classes()
    }

    fn state(&self, now: Time, tell: &mut Tell) {
        self.qdisc.state(now, tell);
    }
}
