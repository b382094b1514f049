//! The memory limit: which queue loses its head when it is exceeded.

use super::drr::Queue;
use super::flows::QUEUES;

/// Dequeues without an overflow after which the heap is no longer kept up to date.
const IDLE_DEQUEUES: u16 = u16::MAX;

/// Entries of the heap: the queues of eight tins, of which one is in use.
const ENTRIES: usize = 8 * QUEUES;
/// An entry of another tin, always empty.
const OTHER_TIN: u16 = u16::MAX;

/// Finds the queue to drop packets of by a max-heap of backlogs, which is built at the first overflow and kept up to date as long as
/// overflows recur.
///
/// An entry that shrinks is compared, after its first step down, with the backlog of the entry that took its place, and so
/// hardly ever sinks further: as in Linux, the root is not always the fattest queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Overflow {
    /// Slots of the flow table, or `OTHER_TIN`.
    heap: Vec<u16>,
    /// Of each slot, where it is in the heap.
    position: Vec<u16>,
    /// Of each slot, the bytes held.
    backlog: Vec<u32>,
    /// Dequeues for which the heap is still kept up to date.
    timeout: u16,
}

impl Overflow {
    /// The heap is kept up to date: it must be told of changes.
    #[inline]
    pub fn is_live(&self) -> bool {
        self.timeout > 0
    }

    /// The queue at `slot` grew to `backlog`.
    pub fn grew(&mut self, slot: u16, backlog: u32) {
        self.backlog[usize::from(slot)] = backlog;
        self.raise(usize::from(self.position[usize::from(slot)]));
    }

    /// The queue at `slot` shrank to `backlog`.
    pub fn shrank(&mut self, slot: u16, backlog: u32) {
        self.backlog[usize::from(slot)] = backlog;
        self.sink(usize::from(self.position[usize::from(slot)]));
    }

    /// A packet was sent.
    pub fn on_sent(&mut self) {
        self.timeout -= 1;
    }

    /// The slot at the root, of which a packet is to be dropped.
    pub fn victim(&mut self, queues: &[Queue]) -> usize {
        if !self.is_live() {
            self.build(queues);
        }
        self.timeout = IDLE_DEQUEUES;
        usize::from(self.heap[0])
    }

    /// The root holds no packet: the heap is of no use and is built anew next time.
    pub fn give_up(&mut self) {
        self.timeout = 0;
    }

    fn build(&mut self, queues: &[Queue]) {
        if self.heap.is_empty() {
            self.heap = vec![OTHER_TIN; ENTRIES];
            self.position = (0..QUEUES as u16).map(|slot| slot * 8).collect();
            self.backlog = vec![0; QUEUES];
            for slot in 0..QUEUES as u16 {
                self.heap[usize::from(slot) * 8] = slot;
            }
        }
        for q in queues {
            self.backlog[usize::from(q.slot)] = q.backlog;
        }
        for i in (0..ENTRIES / 2).rev() {
            self.sink(i);
        }
    }

    fn backlog_at(&self, i: usize) -> u32 {
        self.backlog.get(usize::from(self.heap[i])).copied().unwrap_or(0)
    }

    fn swap(&mut self, i: usize, j: usize) {
        self.heap.swap(i, j);
        for k in [i, j] {
            if let Some(position) = self.position.get_mut(usize::from(self.heap[k])) {
                *position = k as u16;
            }
        }
    }

    /// Moves the entry at `i`, which grew, towards the root.
    fn raise(&mut self, mut i: usize) {
        while i > 0 {
            let parent = (i - 1) / 2;
            if self.backlog_at(i) <= self.backlog_at(parent) {
                break;
            }
            self.swap(i, parent);
            i = parent;
        }
    }

    /// Moves the entry at `i`, which shrank, towards the leaves.
    fn sink(&mut self, mut i: usize) {
        let mut most = self.backlog_at(i);
        loop {
            let mut larger = i;
            for child in [2 * i + 1, 2 * i + 2] {
                if child < ENTRIES && self.backlog_at(child) > most {
                    larger = child;
                    most = self.backlog_at(child);
                }
            }
            if larger == i {
                break;
            }
            self.swap(i, larger);
            i = larger;
        }
    }
}
