//! The sender's one timer (Linux 6.12 net/ipv4/tcp_timer.c, `icsk_retransmit_timer`): what it is set for, and what happens when it fires.

use super::{Phase, Sender};
use crate::outbox::Outbox;
use crate::tcp::common::lazy_timer::{LazyTimer, Turn};
use crate::tcp::linux::clock::Clock;

/// Purpose of the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp::linux) enum Pending {
    Nothing,
    Retransmit,
    LossProbe,
    Reorder,
    /// Early retransmit, unless an ACK explains the gap.
    EarlyRetransmit,
    /// Nothing is outstanding: probe a closed window, or try again after a local drop.
    Persist,
}

/// The timer with its purpose. Set with nearly every ACK; there is never more than one thing to wait for.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::linux) struct Timer {
    lazy: LazyTimer,
    pending: Pending,
}

impl Timer {
    /// Not set.
    pub fn new(source: usize) -> Self {
        Self { lazy: LazyTimer::new(source), pending: Pending::Nothing }
    }

    /// Purpose that it is set for.
    #[inline]
    pub fn pending(&self) -> Pending {
        self.pending
    }

    /// The purpose of the timer is done: whoever sets it next has nothing to take over.
    pub fn mark_done(&mut self) {
        self.pending = Pending::Nothing;
    }

    /// It is queued anew when it is set next; see [`LazyTimer::requeue`].
    #[inline]
    pub fn requeue(&mut self) {
        self.lazy.requeue();
    }

    /// The tick that it is set for.
    pub fn expires(&self, clock: &Clock) -> Option<u64> {
        self.lazy.expires(clock)
    }
}

impl Sender {
    /// Sets the timer `after` ticks from now.
    #[inline]
    pub(in crate::tcp::linux) fn set_timer(&mut self, out: &mut impl Outbox, what: Pending, after: u64) {
        self.timer.pending = what;
        let now = u64::from(self.view.jiffies);
        self.timer.lazy.set(&self.clock, now, now + after.min(self.rtt.rto_max()), out);
    }

    /// It will not fire.
    #[inline]
    pub(in crate::tcp::linux) fn clear_timer(&mut self) {
        self.timer.pending = Pending::Nothing;
        self.timer.lazy.clear();
    }

    /// The timer's event came: where it comes among the timers that fire now, if it fires. If not, its event moves.
    pub fn turn(&mut self, out: &mut impl Outbox) -> Option<Turn> {
        self.timer.lazy.turn(&self.clock, out)
    }

    /// Fires the timer, as the `place`th of those that fire now.
    pub fn fire(&mut self, place: u32, out: &mut impl Outbox) {
        self.timer.lazy.fire(place, &self.clock, out.now());
        self.on_fired(out);
    }

    /// The timer's event came.
    pub fn on_timer(&mut self, out: &mut impl Outbox) {
        if self.timer.lazy.expired(&self.clock, out) {
            self.on_fired(out);
        }
    }

    fn on_fired(&mut self, out: &mut impl Outbox) {
        self.refresh(out.now());
        match (self.phase, self.timer.pending) {
            (Phase::Closed, _) | (_, Pending::Nothing) => {}
            (Phase::SynSent | Phase::Crossed, _) => self.on_syn_timeout(out),
            (Phase::SynReceived, _) => self.on_syn_ack_timeout(out),
            (_, Pending::Reorder) => self.on_reorder_timeout(out),
            (_, Pending::EarlyRetransmit) => self.resume_early_retransmit(out),
            (_, Pending::LossProbe) => self.send_loss_probe(out),
            (_, Pending::Retransmit) => self.on_retransmit_timeout(out),
            (_, Pending::Persist) => self.on_persist_timer(out),
        }
        if self.tso.enabled {
            self.let_device_take(out);
        }
        self.update_fast_path();
    }
}
