//! TCP segments: what TCP writes into the body of a packet and reads there, and what it tells the network about its headers.

use crate::attachment::{Attachments, FULL_ECN_OPTION};
use crate::headers::{AckHeader, Headers};
use crate::outbox::LoneOutbox;
use crate::packet::{Agreed, Body, Direction, Ecn, FlowTuple, Kind, Packet, Way, HEADERS, SYN_FRAME, TIMESTAMPS};

/// Header bits of TCP, among those of the packet that belong to its body.
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
    /// The same bit in AccECN (RFC 9768).
    pub const AE: u16 = ESCE;
    /// The field of AccECN: AE, CWR and ECE.
    pub const ACE: u16 = AE | CWR | ECE;
    /// Sent before.
    pub const RETRANSMISSION: u16 = 32;
    /// From the sender, without data: the third packet of the handshake, or the answer to an ACK that PAWS has dropped.
    pub const HANDSHAKE: u16 = 64;
    /// The application's write ended here.
    pub const PSH: u16 = 128;
    /// The end sends nothing after this.
    pub const FIN: u16 = 256;
    /// From a receiver: sent after its FIN. From a sender, without data: acknowledges that FIN.
    pub const CLOSED: u16 = 512;
    /// The answer of a receiver whose connection is closed. Acknowledges nothing and has no timestamps.
    pub const RST: u16 = 1024;
}

/// The number in the ACE field: AE is the highest bit, ECE the lowest.
#[inline]
#[must_use]
pub fn ace(bits: u16) -> u8 {
    let bit = |flag, value| if bits & flag != 0 { value } else { 0 };
    bit(flags::AE, 4) | bit(flags::CWR, 2) | bit(flags::ECE, 1)
}

/// The header bits of an ACE field.
#[inline]
#[must_use]
pub fn ace_flags(number: u8) -> u16 {
    let bit = |value, flag| if number & value != 0 { flag } else { 0 };
    bit(4, flags::AE) | bit(2, flags::CWR) | bit(1, flags::ECE)
}

/// The [form](Segment::form) of a segment of this length with these header bits.
#[inline]
#[must_use]
pub fn form(len: u16, flags: u16) -> u32 {
    u32::from(flags) << 16 | u32::from(len)
}

/// A packet as TCP reads it. Sequence and acknowledgement numbers count segments, or bytes where both ends send.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Segment {
    /// Its flow, and its position in the flow's list of ports.
    pub way: Way,
    /// Frame length, bytes.
    pub len: u16,
    /// TCP's [header bits](flags) and those of the packet.
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

impl From<Packet> for Segment {
    #[inline]
    fn from(p: Packet) -> Self {
        let Body([seq, window, tsval, tsecr]) = p.body;
        Self { way: p.way, len: p.len, flags: p.flags, seq, window, tsval, tsecr, attachment: p.attachment }
    }
}

impl From<Segment> for Packet {
    #[inline]
    fn from(s: Segment) -> Self {
        let body = Body([s.seq, s.window, s.tsval, s.tsecr]);
        Self { way: s.way, len: s.len, flags: s.flags, body, attachment: s.attachment }
    }
}

impl Segment {
    /// Index of the flow.
    #[inline]
    #[must_use]
    pub fn flow(&self) -> usize {
        self.way.flow()
    }

    /// True if header bit(s) `f` are set.
    #[inline]
    #[must_use]
    pub fn has(&self, f: u16) -> bool {
        self.flags & f != 0
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
        Ecn::of_flags(self.flags)
    }

    /// Writes the IP ECN field.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.flags = ecn.written_to(self.flags);
    }
}

impl LoneOutbox {
    /// Takes the segments sent, in order.
    pub fn take_sent(&mut self) -> Vec<Segment> {
        self.take_sent_by().into_iter().map(|(_, s)| s).collect()
    }
}

/// The options that both ends of a connection have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Scaled windows (RFC 7323).
    pub window_scaling: bool,
    /// The AccECN option (RFC 9768) is in every packet.
    pub ecn_bytes: bool,
}

/// Bits of [`Agreed`], none of which is set where one end sends, with both options, as hosts of today do.
const NO_SACK: u8 = 1;
const NO_TIMESTAMPS: u8 = 2;
const BOTH_SEND: u8 = 4;
const ECN_BYTES: u8 = 8;
const NO_WINDOW_SCALING: u8 = 16;

impl Default for Options {
    fn default() -> Self {
        Self::of(Agreed::default())
    }
}

impl Options {
    /// The options of a flow.
    #[must_use]
    pub fn of(Agreed(bits): Agreed) -> Self {
        Self {
            sack: bits & NO_SACK == 0,
            timestamps: bits & NO_TIMESTAMPS == 0,
            window_scaling: bits & NO_WINDOW_SCALING == 0,
            ecn_bytes: bits & ECN_BYTES != 0,
        }
    }

    /// The agreement of both ends; `both_send`: both of them send data.
    #[must_use]
    pub fn agreed(self, both_send: bool) -> Agreed {
        let bits = [
            (!self.sack, NO_SACK),
            (!self.timestamps, NO_TIMESTAMPS),
            (!self.window_scaling, NO_WINDOW_SCALING),
            (both_send, BOTH_SEND),
            (self.ecn_bytes, ECN_BYTES),
        ];
        Agreed(bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum())
    }

    /// Bytes that timestamps take of each segment.
    #[must_use]
    pub fn timestamp_bytes(self) -> u32 {
        if self.timestamps {
            TIMESTAMPS
        } else {
            0
        }
    }

    /// Ethernet + IP + TCP header without SACK blocks and the AccECN option, bytes.
    #[must_use]
    pub fn headers(self) -> u32 {
        HEADERS - TIMESTAMPS + self.timestamp_bytes()
    }

    /// Bytes that the AccECN option takes of the packets of an end that receives no data: its counters do not change.
    #[must_use]
    pub fn sender_option_bytes(self) -> u32 {
        if self.ecn_bytes {
            FULL_ECN_OPTION
        } else {
            0
        }
    }

    /// Frame length of a SYN with the options that SYNs have, bytes. A SYN without timestamps keeps 4 bytes of the option, to align the SACK option.
    /// The scale of windows takes 3 bytes and one that aligns it.
    #[must_use]
    pub fn syn_frame(self) -> u32 {
        let aligns = if self.sack { 4 } else { 0 };
        let scale = if self.window_scaling { 0 } else { 4 };
        SYN_FRAME - scale - (TIMESTAMPS - self.timestamp_bytes()).saturating_sub(aligns)
    }
}

/// TCP's headers, for the network.
#[derive(Debug)]
pub struct TcpHeaders;

/// Flags that say more than an ACK may. The former NS bit is one of the reserved flags.
const TELLING: u16 = flags::SYN | flags::FIN | flags::RST | flags::PSH | flags::ESCE;

impl Headers for TcpHeaders {
    fn differ_on_wire(&self, flow: &FlowTuple) -> bool {
        let options = Options::of(flow.agreed);
        !options.timestamps || !options.window_scaling || options.ecn_bytes
    }

    /// TCP counts timestamps in every frame but a reset, and no AccECN option in those of the end that sends the data.
    fn on_wire(&self, p: Packet, flow: &FlowTuple) -> Packet {
        let options = Options::of(flow.agreed);
        if p.flags & flags::RST != 0 {
            return p;
        }
        if p.flags & flags::SYN != 0 {
            return Packet { len: p.len - (SYN_FRAME - options.syn_frame()) as u16, ..p };
        }
        let option = if p.is_reverse() { 0 } else { options.sender_option_bytes() };
        Packet { len: p.len + option as u16 - (TIMESTAMPS - options.timestamp_bytes()) as u16, ..p }
    }

    /// Without timestamps all of them are 0, which never says anything new.
    fn at_host(&self, p: Packet, flow: &FlowTuple) -> Packet {
        let options = Options::of(flow.agreed);
        let plain = p.flags & (flags::SYN | flags::RST) != 0 || p.is_reverse();
        let option = if plain { 0 } else { options.sender_option_bytes() };
        let p = Packet { len: p.len - option as u16, ..p };
        if options.timestamps {
            p
        } else {
            Segment { len: p.len + TIMESTAMPS as u16, tsval: 0, tsecr: 0, ..p.into() }.into()
        }
    }

    fn ack(&self, p: &Packet, flow: &FlowTuple, attachments: &Attachments) -> Option<AckHeader> {
        if p.kind() == Kind::Datagram {
            return None;
        }
        let (s, attached) = (Segment::from(*p), attachments.get(p.attachment));
        let options = Options::of(flow.agreed);
        let own = if s.is_reverse() { 0 } else { options.sender_option_bytes() };
        let header = options.headers() + attached.option_bytes() + own;
        let both_send = flow.agreed.0 & BOTH_SEND != 0;
        let ack = match (s.is_reverse(), both_send) {
            (true, _) => s.seq,
            (false, true) => attached.second(),
            (false, false) => 1 + u32::from(s.has(flags::CLOSED)),
        };
        Some(AckHeader {
            ack,
            opens: s.has(flags::SYN),
            bare: s.flags & TELLING == 0 && u32::from(s.len) == header,
            echoes: s.flags & (flags::ECE | flags::CWR),
            timestamps: (s.tsval, s.tsecr),
            blocks: *attached.blocks(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{flags, Options, BOTH_SEND};
    use crate::packet::BODY_BITS;

    #[test]
    fn the_bits_belong_to_the_body() {
        let all = [flags::SYN, flags::CWR, flags::ECE, flags::ESCE, flags::RETRANSMISSION, flags::HANDSHAKE];
        let more = [flags::PSH, flags::FIN, flags::CLOSED, flags::RST];
        assert_eq!(all.iter().chain(&more).fold(0, |bits, bit| bits | bit), BODY_BITS);
    }

    #[test]
    fn what_is_agreed_is_read_back() {
        for options in [(true, true), (true, false), (false, true), (false, false)] {
            for (both_send, ecn_bytes) in [(false, false), (false, true), (true, false)] {
                let options = Options { sack: options.0, timestamps: options.1, window_scaling: !ecn_bytes, ecn_bytes };
                let agreed = options.agreed(both_send);
                assert_eq!((Options::of(agreed), agreed.0 & BOTH_SEND != 0), (options, both_send));
            }
        }
    }
}
