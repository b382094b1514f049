//! SFQ's rules, one by one.

use super::super::lab::{packet, Lab};
use super::super::{Qdisc, Verdict};
use super::Sfq;
use crate::packet::{DropCause, Ecn, ACK_FRAME, FULL_FRAME};
use crate::rng::Rng;
use crate::spec::{QdiscSpec, SfqSpec};
use crate::time::SEC;

const SPEC: SfqSpec = SfqSpec {
    limit_packets: 127,
    divisor: 1024,
    quantum_bytes: FULL_FRAME,
    depth_packets: 127,
    perturb_s: 0,
    headdrop: false,
    flows: None,
};

fn lab(spec: SfqSpec) -> Lab {
    Lab::new(&QdiscSpec::Sfq(spec), 1)
}

fn flows(lab: &mut Lab, count: usize) -> Vec<usize> {
    (0..count).filter_map(|_| lab.take()).map(|p| p.flow()).collect()
}

fn numbers(lab: &mut Lab) -> Vec<u32> {
    lab.dropped.drain(..).map(|(p, _)| p.number()).collect()
}

#[test]
fn flows_take_turns_of_a_quantum() {
    let mut lab = lab(SfqSpec { quantum_bytes: 2 * FULL_FRAME, ..SPEC });
    for flow in 0..3 {
        lab.offer_full(flow, 4, Ecn::NotEct);
    }
    assert_eq!(flows(&mut lab, 12), [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);
    assert!(lab.take().is_none());
}

#[test]
fn a_new_flow_comes_last_and_a_small_one_sends_more_packets() {
    let mut lab = lab(SPEC);
    lab.offer_full(0, 3, Ecn::NotEct);
    lab.offer_full(1, 3, Ecn::NotEct);
    for seq in 0..30 {
        lab.offer(packet(2, ACK_FRAME, seq, Ecn::NotEct));
    }
    // 23 packets of 66 bytes use up 1514.
    let order = flows(&mut lab, 2 + 23 + 2);
    assert_eq!(order[..2], [0, 1]);
    assert!(order[2..25].iter().all(|&flow| flow == 2));
    assert_eq!(order[25..], [0, 1]);
}

#[test]
fn the_longest_flow_loses_its_newest_or_its_oldest() {
    for (headdrop, lost) in [(false, 7), (true, 1)] {
        let mut lab = lab(SfqSpec { limit_packets: 10, headdrop, ..SPEC });
        lab.offer_full(0, 7, Ecn::NotEct);
        lab.offer_full(1, 3, Ecn::NotEct);
        assert_eq!(lab.offer(packet(2, FULL_FRAME, 99, Ecn::NotEct)), Verdict::Queued);
        assert_eq!(lab.dropped[0].1, DropCause::Overflow);
        assert_eq!(numbers(&mut lab), [lost]);
        assert_eq!(lab.qdisc.packets(), 10);
        // The sender hears of it if it is its own; the arriving packet is the newest.
        assert_eq!(lab.offer(packet(0, FULL_FRAME, 100, Ecn::NotEct)), Verdict::Congestion);
        assert_eq!(numbers(&mut lab), [if headdrop { 2 } else { 100 }]);
    }
}

#[test]
fn of_equally_long_flows_the_one_that_grew_last_loses() {
    let mut lab = lab(SfqSpec { limit_packets: 6, ..SPEC });
    for flow in [0, 1, 2] {
        lab.offer_full(flow, 2, Ecn::NotEct);
    }
    lab.offer_full(3, 1, Ecn::NotEct);
    assert_eq!(lab.losers(), [2]);
}

#[test]
fn when_all_have_one_packet_the_next_in_turn_loses() {
    for (headdrop, left) in [(false, vec![1, 2, 3]), (true, vec![1, 2, 3])] {
        let mut lab = lab(SfqSpec { limit_packets: 3, headdrop, ..SPEC });
        for flow in 0..3 {
            lab.offer_full(flow, 1, Ecn::NotEct);
        }
        // Three slots for three packets: a fourth flow finds none.
        assert_eq!(lab.offer(packet(9, FULL_FRAME, 9, Ecn::NotEct)), Verdict::Dropped);
        assert_eq!(lab.losers(), [9]);
        // With one packet in the peek buffer a slot is free, but there is no room.
        assert_eq!(lab.peek(), Some(FULL_FRAME));
        lab.offer_full(3, 1, Ecn::NotEct);
        assert_eq!(lab.losers(), [1]);
        assert_eq!(flows(&mut lab, 4), [&[0][..], &left[1..]].concat());
    }
}

#[test]
fn a_flow_has_a_depth() {
    let mut lab = lab(SfqSpec { depth_packets: 5, ..SPEC });
    lab.offer_full(0, 5, Ecn::NotEct);
    assert_eq!(lab.offer(packet(0, FULL_FRAME, 99, Ecn::NotEct)), Verdict::Dropped);
    assert_eq!(numbers(&mut lab), [99]);
    lab.offer_full(1, 1, Ecn::NotEct);
    assert!(lab.dropped.is_empty());
    let mut lab = self::lab(SfqSpec { depth_packets: 5, headdrop: true, ..SPEC });
    lab.offer_full(0, 5, Ecn::NotEct);
    assert_eq!(lab.offer(packet(0, ACK_FRAME, 99, Ecn::NotEct)), Verdict::Congestion);
    assert_eq!(numbers(&mut lab), [1]);
    assert_eq!((lab.qdisc.packets(), lab.qdisc.bytes()), (5, u64::from(4 * FULL_FRAME + ACK_FRAME)));
}

#[test]
fn the_hash_changes_in_time_and_what_is_queued_moves_along() {
    // Two buckets for eight flows: who shares changes.
    let order = |perturb_s: u32, wait: u64| {
        let mut lab = lab(SfqSpec { divisor: 2, perturb_s, ..SPEC });
        for flow in 0..8 {
            lab.offer_full(flow, 3, Ecn::NotEct);
        }
        lab.now = wait;
        let order = flows(&mut lab, 100);
        assert_eq!(order.len() + lab.dropped.len(), 24);
        order
    };
    let before = order(0, 0);
    assert_eq!(order(1, SEC), before);
    assert_eq!(order(0, 100 * SEC), before);
    // A second is 1000 ticks and fires at the 1024th.
    assert_ne!(order(1, 1024 * SEC / 1000), before);
    assert_ne!(order(1, 1024 * SEC / 1000), order(1, 2048 * SEC / 1000));
}

#[test]
fn moving_can_cost_packets_where_flows_come_to_share() {
    let mut lab = lab(SfqSpec { divisor: 8, depth_packets: 10, limit_packets: 80, perturb_s: 1, ..SPEC });
    let mut lost = 0;
    for second in 1..200 {
        for flow in 0..8 {
            lab.offer_full(flow, 1, Ecn::NotEct);
        }
        lost += lab.dropped.drain(..).count();
        lab.now = second * SEC;
        lab.take();
        let moved = lab.dropped.drain(..).count();
        assert!(lab.qdisc.packets() <= 80);
        lost += moved;
    }
    let held = lab.qdisc.packets();
    assert_eq!(lost + held + 199, 8 * 199);
    assert!(flows(&mut lab, 100).len() == held);
}

#[test]
fn limits_are_bounded_as_linux_bounds_them() {
    let mut rng = Rng::for_component(1, "sfq");
    let mut build = |spec| Sfq::new(&spec, &mut rng);
    let sfq = build(SfqSpec { limit_packets: 100_000, depth_packets: 1000, ..SPEC }).unwrap();
    assert_eq!((sfq.limit, sfq.depth, sfq.slots.len()), (127 * 128, 127, 128));
    let sfq = build(SfqSpec { divisor: 16, depth_packets: 10, limit_packets: 1000, ..SPEC }).unwrap();
    assert_eq!((sfq.limit, sfq.depth, sfq.slots.len()), (160, 10, 16));
    let sfq = build(SfqSpec { limit_packets: 5, ..SPEC }).unwrap();
    assert_eq!((sfq.limit, sfq.slots.len()), (5, 5));
    for (spec, fields) in [
        (SfqSpec { divisor: 100, ..SPEC }, &["divisor"][..]),
        (SfqSpec { divisor: 1, depth_packets: 1, ..SPEC }, &["depth_packets"]),
    ] {
        assert_eq!(build(spec).unwrap_err().fields(), fields);
    }
}

#[test]
fn packets_of_more_flows_than_there_are_queues_are_dropped() {
    for (flows, expected) in [(Some(3), 3), (None, 60)] {
        let mut lab = lab(SfqSpec { divisor: 65_536, flows, ..SPEC });
        for flow in 0..60 {
            lab.offer_full(flow, 1, Ecn::NotEct);
        }
        assert_eq!((lab.qdisc.packets(), lab.dropped.len()), (expected, 60 - expected));
    }
    // A queue that is empty is free for another flow.
    let mut lab = lab(SfqSpec { divisor: 65_536, flows: Some(1), ..SPEC });
    lab.offer_full(0, 1, Ecn::NotEct);
    assert_eq!(lab.take().map(|p| p.flow()), Some(0));
    lab.offer_full(1, 1, Ecn::NotEct);
    assert!(lab.dropped.is_empty());
}
