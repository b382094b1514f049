//! An end of the simulator alone: its sender, its receiver, or an end that is both. It speaks of packets as they stand on the wire.

use dumbbell_sim::attachment::{Attachment, Blocks, MAX_BLOCKS};
use dumbbell_sim::cc;
use dumbbell_sim::outbox::{LoneOutbox, Outbox};
use dumbbell_sim::packet::{Direction, Ecn, Way, ACK_FRAME, ETHERNET, HEADERS, NO_ATTACHMENT, SYN_FRAME};
use dumbbell_sim::refusal::{lines, Flaws, Part, Place};
use dumbbell_sim::segment::{self as tcp, flags};
use dumbbell_sim::spec::TcpSpec;
use dumbbell_sim::tcp::linux::receiver::{self, Receiver};
use dumbbell_sim::tcp::linux::sender::{self, Info, Sender};
use dumbbell_sim::tcp::linux::stack::Stack;
use dumbbell_sim::tcp::linux::two_way::{self, TwoWayEnd};
use dumbbell_sim::time::{Time, NEVER};
use dumbbell_sim::traffic::Controls;
use serde_json::{json, Map};

use crate::case::{bits, Case, Kind, Segment, What};
use crate::numbers::Numbers;

/// Event sources of an end, whichever it is.
const SOURCES: usize = two_way::SOURCES;
/// Maximum number of timer events at one time; more mean an endless loop.
const MOST_AT_ONCE: usize = 10_000;
/// Room in the heads of the packets that the driver of the kernel's end sends, bytes: 256 without the Ethernet header, as a packet socket aligns it, and
/// those of IP and TCP.
const TAILROOM: u32 = 256 - 16 - (HEADERS - ETHERNET);
/// Header bits on the wire and in the simulator.
const BITS: [(u8, u16); 6] = [
    (bits::FIN, flags::FIN),
    (bits::RST, flags::RST),
    (bits::SYN, flags::SYN),
    (bits::PSH, flags::PSH),
    (bits::ECE, flags::ECE),
    (bits::CWR, flags::CWR),
];

#[allow(clippy::large_enum_variant, reason = "there is one of it")]
#[derive(Debug)]
enum Half {
    Send(Sender),
    Receive(Receiver),
    Both(TwoWayEnd),
}

/// The state of the application at an end that both sends and receives.
#[derive(Debug, Default)]
struct Application {
    /// Bytes that the application wrote before the connection was established.
    waiting: u64,
    wants_to_close: bool,
    has_closed: bool,
}

/// An end.
#[derive(Debug)]
pub struct End {
    half: Half,
    line: LoneOutbox,
    application: Application,
    own: Numbers,
    peers: Numbers,
    /// Shift of the peer's windows.
    peer_scale: u8,
    sent: Vec<(Time, Segment)>,
    timestamps: bool,
    /// Payload of a full segment, bytes.
    mss: u32,
}

impl End {
    /// The closed end of a case.
    ///
    /// # Errors
    /// A line that says what the case asks for and the simulator does not have.
    pub fn new(case: &Case) -> Result<Self, String> {
        let line = |flaws: Flaws| {
            let place = Place { kind: Part::Run, index: None };
            lines(&flaws.at(place).collect::<Vec<_>>())
        };
        let written = |action: &What| if let What::Write { bytes } = action { *bytes } else { 0 };
        let read: u64 = case.peer_segments.iter().map(|&(times, bytes)| u64::from(times) * u64::from(bytes)).sum();
        let transfer = match case.kind {
            Kind::Send => Some(case.actions.iter().map(|action| written(&action.what)).sum()),
            Kind::Receive => Some(read),
            Kind::Both => None,
        };
        let opens = case.actions.iter().any(|action| action.what == What::Open);
        let spec: TcpSpec = serde_json::from_value(json!({
            "id": "end", "path": 0, "from": 0, "to": 1, "direction": "forward",
            "opener": if opens == (case.kind != Kind::Receive) { "from" } else { "to" },
            "cc": {"kind": case.cc}, "stack": {"name": case.stack}, "ecn": case.ecn, "sce_echo": false, "sack": case.sack, "timestamps": case.timestamps, "segment_bytes": case.mss(),
            "host": {
                "tso": case.tso, "nodelay": case.nodelay, "reads_bps": case.reads_bps, "cached_ssthresh": null,
                "rmem": [4096, 131_072, 6_291_456], "rcvbuf": case.rcvbuf,
                "wmem": [4096, 16_384, 4_194_304], "sndbuf": case.sndbuf,
            },
            "transfer_bytes": transfer, "first_write_bytes": null, "connections": [],
        }))
        .map_err(|error| error.to_string())?;
        let stack = Stack::from_spec(&spec.stack).map_err(line)?;
        let none: &Controls = &|_, _| None;
        let (control, needs) = cc::build(&case.cc, &Map::new(), &stack.control_parameters(), none).map_err(line)?;
        // The driver of the kernel's end sends packets whose payload lies in one page.
        let half = match case.kind {
            Kind::Send => Half::Send(Sender::new(0, 0, &spec, stack, control, needs).seeded([case.control_seed, 0])),
            Kind::Receive => Half::Receive(Receiver::new(0, 0, &spec, &stack, &needs).of_unfragmented(TAILROOM)),
            Kind::Both => {
                let end = TwoWayEnd::new(0, 0, &spec, &stack, control, needs, true, opens);
                Half::Both(end.seeded([case.control_seed, 0]).of_unfragmented(TAILROOM))
            }
        };
        let numbers = if case.kind == Kind::Both { Numbers::in_bytes } else { Numbers::new };
        let (own, mut peers) = (numbers(), numbers());
        for &(times, bytes) in &case.peer_segments {
            // One without payload is the FIN.
            (0..times).for_each(|_| peers.note(peers.next(), bytes.max(1)));
        }
        if case.peer_segments.last().is_some_and(|&(_, bytes)| bytes > 0) {
            peers.lengthen_last();
        }
        let line = LoneOutbox::new(SOURCES);
        let application = Application::default();
        Ok(Self {
            half,
            line,
            application,
            own,
            peers,
            peer_scale: 0,
            sent: vec![],
            timestamps: case.timestamps,
            mss: case.mss(),
        })
    }

    /// Takes what was sent, in order.
    pub fn take_sent(&mut self) -> Vec<(Time, Segment)> {
        std::mem::take(&mut self.sent)
    }

    /// TCP_INFO of an end that sends; `None` if the end only receives, or is not connected.
    #[must_use]
    pub fn info(&self) -> Option<Info> {
        match &self.half {
            Half::Send(sender) => Some(sender.info(self.line.now)),
            Half::Receive(_) => None,
            Half::Both(end) => end.is_established().then(|| end.sender().info(self.line.now)),
        }
    }

    /// When the next timer is due; `NEVER` if none is set.
    #[must_use]
    pub fn next_timer(&self) -> Time {
        self.line.next_timer().map_or(NEVER, |(at, _)| at)
    }

    /// Lets time pass; timers that are due come in their order.
    ///
    /// # Panics
    /// A timer comes again and again.
    pub fn advance(&mut self, to: Time) {
        let mut at_once = 0;
        while let Some((at, source)) = self.line.next_timer().filter(|&(at, _)| at <= to) {
            at_once = if at > self.line.now { 0 } else { at_once + 1 };
            assert!(at_once < MOST_AT_ONCE, "a timer comes again and again");
            self.line.now = self.line.now.max(at);
            self.line.set_timer(source, NEVER);
            self.on_timer(source);
            self.settle();
        }
        self.line.now = to;
    }

    fn on_timer(&mut self, source: usize) {
        let out = &mut self.line;
        match &mut self.half {
            Half::Send(sender) if source == 0 => sender.on_timer(out),
            Half::Send(sender) => sender.on_departure_timer(out),
            Half::Receive(receiver) => receiver.on_timer(source, out),
            Half::Both(end) => end.on_timer(source, out),
        }
    }

    /// Something happens now.
    ///
    /// # Errors
    /// A line about a packet that no peer of this end can have sent: it acknowledges what was not sent, or carries what is in no segment of
    /// the peer's.
    pub fn act(&mut self, what: &What) -> Result<(), String> {
        let out = &mut self.line;
        match (what, &mut self.half) {
            (What::Open, Half::Send(sender)) => sender.connect(out),
            (What::Open, Half::Receive(receiver)) => receiver.connect(out),
            (What::Open, Half::Both(end)) => end.open(out),
            (What::Write { bytes }, Half::Both(_)) => self.application.waiting += bytes,
            (What::Close, Half::Both(_)) => self.application.wants_to_close = true,
            (What::Read { .. }, Half::Receive(receiver)) => receiver.on_turn(out),
            (What::Abort, Half::Both(end)) => end.reset(out),
            (What::Stop, Half::Both(end)) => end.stop_reading(),
            (What::Quit, Half::Both(end)) => {
                self.application.has_closed |= end.is_established();
                end.quit(out);
            }
            (What::Packet(segment), _) => self.hear(segment)?,
            // A one-way end writes its transfer and closes by itself.
            (What::Write { .. } | What::Close | What::Abort | What::Stop | What::Quit | What::Read { .. }, _) => {}
        }
        self.settle();
        Ok(())
    }

    /// The application does what it has waited for, and what was sent is noted.
    fn settle(&mut self) {
        if let Half::Both(end) = &mut self.half {
            let application = &mut self.application;
            if end.is_established() {
                let bytes = std::mem::take(&mut application.waiting);
                if bytes > 0 && !application.has_closed {
                    end.write(bytes, &mut self.line);
                }
                let closes = application.wants_to_close || end.is_to_close();
                if closes && !application.has_closed && end.sender().has_written_all() {
                    application.has_closed = true;
                    end.close(&mut self.line);
                }
            }
        }
        for p in self.line.take_sent() {
            let segment = self.on_wire(&p);
            self.sent.push((self.line.now, segment));
        }
    }

    /// A packet that the end has sent, with the numbers of the wire.
    fn on_wire(&mut self, p: &tcp::Segment) -> Segment {
        let attachment = self.line.take_attachment(p.attachment);
        let (blocks, second) = (attachment.blocks(), attachment.second());
        let has = |flag| p.has(flag);
        let syn = has(flags::SYN);
        let beside = HEADERS + blocks.option_bytes();
        let payload = if syn { 0 } else { u32::from(p.len).saturating_sub(beside) };
        let fin = u32::from(has(flags::FIN));
        let mut wire = BITS.iter().filter(|(_, flag)| has(*flag)).fold(bits::ACK, |all, (bit, _)| all | bit);
        let (segment, ack) = match &self.half {
            // SYN and SYN-ACK of a one-way end are told apart by the bit of the one that is rarer.
            Half::Send(sender) => {
                let acked = 1 + u32::from(sender.has_heard_fin());
                let opens = syn && !has(flags::HANDSHAKE);
                (if syn { 0 } else { p.seq }, if opens { 0 } else { acked })
            }
            Half::Receive(_) if syn => (0, u32::from(!has(flags::HANDSHAKE))),
            Half::Receive(_) if has(flags::RST) => (1 + u32::from(has(flags::CLOSED)), 0),
            Half::Receive(_) => (1 + u32::from(has(flags::CLOSED)), self.peers.byte(p.seq)),
            Half::Both(_) if syn => (0, second.min(1)),
            Half::Both(_) => (p.seq, self.peers.byte(second)),
        };
        if (syn || has(flags::RST)) && ack == 0 {
            wire &= !bits::ACK;
        }
        // A probe of the window has the number before what is expected.
        let probes = payload + fin == 0 && !syn && !has(flags::RST) && segment < self.own.next();
        self.own.note(segment, payload + fin);
        let seq = if probes { self.own.byte(segment + 1) - 1 } else { self.own.byte(segment) };
        let scale = match &self.half {
            Half::Send(_) => None,
            Half::Receive(receiver) => Some(receiver.window_scale()),
            Half::Both(end) => Some(end.window_scale()),
        };
        let shift = if syn { 0 } else { scale.unwrap_or(0) };
        Segment {
            flags: wire,
            seq,
            ack,
            payload,
            window: (p.window >> shift).min(u32::from(u16::MAX)),
            tsval: if self.timestamps { p.tsval } else { 0 },
            tsecr: if self.timestamps && wire & bits::ACK != 0 { p.tsecr } else { 0 },
            ecn: p.ecn().bits(),
            sacks: blocks.as_slice().iter().map(|&(from, to)| (self.peers.byte(from), self.peers.byte(to))).collect(),
            scale: scale.filter(|_| syn),
        }
    }

    /// A packet of the peer arrives.
    fn hear(&mut self, segment: &Segment) -> Result<(), String> {
        let (mut p, attachment) = self.of_wire(segment)?;
        let out = &mut self.line;
        if attachment != Attachment::default() {
            p.attachment = out.attach(attachment);
        }
        match &mut self.half {
            Half::Send(sender) => sender.on_ack(&p, out),
            Half::Receive(receiver) => receiver.on_packet(&p, out),
            Half::Both(end) => {
                end.on_packet(&p, out);
            }
        }
        Ok(())
    }

    /// The segment with which a packet of the peer begins. A probe of the window has the number before the next one.
    fn segment_of_peer(&self, segment: &Segment) -> Option<u32> {
        let found = self.peers.segment(segment.seq);
        let probed =
            || self.peers.segment(segment.seq + 1).filter(|_| segment.end() == segment.seq).map(|next| next - 1);
        found.or_else(probed)
    }

    /// A packet of the wire as the end takes it.
    fn of_wire(&mut self, segment: &Segment) -> Result<(tcp::Segment, Attachment), String> {
        let (payload, blocks) = (segment.payload, segment.sacks.len());
        if payload > self.mss || blocks > MAX_BLOCKS {
            let expected = format!("expected at most {} and {MAX_BLOCKS}", self.mss);
            return Err(format!("{payload} bytes with {blocks} SACK blocks; {expected}"));
        }
        let unknown = |what: &str, number: u32| format!("{what} {number} is at no border of a segment");
        let syn = segment.has(bits::SYN);
        if syn {
            self.peer_scale = segment.scale.unwrap_or(0);
        }
        let ack = if segment.has(bits::ACK) && !matches!(self.half, Half::Receive(_)) {
            self.own.segment(segment.ack).ok_or_else(|| unknown("ack", segment.ack))?
        } else {
            0
        };
        let seq = match self.half {
            Half::Send(_) => 0,
            // Anybody can have sent an RST.
            Half::Both(_) if segment.has(bits::RST) => segment.seq,
            _ => self.segment_of_peer(segment).ok_or_else(|| unknown("seq", segment.seq))?,
        };
        let mut blocks = Blocks::default();
        for &(from, to) in &segment.sacks {
            let border = |number| self.own.segment(number).ok_or_else(|| unknown("SACK block", number));
            blocks.push((border(from)?, border(to)?));
        }
        let bits_of = BITS.iter().filter(|(bit, _)| segment.has(*bit)).fold(0, |all, (_, flag)| all | flag);
        let bare = segment.payload == 0 && !syn && !segment.has(bits::FIN);
        let (seq, attachment, more, options) = match self.half {
            Half::Send(_) => {
                let closed = if segment.seq > 1 { flags::CLOSED } else { 0 };
                let opens = if syn && !segment.has(bits::ACK) { flags::HANDSHAKE } else { 0 };
                (ack.max(1), blocks.into(), Direction::Reverse.flags() | closed | opens, blocks.option_bytes())
            }
            Half::Receive(_) => {
                let answers = if syn && segment.has(bits::ACK) { flags::HANDSHAKE } else { 0 };
                let alone = match (bare, segment.ack > 1) {
                    (true, true) => flags::CLOSED,
                    (true, false) => flags::HANDSHAKE,
                    _ => 0,
                };
                (seq, blocks.into(), answers | alone, 0)
            }
            Half::Both(_) => {
                let second = Attachment::Second { seq, blocks };
                (ack, second, Direction::Reverse.flags(), blocks.option_bytes())
            }
        };
        let len = if syn { SYN_FRAME } else { ACK_FRAME + segment.payload + options };
        let ecn = Ecn::of_bits(segment.ecn);
        // A SYN's window is not scaled. Linux scales that of a SYN-ACK all the same if both ends have opened (`tcp_rcv_state_process`).
        let has_crossed = matches!(&self.half, Half::Both(end) if end.has_crossed());
        let shift = if syn && !has_crossed { 0 } else { self.peer_scale };
        let p = tcp::Segment {
            way: Way::new(0),
            len: len as u16,
            flags: bits_of | more | ecn.flags(),
            seq,
            window: segment.window << shift,
            tsval: if self.timestamps { segment.tsval } else { 0 },
            tsecr: if self.timestamps { segment.tsecr } else { 0 },
            attachment: NO_ATTACHMENT,
        };
        Ok((p, attachment))
    }
}

const _: () = assert!(receiver::SOURCES <= SOURCES && sender::SOURCES <= SOURCES);
