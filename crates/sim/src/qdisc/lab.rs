//! For tests: a discipline with a clock.

use super::{AnyQdisc, Dequeued, FlowTuple, Qdisc, Surroundings, Verdict};
use crate::network::QdiscSpec;
use crate::packet::{DropCause, Ecn, Packet, NO_SACK};
use crate::rng::Rng;
use crate::time::Time;

/// A discipline, its surroundings and a clock.
pub(crate) struct Lab {
    pub qdisc: AnyQdisc,
    pub now: Time,
    pub dropped: Vec<(Packet, DropCause)>,
    rng: Rng,
    tuples: Vec<FlowTuple>,
    sent: u32,
}

/// A data packet.
pub(crate) fn packet(flow: u32, len: u32, seq: u32, ecn: Ecn) -> Packet {
    Packet { time: 0, flow, len, seq, window: 0, tsval: 0, tsecr: 0, sack: NO_SACK, flags: 0, ecn, hop: 0 }
}

impl Lab {
    /// At time 0, for up to 64 flows of hosts of their own.
    pub fn new(spec: &QdiscSpec, seed: u64) -> Self {
        let mut rng = Rng::for_component(seed, "qdisc/lab");
        let tuples = (0..64).map(|i| FlowTuple { src: i, dst: 100 + i, sport: i as u16, dport: 80 }).collect();
        let qdisc = AnyQdisc::build(spec, &mut rng).unwrap();
        Self { qdisc, now: 0, dropped: vec![], rng, tuples, sent: 0 }
    }

    pub fn offer(&mut self, p: Packet) -> Verdict {
        let (now, rng, dropped, tuples) = (self.now, &mut self.rng, &mut self.dropped, &self.tuples[..]);
        self.qdisc.enqueue(p, &mut Surroundings { now, rng, dropped, tuples })
    }

    /// Offers `count` full packets of a flow.
    pub fn offer_full(&mut self, flow: u32, count: u32, ecn: Ecn) {
        for _ in 0..count {
            self.sent += 1;
            self.offer(packet(flow, crate::packet::FULL_FRAME, self.sent, ecn));
        }
    }

    pub fn take(&mut self) -> Option<Packet> {
        let (now, rng, dropped, tuples) = (self.now, &mut self.rng, &mut self.dropped, &self.tuples[..]);
        match self.qdisc.dequeue(&mut Surroundings { now, rng, dropped, tuples }) {
            Dequeued::Packet(p) => Some(p),
            Dequeued::Empty => None,
            Dequeued::Wait(_) => unreachable!("nothing here shapes itself"),
        }
    }

    pub fn peek(&mut self) -> Option<u32> {
        let (now, rng, dropped, tuples) = (self.now, &mut self.rng, &mut self.dropped, &self.tuples[..]);
        self.qdisc.peek(&mut Surroundings { now, rng, dropped, tuples })
    }

    /// Flows of the packets dropped since the last call.
    pub fn losers(&mut self) -> Vec<u32> {
        self.dropped.drain(..).map(|(p, _)| p.flow).collect()
    }
}
