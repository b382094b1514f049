//! What the hosts send beside bulk flows: requests and responses, transfers that come and go, and what is not TCP.

pub mod exchange;
mod transfers;
mod udp;

pub use exchange::{Exchange, Transaction};
pub use transfers::Transfers;
pub use udp::Udp;
