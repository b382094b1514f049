//! The fate of a packet: a classic packet is marked or dropped with probability p_C = p'^2, a packet of the L4S queue is marked with
//! p_CL = k p', besides the marks that the queue's own delay asks for.
//!
//! Linux 7.3 net/sched/sch_dualpi2.c (`must_drop`, `dualpi2_classic_marking`, `dualpi2_scalable_marking`, `do_step_aqm`) draws a random
//! number for each probability, and tests the delay apart. RFC 9332, Appendix A.2, adds probabilities up to certainty, and takes the
//! maximum of the two of an L4S packet.

use super::pi::{Controller, MAX_PROB};
use crate::rng::Rng;
use crate::time::Time;

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// Nothing.
    Pass,
    /// A CE mark by the coupled probability; a packet that is not ECN-capable is dropped.
    Mark,
    /// A CE mark by the delay of the L4S queue itself; a packet that is not ECN-capable is dropped.
    Native,
    /// A drop.
    Drop,
}

/// The threshold of the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Sojourn time, ns.
    Time(u64),
    /// Packets that the L4S queue has left.
    Packets(usize),
}

impl Step {
    /// A packet that waited for `sojourn` leaves `rest` packets behind.
    #[inline]
    pub fn is_beyond(self, sojourn: Time, rest: usize) -> bool {
        match self {
            Self::Time(most) => sojourn > most,
            Self::Packets(most) => rest > most,
        }
    }
}

/// Linux's decisions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Random {
    /// k.
    pub factor: u32,
    /// Drops packets of both queues once k p' is above 1.
    pub drop_on_overload: bool,
}

/// True with this probability; 0 is hit once in 2^32.
#[inline]
fn roll(prob: u32, rng: &mut Rng) -> bool {
    rng.u32() <= prob
}

/// True with the square of this probability.
#[inline]
fn roll_twice(prob: u32, rng: &mut Rng) -> bool {
    roll(prob, rng) && roll(prob, rng)
}

impl Random {
    /// k p', units of 2^-32: above 2^32 - 1 on overload.
    #[inline]
    fn coupled(self, prob: u32) -> u64 {
        u64::from(prob) * u64::from(self.factor)
    }

    /// The fate of a packet of the classic queue.
    #[inline]
    pub fn classic(self, prob: u32, rng: &mut Rng) -> Signal {
        if !roll_twice(prob, rng) {
            Signal::Pass
        } else if self.coupled(prob) > u64::from(MAX_PROB) {
            Signal::Drop
        } else {
            Signal::Mark
        }
    }

    /// The coupled fate of a packet of the L4S queue.
    #[inline]
    pub fn l4s(self, prob: u32, rng: &mut Rng) -> Signal {
        match u32::try_from(self.coupled(prob)) {
            Ok(coupled) if roll(coupled, rng) => Signal::Mark,
            Ok(_) => Signal::Pass,
            Err(_) if self.drop_on_overload && roll_twice(prob, rng) => Signal::Drop,
            Err(_) => Signal::Mark,
        }
    }
}

/// Sums of probabilities: a packet is hit when its queue's sum exceeds 1.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum(f64);

impl Sum {
    #[inline]
    fn is_hit(&mut self, likelihood: f64) -> bool {
        self.0 += likelihood;
        let hit = self.0 > 1.0;
        if hit {
            self.0 -= 1.0;
        }
        hit
    }
}

/// The RFC's decisions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deterministic {
    /// k.
    pub factor: f64,
    /// Delays at which the ramp begins and ends, ns.
    pub ramp: [u64; 2],
    /// Sums of the L4S and the classic queue.
    pub sums: [Sum; 2],
}

/// Certainty of marks, from which on packets of both queues are dropped.
const MOST_COUPLED: f64 = 1.0;

impl Deterministic {
    /// The probability of a mark by the delay of the L4S queue.
    pub fn native(&self, delay: Time) -> f64 {
        let [from, to] = self.ramp;
        if delay >= to {
            1.0
        } else if delay > from {
            (delay - from) as f64 / (to - from) as f64
        } else {
            0.0
        }
    }

    /// The fate of a packet of the classic queue.
    #[inline]
    pub fn classic(&mut self, pi: &Controller) -> Signal {
        let base = pi.ratio();
        if !self.sums[1].is_hit(base * base) {
            Signal::Pass
        } else if base * self.factor >= MOST_COUPLED {
            Signal::Drop
        } else {
            Signal::Mark
        }
    }

    /// The fate of a packet of the L4S queue, whose delay is `delay`.
    #[inline]
    pub fn l4s(&mut self, pi: &Controller, delay: Time) -> Signal {
        let base = pi.ratio();
        let coupled = base * self.factor;
        let sum = &mut self.sums[0];
        if coupled < MOST_COUPLED {
            let native = self.native(delay);
            let sum = &mut self.sums[0];
            return match (sum.is_hit(native.max(coupled)), native > coupled) {
                (false, _) => Signal::Pass,
                (true, true) => Signal::Native,
                (true, false) => Signal::Mark,
            };
        }
        if sum.is_hit(base * base) {
            Signal::Drop
        } else if sum.is_hit(coupled) {
            Signal::Mark
        } else {
            Signal::Pass
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Deterministic, Random, Signal, Step, Sum, MAX_PROB};
    use crate::qdisc::dualpi2::pi::Controller;
    use crate::rng::Rng;
    use crate::time::{MS, US};

    const DRAWS: u32 = 200_000;

    /// The share of packets with a fate.
    fn share(mut fate: impl FnMut(&mut Rng) -> bool) -> f64 {
        let mut rng = Rng::for_component(7, "coupling");
        f64::from((0..DRAWS).filter(|_| fate(&mut rng)).count() as u32) / f64::from(DRAWS)
    }

    #[test]
    fn classic_packets_have_the_square_and_l4s_packets_k_times_the_base_probability() {
        let law = Random { factor: 2, drop_on_overload: true };
        for base in [0.01, 0.05, 0.1, 0.3, 0.49] {
            let prob = (base * f64::from(MAX_PROB)) as u32;
            let classic = share(|rng| law.classic(prob, rng) == Signal::Mark);
            let l4s = share(|rng| law.l4s(prob, rng) == Signal::Mark);
            let sigma = |p: f64| (p * (1.0 - p) / f64::from(DRAWS)).sqrt();
            assert!((classic - base * base).abs() < 4.0 * sigma(base * base), "{base}: {classic}");
            assert!((l4s - 2.0 * base).abs() < 4.0 * sigma(2.0 * base), "{base}: {l4s}");
        }
    }

    #[test]
    fn on_overload_both_are_dropped_alike_and_the_rest_of_l4s_is_marked() {
        let law = Random { factor: 2, drop_on_overload: true };
        let prob = MAX_PROB / 100 * 60;
        let classic = share(|rng| law.classic(prob, rng) == Signal::Drop);
        let dropped = share(|rng| law.l4s(prob, rng) == Signal::Drop);
        assert!((classic - 0.36).abs() < 0.005 && (dropped - 0.36).abs() < 0.005, "{classic} {dropped}");
        assert!(share(|rng| law.l4s(prob, rng) == Signal::Pass) == 0.0);
        let tolerant = Random { drop_on_overload: false, ..law };
        assert!(share(|rng| tolerant.l4s(prob, rng) == Signal::Mark) == 1.0);
    }

    #[test]
    fn a_second_number_is_drawn_only_if_the_first_hits() {
        let law = Random { factor: 2, drop_on_overload: true };
        let drawn = |prob: u32, l4s: bool| {
            let (mut rng, mut same) = (Rng::for_component(3, "draws"), Rng::for_component(3, "draws"));
            let _ = if l4s { law.l4s(prob, &mut rng) } else { law.classic(prob, &mut rng) };
            let next = rng.u32();
            (0..4).find(|_| same.u32() == next).unwrap()
        };
        assert_eq!((drawn(0, false), drawn(0, true)), (1, 1));
        assert_eq!((drawn(MAX_PROB, false), drawn(MAX_PROB, true), drawn(MAX_PROB / 2, true)), (2, 2, 1));
    }

    #[test]
    fn the_step_is_by_time_or_by_packets() {
        assert!(!Step::Time(MS).is_beyond(MS, 9) && Step::Time(MS).is_beyond(MS + 1, 0));
        assert!(!Step::Packets(5).is_beyond(MS, 5) && Step::Packets(5).is_beyond(0, 6));
    }

    #[test]
    fn sums_hit_as_often_as_they_are_likely_without_chance() {
        let mut sum = Sum::default();
        assert_eq!((0..1000).filter(|_| sum.is_hit(0.25)).count(), 249);
        let mut sum = Sum::default();
        let hits: Vec<usize> = (0..12).filter(|_| sum.is_hit(0.3)).collect();
        assert_eq!(hits, [3, 6, 10]);
    }

    #[test]
    fn the_rfc_takes_the_maximum_of_ramp_and_coupling() {
        let mut law = Deterministic { factor: 2.0, ramp: [800 * US, 1200 * US], sums: [Sum::default(); 2] };
        assert_eq!([800, 900, 1000, 1200].map(|us| law.native(us * US)), [0.0, 0.25, 0.5, 1.0]);
        let mut pi = Controller::rfc(15 * MS, 15 * MS, [38, 768]);
        // p' of about 0.078 after one update at 40 ms: coupled 0.25.
        pi.run(15 * MS, [Some(0), None]);
        let coupled = 2.0 * pi.ratio();
        let mut count = |delay, fate| {
            law.sums = [Sum::default(); 2];
            (0..10_000).filter(|_| law.l4s(&pi, delay) == fate).count() as f64 / 10_000.0
        };
        assert!((count(0, Signal::Mark) - coupled).abs() < 1e-3);
        assert!((count(1000 * US, Signal::Native) - 0.5).abs() < 1e-3 && count(1000 * US, Signal::Mark) == 0.0);
        let classic = (0..100_000).filter(|_| law.classic(&pi) == Signal::Mark).count() as f64 / 1e5;
        assert!((classic - pi.ratio() * pi.ratio()).abs() < 1e-4);
    }
}
