//! The window of a sender that does not use it: after an idle time it is halved for each timeout that has passed, and while the application
//! sends less than it allows it decays towards what was used (RFC 2861; Linux 6.12 net/ipv4/tcp_output.c `tcp_cwnd_restart`, `tcp_cwnd_application_limited`,
//! `tcp_cwnd_validate`; include/net/tcp.h `tcp_slow_start_after_idle_check`). The control is told of the restart, and of the
//! first packet after an idle time, by [`Event::TxStart`], upon which CUBIC moves its curve; of the decay it is not.
//!
//! Bulk flows use their window as long as they have data, so that only a stream can decay.

use super::Sender;
use crate::cc::{CaState, CongestionControl, Event};

impl Sender {
    /// Window that a connection comes back to.
    fn restart_cwnd(&self) -> u32 {
        self.stack.restart_cwnd.unwrap_or(self.stack.initial_cwnd)
    }

    /// Something is to be sent, or the receiver's window changed: has nothing been sent for more than a retransmission timeout?
    #[cold]
    #[inline(never)]
    pub(super) fn restart_after_idle(&mut self) {
        if self.view.packets_out > 0 || !self.stack.slow_start_after_idle || self.needs.cong_control {
            return;
        }
        let rto = self.rto_ticks();
        let mut idle = u64::from(self.view.jiffies - self.view.last_sent_jiffies);
        if self.view.last_sent_jiffies == 0 || idle <= rto {
            return;
        }
        self.cc.on_event(&self.view, &mut self.window, Event::CwndRestart);
        let least = self.restart_cwnd().min(self.window.cwnd);
        self.window.ssthresh = self.window.current_ssthresh(&self.view);
        while idle > rto && self.window.cwnd > least {
            idle -= rto;
            self.window.cwnd >>= 1;
        }
        self.window.cwnd = self.window.cwnd.max(least);
        self.usage.note_full(self.view.jiffies);
    }

    /// Something was sent, and the window allowed more: usual for who is paced.
    #[inline(always)]
    pub(super) fn use_less_than_window(&mut self) {
        if self.window.is_limiting(&self.view) {
            return self.usage.note_full(self.view.jiffies);
        }
        let stale = self.usage.note_used(self.view.packets_out, self.view.jiffies);
        if self.stack.slow_start_after_idle && !self.needs.cong_control && u64::from(stale) >= self.rto_ticks() {
            self.decay();
        }
        self.chrono_starved();
    }

    #[cold]
    #[inline(never)]
    fn decay(&mut self) {
        let used = self.usage.begin_again(self.view.jiffies).max(self.restart_cwnd());
        if self.view.state == CaState::Open
            && self.buffer.is_stream()
            && !self.buffer.waits_for_room()
            && used < self.window.cwnd
        {
            self.window.ssthresh = self.window.current_ssthresh(&self.view);
            self.window.cwnd = (self.window.cwnd + used) / 2;
        }
    }
}
