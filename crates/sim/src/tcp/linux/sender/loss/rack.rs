//! RACK: loss detection by time of transmission (RFC 8985; Linux 6.12 net/ipv4/tcp_recovery.c).
//!
//! Leaves out: the newreno variant for connections without SACK.

use crate::cc::{CaState, Renumbering};
use crate::outbox::Outbox;
use crate::tcp::common::lazy_timer::Ticks;
use crate::tcp::linux::sender::scoreboard::mark;
use crate::tcp::linux::sender::{Pending, Sender};

/// Least timeout of RACK and TLP, us.
pub(in crate::tcp::linux) const TIMEOUT_MIN_US: u64 = 2_000;
/// Recoveries after which a widened reordering window shrinks again.
const REORDER_PERSIST: u8 = 16;

/// The last delivery, and the width of the reordering window. Told of every delivery and of D-SACKs; asked for losses whenever something
/// was delivered, and when the reordering timer fires.
#[derive(Clone, Debug)]
pub(in crate::tcp::linux) struct Rack {
    /// Latest transmission among the segments delivered, and its end.
    sent_us: u64,
    end_seq: u32,
    rtt_us: u32,
    /// Something was delivered since losses were last looked for.
    advanced: bool,
    /// A D-SACK came in this round trip.
    dsack_seen: bool,
    /// Width of the reordering window, quarters of the minimum RTT.
    window_steps: u32,
    /// Recoveries after which it is narrow again.
    persist: u8,
    last_delivered: u32,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            sent_us: 0,
            end_seq: 0,
            rtt_us: 0,
            advanced: false,
            dsack_seen: false,
            window_steps: 1,
            persist: 0,
            last_delivered: 0,
        }
    }
}

impl Rack {
    /// True if the reordering window is as wide as ever, and nothing widens it.
    #[inline]
    pub fn is_narrow(&self) -> bool {
        !self.dsack_seen && self.window_steps == 1
    }

    /// A segment in flight is new or has gone.
    pub fn renumber(&mut self, r: Renumbering) {
        r.apply(&mut self.end_seq);
    }

    /// A D-SACK came.
    pub fn note_dsack(&mut self) {
        self.dsack_seen = true;
    }

    /// A recovery ended that was not undone.
    pub fn count_recovery(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// A reduction was undone because of D-SACKs: a widened window stays for one more recovery.
    pub fn stay_wide(&mut self) {
        self.persist = (self.persist + 1).min(REORDER_PERSIST);
    }

    /// Losses are to be looked for although nothing was delivered.
    pub fn suspect_again(&mut self) {
        self.advanced = true;
    }

    /// There is nothing to look for.
    #[inline]
    pub fn trust(&mut self) {
        self.advanced = false;
    }

    /// True if something sent after a segment, or with it and ending above it, was delivered.
    pub fn is_past(&self, sent_us: u64, end: u32) -> bool {
        (self.sent_us, self.end_seq) > (sent_us, end)
    }
}

impl Sender {
    /// A segment with `marks`, ending at `end`, sent at `sent_us`, was delivered.
    #[inline]
    pub(in crate::tcp::linux) fn rack_advance(&mut self, marks: u8, end: u32, sent_us: u64) {
        let rtt_us = self.us_since(sent_us) as u32;
        if marks & mark::ANY_RETRANS != 0 && rtt_us < self.view.min_rtt_us {
            // Probably the original arrived, not the retransmission, which may even be about to leave.
            return;
        }
        let rack = &mut self.rack;
        rack.advanced = true;
        rack.rtt_us = rtt_us;
        if sent_us > rack.sent_us || (sent_us == rack.sent_us && end > rack.end_seq) {
            rack.sent_us = sent_us;
            rack.end_seq = end;
        }
    }

    fn reorder_window_us(&self) -> u32 {
        if !self.reordering.was_seen()
            && (self.view.state >= CaState::Recovery || self.view.sacked_out >= self.reordering.degree())
        {
            return 0;
        }
        ((self.view.min_rtt_us >> 2).saturating_mul(self.rack.window_steps)).min(self.view.srtt_us8 >> 3)
    }

    /// us until the segment counts as lost.
    pub(in crate::tcp::linux) fn rack_remaining(&self, sent_us: u64, window_us: u32) -> i64 {
        i64::from(self.rack.rtt_us) + i64::from(window_us) - self.us_since(sent_us) as i64
    }

    /// Marks what was sent long enough before the latest delivery; returns the longest wait for the rest, us.
    #[inline(always)]
    pub(in crate::tcp::linux) fn rack_detect_loss(&mut self) -> u32 {
        let window_us = self.reorder_window_us();
        let mut wait = 0;
        let mut at = self.board.oldest();
        while let Some(seq) = at {
            let s = *self.board.get(seq);
            let is_lost = s.marks & mark::LOST != 0 && s.marks & mark::RETRANS == 0;
            if !is_lost && !self.rack.is_past(s.sent_us(), seq + 1) {
                break;
            }
            at = self.board.younger(seq);
            if is_lost {
                continue;
            }
            let remaining = self.rack_remaining(s.sent_us(), window_us);
            if remaining <= 0 {
                self.mark_lost(seq);
                self.board.unlist(seq);
            } else {
                wait = wait.max(remaining as u32);
            }
        }
        wait
    }

    /// Looks for losses if RACK has moved; true if the reordering timer was set.
    #[inline(always)]
    pub(in crate::tcp::linux) fn rack_mark_lost(&mut self, out: &mut impl Outbox) -> bool {
        if !self.rack.advanced {
            return false;
        }
        self.rack.advanced = false;
        let wait = self.rack_detect_loss();
        if wait == 0 {
            return false;
        }
        let after = self.clock.in_ticks(u64::from(wait) + TIMEOUT_MIN_US).min(self.rto_ticks());
        self.set_timer(out, Pending::Reorder, after);
        true
    }

    /// D-SACKs widen the reordering window, at most once a round trip.
    #[inline(never)]
    pub(in crate::tcp::linux) fn rack_update_window(&mut self, prior_delivered: u32) {
        let rack = &mut self.rack;
        if prior_delivered == 0 {
            return;
        }
        if prior_delivered < rack.last_delivered {
            rack.dsack_seen = false;
        }
        if rack.dsack_seen {
            rack.window_steps = (rack.window_steps + 1).min(0xff);
            rack.dsack_seen = false;
            rack.last_delivered = self.view.delivered;
            rack.persist = REORDER_PERSIST;
        } else if rack.persist == 0 {
            rack.window_steps = 1;
        }
    }

    pub(in crate::tcp::linux) fn on_reorder_timeout(&mut self, out: &mut impl Outbox) {
        let prior = self.view.in_flight();
        let lost = self.view.lost;
        self.rack_detect_loss();
        if prior != self.view.in_flight() {
            if self.view.state != CaState::Recovery {
                self.enter_recovery(false);
                if !self.needs.cong_control {
                    let newly_lost = self.view.lost - lost;
                    self.reduce_cwnd(1, newly_lost, 0);
                }
            }
            self.retransmit_lost(out);
        }
        if self.timer.pending() != Pending::Retransmit {
            self.rearm_rto(out);
        }
    }

    /// Marks a segment lost; a lost retransmission is lost again.
    #[inline(always)]
    pub(in crate::tcp::linux) fn mark_lost(&mut self, seq: u32) {
        let s = self.board.get_mut(seq);
        if s.marks & mark::SACKED != 0 {
            return;
        }
        if s.marks & mark::LOST == 0 {
            s.marks |= mark::LOST;
            self.view.lost_out += 1;
        } else if s.marks & mark::RETRANS != 0 {
            s.marks &= !mark::RETRANS;
            self.view.retrans_out -= 1;
        } else {
            return;
        }
        self.view.lost += 1;
        self.board.push_lost(seq);
        if self.needs.losses {
            self.tell_lost(seq);
        }
    }
}
