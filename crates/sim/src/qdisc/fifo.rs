//! pfifo and bfifo: tail drop by packets or by bytes (Linux 6.12 net/sched/sch_fifo.c).

use super::parameters::{limit_bytes, limit_packets};
use super::{Dequeued, Qdisc, QdiscStats, QueueContext, Verdict};
use crate::catalogue::{Draws, Entry};
use crate::packet::{DropCause, Packet};
use crate::pool::{Id, Pool, Queue};

/// pfifo's parameters.
pub const PFIFO: Entry = Entry {
    name: "pfifo",
    summary: "tail drop by packets",
    about: "FIFO limited in packets (Linux pfifo).",
    draws: Draws::Nothing,
    parameters: &[limit_packets()],
    tc: &[],
    since: "2.2",
};

/// bfifo's parameters.
pub const BFIFO: Entry = Entry {
    name: "bfifo",
    summary: "tail drop by bytes",
    about: "FIFO limited in bytes (Linux bfifo).",
    draws: Draws::Nothing,
    parameters: &[limit_bytes("Limit of the queue, bytes or `bdp`.").tc("limit {}")],
    tc: &[],
    since: "2.2",
};

/// The limit of a FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// pfifo.
    Packets(usize),
    /// bfifo.
    Bytes(u64),
}

/// A FIFO with tail drop.
#[derive(Clone, Debug)]
pub struct Fifo {
    limit: Limit,
    queue: Queue,
    bytes: u64,
    stats: QdiscStats,
}

impl Fifo {
    /// An empty FIFO.
    #[must_use]
    pub fn new(limit: Limit) -> Self {
        Self { limit, queue: Queue::default(), bytes: 0, stats: QdiscStats::default() }
    }
}

impl Qdisc for Fifo {
    #[inline(always)]
    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
        let slot = &mut s.packets[id];
        let len = u64::from(slot.bytes());
        let full = match self.limit {
            Limit::Packets(n) => self.queue.len() >= n,
            Limit::Bytes(n) => self.bytes + len > n,
        };
        if full {
            s.dropped.push((id, DropCause::Overflow));
            return Verdict::Dropped;
        }
        slot.time = s.now;
        self.bytes += len;
        self.queue.push(id, &mut s.packets);
        Verdict::Queued
    }

    fn dequeue(&mut self, s: &mut QueueContext) -> Dequeued {
        let Some(id) = self.queue.pop_ahead(&s.packets) else { return Dequeued::Empty };
        let slot = &s.packets[id];
        self.bytes -= u64::from(slot.bytes());
        self.stats.last_sojourn = s.now - slot.time;
        Dequeued::Packet(id)
    }

    fn peek(&mut self, s: &mut QueueContext) -> Option<u32> {
        self.queue.first().map(|id| s.packets[id].bytes())
    }

    fn for_each(&self, packets: &Pool, f: &mut dyn FnMut(&Packet)) {
        self.queue.iter(packets).for_each(f);
    }

    fn packets(&self) -> usize {
        self.queue.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn stats(&self) -> &QdiscStats {
        &self.stats
    }
}
