//! DCTCP: reduction in proportion to the share of marked segments (RFC 8257; Linux 6.12 net/ipv4/tcp_dctcp.c).
//! The receiver's half, the CE state machine, is in `tcp::ecn`.
//!
//! Leaves out: PLB, module parameters (gain 1/16, alpha 1 at the start).

use super::reno::reno_cong_avoid;
use super::{AckEvent, CongestionControl, Event};
use crate::tcp::linux::sender::tcb::{CaState, Tcb};
use crate::tcp::linux::stack::Stack;

const MAX_ALPHA: u32 = 1024;
const GAIN_SHIFT: u32 = 4;

/// State of DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    /// Smoothed share of marked segments, 1024ths.
    alpha: u32,
    /// End of the observation window.
    next_seq: u32,
    /// Segments of the window: counted, and of these echoed.
    counted: u32,
    counted_ce: u32,
    old_delivered: u32,
    old_delivered_ce: u32,
    loss_cwnd: u32,
    by_acked: bool,
    window_cut: bool,
}

impl Dctcp {
    /// DCTCP on a stack.
    #[must_use]
    pub fn new(stack: &Stack) -> Self {
        Self {
            alpha: MAX_ALPHA,
            next_seq: 0,
            counted: 0,
            counted_ce: 0,
            old_delivered: 0,
            old_delivered_ce: 0,
            loss_cwnd: 0,
            by_acked: stack.ack_event_first,
            window_cut: stack.dctcp_window_cut,
        }
    }

    fn reset(&mut self, t: &Tcb) {
        self.next_seq = t.snd_nxt;
        self.counted = 0;
        self.counted_ce = 0;
        self.old_delivered = t.delivered;
        self.old_delivered_ce = t.delivered_ce;
    }

    fn reduced(&self, cwnd: u32) -> u32 {
        (cwnd - ((cwnd * self.alpha) >> 11)).max(2)
    }

    fn react_to_loss(&mut self, t: &mut Tcb) {
        self.loss_cwnd = t.cwnd;
        t.ssthresh = (t.cwnd / 2).max(2);
    }
}

impl CongestionControl for Dctcp {
    fn init(&mut self, t: &mut Tcb) {
        self.reset(t);
    }

    fn ssthresh(&mut self, t: &Tcb) -> u32 {
        self.loss_cwnd = t.cwnd;
        self.reduced(t.cwnd)
    }

    #[inline]
    fn cong_avoid(&mut self, t: &mut Tcb, acked: u32) {
        reno_cong_avoid(t, acked);
    }

    fn undo_cwnd(&mut self, t: &Tcb) -> u32 {
        t.cwnd.max(self.loss_cwnd)
    }

    fn set_state(&mut self, t: &mut Tcb, new: CaState) {
        if new == CaState::Recovery && t.state != CaState::Recovery {
            self.react_to_loss(t);
        }
    }

    fn cwnd_event(&mut self, t: &mut Tcb, e: Event) {
        if e == Event::Loss {
            self.react_to_loss(t);
        }
    }

    #[inline]
    fn in_ack_event(&mut self, t: &mut Tcb, e: AckEvent) {
        if self.by_acked {
            let acked = if e.acked == 0 && !e.window_update { 1 } else { e.acked };
            self.counted += acked;
            if e.ece {
                self.counted_ce += acked;
            }
        }
        if t.snd_una < self.next_seq {
            return;
        }
        if !self.by_acked {
            self.counted = t.delivered - self.old_delivered;
            self.counted_ce = t.delivered_ce - self.old_delivered_ce;
        }
        let decay = self.alpha >> GAIN_SHIFT;
        self.alpha -= if decay == 0 { self.alpha } else { decay };
        if self.counted_ce > 0 {
            let share = (self.counted_ce << (10 - GAIN_SHIFT)) / self.counted.max(1);
            self.alpha = (self.alpha + share).min(MAX_ALPHA);
        }
        self.reset(t);
        if self.window_cut {
            t.cwnd = self.reduced(t.cwnd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::StackSpec;

    fn dctcp() -> (Dctcp, Tcb) {
        let spec = StackSpec { name: "linux-6.12".into(), options: serde_json::Map::new() };
        let stack = Stack::from_spec(&spec).unwrap();
        (Dctcp::new(&stack), Tcb::new(100, 1, 1000, false))
    }

    /// One window of 100 segments, `marked` of them echoed.
    fn window(d: &mut Dctcp, t: &mut Tcb, marked: u32) {
        t.delivered += 100;
        t.delivered_ce += marked;
        t.snd_una = t.snd_nxt;
        t.snd_nxt += 100;
        d.in_ack_event(t, AckEvent { acked: 100, window_update: true, ..AckEvent::default() });
    }

    #[test]
    fn alpha_tends_to_the_marked_share() {
        let (mut d, mut t) = dctcp();
        d.init(&mut t);
        for _ in 0..200 {
            window(&mut d, &mut t, 25);
        }
        assert!((240..=272).contains(&d.alpha), "{}", d.alpha);
        assert_eq!(d.ssthresh(&t), 100 - ((100 * d.alpha) >> 11));
        for _ in 0..200 {
            window(&mut d, &mut t, 0);
        }
        assert_eq!(d.alpha, 0);
    }
}
