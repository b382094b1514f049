//! The sender's timers (FreeBSD 9.3 sys/netinet/tcp_timer.c).
//!
//! Leaves out: keep-alive, 2MSL, sending SYNs without options from the third on.

use super::sender::{Phase, Previous, Purpose, Sender};
use crate::outbox::Outbox;
use crate::tcp::common::lazy_timer::{Ticks, Turn};
use crate::time::Time;

impl Sender {
    pub(super) fn retransmit_pending(&self) -> bool {
        self.timer.is_set() && self.purpose == Purpose::Retransmit
    }

    pub(super) fn persist_pending(&self) -> bool {
        self.timer.is_set() && self.purpose == Purpose::Persist
    }

    /// (Re)starts the retransmission timer.
    pub(super) fn set_retransmit(&mut self, out: &mut impl Outbox) {
        self.purpose = Purpose::Retransmit;
        let now = self.clock.tick(out.now());
        self.timer.set(&self.clock, now, now + self.rtt.rxtcur, out);
    }

    /// Starts probing a window that is too small.
    pub(super) fn set_persist(&mut self, out: &mut impl Outbox) {
        self.previous = None;
        self.purpose = Purpose::Persist;
        let now = self.clock.tick(out.now());
        self.timer.set(&self.clock, now, now + self.rtt.persist(), out);
    }

    /// The timer's event came: where it comes among the timers that fire now, if it fires. If not, its event moves.
    pub fn turn(&mut self, out: &mut impl Outbox) -> Option<Turn> {
        self.timer.turn(&self.clock, out)
    }

    /// Fires the timer, as the `place`th of those that fire now.
    pub fn fire(&mut self, place: u32, out: &mut impl Outbox) {
        self.timer.fire(place, &self.clock, out.now());
        self.on_fired(out);
    }

    /// The timer's event came.
    pub fn on_timer(&mut self, out: &mut impl Outbox) {
        if self.timer.expired(&self.clock, out) {
            self.on_fired(out);
        }
    }

    fn on_fired(&mut self, out: &mut impl Outbox) {
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
            until: self.clock.tick(out.now()) + half,
        });
        self.snd_nxt = self.snd_una;
        self.snd_recover = self.snd_max;
        self.ack_now = true;
        self.dupacks = 0;
        self.cc_timeout(out.now());
        self.output(out, false);
    }

    /// An ACK came so soon after a timeout that it cannot be for the retransmission: all is as it was.
    pub(super) fn check_bad_retransmit(&mut self, now: Time) {
        let Some(previous) = self.previous else { return };
        if self.rtt.shift != 1 || self.clock.tick(now) >= previous.until {
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
