//! The event set: a winner tree with one slot a source (a pipe, a shaper's timer, a flow's timer).
//!
//! A key packs the time above the source's index, so that one comparison orders both and equal times are broken
//! by index, the same on every machine. Moving a source is one walk from leaf to root; nothing is ever inserted
//! or removed. The sources that move with every packet (ports) have a subtree of their own beside that of all others, so
//! that their walk does not grow with the number of flows. Design after `docs/performance.md`.

use crate::time::{Time, NEVER};

const SOURCE_BITS: u32 = 20;

/// Largest number of sources.
pub const MAX_SOURCES: usize = 1 << SOURCE_BITS;
/// Largest time, ns (about 4.8 hours).
pub const MAX_TIME: Time = (1 << (64 - SOURCE_BITS)) - 2;

/// Pending time of every source, with the earliest at hand.
#[derive(Clone, Debug)]
pub struct EventSet {
    /// Sources below this one are busy ones.
    busy: usize,
    /// What takes an index to its leaf, modulo 2^64: of the busy sources, and of the others.
    to_leaf: [usize; 2],
    keys: Vec<u64>,
}

impl EventSet {
    /// A set of `sources` idle sources, of which the first `busy` move often. Panics beyond [`MAX_SOURCES`] (an overflow of the
    /// packed key would reorder time).
    #[must_use]
    pub fn new(busy: usize, sources: usize) -> Self {
        assert!(busy <= sources && sources <= MAX_SOURCES, "{sources} event sources; at most {MAX_SOURCES}");
        // Node 2 is the root of the busy ones, node 3 that of the others; a level of n leaves is n nodes in a row.
        let (left, right) = (busy.next_power_of_two(), (sources - busy).next_power_of_two());
        let to_leaf = [2 * left, (3 * right).wrapping_sub(busy)];
        Self { busy, to_leaf, keys: vec![NEVER; 4 * left.max(right)] }
    }

    #[inline]
    fn leaf(&self, source: usize) -> usize {
        source.wrapping_add(self.to_leaf[usize::from(source >= self.busy)])
    }

    /// Sets the pending time of `source`; `NEVER`, or a time that no run reaches, makes it idle.
    #[inline]
    pub fn set(&mut self, source: usize, time: Time) {
        let mut node = self.leaf(source);
        let mut key = if time > MAX_TIME { NEVER } else { time << SOURCE_BITS | source as u64 };
        self.keys[node] = key;
        while node > 1 {
            key = key.min(self.keys[node ^ 1]);
            node /= 2;
            if self.keys[node] == key {
                return;
            }
            self.keys[node] = key;
        }
    }

    /// The event of `source` has come: it is idle from now on, and must be [`Self::set`] before the next event is asked for, because
    /// the tree is not told. This spares one of two walks.
    #[inline]
    pub fn begin(&mut self, source: usize) {
        let leaf = self.leaf(source);
        self.keys[leaf] = NEVER;
    }

    /// Pending time of `source`.
    #[inline]
    #[must_use]
    pub fn pending(&self, source: usize) -> Time {
        let key = self.keys[self.leaf(source)];
        if key == NEVER {
            NEVER
        } else {
            key >> SOURCE_BITS
        }
    }

    /// The earliest source and its time; `None` if all are idle.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<(Time, usize)> {
        let key = self.keys[1];
        (key != NEVER).then(|| (key >> SOURCE_BITS, (key & (MAX_SOURCES as u64 - 1)) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_go_to_the_lower_source() {
        let mut e = EventSet::new(2, 5);
        e.set(3, 10);
        e.set(1, 10);
        assert_eq!(e.first(), Some((10, 1)));
        e.set(1, NEVER);
        assert_eq!(e.first(), Some((10, 3)));
        e.set(3, NEVER);
        assert_eq!(e.first(), None);
    }

    #[test]
    fn a_time_beyond_every_run_is_never() {
        let mut e = EventSet::new(1, 2);
        e.set(0, MAX_TIME + 1);
        assert_eq!(e.first(), None);
        e.set(0, MAX_TIME);
        assert_eq!(e.first(), Some((MAX_TIME, 0)));
    }

    proptest! {
        #[test]
        fn first_is_the_least(busy in 0usize..=37, moves in prop::collection::vec((0usize..37, 0u64..1000), 1..300)) {
            let mut e = EventSet::new(busy, 37);
            let mut model = [NEVER; 37];
            for (source, time) in moves {
                let time = if time > 900 { NEVER } else { time };
                // The source whose event came is set once the others that it moves are.
                let due = e.first().map(|(_, due)| due).filter(|&due| due != source && time % 2 == 0);
                if let Some(due) = due {
                    e.begin(due);
                    prop_assert_eq!(e.pending(due), NEVER);
                }
                e.set(source, time);
                model[source] = time;
                if let Some(due) = due {
                    e.set(due, time / 2);
                    model[due] = time / 2;
                }
                let least = model.iter().enumerate().filter(|(_, t)| **t != NEVER).map(|(i, t)| (*t, i)).min();
                prop_assert_eq!(e.first(), least);
                prop_assert_eq!(e.pending(source), time);
            }
        }
    }
}
