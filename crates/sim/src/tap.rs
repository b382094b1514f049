//! A tap at every host: notes packets when they leave it and when they arrive, for captures ([`crate::capture`] makes headers of them).
//!
//! A packet is noted once, when it leaves. On its way it carries the number of that note in place of its timestamp value, of which the network
//! only asks (cake's ACK filter) which of two is later; when it arrives it gets the value back. So packets are no larger for it, and a retransmission is not taken
//! for what it repeats.

use crate::attachment::{Attachment, Attachments};
use crate::packet::{flags, Ecn, Packet, Way, NO_ATTACHMENT};
use crate::time::Time;

/// A packet at a host.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// When, ns.
    pub time: Time,
    /// At the right host; else at the left one.
    pub right: bool,
    /// As it is here; routers may change it.
    pub(crate) ecn: Ecn,
    /// Its codepoint was set to 0 on its way.
    pub(crate) washed: bool,
    /// Which packet.
    pub(crate) note: u32,
}

/// A packet as it left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note {
    /// Its `attachment` is an index to those that were noted, its flow the number among all that there have been.
    pub packet: Packet,
    /// The IP identification.
    pub id: u16,
}

/// The two hosts of a flow.
#[derive(Clone, Debug)]
struct Hosts {
    /// The flow's number among all that there have been.
    number: u32,
    /// Its data come from the right.
    from_right: bool,
    /// Packets of the data's sender and of its receiver so far, modulo 2^16.
    counts: [u16; 2],
}

/// All that was noted.
#[derive(Clone, Debug, Default)]
pub struct Tap {
    hosts: Vec<Hosts>,
    notes: Vec<Note>,
    attachments: Vec<Attachment>,
    /// In order of time.
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

    /// The flow with this index is another one from now on, with this number among all that there have been.
    pub fn renew(&mut self, flow: usize, number: u32, from_right: bool) {
        assert!(number < Way::MAX_FLOWS, "fewer than 2^24 flows are noted");
        let hosts = Hosts { number, from_right, counts: [0; 2] };
        match self.hosts.get_mut(flow) {
            Some(place) => *place = hosts,
            None => self.hosts.push(hosts),
        }
    }

    /// A packet leaves its host.
    pub fn departs(&mut self, time: Time, packet: &mut Packet, attachments: &Attachments) {
        let hosts = &mut self.hosts[packet.flow()];
        let answer = packet.has(flags::ACK);
        let id = &mut hosts.counts[usize::from(answer)];
        *id = id.wrapping_add(1);
        let note = u32::try_from(self.notes.len()).expect("fewer than 2^32 packets are noted");
        self.records.push(Record { time, right: hosts.from_right != answer, ecn: packet.ecn(), washed: false, note });
        let mut noted = Packet { way: Way::new(hosts.number), ..*packet };
        if packet.attachment != NO_ATTACHMENT {
            noted.attachment = self.attachments.len() as u32;
            self.attachments.push(attachments.get(packet));
        }
        self.notes.push(Note { packet: noted, id: *id });
        packet.tsval = note;
    }

    /// A packet arrives at its host.
    pub fn arrives(&mut self, time: Time, packet: &mut Packet) {
        let right = self.hosts[packet.flow()].from_right == packet.has(flags::ACK);
        let note = packet.tsval;
        self.records.push(Record { time, right, ecn: packet.ecn(), washed: packet.has(flags::WASHED), note });
        packet.tsval = self.notes[note as usize].packet.tsval;
    }

    /// The packet of a record as it left, and what is attached to it.
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
