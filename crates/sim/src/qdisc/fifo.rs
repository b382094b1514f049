//! pfifo and bfifo: tail drop by packets or by bytes (Linux 6.12 net/sched/sch_fifo.c).

use std::collections::VecDeque;

use super::{Dequeued, Qdisc, QdiscStats, Surroundings, Verdict};
use crate::packet::{DropCause, Packet};

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
    queue: VecDeque<Packet>,
    bytes: u64,
    stats: QdiscStats,
}

impl Fifo {
    /// An empty FIFO.
    #[must_use]
    pub fn new(limit: Limit) -> Self {
        Self { limit, queue: VecDeque::new(), bytes: 0, stats: QdiscStats::default() }
    }
}

impl Qdisc for Fifo {
    fn enqueue(&mut self, p: Packet, s: &mut Surroundings) -> Verdict {
        let full = match self.limit {
            Limit::Packets(n) => self.queue.len() >= n,
            Limit::Bytes(n) => self.bytes + u64::from(p.len) > n,
        };
        if full {
            s.dropped.push((p, DropCause::Overflow));
            return Verdict::Dropped;
        }
        self.bytes += u64::from(p.len);
        self.queue.push_back(p);
        if let Some(p) = self.queue.back_mut() {
            p.time = s.now;
        }
        Verdict::Queued
    }

    fn dequeue(&mut self, s: &mut Surroundings) -> Dequeued {
        let Some(p) = self.queue.front() else { return Dequeued::Empty };
        self.bytes -= u64::from(p.len);
        self.stats.last_sojourn = s.now - p.time;
        self.queue.pop_front().map_or(Dequeued::Empty, Dequeued::Packet)
    }

    fn peek(&mut self, _: &mut Surroundings) -> Option<u32> {
        self.queue.front().map(|p| p.len)
    }

    fn for_each(&self, f: &mut dyn FnMut(&Packet)) {
        self.queue.iter().for_each(f);
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
