//! What the hosts send beside bulk flows: requests and responses, and what is not TCP.

pub mod exchange;
mod udp;

pub use exchange::{Exchange, Transaction};
pub use udp::Udp;
