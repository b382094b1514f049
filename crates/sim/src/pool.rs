//! All packets under way: a packet is written into a slot when it is sent and read there until it arrives. Queues and delays are linked
//! lists through the slots, so that nothing is moved and nothing is allocated per packet.

use std::ops::{Index, IndexMut};

use crate::packet::{Body, Packet, Way, NO_ATTACHMENT};
use crate::prefetch::{prefetch_element, LONG_QUEUE};
use crate::time::Time;

/// The slot of a packet, until it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(u32);

/// No slot.
const NONE: u32 = u32::MAX;

/// A packet under way, and the link to the next of its list.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// In a queue, when it arrived there; in a pipe, when it comes out.
    pub time: Time,
    /// The packet.
    pub packet: Packet,
    /// The next of its list; means nothing in the last one.
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
///
/// Free slots are given out in the order of memory, round and round, so that packets sent one after another lie one behind another: a list
/// through slots in random order costs a cache miss per packet as soon as the cache is too small for all of them.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    slots: Vec<Slot>,
    /// A bit for each slot that is free for the next round.
    free: Vec<u64>,
    /// The free slots of the current word that are still to be given out, and the first slot of that word.
    word: u64,
    base: usize,
    /// The end of the current round, and the number of free slots that the round has found.
    end: usize,
    found: usize,
}

const WORD: usize = u64::BITS as usize;
/// Slots are added if a round over all slots finds fewer than one free slot in this number. The number is a compromise: little memory lies
/// idle, and on average at most half a word of bits is searched for a packet.
const SPARE: usize = 32;

/// Number of slots from which they do not fit in the second-level cache with all else.
const LARGE: usize = 8192;

/// A slot that was never used.
const EMPTY: Slot = Slot {
    time: 0,
    packet: Packet { way: Way::new(0), len: 0, flags: 0, body: Body([0; 4]), attachment: NO_ATTACHMENT },
    next: NONE,
};

impl Pool {
    /// Puts a packet into a slot. Inlined, so that the packet is written once.
    #[inline(always)]
    pub fn put(&mut self, packet: Packet) -> Id {
        if self.word == 0 {
            self.find();
        }
        let i = self.base + self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        self.slots[i].packet = packet;
        Id(i as u32)
    }

    /// Start to load the slots that are given out next, those of the current word.
    #[cold]
    #[inline(never)]
    fn prefetch_word(&self) {
        let mut word = self.word;
        while word != 0 {
            prefetch_element(&self.slots, self.base + word.trailing_zeros() as usize);
            word &= word - 1;
        }
    }

    /// Goes on to the next word with a free slot. A round is half as long again as there were slots in use in the one before it. So after
    /// a burst, when few are in use, only the first slots are used, which are in the cache; and rounds get longer as more are in use.
    #[cold]
    #[inline(never)]
    fn find(&mut self) {
        while self.word == 0 {
            self.base += WORD;
            if self.base >= self.end {
                if self.end == self.slots.len() && self.found * SPARE <= self.end {
                    self.grow();
                }
                let taken = self.end - self.found;
                let enough = (taken * 3 / 2 / WORD + 1) * WORD;
                (self.base, self.end, self.found) = (0, enough.min(self.slots.len()), 0);
            }
            self.word = std::mem::take(&mut self.free[self.base / WORD]);
            self.found += self.word.count_ones() as usize;
        }
        if self.slots.len() >= LARGE {
            self.prefetch_word();
        }
    }

    /// Adds free slots.
    fn grow(&mut self) {
        let more = self.slots.len() / SPARE / WORD * WORD + WORD;
        let end = self.slots.len() + more;
        assert!(end < NONE as usize, "slots are counted in 32 bits");
        // Not to twice as many, which would lie idle. That it happens more often costs little: on Linux a large vector grows by moving
        // pages of the address space.
        self.slots.reserve_exact(more);
        self.slots.resize(end, EMPTY);
        self.free.resize(end / WORD, u64::MAX);
    }

    /// The packet after `id` in its list; means nothing after the last.
    #[inline]
    fn after(&self, id: Id) -> Id {
        Id(self.slots[id.0 as usize].next)
    }

    /// Starts to load the slot of the packet after `id` in its list, if there is one.
    #[cold]
    #[inline(never)]
    fn prefetch_after(&self, id: Id) {
        self.prefetch(self.after(id));
    }

    /// Starts to load the slot of a packet.
    #[inline]
    pub fn prefetch(&self, id: Id) {
        prefetch_element(&self.slots, id.0 as usize);
    }

    /// Takes a packet out of its slot.
    #[inline]
    pub fn take(&mut self, id: Id) -> Packet {
        let i = id.0 as usize;
        let bit = 1 << (i % WORD);
        debug_assert!(self.free[i / WORD] & bit == 0, "a slot is freed once");
        self.free[i / WORD] |= bit;
        self.slots[i].packet
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
        if self.len == 0 {
            self.first = id.0;
        } else {
            pool[Id(self.last)].next = id.0;
        }
        self.last = id.0;
        self.len += 1;
    }

    /// The newest packet.
    #[must_use]
    pub fn last(&self) -> Option<Id> {
        (self.len > 0).then_some(Id(self.last))
    }

    /// The slots of the packets in order.
    pub fn ids<'a>(&self, pool: &'a Pool) -> impl Iterator<Item = Id> + use<'a> {
        std::iter::successors(self.first(), |&id| Some(Id(pool[id].next))).take(self.len())
    }

    /// Takes a packet out of the list that is not its last; `before` is the one before it.
    pub fn remove(&mut self, before: Option<Id>, id: Id, pool: &mut Pool) {
        let next = pool[id].next;
        match before {
            Some(before) => pool[before].next = next,
            None => self.first = next,
        }
        self.len -= 1;
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

    /// Pop like [`Self::pop`], for a list that may be long: also load the third of the remaining packets ahead.
    #[inline]
    pub fn pop_ahead(&mut self, pool: &Pool) -> Option<Id> {
        let id = self.pop(pool)?;
        if self.len >= LONG_QUEUE {
            pool.prefetch_after(pool.after(Id(self.first)));
        }
        Some(id)
    }

    /// The packet after the oldest, if the list is long: it has been loaded ahead.
    #[inline]
    #[must_use]
    pub fn second_of_many(&self, pool: &Pool) -> Option<Id> {
        (self.len > LONG_QUEUE).then(|| pool.after(Id(self.first)))
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
        self.ids(pool).map(|id| &pool[id].packet)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashSet, VecDeque};

    use proptest::prelude::*;

    use super::{Id, Pool, Queue, Slot, WORD};
    use crate::packet::{Ecn, Packet};
    use crate::qdisc::lab::packet;

    #[test]
    fn a_packet_under_way_takes_forty_bytes() {
        assert_eq!(size_of::<Slot>(), 40);
    }

    #[test]
    fn slots_freed_in_any_order_are_given_out_in_that_of_memory_and_only_as_many_as_needed() {
        let mut pool = Pool::default();
        let put =
            |pool: &mut Pool, n: usize| (0..n).map(|_| pool.put(packet(0, 66, 0, Ecn::NotEct))).collect::<Vec<_>>();
        let ids = put(&mut pool, 1000);
        for i in 0..1000 {
            pool.take(ids[i * 7919 % 1000]);
        }
        for _ in 0..50 {
            let ids = put(&mut pool, 100);
            let backwards = ids.windows(2).filter(|pair| pair[0].0 > pair[1].0).count();
            assert!(backwards <= 1, "{ids:?}");
            for &id in ids.iter().rev() {
                pool.take(id);
            }
        }
        assert!(pool.end <= 4 * WORD, "{} slots of {} in a round", pool.end, pool.slots.len());
    }

    proptest! {
        #[test]
        fn a_slot_holds_one_packet_at_a_time(steps in prop::collection::vec((any::<bool>(), 1..500_usize, any::<usize>()), 1..60)) {
            let (mut pool, mut under_way, mut most) = (Pool::default(), Vec::<Id>::new(), 0);
            for (arrives, count, which) in steps {
                for i in 0..count {
                    if arrives {
                        under_way.push(pool.put(packet(0, 66, 0, Ecn::NotEct)));
                    } else if !under_way.is_empty() {
                        let at = which.wrapping_mul(i + 1) % under_way.len();
                        pool.take(under_way.swap_remove(at));
                    }
                }
                most = most.max(under_way.len());
                let different: HashSet<u32> = under_way.iter().map(|id| id.0).collect();
                prop_assert_eq!(different.len(), under_way.len());
                prop_assert!(pool.slots.len() <= most + most / 15 + WORD, "{} slots for {most}", pool.slots.len());
            }
        }

        #[test]
        fn lists_keep_their_order_and_slots_are_used_again(steps in prop::collection::vec((0..3_usize, 0..4_u32), 1..400)) {
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
                    let taken = queue.pop(&pool).map(|id| pool.take(id).number());
                    prop_assert_eq!(taken, model.pop_front());
                } else {
                    prop_assert_eq!(queue.first().map(|id| pool[id].packet.number()), model.front().copied());
                    prop_assert!(queue.iter(&pool).map(Packet::number).eq(model.iter().copied()));
                }
                prop_assert_eq!((queue.len(), queue.is_empty()), (model.len(), model.is_empty()));
                most = most.max(models.iter().map(VecDeque::len).sum());
            }
            prop_assert!(pool.slots.len() <= most + most / 15 + WORD, "{} slots for {most}", pool.slots.len());
        }
    }
}
