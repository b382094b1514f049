//! Probing for bandwidth: DOWN drains, CRUISE waits for two to three seconds or 63 rounds, REFILL fills the pipe, UP asks for more.

use super::{Ack, Bbr3, Mode};
use crate::cc::bandwidth::UNIT;
use crate::cc::{View, Window};

/// The longest wait, rounds: as a Reno flow of the same window would probe, but at least so often.
const MOST_ROUNDS: u32 = 63;
/// Number of these rounds that are drawn.
const RANDOM_ROUNDS: u64 = 2;
/// The longest wait, us, and of how many more it is drawn.
const WAIT_US: u64 = 2_000_000;
const RANDOM_US: u64 = 1_000_000;
/// Rounds are counted up to this.
const COUNTED_ROUNDS: u32 = 0xff;
/// The bound grows by 2^30 segments a round at most.
const MOST_DOUBLINGS: u32 = 30;

/// Phase whose data the arriving acknowledgements are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Acks {
    /// Not of probing.
    #[default]
    Init,
    /// The pipe is filled.
    Refilling,
    /// Probing has begun, these are of before.
    Starting,
    /// Data of probing.
    Feedback,
    /// Probing is over, these are still of it.
    Stopping,
}

/// Where probing is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    pub acks: Acks,
    /// Samples and losses are of probing.
    pub samples: bool,
    /// The last probing lost too much.
    pub was_too_high: bool,
    /// It was stopped where the one before had lost too much.
    pub was_cautious: bool,
    /// Rounds since it.
    rounds: u32,
    /// For how long to wait after it, us, and since when.
    wait_us: u64,
    since_us: u64,
    /// The upper bound is raised by one for so many segments delivered, and how many were; and the rounds for which that went on.
    per_raise: u32,
    delivered: u32,
    doublings: u32,
}

impl Probe {
    /// Rounds since the last probing.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// A round is over.
    pub fn count_round(&mut self) {
        self.rounds = (self.rounds + 1).min(COUNTED_ROUNDS);
    }

    /// By how much so many delivered segments raise the bound.
    pub fn raised(&mut self, delivered: u32) -> u32 {
        self.delivered += delivered;
        let raised = self.delivered / self.per_raise;
        self.delivered -= raised * self.per_raise;
        raised
    }

    /// How long it waits, us.
    pub fn wait_us(&self) -> u64 {
        self.wait_us
    }

    /// Twice as fast in the next round.
    pub fn steepen(&mut self, cwnd: u32) {
        self.per_raise = (cwnd >> self.doublings).max(1);
        self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
    }
}

impl Bbr3 {
    fn draw(&mut self, v: &View, below: u64) -> u64 {
        let random = self.random.get_or_insert_with(|| v.random_stream());
        (u64::from(random.u32()) * below) >> 32
    }

    pub(super) fn begin_down(&mut self, v: &View) {
        self.forget_signals();
        self.probe.per_raise = u32::MAX;
        self.probe.rounds = self.draw(v, RANDOM_ROUNDS) as u32;
        self.probe.wait_us = WAIT_US + self.draw(v, RANDOM_US);
        self.probe.since_us = v.mstamp_us;
        self.probe.acks = Acks::Stopping;
        self.round.begin(v);
        self.enter(Mode::Down);
    }

    pub(super) fn begin_cruise(&mut self) {
        if self.variant.is_google() && self.bounds.inflight_lo != super::NONE {
            self.bounds.inflight_lo = self.bounds.inflight_lo.min(self.bounds.inflight_hi);
        }
        self.enter(Mode::Cruise);
    }

    /// `doublings`: how steeply the bound rises then.
    pub(super) fn begin_refill(&mut self, v: &View, doublings: u32) {
        self.bounds.forget_losses();
        (self.probe.doublings, self.probe.delivered) = (doublings, 0);
        self.probe.was_cautious = false;
        self.probe.acks = Acks::Refilling;
        self.round.begin(v);
        self.enter(Mode::Refill);
    }

    fn begin_up(&mut self, v: &View, w: &Window, bw: u32) {
        self.probe.acks = Acks::Starting;
        self.probe.samples = true;
        self.round.begin(v);
        self.full.restart(bw);
        self.enter(Mode::Up);
        self.probe.steepen(w.cwnd);
    }

    fn enter(&mut self, mode: Mode) {
        self.mode = mode;
        self.at_target = false;
    }

    pub(super) fn forget_signals(&mut self) {
        self.signals.forget();
        self.ecn.forget();
    }

    pub(super) fn update_cycle(&mut self, v: &View, w: &Window, a: &Ack) {
        if !self.full.was || self.adapt_upper_bound(v, w, a) || !self.mode.probes_bw() {
            return;
        }
        let inflight =
            if self.variant.is_google() { self.in_network(v, w, a.s.prior_in_flight) } else { v.in_flight() };
        match self.mode {
            Mode::Down => {
                let most = self.with_headroom().min(self.inflight(v, w, self.bounds.max_bw(), UNIT));
                if !self.begins_to_probe(v, w) && inflight <= most {
                    self.begin_cruise();
                }
            }
            Mode::Cruise => {
                self.begins_to_probe(v, w);
            }
            Mode::Refill if self.round.start => self.begin_up(v, w, a.bw),
            Mode::Up => self.check_up(v, w, a, inflight),
            _ => {}
        }
    }

    fn check_up(&mut self, v: &View, w: &Window, a: &Ack, inflight: u32) {
        if self.is_up_over(v, w, a, inflight) {
            self.probe.was_too_high = false;
            self.begin_down(v);
        }
    }

    fn begins_to_probe(&mut self, v: &View, w: &Window) -> bool {
        if let Some(doublings) = self.marks_have_ceased(v) {
            self.begin_refill(v, doublings);
            return true;
        }
        let waited = v.mstamp_us > self.probe.since_us + self.probe.wait_us;
        if waited || self.probe.rounds >= self.target_inflight(v, w).min(MOST_ROUNDS) {
            self.begin_refill(v, 0);
            return true;
        }
        false
    }

    /// The pipe is full, or as full as it was when the last probing went too far.
    fn is_up_over(&mut self, v: &View, w: &Window, a: &Ack, inflight: u32) -> bool {
        if self.probe.was_too_high && inflight >= self.bounds.inflight_hi {
            self.probe.was_cautious = true;
            return true;
        }
        if self.is_bound(v, w) {
            // Bandwidth cannot grow.
            self.full.restart(a.bw);
            return false;
        }
        self.full.is_now
    }
}
