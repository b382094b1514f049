//! The lists of queues in service, doubly linked by index into rings: a turn that ends moves the first queue to the end by moving the
//! beginning.

/// A list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// Queues that lately became active.
    New,
    /// Queues that used up a quantum.
    Old,
    /// Used by cake: empty queues whose COBALT state has not come to rest.
    Decaying,
}

/// No queue.
const NONE: u32 = u32::MAX;

/// A queue's place.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Before the first queue of a list is the last.
    previous: u32,
    next: u32,
    list: Option<List>,
}

/// The beginnings of the lists and the place of each queue.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    first: [u32; 3],
    nodes: Vec<Node>,
}

impl Lists {
    pub fn new() -> Self {
        Self { first: [NONE; 3], nodes: Vec::new() }
    }

    /// Adds the node of a new queue, in no list.
    pub fn add_queue(&mut self) {
        self.nodes.push(Node { previous: NONE, next: NONE, list: None });
    }

    /// The first queue of a list.
    #[inline]
    pub fn first(&self, list: List) -> Option<usize> {
        let first = self.first[list as usize];
        (first != NONE).then_some(first as usize)
    }

    /// The queue after one that is in a list: the first comes after the last.
    #[inline]
    pub fn after(&self, queue: usize) -> usize {
        self.nodes[queue].next as usize
    }

    /// The list a queue is in.
    #[inline]
    pub fn list_of(&self, queue: usize) -> Option<List> {
        self.nodes[queue].list
    }

    /// Takes a queue out of the list it is in, if any.
    #[inline]
    pub fn remove(&mut self, queue: usize) {
        let Node { previous, next, list } = self.nodes[queue];
        let Some(list) = list else { return };
        self.nodes[previous as usize].next = next;
        self.nodes[next as usize].previous = previous;
        let first = &mut self.first[list as usize];
        if *first == queue as u32 {
            *first = if next == queue as u32 { NONE } else { next };
        }
        self.nodes[queue].list = None;
    }

    /// Moves a queue to the end of a list.
    #[inline]
    pub fn move_to_end(&mut self, queue: usize, list: List) {
        let first = self.first[list as usize];
        if first == queue as u32 {
            self.first[list as usize] = self.nodes[queue].next;
        } else {
            self.append(queue, list);
        }
    }

    /// Moves a queue that is not the first of a list to its end.
    #[inline(never)]
    fn append(&mut self, queue: usize, list: List) {
        self.remove(queue);
        let this = queue as u32;
        let (mut next, mut previous) = (self.first[list as usize], this);
        if next == NONE {
            next = this;
            self.first[list as usize] = this;
        } else {
            previous = self.nodes[next as usize].previous;
        }
        self.nodes[queue] = Node { previous, next, list: Some(list) };
        self.nodes[previous as usize].next = this;
        self.nodes[next as usize].previous = this;
    }
}

#[cfg(test)]
mod tests {
    use super::{List, Lists};

    fn drain(lists: &mut Lists, list: List) -> Vec<usize> {
        std::iter::from_fn(|| {
            let queue = lists.first(list)?;
            lists.remove(queue);
            Some(queue)
        })
        .collect()
    }

    #[test]
    fn order_is_first_in_first_out_and_moves_leave_no_trace() {
        let mut lists = Lists::new();
        for queue in 0..5 {
            lists.add_queue();
            lists.move_to_end(queue, List::New);
        }
        lists.move_to_end(2, List::Old);
        lists.move_to_end(0, List::Old);
        lists.move_to_end(4, List::New);
        lists.move_to_end(2, List::Old);
        lists.remove(3);
        assert_eq!(lists.first(List::Decaying), None);
        assert_eq!(drain(&mut lists, List::New), [1, 4]);
        assert_eq!(drain(&mut lists, List::Old), [0, 2]);
        assert_eq!(lists.first(List::New), None);
    }
}
