//! The sender's scoreboard: a list of holes below the highest SACKed segment (FreeBSD 9.3 sys/netinet/tcp_sack.c
//! `tcp_sack_doack`, `tcp_sack_output`, `tcp_sack_adjust`; RFC 2018).
//!
//! Leaves out: the limit on the holes of all connections together.

/// A run of segments that are not SACKed although later ones are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hole {
    pub start: u32,
    pub end: u32,
    /// First segment that was not retransmitted yet.
    pub rxmit: u32,
}

/// Holes in order.
#[derive(Clone, Debug)]
pub(super) struct Holes {
    list: Vec<Hole>,
    most: usize,
    /// First segment beyond the highest SACKed one, while there are holes.
    pub fack: u32,
    /// Segments retransmitted from the holes that are left.
    pub retransmitted: u32,
}

impl Holes {
    /// None, and never more than `most`.
    pub fn new(most: u32) -> Self {
        Self { list: Vec::new(), most: most as usize, fack: 0, retransmitted: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn clear(&mut self) {
        self.list.clear();
        self.retransmitted = 0;
    }

    /// Segments SACKed beyond `una`.
    pub fn sacked(&self, una: u32) -> u32 {
        if self.list.is_empty() {
            return 0;
        }
        self.fack - una - self.list.iter().map(|h| h.end - h.start).sum::<u32>()
    }

    /// The first hole with something to retransmit.
    pub fn next(&mut self) -> Option<&mut Hole> {
        self.list.iter_mut().find(|h| h.rxmit < h.end)
    }

    /// The hole whose last retransmission was `seq`, if it is still there.
    pub fn at(&mut self, seq: u32) -> Option<&mut Hole> {
        self.list.iter_mut().find(|h| h.rxmit == seq + 1 && h.start <= seq)
    }

    /// Where to go on sending after a timeout, instead of `nxt`: what is SACKed is not retransmitted.
    pub fn adjust(&self, nxt: u32) -> u32 {
        if self.list.is_empty() || nxt >= self.fack {
            return nxt;
        }
        match self.list.iter().find(|h| nxt < h.end) {
            // Before the first hole nothing is SACKed.
            Some(hole) if *hole != self.list[0] => nxt.max(hole.start),
            Some(_) => nxt,
            None => self.fack,
        }
    }

    /// Takes in an ACK for `ack` with SACK `blocks`, newest first; `una` and `max` bound what was out before it. Return the end of the
    /// highest block, if it took in any (`last_sack_ack`).
    pub fn update(&mut self, una: u32, ack: u32, max: u32, blocks: &[(u32, u32)]) -> Option<u32> {
        let mut found = [(0, 0); crate::attachment::MAX_BLOCKS + 1];
        let mut count = 0;
        if una < ack && !self.list.is_empty() {
            found[0] = (una, ack);
            count = 1;
        }
        for &(start, end) in blocks {
            if end > start && start > una && start > ack && end <= max {
                found[count] = (start, end);
                count += 1;
            }
        }
        if count == 0 {
            return None;
        }
        let found = &mut found[..count];
        found.sort_by_key(|&(_, end)| end);
        if self.list.is_empty() {
            self.fack = una.max(ack);
        }
        let highest = found[count - 1].1;
        let rest = self.extend(found);
        self.trim(&found[..rest]);
        Some(highest)
    }

    /// Moves `fack` to the highest block; returns how many of the lower ones are left to see to.
    fn extend(&mut self, blocks: &[(u32, u32)]) -> usize {
        let mut last = blocks.len() - 1;
        let (start, end) = blocks[last];
        if self.fack < start {
            if self.list.len() < self.most {
                self.list.push(Hole { start: self.fack, end: start, rxmit: self.fack });
                self.fack = end;
                return last;
            }
            // No room for another hole: blocks beyond the highest are forgotten.
            while self.fack < blocks[last].0 {
                if last == 0 {
                    return 0;
                }
                last -= 1;
            }
        }
        self.fack = self.fack.max(blocks[last].1);
        last + 1
    }

    /// Takes the blocks out of the holes, both from their ends.
    fn trim(&mut self, blocks: &[(u32, u32)]) {
        let (mut b, mut h) = (blocks.len(), self.list.len());
        while b > 0 && h > 0 {
            let (start, end) = blocks[b - 1];
            let hole = self.list[h - 1];
            if start >= hole.end {
                b -= 1;
                continue;
            }
            if end <= hole.start {
                h -= 1;
                continue;
            }
            self.retransmitted -= hole.rxmit - hole.start;
            if start <= hole.start && end >= hole.end {
                self.list.remove(h - 1);
                h -= 1;
                continue;
            }
            let mut left = hole;
            if start <= hole.start {
                left.start = end;
                left.rxmit = left.rxmit.max(end);
            } else if end >= hole.end {
                left.end = start;
                left.rxmit = left.rxmit.min(start);
            } else if self.list.len() < self.most {
                let right = Hole { start: end, end: hole.end, rxmit: hole.rxmit.max(end) };
                self.retransmitted += right.rxmit - right.start;
                self.list.insert(h, right);
                left.end = start;
                left.rxmit = left.rxmit.min(start);
            }
            self.list[h - 1] = left;
            self.retransmitted += left.rxmit - left.start;
            if start <= left.start {
                h -= 1;
            } else {
                b -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn holes(list: &[(u32, u32)], fack: u32) -> Holes {
        let mut h = Holes::new(128);
        h.list = list.iter().map(|&(start, end)| Hole { start, end, rxmit: start }).collect();
        h.fack = fack;
        h
    }

    fn ranges(h: &Holes) -> Vec<(u32, u32)> {
        h.list.iter().map(|h| (h.start, h.end)).collect()
    }

    #[test]
    fn blocks_leave_holes_between_them() {
        let mut h = Holes::new(128);
        h.update(10, 10, 40, &[(20, 22), (12, 14), (16, 17)]);
        assert_eq!(ranges(&h), [(10, 12), (14, 16), (17, 20)]);
        assert_eq!((h.fack, h.sacked(10)), (22, 5));
    }

    #[test]
    fn a_cumulative_ack_takes_holes_and_their_retransmissions() {
        let mut h = holes(&[(10, 12), (14, 16)], 20);
        for hole in &mut h.list {
            hole.rxmit = hole.end;
        }
        h.retransmitted = 4;
        h.update(10, 15, 40, &[]);
        assert_eq!((ranges(&h), h.retransmitted), (vec![(15, 16)], 1));
    }

    #[test]
    fn a_split_hole_keeps_what_was_retransmitted() {
        let mut h = holes(&[(10, 20)], 22);
        h.list[0].rxmit = 17;
        h.retransmitted = 7;
        h.update(10, 10, 40, &[(13, 15)]);
        assert_eq!(h.list, [Hole { start: 10, end: 13, rxmit: 13 }, Hole { start: 15, end: 20, rxmit: 17 }]);
        assert_eq!(h.retransmitted, 5);
        assert_eq!(h.next().map(|h| h.rxmit), Some(17));
    }

    #[test]
    fn without_room_for_a_hole_the_block_is_forgotten() {
        let mut h = Holes::new(1);
        h.update(10, 10, 40, &[(12, 14)]);
        h.update(10, 10, 40, &[(20, 22), (14, 15)]);
        assert_eq!((ranges(&h), h.fack), (vec![(10, 12)], 15));
    }

    #[test]
    fn after_a_timeout_sacked_segments_are_skipped() {
        let h = holes(&[(10, 12), (14, 16)], 20);
        assert_eq!(
            [10, 11, 12, 13, 14, 15, 16, 19, 20, 25].map(|nxt| h.adjust(nxt)),
            [10, 11, 14, 14, 14, 15, 20, 20, 20, 25]
        );
    }

    proptest! {
        /// Against a set of segments, with truthful blocks.
        #[test]
        fn the_holes_are_what_is_not_sacked(arrivals in prop::collection::vec(1u32..60, 1..80)) {
            let mut h = Holes::new(128);
            let (mut have, mut una) = ([false; 61], 0);
            for seq in arrivals {
                have[seq as usize] = true;
                have[0] |= seq == 30;
                let ack = have.iter().position(|x| !x).unwrap() as u32;
                let start = (0..=seq).rev().find(|&i| !have[i as usize]).map_or(0, |i| i + 1);
                let end = (seq..61).find(|&i| !have[i as usize]).unwrap();
                let block = (start, end);
                h.update(una, ack, 60, &[block]);
                una = ack;
                prop_assert_eq!(h.retransmitted, 0);
                let beyond = (una..60).filter(|&i| have[i as usize]).count() as u32;
                prop_assert_eq!(h.sacked(una), beyond);
                let missing: Vec<u32> = h.list.iter().flat_map(|h| h.start..h.end).collect();
                let top = if h.is_empty() { una } else { h.fack };
                let expected: Vec<u32> = (una..top).filter(|&i| !have[i as usize]).collect();
                prop_assert_eq!(missing, expected);
            }
        }
    }
}
