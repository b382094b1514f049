//! The records of a capture file: pcap (microseconds or nanoseconds, either byte order) and pcapng, read front to back from any stream.
//!
//! Only one record is in memory. A length that no capture has is damage, and is found before anything is allocated for it.

use std::io::{self, Read};

use crate::dissect::Link;
use crate::stream::Unpacked;
use crate::tally::LeftOut;

const NS_PER_S: i128 = 1_000_000_000;
/// Most captured bytes of a packet, as in Wireshark (WTAP_MAX_PACKET_SIZE_STANDARD).
const MOST_CAPTURED: u32 = 262_144;
/// Length of a pcapng block that describes an interface or holds a packet, options included.
const MOST_BLOCK: u32 = 1 << 20;
const MOST_INTERFACES: usize = 1 << 16;
/// Bytes of a block without packets that are read at a time.
const SKIPPED_AT_ONCE: usize = 1 << 16;
/// Times are less than this from 1970 (146 years), so that the difference of two fits an i64.
const MOST_TIME_NS: i128 = 1 << 62;

const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// Type and length of a pcapng block.
const BLOCK_HEADER: u32 = 8;
/// The length of a pcapng block is repeated at its end.
const BLOCK_TRAILER: u32 = 4;
/// Bytes from the start of a packet block's body to the captured bytes.
const PACKET_FIELDS: usize = 20;
const OPTION_END: u16 = 0;
const OPTION_TSRESOL: u16 = 9;
const OPTION_TSOFFSET: u16 = 14;

/// Reason why a capture cannot be read.
#[derive(Debug)]
pub enum Error {
    /// The stream failed.
    Io(io::Error),
    /// The bytes are no capture, are damaged, or are of an unsupported kind. The text says which, for a message that begins with the file's
    /// name.
    Content(String),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn content<T>(message: impl Into<String>) -> Result<T, Error> {
    Err(Error::Content(message.into()))
}

/// A packet as it was captured.
pub struct Record<'a> {
    /// ns since 1970.
    pub time_ns: i64,
    pub link: Link,
    /// The captured bytes, from the link-layer header on.
    pub data: &'a [u8],
    /// Length of the packet on the wire in bytes, link-layer header included.
    pub original_len: u32,
}

/// The next item of a capture.
pub enum Next<'a> {
    Record(Record<'a>),
    /// A packet that cannot be analysed.
    LeftOut(LeftOut),
    End,
    /// The file ends within a record.
    CutShort,
}

/// A stream that knows its position (in the unpacked bytes), with the bytes that were read last.
struct Input<R: Read> {
    stream: Unpacked<R>,
    position: u64,
    buffer: Vec<u8>,
    /// The packed file ends before the packed data do.
    cut: bool,
}

impl<R: Read> Input<R> {
    /// Reads up to `count` bytes, fewer only at the end of the stream.
    fn take(&mut self, count: usize) -> Result<&[u8], Error> {
        if self.buffer.len() < count {
            self.buffer.resize(count, 0);
        }
        let mut filled = 0;
        while filled < count {
            match self.stream.read(&mut self.buffer[filled..count]) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.position += filled as u64;
                    self.failed(error)?;
                    return Ok(&self.buffer[..filled]);
                }
            }
        }
        self.position += filled as u64;
        Ok(&self.buffer[..filled])
    }

    /// Skips `count` bytes. False if the stream ends before.
    fn skip(&mut self, count: u32) -> Result<bool, Error> {
        let mut left = count as usize;
        while left > 0 {
            let skipped = self.take(left.min(SKIPPED_AT_ONCE))?.len();
            if skipped == 0 {
                return Ok(false);
            }
            left -= skipped;
        }
        Ok(true)
    }

    /// Tell apart a file that fails, one whose packed data are damaged, and one whose packed data end early.
    fn failed(&mut self, error: io::Error) -> Result<(), Error> {
        if !self.stream.is_packed() || error.raw_os_error().is_some() {
            return Err(Error::Io(error));
        }
        if error.kind() == io::ErrorKind::UnexpectedEof {
            self.cut = true;
            return Ok(());
        }
        content(format!("is damaged at byte {} of what is packed: {error}", self.position))
    }
}

/// The byte order of a file or section.
#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

impl Order {
    /// The integer at `offset`; `bytes` must hold it.
    fn u16(self, bytes: &[u8], offset: usize) -> u16 {
        let field = [bytes[offset], bytes[offset + 1]];
        match self {
            Self::Little => u16::from_le_bytes(field),
            Self::Big => u16::from_be_bytes(field),
        }
    }

    /// The integer at `offset`; `bytes` must hold it.
    fn u32(self, bytes: &[u8], offset: usize) -> u32 {
        let (first, second) = (u32::from(self.u16(bytes, offset)), u32::from(self.u16(bytes, offset + 2)));
        match self {
            Self::Little => second << 16 | first,
            Self::Big => first << 16 | second,
        }
    }
}

enum Format {
    Pcap { order: Order, link: Link, ns_per_unit: i128, record_header: usize },
    Pcapng { order: Order, interfaces: Vec<Interface> },
}

/// An interface of a pcapng section.
struct Interface {
    /// None if the link type is unknown.
    link: Option<Link>,
    /// Ticks of a timestamp per second.
    ticks_per_s: u64,
    /// Added to every timestamp, s.
    offset_s: i64,
}

/// Reads the records of a capture.
pub struct Records<R: Read> {
    input: Input<R>,
    format: Format,
}

impl<R: Read> Records<R> {
    /// Reads the header of the file.
    pub fn new(stream: R) -> Result<Self, Error> {
        let mut input = Input { stream: Unpacked::new(stream)?, position: 0, buffer: vec![], cut: false };
        let magic = input.take(4)?.to_vec();
        let format = if magic == SECTION_HEADER {
            match section_header(&mut input)? {
                Some(order) => Format::Pcapng { order, interfaces: vec![] },
                None => return content("ends within its header"),
            }
        } else {
            pcap_header(&mut input, &magic)?
        };
        Ok(Self { input, format })
    }

    /// Return how many bytes of the file, unpacked, were read.
    pub fn position(&self) -> u64 {
        self.input.position
    }

    /// The next packet.
    pub fn next(&mut self) -> Result<Next<'_>, Error> {
        match &mut self.format {
            Format::Pcap { order, link, ns_per_unit, record_header } => {
                next_of_pcap(&mut self.input, *order, *link, *ns_per_unit, *record_header)
            }
            Format::Pcapng { order, interfaces } => next_of_pcapng(&mut self.input, order, interfaces),
        }
    }
}

fn pcap_header<R: Read>(input: &mut Input<R>, magic: &[u8]) -> Result<Format, Error> {
    // The modified format (0xa1b2cd34) has eight more bytes in each record header.
    let (order, ns_per_unit, record_header) = match magic {
        [0xd4, 0xc3, 0xb2, 0xa1] => (Order::Little, 1_000, 16),
        [0xa1, 0xb2, 0xc3, 0xd4] => (Order::Big, 1_000, 16),
        [0x4d, 0x3c, 0xb2, 0xa1] => (Order::Little, 1, 16),
        [0xa1, 0xb2, 0x3c, 0x4d] => (Order::Big, 1, 16),
        [0x34, 0xcd, 0xb2, 0xa1] => (Order::Little, 1_000, 24),
        [0xa1, 0xb2, 0xcd, 0x34] => (Order::Big, 1_000, 24),
        _ => return content("is no packet capture (pcap or pcapng); expected a file such as tcpdump writes"),
    };
    let rest = input.take(20)?;
    if rest.len() < 20 {
        return content("ends within its header");
    }
    // The highest bits hold the length of the frame check sequence.
    let kind = order.u32(rest, 16) & 0x03ff_ffff;
    let Some(link) = Link::of(kind) else {
        return content(format!("is of link type {kind}; expected Ethernet, raw IP, Linux cooked or loopback"));
    };
    Ok(Format::Pcap { order, link, ns_per_unit, record_header })
}

fn next_of_pcap<R: Read>(
    input: &mut Input<R>,
    order: Order,
    link: Link,
    ns_per_unit: i128,
    record_header: usize,
) -> Result<Next<'_>, Error> {
    let start = input.position;
    let header = input.take(record_header)?;
    if header.len() < record_header {
        if header.is_empty() && !input.cut {
            return Ok(Next::End);
        }
        return Ok(Next::CutShort);
    }
    let time_ns = i128::from(order.u32(header, 0)) * NS_PER_S + i128::from(order.u32(header, 4)) * ns_per_unit;
    let (captured, original_len) = (order.u32(header, 8), order.u32(header, 12));
    if captured > MOST_CAPTURED {
        return content(format!("is damaged at byte {start}: a packet of {captured} bytes"));
    }
    let data = input.take(captured as usize)?;
    if data.len() < captured as usize {
        return Ok(Next::CutShort);
    }
    Ok(record(time_ns, link, data, original_len))
}

fn record(time_ns: i128, link: Link, data: &[u8], original_len: u32) -> Next<'_> {
    if time_ns.abs() < MOST_TIME_NS {
        Next::Record(Record { time_ns: time_ns as i64, link, data, original_len })
    } else {
        Next::LeftOut(LeftOut::NoTime)
    }
}

/// Reads a section header behind its type. None if the stream ends in it.
fn section_header<R: Read>(input: &mut Input<R>) -> Result<Option<Order>, Error> {
    let start = input.position - 4;
    let fields = input.take(8)?;
    if fields.len() < 8 {
        return Ok(None);
    }
    let order = match fields[4..] {
        [0x4d, 0x3c, 0x2b, 0x1a] => Order::Little,
        [0x1a, 0x2b, 0x3c, 0x4d] => Order::Big,
        _ if start == 0 => {
            return content("is no packet capture (pcap or pcapng); expected a file such as tcpdump writes")
        }
        _ => return content(format!("is damaged at byte {start}: a section without byte order")),
    };
    let length = checked_length(order.u32(fields, 0), start)?;
    let Some(rest) = length.checked_sub(12 + BLOCK_TRAILER) else {
        return content(format!("is damaged at byte {start}: a block of {length} bytes"));
    };
    Ok((input.skip(rest)? && end_of_block(input, order, length, start)?).then_some(order))
}

/// Lengths of blocks are multiples of four, and at least the two lengths and the type fit in.
fn checked_length(length: u32, start: u64) -> Result<u32, Error> {
    if length.is_multiple_of(4) && length >= BLOCK_HEADER + BLOCK_TRAILER {
        Ok(length)
    } else {
        content(format!("is damaged at byte {start}: a block of {length} bytes"))
    }
}

/// Reads the length at the end of a block. False if the stream ends in it.
fn end_of_block<R: Read>(input: &mut Input<R>, order: Order, length: u32, start: u64) -> Result<bool, Error> {
    let trailer = input.take(BLOCK_TRAILER as usize)?;
    if trailer.len() < BLOCK_TRAILER as usize {
        return Ok(false);
    }
    if order.u32(trailer, 0) != length {
        return content(format!("is damaged at byte {start}: a block with two lengths"));
    }
    Ok(true)
}

/// A block that holds a packet.
struct PacketBlock {
    kind: u32,
    /// Its start in the file.
    start: u64,
    /// Its body is this much of the input's buffer, bytes.
    body_len: usize,
}

fn next_of_pcapng<'a, R: Read>(
    input: &'a mut Input<R>,
    order: &mut Order,
    interfaces: &mut Vec<Interface>,
) -> Result<Next<'a>, Error> {
    match next_packet_block(input, order, interfaces)? {
        Ok(block) => packet(*order, &block, &input.buffer[..block.body_len], interfaces),
        Err(other) => Ok(other),
    }
}

/// Reads blocks until one holds a packet, or there is something else to say.
fn next_packet_block<R: Read>(
    input: &mut Input<R>,
    order: &mut Order,
    interfaces: &mut Vec<Interface>,
) -> Result<Result<PacketBlock, Next<'static>>, Error> {
    loop {
        let start = input.position;
        let kind: Result<[u8; 4], _> = input.take(4)?.try_into();
        let Ok(kind) = kind else {
            let whole = input.position == start && !input.cut;
            return Ok(Err(if whole { Next::End } else { Next::CutShort }));
        };
        if kind == SECTION_HEADER {
            let Some(found) = section_header(input)? else { return Ok(Err(Next::CutShort)) };
            *order = found;
            interfaces.clear();
            continue;
        }
        let kind = order.u32(&kind, 0);
        let length = input.take(4)?;
        if length.len() < 4 {
            return Ok(Err(Next::CutShort));
        }
        let length = checked_length(order.u32(length, 0), start)?;
        let body_len = length - BLOCK_HEADER - BLOCK_TRAILER;
        if !matches!(kind, INTERFACE_DESCRIPTION | OBSOLETE_PACKET | ENHANCED_PACKET) {
            if !(input.skip(body_len)? && end_of_block(input, *order, length, start)?) {
                return Ok(Err(Next::CutShort));
            }
            if kind == SIMPLE_PACKET {
                return Ok(Err(Next::LeftOut(LeftOut::NoTime)));
            }
            continue;
        }
        if length > MOST_BLOCK {
            return content(format!("is damaged at byte {start}: a block of {length} bytes"));
        }
        let whole = input.take((body_len + BLOCK_TRAILER) as usize)?;
        let Some((body, trailer)) = whole.split_at_checked(body_len as usize).filter(|parts| parts.1.len() == 4) else {
            return Ok(Err(Next::CutShort));
        };
        if order.u32(trailer, 0) != length {
            return content(format!("is damaged at byte {start}: a block with two lengths"));
        }
        if kind != INTERFACE_DESCRIPTION {
            return Ok(Ok(PacketBlock { kind, start, body_len: body.len() }));
        }
        if interfaces.len() == MOST_INTERFACES {
            return content(format!("describes more than {MOST_INTERFACES} interfaces"));
        }
        interfaces.push(interface(*order, body, start)?);
    }
}

fn interface(order: Order, body: &[u8], start: u64) -> Result<Interface, Error> {
    let Some((fields, mut options)) = body.split_at_checked(8) else {
        return content(format!("is damaged at byte {start}: an interface without a link type"));
    };
    let link = Link::of(u32::from(order.u16(fields, 0)));
    let (mut ticks_per_s, mut offset_s) = (1_000_000, 0);
    while let Some((head, rest)) = options.split_at_checked(4) {
        let (code, length) = (order.u16(head, 0), usize::from(order.u16(head, 2)));
        if code == OPTION_END {
            break;
        }
        let Some(value) = rest.get(..length) else {
            return content(format!("is damaged at byte {start}: an option of {length} bytes"));
        };
        match (code, value) {
            (OPTION_TSRESOL, &[resolution]) => match ticks(resolution) {
                Some(ticks) => ticks_per_s = ticks,
                None => return content("has an unknown unit of time"),
            },
            (OPTION_TSOFFSET, value) if length == 8 => {
                let (first, second) = (i64::from(order.u32(value, 0)), i64::from(order.u32(value, 4)));
                offset_s = match order {
                    Order::Little => second << 32 | first,
                    Order::Big => first << 32 | second,
                };
            }
            _ => {}
        }
        options = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(Interface { link, ticks_per_s, offset_s })
}

/// Ticks per second from the option if_tsresol: a power of ten, or of two if the highest bit is set (draft-ietf-opsawg-pcapng, section 4.2).
/// None if the number does not fit.
fn ticks(resolution: u8) -> Option<u64> {
    let power = u32::from(resolution & 0x7f);
    if resolution & 0x80 == 0 {
        10_u64.checked_pow(power)
    } else {
        1_u64.checked_shl(power)
    }
}

fn packet<'a>(order: Order, block: &PacketBlock, body: &'a [u8], interfaces: &[Interface]) -> Result<Next<'a>, Error> {
    let start = block.start;
    let Some((fields, data)) = body.split_at_checked(PACKET_FIELDS) else {
        return content(format!("is damaged at byte {start}: a packet without a length"));
    };
    let number = match block.kind {
        OBSOLETE_PACKET => u32::from(order.u16(fields, 0)),
        _ => order.u32(fields, 0),
    };
    let (captured, original_len) = (order.u32(fields, 12), order.u32(fields, 16));
    let Some(data) = data.get(..captured as usize) else {
        return content(format!("is damaged at byte {start}: a packet of {captured} bytes"));
    };
    let Some(interface) = interfaces.get(number as usize) else {
        return content(format!("is damaged at byte {start}: a packet of interface {number}, which is not described"));
    };
    let Some(link) = interface.link else { return Ok(Next::LeftOut(LeftOut::LinkType)) };
    let ticks = i128::from(order.u32(fields, 4)) << 32 | i128::from(order.u32(fields, 8));
    let time_ns = ticks * NS_PER_S / i128::from(interface.ticks_per_s) + i128::from(interface.offset_s) * NS_PER_S;
    Ok(record(time_ns, link, data, original_len))
}
