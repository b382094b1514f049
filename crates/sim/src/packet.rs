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

    /// The field among the header bits of a packet.
    #[inline]
    #[must_use]
    pub const fn flags(self) -> u16 {
        self.0
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

/// What a packet carries.
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

/// Header bits of a packet. Bit 0 is the [direction](Direction::flags), bit 13 the [kind](Kind::flags), and the two highest are the ECN field
/// ([`Ecn::flags`]).
pub mod flags {
    /// First packet of a handshake.
    pub const SYN: u16 = 2;
    /// Congestion window reduced.
    pub const CWR: u16 = 4;
    /// ECN echo.
    pub const ECE: u16 = 8;
    /// In a SYN: the end that opens offers ECN. The answer has ECE alone if the other end agrees.
    pub const ECN_SETUP: u16 = ECE | CWR;
    /// SCE echo, the former NS bit.
    pub const ESCE: u16 = 16;
    /// Sent before.
    pub const RETRANSMISSION: u16 = 32;
    /// From the sender, without data: the third packet of the handshake, or the answer to an ACK that PAWS has dropped.
    pub const HANDSHAKE: u16 = 64;
    /// The application's write ended here.
    pub const PSH: u16 = 128;
    /// The end sends nothing after this.
    pub const FIN: u16 = 256;
    /// A bit of it is wrong: the checksum of the end that it reaches finds that.
    pub const CORRUPT: u16 = 2048;
    /// From a receiver: sent after its FIN. From a sender, without data: acknowledges that FIN.
    pub const CLOSED: u16 = 512;
    /// The answer of a receiver whose connection is closed. Acknowledges nothing and has no timestamps.
    pub const RST: u16 = 1024;
    /// A queue has set its codepoint to 0.
    pub const WASHED: u16 = 4096;
}

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

/// The [form](Packet::form) of a packet of this length with these header bits.
#[inline]
#[must_use]
pub fn form(len: u16, flags: u16) -> u32 {
    u32::from(flags) << 16 | u32::from(len)
}

/// One packet. Sequence and acknowledgement numbers count segments, or bytes where both ends send.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Its flow, and its position in the flow's list of ports.
    pub way: Way,
    /// Frame length on the meter, bytes.
    pub len: u16,
    /// Header bits and ECN field; see `flags`.
    pub flags: u16,
    /// First number carried (data), or next one expected (ACK).
    pub seq: u32,
    /// Advertised window, bytes (ACK).
    pub window: u32,
    /// Timestamp value, ms.
    pub tsval: u32,
    /// Timestamp echo, ms.
    pub tsecr: u32,
    /// Slot of the [attachment](crate::attachment), or `NO_ATTACHMENT`.
    pub attachment: u32,
}

impl Packet {
    /// Index of the flow.
    #[inline]
    #[must_use]
    pub fn flow(&self) -> usize {
        (self.way.0 >> Way::HOP_BITS) as usize
    }

    /// The codepoint that it has here, `sent` being that of its flow.
    #[inline]
    #[must_use]
    pub fn codepoint(&self, sent: u8) -> u8 {
        if self.has(flags::WASHED) {
            0
        } else {
            sent
        }
    }

    /// True if header bit(s) `f` are set.
    #[inline]
    #[must_use]
    pub fn has(&self, f: u16) -> bool {
        self.flags & f != 0
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
        self.has(Direction::Reverse.flags())
    }

    /// Writes the direction.
    #[inline]
    pub fn set_direction(&mut self, direction: Direction) {
        self.flags = self.flags & !Direction::Reverse.flags() | direction.flags();
    }

    /// What it carries.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> Kind {
        if self.has(Kind::Datagram.flags()) {
            Kind::Datagram
        } else {
            Kind::Segment
        }
    }

    /// Length and header bits in one word, so that one comparison checks both.
    #[inline]
    #[must_use]
    pub fn form(&self) -> u32 {
        form(self.len, self.flags)
    }

    /// IP ECN field.
    #[inline]
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        Ecn(self.flags & Ecn::MASK)
    }

    /// Writes the IP ECN field.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.flags = self.flags & !Ecn::MASK | ecn.0;
    }
}

/// The ends of a TCP connection that send data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carries {
    /// One end.
    #[default]
    OneWay,
    /// Both ends.
    BothWays,
}

/// The options that both ends of a TCP connection have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
}

impl Default for Options {
    /// Both, as hosts of today have them.
    fn default() -> Self {
        Self { sack: true, timestamps: true }
    }
}

impl Options {
    /// Bytes that timestamps take of each segment.
    #[must_use]
    pub fn timestamp_bytes(self) -> u32 {
        if self.timestamps {
            TIMESTAMPS
        } else {
            0
        }
    }

    /// Ethernet + IP + TCP header without SACK blocks, bytes.
    #[must_use]
    pub fn headers(self) -> u32 {
        HEADERS - TIMESTAMPS + self.timestamp_bytes()
    }

    /// Return the packet as it is on the wire. TCP counts timestamps in every frame but a reset. A SYN without timestamps keeps 4 bytes of
    /// the option, to align the SACK option.
    #[must_use]
    pub fn on_wire(self, p: Packet) -> Packet {
        if p.has(flags::RST) {
            return p;
        }
        let aligns = if p.has(flags::SYN) && self.sack { 4 } else { 0 };
        let missing = (TIMESTAMPS - self.timestamp_bytes()).saturating_sub(aligns);
        Packet { len: p.len - missing as u16, ..p }
    }

    /// The packet as TCP counts it. Without timestamps all of them are 0, which never says anything new.
    #[must_use]
    pub fn at_host(self, p: Packet) -> Packet {
        if self.timestamps {
            p
        } else {
            Packet { len: p.len + TIMESTAMPS as u16, tsval: 0, tsecr: 0, ..p }
        }
    }
}

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
    /// The ends that send data, for a flow of TCP.
    pub carries: Carries,
    /// The options that both ends have agreed on, for a flow of TCP.
    pub options: Options,
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
