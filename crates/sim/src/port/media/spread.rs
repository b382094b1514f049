//! A delay whose packets leave by time and not in the order in which they came: each connection has a delay of its own. It is a heap, while
//! all other delays are lists. Packets of equal times leave in the order in which they came.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Coming, Entry, Fate, Medium};
use crate::packet::Packet;
use crate::pool::{Id, Pool};
use crate::qdisc::QueueContext;
use crate::spec::PartOfRtt;
use crate::time::{Time, NEVER};

/// The packets on their way.
#[derive(Debug)]
pub struct Spread {
    part: PartOfRtt,
    /// Departure time of each packet, its number, and the packet.
    waiting: BinaryHeap<Reverse<(Time, u64, Id)>>,
    /// Packets that came so far.
    came: u64,
}

impl Spread {
    /// A line whose delay is this part of a connection's RTT.
    #[must_use]
    pub fn new(part: PartOfRtt) -> Self {
        Self { part, waiting: BinaryHeap::new(), came: 0 }
    }

    /// A packet leaves at `out`.
    fn push(&mut self, id: Id, out: Time) {
        self.waiting.push(Reverse((out, self.came, id)));
        self.came += 1;
    }
}

impl Medium for Spread {
    #[cold]
    #[inline(never)]
    fn enter(&mut self, Coming { id, delay, rtts, .. }: Coming, s: &mut QueueContext) -> Entry {
        self.push(id, s.now + delay + self.part.of(rtts[s.packets[id].packet.flow()]));
        Entry::Kept { copy: None, original: Fate::Stays }
    }

    fn pop(&mut self, _packets: &Pool) -> Option<Id> {
        self.waiting.pop().map(|Reverse((_, _, id))| id)
    }

    fn next(&self, _packets: &Pool) -> Time {
        self.waiting.peek().map_or(NEVER, |Reverse((out, ..))| *out)
    }

    fn for_each(&self, packets: &Pool, look: &mut dyn FnMut(&Packet)) {
        self.waiting.iter().for_each(|Reverse((_, _, id))| look(&packets[*id].packet));
    }
}

#[cfg(test)]
mod tests {
    use super::{Medium, Spread};
    use crate::pool::Pool;
    use crate::qdisc::lab::packet;
    use crate::spec::PartOfRtt;
    use crate::time::NEVER;

    #[test]
    fn packets_leave_by_time_and_of_equal_times_in_the_order_in_which_they_came() {
        let mut pool = Pool::default();
        let ids: Vec<_> = (0..5).map(|flow| pool.put(packet(flow, 66, 0, crate::packet::Ecn::NotEct))).collect();
        let mut line = Spread::new(PartOfRtt::SecondHalf);
        assert_eq!((line.next(&pool), line.pop(&pool)), (NEVER, None));
        [30, 10, 20, 10, 20].iter().zip(&ids).for_each(|(&out, &id)| line.push(id, out));
        let mut held = 0;
        line.for_each(&pool, &mut |_| held += 1);
        assert_eq!(held, 5);
        let left: Vec<_> = std::iter::from_fn(|| Some((line.next(&pool), line.pop(&pool)?))).collect();
        assert_eq!(left, [1, 3, 2, 4, 0].map(|i| ([30, 10, 20, 10, 20][i], ids[i])));
    }
}
