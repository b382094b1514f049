//! Congestion controls from shared libraries, by the C interface of [`interface`].
//!
//! This is the only code of the simulator that calls code it cannot check. A library that crashes or does not return takes its process with
//! it. Therefore callers load libraries in a process of their own.

mod control;
pub mod interface;
mod library;

pub use control::{Fault, MOST_WINDOW};
pub use library::Library;
