//! The event set: a winner tree with one slot a source (a pipe, a shaper's timer, a flow's timer).
//!
//! A key packs the time above the source's index, so that one comparison orders both and equal times are broken
//! by index, the same on every machine. Moving a source is one walk from leaf to root; nothing is ever inserted
//! or removed. Design after `docs/performance.md`.

use crate::time::{Time, NEVER};

const SOURCE_BITS: u32 = 20;

/// Largest number of sources.
pub const MAX_SOURCES: usize = 1 << SOURCE_BITS;
/// Largest time, ns (about 4.8 hours).
pub const MAX_TIME: Time = (1 << (64 - SOURCE_BITS)) - 2;

/// Pending time of every source, with the earliest at hand.
#[derive(Clone, Debug)]
pub struct EventSet {
    leaves: usize,
    keys: Vec<u64>,
}

impl EventSet {
    /// A set of `sources` idle sources. Panics beyond [`MAX_SOURCES`] (an overflow of the packed key would reorder time).
    #[must_use]
    pub fn new(sources: usize) -> Self {
        assert!(sources <= MAX_SOURCES, "{sources} event sources; at most {MAX_SOURCES}");
        let leaves = sources.next_power_of_two().max(2);
        Self { leaves, keys: vec![NEVER; 2 * leaves] }
    }

    /// Sets the pending time of `source`; `NEVER`, or a time that no run reaches, makes it idle.
    #[inline]
    pub fn set(&mut self, source: usize, time: Time) {
        let mut node = self.leaves + source;
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

    /// Pending time of `source`.
    #[inline]
    #[must_use]
    pub fn pending(&self, source: usize) -> Time {
        let key = self.keys[self.leaves + source];
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
        let mut e = EventSet::new(5);
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
        let mut e = EventSet::new(2);
        e.set(0, MAX_TIME + 1);
        assert_eq!(e.first(), None);
        e.set(0, MAX_TIME);
        assert_eq!(e.first(), Some((MAX_TIME, 0)));
    }

    proptest! {
        #[test]
        fn first_is_the_least(moves in prop::collection::vec((0usize..37, 0u64..1000), 1..300)) {
            let mut e = EventSet::new(37);
            let mut model = [NEVER; 37];
            for (source, time) in moves {
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
