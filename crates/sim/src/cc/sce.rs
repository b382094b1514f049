//! What the SCE senders share: signed byte credit, slow start, the cut after CE
//! (chromi/sce net/ipv4/tcp_reno_sce.c and tcp_dctcp_sce.c, the form of June 2019 as far as it is known).

use super::{AckEvent, CongestionControl, Event};
use crate::packet::MSS;
use crate::tcp::linux::sender::tcb::Tcb;
use crate::tcp::linux::stack::Stack;

/// How strongly one byte acknowledged with an SCE echo counts against the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// sqrt(W) a byte (Reno-SCE); halved if `half`.
    SquareRoot {
        /// The older, weaker form.
        half: bool,
    },
    /// W / 2 a byte (DCTCP-SCE).
    HalfWindow,
}

/// State of an SCE sender.
#[derive(Clone, Debug)]
pub struct SceWindow {
    response: Response,
    /// Bytes taken for one segment.
    scale: i64,
    ratchet: bool,
    /// Whether the cut of the module comes on top of the stack's halving, or in its place.
    cut_twice: bool,
    credit: i64,
    reference_cwnd: u32,
    recent: u32,
    root: u32,
}

impl SceWindow {
    /// A window on a stack.
    #[must_use]
    pub fn new(stack: &Stack, response: Response) -> Self {
        Self {
            response,
            scale: i64::from(stack.sce_scale_bytes),
            ratchet: stack.sce_ssthresh_ratchet,
            cut_twice: stack.sce_cut_twice,
            credit: 0,
            reference_cwnd: 0,
            recent: 0,
            root: 1,
        }
    }

    /// Half the reference window; the ratchet only raises the threshold.
    fn threshold(&self, t: &Tcb) -> u32 {
        let half = (self.reference_cwnd / 2).max(2);
        if self.ratchet {
            t.ssthresh.max(half)
        } else {
            half
        }
    }

    /// A CE mark takes a quarter of the window, an eighth if SCE echoes have just said the same.
    fn shift(&self) -> u32 {
        if self.recent > 0 {
            3
        } else {
            2
        }
    }
}

/// `cwnd` less 2^-shift of it, at least one segment; never below two.
fn less_a_share(cwnd: u32, shift: u32) -> u32 {
    cwnd.saturating_sub((cwnd >> shift).max(1)).max(2)
}

impl CongestionControl for SceWindow {
    fn ssthresh(&mut self, t: &Tcb) -> u32 {
        if self.cut_twice {
            self.threshold(t)
        } else {
            less_a_share(t.cwnd, self.shift())
        }
    }

    /// Slow start; what lies beyond the threshold becomes credit.
    fn cong_avoid(&mut self, t: &mut Tcb, acked: u32) {
        if t.in_slow_start() && t.cwnd_limited() {
            let surplus = t.slow_start(acked);
            self.credit += i64::from(surplus) * self.scale;
        }
    }

    fn undo_cwnd(&mut self, t: &Tcb) -> u32 {
        t.cwnd.max(self.reference_cwnd)
    }

    /// The cut that follows the stack's own, and the one after a timeout.
    fn cwnd_event(&mut self, t: &mut Tcb, e: Event) {
        let shift = match e {
            Event::CompleteCwr if self.cut_twice => Some(self.shift()),
            Event::CompleteCwr => None,
            Event::Loss => Some(1),
            Event::TxStart => return,
        };
        self.reference_cwnd = t.cwnd;
        self.credit = 0;
        if let Some(shift) = shift {
            t.cwnd = less_a_share(t.cwnd, shift);
        }
        while self.root > 1 && self.root * self.root >= t.cwnd {
            self.root -= 1;
        }
    }

    /// Runs on every ACK, whatever the state.
    fn in_ack_event(&mut self, t: &mut Tcb, e: AckEvent) {
        let bytes = match e.acked {
            0 if e.window_update => return,
            0 => self.scale,
            n => i64::from(n) * i64::from(MSS),
        };
        let over = self.scale * i64::from(t.cwnd);
        if e.esce && !e.ece {
            self.credit -= match self.response {
                Response::SquareRoot { half: false } => bytes * i64::from(self.root),
                Response::SquareRoot { half: true } => bytes * i64::from(self.root) / 2,
                Response::HalfWindow => bytes * i64::from(t.cwnd) / 2,
            };
            self.reference_cwnd = t.cwnd;
            t.ssthresh = self.threshold(t);
            self.recent = t.cwnd + 1;
        } else if !t.in_slow_start() && t.cwnd_limited() {
            self.credit += bytes;
            self.reference_cwnd = self.reference_cwnd.max(t.cwnd);
        }
        while self.credit <= -over {
            self.credit += over;
            if t.cwnd > 2 {
                t.cwnd -= 1;
            }
            if self.root * self.root >= t.cwnd {
                self.root -= 1;
            }
        }
        while self.credit >= over {
            self.credit -= over;
            t.cwnd += 1;
            if self.root * self.root < t.cwnd {
                self.root += 1;
            }
        }
        self.recent = self.recent.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::StackSpec;

    fn window(response: Response, cwnd: u32) -> (SceWindow, Tcb) {
        let spec = StackSpec { name: "linux-5.1-sce".into(), options: serde_json::Map::new() };
        let mut t = Tcb::new(cwnd, 5, 1000, true);
        t.is_cwnd_limited = true;
        (SceWindow::new(&Stack::from_spec(&spec).unwrap(), response), t)
    }

    fn ack(n: u32, esce: bool) -> AckEvent {
        AckEvent { acked: n, window_update: true, ece: false, esce }
    }

    #[test]
    fn growth_is_2_7_segments_a_round_trip() {
        let (mut w, mut t) = window(Response::HalfWindow, 100);
        let mut segments = 0;
        while t.cwnd < 370 {
            w.in_ack_event(&mut t, ack(2, false));
            segments += 2;
        }
        // Sum of W from 100 to 370 over 2.7015 segments of growth an RTT.
        let expected = (100..370).map(|w| f64::from(w) / 2.7015).sum::<f64>();
        assert!((f64::from(segments) / expected - 1.0).abs() < 0.01, "{segments} {expected}");
    }

    #[test]
    fn a_round_of_echoes_takes_2_7_roots() {
        let (mut w, mut t) = window(Response::SquareRoot { half: false }, 10);
        // Let the root follow by unit steps.
        while t.cwnd < 400 {
            w.in_ack_event(&mut t, ack(2, false));
        }
        for _ in 0..200 {
            w.in_ack_event(&mut t, ack(2, true));
        }
        let fall = 400 - t.cwnd;
        assert!((50..=56).contains(&fall), "{fall}");
    }

    /// What one CE mark leaves of a window of 100: the stack goes to the threshold, then the module is told.
    fn after_ce(twice: bool, recent: bool) -> u32 {
        let spec = StackSpec { name: "linux-5.1-sce".into(), options: serde_json::Map::new() };
        let mut stack = Stack::from_spec(&spec).unwrap();
        stack.sce_cut_twice = twice;
        let mut t = Tcb::new(100, 5, 1000, true);
        t.is_cwnd_limited = true;
        let mut w = SceWindow::new(&stack, Response::HalfWindow);
        w.in_ack_event(&mut t, ack(1, false));
        w.recent = u32::from(recent);
        t.cwnd = w.ssthresh(&t);
        w.cwnd_event(&mut t, Event::CompleteCwr);
        t.cwnd
    }

    #[test]
    fn the_cut_after_ce_is_on_top_of_the_halving_or_in_its_place() {
        assert_eq!((after_ce(true, false), after_ce(true, true)), (38, 44));
        assert_eq!((after_ce(false, false), after_ce(false, true)), (75, 88));
    }

    #[test]
    fn the_floor_is_two() {
        let (mut w, mut t) = window(Response::HalfWindow, 2);
        for _ in 0..50 {
            w.in_ack_event(&mut t, ack(1, true));
        }
        assert_eq!(t.cwnd, 2);
    }
}
