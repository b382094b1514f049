//! Hosts whose network cards gather packets and whose GRO merges them, in whole runs.

mod common;

use common::{counter, dumbbell, flow, run, MS, MSS, SEC};
use dumbbell_sim::output::Output;
use dumbbell_sim::spec::{Direction, PortSpec, QdiscSpec, ShaperSpec, TcpSpec};

const RATE: u64 = 100_000_000;
const SECONDS: u64 = 10;

/// A cubic flow to a host whose interrupts come so long after the first packet.
fn to_card(interval_ns: Option<u64>) -> Output {
    let tcp = TcpSpec { gro: interval_ns.is_some(), ..flow("f", "cubic", "linux-6.12") };
    let qdisc = QdiscSpec::Pfifo { limit_packets: 250 };
    let mut net = dumbbell(qdisc, ShaperSpec::Link { rate_bps: RATE }, 20 * MS, SECONDS, vec![tcp]);
    net.paths[0].forward.push(net.ports.len());
    net.ports.push(PortSpec::Link {
        id: "card".into(),
        name: "card".into(),
        direction: Direction::Forward,
        delay_ns: 0,
        rate_bps: None,
        limit_packets: None,
        coalesce_ns: interval_ns,
        own_rtt: None,
        faults: None,
    });
    run(&net)
}

fn per_ack(out: &Output) -> f64 {
    counter(out, "flow/f", "arrived_packets") as f64 / counter(out, "flow/f", "acks_sent") as f64
}

#[test]
fn an_ack_stands_for_all_that_came_with_an_interrupt() {
    let frame_ns = 1514 * 8 * SEC / RATE;
    assert!((1.8..2.01).contains(&per_ack(&to_card(None))));
    for interval_ns in [MS / 2, MS, 3 * MS] {
        let out = to_card(Some(interval_ns));
        // The first packet starts the interval, and what arrives within it comes along.
        let expected = (interval_ns / frame_ns + 1) as f64;
        let found = per_ack(&out);
        assert!((0.85 * expected..1.05 * expected).contains(&found), "{interval_ns} ns: {found} of {expected}");
        let carried = RATE / 8 * SECONDS * MSS / 1514;
        assert!(counter(&out, "flow/f", "rx_bytes") * 100 > 90 * carried, "{interval_ns} ns");
    }
}
