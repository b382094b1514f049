//! The bounds of rate and data in flight: the maximum bandwidth of two cycles; below it the part that recent losses leave, until the next probing (the draft's
//! `bw_shortterm`, `inflight_shortterm`); and the most data in flight that did not lose too much (`inflight_longterm`).

use super::cycle::Acks;
use super::{Ack, Bbr3, Mode, MIN_CWND, NONE};
use crate::cc::bandwidth::UNIT;
use crate::cc::{Lost, RateSample, View, Window};

/// The bounds. Bandwidths in the kernel's unit, data in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// The most bandwidth of the cycle before and of this one.
    bw_hi: [u32; 2],
    /// Bound on the bandwidth after losses.
    pub bw_lo: u32,
    /// Bound on the data in flight after losses.
    pub inflight_lo: u32,
    /// Beyond it too much is lost.
    pub inflight_hi: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { bw_hi: [0; 2], bw_lo: NONE, inflight_lo: NONE, inflight_hi: NONE }
    }
}

impl Bounds {
    /// The most bandwidth.
    pub fn max_bw(&self) -> u32 {
        self.bw_hi[0].max(self.bw_hi[1])
    }

    pub fn take_bw(&mut self, bw: u32) {
        self.bw_hi[1] = self.bw_hi[1].max(bw);
    }

    /// A cycle begins. One without samples leaves what there is.
    pub fn advance_bw(&mut self) {
        if self.bw_hi[1] != 0 {
            self.bw_hi = [self.bw_hi[1], 0];
        }
    }

    /// Losses are forgotten.
    pub fn forget_losses(&mut self) {
        (self.bw_lo, self.inflight_lo) = (NONE, NONE);
    }
}

impl Bbr3 {
    /// Lowers the bounds at the end of a round with losses, or with marks; not while more than before is sent on purpose.
    pub(super) fn lower_bounds(&mut self, w: &Window) {
        if self.mode.is_accelerating() {
            return;
        }
        let (max_bw, mut of_marks) = (self.bounds.max_bw(), NONE);
        let bounds = &mut self.bounds;
        if self.ecn.in_round {
            if bounds.inflight_lo == NONE {
                bounds.inflight_lo = w.cwnd;
            }
            of_marks = self.ecn.left_of(bounds.inflight_lo);
        }
        if self.signals.loss_in_round {
            if bounds.bw_lo == NONE {
                bounds.bw_lo = max_bw;
            }
            if bounds.inflight_lo == NONE {
                bounds.inflight_lo = w.cwnd;
            }
            let kept = self.variant.kept();
            bounds.bw_lo = kept.of(bounds.bw_lo).max(self.signals.bw_latest);
            bounds.inflight_lo = kept.of(bounds.inflight_lo).max(self.signals.inflight_latest);
        }
        bounds.inflight_lo = bounds.inflight_lo.min(of_marks);
        bounds.bw_lo = bounds.bw_lo.max(1);
    }

    /// The most in flight that leaves room for others.
    pub(super) fn with_headroom(&self) -> u32 {
        let hi = self.bounds.inflight_hi;
        if hi == NONE {
            return NONE;
        }
        hi.saturating_sub(self.variant.headroom().of(hi).max(1)).max(MIN_CWND)
    }

    /// Intended data in flight, unless the window is smaller.
    pub(super) fn target_inflight(&self, v: &View, w: &Window) -> u32 {
        let bw = self.bw();
        let target = if self.variant.is_google() { self.inflight(v, w, bw, UNIT) } else { self.bdp(bw, UNIT) };
        target.min(w.cwnd)
    }

    /// More than 2 % of what was in flight with the segment last delivered are lost, or half of it is marked.
    pub(super) fn is_too_much(&self, v: &View, s: &RateSample) -> bool {
        let marked = if self.variant.is_google() { 0 } else { s.rate.delivered_ce };
        let lost = s.rate.lost.max(0) as u32 + marked;
        (lost > 0 && self.is_too_lossy(v, s.rate.tx_in_flight, lost)) || self.ecn.is_too_much(s)
    }

    /// Without SACK, one loss is all that a round trip can show.
    fn is_too_lossy(&self, v: &View, tx_in_flight: u32, lost: u32) -> bool {
        let is_alone = !self.variant.is_google() && !v.has_sack && lost > 0;
        is_alone || (tx_in_flight > 0 && self.variant.most_loss().is_exceeded_by(lost, tx_in_flight))
    }

    /// A loss while the acknowledgements of probing come in. `of_segment`: it is known which segment; else `lost` has what was in flight.
    pub(super) fn judge_loss(&mut self, v: &View, w: &Window, lost: &Lost, of_segment: bool) {
        if !self.probe.samples || !self.is_too_lossy(v, lost.tx_in_flight, lost.lost as u32) {
            return;
        }
        let mut tx_in_flight = lost.tx_in_flight;
        if of_segment {
            // Up to which segment of the flight the losses were not too many.
            let (before, lost_before) = (tx_in_flight.saturating_sub(1), (lost.lost - 1).max(0) as u32);
            tx_in_flight = before + self.variant.most_loss().prefix(before, lost_before);
        }
        self.retreat(v, w, tx_in_flight, lost.is_app_limited);
    }

    /// Probing went too far: bounds what is in flight to `tx_in_flight`, or to 70 % of what is meant to be if that is more. Once a probing.
    fn retreat(&mut self, v: &View, w: &Window, tx_in_flight: u32, is_app_limited: bool) {
        (self.probe.was_too_high, self.probe.samples) = (true, false);
        if !is_app_limited {
            self.bounds.inflight_hi = self.variant.kept().of(self.target_inflight(v, w)).max(tx_in_flight);
        }
        if self.mode == Mode::Up {
            self.undo.left(Mode::Up);
            self.begin_down(v);
        }
    }

    /// Follows with the upper bound what acknowledgements of probing show; true if it began another phase.
    pub(super) fn adapt_upper_bound(&mut self, v: &View, w: &Window, a: &Ack) -> bool {
        if self.round.start && self.probe.acks == Acks::Starting {
            self.probe.acks = Acks::Feedback;
        }
        if self.round.start && self.probe.acks == Acks::Stopping {
            (self.probe.samples, self.probe.acks) = (false, Acks::Init);
            if self.mode.probes_bw() {
                if !a.s.rate.is_app_limited {
                    self.bounds.advance_bw();
                }
                if self.probe.was_cautious && !self.probe.was_too_high {
                    // The event that stopped the last probing early was no danger.
                    self.begin_refill(v, 0);
                    return true;
                }
            }
        }
        if self.is_too_much(v, a.s) {
            let is_marked = a.s.rate.delivered_ce > 0;
            if (self.variant.is_google() || is_marked) && self.probe.samples {
                self.retreat(v, w, a.s.rate.tx_in_flight, a.s.rate.is_app_limited);
            }
        } else if self.bounds.inflight_hi != NONE {
            self.bounds.inflight_hi = self.bounds.inflight_hi.max(a.s.rate.tx_in_flight);
            if self.mode == Mode::Up {
                self.raise_upper_bound(v, w, a.s);
            }
        }
        false
    }

    /// Raises it by 1, 2, 4 ... segments a round while the window is at the bound.
    fn raise_upper_bound(&mut self, v: &View, w: &Window, s: &RateSample) {
        if !self.is_bound(v, w) {
            return;
        }
        let raised = self.probe.raised(s.delivered);
        if raised > 0 {
            self.bounds.inflight_hi = self.bounds.inflight_hi.saturating_add(raised);
            self.at_target = false;
        }
        if self.round.start {
            self.probe.steepen(w.cwnd);
        }
    }

    /// It is the upper bound that limits sending.
    pub(super) fn is_bound(&self, v: &View, w: &Window) -> bool {
        v.is_cwnd_limited && w.cwnd >= self.bounds.inflight_hi
    }
}
