//! COBALT: CoDel with a decaying count, and BLUE, in parallel (Linux 6.12 net/sched/sch_cake.c).
//!
//! CoDel signals packets that waited longer than a gate, at intervals that shrink with the square root of a count; BLUE
//! drops at random with a probability raised by overflow and lowered by idleness. Each queue has its own state.
//! The gate's term that grows with the number of bulk flows, which is zero unless cake works in ingress mode, is part of the [`Params`] that
//! the tins hand over then.

use crate::packet::{DropCause, Ecn};
use crate::qdisc::ecn::set_ce;
use crate::rng::Rng;
use crate::time::{Duration, Time};

/// Parameters, shared by the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Largest persistent sojourn time, and minimum time between changes of BLUE's probability, ns.
    pub target: Duration,
    /// Initial interval of signals, ns. Only its low 32 bits work, as in Linux.
    pub interval: Duration,
    /// Sojourn above which CoDel counts a packet as late: the target or four full packets, the larger, ns.
    pub gate: Duration,
    /// Increment of BLUE's probability, in units of 2^-32.
    pub p_inc: u32,
    /// Decrement of BLUE's probability, in units of 2^-32.
    pub p_dec: u32,
}

impl Params {
    /// The parameters for a link on which a full packet takes `mtu_time`, from nominal target and interval.
    #[must_use]
    pub fn new(target: Duration, interval: Duration, mtu_time: Duration) -> Self {
        let raised = target.max(mtu_time * 3 / 2);
        Self {
            target: raised,
            interval: (interval + raised - target).max(2 * raised),
            gate: raised.max(4 * mtu_time),
            p_inc: 1 << 24,
            p_dec: 1 << 20,
        }
    }
}

/// COBALT's decision about a departing packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The packet waited longer than the gate.
    pub over_gate: bool,
    /// The packet was marked CE.
    pub ce: bool,
    /// The packet is to be dropped.
    pub drop: Option<DropCause>,
}

/// A time before the run: Linux zeroes these times, and its clock has run for long when a qdisc is created.
const LONG_AGO: i64 = i64::MIN / 4;

/// Counts below this take their reciprocal square root from the table.
const CACHED: usize = 16;

/// 2^32 / sqrt(n), where 0 counts as 1: eight Newton steps each, as Linux's table was made (n = 10 is one unit below it).
static INV_SQRT: [u32; CACHED] = inv_sqrt_table();

const fn inv_sqrt_table() -> [u32; CACHED] {
    let mut table = [u32::MAX; CACHED];
    let mut n = 2;
    while n < table.len() {
        let (mut x, mut steps) = (table[n - 1], 0);
        while steps < 8 {
            x = newton_step(x, n as u32);
            steps += 1;
        }
        table[n] = x;
        n += 1;
    }
    table
}

/// One Newton step towards 2^32 / sqrt(n) from a value nearby.
const fn newton_step(x: u32, n: u32) -> u32 {
    let x = x as u64;
    let square = (x * x) >> 32;
    let correction = (3_u64 << 32).wrapping_sub(n as u64 * square) >> 2;
    (correction.wrapping_mul(x) >> 31) as u32
}

/// State of one queue.
#[derive(Clone, Debug)]
pub struct Cobalt {
    /// Signals' frequency.
    count: u32,
    /// 2^32/sqrt(count). Zero until the count first changes: the first wait of a new queue is no wait at all.
    rec_inv_sqrt: u32,
    /// Time of the next signal; with count 0, the time at which the state has come to rest.
    drop_next: i64,
    /// Last change of `p_drop`.
    blue_timer: i64,
    /// BLUE's probability, in units of 2^-32.
    p_drop: u32,
    /// The last packet was over the gate.
    dropping: bool,
}

impl Cobalt {
    /// The last packet was over the gate.
    #[must_use]
    pub fn is_dropping(&self) -> bool {
        self.dropping
    }

    /// Signals of this episode.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// BLUE's probability.
    #[must_use]
    pub fn probability(&self) -> f64 {
        f64::from(self.p_drop) / f64::from(u32::MAX)
    }
}

impl Default for Cobalt {
    fn default() -> Self {
        Self { count: 0, rec_inv_sqrt: 0, drop_next: LONG_AGO, blue_timer: LONG_AGO, p_drop: 0, dropping: false }
    }
}

impl Cobalt {
    /// Updates the reciprocal square root: exact from the table, else one Newton step from the previous value.
    fn update_inv_sqrt(&mut self) {
        self.rec_inv_sqrt = match INV_SQRT.get(self.count as usize) {
            Some(&exact) => exact,
            None => newton_step(self.rec_inv_sqrt, self.count),
        };
    }

    /// CoDel's control law: interval / sqrt(count) after `t`.
    fn control(&self, t: i64, p: &Params) -> i64 {
        let interval = u64::from(p.interval as u32);
        t + ((interval * u64::from(self.rec_inv_sqrt)) >> 32) as i64
    }

    /// BLUE's timer allows a change.
    fn blue_ready(&self, now: i64, p: &Params) -> bool {
        (now - self.blue_timer) as u64 > p.target
    }

    /// A packet of this queue was dropped because the buffer is full.
    pub fn on_overflow(&mut self, p: &Params, now: Time) {
        let now = now as i64;
        if self.blue_ready(now, p) {
            self.p_drop = self.p_drop.saturating_add(p.p_inc);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue was found empty at its turn.
    pub fn on_idle(&mut self, p: &Params, now: Time) {
        let now = now as i64;
        if self.p_drop > 0 && self.blue_ready(now, p) {
            self.p_drop = self.p_drop.saturating_sub(p.p_dec);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.update_inv_sqrt();
            self.drop_next = self.control(self.drop_next, p);
        }
    }

    /// Nothing is left of earlier congestion: the state may be forgotten.
    #[must_use]
    pub fn at_rest(&self, now: Time) -> bool {
        self.p_drop == 0 && self.count == 0 && now as i64 >= self.drop_next
    }

    /// BLUE drops of this queue.
    pub fn is_unresponsive(&self) -> bool {
        self.p_drop > 0
    }

    /// [`Self::on_departure`] in a function of its own, for a cake with tins: another copy would change which parts of a cake are inlined.
    #[inline(never)]
    pub fn judge(&mut self, p: &Params, now: Time, sojourn: Duration, ecn: &mut Ecn, rng: &mut Rng) -> Signal {
        self.on_departure(p, now, sojourn, ecn, rng)
    }

    /// A packet departs after `sojourn`; marks it CE through `ecn` if it can be.
    #[inline]
    pub fn on_departure(&mut self, p: &Params, now: Time, sojourn: Duration, ecn: &mut Ecn, rng: &mut Rng) -> Signal {
        let now = now as i64;
        let mut late_by = now - self.drop_next;
        let mut due = self.count > 0 && late_by >= 0;
        let mut signal = Signal { over_gate: sojourn > p.gate, ce: false, drop: None };

        if signal.over_gate {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control(now, p);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }

        if due && self.dropping {
            signal.ce = set_ce(ecn);
            if !signal.ce {
                signal.drop = Some(DropCause::Aqm);
            }
            self.count = self.count.saturating_add(1);
            self.update_inv_sqrt();
            self.drop_next = self.control(self.drop_next, p);
            late_by = now - self.drop_next;
        } else {
            while due {
                self.count -= 1;
                self.update_inv_sqrt();
                self.drop_next = self.control(self.drop_next, p);
                late_by = now - self.drop_next;
                due = self.count > 0 && late_by >= 0;
            }
        }

        // BLUE disregards ECN on purpose.
        if self.p_drop > 0 && rng.u32() < self.p_drop {
            signal.drop = signal.drop.or(Some(DropCause::Blue));
        }

        if self.count == 0 {
            self.drop_next = now + p.interval as i64;
        } else if late_by > 0 && signal.drop.is_none() {
            self.drop_next = now;
        }
        signal
    }
}

#[cfg(test)]
mod tests {
    use super::{Cobalt, Params, Signal, INV_SQRT};
    use crate::packet::{DropCause, Ecn};
    use crate::rng::Rng;
    use crate::time::{Duration, Time, MS, SEC};

    /// Spacing of the test's packets, ns: fine against every interval.
    const STEP: Duration = 1_000;

    /// A queue's COBALT with a clock, at 10 Mbit/s unless told.
    struct Lab {
        cobalt: Cobalt,
        p: Params,
        rng: Rng,
    }

    impl Lab {
        fn new() -> Self {
            Self {
                cobalt: Cobalt::default(),
                p: Params::new(5 * MS, 100 * MS, 1_211_200),
                rng: Rng::for_component(1, "port/q"),
            }
        }

        /// A lab whose COBALT has seen one short episode and come to rest again.
        fn rested() -> Self {
            let mut lab = Self::new();
            lab.depart(SEC, 6 * MS, Ecn::Ect0);
            for t in (SEC + STEP..2 * SEC).step_by(MS as usize) {
                lab.depart(t, 0, Ecn::Ect0);
            }
            assert_eq!((lab.cobalt.count, lab.cobalt.rec_inv_sqrt), (0, u32::MAX));
            lab
        }

        fn depart(&mut self, now: Time, sojourn: Duration, mut ecn: Ecn) -> Signal {
            self.cobalt.on_departure(&self.p, now, sojourn, &mut ecn, &mut self.rng)
        }

        /// Times at which packets that depart every STEP in `from..to` with `sojourn` are marked.
        fn marks(&mut self, from: Time, to: Time, sojourn: Duration) -> Vec<Time> {
            (from..to).step_by(STEP as usize).filter(|&t| self.depart(t, sojourn, Ecn::Ect0).ce).collect()
        }
    }

    /// I / sqrt(n), ns.
    fn wait(p: &Params, n: usize) -> f64 {
        p.interval as f64 / (n as f64).sqrt()
    }

    #[test]
    fn derived_quantities_at_the_published_rates() {
        // Rate in Mbit/s; T, I and gate in ms.
        for (rate, target, interval, gate) in [
            (0.5, 36.336, 131.336, 96.896),
            (1.0, 18.168, 113.168, 48.448),
            (2.0, 9.084, 104.084, 24.224),
            (5.0, 5.0, 100.0, 9.6896),
            (10.0, 5.0, 100.0, 5.0),
            (25.0, 5.0, 100.0, 5.0),
            (50.0, 5.0, 100.0, 5.0),
            (100.0, 5.0, 100.0, 5.0),
        ] {
            let mtu_time = (1514.0 * 8.0 / rate * 1e3) as u64;
            let p = Params::new(5 * MS, 100 * MS, mtu_time);
            for (got, ms) in [(p.target, target), (p.interval, interval), (p.gate, gate)] {
                assert!((got as f64 / 1e6 - ms).abs() < 1e-5 * ms, "{rate} Mbit/s: {got} ns, not {ms} ms");
            }
        }
        // The interval is at least twice the target.
        assert_eq!(Params::new(5 * MS, 100 * MS, 200 * MS).interval, 600 * MS);
    }

    #[test]
    fn reciprocal_square_root() {
        assert_eq!(INV_SQRT[..5], [u32::MAX, u32::MAX, 3_037_000_500, 2_479_700_525, 2_147_483_647]);
        assert_eq!(INV_SQRT[15], 1_108_955_788);
        let mut c = Cobalt::default();
        let mut check = |n: u32| {
            c.count = n;
            c.update_inv_sqrt();
            let exact = 4_294_967_296.0 / f64::from(n.max(1)).sqrt();
            assert!((f64::from(c.rec_inv_sqrt) / exact - 1.0).abs() < 2e-3, "{n}: {}", c.rec_inv_sqrt);
        };
        (0..20_000).for_each(&mut check);
        (0..20_000).rev().for_each(&mut check);
    }

    #[test]
    fn cold_start_marks_the_second_packet_over_the_gate() {
        let mut lab = Lab::new();
        assert!(!lab.depart(SEC, 5 * MS + 1, Ecn::Ect0).ce);
        assert!(lab.depart(SEC + 1, 5 * MS + 1, Ecn::Ect0).ce);
        assert_eq!(lab.cobalt.count, 2);
        // Packets below the gate beforehand change nothing about it.
        let mut lab = Lab::new();
        lab.marks(0, 10 * MS, 5 * MS);
        assert_eq!(lab.marks(10 * MS, 20 * MS, 6 * MS), [10 * MS + STEP]);
    }

    #[test]
    fn marks_of_a_new_queue_follow_the_control_law() {
        let mut lab = Lab::new();
        let marks = lab.marks(SEC, 3 * SEC, 6 * MS);
        let mut expected = SEC as f64;
        for (k, &t) in marks.iter().enumerate() {
            if k > 0 {
                expected += wait(&lab.p, k + 1);
            }
            assert!((t as f64 - expected).abs() < 2.0 * STEP as f64 + 1e-3 * (expected - 1e9), "mark {k} at {t}");
        }
        assert!(marks.len() > 100, "{}", marks.len());
    }

    #[test]
    fn a_rested_queue_waits_an_interval_first() {
        let mut lab = Lab::rested();
        let marks = lab.marks(2 * SEC, 3 * SEC, 6 * MS);
        let mut expected = 2e9;
        for (k, &t) in marks.iter().enumerate() {
            expected += wait(&lab.p, k + 1);
            assert!((t as f64 - expected).abs() < 2.0 * STEP as f64 + 1e-3 * (expected - 2e9), "mark {k} at {t}");
        }
        assert!(marks.len() > 20, "{}", marks.len());
    }

    #[test]
    fn one_packet_at_the_gate_restarts_the_wait() {
        let mut lab = Lab::rested();
        assert!(lab.marks(2 * SEC, 2 * SEC + 99 * MS, 6 * MS).is_empty());
        assert!(!lab.depart(2 * SEC + 99 * MS, 5 * MS, Ecn::Ect0).over_gate);
        let restart = 2 * SEC + 99 * MS + STEP;
        assert!(lab.marks(restart, restart + 99 * MS, 6 * MS).is_empty());
        assert_eq!(lab.marks(restart + 99 * MS, restart + 101 * MS, 6 * MS), [restart + 100 * MS]);
    }

    #[test]
    fn count_decays_below_the_gate_by_the_same_law() {
        let mut lab = Lab::new();
        lab.marks(SEC, 2 * SEC, 6 * MS);
        let n = lab.cobalt.count;
        let first = lab.cobalt.drop_next as f64;
        assert!(n > 20, "{n}");
        let mut expected: Vec<f64> = vec![first];
        for j in (1..n as usize).rev() {
            expected.push(expected.last().unwrap() + wait(&lab.p, j));
        }
        let mut count = n;
        for t in (2 * SEC..6 * SEC).step_by(STEP as usize) {
            assert!(!lab.depart(t, 5 * MS, Ecn::Ect0).ce);
            if lab.cobalt.count != count {
                assert_eq!(lab.cobalt.count, count - 1);
                let due = expected[(n - count) as usize];
                assert!((t as f64 - due).abs() < 2.0 * STEP as f64 + 1e-3 * (due - first), "{count} at {t}, not {due}");
                count -= 1;
            }
        }
        assert_eq!(count, 0);
        assert!(lab.cobalt.at_rest(7 * SEC));
    }

    #[test]
    fn a_residual_count_marks_the_first_packet_over_the_gate() {
        let mut lab = Lab::new();
        lab.marks(SEC, 2 * SEC, 6 * MS);
        lab.depart(2 * SEC, 0, Ecn::Ect0);
        let n = lab.cobalt.count;
        assert!(lab.depart(4 * SEC, 6 * MS, Ecn::Ect0).ce);
        assert_eq!(lab.cobalt.count, n + 1);
    }

    #[test]
    fn packets_that_cannot_be_marked_are_dropped_on_the_same_schedule() {
        let (mut marking, mut dropping) = (Lab::rested(), Lab::rested());
        for t in (2 * SEC..3 * SEC).step_by(STEP as usize) {
            let mark = marking.depart(t, 6 * MS, Ecn::Ect1);
            let drop = dropping.depart(t, 6 * MS, Ecn::NotEct);
            assert_eq!((mark.drop, drop.ce), (None, false));
            assert_eq!(drop.drop, mark.ce.then_some(DropCause::Aqm));
        }
    }

    #[test]
    fn overdue_marks_come_one_a_packet_and_drops_keep_the_debt() {
        // Departures 400 ms apart are slower than the control law asks for.
        let due = |ecn| {
            let mut lab = Lab::rested();
            lab.depart(2 * SEC, 6 * MS, ecn);
            let signal = lab.depart(2 * SEC + 400 * MS, 6 * MS, ecn);
            assert!(signal.ce || signal.drop.is_some());
            lab.cobalt.drop_next as u64
        };
        assert_eq!(due(Ecn::Ect0), 2 * SEC + 400 * MS);
        assert_eq!(due(Ecn::NotEct), 2 * SEC + 99_999_999 + 70_710_678);
    }

    #[test]
    fn idle_steps_count_down() {
        let mut lab = Lab::new();
        lab.marks(SEC, SEC + 200 * MS, 6 * MS);
        let n = lab.cobalt.count;
        let due = lab.cobalt.drop_next;
        lab.cobalt.on_idle(&lab.p, due as u64 - 1);
        assert_eq!((lab.cobalt.count, lab.cobalt.drop_next), (n, due));
        for left in (0..n).rev() {
            let now = lab.cobalt.drop_next as u64;
            assert!(!lab.cobalt.at_rest(now));
            lab.cobalt.on_idle(&lab.p, now);
            assert_eq!(lab.cobalt.count, left);
        }
        let rest = lab.cobalt.drop_next as u64;
        assert!(!lab.cobalt.at_rest(rest - 1) && lab.cobalt.at_rest(rest));
    }

    #[test]
    fn blue_moves_at_most_once_a_target() {
        let mut lab = Lab::new();
        let inc = 1 << 24;
        lab.cobalt.on_overflow(&lab.p, 0);
        assert_eq!(lab.cobalt.p_drop, inc);
        lab.cobalt.on_overflow(&lab.p, 5 * MS);
        assert_eq!(lab.cobalt.p_drop, inc);
        lab.cobalt.on_overflow(&lab.p, 5 * MS + 1);
        assert_eq!(lab.cobalt.p_drop, 2 * inc);
        lab.cobalt.on_idle(&lab.p, 10 * MS + 1);
        assert_eq!(lab.cobalt.p_drop, 2 * inc);
        lab.cobalt.on_idle(&lab.p, 10 * MS + 2);
        assert_eq!(lab.cobalt.p_drop, 2 * inc - (1 << 20));
        for k in 1..300 {
            lab.cobalt.on_overflow(&lab.p, k * SEC);
        }
        assert_eq!(lab.cobalt.p_drop, u32::MAX);
    }

    #[test]
    fn blue_drops_the_asked_share_of_packets_whatever_their_ecn() {
        let mut lab = Lab::new();
        for k in 0..32 {
            lab.cobalt.on_overflow(&lab.p, k * 6 * MS);
        }
        let dropped =
            (0..80_000_u64).filter(|k| lab.depart(SEC + k * STEP, 0, Ecn::Ect0).drop == Some(DropCause::Blue));
        let share = dropped.count() as f64 / 80_000.0;
        // Five standard deviations around 32/256.
        assert!((share - 0.125).abs() < 5.0 * (0.125_f64 * 0.875 / 80_000.0).sqrt(), "{share}");
    }
}
