//! CDG: backs off with a probability that follows the gradient of the RTT, and takes losses for congestion as Reno does, with a shadow of the
//! window that it would have without backing off (D. Hayes, G. Armitage, "Revisiting TCP congestion control using delay gradients",
//! Networking 2011; Linux 6.12 net/ipv4/tcp_cdg.c). It has a HyStart of its own.
//!
//! Leaves out: other lengths of the window of gradients, which the kernel takes when the module is loaded.

mod exp;

use self::exp::exp_of_minus;
use super::reno::reno_cong_avoid;
use super::{
    AnyCc, BoxedControl, CongestionControl, Control, Event, Needs, Parameter, Parameters, RateSample, Tell, Version,
    View, Window,
};
use crate::catalogue;
use crate::rng::Rng;

/// Round trips whose gradients are summed.
const WINDOW: usize = 8;
const BETA_SHIFT: u32 = 10;
/// HyStart: ACKs no further apart belong to a train, us; samples before the delay of a round counts; least that a threshold is, us.
const TRAIN_US: u32 = 3000;
const MIN_SAMPLES: u16 = 8;
const LEAST_DELAY_US: u32 = 125;
/// An RTT that falls by so much shows that backing off has helped, us.
const HELPED_US: i32 = -32;
/// So many ACKs of single segments may be delayed ones.
const MOST_DELAYED: u8 = 5;

pub(super) const CONTROL: Control = Control {
    name: "cdg",
    summary: "CAIA delay gradient (Hayes, Armitage 2011, Linux 6.12)",
    needs: Needs { whole_acks: true, random: true, ..Needs::NOTHING },
    since: Version(4, 2),
    parameters: &[
        Parameter::integer("backoff_beta", 724, 0, 1024, "window after backing off, 1024ths").module("backoff_beta"),
        Parameter::integer(
            "backoff_factor",
            42,
            0,
            1 << 16,
            "backs off with probability 1 - exp(-so many millionths of the gradient in us)",
        )
        .module("backoff_factor"),
        Parameter::word(
            "hystart_detect",
            "both",
            &["both", "train", "delay", "off"],
            "what ends slow start: a train of ACKs, a growing delay, or either",
        )
        .module("hystart_detect"),
        Parameter::integer(
            "use_ineff",
            5,
            0,
            1 << 15,
            "after so many times without effect it does not back off; 0: it does",
        )
        .module("use_ineff"),
        Parameter::flag("use_shadow", true, "a loss leaves at least half of the shadow window").module("use_shadow"),
        Parameter::flag("use_tolerance", false, "a loss while the queue is not full leaves the window")
            .module("use_tolerance"),
    ],
    build: |p| AnyCc::Boxed(Box::new(Cdg::new(p))),
};

/// State variables that a scenario may record.
pub(super) const STATE: &[catalogue::State] = &[
    catalogue::State::word(
        "queue_state",
        &["unknown", "non-full", "full", "back-off"],
        "how full it takes the queue of the path to be; back-off: it reduces the window for the gradient",
    ),
    catalogue::State::new("gradient_min_us", "us", "growth of the minimum RTT of a round over the last eight rounds"),
    catalogue::State::new("gradient_max_us", "us", "growth of the largest RTT of a round over the last eight rounds"),
    catalogue::State::new("round_rtt_ms", "ms", "least RTT of the round so far; none before the first"),
    catalogue::State::new(
        "shadow_cwnd",
        "packets",
        "window that a flow that reacts to losses alone would have (shadow_wnd)",
    ),
    catalogue::State::new("backoffs", "", "reductions for the gradient since the last one that helped"),
];

/// Least and largest RTT of a round, or their changes and the sums of these, us; both 0: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct MinMax {
    min: i32,
    max: i32,
}

impl MinMax {
    fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// The smallest number that is not 0, if either is not.
fn min_not_zero(a: i32, b: i32) -> i32 {
    match (a, b) {
        (0, other) | (other, 0) => other,
        _ => a.min(b),
    }
}

/// Knowledge of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Queue {
    #[default]
    Unknown,
    NonFull,
    Full,
    /// The window is being reduced for the gradient.
    BackOff,
}

/// CDG.
#[derive(Clone, Debug)]
struct Cdg {
    config: Config,
    rng: Option<Rng>,
    state: State,
}

/// Values that stay for the whole connection.
#[derive(Clone, Debug)]
struct Config {
    backoff_beta: u32,
    backoff_factor: u32,
    by_train: bool,
    by_delay: bool,
    use_ineff: u32,
    use_shadow: bool,
    use_tolerance: bool,
}

/// State that a restart after an idle time forgets.
#[derive(Clone, Debug, Default)]
struct State {
    rtt: MinMax,
    previous: MinMax,
    gradients: [MinMax; WINDOW],
    sum: MinMax,
    is_filled: bool,
    tail: usize,
    queue: Queue,
    delayed: u8,
    round_end: u32,
    shadow: u32,
    backoffs: u16,
    train: Train,
}

/// HyStart: how a round began.
#[derive(Clone, Debug, Default)]
struct Train {
    samples: u16,
    delay_min: i32,
    last_ack: u32,
    start: u32,
}

/// Rounded to the closest 64th.
fn closest_64th(x: i32) -> i32 {
    if x > 0 {
        (x + 32) / 64
    } else {
        (x - 32) / 64
    }
}

impl State {
    fn start(v: &View, w: &Window) -> Self {
        Self { round_end: v.snd_nxt, shadow: w.cwnd, ..Self::default() }
    }

    /// The gradient of a round, us: its smoothed sum, of the minimum RTT or, where that does not rise, of the largest.
    fn gradient(&mut self, use_tolerance: bool) -> i32 {
        let change = MinMax { min: self.rtt.min - self.previous.min, max: self.rtt.max - self.previous.max };
        let oldest = std::mem::replace(&mut self.gradients[self.tail], change);
        self.sum.min += change.min - oldest.min;
        self.sum.max += change.max - oldest.max;
        self.tail = (self.tail + 1) % WINDOW;
        let MinMax { min, max } = self.sum;
        let mut gradient = if min > 0 { min } else { max };
        if self.tail == 0 {
            self.is_filled = true;
        }
        if !self.is_filled {
            gradient = gradient.wrapping_mul(WINDOW as i32) / self.tail as i32;
        }
        if min <= HELPED_US || max <= HELPED_US {
            self.backoffs = 0;
        }
        if use_tolerance {
            let (min, max) = (closest_64th(min), closest_64th(max));
            if min > 0 && max <= 0 {
                self.queue = Queue::Full;
            } else if (min > 0 && max > 0) || max < 0 {
                self.queue = Queue::NonFull;
            }
        }
        gradient
    }
}

impl Cdg {
    fn new(p: &Parameters) -> Self {
        let detect = p.word("hystart_detect");
        let config = Config {
            backoff_beta: p.integer("backoff_beta"),
            backoff_factor: p.integer("backoff_factor"),
            by_train: detect == "both" || detect == "train",
            by_delay: detect == "both" || detect == "delay",
            use_ineff: p.integer("use_ineff"),
            use_shadow: p.flag("use_shadow"),
            use_tolerance: p.flag("use_tolerance"),
        };
        Self { config, rng: None, state: State::default() }
    }

    fn update_hystart(&mut self, v: &View, w: &mut Window) {
        let (t, min) = (&mut self.state.train, self.state.rtt.min);
        t.delay_min = min_not_zero(t.delay_min, min);
        if t.delay_min == 0 {
            return;
        }
        let delay_min = t.delay_min as u32;
        if self.config.by_train {
            let now = v.mstamp_us as u32;
            if t.last_ack == 0 || !w.is_limiting(v) {
                (t.last_ack, t.start) = (now, now);
            } else if (now.wrapping_sub(t.last_ack.wrapping_add(TRAIN_US)) as i32) < 0 {
                t.last_ack = now;
                let half = (delay_min / 2).max(LEAST_DELAY_US);
                if now.wrapping_sub(t.start.wrapping_add(half)) as i32 > 0 {
                    w.ssthresh = w.cwnd;
                    return;
                }
            }
        }
        if self.config.by_delay {
            if t.samples < MIN_SAMPLES {
                t.samples += 1;
            } else if min > (delay_min + delay_min / 8).max(LEAST_DELAY_US) as i32 {
                w.ssthresh = w.cwnd;
            }
        }
    }

    /// True if the window is to be reduced for a gradient above 0. It draws a random number.
    fn backs_off(&mut self, v: &View, cwnd: u32, gradient: u32) -> bool {
        let stays = exp_of_minus(gradient.wrapping_mul(self.config.backoff_factor));
        if self.rng.get_or_insert_with(|| v.random_stream()).u32() <= stays {
            return false;
        }
        let s = &mut self.state;
        if self.config.use_ineff > 0 {
            s.backoffs = s.backoffs.wrapping_add(1);
            if u32::from(s.backoffs) > self.config.use_ineff {
                return false;
            }
        }
        s.shadow = s.shadow.max(cwnd);
        s.queue = Queue::BackOff;
        true
    }
}

impl BoxedControl for Cdg {}

impl CongestionControl for Cdg {
    fn on_syn_acked(&mut self, rtt_us: i32) {
        // init leaves it, as in Linux.
        self.state.rtt = MinMax { min: rtt_us, max: rtt_us };
    }

    fn init(&mut self, v: &View, w: &mut Window) {
        self.state = State { rtt: self.state.rtt, ..State::start(v, w) };
    }

    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        let s = &mut self.state;
        if s.queue == Queue::BackOff {
            return (w.cwnd.wrapping_mul(self.config.backoff_beta) >> BETA_SHIFT).max(2);
        }
        if s.queue == Queue::NonFull && self.config.use_tolerance {
            return w.cwnd;
        }
        s.shadow = (s.shadow / 2).min(w.cwnd);
        let half = (w.cwnd / 2).max(2);
        if self.config.use_shadow {
            half.max(s.shadow)
        } else {
            half
        }
    }

    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        if w.in_slow_start(v) && (self.config.by_train || self.config.by_delay) {
            self.update_hystart(v, w);
        }
        let s = &mut self.state;
        if v.snd_una > s.round_end && !s.rtt.is_none() {
            let gradient = if s.previous.is_none() { 0 } else { s.gradient(self.config.use_tolerance) };
            (s.round_end, s.previous, s.rtt) = (v.snd_nxt, s.rtt, MinMax::default());
            (s.train.last_ack, s.train.samples) = (0, 0);
            if gradient > 0 && self.backs_off(v, w.cwnd, gradient as u32) {
                w.enters_cwr = true;
                return;
            }
        }
        if !w.is_limiting(v) {
            self.state.shadow = self.state.shadow.min(w.cwnd);
            return;
        }
        let before = w.cwnd;
        reno_cong_avoid(v, w, acked);
        let s = &mut self.state;
        s.shadow = s.shadow.max(s.shadow.wrapping_add(w.cwnd - before));
    }

    fn on_event(&mut self, v: &View, w: &mut Window, e: Event) {
        let s = &mut self.state;
        match e {
            Event::CwndRestart => *s = State::start(v, w),
            Event::CompleteCwr => {
                s.queue = Queue::Unknown;
                (s.round_end, s.previous, s.rtt) = (v.snd_nxt, s.rtt, MinMax::default());
            }
            Event::Renumbered(r) => r.apply(&mut s.round_end),
            _ => {}
        }
    }

    fn pkts_acked(&mut self, v: &View, _: &mut Window, sample: &RateSample) {
        if sample.rtt_us <= 0 {
            return;
        }
        let (s, rtt) = (&mut self.state, sample.rtt_us as i32);
        if v.sacked_out == 0 {
            if sample.acked == 1 && s.delayed > 0 {
                // Perhaps delayed: it counts if it is below a least RTT that there is.
                s.rtt.min = s.rtt.min.min(rtt);
                s.delayed -= 1;
                return;
            }
            if sample.acked > 1 && s.delayed < MOST_DELAYED {
                s.delayed += 1;
            }
        }
        s.rtt.min = min_not_zero(s.rtt.min, rtt);
        s.rtt.max = s.rtt.max.max(rtt);
    }

    fn state(&self, _: &View, _: &Window, tell: &mut Tell) {
        let s = &self.state;
        tell("queue_state", f64::from(s.queue as u8));
        tell("gradient_min_us", f64::from(s.sum.min));
        tell("gradient_max_us", f64::from(s.sum.max));
        if s.rtt.min > 0 {
            tell("round_rtt_ms", f64::from(s.rtt.min) / 1e3);
        }
        tell("shadow_cwnd", f64::from(s.shadow));
        tell("backoffs", f64::from(s.backoffs));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cc::lab::{made, Lab};
    use crate::cc::Growth;

    fn cdg(given: &serde_json::Value) -> Cdg {
        Cdg::new(&Parameters::resolve(CONTROL.parameters, &[], given.as_object().unwrap()).unwrap())
    }

    fn view() -> View {
        View { is_cwnd_limited: true, ..View::new(1000, Growth::Segments, false) }
    }

    #[test]
    fn a_gradient_is_the_sum_of_eight_rounds_and_before_that_is_extrapolated() {
        let mut s = State::default();
        let mut round = |min, max| {
            s.rtt = MinMax { min, max };
            let gradient = s.gradient(false);
            s.previous = s.rtt;
            gradient
        };
        round(0, 0);
        assert_eq!(round(100, 300), 100 * 8 / 2);
        assert_eq!(round(200, 400), 200 * 8 / 3);
        assert_eq!(round(200, 500), 200 * 8 / 4);
        for _ in 0..3 {
            round(200, 500);
        }
        assert_eq!(round(200, 500), 200, "the ring is full");
        assert_eq!(round(200, 500), 200);
        assert_eq!(round(200, 500), 100, "the first rise is forgotten");
        assert_eq!(round(200, 600), 200, "the least does not rise: the largest counts");
    }

    #[test]
    fn it_backs_off_as_often_as_the_gradient_says() {
        let (v, rounds) = (view(), 20_000);
        let mut c = cdg(&json!({"use_ineff": 0}));
        for gradient in [100, 5000, 50_000] {
            let times = (0..rounds).filter(|_| c.backs_off(&v, 100, gradient)).count();
            let expected = 1.0 - (-f64::from(gradient) * 42e-6).exp();
            let deviation = (expected * (1.0 - expected) / f64::from(rounds)).sqrt();
            assert!((times as f64 / f64::from(rounds) - expected).abs() < 4.0 * deviation, "{gradient}: {times}");
        }
    }

    #[test]
    fn a_gradient_of_102_s_overflows_and_backs_off_seldom() {
        let (v, mut c) = (view(), cdg(&json!({"use_ineff": 0})));
        let often = |c: &mut Cdg, gradient: u32| (0..100).filter(|_| c.backs_off(&v, 100, gradient)).count();
        assert_eq!(often(&mut c, u32::MAX / 42), 100);
        assert_eq!(often(&mut c, u32::MAX / 42 + 1), 0);
    }

    #[test]
    fn after_five_times_without_effect_it_does_not_back_off_until_the_rtt_falls() {
        let (v, mut c) = (view(), cdg(&json!({})));
        assert_eq!((0..20).filter(|_| c.backs_off(&v, 100, 10_000_000)).count(), 5);
        (c.state.previous, c.state.rtt) = (MinMax { min: 100, max: 100 }, MinMax { min: 68, max: 100 });
        c.state.gradient(false);
        assert!(c.backs_off(&v, 100, 10_000_000));
    }

    #[test]
    fn backing_off_takes_three_tenths_and_so_does_a_loss_meanwhile() {
        let mut lab = Lab::new(made(&CONTROL, &json!({"backoff_factor": 65536})), 100);
        lab.rounds(2);
        lab.rtt_us = 60_000;
        while !lab.w.enters_cwr {
            lab.round();
        }
        let cwnd = lab.w.cwnd;
        assert_eq!((lab.reduced(), lab.reduced()), (cwnd * 724 / 1024, cwnd * 724 / 1024));
        lab.event(Event::CompleteCwr);
        // The window without backing off is in the shadow: a loss leaves half of that.
        lab.w.cwnd = 60;
        assert_eq!(lab.reduced(), cwnd / 2);
    }

    #[test]
    fn a_loss_halves_the_shadow_and_never_leaves_more_than_the_window() {
        let (v, mut c) = (view(), cdg(&json!({})));
        let w = Window::new(100, 1);
        for (shadow, left) in [(100, 50), (160, 80), (400, 100), (10, 50)] {
            c.state.shadow = shadow;
            assert_eq!(c.ssthresh(&v, &w), left);
        }
        let mut plain = cdg(&json!({"use_shadow": false}));
        plain.state.shadow = 160;
        assert_eq!(plain.ssthresh(&v, &w), 50);
    }

    #[test]
    fn a_tolerant_one_ignores_losses_while_the_queue_is_not_full() {
        let (v, mut c) = (view(), cdg(&json!({"use_tolerance": true})));
        let w = Window::new(100, 1);
        for (min, max, left) in [(500, 500, 100), (500, 0, 50), (0, -500, 100), (31, 31, 100)] {
            (c.state.sum, c.state.rtt) = (MinMax { min, max }, MinMax::default());
            c.state.gradient(true);
            c.state.shadow = 0;
            assert_eq!(c.ssthresh(&v, &w), left, "{min} {max}");
        }
    }

    #[test]
    fn acks_of_single_segments_after_ones_of_several_only_lower_a_least_rtt_that_there_is() {
        let (v, mut c) = (view(), cdg(&json!({})));
        let mut w = Window::new(100, 1);
        let mut ack = |rtt_us, acked| {
            c.pkts_acked(&v, &mut w, &RateSample { rtt_us, acked, ..RateSample::default() });
            (c.state.rtt.min, c.state.rtt.max)
        };
        assert_eq!(ack(500, 2), (500, 500));
        assert_eq!(ack(900, 1), (500, 500), "it may be a delayed one");
        assert_eq!(ack(900, 1), (500, 900), "there was one of several");
        assert_eq!(ack(400, 2), (400, 900));
        c.state.rtt = MinMax::default();
        c.pkts_acked(&v, &mut w, &RateSample { rtt_us: 300, acked: 1, ..RateSample::default() });
        assert!(c.state.rtt.is_none(), "no least RTT is below none");
    }

    #[test]
    fn slow_start_ends_by_a_growing_delay_from_the_ninth_sample_on() {
        let mut lab = Lab::in_slow_start(made(&CONTROL, &json!({"hystart_detect": "delay"})), 30);
        lab.rounds(2);
        assert_eq!(lab.w.ssthresh, crate::cc::INFINITE_SSTHRESH);
        let cwnd = lab.w.cwnd;
        lab.rtt_us = 50_000;
        lab.rounds(2);
        assert!(lab.w.ssthresh >= cwnd && lab.w.ssthresh < 2 * cwnd + 20, "{} {cwnd}", lab.w.ssthresh);
    }

    #[test]
    fn slow_start_ends_by_a_train_of_half_the_delay() {
        let mut lab = Lab::in_slow_start(made(&CONTROL, &json!({"hystart_detect": "train"})), 30);
        lab.rounds(3);
        assert!(lab.w.ssthresh < 150, "{}", lab.w.ssthresh);
        let mut lab = Lab::in_slow_start(made(&CONTROL, &json!({"hystart_detect": "off"})), 30);
        lab.rounds(3);
        assert_eq!(lab.w.ssthresh, crate::cc::INFINITE_SSTHRESH);
    }

    #[test]
    fn the_rtt_of_the_syn_is_one_of_the_first_round() {
        let mut c = cdg(&json!({}));
        c.on_syn_acked(4886);
        c.init(&view(), &mut Window::new(10, 1));
        assert_eq!(c.state.rtt, MinMax { min: 4886, max: 4886 });
    }

    #[test]
    fn a_restart_after_idling_forgets_all() {
        let mut c = cdg(&json!({}));
        let v = View { snd_nxt: 9, ..view() };
        let mut w = Window::new(100, 1);
        (c.state.shadow, c.state.backoffs, c.state.delayed, c.state.queue) = (900, 3, 2, Queue::BackOff);
        c.on_event(&v, &mut w, Event::CwndRestart);
        let s = &c.state;
        assert_eq!((s.shadow, s.backoffs, s.delayed, s.queue, s.round_end), (100, 0, 0, Queue::Unknown, 9));
    }
}
