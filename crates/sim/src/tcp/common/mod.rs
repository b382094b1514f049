//! Parts that the implementations of TCP share: how a flow is cut into segments, ranges of sequence numbers, timers.

pub mod idle_window;
pub mod layout;
pub(super) mod lazy_timer;
pub(super) mod overrides;
pub(super) mod ranges;
#[cfg(test)]
pub(crate) mod test_outbox;
