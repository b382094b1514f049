//! Where packets lie on their way: written once, when they are sent, and read in place until they arrive. Queues and delays are lists
//! through the pool, so that nothing is moved and nothing is allocated per packet.

use std::ops::{Index, IndexMut};

use crate::packet::Packet;
use crate::time::Time;

/// The place of a packet, until it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(u32);

/// No place.
const NONE: u32 = u32::MAX;

/// A packet under way.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Of whoever holds it: arrival at a queue, or the moment it leaves a pipe.
    pub time: Time,
    /// The packet.
    pub packet: Packet,
    /// The next of its list, or of the free places.
    next: u32,
}

impl Slot {
    /// Frame length of the packet, bytes.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> u32 {
        u32::from(self.packet.len)
    }
}

/// All packets under way.
#[derive(Clone, Debug)]
pub struct Pool {
    slots: Vec<Slot>,
    free: u32,
}

impl Default for Pool {
    fn default() -> Self {
        Self { slots: Vec::new(), free: NONE }
    }
}

impl Pool {
    /// Gives a packet a place. The one left last is the first to be used again.
    #[inline]
    pub fn put(&mut self, packet: Packet) -> Id {
        match self.slots.get_mut(self.free as usize) {
            Some(slot) => {
                let id = Id(self.free);
                self.free = slot.next;
                slot.packet = packet;
                id
            }
            None => self.grow(packet),
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, packet: Packet) -> Id {
        let id =
            u32::try_from(self.slots.len()).ok().filter(|&id| id != NONE).expect("fewer than 2^32 packets under way");
        self.slots.push(Slot { time: 0, packet, next: NONE });
        Id(id)
    }

    /// Takes a packet from its place.
    #[inline]
    pub fn take(&mut self, id: Id) -> Packet {
        let slot = &mut self.slots[id.0 as usize];
        slot.next = self.free;
        self.free = id.0;
        slot.packet
    }
}

impl Index<Id> for Pool {
    type Output = Slot;

    #[inline]
    fn index(&self, id: Id) -> &Slot {
        &self.slots[id.0 as usize]
    }
}

impl IndexMut<Id> for Pool {
    #[inline]
    fn index_mut(&mut self, id: Id) -> &mut Slot {
        &mut self.slots[id.0 as usize]
    }
}

/// First in, first out: a list through the pool. A packet is in one list at most.
#[derive(Clone, Debug)]
pub struct Queue {
    first: u32,
    /// Means nothing while the list is empty.
    last: u32,
    len: u32,
}

impl Default for Queue {
    fn default() -> Self {
        Self { first: NONE, last: NONE, len: 0 }
    }
}

impl Queue {
    /// Appends a packet.
    #[inline]
    pub fn push(&mut self, id: Id, pool: &mut Pool) {
        pool[id].next = NONE;
        if self.len == 0 {
            self.first = id.0;
        } else {
            pool[Id(self.last)].next = id.0;
        }
        self.last = id.0;
        self.len += 1;
    }

    /// The oldest packet.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<Id> {
        (self.len > 0).then_some(Id(self.first))
    }

    /// Takes the oldest packet out of the list.
    #[inline]
    pub fn pop(&mut self, pool: &Pool) -> Option<Id> {
        let first = self.first()?;
        self.first = pool[first].next;
        self.len -= 1;
        Some(first)
    }

    /// Packets in it.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// True without packets.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The packets in order.
    pub fn iter<'a>(&self, pool: &'a Pool) -> impl Iterator<Item = &'a Packet> + use<'a> {
        std::iter::successors(self.first(), |&id| Some(pool[id].next).filter(|&next| next != NONE).map(Id))
            .map(|id| &pool[id].packet)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::{Pool, Queue, Slot};
    use crate::packet::Ecn;
    use crate::qdisc::lab::packet;

    #[test]
    fn a_packet_under_way_takes_forty_bytes() {
        assert_eq!(size_of::<Slot>(), 40);
    }

    proptest! {
        #[test]
        fn lists_keep_their_order_and_places_are_used_again(steps in prop::collection::vec((0..3_usize, 0..4_u32), 1..400)) {
            let (mut pool, mut lists, mut models) = (Pool::default(), [const { None }; 3], [const { VecDeque::new() }; 3]);
            let (mut seq, mut most) = (0, 0);
            for (list, what) in steps {
                let (queue, model): (&mut Queue, &mut VecDeque<u32>) =
                    (lists[list].get_or_insert_default(), &mut models[list]);
                if what < 2 {
                    let id = pool.put(packet(0, 66, seq, Ecn::NotEct));
                    queue.push(id, &mut pool);
                    model.push_back(seq);
                    seq += 1;
                } else if what == 2 {
                    let taken = queue.pop(&pool).map(|id| pool.take(id).seq);
                    prop_assert_eq!(taken, model.pop_front());
                } else {
                    prop_assert_eq!(queue.first().map(|id| pool[id].packet.seq), model.front().copied());
                    prop_assert!(queue.iter(&pool).map(|p| p.seq).eq(model.iter().copied()));
                }
                prop_assert_eq!((queue.len(), queue.is_empty()), (model.len(), model.is_empty()));
                most = most.max(models.iter().map(VecDeque::len).sum());
            }
            prop_assert_eq!(pool.slots.len(), most);
        }
    }
}
