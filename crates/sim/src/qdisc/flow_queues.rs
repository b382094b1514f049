//! Many queues that flows are hashed to, and the order of their service: a queue that lately became active goes before the
//! others for one quantum (DRR++; RFC 8290 section 4; Linux 6.12 net/sched/sch_fq_codel.c and sch_fq_pie.c).

use super::hash::{directed, Hasher};
use super::lists::{List, Lists};
use super::parameters::{quantum, MOST, ONE_FRAME};
use super::peek_buffer::Backlog;
use super::truesize::truesize;
use crate::catalogue::{Kind, Parameter};
use crate::packet::{FlowTuple, Packet};
use crate::pool::{Id, Pool, Queue};
use crate::prefetch::{prefetch_element, LONG_QUEUE};
use crate::rng::Rng;
use crate::spec::QueuesSpec;
use crate::time::Time;

/// Parameters of the queues.
pub(super) const FLOWS: Parameter =
    Parameter::new("flows", Kind::Integer(""), "queues.flows", "Queues that flows are hashed to.")
        .or_number(1024)
        .at_least(1)
        .at_most(65_536)
        .example("1024")
        .tc("flows {}");
pub(super) const QUANTUM: Parameter = quantum("queues.quantum_bytes", 1, ONE_FRAME);
pub(super) const MEMORY_LIMIT: Parameter =
    Parameter::new("memory_limit", Kind::Size, "queues.memory_limit_bytes", "Limit of the memory that packets take.")
        .or_number(32 << 20)
        .at_most(MOST)
        .example("4MiB")
        .tc("memory_limit {}");

/// A queue and the state of its AQM.
#[derive(Clone, Debug)]
pub(super) struct FlowQueue<S> {
    /// The packets; the time of each is that of its arrival.
    pub packets: Queue,
    /// Bytes held.
    pub backlog: u64,
    /// The hash value of its flows.
    pub slot: u32,
    /// State of its AQM.
    pub state: S,
    /// Bytes it may send before its turn ends.
    deficit: i64,
}

/// The queues. A queue exists once a packet has come to it.
#[derive(Clone, Debug)]
pub(super) struct FlowQueues<S> {
    /// In order of creation.
    pub queues: Vec<FlowQueue<S>>,
    /// All that is held.
    pub held: Backlog,
    /// Memory charged for it, bytes.
    pub memory: u64,
    /// For each slot: the index of its queue plus one, or 0 if it has none yet.
    slots: Box<[u32]>,
    hasher: Hasher,
    /// The same index for each flow's data and, apart, its ACKs, so that each is hashed once. In 16 bits, because this is read in no order
    /// and shall fit in the cache; the last of 65,536 queues does not fit in them and is found by its hash.
    known: [Vec<u16>; 2],
    lists: Lists,
    quantum: i64,
}

/// One queue, and the sums over all that change with it.
pub(super) struct Head<'a, S> {
    /// The queue.
    pub queue: &'a mut FlowQueue<S>,
    /// All that is held.
    pub held: &'a mut Backlog,
    memory: &'a mut u64,
}

impl<S> Head<'_, S> {
    /// The queue sent `len` bytes.
    #[inline]
    pub fn charge(&mut self, len: u32) {
        self.queue.deficit -= i64::from(len);
    }

    /// Takes the oldest packet.
    #[inline]
    pub fn pop(&mut self, pool: &Pool) -> Option<Id> {
        let id = self.queue.packets.pop(pool)?;
        let len = pool[id].bytes();
        self.queue.backlog -= u64::from(len);
        self.held.remove(len);
        *self.memory -= u64::from(truesize(len));
        Some(id)
    }
}

impl<S: Default> FlowQueues<S> {
    /// No queues yet; the hash key comes from `rng`.
    pub fn new(spec: &QueuesSpec, rng: &mut Rng) -> Self {
        Self {
            queues: Vec::new(),
            held: Backlog::default(),
            memory: 0,
            slots: vec![0; spec.flows as usize].into(),
            hasher: Hasher::new(rng),
            known: [Vec::new(), Vec::new()],
            lists: Lists::new(),
            quantum: i64::from(spec.quantum_bytes),
        }
    }

    /// The queue of a packet, created if it is the first to need it.
    #[inline]
    pub fn classify(&mut self, p: &Packet, tuples: &[FlowTuple]) -> usize {
        match self.known[p.direction() as usize].get(p.flow()) {
            Some(&queue) if queue != 0 => queue as usize - 1,
            _ => self.meet(p, tuples),
        }
    }

    /// Loads ahead where the queue of a packet stands that comes after the next.
    #[inline]
    pub fn expect_later(&self, p: &Packet) {
        prefetch_element(&self.known[p.direction() as usize], p.flow());
    }

    /// Loads ahead the queue of a packet that comes next.
    #[inline]
    pub fn expect(&self, p: &Packet) {
        if let Some(&queue) = self.known[p.direction() as usize].get(p.flow()) {
            prefetch_element(&self.queues, usize::from(queue).wrapping_sub(1));
        }
    }

    /// Loads ahead, at the turn of `queue`, the packet whose turn may come next, and the queue after that one's.
    #[inline]
    pub fn look_ahead(&self, queue: usize, pool: &Pool) {
        if self.held.packets >= LONG_QUEUE as usize {
            self.prefetch_after(queue, pool);
        }
    }

    #[cold]
    #[inline(never)]
    fn prefetch_after(&self, queue: usize, pool: &Pool) {
        let next = self.lists.after(queue);
        if let Some(id) = self.queues[next].packets.first() {
            pool.prefetch(id);
        }
        prefetch_element(&self.queues, self.lists.after(next));
    }

    /// The queue of the first packet of a flow and direction.
    #[cold]
    fn meet(&mut self, p: &Packet, tuples: &[FlowTuple]) -> usize {
        let hash = self.hasher.flow(&directed(&tuples[p.flow()], p));
        let slot = ((u64::from(hash) * self.slots.len() as u64) >> 32) as usize;
        let queue = match self.slots[slot] {
            0 => self.create(slot),
            queue => queue as usize - 1,
        };
        let known = &mut self.known[p.direction() as usize];
        known.resize(tuples.len(), 0);
        known[p.flow()] = u16::try_from(queue + 1).unwrap_or(0);
        queue
    }

    /// The flow with this index is another one from now on.
    pub fn forget(&mut self, flow: usize) {
        self.known.iter_mut().filter_map(|known| known.get_mut(flow)).for_each(|queue| *queue = 0);
    }

    fn create(&mut self, slot: usize) -> usize {
        self.lists.add_queue();
        let (packets, state) = (Queue::default(), S::default());
        self.queues.push(FlowQueue { packets, backlog: 0, slot: slot as u32, state, deficit: 0 });
        self.slots[slot] = self.queues.len() as u32;
        self.queues.len() - 1
    }

    /// Adds a packet that comes `now` to a queue.
    #[inline]
    pub fn push(&mut self, queue: usize, id: Id, now: Time, pool: &mut Pool) {
        let slot = &mut pool[id];
        slot.time = now;
        let len = slot.bytes();
        self.held.add(len);
        self.memory += u64::from(truesize(len));
        let q = &mut self.queues[queue];
        q.backlog += u64::from(len);
        q.packets.push(id, pool);
        if self.lists.list_of(queue).is_none() {
            q.deficit = self.quantum;
            self.lists.move_to_end(queue, List::New);
        }
    }

    /// Takes the oldest packet of a queue.
    #[inline]
    pub fn pop(&mut self, queue: usize, pool: &Pool) -> Option<Id> {
        self.head(queue).pop(pool)
    }

    /// A queue to take packets from.
    #[inline]
    pub fn head(&mut self, queue: usize) -> Head<'_, S> {
        Head { queue: &mut self.queues[queue], held: &mut self.held, memory: &mut self.memory }
    }

    /// The queue whose turn it is.
    #[inline]
    pub fn select(&mut self) -> Option<usize> {
        loop {
            let queue = self.lists.first(List::New).or_else(|| self.lists.first(List::Old))?;
            let q = &mut self.queues[queue];
            if q.deficit > 0 {
                return Some(queue);
            }
            q.deficit += self.quantum;
            self.lists.move_to_end(queue, List::Old);
        }
    }

    /// The queue had nothing to send at its turn. A new one passes once through the list of old ones: otherwise a queue that is empty and
    /// not empty in turns could stay new for ever and starve the others.
    #[cold]
    #[inline(never)]
    pub fn retire(&mut self, queue: usize) {
        if self.lists.list_of(queue) == Some(List::New) && self.lists.first(List::Old).is_some() {
            self.lists.move_to_end(queue, List::Old);
        } else {
            self.lists.remove(queue);
        }
    }

    /// The fattest queue; of equals the one with the lowest slot.
    pub fn fattest(&self) -> Option<usize> {
        let key = |&i: &usize| (self.queues[i].backlog, std::cmp::Reverse(self.queues[i].slot));
        (0..self.queues.len()).max_by_key(key)
    }

    /// Calls `f` for every packet held.
    pub fn for_each(&self, pool: &Pool, f: &mut dyn FnMut(&Packet)) {
        self.queues.iter().flat_map(|q| q.packets.iter(pool)).for_each(f);
    }
}
