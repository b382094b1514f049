//! Rate halving: how the window came down before PRR (Linux 2.6.18 net/ipv4/tcp_input.c, `tcp_cwnd_down`, `tcp_enter_cwr`, `tcp_complete_cwr`,
//! `tcp_moderate_cwnd`). Each second ACK takes a segment off, and every ACK leaves no more than what is in flight and one: what was lost is
//! taken off the window as well, and after a burst of losses it is far below the threshold.
//!
//! Leaves out: that an undo leaves twice the threshold to congestion controls that have no `undo_cwnd`, where here it is the window before the reduction.

use crate::cc::CongestionControl;
use crate::tcp::linux::sender::Sender;

impl Sender {
    /// An ACK in a reduction.
    pub(in crate::tcp::linux) fn halve_rate(&mut self) {
        let acks = self.window.cwnd_cnt + 1;
        self.window.cwnd_cnt = acks & 1;
        if acks > 1 && self.window.cwnd > self.cc.least_cwnd(&self.view, &self.window) {
            self.window.cwnd -= acks >> 1;
        }
        self.bound_by_flight(1);
    }

    /// The reduction is complete: what is below the threshold slow start makes up for.
    pub(in crate::tcp::linux) fn end_halving(&mut self) {
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
    }

    /// No more than `beyond` what is in flight.
    pub(in crate::tcp::linux) fn bound_by_flight(&mut self, beyond: u32) {
        self.window.cwnd = self.window.cwnd.min(self.view.in_flight() + beyond);
    }

    /// No bursts in doubtful times.
    pub(in crate::tcp::linux) fn moderate_cwnd(&mut self) {
        self.bound_by_flight(self.stack.max_burst.unwrap_or_else(|| self.reordering.degree()));
    }
}
