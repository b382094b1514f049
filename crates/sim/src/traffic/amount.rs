//! Sizes and times that an application takes one after the other: always the same, or drawn. Each has a random stream of its own, so that
//! neither another one nor the network shifts its draws.

use crate::draw::Distribution;
use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::spec::DistributionSpec;
use crate::time::{Time, MAX_TIME};

use super::site::MAX_RESPONSE;

/// Something that is taken again and again.
#[derive(Clone, Debug)]
pub struct Amount {
    distribution: Distribution,
    rng: Rng,
}

impl Amount {
    /// Return the amounts that an application draws for its `what`. `name` is the first connection of its session.
    ///
    /// # Errors
    /// A `spec` that describes no distribution.
    pub fn build(spec: &DistributionSpec, seed: u64, name: &str, what: &str) -> Result<Self, Flaws> {
        let rng = Rng::for_component(seed, &format!("application/{name}/{what}"));
        Ok(Self { distribution: Distribution::build(spec)?, rng })
    }

    /// The next size, bytes: neither nothing nor more than there are numbers for.
    pub fn size(&mut self) -> u64 {
        self.distribution.draw(&mut self.rng).clamp(1, MAX_RESPONSE)
    }

    /// The next time, ns: no longer than a run.
    pub fn time(&mut self) -> Time {
        self.distribution.draw(&mut self.rng).min(MAX_TIME)
    }
}

/// Check an amount. A `spec` that is no distribution is an error, and so is a plain size outside 1 to `most` bytes.
pub fn check_size(field: &str, spec: &DistributionSpec, most: u64) -> Result<(), Flaws> {
    let mut flaws = Flaws::default();
    if let DistributionSpec::Fixed(bytes) = *spec {
        flaws.range(field, bytes, "bytes", 1..=most);
    }
    flaws.and(Flaws::within(field, Distribution::build(spec).map(|_| ())))
}
