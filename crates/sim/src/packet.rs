//! The packet: a small value that is copied from ring to ring, never allocated.

use crate::time::Time;

/// Frame length of a full data segment on the meter: 14 Ethernet + 20 IP + 32 TCP with timestamps + 1448 payload.
pub const FULL_FRAME: u32 = 1514;
/// Frame length of a pure ACK without SACK blocks.
pub const ACK_FRAME: u32 = 66;
/// Frame length of a SYN or SYN-ACK with its options.
pub const SYN_FRAME: u32 = 74;
/// Ethernet + IP + TCP header with timestamps.
pub const HEADERS: u32 = 66;

/// The IP ECN field (RFC 3168; ECT(1) is SCE in draft-morton-tsvwg-sce). A byte and not an enum: `Option<Packet>` would hide its
/// tag among an enum's unused values, and then every move of a packet is one of six pieces instead of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ecn(u8);

#[allow(non_upper_case_globals, reason = "used as the variants of an enum")]
impl Ecn {
    /// 00, not ECN-capable.
    pub const NotEct: Self = Self(0);
    /// 01, ECT(1); set by an SCE queue.
    pub const Sce: Self = Self(1);
    /// 10, what an ECN sender emits.
    pub const Ect0: Self = Self(2);
    /// 11, congestion experienced.
    pub const Ce: Self = Self(3);

    /// The two bits.
    #[must_use]
    pub fn bits(self) -> u8 {
        self.0
    }
}

/// Header bits of a packet.
pub mod flags {
    /// Travels from the receiver to the sender; carries no data.
    pub const ACK: u16 = 1;
    /// First packet of a handshake.
    pub const SYN: u16 = 2;
    /// Congestion window reduced.
    pub const CWR: u16 = 4;
    /// ECN echo.
    pub const ECE: u16 = 8;
    /// SCE echo, the former NS bit.
    pub const ESCE: u16 = 16;
    /// Sent before.
    pub const RETRANSMISSION: u16 = 32;
    /// Third packet of the handshake: from the sender, without data.
    pub const HANDSHAKE: u16 = 64;
    /// The application's write ended here.
    pub const PSH: u16 = 128;
}

/// No SACK blocks.
pub const NO_SACK: u32 = u32::MAX;

/// One packet. Sequence and acknowledgement numbers count segments.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Scratch time of whoever holds it: arrival at a queue, or the moment it leaves a pipe.
    pub time: Time,
    /// Index of the flow.
    pub flow: u32,
    /// Frame length on the meter, bytes.
    pub len: u32,
    /// First segment carried (data), or next expected segment (ACK).
    pub seq: u32,
    /// Advertised window, bytes (ACK).
    pub window: u32,
    /// Timestamp value, ms.
    pub tsval: u32,
    /// Timestamp echo, ms.
    pub tsecr: u32,
    /// Slot of the SACK blocks, or `NO_SACK`.
    pub sack: u32,
    /// See `flags`.
    pub flags: u16,
    /// IP ECN field.
    pub ecn: Ecn,
    /// Position in the flow's list of ports.
    pub hop: u8,
}

impl Packet {
    /// True if header bit(s) `f` are set.
    #[must_use]
    pub fn has(&self, f: u16) -> bool {
        self.flags & f != 0
    }
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum DropCause {
    /// The queue or stage was full.
    Overflow = 0,
    /// An AQM's control law (CoDel, PIE, RED).
    Aqm = 1,
    /// BLUE, the overload part of COBALT.
    Blue = 2,
}

/// Number of causes.
pub const DROP_CAUSES: usize = 3;
