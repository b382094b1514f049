//! An outbox for the endpoints' tests: it keeps what is sent and when timers are due, and the test says what becomes of both.

use std::collections::VecDeque;

use crate::attachment::{Attachment, Attachments, Blocks};
use crate::outbox::{End, Outbox};
use crate::packet::{flags, Packet, Verdict, Way, ACK_FRAME, MSS, NO_ATTACHMENT};
use crate::time::{Time, NEVER};

/// What an endpoint under test acts through.
#[derive(Debug)]
pub(in crate::tcp) struct TestOutbox {
    /// The current time.
    pub now: Time,
    /// What the first port says of the next packets, in order; it queues all after these.
    pub verdicts: VecDeque<Verdict>,
    /// More packets come at this time.
    pub more_now: bool,
    sent: Vec<(End, Packet)>,
    timers: Vec<Time>,
    attachments: Attachments,
}

impl TestOutbox {
    /// At time 0, with so many timers, none of which is set.
    pub fn new(timers: usize) -> Self {
        Self {
            now: 0,
            verdicts: VecDeque::new(),
            more_now: false,
            sent: vec![],
            timers: vec![NEVER; timers],
            attachments: Attachments::default(),
        }
    }

    /// Takes what was sent by either end, in order.
    pub fn take_sent(&mut self) -> Vec<Packet> {
        self.sent.drain(..).map(|(_, p)| p).collect()
    }

    /// When a timer's event comes; `NEVER` if it is not set.
    pub fn timer(&self, source: usize) -> Time {
        self.timers[source]
    }

    /// The event that comes next, and when: of two at the same time that of the lower timer.
    pub fn next_timer(&self) -> Option<(Time, usize)> {
        (0..self.timers.len()).map(|i| (self.timers[i], i)).min().filter(|&(time, _)| time != NEVER)
    }

    /// A receiver's packet with this ACK number, SACK blocks and timestamp echo; `flags` beside ACK. Its window is 1000 segments.
    pub fn ack_packet(&mut self, ack: u32, blocks: &[(u32, u32)], tsecr: u32, flags: u16) -> Packet {
        let mut p = Packet {
            way: Way::new(0),
            len: ACK_FRAME as u16,
            seq: ack,
            window: 1000 * MSS,
            tsval: 0,
            tsecr,
            attachment: NO_ATTACHMENT,
            flags: flags | flags::ACK,
        };
        if !blocks.is_empty() {
            let mut list = Blocks::default();
            blocks.iter().for_each(|&b| list.push(b));
            self.attach(&mut p, list.into());
        }
        p
    }

    /// The SACK blocks of a packet under way.
    pub fn blocks(&self, p: &Packet) -> Blocks {
        self.attachments.get(p).blocks
    }
}

impl Outbox for TestOutbox {
    fn now(&self) -> Time {
        self.now
    }

    fn send(&mut self, from: End, p: Packet) -> Verdict {
        self.sent.push((from, p));
        self.verdicts.pop_front().unwrap_or(Verdict::Queued)
    }

    fn set_timer(&mut self, source: usize, at: Time) {
        self.timers[source] = at;
    }

    fn attach(&mut self, p: &mut Packet, attachment: Attachment) {
        self.attachments.attach(p, attachment);
    }

    fn take_attachment(&mut self, p: &Packet) -> Attachment {
        self.attachments.take(p)
    }

    fn is_last_now(&self) -> bool {
        !self.more_now
    }
}
