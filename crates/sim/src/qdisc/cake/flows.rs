//! From packet to queue: a keyed hash of addresses and ports into 1024 queues, eight-way set-associative.

use super::drr::Drr;
use super::places::{associate, Place, QUEUES};
use crate::packet::{FlowTuple, Packet};
use crate::qdisc::hash::{directed, Hasher};
use crate::rng::Rng;
use crate::spec::CakeIsolation;

/// An entry of the table of queues.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Hash of the flow that used it last.
    tag: u32,
    /// Index of the queue plus one; 0 is none yet.
    queue: u16,
}

/// Finds the queue of a packet.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    isolation: CakeIsolation,
    hasher: Hasher,
    entries: Box<[Entry; QUEUES]>,
}

impl Flows {
    /// An empty table; the hash key comes from `rng`.
    pub fn new(isolation: CakeIsolation, rng: &mut Rng) -> Self {
        let hasher = Hasher::new(rng);
        Self { isolation, hasher, entries: Box::new([Entry::default(); QUEUES]) }
    }

    /// The queue of a packet, created if it is the first to need it.
    #[inline]
    pub fn classify(&mut self, p: &Packet, tuples: &[FlowTuple], drr: &mut Drr) -> usize {
        if self.isolation == CakeIsolation::Flowblind {
            return self.queue_of(0, drr);
        }
        let tuple = directed(&tuples[p.flow()], p);
        let hash = self.hash(&tuple);
        let entry = self.entries[hash as usize % QUEUES];
        if entry.tag == hash && is_active(entry, drr) {
            return usize::from(entry.queue) - 1;
        }
        self.allocate(hash, &tuple, drr)
    }

    /// The queue at a slot of the table, if there is one yet.
    pub fn queue_at(&self, slot: usize) -> Option<usize> {
        usize::from(self.entries[slot].queue).checked_sub(1)
    }

    /// The queue of a packet that has just been put in it.
    pub fn find(&self, p: &Packet, tuples: &[FlowTuple]) -> usize {
        let hash = self.hash(&directed(&tuples[p.flow()], p));
        let place = associate(hash, |i| self.entries[i].tag == hash && self.entries[i].queue > 0, |_| false);
        let (Place::Mine(i) | Place::Free(i) | Place::Shared(i)) = place;
        self.queue_at(i).expect("the packet is in a queue")
    }

    /// The hash that decides about the queue.
    #[inline]
    pub fn hash(&self, t: &FlowTuple) -> u32 {
        match self.isolation {
            CakeIsolation::Flowblind => 0,
            CakeIsolation::Srchost => self.hasher.host(t.src),
            CakeIsolation::Dsthost => self.hasher.host(t.dst),
            CakeIsolation::Hosts => self.hasher.host(t.src) ^ self.hasher.host(t.dst),
            CakeIsolation::Flows
            | CakeIsolation::DualSrchost
            | CakeIsolation::DualDsthost
            | CakeIsolation::TripleIsolate => self.hasher.flow(t),
        }
    }

    /// The queue of entry `i`, created if there is none.
    #[inline]
    fn queue_of(&mut self, i: usize, drr: &mut Drr) -> usize {
        let entry = &mut self.entries[i];
        if entry.queue == 0 {
            entry.queue = drr.add_queue(i as u16) as u16 + 1;
        }
        usize::from(entry.queue) - 1
    }

    /// The direct lookup failed: searches the set, takes a free queue or shares one.
    #[cold]
    #[inline(never)]
    fn allocate(&mut self, hash: u32, t: &FlowTuple, drr: &mut Drr) -> usize {
        let active = |i: usize| is_active(self.entries[i], drr);
        let place = associate(hash, |i| self.entries[i].tag == hash, |i| !active(i));
        let (i, new) = match place {
            Place::Mine(i) => (i, !active(i)),
            Place::Free(i) | Place::Shared(i) => (i, true),
        };
        self.entries[i].tag = hash;
        let queue = self.queue_of(i, drr);
        if new {
            drr.set_hosts(queue, self.hasher.host(t.src), self.hasher.host(t.dst));
        }
        queue
    }
}

#[inline]
fn is_active(entry: Entry, drr: &Drr) -> bool {
    entry.queue != 0 && drr.is_active(usize::from(entry.queue) - 1)
}
