//! Packet captures: reading and writing them, counting what TCP connections did, and measuring RTT from one capture point or from two.
//!
//! [`Reader`] hands out the packets of any [`std::io::Read`] one by one and holds at most one of them; [`Analysis`] and
//! [`spp::Point`] take them in. What they keep grows with the number of connections, and in the worst case by some 100 bytes per packet;
//! their time grows with the number of packets n as n log n, whatever the packets hold.

mod analysis;
mod connection;
mod container;
mod dissect;
pub mod packet;
mod reader;
mod sequence;
pub mod spp;
mod tally;
mod write;

pub use analysis::{Analysis, Connection, Direction};
pub use container::Error;
pub use reader::Reader;
pub use tally::{LeftOut, Tally};
pub use write::{Frame, TcpOption, Transport, Writer};
