//! Parts that the SCE senders share: signed byte credit, slow start, the cut after CE
//! (chromi/sce net/ipv4/tcp_reno_sce.c and tcp_dctcp_sce.c, the form of June 2019 as far as it is known).

pub(in crate::cc) mod cubic;
pub(in crate::cc) mod dctcp;
pub(in crate::cc) mod reno;

use super::{CongestionControl, Event, Parameter, Parameters, RateSample, State, Tell, View, Window};
use crate::packet::MSS;

/// Parameters that the SCE senders share.
pub(super) const SCALE_BYTES: Parameter = Parameter::integer(
    "scale_bytes",
    MSS,
    88,
    MSS,
    "bytes taken for one segment (536: the estimate of a peer that sends no data)",
);
pub(super) const SSTHRESH_RATCHET: Parameter =
    Parameter::flag("ssthresh_ratchet", false, "an SCE echo may only raise ssthresh");
pub(super) const CUT_TWICE: Parameter = Parameter::flag(
    "cut_twice",
    false,
    "cuts twice for one CE mark or loss: the stack to half, then the module to 3/4 or 7/8 of that; else only the module cuts",
);

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::new(
        "sce_credit",
        "packets",
        "segments acknowledged and not yet grown by, negative where SCE echoes outweigh them",
    ),
    State::new(
        "sce_recent",
        "",
        "ACKs until the last SCE echo is forgotten, so that a CE mark takes a quarter of the window; 0 if it is",
    ),
];

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
    /// True if the cut of the module comes on top of the stack's halving, false if it comes in its place.
    cut_twice: bool,
    credit: i64,
    reference_cwnd: u32,
    recent: u32,
    root: u32,
}

impl SceWindow {
    /// An SCE sender with these parameters.
    #[must_use]
    pub fn new(p: &Parameters, response: Response) -> Self {
        Self {
            response,
            scale: i64::from(p.integer("scale_bytes")),
            ratchet: p.flag("ssthresh_ratchet"),
            cut_twice: p.flag("cut_twice"),
            credit: 0,
            reference_cwnd: 0,
            recent: 0,
            root: 1,
        }
    }

    /// Half the reference window; the ratchet only raises the threshold.
    fn threshold(&self, w: &Window) -> u32 {
        let half = (self.reference_cwnd / 2).max(2);
        if self.ratchet {
            w.ssthresh.max(half)
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
    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        if self.cut_twice {
            self.threshold(w)
        } else {
            less_a_share(w.cwnd, self.shift())
        }
    }

    /// Slow start; what lies beyond the threshold becomes credit.
    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        if w.in_slow_start(v) && w.is_limiting(v) {
            let surplus = w.slow_start(v, acked);
            self.credit += i64::from(surplus) * self.scale;
        }
    }

    fn undo_cwnd(&mut self, _: &View, w: &Window) -> u32 {
        w.cwnd.max(self.reference_cwnd)
    }

    /// The cut that follows the stack's own, and the one after a timeout.
    fn on_event(&mut self, _: &View, w: &mut Window, e: Event) {
        let shift = match e {
            Event::CompleteCwr if self.cut_twice => Some(self.shift()),
            Event::CompleteCwr => None,
            Event::Loss => Some(1),
            Event::TxStart
            | Event::CwndRestart
            | Event::ProbeRepairedLoss(_)
            | Event::State(_)
            | Event::Renumbered(_) => return,
        };
        self.reference_cwnd = w.cwnd;
        self.credit = 0;
        if let Some(shift) = shift {
            w.cwnd = less_a_share(w.cwnd, shift);
        }
        while self.root > 1 && self.root * self.root >= w.cwnd {
            self.root -= 1;
        }
    }

    /// Runs on every ACK, whatever the state.
    fn on_ack(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        let bytes = match s.acked {
            0 if s.window_update => return,
            0 => self.scale,
            n => i64::from(n) * i64::from(MSS),
        };
        let over = self.scale * i64::from(w.cwnd);
        if s.esce && !s.ece {
            self.credit -= match self.response {
                Response::SquareRoot { half: false } => bytes * i64::from(self.root),
                Response::SquareRoot { half: true } => bytes * i64::from(self.root) / 2,
                Response::HalfWindow => bytes * i64::from(w.cwnd) / 2,
            };
            self.reference_cwnd = w.cwnd;
            w.ssthresh = self.threshold(w);
            self.recent = w.cwnd + 1;
        } else if !w.in_slow_start(v) && w.is_limiting(v) {
            self.credit += bytes;
            self.reference_cwnd = self.reference_cwnd.max(w.cwnd);
        }
        while self.credit <= -over {
            self.credit += over;
            if w.cwnd > 2 {
                w.cwnd -= 1;
            }
            if self.root * self.root >= w.cwnd {
                self.root -= 1;
            }
        }
        while self.credit >= over {
            self.credit -= over;
            w.cwnd += 1;
            if self.root * self.root < w.cwnd {
                self.root += 1;
            }
        }
        self.recent = self.recent.saturating_sub(1);
    }

    fn state(&self, _: &View, _: &Window, tell: &mut Tell) {
        tell("sce_credit", self.credit as f64 / self.scale as f64);
        tell("sce_recent", f64::from(self.recent));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cc::Growth;

    /// A sender of the SCE tree's kernel of June 2019, at a window of `cwnd`.
    fn window(response: Response, cwnd: u32, cut_twice: bool) -> (SceWindow, View, Window) {
        let given = json!({"scale_bytes": 536, "cut_twice": cut_twice});
        let p = Parameters::resolve(dctcp::CONTROL.parameters, &[], given.as_object().unwrap()).unwrap();
        let mut v = View::new(1000, Growth::Segments, true);
        v.is_cwnd_limited = true;
        (SceWindow::new(&p, response), v, Window::new(cwnd, 5))
    }

    fn ack(acked: u32, esce: bool) -> RateSample {
        RateSample { acked, window_update: true, esce, ..RateSample::default() }
    }

    #[test]
    fn growth_is_2_7_segments_a_round_trip() {
        let (mut c, v, mut w) = window(Response::HalfWindow, 100, true);
        let mut segments = 0;
        while w.cwnd < 370 {
            c.on_ack(&v, &mut w, &ack(2, false));
            segments += 2;
        }
        // Sum of W from 100 to 370 over 2.7015 segments of growth an RTT.
        let expected = (100..370).map(|w| f64::from(w) / 2.7015).sum::<f64>();
        assert!((f64::from(segments) / expected - 1.0).abs() < 0.01, "{segments} {expected}");
    }

    #[test]
    fn a_round_of_echoes_takes_2_7_roots() {
        let (mut c, v, mut w) = window(Response::SquareRoot { half: false }, 10, true);
        // Let the root follow by unit steps.
        while w.cwnd < 400 {
            c.on_ack(&v, &mut w, &ack(2, false));
        }
        for _ in 0..200 {
            c.on_ack(&v, &mut w, &ack(2, true));
        }
        let fall = 400 - w.cwnd;
        assert!((50..=56).contains(&fall), "{fall}");
    }

    /// Rest of a window of 100 after one CE mark: the stack goes to the threshold, then the module hears of the mark.
    fn after_ce(twice: bool, recent: bool) -> u32 {
        let (mut c, v, mut w) = window(Response::HalfWindow, 100, twice);
        c.on_ack(&v, &mut w, &ack(1, false));
        c.recent = u32::from(recent);
        w.cwnd = c.ssthresh(&v, &w);
        c.on_event(&v, &mut w, Event::CompleteCwr);
        w.cwnd
    }

    #[test]
    fn the_cut_after_ce_is_on_top_of_the_halving_or_in_its_place() {
        assert_eq!((after_ce(true, false), after_ce(true, true)), (38, 44));
        assert_eq!((after_ce(false, false), after_ce(false, true)), (75, 88));
    }

    #[test]
    fn the_floor_is_two() {
        let (mut c, v, mut w) = window(Response::HalfWindow, 2, true);
        for _ in 0..50 {
            c.on_ack(&v, &mut w, &ack(1, true));
        }
        assert_eq!(w.cwnd, 2);
    }
}
