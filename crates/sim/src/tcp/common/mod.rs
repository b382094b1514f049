//! What the implementations of TCP share: how a flow is cut into segments, SACK blocks, ranges of sequence numbers.

pub mod layout;
pub(super) mod overrides;
pub(super) mod ranges;
pub mod sack;
