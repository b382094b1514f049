//! Exports `SOURCE_HASH`: SHA-256 of all that decides the simulator's results - its code, its manifest and the lock file - and
//! `TRACE_HASH`: SHA-256 of all that decides the measurements from captures.

use std::env;
use std::path::PathBuf;

use dumbbell_code_hash::hash;

const LOCK: &str = "Cargo.lock";
const TRACE: &str = "crates/trace/src";
const SIMULATOR: [&str; 6] = [
    LOCK,
    "crates/sim/Cargo.toml",
    "crates/sim/src",
    "crates/foreign/src",
    "crates/bindings/src/capture.rs",
    "crates/trace/src/write.rs",
];

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    println!("cargo:rustc-env=SOURCE_HASH={}", hash(&root, &SIMULATOR));
    println!("cargo:rustc-env=TRACE_HASH={}", hash(&root, &[LOCK, TRACE]));
    for watched in SIMULATOR.iter().chain(&[TRACE]) {
        println!("cargo:rerun-if-changed={}", root.join(watched).display());
    }
}
