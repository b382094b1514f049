//! A TCP packet as a capture shows it.

use std::net::{IpAddr, Ipv4Addr};

/// An address and a port.
pub type Endpoint = (IpAddr, u16);

/// Bits of the TCP header.
pub mod flags {
    /// Sender is finished.
    pub const FIN: u16 = 1;
    /// Synchronise sequence numbers.
    pub const SYN: u16 = 2;
    /// Reset.
    pub const RST: u16 = 4;
    /// Push.
    pub const PSH: u16 = 8;
    /// The acknowledgment number counts.
    pub const ACK: u16 = 16;
    /// ECN echo.
    pub const ECE: u16 = 64;
    /// Congestion window reduced.
    pub const CWR: u16 = 128;
    /// The former nonce sum.
    pub const NS: u16 = 256;
}

/// A TCP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packet {
    /// When, ns since the capture's epoch.
    pub time_ns: i64,
    /// From.
    pub source: Endpoint,
    /// To.
    pub destination: Endpoint,
    /// Identification of IPv4 (0 in IPv6).
    pub id: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// See [`flags`].
    pub flags: u16,
    /// Window as written, unscaled.
    pub window: u16,
    /// Timestamp value and echo.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks.
    pub sacks: u8,
    /// Payload, bytes, as the IP header has it (captures are cut off).
    pub payload: u32,
    /// Length of the IP packet, bytes.
    pub length: u32,
}

impl Packet {
    /// An empty packet at time 0, to be filled in.
    #[must_use]
    pub fn blank() -> Self {
        let nowhere = (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        Self {
            time_ns: 0,
            source: nowhere,
            destination: nowhere,
            id: 0,
            seq: 0,
            ack: 0,
            flags: 0,
            window: 0,
            timestamps: None,
            sacks: 0,
            payload: 0,
            length: 0,
        }
    }

    /// True if header bit(s) `f` are set.
    #[must_use]
    pub fn has(&self, f: u16) -> bool {
        self.flags & f != 0
    }

    /// Sequence numbers taken: payload, SYN and FIN.
    #[must_use]
    pub fn span(&self) -> u32 {
        self.payload + u32::from(self.has(flags::SYN)) + u32::from(self.has(flags::FIN))
    }

    /// The sequence number behind its last byte.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.seq.wrapping_add(self.span())
    }
}

/// True if sequence number `a` comes before `b`.
#[must_use]
pub fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}
