//! Attachments: data that few packets carry beside their header. They are SACK blocks (RFC 2018, RFC 2883), the AccECN option (RFC 9768) or, if both ends of a
//! connection send, these and the sequence number of its second direction. Attachments lie in a slab beside the packets, so that packets stay small.

use crate::packet::{Packet, NO_ATTACHMENT};
use crate::prefetch::prefetch_element;

/// Most blocks that a header has room for.
pub const MAX_BLOCKS: usize = 4;
/// Maximum number of blocks beside a timestamp option.
pub const MAX_BESIDE_TIMESTAMPS: usize = 3;

/// Most blocks of an ACK on a connection with or without these options; 0 without SACK.
#[must_use]
pub fn most_blocks(sack: bool, timestamps: bool) -> usize {
    match (sack, timestamps) {
        (false, _) => 0,
        (true, true) => MAX_BESIDE_TIMESTAMPS,
        (true, false) => MAX_BLOCKS,
    }
}

/// The blocks of one ACK, in the order sent: `[start, end)` in the numbers of the direction that it acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// The blocks; the first `count` count.
    pub ranges: [(u32, u32); MAX_BLOCKS],
    /// Number of blocks.
    pub count: u8,
}

impl Blocks {
    /// A single block.
    #[must_use]
    pub fn one(range: (u32, u32)) -> Self {
        Self { ranges: [range, (0, 0), (0, 0), (0, 0)], count: 1 }
    }

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

    /// The same blocks with `by` added to all numbers.
    #[must_use]
    pub fn moved_by(mut self, by: u32) -> Self {
        for (start, end) in &mut self.ranges[..usize::from(self.count)] {
            (*start, *end) = (start.wrapping_add(by), end.wrapping_add(by));
        }
        self
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

/// Bytes that an AccECN option with all of its fields takes of a header.
pub const FULL_ECN_OPTION: u32 = 12;

/// The AccECN option (RFC 9768 section 3.2.3): bytes of payload that arrived with each codepoint, modulo 2^24, with their initial values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnBytes {
    /// The order is ECT(0), CE, ECT(1) (kind 172), not ECT(1), CE, ECT(0) (kind 174).
    pub ect0_first: bool,
    /// Number of fields.
    pub count: u8,
    /// The fields; the first `count` count.
    pub fields: [u32; 3],
}

impl EcnBytes {
    /// Bytes that it adds to a header, with padding. SACK blocks leave it the two bytes of their own padding.
    #[must_use]
    pub fn option_bytes(&self, beside_sack: bool) -> u32 {
        let size = 2 + 3 * u32::from(self.count);
        let saved = if beside_sack { 2 } else { 0 };
        if size % 4 > saved {
            size.next_multiple_of(4)
        } else {
            size / 4 * 4
        }
    }
}

/// The attachment of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// SACK blocks.
    Blocks(Blocks),
    /// SACK blocks, perhaps none, and the AccECN option.
    Accurate {
        /// SACK blocks.
        blocks: Blocks,
        /// The option.
        bytes: EcnBytes,
    },
    /// Every packet of a connection whose ends both send has this.
    Second {
        /// In a packet of the first direction: the number of the second direction that the packet acknowledges. In a packet of the second
        /// direction: the first number that the packet carries. The packet itself holds the numbers of the first direction.
        seq: u32,
        /// SACK blocks; none in most packets.
        blocks: Blocks,
    },
}

impl From<Blocks> for Attachment {
    fn from(blocks: Blocks) -> Self {
        Self::Blocks(blocks)
    }
}

impl Default for Attachment {
    fn default() -> Self {
        Self::Blocks(Blocks::default())
    }
}

impl Attachment {
    /// SACK blocks.
    #[must_use]
    pub fn blocks(&self) -> &Blocks {
        match self {
            Self::Blocks(blocks) | Self::Second { blocks, .. } | Self::Accurate { blocks, .. } => blocks,
        }
    }

    /// The AccECN option.
    #[must_use]
    pub fn ecn_bytes(&self) -> Option<&EcnBytes> {
        match self {
            Self::Accurate { bytes, .. } => Some(bytes),
            Self::Blocks(_) | Self::Second { .. } => None,
        }
    }

    /// Bytes that the options add to a header with timestamps.
    #[must_use]
    pub fn option_bytes(&self) -> u32 {
        let blocks = self.blocks();
        blocks.option_bytes() + self.ecn_bytes().map_or(0, |bytes| bytes.option_bytes(blocks.count > 0))
    }

    /// The number of the second direction; 0 without one.
    #[must_use]
    pub fn second(&self) -> u32 {
        match *self {
            Self::Blocks(_) | Self::Accurate { .. } => 0,
            Self::Second { seq, .. } => seq,
        }
    }
}

/// Attachments of all packets under way; a packet holds the slot of its own.
#[derive(Clone, Debug, Default)]
pub struct Attachments {
    slots: Vec<Attachment>,
    free: Vec<u32>,
}

impl Attachments {
    /// Give the copy of a packet a copy of its attachment.
    pub fn copy(&mut self, p: &mut Packet) {
        if p.attachment != NO_ATTACHMENT {
            p.attachment = self.put(self.get(p.attachment));
        }
    }

    /// Puts the attachment of a packet that is about to be sent into a slot.
    pub fn put(&mut self, attachment: Attachment) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = attachment;
            return slot;
        }
        self.slots.push(attachment);
        u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 packets under way")
    }

    /// Start to load a packet's attachment, if it has one.
    #[inline]
    pub fn prefetch(&self, p: &Packet) {
        if p.attachment != NO_ATTACHMENT {
            prefetch_element(&self.slots, p.attachment as usize);
        }
    }

    /// Return the attachment in a packet's slot, or an attachment without blocks if the packet has none.
    #[inline]
    #[must_use]
    pub fn get(&self, slot: u32) -> Attachment {
        if slot == NO_ATTACHMENT {
            Attachment::default()
        } else {
            self.slots[slot as usize]
        }
    }

    /// Return the attachment as [`Self::get`] does, and free its slot: the packet is gone.
    #[inline]
    pub fn take(&mut self, slot: u32) -> Attachment {
        if slot != NO_ATTACHMENT {
            self.free.push(slot);
        }
        self.get(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserted_blocks_are_in_order() {
        let mut b = Blocks::default();
        for range in [(5, 7), (1, 2), (8, 9), (3, 4), (10, 11)] {
            b.insert(range);
        }
        assert_eq!(b.as_slice(), [(1, 2), (3, 4), (5, 7), (8, 9)]);
    }
}
