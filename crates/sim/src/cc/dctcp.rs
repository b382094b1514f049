//! DCTCP: reduction in proportion to the share of marked segments (RFC 8257; Linux 6.12 net/ipv4/tcp_dctcp.c).
//! The receiver's half, the CE state machine, is in `tcp::linux::receiver::ecn`.
//!
//! Leaves out: PLB.

use super::reno::reno_cong_avoid;
use super::{
    AnyCc, CaState, CongestionControl, Control, Event, Needs, Parameter, Parameters, RateSample, State, Tell, Version,
    View, Window,
};

/// Full share, and unit of it.
const MAX_ALPHA: u32 = 1024;

pub(super) const CONTROL: Control = Control {
    name: "dctcp",
    summary: "Data Center TCP (RFC 8257, Linux 6.12)",
    needs: Needs { ecn: true, ..Needs::NOTHING },
    since: Version(3, 18),
    parameters: &[
        Parameter::integer("shift_g", 4, 0, 10, "gain of the share of marked segments: 2^-shift_g").module("dctcp_shift_g"),
        Parameter::integer(
            "alpha_on_init",
            MAX_ALPHA,
            0,
            MAX_ALPHA,
            "share of marked segments assumed at first, 1024ths",
        ).module("dctcp_alpha_on_init"),
        Parameter::word(
            "count",
            "delivered",
            &["delivered", "acked"],
            "what the share is taken of: segments delivered (Linux 6.12), or segments cumulatively acknowledged (linux-5.1-sce)",
        ),
        Parameter::flag(
            "window_cut",
            false,
            "cuts the window by alpha/2 at the end of every observation window (fitted for linux-5.1-sce), not only in state CWR",
        ),
    ],
    build: |p| AnyCc::Dctcp(Dctcp::new(p)),
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::new("alpha", "share", "smoothed share of marked segments (dctcp_alpha)"),
    State::new("window_bytes", "bytes", "payload of the segments of this observation window so far (dctcp_ab_tot)"),
    State::new("window_ce_bytes", "bytes", "payload of the marked ones among these (dctcp_ab_ecn)"),
];

/// State of DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    /// Smoothed share of marked segments, 1024ths.
    alpha: u32,
    shift_g: u32,
    /// End of the observation window.
    next_seq: u32,
    /// Segments of the window: counted, and of these echoed.
    counted: u32,
    counted_ce: u32,
    old_delivered: u32,
    old_delivered_ce: u32,
    loss_cwnd: u32,
    /// Counts what ACKs acknowledge, not what is delivered.
    by_acked: bool,
    window_cut: bool,
}

impl Dctcp {
    fn new(p: &Parameters) -> Self {
        Self {
            alpha: p.integer("alpha_on_init"),
            shift_g: p.integer("shift_g"),
            next_seq: 0,
            counted: 0,
            counted_ce: 0,
            old_delivered: 0,
            old_delivered_ce: 0,
            loss_cwnd: 0,
            by_acked: p.word("count") == "acked",
            window_cut: p.flag("window_cut"),
        }
    }

    fn reset(&mut self, v: &View) {
        self.next_seq = v.snd_nxt;
        self.counted = 0;
        self.counted_ce = 0;
        self.old_delivered = v.delivered;
        self.old_delivered_ce = v.delivered_ce;
    }

    fn reduced(&self, cwnd: u32) -> u32 {
        (cwnd - ((cwnd * self.alpha) >> 11)).max(2)
    }

    fn react_to_loss(&mut self, w: &mut Window) {
        self.loss_cwnd = w.cwnd;
        w.ssthresh = (w.cwnd / 2).max(2);
    }

    /// The observation window is over: takes its share of marked segments into alpha.
    fn end_window(&mut self, v: &View, w: &mut Window) {
        if !self.by_acked {
            self.counted = v.delivered - self.old_delivered;
            self.counted_ce = v.delivered_ce - self.old_delivered_ce;
        }
        let decay = self.alpha >> self.shift_g;
        self.alpha -= if decay == 0 { self.alpha } else { decay };
        if self.counted_ce > 0 {
            let share = (self.counted_ce << (10 - self.shift_g)) / self.counted.max(1);
            self.alpha = (self.alpha + share).min(MAX_ALPHA);
        }
        self.reset(v);
        if self.window_cut {
            w.cwnd = self.reduced(w.cwnd);
        }
    }
}

impl CongestionControl for Dctcp {
    fn init(&mut self, v: &View, _: &mut Window) {
        self.reset(v);
    }

    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        self.loss_cwnd = w.cwnd;
        self.reduced(w.cwnd)
    }

    #[inline]
    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        reno_cong_avoid(v, w, acked);
    }

    fn undo_cwnd(&mut self, _: &View, w: &Window) -> u32 {
        w.cwnd.max(self.loss_cwnd)
    }

    fn on_event(&mut self, v: &View, w: &mut Window, e: Event) {
        match e {
            Event::State(CaState::Recovery) if v.state != CaState::Recovery => self.react_to_loss(w),
            Event::Loss => self.react_to_loss(w),
            Event::Renumbered(r) => r.apply(&mut self.next_seq),
            _ => {}
        }
    }

    #[inline]
    fn on_ack(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        if self.by_acked {
            let acked = if s.acked == 0 && !s.window_update { 1 } else { s.acked };
            self.counted += acked;
            if s.ece {
                self.counted_ce += acked;
            }
        }
        if v.snd_una >= self.next_seq {
            self.end_window(v, w);
        }
    }

    fn state(&self, v: &View, _: &Window, tell: &mut Tell) {
        tell("alpha", f64::from(self.alpha) / f64::from(MAX_ALPHA));
        let (counted, counted_ce) = if self.by_acked {
            (self.counted, self.counted_ce)
        } else {
            (v.delivered - self.old_delivered, v.delivered_ce - self.old_delivered_ce)
        };
        tell("window_bytes", f64::from(counted) * f64::from(v.mss));
        tell("window_ce_bytes", f64::from(counted_ce) * f64::from(v.mss));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cc::Growth;

    fn dctcp(given: &serde_json::Value) -> (Dctcp, View, Window) {
        let p = Parameters::resolve(CONTROL.parameters, &[], given.as_object().unwrap()).unwrap();
        (Dctcp::new(&p), View::new(1000, Growth::Segments, false), Window::new(100, 1))
    }

    /// One window of 100 segments, `marked` of them echoed.
    fn window(d: &mut Dctcp, v: &mut View, w: &mut Window, marked: u32) {
        v.delivered += 100;
        v.delivered_ce += marked;
        v.snd_una = v.snd_nxt;
        v.snd_nxt += 100;
        d.on_ack(v, w, &RateSample { acked: 100, window_update: true, ..RateSample::default() });
    }

    #[test]
    fn alpha_tends_to_the_marked_share() {
        let (mut d, mut v, mut w) = dctcp(&json!({}));
        d.init(&v, &mut w);
        for _ in 0..200 {
            window(&mut d, &mut v, &mut w, 25);
        }
        assert!((240..=272).contains(&d.alpha), "{}", d.alpha);
        assert_eq!(d.ssthresh(&v, &w), 100 - ((100 * d.alpha) >> 11));
        for _ in 0..200 {
            window(&mut d, &mut v, &mut w, 0);
        }
        assert_eq!(d.alpha, 0);
    }

    #[test]
    fn the_gain_and_the_first_alpha_are_parameters() {
        let (mut d, mut v, mut w) = dctcp(&json!({"shift_g": 0, "alpha_on_init": 100}));
        assert_eq!(d.ssthresh(&v, &w), 96);
        // A gain of 1: alpha is the last window's share.
        window(&mut d, &mut v, &mut w, 25);
        assert_eq!(d.alpha, 256);
        window(&mut d, &mut v, &mut w, 50);
        assert_eq!(d.alpha, 512);
    }
}
