//! A whole cake against the closed forms of its parts.

mod ack_filter;
mod isolation;
mod memory;
mod pacing;
mod signals;
mod tins;

use super::Cake;
use crate::packet::{Agreed, Ecn, FlowTuple, Packet, FULL_FRAME};
use crate::qdisc::lab::{self, packet, Answer};
use crate::qdisc::{Qdisc, Verdict};
use crate::rng::Rng;
use crate::spec::{CakeDiffserv, CakeFraming, CakeIsolation, CakeMore, QdiscSpec};
use crate::time::MS;

/// A cake with a clock.
pub(super) type Lab = lab::Lab<Cake>;

/// tc's defaults.
pub(super) fn spec(rate_bps: Option<u64>, isolation: CakeIsolation, sce: u32) -> QdiscSpec {
    QdiscSpec::Cake {
        rate_bps,
        isolation,
        rtt_ns: 100 * MS,
        overhead_bytes: None,
        mpu_bytes: 0,
        framing: CakeFraming::Noatm,
        memory_limit_bytes: None,
        sce,
        diffserv: CakeDiffserv::Besteffort,
        more: CakeMore::default(),
    }
}

/// The same with a memory limit.
pub(super) fn limited(mut spec: QdiscSpec, bytes: u64) -> QdiscSpec {
    if let QdiscSpec::Cake { memory_limit_bytes, .. } = &mut spec {
        *memory_limit_bytes = Some(bytes);
    }
    spec
}

/// Flow `i`: its own source and destination host.
fn separate(i: u32) -> FlowTuple {
    FlowTuple {
        src: 0x0a00_0001 + i,
        dst: 0x0a01_0001 + i,
        sport: i as u16,
        dport: 5_001,
        dscp: 0,
        agreed: Agreed::default(),
    }
}

/// A cake between flows with these addresses.
pub(super) fn cake_lab(spec: &QdiscSpec, seed: u64, tuples: Vec<FlowTuple>) -> Lab {
    let mut rng = Rng::for_component(seed, "port/q");
    let cake = Cake::from_spec(spec, FULL_FRAME, &mut rng).unwrap();
    Lab::with(cake, lab::queue_context(rng, tuples))
}

impl Lab {
    /// Flows between hosts of their own.
    fn separate(spec: &QdiscSpec, flows: u32) -> Self {
        cake_lab(spec, 1, (0..flows).map(separate).collect())
    }

    fn fill(&mut self, flow: u32, len: u32, n: u32) {
        for seq in 0..n {
            assert_eq!(self.offer(packet(flow, len, seq, Ecn::Ect0)), Verdict::Queued);
        }
    }

    /// The next packet, as soon as it may leave.
    fn send(&mut self) -> Option<Packet> {
        loop {
            match self.dequeue() {
                Answer::Packet(p) => return Some(p),
                Answer::Wait(t) => self.now = t,
                Answer::Empty => return None,
            }
        }
    }

    /// The queue a flow's packet goes to.
    fn queue_of(&mut self, p: Packet) -> usize {
        self.act(|cake, s| cake.flows.classify(&p, &s.tuples, &mut cake.drr))
    }

    /// Bytes of each flow sent while every flow keeps a few packets waiting; lengths are those of each flow.
    fn saturate(&mut self, lengths: &[u32], packets: u32) -> Vec<u64> {
        let mut sent = vec![0; lengths.len()];
        for (flow, &len) in (0..).zip(lengths) {
            self.fill(flow, len, 8);
        }
        for seq in 0..packets {
            let p = self.send().unwrap();
            sent[p.flow()] += u64::from(p.len);
            self.offer(packet(p.flow() as u32, u32::from(p.len), seq, Ecn::Ect0));
        }
        sent
    }
}

#[test]
fn a_peek_keeps_the_packet_counted() {
    let mut lab = Lab::separate(&spec(None, CakeIsolation::Flows, 0), 1);
    lab.fill(0, FULL_FRAME, 2);
    assert_eq!(lab.peek(), Some(FULL_FRAME));
    assert_eq!(lab.peek(), Some(FULL_FRAME));
    assert_eq!((lab.qdisc.packets(), lab.qdisc.bytes()), (2, 2 * 1514));
    let mut held = Vec::new();
    lab.act(|cake, s| cake.for_each(&s.packets, &mut |p| held.push(p.number())));
    assert_eq!(held, [0, 1]);
    assert_eq!(lab.send().unwrap().number(), 0);
    assert_eq!(lab.send().unwrap().number(), 1);
    assert_eq!(lab.peek(), None);
    assert_eq!((lab.qdisc.packets(), lab.qdisc.bytes()), (0, 0));
}
