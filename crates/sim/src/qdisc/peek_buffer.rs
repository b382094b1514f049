//! The peek buffer. A token bucket must know the length of the next packet before that may leave. But many disciplines only decide which
//! packet is next, and whether it is marked or dropped, when they dequeue it. For these disciplines a peek is a dequeue into a buffer of
//! one packet, which still counts as held (Linux `qdisc_peek_dequeued`).

use super::{ClassTotals, Dequeued, Qdisc, QdiscStats, QueueContext, Verdict};
use crate::catalogue::Tell;
use crate::packet::Packet;
use crate::pool::{Id, Pool};
use crate::time::Time;

/// Packets and bytes that a discipline holds, with the packet in the peek buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: usize,
    /// Bytes.
    pub bytes: u64,
}

impl Backlog {
    /// A packet of `len` bytes came.
    #[inline]
    pub fn add(&mut self, len: u32) {
        self.packets += 1;
        self.bytes += u64::from(len);
    }

    /// A packet of `len` bytes is gone.
    #[inline]
    pub fn remove(&mut self, len: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(len);
    }
}

/// A discipline that cannot be peeked into without dequeueing; see [`PeekBuffer`].
pub trait PeekByDequeue {
    /// Runs the timers that are due at `now`; called before every enqueue and dequeue.
    fn run_timers(&mut self, _now: Time) {}
    /// Offers a packet.
    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict;
    /// Takes the next packet that may pass.
    fn next(&mut self, s: &mut QueueContext) -> Option<Id>;
    /// Return the reason why [`Self::next`] gave nothing: there is no packet, or none that may leave yet.
    fn without_next(&self) -> Dequeued {
        Dequeued::Empty
    }
    /// A packet comes after the next; see [`Self::expect`].
    fn expect_later(&self, _p: &Packet) {}
    /// A packet comes next: load the memory ahead that it will touch.
    fn expect(&self, _p: &Packet) {}
    /// Forget a flow; see [`Qdisc::forget`].
    fn forget(&mut self, _flow: usize) {}
    /// Return the backlog, to be changed.
    fn backlog(&mut self) -> &mut Backlog;
    /// Return the backlog.
    fn held(&self) -> Backlog;
    /// Calls `f` for every packet held, except the one in the peek buffer.
    fn for_each(&self, packets: &Pool, f: &mut dyn FnMut(&Packet));
    /// Counters.
    fn stats(&self) -> &QdiscStats;
    /// The totals of its classes; none by default.
    fn classes(&self) -> Vec<ClassTotals> {
        vec![]
    }
    /// Tells its state; see [`Qdisc::state`].
    fn state(&self, _now: Time, _tell: &mut Tell) {}
}

/// A discipline with a peek buffer.
#[derive(Clone, Debug)]
pub struct PeekBuffer<Q> {
    qdisc: Q,
    /// The packet that a peek dequeued.
    buffer: Option<Id>,
}

impl<Q: PeekByDequeue> PeekBuffer<Q> {
    /// With an empty buffer.
    #[must_use]
    pub fn new(qdisc: Q) -> Self {
        Self { qdisc, buffer: None }
    }

    /// [`PeekByDequeue::next`], which is inlined only where most packets leave.
    #[inline(never)]
    fn next(&mut self, s: &mut QueueContext) -> Option<Id> {
        self.qdisc.next(s)
    }
}

impl<Q: PeekByDequeue> Qdisc for PeekBuffer<Q> {
    #[inline]
    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        self.qdisc.run_timers(s.now);
        self.qdisc.enqueue(id, s)
    }

    #[inline]
    fn dequeue(&mut self, s: &mut QueueContext) -> Dequeued {
        self.qdisc.run_timers(s.now);
        if let Some(id) = self.buffer.take() {
            self.qdisc.backlog().remove(s.packets[id].bytes());
            return Dequeued::Packet(id);
        }
        self.next(s).map_or_else(|| self.qdisc.without_next(), Dequeued::Packet)
    }

    fn peek(&mut self, s: &mut QueueContext) -> Option<u32> {
        if self.buffer.is_none() {
            self.qdisc.run_timers(s.now);
            self.buffer = self.next(s);
            if let Some(id) = self.buffer {
                self.qdisc.backlog().add(s.packets[id].bytes());
            }
        }
        self.buffer.map(|id| s.packets[id].bytes())
    }

    /// Peek and dequeue, but let a packet that may go at once skip the buffer.
    #[inline]
    fn dequeue_when(&mut self, ready: impl FnOnce(u32) -> Time, s: &mut QueueContext) -> Dequeued {
        if let Some(id) = self.buffer {
            let len = s.packets[id].bytes();
            let t = ready(len);
            if t > s.now {
                return Dequeued::Wait(t);
            }
            self.qdisc.run_timers(s.now);
            self.buffer = None;
            self.qdisc.backlog().remove(len);
            return Dequeued::Packet(id);
        }
        self.qdisc.run_timers(s.now);
        let Some(id) = self.qdisc.next(s) else { return self.qdisc.without_next() };
        let len = s.packets[id].bytes();
        let t = ready(len);
        if t <= s.now {
            return Dequeued::Packet(id);
        }
        self.qdisc.backlog().add(len);
        self.buffer = Some(id);
        Dequeued::Wait(t)
    }

    fn forget(&mut self, flow: usize) {
        self.qdisc.forget(flow);
    }

    fn classes(&self) -> Vec<ClassTotals> {
        self.qdisc.classes()
    }

    fn for_each(&self, packets: &Pool, f: &mut dyn FnMut(&Packet)) {
        self.buffer.iter().for_each(|&id| f(&packets[id].packet));
        self.qdisc.for_each(packets, f);
    }

    #[inline]
    fn expect_later(&self, p: &Packet) {
        self.qdisc.expect_later(p);
    }

    #[inline]
    fn expect(&self, p: &Packet) {
        self.qdisc.expect(p);
    }

    #[inline]
    fn peeked(&self) -> Option<Id> {
        self.buffer
    }

    #[inline]
    fn packets(&self) -> usize {
        self.qdisc.held().packets
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.qdisc.held().bytes
    }

    #[inline]
    fn stats(&self) -> &QdiscStats {
        self.qdisc.stats()
    }

    fn state(&self, now: Time, tell: &mut Tell) {
        self.qdisc.state(now, tell);
    }
}
