//! CUBIC as FreeBSD 9 has it (tag releng/9.3 sys/netinet/cc/cc_cubic.c r220592, cc_cubic.h r220560; draft-rhee-tcpm-cubic-02), in the
//! kernel's fixed point: 8 fractional bits, beta 204/256, C 102/256, fast convergence 230/256.
//!
//! Three traits of the module decide results, and are kept. The window that NewReno would have is counted in 32 bits, which wrap after 75
//! ticks, so that this window hardly ever lies above the curve. The curve's K is computed where a fast recovery ends and nowhere else: after
//! an ECN echo or a timeout the old K counts on. The first congestion event halves the window.
//!
//! Leaves out: windows above the largest that the peer's scale allows, which the module does not bound.

use super::newreno::{Ack, NewReno};
use crate::packet::MSS;

/// Fractional bits.
const SHIFT: u32 = 8;
/// 0.8: the share of the window that a congestion event leaves.
const BETA: u64 = 204;
/// 0.2.
const ONE_SUB_BETA: u64 = 51;
/// 3 times 0.2, and 2 less 0.2.
const THREE_X_PT2: u32 = 153;
const TWO_SUB_PT2: u32 = 461;
/// 0.4: C of the curve.
const C_FACTOR: i64 = 102;
/// 0.9: what fast convergence leaves of the plateau.
const FC_FACTOR: u64 = 230;
/// RTT samples before the smoothed RTT is believed.
const MIN_RTT_SAMPLES: u32 = 8;

/// State of a connection.
#[derive(Clone, Debug)]
pub(super) struct Cubic {
    /// Time from a congestion event to the plateau, 256ths of a second.
    k: i64,
    /// Sum of smoothed RTTs since the last recovery, ticks, and their number.
    sum_rtt: i64,
    acks: i64,
    /// Window at the last congestion event and at the one before, bytes.
    max_cwnd: u64,
    prev_max_cwnd: u64,
    /// Congestion events.
    events: u32,
    /// Least smoothed RTT, ticks; 0 before the first.
    min_rtt: i64,
    /// Mean smoothed RTT between two recoveries, ticks.
    mean_rtt: i64,
    /// Tick of the last congestion event, or of the end of the last recovery.
    last_congestion: u64,
    hz: i64,
}

impl Cubic {
    pub fn new(hz: u32) -> Self {
        Self {
            k: 0,
            sum_rtt: 0,
            acks: 0,
            max_cwnd: 0,
            prev_max_cwnd: 0,
            events: 0,
            min_rtt: 0,
            mean_rtt: 1,
            last_congestion: 0,
            hz: i64::from(hz),
        }
    }

    /// connect(): the first epoch begins.
    pub fn start(&mut self, tick: u64) {
        self.last_congestion = tick;
    }

    /// The connection is established.
    pub fn init(&mut self, w: &NewReno) {
        self.max_cwnd = w.cwnd;
    }

    /// Plateau, bytes.
    pub fn max_cwnd(&self) -> u64 {
        self.max_cwnd
    }

    /// Time from a congestion event to the plateau, s.
    pub fn k_s(&self) -> f64 {
        self.k as f64 / f64::from(1 << SHIFT)
    }

    pub fn ack_received(&mut self, w: &mut NewReno, ack: &Ack) {
        self.record_rtt(ack);
        if !ack.is_new || !w.may_grow(ack.snd_wnd) || !w.is_due() {
            return;
        }
        if w.in_slow_start() || self.min_rtt == 0 {
            return w.grow(ack.bytes, ack.after_timeout);
        }
        let since = ack.tick - self.last_congestion;
        let friendly = tf_cwnd(since, self.mean_rtt, self.max_cwnd);
        let next = cubic_cwnd(since as i64 + self.mean_rtt, self.max_cwnd, self.k, self.hz);
        w.take_window();
        // A window below zero is a huge one to the module.
        let next = if next < 0 { u64::MAX } else { next as u64 };
        if next < friendly {
            w.cwnd = friendly;
        } else if w.cwnd < next {
            w.cwnd = if w.counts_bytes() {
                next
            } else {
                w.cwnd.saturating_add((next - w.cwnd).saturating_mul(u64::from(MSS)) / w.cwnd)
            };
        }
        w.bound();
        if self.events == 0 {
            self.max_cwnd = self.max_cwnd.max(w.cwnd);
        }
    }

    /// Three duplicate ACKs.
    pub fn on_loss(&mut self, w: &mut NewReno) {
        if !w.fast_recovery && !w.cong_recovery {
            self.reduce(w);
        }
        (w.fast_recovery, w.cong_recovery) = (true, true);
    }

    /// An ECN echo. K stays as it is.
    pub fn on_mark(&mut self, w: &mut NewReno, tick: u64) {
        if !w.cong_recovery {
            self.reduce(w);
            self.last_congestion = tick;
            w.cwnd = w.ssthresh;
            w.cong_recovery = true;
        }
    }

    /// A retransmission timeout, the `shift`th in a row. The plateau and K stay.
    pub fn on_timeout(&mut self, shift: usize, tick: u64) {
        self.events += u32::from(shift >= 2);
        self.last_congestion = tick;
    }

    /// Everything that was out when recovery began is acknowledged, and `outstanding` bytes were sent since.
    pub fn post_recovery(&mut self, w: &mut NewReno, outstanding: u64, tick: u64) {
        if self.max_cwnd < self.prev_max_cwnd {
            self.max_cwnd = (self.max_cwnd * FC_FACTOR) >> SHIFT;
        }
        if w.fast_recovery {
            w.cwnd = if w.ssthresh > outstanding {
                outstanding + u64::from(MSS)
            } else {
                ((BETA * self.max_cwnd) >> SHIFT).max(1)
            };
        }
        self.last_congestion = tick;
        if self.acks > 0 && self.sum_rtt >= self.acks {
            self.mean_rtt = self.sum_rtt / self.acks;
        }
        (self.acks, self.sum_rtt) = (0, 0);
        self.k = cubic_k(self.max_cwnd / u64::from(MSS));
    }

    fn record_rtt(&mut self, ack: &Ack) {
        if ack.rtt_samples < MIN_RTT_SAMPLES {
            return;
        }
        if ack.srtt_ticks < self.min_rtt || self.min_rtt == 0 {
            self.min_rtt = ack.srtt_ticks.max(1);
            self.mean_rtt = self.mean_rtt.max(self.min_rtt);
        }
        self.sum_rtt += ack.srtt_ticks;
        self.acks += 1;
    }

    fn reduce(&mut self, w: &mut NewReno) {
        w.ssthresh = if self.events == 0 { w.cwnd >> 1 } else { (w.cwnd * BETA) >> SHIFT };
        self.events += 1;
        self.prev_max_cwnd = self.max_cwnd;
        self.max_cwnd = w.cwnd;
    }
}

/// Return K for a plateau of so many segments, 256ths of a second: a cube root by a parabola between 1/8 and 1.
fn cubic_k(wmax: u64) -> i64 {
    let mut s = (((wmax * ONE_SUB_BETA) << SHIFT) / C_FACTOR as u64) as i64;
    let mut p = 0;
    while s >= 256 {
        s >>= 3;
        p += 1;
    }
    ((((s * 275) >> SHIFT) + 98) - (((s * s * 120) >> SHIFT) >> SHIFT)) << p
}

/// Return the window of the curve, bytes, so many ticks after a congestion event.
fn cubic_cwnd(ticks: i64, wmax: u64, k: i64, hz: i64) -> i64 {
    let t = ((ticks << SHIFT) - k * hz) / hz;
    let growth = (i128::from(t) * i128::from(t) * i128::from(t) * i128::from(C_FACTOR * i64::from(MSS))) >> (4 * SHIFT);
    (growth + i128::from(wmax)).clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// Return the window that NewReno would have on average, bytes, in the 32 bits of the kernel's sum.
fn tf_cwnd(ticks: u64, rtt: i64, wmax: u64) -> u64 {
    let sum = THREE_X_PT2.wrapping_mul(ticks as u32).wrapping_mul(MSS) << SHIFT;
    (wmax * BETA + u64::from(sum / TWO_SUB_PT2 / rtt as u32)) >> SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::bsd::stack::STACKS;

    const SEG: u64 = MSS as u64;
    const WIDE: u64 = 1 << 30;

    fn window(cwnd: u64, ssthresh: u64) -> NewReno {
        let mut w = NewReno::new(&STACKS[0].2, None, 14);
        (w.cwnd, w.ssthresh) = (cwnd * SEG, ssthresh * SEG);
        w
    }

    /// An ACK for a whole window.
    fn ack(tick: u64, rtt: i64) -> Ack {
        Ack {
            is_new: true,
            bytes: 2 * SEG,
            snd_wnd: WIDE,
            after_timeout: false,
            tick,
            srtt_ticks: rtt,
            rtt_samples: MIN_RTT_SAMPLES,
        }
    }

    /// An ACK after which NewReno would add a segment.
    fn window_acked(c: &mut Cubic, w: &mut NewReno, a: &Ack) {
        w.send_a_window();
        c.ack_received(w, a);
    }

    #[test]
    fn k_is_the_cube_root_of_half_the_plateau_within_two_percent() {
        for wmax in [4_u64, 10, 50, 100, 300, 1000, 5000, 20_000] {
            let exact = (wmax as f64 * 0.2 / 0.4).cbrt();
            let k = cubic_k(wmax) as f64 / 256.0;
            assert!((k - exact).abs() / exact < 0.02, "{wmax}: {k} {exact}");
        }
    }

    #[test]
    fn the_curve_is_the_drafts_cubic() {
        for (wmax, hz) in [(100_u64, 1000_i64), (1000, 1000), (5000, 100)] {
            let k = (wmax as f64 / 2.0).cbrt();
            for t in [0.0, 0.5 * k, k, 1.5 * k, 3.0 * k] {
                let exact = wmax as f64 + 0.4 * (t - k).powi(3);
                let got = cubic_cwnd((t * hz as f64) as i64, wmax * SEG, cubic_k(wmax), hz) as f64 / SEG as f64;
                assert!((got - exact).abs() < 0.02 * exact.max(wmax as f64), "{wmax} at {t}: {got} {exact}");
            }
        }
        // Just after the event it is at four fifths, and at K at the plateau.
        assert!((cubic_cwnd(0, 1000 * SEG, cubic_k(1000), 1000) as f64 / (1000 * SEG) as f64 - 0.8).abs() < 0.01);
    }

    #[test]
    fn the_friendly_window_is_equation_4_until_its_32_bits_are_full() {
        let wmax = 100 * SEG;
        let exact = |t: f64, rtt: f64| 0.8 * wmax as f64 + 3.0 * 0.2 / 1.8 * t / rtt * SEG as f64;
        for t in [0_u64, 10, 40, 75] {
            let got = tf_cwnd(t, 20, wmax) as f64;
            assert!((got - exact(t as f64, 20.0)).abs() < 0.01 * exact(0.0, 1.0), "{t}: {got}");
        }
        // 153 * 76 * 1448 * 256 is more than 2^32.
        assert!(tf_cwnd(76, 20, wmax) < tf_cwnd(75, 20, wmax));
        assert!((tf_cwnd(10_000, 20, wmax) as f64) < exact(80.0, 20.0));
    }

    #[test]
    fn the_first_event_halves_and_later_ones_leave_four_fifths() {
        let (mut c, mut w) = (Cubic::new(1000), window(100, 10));
        c.init(&w);
        c.on_loss(&mut w);
        assert_eq!((w.ssthresh, w.fast_recovery), (50 * SEG, true));
        c.on_loss(&mut w);
        assert_eq!(w.ssthresh, 50 * SEG, "one reduction an episode");
        c.post_recovery(&mut w, 60 * SEG, 500);
        assert_eq!(w.cwnd, (100 * SEG * 204) >> 8, "of the plateau, though ssthresh is half");
        w.exit_recovery();
        w.cwnd = 90 * SEG;
        c.on_loss(&mut w);
        assert_eq!(w.ssthresh, (90 * SEG * 204) >> 8);
        // The plateau is lower than the last: nine tenths of it.
        c.post_recovery(&mut w, 100 * SEG, 900);
        assert_eq!(c.max_cwnd(), (90 * SEG * 230) >> 8);
        assert_eq!(w.cwnd, (c.max_cwnd() * 204) >> 8);
        // Little is out: no burst.
        w.ssthresh = 50 * SEG;
        c.post_recovery(&mut w, 20 * SEG, 900);
        assert_eq!(w.cwnd, 21 * SEG);
    }

    #[test]
    fn after_a_recovery_the_window_follows_the_curve_a_mean_rtt_ahead() {
        let (mut c, mut w) = (Cubic::new(1000), window(1000, 10));
        c.init(&w);
        c.events = 1;
        for _ in 0..10 {
            c.record_rtt(&ack(0, 200));
        }
        c.on_loss(&mut w);
        c.post_recovery(&mut w, 900 * SEG, 1000);
        w.exit_recovery();
        // The threshold itself still belongs to slow start.
        w.cwnd += SEG;
        assert_eq!(c.mean_rtt, 200);
        for seconds in [1, 4, 8, 10] {
            window_acked(&mut c, &mut w, &ack(1000 + seconds * 1000, 200));
            let exact = 1000.0 + 0.4 * (seconds as f64 + 0.2 - 500_f64.cbrt()).powi(3);
            assert!((w.cwnd as f64 / SEG as f64 - exact).abs() < 12.0, "{seconds}: {} {exact}", w.cwnd / SEG);
        }
    }

    #[test]
    fn between_whole_windows_and_while_the_peer_limits_nothing_grows() {
        let (mut c, mut w) = (Cubic::new(1000), window(100, 10));
        c.init(&w);
        c.record_rtt(&ack(0, 20));
        c.ack_received(&mut w, &ack(5000, 20));
        assert_eq!(w.cwnd, 100 * SEG);
        w.send_a_window();
        c.ack_received(&mut w, &Ack { snd_wnd: 50 * SEG, ..ack(5000, 20) });
        assert_eq!(w.cwnd, 100 * SEG);
        window_acked(&mut c, &mut w, &ack(5000, 20));
        assert!(w.cwnd > 140 * SEG, "0.4 * 5^3 = 50 segments");
        assert_eq!(c.max_cwnd(), w.cwnd, "no event yet: the plateau follows");
    }

    #[test]
    fn before_eight_samples_it_grows_as_newreno_does() {
        let (mut c, mut w) = (Cubic::new(1000), window(100, 10));
        window_acked(&mut c, &mut w, &Ack { rtt_samples: 7, ..ack(5000, 20) });
        assert_eq!(w.cwnd, 101 * SEG);
    }

    #[test]
    fn an_echo_leaves_k_alone_so_that_the_window_jumps_back() {
        let (mut c, mut w) = (Cubic::new(1000), window(100, 10));
        c.init(&w);
        c.record_rtt(&ack(0, 20));
        c.events = 1;
        c.on_mark(&mut w, 1000);
        assert_eq!((w.cwnd, w.ssthresh), ((100 * SEG * 204) >> 8, (100 * SEG * 204) >> 8));
        assert!(w.cong_recovery && !w.fast_recovery);
        w.exit_recovery();
        w.cwnd += 1;
        window_acked(&mut c, &mut w, &ack(1020, 20));
        assert_eq!(w.cwnd, 100 * SEG, "K is still 0: the curve begins at its plateau");
    }

    #[test]
    fn a_curve_below_zero_is_the_largest_window() {
        let (mut c, mut w) = (Cubic::new(1000), window(10, 2));
        c.record_rtt(&ack(0, 20));
        (c.events, c.k, c.max_cwnd) = (1, 10 << SHIFT, 10 * SEG);
        window_acked(&mut c, &mut w, &ack(20, 20));
        assert_eq!(w.cwnd, 65_535 << 14);
    }

    #[test]
    fn a_timeout_starts_the_clock_and_counts_from_the_second_on() {
        let mut c = Cubic::new(1000);
        c.on_timeout(1, 500);
        assert_eq!((c.events, c.last_congestion), (0, 500));
        c.on_timeout(2, 900);
        assert_eq!((c.events, c.last_congestion), (1, 900));
    }
}
