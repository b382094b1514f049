//! The scoreboard: one record a segment in flight, in a ring; SACKed ranges as runs; segments in order of transmission
//! as a list through the ring (RACK walks it); lost segments as a heap (retransmission takes the lowest).
//!
//! Most segments are sent once and acknowledged in order. They are never linked: the list ends in a tail of fresh segments, in the order of
//! their numbers, that is linked only when something leaves its middle or follows it.

mod renumber;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use crate::attachment::Blocks;
use crate::tcp::common::ranges;
use crate::time::{MAX_TIME, US};

/// Marks of a segment (Linux's TCPCB_*).
pub mod mark {
    /// SACKed.
    pub const SACKED: u8 = 1;
    /// A retransmission is in flight.
    pub const RETRANS: u8 = 2;
    /// Deemed lost.
    pub const LOST: u8 = 4;
    /// Retransmitted at some time.
    pub const EVER_RETRANS: u8 = 8;
    /// Retransmitted, now or before.
    pub const ANY_RETRANS: u8 = RETRANS | EVER_RETRANS;
    /// In the list of transmissions.
    pub const LISTED: u8 = 16;
    /// SACKed, and part of the one before it in the send buffer.
    pub const MERGED: u8 = 32;
}

/// End of the list.
const NIL: u32 = u32::MAX;

/// A segment in flight. There are tens of thousands on long paths: 12 bytes, with 48 bits for the time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    sent_low: u32,
    /// Note of loss detection on a segment when it is sent: the number of segments delivered (RACK), the next new segment (FACK).
    pub noted: u32,
    sent_high: u16,
    /// See [`mark`].
    pub marks: u8,
}

const _: () = assert!(MAX_TIME / US < 1 << 48, "a segment's time needs more bits");

impl Segment {
    /// A segment sent for the first time at `sent_us`, below 2^48 us.
    #[inline]
    fn new(sent_us: u64, noted: u32) -> Self {
        Self { sent_low: sent_us as u32, noted, sent_high: (sent_us >> 32) as u16, marks: mark::LISTED }
    }

    /// Last transmission, us.
    #[inline]
    #[must_use]
    pub fn sent_us(&self) -> u64 {
        u64::from(self.sent_high) << 32 | u64::from(self.sent_low)
    }

    /// It is retransmitted.
    #[inline]
    pub fn set_sent_us(&mut self, sent_us: u64) {
        (self.sent_low, self.sent_high) = (sent_us as u32, (sent_us >> 32) as u16);
    }
}

/// Neighbours of a segment in the list of transmissions.
#[derive(Clone, Copy, Debug, Default)]
struct Links {
    prev: u32,
    next: u32,
}

/// All segments in flight, by sequence number.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    ring: Vec<Segment>,
    /// Beside the ring, as most segments are never linked.
    links: Vec<Links>,
    first: u32,
    last: u32,
    /// The fresh tail of the list.
    fresh: Range<u32>,
    /// First segment above all that were ever marked.
    unmarked_from: u32,
    /// End of the highest SACKed range; meaningful while something is SACKed.
    pub highest_sacked: u32,
    runs: VecDeque<(u32, u32)>,
    lost: BinaryHeap<Reverse<u32>>,
    /// The list of [`Self::holes_within`], kept for its allocation.
    holes: Vec<(u32, u32)>,
    /// The blocks of the last ACK that had any, in ascending order (`recv_sack_cache`).
    walked: Blocks,
}

impl Default for Scoreboard {
    fn default() -> Self {
        Self {
            ring: vec![Segment::default(); 64],
            links: vec![Links::default(); 64],
            first: NIL,
            last: NIL,
            fresh: 0..0,
            unmarked_from: 0,
            highest_sacked: 0,
            runs: VecDeque::new(),
            lost: BinaryHeap::new(),
            holes: Vec::new(),
            walked: Blocks::default(),
        }
    }
}

impl Scoreboard {
    /// A segment in flight.
    #[inline]
    #[must_use]
    pub fn get(&self, seq: u32) -> &Segment {
        &self.ring[seq as usize & (self.ring.len() - 1)]
    }

    /// A segment in flight, to be marked.
    #[inline]
    pub fn get_mut(&mut self, seq: u32) -> &mut Segment {
        self.unmarked_from = self.unmarked_from.max(seq + 1);
        self.slot(seq)
    }

    #[inline]
    fn slot(&mut self, seq: u32) -> &mut Segment {
        let mask = self.ring.len() - 1;
        &mut self.ring[seq as usize & mask]
    }

    #[inline]
    fn links(&mut self, seq: u32) -> &mut Links {
        let mask = self.links.len() - 1;
        &mut self.links[seq as usize & mask]
    }

    /// True if nothing from `una` on was ever marked, so that all of it was sent once, in order.
    #[inline]
    #[must_use]
    pub fn is_unmarked(&self, una: u32) -> bool {
        una >= self.unmarked_from
    }

    /// Adds the segments of `run`, sent for the first time, when `[una, run.start)` is in flight.
    #[inline(always)]
    pub fn push_run(&mut self, una: u32, run: Range<u32>, sent_us: u64, noted: u32) {
        if (run.end - una) as usize > self.ring.len() {
            self.grow(una, &run);
        }
        if self.fresh.is_empty() {
            self.fresh.start = run.start;
        }
        self.fresh.end = run.end;
        let ring = &mut self.ring[..];
        for seq in run {
            ring[seq as usize & (ring.len() - 1)] = Segment::new(sent_us, noted);
        }
    }

    /// Doubles the ring until it takes `run` as well.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, una: u32, run: &Range<u32>) {
        let mut size = self.ring.len();
        while (run.end - una) as usize > size {
            size *= 2;
        }
        let (mut ring, mut links) = (vec![Segment::default(); size], vec![Links::default(); size]);
        for seq in una..run.start {
            ring[seq as usize & (size - 1)] = *self.get(seq);
            links[seq as usize & (size - 1)] = *self.links(seq);
        }
        (self.ring, self.links) = (ring, links);
    }

    /// Links the fresh tail.
    fn link_fresh(&mut self) {
        for seq in self.fresh.clone() {
            self.link(seq);
        }
        self.fresh.start = self.fresh.end;
    }

    fn link(&mut self, seq: u32) {
        let last = self.last;
        *self.links(seq) = Links { prev: last, next: NIL };
        if last == NIL {
            self.first = seq;
        } else {
            self.links(last).next = seq;
        }
        self.last = seq;
    }

    /// Puts `seq` at the end of the list of transmissions.
    #[inline(always)]
    pub fn append(&mut self, seq: u32) {
        self.link_fresh();
        self.slot(seq).marks |= mark::LISTED;
        self.link(seq);
    }

    /// Takes `seq` out of the list of transmissions, if it is there.
    #[inline(always)]
    pub fn unlist(&mut self, seq: u32) {
        let s = self.slot(seq);
        if s.marks & mark::LISTED == 0 {
            return;
        }
        s.marks &= !mark::LISTED;
        self.leave_list(seq);
    }

    /// Takes `seq` out of the list, whose mark says no more that it is there.
    #[inline(always)]
    pub fn leave_list(&mut self, seq: u32) {
        if seq == self.fresh.start && !self.fresh.is_empty() {
            self.fresh.start += 1;
        } else {
            self.unlink(seq);
        }
    }

    #[inline(never)]
    fn unlink(&mut self, seq: u32) {
        if self.fresh.contains(&seq) {
            self.link_fresh();
        }
        let links = &mut self.links[..];
        let mask = links.len() - 1;
        let Links { prev, next } = links[seq as usize & mask];
        if prev == NIL {
            self.first = next;
        } else {
            links[prev as usize & mask].next = next;
        }
        if next == NIL {
            self.last = prev;
        } else {
            links[next as usize & mask].prev = prev;
        }
    }

    /// Takes everything below `una` out of the list, when nothing there was ever marked: what is left begins with `una`.
    #[inline]
    pub fn unlist_unmarked(&mut self, una: u32) {
        if una >= self.fresh.start {
            self.fresh.start = una;
            (self.first, self.last) = (NIL, NIL);
        } else {
            self.first = una;
            self.links(una).prev = NIL;
        }
    }

    /// The segment at `at` in the list, or if that is its end the first fresh one.
    #[inline]
    fn or_oldest_fresh(&self, at: u32) -> Option<u32> {
        if at != NIL {
            Some(at)
        } else if self.fresh.start < self.fresh.end {
            Some(self.fresh.start)
        } else {
            None
        }
    }

    /// The segment transmitted longest ago among those listed.
    #[must_use]
    pub fn oldest(&self) -> Option<u32> {
        self.or_oldest_fresh(self.first)
    }

    /// The one transmitted after `seq`, which is listed.
    #[must_use]
    pub fn younger(&self, seq: u32) -> Option<u32> {
        if self.fresh.contains(&seq) {
            return (seq + 1 < self.fresh.end).then_some(seq + 1);
        }
        self.or_oldest_fresh(self.links[seq as usize & (self.links.len() - 1)].next)
    }

    /// Sub-ranges of `[start, end)` that are not SACKed, in order. Give the list [back](Self::recycle).
    pub fn holes_within(&mut self, start: u32, end: u32) -> Vec<(u32, u32)> {
        let mut holes = std::mem::take(&mut self.holes);
        holes.clear();
        self.find_holes(start, end, &mut holes);
        holes
    }

    /// Takes back the list of [`Self::holes_within`], so that the next one need not be allocated.
    pub fn recycle(&mut self, holes: Vec<(u32, u32)>) {
        self.holes = holes;
    }

    /// Remembers `[start, end)` as SACKed if it begins at or above the beginning of the highest run, as most blocks do, and returns what of it was
    /// not SACKed before: one range or nothing.
    #[inline]
    pub fn add_run_above(&mut self, start: u32, end: u32) -> Option<Range<u32>> {
        let highest = self.runs.back_mut().filter(|&&mut (s, _)| start >= s)?;
        let before = highest.1;
        if start > before {
            self.runs.push_back((start, end));
        } else {
            highest.1 = before.max(end);
        }
        Some(start.max(before)..end)
    }

    /// All of this block is SACKed.
    pub fn is_sacked(&self, (start, end): (u32, u32)) -> bool {
        let at = self.runs.partition_point(|&(_, e)| e <= start);
        self.runs.get(at).is_some_and(|&(s, e)| s <= start && end <= e)
    }

    fn find_holes(&self, start: u32, end: u32, out: &mut Vec<(u32, u32)>) {
        let mut at = start;
        let from = self.runs.partition_point(|&(_, e)| e <= start);
        for &(s, e) in self.runs.range(from..) {
            if s >= end {
                break;
            }
            if at < s {
                out.push((at, s));
            }
            at = e;
        }
        if at < end {
            out.push((at, end));
        }
    }

    /// Remembers `[start, end)` as SACKed.
    pub fn add_run(&mut self, start: u32, end: u32) {
        self.highest_sacked = self.highest_sacked.max(end);
        ranges::add(&mut self.runs, start, end);
    }

    /// Forgets runs below `una`.
    pub fn trim_runs(&mut self, una: u32) {
        let from = self.runs.partition_point(|&(_, e)| e <= una);
        self.runs.drain(..from);
        if let Some(first) = self.runs.front_mut() {
            first.0 = first.0.max(una);
        }
    }

    /// Forgets all runs (reneging).
    pub fn clear_runs(&mut self) {
        self.runs.clear();
        self.walked = Blocks::default();
    }

    /// All of this block is SACKed, as it was [noted](Self::note_walked).
    #[inline]
    pub fn has_walked(&self, block: (u32, u32)) -> bool {
        // Unused ranges are empty.
        self.walked.ranges.contains(&block)
    }

    /// Remembers the blocks of the ACK in hand, in ascending order, all of which are SACKed.
    #[inline]
    pub fn note_walked(&mut self, blocks: Blocks) {
        self.walked = blocks;
    }

    /// True if nothing within a block that was SACKed before is looked at again: the block begins as one of the last ACK, and has nothing behind that
    /// but what was not SACKed, or has nothing that was SACKed.
    #[inline]
    pub fn is_all_new(&self, (start, end): (u32, u32)) -> bool {
        let highest = self.highest_sacked;
        let is_known = |&(s, e): &(u32, u32)| s == start && (e == highest || end <= e);
        start >= highest || self.walked.as_slice().iter().any(is_known)
    }

    /// Parts of a block that are looked at again, if some of it was SACKed before, because the blocks of the last ACK do not cover them
    /// (`tcp_sacktag_write_queue`).
    pub fn walk(&self, (start, end): (u32, u32)) -> Blocks {
        let (mut walk, mut at) = (Blocks::default(), start);
        let mut add = |from: u32, to: u32| {
            if from < to {
                walk.push((from, to));
            }
        };
        let known = self.walked.as_slice().iter().filter(|known| start < known.1);
        for &(first, last) in known {
            if end <= first {
                break;
            }
            if start < first {
                add(at, first);
            }
            if end <= last {
                return walk;
            }
            at = at.max(last);
            if last == self.highest_sacked {
                break;
            }
        }
        add(at, end);
        walk
    }

    /// Remembers `seq` as one to retransmit.
    pub fn push_lost(&mut self, seq: u32) {
        self.lost.push(Reverse(seq));
    }

    /// The lowest segment from `una` on that is lost and not on its way again; stays in the heap.
    #[inline(always)]
    pub fn next_lost(&mut self, una: u32) -> Option<u32> {
        while let Some(&Reverse(seq)) = self.lost.peek() {
            let marks = if seq < una { 0 } else { self.get(seq).marks };
            if marks & mark::LOST != 0 && marks & (mark::RETRANS | mark::SACKED) == 0 {
                return Some(seq);
            }
            self.lost.pop();
        }
        None
    }

    /// Forgets what to retransmit.
    pub fn clear_lost(&mut self) {
        self.lost.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_segment_in_flight_takes_twelve_bytes() {
        assert_eq!(size_of::<Segment>(), 12);
    }

    #[test]
    fn the_list_keeps_the_order_of_transmission() {
        let mut b = Scoreboard::default();
        for seq in 0..5 {
            b.push_run(0, seq..seq + 1, u64::from(seq), 0);
        }
        assert_eq!(listed(&b), [0, 1, 2, 3, 4]);
        b.unlist(1);
        b.append(1);
        b.unlist(4);
        assert_eq!(listed(&b), [0, 2, 3, 1]);
        b.push_run(0, 5..6, 5, 0);
        b.push_run(0, 6..7, 6, 0);
        b.unlist(0);
        assert_eq!(listed(&b), [2, 3, 1, 5, 6]);
        b.unlist(5);
        assert_eq!(listed(&b), [2, 3, 1, 6]);
    }

    fn listed(b: &Scoreboard) -> Vec<u32> {
        std::iter::successors(b.oldest(), |&seq| b.younger(seq)).collect()
    }

    #[test]
    fn what_was_never_marked_leaves_the_list_at_once() {
        for linked in [false, true] {
            for una in 1..=10 {
                let mut b = Scoreboard::default();
                (0..6).for_each(|seq| b.push_run(0, seq..seq + 1, 0, 0));
                if linked {
                    b.link_fresh();
                }
                (6..10).for_each(|seq| b.push_run(0, seq..seq + 1, 0, 0));
                b.unlist_unmarked(una);
                assert_eq!(listed(&b), (una..10).collect::<Vec<_>>());
                b.push_run(una, 10..11, 0, 0);
                assert_eq!(listed(&b), (una..=10).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_mark_is_remembered_until_it_is_acknowledged() {
        let mut b = Scoreboard::default();
        (0..6).for_each(|seq| b.push_run(0, seq..seq + 1, 0, 0));
        assert!(b.is_unmarked(0));
        b.get_mut(3).marks |= mark::SACKED;
        b.get_mut(1).marks |= mark::LOST;
        assert!(!b.is_unmarked(3) && b.is_unmarked(4));
    }

    proptest! {
        #[test]
        fn runs_are_the_union(blocks in prop::collection::vec((0u32..200, 1u32..20), 1..40), una in 0u32..100) {
            let mut b = Scoreboard::default();
            let mut model = [false; 256];
            for (start, len) in blocks {
                let holes = b.holes_within(start, start + len);
                let fresh: Vec<u32> = holes.iter().flat_map(|&(s, e)| s..e).collect();
                let expected: Vec<u32> = (start..start + len).filter(|i| !model[*i as usize]).collect();
                b.recycle(holes);
                prop_assert_eq!(&fresh, &expected);
                match b.add_run_above(start, start + len) {
                    Some(hole) => prop_assert_eq!(hole.collect::<Vec<u32>>(), expected),
                    None => b.add_run(start, start + len),
                }
                (start..start + len).for_each(|i| model[i as usize] = true);
                prop_assert!(b.runs.make_contiguous().windows(2).all(|w| w[0].1 < w[1].0));
            }
            b.trim_runs(una);
            let left: Vec<u32> = b.runs.iter().flat_map(|&(s, e)| s..e).collect();
            let expected: Vec<u32> = (una..256).filter(|i| model[*i as usize]).collect();
            prop_assert_eq!(left, expected);
        }

        #[test]
        fn growth_loses_nothing(n in 1u32..1000, una in 0u32..10_000) {
            let mut b = Scoreboard::default();
            // Beyond 32 bits, in the first transmission or in the next.
            let sent_us = |seq: u32| (1 << 32) - 10_000 + u64::from(seq) * 3;
            for seq in una..una + n {
                b.push_run(una, seq..seq + 1, sent_us(seq), seq);
            }
            for seq in una..una + n {
                prop_assert_eq!(b.get(seq).sent_us(), sent_us(seq));
                b.get_mut(seq).set_sent_us(sent_us(seq) + 7_000);
                prop_assert_eq!(b.get(seq).sent_us(), sent_us(seq) + 7_000);
            }
        }
    }
}
