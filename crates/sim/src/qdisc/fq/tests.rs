//! fq: bands, turns, limits, idle flows.

use super::super::lab::{packet, Answer, Lab};
use super::super::{Qdisc, Verdict};
use super::{Fq, NONE};
use crate::packet::{Agreed, DropCause, Ecn, FlowTuple, ACK_FRAME, FULL_FRAME};
use crate::rng::Rng;
use crate::spec::{FqSpec, QdiscSpec};
use crate::time::{MS, US};

const SPEC: FqSpec = FqSpec {
    limit_packets: 10_000,
    flow_limit_packets: 100,
    quantum_bytes: 2 * FULL_FRAME,
    initial_quantum_bytes: 10 * FULL_FRAME,
    ce_threshold_ns: None,
    refill_delay_ns: None,
};

fn lab(spec: FqSpec) -> Lab {
    Lab::new(&QdiscSpec::Fq(spec), 1)
}

/// Make a lab in which flow 63 has filled the queue that bypasses flows, so that later packets wait in flows.
fn busy(spec: FqSpec) -> Lab {
    let mut lab = lab(spec);
    lab.offer_full(63, 8, Ecn::NotEct);
    lab
}

fn flows(lab: &mut Lab, count: usize) -> Vec<usize> {
    (0..count).filter_map(|_| lab.take()).map(|p| p.flow()).collect()
}

/// Runs of a flow's packets: (flow, packets).
fn runs(order: &[usize]) -> Vec<(usize, usize)> {
    order.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect()
}

#[test]
fn eight_packets_pass_by_while_no_flow_waits() {
    let mut lab = lab(SPEC);
    for flow in 0..8 {
        lab.offer_full(flow % 2, 1, Ecn::NotEct);
    }
    lab.offer_full(2, 20, Ecn::NotEct);
    lab.offer_full(3, 1, Ecn::NotEct);
    // A flow waits: no more pass by, though there is room.
    assert_eq!(flows(&mut lab, 4), [0, 1, 0, 1]);
    lab.offer_full(4, 1, Ecn::NotEct);
    let order = flows(&mut lab, 40);
    assert_eq!(order[..4], [0, 1, 0, 1]);
    assert_eq!(runs(&order[4..]), [(2, 10), (3, 1), (4, 1), (2, 10)]);
    // One in the peek buffer counts as well.
    lab.offer_full(5, 1, Ecn::NotEct);
    assert_eq!(lab.peek(), Some(FULL_FRAME));
    lab.offer_full(5, 9, Ecn::NotEct);
    lab.offer_full(6, 1, Ecn::NotEct);
    assert_eq!(runs(&flows(&mut lab, 20)), [(5, 10), (6, 1)]);
}

#[test]
fn a_flow_begins_with_ten_packets_and_goes_on_by_two() {
    let mut lab = busy(SPEC);
    for flow in 0..2 {
        lab.offer_full(flow, 14, Ecn::NotEct);
    }
    let order = flows(&mut lab, 100);
    assert_eq!(runs(&order), [(63, 8), (0, 10), (1, 10), (0, 2), (1, 2), (0, 2), (1, 2)]);
}

#[test]
fn a_new_flow_goes_first_and_cannot_starve_the_others() {
    let mut lab = busy(SPEC);
    lab.offer_full(0, 30, Ecn::NotEct);
    assert_eq!(flows(&mut lab, 8 + 10).len(), 18);
    // Flow 0 has used up its first turn.
    lab.offer_full(1, 1, Ecn::NotEct);
    assert_eq!(flows(&mut lab, 1), [1]);
    lab.offer_full(1, 1, Ecn::NotEct);
    assert_eq!(flows(&mut lab, 1), [1]);
    // Found empty it passes through the old ones.
    assert_eq!(flows(&mut lab, 1), [0]);
    lab.offer_full(1, 1, Ecn::NotEct);
    assert_eq!(flows(&mut lab, 2), [0, 1]);
}

/// Return the number of full packets that flow 0 sends in its first turn after a pause. Before the pause it sent one packet from a credit
/// of 1600 bytes and left the round of the other flows.
fn turn_after(pause: u64, refill_delay_ns: Option<u64>) -> usize {
    let mut lab = busy(FqSpec { initial_quantum_bytes: 1600, refill_delay_ns, ..SPEC });
    lab.offer_full(0, 1, Ecn::NotEct);
    lab.offer_full(1, 40, Ecn::NotEct);
    // Flow 1 is in the midst of a turn of two packets.
    assert_eq!(flows(&mut lab, 8 + 1 + 11).len(), 20);
    lab.now += pause;
    lab.offer_full(0, 9, Ecn::NotEct);
    let order = flows(&mut lab, 100);
    assert_eq!(order[0], 0);
    runs(&order)[0].1
}

#[test]
fn a_pause_refills_the_credit() {
    // 86 bytes are left: enough for one packet more. A quantum is two packets.
    assert_eq!(turn_after(30 * MS, None), 1);
    assert_eq!(turn_after(41 * MS, None), 1);
    assert_eq!(turn_after(43 * MS, None), 2);
    // 9.5 ms are rounded up to ticks, and the tick of the pause's beginning is odd.
    assert_eq!(turn_after(11 * MS, Some(19 * MS / 2)), 1);
    assert_eq!(turn_after(13 * MS, Some(19 * MS / 2)), 2);
}

#[test]
fn a_flow_never_seen_waits_until_the_second_band_has_sent_its_part() {
    let mut lab = busy(FqSpec { flow_limit_packets: 1000, ..SPEC });
    lab.offer_full(0, 300, Ecn::NotEct);
    // The first turn of flow 0 was in the first band, the rest is in the second.
    assert_eq!(runs(&flows(&mut lab, 30)), [(63, 8), (0, 22)]);
    lab.offer_full(1, 30, Ecn::NotEct);
    // 192 KiB less the twelve packets so far; then the new flow has ten, and two of a turn that is the next in the second band.
    let rest = 3_usize * 65_536 / FULL_FRAME as usize + 1 - 12;
    let order = runs(&flows(&mut lab, 200));
    assert_eq!(order[..2], [(0, rest), (1, 12)]);
    // From now on it takes turns.
    assert!(order[2..10].iter().all(|&(_, count)| count == 2), "{order:?}");
    // Known, and back after a pause, it goes first.
    assert_eq!(flows(&mut lab, 98).last(), Some(&0));
    lab.offer_full(1, 1, Ecn::NotEct);
    assert_eq!(flows(&mut lab, 1), [1]);
}

#[test]
fn a_flow_that_was_idle_for_long_is_removed_by_a_younger_one_of_its_tree() {
    let tuples: Vec<FlowTuple> = (0..2000)
        .map(|i| FlowTuple { src: i, dst: 1, sport: 1, dport: 80, dscp: 0, agreed: Agreed::default() })
        .collect();
    let made = || Fq::new(&SPEC, &mut Rng::for_component(1, "qdisc/lab"));
    let hash = |flow: usize| made().hasher.flow(&tuples[flow]) as usize % 1024;
    let older = (0..).find(|&flow| made().other[hash(flow)] != NONE).unwrap();
    let younger = (0..).find(|&flow| hash(flow) == usize::from(made().other[hash(older)])).unwrap();
    let alone = (0..).find(|&flow| made().other[hash(flow)] == NONE).unwrap();
    // True if a packet of flow `other` removes flow `idle`, which is idle since tick 1, after `ticks` ticks.
    let removes = |idle: usize, other: usize, ticks: u64| {
        let mut fq = made();
        let mut meet = |flow: usize, now| fq.classify(&packet(flow as u32, FULL_FRAME, 0, Ecn::NotEct), now, &tuples);
        let flows = [older, younger, alone].map(|flow| (flow, meet(flow, 0)));
        let f = flows.iter().find(|(flow, _)| *flow == idle).unwrap().1;
        fq.flows[f].left = Some(1);
        fq.classify(&packet(other as u32, FULL_FRAME, 0, Ecn::NotEct), (1 + ticks) * MS, &tuples);
        fq.removed == [f]
    };
    assert!(removes(older, younger, 3001));
    assert!(!removes(older, younger, 3000), "not yet");
    assert!(!removes(older, older, 3001), "the search ends there");
    assert!(!removes(younger, older, 3001), "the search does not come past it");
    assert!(!removes(older, alone, 3001), "another tree");
}

#[test]
fn limits_of_a_flow_and_of_all() {
    let mut lab = busy(FqSpec { flow_limit_packets: 5, limit_packets: 8, ..SPEC });
    lab.offer_full(0, 5, Ecn::NotEct);
    assert_eq!(lab.offer(packet(0, FULL_FRAME, 99, Ecn::NotEct)), Verdict::Dropped);
    lab.offer_full(1, 3, Ecn::NotEct);
    assert_eq!(lab.offer(packet(2, ACK_FRAME, 99, Ecn::NotEct)), Verdict::Dropped);
    assert!(lab.dropped.iter().all(|(p, cause)| p.number() == 99 && *cause == DropCause::Overflow));
    // Packets that pass the queue by count against neither limit.
    assert_eq!((lab.losers(), lab.qdisc.packets()), (vec![0, 2], 16));
}

#[test]
fn what_waited_too_long_is_marked_if_it_waited_in_a_flow() {
    let mut lab = lab(FqSpec { ce_threshold_ns: Some(5 * MS), ..SPEC });
    lab.offer_full(0, 10, Ecn::Ect0);
    lab.offer_full(1, 1, Ecn::NotEct);
    lab.now = 5 * MS;
    let marked =
        |lab: &mut Lab, count: usize| (0..count).map(|_| lab.take().unwrap().ecn() == Ecn::Ce).collect::<Vec<_>>();
    assert_eq!(marked(&mut lab, 9), [false; 9]);
    lab.now += 1;
    assert_eq!(marked(&mut lab, 2), [true, false]);
    assert_eq!(lab.qdisc.stats().ce_marks, 1);
}

/// Return (ms, flow) of every departure until the queue is empty. It asks the queue whenever the queue says.
fn departures(lab: &mut Lab) -> Vec<(u64, usize)> {
    let mut found = vec![];
    loop {
        match lab.dequeue() {
            Answer::Packet(p) => found.push((lab.now / MS, p.flow())),
            Answer::Wait(t) => {
                assert!(t > lab.now && t % MS == 10 * US, "the timer may be 10 us late: {t}");
                lab.now = t;
            }
            Answer::Empty => return found,
        }
    }
}

#[test]
fn packets_of_sockets_leave_when_they_are_due_and_each_flow_in_its_order() {
    let mut lab = lab(SPEC);
    lab.now = MS;
    for (flow, due) in [(0, 1), (0, 5), (0, 7), (1, 3), (1, 3), (1, 9)] {
        lab.offer_at(flow, due * MS);
    }
    assert_eq!(departures(&mut lab), [(1, 0), (3, 1), (3, 1), (5, 0), (7, 0), (9, 1)]);
    assert_eq!((lab.qdisc.packets(), lab.qdisc.bytes()), (0, 0));
}

#[test]
fn what_is_due_passes_by_flows_that_are_set_aside() {
    let mut lab = lab(SPEC);
    lab.now = MS;
    lab.offer_at(0, 4 * MS);
    assert!(matches!(lab.dequeue(), Answer::Wait(t) if t == 4 * MS + 10 * US));
    // One without a time of its own, and one that is due.
    lab.offer_full(2, 1, Ecn::NotEct);
    lab.offer_at(1, MS);
    assert_eq!(departures(&mut lab), [(1, 2), (1, 1), (4, 0)]);
    // A packet that has become due goes with whatever wakes the queue first.
    lab.offer_at(0, 6 * MS);
    assert!(matches!(lab.dequeue(), Answer::Wait(_)));
    lab.now = 6 * MS + US;
    assert_eq!(flows(&mut lab, 1), [0]);
}

#[test]
fn a_departure_in_more_than_ten_seconds_is_none() {
    let mut lab = lab(SPEC);
    lab.now = MS;
    assert_eq!(lab.offer_at(0, 10_001 * MS), Verdict::Queued);
    assert_eq!(lab.offer_at(0, 10_001 * MS + 1), Verdict::Dropped);
    assert_eq!(lab.dropped.len(), 1);
}
