//! The part of a sender that congestion controls see and steer.

use crate::tcp::linux::options::Growth;

/// "No threshold yet", as Linux prints it.
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Linux's congestion states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum CaState {
    /// Nothing unusual.
    Open = 0,
    /// SACKs or duplicate ACKs seen.
    Disorder = 1,
    /// Window being reduced after a mark or a local drop.
    Cwr = 2,
    /// Fast recovery.
    Recovery = 3,
    /// After a retransmission timeout.
    Loss = 4,
}

/// Window, sequence numbers (in segments) and estimates of a sender.
#[derive(Clone, Debug)]
pub struct Tcb {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold.
    pub ssthresh: u32,
    /// Acknowledged segments counted towards the next increase.
    pub cwnd_cnt: u32,
    /// Window at the start of the present reduction.
    pub prior_cwnd: u32,
    /// First unacknowledged segment.
    pub snd_una: u32,
    /// Next new segment.
    pub snd_nxt: u32,
    /// Segments sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// Of these, SACKed.
    pub sacked_out: u32,
    /// Of these, deemed lost.
    pub lost_out: u32,
    /// Retransmissions in flight.
    pub retrans_out: u32,
    /// Segments delivered, ever (retransmitted ones count once a delivery).
    pub delivered: u32,
    /// Of these, acknowledged with an ECN echo.
    pub delivered_ce: u32,
    /// Congestion state.
    pub state: CaState,
    /// The window, not the application or the receiver, limits sending.
    pub is_cwnd_limited: bool,
    /// Most segments outstanding in the present window.
    pub max_packets_out: u32,
    /// Forget the flag in slow start (5.1) or count both (6.12); see `Stack::cwnd_limited`.
    pub slow_start_ignores_limited_flag: bool,
    /// What the window grows by.
    pub growth: Growth,
    /// Smoothed RTT times 8, us; 0 before the first sample.
    pub srtt_us8: u32,
    /// Windowed minimum RTT, us.
    pub min_rtt_us: u32,
    /// Now, us.
    pub mstamp_us: u64,
    /// Now, ticks.
    pub jiffies: u32,
    /// Ticks a second.
    pub hz: u32,
    /// Time of the last transmission of new data, ticks.
    pub last_sent_jiffies: u32,
    /// What the sender would pace at, bytes/s (TSO segments are sized by it, and HyStart estimates the delay of ACKs).
    pub pacing_rate: u64,
}

impl Tcb {
    /// A sender before its handshake.
    #[must_use]
    pub fn new(initial_cwnd: u32, ssthresh: u32, hz: u32, slow_start_ignores_limited_flag: bool) -> Self {
        Self {
            cwnd: initial_cwnd,
            ssthresh,
            cwnd_cnt: 0,
            prior_cwnd: 0,
            snd_una: 0,
            snd_nxt: 0,
            packets_out: 0,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            delivered: 0,
            delivered_ce: 0,
            state: CaState::Open,
            is_cwnd_limited: false,
            max_packets_out: 0,
            slow_start_ignores_limited_flag,
            growth: Growth::Segments,
            srtt_us8: 0,
            min_rtt_us: u32::MAX,
            mstamp_us: 0,
            jiffies: 0,
            hz,
            last_sent_jiffies: 0,
            pacing_rate: u64::MAX,
        }
    }

    /// Segments in the network, as far as the sender can tell.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.packets_out + self.retrans_out - self.sacked_out - self.lost_out
    }

    /// First window that slow start does not raise any more.
    #[inline]
    fn slow_start_end(&self) -> u32 {
        self.ssthresh + self.growth as u32
    }

    /// Below the slow-start threshold, or where ACKs are counted at it.
    #[inline]
    #[must_use]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.slow_start_end()
    }

    /// True if the window limits sending, so that it may grow.
    #[inline]
    #[must_use]
    pub fn cwnd_limited(&self) -> bool {
        if self.is_cwnd_limited && !(self.slow_start_ignores_limited_flag && self.in_slow_start()) {
            return true;
        }
        self.in_slow_start() && self.cwnd < 2 * self.max_packets_out
    }

    /// In a state that reduces the window by PRR.
    #[inline]
    #[must_use]
    pub fn in_reduction(&self) -> bool {
        matches!(self.state, CaState::Cwr | CaState::Recovery)
    }

    /// The threshold to remember before a reduction.
    #[must_use]
    pub fn current_ssthresh(&self) -> u32 {
        if self.in_reduction() {
            self.ssthresh
        } else {
            self.ssthresh.max((self.cwnd >> 1) + (self.cwnd >> 2))
        }
    }

    /// Slow start: one more segment for each acknowledged; returns what is left over beyond the threshold.
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = (self.cwnd + acked).min(self.slow_start_end());
        let left = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd;
        left
    }

    /// Slow start if the window limits sending; returns how many of the acknowledged segments are left for
    /// congestion avoidance.
    #[inline]
    pub fn beyond_slow_start(&mut self, acked: u32) -> u32 {
        if self.in_slow_start() {
            if self.cwnd_limited() {
                self.slow_start(acked)
            } else {
                0
            }
        } else if self.is_cwnd_limited {
            acked
        } else {
            0
        }
    }

    /// Additive increase: one more segment for every `every` acknowledged. Linux that counts ACKs does not count the one that raises the
    /// window (3.9, tcp_cong_avoid_ai).
    #[inline]
    pub fn additive_increase(&mut self, every: u32, acked: u32) {
        if self.growth == Growth::Acks {
            if self.cwnd_cnt >= every {
                self.cwnd_cnt = 0;
                self.cwnd += 1;
            } else {
                self.cwnd_cnt += 1;
            }
            return;
        }
        if self.cwnd_cnt >= every {
            self.cwnd_cnt = 0;
            self.cwnd += 1;
        }
        self.cwnd_cnt += acked;
        if self.cwnd_cnt >= every {
            let delta = self.cwnd_cnt / every;
            self.cwnd_cnt -= delta * every;
            self.cwnd += delta;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_stops_at_the_threshold_and_returns_the_rest() {
        let mut t = Tcb::new(10, 14, 1000, false);
        assert_eq!(t.slow_start(3), 0);
        assert_eq!(t.slow_start(3), 2);
        assert_eq!(t.cwnd, 14);
    }

    #[test]
    fn counted_acks_raise_the_window_at_the_threshold_and_take_one_more() {
        let mut t = Tcb::new(13, 14, 1000, false);
        t.growth = Growth::Acks;
        let slow = (0..5).filter(|_| t.in_slow_start() && t.slow_start(1) == 0).count();
        assert_eq!((slow, t.cwnd), (2, 15));
        (0..4).for_each(|_| t.additive_increase(4, 1));
        assert_eq!(t.cwnd, 15);
        t.additive_increase(4, 1);
        assert_eq!((t.cwnd, t.cwnd_cnt), (16, 0));
    }

    #[test]
    fn additive_increase_counts_segments() {
        let mut t = Tcb::new(10, 5, 1000, false);
        for _ in 0..5 {
            t.additive_increase(10, 2);
        }
        assert_eq!((t.cwnd, t.cwnd_cnt), (11, 0));
        t.additive_increase(11, 25);
        assert_eq!((t.cwnd, t.cwnd_cnt), (13, 3));
    }
}
