//! Exponentially distributed numbers by von Neumann's method (Various techniques used in connection with random digits, 1951), which compares
//! uniform numbers and computes no logarithm.

use crate::rng::Rng;

/// An exponentially distributed number with this mean, rounded down.
pub fn exponential(rng: &mut Rng, mean: u64) -> u64 {
    // The whole part counts the sequences of falling numbers of even length, the fraction begins the first of odd length.
    let mut whole = 0_u64;
    loop {
        let first = rng.u64();
        let (mut last, mut length) = (first, 1);
        loop {
            let next = rng.u64();
            if next >= last {
                break;
            }
            (last, length) = (next, length + 1);
        }
        if length % 2 == 1 {
            let fraction = (u128::from(mean) * u128::from(first)) >> 64;
            return mean.saturating_mul(whole).saturating_add(fraction as u64);
        }
        whole += 1;
    }
}
