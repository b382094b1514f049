//! Taps for captures ([`crate::capture`] makes headers of their notes): at every host, when packets leave it and when they arrive, and
//! behind ports. Like a packet socket, a tap is behind the queue: a packet that a host's own queue drops, or still holds, has not left.
//!
//! A packet is noted once, when TCP sends it. On its way it carries the number of that note in its body, in place of a word
//! ([`Body::STAMP`]) of which the network only asks which of two is later (cake's ACK filter does). When the packet arrives it gets the value back. So packets
//! are no larger, and a retransmission is not taken for the packet that it repeats.

use crate::attachment::{Attachment, Attachments};
use crate::packet::{Body, Ecn, Packet, Way, NO_ATTACHMENT};
use crate::time::Time;

/// A packet at a host.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// When, ns.
    pub time: Time,
    /// The tap: [`LEFT`], [`RIGHT`], or a point of the path, from [`PATH`] on.
    pub place: u8,
    /// The codepoint at this place; routers may change it.
    pub(crate) ecn: Ecn,
    /// Its codepoint was set to 0 on its way.
    pub(crate) washed: bool,
    /// Index of the packet's note.
    pub(crate) note: u32,
}

/// A packet as it left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note {
    /// Its `attachment` is an index to the noted ones. Its flow is the number among all flows that there have been.
    pub packet: Packet,
    /// The IP identification.
    pub id: u16,
}

/// The tap at the left host.
pub const LEFT: u8 = 0;
/// The tap at the right host.
pub const RIGHT: u8 = 1;
/// The first tap on the path.
pub const PATH: u8 = 2;

/// The note that packets get when they leave a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    Nothing,
    /// They leave their host.
    Host,
    /// They come to the next place on their way, where this tap is.
    Tap(u8),
}

/// The two hosts of a flow.
#[derive(Clone, Debug)]
struct Hosts {
    /// The flow's number among all that there have been.
    number: u32,
    /// Its data come from the right.
    from_right: bool,
    /// Packets of each direction so far, modulo 2^16.
    counts: [u16; 2],
}

impl Hosts {
    /// The tap at the host that a packet comes from.
    fn source(&self, packet: &Packet) -> u8 {
        u8::from(self.from_right != packet.is_reverse())
    }
}

/// All that was noted.
#[derive(Clone, Debug, Default)]
pub struct Tap {
    hosts: Vec<Hosts>,
    notes: Vec<Note>,
    attachments: Vec<Attachment>,
    /// By port; nothing beyond the last.
    behind: Vec<Behind>,
    /// There are taps at the hosts.
    pub at_hosts: bool,
    /// The names of the taps on the path.
    pub points: Vec<String>,
    /// At each tap in order of time.
    pub records: Vec<Record>,
}

impl Tap {
    /// Prepares for flows, each with the side that its data come from.
    #[must_use]
    pub fn new(from_right: impl Iterator<Item = bool>) -> Self {
        let hosts =
            from_right.zip(0..).map(|(from_right, number)| Hosts { number, from_right, counts: [0; 2] }).collect();
        Self { hosts, ..Self::default() }
    }

    /// Packets are noted where they leave their host, `queues` being hosts' own, and where they arrive.
    pub fn put_at_hosts(&mut self, queues: impl Iterator<Item = usize>) {
        self.at_hosts = true;
        queues.for_each(|port| self.put_behind(port, Behind::Host));
    }

    /// Add a tap of this name, which notes the packets that come out of these ports.
    pub fn put_on_path(&mut self, name: String, ports: &[usize]) {
        let tap = PATH + u8::try_from(self.points.len()).expect("few taps, as was checked");
        self.points.push(name);
        ports.iter().for_each(|&port| self.put_behind(port, Behind::Tap(tap)));
    }

    fn put_behind(&mut self, port: usize, behind: Behind) {
        if self.behind.len() <= port {
            self.behind.resize(port + 1, Behind::Nothing);
        }
        self.behind[port] = behind;
    }

    /// The ports whose packets are noted.
    pub fn ports(&self) -> impl Iterator<Item = usize> + '_ {
        self.behind.iter().enumerate().filter(|(_, behind)| **behind != Behind::Nothing).map(|(port, _)| port)
    }

    /// The flow with this index is another one from now on, with this number among all that there have been.
    pub fn renew(&mut self, flow: usize, number: u32, from_right: bool) {
        assert!(number < Way::MAX_FLOWS, "fewer than 2^24 flows are noted");
        let hosts = Hosts { number, from_right, counts: [0; 2] };
        match self.hosts.get_mut(flow) {
            Some(place) => *place = hosts,
            None => self.hosts.push(hosts),
        }
    }

    /// Return the number of packets noted.
    #[must_use]
    pub fn noted(&self) -> usize {
        self.notes.len()
    }

    /// TCP sends a packet, which leaves the host at once unless a queue of its own is before that.
    pub fn departs(&mut self, time: Time, packet: &mut Packet, attachments: &Attachments, to_own_queue: bool) {
        let hosts = &mut self.hosts[packet.flow()];
        let id = &mut hosts.counts[packet.direction() as usize];
        *id = id.wrapping_add(1);
        let note = u32::try_from(self.notes.len()).expect("fewer than 2^32 packets are noted");
        let (id, place) = (*id, hosts.source(packet));
        if self.at_hosts && !to_own_queue {
            self.records.push(Record { time, place, ecn: packet.ecn(), washed: false, note });
        }
        let mut noted = Packet { way: Way::new(hosts.number), ..*packet };
        if packet.attachment != NO_ATTACHMENT {
            noted.attachment = self.attachments.len() as u32;
            self.attachments.push(attachments.get(packet.attachment));
        }
        self.notes.push(Note { packet: noted, id });
        packet.body.0[Body::STAMP] = note;
    }

    /// A packet arrives at its host.
    pub fn arrives(&mut self, time: Time, packet: &mut Packet) {
        let place = RIGHT - self.hosts[packet.flow()].source(packet);
        let note = packet.body.0[Body::STAMP];
        if self.at_hosts {
            self.note(time, place, packet);
        }
        packet.body.0[Body::STAMP] = self.notes[note as usize].packet.body.0[Body::STAMP];
    }

    /// A packet leaves the queue of port `port`, which is its host's own or not, at `out`, and reaches the next place at `arrives` unless
    /// it is lost in between.
    pub fn leaves(&mut self, port: usize, own: bool, packet: &Packet, out: Time, arrives: Option<Time>) {
        match (self.behind.get(port), arrives) {
            (Some(Behind::Host), _) if own => self.note(out, self.hosts[packet.flow()].source(packet), packet),
            (Some(Behind::Tap(tap)), Some(time)) => self.note(time, *tap, packet),
            _ => {}
        }
    }

    fn note(&mut self, time: Time, place: u8, packet: &Packet) {
        let washed = packet.is_washed();
        self.records.push(Record { time, place, ecn: packet.ecn(), washed, note: packet.body.0[Body::STAMP] });
    }

    /// Return the packet of a record as it left, and its attachment.
    pub(crate) fn packet(&self, record: &Record) -> (&Note, Attachment) {
        self.with_attachment(&self.notes[record.note as usize])
    }

    /// All packets in the order in which they left.
    pub(crate) fn packets(&self) -> impl Iterator<Item = (&Note, Attachment)> {
        self.notes.iter().map(|note| self.with_attachment(note))
    }

    fn with_attachment<'a>(&self, note: &'a Note) -> (&'a Note, Attachment) {
        let attachment = match note.packet.attachment {
            NO_ATTACHMENT => Attachment::default(),
            at => self.attachments[at as usize],
        };
        (note, attachment)
    }
}
