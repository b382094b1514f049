//! The TCP packet in the bytes of a captured frame.
//!
//! Link layers: Ethernet with or without VLAN tags, raw IP, Linux cooked (both versions), BSD loopback. etherparse reads the IP headers. Not
//! supported: IP fragments, tunnels. A capture may hold fewer bytes than were sent: the first 20 bytes of the TCP header suffice.

use std::net::IpAddr;

use etherparse::err::ip::{HeaderError, LaxHeaderSliceError};
use etherparse::err::ipv6_exts::HeaderSliceError;
use etherparse::{IpNumber, LaxIpSlice};

use crate::container::Record;
use crate::packet::{Counters, Offer, Packet, Sacks};
use crate::tally::LeftOut;

const ETHER_TYPE_IPV4: u16 = 0x0800;
const ETHER_TYPE_IPV6: u16 = 0x86dd;
/// IEEE 802.1Q, 802.1ad and its predecessor.
const ETHER_TYPE_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const TCP_HEADER: usize = 20;
/// The control bits of the header, AE (once NS) the highest.
const FLAGS: u16 = 0x1ff;
const OPTION_END: u8 = 0;
const OPTION_NOP: u8 = 1;
const OPTION_MSS: u8 = 2;
const OPTION_WINDOW_SCALE: u8 = 3;
const OPTION_SACK_PERMITTED: u8 = 4;
const OPTION_SACK: u8 = 5;
const OPTION_TIMESTAMPS: u8 = 8;
const OPTION_ACCURATE_ECT0_FIRST: u8 = 172;
const OPTION_ACCURATE_ECT1_FIRST: u8 = 174;
/// No sender has more than this in flight (RFC 7323, section 2.3), so no packet carries more.
const MOST_PAYLOAD: u32 = 1 << 30;

/// The link layer, i.e. the header before the IP header.
#[derive(Clone, Copy, Debug)]
pub enum Link {
    Ethernet,
    Ip,
    Cooked,
    Cooked2,
    Loopback,
}

impl Link {
    /// The link layer of a number of <https://www.tcpdump.org/linktypes.html>; None if it is not supported.
    pub fn of(kind: u32) -> Option<Self> {
        match kind {
            1 => Some(Self::Ethernet),
            12 | 14 | 101 | 228 | 229 => Some(Self::Ip),
            113 => Some(Self::Cooked),
            276 => Some(Self::Cooked2),
            0 | 108 => Some(Self::Loopback),
            _ => None,
        }
    }

    /// Number of bytes in front of the IP header.
    fn header_len(self, data: &[u8]) -> Result<usize, LeftOut> {
        let (type_at, mut length) = match self {
            Self::Ip => return Ok(0),
            Self::Loopback => return Ok(4),
            Self::Ethernet => (12, 14),
            Self::Cooked => (14, 16),
            Self::Cooked2 => (0, 20),
        };
        let field = |at: usize| Some(u16::from_be_bytes([*data.get(at)?, *data.get(at + 1)?]));
        let mut kind = field(type_at).ok_or(LeftOut::IpHeaderCut)?;
        while ETHER_TYPE_VLAN.contains(&kind) {
            kind = field(length + 2).ok_or(LeftOut::IpHeaderCut)?;
            length += 4;
        }
        match kind {
            ETHER_TYPE_IPV4 | ETHER_TYPE_IPV6 => Ok(length),
            _ => Err(LeftOut::NotIp),
        }
    }
}

/// Part of the options of a TCP header that was understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Options {
    Whole,
    /// The captured bytes end before the options do.
    Cut,
    Invalid,
}

/// The TCP packet of a record.
pub fn dissect(record: &Record<'_>) -> Result<(Packet, Options), LeftOut> {
    let link_len = record.link.header_len(record.data)?;
    let bytes = record.data.get(link_len..).ok_or(LeftOut::IpHeaderCut)?;
    let (ip, stopped) = LaxIpSlice::from_slice(bytes).map_err(|error| match error {
        LaxHeaderSliceError::Len(_) => LeftOut::IpHeaderCut,
        LaxHeaderSliceError::Content(HeaderError::UnsupportedIpVersion { .. }) => LeftOut::NotIp,
        LaxHeaderSliceError::Content(_) => LeftOut::IpHeaderInvalid,
    })?;
    match stopped {
        Some((HeaderSliceError::Len(_), _)) => return Err(LeftOut::IpHeaderCut),
        Some((HeaderSliceError::Content(_), _)) => return Err(LeftOut::IpHeaderInvalid),
        None => {}
    }
    // With segmentation offload a packet may exceed the length field of its IP header, which is then 0.
    let len_on_wire = record.original_len.saturating_sub(link_len as u32);
    let (source, destination, id, ecn, length) = match &ip {
        LaxIpSlice::Ipv4(ip) => {
            let h = ip.header();
            let length = match u32::from(h.total_len()) {
                0 => len_on_wire,
                length => length,
            };
            (IpAddr::V4(h.source_addr()), IpAddr::V4(h.destination_addr()), h.identification(), h.ecn().value(), length)
        }
        LaxIpSlice::Ipv6(ip) => {
            let h = ip.header();
            let length = match u32::from(h.payload_length()) {
                0 => len_on_wire,
                payload => h.slice().len() as u32 + payload,
            };
            (IpAddr::V6(h.source_addr()), IpAddr::V6(h.destination_addr()), 0, h.traffic_class() & 3, length)
        }
    };
    let content = ip.payload();
    if content.fragmented {
        return Err(LeftOut::Fragment);
    }
    if content.ip_number != IpNumber::TCP {
        return Err(LeftOut::OtherProtocol);
    }
    let ip_headers = content.payload.as_ptr() as usize - bytes.as_ptr() as usize;
    let tcp = content.payload;
    let Some(fixed) = tcp.first_chunk::<TCP_HEADER>() else {
        // A packet whose own length leaves no room for the header was not cut by the capture.
        let too_short = (length as usize) < ip_headers + TCP_HEADER;
        return Err(if too_short { LeftOut::TcpHeaderInvalid } else { LeftOut::TcpHeaderCut });
    };
    let half = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
    let header_len = usize::from(fixed[12] >> 4) * 4;
    let payload = length.checked_sub((ip_headers + header_len) as u32).filter(|payload| *payload <= MOST_PAYLOAD);
    let (TCP_HEADER.., Some(payload)) = (header_len, payload) else { return Err(LeftOut::TcpHeaderInvalid) };
    let mut found = Found::default();
    let understood = options(&tcp[TCP_HEADER..header_len.min(tcp.len())], tcp.len() < header_len, &mut found);
    let captured = tcp.len().saturating_sub(header_len) as u32;
    let packet = Packet {
        time_ns: record.time_ns,
        source: (source, half(0)),
        destination: (destination, half(2)),
        id,
        seq: word(4),
        ack: word(8),
        flags: half(12) & FLAGS,
        window: half(14),
        ecn,
        timestamps: found.timestamps,
        sacks: found.sacks,
        offer: found.offer,
        counters: found.counters,
        payload,
        cut: payload.saturating_sub(captured),
        length,
    };
    Ok((packet, understood))
}

/// Content of a header's options.
#[derive(Default)]
struct Found {
    timestamps: Option<(u32, u32)>,
    sacks: Sacks,
    offer: Offer,
    counters: Option<Counters>,
}

/// Takes in the options of a header.
fn options(mut rest: &[u8], cut: bool, found: &mut Found) -> Options {
    let incomplete = if cut { Options::Cut } else { Options::Invalid };
    while let Some((&kind, behind)) = rest.split_first() {
        match kind {
            OPTION_END => return Options::Whole,
            OPTION_NOP => {
                rest = behind;
                continue;
            }
            _ => {}
        }
        let Some(value) = behind.first().and_then(|&length| rest.get(2..usize::from(length))) else {
            return incomplete;
        };
        let word = |at: usize| u32::from_be_bytes([value[at], value[at + 1], value[at + 2], value[at + 3]]);
        match (kind, value.len()) {
            (OPTION_TIMESTAMPS, 8) => found.timestamps = Some((word(0), word(4))),
            (OPTION_SACK, 8 | 16 | 24 | 32) => {
                found.sacks = Sacks::default();
                (0..value.len()).step_by(8).for_each(|at| found.sacks.push((word(at), word(at + 4))));
            }
            (OPTION_MSS, 2) => found.offer.mss = Some(u16::from_be_bytes([value[0], value[1]])),
            (OPTION_WINDOW_SCALE, 1) => found.offer.window_scale = Some(value[0]),
            (OPTION_SACK_PERMITTED, 0) => found.offer.sack = true,
            (OPTION_ACCURATE_ECT0_FIRST | OPTION_ACCURATE_ECT1_FIRST, 0 | 3 | 6 | 9) => {
                let field = |field: &[u8]| u32::from_be_bytes([0, field[0], field[1], field[2]]);
                let mut fields = [None; 3];
                fields.iter_mut().zip(value.chunks_exact(3)).for_each(|(slot, bytes)| *slot = Some(field(bytes)));
                found.counters = Some(Counters { ect0_first: kind == OPTION_ACCURATE_ECT0_FIRST, fields });
            }
            (OPTION_TIMESTAMPS | OPTION_SACK | OPTION_MSS | OPTION_WINDOW_SCALE | OPTION_SACK_PERMITTED, _) => {
                return Options::Invalid
            }
            _ => {}
        }
        rest = &rest[2 + value.len()..];
    }
    if cut {
        Options::Cut
    } else {
        Options::Whole
    }
}
