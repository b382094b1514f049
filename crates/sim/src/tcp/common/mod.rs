//! What the implementations of TCP share: how a flow is cut into segments, ranges of sequence numbers.

pub mod layout;
pub(super) mod overrides;
pub(super) mod ranges;
#[cfg(test)]
pub(crate) mod test_outbox;
