//! Undoing reductions that proved wrong: by timestamps (Eifel, RFC 3522), by D-SACK (RFC 3708), after a spurious timeout
//! (F-RTO, RFC 5682), as Linux 6.12 net/ipv4/tcp_input.c does.

use crate::cc::{CaState, CongestionControl, Renumbering};
use crate::tcp::linux::sender::ack::AckState;
use crate::tcp::linux::sender::scoreboard::mark;
use crate::tcp::linux::sender::Sender;

/// Notes by which a reduction is found to be wrong, and taken back. Told when a reduction begins, of each retransmission and of
/// each duplicate that the receiver reports; asked at every ACK in the episode.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::linux) struct Undo {
    /// First segment that was outstanding when the reduction began; none: it cannot be undone.
    marker: Option<u32>,
    /// Retransmissions that are not yet known to have been unnecessary; negative before the first.
    retransmitted: i32,
    /// Timestamp of the first retransmission of the episode, ms.
    first_retransmission_ms: Option<u32>,
    /// The threshold before the reduction; 0: it stays reduced.
    prior_ssthresh: u32,
}

impl Default for Undo {
    fn default() -> Self {
        Self { marker: None, retransmitted: -1, first_retransmission_ms: None, prior_ssthresh: 0 }
    }
}

impl Undo {
    /// A reduction begins with the segment `una`, while so many retransmissions are out.
    pub fn begin(&mut self, una: u32, retransmitted: i32) {
        self.marker = Some(una);
        self.retransmitted = retransmitted;
    }

    /// The reduction was right, or is of a kind that stays.
    pub fn forbid(&mut self) {
        self.marker = None;
    }

    /// A segment in flight is new or has gone.
    pub fn renumber(&mut self, r: Renumbering) {
        self.marker.iter_mut().for_each(|marker| r.apply(marker));
    }

    /// The reduction may yet prove wrong.
    pub fn is_possible(&self) -> bool {
        self.marker.is_some()
    }

    /// Where the reduction began, if it may yet prove wrong.
    pub fn marker(&self) -> Option<u32> {
        self.marker
    }

    /// Remembers the threshold that an undo restores.
    pub fn remember_ssthresh(&mut self, ssthresh: u32) {
        self.prior_ssthresh = ssthresh;
    }

    /// An undo leaves the threshold as it is.
    pub fn forget_ssthresh(&mut self) {
        self.prior_ssthresh = 0;
    }

    /// The threshold that an undo restores.
    pub fn prior_ssthresh(&self) -> Option<u32> {
        (self.prior_ssthresh != 0).then_some(self.prior_ssthresh)
    }

    /// A segment deemed lost is retransmitted.
    pub fn note_retransmission(&mut self, now_ms: u32) {
        self.first_retransmission_ms.get_or_insert(now_ms);
        self.retransmitted = self.retransmitted.max(0) + 1;
    }

    /// No retransmission is out any more: the next one is the first again.
    pub fn forget_retransmissions(&mut self) {
        self.first_retransmission_ms = None;
    }

    /// The receiver reports that `n` segments came twice.
    pub fn count_duplicates(&mut self, n: u32) {
        if self.retransmitted > 0 {
            self.retransmitted = (self.retransmitted - n as i32).max(0);
        }
    }

    /// Every retransmission was unnecessary.
    pub fn all_unnecessary(&self) -> bool {
        self.marker.is_some() && self.retransmitted == 0
    }

    /// Timestamp of the first retransmission of the episode, ms.
    pub fn first_retransmission_ms(&self) -> Option<u32> {
        self.first_retransmission_ms
    }
}

impl Sender {
    /// Notes where a reduction begins that an ACK may prove wrong.
    pub(in crate::tcp::linux) fn init_undo(&mut self) {
        let out = self.view.retrans_out as i32 + i32::from(self.probe.has_retransmitted());
        // Zero would mean "undo now".
        self.undo.begin(self.view.snd_una, if out == 0 { -1 } else { out });
    }

    fn undo_reduction(&mut self, unmark_loss: bool) {
        if unmark_loss {
            for seq in self.view.snd_una..self.view.snd_nxt {
                self.board.get_mut(seq).marks &= !mark::LOST;
            }
            self.view.lost_out = 0;
            self.board.clear_lost();
        }
        if let Some(prior) = self.undo.prior_ssthresh() {
            self.window.cwnd = self.cc.undo_cwnd(&self.view, &self.window);
            self.restore_ssthresh(prior);
        }
        self.undo.forbid();
        self.rack.suspect_again();
        self.counters.undos += 1;
    }

    /// Restores the threshold from before a reduction, unless it has risen above that.
    pub(in crate::tcp::linux) fn restore_ssthresh(&mut self, prior: u32) {
        if prior > self.window.ssthresh {
            self.window.ssthresh = prior;
            self.ecn.unqueue_cwr();
        }
    }

    /// True if what the ACK acknowledges was only late: it echoes a timestamp from before the first retransmission, or nothing was
    /// retransmitted. Without SACK the end of an episode forgets the retransmissions, so that there it shows nothing (`tcp_packet_delayed`).
    pub(in crate::tcp::linux) fn shows_delay(&self, tsecr: u32) -> bool {
        match self.undo.first_retransmission_ms() {
            Some(first) => self.timestamps && tsecr < first,
            None => self.sack || self.view.snd_una < self.rec.end(),
        }
    }

    /// True if the reduction was wrong.
    pub(in crate::tcp::linux) fn may_undo(&self, tsecr: u32) -> bool {
        self.undo.is_possible() && (self.undo.all_unnecessary() || self.shows_delay(tsecr))
    }

    /// True if the episode goes on all the same.
    pub(in crate::tcp::linux) fn try_undo_recovery(&mut self, tsecr: u32) -> bool {
        if self.may_undo(tsecr) {
            self.undo_reduction(false);
        } else {
            self.rack.count_recovery();
        }
        if self.holds_episode() {
            return true;
        }
        self.set_state(CaState::Open);
        false
    }

    pub(in crate::tcp::linux) fn try_undo_dsack(&mut self) -> bool {
        if !self.undo.all_unnecessary() {
            return false;
        }
        self.rack.stay_wide();
        self.undo_reduction(false);
        true
    }

    pub(in crate::tcp::linux) fn try_undo_loss(&mut self, frto: bool, tsecr: u32) -> bool {
        if !frto && !self.may_undo(tsecr) {
            return false;
        }
        self.undo_reduction(true);
        self.rec.note_progress();
        if !self.holds_episode() && (frto || self.sack) {
            self.set_state(CaState::Open);
        }
        true
    }

    /// Undo on a partial ACK in recovery; true if nothing more is to be marked or retransmitted now.
    pub(in crate::tcp::linux) fn try_undo_partial(&mut self, a: &AckState) -> bool {
        if self.undo.is_possible() && self.shows_delay(a.tsecr) {
            self.check_reordering(a.prior_una);
            if self.view.retrans_out > 0 {
                return true;
            }
            if !self.any_retrans_done() {
                self.undo.forget_retransmissions();
            }
            self.undo_reduction(true);
            self.try_keep_open();
        }
        false
    }

    /// Something above `low` was delivered before `low`, which was never retransmitted.
    #[inline]
    pub(in crate::tcp::linux) fn check_reordering(&mut self, low: u32) {
        self.note_reordering(low, self.highest_sacked_seq());
    }

    /// The same while the blocks of an ACK are looked at. What is SACKed may all lie below what the ACK acknowledges, as long as that is not removed
    /// (`tcp_sacktag_write_queue`, `tcp_highest_sack_seq`).
    pub(in crate::tcp::linux) fn check_reordering_of_blocks(&mut self, low: u32) {
        let high = if self.view.sacked_out == 0 { self.view.snd_una } else { self.board.highest_sacked };
        self.note_reordering(low, high);
    }

    /// Something just below `high` was delivered before `low`, which was never retransmitted.
    #[inline]
    pub(in crate::tcp::linux) fn note_reordering(&mut self, low: u32, high: u32) {
        if low < high {
            self.adapt_to_reordering(low, high);
        }
    }

    #[inline(never)]
    fn adapt_to_reordering(&mut self, low: u32, high: u32) {
        if self.reordering.note(self.span_on_wire(low, high).div_ceil(u64::from(self.layout.mss())) as u32) {
            self.fack.disable();
        }
    }

    /// Sequence numbers that the segments `low..high` take on the wire.
    pub(in crate::tcp::linux) fn span_on_wire(&self, low: u32, high: u32) -> u64 {
        self.layout.span(low, high) + u64::from((low..high).contains(&self.close.fin()))
    }

    /// End of the highest SACKed range, or the cumulative point.
    pub(in crate::tcp::linux) fn highest_sacked_seq(&self) -> u32 {
        if self.view.sacked_out == 0 {
            self.view.snd_una
        } else {
            self.board.highest_sacked.max(self.view.snd_una)
        }
    }
}
