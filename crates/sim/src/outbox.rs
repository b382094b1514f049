//! The outbox: all that the end of a flow can act on.

use std::collections::VecDeque;

use crate::attachment::{Attachment, Attachments};
use crate::packet::{Direction, Packet, Verdict};
use crate::time::{Time, NEVER};

/// The end of a flow that a packet comes from. The sender's packets go along the route of the data, the receiver's along that of the ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It sends the data.
    Sender,
    /// It acknowledges them.
    Receiver,
}

impl End {
    /// The direction of its packets.
    #[inline]
    #[must_use]
    pub fn direction(self) -> Direction {
        match self {
            Self::Sender => Direction::Forward,
            Self::Receiver => Direction::Reverse,
        }
    }
}

/// The queue that the host of an end has of its own, which everything sent passes first, as its TCP feels it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostQueue {
    /// There is none.
    #[default]
    None,
    /// The queue charges packets to the account of their connection until they leave.
    Charges,
    /// It takes packets off that account when they come, but TCP sees which of them are there.
    Orphans,
}

/// All that the end of a flow can act on: it reads the time, sends packets and sets its timers, and knows nothing of the world behind the
/// outbox. In a run that world is the network; an end alone has a [`LoneOutbox`]. The outbox is a type parameter rather than an object, so
/// that every call is resolved at compile time.
pub trait Outbox {
    /// The current time.
    fn now(&self) -> Time;

    /// Send a packet of the end `from`. Return the verdict of the first port, before anything else happens, if that port belongs to the
    /// sending host: a drop there is a transmission that failed. For a port of another host, return `Queued`, because a host does not learn
    /// what other hosts do.
    fn send(&mut self, from: End, p: impl Into<Packet>) -> Verdict;

    /// Send like [`Self::send`], but a queue on the host that looks at the time holds the packet until `departure`.
    fn send_at(&mut self, from: End, p: impl Into<Packet>, _departure: Time) -> Verdict {
        self.send(from, p)
    }

    /// Sets the event of a timer of the end, or moves it; `NEVER` takes it away.
    fn set_timer(&mut self, source: usize, at: Time);

    /// Takes away the event of a timer, if it is still there.
    #[inline]
    fn clear_timer(&mut self, source: usize) {
        self.set_timer(source, NEVER);
    }

    /// Returns the slot of the attachment for a packet that is about to be sent.
    fn attach(&mut self, attachment: Attachment) -> u32;

    /// True if no other packet reaches this end of the flow at this time after the one in hand. An application acts once all packets of an
    /// instant have been dealt with, as no process of Linux runs before the softirq is over: if this is true, at once.
    fn is_last_now(&self) -> bool {
        true
    }

    /// Lets the application at one end of a flow act once nothing else happens at this time.
    fn act_last(&mut self, _flow: usize, _end: End) {}

    /// Return the bytes that options other than timestamps take of the next packet.
    fn option_bytes(&self) -> u32 {
        0
    }

    /// Take the attachment out of the slot of a packet that has arrived; a packet without one has an attachment without blocks.
    fn take_attachment(&mut self, slot: u32) -> Attachment;
}

/// The outbox of an end alone: it keeps the packets that the end sends and the times of its timers. Whoever drives the end carries both out:
/// a test, a fuzzer, or the comparison with an end of the kernel.
#[derive(Debug)]
pub struct LoneOutbox {
    /// The current time.
    pub now: Time,
    /// Verdicts of the first port on the next packets, in order; it queues all after these.
    pub verdicts: VecDeque<Verdict>,
    /// True if more packets come at this time.
    pub more_now: bool,
    /// Attachments of the packets under way.
    pub attachments: Attachments,
    sent: Vec<(End, Packet)>,
    timers: Vec<Time>,
}

impl LoneOutbox {
    /// Make an outbox at time 0 with this number of timers, none of which is set.
    #[must_use]
    pub fn new(timers: usize) -> Self {
        Self {
            now: 0,
            verdicts: VecDeque::new(),
            more_now: false,
            attachments: Attachments::default(),
            sent: vec![],
            timers: vec![NEVER; timers],
        }
    }

    /// Takes the packets sent, each with the end that sent it, in order.
    pub fn take_sent_by<P: From<Packet>>(&mut self) -> Vec<(End, P)> {
        self.sent.drain(..).map(|(from, p)| (from, p.into())).collect()
    }

    /// The time of a timer's event; `NEVER` if it is not set.
    #[must_use]
    pub fn timer(&self, source: usize) -> Time {
        self.timers[source]
    }

    /// The next event and its timer; the lower of two timers at the same time.
    #[must_use]
    pub fn next_timer(&self) -> Option<(Time, usize)> {
        (0..self.timers.len()).map(|i| (self.timers[i], i)).min().filter(|&(time, _)| time != NEVER)
    }
}

impl Outbox for LoneOutbox {
    fn now(&self) -> Time {
        self.now
    }

    fn send(&mut self, from: End, p: impl Into<Packet>) -> Verdict {
        self.sent.push((from, p.into()));
        self.verdicts.pop_front().unwrap_or(Verdict::Queued)
    }

    fn set_timer(&mut self, source: usize, at: Time) {
        assert!(at >= self.now, "a timer for the past");
        self.timers[source] = at;
    }

    fn attach(&mut self, attachment: Attachment) -> u32 {
        self.attachments.put(attachment)
    }

    fn take_attachment(&mut self, slot: u32) -> Attachment {
        self.attachments.take(slot)
    }

    fn is_last_now(&self) -> bool {
        !self.more_now
    }
}
