//! Traffic that is not TCP.

mod udp;

pub use udp::Udp;
