//! Losses of segments and of retransmissions that SACKs prove, as Linux 2.6.18 finds them (net/ipv4/tcp_input.c `tcp_mark_head_lost`, `tcp_update_scoreboard`,
//! `tcp_sacktag_write_queue`; CentOS 5). It remembers how far it has looked: an ACK whose first SACK block ends further on, and brings no other
//! news, has only that walked, so that a retransmission that was lost is not missed before another hole shows or something is acknowledged.
//!
//! Leaves out: what is not walked of an ACK with a D-SACK, which counts whole blocks; F-RTO of that time (sysctl tcp_frto 1, off); an ACK of a TSO
//! segment in part.

use crate::attachment::{Blocks, MAX_BLOCKS};
use crate::cc::CaState;
use crate::tcp::linux::options::{LossMarking, LostRetransmissions};
use crate::tcp::linux::sender::ack::{flag, AckState};
use crate::tcp::linux::sender::scoreboard::mark;
use crate::tcp::linux::sender::Sender;

/// How far was looked. Told of each ACK with SACK blocks and of all that makes the kernel forget.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Walk {
    /// The blocks of the last ACK that had some (`recv_sack_cache`).
    blocks: [(u32, u32); MAX_BLOCKS],
    /// The next walk goes on where the last one ended (`fastpath_skb_hint`).
    goes_on: bool,
    /// First segment that marking has not come to (`lost_skb_hint`).
    marked_until: u32,
}

impl Walk {
    /// The next walk begins with the first segment.
    pub fn begin_again(&mut self) {
        self.goes_on = false;
    }

    /// Marks were taken back.
    pub fn unmark(&mut self) {
        self.marked_until = 0;
    }

    /// Which of the `blocks` of an ACK are walked from the first segment on.
    fn take<'a>(&mut self, blocks: &'a [(u32, u32)]) -> &'a [(u32, u32)] {
        let mut pairs = blocks.iter().zip(&self.blocks).enumerate();
        let only_longer = pairs.all(|(i, (new, old))| new.0 == old.0 && (i == 0 || new.1 == old.1));
        self.blocks[..blocks.len()].copy_from_slice(blocks);
        let goes_on = std::mem::replace(&mut self.goes_on, true);
        match (only_longer, goes_on) {
            (true, true) => &[],
            (true, false) => &blocks[..1],
            (false, _) => blocks,
        }
    }
}

impl Sender {
    /// Only what was out when the episode began is marked.
    pub(in crate::tcp::linux) fn marks_by_episode(&self) -> bool {
        self.stack.loss_marking == LossMarking::Episode
    }

    /// Notes of an ACK's blocks whether they are about something sent since the episode began.
    pub(super) fn note_news(&self, blocks: &Blocks, a: &mut AckState) {
        if blocks.as_slice().iter().any(|&(_, end)| end > self.rec.end()) {
            a.flags |= flag::BEYOND_EPISODE;
        }
    }

    /// Something sent since the episode began has overtaken what lies far enough below it.
    pub(super) fn mark_as_overtaken(&mut self) {
        if self.view.state != CaState::Open {
            self.mark_first(self.fackets_out().saturating_sub(self.reordering.degree()));
        }
    }

    /// Marks the first `segments` of the episode lost, but what is SACKed or on its way again.
    fn mark_first(&mut self, segments: u32) {
        let una = self.view.snd_una;
        let end = (una + segments).min(self.rec.end()).min(self.view.snd_nxt);
        for seq in una.max(self.fack.walk.marked_until)..end {
            self.mark_unless_resent(seq);
        }
        self.fack.walk.marked_until = self.fack.walk.marked_until.max(end);
    }

    fn mark_unless_resent(&mut self, seq: u32) {
        if self.board.get(seq).marks & mark::RETRANS == 0 {
            self.mark_lost_once(seq);
        }
    }

    /// Marks what the SACKs prove lost, the first segment at least, and what is older than an RTO.
    pub(super) fn update_scoreboard_of_episode(&mut self) {
        let far = if self.fack.enabled { self.fackets_out().saturating_sub(self.reordering.degree()) } else { 0 };
        self.mark_first(far.max(1));
        if self.fack_head_timed_out() {
            for seq in self.view.snd_una..self.view.snd_nxt {
                if !self.timed_out(seq) {
                    break;
                }
                self.mark_unless_resent(seq);
            }
        }
    }

    /// An ACK with SACK blocks: looks for retransmissions that were lost.
    #[inline]
    pub(in crate::tcp::linux) fn look_for_lost_retrans(&mut self, blocks: &[(u32, u32)]) {
        match self.stack.lost_retransmissions {
            LostRetransmissions::EverySack => self.mark_lost_retrans(),
            LostRetransmissions::NewHole => self.mark_overtaken_retrans(blocks),
        }
    }

    /// A retransmission is lost when a block that is walked ends beyond what was next to be sent at the time; without FACK, so many segments
    /// beyond as the network may reorder.
    fn mark_overtaken_retrans(&mut self, blocks: &[(u32, u32)]) {
        let walked = self.fack.walk.take(blocks);
        if walked.is_empty()
            || self.view.retrans_out == 0
            || self.highest_sacked_seq() <= self.fack.lost_retrans_low
            || self.view.state != CaState::Recovery
        {
            return;
        }
        let mut sorted = Blocks::default();
        walked.iter().for_each(|&block| sorted.insert(block));
        let resent: Vec<u32> = (self.view.snd_una..self.view.snd_nxt)
            .filter(|&seq| self.board.get(seq).marks & mark::RETRANS != 0)
            .take(self.view.retrans_out as usize)
            .collect();
        // Each segment is come upon in the lowest block that ends above it.
        let end_above = |seq| sorted.as_slice().iter().map(|&(_, end)| end).find(|&end| end > seq);
        let overtaken = |&seq: &u32| end_above(seq).filter(|&end| end > self.board.get(seq).noted);
        let beyond = if self.fack.enabled { 1 } else { self.reordering.degree() };
        let last = resent.iter().filter_map(overtaken).max().unwrap_or(0);
        let mut low = self.view.snd_nxt;
        for seq in resent {
            let noted = self.board.get(seq).noted;
            if seq >= last || last < noted + beyond {
                low = low.min(noted);
            } else {
                self.lose_retransmission(seq);
            }
        }
        if self.view.retrans_out > 0 {
            self.fack.lost_retrans_low = low;
        }
    }
}
