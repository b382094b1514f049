//! Reads the TCP packets of a capture file.
//!
//! Files: pcap (microseconds or nanoseconds, either byte order) and pcapng. Link layers: Ethernet with or without VLAN tags, raw IP,
//! Linux cooked (both versions), BSD loopback. pcap-parser reads the container, etherparse the headers. Not supported: IP fragments,
//! tunnels.

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

/// The contents of a capture file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// TCP packets, in the order of the file.
    pub packets: Vec<Packet>,
    /// Number of packets that are not TCP.
    pub other_packets: usize,
    /// The file ends in the middle of a packet. The packets before it are read.
    pub cut_short: bool,
}

/// Reads a capture file.
///
/// # Errors
/// The file is no capture, is damaged, or has an unsupported link type.
pub fn read(file: &[u8]) -> Result<Capture, String> {
    if file.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
        return read_pcapng(file);
    }
    let (mut rest, header) = parse_pcap_header(file).map_err(|_| "is no packet capture (pcap or pcapng)".to_owned())?;
    let link = Link::of(header.network)?;
    let parse_frame = match (header.is_modified_format(), header.is_bigendian()) {
        (true, _) => |rest| parse_pcap_frame_modified(rest),
        (false, true) => |rest| parse_pcap_frame_be(rest),
        (false, false) => |rest| parse_pcap_frame(rest),
    };
    let unit_ns = if header.is_nanosecond_precision() { 1 } else { 1_000 };
    let mut capture = Capture::default();
    while !rest.is_empty() {
        let Ok((after, packet)) = parse_frame(rest) else {
            capture.cut_short = true;
            break;
        };
        rest = after;
        let time_ns = u64::from(packet.ts_sec) * NS_PER_S + u64::from(packet.ts_usec) * unit_ns;
        capture.add(time_ns as i64, link, packet.data, packet.origlen);
    }
    Ok(capture)
}

/// An interface of a pcapng section.
#[derive(Clone, Copy)]
struct Interface {
    link: Linktype,
    /// Ticks of a timestamp per second.
    ticks_per_s: u64,
    /// Added to every timestamp, s.
    offset_s: i64,
}

fn read_pcapng(file: &[u8]) -> Result<Capture, String> {
    let mut capture = Capture::default();
    let (mut big_endian, mut interfaces, mut rest) = (false, Vec::<Interface>::new(), file);
    while !rest.is_empty() {
        let block = if rest.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
            parse_sectionheaderblock(rest).map(|(after, section)| (after, Block::SectionHeader(section)))
        } else if big_endian {
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
                big_endian = section.big_endian();
                interfaces.clear();
            }
            Block::InterfaceDescription(interface) => interfaces.push(Interface {
                link: interface.linktype,
                ticks_per_s: ticks_per_s(interface.if_tsresol).ok_or("has an unknown unit of time")?,
                // pcap-parser reads the offset as little-endian even in a big-endian section.
                offset_s: if big_endian { interface.ts_offset().swap_bytes() } else { interface.ts_offset() },
            }),
            Block::EnhancedPacket(packet) => {
                let interface =
                    interfaces.get(packet.if_id as usize).ok_or("names an interface that it does not describe")?;
                let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let ns = u128::from(ticks) * u128::from(NS_PER_S) / u128::from(interface.ticks_per_s);
                let time_ns = (ns as i64).wrapping_add(interface.offset_s.wrapping_mul(NS_PER_S as i64));
                let data = &packet.data[..packet.data.len().min(packet.caplen as usize)];
                capture.add(time_ns, Link::of(interface.link)?, data, packet.origlen);
            }
            // A simple packet block has no timestamp.
            Block::SimplePacket(_) => capture.other_packets += 1,
            _ => {}
        }
    }
    Ok(capture)
}

/// Ticks per second from the option if_tsresol: a power of ten, or of two if the highest bit is set (draft-ietf-opsawg-pcapng, section 4.2).
/// None if the number does not fit.
fn ticks_per_s(resolution: u8) -> Option<u64> {
    let power = u32::from(resolution & 0x7f);
    if resolution & 0x80 == 0 {
        10_u64.checked_pow(power)
    } else {
        1_u64.checked_shl(power)
    }
}

/// The link layer, i.e. what precedes the IP header.
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

    /// Length of the link-layer header in bytes; of Ethernet, without VLAN tags.
    fn header_len(self) -> usize {
        match self {
            Self::Ethernet => ETHERNET_HEADER,
            Self::Ip => 0,
            Self::Cooked => COOKED_HEADER,
            Self::Cooked2 => COOKED_2_HEADER,
            Self::Loopback => LOOPBACK_HEADER,
        }
    }

    fn dissect(self, data: &[u8]) -> Option<LaxSlicedPacket<'_>> {
        let payload = data.get(self.header_len()..)?;
        let by_ether_type = |offset: usize| {
            let kind = EtherType(u16::from_be_bytes([data[offset], data[offset + 1]]));
            LaxSlicedPacket::from_ether_type(kind, payload)
        };
        match self {
            Self::Ethernet => LaxSlicedPacket::from_ethernet(data).ok(),
            Self::Ip | Self::Loopback => LaxSlicedPacket::from_ip(payload).ok(),
            Self::Cooked => Some(by_ether_type(14)),
            Self::Cooked2 => Some(by_ether_type(0)),
        }
    }
}

impl Capture {
    fn add(&mut self, time_ns: i64, link: Link, data: &[u8], original_len: u32) {
        match packet(time_ns, link, data, original_len) {
            Some(packet) => self.packets.push(packet),
            None => self.other_packets += 1,
        }
    }
}

fn packet(time_ns: i64, link: Link, data: &[u8], original_len: u32) -> Option<Packet> {
    let sliced = link.dissect(data)?;
    let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else { return None };
    // With segmentation offload a packet may exceed the length field of its IP header, which is then 0.
    let len_on_wire = original_len.saturating_sub(link.header_len() as u32);
    let (source, destination, id, length, headers) = match sliced.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let h = ip.header();
            let length = match u32::from(h.total_len()) {
                0 => len_on_wire,
                length => length,
            };
            let (source, destination) = (IpAddr::V4(h.source_addr()), IpAddr::V4(h.destination_addr()));
            (source, destination, h.identification(), length, u32::from(h.ihl()) * 4)
        }
        LaxNetSlice::Ipv6(ip) => {
            let h = ip.header();
            let fixed = h.slice().len() as u32;
            let length = match u32::from(h.payload_length()) {
                0 => len_on_wire,
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
        flags: flag_bits(tcp),
        window: tcp.window_size(),
        timestamps,
        sacks,
        payload: length.checked_sub(headers + u32::from(tcp.data_offset()) * 4)?,
        length,
    })
}

/// The Timestamps option and the number of SACK blocks.
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

fn flag_bits(tcp: &TcpSlice) -> u16 {
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
