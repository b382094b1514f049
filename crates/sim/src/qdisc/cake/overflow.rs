//! The memory limit: what a packet is charged, and which queue loses its head when the limit is exceeded.

use super::drr::Queue;
use crate::packet::FULL_FRAME;

/// Dequeues without an overflow after which the heap is no longer kept up.
const IDLE_DEQUEUES: u16 = u16::MAX;

/// Memory charged for a frame of `len` bytes: Linux's truesize of a packet that a driver received into one linear buffer on
/// a 64-bit machine. That is the sk_buff (256 bytes) and a power-of-two buffer for headroom (64), frame and
/// skb_shared_info (320): 2304 bytes for 1514, 768 for 66.
#[inline]
pub(super) fn truesize(len: u32) -> u32 {
    const FULL: u32 = linear(FULL_FRAME);
    if len == FULL_FRAME {
        FULL
    } else {
        linear(len)
    }
}

const fn linear(len: u32) -> u32 {
    256 + ((len + 64).next_multiple_of(64) + 320).next_power_of_two()
}

/// Finds the fattest queue by a max-heap that is built at the first overflow and kept up as long as overflows recur.
///
/// Linux's heap spans all tins and queues, used or not, and so breaks ties in another order.
#[derive(Clone, Debug, Default)]
pub(super) struct Overflow {
    /// Queue indices.
    heap: Vec<u16>,
    /// Of each queue, where it is in the heap.
    position: Vec<u16>,
    /// Dequeues for which the heap is kept up.
    timeout: u16,
}

impl Overflow {
    /// The heap is kept up: `on_enqueue` and `on_dequeue` must be told.
    #[inline]
    pub fn is_live(&self) -> bool {
        self.timeout > 0
    }

    /// A packet was added to `queue`.
    pub fn on_enqueue(&mut self, queue: usize, queues: &[Queue]) {
        self.raise(queue, queues);
    }

    /// A packet was taken from `queue`.
    pub fn on_dequeue(&mut self, queue: usize, queues: &[Queue]) {
        self.sink(usize::from(self.position[queue]), queues);
    }

    /// A packet was sent.
    pub fn on_sent(&mut self) {
        self.timeout -= 1;
    }

    /// The queue with most bytes.
    pub fn fattest(&mut self, queues: &[Queue]) -> usize {
        if self.timeout == 0 {
            self.heap = (0..queues.len() as u16).collect();
            self.position = self.heap.clone();
            for i in (0..queues.len() / 2).rev() {
                self.sink(i, queues);
            }
        }
        self.timeout = IDLE_DEQUEUES;
        usize::from(self.heap[0])
    }

    fn backlog(&self, i: usize, queues: &[Queue]) -> u32 {
        queues[usize::from(self.heap[i])].backlog
    }

    fn swap(&mut self, i: usize, j: usize) {
        self.heap.swap(i, j);
        self.position[usize::from(self.heap[i])] = i as u16;
        self.position[usize::from(self.heap[j])] = j as u16;
    }

    /// Moves a queue that grew (or is new) towards the root.
    fn raise(&mut self, queue: usize, queues: &[Queue]) {
        if queue == self.position.len() {
            self.position.push(queue as u16);
            self.heap.push(queue as u16);
        }
        let mut i = usize::from(self.position[queue]);
        while i > 0 {
            let parent = (i - 1) / 2;
            if self.backlog(i, queues) <= self.backlog(parent, queues) {
                break;
            }
            self.swap(i, parent);
            i = parent;
        }
    }

    /// Moves a queue that shrank, at `i`, towards the leaves.
    fn sink(&mut self, mut i: usize, queues: &[Queue]) {
        loop {
            let mut most = i;
            for child in [2 * i + 1, 2 * i + 2] {
                if child < self.heap.len() && self.backlog(child, queues) > self.backlog(most, queues) {
                    most = child;
                }
            }
            if most == i {
                break;
            }
            self.swap(i, most);
            i = most;
        }
    }
}
