//! Proportional rate reduction (RFC 6937; Linux 6.12 net/ipv4/tcp_input.c, `tcp_cwnd_reduction`): during a reduction the window follows what
//! arrives, so that it comes down to the threshold within a round trip and does not stop sending on the way.

use crate::tcp::linux::stack::PrrBelowSsthresh;

/// Segments delivered and sent since the reduction began. Told when a reduction starts and of each segment sent in one; asked for the window
/// at each ACK in one.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp::linux) struct Prr {
    delivered: u32,
    sent: u32,
}

/// News of an ACK in a reduction, and the windows it is compared with, segments.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::linux) struct Reduction {
    pub in_flight: u32,
    pub ssthresh: u32,
    /// The window before the reduction.
    pub prior_cwnd: u32,
    pub newly_delivered: u32,
    pub newly_lost: u32,
    /// The ACK acknowledges something in order.
    pub una_advanced: bool,
    /// It acknowledges a retransmission, and none was found lost.
    pub retransmission_arrived: bool,
    /// One segment goes whatever the rule says.
    pub send_one: bool,
}

impl Prr {
    /// A reduction begins.
    pub fn start(&mut self) {
        *self = Self::default();
    }

    /// `n` segments were sent during the reduction, new or again.
    #[inline]
    pub fn count_sent(&mut self, n: u32) {
        self.sent += n;
    }

    /// Nothing was sent since it began.
    pub fn nothing_sent(&self) -> bool {
        self.sent == 0
    }

    /// The window after an ACK.
    pub fn cwnd(&mut self, below: PrrBelowSsthresh, r: Reduction) -> u32 {
        self.delivered += r.newly_delivered;
        let (delivered, sent) = (i64::from(self.delivered), i64::from(self.sent));
        let newly_delivered = i64::from(r.newly_delivered);
        let room = i64::from(r.ssthresh) - i64::from(r.in_flight);
        let quota = if room < 0 {
            let prior = i64::from(r.prior_cwnd);
            (i64::from(r.ssthresh) * delivered + prior - 1) / prior - sent
        } else {
            let slow_start = (delivered - sent).max(newly_delivered);
            let quota = match below {
                PrrBelowSsthresh::Una => slow_start + i64::from(r.una_advanced && r.newly_lost == 0),
                PrrBelowSsthresh::Retransmission if r.retransmission_arrived => slow_start + 1,
                PrrBelowSsthresh::Retransmission => newly_delivered,
                PrrBelowSsthresh::SlowStart => slow_start + 1,
            };
            quota.min(room)
        };
        (i64::from(r.in_flight) + quota.max(i64::from(r.send_one))).max(0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reduction from 100 to 70 segments, one ACK a segment, each answered with what the window allows.
    #[test]
    fn the_window_comes_down_to_the_threshold_within_a_round_trip() {
        let (mut prr, mut in_flight, mut sent) = (Prr::default(), 99, 0);
        let mut cwnd = 100;
        for _ in 0..99 {
            in_flight -= 1;
            let r = Reduction {
                in_flight,
                ssthresh: 70,
                prior_cwnd: 100,
                newly_delivered: 1,
                newly_lost: 0,
                una_advanced: false,
                retransmission_arrived: false,
                send_one: sent == 0,
            };
            cwnd = prr.cwnd(PrrBelowSsthresh::Una, r);
            let n = cwnd.saturating_sub(in_flight);
            prr.count_sent(n);
            (in_flight, sent) = (in_flight + n, sent + n);
        }
        assert_eq!((cwnd, in_flight), (70, 70));
        assert_eq!(sent, 70, "70 of 100 ACKs let something go");
    }

    #[test]
    fn below_the_threshold_it_grows_as_fast_as_the_stack_allows() {
        let r = Reduction {
            in_flight: 10,
            ssthresh: 70,
            prior_cwnd: 100,
            newly_delivered: 2,
            newly_lost: 1,
            una_advanced: true,
            retransmission_arrived: false,
            send_one: false,
        };
        let cwnd = |below, r| Prr::default().cwnd(below, r);
        assert_eq!(cwnd(PrrBelowSsthresh::Una, r), 12, "something was lost");
        assert_eq!(cwnd(PrrBelowSsthresh::Una, Reduction { newly_lost: 0, ..r }), 13);
        assert_eq!(cwnd(PrrBelowSsthresh::Retransmission, r), 12);
        assert_eq!(cwnd(PrrBelowSsthresh::Retransmission, Reduction { retransmission_arrived: true, ..r }), 13);
        assert_eq!(cwnd(PrrBelowSsthresh::SlowStart, r), 13);
    }
}
