//! The questions of the network to the transport of a packet, whose body it cannot read: frame lengths where the ends count other ones than the wire
//! has, and what a queue that drops needless ACKs has to know of them.

use std::fmt::Debug;

use crate::attachment::{Attachments, Blocks};
use crate::packet::{FlowTuple, Packet};

/// The fields of a header that decide whether a later packet of the same connection and direction makes this one needless.
#[derive(Clone, Copy, Debug)]
pub struct AckHeader {
    /// The number that it acknowledges all before.
    pub ack: u32,
    /// It opens a connection.
    pub opens: bool,
    /// It has nothing but an acknowledgment.
    pub bare: bool,
    /// The bits by which it echoes congestion; equal bits say the same.
    pub echoes: u16,
    /// Timestamp value and echo.
    pub timestamps: (u32, u32),
    /// SACK blocks.
    pub blocks: Blocks,
}

/// Reads the headers of a transport for those who are on the way of its packets.
pub trait Headers: Debug + Sync {
    /// True if the frames of this flow have other lengths on the wire than its ends count.
    fn differ_on_wire(&self, flow: &FlowTuple) -> bool;
    /// The packet as it is on the wire, of one that an end sends.
    fn on_wire(&self, p: Packet, flow: &FlowTuple) -> Packet;
    /// The packet as its ends count it, of one on the wire.
    fn at_host(&self, p: Packet, flow: &FlowTuple) -> Packet;
    /// The header of a packet that acknowledges; `None` if packets of this kind do not.
    fn ack(&self, p: &Packet, flow: &FlowTuple, attachments: &Attachments) -> Option<AckHeader>;
}
