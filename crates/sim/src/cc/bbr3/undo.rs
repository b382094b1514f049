//! Changes by an episode of losses that may prove wrong: the bounds, and in the draft the phase.

use super::bounds::Bounds;
use super::{Bbr3, Mode, NONE};
use crate::cc::{CaState, View, Window};

/// Values from before the losses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    bw_lo: u32,
    inflight_lo: u32,
    inflight_hi: u32,
    /// The phase that losses ended.
    mode: Option<Mode>,
    /// It is of the episode that goes on.
    is_saved: bool,
}

impl Undo {
    pub fn save(&mut self, bounds: &Bounds) {
        let Bounds { bw_lo, inflight_lo, inflight_hi, .. } = *bounds;
        *self = Self { bw_lo, inflight_lo, inflight_hi, mode: None, is_saved: true };
    }

    /// It is known what there was before this episode.
    pub fn is_saved(&self) -> bool {
        self.is_saved
    }

    /// Losses end a phase.
    pub fn left(&mut self, mode: Mode) {
        self.mode = Some(mode);
    }
}

impl Bbr3 {
    /// The losses were none.
    pub(super) fn undo_losses(&mut self, v: &View) {
        self.full.restart(0);
        self.signals.loss_in_round = false;
        let (undo, bounds) = (&mut self.undo, &mut self.bounds);
        bounds.bw_lo = bounds.bw_lo.max(undo.bw_lo);
        bounds.inflight_lo = bounds.inflight_lo.max(undo.inflight_lo);
        bounds.inflight_hi = bounds.inflight_hi.max(undo.inflight_hi);
        self.at_target = false;
        let mode = undo.mode.take().filter(|&mode| mode != self.mode && !self.variant.is_google());
        match mode {
            Some(Mode::Startup) => {
                self.full.was = false;
                if self.mode != Mode::ProbeRtt {
                    self.mode = Mode::Startup;
                }
            }
            Some(_) if self.mode != Mode::ProbeRtt => self.begin_refill(v, 0),
            _ => {}
        }
    }

    /// The congestion state is about to change.
    pub(super) fn change_state(&mut self, v: &View, w: &mut Window, new: CaState) {
        let google = self.variant.is_google();
        if new < CaState::Recovery {
            self.undo.is_saved = false;
        }
        if new == CaState::Loss {
            self.previous = CaState::Loss;
            if google {
                self.full.restart(0);
                if !self.mode.is_accelerating() && self.bounds.inflight_lo == NONE {
                    // The window before the timeout is lowered at the end of the round.
                    self.bounds.inflight_lo = w.cwnd.max(self.prior_cwnd);
                }
            }
        } else if google {
            if self.previous == CaState::Loss {
                self.restore_cwnd(w);
            }
        } else if v.state >= CaState::Recovery && new < CaState::Recovery {
            self.restore_cwnd(w);
        }
    }
}
