//! SACK and D-SACK: tagging what the blocks of an ACK cover (RFC 2018, RFC 2883; Linux 6.12 net/ipv4/tcp_input.c,
//! tcp_sacktag_write_queue and below).

use std::ops::Range;

use crate::attachment::{Blocks, MAX_BLOCKS};
use crate::cc::CaState;
use crate::tcp::linux::sender::ack::{flag, AckState};
use crate::tcp::linux::sender::scoreboard::{mark, Scoreboard};
use crate::tcp::linux::sender::Sender;

impl Sender {
    /// Takes in the blocks of an ACK for `ack`.
    #[inline(always)]
    pub(in crate::tcp::linux) fn tag_sacked(&mut self, ack: u32, given: &Blocks, a: &mut AckState) {
        let blocks = given.as_slice();
        if self.view.sacked_out == 0 {
            self.board.highest_sacked = self.view.snd_una;
            self.board.note_walked(Blocks::default());
        }
        let duplicate = self.check_dsack(ack, blocks, a);
        if self.view.packets_out == 0 {
            return;
        }
        let (una, nxt, prior_una) = (self.view.snd_una, self.view.snd_nxt, a.prior_una);
        let counts = |&(start, end): &(u32, u32)| start < end && end <= nxt && start > una && end > prior_una;
        if duplicate {
            self.tag_beside_duplicate(blocks, counts, a);
        } else if let [block] = *blocks {
            // Most ACKs have one: nothing is to be sorted.
            if counts(&block) {
                self.tag_block(block, a);
                self.board.note_walked(Blocks::one(block));
            }
        } else {
            let (mut sorted, mut valid) = (Blocks::default(), Blocks::default());
            let watched = self.fack.frto_mark().is_some();
            for &block in blocks {
                // All but one of several blocks are usually those of the ACK before (`recv_sack_cache`).
                if !watched && self.board.has_walked(block) {
                    valid.insert(block);
                    continue;
                }
                if counts(&block) {
                    sorted.insert(block);
                    valid.insert(block);
                }
            }
            for &block in sorted.as_slice() {
                self.tag_block(block, a);
            }
            self.board.note_walked(valid);
        }
        self.look_for_lost_retrans(blocks);
        let frto_done = self.fack.frto_mark().is_none_or(|mark| self.view.snd_una > mark);
        let may_undo = self.undo.is_possible() && self.stack.reordering_by_ack;
        if (self.view.state != CaState::Loss || may_undo) && frto_done {
            self.check_reordering_of_blocks(a.reord);
        }
    }

    /// Tags in ascending order what the blocks cover, of which the first reports a duplicate. Within another block that brings news it is tagged where
    /// that comes to it, and, as Linux finds its way then, once more if that block reaches the end of what was sent.
    #[cold]
    #[inline(never)]
    fn tag_beside_duplicate(&mut self, blocks: &[(u32, u32)], counts: impl Fn(&(u32, u32)) -> bool, a: &mut AckState) {
        let mut sorted = Blocks::default();
        blocks[1..].iter().filter(|block| counts(block)).for_each(|&block| sorted.insert(block));
        let duplicate = blocks[0];
        let mut waits = self.dsack_in_window(duplicate.0, duplicate.1) && duplicate.1 > a.prior_una;
        let mut valid = sorted;
        if waits {
            valid.insert(duplicate);
        }
        for &block in sorted.as_slice() {
            if waits && duplicate.0 <= block.0 {
                waits = false;
                self.tag_duplicate(duplicate, a);
            } else if waits && duplicate.0 < block.1 && !self.board.is_sacked(block) {
                self.tag_block((block.0, duplicate.0), a);
                self.tag_duplicate(duplicate, a);
                waits = block.1 == self.view.snd_nxt;
            }
            self.tag_block(block, a);
        }
        if waits {
            self.tag_duplicate(duplicate, a);
        }
        self.board.note_walked(valid);
    }

    /// Tags what a block covers that reports a duplicate, as far as it is in flight.
    fn tag_duplicate(&mut self, (start, end): (u32, u32), a: &mut AckState) {
        if self.tso.enabled {
            self.match_skbs_to_duplicate(start..end, a.prior_una);
        }
        for seq in start.max(a.prior_una)..end {
            self.tag_one_again(seq, a);
        }
        if self.buffer.merges() {
            let is_cut = self.cut_sacked(end);
            self.join_within(start.max(a.prior_una + 1)..end, is_cut);
        }
        if self.sampler.is_some() {
            self.note_deliveries(start.max(self.view.snd_una)..end);
        }
    }

    /// Joins the SACKed segments of a range to what is before them; `is_cut`: it ends within an skb of several segments, which was cut there.
    fn join_within(&mut self, range: Range<u32>, is_cut: bool) {
        let end = range.end;
        for seq in range {
            let is_joined = self.board.get(seq).marks & mark::SACKED != 0 && self.join_to_last(seq);
            if is_joined && seq + 1 < self.view.snd_nxt && !(is_cut && seq + 1 == end) {
                self.join_to_last(seq + 1);
            }
        }
    }

    /// Tags what a block covers and no block before it did.
    #[inline(always)]
    fn tag_block(&mut self, block: (u32, u32), a: &mut AckState) {
        if self.board.is_all_new(block) {
            self.tag_new(block, a);
        } else {
            self.tag_and_walk(block, a);
        }
    }

    #[cold]
    #[inline(never)]
    fn tag_and_walk(&mut self, block: (u32, u32), a: &mut AckState) {
        let (walk, cuts) = self.walk_again(block, a.prior_una);
        self.tag_new(block, a);
        self.join_again(&walk, cuts);
    }

    #[inline(always)]
    fn tag_new(&mut self, (start, end): (u32, u32), a: &mut AckState) {
        match self.board.add_run_above(start, end) {
            None => self.tag_holes((start, end), a),
            Some(hole) if hole.is_empty() => {}
            Some(hole) => self.tag_hole(hole, a),
        }
        a.only_orig_sacked &= self.fack.frto_mark().is_none_or(|mark| end <= mark);
    }

    /// Return the parts of a block that are looked at although they were SACKed before, beginning with a whole skb, and for each range of that whether it ends within an
    /// skb of several segments, which is cut there. Nothing before `una` was outstanding when the block came.
    #[cold]
    #[inline(never)]
    fn walk_again(&mut self, block: (u32, u32), una: u32) -> (Blocks, [bool; MAX_BLOCKS]) {
        let (mut walk, mut cuts) = (self.board.walk(block), [false; MAX_BLOCKS]);
        let count = usize::from(walk.count);
        self.skbs.forget(una);
        for ((start, end), cut) in walk.ranges[..count].iter_mut().zip(&mut cuts) {
            *cut = self.cut_sacked(*end);
            *start = self.begin_of_sacked(*start).max(block.0).max(una + 1);
        }
        (walk, cuts)
    }

    /// The first segment of the skb with segment `seq` if that is SACKed, else `seq`.
    fn begin_of_sacked(&self, seq: u32) -> u32 {
        if self.board.get(seq).marks & mark::SACKED == 0 {
            seq
        } else if self.tso.enabled {
            self.skbs.around(seq).map_or(seq, |skb| skb.start)
        } else {
            let is_merged = |seq: u32| self.board.get(seq).marks & mark::MERGED != 0;
            (0..=seq).rev().find(|&seq| !is_merged(seq)).unwrap_or(seq)
        }
    }

    /// Cuts the skb with the segment before `seq`, if that was SACKed and the skb goes on behind it; true if it does.
    fn cut_sacked(&mut self, seq: u32) -> bool {
        if seq >= self.view.snd_nxt || seq <= self.view.snd_una {
            false
        } else if self.tso.enabled {
            let is_sacked = self.board.get(seq - 1).marks & self.board.get(seq).marks & mark::SACKED != 0;
            is_sacked && self.skbs.split(seq)
        } else {
            self.part(seq)
        }
    }

    /// Ranges that are walked although they were SACKed before are joined, as far as it was not then.
    #[cold]
    #[inline(never)]
    fn join_again(&mut self, walk: &Blocks, cuts: [bool; MAX_BLOCKS]) {
        for (&(start, end), is_cut) in walk.as_slice().iter().zip(cuts) {
            if self.tso.enabled {
                self.shift_within(start..end, is_cut);
            } else if self.buffer.merges() {
                self.join_within(start..end, is_cut);
            }
        }
    }

    #[inline(never)]
    fn tag_holes(&mut self, (start, end): (u32, u32), a: &mut AckState) {
        let holes = self.board.holes_within(start, end);
        for &(s, e) in &holes {
            self.tag_hole(s..e, a);
        }
        if !holes.is_empty() {
            self.board.add_run(start, end);
        }
        self.board.recycle(holes);
    }

    /// Tags segments that no block covered before.
    #[inline(never)]
    fn tag_hole(&mut self, hole: Range<u32>, a: &mut AckState) {
        for seq in hole.clone() {
            let sent_us = self.tag_one(seq, a);
            self.board.highest_sacked = self.board.highest_sacked.max(seq + 1);
            self.note_sacked(seq, sent_us);
        }
        if self.tso.enabled {
            self.match_skbs_to_sack(hole, a.prior_una);
        }
    }

    /// True if the first block reports a duplicate that our retransmissions can explain.
    #[inline(always)]
    fn check_dsack(&mut self, ack: u32, blocks: &[(u32, u32)], a: &mut AckState) -> bool {
        let (start, end) = blocks[0];
        let below = start < ack;
        let inside = blocks.get(1).is_some_and(|&(s, e)| start >= s && end <= e);
        (below || inside) && start < end && self.is_explained_duplicate((start, end), a)
    }

    /// True if our retransmissions can explain a block that reports a duplicate.
    #[cold]
    #[inline(never)]
    fn is_explained_duplicate(&mut self, (start, end): (u32, u32), a: &mut AckState) -> bool {
        let bytes = self.span_on_wire(start, end);
        if bytes > u64::from(self.peer.most_bytes()) {
            return false;
        }
        let segments = bytes.div_ceil(u64::from(self.mss_now())) as u32;
        if segments == 1 && self.probe.ends_at(end) {
            a.flags |= flag::DSACK_TLP;
        }
        let retransmits = self.counters.retransmits + u64::from(self.handshake.retransmits());
        if !self.reordering.explains_duplicates(segments, retransmits) {
            return false;
        }
        if self.reordering.was_seen() && a.flags & flag::DSACK_TLP == 0 {
            self.rack.note_dsack();
        }
        a.flags |= flag::DSACKING;
        a.sack_delivered += segments;
        if end <= a.prior_una && self.undo.marker().is_some_and(|marker| end > marker) {
            self.undo.count_duplicates(segments);
        }
        true
    }

    /// A D-SACK block that still concerns segments in the ring.
    fn dsack_in_window(&self, start: u32, end: u32) -> bool {
        if end > self.view.snd_nxt {
            return false;
        }
        if start > self.view.snd_una {
            return true;
        }
        match self.undo.marker() {
            Some(marker) => end <= self.view.snd_una && (start >= marker || end > marker),
            None => false,
        }
    }

    /// A segment that is SACKed now is joined to the one before it if that is SACKed, too, and as long, unless a retransmission of either is under way
    /// (`tcp_shift_skb_data`). If that fills a hole, the next one is joined, too, if it was SACKed earlier. (Not so if nothing is before the hole.)
    #[inline(always)]
    fn join(&mut self, seq: u32) {
        if self.join_to_last(seq) && seq + 1 < self.view.snd_nxt {
            self.join_to_last(seq + 1);
        }
    }

    /// Joins a segment, and what is joined to it, to the one before; true if it was possible.
    #[inline(always)]
    fn join_to_last(&mut self, seq: u32) -> bool {
        const ASKED: u8 = mark::SACKED | mark::RETRANS | mark::LOST;
        let (marks, before) = (self.board.get(seq).marks, self.board.get(seq - 1).marks);
        let is_joined = before & ASKED == mark::SACKED
            && marks & (ASKED | mark::MERGED) == mark::SACKED
            && self.layout.has_same(seq - 1);
        if is_joined {
            self.buffer.note_merged();
            self.board.get_mut(seq).marks |= mark::MERGED;
            if (marks ^ before) & mark::EVER_RETRANS != 0 {
                self.share_retransmission(seq, marks & mark::EVER_RETRANS != 0);
            }
        }
        is_joined
    }

    /// Segment `seq`, or else the one before, was retransmitted once, and the two are joined now: so was all that either is joined to
    /// (`tcp_shifted_skb`).
    #[cold]
    #[inline(never)]
    fn share_retransmission(&mut self, seq: u32, is_later: bool) {
        let is_merged = |board: &Scoreboard, seq| board.get(seq).marks & mark::MERGED != 0;
        let mut at = if is_later { seq - 1 } else { seq };
        loop {
            let merged = is_merged(&self.board, at);
            self.board.get_mut(at).marks |= mark::EVER_RETRANS;
            if is_later {
                if !merged {
                    break;
                }
                at -= 1;
            } else {
                at += 1;
                if at == self.view.snd_nxt || !is_merged(&self.board, at) {
                    break;
                }
            }
        }
    }

    /// A block tells again of a segment that came twice: accounts for its retransmission, and tags it if it is not SACKed.
    fn tag_one_again(&mut self, seq: u32, a: &mut AckState) {
        let marks = self.board.get(seq).marks;
        if marks & mark::ANY_RETRANS != 0 {
            if self.undo.marker().is_some_and(|marker| seq + 1 > marker) {
                self.undo.count_duplicates(1);
            }
            if marks & mark::SACKED != 0 {
                a.reord = a.reord.min(seq);
            }
        }
        if seq < self.view.snd_una {
            return;
        }
        self.tag_one(seq, a);
        let s = self.board.get_mut(seq);
        if s.marks & mark::RETRANS != 0 {
            s.marks &= !mark::RETRANS;
            self.view.retrans_out -= 1;
        }
    }

    /// Tags one segment as SACKed, unless it is; returns when it was sent last, us.
    #[inline(always)]
    fn tag_one(&mut self, seq: u32, a: &mut AckState) -> u64 {
        let s = *self.board.get(seq);
        let mut marks = s.marks;
        if marks & mark::SACKED != 0 {
            return s.sent_us();
        }
        self.rack_advance(marks, seq + 1, s.sent_us());
        if marks & mark::RETRANS != 0 {
            // Not marked lost any more: believe that the retransmission is still on its way.
            if marks & mark::LOST != 0 {
                marks &= !(mark::LOST | mark::RETRANS);
                self.view.lost_out -= 1;
                self.view.retrans_out -= 1;
            }
        } else {
            if marks & mark::ANY_RETRANS == 0 {
                if seq < self.highest_sacked_seq() {
                    a.reord = a.reord.min(seq);
                }
                if seq < self.rec.end() {
                    a.flags |= flag::ORIG_SACK_ACKED;
                }
                a.only_orig_sacked |= self.fack.frto_mark().is_some_and(|mark| seq < mark);
                a.first_sacked_us.get_or_insert(s.sent_us());
                a.last_sacked_us = s.sent_us();
            }
            if marks & mark::LOST != 0 {
                marks &= !mark::LOST;
                self.view.lost_out -= 1;
            }
        }
        marks |= mark::SACKED;
        a.flags |= flag::DATA_SACKED;
        self.view.sacked_out += 1;
        a.sack_delivered += 1;
        a.note_delivery(s.sent_us(), seq, s.noted);
        self.board.get_mut(seq).marks = marks & !mark::LISTED;
        if marks & mark::LISTED != 0 {
            self.board.leave_list(seq);
        }
        if seq > a.prior_una && self.buffer.merges() {
            self.join(seq);
        }
        s.sent_us()
    }
}
