//! The view that a congestion control has of its connection, and the window that it sets. These are plain structs in the layout of C, so that a control from a
//! shared library can be given the same ones.

use serde::{Deserialize, Serialize};

use super::renumbering::Renumbering;
use crate::packet::MSS;
use crate::rng::Rng;

/// "No threshold yet", as Linux prints it, segments.
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

/// Rule by which the window grows; the number is how far slow start goes beyond its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Growth {
    /// Segments that were delivered (3.13 and later).
    Segments = 0,
    /// ACKs: each counts once, whatever it acknowledges. The threshold itself still belongs to slow start.
    Acks = 1,
}

/// A connection as its congestion control sees it; sequence numbers count segments. A control reads it, the sender alone writes it: it is
/// the sender's own state, not a copy. Wide because it is all that a control may look at, in one C struct without pointers (in Linux a
/// control reads `tcp_sock`).
#[derive(Clone, Debug)]
#[repr(C)]
pub struct View {
    /// Now, us.
    pub mstamp_us: u64,
    /// Now, ticks.
    pub jiffies: u32,
    /// Ticks a second.
    pub hz: u32,
    /// First unacknowledged segment.
    pub snd_una: u32,
    /// Next new segment.
    pub snd_nxt: u32,
    /// Segments sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// SACKed segments among them.
    pub sacked_out: u32,
    /// Segments among them that are deemed lost.
    pub lost_out: u32,
    /// Retransmissions in flight.
    pub retrans_out: u32,
    /// Segments delivered, ever (retransmitted ones count once a delivery).
    pub delivered: u32,
    /// Segments among them that were acknowledged with an ECN echo.
    pub delivered_ce: u32,
    /// Smoothed RTT times 8, us; 0 before the first sample.
    pub srtt_us8: u32,
    /// Windowed minimum RTT, us; the largest number before the first sample.
    pub min_rtt_us: u32,
    /// Window at the start of the present reduction.
    pub prior_cwnd: u32,
    /// Most segments outstanding in the present window.
    pub max_packets_out: u32,
    /// Time of the last transmission of new data, ticks.
    pub last_sent_jiffies: u32,
    /// Congestion state.
    pub state: CaState,
    /// The window, not the application or the receiver, limits sending.
    pub is_cwnd_limited: bool,
    /// In slow start the flag does not count, only the rule that the window may double (Linux before 6.0).
    pub slow_start_ignores_limited_flag: bool,
    /// Rule by which the window grows.
    pub growth: Growth,
    /// Segments ever deemed lost.
    pub lost: u32,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// When something was delivered last, us; only kept for a control that needs rate samples.
    pub delivered_us: u64,
    /// Seed of the connection's random stream: the run's seed, and which connection of the run it is.
    pub seed: [u64; 2],
    /// The next segment leaves no earlier, ns; in the future while a paced sender waits.
    pub departure_ns: u64,
    /// The sender is paced.
    pub is_paced: bool,
    /// The receiver reports what it has beyond a gap (SACK), so that several losses of a round trip are seen at once.
    pub has_sack: bool,
}

impl View {
    /// A connection before its handshake, on a kernel of `hz` ticks a second.
    #[must_use]
    pub fn new(hz: u32, growth: Growth, slow_start_ignores_limited_flag: bool) -> Self {
        Self {
            mstamp_us: 0,
            jiffies: 0,
            hz,
            snd_una: 0,
            snd_nxt: 0,
            packets_out: 0,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            delivered: 0,
            delivered_ce: 0,
            srtt_us8: 0,
            min_rtt_us: u32::MAX,
            prior_cwnd: 0,
            max_packets_out: 0,
            last_sent_jiffies: 0,
            state: CaState::Open,
            is_cwnd_limited: false,
            slow_start_ignores_limited_flag,
            growth,
            lost: 0,
            mss: MSS,
            delivered_us: 0,
            seed: [0; 2],
            departure_ns: 0,
            is_paced: false,
            has_sack: true,
        }
    }

    /// So many microseconds in ticks, rounded up (Linux's `usecs_to_jiffies`).
    #[must_use]
    pub fn ticks_of_us(&self, us: u32) -> u32 {
        (u64::from(us) * u64::from(self.hz)).div_ceil(1_000_000) as u32
    }

    /// The connection's own random stream, from its start.
    #[must_use]
    pub fn random_stream(&self) -> Rng {
        Rng::for_component(self.seed[0], &format!("cc/{}", self.seed[1]))
    }

    /// Segments in the network, as far as the sender can tell.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.packets_out + self.retrans_out - self.sacked_out - self.lost_out
    }

    /// In a state that reduces the window by PRR.
    #[inline]
    #[must_use]
    pub fn in_reduction(&self) -> bool {
        matches!(self.state, CaState::Cwr | CaState::Recovery)
    }
}

/// Values that a congestion control sets, and the sender obeys. The sender itself sets the window during a reduction (PRR), after a timeout and
/// when a reduction is undone.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Window {
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow-start threshold, segments.
    pub ssthresh: u32,
    /// Segments (or ACKs) counted towards the next increase by one.
    pub cwnd_cnt: u32,
    /// Rate of a paced sender, bytes/s. The rate also sizes TSO segments, and HyStart estimates the delay of ACKs by it. It is computed from the window after each ACK unless the control has a [`CongestionControl::cong_control`].
    ///
    /// [`CongestionControl::cong_control`]: super::CongestionControl::cong_control
    pub pacing_rate: u64,
    /// Segments that are sent until so many are delivered do not show the rate of the path, as the application limits it; 0: they do. Set when
    /// an application writes that has kept the sender waiting, and by a control that holds back itself. Only kept for one that needs rate samples.
    pub app_limited: u32,
    /// Set by a control to have the window reduced as after an ECN echo, once the hook returns; the sender takes it back. Only for one that
    /// [`Needs::whole_acks`](super::Needs::whole_acks), and in `cong_avoid`.
    pub enters_cwr: bool,
    /// Least size of a TSO segment where the pacing rate asks for a smaller one, segments (sysctl tcp_min_tso_segs).
    pub min_tso_segments: u32,
}

impl Window {
    /// The window that a connection starts with, segments.
    #[must_use]
    pub fn new(cwnd: u32, ssthresh: u32) -> Self {
        Self {
            cwnd,
            ssthresh,
            cwnd_cnt: 0,
            pacing_rate: u64::MAX,
            app_limited: u32::MAX,
            enters_cwr: false,
            min_tso_segments: 2,
        }
    }

    /// First window that slow start does not raise any more.
    #[inline]
    fn slow_start_end(&self, v: &View) -> u32 {
        self.ssthresh + v.growth as u32
    }

    /// Below the slow-start threshold, or where ACKs are counted at it.
    #[inline]
    #[must_use]
    pub fn in_slow_start(&self, v: &View) -> bool {
        self.cwnd < self.slow_start_end(v)
    }

    /// True if the window limits sending, so that it may grow.
    #[inline]
    #[must_use]
    pub fn is_limiting(&self, v: &View) -> bool {
        if v.is_cwnd_limited && !(v.slow_start_ignores_limited_flag && self.in_slow_start(v)) {
            return true;
        }
        self.in_slow_start(v) && self.cwnd < 2 * v.max_packets_out
    }

    /// The threshold to remember before a reduction.
    #[must_use]
    pub fn current_ssthresh(&self, v: &View) -> u32 {
        if v.in_reduction() {
            self.ssthresh
        } else {
            self.ssthresh.max((self.cwnd >> 1) + (self.cwnd >> 2))
        }
    }

    /// Slow start: one more segment for each acknowledged; returns what is left over beyond the threshold.
    pub fn slow_start(&mut self, v: &View, acked: u32) -> u32 {
        let cwnd = (self.cwnd + acked).min(self.slow_start_end(v));
        let left = acked - (cwnd - self.cwnd);
        self.cwnd = cwnd;
        left
    }

    /// Slow start if the window limits sending; returns how many of the acknowledged segments are left for
    /// congestion avoidance.
    #[inline]
    pub fn beyond_slow_start(&mut self, v: &View, acked: u32) -> u32 {
        if self.in_slow_start(v) {
            if self.is_limiting(v) {
                self.slow_start(v, acked)
            } else {
                0
            }
        } else if v.is_cwnd_limited {
            acked
        } else {
            0
        }
    }

    /// Additive increase: one more segment for every `every` acknowledged. Linux that counts ACKs does not count the one that raises the
    /// window (3.9, tcp_cong_avoid_ai).
    #[inline]
    pub fn additive_increase(&mut self, v: &View, every: u32, acked: u32) {
        if v.growth == Growth::Acks {
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

/// The news of an ACK. A sample is made for each ACK and filled while that is processed; each hook says what it may read.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct RateSample {
    /// RTT of the last segment newly acknowledged or SACKed that was never retransmitted, us; negative without a valid one.
    pub rtt_us: i64,
    /// Segments newly acknowledged by the cumulative point.
    pub acked: u32,
    /// Segments newly delivered, cumulatively or by SACK.
    pub delivered: u32,
    /// Segments newly marked as lost.
    pub losses: u32,
    /// Segments in flight before the ACK.
    pub prior_in_flight: u32,
    /// The receiver's window was updated (always true when the cumulative point moved).
    pub window_update: bool,
    /// ECN echo.
    pub ece: bool,
    /// SCE echo.
    pub esce: bool,
    /// Linux's header prediction does not take the ACK: it has SACK blocks or an ECN echo, offers another window than the last one, or
    /// acknowledges nothing new.
    pub slow_path: bool,
    /// The receiver's clock when it sent the ACK, and ours when the segment that it echoes was sent, ms (timestamp option).
    pub tsval: u32,
    /// See `tsval`.
    pub tsecr: u32,
    /// How fast segments are delivered.
    pub rate: DeliveryRate,
}

/// How fast segments were delivered from when the segment was sent that was sent last of those newly delivered. Only taken for a control that
/// [needs it](super::Needs::rate_samples).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct DeliveryRate {
    /// Over so many us; negative: the sample says nothing about the rate. For [`CongestionControl::cong_control`] and `cong_avoid` only.
    ///
    /// [`CongestionControl::cong_control`]: super::CongestionControl::cong_control
    pub interval_us: i64,
    /// Segments delivered in that time; negative if it is not known. Likewise.
    pub delivered: i32,
    /// Segments among them that were acknowledged with an ECN echo; read likewise.
    pub delivered_ce: u32,
    /// Segments delivered, ever, when that segment was sent; 0: it is not known. May be read from `pkts_acked` on.
    pub prior_delivered: u32,
    /// Segments in flight when it was sent, itself included.
    pub tx_in_flight: u32,
    /// Segments deemed lost since it was sent.
    pub lost: i32,
    /// The application limited what was sent before it.
    pub is_app_limited: bool,
    /// The ACK is that of a lone short segment, and may have been delayed.
    pub is_ack_delayed: bool,
    /// The ACK is for all that was sent when the last segment was retransmitted as a loss probe: it may be for the first transmission or the second.
    pub is_of_loss_probe: bool,
}

/// A segment that is deemed lost, for a control that [needs to know](super::Needs::losses). Those of a TSO segment are told one by one, lowest first.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Lost {
    /// Which segment.
    pub seq: u32,
    /// Segments in flight when it was sent last, itself included, and the TSO segment that it belongs to; 0: it is not known.
    pub tx_in_flight: u32,
    /// Segments deemed lost since, itself included.
    pub lost: i32,
    /// The application limited what was sent before it.
    pub is_app_limited: bool,
}

impl RateSample {
    /// The sample of an ACK that acknowledges `acked` segments in order and brings no other news, once the view counts them no more.
    #[inline(always)]
    #[must_use]
    pub(crate) fn progress(v: &View, acked: u32, rtt_us: i64, esce: bool) -> Self {
        let prior_in_flight = v.packets_out + acked;
        let sample = Self { rtt_us, acked, delivered: acked, prior_in_flight, esce, ..Self::default() };
        Self { window_update: true, ..sample }
    }
}

/// Things that happen to a connection besides ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, u8)]
pub enum Event {
    /// First transmission when nothing was in flight.
    TxStart,
    /// The window is about to be restarted, as nothing was sent for more than a retransmission timeout.
    CwndRestart,
    /// A reduction (CWR or recovery) is complete; the window has been set to ssthresh.
    CompleteCwr,
    /// A retransmission timeout that is taken for a loss; the threshold has been reduced.
    Loss,
    /// A tail loss probe has repaired the loss of the last segment: a reduction is about to begin. Whether the application limited sending when
    /// that segment was sent first.
    ProbeRepairedLoss(bool),
    /// The congestion state is about to become this one; [`View::state`] is still the old one.
    State(CaState),
    /// A segment in flight is new or has gone.
    Renumbered(Renumbering),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments() -> View {
        View::new(1000, Growth::Segments, false)
    }

    #[test]
    fn slow_start_stops_at_the_threshold_and_returns_the_rest() {
        let (v, mut w) = (segments(), Window::new(10, 14));
        assert_eq!(w.slow_start(&v, 3), 0);
        assert_eq!(w.slow_start(&v, 3), 2);
        assert_eq!(w.cwnd, 14);
    }

    #[test]
    fn counted_acks_raise_the_window_at_the_threshold_and_take_one_more() {
        let (v, mut w) = (View::new(1000, Growth::Acks, false), Window::new(13, 14));
        let slow = (0..5).filter(|_| w.in_slow_start(&v) && w.slow_start(&v, 1) == 0).count();
        assert_eq!((slow, w.cwnd), (2, 15));
        (0..4).for_each(|_| w.additive_increase(&v, 4, 1));
        assert_eq!(w.cwnd, 15);
        w.additive_increase(&v, 4, 1);
        assert_eq!((w.cwnd, w.cwnd_cnt), (16, 0));
    }

    #[test]
    fn additive_increase_counts_segments() {
        let (v, mut w) = (segments(), Window::new(10, 5));
        for _ in 0..5 {
            w.additive_increase(&v, 10, 2);
        }
        assert_eq!((w.cwnd, w.cwnd_cnt), (11, 0));
        w.additive_increase(&v, 11, 25);
        assert_eq!((w.cwnd, w.cwnd_cnt), (13, 3));
    }
}
