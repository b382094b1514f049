//! The minimum RTT, and PROBE_RTT: half a BDP in flight for 200 ms if it was not seen for five seconds.

use super::cycle::Acks;
use super::{Bbr3, Mode, MIN_CWND};
use crate::cc::bandwidth::{is_after, UNIT};
use crate::cc::{RateSample, View, Window};

/// Window of the minimum RTT, s; and of the one after which it is looked for, ms.
const WINDOW_S: u32 = 10;
const PROBE_WINDOW_MS: u32 = 5000;
/// How long, ms.
const PROBE_MS: u32 = 200;

/// The minimum RTT, and when it is looked for next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    us: u32,
    stamp: u32,
    probe_us: u32,
    probe_stamp: u32,
    /// When PROBE_RTT may end, ticks; none: too much is in flight yet.
    done: Option<u32>,
    round_done: bool,
}

impl MinRtt {
    pub fn begin(&mut self, v: &View) {
        *self = Self { us: v.min_rtt_us, probe_us: v.min_rtt_us, ..Self::default() };
        (self.stamp, self.probe_stamp) = (v.jiffies, v.jiffies);
    }

    /// Minimum of ten seconds, us.
    pub fn us(&self) -> u32 {
        self.us
    }
}

fn ticks(v: &View, ms: u32) -> u32 {
    (ms * v.hz).div_ceil(1000)
}

impl Bbr3 {
    /// Window of PROBE_RTT, segments.
    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp(self.bw(), UNIT / 2).max(MIN_CWND)
    }

    pub(super) fn update_min_rtt(&mut self, v: &View, w: &mut Window, s: &RateSample) {
        let google = self.variant.is_google();
        let m = &mut self.min_rtt;
        let expired = is_after(v.jiffies, m.probe_stamp.wrapping_add(ticks(v, PROBE_WINDOW_MS)));
        let counts = expired && !(google && s.rate.is_ack_delayed);
        if s.rtt_us >= 0 && (s.rtt_us < i64::from(m.probe_us) || counts) {
            (m.probe_us, m.probe_stamp) = (s.rtt_us as u32, v.jiffies);
        }
        let min_expired = is_after(v.jiffies, m.stamp.wrapping_add(WINDOW_S * v.hz));
        if m.probe_us < m.us || (google && m.probe_us == m.us) || min_expired {
            (m.us, m.stamp) = (m.probe_us, m.probe_stamp);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            // The mode first, so that a window that is already small does not replace the one to go back to.
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(w);
            self.min_rtt.done = None;
            self.probe.acks = Acks::Stopping;
            self.round.begin(v);
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(v, w);
        }
        if s.rate.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, v: &View, w: &mut Window) {
        // Rates seen now do not count.
        w.app_limited = v.delivered.wrapping_add(v.in_flight()).max(1);
        if self.min_rtt.done.is_some() {
            self.min_rtt.round_done |= self.round.start;
            if self.min_rtt.round_done {
                self.check_probe_rtt_done(v, w);
            }
        } else if v.in_flight() <= self.probe_rtt_cwnd() {
            self.min_rtt.done = Some(v.jiffies.wrapping_add(ticks(v, PROBE_MS)));
            self.min_rtt.round_done = false;
            self.round.begin(v);
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, v: &View, w: &mut Window) {
        if !self.min_rtt.done.is_some_and(|done| is_after(v.jiffies, done)) {
            return;
        }
        self.min_rtt.probe_stamp = v.jiffies;
        w.cwnd = w.cwnd.max(self.prior_cwnd);
        self.bounds.forget_losses();
        if self.full.was {
            // In flight is less than a BDP, and the next probing is not near.
            self.begin_down(v);
            self.begin_cruise();
        } else {
            self.mode = Mode::Startup;
        }
    }
}
