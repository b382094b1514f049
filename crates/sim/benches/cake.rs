//! Cost of one packet through cake: enqueue and dequeue, with a standing queue in the SCE ramp.

use std::hint::black_box;

use criterion::Criterion;
use dumbbell_sim::attachment::Attachments;
use dumbbell_sim::packet::{Agreed, Body, Ecn, FlowTuple, Packet, Way, FULL_FRAME, NO_ATTACHMENT};
use dumbbell_sim::pool::Pool;
use dumbbell_sim::qdisc::{AnyQdisc, Dequeued, Qdisc, QueueContext};
use dumbbell_sim::rng::Rng;
use dumbbell_sim::segment::TcpHeaders;
use dumbbell_sim::spec::{CakeDiffserv, CakeFraming, CakeIsolation, CakeMore, QdiscSpec};

/// Shaper rate, bit/s.
const RATE: u64 = 50_000_000;
/// Time of a full frame at that rate, ns.
const TAU: u64 = 242_240;

fn packet(flow: u32) -> Packet {
    let ecn = Ecn::Ect0;
    Packet {
        way: Way::new(flow),
        len: FULL_FRAME as u16,
        body: Body::default(),
        attachment: NO_ATTACHMENT,
        flags: ecn.flags(),
    }
}

fn spec(isolation: CakeIsolation) -> QdiscSpec {
    QdiscSpec::Cake {
        rate_bps: Some(RATE),
        isolation,
        rtt_ns: 100_000_000,
        overhead_bytes: None,
        mpu_bytes: 0,
        framing: CakeFraming::Noatm,
        memory_limit_bytes: None,
        sce: 1,
        diffserv: CakeDiffserv::Besteffort,
        more: CakeMore::default(),
    }
}

/// Each iteration sends one packet and queues one, with `standing` packets of each flow waiting.
fn one(c: &mut Criterion, name: &str, isolation: CakeIsolation, flows: u32, standing: u32) {
    let spec = spec(isolation);
    let tuples: Vec<FlowTuple> = (0..flows)
        .map(|i| FlowTuple {
            src: 10 + i,
            dst: 20 + i,
            sport: 40_000 + i as u16,
            dport: 5001,
            dscp: 0,
            agreed: Agreed::default(),
        })
        .collect();
    let mut rng = Rng::for_component(1, "port/bench");
    let mut qdisc = AnyQdisc::build(&spec, FULL_FRAME, &mut rng).expect("the spec is valid");
    let (packets, dropped) = (Pool::default(), vec![]);
    let mut s = QueueContext {
        now: 0,
        port: 0,
        rngs: vec![rng],
        packets,
        dropped,
        tuples,
        headers: &TcpHeaders,
        attachments: Attachments::default(),
        departure: 0,
    };
    for flow in (0..flows).cycle().take((flows * standing) as usize) {
        let id = s.packets.put(packet(flow));
        qdisc.enqueue(id, &mut s);
    }
    c.bench_function(name, |b| {
        b.iter(|| {
            match qdisc.dequeue(&mut s) {
                Dequeued::Packet(id) => {
                    let flow = s.packets.take(id).flow() as u32;
                    let id = s.packets.put(black_box(packet(flow)));
                    qdisc.enqueue(id, &mut s);
                }
                Dequeued::Wait(_) | Dequeued::Empty => panic!("a packet may leave each {TAU} ns"),
            }
            s.now += TAU + 1;
        });
    });
    assert!(s.dropped.is_empty());
}

fn cake(c: &mut Criterion) {
    one(c, "cake/1 flow, flowblind", CakeIsolation::Flowblind, 1, 15);
    one(c, "cake/1 flow, triple-isolate", CakeIsolation::TripleIsolate, 1, 15);
    one(c, "cake/32 flows, triple-isolate", CakeIsolation::TripleIsolate, 32, 4);
    c.bench_function("cake/creation, triple-isolate", |b| {
        let spec = spec(CakeIsolation::TripleIsolate);
        let mut rng = Rng::for_component(1, "port/bench");
        b.iter(|| AnyQdisc::build(black_box(&spec), FULL_FRAME, &mut rng));
    });
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    cake(&mut criterion);
    criterion.final_summary();
}
