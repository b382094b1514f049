//! Behaviour of a cake at its memory limit.

use super::{limited, spec, Lab};
use crate::packet::{DropCause, Ecn, ACK_FRAME, FULL_FRAME};
use crate::qdisc::lab::{packet, Answer};
use crate::qdisc::truesize::truesize;
use crate::qdisc::{Qdisc, Verdict};
use crate::spec::CakeIsolation;
use crate::time::MS;

#[test]
fn memory_charged_is_a_received_packets() {
    assert_eq!(truesize(FULL_FRAME), 2304);
    assert_eq!(truesize(ACK_FRAME), 768);
}

#[test]
fn memory_limits() {
    let limit = |rate, bytes: Option<u64>| {
        let spec = spec(rate, CakeIsolation::Flowblind, 0);
        let spec = bytes.map_or(spec.clone(), |b| limited(spec, b));
        Lab::separate(&spec, 1).qdisc.memory_limit
    };
    assert_eq!(limit(Some(10_000_000), None), 4 << 20);
    assert_eq!(limit(Some(100_000_000), None), 5_000_000);
    assert_eq!(limit(Some(1_000_000_000), None), 10_240 * 1514);
    assert_eq!(limit(None, None), 10_240 * 1514);
    assert_eq!(limit(Some(10_000_000), Some(100_000)), 100_000);
    assert_eq!(limit(Some(10_000_000), Some(64 << 20)), 64 << 20);
}

#[test]
fn overflow_drops_the_head_of_the_fattest_queue() {
    // Room for 20 full packets.
    let spec = limited(spec(Some(10_000_000), CakeIsolation::TripleIsolate, 0), 20 * 2304);
    let mut lab = Lab::separate(&spec, 3);
    lab.fill(0, FULL_FRAME, 5);
    lab.fill(1, FULL_FRAME, 10);
    lab.fill(2, FULL_FRAME, 5);
    assert_eq!(lab.offer(packet(0, FULL_FRAME, 5, Ecn::Ect0)), Verdict::Queued);
    assert_eq!(lab.offer(packet(1, FULL_FRAME, 10, Ecn::Ect0)), Verdict::Congestion);
    let heads: Vec<_> = lab.dropped.iter().map(|(p, cause)| (p.flow(), p.number(), *cause)).collect();
    assert_eq!(heads, [(1, 0, DropCause::Overflow), (1, 1, DropCause::Overflow)]);
    assert_eq!((lab.qdisc.packets(), lab.qdisc.bytes()), (20, 20 * 1514));
    // Sending changes who is the fattest.
    lab.dropped.clear();
    for round in 0..2_000_u32 {
        if round % 3 == 0 {
            lab.now += 3 * MS;
            lab.dequeue();
        }
        let most = lab.qdisc.drr.queues.iter().map(|q| q.backlog).max().unwrap();
        let flow = round * round % 7 % 3;
        let arriving = lab.queue_of(packet(flow, 0, 0, Ecn::Ect0));
        let grown = lab.qdisc.drr.queues[arriving].backlog + FULL_FRAME;
        let before: Vec<u32> = lab.qdisc.drr.queues.iter().map(|q| q.backlog).collect();
        lab.offer(packet(flow, FULL_FRAME, round, Ecn::Ect0));
        for (p, cause) in std::mem::take(&mut lab.dropped) {
            if cause == DropCause::Overflow {
                let victim = lab.queue_of(p);
                let had = if victim == arriving { grown } else { before[victim] };
                assert_eq!(had, most.max(grown), "round {round}");
            }
        }
    }
}

#[test]
fn a_packet_too_big_for_the_limit_is_dropped_itself() {
    let spec = limited(spec(Some(10_000_000), CakeIsolation::Flows, 0), 1_000);
    let mut lab = Lab::separate(&spec, 1);
    assert_eq!(lab.offer(packet(0, FULL_FRAME, 0, Ecn::Ect0)), Verdict::Dropped);
    assert_eq!((lab.qdisc.packets(), lab.dropped.len()), (0, 1));
    assert!(matches!(lab.dequeue(), Answer::Empty));
}
