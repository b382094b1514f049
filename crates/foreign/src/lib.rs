//! Congestion controls from shared libraries, by the C interface of [`interface`].
//!
//! This is the only code of the simulator's that calls what it cannot check. A library that crashes or does not come back takes its process
//! with it: who loads one does so in a process of its own.

mod control;
pub mod interface;
mod library;

pub use control::{Fault, MOST_WINDOW};
pub use library::Library;
