//! Each target holds on the corpus, and on inputs made of it at random. Seed and number are fixed, so that inputs that passed once pass
//! again on every machine; `make fuzz` goes on with others.

use std::process::Command;

#[test]
fn every_target_holds_on_the_corpus_and_on_what_is_made_of_it() {
    let status = Command::new(env!("CARGO_BIN_EXE_dumbbell-fuzz")).arg("30000").env("FUZZ_SEED", "1").status().unwrap();
    assert!(status.success(), "a target failed: its input is in fuzz/*.failed");
}
