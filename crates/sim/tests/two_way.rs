//! Flows in both directions, and hosts with a port of their own, in whole runs.

mod common;

use common::{back, cake, counter, dumbbell, fingerprint, flow, run, two_way, udp, with_udp, MS, MSS, SEC};
use dumbbell_sim::spec::{CakeIsolation, ChangeSpec, NetworkSpec, QdiscSpec, ShaperSpec, TcpSpec};

const RATE: u64 = 10_000_000;

fn tbf() -> ShaperSpec {
    ShaperSpec::Tbf { rate_bps: RATE, burst_bytes: 1540 }
}

fn cubic(name: &str) -> TcpSpec {
    flow(name, "cubic", "linux-6.12")
}

#[test]
fn flows_against_each_other_share_no_queue_but_meet_each_others_acks() {
    let qdisc = || QdiscSpec::Pfifo { limit_packets: 100 };
    let net = |flows| two_way(dumbbell(qdisc(), tbf(), 20 * MS, 30, flows));
    let mut later = back(cubic("back"));
    // In step with the other it would send each ACK with a packet of its own, and none would meet a full queue.
    later.connections[0].start_ns = 7 * MS;
    let (alone, both) = (run(&net(vec![cubic("ahead")])), run(&net(vec![cubic("ahead"), later])));
    let capacity = RATE / 8 * 30 * MSS / 1514;
    for name in ["flow/ahead", "flow/back"] {
        let bytes = counter(&both, name, "rx_bytes");
        assert!(bytes > capacity * 3 / 5, "{name}: {bytes} of {capacity}");
        assert!(counter(&both, name, "acks_dropped") > 0, "{name}: its ACKs pass the other's full queue");
    }
    assert_eq!(counter(&alone, "flow/ahead", "acks_dropped"), 0);
    assert!(counter(&both, "flow/ahead", "rx_bytes") < counter(&alone, "flow/ahead", "rx_bytes"));
}

#[test]
fn a_run_with_all_of_it_is_the_same_twice() {
    let flows = vec![cubic("ahead"), back(flow("back", "reno", "linux-6.12"))];
    let net = two_way(dumbbell(cake(RATE, CakeIsolation::TripleIsolate, 0), ShaperSpec::Own, 20 * MS, 10, flows));
    let mut net = with_udp(net, vec![udp(MS, 5 * SEC)]);
    net.schedule = vec![
        ChangeSpec::Rate { port: 1, at_ns: 2 * SEC, rate_bps: RATE / 3 },
        ChangeSpec::Outage { port: 3, at_ns: 4 * SEC, for_ns: 300 * MS },
    ];
    assert_eq!(fingerprint(&run(&net)), fingerprint(&run(&net)));
    assert_ne!(fingerprint(&run(&net)), fingerprint(&run(&NetworkSpec { schedule: vec![], ..net.clone() })));
}

#[test]
fn tcp_learns_of_drops_at_its_hosts_own_port_alone() {
    let run = |from, path| {
        let mut flow = TcpSpec { from, path, ..cubic("f") };
        flow.stack.options.insert("small_queues".into(), "off".into());
        let mut net = dumbbell(QdiscSpec::Pfifo { limit_packets: 100 }, tbf(), 20 * MS, 20, vec![flow]);
        // Ways that differ in nothing but the host.
        net.paths[0].forward = vec![1];
        run(&net)
    };
    let (local, other) = (run(2, 1), run(0, 0));
    // TCP sends a packet that its own port drops next, and not as a retransmission: no receiver ever misses it.
    assert!(counter(&local, "flow/f", "dropped_packets") > 0);
    assert_eq!(counter(&local, "flow/f", "retransmits"), 0);
    assert_eq!(counter(&other, "flow/f", "retransmits"), counter(&other, "flow/f", "dropped_packets"));
    assert!(counter(&other, "flow/f", "retransmits") > 0);
}
