//! The event set: a tournament tree with one leaf for each source (a pipe, a shaper's timer, a flow's timer).
//!
//! A key packs a time and the index of its source into one number. The time takes the upper bits, so that one comparison orders both. Of
//! two equal times the lower source comes first, on every machine. To set the time of a source, walk once from its leaf to the root;
//! nothing is ever inserted or removed. A node has eight children, which fill a cache line: finding the minimum of eight takes fewer steps
//! than three levels of pairs. The sources that change with every packet (ports) have a tree of their own, so that their walks do not get
//! longer with the number of flows. Up to four ports, that tree is one node.
//!
//! Connections that come and go have sources in slots that are reused, in a third tree that grows. Of two equal times the older connection
//! comes first, whatever slots they have, and after all sources that exist from the start.

use std::ops::Range;

use crate::time::{Time, MAX_TIME, NEVER};

const SOURCE_BITS: u32 = 20;
const _: () = assert!(MAX_TIME == (1 << (u64::BITS - SOURCE_BITS)) - 2, "a key is full");

/// Largest number of sources.
pub const MAX_SOURCES: usize = 1 << SOURCE_BITS;

/// Children of a node.
const WAYS: usize = 8;

/// Keys of the children of a node, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Node([u64; WAYS]);

impl Node {
    const IDLE: Self = Self([NEVER; WAYS]);

    #[inline(always)]
    fn least(&self) -> u64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)))
    }

    /// The smallest key if only the first half of the children have one.
    #[inline(always)]
    fn least_of_half(&self) -> u64 {
        let [a, b, c, d, ..] = self.0;
        a.min(b).min(c.min(d))
    }
}

/// A tournament tree.
#[derive(Clone, Debug)]
struct Tree {
    /// The smallest key of each child, or the key of each source if that is all.
    root: Node,
    /// The smallest key of all.
    least: u64,
    /// Nodes below the root, level by level: the minimum key of each child, or the key of each source.
    nodes: Vec<Node>,
    /// The first node of the lowest level, which is the root's if there is no other.
    leaves: usize,
    /// Only the first half of the root's children have sources.
    is_small: bool,
}

impl Tree {
    fn new(sources: usize) -> Self {
        let (mut above, mut width) = (0, 1);
        while width * WAYS < sources {
            above += width;
            width *= WAYS;
        }
        let nodes = if above == 0 { 0 } else { above - 1 + sources.div_ceil(WAYS) };
        Self {
            root: Node::IDLE,
            least: NEVER,
            nodes: vec![Node::IDLE; nodes],
            leaves: above.saturating_sub(1),
            is_small: sources <= width * WAYS / 2,
        }
    }

    /// So many sources have a leaf.
    fn room(&self) -> usize {
        (self.nodes.len() - self.leaves).max(1) * WAYS
    }

    fn key(&self, i: usize) -> u64 {
        let leaf = if self.nodes.is_empty() { &self.root } else { &self.nodes[self.leaves + i / WAYS] };
        leaf.0[i % WAYS]
    }

    /// A tree of at least `sources` with the same keys.
    fn grown(&self, sources: usize) -> Self {
        let mut tree = Self::new(sources);
        for i in 0..self.room() {
            if self.key(i) != NEVER {
                tree.set(i, self.key(i));
            }
        }
        tree
    }

    /// The place of the minimum key.
    fn first(&self) -> usize {
        let child_of =
            |node: &Node| node.0.iter().position(|&key| key == self.least).expect("a node has its least key");
        let mut place = child_of(&self.root);
        if self.nodes.is_empty() {
            return place;
        }
        while place < self.leaves {
            place = (place + 1) * WAYS + child_of(&self.nodes[place]);
        }
        (place - self.leaves) * WAYS + child_of(&self.nodes[place])
    }

    #[inline(always)]
    fn set(&mut self, i: usize, key: u64) {
        if self.nodes.is_empty() {
            self.set_in_root(i, key);
        } else {
            self.set_below_root(i, key);
        }
    }

    #[inline(never)]
    fn set_in_root(&mut self, i: usize, key: u64) {
        self.root.0[i % WAYS] = key;
        self.least = self.least_in_root();
    }

    #[inline(always)]
    fn least_in_root(&self) -> u64 {
        if self.is_small {
            self.root.least_of_half()
        } else {
            self.root.least()
        }
    }

    /// Remove the minimum key, which is that of `i`. Every node above it gets another one, so that nothing is compared on the way up.
    #[inline(never)]
    fn remove_least(&mut self, i: usize) {
        debug_assert_eq!(self.key(i), self.least);
        if self.nodes.is_empty() {
            return self.set_in_root(i, NEVER);
        }
        let mut at = self.leaves + i / WAYS;
        let leaf = &mut self.nodes[at];
        leaf.0[i % WAYS] = NEVER;
        let mut least = leaf.least();
        while at >= WAYS {
            let above = &mut self.nodes[at / WAYS - 1];
            above.0[at % WAYS] = least;
            least = above.least();
            at = at / WAYS - 1;
        }
        self.root.0[at] = least;
        self.least = self.least_in_root();
    }

    /// Return the key that the parent of node `at` holds for `at`: the minimum of its keys.
    #[inline(always)]
    fn known(&mut self, at: usize) -> &mut u64 {
        if at < WAYS {
            &mut self.root.0[at]
        } else {
            &mut self.nodes[at / WAYS - 1].0[at % WAYS]
        }
    }

    /// Walk up from the leaf of `i` while the minimum key of a node changes. A key that has decreased is the minimum or changes nothing
    /// above. A key that has increased leaves the minimum to another one.
    #[inline(never)]
    fn set_below_root(&mut self, i: usize, key: u64) {
        let mut at = self.leaves + i / WAYS;
        let before = std::mem::replace(&mut self.nodes[at].0[i % WAYS], key);
        if key < before {
            loop {
                let known = self.known(at);
                if *known <= key {
                    return;
                }
                *known = key;
                if at < WAYS {
                    break;
                }
                at = at / WAYS - 1;
            }
            self.least = self.least.min(key);
        } else if key > before {
            loop {
                let least = self.nodes[at].least();
                let known = self.known(at);
                if *known == least {
                    return;
                }
                *known = least;
                if at < WAYS {
                    break;
                }
                at = at / WAYS - 1;
            }
            self.least = self.least_in_root();
        }
    }
}

/// The key of a source at a time.
#[inline(always)]
fn key_of(source: usize, time: Time) -> u64 {
    if time > MAX_TIME {
        NEVER
    } else {
        time << SOURCE_BITS | source as u64
    }
}

/// The pending time of every source, and which is the earliest.
#[derive(Clone, Debug)]
pub struct EventSet {
    /// The sources from this one on, as many as this, are in the tree of those that change with every packet.
    busy_from: usize,
    busy_sources: usize,
    busy: Tree,
    /// Has a leaf for each source, the busy ones too, whose leaves stay idle.
    others: Tree,
    /// Sources from this one on belong to slots, `per_slot` to each.
    slots_from: usize,
    per_slot: usize,
    slots: Tree,
    /// For each slot: the number that its sources use in keys in place of their own.
    ranks: Vec<u32>,
}

impl EventSet {
    /// Make a set of `sources` idle sources. Those of `busy` change with every packet. There are no slots yet; each will have `per_slot`
    /// sources. Panics beyond [`MAX_SOURCES`], the number that a key can tell apart.
    #[must_use]
    pub fn new(busy: Range<usize>, sources: usize, per_slot: usize) -> Self {
        assert!(busy.end <= sources && sources <= MAX_SOURCES, "{sources} event sources; at most {MAX_SOURCES}");
        Self {
            busy_from: busy.start,
            busy_sources: busy.len(),
            busy: Tree::new(busy.len()),
            others: Tree::new(sources),
            slots_from: sources,
            per_slot,
            slots: Tree::new(0),
            ranks: Vec::new(),
        }
    }

    /// Give slot `slot`, which is idle and at most one beyond all so far, to connection `serial`. Return its first source. Serial numbers
    /// count up and are told apart as far as keys have room, at least for one slot. Of two equal times the lower number comes first.
    pub fn take_slot(&mut self, slot: usize, serial: u64) -> usize {
        let first = slot * self.per_slot;
        let tellable = (MAX_SOURCES - self.slots_from) / self.per_slot;
        let rank = self.slots_from as u64 + serial % tellable as u64 * self.per_slot as u64;
        if slot == self.ranks.len() {
            self.ranks.push(0);
            if self.slots.room() < first + self.per_slot {
                self.slots = self.slots.grown(2 * (first + self.per_slot));
            }
        }
        self.ranks[slot] = rank as u32;
        self.slots_from + first
    }

    /// Sets the pending time of `source`; `NEVER`, or a time that no run reaches, makes it idle.
    #[inline]
    pub fn set(&mut self, source: usize, time: Time) {
        if source.wrapping_sub(self.busy_from) < self.busy_sources {
            self.set_busy(source, time);
        } else {
            self.set_other(source, time);
        }
    }

    /// [`Self::set`] for a source that is known to be busy.
    #[inline(always)]
    pub fn set_busy(&mut self, source: usize, time: Time) {
        debug_assert!(source - self.busy_from < self.busy_sources);
        self.busy.set(source - self.busy_from, key_of(source, time));
    }

    /// [`Self::set`] for a source that is known not to be busy.
    #[inline(always)]
    pub fn set_other(&mut self, source: usize, time: Time) {
        debug_assert!(source.wrapping_sub(self.busy_from) >= self.busy_sources);
        if source < self.slots_from {
            self.others.set(source, key_of(source, time));
        } else {
            self.set_in_slot(source - self.slots_from, time);
        }
    }

    /// Make a source idle that is known not to be busy. An event that has come is mostly [taken](Self::take) already.
    #[inline(always)]
    pub fn clear_other(&mut self, source: usize) {
        if source >= self.slots_from || self.others.key(source) != NEVER {
            self.set_other(source, NEVER);
        }
    }

    /// Remove the event of `source`, which has come as the [first](Self::first) and is not busy, before it is handled: so the next event is
    /// found meanwhile, and nobody waits for it when this one is set again. Events of slots stay.
    #[inline]
    pub fn take(&mut self, source: usize) {
        if source < self.slots_from {
            self.others.remove_least(source);
        }
    }

    /// The first source of a slot.
    #[must_use]
    pub fn first_of_slot(&self, slot: usize) -> usize {
        self.slots_from + slot * self.per_slot
    }

    #[cold]
    #[inline(never)]
    fn set_in_slot(&mut self, i: usize, time: Time) {
        let rank = u64::from(self.ranks[i / self.per_slot]) + (i % self.per_slot) as u64;
        self.slots.set(i, key_of(rank as usize, time));
    }

    /// For tests: pending time of `source`.
    #[cfg(test)]
    pub fn pending(&self, source: usize) -> Time {
        let busy = source.wrapping_sub(self.busy_from);
        let key = if busy < self.busy_sources {
            self.busy.key(busy)
        } else if source < self.slots_from {
            self.others.key(source)
        } else {
            self.slots.key(source - self.slots_from)
        };
        if key == NEVER {
            NEVER
        } else {
            key >> SOURCE_BITS
        }
    }

    /// The earliest source and its time; `None` if all are idle. A number beyond the sources that there are from the start stands for
    /// [`Self::first_in_slots`].
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<(Time, usize)> {
        let key = self.busy.least.min(self.others.least).min(self.slots.least);
        (key != NEVER).then(|| (key >> SOURCE_BITS, (key & (MAX_SOURCES as u64 - 1)) as usize))
    }

    /// The earliest source of all slots.
    #[must_use]
    pub fn first_in_slots(&self) -> usize {
        self.slots_from + self.slots.first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_go_to_the_lower_source() {
        let mut e = EventSet::new(0..2, 5, 1);
        e.set(3, 10);
        e.set(1, 10);
        assert_eq!(e.first(), Some((10, 1)));
        e.set(1, NEVER);
        assert_eq!(e.first(), Some((10, 3)));
        e.set(3, NEVER);
        assert_eq!(e.first(), None);
    }

    #[test]
    fn connections_in_slots_come_in_the_order_in_which_they_were_made() {
        let mut e = EventSet::new(0..1, 2, 3);
        // The youngest connection reuses slot 0.
        for (slot, serial) in [(0, 0), (1, 1), (2, 2), (0, 3)] {
            assert_eq!(e.take_slot(slot, serial), 2 + 3 * slot);
        }
        for slot in 0..3 {
            e.set(e.first_of_slot(slot) + 2, 10);
        }
        e.set(1, 10);
        let mut order = vec![];
        while let Some((10, source)) = e.first() {
            let source = if source < 2 { source } else { e.first_in_slots() };
            order.push(source);
            e.set(source, NEVER);
        }
        assert_eq!(order, [1, 2 + 3 + 2, 2 + 6 + 2, 2 + 2]);
        // There are more slots than the tree had room for. The times that were set stay.
        e.set(2 + 3, 7);
        (3..100).for_each(|slot| _ = e.take_slot(slot, slot as u64 + 1));
        e.set(e.first_of_slot(99), 6);
        assert_eq!((e.first().unwrap().0, e.first_in_slots()), (6, 2 + 3 * 99));
        e.set(2 + 3 * 99, NEVER);
        assert_eq!((e.first().unwrap().0, e.first_in_slots()), (7, 2 + 3));
    }

    #[test]
    fn a_time_beyond_every_run_is_never() {
        let mut e = EventSet::new(0..1, 2, 1);
        e.set(0, MAX_TIME + 1);
        assert_eq!(e.first(), None);
        e.set(0, MAX_TIME);
        assert_eq!(e.first(), Some((MAX_TIME, 0)));
    }

    proptest! {
        #[test]
        fn first_is_the_least(from in 0usize..=137, busy in 0usize..=137, moves in prop::collection::vec((0usize..137, 0u64..1000), 1..300)) {
            let mut e = EventSet::new(from.min(busy)..busy, 137, 1);
            let mut model = [NEVER; 137];
            let is_busy = |source| (from.min(busy)..busy).contains(&source);
            for (source, time) in moves {
                // Before every third move the first event comes, if it is not a busy one.
                if let Some((_, first)) = e.first().filter(|&(_, first)| source % 3 == 0 && !is_busy(first)) {
                    e.take(first);
                    model[first] = NEVER;
                }
                let time = if time > 900 { NEVER } else { time };
                e.set(source, time);
                model[source] = time;
                let least = model.iter().enumerate().filter(|(_, t)| **t != NEVER).map(|(i, t)| (*t, i)).min();
                prop_assert_eq!(e.first(), least);
                prop_assert_eq!(e.pending(source), time);
            }
        }
    }
}
