//! Tins: their shares of a full line, priority within them, and limits over all of them.

use super::{limited, separate};
use crate::packet::{Ecn, FlowTuple, ACK_FRAME, FULL_FRAME};
use crate::qdisc::cake::CakeTins;
use crate::qdisc::lab::{packet, queue_context, Answer, Lab};
use crate::qdisc::{Qdisc, Verdict};
use crate::rng::Rng;
use crate::spec::{CakeDiffserv, CakeIsolation, QdiscSpec};

const RATE: u64 = 100_000_000;

/// A flow of each of these codepoints.
fn lab(rate: Option<u64>, diffserv: CakeDiffserv, memory: u64, codepoints: &[u8]) -> Lab<CakeTins> {
    let spec: QdiscSpec = limited(super::spec(rate, CakeIsolation::Flows, 0), memory);
    let mut rng = Rng::for_component(1, "port/q");
    let tins = CakeTins::from_spec(&spec, diffserv, FULL_FRAME, &mut rng).unwrap();
    let tuples = (0..).zip(codepoints).map(|(i, &dscp)| FlowTuple { dscp, ..separate(i) });
    Lab::with(tins, queue_context(rng, tuples.collect()))
}

/// The next packet, as soon as it may leave.
fn send(lab: &mut Lab<CakeTins>) -> Option<usize> {
    loop {
        match lab.dequeue() {
            Answer::Packet(p) => return Some(p.flow()),
            Answer::Wait(t) => lab.now = t,
            Answer::Empty => return None,
        }
    }
}

/// Shares of each flow while all have packets waiting.
fn shares(lab: &mut Lab<CakeTins>, flows: usize) -> Vec<f64> {
    (0..flows as u32).for_each(|flow| lab.offer_full(flow, 8, Ecn::Ect0));
    let mut sent = vec![0_u32; flows];
    for _ in 0..8000 {
        let flow = send(lab).unwrap();
        sent[flow] += 1;
        lab.offer_full(flow as u32, 1, Ecn::Ect0);
    }
    sent.iter().map(|&n| f64::from(n) / 8000.0).collect()
}

#[test]
fn a_full_line_is_shared_by_what_each_tin_has_first_claim_on() {
    use CakeDiffserv::{Diffserv3, Diffserv4};
    for (rate, diffserv, codepoints, expected) in [
        // Those above best effort get their part of the rate, and it gets what is left.
        (Some(RATE), Diffserv3, &[0, 8, 46][..], &[11.0 / 16.0, 1.0 / 16.0, 4.0 / 16.0][..]),
        (Some(RATE), Diffserv4, &[0, 1, 34, 46], &[3.0 / 16.0, 1.0 / 16.0, 8.0 / 16.0, 4.0 / 16.0]),
        // Without a rate they have their turns.
        (None, Diffserv3, &[0, 8, 46], &[16.0 / 21.0, 1.0 / 21.0, 4.0 / 21.0]),
        (None, Diffserv4, &[0, 1, 34, 46], &[16.0 / 29.0, 1.0 / 29.0, 8.0 / 29.0, 4.0 / 29.0]),
    ] {
        let found = shares(&mut lab(rate, diffserv, 1 << 30, codepoints), codepoints.len());
        for (share, expected) in found.iter().zip(expected) {
            assert!((share - expected).abs() < 0.01, "{rate:?} {diffserv:?}: {found:?}");
        }
    }
}

#[test]
fn codepoints_are_where_the_kernel_puts_them() {
    let same_tin = |diffserv, a: u8, b: u8| {
        let mut lab = lab(None, diffserv, 1 << 30, &[a, b]);
        let found = shares(&mut lab, 2);
        (found[0] - 0.5).abs() < 0.01
    };
    for (a, b, of_three, of_four) in [
        (0, 10, true, true),   // DF, AF11
        (0, 40, true, false),  // CS5
        (1, 8, true, true),    // LE, CS1
        (0, 34, true, false),  // AF41
        (46, 44, true, true),  // EF, VA
        (46, 32, false, true), // CS4
        (34, 16, true, true),  // CS2
        (4, 46, true, false),  // TOS4
        (48, 56, true, true),  // CS6, CS7
    ] {
        assert_eq!(same_tin(CakeDiffserv::Diffserv3, a, b), of_three, "{a} and {b}");
        assert_eq!(same_tin(CakeDiffserv::Diffserv4, a, b), of_four, "{a} and {b}");
    }
}

#[test]
fn within_its_part_the_latency_sensitive_tin_goes_first() {
    let mut lab = lab(Some(RATE), CakeDiffserv::Diffserv3, 1 << 30, &[0, 46]);
    lab.offer_full(0, 50, Ecn::Ect0);
    for _ in 0..10 {
        assert_eq!(send(&mut lab), Some(0));
    }
    lab.offer_full(1, 2, Ecn::Ect0);
    // Behind the packet on the line comes the first one, and the second when its part of the rate allows it: four times as late.
    let order: Vec<_> = (0..6).map(|_| send(&mut lab).unwrap()).collect();
    assert_eq!(order[0], 1);
    assert_eq!(order.iter().filter(|&&flow| flow == 1).count(), 2, "{order:?}");
    assert_ne!(order[1], 1, "{order:?}");
}

#[test]
fn one_limit_is_over_all_tins_and_the_fattest_queue_loses() {
    let mut lab = lab(Some(RATE), CakeDiffserv::Diffserv4, 40 * 2304, &[0, 46]);
    lab.offer_full(0, 30, Ecn::Ect0);
    lab.offer_full(1, 10, Ecn::Ect0);
    assert!(lab.losers().is_empty());
    let verdict = lab.offer(packet(1, FULL_FRAME, 99, Ecn::Ect0));
    assert_eq!((verdict, lab.losers()), (Verdict::Queued, vec![0]));
    assert_eq!(lab.offer(packet(0, FULL_FRAME, 99, Ecn::Ect0)), Verdict::Congestion);
    assert_eq!(lab.losers(), [0]);
    assert_eq!((lab.qdisc.packets(), lab.qdisc.bytes()), (40, 40 * 1514));
    assert_eq!(lab.found(), (40, 40 * 1514));
}

#[test]
fn a_peeked_packet_stays_counted_and_leaves_first() {
    let mut lab = lab(None, CakeDiffserv::Diffserv3, 1 << 30, &[0, 46]);
    lab.offer(packet(0, ACK_FRAME, 0, Ecn::NotEct));
    lab.offer(packet(1, FULL_FRAME, 0, Ecn::NotEct));
    let len = lab.peek().unwrap();
    assert_eq!((lab.peek(), lab.qdisc.packets(), lab.found().0), (Some(len), 2, 2));
    let first = send(&mut lab).unwrap();
    assert_eq!(len, if first == 0 { ACK_FRAME } else { FULL_FRAME });
    assert_eq!((send(&mut lab), send(&mut lab)), (Some(1 - first), None));
    assert_eq!((lab.qdisc.packets(), lab.qdisc.bytes()), (0, 0));
}

#[test]
fn a_change_of_the_rate_keeps_the_shares() {
    let mut lab = lab(Some(RATE), CakeDiffserv::Diffserv3, 1 << 30, &[0, 8, 46]);
    shares(&mut lab, 3);
    lab.qdisc.set_rate(RATE / 10);
    let before = lab.now;
    let found = shares(&mut lab, 3);
    assert!((found[2] - 0.25).abs() < 0.02, "{found:?}");
    let mbit = 8000.0 * 1514.0 * 8000.0 / (lab.now - before) as f64;
    assert!((mbit - 10.0).abs() < 0.2, "{mbit}");
}
