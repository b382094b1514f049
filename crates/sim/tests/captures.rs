//! Captures: every packet at both hosts, exactly that packet, and nothing else is different for it.

mod common;

use std::collections::HashMap;

use common::{back, counter, dumbbell, fingerprint, flow, run, udp, with_udp, MS, SEC};
use dumbbell_sim::capture::{Capture, Header, Wire};
use dumbbell_sim::check;
use dumbbell_sim::packet::Ecn;
use dumbbell_sim::refusal::lines;
use dumbbell_sim::spec::{
    CodelFloor, CodelSpec, DatagramsSpec, Direction, DistributionSpec, NetworkSpec, PortSpec, QdiscSpec, ShaperSpec,
};
use dumbbell_sim::tap::{LEFT, PATH, RIGHT};

/// Two flows of different stacks to the right, one to the left and datagrams; data, ACKs and marks meet full queues on either way.
fn crowded() -> NetworkSpec {
    let mut flows =
        vec![flow("a", "cubic", "linux-6.12"), flow("b", "reno", "freebsd-9"), back(flow("c", "dctcp", "linux-6.12"))];
    flows[0].transfer_bytes = Some(3_000_001);
    flows[1].first_write_bytes = Some(24);
    let fifo = |limit| QdiscSpec::Pfifo { limit_packets: limit };
    let control = CodelSpec {
        target_ns: 5 * MS,
        interval_ns: 100 * MS,
        ecn: true,
        ce_threshold_ns: Some(10 * MS),
        ce_threshold_selector: None,
        floor: CodelFloor::Mtu,
        forgets_when_empty: true,
    };
    let mut net = dumbbell(fifo(30), ShaperSpec::Link { rate_bps: 10_000_000 }, 20 * MS, 10, flows);
    net.ports[2] = PortSpec::Queue {
        id: "back".into(),
        name: "back".into(),
        direction: Direction::Reverse,
        qdisc: QdiscSpec::Codel { limit_packets: 12, control },
        shaper: ShaperSpec::Link { rate_bps: 2_000_000 },
        delay_ns: 10 * MS,
    };
    with_udp(net, vec![DatagramsSpec { size_bytes: DistributionSpec::Fixed(300), ..udp(7 * MS, 10 * SEC) }])
}

/// Packets of a flow in the records of each side, by way: (times and packets that left, those that arrived).
type Ways = HashMap<(u16, u16), [Vec<(u64, Wire)>; 2]>;

fn ways(capture: &Capture) -> Ways {
    let mut found = Ways::new();
    for record in capture.records() {
        let wire = capture.wire(record);
        let arrived = (record.place == RIGHT) != wire.leftwards;
        found.entry((wire.source.1, wire.destination.1)).or_default()[usize::from(arrived)].push((record.time, wire));
    }
    found
}

#[test]
fn noting_packets_changes_nothing() {
    let net = crowded();
    let (plain, noted) = (run(&net), run(&NetworkSpec { capture: true, ..net.clone() }));
    assert!(plain.capture.is_none() && noted.capture.is_some());
    assert_eq!(fingerprint(&plain), fingerprint(&noted));
    assert_eq!(plain.events, noted.events);
}

#[test]
fn every_packet_is_seen_where_it_leaves_and_where_it_arrives() {
    let out = run(&NetworkSpec { capture: true, ..crowded() });
    let ways = ways(out.capture.as_deref().unwrap());
    for (i, name) in [(0, "flow/a"), (1, "flow/b"), (2, "flow/c")] {
        let count = |key| counter(&out, name, key) as usize;
        let (there, back) = (&ways[&(10_000 + i, 5000)], &ways[&(5000, 10_000 + i)]);
        assert_eq!(there.each_ref().map(Vec::len), [count("sent_packets"), count("arrived_packets")]);
        assert_eq!(back.each_ref().map(Vec::len), [count("acks_sent"), count("acks_arrived")]);
        assert!(count("dropped_packets") > 0, "{name} loses data");
    }
    assert!(counter(&out, "flow/b", "acks_dropped") > 10, "ACKs are lost as well");
    assert_eq!(ways[&(10_003, 5000)][0].len(), counter(&out, "udp/u", "sent_packets") as usize);
    assert_eq!(ways[&(10_003, 5000)][1].len(), counter(&out, "udp/u", "arrived_packets") as usize);
}

#[test]
fn an_arrival_is_of_the_packet_that_left_with_its_number() {
    let out = run(&NetworkSpec { capture: true, ..crowded() });
    let mut marked = 0;
    for (ends, [left, arrived]) in ways(out.capture.as_deref().unwrap()) {
        let ids: Vec<u16> = left.iter().map(|(_, wire)| wire.id).collect();
        assert!(ids.iter().enumerate().all(|(i, &id)| id == (i + 1) as u16), "{ends:?} counts its packets");
        for (time, wire) in arrived {
            let (before, sent) = &left[usize::from(wire.id) - 1];
            assert!(*before + 10 * MS <= time, "{ends:?} takes at least the delay");
            marked += u32::from(sent.ecn == Ecn::Ect0 && wire.ecn == Ecn::Ce);
            assert!(sent.ecn == wire.ecn || (sent.ecn, wire.ecn) == (Ecn::Ect0, Ecn::Ce));
            let unmarked = Wire { ecn: sent.ecn, ..wire };
            assert_eq!(format!("{unmarked:?}"), format!("{sent:?}"));
        }
    }
    assert!(marked > 10, "{marked} marks on the way");
}

#[test]
fn numbers_count_bytes_up_to_the_end_of_the_transfer() {
    let out = run(&NetworkSpec { capture: true, ..crowded() });
    let ways = ways(out.capture.as_deref().unwrap());
    let tcp = |wire: &Wire| match wire.header {
        Header::Tcp { seq, ack, window, timestamps, sacks, .. } => (seq, ack, window, timestamps, sacks),
        Header::Udp | Header::Echo { .. } => panic!("a datagram"),
    };
    let (there, back) = (&ways[&(10_000, 5000)][0], &ways[&(5000, 10_000)][1]);
    let ends: Vec<u32> = there.iter().map(|(_, wire)| tcp(wire).0 + u32::from(wire.payload)).collect();
    // The FIN has a number of its own, after that of the last byte.
    assert_eq!(ends.iter().max(), Some(&3_000_003));
    assert_eq!(back.iter().map(|(_, wire)| tcp(wire).1).max(), Some(3_000_003));
    assert!(
        there.iter().all(|(time, wire)| u64::from(tcp(wire).3.expect("there are timestamps").0) == time / MS),
        "timestamps are the sender's ms"
    );
    let short = &ways[&(10_001, 5000)][0][2..4];
    let places: Vec<_> = short.iter().map(|(_, wire)| (tcp(wire).0, wire.payload)).collect();
    assert_eq!(places, [(1, 24), (25, 1448)], "the first write leaves by itself");
    for (_, wire) in back {
        let (_, ack, _, _, (blocks, count)) = tcp(wire);
        assert!(blocks[..count].iter().all(|(start, end)| start < end && start % 1448 == 1));
        assert!(
            blocks[1..count.max(1)].iter().all(|(start, _)| *start > ack),
            "but for a duplicate, blocks are ahead of the ACK"
        );
    }
}

#[test]
fn a_tap_on_the_path_sees_what_comes_out_of_its_ports() {
    let mut net = crowded();
    net.hosts[2].egress = None;
    let (queue, back) = (1, 2);
    assert_eq!((net.ports[queue].id(), net.ports[back].id()), ("bottleneck", "back"));
    let out = run(&NetworkSpec { captured_ports: vec![vec![queue, back], vec![0]], ..net.clone() });
    assert_eq!(fingerprint(&out), fingerprint(&run(&net)), "nothing else is different for it");
    let capture = out.capture.as_deref().unwrap();
    assert_eq!(
        (capture.is_of_hosts(), capture.points()),
        (false, &["bottleneck".to_owned(), net.ports[0].id().to_owned()][..])
    );
    let seen = |place: u8| -> Vec<(u64, Wire)> {
        let records = capture.records().iter().filter(|record| record.place == place);
        records.map(|record| (record.time, capture.wire(record))).collect()
    };
    let (at_queue, before) = (seen(PATH), seen(PATH + 1));
    let sent = |port: &str| counter(&out, port, "sent_packets") as i64;
    let few_under_way = |seen: usize, port: &str| (0..=60).contains(&(sent(port) - seen as i64));
    let (left, right): (Vec<_>, Vec<_>) = at_queue.iter().partition(|(_, wire)| wire.leftwards);
    assert!(few_under_way(right.len(), "port/bottleneck") && few_under_way(left.len(), "port/back"));
    assert!(at_queue.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    assert!(right.len() < before.iter().filter(|(_, wire)| !wire.leftwards).count(), "the queue drops");
    assert!(left.iter().any(|(_, wire)| wire.ecn == Ecn::Ce), "codel marks on the way back");
}

#[test]
fn a_host_shows_what_has_left_its_own_queue() {
    let mut net = crowded();
    net.hosts[0].egress = Some(0);
    net.ports[0] = PortSpec::Queue {
        id: "own".into(),
        name: "own".into(),
        direction: Direction::Forward,
        qdisc: QdiscSpec::Pfifo { limit_packets: 8 },
        shaper: ShaperSpec::Link { rate_bps: 8_000_000 },
        delay_ns: 0,
    };
    let out = run(&NetworkSpec { capture: true, ..net });
    let capture = out.capture.as_deref().unwrap();
    let left: Vec<_> = capture.records().iter().filter(|record| record.place == LEFT).collect();
    let there: Vec<_> = left.iter().filter(|record| !capture.wire(record).leftwards).collect();
    assert!(counter(&out, "port/own", "dropped_overflow") > 0, "the queue drops");
    let on_the_line = counter(&out, "port/own", "sent_packets") as usize - there.len();
    assert!(on_the_line <= 1, "the run may end while a packet is on the line");
    let full: Vec<_> = there.iter().filter(|record| capture.wire(record).payload == 1448).collect();
    assert!(full.windows(2).all(|pair| pair[1].time - pair[0].time >= 1514 * 8 * 1000 / 8), "at the rate of the line");
}

#[test]
fn taps_are_behind_ports_that_are_on_the_path() {
    let refused = |captured_ports: Vec<Vec<usize>>| {
        lines(&check(&NetworkSpec { captured_ports, ..crowded() }).expect_err("refused"))
    };
    let expected = "expected ports that there are, that are on no host, each once";
    // Port 1 is the own queue of a host.
    for ports in [vec![vec![9]], vec![vec![1]], vec![vec![0], vec![0]]] {
        assert!(refused(ports).contains(expected));
    }
    assert!(refused(vec![vec![]]).contains("a port at least"));
}
