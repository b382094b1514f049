//! The SCE ramp of the 2019 reference implementation of draft-morton-tsvwg-sce: each departing packet is marked with a
//! probability that depends on its sojourn time alone.
//!
//! Keyword to parameter: absent 0, `sce` 1, `sce-thresh k` k, `sce-single` 65535. All in integers, as the reference has it.
//! Beside it 65534: `sce-single` with the slope of `sce`, which draft-heist-tsvwg-sce-one-and-two-flow-tests-00 says it has.

use crate::packet::Ecn;
use crate::qdisc::ecn::set_sce;
use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::time::Duration;

/// Probability one, in units of 2^-32.
const ONE: u32 = u32::MAX;
/// Largest parameter with a ramp below the target.
const MOST_THRESH: u32 = 1024;
/// A ramp that begins at the target.
const SINGLE: u32 = 65535;
/// The same, as steep as the default one.
const SINGLE_STEEP: u32 = 65534;

/// A ramp: two straight lines of probability over sojourn time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ramp {
    target: Duration,
    half: Duration,
    /// Probability at the target.
    knee: u32,
    /// Slope below the CE gate, from half the target on, per ns.
    low: u32,
    /// Slope above the CE gate, from the target on, per ns.
    high: u32,
}

impl Ramp {
    /// The ramp of parameter `sce` around COBALT's `target` (at least 2 ns).
    ///
    /// # Errors
    /// A parameter that no keyword gives.
    pub fn new(sce: u32, target: Duration) -> Result<Self, Flaws> {
        let half = target / 2;
        let slope = |rise: u32, run: u64| (u64::from(rise) / run) as u32;
        let (knee, low, high) = match sce {
            0 => (0, 0, 0),
            1..=MOST_THRESH => {
                let knee = ONE / sce;
                (knee, slope(knee, half), slope(ONE - knee, target))
            }
            SINGLE => (0, 0, slope(ONE, target)),
            SINGLE_STEEP => (0, 0, slope(ONE, half)),
            _ => return Err(Flaws::one("sce", format_args!("{sce} is out of range"), "0 to 1024, 65534 or 65535")),
        };
        Ok(Self { target, half, knee, low, high })
    }

    /// Probability of a mark in units of 2^-32; certain if it exceeds `u32::MAX`. Sojourns up to half the target give 0.
    #[inline]
    fn probability(&self, sojourn: Duration, over_gate: bool) -> u64 {
        if over_gate {
            u64::from(self.knee) + u64::from(self.high).saturating_mul(sojourn - self.target)
        } else {
            u64::from(self.low).saturating_mul(sojourn.saturating_sub(self.half))
        }
    }

    /// Decides about a departing packet, after COBALT did; true if it carries SCE afterwards.
    #[inline]
    pub fn on_departure(&self, sojourn: Duration, over_gate: bool, ecn: &mut Ecn, rng: &mut Rng) -> bool {
        if sojourn <= self.half {
            return false;
        }
        let p = self.probability(sojourn, over_gate);
        if p == 0 {
            return false;
        }
        // The draw is unpredictable: its outcome selects a value, not a branch.
        let wanted = p > u64::from(ONE) || u64::from(rng.u32()) < p;
        let mut marked = *ecn;
        let done = set_sce(&mut marked) & wanted;
        *ecn = if done { marked } else { *ecn };
        done
    }
}

#[cfg(test)]
mod tests {
    use super::{Ramp, ONE};
    use crate::packet::Ecn;
    use crate::qdisc::cake::cobalt::Params;
    use crate::rng::Rng;
    use crate::time::MS;

    /// Ramp and COBALT parameters at a rate in bit/s, and the time of a full packet.
    fn at_rate(sce: u32, bps: u64) -> (Ramp, Params, u64) {
        let tau = 1514 * 8 * 1_000_000_000 / bps;
        let p = Params::new(5 * MS, 100 * MS, tau);
        (Ramp::new(sce, p.target).unwrap(), p, tau)
    }

    /// Probability at a sojourn, with the gate's own verdict.
    fn probability(ramp: &Ramp, p: &Params, sojourn: u64) -> f64 {
        ramp.probability(sojourn, sojourn > p.gate) as f64 / f64::from(ONE)
    }

    #[test]
    fn precomputed_integers() {
        let of = |sce| {
            let ramp = Ramp::new(sce, 5 * MS).unwrap();
            (ramp.knee, ramp.low, ramp.high)
        };
        assert_eq!(of(0), (0, 0, 0));
        assert_eq!(of(1), (4_294_967_295, 1717, 0));
        assert_eq!(of(2), (2_147_483_647, 858, 429));
        assert_eq!(of(1024), (4_194_303, 1, 858));
        assert_eq!(of(65535), (0, 0, 858));
        assert_eq!(of(65534), (0, 0, 1717));
        assert_eq!(Ramp::new(1025, 5 * MS).unwrap_err().fields(), ["sce"]);
    }

    #[test]
    fn exact_probabilities() {
        let of = |sce, sojourn, over| Ramp::new(sce, 5 * MS).unwrap().probability(sojourn, over);
        assert_eq!(of(1, 2_500_000, false), 0);
        assert_eq!(of(1, 2_500_001, false), 1717);
        assert_eq!(of(1, 5_000_000, false), 1717 * 2_500_000);
        assert_eq!(of(1, 5_000_001, true), 4_294_967_295);
        assert_eq!(of(4, 7_500_000, true), 1_073_741_823 + 644 * 2_500_000);
        assert_eq!(of(4, 7_500_000, false), 429 * 5_000_000);
        assert_eq!(of(65535, 7_500_000, false), 0);
        assert_eq!(of(65535, 7_500_000, true), 858 * 2_500_000);
        assert_eq!(of(65534, 7_500_000, true), 1717 * 2_500_000);
        assert_eq!(of(0, 50_000_000, true), 0);
    }

    #[test]
    fn default_ramp_loses_at_most_two_permille_to_truncation() {
        for bps in [500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 100_000_000] {
            let (ramp, p, _) = at_rate(1, bps);
            let top = probability(&ramp, &p, p.target);
            assert!((0.997..=1.0).contains(&top), "{bps}: {top}");
            assert!((probability(&ramp, &p, p.target * 3 / 4) - 0.5).abs() < 2e-3);
            assert!(ramp.probability(p.gate + 1, true) >= u64::from(ONE));
        }
    }

    #[test]
    fn ramp_in_units_of_queued_packets() {
        // Rate, packets found waiting, probability of a mark.
        for (bps, waiting, expected) in [
            (500_000, 1, 1.0 / 3.0),
            (1_000_000, 1, 1.0 / 3.0),
            (2_000_000, 1, 1.0 / 3.0),
            (3_600_000, 1, 1.0 / 3.0),
            (1_000_000, 2, 1.0),
            (2_000_000, 2, 1.0),
            (5_000_000, 1, 0.0),
            (5_000_000, 2, 0.938),
            (10_000_000, 3, 0.453),
            (10_000_000, 4, 0.938),
        ] {
            let (ramp, p, tau) = at_rate(1, bps);
            let got = probability(&ramp, &p, waiting * tau).min(1.0);
            assert!((got - expected).abs() < 2e-3, "{bps} bit/s, {waiting} waiting: {got}, not {expected}");
        }
    }

    #[test]
    fn single_ramp_jumps_at_the_gate() {
        for (bps, expected) in [(2_000_000, 1.0), (3_600_000, 1.0), (5_000_000, 0.938), (10_000_000, 0.0)] {
            let (ramp, p, _) = at_rate(65535, bps);
            assert_eq!(probability(&ramp, &p, p.gate), 0.0);
            let above = probability(&ramp, &p, p.gate + 1).min(1.0);
            assert!((above - expected).abs() < 2e-3, "{bps}: {above}");
        }
        // Probability one is reached at twice the target.
        let (ramp, p, _) = at_rate(65535, 10_000_000);
        assert!((probability(&ramp, &p, 2 * p.target) - 1.0).abs() < 2e-3);
    }

    #[test]
    fn thresh_ramp_passes_its_knee_at_the_target() {
        for n in [1, 2, 4, 32, 1024] {
            let (ramp, p, _) = at_rate(n, 50_000_000);
            let knee = 1.0 / f64::from(n);
            // Whole units of 2^-32 per ns: coarse only where the slope is a few units.
            let slack = 1e-9 + 2.6e6 / f64::from(ONE);
            assert!((probability(&ramp, &p, p.target) - knee).abs() < slack, "{n}");
            assert!((probability(&ramp, &p, 2 * p.target) - 1.0).abs() < 2.0 * slack, "{n}");
        }
    }

    #[test]
    fn marked_fraction_follows_the_ramp() {
        const DRAWS: u32 = 40_000;
        let mut rng = Rng::for_component(3, "port/q");
        // Parameter, sojourn in us, fraction at 50 Mbit/s.
        for (sce, us, expected) in [
            (1, 2_500, 0.0),
            (1, 3_000, 0.2),
            (1, 3_750, 0.5),
            (1, 4_500, 0.8),
            (1, 5_001, 1.0),
            (1, 50_000, 1.0),
            (4, 3_750, 0.125),
            (4, 7_500, 0.625),
            (4, 10_100, 1.0),
            (65535, 4_900, 0.0),
            (65535, 6_000, 0.2),
            (65535, 9_000, 0.8),
            (0, 50_000, 0.0),
        ] {
            let (ramp, p, _) = at_rate(sce, 50_000_000);
            let sojourn = us * 1_000;
            let mut marked = 0;
            for _ in 0..DRAWS {
                let mut ecn = Ecn::Ect0;
                let sce = ramp.on_departure(sojourn, sojourn > p.gate, &mut ecn, &mut rng);
                assert_eq!(sce, ecn == Ecn::Ect1);
                marked += u32::from(sce);
            }
            let got = f64::from(marked) / f64::from(DRAWS);
            // Five standard deviations and the truncation; exact at the ends.
            let slack = if expected == 0.0 || expected == 1.0 {
                0.0
            } else {
                2e-3 + 5.0 * (expected * (1.0 - expected) / f64::from(DRAWS)).sqrt()
            };
            assert!((got - expected).abs() <= slack, "{sce} at {us} us: {got}, not {expected}");
        }
    }

    #[test]
    fn only_capable_packets_are_marked() {
        let ramp = Ramp::new(1, 5 * MS).unwrap();
        let mut rng = Rng::for_component(3, "port/q");
        for (before, marked, after) in [
            (Ecn::NotEct, false, Ecn::NotEct),
            (Ecn::Ect0, true, Ecn::Ect1),
            (Ecn::Ect1, true, Ecn::Ect1),
            (Ecn::Ce, false, Ecn::Ce),
        ] {
            let mut ecn = before;
            assert_eq!(ramp.on_departure(20 * MS, true, &mut ecn, &mut rng), marked);
            assert_eq!(ecn, after);
        }
    }
}
