//! The packet: a small value that is never allocated by itself (see `pool`).

/// Frame length of a full data segment on the meter where the path's MTU is 1500: 14 Ethernet + 20 IP + 32 TCP with timestamps + 1448 payload.
pub const FULL_FRAME: u32 = 1514;
/// Frame length of a pure ACK without SACK blocks.
pub const ACK_FRAME: u32 = 66;
/// Frame length of a SYN or SYN-ACK with its options.
pub const SYN_FRAME: u32 = 74;
/// Frame length of a reset, bytes.
pub const RST_FRAME: u32 = ACK_FRAME - TIMESTAMPS;
/// Ethernet + IP + TCP header with timestamps.
pub const HEADERS: u32 = 66;
/// Bytes that timestamps take from a segment (RFC 7323, with padding).
pub const TIMESTAMPS: u32 = 12;
/// Ethernet's header, bytes: a frame is the MTU and this.
pub const ETHERNET: u32 = 14;
/// Payload of a full segment on a path with an MTU of 1500, bytes. The payload of a connection's segments is part of its
/// [layout](crate::tcp::common::layout::Layout::mss).
pub const MSS: u32 = FULL_FRAME - HEADERS;

/// The IP ECN field (RFC 3168), where it lies among the header bits of a packet. A flow and the queues on its way give ECT(1) its meaning: a
/// mark of SCE (draft-morton-tsvwg-sce), or the codepoint that an L4S sender sends (RFC 9331).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ecn(u16);

#[allow(non_upper_case_globals, reason = "used as the variants of an enum")]
impl Ecn {
    /// 00, not ECN-capable.
    pub const NotEct: Self = Self(0);
    /// 01, ECT(1).
    pub const Ect1: Self = Self(1 << Self::SHIFT);
    /// 10, ECT(0): the codepoint that an ECN sender sends.
    pub const Ect0: Self = Self(2 << Self::SHIFT);
    /// 11, congestion experienced.
    pub const Ce: Self = Self(3 << Self::SHIFT);

    const SHIFT: u32 = 14;
    const MASK: u16 = 3 << Self::SHIFT;

    /// The field of these two bits; higher bits are ignored.
    #[must_use]
    pub fn of_bits(bits: u8) -> Self {
        Self(u16::from(bits & 3) << Self::SHIFT)
    }

    /// The two bits.
    #[must_use]
    pub fn bits(self) -> u8 {
        (self.0 >> Self::SHIFT) as u8
    }

    /// The field of a packet with these header bits.
    #[inline]
    #[must_use]
    pub const fn of_flags(flags: u16) -> Self {
        Self(flags & Self::MASK)
    }

    /// The field among the header bits of a packet.
    #[inline]
    #[must_use]
    pub const fn flags(self) -> u16 {
        self.0
    }

    /// The header bits of a packet with this field in place of its own.
    #[inline]
    #[must_use]
    pub const fn written_to(self, flags: u16) -> u16 {
        flags & !Self::MASK | self.0
    }
}

/// The direction of a packet on the way of its flow. (A path has directions of its own, [`crate::spec::Direction`]: the data of a flow may
/// go either way along it.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Direction {
    /// From the end that sends the data, or that the plan names first if both send.
    Forward = 0,
    /// To that end.
    Reverse = 1,
}

impl Direction {
    /// The bit of the direction among the header bits of a packet.
    #[inline]
    #[must_use]
    pub const fn flags(self) -> u16 {
        self as u16
    }
}

/// The kinds of loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    /// A segment of a TCP connection.
    Segment = 0,
    /// A datagram.
    Datagram = 1 << 13,
}

impl Kind {
    /// The bit of the kind among the header bits of a packet.
    #[inline]
    #[must_use]
    pub const fn flags(self) -> u16 {
        self as u16
    }
}

/// A bit of the packet is wrong: the checksum of the end that it reaches finds that.
const CORRUPT: u16 = 1 << 11;
/// A queue has set its codepoint to 0.
const WASHED: u16 = 1 << 12;
/// The bits of the header that are not the network's.
pub const BODY_BITS: u16 = 0x07fe;

/// Nothing attached.
pub const NO_ATTACHMENT: u32 = u32::MAX;

/// Whose packet it is and how far it has come: the flow above, the hops below, in one word, so that a packet and its place in the
/// pool fill 40 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way(u32);

impl Way {
    const HOP_BITS: u32 = 8;
    /// Number of flows that can be told apart.
    pub const MAX_FLOWS: u32 = 1 << (u32::BITS - Self::HOP_BITS);

    /// The beginning of the way of flow `flow`, which is below 2^24.
    #[inline]
    #[must_use]
    pub const fn new(flow: u32) -> Self {
        Self(flow << Self::HOP_BITS)
    }

    /// Index of the flow.
    #[inline]
    #[must_use]
    pub fn flow(self) -> usize {
        (self.0 >> Self::HOP_BITS) as usize
    }

    /// One port further, of 255 at most.
    #[inline]
    #[must_use]
    pub fn further(self) -> Self {
        Self(self.0 + 1)
    }

    /// Ports passed.
    #[inline]
    #[must_use]
    pub fn hops(self) -> usize {
        self.0 as u8 as usize
    }
}

/// The load of a packet. Only its transport knows what the words mean ([`crate::segment`] for TCP).
#[derive(Clone, Copy, Debug, Default)]
pub struct Body(pub [u32; 4]);

impl Body {
    /// The word that the network only compares with that of other packets of the flow. While a packet is under way, a tap may keep another
    /// number there that grows alike.
    pub const STAMP: usize = 2;
}

/// One packet: the header that the network reads, and what it carries. It lies in memory as [`crate::segment::Segment`] does, so that one is
/// copied as a whole to make the other.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Packet {
    /// Its flow, and its position in the flow's list of ports.
    pub way: Way,
    /// Frame length on the meter, bytes.
    pub len: u16,
    /// Header bits: bit 0 is the [direction](Direction::flags), bits 11 and 12 say what happened to the packet on its way, bit 13 is the
    /// [kind](Kind::flags), and the two highest are the ECN field ([`Ecn::flags`]). The others ([`BODY_BITS`]) belong to the body.
    pub flags: u16,
    /// Its load.
    pub body: Body,
    /// Slot of the [attachment](crate::attachment), or `NO_ATTACHMENT`.
    pub attachment: u32,
}

impl Packet {
    /// Index of the flow.
    #[inline]
    #[must_use]
    pub fn flow(&self) -> usize {
        self.way.flow()
    }

    /// The codepoint that it has here, `sent` being that of its flow.
    #[inline]
    #[must_use]
    pub fn codepoint(&self, sent: u8) -> u8 {
        if self.is_washed() {
            0
        } else {
            sent
        }
    }

    /// True if a queue has set its codepoint to 0.
    #[inline]
    #[must_use]
    pub fn is_washed(&self) -> bool {
        self.flags & WASHED != 0
    }

    /// A queue sets its codepoint to 0.
    pub fn wash(&mut self) {
        self.flags |= WASHED;
    }

    /// True if one of its bits is wrong.
    #[inline]
    #[must_use]
    pub fn is_corrupt(&self) -> bool {
        self.flags & CORRUPT != 0
    }

    /// One of its bits is wrong from here on.
    pub fn corrupt(&mut self) {
        self.flags |= CORRUPT;
    }

    /// Its direction on the way of its flow.
    #[inline]
    #[must_use]
    pub fn direction(&self) -> Direction {
        if self.is_reverse() {
            Direction::Reverse
        } else {
            Direction::Forward
        }
    }

    /// True if it goes to the end that sends the data.
    #[inline]
    #[must_use]
    pub fn is_reverse(&self) -> bool {
        self.flags & Direction::Reverse.flags() != 0
    }

    /// The kind of its load.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> Kind {
        if self.flags & Kind::Datagram.flags() != 0 {
            Kind::Datagram
        } else {
            Kind::Segment
        }
    }

    /// IP ECN field.
    #[inline]
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        Ecn::of_flags(self.flags)
    }

    /// Writes the IP ECN field.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.flags = ecn.written_to(self.flags);
    }
}

/// The agreement of the ends of a flow without which its packets cannot be read. Only their transport knows what it means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed(pub u8);

/// Addresses and ports of a flow in the direction of its data; ACKs have them swapped. Packets of both directions have its DSCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowTuple {
    /// Address of the data sender.
    pub src: u32,
    /// Address of the data receiver.
    pub dst: u32,
    /// Port of the data sender.
    pub sport: u16,
    /// Port of the data receiver.
    pub dport: u16,
    /// Differentiated services codepoint (RFC 2474), 0 to 63.
    pub dscp: u8,
    /// The agreement of the ends.
    pub agreed: Agreed,
}

/// Reason why a packet was dropped.
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

/// The result of offering a packet to a port. A local drop reaches the sender's TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is queued (another packet may have been dropped instead).
    Queued,
    /// The packet is queued, but an earlier one of the same queue was dropped to make room (NET_XMIT_CN): no transmission failed, yet a
    /// local TCP sender reduces its window.
    Congestion,
    /// The arriving packet itself was dropped.
    Dropped,
}

/// Number of causes.
pub const DROP_CAUSES: usize = 3;
