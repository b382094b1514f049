//! Packet captures: what TCP connections did, and their RTT, from one capture point or from two.
//!
//! No Python, no files, no clock: [`read`] takes the bytes of a file.

pub mod connection;
pub mod one_point;
pub mod packet;
mod read;
pub mod spp;
mod write;

pub use read::{read, Capture};
pub use write::{Frame, TcpOption, Transport, Writer};
