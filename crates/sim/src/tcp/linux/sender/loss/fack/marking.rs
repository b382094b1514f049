//! Which segments are lost, and what is retransmitted in which order (Linux 3.9 net/ipv4/tcp_input.c, tcp_update_scoreboard,
//! tcp_mark_head_lost, tcp_mark_lost_retrans; tcp_output.c, tcp_xmit_retransmit_queue).

use crate::cc::CaState;
use crate::outbox::Outbox;
use crate::tcp::linux::sender::output::transmit::Retransmission;
use crate::tcp::linux::sender::scoreboard::mark;
use crate::tcp::linux::sender::{Pending, Sender};

impl Sender {
    /// Segments from the first unacknowledged one to the highest SACKed one.
    pub(in crate::tcp::linux) fn fackets_out(&self) -> u32 {
        self.highest_sacked_seq() - self.view.snd_una
    }

    /// Number of duplicate ACKs, as it counts.
    pub(in crate::tcp::linux) fn dupacks(&self) -> u32 {
        if self.fack.enabled || self.marks_by_episode() {
            self.fackets_out()
        } else {
            self.view.sacked_out + 1
        }
    }

    pub(super) fn timed_out(&self, seq: u32) -> bool {
        self.ticks_since(self.board.get(seq).sent_us()) > self.rto_ticks()
    }

    /// With FACK, or in 2.6.18 in any case, the first segment also counts as lost once it is older than an RTO.
    pub(in crate::tcp::linux) fn fack_head_timed_out(&self) -> bool {
        (self.fack.enabled || self.marks_by_episode()) && self.view.packets_out > 0 && self.timed_out(self.view.snd_una)
    }

    /// New data could be sent now.
    pub(in crate::tcp::linux) fn may_send_now(&self) -> bool {
        self.has_data() && self.window.cwnd > self.view.in_flight() && self.peer.end() > self.view.snd_nxt
    }

    pub(super) fn mark_lost_once(&mut self, seq: u32) {
        let s = self.board.get_mut(seq);
        if s.marks & (mark::SACKED | mark::LOST) == 0 {
            s.marks |= mark::LOST;
            self.view.lost_out += 1;
            self.view.lost += 1;
            self.board.push_lost(seq);
        }
    }

    /// Marks what the SACKs prove lost; with `entered` the first segment at least.
    pub(in crate::tcp::linux) fn update_scoreboard(&mut self, entered: bool) {
        if self.marks_by_episode() {
            return self.update_scoreboard_of_episode();
        }
        let (una, nxt) = (self.view.snd_una, self.view.snd_nxt);
        if self.fack.enabled {
            let lost = self.fackets_out().saturating_sub(self.reordering.degree()).max(1);
            (una..nxt.min(una + lost)).for_each(|seq| self.mark_lost_once(seq));
        } else if self.view.sacked_out >= self.reordering.degree() {
            let mut above = self.view.sacked_out - self.reordering.degree();
            for seq in una..nxt {
                if self.board.get(seq).marks & mark::SACKED == 0 {
                    self.mark_lost_once(seq);
                } else if above == 0 {
                    break;
                } else {
                    above -= 1;
                }
            }
        } else if entered {
            self.mark_lost_once(una);
        }
        if self.fack_head_timed_out() {
            for seq in una..nxt {
                if !self.timed_out(seq) {
                    break;
                }
                self.mark_lost_once(seq);
            }
        }
    }

    /// A retransmission is lost when something sent after it was SACKed.
    #[inline(always)]
    pub(in crate::tcp::linux) fn mark_lost_retrans(&mut self) {
        if self.fack.enabled && self.view.retrans_out > 0 && self.view.state == CaState::Recovery {
            self.mark_passed_retrans();
        }
    }

    /// [`Self::mark_lost_retrans`], apart from the question whether there can be any.
    #[inline(never)]
    fn mark_passed_retrans(&mut self) {
        let high = self.highest_sacked_seq();
        if high <= self.fack.lost_retrans_low {
            return;
        }
        let mut low = self.view.snd_nxt;
        let mut left = self.view.retrans_out;
        for seq in self.view.snd_una..self.view.snd_nxt {
            if left == 0 {
                break;
            }
            let s = self.board.get_mut(seq);
            if s.marks & mark::RETRANS == 0 {
                continue;
            }
            left -= 1;
            if high > s.noted {
                self.lose_retransmission(seq);
            } else {
                low = low.min(s.noted);
            }
        }
        if self.view.retrans_out > 0 {
            self.fack.lost_retrans_low = low;
        }
    }

    /// The retransmission of a segment was lost, too.
    pub(super) fn lose_retransmission(&mut self, seq: u32) {
        let s = self.board.get_mut(seq);
        s.marks &= !mark::RETRANS;
        if s.marks & (mark::LOST | mark::SACKED) == 0 {
            s.marks |= mark::LOST;
            self.view.lost_out += 1;
        }
        self.view.retrans_out -= 1;
        self.view.lost += 1;
        self.board.push_lost(seq);
    }

    /// Retransmits what is lost, then in recovery and with nothing new to send what has only SACKs above it.
    pub(in crate::tcp::linux) fn retransmit_by_count(&mut self, out: &mut impl Outbox) {
        while self.view.packets_out > 0 && self.window.cwnd > self.view.in_flight() {
            let Some(seq) = self.board.next_lost(self.view.snd_una) else { break };
            if !self.retransmit_counted(seq, out) {
                return;
            }
        }
        if self.view.state != CaState::Recovery || self.may_send_now() {
            return;
        }
        for seq in self.view.snd_una..self.highest_sacked_seq() {
            if self.window.cwnd <= self.view.in_flight() {
                return;
            }
            if self.board.get(seq).marks & (mark::SACKED | mark::RETRANS) == 0 && !self.retransmit_counted(seq, out) {
                return;
            }
        }
    }

    fn retransmit_counted(&mut self, seq: u32, out: &mut impl Outbox) -> bool {
        if self.is_early(out.now()) {
            self.wait_for_departure(out);
            return false;
        }
        if self.host_is_full_for(seq) || self.retransmit(out, seq, true) != Retransmission::Sent {
            return false;
        }
        if self.view.in_reduction() {
            self.prr.count_sent(1);
        }
        if seq == self.view.snd_una {
            self.set_timer(out, Pending::Retransmit, self.rto_ticks() + self.pacing_delay(out.now()));
        }
        true
    }
}
