//! Random streams. A stream belongs to a component: its seed is a hash of the run's seed and the component's
//! path, so adding a component does not shift the others.

use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg32;

/// The generator of one component.
#[derive(Clone, Debug)]
pub struct Rng(Pcg32);

impl Rng {
    /// The stream of component `path` in a run with `seed`.
    #[must_use]
    pub fn for_component(seed: u64, path: &str) -> Self {
        // FNV-1a over the seed's bytes and the path: stable across platforms, unlike std's hasher.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in seed.to_le_bytes().into_iter().chain(path.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Self(Pcg32::seed_from_u64(hash))
    }

    /// A uniform 32-bit integer.
    pub fn u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// An integer from 0 to `choices` - 1, as `get_random_u32_below` draws it, but for its rejections.
    pub fn below(&mut self, choices: u32) -> u32 {
        ((u64::from(self.u32()) * u64::from(choices)) >> 32) as u32
    }

    /// A uniform 64-bit integer.
    pub fn u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn streams_are_repeatable_and_distinct() {
        let draw = |seed, path| Rng::for_component(seed, path).u64();
        assert_eq!(draw(1, "port/a"), draw(1, "port/a"));
        assert_ne!(draw(1, "port/a"), draw(1, "port/b"));
        assert_ne!(draw(1, "port/a"), draw(2, "port/a"));
    }
}
