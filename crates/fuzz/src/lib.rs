//! Targets that are tried with inputs that nobody thought of. A target takes any bytes and panics only where the code under it is wrong.
//!
//! `make test` runs each target on the corpus (`fuzz/corpus`) and on 30,000 inputs that [`mutate`] makes of it: the binary of this crate,
//! built with overflow checks and debug assertions. `make fuzz` runs them under libFuzzer, which is led by coverage: the workspace `fuzz`.

use cap::Cap;
use std::alloc::System;

pub mod capture;
mod mutate;
pub mod plan;
pub mod receiver;

pub use mutate::mutate;

/// Counts allocations, and fails those that would endanger the machine.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, 1 << 30);

/// A target of fuzzing.
pub struct Target {
    /// Its name, also that of its corpus.
    pub name: &'static str,
    /// Tries an input.
    pub run: fn(&[u8]),
    /// Maximum heap of the process while it runs, bytes.
    pub most_heap: usize,
}

impl Target {
    /// Tries an input.
    ///
    /// # Panics
    /// The code under the target is wrong, or took more memory than it may.
    pub fn try_input(&self, input: &[u8]) {
        (self.run)(input);
        let heap = ALLOCATOR.max_allocated();
        assert!(heap <= self.most_heap, "{}: {heap} bytes on the heap", self.name);
    }
}

/// Every target.
pub const TARGETS: [Target; 3] = [
    Target { name: "capture", run: capture::run, most_heap: 64 << 20 },
    Target { name: "plan", run: plan::run, most_heap: 256 << 20 },
    Target { name: "receiver", run: receiver::run, most_heap: 64 << 20 },
];

/// The target of this name.
#[must_use]
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
