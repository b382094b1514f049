//! The delayed ACK: how long it waits, and its timer (Linux 6.12 net/ipv4/tcp_input.c `tcp_event_data_recv`, tcp_output.c
//! `tcp_send_delayed_ack`, tcp_timer.c `tcp_delack_timer_handler`).

use super::{Receiver, MAX_QUICK};
use crate::outbox::Outbox;
use crate::tcp::common::lazy_timer::Ticks;
use crate::time::{Time, NEVER};

impl Receiver {
    /// Adapts the delayed-ACK interval to the spacing of the data.
    #[inline(always)]
    pub(super) fn time_delayed_ack(&mut self, now: Time) {
        if now < self.short_gap_ends {
            self.ato = (self.ato >> 1) + self.ato_step;
        } else {
            self.time_gap(now);
        }
        self.short_gap_ends = now + self.short_gap;
    }

    fn time_gap(&mut self, now: Time) {
        if self.ato == 0 {
            self.request_quick(MAX_QUICK);
            self.ato = self.ato_min;
            return;
        }
        // What came out of order may have set the interval before any data came in order.
        let last_data = self.short_gap_ends.saturating_sub(self.short_gap);
        let gap = self.clock.tick(now) - self.clock.tick(last_data);
        if gap <= self.ato_step {
            self.ato = (self.ato >> 1) + self.ato_step;
        } else if gap < self.ato {
            self.ato = self.bound_ato((self.ato >> 1) + gap);
        } else if gap > self.rto {
            self.request_quick(MAX_QUICK);
        }
    }

    fn bound_ato(&self, ato: u64) -> u64 {
        ato.min(self.rto).min(if self.delack_capped { self.delack_max } else { u64::MAX })
    }

    pub(super) fn delay_ack(&mut self, out: &mut impl Outbox) {
        let mut ato = self.ato;
        if ato > self.ato_min {
            let mut most = if (self.pushed || self.in_ping_pong()) && !self.delack_capped {
                self.delack_max
            } else {
                self.clock.from_ms(500)
            };
            if self.srtt_us > 0 {
                most = most.min(self.clock.in_ticks(self.srtt_us).max(self.ato_min));
            }
            ato = ato.min(most);
        }
        if self.delack_capped {
            ato = ato.min(self.delack_max);
        }
        let jiffies = self.clock.tick(out.now());
        let mut expires = jiffies + ato;
        if let Some((pending, _)) = self.delack.deadline(&self.clock) {
            if pending <= jiffies + (ato >> 2) {
                self.send_ack(self.rcv_nxt, out);
                return;
            }
            expires = expires.min(pending);
        }
        self.delack.set(&self.clock, jiffies, expires, out);
    }

    /// A timer's event: 0 is the delayed ACK, 1 the compressed ACK.
    pub fn on_timer(&mut self, which: usize, out: &mut impl Outbox) {
        if which == 1 {
            out.set_timer(self.source + 1, NEVER);
            self.flush_compressed(out);
            return;
        }
        if self.delack.expired(&self.clock, out) && self.scheduled {
            if self.in_ping_pong() {
                // Nothing came for the ACK to ride on.
                self.leave_ping_pong();
                self.ato = self.ato_min;
            } else {
                self.ato = self.bound_ato(self.ato << 1);
            }
            self.send_ack(self.rcv_nxt, out);
        }
    }
}
