//! Illinois: growth and decrease that follow the average queueing delay of a round trip (S. Liu, T. Başar, R. Srikant, "TCP-Illinois: a
//! loss- and delay-based congestion control algorithm for high-speed networks", VALUETOOLS 2006; Linux 6.12 net/ipv4/tcp_illinois.c).

use super::{
    AnyCc, BoxedControl, CaState, CongestionControl, Control, Event, Needs, Parameter, Parameters, RateSample, State,
    Tell, Version, View, Window,
};
use crate::catalogue::state::ms_of_us;

/// Fraction bits of alpha, segments a round trip; its least (0.3), usual and most (10).
const ALPHA_SHIFT: u32 = 7;
const ALPHA_MIN: u32 = 3 * ALPHA_BASE / 10;
const ALPHA_BASE: u32 = 1 << ALPHA_SHIFT;
const ALPHA_MAX: u32 = 10 << ALPHA_SHIFT;
/// Fraction bits of beta, the share that a loss takes; its least (1/8), and its usual and most (1/2).
const BETA_SHIFT: u32 = 6;
const BETA_MIN: u32 = (1 << BETA_SHIFT) / 8;
const BETA_BASE: u32 = (1 << BETA_SHIFT) / 2;
/// Longer RTTs count as this, us: products with alpha then have 32 bits.
const RTT_MAX: u32 = u32::MAX / ALPHA_MAX;

pub(super) const CONTROL: Control = Control {
    name: "illinois",
    summary: "Illinois (Liu, Basar, Srikant 2006, Linux 6.12)",
    needs: Needs { rtt_stamps: true, ..Needs::NOTHING },
    since: Version(2, 6),
    parameters: &[
        Parameter::integer("win_thresh", 15, 0, 1 << 24, "below this window it is Reno, segments (module parameter)"),
        Parameter::integer(
            "theta",
            5,
            1,
            255,
            "so many round trips of little delay after more of it let it grow the most again (module parameter)",
        ),
    ],
    build: |p| AnyCc::Boxed(Box::new(Illinois::new(p))),
};

/// State variables that a scenario may record.
pub(super) const STATE: &[State] = &[
    State::new("increase", "packets", "growth of the window a round trip (alpha)"),
    State::new("decrease", "share", "part of the window that a loss takes (beta)"),
    State::new("base_rtt_ms", "ms", "least RTT that it has measured"),
    State::new("max_rtt_ms", "ms", "largest RTT that it has measured"),
    State::new("mean_rtt_ms", "ms", "averaged RTT of the round so far; none before its first"),
    State::new("rtt_samples", "", "RTTs that it has measured in the round (cnt_rtt)"),
];

/// Illinois.
#[derive(Clone, Debug)]
struct Illinois {
    win_thresh: u32,
    theta: u32,
    alpha: u32,
    beta: u32,
    /// Least and largest RTT ever, us. The largest does not age.
    base_rtt: u32,
    max_rtt: u32,
    /// RTTs of the round: their sum, us, and number.
    sum_rtt: u64,
    samples: u16,
    end_seq: u32,
    /// Segments of the last ACK.
    acked: u16,
    /// The delay was above the low threshold since growth was the most, and for how many rounds it has been below since.
    was_above: bool,
    low_rounds: u8,
}

impl Illinois {
    fn new(p: &Parameters) -> Self {
        Self {
            win_thresh: p.integer("win_thresh"),
            theta: p.integer("theta"),
            alpha: ALPHA_MAX,
            beta: BETA_BASE,
            base_rtt: 0x7fff_ffff,
            max_rtt: 0,
            sum_rtt: 0,
            samples: 0,
            end_seq: 0,
            acked: 0,
            was_above: false,
            low_rounds: 0,
        }
    }

    fn begin_round(&mut self, v: &View) {
        (self.end_seq, self.samples, self.sum_rtt) = (v.snd_nxt, 0, 0);
    }

    fn update(&mut self, v: &View, cwnd: u32) {
        if cwnd < self.win_thresh {
            (self.alpha, self.beta) = (ALPHA_BASE, BETA_BASE);
        } else if self.samples > 0 {
            let average = (self.sum_rtt / u64::from(self.samples)) as u32;
            let (delay, most) = (average.wrapping_sub(self.base_rtt), self.max_rtt - self.base_rtt);
            self.alpha = self.alpha_at(delay, most);
            self.beta = beta_at(delay, most);
        }
        self.begin_round(v);
    }

    /// Growth at an average queueing delay, us, of at `most` so much.
    fn alpha_at(&mut self, delay: u32, most: u32) -> u32 {
        let low = most / 100;
        if delay <= low {
            if !self.was_above {
                return ALPHA_MAX;
            }
            self.low_rounds = self.low_rounds.wrapping_add(1);
            if u32::from(self.low_rounds) < self.theta {
                return self.alpha;
            }
            (self.low_rounds, self.was_above) = (0, false);
            return ALPHA_MAX;
        }
        self.was_above = true;
        let (most, delay) = (most - low, delay - low);
        most.wrapping_mul(ALPHA_MAX) / most.wrapping_add(delay.wrapping_mul(ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN)
    }
}

/// The share that a loss takes at an average queueing delay, us, of at `most` so much: least below a tenth, most above eight tenths.
fn beta_at(delay: u32, most: u32) -> u32 {
    let (low, high) = (most / 10, 8 * most / 10);
    if delay <= low {
        return BETA_MIN;
    }
    if delay >= high || high <= low {
        return BETA_BASE;
    }
    (BETA_MIN * high + (BETA_BASE - BETA_MIN) * delay - BETA_BASE * low) / (high - low)
}

impl BoxedControl for Illinois {}

impl CongestionControl for Illinois {
    fn init(&mut self, v: &View, _: &mut Window) {
        self.begin_round(v);
    }

    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        (w.cwnd - ((w.cwnd * self.beta) >> BETA_SHIFT)).max(2)
    }

    fn least_cwnd(&self, _: &View, w: &Window) -> u32 {
        w.ssthresh / 2
    }

    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        if v.snd_una > self.end_seq {
            self.update(v, w.cwnd);
        }
        let slow = w.in_slow_start(v);
        let acked = w.beyond_slow_start(v, acked);
        if slow || acked == 0 {
            return;
        }
        w.cwnd_cnt += u32::from(self.acked);
        self.acked = 1;
        let delta = w.cwnd_cnt.wrapping_mul(self.alpha) >> ALPHA_SHIFT;
        if delta >= w.cwnd {
            w.cwnd += delta / w.cwnd;
            w.cwnd_cnt = 0;
        }
    }

    fn on_event(&mut self, v: &View, _: &mut Window, e: Event) {
        if e == Event::State(CaState::Loss) {
            (self.alpha, self.beta) = (ALPHA_BASE, BETA_BASE);
            (self.low_rounds, self.was_above) = (0, false);
            self.begin_round(v);
        } else if let Event::Renumbered(r) = e {
            r.apply(&mut self.end_seq);
        }
    }

    fn pkts_acked(&mut self, _: &View, _: &mut Window, s: &RateSample) {
        self.acked = s.acked as u16;
        if s.rtt_us < 0 {
            return;
        }
        let rtt = (s.rtt_us as u32).min(RTT_MAX);
        self.base_rtt = self.base_rtt.min(rtt);
        self.max_rtt = self.max_rtt.max(rtt);
        self.samples = self.samples.wrapping_add(1);
        self.sum_rtt += u64::from(rtt);
    }

    fn state(&self, _: &View, _: &Window, tell: &mut Tell) {
        tell("increase", f64::from(self.alpha) / f64::from(ALPHA_BASE));
        tell("decrease", f64::from(self.beta) / f64::from(1 << BETA_SHIFT));
        tell("base_rtt_ms", ms_of_us(self.base_rtt));
        if self.max_rtt > 0 {
            tell("max_rtt_ms", ms_of_us(self.max_rtt));
        }
        if self.samples > 0 {
            tell("mean_rtt_ms", ms_of_us((self.sum_rtt / u64::from(self.samples)) as u32));
        }
        tell("rtt_samples", f64::from(self.samples));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cc::lab::{made, Lab};

    fn illinois() -> Illinois {
        Illinois::new(&Parameters::defaults(CONTROL.parameters))
    }

    /// `alpha_at` of one whose delay was low before.
    fn alpha(delay: u32, most: u32) -> u32 {
        illinois().alpha_at(delay, most)
    }

    #[test]
    fn growth_falls_from_ten_to_three_tenths_with_the_delay() {
        assert_eq!((alpha(0, 100_000), alpha(1000, 100_000)), (ALPHA_MAX, ALPHA_MAX));
        assert_eq!(alpha(100_000, 100_000), ALPHA_MIN);
        // alpha = k1 / (k2 + da), which is 10 at d1 and 0.3 at dm (section 4 of the paper).
        let (most, low, from, to) = (100_000.0, 1000.0, 10.0, 38.0 / 128.0);
        let k1 = (most - low) * to * from / (from - to);
        let k2 = (most - low) * to / (from - to) - low;
        for delay in [2000, 5000, 20_000, 50_000, 90_000] {
            let exact = 128.0 * k1 / (k2 + f64::from(delay));
            assert!(
                (f64::from(alpha(delay, 100_000)) - exact).abs() <= 1.0,
                "{delay}: {} {exact}",
                alpha(delay, 100_000)
            );
        }
    }

    #[test]
    fn a_loss_takes_an_eighth_to_a_half_by_the_delay() {
        for (delay, beta) in [(0, 8), (10_000, 8), (45_000, 20), (79_000, 31), (80_000, 32), (100_000, 32)] {
            assert_eq!(beta_at(delay, 100_000), beta, "{delay}");
        }
        assert_eq!((beta_at(1, 1), beta_at(1, 0), beta_at(0, 0)), (32, 32, 8));
    }

    #[test]
    fn five_rounds_of_little_delay_let_it_grow_the_most_again_and_others_between_do_not_count_anew() {
        let mut c = illinois();
        c.alpha = c.alpha_at(50_000, 100_000);
        let middle = c.alpha;
        for _ in 0..4 {
            c.alpha = c.alpha_at(0, 100_000);
            assert_eq!(c.alpha, middle);
        }
        c.alpha = c.alpha_at(60_000, 100_000);
        assert!(c.alpha < middle);
        c.alpha = c.alpha_at(0, 100_000);
        assert_eq!(c.alpha, ALPHA_MAX, "the four before were kept");
    }

    #[test]
    fn an_rtt_of_minutes_counts_as_3_4_s_so_that_growth_does_not_overflow() {
        let (mut c, v, mut w) = (illinois(), View::new(1000, crate::cc::Growth::Segments, false), Window::new(10, 1));
        for rtt_us in [1000, 60_000_000] {
            c.pkts_acked(&v, &mut w, &RateSample { rtt_us, ..RateSample::default() });
        }
        assert_eq!(c.max_rtt, 3_355_443);
        let most = c.max_rtt - c.base_rtt;
        assert_eq!(c.alpha_at(most, most), ALPHA_MIN);
    }

    #[test]
    fn a_window_grows_by_alpha_and_by_one_below_the_threshold() {
        let mut lab = Lab::new(made(&CONTROL, &json!({})), 1000);
        lab.rounds(10);
        // Ten a round trip, less than one an RTT lost to truncation.
        assert!((1090..=1100).contains(&lab.w.cwnd), "{}", lab.w.cwnd);
        let mut lab = Lab::new(made(&CONTROL, &json!({"win_thresh": 2000})), 1000);
        lab.rounds(11);
        assert!((1010..=1020).contains(&lab.w.cwnd), "the first round is before any is judged: {}", lab.w.cwnd);
    }

    #[test]
    fn growth_counts_what_the_last_ack_acknowledged_even_if_others_came_between() {
        let (mut c, mut v, mut w) =
            (illinois(), View::new(1000, crate::cc::Growth::Segments, false), Window::new(1000, 1));
        (v.snd_una, v.snd_nxt, c.end_seq) = (5, 100, 100);
        for (acked, limited) in [(7, false), (2, true)] {
            c.pkts_acked(&v, &mut w, &RateSample { acked, ..RateSample::default() });
            v.is_cwnd_limited = limited;
            c.cong_avoid(&v, &mut w, acked);
        }
        assert_eq!(w.cwnd_cnt, 2);
        c.cong_avoid(&v, &mut w, 5);
        assert_eq!(w.cwnd_cnt, 3, "without word of another ACK it counts for one");
    }

    #[test]
    fn a_timeout_makes_it_reno_until_the_next_round() {
        let mut lab = Lab::new(made(&CONTROL, &json!({})), 1000);
        lab.rounds(3);
        let cwnd = lab.w.cwnd;
        assert_eq!(lab.reduced(), cwnd - cwnd / 8);
        lab.time_out();
        lab.w.cwnd = 1000;
        assert_eq!(lab.reduced(), 500);
    }
}
