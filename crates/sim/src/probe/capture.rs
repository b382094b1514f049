//! Packets as the two hosts of each flow see them: when one leaves TCP, and when it arrives. The numbers are those of real headers:
//! sequence numbers in bytes from 0, windows scaled, and an IP identification that each end of a connection counts up packet by
//! packet (Linux 6.12 include/net/ip.h `ip_select_ident_segs`, from a random number; here from 1). What the simulator does not have is constant.
//!
//! A packet is noted once, when it leaves. On its way it carries the number of that note in place of its timestamp value, which nothing
//! in the network looks at; when it arrives it gets the value back. So packets are no larger for it, and copies are never confused.
//!
//! Leaves out: FIN (flows end without), the SYN-ACK's identification of 0, the window of the data's sender.

use crate::packet::{flags, Ecn, FlowTuple, Packet, MSS, NO_SACK};
use crate::spec::FlowSpec;
use crate::tcp::common::layout::Layout;
use crate::tcp::common::sack::{Blocks, Slab};
use crate::time::Time;

/// Ethernet, IP and UDP, bytes.
const UDP_HEADERS: u16 = 42;
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
    /// As it is here; routers may change it.
    ecn: Ecn,
    /// Number of the packet's note.
    note: u32,
}

/// A packet as it left.
#[derive(Clone, Copy, Debug)]
struct Note {
    /// Its `sack` is an index to the blocks that were noted.
    packet: Packet,
    id: u16,
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
    /// Packets of the data's sender and of its receiver so far, modulo 2^16.
    counts: [u16; 2],
}

/// All that was seen.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    lives: Vec<Life>,
    notes: Vec<Note>,
    blocks: Vec<Blocks>,
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
        flags: u8,
        /// Carries an acknowledgment.
        acknowledges: bool,
        /// Window, scaled (not in a SYN).
        window: u16,
        /// Timestamp value and echo, ms.
        timestamps: (u32, u32),
        /// In a SYN: largest segment and shift of the window.
        syn: Option<(u16, u8)>,
        /// SACK blocks, bytes; the first `count`.
        sacks: ([(u32, u32); crate::tcp::common::sack::MAX_BLOCKS], usize),
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
    /// The IP identification.
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
        self.lives.push(Life { from_right, layout, tuple, scale, counts: [0; 2] });
    }

    /// Prepares for a stream of datagrams, after all flows.
    pub fn add_udp(&mut self, from_right: bool, tuple: FlowTuple) {
        self.lives.push(Life { from_right, layout: None, tuple, scale: 0, counts: [0; 2] });
    }

    /// A packet leaves its host.
    pub fn departs(&mut self, time: Time, packet: &mut Packet, slab: &Slab) {
        let life = &mut self.lives[packet.flow()];
        let answer = packet.has(flags::ACK);
        let id = &mut life.counts[usize::from(answer)];
        *id = id.wrapping_add(1);
        let note = u32::try_from(self.notes.len()).expect("fewer than 2^32 packets are noted");
        self.sightings.push(Sighting { time, right: life.from_right != answer, ecn: packet.ecn, note });
        let mut noted = *packet;
        if packet.sack != NO_SACK {
            noted.sack = self.blocks.len() as u32;
            self.blocks.push(slab.get(packet.sack));
        }
        self.notes.push(Note { packet: noted, id: *id });
        packet.tsval = note;
    }

    /// A packet arrives at its host.
    pub fn arrives(&mut self, time: Time, packet: &mut Packet) {
        let right = self.lives[packet.flow()].from_right == packet.has(flags::ACK);
        let note = packet.tsval;
        self.sightings.push(Sighting { time, right, ecn: packet.ecn, note });
        packet.tsval = self.notes[note as usize].packet.tsval;
    }

    /// The numbers of a sighting.
    #[must_use]
    pub fn wire(&self, sighting: &Sighting) -> Wire {
        let Note { packet: p, id } = &self.notes[sighting.note as usize];
        let life = &self.lives[p.flow()];
        let ends = ((life.tuple.src, life.tuple.sport), (life.tuple.dst, life.tuple.dport));
        let (source, destination) = if p.has(flags::ACK) { (ends.1, ends.0) } else { ends };
        let payload = if life.layout.is_none() {
            p.len - UDP_HEADERS
        } else if p.flags & (flags::ACK | flags::SYN | flags::HANDSHAKE) != 0 {
            0
        } else {
            p.len - crate::packet::HEADERS as u16
        };
        let none = Blocks::default();
        let blocks = if p.sack == NO_SACK { &none } else { &self.blocks[p.sack as usize] };
        let header = life.layout.map_or(Header::Udp, |layout| life.header(layout, p, blocks));
        let leftwards = life.from_right != p.has(flags::ACK);
        Wire { source, destination, leftwards, id: *id, ecn: sighting.ecn, header, payload }
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
        let mut sacks = ([(0, 0); crate::tcp::common::sack::MAX_BLOCKS], blocks.as_slice().len());
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
