//! SACK blocks on their way: a small slab beside the packets, so that packets stay small (RFC 2018, RFC 2883).

/// Most blocks beside a timestamp option.
pub const MAX_BLOCKS: usize = 3;

/// The blocks of one ACK, in the order sent: `[start, end)` in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// The blocks; the first `count` count.
    pub ranges: [(u32, u32); MAX_BLOCKS],
    /// How many.
    pub count: u8,
}

impl Blocks {
    /// Adds a block if there is room.
    pub fn push(&mut self, range: (u32, u32)) {
        if usize::from(self.count) < MAX_BLOCKS {
            self.ranges[usize::from(self.count)] = range;
            self.count += 1;
        }
    }

    /// Adds a block in ascending order if there is room.
    pub fn insert(&mut self, range: (u32, u32)) {
        let mut at = usize::from(self.count);
        if at == MAX_BLOCKS {
            return;
        }
        while at > 0 && self.ranges[at - 1] > range {
            self.ranges[at] = self.ranges[at - 1];
            at -= 1;
        }
        self.ranges[at] = range;
        self.count += 1;
    }

    /// The blocks.
    #[must_use]
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.ranges[..usize::from(self.count)]
    }

    /// Bytes that the option adds to a header with timestamps.
    #[must_use]
    pub fn option_bytes(&self) -> u32 {
        if self.count == 0 {
            0
        } else {
            4 + 8 * u32::from(self.count)
        }
    }
}

/// Blocks of all packets under way; a packet holds the index of its own.
#[derive(Clone, Debug, Default)]
pub struct Slab {
    slots: Vec<Blocks>,
    free: Vec<u32>,
}

impl Slab {
    /// Stores blocks; returns their slot.
    pub fn put(&mut self, blocks: Blocks) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = blocks;
            return slot;
        }
        self.slots.push(blocks);
        u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 packets under way")
    }

    /// The blocks of a slot.
    #[must_use]
    pub fn get(&self, slot: u32) -> Blocks {
        self.slots[slot as usize]
    }

    /// Takes the blocks of a slot and frees it.
    pub fn take(&mut self, slot: u32) -> Blocks {
        self.free.push(slot);
        self.slots[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserted_blocks_are_in_order() {
        let mut b = Blocks::default();
        for range in [(5, 7), (1, 2), (3, 4), (8, 9)] {
            b.insert(range);
        }
        assert_eq!(b.as_slice(), [(1, 2), (3, 4), (5, 7)]);
    }
}
