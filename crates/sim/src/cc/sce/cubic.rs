//! CUBIC-SCE, in progress in 2019 (chromi/sce net/ipv4/tcp_cubic_sce.c, 1280a6d0 and 0139ea04): CUBIC whose curve is
//! pulled to the present by SCE echoes, with Reno-SCE's square-root credit.
//!
//! Leaves out: the partial pull. The source scales the time to the plateau by acknowledged bytes over the root of a
//! count of segments, which is never below 1, so the plateau always collapses to the present; only that is here.

use super::SCALE_BYTES;
use crate::cc::cubic::Cubic;
use crate::cc::{AnyCc, CongestionControl, Control, Event, Needs, Parameters, RateSample, Tell, Version, View, Window};
use crate::packet::MSS;

pub(in crate::cc) const CONTROL: Control = Control {
    name: "cubic-sce",
    summary: "CUBIC that answers SCE marks (SCE tree, in progress in 2019)",
    needs: Needs { sce: true, ..Needs::NOTHING },
    since: Version(5, 1),
    parameters: &[SCALE_BYTES],
    build: |p| AnyCc::CubicSce(CubicSce::new(p)),
};

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
    fn new(p: &Parameters) -> Self {
        let scale = p.integer(SCALE_BYTES.name);
        Self { cubic: Cubic::with_friendly_unit(MSS, scale), scale: i64::from(scale), credit: 0, root: 1, recent: 0 }
    }

    fn on_echo(&mut self, v: &View, w: &mut Window, acked: u32) {
        let curve = &mut self.cubic.curve;
        if curve.epoch_start != 0 {
            curve.epoch_start = v.jiffies;
            curve.k = 0;
            curve.origin_point = curve.origin_point.min(w.cwnd);
            while self.root * self.root > w.cwnd {
                self.root -= 1;
            }
            while (self.root + 1) * (self.root + 1) <= w.cwnd {
                self.root += 1;
            }
            self.credit -= i64::from(acked) * i64::from(MSS) * i64::from(self.root);
            let over = self.scale * i64::from(w.cwnd);
            while self.credit <= -over {
                self.credit += over;
                if w.cwnd > 2 {
                    w.cwnd -= 1;
                    curve.origin_point = curve.origin_point.saturating_sub(1);
                    curve.last_max_cwnd = curve.last_max_cwnd.saturating_sub(1);
                }
            }
        }
        w.ssthresh = (w.cwnd / 2).max(2);
        self.recent = w.cwnd + 1;
    }
}

impl CongestionControl for CubicSce {
    fn init(&mut self, v: &View, w: &mut Window) {
        self.cubic.init(v, w);
    }

    fn ssthresh(&mut self, v: &View, w: &Window) -> u32 {
        let without_sce = self.cubic.ssthresh(v, w);
        if self.recent > 0 {
            (w.cwnd - w.cwnd / 8).max(2)
        } else {
            without_sce
        }
    }

    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        self.cubic.cong_avoid(v, w, acked);
    }

    fn on_event(&mut self, v: &View, w: &mut Window, e: Event) {
        self.cubic.on_event(v, w, e);
    }

    fn pkts_acked(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        self.cubic.pkts_acked(v, w, s);
    }

    fn on_ack(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        if s.esce && !s.ece {
            self.on_echo(v, w, s.acked.max(1));
        }
        self.recent = self.recent.saturating_sub(1);
    }

    fn state(&self, v: &View, w: &Window, tell: &mut Tell) {
        self.cubic.state(v, w, tell);
    }

    fn words(&self) -> u32 {
        self.cubic.words()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cc::Growth;

    #[test]
    fn echoes_shrink_the_window_and_soften_ce() {
        let given = json!({"scale_bytes": 536});
        let p = Parameters::resolve(CONTROL.parameters, &[], given.as_object().unwrap()).unwrap();
        let (mut c, mut w) = (CubicSce::new(&p), Window::new(100, 5));
        let mut v = View::new(1000, Growth::Segments, true);
        (v.is_cwnd_limited, v.jiffies) = (true, 10);
        assert_eq!(c.ssthresh(&v, &w), 70);
        c.cong_avoid(&v, &mut w, 2);
        for _ in 0..50 {
            let echo = RateSample { acked: 2, window_update: true, esce: true, ..RateSample::default() };
            c.on_ack(&v, &mut w, &echo);
        }
        // A round trip of echoes: 2.7 times the root of the window.
        assert!((70..=76).contains(&w.cwnd), "{}", w.cwnd);
        assert_eq!(c.ssthresh(&v, &w), w.cwnd - w.cwnd / 8);
    }
}
