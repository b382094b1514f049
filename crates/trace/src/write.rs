//! Writes packets to a capture file: pcap with nanosecond timestamps and Ethernet frames, of which only the headers are stored.

use std::net::Ipv4Addr;

use etherparse::tcp_option::{
    KIND_MAXIMUM_SEGMENT_SIZE, KIND_NOOP, KIND_SELECTIVE_ACK, KIND_SELECTIVE_ACK_PERMITTED, KIND_TIMESTAMP,
    KIND_WINDOW_SCALE, LEN_MAXIMUM_SEGMENT_SIZE, LEN_SELECTIVE_ACK_PERMITTED, LEN_TIMESTAMP, LEN_WINDOW_SCALE,
};
use etherparse::{
    EtherType, Ethernet2Header, IcmpEchoHeader, Icmpv4Header, Icmpv4Type, IpNumber, Ipv4Header, TcpHeader, UdpHeader,
};

use crate::packet::flags;

const NS_PER_S: u64 = 1_000_000_000;
/// Time 0 of a run in its captures, s since 1970: the beginning of 2020. Programs take a time of 0 for one that is not set (tcptrace loses the
/// first RTT).
pub const EPOCH_S: u64 = 1_577_836_800;
/// Magic number of a pcap file with nanosecond timestamps.
const MAGIC: u32 = 0xa1b2_3c4d;
const SNAPLEN: u32 = 128;
const LINK_ETHERNET: u32 = 1;
const TTL: u8 = 64;
/// The payload of every packet, up to its length: no packet carries more.
static ZEROS: [u8; MOST_PAYLOAD] = [0; MOST_PAYLOAD];
/// Payload of a packet that fills a jumbo frame, bytes.
const MOST_PAYLOAD: usize = 9000;

/// The transport header of a frame.
#[derive(Clone, Debug)]
pub enum Transport {
    /// TCP.
    Tcp {
        /// Sequence number.
        seq: u32,
        /// Acknowledgment number.
        ack: u32,
        /// Bits of [`flags`].
        flags: u16,
        /// Window field of the header, already scaled.
        window: u16,
        /// Options in the order in which they are written.
        options: Vec<TcpOption>,
    },
    /// UDP.
    Udp,
    /// An ICMP echo request, or the reply.
    Echo {
        /// The reply.
        reply: bool,
        /// Its stream.
        id: u16,
        /// Its number in the stream.
        seq: u16,
    },
}

/// An option of a TCP header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// Maximum segment size in bytes.
    MaximumSegmentSize(u16),
    /// Window scale: shift count.
    WindowScale(u8),
    /// SACK permitted.
    SackPermitted,
    /// Timestamps: value and echo reply.
    Timestamps(u32, u32),
    /// One to four SACK blocks `[start, end)`.
    Sack(Vec<(u32, u32)>),
    /// AccECN (RFC 9768): its kind, which tells the order of its fields, and up to three fields of 24 bits. It stands before SACK blocks.
    AccurateEcn(u8, Vec<u32>),
}

impl TcpOption {
    /// Kind of the option whose first field counts bytes with ECT(0).
    pub const ACCURATE_ECT0_FIRST: u8 = 172;
    /// Kind of the option whose first field counts bytes with ECT(1).
    pub const ACCURATE_ECT1_FIRST: u8 = 174;
}

/// A packet to write.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Capture time, ns since the run began.
    pub time_ns: u64,
    /// Sending address and port.
    pub source: (Ipv4Addr, u16),
    /// Receiving address and port.
    pub destination: (Ipv4Addr, u16),
    /// Identification field of the IPv4 header.
    pub id: u16,
    /// Differentiated services codepoint of the IPv4 header, 0 to 63.
    pub dscp: u8,
    /// ECN field of the IPv4 header, 0 to 3.
    pub ecn: u8,
    /// TCP or UDP header.
    pub transport: Transport,
    /// Payload length in bytes. The payload is not stored; lengths and checksums count it as zeros.
    pub payload: u16,
}

/// Builds a capture file in memory.
#[derive(Clone, Debug)]
pub struct Writer {
    file: Vec<u8>,
}

impl Default for Writer {
    fn default() -> Self {
        let mut file = vec![];
        for word in [MAGIC, 4 << 16 | 2, 0, 0, SNAPLEN, LINK_ETHERNET] {
            file.extend(word.to_le_bytes());
        }
        Self { file }
    }
}

impl Writer {
    /// Appends a packet.
    ///
    /// # Errors
    /// The packet cannot be encoded: its options do not fit, its payload exceeds 9000 bytes, its ECN field exceeds 3, or its DSCP 63.
    pub fn add(&mut self, frame: &Frame) -> Result<(), String> {
        let (source, destination) = (frame.source.0.octets(), frame.destination.0.octets());
        let payload = ZEROS.get(..usize::from(frame.payload)).ok_or("a payload above 9000 bytes")?;
        let mut transport = vec![];
        let protocol = match &frame.transport {
            Transport::Tcp { seq, ack, flags, window, options } => {
                let mut header = tcp(frame, *seq, *ack, *flags, *window, options)?;
                header.checksum =
                    header.calc_checksum_ipv4_raw(source, destination, payload).map_err(|e| e.to_string())?;
                header.write(&mut transport).map_err(|e| e.to_string())?;
                IpNumber::TCP
            }
            Transport::Udp => {
                let length = payload.len();
                let mut header = UdpHeader::without_ipv4_checksum(frame.source.1, frame.destination.1, length)
                    .map_err(|e| e.to_string())?;
                header.checksum =
                    header.calc_checksum_ipv4_raw(source, destination, payload).map_err(|e| e.to_string())?;
                header.write(&mut transport).map_err(|e| e.to_string())?;
                IpNumber::UDP
            }
            Transport::Echo { reply, id, seq } => {
                let echo = IcmpEchoHeader { id: *id, seq: *seq };
                let kind = if *reply { Icmpv4Type::EchoReply(echo) } else { Icmpv4Type::EchoRequest(echo) };
                Icmpv4Header::with_checksum(kind, payload).write(&mut transport).map_err(|e| e.to_string())?;
                IpNumber::ICMP
            }
        };
        let ip_payload_len = transport.len() as u16 + frame.payload;
        let mut ip = Ipv4Header::new(ip_payload_len, TTL, protocol, source, destination).map_err(|e| e.to_string())?;
        ip.identification = frame.id;
        ip.dont_fragment = true;
        ip.dscp = frame.dscp.try_into().map_err(|_| "a DSCP above 63".to_owned())?;
        ip.ecn = frame.ecn.try_into().map_err(|_| "an ECN field above 3".to_owned())?;
        ip.header_checksum = ip.calc_header_checksum();
        let ethernet = Ethernet2Header {
            source: mac_address(source),
            destination: mac_address(destination),
            ether_type: EtherType::IPV4,
        };
        let mut headers = vec![];
        ethernet.write(&mut headers).map_err(|e| e.to_string())?;
        ip.write(&mut headers).map_err(|e| e.to_string())?;
        headers.extend(transport);
        let length = headers.len() as u32 + u32::from(frame.payload);
        let captured = (headers.len() as u32).min(SNAPLEN);
        let (seconds, nanoseconds) = ((EPOCH_S + frame.time_ns / NS_PER_S) as u32, (frame.time_ns % NS_PER_S) as u32);
        for word in [seconds, nanoseconds, captured, length] {
            self.file.extend(word.to_le_bytes());
        }
        self.file.extend(&headers[..captured as usize]);
        Ok(())
    }

    /// The bytes of the file.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.file
    }
}

/// A locally administered MAC address that contains the IP address.
fn mac_address(address: [u8; 4]) -> [u8; 6] {
    [2, 0, address[0], address[1], address[2], address[3]]
}

fn tcp(frame: &Frame, seq: u32, ack: u32, flags: u16, window: u16, options: &[TcpOption]) -> Result<TcpHeader, String> {
    let mut header = TcpHeader::new(frame.source.1, frame.destination.1, seq, window);
    header.acknowledgment_number = ack;
    let has = |bit| flags & bit != 0;
    header.fin = has(flags::FIN);
    header.syn = has(flags::SYN);
    header.rst = has(flags::RST);
    header.psh = has(flags::PSH);
    header.ack = has(flags::ACK);
    header.ece = has(flags::ECE);
    header.cwr = has(flags::CWR);
    header.ns = has(flags::NS);
    header.set_options_raw(&encoded(options)?).map_err(|e| e.to_string())?;
    Ok(header)
}

/// The bytes of options, without the padding behind the last one.
fn encoded(options: &[TcpOption]) -> Result<Vec<u8>, String> {
    let mut bytes = vec![];
    for option in options {
        match option {
            TcpOption::MaximumSegmentSize(size) => {
                bytes.extend([KIND_MAXIMUM_SEGMENT_SIZE, LEN_MAXIMUM_SEGMENT_SIZE]);
                bytes.extend(size.to_be_bytes());
            }
            TcpOption::WindowScale(shift) => bytes.extend([KIND_NOOP, KIND_WINDOW_SCALE, LEN_WINDOW_SCALE, *shift]),
            TcpOption::SackPermitted => {
                bytes.extend([KIND_SELECTIVE_ACK_PERMITTED, LEN_SELECTIVE_ACK_PERMITTED]);
            }
            TcpOption::Timestamps(value, echo) => {
                // Two NOPs align the option to four bytes, as in Linux; after SACK-permitted it is aligned already.
                if !options.iter().any(|other| matches!(other, TcpOption::SackPermitted)) {
                    bytes.extend([KIND_NOOP; 2]);
                }
                bytes.extend([KIND_TIMESTAMP, LEN_TIMESTAMP]);
                bytes.extend([value.to_be_bytes(), echo.to_be_bytes()].concat());
            }
            TcpOption::AccurateEcn(kind, fields) => {
                bytes.resize(bytes.len().next_multiple_of(4), KIND_NOOP);
                bytes.extend([*kind, 2 + 3 * fields.len() as u8]);
                fields.iter().for_each(|field| bytes.extend(&field.to_be_bytes()[1..]));
                if !options.iter().any(|other| matches!(other, TcpOption::Sack(_))) {
                    bytes.resize(bytes.len().next_multiple_of(4), KIND_NOOP);
                }
            }
            TcpOption::Sack(blocks) if blocks.is_empty() => return Err("a SACK option without blocks".to_owned()),
            TcpOption::Sack(blocks) => {
                // Two NOPs align the blocks, unless the option before ends so that fewer do.
                bytes.resize((bytes.len() + 2).next_multiple_of(4) - 2, KIND_NOOP);
                bytes.extend([KIND_SELECTIVE_ACK, 2 + 8 * blocks.len() as u8]);
                blocks.iter().for_each(|(start, end)| bytes.extend([start.to_be_bytes(), end.to_be_bytes()].concat()));
            }
        }
    }
    Ok(bytes)
}
