//! fq_codel: CoDel on each of many queues, sparse flows first (RFC 8290; Linux 6.12 net/sched/sch_fq_codel.c).
//!
//! Left out: tc filters.

use super::codel::{Law, Source, State};
use super::flow_queues::FlowQueues;
use super::peeked::{Backlog, Deciding};
use super::{QdiscStats, Surroundings, Verdict};
use crate::network::{CodelSpec, QueuesSpec};
use crate::packet::{DropCause, Packet};
use crate::rng::Rng;

/// An fq_codel.
#[derive(Clone, Debug)]
pub struct FqCodel {
    limit: usize,
    memory_limit: u64,
    drop_batch: u64,
    law: Law,
    flows: FlowQueues<State>,
    stats: QdiscStats,
}

/// One queue, as CoDel sees it.
struct OneQueue<'a> {
    flows: &'a mut FlowQueues<State>,
    queue: usize,
}

impl Source for OneQueue<'_> {
    fn pop(&mut self) -> Option<Packet> {
        self.flows.pop(self.queue)
    }

    fn backlog(&self) -> u64 {
        self.flows.held.bytes
    }
}

impl FqCodel {
    /// An empty discipline of at most `limit` packets.
    ///
    /// # Errors
    /// A parameter that Linux refuses, named.
    pub fn new(
        limit: usize,
        queues: &QueuesSpec,
        drop_batch: u64,
        control: &CodelSpec,
        rng: &mut Rng,
    ) -> Result<Self, String> {
        if drop_batch == 0 {
            return Err("fq_codel: drop_batch must be at least 1".into());
        }
        Ok(Self {
            limit,
            memory_limit: queues.memory_limit_bytes.unwrap_or(u64::MAX),
            drop_batch,
            law: Law::new(control, "fq_codel")?,
            flows: FlowQueues::new(queues, "fq_codel", rng)?,
            stats: QdiscStats::default(),
        })
    }

    /// Drops up to a batch, or half of what the fattest queue holds, from its head; says which queue that was.
    #[cold]
    fn shed(&mut self, s: &mut Surroundings) -> Option<usize> {
        let fattest = self.flows.fattest()?;
        let threshold = self.flows.queues[fattest].backlog / 2;
        let (mut dropped, mut bytes) = (0_u32, 0);
        while let Some(p) = self.flows.pop(fattest) {
            dropped += 1;
            bytes += u64::from(p.len);
            s.dropped.push((p, DropCause::Overflow));
            if u64::from(dropped) >= self.drop_batch || bytes >= threshold {
                break;
            }
        }
        // CoDel is told to signal more often.
        let state = &mut self.flows.queues[fattest].state;
        state.count = state.count.wrapping_add(dropped);
        Some(fattest)
    }
}

impl Deciding for FqCodel {
    #[inline]
    fn enqueue(&mut self, mut p: Packet, s: &mut Surroundings) -> Verdict {
        let queue = self.flows.classify(&p, s.tuples);
        p.time = s.now;
        self.flows.push(queue, p);
        if self.flows.held.packets <= self.limit && self.flows.memory <= self.memory_limit {
            return Verdict::Queued;
        }
        match self.shed(s) {
            Some(shed) if shed == queue => Verdict::Congestion,
            _ => Verdict::Queued,
        }
    }

    #[inline]
    fn next(&mut self, s: &mut Surroundings) -> Option<Packet> {
        loop {
            let queue = self.flows.select()?;
            let mut state = self.flows.queues[queue].state;
            let mut source = OneQueue { flows: &mut self.flows, queue };
            let p = self.law.dequeue(&mut state, &mut source, s.now, s.dropped, &mut self.stats);
            self.flows.queues[queue].state = state;
            match p {
                Some(p) => {
                    self.flows.charge(queue, p.len);
                    return Some(p);
                }
                None => self.flows.retire(queue),
            }
        }
    }

    fn backlog(&mut self) -> &mut Backlog {
        &mut self.flows.held
    }

    fn held(&self) -> Backlog {
        self.flows.held
    }

    fn for_each(&self, f: &mut dyn FnMut(&Packet)) {
        self.flows.for_each(f);
    }

    fn stats(&self) -> &QdiscStats {
        &self.stats
    }
}
