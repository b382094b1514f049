//! Each target holds for 20 s, all three at once: on the corpus, and on what is made of it at random. The seed is fixed, so that what passed once
//! passes again; `make fuzz` goes on with others.

use std::process::Command;

#[test]
fn every_target_holds_on_the_corpus_and_on_what_is_made_of_it() {
    let status = Command::new(env!("CARGO_BIN_EXE_dumbbell-fuzz")).arg("20").env("FUZZ_SEED", "1").status().unwrap();
    assert!(status.success(), "a target failed: its input is in fuzz/*.failed");
}
