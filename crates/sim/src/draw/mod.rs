//! Draws sizes and times from distributions: the same numbers on every machine.
//!
//! Exponential numbers come from comparisons alone ([`exponential`]). A logarithm, a power or a cosine is that of the `libm` crate, which
//! computes in software with operations that IEEE 754 defines to the last bit. A draw is a whole number: the distribution's number is
//! rounded down. So the mean of the draws is half a unit (ns, bytes) below the distribution's, except where it is uniform.

mod exponential;
#[cfg(test)]
mod tests;

use std::f64::consts::TAU;

pub use exponential::exponential;

use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::spec::{DistributionSpec, DrawnSpec, PartSpec};

/// Maximum distance of a sum of shares from 1.
const ROUNDING: f64 = 1e-9;

/// Something that numbers are drawn from.
#[derive(Clone, Debug)]
pub struct Distribution(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Fixed(u64),
    Exponential {
        mean: u64,
    },
    Uniform {
        low: u64,
        /// Numbers from the minimum to the maximum; 0 stands for 2^64.
        numbers: u64,
    },
    Lognormal {
        median: f64,
        sigma: f64,
    },
    Pareto {
        least: f64,
        /// The share of a Pareto distribution without an end that lies before the end.
        before_end: f64,
        exponent: f64,
        most: u64,
    },
    /// The share of draws up to and including each part, and the part.
    Mixture(Vec<(f64, Kind)>),
    /// The share up to each value, and the value.
    Empirical(Vec<(f64, f64)>),
}

impl Distribution {
    /// Build the distribution that `spec` describes.
    ///
    /// # Errors
    /// A `spec` that describes no distribution.
    pub fn build(spec: &DistributionSpec) -> Result<Self, Flaws> {
        kind(spec).map(Self)
    }

    /// The next number.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        self.0.draw(rng)
    }
}

impl Kind {
    fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Self::Fixed(value) => *value,
            Self::Exponential { mean } => exponential(rng, *mean),
            Self::Uniform { low, numbers: 0 } => low + rng.u64(),
            Self::Uniform { low, numbers } => {
                low + ((u128::from(*numbers) * u128::from(rng.u64())) >> u64::BITS) as u64
            }
            // Numbers too large for the type become its largest.
            Self::Lognormal { median, sigma } => (median * libm::exp(sigma * normal(rng))) as u64,
            Self::Pareto { least, before_end, exponent, most } => {
                ((least * libm::pow(1.0 - share(rng) * before_end, *exponent)) as u64).min(*most)
            }
            Self::Mixture(parts) => {
                let u = share(rng);
                let part = parts.iter().position(|&(up_to, _)| u < up_to).unwrap_or(parts.len() - 1);
                parts[part].1.draw(rng)
            }
            Self::Empirical(points) => {
                let u = share(rng);
                let next = points.partition_point(|&(up_to, _)| up_to <= u).min(points.len() - 1);
                let Some(&(from, low)) = next.checked_sub(1).map(|before| &points[before]) else {
                    return points[0].1 as u64;
                };
                let (to, high) = points[next];
                (low + (high - low) * ((u - from) / (to - from))) as u64
            }
        }
    }
}

/// A uniform number from 0 to below 1, in steps of 2^-53.
fn share(rng: &mut Rng) -> f64 {
    (rng.u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// A normally distributed number with mean 0 and standard deviation 1 (Box and Muller, A note on the generation of random normal deviates,
/// 1958; only one of the two that the method gives, so that a draw depends on nothing before it).
fn normal(rng: &mut Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - share(rng)));
    radius * libm::cos(TAU * share(rng))
}

fn kind(spec: &DistributionSpec) -> Result<Kind, Flaws> {
    let spec = match spec {
        DistributionSpec::Fixed(value) => return Ok(Kind::Fixed(*value)),
        DistributionSpec::Drawn(spec) => spec,
    };
    let mut flaws = Flaws::default();
    let made = match spec {
        DrawnSpec::Exponential { mean } => Kind::Exponential { mean: *mean },
        DrawnSpec::Uniform { low, high } => {
            flaws.at_least("high", *high, "", *low);
            Kind::Uniform { low: *low, numbers: high.saturating_sub(*low).wrapping_add(1) }
        }
        DrawnSpec::Lognormal { median, sigma } => {
            if !(sigma.is_finite() && *sigma >= 0.0) {
                flaws.add("sigma", sigma, "at least 0");
            }
            Kind::Lognormal { median: *median as f64, sigma: *sigma }
        }
        DrawnSpec::Pareto { shape, least, most } => {
            if !(shape.is_finite() && *shape > 0.0) {
                flaws.add("shape", shape, "above 0");
            }
            flaws.at_least("least", *least, "", 1);
            flaws.at_least("most", *most, "", *least);
            let before_end = 1.0 - libm::pow(*least as f64 / *most as f64, *shape);
            Kind::Pareto { least: *least as f64, before_end, exponent: -1.0 / shape, most: *most }
        }
        DrawnSpec::Mixture { parts } => return mixture(parts),
        DrawnSpec::Empirical { points } => {
            check_points(points, &mut flaws);
            Kind::Empirical(points.iter().map(|&(value, share)| (share, value as f64)).collect())
        }
    };
    flaws.done().map(|()| made)
}

fn mixture(parts: &[PartSpec]) -> Result<Kind, Flaws> {
    let mut flaws = Flaws::default();
    let (mut up_to, mut made) = (0.0_f64, Vec::with_capacity(parts.len()));
    for (i, part) in parts.iter().enumerate() {
        if !(part.share >= 0.0 && part.share <= 1.0) {
            flaws.add(&format!("parts.{i}.share"), part.share, "0 to 1");
        }
        up_to += part.share;
        made.push((up_to, Flaws::within(&format!("parts.{i}.of"), kind(&part.of))?));
    }
    if up_to.is_nan() || (up_to - 1.0).abs() > ROUNDING {
        flaws.add("parts", format_args!("shares of {up_to} together"), 1);
    }
    flaws.done().map(|()| Kind::Mixture(made))
}

fn check_points(points: &[(u64, f64)], flaws: &mut Flaws) {
    for (i, &(value, share)) in points.iter().enumerate() {
        let (before, share_before) = i.checked_sub(1).map_or((0, 0.0), |before| points[before]);
        if !(share >= share_before && share <= 1.0) || value < before {
            flaws.add(
                &format!("points.{i}"),
                format_args!("{value} with a share of {share}"),
                "rising numbers and shares",
            );
        }
    }
    if points.last().is_none_or(|&(_, share)| share != 1.0) {
        flaws.add("points", "no number with a share of 1", "one, the last");
    }
}
