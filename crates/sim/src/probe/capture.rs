//! Packets as the two hosts of each flow see them: when one leaves TCP, and when it arrives. The numbers are those of real headers:
//! sequence numbers in bytes from 0, windows scaled. What the simulator does not have is constant: the data sender's own window.

use crate::network::FlowSpec;
use crate::packet::{flags, Ecn, Packet};
use crate::qdisc::FlowTuple;
use crate::tcp::layout::Layout;
use crate::tcp::sack::Blocks;
use crate::tcp::tcb::MSS;
use crate::time::Time;

/// Ethernet, IP and UDP, bytes.
const UDP_HEADERS: u32 = 42;
/// Of the data sender, who receives no data: window and its scale.
const IDLE_WINDOW: u16 = 65_535;
const IDLE_SCALE: u8 = 7;

/// A packet seen at a host.
#[derive(Clone, Copy, Debug)]
pub struct Sighting {
    /// When, ns.
    pub time: Time,
    /// At the right host; else at the left one.
    pub right: bool,
    packet: Packet,
    blocks: Blocks,
}

/// What of a flow its packets do not carry.
#[derive(Clone, Debug)]
struct Life {
    /// Its data come from the right.
    from_right: bool,
    tuple: FlowTuple,
    /// Where the bytes lie in the segments.
    layout: Option<Layout>,
    /// Shift of the receiver's window.
    scale: u8,
}

/// All that was seen.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    lives: Vec<Life>,
    /// In order of time.
    pub sightings: Vec<Sighting>,
}

/// The transport header of a packet, as it stands on the wire.
#[derive(Clone, Copy, Debug)]
pub enum Header {
    /// TCP.
    Tcp {
        /// Sequence number, bytes.
        seq: u32,
        /// Acknowledgment number, bytes.
        ack: u32,
        /// The simulator's flags.
        flags: u16,
        /// Carries an acknowledgment.
        acknowledges: bool,
        /// Window, scaled (not in a SYN).
        window: u16,
        /// Timestamp value and echo, ms.
        timestamps: (u32, u32),
        /// In a SYN: largest segment and shift of the window.
        syn: Option<(u16, u8)>,
        /// SACK blocks, bytes; the first `count`.
        sacks: ([(u32, u32); crate::tcp::sack::MAX_BLOCKS], usize),
    },
    /// UDP.
    Udp,
}

/// A packet in numbers of the wire.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// Host and port it comes from.
    pub source: (u32, u16),
    /// Host and port it goes to.
    pub destination: (u32, u16),
    /// It goes from the right-hand host to the left-hand one.
    pub leftwards: bool,
    /// The IP identification: a hash, so that a packet has the same at both hosts.
    pub id: u16,
    /// The ECN field.
    pub ecn: Ecn,
    /// What follows the IP header.
    pub header: Header,
    /// Payload, bytes.
    pub payload: u16,
}

impl Capture {
    /// Prepares for a TCP flow; flows come in order of their index.
    pub fn add_flow(&mut self, spec: &FlowSpec, tuple: FlowTuple, scale: u8) {
        let (from_right, layout) = (spec.from_right, Some(Layout::of(spec)));
        self.lives.push(Life { from_right, layout, tuple, scale });
    }

    /// Prepares for a stream of datagrams, after all flows.
    pub fn add_udp(&mut self, from_right: bool, tuple: FlowTuple) {
        self.lives.push(Life { from_right, layout: None, tuple, scale: 0 });
    }

    /// A packet leaves its host.
    pub fn departs(&mut self, time: Time, packet: &Packet, blocks: Blocks) {
        let right = self.lives[packet.flow as usize].from_right != packet.has(flags::ACK);
        self.sightings.push(Sighting { time, right, packet: *packet, blocks });
    }

    /// A packet arrives at its host.
    pub fn arrives(&mut self, time: Time, packet: &Packet, blocks: Blocks) {
        let right = self.lives[packet.flow as usize].from_right == packet.has(flags::ACK);
        self.sightings.push(Sighting { time, right, packet: *packet, blocks });
    }

    /// The numbers of a sighting.
    #[must_use]
    pub fn wire(&self, sighting: &Sighting) -> Wire {
        let (p, life) = (&sighting.packet, &self.lives[sighting.packet.flow as usize]);
        let ends = ((life.tuple.src, life.tuple.sport), (life.tuple.dst, life.tuple.dport));
        let (source, destination) = if p.has(flags::ACK) { (ends.1, ends.0) } else { ends };
        let payload = if life.layout.is_none() {
            p.len - UDP_HEADERS
        } else if p.flags & (flags::ACK | flags::SYN | flags::HANDSHAKE) != 0 {
            0
        } else {
            p.len - crate::packet::HEADERS
        };
        let header = life.layout.map_or(Header::Udp, |layout| life.header(layout, p, &sighting.blocks));
        let leftwards = life.from_right != p.has(flags::ACK);
        Wire { source, destination, leftwards, id: identification(p), ecn: p.ecn, header, payload: payload as u16 }
    }
}

impl Life {
    fn header(&self, layout: Layout, p: &Packet, blocks: &Blocks) -> Header {
        // The SYN has number 0, and the payload begins with number 1.
        let number = |segment: u32| (layout.before(segment) as u32).wrapping_add(u32::from(segment > 0));
        let (answer, opens) = (p.has(flags::ACK), p.has(flags::SYN));
        let sequence = number(p.seq);
        let (seq, ack) = match (answer, opens) {
            (false, true) => (0, 0),
            (false, false) => (sequence, 1),
            (true, true) => (0, 1),
            (true, false) => (1, sequence),
        };
        let window = match (answer, opens) {
            (false, true) => IDLE_WINDOW,
            (false, false) => IDLE_WINDOW >> IDLE_SCALE,
            (true, true) => p.window.min(u32::from(u16::MAX)) as u16,
            (true, false) => (p.window >> self.scale).min(u32::from(u16::MAX)) as u16,
        };
        let scale = if answer { self.scale } else { IDLE_SCALE };
        let mut sacks = ([(0, 0); crate::tcp::sack::MAX_BLOCKS], blocks.as_slice().len());
        for (place, (start, end)) in sacks.0.iter_mut().zip(blocks.as_slice()) {
            *place = (number(*start), number(*end));
        }
        Header::Tcp {
            seq,
            ack,
            flags: p.flags,
            acknowledges: answer || !opens,
            window,
            timestamps: (p.tsval, p.tsecr),
            syn: opens.then_some((MSS as u16 + 12, scale)),
            sacks,
        }
    }
}

/// FNV-1a over what a host decided about the packet.
fn identification(p: &Packet) -> u16 {
    let mut hash = 0x811c_9dc5_u32;
    for word in [p.seq, p.tsval, p.tsecr, p.window, u32::from(p.flags), p.len] {
        for byte in word.to_le_bytes() {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }
    (hash ^ (hash >> 16)) as u16
}
