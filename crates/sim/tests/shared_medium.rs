//! Ports that share a medium.

mod common;

use common::*;
use dumbbell_sim::spec::{Direction, NetworkSpec, QdiscSpec, ShaperSpec, WorkloadSpec};

const RATE: u64 = 10_000_000;
const SECONDS: u64 = 10;

/// Two connections in the same direction, each with a port of its own. Ports of equal names share a line; `None` gives a port its own link.
fn network(media: [Option<&str>; 2]) -> NetworkSpec {
    let [shaper, other] = media.map(|medium| match medium {
        Some(medium) => ShaperSpec::Shared { medium: medium.into(), rate_bps: RATE },
        None => ShaperSpec::Link { rate_bps: RATE },
    });
    let qdisc = QdiscSpec::Pfifo { limit_packets: 100 };
    let flows = ["a", "b"].map(|name| flow(name, "cubic", "linux-6.12")).into();
    let mut net = dumbbell(qdisc.clone(), shaper, 20 * MS, SECONDS, flows);
    net.ports.push(queue("other", Direction::Forward, qdisc, other));
    net.paths[1].forward = vec![0, 3];
    let WorkloadSpec::Tcp(tcp) = &mut net.workloads[1] else { unreachable!("flows are TCP") };
    tcp.path = 1;
    net
}

/// Bits per second that left each of the two ports.
fn rates(net: &NetworkSpec) -> [u64; 2] {
    let out = run(net);
    ["port/bottleneck", "port/other"].map(|port| counter(&out, port, "sent_bytes") * 8 / SECONDS)
}

#[test]
fn two_ports_contend_for_one_medium_and_have_half_of_it_each() {
    let [a, b] = rates(&network([Some("air"), Some("air")]));
    assert!((97 * RATE / 100..=RATE).contains(&(a + b)), "{a} + {b}");
    assert!(a.abs_diff(b) < RATE / 20, "{a} and {b}");
}

#[test]
fn ports_of_different_media_do_not_contend_and_one_port_alone_has_its_line_as_a_link() {
    let apart = run(&network([Some("left"), Some("right")]));
    let links = run(&network([None, None]));
    assert!(rates(&network([None, None])).iter().all(|rate| (97 * RATE / 100..=RATE).contains(rate)));
    assert_eq!(fingerprint(&apart), fingerprint(&links));
}

#[test]
fn data_and_acknowledgments_take_turns_on_a_half_duplex_line() {
    let mut net = network([Some("air"), Some("air")]);
    net.ports[3] = queue("other", Direction::Reverse, QdiscSpec::Pfifo { limit_packets: 100 }, {
        ShaperSpec::Shared { medium: "air".into(), rate_bps: RATE }
    });
    net.paths[0].reverse = vec![3, 2];
    net.workloads.truncate(1);
    let [data, acks] = rates(&net);
    assert!((97 * RATE / 100..=RATE).contains(&(data + acks)) && acks > RATE / 60, "{data} and {acks}");
}

#[test]
fn a_shared_line_has_one_rate() {
    let mut net = network([Some("air"), Some("air")]);
    net.ports[3] = queue("other", Direction::Forward, QdiscSpec::Pfifo { limit_packets: 100 }, {
        ShaperSpec::Shared { medium: "air".into(), rate_bps: 1 }
    });
    let refusals = dumbbell_sim::simulate(&net).expect_err("two rates");
    assert_eq!(refusals.iter().map(|each| each.field.as_str()).collect::<Vec<_>>(), ["shaper.rate_bps"]);
}
