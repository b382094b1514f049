//! From a capture file to TCP packets: pcap (microseconds and nanoseconds, either byte order) and pcapng; Ethernet (VLAN tags too),
//! raw IP, Linux cooked (both versions) and BSD loopback.
//!
//! The container is read by pcap-parser, the headers by etherparse. Leaves out: fragments, tunnels.

use std::net::IpAddr;

use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TcpSlice, TransportSlice};
use pcap_parser::nom::Err as NomError;
use pcap_parser::pcapng::{parse_block_be, parse_block_le, parse_sectionheaderblock};
use pcap_parser::{
    parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified, parse_pcap_header, Block, Linktype, PcapError,
};

use crate::packet::{flags, Packet};

const NS_PER_S: u64 = 1_000_000_000;
const ETHERNET_HEADER: usize = 14;
const COOKED_HEADER: usize = 16;
const COOKED_2_HEADER: usize = 20;
const LOOPBACK_HEADER: usize = 4;

/// What a capture file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// TCP packets, in order of the file.
    pub packets: Vec<Packet>,
    /// Other packets.
    pub others: usize,
    /// The file ends within a packet; those before it count.
    pub cut_short: bool,
}

/// Reads a capture file.
///
/// # Errors
/// It is not a capture, or its packets are of a link that is not known here.
pub fn read(file: &[u8]) -> Result<Capture, String> {
    if file.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
        return read_pcapng(file);
    }
    let (mut rest, header) = parse_pcap_header(file).map_err(|_| "is no packet capture (pcap or pcapng)".to_owned())?;
    let link = Link::of(header.network)?;
    let frame = match (header.is_modified_format(), header.is_bigendian()) {
        (true, _) => |rest| parse_pcap_frame_modified(rest),
        (false, true) => |rest| parse_pcap_frame_be(rest),
        (false, false) => |rest| parse_pcap_frame(rest),
    };
    let unit = if header.is_nanosecond_precision() { 1 } else { 1_000 };
    let mut capture = Capture::default();
    while !rest.is_empty() {
        let Ok((after, packet)) = frame(rest) else {
            capture.cut_short = true;
            break;
        };
        rest = after;
        let time_ns = u64::from(packet.ts_sec) * NS_PER_S + u64::from(packet.ts_usec) * unit;
        capture.add(time_ns as i64, link, packet.data, packet.origlen);
    }
    Ok(capture)
}

/// An interface of a pcapng section.
#[derive(Clone, Copy)]
struct Interface {
    link: Linktype,
    /// Units of a time stamp in a second.
    resolution: u64,
    offset_s: i64,
}

fn read_pcapng(file: &[u8]) -> Result<Capture, String> {
    let mut capture = Capture::default();
    let (mut big, mut interfaces, mut rest) = (false, Vec::<Interface>::new(), file);
    while !rest.is_empty() {
        let block = if rest.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
            parse_sectionheaderblock(rest).map(|(after, section)| (after, Block::SectionHeader(section)))
        } else if big {
            parse_block_be(rest)
        } else {
            parse_block_le(rest)
        };
        let (after, block) = match block {
            Ok(found) => found,
            Err(NomError::Incomplete(_) | NomError::Error(PcapError::Incomplete(_))) => {
                capture.cut_short = true;
                break;
            }
            Err(_) => return Err(format!("is damaged at byte {}", file.len() - rest.len())),
        };
        rest = after;
        match block {
            Block::SectionHeader(section) => {
                big = section.big_endian();
                interfaces.clear();
            }
            Block::InterfaceDescription(interface) => interfaces.push(Interface {
                link: interface.linktype,
                resolution: units_per_s(interface.if_tsresol).ok_or("has an unknown unit of time")?,
                // pcap-parser reads it as little-endian in any section.
                offset_s: if big { interface.ts_offset().swap_bytes() } else { interface.ts_offset() },
            }),
            Block::EnhancedPacket(packet) => {
                let interface =
                    interfaces.get(packet.if_id as usize).ok_or("names an interface that it does not describe")?;
                let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let ns = u128::from(ticks) * u128::from(NS_PER_S) / u128::from(interface.resolution);
                let time_ns = (ns as i64).wrapping_add(interface.offset_s.wrapping_mul(NS_PER_S as i64));
                let data = &packet.data[..packet.data.len().min(packet.caplen as usize)];
                capture.add(time_ns, Link::of(interface.link)?, data, packet.origlen);
            }
            // A simple packet has no time.
            Block::SimplePacket(_) => capture.others += 1,
            _ => {}
        }
    }
    Ok(capture)
}

/// The option if_tsresol: a power of ten, or of two if its highest bit is set (draft-ietf-opsawg-pcapng, section 4.2).
fn units_per_s(resolution: u8) -> Option<u64> {
    let power = u32::from(resolution & 0x7f);
    if resolution & 0x80 == 0 {
        10_u64.checked_pow(power)
    } else {
        1_u64.checked_shl(power)
    }
}

/// What precedes the IP header.
#[derive(Clone, Copy)]
enum Link {
    Ethernet,
    Ip,
    Cooked,
    Cooked2,
    Loopback,
}

impl Link {
    fn of(kind: Linktype) -> Result<Self, String> {
        match kind {
            Linktype::ETHERNET => Ok(Self::Ethernet),
            Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | Linktype(12 | 14) => Ok(Self::Ip),
            Linktype::LINUX_SLL => Ok(Self::Cooked),
            Linktype(276) => Ok(Self::Cooked2),
            Linktype::NULL | Linktype(108) => Ok(Self::Loopback),
            Linktype(other) => {
                Err(format!("is of link type {other}; expected Ethernet, raw IP, Linux cooked or loopback"))
            }
        }
    }

    /// Bytes before the IP header (of Ethernet, without tags).
    fn header(self) -> usize {
        match self {
            Self::Ethernet => ETHERNET_HEADER,
            Self::Ip => 0,
            Self::Cooked => COOKED_HEADER,
            Self::Cooked2 => COOKED_2_HEADER,
            Self::Loopback => LOOPBACK_HEADER,
        }
    }

    fn dissect(self, data: &[u8]) -> Option<LaxSlicedPacket<'_>> {
        let behind = data.get(self.header()..)?;
        let by_type = |high: usize| {
            let kind = EtherType(u16::from_be_bytes([data[high], data[high + 1]]));
            LaxSlicedPacket::from_ether_type(kind, behind)
        };
        match self {
            Self::Ethernet => LaxSlicedPacket::from_ethernet(data).ok(),
            Self::Ip | Self::Loopback => LaxSlicedPacket::from_ip(behind).ok(),
            Self::Cooked => Some(by_type(14)),
            Self::Cooked2 => Some(by_type(0)),
        }
    }
}

impl Capture {
    fn add(&mut self, time_ns: i64, link: Link, data: &[u8], original: u32) {
        match packet(time_ns, link, data, original) {
            Some(packet) => self.packets.push(packet),
            None => self.others += 1,
        }
    }
}

fn packet(time_ns: i64, link: Link, data: &[u8], original: u32) -> Option<Packet> {
    let sliced = link.dissect(data)?;
    let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else { return None };
    // Offloading hosts write no length for packets larger than an IP packet can be.
    let on_wire = original.saturating_sub(link.header() as u32);
    let (source, destination, id, length, headers) = match sliced.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let h = ip.header();
            let length = match u32::from(h.total_len()) {
                0 => on_wire,
                length => length,
            };
            let (source, destination) = (IpAddr::V4(h.source_addr()), IpAddr::V4(h.destination_addr()));
            (source, destination, h.identification(), length, u32::from(h.ihl()) * 4)
        }
        LaxNetSlice::Ipv6(ip) => {
            let h = ip.header();
            let fixed = h.slice().len() as u32;
            let length = match u32::from(h.payload_length()) {
                0 => on_wire,
                payload => fixed + payload,
            };
            let extensions = ip.extensions().slice().len() as u32;
            let (source, destination) = (IpAddr::V6(h.source_addr()), IpAddr::V6(h.destination_addr()));
            (source, destination, 0, length, fixed + extensions)
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let (timestamps, sacks) = options(tcp);
    Some(Packet {
        time_ns,
        source: (source, tcp.source_port()),
        destination: (destination, tcp.destination_port()),
        id,
        seq: tcp.sequence_number(),
        ack: tcp.acknowledgment_number(),
        flags: bits(tcp),
        window: tcp.window_size(),
        timestamps,
        sacks,
        payload: length.checked_sub(headers + u32::from(tcp.data_offset()) * 4)?,
        length,
    })
}

fn options(tcp: &TcpSlice) -> (Option<(u32, u32)>, u8) {
    let (mut timestamps, mut sacks) = (None, 0);
    for option in tcp.options_iterator().flatten() {
        match option {
            TcpOptionElement::Timestamp(value, echo) => timestamps = Some((value, echo)),
            TcpOptionElement::SelectiveAcknowledgement(_, more) => sacks = 1 + more.iter().flatten().count() as u8,
            _ => {}
        }
    }
    (timestamps, sacks)
}

fn bits(tcp: &TcpSlice) -> u16 {
    [
        (tcp.fin(), flags::FIN),
        (tcp.syn(), flags::SYN),
        (tcp.rst(), flags::RST),
        (tcp.psh(), flags::PSH),
        (tcp.ack(), flags::ACK),
        (tcp.ece(), flags::ECE),
        (tcp.cwr(), flags::CWR),
        (tcp.ns(), flags::NS),
    ]
    .iter()
    .filter(|(set, _)| *set)
    .fold(0, |all, (_, bit)| all | bit)
}
