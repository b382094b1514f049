//! CDG as its authors wrote it for FreeBSD (tag releng/9.3 sys/netinet/cc/cc_cdg.c r252951, version 0.1; D. Hayes, G. Armitage, "Revisiting
//! TCP congestion control using delay gradients", Networking 2011). RTTs are in ms and come from [`Ertt`].
//!
//! In contrast to Linux's `cdg` there is no HyStart, a window grows a segment an ACK in slow start whatever the receiver's window, and also
//! grows during recovery.
//!
//! Leaves out: `smoothing_factor` 0, by which the module divides.

use std::collections::VecDeque;

use super::ertt::{Ertt, Heard};
use super::newreno::{Ack, NewReno};
use super::stack::Stack;
use crate::packet::MSS;
use crate::rng::Rng;

const SEG: u64 = MSS as u64;
/// Per cent of the shadow window that a loss leaves.
const RENO_BETA: u64 = 50;
/// Fractional bits of the probabilities.
const EXP_PREC: u32 = 15;
/// The largest gradient with a probability below 1, in units of the scale.
const MAX_GRADIENT: i64 = 5;
/// Fractional bits of gradients.
const PRECISION: u32 = 7;
/// Least probability (of 2^15) for the smallest gradients.
const LEAST_PROBABILITY: u32 = 10;

/// Estimate of the queue of the path. The kernel compares them by this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Queue {
    Empty,
    Rising,
    Falling,
    Full,
    Unknown,
}

/// Values of the sysctls `net.inet.tcp.cc.cdg.*`.
#[derive(Clone, Debug)]
struct Settings {
    alpha_inc: u32,
    beta_delay: u64,
    beta_loss: u64,
    exp_backoff_scale: i64,
    smoothing_factor: usize,
    consec_cong: u32,
    hold_backoff: u32,
}

/// State of a connection.
#[derive(Clone, Debug)]
pub(super) struct Cdg {
    settings: Settings,
    rng: Rng,
    ertt: Ertt,
    /// Moving averages of the gradients of the maximum and the minimum RTT of a round trip, 128ths of ms.
    max_qtrend: i64,
    min_qtrend: i64,
    /// Gradients that they are made of: minimum, maximum.
    samples: VecDeque<(i64, i64)>,
    window_incr: u64,
    rtt_count: u32,
    /// RTTs of this round trip and of the previous one, ms; 0 if there is none (`i32::MAX` for the minimum of this one).
    max_rtt: i32,
    prev_max_rtt: i32,
    min_rtt: i32,
    prev_min_rtt: i32,
    /// Reductions for the gradient in a row.
    consec: u32,
    /// Window that NewReno would have, bytes; 0: none is kept.
    shadow: u64,
    queue: Queue,
}

/// Reaction to an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Nothing,
    /// The window was reduced for the gradient.
    BackedOff,
}

impl Cdg {
    pub fn new(stack: &Stack, rng: Rng) -> Self {
        let settings = Settings {
            alpha_inc: stack.cdg_alpha_inc,
            beta_delay: u64::from(stack.cdg_beta_delay),
            beta_loss: u64::from(stack.cdg_beta_loss),
            exp_backoff_scale: i64::from(stack.cdg_exp_backoff_scale),
            smoothing_factor: stack.cdg_smoothing_factor as usize,
            consec_cong: stack.cdg_loss_compete_consec_cong,
            hold_backoff: stack.cdg_loss_compete_hold_backoff,
        };
        Self {
            settings,
            rng,
            ertt: Ertt::default(),
            max_qtrend: 0,
            min_qtrend: 0,
            samples: VecDeque::new(),
            window_incr: 0,
            rtt_count: 0,
            max_rtt: 0,
            prev_max_rtt: 0,
            min_rtt: i32::MAX,
            prev_min_rtt: 0,
            consec: 0,
            shadow: 0,
            queue: Queue::Unknown,
        }
    }

    /// The connection is established.
    pub fn init(&mut self, w: &NewReno) {
        self.shadow = w.cwnd;
    }

    /// The next random numbers come from a stream of the connection's own.
    pub fn seed(&mut self, rng: Rng) {
        self.rng = rng;
    }

    /// A segment leaves.
    pub fn on_sent(&mut self, seq: u32, bytes: u32, tsval: u32, tsecr: u32) {
        self.ertt.on_sent(seq, bytes, tsval, tsecr);
    }

    /// An ACK arrives, before anything else is made of it.
    pub fn on_heard(&mut self, heard: &Heard) {
        self.ertt.on_ack(heard);
    }

    /// Gradients of the minimum and the maximum RTT, ms a round trip.
    pub fn gradients_ms(&self) -> [f64; 2] {
        [self.min_qtrend, self.max_qtrend].map(|trend| trend as f64 / f64::from(1 << PRECISION))
    }

    pub fn queue(&self) -> Queue {
        self.queue
    }

    pub fn shadow(&self) -> u64 {
        self.shadow
    }

    pub fn backoffs(&self) -> u32 {
        self.consec
    }

    pub fn ack_received(&mut self, w: &mut NewReno, ack: &Ack) -> Outcome {
        self.max_rtt = self.max_rtt.max(self.ertt.rtt);
        self.min_rtt = self.min_rtt.min(self.ertt.rtt);
        let measured = std::mem::take(&mut self.ertt.new_measurement);
        let congestion = measured && self.end_round(w.in_slow_start());
        if !congestion {
            if ack.is_new {
                self.grow(w, measured);
            }
            return Outcome::Nothing;
        }
        self.consec += 1;
        if w.cong_recovery {
            return Outcome::Nothing;
        }
        let mut outcome = Outcome::Nothing;
        if self.consec <= self.settings.consec_cong {
            w.ssthresh = decreased(w.cwnd, ack.snd_wnd, self.settings.beta_delay);
            w.cwnd = w.ssthresh;
            w.cong_recovery = true;
            (self.window_incr, self.rtt_count) = (0, 0);
            outcome = Outcome::BackedOff;
        } else if self.consec >= self.settings.consec_cong + self.settings.hold_backoff {
            self.consec = 0;
        }
        // The effect shows in the second round trip from now.
        self.prev_max_rtt = 0;
        self.shadow = self.shadow.max(w.cwnd);
        outcome
    }

    /// Three duplicate ACKs. Where the queue is not full, the loss is not taken for congestion.
    pub fn on_loss(&mut self, w: &mut NewReno, snd_wnd: u64) {
        if w.cong_recovery || self.queue < Queue::Full {
            w.ssthresh = w.cwnd;
        } else {
            if self.shadow > 0 {
                self.shadow = decreased(self.shadow, snd_wnd, RENO_BETA);
            }
            w.ssthresh = self.shadow.max(decreased(w.cwnd, snd_wnd, self.settings.beta_loss));
            (self.window_incr, self.rtt_count) = (0, 0);
        }
        (w.fast_recovery, w.cong_recovery) = (true, true);
    }

    /// Takes in a round trip; true if the window is to be reduced for it.
    fn end_round(&mut self, slow_start: bool) -> bool {
        let mut congestion = false;
        if self.prev_max_rtt != 0 {
            let gradient = |now: i32, before: i32| (i64::from(now) - i64::from(before)) << PRECISION;
            let max = gradient(self.max_rtt, self.prev_max_rtt);
            let min = gradient(self.min_rtt, self.prev_min_rtt);
            self.average(min, max);
            congestion = if slow_start && min > 0 {
                self.backs_off(min)
            } else if self.min_qtrend > 0 {
                self.backs_off(self.min_qtrend)
            } else if slow_start && max > 0 {
                self.backs_off(max)
            } else {
                self.max_qtrend > 0 && self.backs_off(self.max_qtrend)
            };
            let (min, max) = (self.min_qtrend, self.max_qtrend);
            if min > 0 && max <= 0 {
                self.queue = Queue::Full;
            } else if min >= 0 && max < 0 {
                self.queue = Queue::Empty;
                self.shadow = 0;
            } else if min > 0 && max > 0 {
                self.queue = Queue::Rising;
            } else if min < 0 && max < 0 {
                self.queue = Queue::Falling;
            }
            if min < 0 || max < 0 {
                self.consec = 0;
            }
        }
        (self.prev_min_rtt, self.min_rtt) = (self.min_rtt, i32::MAX);
        (self.prev_max_rtt, self.max_rtt) = (self.max_rtt, 0);
        congestion
    }

    /// Moving averages. Each step rounds towards zero, as the kernel's does.
    fn average(&mut self, min: i64, max: i64) {
        let size = self.settings.smoothing_factor;
        let (old_min, old_max) =
            if self.samples.len() == size { self.samples.pop_front().unwrap_or_default() } else { (0, 0) };
        self.samples.push_back((min, max));
        self.min_qtrend += (min - old_min) / size as i64;
        self.max_qtrend += (max - old_max) / size as i64;
    }

    /// Draws; true with probability 1 - exp(-gradient / scale).
    fn backs_off(&mut self, gradient: i64) -> bool {
        let scale = self.settings.exp_backoff_scale;
        if gradient > (MAX_GRADIENT * scale) << PRECISION {
            return true;
        }
        let place = if scale > 1 { (gradient + scale / 2) / scale } else { gradient };
        let p = (i32::MAX as u32 >> EXP_PREC) * probability(place as u32);
        self.rng.u32() >> 1 < p
    }

    fn grow(&mut self, w: &mut NewReno, measured: bool) {
        let (mut growth, mut shadow_growth) = (0, 0);
        if w.in_slow_start() {
            (growth, shadow_growth) = (SEG, SEG);
            (self.window_incr, self.rtt_count) = (0, 0);
        } else if measured {
            shadow_growth = SEG;
            growth = SEG;
            if self.settings.alpha_inc != 0 {
                self.rtt_count += 1;
                if self.rtt_count >= self.settings.alpha_inc {
                    self.window_incr += 1;
                    self.rtt_count = 0;
                }
                growth = SEG * self.window_incr;
            }
        }
        if self.shadow > 0 {
            self.shadow = (self.shadow + shadow_growth).min(w.most());
        }
        w.cwnd += growth;
        w.bound();
    }
}

/// Return so many per cent of the lesser of window and receiver's window.
fn decreased(window: u64, snd_wnd: u64, per_cent: u64) -> u64 {
    snd_wnd.min(window) * per_cent / 100
}

/// Return 1 - exp(-x) for x in 128ths, of 2^15. The kernel's table has these numbers, rounded, but for the first.
fn probability(x: u32) -> u32 {
    if x == 0 {
        return LEAST_PROBABILITY;
    }
    ((1.0 - (-f64::from(x) / f64::from(1 << PRECISION)).exp()) * f64::from(1 << EXP_PREC)).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::bsd::stack::STACKS;

    const WIDE: u64 = 1 << 30;

    fn control(change: impl FnOnce(&mut Stack)) -> Cdg {
        let mut stack = STACKS[0].2.clone();
        change(&mut stack);
        Cdg::new(&stack, Rng::for_component(1, "cdg"))
    }

    fn window(cwnd: u64, ssthresh: u64) -> NewReno {
        let mut w = NewReno::new(&STACKS[0].2, None, 14);
        (w.cwnd, w.ssthresh) = (cwnd * SEG, ssthresh * SEG);
        w
    }

    fn ack() -> Ack {
        Ack {
            is_new: true,
            bytes: 2 * SEG,
            snd_wnd: WIDE,
            after_timeout: false,
            tick: 0,
            srtt_ticks: 10,
            rtt_samples: 9,
        }
    }

    /// A round trip whose RTTs lie between these, ms.
    fn round(c: &mut Cdg, w: &mut NewReno, min: i32, max: i32) -> Outcome {
        c.ertt.rtt = max;
        c.ack_received(w, &Ack { is_new: false, ..ack() });
        (c.ertt.rtt, c.ertt.new_measurement) = (min, true);
        c.ack_received(w, &ack())
    }

    #[test]
    fn the_probabilities_are_the_exponentials() {
        assert_eq!([0, 1, 2, 3, 10].map(probability), [10, 255, 508, 759, 2463]);
        assert_eq!([128, 256, 640].map(probability), [20_713, 28_333, 32_547]);
        // No entry lies so close to a half that another library's exp could round it to another number.
        for x in 1..=640_u32 {
            let exact = (1.0 - (-f64::from(x) / 128.0).exp()) * 32_768.0;
            assert!((exact.fract() - 0.5).abs() > 1e-6, "{x}");
        }
    }

    #[test]
    fn it_backs_off_as_often_as_the_gradient_says() {
        let mut c = control(|_| {});
        for gradient_ms in [1_i64, 3, 6] {
            let hits = (0..20_000).filter(|_| c.backs_off(gradient_ms << PRECISION)).count() as f64 / 20_000.0;
            let exact = 1.0 - (-(gradient_ms as f64) / 3.0).exp();
            assert!((hits - exact).abs() < 0.012, "{gradient_ms} ms: {hits} {exact}");
        }
        assert!((0..1000).all(|_| c.backs_off((15 << PRECISION) + 1)), "above five scales it always does");
    }

    #[test]
    fn a_gradient_takes_three_tenths_of_the_window() {
        let (mut c, mut w) = (control(|_| {}), window(100, 10));
        c.init(&w);
        round(&mut c, &mut w, 20, 30);
        assert_eq!(w.cwnd, 101 * SEG, "the first round trip has none before it");
        // 200 ms more: an eighth of it is 25 ms a round trip, for which it surely backs off.
        assert_eq!(round(&mut c, &mut w, 220, 230), Outcome::BackedOff);
        assert_eq!((w.cwnd, w.ssthresh), (101 * SEG * 70 / 100, 101 * SEG * 70 / 100));
        assert!(w.cong_recovery && !w.fast_recovery);
        assert_eq!(c.prev_max_rtt, 0, "the next round trip is compared with none");
    }

    #[test]
    fn after_five_in_a_row_it_holds_for_five_more() {
        let (mut c, mut w) = (control(|_| {}), window(1000, 10));
        c.init(&w);
        let (mut backed, mut rtt) = (Vec::new(), 20);
        for _ in 0..40 {
            rtt += 400;
            round(&mut c, &mut w, rtt, rtt);
            rtt += 400;
            backed.push(round(&mut c, &mut w, rtt, rtt) == Outcome::BackedOff);
            w.exit_recovery();
        }
        let runs: Vec<bool> = backed.into_iter().take(20).collect();
        assert_eq!(runs.iter().filter(|b| **b).count(), 10, "{runs:?}");
        assert_eq!(&runs[..10], &[true, true, true, true, true, false, false, false, false, false]);
    }

    #[test]
    fn a_loss_counts_if_the_queue_is_full_and_leaves_the_shadow_half() {
        let (mut c, mut w) = (control(|_| {}), window(100, 10));
        c.init(&w);
        (c.queue, c.shadow) = (Queue::Rising, 160 * SEG);
        c.on_loss(&mut w, WIDE);
        assert_eq!(w.ssthresh, 100 * SEG, "not full: no congestion");
        w.exit_recovery();
        c.queue = Queue::Full;
        c.on_loss(&mut w, WIDE);
        assert_eq!((w.ssthresh, c.shadow), (80 * SEG, 80 * SEG));
        w.exit_recovery();
        (c.queue, c.shadow) = (Queue::Unknown, 0);
        c.on_loss(&mut w, 60 * SEG);
        assert_eq!(w.ssthresh, 30 * SEG, "half of the receiver's window, which is the lesser");
    }

    #[test]
    fn the_averages_tell_the_queue() {
        let (mut c, mut w) = (control(|_| {}), window(100, 10));
        c.init(&w);
        let mut after = |rounds: &[(i32, i32)]| {
            for &(min, max) in rounds {
                round(&mut c, &mut w, min, max);
                w.exit_recovery();
                c.prev_max_rtt = max;
            }
            (c.queue, c.shadow)
        };
        assert_eq!(after(&[(20, 30), (24, 38)]).0, Queue::Rising);
        assert_eq!(after(&[(30, 30)]).0, Queue::Full, "the least RTT rises, the largest does not");
        assert_eq!(after(&[(20, 22)]).1, 0, "the largest falls, the least is where it was: empty, without a shadow");
        assert_eq!(after(&[(12, 14)]).0, Queue::Falling);
    }

    #[test]
    fn growth_is_a_segment_a_round_trip_and_faster_with_alpha_inc() {
        let (mut c, mut w) = (control(|_| {}), window(100, 10));
        for _ in 0..5 {
            round(&mut c, &mut w, 20, 20);
        }
        assert_eq!(w.cwnd, 105 * SEG);
        let (mut c, mut w) = (control(|s| s.cdg_alpha_inc = 2), window(100, 10));
        for _ in 0..6 {
            round(&mut c, &mut w, 20, 20);
        }
        // 0, 1, 1, 2, 2, 3.
        assert_eq!(w.cwnd, 109 * SEG);
        let (mut c, mut w) = (control(|_| {}), window(10, 100));
        c.ack_received(&mut w, &Ack { snd_wnd: SEG, ..ack() });
        assert_eq!(w.cwnd, 11 * SEG, "a segment an ACK in slow start, whatever the receiver's window");
    }
}
