//! A target of crates/fuzz under libFuzzer: `FUZZ_TARGET` says which.

#![no_main]

use std::sync::LazyLock;

use dumbbell_fuzz::{mutate, target, Target};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use rand_core::SeedableRng;
use rand_pcg::Pcg64;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|| panic!("FUZZ_TARGET={name:?}: expected the name of a target"))
});

fuzz_target!(|input: &[u8]| TARGET.try_input(input));

// Every second change is one that knows numbers and words of text, as a plan has them.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 2 == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut input = data[..size].to_vec();
    let other = input.clone();
    mutate(&mut input, &other, max_size, &mut Pcg64::seed_from_u64(u64::from(seed)));
    data[..input.len()].copy_from_slice(&input);
    input.len()
});
