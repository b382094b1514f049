//! The random numbers that the congestion control of an end draws.

use dumbbell_sim::rng::Rng;

/// Component whose stream they come from, as the number 0 of a flow makes it.
const COMPONENT: &str = "cc/0";
/// Seeds that are tried.
const MOST: u64 = 1 << 20;

/// The smallest [seed](crate::Case::control_seed) with which the first `numbers` are drawn, each below the number of choices. None: there is none
/// among those that are tried.
#[must_use]
pub fn seed_that_draws(numbers: &[u32], choices: u32) -> Option<u64> {
    (0..MOST).find(|&seed| {
        let mut random = Rng::for_component(seed, COMPONENT);
        numbers.iter().all(|&number| random.below(choices) == number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_numbers_can_be_drawn() {
        let seed = seed_that_draws(&[6, 0, 3, 3], 7).unwrap();
        let mut random = Rng::for_component(seed, COMPONENT);
        assert_eq!([(); 4].map(|()| random.below(7)), [6, 0, 3, 3]);
        assert_eq!(seed_that_draws(&[7], 7), None);
    }
}
