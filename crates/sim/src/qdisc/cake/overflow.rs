//! The memory limit: which queue loses its head when it is exceeded.

use super::places::QUEUES;

/// Dequeues without an overflow after which the heap is no longer kept up to date.
const IDLE_DEQUEUES: u16 = u16::MAX;

/// Tins for which the heap has room, whether they are in use or not.
const TINS: usize = 8;
/// Entries of the heap.
const ENTRIES: usize = TINS * QUEUES;

/// A queue: its tin, and its slot of the tin's flow table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(u16);

impl Place {
    /// Return the place of a slot of a tin.
    #[inline]
    pub fn of(tin: usize, slot: u16) -> Self {
        Self(slot * TINS as u16 + tin as u16)
    }

    /// The tin and the slot.
    pub fn parts(self) -> (usize, usize) {
        (usize::from(self.0) % TINS, usize::from(self.0) / TINS)
    }
}

/// Finds the queue to drop packets of by a max-heap of backlogs, which is built at the first overflow and kept up to date as long as
/// overflows recur.
///
/// An entry that shrinks is compared, after its first step down, with the backlog of the entry that took its place, and so
/// hardly ever sinks further: as in Linux, the root is not always the fattest queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Overflow {
    /// Queues, by their places.
    heap: Vec<u16>,
    /// For each place: its position in the heap.
    position: Vec<u16>,
    /// For each place: the bytes held.
    backlog: Vec<u32>,
    /// Dequeues for which the heap is still kept up to date.
    timeout: u16,
}

impl Overflow {
    /// True if the heap is kept up to date: then it must hear of changes.
    #[inline]
    pub fn is_live(&self) -> bool {
        self.timeout > 0
    }

    /// The queue at `place` grew to `backlog`.
    pub fn grew(&mut self, place: Place, backlog: u32) {
        self.backlog[usize::from(place.0)] = backlog;
        self.raise(usize::from(self.position[usize::from(place.0)]));
    }

    /// The queue at `place` shrank to `backlog`.
    pub fn shrank(&mut self, place: Place, backlog: u32) {
        self.backlog[usize::from(place.0)] = backlog;
        self.sink(usize::from(self.position[usize::from(place.0)]));
    }

    /// A packet was sent.
    pub fn on_sent(&mut self) {
        self.timeout -= 1;
    }

    /// The queue at the root, of which a packet is to be dropped.
    pub fn victim(&mut self) -> Place {
        self.timeout = IDLE_DEQUEUES;
        Place(self.heap[0])
    }

    /// The root holds no packet: the heap is of no use and is rebuilt next time.
    pub fn give_up(&mut self) {
        self.timeout = 0;
    }

    /// Builds the heap from these queues.
    pub fn build(&mut self, queues: impl Iterator<Item = (Place, u32)>) {
        if self.heap.is_empty() {
            self.heap = (0..ENTRIES as u16).collect();
            self.position = self.heap.clone();
            self.backlog = vec![0; ENTRIES];
        }
        for (place, backlog) in queues {
            self.backlog[usize::from(place.0)] = backlog;
        }
        for i in (0..ENTRIES / 2).rev() {
            self.sink(i);
        }
    }

    fn backlog_at(&self, i: usize) -> u32 {
        self.backlog[usize::from(self.heap[i])]
    }

    fn swap(&mut self, i: usize, j: usize) {
        self.heap.swap(i, j);
        for k in [i, j] {
            self.position[usize::from(self.heap[k])] = k as u16;
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
