//! Packet captures: reading and writing them, counting what TCP connections did, and measuring RTT from one capture point or from two.
//!
//! The crate does no I/O and reads no clock: [`read`] takes the bytes of a file, [`Writer`] returns them.

pub mod connection;
pub mod one_point;
pub mod packet;
mod read;
pub mod spp;
mod write;

pub use read::{read, Capture};
pub use write::{Frame, TcpOption, Transport, Writer};
