//! Disciplines that decide about a packet when it leaves: peeking takes it out and keeps it at hand, where it still counts
//! as held (Linux qdisc_peek_dequeued).

use super::{Dequeued, Qdisc, QdiscStats, QueueContext, Verdict};
use crate::packet::Packet;
use crate::pool::{Id, Pool};
use crate::time::Time;

/// What a discipline holds, the packet at hand included.
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

/// A discipline that decides when a packet leaves.
pub trait Deciding {
    /// Does what was due by now; called before anything changes.
    fn catch_up(&mut self, _now: Time) {}
    /// Offers a packet.
    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict;
    /// Takes the next packet that may pass.
    fn next(&mut self, s: &mut QueueContext) -> Option<Id>;
    /// What is held.
    fn backlog(&mut self) -> &mut Backlog;
    /// What is held.
    fn held(&self) -> Backlog;
    /// Calls `f` for every packet held, except the one at hand.
    fn for_each(&self, packets: &Pool, f: &mut dyn FnMut(&Packet));
    /// Counters.
    fn stats(&self) -> &QdiscStats;
}

/// A deciding discipline and the packet at hand.
#[derive(Clone, Debug)]
pub struct Peeked<Q> {
    qdisc: Q,
    at_hand: Option<Id>,
}

impl<Q: Deciding> Peeked<Q> {
    /// With nothing at hand.
    #[must_use]
    pub fn new(qdisc: Q) -> Self {
        Self { qdisc, at_hand: None }
    }
}

impl<Q: Deciding> Qdisc for Peeked<Q> {
    #[inline]
    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        self.qdisc.catch_up(s.now);
        self.qdisc.enqueue(id, s)
    }

    #[inline]
    fn dequeue(&mut self, s: &mut QueueContext) -> Dequeued {
        self.qdisc.catch_up(s.now);
        if let Some(id) = self.at_hand.take() {
            self.qdisc.backlog().remove(s.packets[id].bytes());
            return Dequeued::Packet(id);
        }
        self.qdisc.next(s).map_or(Dequeued::Empty, Dequeued::Packet)
    }

    fn peek(&mut self, s: &mut QueueContext) -> Option<u32> {
        if self.at_hand.is_none() {
            self.qdisc.catch_up(s.now);
            self.at_hand = self.qdisc.next(s);
            if let Some(id) = self.at_hand {
                self.qdisc.backlog().add(s.packets[id].bytes());
            }
        }
        self.at_hand.map(|id| s.packets[id].bytes())
    }

    /// As peek and dequeue, but a packet that may go at once never comes to hand.
    #[inline]
    fn dequeue_when(&mut self, ready: impl FnOnce(u32) -> Time, s: &mut QueueContext) -> Dequeued {
        if let Some(id) = self.at_hand {
            let t = ready(s.packets[id].bytes());
            return if t > s.now { Dequeued::Wait(t) } else { self.dequeue(s) };
        }
        self.qdisc.catch_up(s.now);
        let Some(id) = self.qdisc.next(s) else { return Dequeued::Empty };
        let len = s.packets[id].bytes();
        let t = ready(len);
        if t <= s.now {
            return Dequeued::Packet(id);
        }
        self.qdisc.backlog().add(len);
        self.at_hand = Some(id);
        Dequeued::Wait(t)
    }

    fn for_each(&self, packets: &Pool, f: &mut dyn FnMut(&Packet)) {
        self.at_hand.iter().for_each(|&id| f(&packets[id].packet));
        self.qdisc.for_each(packets, f);
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
}
