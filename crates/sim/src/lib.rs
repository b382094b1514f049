//! Deterministic packet-level simulator of TCP congestion control and queue management.
//!
//! No Python, no files, no clock, no globals: [`simulate`] is a function of a [`network::Network`].

pub mod network;
pub mod packet;
pub mod qdisc;
pub mod rng;
pub mod time;
