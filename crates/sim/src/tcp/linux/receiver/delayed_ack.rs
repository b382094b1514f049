//! The delayed ACK: how long it waits, and its timer (Linux 6.12 net/ipv4/tcp_input.c `tcp_event_data_recv`, tcp_output.c
//! `tcp_send_delayed_ack`, tcp_timer.c `tcp_delack_timer_handler`).

use super::{Receiver, MAX_QUICK};
use crate::outbox::Outbox;
use crate::time::{Time, NEVER};

/// How long a delayed ACK waits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Delay {
    /// Until a tick; in which one that was decided.
    Until { tick: u64, set_in: u64 },
    /// The least interval from this time on; nobody has asked yet which tick that is.
    LeastFrom(Time),
}

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
        let gap = self.clock.jiffies(now) - self.clock.jiffies(last_data);
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
                most = most.min(self.clock.from_us(self.srtt_us).max(self.ato_min));
            }
            ato = ato.min(most);
        }
        if self.delack_capped {
            ato = ato.min(self.delack_max);
        }
        let jiffies = self.clock.jiffies(out.now());
        let mut expires = jiffies + ato;
        if let Some((pending, _)) = self.delack_ticks() {
            if pending <= jiffies + (ato >> 2) {
                self.send_ack(self.rcv_nxt, out);
                return;
            }
            expires = expires.min(pending);
        }
        self.delack = Some(Delay::Until { tick: expires, set_in: jiffies });
        // A later deadline leaves the earlier event in place; it re-arms itself when it comes.
        if self.clock.start(expires) < self.delack_armed {
            let fires = self.delack_fires();
            if fires < self.delack_armed {
                self.set_event(out, fires);
            }
        }
    }

    /// Moves the event of the delayed ACK.
    fn set_event(&mut self, out: &mut impl Outbox, time: Time) {
        self.delack_armed = time;
        self.after_event = time.saturating_sub(self.clock.start(self.ato_min)).saturating_add(self.clock.start(1));
        out.set_timer(self.source, time);
    }

    /// The tick that the delayed ACK waits for, and the one in which that was decided.
    fn delack_ticks(&self) -> Option<(u64, u64)> {
        self.delack.map(|delay| match delay {
            Delay::Until { tick, set_in } => (tick, set_in),
            Delay::LeastFrom(time) => (self.clock.jiffies(time) + self.ato_min, self.clock.jiffies(time)),
        })
    }

    /// When the timer of the delayed ACK fires.
    fn delack_fires(&self) -> Time {
        self.delack_ticks().map_or(NEVER, |(tick, set_in)| self.clock.fires(set_in, tick))
    }

    /// A timer's event: 0 is the delayed ACK, 1 the compressed ACK.
    pub fn on_timer(&mut self, which: usize, out: &mut impl Outbox) {
        if which == 1 {
            out.set_timer(self.source + 1, NEVER);
            self.flush_compressed(out);
            return;
        }
        let fires = self.delack_fires();
        if fires > out.now() {
            // The deadline has moved, or is gone.
            return self.set_event(out, fires);
        }
        self.set_event(out, NEVER);
        if self.delack.take().is_some() && self.scheduled {
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
