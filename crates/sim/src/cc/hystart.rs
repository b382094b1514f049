//! HyStart: leaves slow start when ACKs have come back to back for half an RTT, or the delay grows (Linux 6.12 net/ipv4/tcp_cubic.c; with a
//! clock of ticks Linux 3.9).
//!
//! Leaves out: the module parameters (low window 16, ACK spacing 2 ms, both detections on).

use crate::tcp::linux::options::HystartClock;
use crate::tcp::linux::sender::tcb::Tcb;

const LOW_WINDOW: u32 = 16;
const MIN_SAMPLES: u32 = 8;
const ACK_SPACING_US: i32 = 2000;
const DELAY_MIN_US: u32 = 4_000;
const DELAY_MAX_US: u32 = 16_000;
/// Largest TSO segment that a device takes, bytes: 64 KiB less the largest header.
const GSO_MAX_SIZE: u64 = 65_536 - 321;

#[derive(Clone, Debug)]
pub(super) struct HyStart {
    clock: HystartClock,
    found: bool,
    samples: u32,
    round_start_us: u32,
    end_seq: u32,
    last_ack_us: u32,
    round_rtt_us: u32,
}

impl HyStart {
    pub fn new(clock: HystartClock) -> Self {
        Self { clock, found: false, samples: 0, round_start_us: 0, end_seq: 0, last_ack_us: 0, round_rtt_us: 0 }
    }

    /// The same before anything was found.
    pub fn fresh(&self) -> Self {
        Self::new(self.clock)
    }

    fn now_us(&self, t: &Tcb) -> u32 {
        match self.clock {
            HystartClock::Microseconds => t.mstamp_us as u32,
            HystartClock::Ticks => (t.mstamp_us / 1000 * 1000) as u32,
        }
    }

    pub fn reset(&mut self, t: &Tcb) {
        self.round_start_us = self.now_us(t);
        self.last_ack_us = self.round_start_us;
        self.end_seq = t.snd_nxt;
        self.round_rtt_us = u32::MAX;
        self.samples = 0;
    }

    /// An ACK makes the window grow in slow start. With a clock of ticks this, not the RTT sample before it, begins a round.
    pub fn on_growth(&mut self, t: &Tcb) {
        if self.clock == HystartClock::Ticks && t.snd_una > self.end_seq {
            self.reset(t);
        }
    }

    /// A delay was measured in slow start.
    pub fn update(&mut self, t: &mut Tcb, delay_us: u32, delay_min_us: u32) {
        if self.found {
            return;
        }
        if self.clock == HystartClock::Microseconds && t.snd_una > self.end_seq {
            self.reset(t);
        }
        if t.cwnd < LOW_WINDOW {
            return;
        }
        self.found = self.is_train(t, delay_min_us) | self.is_delayed(delay_us, delay_min_us);
        if self.found {
            t.ssthresh = t.cwnd;
        }
    }

    /// ACKs have followed each other closely for as long as the path can hold data one way.
    fn is_train(&mut self, t: &Tcb, delay_min_us: u32) -> bool {
        let now = self.now_us(t);
        if now.wrapping_sub(self.last_ack_us) as i32 > ACK_SPACING_US {
            return false;
        }
        self.last_ack_us = now;
        // No pacing here: half the round suffices.
        let threshold = match self.clock {
            HystartClock::Microseconds => (delay_min_us + ack_delay_us(t)) >> 1,
            HystartClock::Ticks => delay_min_us / 2000 * 1000,
        };
        now.wrapping_sub(self.round_start_us) > threshold
    }

    fn is_delayed(&mut self, delay_us: u32, delay_min_us: u32) -> bool {
        let sampling = self.samples < MIN_SAMPLES;
        if sampling || self.clock == HystartClock::Microseconds {
            self.round_rtt_us = self.round_rtt_us.min(delay_us);
        }
        if sampling {
            self.samples += 1;
            return false;
        }
        let more = match self.clock {
            HystartClock::Microseconds => delay_min_us >> 3,
            // In eighths of a millisecond.
            HystartClock::Ticks => delay_min_us / 2000 * 125,
        };
        self.round_rtt_us > delay_min_us + more.clamp(DELAY_MIN_US, DELAY_MAX_US)
    }
}

/// What aggregation at the receiver may add between ACKs, us.
fn ack_delay_us(t: &Tcb) -> u32 {
    if t.pacing_rate == 0 {
        return 0;
    }
    (GSO_MAX_SIZE * 4 * 1_000_000 / t.pacing_rate).min(1000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow_start(clock: HystartClock) -> (HyStart, Tcb) {
        let (mut t, mut h) = (Tcb::new(20, u32::MAX / 2, 1000, false), HyStart::new(clock));
        (t.snd_una, t.snd_nxt) = (1, 1000);
        h.reset(&t);
        (h, t)
    }

    /// Delays of a round whose ACKs come 5 ms apart; true if slow start ends.
    fn ends(clock: HystartClock, delays_ms: &[u32]) -> bool {
        let (mut h, mut t) = slow_start(clock);
        for d in delays_ms {
            t.mstamp_us += 5000;
            h.update(&mut t, d * 1000, 100_000);
        }
        t.ssthresh == t.cwnd
    }

    #[test]
    fn delay_may_exceed_the_least_by_a_sixteenth_in_ticks_and_an_eighth_else() {
        // Linux 3.9: delay_min >> 4 of eighths of a millisecond, 100 ms: 6.25 ms; 6.12: 12.5 ms.
        assert!(!ends(HystartClock::Ticks, &[106; 9]));
        assert!(ends(HystartClock::Ticks, &[107; 9]));
        assert!(!ends(HystartClock::Microseconds, &[112; 9]));
        assert!(ends(HystartClock::Microseconds, &[113; 9]));
    }

    #[test]
    fn in_ticks_only_the_first_eight_samples_of_a_round_count() {
        let late_relief = [110, 110, 110, 110, 110, 110, 110, 110, 100];
        assert!(ends(HystartClock::Ticks, &late_relief));
        let (mut h, mut t) = slow_start(HystartClock::Microseconds);
        for d in [120; 8].iter().chain(&[100]) {
            t.mstamp_us += 5000;
            h.update(&mut t, d * 1000, 100_000);
        }
        assert!(t.in_slow_start());
    }

    #[test]
    fn a_train_of_half_the_delay_ends_it() {
        let (mut h, mut t) = slow_start(HystartClock::Ticks);
        for ms in 1..=51u64 {
            assert!(t.in_slow_start(), "{ms}");
            t.mstamp_us = ms * 1000;
            h.update(&mut t, 100_000, 100_000);
        }
        assert_eq!(t.ssthresh, 20);
    }
}
