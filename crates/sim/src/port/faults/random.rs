//! Random numbers that depend on the one before (Linux 6.12 net/sched/sch_netem.c, `get_crandom`).

use crate::rng::Rng;
use crate::spec::{Chance, ShareSpec};

/// A stream of 32-bit numbers, each of which is near the one before by as much as they are correlated. They are no longer uniform then.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    rng: Rng,
    correlation: Chance,
    last: u32,
}

impl Numbers {
    /// The stream of one fault of a port.
    pub fn new(mut rng: Rng, correlation: Chance) -> Self {
        let last = if correlation == 0 { 0 } else { rng.u32() };
        Self { rng, correlation, last }
    }

    /// The next number.
    pub fn draw(&mut self) -> u32 {
        let value = self.rng.u32();
        if self.correlation == 0 {
            return value;
        }
        let weight = u64::from(self.correlation) + 1;
        // Both weights together are 2^32, so that the sum has 64 bits.
        let sum = u64::from(value) * ((1 << 32) - weight) + u64::from(self.last) * weight;
        self.last = (sum >> 32) as u32;
        self.last
    }
}

/// A fault that hits a share of the packets.
#[derive(Clone, Debug)]
pub(super) struct Share {
    share: Chance,
    numbers: Numbers,
}

impl Share {
    /// Make the fault that `spec` describes.
    pub fn new(spec: ShareSpec, rng: Rng) -> Self {
        Self { share: spec.share, numbers: Numbers::new(rng, spec.correlation) }
    }

    /// True if the fault hits the next packet.
    pub fn draw(&mut self) -> bool {
        self.share > 0 && self.share >= self.numbers.draw()
    }
}
