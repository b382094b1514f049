//! The congestion window in bytes: FreeBSD's NewReno and what surrounds it (FreeBSD 9.3 sys/netinet/cc/cc_newreno.c; tcp_input.c
//! `cc_ack_received`, `cc_conn_init`, `cc_cong_signal`, `cc_post_recovery`; RFC 5681, RFC 3465, RFC 3390).
//!
//! The other modules of cc(4) change the same variables: `cubic`, `cdg`.

use super::stack::Stack;
use crate::packet::MSS;

/// An ACK as a module sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    /// It acknowledges something; else it is a duplicate.
    pub is_new: bool,
    /// Bytes that it acknowledges.
    pub bytes: u64,
    pub snd_wnd: u64,
    /// True while data from before a timeout is retransmitted.
    pub after_timeout: bool,
    /// Tick of its arrival.
    pub tick: u64,
    /// Smoothed RTT, and the samples that it is made of.
    pub srtt_ticks: i64,
    pub rtt_samples: u32,
}

/// Payload of a segment, bytes.
const SEG: u64 = MSS as u64;
/// "No threshold yet": the largest window there is.
pub(super) const INFINITE_SSTHRESH: u64 = 65_535 << 14;

/// Congestion window and recovery state.
#[derive(Clone, Debug)]
pub(super) struct NewReno {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes.
    pub ssthresh: u64,
    /// In fast recovery.
    pub fast_recovery: bool,
    /// In any recovery: the window was reduced for what is out.
    pub cong_recovery: bool,
    /// Bytes acknowledged towards the next increase, and whether they have made a window.
    bytes_acked: u64,
    sent_a_window: bool,
    byte_counting: bool,
    most_per_ack: u64,
    most: u64,
    restart: u64,
}

impl NewReno {
    /// Before the handshake; `ssthresh`: segments that the host cache remembers; `scale`: of the peer's window.
    pub fn new(stack: &Stack, ssthresh: Option<u32>, scale: u32) -> Self {
        let rfc3390 = (4 * SEG).min((2 * SEG).max(4380));
        let initial = match (stack.initcwnd10, stack.rfc3390) {
            (true, _) => (10 * SEG).min((2 * SEG).max(14_600)),
            (_, true) => rfc3390,
            _ => 3 * SEG,
        };
        Self {
            cwnd: initial,
            ssthresh: ssthresh.map_or(INFINITE_SSTHRESH, |segments| u64::from(segments).max(2) * SEG),
            fast_recovery: false,
            cong_recovery: false,
            bytes_acked: 0,
            sent_a_window: false,
            byte_counting: stack.rfc3465,
            most_per_ack: u64::from(stack.abc_l_var) * SEG,
            most: super::stack::MAX_WINDOW << scale,
            restart: if stack.rfc3390 { rfc3390 } else { 2 * SEG },
        }
    }

    /// The SYN was lost.
    pub fn start_small(&mut self) {
        self.cwnd = SEG;
    }

    /// An ACK of `bytes` new ones; `after_timeout`: what was sent before a timeout is being retransmitted.
    pub fn ack_received(&mut self, bytes: u64, snd_wnd: u64, after_timeout: bool) {
        let may_grow = self.may_grow(snd_wnd);
        self.count(bytes);
        if may_grow {
            self.grow(bytes, after_timeout);
        }
    }

    /// True outside recoveries while the congestion window, not the receiver's, limits sending.
    pub fn may_grow(&self, snd_wnd: u64) -> bool {
        !self.cong_recovery && self.cwnd <= snd_wnd
    }

    /// Counts `bytes` acknowledged towards a window of them, whatever the module.
    pub fn count(&mut self, bytes: u64) {
        if self.cwnd > self.ssthresh {
            self.bytes_acked += bytes.min(self.most_per_ack);
            if self.bytes_acked >= self.cwnd {
                self.bytes_acked -= self.cwnd;
                self.sent_a_window = true;
            }
        } else {
            self.sent_a_window = false;
            self.bytes_acked = 0;
        }
    }

    /// NewReno's growth for an ACK of `bytes`.
    pub fn grow(&mut self, bytes: u64, after_timeout: bool) {
        let increment = match (self.cwnd > self.ssthresh, self.byte_counting) {
            (true, true) if std::mem::take(&mut self.sent_a_window) => SEG,
            (true, true) => return,
            (true, false) => (SEG * SEG / self.cwnd).max(1),
            (false, true) => bytes.min(if after_timeout { SEG } else { self.most_per_ack }),
            (false, false) => SEG,
        };
        self.cwnd = (self.cwnd + increment).min(self.most);
    }

    /// True up to the threshold, itself included.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd <= self.ssthresh
    }

    /// True if growth counts bytes.
    pub fn counts_bytes(&self) -> bool {
        self.byte_counting
    }

    /// True if growth does not wait for a window of acknowledged bytes, or there is one.
    pub fn is_due(&self) -> bool {
        !self.byte_counting || self.in_slow_start() || self.sent_a_window
    }

    /// The window of acknowledged bytes has been used.
    pub fn take_window(&mut self) {
        self.sent_a_window = false;
    }

    /// A window of bytes is acknowledged.
    #[cfg(test)]
    pub fn send_a_window(&mut self) {
        self.sent_a_window = true;
    }

    /// The largest window that the peer's scale allows, bytes.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Keeps the window within that.
    pub fn bound(&mut self) {
        self.cwnd = self.cwnd.min(self.most);
    }

    /// Bytes acknowledged towards the next increase.
    pub fn bytes_acked(&self) -> u64 {
        self.bytes_acked
    }

    /// Three duplicate ACKs.
    pub fn enter_recovery(&mut self) {
        if !self.fast_recovery {
            if !self.cong_recovery {
                self.ssthresh = self.half();
            }
            (self.fast_recovery, self.cong_recovery) = (true, true);
        }
    }

    /// An ECN echo.
    pub fn on_mark(&mut self) {
        if !self.cong_recovery {
            self.ssthresh = self.half();
            self.cwnd = self.ssthresh;
            self.cong_recovery = true;
        }
    }

    /// Half the window in whole segments, at least two.
    fn half(&self) -> u64 {
        (self.cwnd / 2 / SEG).max(2) * SEG
    }

    /// Bytes acknowledged before the end of a recovery count for nothing.
    pub fn forget_bytes(&mut self) {
        self.bytes_acked = 0;
    }

    /// Everything that was out is acknowledged, and `outstanding` bytes were sent since: no burst.
    pub fn post_recovery(&mut self, outstanding: u64) {
        self.cwnd = if self.ssthresh > outstanding { outstanding + SEG } else { self.ssthresh };
        self.bytes_acked = 0;
    }

    /// Recovery is over.
    pub fn exit_recovery(&mut self) {
        (self.fast_recovery, self.cong_recovery) = (false, false);
    }

    /// A retransmission timeout.
    pub fn on_timeout(&mut self, snd_wnd: u64) {
        self.exit_recovery();
        self.bytes_acked = 0;
        self.ssthresh = (self.cwnd.min(snd_wnd) / 2 / SEG).max(2) * SEG;
        self.cwnd = SEG;
    }

    /// Nothing was sent or received for a timeout.
    pub fn after_idle(&mut self) {
        self.cwnd = self.cwnd.min(self.restart);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::bsd::stack::STACKS;

    const WIDE: u64 = 1 << 20;

    fn window(change: impl FnOnce(&mut Stack)) -> NewReno {
        let mut stack = STACKS[0].2.clone();
        change(&mut stack);
        NewReno::new(&stack, None, 6)
    }

    #[test]
    fn the_initial_window_is_rfc_3390s_in_bytes() {
        assert_eq!(window(|_| {}).cwnd, 4380);
        assert_eq!(window(|s| s.initcwnd10 = true).cwnd, 14_480);
        assert_eq!(window(|s| s.rfc3390 = false).cwnd, 3 * SEG);
        let mut w = window(|_| {});
        w.start_small();
        assert_eq!(w.cwnd, SEG);
    }

    #[test]
    fn slow_start_adds_two_segments_an_ack_and_one_after_a_timeout() {
        let mut w = window(|_| {});
        w.ack_received(3 * SEG, WIDE, false);
        assert_eq!(w.cwnd, 4380 + 2 * SEG);
        w.ack_received(3 * SEG, WIDE, true);
        assert_eq!(w.cwnd, 4380 + 3 * SEG);
        let mut counted = window(|s| s.rfc3465 = false);
        counted.ack_received(2 * SEG, WIDE, false);
        assert_eq!(counted.cwnd, 4380 + SEG);
    }

    #[test]
    fn congestion_avoidance_adds_a_segment_for_a_window_of_bytes() {
        let mut w = window(|_| {});
        (w.cwnd, w.ssthresh) = (10 * SEG, 9 * SEG);
        for _ in 0..4 {
            w.ack_received(2 * SEG, WIDE, false);
        }
        assert_eq!(w.cwnd, 10 * SEG);
        w.ack_received(2 * SEG, WIDE, false);
        assert_eq!(w.cwnd, 11 * SEG);
        assert_eq!(w.bytes_acked, 0);
        // One ACK counts for no more than two segments.
        w.ack_received(9 * SEG, WIDE, false);
        assert_eq!(w.bytes_acked, 2 * SEG);
    }

    #[test]
    fn bytes_beyond_a_window_count_for_the_next_unless_recovery_came_between() {
        let mut w = window(|_| {});
        (w.cwnd, w.ssthresh) = (3 * SEG, 2 * SEG);
        for (cwnd, left) in [(3, 2), (4, 1), (4, 3), (5, 1)] {
            w.ack_received(2 * SEG, WIDE, false);
            assert_eq!((w.cwnd / SEG, w.bytes_acked / SEG), (cwnd, left));
        }
        w.enter_recovery();
        w.post_recovery(0);
        assert_eq!(w.bytes_acked, 0);
    }

    #[test]
    fn a_window_has_a_greatest_and_a_least_half() {
        let mut stack = STACKS[0].2.clone();
        stack.abc_l_var = 2;
        let mut w = NewReno::new(&stack, None, 0);
        w.cwnd = 65_000;
        w.ack_received(2 * SEG, WIDE, false);
        assert_eq!(w.cwnd, 65_535);
        w.cwnd = 3 * SEG;
        w.enter_recovery();
        assert_eq!(w.ssthresh, 2 * SEG);
    }

    #[test]
    fn the_threshold_itself_still_belongs_to_slow_start() {
        let mut w = window(|_| {});
        (w.cwnd, w.ssthresh) = (10 * SEG, 10 * SEG);
        w.ack_received(2 * SEG, WIDE, false);
        assert_eq!(w.cwnd, 12 * SEG);
    }

    #[test]
    fn a_window_beyond_the_receivers_does_not_grow() {
        let mut w = window(|_| {});
        w.cwnd = 20 * SEG;
        w.ack_received(2 * SEG, 20 * SEG, false);
        assert_eq!(w.cwnd, 22 * SEG, "as wide as the receiver's: limited by the congestion window");
        w.ack_received(2 * SEG, 20 * SEG, false);
        assert_eq!(w.cwnd, 22 * SEG);
    }

    #[test]
    fn recovery_halves_by_the_congestion_window_alone_and_a_timeout_by_the_lesser() {
        let mut w = window(|_| {});
        w.cwnd = 101 * SEG;
        w.enter_recovery();
        assert_eq!(w.ssthresh, 50 * SEG);
        w.cwnd = 40 * SEG;
        w.enter_recovery();
        assert_eq!(w.ssthresh, 50 * SEG, "one reduction an episode");
        w.on_timeout(30 * SEG);
        assert_eq!((w.cwnd, w.ssthresh, w.fast_recovery), (SEG, 15 * SEG, false));
        w.on_timeout(30 * SEG);
        assert_eq!(w.ssthresh, 2 * SEG);
    }

    #[test]
    fn an_echo_halves_the_window_once_an_episode() {
        let mut w = window(|_| {});
        w.cwnd = 101 * SEG;
        w.on_mark();
        assert_eq!((w.cwnd, w.ssthresh, w.fast_recovery), (50 * SEG, 50 * SEG, false));
        w.on_mark();
        w.enter_recovery();
        assert_eq!((w.ssthresh, w.fast_recovery), (50 * SEG, true), "losses of the same episode reduce nothing more");
    }

    #[test]
    fn recovery_ends_without_a_burst() {
        let mut w = window(|_| {});
        w.ssthresh = 50 * SEG;
        w.post_recovery(60 * SEG);
        assert_eq!(w.cwnd, 50 * SEG);
        w.post_recovery(50 * SEG);
        assert_eq!(w.cwnd, 50 * SEG);
        w.post_recovery(20 * SEG);
        assert_eq!(w.cwnd, 21 * SEG);
    }

    #[test]
    fn idling_returns_to_the_restart_window() {
        let mut w = window(|_| {});
        w.cwnd = 40 * SEG;
        w.after_idle();
        assert_eq!(w.cwnd, 4380);
        w.cwnd = SEG;
        w.after_idle();
        assert_eq!(w.cwnd, SEG);
    }
}
