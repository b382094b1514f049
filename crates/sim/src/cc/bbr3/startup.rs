//! When the pipe is full, as bandwidth does not grow any more or too much is lost; DRAIN.

use super::{Ack, Bbr3, Mode};
use crate::cc::bandwidth::UNIT;
use crate::cc::{CaState, Lost, View, Window};

/// Growth by so much means that there may be more, 256ths; and so many rounds without it that there is not.
const GROWTH: u64 = UNIT as u64 * 5 / 4;
const ROUNDS: u32 = 3;
/// So many losses in a round end STARTUP, if they are too large a share as well.
const LOSSES: u32 = 6;
/// DRAIN lasts no longer, rounds.
const DRAIN_ROUNDS: u32 = 3;

/// Looks for a plateau of the bandwidth.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// Bandwidth that growth in STARTUP is measured from.
    bw: u32,
    pub rounds: u32,
    /// There is a plateau.
    pub is_now: bool,
    /// There has been one, ever, or too much loss.
    pub was: bool,
}

impl FullPipe {
    /// Bandwidth that growth is measured from.
    pub fn bw(&self) -> u32 {
        self.bw
    }

    /// Looks anew, from a bandwidth on.
    pub fn restart(&mut self, bw: u32) {
        *self = Self { bw, was: self.was, ..Self::default() };
    }
}

/// Losses that count in STARTUP, and the time when DRAIN began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Startup {
    /// ACKs that found losses in this round.
    events: u32,
    /// Gaps in the sequence in this round, and the segment after the last one.
    gaps: u32,
    next: Option<u32>,
    drain_round: u32,
}

impl Startup {
    /// A segment is lost.
    pub fn note(&mut self, lost: &Lost) {
        if self.next != Some(lost.seq) {
            self.gaps += 1;
        }
        self.next = Some(lost.seq.wrapping_add(1));
    }
}

impl Bbr3 {
    pub(super) fn check_losses_of_startup(&mut self, v: &View, w: &Window, a: &Ack) {
        if self.full.was {
            return;
        }
        self.startup.events += u32::from(a.s.losses > 0);
        if !self.variant.is_google() && !v.has_sack && a.s.losses > 0 && v.state == CaState::Recovery {
            self.end_startup_of_losses(v, w);
            return;
        }
        if !self.signals.round_start {
            return;
        }
        let google = self.variant.is_google();
        let many = if google { self.startup.events } else { self.startup.gaps } >= LOSSES;
        let lossy = many && v.state == CaState::Recovery;
        let marked = !google && v.state == CaState::Cwr;
        if (lossy || marked) && self.is_too_much(v, a.s) {
            self.end_startup_of_losses(v, w);
            return;
        }
        (self.startup.events, self.startup.gaps, self.startup.next) = (0, 0, None);
    }

    /// Losses or marks say that the pipe is full.
    pub(super) fn end_startup_of_losses(&mut self, v: &View, w: &Window) {
        self.full.was = true;
        let bdp = if self.variant.is_google() {
            self.inflight(v, w, self.bounds.max_bw(), UNIT)
        } else {
            self.undo.left(Mode::Startup);
            self.full.is_now = true;
            self.bdp(self.bw(), UNIT)
        };
        self.bounds.inflight_hi = bdp.max(self.signals.inflight_latest);
    }

    /// Three rounds without growth by a quarter.
    pub(super) fn check_pipe(&mut self, a: &Ack) {
        if self.full.is_now || a.s.rate.is_app_limited || !(self.round.start || self.variant.is_google()) {
            return;
        }
        if u64::from(a.bw) >= (u64::from(self.full.bw) * GROWTH) >> 8 {
            self.full.restart(a.bw);
        } else if self.round.start {
            self.full.rounds += 1;
            self.full.is_now = self.full.rounds >= ROUNDS;
            self.full.was |= self.full.is_now;
        }
    }

    pub(super) fn check_drain(&mut self, v: &View, w: &mut Window) {
        let google = self.variant.is_google();
        if self.mode == Mode::Startup && self.full.was {
            self.mode = Mode::Drain;
            self.startup.drain_round = self.round.count;
            // Only shown.
            w.ssthresh = self.inflight(v, w, self.bounds.max_bw(), UNIT);
            if google {
                self.forget_signals();
            }
        }
        if self.mode != Mode::Drain {
            return;
        }
        let is_drained = if google {
            self.in_network(v, w, v.in_flight()) <= self.inflight(v, w, self.bounds.max_bw(), UNIT)
        } else {
            v.in_flight() <= self.inflight(v, w, self.bw(), UNIT)
                || self.round.count.wrapping_sub(self.startup.drain_round) > DRAIN_ROUNDS
        };
        if is_drained {
            self.begin_down(v);
        }
    }
}
