//! HyStart: leaves slow start when ACKs have come back to back for half an RTT, or the delay grows (Linux 6.12 net/ipv4/tcp_cubic.c; with a
//! clock of ticks Linux 3.9).

use crate::catalogue::state::ms_of_us;
use crate::cc::{Parameter, Parameters, Renumbering, Tell, View, Window};

const MIN_SAMPLES: u32 = 8;
const DELAY_MIN_US: u32 = 4_000;
const DELAY_MAX_US: u32 = 16_000;
/// Largest TSO segment that a device takes, bytes: 64 KiB less the largest header.
const GSO_MAX_SIZE: u64 = 65_536 - 321;

/// The parameters of HyStart, as those of the controls that use it.
pub(super) const ENABLED: Parameter =
    Parameter::flag("hystart", true, "leaves slow start by HyStart").module("hystart");
pub(super) const DETECT: Parameter = Parameter::word(
    "hystart_detect",
    "both",
    &["both", "train", "delay"],
    "what ends slow start: a train of ACKs, a growing delay, or either",
)
.module("hystart_detect");
pub(super) const LOW_WINDOW: Parameter =
    Parameter::integer("hystart_low_window", 16, 0, 1 << 24, "least window that HyStart looks at, segments")
        .module("hystart_low_window");
pub(super) const ACK_DELTA_US: Parameter = Parameter::integer(
    "hystart_ack_delta_us",
    2000,
    0,
    1_000_000,
    "ACKs no further apart than this belong to a train, us",
)
.module("hystart_ack_delta_us");
pub(super) const CLOCK: Parameter = Parameter::word(
    "hystart_clock",
    "microseconds",
    &["microseconds", "ticks"],
    "microseconds: the delay of a round is its least, and may exceed the path's by an eighth; ticks (linux-3.9): it is the minimum of its \
     first eight ACKs, and may exceed the path's by a sixteenth",
);

#[derive(Clone, Debug)]
pub(super) struct HyStart {
    config: Config,
    /// Nothing is looked for any more, or HyStart is off.
    done: bool,
    samples: u32,
    round_start_us: u32,
    end_seq: u32,
    last_ack_us: u32,
    round_rtt_us: u32,
}

/// Values that stay for the whole connection.
#[derive(Clone, Debug)]
struct Config {
    enabled: bool,
    by_train: bool,
    by_delay: bool,
    /// Measures in ticks.
    in_ticks: bool,
    low_window: u32,
    ack_delta_us: i32,
}

impl HyStart {
    pub fn new(p: &Parameters) -> Self {
        let (enabled, detect) = (p.flag(ENABLED.name), p.word(DETECT.name));
        let config = Config {
            enabled,
            by_train: detect != "delay",
            by_delay: detect != "train",
            in_ticks: p.word(CLOCK.name) == "ticks",
            low_window: p.integer(LOW_WINDOW.name),
            ack_delta_us: p.integer(ACK_DELTA_US.name) as i32,
        };
        Self { config, done: !enabled, samples: 0, round_start_us: 0, end_seq: 0, last_ack_us: 0, round_rtt_us: 0 }
    }

    pub fn is_enabled(&self) -> bool {
        self.config.enabled
    }

    fn now_us(&self, v: &View) -> u32 {
        if self.config.in_ticks {
            (v.mstamp_us / 1000 * 1000) as u32
        } else {
            v.mstamp_us as u32
        }
    }

    /// Begins a round.
    pub fn reset(&mut self, v: &View) {
        self.round_start_us = self.now_us(v);
        self.last_ack_us = self.round_start_us;
        self.end_seq = v.snd_nxt;
        self.round_rtt_us = u32::MAX;
        self.samples = 0;
    }

    /// A segment in flight is new or has gone.
    pub fn renumber(&mut self, r: Renumbering) {
        r.apply_to_mark(&mut self.end_seq);
    }

    /// Begins anew after a timeout.
    pub fn restart(&mut self, v: &View) {
        self.done = !self.config.enabled;
        self.reset(v);
    }

    /// An ACK makes the window grow in slow start. With a clock of ticks this, not the RTT sample before it, begins a round.
    pub fn on_growth(&mut self, v: &View) {
        if self.config.in_ticks && v.snd_una > self.end_seq {
            self.reset(v);
        }
    }

    /// A delay was measured in slow start.
    pub fn update(&mut self, v: &View, w: &mut Window, delay_us: u32, delay_min_us: u32) {
        if self.done {
            return;
        }
        if !self.config.in_ticks && v.snd_una > self.end_seq {
            self.reset(v);
        }
        if w.cwnd < self.config.low_window {
            return;
        }
        let by_train = self.config.by_train && self.is_train(v, w, delay_min_us);
        let by_delay = self.config.by_delay && self.is_delayed(delay_us, delay_min_us);
        self.done = by_train || by_delay;
        if self.done {
            w.ssthresh = w.cwnd;
        }
    }

    /// It looks for nothing any more.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Tells its state, by the names of the controls that use it.
    pub fn state(&self, v: &View, tell: &mut Tell) {
        tell("hystart_found", f64::from(u8::from(self.done)));
        if !self.done {
            tell("hystart_round_s", f64::from(self.now_us(v).wrapping_sub(self.round_start_us)) / 1e6);
            tell("hystart_rtt_ms", ms_of_us(self.round_rtt_us));
            tell("hystart_samples", f64::from(self.samples));
        }
    }

    /// ACKs have followed each other closely for as long as the path can hold data one way.
    fn is_train(&mut self, v: &View, w: &Window, delay_min_us: u32) -> bool {
        let now = self.now_us(v);
        if now.wrapping_sub(self.last_ack_us) as i32 > self.config.ack_delta_us {
            return false;
        }
        self.last_ack_us = now;
        // Half the round suffices, but pacing may have spread segments over that.
        let threshold = if self.config.in_ticks {
            delay_min_us / 2000 * 1000
        } else {
            (delay_min_us + ack_delay_us(w)) >> u32::from(!v.is_paced)
        };
        now.wrapping_sub(self.round_start_us) > threshold
    }

    fn is_delayed(&mut self, delay_us: u32, delay_min_us: u32) -> bool {
        let sampling = self.samples < MIN_SAMPLES;
        if sampling || !self.config.in_ticks {
            self.round_rtt_us = self.round_rtt_us.min(delay_us);
        }
        if sampling {
            self.samples += 1;
            return false;
        }
        // In eighths of a millisecond where ticks are counted.
        let more = if self.config.in_ticks { delay_min_us / 2000 * 125 } else { delay_min_us >> 3 };
        self.round_rtt_us > delay_min_us + more.clamp(DELAY_MIN_US, DELAY_MAX_US)
    }
}

/// Time that aggregation at the receiver may add between ACKs, us.
fn ack_delay_us(w: &Window) -> u32 {
    if w.pacing_rate == 0 {
        return 0;
    }
    (GSO_MAX_SIZE * 4 * 1_000_000 / w.pacing_rate).min(1000) as u32
}

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::*;
    use crate::cc::{cubic, Growth};

    fn slow_start(given: &Value) -> (HyStart, View, Window) {
        let p = Parameters::resolve(cubic::CONTROL.parameters, &[], given.as_object().unwrap()).unwrap();
        let (mut v, mut h) = (View::new(1000, Growth::Segments, false), HyStart::new(&p));
        (v.snd_una, v.snd_nxt) = (1, 1000);
        h.reset(&v);
        (h, v, Window::new(20, u32::MAX / 2))
    }

    /// Delays of a round whose ACKs come 5 ms apart, on a path of 100 ms; true if slow start ends.
    fn ends(given: &Value, delays_ms: &[u32]) -> bool {
        let (mut h, mut v, mut w) = slow_start(given);
        for d in delays_ms {
            v.mstamp_us += 5000;
            h.update(&v, &mut w, d * 1000, 100_000);
        }
        w.ssthresh == w.cwnd
    }

    /// Time at which ACKs 1 ms apart, without delay, end slow start on a path of 100 ms; None: not in a round trip.
    fn train_ends_ms(given: &Value) -> Option<u64> {
        let (mut h, mut v, mut w) = slow_start(given);
        (1..=100u64).find(|ms| {
            v.mstamp_us = ms * 1000;
            h.update(&v, &mut w, 100_000, 100_000);
            w.ssthresh == w.cwnd
        })
    }

    fn ticks() -> Value {
        json!({"hystart_clock": "ticks"})
    }

    #[test]
    fn delay_may_exceed_the_least_by_a_sixteenth_in_ticks_and_an_eighth_else() {
        // Linux 3.9: delay_min >> 4 of eighths of a millisecond, 100 ms: 6.25 ms; 6.12: 12.5 ms.
        assert!(!ends(&ticks(), &[106; 9]));
        assert!(ends(&ticks(), &[107; 9]));
        assert!(!ends(&json!({}), &[112; 9]));
        assert!(ends(&json!({}), &[113; 9]));
    }

    #[test]
    fn in_ticks_only_the_first_eight_samples_of_a_round_count() {
        let late_relief = [110, 110, 110, 110, 110, 110, 110, 110, 100];
        assert!(ends(&ticks(), &late_relief));
        assert!(!ends(&json!({}), &[[120; 8].as_slice(), &[100]].concat()));
    }

    #[test]
    fn a_train_of_half_the_delay_ends_it() {
        assert_eq!(train_ends_ms(&ticks()), Some(51));
        assert_eq!(train_ends_ms(&json!({"hystart_ack_delta_us": 999})), None, "1 ms apart is too far");
        assert_eq!(train_ends_ms(&json!({"hystart_low_window": 21})), None, "20 is a low window");
    }

    #[test]
    fn detection_can_be_chosen_or_switched_off() {
        let late = [113; 9];
        assert!(!ends(&json!({"hystart_detect": "train"}), &late) && ends(&json!({"hystart_detect": "delay"}), &late));
        assert_eq!(train_ends_ms(&json!({"hystart_detect": "delay"})), None);
        let off = json!({"hystart": false});
        assert!(!ends(&off, &late) && train_ends_ms(&off).is_none());
    }
}
