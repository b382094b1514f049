//! DRR++: deficit round robin that serves a queue which lately became active ("sparse") ahead of the busy ones ("bulk").

use super::cobalt::{Cobalt, Params};
use super::hosts::Hosts;
use super::places::QUEUES;
use crate::packet::FULL_FRAME;
use crate::pool;
use crate::qdisc::lists::{List, Lists};
use crate::rng::Rng;
use crate::spec::CakeIsolation;
use crate::time::Time;

/// The set that a queue belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    /// Out of service.
    Idle,
    /// The queue is within its first quantum.
    Sparse,
    /// Emptied with its first quantum used up: in the bulk rotation, counted as sparse.
    SparseWait,
    /// In the bulk rotation, counted in its hosts' loads.
    Bulk,
    /// Empty, waiting for its COBALT state to come to rest.
    Decaying,
}

/// One queue.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// The packets; the time of each is that of its arrival.
    pub packets: pool::Queue,
    /// Bytes held.
    pub backlog: u32,
    /// State of its AQM.
    pub cobalt: Cobalt,
    /// Its place in the flow table.
    pub slot: u16,
    /// Bytes it may send before its turn ends.
    pub deficit: i32,
    set: Set,
    source: u16,
    destination: u16,
    /// Its share of the quantum in units of 2^-16 bytes, as of the number of changes at which it was computed (`Drr::changes`).
    share: u32,
    share_at: u64,
}

impl Queue {
    /// True if the queue needs a call of `Drr::activate` after a packet was added.
    #[inline]
    pub fn wants_activation(&self) -> bool {
        !matches!(self.set, Set::Sparse | Set::Bulk)
    }

    /// The share of the quantum, rounded up or down at random.
    #[inline]
    fn quantum(&self, rng: &mut Rng) -> i32 {
        ((self.share + (rng.u32() >> 16)) >> 16) as i32
    }
}

/// The queues and the order of their service.
#[derive(Clone, Debug)]
pub(super) struct Drr {
    /// In order of creation.
    pub queues: Vec<Queue>,
    lists: Lists,
    /// Bytes a queue alone on its hosts may send a round.
    quantum: u32,
    /// Loads of the sources, if the isolation mode looks at them.
    sources: Option<Hosts>,
    /// Loads of the destinations, if the isolation mode looks at them.
    destinations: Option<Hosts>,
    /// Number of changes of the rate, of the hosts of a queue or of the hosts' loads.
    changes: u64,
    /// Queues that always have something to send.
    bulk_flows: u64,
}

/// floor(65535 / load), so that no division is on the path of a packet.
static SHARE: [u16; QUEUES + 1] = share_table();

const fn share_table() -> [u16; QUEUES + 1] {
    let mut table = [u16::MAX; QUEUES + 1];
    let mut load = 1;
    while load <= QUEUES {
        table[load] = (65535 / load) as u16;
        load += 1;
    }
    table
}

impl Drr {
    /// No queues yet; `rate` is the shaper's in byte/s, if there is one.
    pub fn new(isolation: CakeIsolation, rate: Option<u64>) -> Self {
        use CakeIsolation::{DualDsthost, DualSrchost, TripleIsolate};
        let hosts_if = |wanted: bool| wanted.then(Hosts::new);
        let mut drr = Self {
            queues: Vec::new(),
            lists: Lists::new(),
            quantum: 0,
            sources: hosts_if(matches!(isolation, DualSrchost | TripleIsolate)),
            destinations: hosts_if(matches!(isolation, DualDsthost | TripleIsolate)),
            changes: 0,
            bulk_flows: 0,
        };
        drr.set_rate(rate);
        drr
    }

    /// The quantum for a shaper of `rate` byte/s.
    pub fn set_rate(&mut self, rate: Option<u64>) {
        self.changes += 1;
        self.quantum = rate.map_or(FULL_FRAME, |rate| (rate >> 12).clamp(300, u64::from(FULL_FRAME)) as u32);
    }

    /// Adds the queue of a slot of the flow table, out of service; returns its index.
    pub fn add_queue(&mut self, slot: u16) -> usize {
        self.lists.add_queue();
        self.queues.push(Queue {
            packets: pool::Queue::default(),
            backlog: 0,
            cobalt: Cobalt::default(),
            slot,
            deficit: 0,
            set: Set::Idle,
            source: 0,
            destination: 0,
            share: 0,
            share_at: 0,
        });
        self.queues.len() - 1
    }

    /// The queue is in service.
    #[inline]
    pub fn is_active(&self, queue: usize) -> bool {
        self.queues[queue].set != Set::Idle
    }

    /// A queue has its turn, or will have it.
    pub fn is_in_service(&self) -> bool {
        [List::New, List::Old].iter().any(|&list| self.lists.first(list).is_some())
    }

    /// The bytes a queue alone on its hosts may send a round.
    pub fn quantum(&self) -> u32 {
        self.quantum
    }

    /// Return the number of queues that have little to send, or only decay.
    pub fn sparse_flows(&self) -> u64 {
        let sparse = |set| matches!(set, Set::Sparse | Set::SparseWait | Set::Decaying);
        self.queues.iter().filter(|queue| sparse(queue.set)).count() as u64
    }

    /// Return the number of queues that always have something to send.
    pub fn bulk_flows(&self) -> u64 {
        self.bulk_flows
    }

    /// Assigns a queue to the hosts with these hashes; a bulk queue takes its load along.
    pub fn set_hosts(&mut self, queue: usize, source: u32, destination: u32) {
        let bulk = self.queues[queue].set == Set::Bulk;
        if bulk {
            self.leave_bulk(queue);
        }
        self.changes += 1;
        let q = &mut self.queues[queue];
        if let Some(hosts) = &mut self.sources {
            q.source = hosts.find(source);
        }
        if let Some(hosts) = &mut self.destinations {
            q.destination = hosts.find(destination);
        }
        if bulk {
            self.enter_bulk(queue);
        }
    }

    fn enter_bulk(&mut self, queue: usize) {
        self.changes += 1;
        self.bulk_flows += 1;
        let q = &mut self.queues[queue];
        q.set = Set::Bulk;
        if let Some(hosts) = &mut self.sources {
            hosts.add_bulk(q.source);
        }
        if let Some(hosts) = &mut self.destinations {
            hosts.add_bulk(q.destination);
        }
    }

    fn leave_bulk(&mut self, queue: usize) {
        self.changes += 1;
        self.bulk_flows -= 1;
        let q = &self.queues[queue];
        if let Some(hosts) = &mut self.sources {
            hosts.remove_bulk(q.source);
        }
        if let Some(hosts) = &mut self.destinations {
            hosts.remove_bulk(q.destination);
        }
    }

    /// Computes the share of the quantum of a queue, divided by the load of its busier host; it is kept until something changes.
    fn find_share(&mut self, queue: usize) {
        let q = &mut self.queues[queue];
        let mut load = 1;
        if let Some(hosts) = &self.sources {
            load = load.max(hosts.load(q.source));
        }
        if let Some(hosts) = &self.destinations {
            load = load.max(hosts.load(q.destination));
        }
        q.share = self.quantum * u32::from(SHARE[usize::from(load)]);
        q.share_at = self.changes;
    }

    /// A packet was added to a queue that wants activation.
    pub fn activate(&mut self, queue: usize, rng: &mut Rng) {
        if self.queues[queue].set == Set::SparseWait {
            self.enter_bulk(queue);
        } else {
            self.lists.move_to_end(queue, List::New);
            self.queues[queue].set = Set::Sparse;
            self.find_share(queue);
            self.queues[queue].deficit = self.queues[queue].quantum(rng);
        }
    }

    /// The next queue to serve. `first` is true at the first call of a dequeue: one decaying queue may have a turn then.
    #[inline(always)]
    pub fn select(&mut self, first: &mut bool, rng: &mut Rng) -> Option<usize> {
        let mut decaying = std::mem::take(first) && self.lists.first(List::Decaying).is_some();
        loop {
            let list = if decaying {
                List::Decaying
            } else if self.lists.first(List::New).is_some() {
                List::New
            } else if self.lists.first(List::Old).is_some() {
                List::Old
            } else {
                List::Decaying
            };
            decaying = false;
            let queue = self.lists.first(list)?;
            let q = &self.queues[queue];
            if q.deficit > 0 {
                return Some(queue);
            }
            // It used up its quantum, and gets another one at the end of the bulk rotation.
            if q.set == Set::Sparse || q.share_at != self.changes {
                self.prepare_refill(queue);
            }
            let q = &mut self.queues[queue];
            q.deficit += q.quantum(rng);
            self.lists.move_to_end(queue, List::Old);
        }
    }

    /// Before a refill that is not like the one before: the first quantum was used up, or loads have changed.
    #[cold]
    #[inline(never)]
    fn prepare_refill(&mut self, queue: usize) {
        if self.queues[queue].set == Set::Sparse {
            if self.queues[queue].packets.is_empty() {
                self.queues[queue].set = Set::SparseWait;
            } else {
                self.enter_bulk(queue);
            }
        }
        self.find_share(queue);
    }

    /// The queue was found empty at its turn: it goes out of service, or decays first.
    pub fn retire(&mut self, queue: usize, p: &Params, now: Time) {
        if self.queues[queue].set == Set::Bulk {
            self.leave_bulk(queue);
        }
        let q = &mut self.queues[queue];
        q.cobalt.on_idle(p, now);
        if q.cobalt.at_rest(now) {
            q.set = Set::Idle;
            self.lists.remove(queue);
        } else {
            q.set = Set::Decaying;
            self.lists.move_to_end(queue, List::Decaying);
        }
    }
}
