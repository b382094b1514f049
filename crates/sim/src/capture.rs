//! Captures: packets as the two hosts of each flow see them, or an observer on the path. Headers have real numbers: sequence numbers in
//! bytes from 0, scaled windows, and an IP identification that each end of a connection counts up packet by packet. (Linux 6.12
//! include/net/ip.h `ip_select_ident_segs` starts at a random number; captures start at 1.) Fields that the simulator does not model are
//! constant.
//!
//! Leaves out: the SYN-ACK's identification of 0.

use crate::attachment::{Attachment, Blocks, EcnBytes, MAX_BLOCKS};
use crate::packet::{Ecn, FlowTuple};
use crate::segment::{flags, Options, Segment};
use crate::spec::{AccEcnOption, Direction, TcpSpec};
use crate::tap::{Note, Record, Tap};
use crate::tcp::common::idle_window::IdleWindow;
use crate::tcp::common::layout::Layout;
use crate::time::Time;

/// Ethernet, IP and UDP, bytes; the header of an ICMP echo is as long as that of UDP.
const UDP_HEADERS: u16 = 42;

/// The header fields that all packets of a flow share.
#[derive(Clone, Debug)]
pub struct FlowHeaders {
    /// Its data come from the right.
    pub(crate) from_right: bool,
    tuple: FlowTuple,
    /// Positions of the bytes in the segments. If both ends send, the packets carry the positions.
    layout: Option<Numbers>,
    /// Shift of the receiver's window.
    scale: u8,
    /// The window of the end that sends the data, if it receives none.
    own: IdleWindow,
    /// The window shift of the end that sends in the first direction, if both ends send.
    second_scale: Option<u8>,
    /// Its packets are ICMP echo requests and replies.
    echoes: bool,
    /// The AccECN option begins with the bytes of ECT(0).
    ect0_first: bool,
}

/// The sequence numbers of one direction.
#[derive(Clone, Debug)]
struct Numbers {
    layout: Layout,
    /// The segment with the FIN; the largest number if there is none.
    fin: u32,
}

impl Numbers {
    fn of(layout: Layout) -> Self {
        Self { layout, fin: u32::MAX }
    }

    /// Notes how long a segment is, which the writes of the application decide, and whether it has the FIN.
    fn note(&mut self, p: &Segment, segment: u32, payload: u32) {
        if p.has(flags::FIN) {
            self.fin = segment;
        }
        if payload > 0 || p.has(flags::FIN) {
            self.layout.note(segment, payload);
        }
    }

    /// The sequence number of a segment's first byte. The SYN has number 0, the payload begins with number 1, and the FIN takes one after it.
    fn number(&self, segment: u32) -> u32 {
        let beside = u32::from(segment > 0) + u32::from(segment > self.fin);
        (self.layout.before(segment) as u32).wrapping_add(beside)
    }

    /// SACK blocks in bytes, and how many there are.
    fn blocks(&self, blocks: &Blocks) -> ([(u32, u32); MAX_BLOCKS], usize) {
        let mut sacks = (blocks.ranges, blocks.as_slice().len());
        for (start, end) in &mut sacks.0[..sacks.1] {
            (*start, *end) = (self.number(*start), self.number(*end));
        }
        sacks
    }
}

/// All packets at the taps.
#[derive(Clone, Debug)]
pub struct Capture {
    tap: Tap,
    flows: Vec<FlowHeaders>,
}

/// The options that a SYN alone has.
#[derive(Clone, Copy, Debug)]
pub struct Syn {
    /// Largest segment, bytes.
    pub mss: u16,
    /// Shift of the windows, if they are scaled.
    pub scale: Option<u8>,
    /// True if it permits SACK.
    pub sack: bool,
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
        /// Timestamp value and echo, ms, if both ends have agreed on them.
        timestamps: Option<(u32, u32)>,
        /// The options that a SYN alone has.
        syn: Option<Syn>,
        /// SACK blocks, bytes; the first `count`.
        sacks: ([(u32, u32); MAX_BLOCKS], usize),
        /// The AccECN option.
        ecn_bytes: Option<EcnBytes>,
    },
    /// UDP.
    Udp,
    /// An ICMP echo request, or the reply.
    Echo {
        /// The reply.
        reply: bool,
        /// The stream that the packet belongs to, counted from 1.
        id: u16,
        /// Its number in the stream.
        seq: u16,
    },
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
    /// Differentiated services codepoint.
    pub dscp: u8,
    /// The ECN field.
    pub ecn: Ecn,
    /// The header after the IP header.
    pub header: Header,
    /// Payload, bytes.
    pub payload: u16,
}

impl Capture {
    /// Return the packets of these flows, in order of the flows' indices, that the tap noted up to `end`.
    #[must_use]
    pub fn new(mut tap: Tap, mut flows: Vec<FlowHeaders>, end: Time) -> Self {
        // A port's tap notes a packet before the packet reaches the tap's place, so that some notes lie after `end`.
        tap.records.retain(|record| record.time <= end);
        tap.records.sort_by_key(|record| record.time);
        for (note, attachment) in tap.packets() {
            flows[note.packet.flow()].note(&note.packet.into(), &attachment);
        }
        Self { tap, flows }
    }

    /// Packets were noted at the hosts.
    #[must_use]
    pub fn is_of_hosts(&self) -> bool {
        self.tap.at_hosts
    }

    /// The points of the path where packets were noted, by the name of their first port.
    #[must_use]
    pub fn points(&self) -> &[String] {
        &self.tap.points
    }

    /// The packets, in order of time.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.tap.records
    }

    /// The numbers of a packet.
    #[must_use]
    pub fn wire(&self, record: &Record) -> Wire {
        let (Note { packet, id }, attachment) = self.tap.packet(record);
        let p = &Segment::from(*packet);
        let flow = &self.flows[p.flow()];
        let ends = ((flow.tuple.src, flow.tuple.sport), (flow.tuple.dst, flow.tuple.dport));
        let (source, destination) = if p.is_reverse() { (ends.1, ends.0) } else { ends };
        let payload = if flow.layout.is_none() {
            p.len - UDP_HEADERS
        } else if flow.second_scale.is_some() {
            payload_of_either(p, flow.options(), &attachment) as u16
        } else if p.is_reverse() || p.has(flags::SYN | flags::HANDSHAKE) {
            0
        } else {
            p.len - flow.own_headers() as u16
        };
        let header = match (&flow.layout, flow.second_scale) {
            (None, _) if flow.echoes => {
                Header::Echo { reply: p.is_reverse(), id: p.flow() as u16 + 1, seq: p.seq as u16 }
            }
            (None, _) => Header::Udp,
            (Some(layout), None) => flow.header(layout, p, &attachment),
            (Some(layout), Some(scale)) => flow.header_of_two_way(layout, scale, p, &attachment),
        };
        let leftwards = flow.from_right != p.is_reverse();
        let dscp = if record.washed { 0 } else { flow.tuple.dscp };
        Wire { source, destination, leftwards, id: *id, dscp, ecn: record.ecn, header, payload }
    }
}

impl FlowHeaders {
    /// The options of a TCP flow.
    fn options(&self) -> Options {
        Options::of(self.tuple.agreed)
    }

    /// Return the header fields of a TCP flow.
    #[must_use]
    pub fn tcp(spec: &TcpSpec, tuple: FlowTuple, own: IdleWindow, scale: u8) -> Self {
        Self {
            from_right: spec.direction == Direction::Reverse,
            tuple,
            layout: Some(Numbers::of(Layout::of(spec))),
            scale,
            own,
            second_scale: None,
            echoes: false,
            ect0_first: spec.accecn == Some(AccEcnOption::Ee0b),
        }
    }

    /// Return the header fields of a connection whose ends both send segments of `mss` bytes. `scales` holds the window shifts of its
    /// `from` end and its `to` end.
    #[must_use]
    pub fn two_way(direction: Direction, mss: u32, tuple: FlowTuple, scales: [u8; 2]) -> Self {
        let layout = Some(Numbers::of(Layout::stream(mss)));
        let from_right = direction == Direction::Reverse;
        Self {
            from_right,
            tuple,
            layout,
            scale: scales[1],
            own: IdleWindow::default(),
            second_scale: Some(scales[0]),
            echoes: false,
            ect0_first: false,
        }
    }

    /// Note facts that only the packets of the run tell: which segment has the FIN. A receiver that sends no data has one number in its
    /// direction, that of its FIN.
    fn note(&mut self, p: &Segment, attachment: &Attachment) {
        let options = self.options();
        if let Some(layout) = self.layout.as_mut().filter(|_| self.second_scale.is_none() && !p.is_reverse()) {
            let own = options.sender_option_bytes();
            let payload = if p.has(flags::SYN) { 0 } else { payload_of_either(p, options, attachment) - own };
            if payload > 0 && !p.has(flags::FIN) {
                layout.layout.hear(p.seq, payload);
            } else {
                layout.note(p, p.seq, payload);
            }
        }
    }

    /// Return the header fields of a stream of datagrams or of ICMP echo requests.
    #[must_use]
    pub fn datagrams(direction: Direction, tuple: FlowTuple, echoes: bool) -> Self {
        Self {
            from_right: direction == Direction::Reverse,
            tuple,
            layout: None,
            scale: 0,
            own: IdleWindow::default(),
            second_scale: None,
            echoes,
            ect0_first: false,
        }
    }

    fn header_of_two_way(&self, layout: &Numbers, second_scale: u8, p: &Segment, attachment: &Attachment) -> Header {
        let opens = p.has(flags::SYN);
        let (seq, ack, scale) = if p.is_reverse() {
            (attachment.second(), p.seq, self.scale)
        } else {
            (p.seq, attachment.second(), second_scale)
        };
        Header::Tcp {
            seq,
            ack,
            flags: p.flags ^ p.ecn().flags(),
            // The first packet of all is the only one that acknowledges nothing.
            acknowledges: !opens || ack > 0,
            window: (p.window >> if opens { 0 } else { scale }).min(u32::from(u16::MAX)) as u16,
            timestamps: self.timestamps(p),
            syn: opens.then(|| self.syn(layout, scale)),
            sacks: (attachment.blocks().ranges, attachment.blocks().as_slice().len()),
            ecn_bytes: None,
        }
    }

    fn header(&self, layout: &Numbers, p: &Segment, attachment: &Attachment) -> Header {
        let (answer, opens) = (p.is_reverse(), p.has(flags::SYN));
        let sequence = layout.number(p.seq);
        let closed = u32::from(p.has(flags::CLOSED));
        // If the receiver opens the connection, its SYN comes first and the sender's SYN answers it.
        let answers_syn = opens && answer != p.has(flags::HANDSHAKE);
        let (seq, ack) = match (answer, opens) {
            (_, true) => (0, u32::from(answers_syn)),
            // A probe of the window has the number before the expected one.
            (false, false) if self.is_probe(p) => (layout.number(p.seq + 1).wrapping_sub(1), 1),
            (false, false) => (sequence, 1 + closed),
            (true, false) if p.has(flags::RST) => (1 + closed, 0),
            (true, false) => (1 + closed, sequence),
        };
        let window = match (answer, opens) {
            (false, true) => self.own.syn,
            (false, false) => (self.own.bytes >> self.own.scale) as u16,
            (true, true) => p.window.min(u32::from(u16::MAX)) as u16,
            (true, false) => (p.window >> self.scale).min(u32::from(u16::MAX)) as u16,
        };
        let scale = if answer { self.scale } else { self.own.scale };
        Header::Tcp {
            seq,
            ack,
            flags: p.flags ^ p.ecn().flags(),
            acknowledges: answers_syn || !(opens || p.has(flags::RST)),
            window,
            timestamps: self.timestamps(p),
            syn: opens.then(|| self.syn(layout, scale)),
            sacks: layout.blocks(attachment.blocks()),
            ecn_bytes: attachment.ecn_bytes().copied().or_else(|| self.first_ecn_bytes(p, answers_syn)),
        }
    }

    /// The options of a SYN.
    fn syn(&self, layout: &Numbers, scale: u8) -> Syn {
        let Options { sack, window_scaling, .. } = self.options();
        Syn { mss: self.mss_option(layout), scale: window_scaling.then_some(scale), sack }
    }

    /// Ethernet + IP + TCP header of the end that sends the data, bytes.
    fn own_headers(&self) -> u32 {
        self.options().headers() + self.options().sender_option_bytes()
    }

    /// The AccECN option of a packet of an end to which no data came: a SYN-ACK that was not retransmitted, and what the end says that sends the data.
    fn first_ecn_bytes(&self, p: &Segment, answers_syn: bool) -> Option<EcnBytes> {
        let options = self.options();
        let has = if p.has(flags::SYN) {
            answers_syn && u32::from(p.len) > options.syn_frame()
        } else {
            !p.is_reverse() && !p.has(flags::RST)
        };
        let ect0_first = self.ect0_first;
        (options.ecn_bytes && has).then_some(EcnBytes { ect0_first, count: 3, fields: [1, 0, 1] })
    }

    /// The timestamps of a packet; a reset of a closed port has no options.
    fn timestamps(&self, p: &Segment) -> Option<(u32, u32)> {
        (self.options().timestamps && !p.has(flags::RST)).then_some((p.tsval, p.tsecr))
    }

    /// The MSS as SYNs tell it: without the timestamps that every segment has.
    fn mss_option(&self, numbers: &Numbers) -> u16 {
        (numbers.layout.mss() + self.options().timestamp_bytes() + self.options().sender_option_bytes()) as u16
    }

    /// A packet of a sender that neither brings data nor acknowledges anything.
    fn is_probe(&self, p: &Segment) -> bool {
        u32::from(p.len) == self.own_headers() && !p.has(flags::FIN | flags::HANDSHAKE | flags::CLOSED)
    }
}

/// Payload of a packet of a connection whose ends both send, bytes.
fn payload_of_either(p: &Segment, options: Options, attachment: &Attachment) -> u32 {
    if p.has(flags::SYN) {
        0
    } else {
        u32::from(p.len) - options.headers() - attachment.blocks().option_bytes()
    }
}
