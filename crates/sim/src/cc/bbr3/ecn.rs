//! Marks. In google's variant those of a shallow queue: the share of marked segments, and what it leaves of what is in flight. Only where the route says
//! so, where the receiver echoes marks one by one, and where the RTT is at most 5 ms. In the draft a mark counts as a loss.

use super::{Ack, Bbr3};
use crate::cc::bandwidth::UNIT;
use crate::cc::{CaState, RateSample, View, Window};

/// No marks beyond this RTT, us.
const MOST_RTT_US: u32 = 5000;
/// Gain of the share, 256ths.
const GAIN: u32 = UNIT / 16;
/// All marked take so much, 256ths.
const FACTOR: u32 = UNIT / 3;
/// More marked than this are too many, 256ths; so many rounds of it end STARTUP.
const THRESHOLD: u32 = UNIT / 2;
const STARTUP_ROUNDS: u32 = 2;
/// When marks cease, probing begins with so much of the upper bound, 256ths.
const REPROBE: u32 = UNIT / 2;

/// Knowledge of marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ecn {
    /// The route says that marks mean a shallow queue.
    low: bool,
    /// The path is short as well.
    is_used: bool,
    /// Share of marked segments, 256ths.
    alpha: u32,
    delivered: u32,
    marked: u32,
    startup_rounds: u32,
    /// An ACK echoed a mark in this round, in this cycle.
    pub in_round: bool,
    pub in_cycle: bool,
}

impl Ecn {
    /// Share of marked segments, 256ths, where it counts.
    pub fn used_alpha(&self) -> Option<u32> {
        self.is_used.then_some(self.alpha)
    }

    /// At first all are taken for marked.
    pub fn new(low: bool) -> Self {
        Self {
            low,
            is_used: false,
            alpha: UNIT,
            delivered: 0,
            marked: 0,
            startup_rounds: 0,
            in_round: false,
            in_cycle: false,
        }
    }

    /// Share of marked segments, 256ths.
    #[cfg(test)]
    pub fn share(&self) -> u32 {
        self.alpha
    }

    pub fn is_low(&self) -> bool {
        self.low
    }

    pub fn note(&mut self, s: &RateSample) {
        self.in_round |= self.is_used && s.ece;
    }

    pub fn forget(&mut self) {
        (self.in_round, self.in_cycle) = (false, false);
    }

    /// The part of so much data in flight that marks leave.
    pub fn left_of(&self, inflight: u32) -> u32 {
        let left = UNIT - ((self.alpha * FACTOR) >> 8);
        ((u64::from(inflight) * u64::from(left)) >> 8) as u32
    }

    /// More than half of what was delivered is marked.
    pub fn is_too_much(&self, s: &RateSample) -> bool {
        let delivered = s.rate.delivered.max(0) as u64;
        self.is_used
            && s.rate.delivered_ce > 0
            && u64::from(s.rate.delivered_ce) > (delivered * u64::from(THRESHOLD)) >> 8
    }

    /// A round is over: the share of marked segments in it, 256ths, if marks are used.
    fn end_round(&mut self, v: &View, min_rtt_us: u32) -> Option<u32> {
        self.is_used |= self.low && min_rtt_us <= MOST_RTT_US;
        let delivered = v.delivered.wrapping_sub(self.delivered);
        if !self.is_used || delivered == 0 {
            return None;
        }
        let marked = v.delivered_ce.wrapping_sub(self.marked);
        let share = ((u64::from(marked) << 8) / u64::from(delivered)) as u32;
        self.alpha = ((((UNIT - GAIN) * self.alpha) >> 8) + ((GAIN * share) >> 8)).min(UNIT);
        (self.delivered, self.marked) = (v.delivered, v.delivered_ce);
        Some(share)
    }
}

impl Bbr3 {
    /// The draft says of marks that they MUST count as congestion, not how: a marked segment counts as a lost one.
    pub(super) fn note_marks(&mut self, v: &View, w: &Window, a: &Ack) {
        if !self.variant.is_google() && a.s.ece && a.s.rate.delivered_ce > 0 {
            self.note_loss(v, w);
        }
    }

    /// A round is over. Two in which half is marked end STARTUP.
    pub(super) fn update_ecn(&mut self, v: &View, w: &Window) {
        let Some(share) = self.ecn.end_round(v, self.min_rtt.us()) else { return };
        if self.full.was {
            return;
        }
        self.ecn.startup_rounds = if share >= THRESHOLD { self.ecn.startup_rounds + 1 } else { 0 };
        if self.ecn.startup_rounds >= STARTUP_ROUNDS {
            self.end_startup_of_losses(v, w);
        }
    }

    /// There were marks in this cycle, no losses, and nothing is unusual now: how steeply the upper bound may rise.
    pub(super) fn marks_have_ceased(&self, v: &View) -> Option<u32> {
        if !self.ecn.is_used || !self.ecn.in_cycle || self.signals.loss_in_cycle || v.state != CaState::Open {
            return None;
        }
        let hi = self.bounds.inflight_hi;
        Some(((u64::from(hi) * u64::from(REPROBE)) >> 8).max(1).ilog2())
    }
}
