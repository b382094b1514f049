//! From packets to a capture file: pcap with nanoseconds, Ethernet, headers only.

use std::net::Ipv4Addr;

use etherparse::{EtherType, Ethernet2Header, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader};

use crate::packet::flags;

const NS_PER_S: u64 = 1_000_000_000;
/// pcap's mark of a file with nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;
const SNAPLEN: u32 = 128;
const LINK_ETHERNET: u32 = 1;
const HOPS: u8 = 64;
/// Payloads are zeros; no packet has more.
static ZEROS: [u8; 1500] = [0; 1500];

/// What follows the IP header.
#[derive(Clone, Debug)]
pub enum Transport {
    /// TCP.
    Tcp {
        /// Sequence number.
        seq: u32,
        /// Acknowledgment number.
        ack: u32,
        /// See [`flags`].
        flags: u16,
        /// Window, scaled.
        window: u16,
        /// In order.
        options: Vec<TcpOption>,
    },
    /// UDP.
    Udp,
}

/// An option of a TCP header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// Largest segment, bytes.
    MaximumSegmentSize(u16),
    /// Shift of the window.
    WindowScale(u8),
    /// SACK will be understood.
    SackPermitted,
    /// Value and echo.
    Timestamps(u32, u32),
    /// Blocks `[start, end)`; one to four.
    Sack(Vec<(u32, u32)>),
}

/// A packet to write.
#[derive(Clone, Debug)]
pub struct Frame {
    /// When, ns.
    pub time_ns: u64,
    /// From.
    pub source: (Ipv4Addr, u16),
    /// To.
    pub destination: (Ipv4Addr, u16),
    /// Identification of IPv4.
    pub id: u16,
    /// The ECN field.
    pub ecn: u8,
    /// What it carries.
    pub transport: Transport,
    /// Payload, bytes; not written, but counted, as zeros, in lengths and checksums.
    pub payload: u16,
}

/// Makes a capture file.
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
    /// Adds a packet.
    ///
    /// # Errors
    /// The headers cannot be: options that do not fit, a payload that is too long.
    pub fn add(&mut self, frame: &Frame) -> Result<(), String> {
        let ends = (frame.source.0.octets(), frame.destination.0.octets());
        let payload = ZEROS.get(..usize::from(frame.payload)).ok_or("a payload above 1500 bytes")?;
        let mut transport = vec![];
        let number = match &frame.transport {
            Transport::Tcp { seq, ack, flags, window, options } => {
                let mut header = tcp(frame, *seq, *ack, *flags, *window, options)?;
                header.checksum = header.calc_checksum_ipv4_raw(ends.0, ends.1, payload).map_err(|e| e.to_string())?;
                header.write(&mut transport).map_err(|e| e.to_string())?;
                IpNumber::TCP
            }
            Transport::Udp => {
                let length = payload.len();
                let mut header = UdpHeader::without_ipv4_checksum(frame.source.1, frame.destination.1, length)
                    .map_err(|e| e.to_string())?;
                header.checksum = header.calc_checksum_ipv4_raw(ends.0, ends.1, payload).map_err(|e| e.to_string())?;
                header.write(&mut transport).map_err(|e| e.to_string())?;
                IpNumber::UDP
            }
        };
        let inside = transport.len() as u16 + frame.payload;
        let mut ip = Ipv4Header::new(inside, HOPS, number, ends.0, ends.1).map_err(|e| e.to_string())?;
        ip.identification = frame.id;
        ip.dont_fragment = true;
        ip.ecn = frame.ecn.try_into().map_err(|_| "an ECN field above 3".to_owned())?;
        ip.header_checksum = ip.calc_header_checksum();
        let ethernet =
            Ethernet2Header { source: station(ends.0), destination: station(ends.1), ether_type: EtherType::IPV4 };
        let mut headers = vec![];
        ethernet.write(&mut headers).map_err(|e| e.to_string())?;
        ip.write(&mut headers).map_err(|e| e.to_string())?;
        headers.extend(transport);
        let length = headers.len() as u32 + u32::from(frame.payload);
        let captured = (headers.len() as u32).min(SNAPLEN);
        let (seconds, nanoseconds) = ((frame.time_ns / NS_PER_S) as u32, (frame.time_ns % NS_PER_S) as u32);
        for word in [seconds, nanoseconds, captured, length] {
            self.file.extend(word.to_le_bytes());
        }
        self.file.extend(&headers[..captured as usize]);
        Ok(())
    }

    /// The file.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.file
    }
}

/// The locally administered hardware address of a host.
fn station(address: [u8; 4]) -> [u8; 6] {
    [2, 0, address[0], address[1], address[2], address[3]]
}

fn tcp(frame: &Frame, seq: u32, ack: u32, bits: u16, window: u16, options: &[TcpOption]) -> Result<TcpHeader, String> {
    let mut header = TcpHeader::new(frame.source.1, frame.destination.1, seq, window);
    header.acknowledgment_number = ack;
    let has = |bit| bits & bit != 0;
    header.fin = has(flags::FIN);
    header.syn = has(flags::SYN);
    header.rst = has(flags::RST);
    header.psh = has(flags::PSH);
    header.ack = has(flags::ACK);
    header.ece = has(flags::ECE);
    header.cwr = has(flags::CWR);
    header.ns = has(flags::NS);
    let mut elements = vec![];
    for option in options {
        match option {
            TcpOption::MaximumSegmentSize(size) => elements.push(TcpOptionElement::MaximumSegmentSize(*size)),
            TcpOption::WindowScale(shift) => {
                elements.extend([TcpOptionElement::Noop, TcpOptionElement::WindowScale(*shift)]);
            }
            TcpOption::SackPermitted => elements.push(TcpOptionElement::SelectiveAcknowledgementPermitted),
            TcpOption::Timestamps(value, echo) => {
                // Aligned alone; behind SACK-permitted it is as it stands.
                if !elements.contains(&TcpOptionElement::SelectiveAcknowledgementPermitted) {
                    elements.extend([TcpOptionElement::Noop, TcpOptionElement::Noop]);
                }
                elements.push(TcpOptionElement::Timestamp(*value, *echo));
            }
            TcpOption::Sack(blocks) => {
                let (first, rest) = blocks.split_first().ok_or("a SACK option without blocks")?;
                let mut more = [None; 3];
                for (place, block) in more.iter_mut().zip(rest) {
                    *place = Some(*block);
                }
                elements.extend([TcpOptionElement::Noop, TcpOptionElement::Noop]);
                elements.push(TcpOptionElement::SelectiveAcknowledgement(*first, more));
            }
        }
    }
    header.set_options(&elements).map_err(|e| e.to_string())?;
    Ok(header)
}
