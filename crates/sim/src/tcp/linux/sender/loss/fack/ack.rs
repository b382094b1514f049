//! Processing an ACK on stacks that find losses by counting (Linux 3.9 net/ipv4/tcp_input.c, tcp_ack, tcp_clean_rtx_queue). The window grows
//! before recovery is decided, once per ACK.
//!
//! Leaves out: reneging (the receiver keeps all that it has SACKed), and the limit on growth after an idle time.

use crate::attachment::Blocks;
use crate::cc::{CaState, CongestionControl, Growth};
use crate::outbox::Outbox;
use crate::segment::{flags, Segment};
use crate::tcp::common::lazy_timer::Ticks;
use crate::tcp::linux::sender::ack::{flag, AckState};
use crate::tcp::linux::sender::scoreboard::mark;
use crate::tcp::linux::sender::{Pending, Sender};
use crate::tcp::linux::stack::CwndLimited;

/// A third of the window may be kept back to build TSO segments (sysctl tcp_tso_win_divisor).
const WINDOW_DIVISOR: u32 = 3;
/// Segments that may be kept back in any case.
const MAX_DEFERRED: u32 = 3;

/// The unused part of a window, to compare with a third of it. The kernel's number wraps (tcp_is_cwnd_limited: `left * sysctl_tcp_tso_win_divisor`).
fn times_divisor(left: u32) -> u32 {
    left.wrapping_mul(WINDOW_DIVISOR)
}

impl Sender {
    /// Takes in an ACK, up to what it retransmits.
    #[inline(never)]
    pub(in crate::tcp::linux) fn process_ack_by_count(&mut self, p: &Segment, blocks: &Blocks, out: &mut impl Outbox) {
        let (ack, prior_una, prior_sacked) = (p.seq, self.view.snd_una, self.view.sacked_out);
        let mut a = AckState::new(prior_una, p.tsecr, self.view.snd_nxt);
        if ack < prior_una {
            // Old, but its SACK blocks may be news.
            if blocks.count > 0 {
                self.tag_sacked(ack, blocks, &mut a);
                if !self.marks_by_episode() {
                    self.alert(&a, 0, prior_sacked, out);
                }
            }
            return;
        }
        if self.timer.pending() == Pending::EarlyRetransmit {
            self.rearm_rto(out);
        }
        let (mut prior_highest, mut prior_in_flight) = (self.highest_sacked_seq(), self.view.in_flight());
        let prior_packets = self.view.packets_out;
        a.flags |= self.beside;
        if ack > prior_una {
            a.flags |= flag::UNA_ADVANCED | flag::WIN_UPDATE;
        }
        let ece = p.has(flags::ECE) && self.ecn.is_echoed();
        if self.needs.whole_acks {
            a.note_whole_ack(p, ece || blocks.count > 0 || p.window != self.peer.bytes());
        }
        if self.update_peer_window(p.window, ack) {
            a.flags |= flag::WIN_UPDATE;
        }
        self.view.snd_una = ack;
        if ece {
            a.flags |= flag::ECE;
        }
        if blocks.count > 0 {
            self.tag_sacked(ack, blocks, &mut a);
            self.count_delivered(a.sack_delivered, ece);
            if self.marks_by_episode() {
                self.note_news(blocks, &mut a);
            }
        } else if !self.stack.reordering_by_ack {
            prior_highest = 0;
        }
        if self.stack.cwnd_limited == CwndLimited::FullAtAck {
            prior_in_flight = self.view.in_flight();
        }
        a.note_ack(p, ece);
        self.cc.on_ack(&self.view, &mut self.window, &a.sample);
        if prior_packets == 0 {
            if a.flags & flag::DSACKING != 0 && !self.marks_by_episode() {
                self.alert(&a, 0, prior_sacked, out);
            }
            self.answer_of_probe(out);
            return;
        }
        let acked = self.clean_acked(&mut a, prior_highest, ece, out);
        let held = self.process_frto(&a);
        if self.fack.frto_highmark.is_some_and(|mark| mark < self.view.snd_una) {
            self.fack.frto_highmark = None;
        }
        let dubious = a.flags & flag::NOT_DUP == 0
            || a.flags & (flag::DATA_SACKED | flag::ECE) != 0
            || self.view.state != CaState::Open;
        let may_raise = (!ece || self.window.cwnd < self.window.ssthresh) && !self.view.in_reduction();
        if a.flags & flag::DATA_ACKED != 0 && !held && may_raise {
            self.raise_cwnd(prior_in_flight, acked);
        }
        if dubious {
            a.duplicate = a.flags & (flag::UNA_ADVANCED | flag::NOT_DUP) == 0;
            self.alert(&a, acked, prior_sacked, out);
        }
        self.update_pacing_rate();
    }

    /// Growth, given what was in flight before the ACK.
    fn raise_cwnd(&mut self, prior_in_flight: u32, acked: u32) {
        let cwnd = self.window.cwnd;
        if self.stack.cwnd_limited == CwndLimited::AtAck {
            let left = cwnd.saturating_sub(prior_in_flight);
            let deferred = self.tso.enabled && times_divisor(left) < cwnd && left < self.tso.most;
            self.view.is_cwnd_limited = deferred || left <= MAX_DEFERRED;
        }
        if self.stack.cwnd_limited == CwndLimited::FullAtAck {
            let left = cwnd.saturating_sub(prior_in_flight);
            self.view.is_cwnd_limited = left == 0 || (self.tso.enabled && times_divisor(left) < cwnd);
        }
        let amount = match self.stack.growth {
            Growth::Acks => 1,
            Growth::Segments => acked,
        };
        self.cc.cong_avoid(&self.view, &mut self.window, amount);
        self.usage.note_changed(self.view.jiffies);
        self.reduce_if_asked();
    }

    /// Removes what `snd_una` now covers, and takes RTT samples; returns how many segments that were.
    fn clean_acked(&mut self, a: &mut AckState, prior_highest: u32, ece: bool, out: &mut impl Outbox) -> u32 {
        let una = self.view.snd_una;
        let (had_sacks, highest) = (self.view.sacked_out > 0, self.board.highest_sacked);
        let mut last_us = None;
        let mut reord = self.view.snd_nxt;
        for seq in a.prior_una..una {
            let s = *self.board.get(seq);
            if s.marks & mark::ANY_RETRANS != 0 {
                if s.marks & mark::RETRANS != 0 {
                    self.view.retrans_out -= 1;
                }
                a.flags |= flag::RETRANS_ACKED;
                if seq > a.prior_una {
                    a.flags |= flag::NONHEAD_RETRANS_ACKED;
                }
            } else {
                last_us = Some(s.sent_us());
                if s.marks & mark::SACKED == 0 {
                    reord = reord.min(seq);
                }
            }
            if s.marks & mark::SACKED == 0 {
                self.count_delivered(1, ece);
            } else {
                self.view.sacked_out -= 1;
                self.buffer.forget_merged(s.marks & mark::MERGED != 0);
            }
            if s.marks & mark::LOST != 0 {
                self.view.lost_out -= 1;
            }
            self.board.unlist(seq);
        }
        let acked = una - a.prior_una;
        if acked == 0 {
            return 0;
        }
        self.fack.walk.begin_again();
        self.view.packets_out -= acked;
        if self.view.packets_out == 0 {
            self.chrono_acknowledged();
        }
        a.flags |= flag::DATA_ACKED;
        // Whatever timed out before has been answered.
        self.rec.note_progress();
        if had_sacks {
            self.board.trim_runs(una);
        }
        // Only data never retransmitted measures the path for congestion control.
        let unambiguous = if a.flags & flag::RETRANS_ACKED == 0 { last_us } else { None };
        let rtt_us = unambiguous.map_or(-1, |sent_us| self.clock.to_us(self.ticks_since(sent_us)) as i64);
        if a.tsecr != 0 {
            // Not of a departure that is yet to come.
            if let Some(ms) = self.ts_ms().checked_sub(a.tsecr) {
                self.take_rtt(ms * 1000, ms * 1000, false);
            }
        } else if rtt_us >= 0 {
            self.take_rtt(rtt_us as u32, rtt_us as u32, false);
        }
        self.rearm_rto(out);
        if reord < prior_highest {
            self.note_reordering(reord, highest);
        }
        a.sample.rtt_us = match unambiguous {
            Some(sent_us) if self.needs.rtt_stamps => self.view.mstamp_us.saturating_sub(sent_us) as i64,
            _ => rtt_us,
        };
        self.cc.pkts_acked(&self.view, &mut self.window, &a.sample);
        acked
    }

    /// Ticks since a time, us, which a paced segment that is retransmitted may have before it.
    pub(in crate::tcp::linux) fn ticks_since(&self, sent_us: u64) -> u64 {
        self.clock.tick(self.view.mstamp_us * 1000).saturating_sub(self.clock.tick(sent_us * 1000))
    }
}
