//! Slots by the number of their packets: a list for each number, the slot that came last first.

/// Slots, and the lists they are in.
#[derive(Clone, Debug)]
pub(super) struct Depths {
    /// (next, previous) of every slot, then of the head of every list.
    links: Vec<(u32, u32)>,
    slots: usize,
    deepest: usize,
}

impl Depths {
    /// All slots are empty; the last one is the first of its list.
    pub fn new(slots: usize, most: usize) -> Self {
        let links = (0..slots + most + 1).map(|i| (i as u32, i as u32)).collect();
        let mut depths = Self { links, slots, deepest: 0 };
        (0..slots).for_each(|slot| depths.link(slot, 0));
        depths
    }

    /// Packets in the deepest slot.
    #[inline]
    pub fn deepest(&self) -> usize {
        self.deepest
    }

    /// Return the slot that last came to have `depth` packets, among those that have that many.
    #[inline]
    pub fn first(&self, depth: usize) -> Option<usize> {
        let first = self.links[self.slots + depth].0 as usize;
        (first < self.slots).then_some(first)
    }

    /// A slot of `depth` packets got one more.
    #[inline]
    pub fn deepen(&mut self, slot: usize, depth: usize) {
        self.unlink(slot);
        self.deepest = self.deepest.max(depth + 1);
        self.link(slot, depth + 1);
    }

    /// A slot of `depth` packets lost one.
    #[inline]
    pub fn lower(&mut self, slot: usize, depth: usize) {
        self.unlink(slot);
        if self.deepest == depth && self.first(depth).is_none() {
            self.deepest -= 1;
        }
        self.link(slot, depth - 1);
    }

    fn link(&mut self, slot: usize, depth: usize) {
        let head = self.slots + depth;
        let next = self.links[head].0;
        self.links[slot] = (next, head as u32);
        self.links[head].0 = slot as u32;
        self.links[next as usize].1 = slot as u32;
    }

    fn unlink(&mut self, slot: usize) {
        let (next, previous) = self.links[slot];
        self.links[previous as usize].0 = next;
        self.links[next as usize].1 = previous;
    }
}

#[cfg(test)]
mod tests {
    use super::Depths;

    #[test]
    fn the_latest_of_the_deepest_is_found() {
        let mut depths = Depths::new(4, 3);
        assert_eq!((depths.deepest(), depths.first(0), depths.first(1)), (0, Some(3), None));
        for slot in [2, 0, 1] {
            depths.deepen(slot, 0);
        }
        assert_eq!((depths.deepest(), depths.first(0), depths.first(1)), (1, Some(3), Some(1)));
        depths.deepen(2, 1);
        depths.deepen(0, 1);
        assert_eq!((depths.deepest(), depths.first(2), depths.first(1)), (2, Some(0), Some(1)));
        depths.lower(2, 2);
        assert_eq!((depths.deepest(), depths.first(2), depths.first(1)), (2, Some(0), Some(2)));
        depths.lower(0, 2);
        assert_eq!((depths.deepest(), depths.first(2), depths.first(1)), (1, None, Some(0)));
        for slot in [0, 1, 2] {
            depths.lower(slot, 1);
        }
        assert_eq!((depths.deepest(), depths.first(0), depths.first(1)), (0, Some(2), None));
    }
}
