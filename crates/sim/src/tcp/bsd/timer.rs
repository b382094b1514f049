//! Kernel time and the sender's timers (FreeBSD 9.3 sys/netinet/tcp_timer.c, sys/kern/kern_timeout.c): a callout set for so many ticks
//! fires with the tick, neither rounded nor late.
//!
//! Leaves out: keep-alive, 2MSL, sending SYNs without options from the third on.

use super::sender::{Phase, Previous, Sender};
use crate::outbox::Outbox;
use crate::time::{Time, NEVER, SEC};

/// Converts time to the ticks of a kernel with a given HZ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    tick: u64,
}

impl Clock {
    pub fn new(hz: u32) -> Self {
        Self { tick: SEC / u64::from(hz) }
    }

    /// The tick that `now` falls in.
    #[inline]
    pub fn ticks(&self, now: Time) -> u64 {
        now / self.tick
    }

    /// When a callout for tick `tick` fires.
    #[inline]
    pub fn time(&self, tick: u64) -> Time {
        tick * self.tick
    }
}

/// One callout on one event source. A deadline that moves away leaves the earlier event in place; it re-arms itself when it comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Callout {
    source: usize,
    fires: Time,
    armed: Time,
}

impl Callout {
    pub fn new(source: usize) -> Self {
        Self { source, fires: NEVER, armed: NEVER }
    }

    pub fn active(&self) -> bool {
        self.fires != NEVER
    }

    pub fn stop(&mut self) {
        self.fires = NEVER;
    }

    pub fn set(&mut self, at: Time, out: &mut impl Outbox) {
        self.fires = at;
        if at < self.armed {
            self.armed = at;
            out.set_timer(self.source, at);
        }
    }

    /// The event came; true if the callout is due, and then it is no longer active.
    pub fn due(&mut self, out: &mut impl Outbox) -> bool {
        let due = self.fires <= out.now();
        if due {
            self.fires = NEVER;
        }
        self.armed = self.fires;
        out.set_timer(self.source, self.fires);
        due
    }
}

/// What the sender's callout is for: BSD never has both at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Retransmit,
    Persist,
}

impl Sender {
    pub(super) fn retransmit_pending(&self) -> bool {
        self.timer.active() && self.purpose == Purpose::Retransmit
    }

    pub(super) fn persist_pending(&self) -> bool {
        self.timer.active() && self.purpose == Purpose::Persist
    }

    /// (Re)starts the retransmission timer.
    pub(super) fn set_retransmit(&mut self, out: &mut impl Outbox) {
        self.purpose = Purpose::Retransmit;
        let tick = self.clock.ticks(out.now()) + self.rtt.rxtcur;
        self.timer.set(self.clock.time(tick), out);
    }

    /// Starts probing a window that is too small.
    pub(super) fn set_persist(&mut self, out: &mut impl Outbox) {
        self.previous = None;
        self.purpose = Purpose::Persist;
        let tick = self.clock.ticks(out.now()) + self.rtt.persist();
        self.timer.set(self.clock.time(tick), out);
    }

    /// The timer's event came.
    pub fn on_timer(&mut self, out: &mut impl Outbox) {
        if !self.timer.due(out) {
            return;
        }
        match (self.phase, self.purpose) {
            (Phase::Closed, _) => {}
            (Phase::SynSent, _) => {
                self.counters.rto_timeouts += 1;
                if self.rtt.back_off_syn() {
                    self.syn_lost = true;
                    self.send_syn(out);
                } else {
                    self.abort();
                }
            }
            (_, Purpose::Retransmit) => self.on_retransmit_timeout(out),
            (_, Purpose::Persist) => {
                self.set_persist(out);
                self.output(out, true);
            }
        }
    }

    fn on_retransmit_timeout(&mut self, out: &mut impl Outbox) {
        self.holes.clear();
        let half = self.rtt.half();
        if !self.rtt.back_off() {
            return self.abort();
        }
        self.counters.rto_timeouts += 1;
        let first = self.rtt.shift == 1;
        self.counters.cwnd_reductions += u64::from(first);
        self.previous = first.then(|| Previous {
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            fast_recovery: self.window.fast_recovery,
            cong_recovery: self.window.cong_recovery,
            recover: self.snd_recover,
            until: self.clock.ticks(out.now()) + half,
        });
        self.snd_nxt = self.snd_una;
        self.snd_recover = self.snd_max;
        self.ack_now = true;
        self.dupacks = 0;
        self.window.on_timeout(self.snd_wnd);
        self.output(out, false);
    }

    /// An ACK came so soon after a timeout that it cannot be for the retransmission: all is as it was.
    pub(super) fn check_bad_retransmit(&mut self, now: Time) {
        let Some(previous) = self.previous else { return };
        if self.rtt.shift != 1 || self.clock.ticks(now) >= previous.until {
            return;
        }
        self.counters.undos += 1;
        self.window.cwnd = previous.cwnd;
        self.window.ssthresh = previous.ssthresh;
        self.window.fast_recovery |= previous.fast_recovery;
        self.window.cong_recovery |= previous.cong_recovery;
        self.snd_recover = previous.recover;
        self.snd_nxt = self.snd_max;
        self.previous = None;
    }
}
