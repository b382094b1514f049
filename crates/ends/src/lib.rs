//! One end of a TCP connection of the simulator, packet by packet: an [`End`] is driven by calls of its application and by packets that reach
//! it, and says what it sends. [`play`] lets a random peer play against it and writes down all that reached the end as a [`Case`];
//! [`replay`] drives an end by a case alone, as another implementation of TCP can be driven by it.
//!
//! No Python, no files, no clock.

mod case;
mod draws;
mod end;
mod numbers;
mod peer;
mod play;

pub use case::{Action, Answer, Case, Event, Kind, Segment, What};
pub use draws::seed_that_draws;
pub use end::End;
pub use play::{play, replay, Impossible, Options};
