//! Segments out of order: ranges, and the SACK blocks that tell of them (RFC 2018, RFC 2883; Linux 6.12 net/ipv4/tcp_input.c
//! `tcp_data_queue_ofo`, `tcp_sack_new_ofo_skb`).

use std::collections::VecDeque;

use super::charge::{Cost, Head};
use super::Receiver;
use crate::attachment::Blocks;
use crate::outbox::Outbox;
use crate::packet::HEADERS;
use crate::prefetch::prefetch;
use crate::segment::{flags, Segment};
use crate::tcp::common::ranges::{self, Latest};

/// Blocks remembered (`TCP_NUM_SACKS`).
pub(super) const SACK_MEMORY: usize = 4;

/// Where a segment out of order went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is there already.
    Known,
    /// To the head of the segment that it continues.
    Joined,
    /// It has a head of its own, the one at this place, and is not charged yet.
    Alone(usize),
}

/// Segments that came before a missing one. Told of every segment out of order and of gaps that close; asked for the blocks of each ACK.
#[derive(Clone, Debug)]
pub(super) struct OutOfOrder {
    /// Sorted.
    ranges: VecDeque<(u32, u32)>,
    /// Heads that their segments share, sorted; and the bytes that they are charged.
    heads: VecDeque<Head>,
    charged: u64,
    /// The most recent ranges first.
    recent: Latest<SACK_MEMORY>,
    /// A segment that came twice and is not reported yet.
    duplicate: Option<(u32, u32)>,
    /// Most blocks that an ACK has; 0: the connection is without SACK.
    most_blocks: usize,
}

impl OutOfOrder {
    /// Nothing is missing. An ACK has at most so many SACK blocks; 0: the connection is without SACK.
    pub fn new(most_blocks: usize) -> Self {
        let recent = Latest::new();
        Self { ranges: VecDeque::new(), heads: VecDeque::new(), charged: 0, recent, duplicate: None, most_blocks }
    }

    /// Loads ahead where the ranges lie.
    pub fn prefetch(&self) {
        self.ranges.front().into_iter().for_each(prefetch);
    }

    /// Nothing came before what is missing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Where the last of the ranges ends; `None` if there is none.
    pub fn until(&self) -> Option<u32> {
        self.ranges.back().map(|range| range.1)
    }

    /// Bytes that the segments are charged that wait for a missing one.
    #[inline]
    pub fn charged(&self) -> u64 {
        self.charged
    }

    /// An ACK has no blocks.
    pub fn has_nothing_to_report(&self) -> bool {
        self.most_blocks == 0 || (self.recent.is_empty() && self.duplicate.is_none())
    }

    /// Where the highest of the ranges ends that ACKs report; `None` if they report none.
    pub fn reported_until(&self) -> Option<u32> {
        let ranges = &self.recent.all()[..self.recent.len().min(self.most_blocks)];
        ranges.iter().map(|range| range.1).max()
    }

    /// Takes in the segment `[seq, end)` of `payload` bytes. What of it is there is to be reported. A new one is joined to what it continues; what
    /// continues it is not joined to it (`tcp_data_queue_ofo`).
    #[inline(always)]
    pub fn insert(&mut self, seq: u32, end: u32, payload: u32, cost: &Cost) -> Place {
        if end - seq > 1 {
            self.duplicate = ranges::overlap(&self.ranges, seq, end);
        }
        if !ranges::insert(&mut self.ranges, seq, end) {
            return Place::Known;
        }
        let head = Head::of(seq, end, payload);
        let at = match self.heads.back() {
            Some(last) if seq < last.start => self.heads.partition_point(|other| other.start < seq),
            _ => self.heads.len(),
        };
        if let Some(charged) = at.checked_sub(1).and_then(|before| self.heads[before].join(&head, cost)) {
            self.charged += charged;
            Place::Joined
        } else {
            self.heads.insert(at, head);
            Place::Alone(at)
        }
    }

    /// Charges the segment with a head of its own at `place`.
    #[inline]
    fn charge(&mut self, place: usize, cost: &Cost) {
        self.heads[place].condense(cost);
        self.charged += self.heads[place].charged(cost);
    }

    /// The range that a segment belongs to, if one is known, reaches over it from now on, wherever it stands.
    fn extend(&mut self, seq: u32, end: u32) {
        self.recent.extend(seq, end);
    }

    /// How many ranges are more recent than the one that a segment belongs to, and whether that range is there already.
    pub fn place_of(&self, seq: u32, end: u32) -> (usize, bool) {
        let touches = |b: &(u32, u32)| seq <= b.1 && b.0 <= end;
        let known = self.recent.all().iter().position(touches);
        (known.unwrap_or(self.recent.len()), known.is_some())
    }

    /// The block with the segment `[seq, end)` is the most recent one.
    #[inline(always)]
    pub fn remember(&mut self, seq: u32, end: u32) {
        self.recent.put_range_first(seq, end);
    }

    /// The gap has closed up to `next`: returns where the range ends that follows without a gap, and gives up the heads that its segments share.
    pub fn close_gap(&mut self, next: u32, cost: &Cost, mut give: impl FnMut(&Head)) -> Option<u32> {
        let &(start, end) = self.ranges.front()?;
        let closed = start <= next;
        if closed {
            self.ranges.pop_front();
            while let Some(head) = self.heads.front().filter(|head| head.start < end) {
                self.charged -= head.charged(cost);
                give(head);
                self.heads.pop_front();
            }
        }
        closed.then_some(end)
    }

    /// All has come up to `next`: what ends there is not told any more (`tcp_sack_remove`).
    #[inline]
    pub fn forget_below(&mut self, next: u32) {
        if !self.recent.is_empty() {
            self.recent.keep_above(next);
        }
    }

    /// The segment `[seq, end)` came again: the next ACK reports it.
    pub fn report_duplicate(&mut self, seq: u32, end: u32) {
        self.duplicate = Some((seq, end));
    }

    /// A segment that came again is not reported yet.
    #[inline]
    pub fn has_duplicate(&self) -> bool {
        self.duplicate.is_some()
    }

    /// Another segment came: what was not reported is not reported any more.
    pub fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// Bytes that the blocks of an ACK take.
    pub fn option_bytes(&self) -> u32 {
        let count = self.recent.len() + usize::from(self.duplicate.is_some());
        Blocks { count: count.min(self.most_blocks) as u8, ..Blocks::default() }.option_bytes()
    }

    /// The blocks of an ACK, if it has any.
    #[inline]
    pub fn take_blocks(&mut self) -> Option<Blocks> {
        if self.has_nothing_to_report() {
            return None;
        }
        let &[first, second, third, fourth] = self.recent.all();
        let (ranges, count) = match self.duplicate.take() {
            Some(duplicate) => ([duplicate, first, second, third], 1 + self.recent.len()),
            None => ([first, second, third, fourth], self.recent.len()),
        };
        Some(Blocks { ranges, count: count.min(self.most_blocks) as u8 })
    }
}

impl Receiver {
    /// A segment comes: what was not reported is not reported any more, unless header prediction takes the segment (`tcp_data_queue`).
    #[inline]
    pub(super) fn forget_duplicate_before(&mut self, p: &Segment) {
        if self.early.has_duplicate() && !self.is_predicted(p) {
            self.early.forget_duplicate();
        }
    }

    /// A segment is what was expected and there is memory for it: header prediction takes it.
    #[cold]
    #[inline(never)]
    fn is_predicted(&self, p: &Segment) -> bool {
        p.seq == self.rcv_nxt && self.early.is_empty() && !p.has(flags::CWR | flags::FIN) && self.has_memory_for(p, 0)
    }

    #[inline(always)]
    pub(super) fn out_of_order(&mut self, p: &Segment, out: &mut impl Outbox) {
        let (seq, end, payload) = (p.seq, self.end_of(p), u32::from(p.len) - HEADERS);
        self.on_codepoint(p.ecn(), self.rcv_nxt, out);
        self.measure(p);
        self.delay.schedule();
        // A segment with a head of its own is charged last, one that is joined to another first.
        match self.early.insert(seq, end, payload, &self.kernel.cost) {
            Place::Joined => {
                self.widen_out_of_order(payload, true);
                self.tell_of(seq, end, out);
            }
            Place::Alone(place) => {
                self.tell_of(seq, end, out);
                self.widen_out_of_order(payload, false);
                self.early.charge(place, &self.kernel.cost);
            }
            Place::Known => {
                self.counters.duplicates += 1;
                self.early.report_duplicate(seq, end);
                self.tell_of(seq, end, out);
            }
        }
        if self.buffer.grows_out_of_order() {
            let early = self.bytes_early();
            self.buffer.make_room_for(early);
        }
    }

    #[inline(always)]
    fn widen_out_of_order(&mut self, payload: u32, joined: bool) {
        if self.kernel.widens_out_of_order && self.buffer.grow(payload, joined, self.charged()) {
            self.delay.grant_odd();
        }
    }

    /// The block with the segment `[seq, end)` comes first from now on. ACKs that are held back go before that, with the block where it was
    /// (`tcp_sack_new_ofo_skb`).
    #[inline(always)]
    fn tell_of(&mut self, seq: u32, end: u32, out: &mut impl Outbox) {
        if self.compression.holds() && self.compression.ends_with(self.early.place_of(seq, end)) {
            self.early.extend(seq, end);
            self.flush_compressed(out);
        }
        self.early.remember(seq, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::MSS;
    use crate::tcp::linux::test_ends::stack;

    #[test]
    fn a_segment_is_joined_to_what_it_continues_and_nothing_to_what_came_later() {
        let cost = Cost::of(&stack("linux-6.12"), MSS);
        let charged = |segments: &[u32]| {
            let mut early = OutOfOrder::new(3);
            let alone = |seq: &&u32| matches!(early.insert(**seq, **seq + 1, MSS, &cost), Place::Alone(_));
            segments.iter().filter(alone).count()
        };
        assert_eq!(charged(&[3, 4, 5]), 1);
        assert_eq!(charged(&[5, 4, 3]), 3);
        assert_eq!(charged(&[3, 5, 4]), 2, "4 is joined to 3, and 5 has its own");
        assert_eq!(charged(&(3..20).collect::<Vec<_>>()), 1);
        assert_eq!(charged(&(3..21).collect::<Vec<_>>()), 2, "no room for an 18th fragment");
    }

    #[test]
    fn a_gap_that_closes_gives_up_what_lies_behind_it_and_no_more() {
        let cost = Cost::of(&stack("linux-6.12"), MSS);
        let mut early = OutOfOrder::new(3);
        for seq in [4, 3, 8] {
            let Place::Alone(place) = early.insert(seq, seq + 1, MSS, &cost) else { panic!("{seq} continues nothing") };
            early.charge(place, &cost);
        }
        let mut given = vec![];
        assert_eq!(early.close_gap(2, &cost, |_| panic!("2 is missing")), None);
        assert_eq!(early.close_gap(3, &cost, |head| given.push((head.start, head.end))), Some(5));
        assert_eq!(given, [(3, 4), (4, 5)]);
        assert_eq!(early.charged(), 2280);
    }
}
