//! Packet captures: reading and writing them, analysing the TCP connections in them, and measuring RTT, losses and delays between two
//! points.
//!
//! [`Reader`] hands out the packets of any [`std::io::Read`] one by one and holds at most one of them; [`Analysis`] and [`spp::Point`] take
//! them in. The memory of an analysis grows with the number of connections and with the data in flight; two points keep some 100 bytes per
//! packet. Their time grows with the number of packets n as n log n, whatever the packets hold.

mod analysis;
mod connection;
mod container;
mod direction;
mod dissect;
mod ecn;
mod facts;
mod limits;
mod moments;
pub mod packet;
mod reader;
mod sender;
mod sent;
pub mod spp;
mod spurious;
mod stream;
mod tally;
mod waiting;
mod window;
mod write;

pub use analysis::{Analysis, Connection};
pub use container::Error;
pub use direction::{Again, Answers, Direction, Kinds, Outstanding, Span, Stream, Volume};
pub use ecn::Ecn;
pub use facts::{facts, Value};
pub use limits::Held;
pub use moments::{Histogram, Moments};
pub use reader::Reader;
pub use sender::Event;
pub use tally::{LeftOut, Tally};
pub use window::Windows;
pub use write::{Frame, TcpOption, Transport, Writer, EPOCH_S};
