//! Rounds of the path, and what the last one showed: bandwidth, data delivered, losses.

use super::{Ack, Bbr3};
use crate::cc::bandwidth::is_after;
use crate::cc::{View, Window};

/// Rounds: one ends with the delivery of something sent after it began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    /// Segments delivered when it began.
    end: u32,
    /// The ACK in hand ends one.
    pub start: bool,
    /// How many there were.
    pub count: u32,
}

impl Round {
    /// One begins now.
    pub fn begin(&mut self, v: &View) {
        self.end = v.delivered;
    }

    /// An ACK that is of `a`, if it is known when the segment was sent that it is for.
    pub fn update(&mut self, v: &View, a: &Ack, is_known: bool) {
        self.start = is_known && !is_after(self.end, a.s.rate.prior_delivered);
        if self.start {
            self.begin(v);
            self.count = self.count.wrapping_add(1);
        }
    }
}

/// Signals of the path since the last round of losses began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signals {
    /// Largest bandwidth.
    pub bw_latest: u32,
    /// Most data delivered between sending and acknowledging, segments.
    pub inflight_latest: u32,
    /// Segments delivered when the round began, which losses begin too.
    round_end: u32,
    /// The ACK in hand ends it.
    pub round_start: bool,
    pub loss_in_round: bool,
    /// Since the last probing.
    pub loss_in_cycle: bool,
}

impl Signals {
    pub fn begin(&mut self, v: &View) {
        self.round_end = v.delivered.wrapping_add(1);
    }

    /// Signals of probing do not count when the bounds are lowered.
    pub fn forget(&mut self) {
        *self = Self { round_end: self.round_end, round_start: self.round_start, ..Self::default() };
    }
}

impl Bbr3 {
    pub(super) fn update_latest(&mut self, v: &View, a: &Ack) {
        let signals = &mut self.signals;
        signals.round_start = false;
        if !a.is_known(self.variant) {
            return;
        }
        signals.bw_latest = signals.bw_latest.max(a.bw);
        signals.inflight_latest = signals.inflight_latest.max(a.s.rate.delivered.max(0) as u32);
        if !is_after(signals.round_end, a.s.rate.prior_delivered) {
            (signals.round_end, signals.round_start) = (v.delivered, true);
        }
    }

    pub(super) fn update_signals(&mut self, w: &Window, a: &Ack) {
        if !a.is_known(self.variant) {
            return;
        }
        if a.bw > 0 && (!a.s.rate.is_app_limited || a.bw >= self.bounds.max_bw()) {
            self.bounds.take_bw(a.bw);
        }
        self.signals.loss_in_round |= a.s.losses > 0;
        if self.signals.round_start {
            self.lower_bounds(w);
            (self.signals.loss_in_round, self.ecn.in_round) = (false, false);
        }
    }

    /// Something is lost. The first loss of a round begins another, so that it shows what the path delivers with losses.
    pub(super) fn note_loss(&mut self, v: &View, w: &Window) {
        if !self.signals.loss_in_round {
            self.signals.round_end = v.delivered;
        }
        if !self.variant.is_google() && !self.undo.is_saved() {
            self.save_cwnd(w);
            self.undo.save(&self.bounds);
        }
        (self.signals.loss_in_round, self.signals.loss_in_cycle) = (true, true);
    }

    pub(super) fn end_ack(&mut self, v: &View, a: &Ack) {
        // That of a probe may be for the data before a loss at the end, whose rate is to be remembered.
        if self.signals.round_start && !(self.variant.is_google() && a.s.rate.is_of_loss_probe) {
            (self.signals.bw_latest, self.signals.inflight_latest) = (a.bw, a.s.rate.delivered.max(0) as u32);
        }
        self.previous = v.state;
        self.signals.loss_in_cycle |= a.s.rate.lost > 0;
        self.ecn.in_cycle |= a.s.rate.delivered_ce > 0;
    }
}
