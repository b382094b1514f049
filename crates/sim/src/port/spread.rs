//! A delay whose packets leave by time and not in the order in which they came: each connection has a delay of its own. It is a heap, while
//! all other delays are lists. Packets of equal times leave in the order in which they came.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::pool::Id;
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
    pub(super) fn new(part: PartOfRtt) -> Self {
        Self { part, waiting: BinaryHeap::new(), came: 0 }
    }

    /// Return the delay of a packet of a connection with this RTT, without the delay that the port adds for all.
    #[must_use]
    pub fn delay(&self, rtt: Time) -> Time {
        self.part.of(rtt)
    }

    /// A packet leaves at `out`.
    pub fn push(&mut self, id: Id, out: Time) {
        self.waiting.push(Reverse((out, self.came, id)));
        self.came += 1;
    }

    /// The next packet leaves.
    pub fn pop(&mut self) -> Option<Id> {
        self.waiting.pop().map(|Reverse((_, _, id))| id)
    }

    /// Return when the next packet leaves.
    #[must_use]
    pub fn next(&self) -> Time {
        self.waiting.peek().map_or(NEVER, |Reverse((out, ..))| *out)
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = Id> + '_ {
        self.waiting.iter().map(|Reverse((_, _, id))| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::Spread;
    use crate::pool::Pool;
    use crate::qdisc::lab::packet;
    use crate::spec::PartOfRtt;
    use crate::time::NEVER;

    #[test]
    fn packets_leave_by_time_and_of_equal_times_in_the_order_in_which_they_came() {
        let mut pool = Pool::default();
        let ids: Vec<_> = (0..5).map(|flow| pool.put(packet(flow, 66, 0, crate::packet::Ecn::NotEct))).collect();
        let mut line = Spread::new(PartOfRtt::SecondHalf);
        assert_eq!((line.delay(7), line.next(), line.pop()), (4, NEVER, None));
        [30, 10, 20, 10, 20].iter().zip(&ids).for_each(|(&out, &id)| line.push(id, out));
        assert_eq!(line.iter().count(), 5);
        let left: Vec<_> = std::iter::from_fn(|| Some((line.next(), line.pop()?))).collect();
        assert_eq!(left, [1, 3, 2, 4, 0].map(|i| ([30, 10, 20, 10, 20][i], ids[i])));
    }
}
