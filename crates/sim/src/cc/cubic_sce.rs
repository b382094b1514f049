//! CUBIC-SCE, in progress in 2019 (chromi/sce net/ipv4/tcp_cubic_sce.c, 1280a6d0 and 0139ea04): CUBIC whose curve is
//! pulled to the present by SCE echoes, with Reno-SCE's square-root credit.
//!
//! Leaves out: the partial pull. The source scales the time to the plateau by acknowledged bytes over the root of a
//! count of segments, which is never below 1, so the plateau always collapses to the present; only that is here.

use super::{AckEvent, AckSample, CongestionControl, Cubic, Event};
use crate::packet::MSS;
use crate::tcp::linux::sender::tcb::{CaState, Tcb};
use crate::tcp::linux::stack::Stack;

/// State of CUBIC-SCE.
#[derive(Clone, Debug)]
pub struct CubicSce {
    cubic: Cubic,
    scale: i64,
    credit: i64,
    root: u32,
    recent: u32,
}

impl CubicSce {
    /// CUBIC-SCE on a stack.
    #[must_use]
    pub fn new(stack: &Stack) -> Self {
        Self {
            cubic: Cubic::with_friendly_unit(MSS, stack.sce_scale_bytes),
            scale: i64::from(stack.sce_scale_bytes),
            credit: 0,
            root: 1,
            recent: 0,
        }
    }

    fn on_echo(&mut self, t: &mut Tcb, acked: u32) {
        if self.cubic.epoch_start != 0 {
            self.cubic.epoch_start = t.jiffies;
            self.cubic.k = 0;
            self.cubic.origin_point = self.cubic.origin_point.min(t.cwnd);
            while self.root * self.root > t.cwnd {
                self.root -= 1;
            }
            while (self.root + 1) * (self.root + 1) <= t.cwnd {
                self.root += 1;
            }
            self.credit -= i64::from(acked) * i64::from(MSS) * i64::from(self.root);
            let over = self.scale * i64::from(t.cwnd);
            while self.credit <= -over {
                self.credit += over;
                if t.cwnd > 2 {
                    t.cwnd -= 1;
                    self.cubic.origin_point = self.cubic.origin_point.saturating_sub(1);
                    self.cubic.last_max_cwnd = self.cubic.last_max_cwnd.saturating_sub(1);
                }
            }
        }
        t.ssthresh = (t.cwnd / 2).max(2);
        self.recent = t.cwnd + 1;
    }
}

impl CongestionControl for CubicSce {
    fn init(&mut self, t: &mut Tcb) {
        self.cubic.init(t);
    }

    fn ssthresh(&mut self, t: &Tcb) -> u32 {
        let plain = self.cubic.ssthresh(t);
        if self.recent > 0 {
            (t.cwnd - t.cwnd / 8).max(2)
        } else {
            plain
        }
    }

    fn cong_avoid(&mut self, t: &mut Tcb, acked: u32) {
        self.cubic.cong_avoid(t, acked);
    }

    fn set_state(&mut self, t: &mut Tcb, new: CaState) {
        self.cubic.set_state(t, new);
    }

    fn cwnd_event(&mut self, t: &mut Tcb, e: Event) {
        self.cubic.cwnd_event(t, e);
    }

    fn pkts_acked(&mut self, t: &mut Tcb, s: AckSample) {
        self.cubic.pkts_acked(t, s);
    }

    fn in_ack_event(&mut self, t: &mut Tcb, e: AckEvent) {
        if e.esce && !e.ece {
            self.on_echo(t, e.acked.max(1));
        }
        self.recent = self.recent.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::StackSpec;

    #[test]
    fn echoes_shrink_the_window_and_soften_ce() {
        let spec = StackSpec { name: "linux-5.1-sce".into(), options: serde_json::Map::new() };
        let mut c = CubicSce::new(&Stack::from_spec(&spec).unwrap());
        let mut t = Tcb::new(100, 5, 1000, true);
        t.is_cwnd_limited = true;
        t.jiffies = 10;
        assert_eq!(c.ssthresh(&t), 70);
        c.cong_avoid(&mut t, 2);
        for _ in 0..50 {
            c.in_ack_event(&mut t, AckEvent { acked: 2, window_update: true, ece: false, esce: true });
        }
        // A round trip of echoes: 2.7 times the root of the window.
        assert!((70..=76).contains(&t.cwnd), "{}", t.cwnd);
        assert_eq!(c.ssthresh(&t), t.cwnd - t.cwnd / 8);
    }
}
