//! Distributions that sizes and times are drawn from, in bytes or ns.

use serde::{Deserialize, Serialize};

/// A number, or the distribution that it is drawn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DistributionSpec {
    /// Always the same.
    Fixed(u64),
    /// Drawn each time.
    Drawn(DrawnSpec),
}

impl From<u64> for DistributionSpec {
    fn from(value: u64) -> Self {
        Self::Fixed(value)
    }
}

/// The source of drawn numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DrawnSpec {
    /// Exponential.
    Exponential {
        /// Its mean.
        mean: u64,
    },
    /// Whole numbers, each as likely as any other.
    Uniform {
        /// The minimum.
        low: u64,
        /// The largest.
        high: u64,
    },
    /// The exponential of a normal distribution.
    Lognormal {
        /// Half of all are below.
        median: u64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// Pareto with an end: the density falls with the power `shape` + 1, and nothing lies beyond `most`.
    Pareto {
        /// Often called alpha.
        shape: f64,
        /// Minimum, where the density begins.
        least: u64,
        /// Maximum, where the density is cut off.
        most: u64,
    },
    /// Sometimes one, sometimes another.
    Mixture {
        /// The distributions in the mixture.
        parts: Vec<PartSpec>,
    },
    /// Measured: numbers and the share of all that is no larger, linear between them.
    Empirical {
        /// In rising order; the last share is 1. A first share above 0 is of the first number itself.
        points: Vec<(u64, f64)>,
    },
}

/// A part of a mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartSpec {
    /// Its share of all draws; the shares of a mixture add up to 1.
    pub share: f64,
    /// The distribution that is then drawn from.
    pub of: DistributionSpec,
}
