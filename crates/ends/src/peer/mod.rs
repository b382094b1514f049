//! The other end of the connection and the path to it: a model with a receiving and a sending half, which reacts to what the end sends.
//! It need not do what any real TCP does; it must only be something that can happen to an end.

pub mod draw;
mod receiving;
mod sending;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dumbbell_sim::packet::HEADERS;
use dumbbell_sim::time::{Time, MS, SEC, US};

use self::draw::{Draw, Drawn, Rst, Stream};
use self::receiving::Receiving;
use self::sending::Sending;
use crate::case::{bits, Segment};
use crate::play::Options;

/// The peer's timestamps count from here, ms.
const CLOCK: u32 = 500_000;
/// When the peer opens, and how often it tries.
const OPENS_AT: Time = 12 * MS + 300 * US;
const AGAIN: Time = SEC;
/// A FIN is answered by the peer's own after so many round trips at most.
const MOST_ROUNDS_TO_CLOSE: u64 = 2;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A packet of the end reaches the peer.
    Arrives(Segment),
    /// A packet of the peer reaches the end.
    Reaches(Segment),
    /// The peer sends its SYN or SYN-ACK, unless it was answered.
    Greets,
    /// An ACK has waited long enough.
    Acknowledges,
    /// The peer's application reads, writes, closes.
    Reads,
    Writes(u64),
    Closes,
    /// The retransmission timer with this number fires.
    TimesOut(u32),
    /// The connection is reset.
    Resets(Rst),
}

/// How far the handshake has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Closed,
    Opening,
    Established,
    /// The peer has no connection any more.
    Gone,
}

/// The peer. Wide because it is path, handshake and both halves.
pub struct Peer {
    d: Draw,
    drawn: Drawn,
    /// The peer is willing to use ECN; from the handshake on: both ends are.
    ecn: bool,
    is_dctcp: bool,
    timestamps: bool,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    count: u64,
    now: Time,
    phase: Phase,
    /// When the last packet gets there: to the peer, to the end.
    last: [Time; 2],
    receiving: Receiving,
    sending: Sending,
    /// Timestamp to echo.
    recent: u32,
    /// The peer closes as soon as the end has.
    answers_close: bool,
    /// Both open.
    crosses: bool,
}

impl Peer {
    /// The peer of a case.
    pub fn new(seed: u64, number: u64, drawn: Drawn, stream: Stream, options: &Options) -> Self {
        let d = Draw::new(seed, number, "events");
        let mut peer = Self {
            d,
            ecn: options.ecn,
            is_dctcp: options.cc == "dctcp",
            timestamps: options.timestamps,
            events: BinaryHeap::new(),
            count: 0,
            now: 0,
            phase: Phase::Closed,
            last: [0; 2],
            receiving: Receiving::new(&drawn, options),
            sending: Sending::new(&drawn, &stream, options.sack),
            recent: 0,
            answers_close: stream.closes.is_none(),
            crosses: false,
            drawn,
        };
        if !peer.drawn.end_opens {
            peer.put(OPENS_AT, Event::Greets);
        }
        // An application that writes and closes at once has closed before anything is sent.
        if let Some(at) = stream.closes {
            peer.put(at, Event::Closes);
        }
        for &(at, bytes) in &stream.writes {
            peer.put(at, Event::Writes(bytes));
        }
        peer
    }

    /// When something happens next.
    pub fn next(&self) -> Option<Time> {
        self.events.peek().map(|Reverse((at, ..))| *at)
    }

    /// Processes the next event, at `now`. Returns the packet if one reaches the end.
    pub fn step(&mut self, now: Time) -> Option<Segment> {
        let Reverse((_, _, event)) = self.events.pop()?;
        self.now = self.now.max(now);
        match event {
            Event::Arrives(segment) if self.phase == Phase::Gone => self.answer_when_gone(&segment),
            Event::Reaches(segment) => return Some(segment),
            _ if self.phase == Phase::Gone => {}
            Event::Arrives(segment) => self.arrives(&segment),
            Event::Greets => self.greet(),
            Event::Acknowledges => {
                if self.receiving.is_due(self.now) {
                    self.acknowledge();
                }
            }
            Event::Reads => self.read(),
            Event::Writes(bytes) => {
                self.sending.write(bytes);
                self.send_more();
            }
            Event::Closes => {
                self.sending.closes = true;
                self.send_more();
            }
            Event::TimesOut(which) => {
                if self.sending.times_out(which) {
                    self.resend();
                }
            }
            Event::Resets(rst) => self.reset(rst),
        }
        None
    }

    /// The connection is reset at this time.
    pub fn reset_at(&mut self, at: Time, rst: Rst) {
        self.put(at, Event::Resets(rst));
    }

    /// The peer opens at this time, whatever the end does.
    pub fn open_at(&mut self, at: Time) {
        self.crosses = true;
        self.put(at, Event::Greets);
    }

    /// Delays a packet: it reaches the end at `at`.
    pub fn again(&mut self, at: Time, segment: Segment) {
        self.put(at, Event::Reaches(segment));
    }

    /// The end has sent a packet.
    pub fn hear(&mut self, at: Time, segment: Segment) {
        self.now = self.now.max(at);
        let wire = u64::from(HEADERS + segment.payload) * 8 * SEC / self.drawn.rate_bps;
        self.travel(0, wire, segment);
    }

    fn put(&mut self, at: Time, event: Event) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, event)));
    }

    /// Puts a packet on its way: to the peer (0) or to the end (1).
    fn travel(&mut self, direction: usize, wire: Time, segment: Segment) {
        let (dark_from, dark_to) = self.drawn.blackout;
        let copies = 1 + u32::from(self.d.happens(self.drawn.duplicates));
        for _ in 0..copies {
            let mut segment = segment.clone();
            let is_lost = self.d.happens(self.drawn.loss);
            if self.ecn && segment.ecn != 0 && segment.payload > 0 && self.d.happens(self.drawn.marks) {
                segment.ecn = 3;
            }
            if is_lost || (dark_from..dark_to).contains(&self.now) {
                continue;
            }
            let begins =
                if direction == 0 { self.now.max(self.last[0].saturating_sub(self.drawn.rtt / 2)) } else { self.now };
            let mut at = begins + wire + self.drawn.rtt / 2;
            if self.drawn.jitter > 0 {
                at += self.d.between(0, self.drawn.jitter);
            }
            if self.d.happens(self.drawn.reordering) {
                at += self.d.between(0, self.drawn.rtt);
            } else {
                at = at.max(self.last[direction] + US);
                self.last[direction] = at;
            }
            self.put(at, if direction == 0 { Event::Arrives(segment) } else { Event::Reaches(segment) });
        }
    }

    /// A packet with what all packets of the peer have.
    fn segment(&mut self, flags: u8, seq: u32, payload: u32, ecn: u8) -> Segment {
        let mut tsval = CLOCK + (self.now / MS) as u32;
        if self.d.happens(self.drawn.odd_timestamps) {
            let by = self.d.between(1, self.drawn.odd_by) as u32;
            tsval = if self.d.happens(0.7) { tsval - by } else { tsval + by };
        }
        let syn = flags & bits::SYN != 0;
        let window = if syn { self.drawn.buffer.min(u64::from(u16::MAX)) as u32 } else { self.receiving.advertise() };
        Segment {
            flags,
            seq,
            ack: if flags & bits::ACK == 0 { 0 } else { self.receiving.next },
            payload,
            window,
            tsval: if self.timestamps { tsval } else { 0 },
            tsecr: if self.timestamps { self.recent } else { 0 },
            ecn,
            sacks: if syn || payload > 0 { vec![] } else { self.receiving.blocks() },
            scale: syn.then_some(self.drawn.scale),
        }
    }

    fn send(&mut self, segment: Segment) {
        self.travel(1, 0, segment);
    }

    /// Sends the SYN or SYN-ACK, and retransmits it every second until the end answers.
    fn greet(&mut self) {
        if self.phase == Phase::Established {
            return;
        }
        self.send_syn();
        self.put(self.now + AGAIN, Event::Greets);
    }

    /// Sends a SYN, or a SYN-ACK once the end's SYN has come.
    fn send_syn(&mut self) {
        self.phase = Phase::Opening;
        let flags = if self.receiving.next > 0 {
            bits::SYN | bits::ACK | if self.ecn { bits::ECE } else { 0 }
        } else {
            bits::SYN | if self.ecn { bits::ECE | bits::CWR } else { 0 }
        };
        let segment = self.segment(flags, 0, 0, 0);
        self.send(segment);
    }

    /// The connection is reset, if there is one, by the peer or by somebody in its name.
    fn reset(&mut self, rst: Rst) {
        if self.phase != Phase::Established {
            return;
        }
        let seq = match rst {
            Rst::Own => self.sending.next,
            Rst::Unacknowledged => self.sending.una(),
            Rst::Ahead(by) => self.sending.next + by,
        };
        let segment = self.segment(bits::RST | bits::ACK, seq, 0, 0);
        self.send(segment);
        if rst == Rst::Own {
            self.phase = Phase::Gone;
        }
    }

    /// A packet reaches a peer that has no connection any more.
    fn answer_when_gone(&mut self, segment: &Segment) {
        if !segment.has(bits::RST) {
            let rst = Segment { flags: bits::RST, seq: segment.ack, ..Segment::default() };
            self.send(rst);
        }
    }

    fn arrives(&mut self, segment: &Segment) {
        if segment.has(bits::RST) {
            self.phase = Phase::Gone;
            return;
        }
        if segment.has(bits::SYN) {
            return self.arrives_syn(segment);
        }
        if self.phase != Phase::Established {
            if self.receiving.next == 0 {
                return;
            }
            self.phase = Phase::Established;
        }
        if segment.seq <= self.receiving.acked {
            self.recent = self.recent.max(segment.tsval);
        }
        let had_ended = self.receiving.has_ended;
        if segment.payload > 0 || segment.has(bits::FIN) {
            let at_once = self.receiving.take(segment, self.is_dctcp);
            self.plan_ack(at_once);
        } else if segment.seq < self.receiving.next {
            // A probe of the window.
            self.acknowledge();
        }
        self.plan_reading();
        if self.receiving.has_ended && !had_ended && self.answers_close {
            let rounds = self.d.between(0, MOST_ROUNDS_TO_CLOSE * self.drawn.rtt);
            self.put(self.now + rounds, Event::Closes);
        }
        if self.sending.hear(segment) {
            self.resend();
        }
        self.send_more();
    }

    fn arrives_syn(&mut self, segment: &Segment) {
        if self.crosses {
            return self.arrives_crossing(segment);
        }
        self.sending.scale = segment.scale.unwrap_or(0);
        self.receiving.next = 1;
        self.recent = self.recent.max(segment.tsval);
        if self.drawn.end_opens {
            if self.phase == Phase::Closed {
                self.ecn &= segment.flags & (bits::ECE | bits::CWR) == bits::ECE | bits::CWR;
                self.greet();
            }
            return;
        }
        if self.phase == Phase::Opening {
            self.ecn &= segment.has(bits::ECE);
            self.phase = Phase::Established;
            self.sending.open(segment);
        }
        self.acknowledge();
        self.send_more();
    }

    /// The end's SYN or SYN-ACK reaches a peer that opens as well.
    fn arrives_crossing(&mut self, segment: &Segment) {
        if self.phase == Phase::Established {
            return self.acknowledge();
        }
        (self.sending.scale, self.receiving.next) = (segment.scale.unwrap_or(0), 1);
        self.recent = self.recent.max(segment.tsval);
        self.sending.open(segment);
        if segment.has(bits::ACK) {
            self.ecn &= segment.has(bits::ECE);
            self.phase = Phase::Established;
            self.acknowledge();
            self.send_more();
        } else {
            self.ecn &= segment.flags & (bits::ECE | bits::CWR) == bits::ECE | bits::CWR;
            self.send_syn();
        }
    }

    fn plan_ack(&mut self, at_once: bool) {
        if at_once {
            self.acknowledge();
        } else if let Some(at) = self.receiving.plan(self.now) {
            self.put(at, Event::Acknowledges);
        }
    }

    fn acknowledge(&mut self) {
        let (flags, seq) = (bits::ACK | self.echo(), self.sending.next);
        let segment = self.segment(flags, seq, 0, 0);
        self.receiving.note_ack();
        self.send(segment);
    }

    /// The ECN echo of the next packet.
    fn echo(&self) -> u8 {
        if self.receiving.echoes && self.ecn {
            bits::ECE
        } else {
            0
        }
    }

    /// The application reads when it is its turn.
    fn plan_reading(&mut self) {
        if self.receiving.waits_to_read() {
            if let Some(rate) = self.drawn.peer_reads {
                let after = u64::from(self.receiving.first_unread()) * SEC / rate;
                self.receiving.is_reading = true;
                self.put(self.now + after, Event::Reads);
            } else {
                while self.receiving.waits_to_read() {
                    self.receiving.read();
                }
            }
        }
    }

    fn read(&mut self) {
        self.receiving.is_reading = false;
        self.receiving.read();
        if self.receiving.opens_wide() {
            self.acknowledge();
        }
        self.plan_reading();
    }

    fn send_more(&mut self) {
        if self.phase != Phase::Established {
            return;
        }
        while let Some((seq, payload, flags)) = self.sending.cut() {
            self.send_data(seq, payload, flags, false);
        }
        self.arm();
    }

    fn send_data(&mut self, seq: u32, payload: u32, flags: u8, again: bool) {
        let echo = self.echo();
        let reduced = if self.ecn && payload > 0 && !again && self.sending.takes_reduction() { bits::CWR } else { 0 };
        let ecn = if self.ecn && payload > 0 && !again { 2 } else { 0 };
        let segment = self.segment(bits::ACK | flags | echo | reduced, seq, payload, ecn);
        self.receiving.note_ack();
        self.send(segment);
    }

    /// Retransmits the first unacknowledged segment, or probes the window.
    fn resend(&mut self) {
        match self.sending.first() {
            Some((seq, payload, flags)) => self.send_data(seq, payload, flags, true),
            None => {
                let seq = self.sending.next - 1;
                let segment = self.segment(bits::ACK, seq, 0, 0);
                self.send(segment);
            }
        }
        self.arm();
    }

    fn arm(&mut self) {
        if let Some((at, which)) = self.sending.arm(self.now) {
            self.put(at, Event::TimesOut(which));
        }
    }
}
