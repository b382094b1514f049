//! A TCP packet of a capture.

use std::net::IpAddr;

/// IP address and TCP port.
pub type Endpoint = (IpAddr, u16);

/// Flag bits of the TCP header.
pub mod flags {
    /// The sender has no more data.
    pub const FIN: u16 = 1;
    /// Synchronise sequence numbers.
    pub const SYN: u16 = 2;
    /// Reset.
    pub const RST: u16 = 4;
    /// Push.
    pub const PSH: u16 = 8;
    /// The acknowledgment number is valid.
    pub const ACK: u16 = 16;
    /// The urgent pointer is valid.
    pub const URG: u16 = 32;
    /// ECN echo.
    pub const ECE: u16 = 64;
    /// Congestion window reduced.
    pub const CWR: u16 = 128;
    /// Nonce sum (RFC 3540; now AE).
    pub const NS: u16 = 256;
}

/// The blocks of a SACK option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sacks {
    blocks: [(u32, u32); 4],
    count: u8,
}

impl Sacks {
    /// Adds a block `[start, end)`; a fifth has no room in a header.
    pub fn push(&mut self, block: (u32, u32)) {
        if let Some(room) = self.blocks.get_mut(usize::from(self.count)) {
            *room = block;
            self.count += 1;
        }
    }

    /// The blocks in the order of the option.
    #[must_use]
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// Options that a SYN offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Offer {
    /// Maximum segment size, bytes.
    pub mss: Option<u16>,
    /// Shift count of the window scale.
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack: bool,
}

/// A TCP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packet {
    /// Capture time, ns since the capture's epoch.
    pub time_ns: i64,
    /// Sending endpoint.
    pub source: Endpoint,
    /// Receiving endpoint.
    pub destination: Endpoint,
    /// Identification field of the IPv4 header; 0 for IPv6.
    pub id: u16,
    /// ECN field of the IP header, 0 to 3.
    pub ecn: u8,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Bits of [`flags`].
    pub flags: u16,
    /// Window field of the header, before scaling.
    pub window: u16,
    /// Timestamps option: value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks.
    pub sacks: Sacks,
    /// Options that only SYNs have.
    pub offer: Offer,
    /// The AccECN option.
    pub counters: Option<Counters>,
    /// Payload in bytes, from the length in the IP header: the captured bytes may be fewer.
    pub payload: u32,
    /// Bytes of the payload that were not captured.
    pub cut: u32,
    /// Length of the IP packet in bytes.
    pub length: u32,
}

/// The AccECN option (RFC 9768, section 3.2.3): bytes that arrived, with the initial values of the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Counters {
    /// True for kind 172, whose first field counts ECT(0). Kind 174 begins with ECT(1).
    pub ect0_first: bool,
    /// The fields that it has.
    pub fields: [Option<u32>; 3],
}

impl Packet {
    /// True if any of these flag bits is set.
    #[must_use]
    pub fn has(&self, bits: u16) -> bool {
        self.flags & bits != 0
    }

    /// Sequence numbers that the packet occupies (SEG.LEN of RFC 9293): its payload, SYN and FIN.
    #[must_use]
    pub fn segment_len(&self) -> u32 {
        self.payload + u32::from(self.has(flags::SYN)) + u32::from(self.has(flags::FIN))
    }

    /// The sequence number after its last one.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.seq.wrapping_add(self.segment_len())
    }
}

/// True if sequence number `a` comes before `b`, modulo 2^32.
#[must_use]
pub fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}
