//! The skbs of a TSO sender after transmission: SACK blocks cut them apart and join SACKed ones, and they are retransmitted as a whole or in
//! part (Linux 6.12 net/ipv4/tcp_input.c `tcp_match_skb_to_sack`, `tcp_shift_skb_data`; net/ipv4/tcp_output.c `__tcp_retransmit_skb`,
//! `tcp_send_loss_probe`).
//!
//! Leaves out: joining short segments that are retransmitted (`tcp_retrans_try_collapse`), cutting a segment that the receiver's window has no room for any
//! more, that an skb is left whole where the send buffer is far too full.

use std::ops::Range;

use crate::outbox::Outbox;
use crate::segment::flags;
use crate::tcp::linux::sender::output::pacing::Departing;
use crate::tcp::linux::sender::output::transmit::Retransmission;
use crate::tcp::linux::sender::scoreboard::mark;
use crate::tcp::linux::sender::Sender;

impl Sender {
    /// The segments of `hole` were just SACKed by one block; nothing before `first` was outstanding when it came.
    pub(in crate::tcp::linux::sender) fn match_skbs_to_sack(&mut self, hole: Range<u32>, first: u32) {
        self.skbs.forget(first);
        let mut at = hole.start;
        self.skbs.split(at);
        while let Some(skb) = self.skbs.around(at).filter(|_| at < hole.end) {
            let end = skb.end.min(hole.end);
            if self.shifts(at) {
                self.shift(at..end);
                // The skb behind the hole was SACKed before.
                let is_filled = end == skb.end && end == hole.end && end < self.view.snd_nxt && self.shifts(end);
                if let Some(next) = self.skbs.around(end).filter(|_| is_filled) {
                    self.shift(next);
                }
            } else {
                self.skbs.split(end);
            }
            at = end;
        }
    }

    /// The skbs of SACKed segments that begin within a range are joined to what is before them; `is_cut`: one was cut at its end.
    pub(in crate::tcp::linux::sender) fn shift_within(&mut self, range: Range<u32>, is_cut: bool) {
        let mut at = range.start;
        while let Some(skb) = self.skbs.around(at).filter(|_| at < range.end) {
            at = skb.end;
            if skb.start >= range.start && self.shifts(skb.start) {
                self.shift(skb);
                let is_last = at >= self.view.snd_nxt || (is_cut && at == range.end);
                if !is_last && self.shifts(at) {
                    let Some(next) = self.skbs.around(at) else { break };
                    at = next.end;
                    self.shift(next);
                }
            }
        }
    }

    /// The segments of a block that reports a duplicate are an skb of their own, or several.
    pub(in crate::tcp::linux::sender) fn match_skbs_to_duplicate(&mut self, duplicate: Range<u32>, first: u32) {
        self.skbs.forget(first);
        let start = duplicate.start.max(first);
        self.skbs.split(start);
        self.skbs.split(duplicate.end);
        if start > first && start < duplicate.end && self.shifts(start) {
            // The segments before it in the same skb take it back.
            self.shift(start..duplicate.end);
        }
    }

    /// The skb that begins with segment `seq` is joined to the one before: both are SACKed, none was retransmitted since, and their segments are as long.
    fn shifts(&self, seq: u32) -> bool {
        let is_plain =
            |seq: u32| self.board.get(seq).marks & (mark::SACKED | mark::RETRANS | mark::LOST) == mark::SACKED;
        let before = seq.checked_sub(1).and_then(|before| self.skbs.around(before));
        before.is_some_and(|skb| {
            is_plain(seq) && is_plain(seq - 1) && self.layout.payload(seq) == self.layout.payload(skb.start)
        })
    }

    /// Joins the segments of `part`, with which an skb begins, to the skb before. If either was ever retransmitted, both were (`tcp_shifted_skb`).
    fn shift(&mut self, part: Range<u32>) {
        let ever = |this: &Self, seq| this.board.get(seq).marks & mark::EVER_RETRANS;
        let before = self.skbs.around(part.start - 1).map_or(part.start, |skb| skb.start);
        if ever(self, part.start) != ever(self, part.start - 1) {
            (before..part.end).for_each(|seq| self.board.get_mut(seq).marks |= mark::EVER_RETRANS);
        }
        self.skbs.shift(part.start, part.end);
    }

    /// Sends at most `most` segments of the skb with segment `seq` again, from that on.
    #[inline(never)]
    pub(in crate::tcp::linux::sender) fn resend_skb(
        &mut self,
        out: &mut impl Outbox,
        seq: u32,
        most: u32,
        count_as_lost: bool,
    ) -> Retransmission {
        let n = self.part_to_resend(seq, most);
        let (departure, clock) = self.set_clock_to_departure(out.now());
        if !self.view.is_paced {
            self.set_clock(clock);
        }
        let (mut result, mut sent) = (Retransmission::Held, 0);
        while sent < n {
            let push = if n > 1 && sent == n - 1 && self.stack.tso_push { flags::PSH } else { 0 };
            result = if self.is_held_in_host() {
                self.send_again_out_of_line(&mut Departing { at: departure, out }, seq + sent, push, count_as_lost)
            } else if self.view.is_paced {
                // The departure stays as it was: what is late for it makes up for that.
                self.send_again_out_of_line(out, seq + sent, push, count_as_lost)
            } else {
                self.send_again_unpaced(out, seq + sent, push, count_as_lost)
            };
            if result != Retransmission::Sent {
                break;
            }
            sent += 1;
        }
        if self.view.is_paced {
            self.set_clock(clock);
            self.pace(out.now(), seq, sent);
        } else if sent > 0 {
            self.note_bare_departure(out.now());
        }
        result
    }

    /// Makes those of the next `most` segments from `seq` on that lie in one skb, and in the receiver's window, an skb of their own; returns how
    /// many they are.
    fn part_to_resend(&mut self, seq: u32, most: u32) -> u32 {
        self.skbs.forget(self.view.snd_una);
        self.skbs.split(seq);
        let marks = |this: &Self, seq| this.board.get(seq).marks & (mark::SACKED | mark::RETRANS | mark::LOST);
        let Some(skb) = self.skbs.around(seq) else { return 1 };
        let window = self.peer.end().saturating_sub(seq).max(1);
        let end = seq + most.min(window).min(skb.end - seq).max(1);
        let end = (seq + 1..end).find(|&other| marks(self, other) != marks(self, seq)).unwrap_or(end);
        self.skbs.split(end);
        end - seq
    }
}
