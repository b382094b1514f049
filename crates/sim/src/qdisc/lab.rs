//! For tests: a discipline with a clock.

use super::{AnyQdisc, Dequeued, Qdisc, QueueContext, Verdict};
use crate::attachment::{Attachment, Attachments};
use crate::packet::{Agreed, Body, DropCause, Ecn, FlowTuple, Packet, Way, NO_ATTACHMENT};
use crate::pool::Pool;
use crate::rng::Rng;
use crate::segment::TcpHeaders;
use crate::spec::QdiscSpec;
use crate::time::Time;

/// A discipline and all that it may touch.
pub(crate) struct Lab<Q = AnyQdisc> {
    pub qdisc: Q,
    pub now: Time,
    pub dropped: Vec<(Packet, DropCause)>,
    /// The time that the queue held the packet dequeued last.
    pub sojourn: Time,
    shared: QueueContext,
    sent: u32,
}

/// The answer of a dequeue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    Packet(Packet),
    Wait(Time),
    Empty,
}

/// A data packet with a number to tell it from others.
pub(crate) fn packet(flow: u32, len: u32, seq: u32, ecn: Ecn) -> Packet {
    Packet {
        way: Way::new(flow),
        len: len as u16,
        flags: ecn.flags(),
        body: Body([seq, 0, 0, 0]),
        attachment: NO_ATTACHMENT,
    }
}

impl Packet {
    /// The number by which tests tell packets apart.
    pub(crate) fn number(&self) -> u32 {
        self.body.0[0]
    }
}

/// Return all that the queue of a network with one port may touch.
pub(crate) fn queue_context(rng: Rng, tuples: Vec<FlowTuple>) -> QueueContext {
    QueueContext {
        now: 0,
        port: 0,
        rngs: vec![rng],
        packets: Pool::default(),
        dropped: vec![],
        tuples,
        headers: &TcpHeaders,
        attachments: Attachments::default(),
        departure: 0,
    }
}

impl Lab {
    /// At time 0, for up to 64 flows of hosts of their own.
    pub fn new(spec: &QdiscSpec, seed: u64) -> Self {
        let mut rng = Rng::for_component(seed, "qdisc/lab");
        let tuples = (0..64)
            .map(|i| FlowTuple { src: i, dst: 100 + i, sport: i as u16, dport: 80, dscp: 0, agreed: Agreed::default() })
            .collect();
        let qdisc = AnyQdisc::build(spec, crate::packet::FULL_FRAME, &mut rng).unwrap();
        Self::with(qdisc, queue_context(rng, tuples))
    }
}

impl<Q: Qdisc> Lab<Q> {
    /// At time 0.
    pub fn with(qdisc: Q, shared: QueueContext) -> Self {
        Self { qdisc, now: 0, dropped: vec![], sojourn: 0, shared, sent: 0 }
    }

    /// Does something at the time that it is, and notes the drops.
    pub fn act<R>(&mut self, f: impl FnOnce(&mut Q, &mut QueueContext) -> R) -> R {
        self.shared.now = self.now;
        let result = f(&mut self.qdisc, &mut self.shared);
        let QueueContext { dropped, packets, .. } = &mut self.shared;
        self.dropped.extend(dropped.drain(..).map(|(id, cause)| (packets.take(id), cause)));
        result
    }

    pub fn offer(&mut self, p: Packet) -> Verdict {
        let id = self.shared.packets.put(p);
        self.act(|qdisc, s| qdisc.enqueue(id, s))
    }

    /// Offers a full packet of a flow that is to leave at `departure`.
    pub fn offer_at(&mut self, flow: u32, departure: Time) -> Verdict {
        self.sent += 1;
        self.shared.departure = departure;
        self.offer(packet(flow, crate::packet::FULL_FRAME, self.sent, Ecn::NotEct))
    }

    /// Attaches something to a packet that is to be offered.
    pub fn attach(&mut self, p: &mut Packet, attachment: Attachment) {
        p.attachment = self.shared.attachments.put(attachment);
    }

    /// Offers `count` full packets of a flow.
    pub fn offer_full(&mut self, flow: u32, count: u32, ecn: Ecn) {
        for _ in 0..count {
            self.sent += 1;
            self.offer(packet(flow, crate::packet::FULL_FRAME, self.sent, ecn));
        }
    }

    pub fn dequeue(&mut self) -> Answer {
        match self.act(|qdisc, s| qdisc.dequeue(s)) {
            Dequeued::Packet(id) => {
                self.sojourn = self.now - self.shared.packets[id].time;
                Answer::Packet(self.shared.packets.take(id))
            }
            Dequeued::Wait(t) => Answer::Wait(t),
            Dequeued::Empty => Answer::Empty,
        }
    }

    pub fn take(&mut self) -> Option<Packet> {
        match self.dequeue() {
            Answer::Packet(p) => Some(p),
            Answer::Empty => None,
            Answer::Wait(_) => unreachable!("nothing here shapes itself"),
        }
    }

    pub fn peek(&mut self) -> Option<u32> {
        self.act(|qdisc, s| qdisc.peek(s))
    }

    /// Packets and bytes held, by looking at each.
    pub fn found(&self) -> (usize, u64) {
        let mut found = (0, 0);
        self.qdisc.for_each(&self.shared.packets, &mut |p| found = (found.0 + 1, found.1 + u64::from(p.len)));
        found
    }

    /// Flows of the packets dropped since the last call.
    pub fn losers(&mut self) -> Vec<usize> {
        self.dropped.drain(..).map(|(p, _)| p.flow()).collect()
    }
}
