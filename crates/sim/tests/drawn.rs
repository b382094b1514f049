//! Property tests draw the same cases in every run.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

#[test]
fn what_is_drawn_follows_from_a_seed() {
    let draw = || {
        prop::collection::vec(any::<u64>(), 4)
            .new_tree(&mut TestRunner::new(ProptestConfig::default()))
            .unwrap()
            .current()
    };
    assert_eq!(draw(), draw(), "expected a seed in PROPTEST_RNG_SEED: .cargo/config.toml has it");
}
