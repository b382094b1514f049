//! CUBIC: window growth by a cubic of time, TCP-friendly region, fast convergence; HyStart is in `hystart`
//! (RFC 9438 in the integer arithmetic of Linux 6.12 net/ipv4/tcp_cubic.c, version 2.3; where ACKs are counted, of Linux 3.9's, which has the
//! same version number: the plan is made for segments and divided by how many of them an ACK stands for).
//!
//! Leaves out: the module parameters (all at their defaults). Linux 5.1 kept HyStart's clock and the least delay in
//! ticks; here both are in microseconds for that stack, too.

use super::hystart::HyStart;
use super::{AckSample, CongestionControl, Event};
use crate::tcp::linux::options::{Growth, HystartClock};
use crate::tcp::linux::sender::tcb::{CaState, Tcb};
use crate::tcp::linux::stack::Stack;

/// Multiplicative decrease, 1024ths.
const BETA: u32 = 717;
const BETA_SCALE: u32 = 1024;
/// C, 1024ths of a segment a tenth of a second cubed.
const CUBIC_SCALE: u64 = 41 * 10;
/// Time unit of the cubic: 2^-10 s.
const TIME_SHIFT: u32 = 10;
/// Segments acknowledged per increase of the Reno estimate, times 8 over the window: 8 (1024 + 717) / 3 / (1024 - 717).
const FRIENDLY_SCALE: u32 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);

/// Fraction bits of the ratio of segments to ACKs.
const ACK_RATIO_SHIFT: u32 = 4;
/// Most segments an ACK counts for.
const ACK_RATIO_LIMIT: u32 = 32 << ACK_RATIO_SHIFT;

/// State of CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    /// Segments to acknowledge per increase.
    cnt: u32,
    /// Window at the last reduction.
    pub(super) last_max_cwnd: u32,
    last_cwnd: u32,
    last_time: u32,
    /// Plateau of the curve.
    pub(super) origin_point: u32,
    /// Time from the start of the epoch to the plateau, 2^-10 s.
    pub(super) k: u32,
    delay_min_us: u32,
    /// Start of the epoch, ticks; 0 before.
    pub(super) epoch_start: u32,
    ack_cnt: u32,
    tcp_cwnd: u32,
    /// What one segment counts for in `ack_cnt`, per `friendly_unit` of them: 1 but for CUBIC-SCE, which counts bytes.
    friendly_weight: u32,
    friendly_unit: u32,
    /// Segments per ACK, times 16; None where segments are counted.
    ack_ratio: Option<u32>,
    /// The epoch moves with time spent idle.
    idle_shift: bool,
    hystart: HyStart,
}

impl Cubic {
    /// The CUBIC of a stack.
    #[must_use]
    pub fn new(stack: &Stack) -> Self {
        Self {
            ack_ratio: (stack.growth == Growth::Acks).then_some(2 << ACK_RATIO_SHIFT),
            idle_shift: stack.cubic_idle_shift,
            hystart: HyStart::new(stack.hystart_clock),
            ..Self::with_friendly_unit(1, 1)
        }
    }

    /// CUBIC whose Reno estimate counts `weight` for a segment acknowledged and grows by one per `unit` times the usual.
    pub(super) fn with_friendly_unit(weight: u32, unit: u32) -> Self {
        Self {
            cnt: 0,
            last_max_cwnd: 0,
            last_cwnd: 0,
            last_time: 0,
            origin_point: 0,
            k: 0,
            delay_min_us: 0,
            epoch_start: 0,
            ack_cnt: 0,
            tcp_cwnd: 0,
            friendly_weight: weight,
            friendly_unit: unit,
            ack_ratio: None,
            idle_shift: true,
            hystart: HyStart::new(HystartClock::Microseconds),
        }
    }

    /// The same at the start of a connection.
    fn fresh(&self) -> Self {
        Self {
            ack_ratio: self.ack_ratio.map(|_| 2 << ACK_RATIO_SHIFT),
            idle_shift: self.idle_shift,
            hystart: self.hystart.fresh(),
            ..Self::with_friendly_unit(self.friendly_weight, self.friendly_unit)
        }
    }
}

/// Integer cube root: a table for the leading bits, then one Newton-Raphson step (error below 0.2 %).
#[must_use]
pub fn cubic_root(a: u64) -> u32 {
    // (cbrt(x << 18) - 1), refined by hand in Linux for x in 0..=63.
    const V: [u8; 64] = [
        0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173, 176,
        179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224,
        225, 227, 229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
    ];
    let bits = u64::BITS - a.leading_zeros();
    if bits < 7 {
        return (u32::from(V[a as usize]) + 35) >> 6;
    }
    let b = ((bits * 84) >> 8) - 1;
    let shift = (a >> (b * 3)) as usize;
    let x = ((u32::from(V[shift]) + 10) << b) >> 6;
    let x = 2 * u64::from(x) + a / (u64::from(x) * u64::from(x - 1));
    ((x * 341) >> 10) as u32
}

impl Cubic {
    /// Plans `cnt` for a window and `acked` segments.
    #[inline]
    fn update(&mut self, t: &Tcb, acked: u32) {
        self.ack_cnt += acked * self.friendly_weight;
        if self.last_cwnd != t.cwnd || t.jiffies.wrapping_sub(self.last_time) as i32 > (t.hz / 32) as i32 {
            self.plan(t, acked);
        }
    }

    /// The same for another window, or after 1/32 s.
    fn plan(&mut self, t: &Tcb, acked: u32) {
        let (cwnd, now) = (t.cwnd, t.jiffies);
        if self.epoch_start == 0 || now != self.last_time || self.ack_ratio.is_some() {
            self.last_cwnd = cwnd;
            self.last_time = now;
            self.follow_curve(t, acked);
        }
        self.cnt = self.friendly(cwnd);
        self.cnt = match self.ack_ratio {
            Some(ratio) => ((self.cnt << ACK_RATIO_SHIFT) / ratio).max(1),
            None => self.cnt.max(2),
        };
    }

    fn follow_curve(&mut self, t: &Tcb, acked: u32) {
        let (cwnd, now) = (t.cwnd, t.jiffies);
        if self.epoch_start == 0 {
            self.epoch_start = now;
            self.ack_cnt = acked * self.friendly_weight;
            self.tcp_cwnd = cwnd;
            if self.last_max_cwnd <= cwnd {
                self.k = 0;
                self.origin_point = cwnd;
            } else {
                let factor = (1u64 << (10 + 3 * TIME_SHIFT)) / CUBIC_SCALE;
                self.k = cubic_root(factor * u64::from(self.last_max_cwnd - cwnd));
                self.origin_point = self.last_max_cwnd;
            }
        }
        let hz = u64::from(t.hz);
        let ticks = i64::from(now.wrapping_sub(self.epoch_start) as i32)
            + (u64::from(self.delay_min_us) * hz).div_ceil(1_000_000) as i64;
        let time = ((ticks as u64) << TIME_SHIFT) / hz;
        let k = u64::from(self.k);
        let offset = time.abs_diff(k);
        let delta = ((CUBIC_SCALE * offset * offset * offset) >> (10 + 3 * TIME_SHIFT)) as u32;
        let target =
            if time < k { self.origin_point.wrapping_sub(delta) } else { self.origin_point.wrapping_add(delta) };
        self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        // Without a plateau yet, grow by at least 5 % an RTT.
        if self.last_max_cwnd == 0 {
            self.cnt = self.cnt.min(20);
        }
    }

    /// Never slower than Reno would be.
    fn friendly(&mut self, cwnd: u32) -> u32 {
        let per_increase = ((cwnd * FRIENDLY_SCALE) >> 3) * self.friendly_unit;
        while self.ack_cnt > per_increase {
            self.ack_cnt -= per_increase;
            self.tcp_cwnd += 1;
        }
        if self.tcp_cwnd > cwnd {
            self.cnt.min(cwnd / (self.tcp_cwnd - cwnd))
        } else {
            self.cnt
        }
    }
}

impl CongestionControl for Cubic {
    fn init(&mut self, t: &mut Tcb) {
        self.hystart.reset(t);
    }

    fn ssthresh(&mut self, t: &Tcb) -> u32 {
        self.epoch_start = 0;
        self.last_max_cwnd =
            if t.cwnd < self.last_max_cwnd { t.cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE) } else { t.cwnd };
        (t.cwnd * BETA / BETA_SCALE).max(2)
    }

    #[inline(always)]
    fn cong_avoid(&mut self, t: &mut Tcb, acked: u32) {
        if t.in_slow_start() && t.cwnd_limited() {
            self.hystart.on_growth(t);
        }
        let acked = t.beyond_slow_start(acked);
        if acked > 0 {
            self.update(t, acked);
            t.additive_increase(self.cnt, acked);
        }
    }

    fn set_state(&mut self, t: &mut Tcb, new: CaState) {
        if new == CaState::Loss {
            *self = self.fresh();
            self.hystart.reset(t);
        }
    }

    fn cwnd_event(&mut self, t: &mut Tcb, e: Event) {
        if e == Event::TxStart && self.epoch_start != 0 && self.idle_shift {
            let idle = t.jiffies.wrapping_sub(t.last_sent_jiffies) as i32;
            if idle > 0 {
                self.epoch_start = self.epoch_start.wrapping_add(idle as u32).min(t.jiffies);
            }
        }
    }

    #[inline]
    fn pkts_acked(&mut self, t: &mut Tcb, s: AckSample) {
        if let (Some(ratio), CaState::Open) = (&mut self.ack_ratio, t.state) {
            *ratio = (*ratio - (*ratio >> ACK_RATIO_SHIFT) + s.acked).min(ACK_RATIO_LIMIT);
        }
        if s.rtt_us < 0 {
            return;
        }
        // Just after a fast recovery delays are not to be trusted.
        if self.epoch_start != 0 && (t.jiffies.wrapping_sub(self.epoch_start) as i32) < t.hz as i32 {
            return;
        }
        let delay = (s.rtt_us as u32).max(1);
        if self.delay_min_us == 0 || self.delay_min_us > delay {
            self.delay_min_us = delay;
        }
        if t.in_slow_start() {
            self.hystart.update(t, delay, self.delay_min_us);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cube_root_is_close(a in 64u64..(1 << 46)) {
            let exact = (a as f64).cbrt();
            let got = f64::from(cubic_root(a));
            prop_assert!((got - exact).abs() <= 1.0 + exact * 0.003, "{a}: {got} against {exact}");
        }
    }

    #[test]
    fn the_curve_returns_to_the_plateau_after_k() {
        let mut c = Cubic::with_friendly_unit(1, 1);
        let mut t = Tcb::new(1000, 1, 1000, false);
        t.is_cwnd_limited = true;
        t.cwnd = c.ssthresh(&t);
        assert_eq!(t.cwnd, 700);
        t.jiffies = 5000;
        c.cong_avoid(&mut t, 1);
        // K = cbrt(300 / 0.4) s = 9.09 s
        let k_ms = (u64::from(c.k) * 1000) >> TIME_SHIFT;
        assert!((9050..9120).contains(&k_ms), "{k_ms}");
        for ms in 0..9100u32 {
            t.jiffies = 5000 + ms;
            c.cong_avoid(&mut t, 10);
        }
        assert!((985..=1003).contains(&t.cwnd), "{}", t.cwnd);
    }

    #[test]
    fn fast_convergence_gives_way() {
        let mut c = Cubic::with_friendly_unit(1, 1);
        let mut t = Tcb::new(1000, 1, 1000, false);
        c.ssthresh(&t);
        t.cwnd = 900;
        c.ssthresh(&t);
        assert_eq!(c.last_max_cwnd, 900 * 1741 / 2048);
    }

    /// CUBIC that counts ACKs, of 2 segments each, at a window of 1000 reduced to 700.
    fn counting_acks() -> (Cubic, Tcb) {
        let spec = crate::spec::StackSpec { name: "linux-3.9".into(), options: serde_json::Map::new() };
        let mut c = Cubic::new(&Stack::from_spec(&spec).unwrap());
        let mut t = Tcb::new(1000, 1, 1000, false);
        (t.growth, t.is_cwnd_limited) = (Growth::Acks, true);
        t.cwnd = c.ssthresh(&t);
        t.jiffies = 5000;
        (c, t)
    }

    #[test]
    fn counted_acks_stand_for_their_segments() {
        // Linux 3.9 bictcp_update: cnt = (cnt << 4) / delayed_ack.
        let (mut c, mut t) = counting_acks();
        c.cong_avoid(&mut t, 1);
        let per_two = c.cnt;
        let (mut c, mut t) = counting_acks();
        for _ in 0..500 {
            c.pkts_acked(&mut t, AckSample { acked: 1, rtt_us: -1 });
        }
        // The ratio keeps what its shift loses: 15/16 above one.
        assert_eq!(c.ack_ratio, Some(31));
        (0..500).for_each(|_| c.pkts_acked(&mut t, AckSample { acked: 4, rtt_us: -1 }));
        c.cong_avoid(&mut t, 1);
        assert_eq!((c.ack_ratio, c.cnt), (Some(64), per_two / 2));
    }

    #[test]
    fn the_ratio_is_learnt_in_the_open_state_alone() {
        let (mut c, mut t) = counting_acks();
        t.state = CaState::Disorder;
        c.pkts_acked(&mut t, AckSample { acked: 30, rtt_us: -1 });
        assert_eq!(c.ack_ratio, Some(32));
    }
}
