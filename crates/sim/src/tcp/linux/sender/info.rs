//! The answer of `getsockopt(TCP_INFO)` for a sender (Linux 6.12 net/ipv4/tcp.c `tcp_get_info`).

use super::Sender;
use crate::cc::{AnyCc, View};
use crate::tcp::common::lazy_timer::Ticks;
use crate::time::Time;

/// The fields of `struct tcp_info` that a sender has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Info {
    /// Congestion state.
    pub ca_state: u8,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow-start threshold, segments.
    pub ssthresh: u32,
    /// Smoothed RTT, us.
    pub srtt_us: u32,
    /// Mean deviation of the RTT, us.
    pub rttvar_us: u32,
    /// Retransmission timeout, us.
    pub rto_us: u64,
    /// Degree of reordering, segments.
    pub reordering: u32,
    /// Outstanding segments.
    pub unacked: u32,
    /// Segments SACKed.
    pub sacked: u32,
    /// Segments deemed lost.
    pub lost: u32,
    /// Retransmissions outstanding.
    pub retrans: u32,
    /// Time with something to send, us.
    pub busy_us: u64,
    /// Time limited by the receiver's window, us.
    pub rwnd_limited_us: u64,
    /// Time limited by the send buffer, us.
    pub sndbuf_limited_us: u64,
}

impl Sender {
    /// Retransmission timeout, us.
    #[must_use]
    pub fn rto_us(&self) -> u64 {
        self.clock.to_us(self.rto_ticks())
    }

    /// Degree of reordering, segments.
    #[must_use]
    pub fn reordering_degree(&self) -> u32 {
        self.reordering.degree()
    }

    /// Return the view of the congestion control at the time `now`. The clock of the sender itself stands still between packets.
    #[must_use]
    pub fn view_at(&self, now: Time) -> View {
        View { jiffies: self.clock.tick(now) as u32, ..self.view.clone() }
    }

    /// Linux's `sk_pacing_rate`, bytes/s. It is computed here where nothing else depends on it; a congestion control with `cong_control` sets it.
    #[must_use]
    pub fn pacing_rate(&self) -> u64 {
        if self.sending.is_in_steps() || self.needs.cong_control || self.view.srtt_us8 == 0 {
            self.window.pacing_rate
        } else {
            self.rate_of_window()
        }
    }

    /// The congestion control of this sender.
    #[must_use]
    pub fn congestion_control(&self) -> &AnyCc {
        &self.cc
    }

    /// TCP_INFO now.
    #[must_use]
    pub fn info(&self, now: Time) -> Info {
        let (view, times) = (&self.view, self.limited_times(now));
        Info {
            ca_state: view.state as u8,
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            srtt_us: view.srtt_us8 >> 3,
            rttvar_us: self.rtt.mdev_us(),
            rto_us: self.clock.to_us(self.rto_ticks()),
            reordering: self.reordering.degree(),
            unacked: view.packets_out,
            sacked: view.sacked_out,
            lost: view.lost_out,
            retrans: view.retrans_out,
            busy_us: times.cwnd_us + times.rwnd_us + times.sndbuf_us,
            rwnd_limited_us: times.rwnd_us,
            sndbuf_limited_us: times.sndbuf_us,
        }
    }
}
