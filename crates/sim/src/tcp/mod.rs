//! TCP: what the two ends of a flow do. Sequence numbers count segments; the last one of a transfer may be shorter than the others.
//!
//! - `transport`: the ends of a connection as the simulation drives them, of whichever implementation, and what of that is optional
//! - `endpoint`: an end of any implementation
//! - `implementation`: whose state machine a named stack is, and what runs on it
//! - `common`: what both implementations are made of
//! - `linux`: Linux's TCP, today's and older ones (reference: net/ipv4/tcp_*.c of Linux 6.12, 5.1 and 3.9)
//! - `bsd`: FreeBSD 9's TCP, a state machine of its own

pub mod bsd;
pub mod common;
pub mod endpoint;
pub mod implementation;
pub mod linux;
pub mod transport;
