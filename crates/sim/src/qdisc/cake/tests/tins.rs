//! Tins: their shares of a full line, priority within them, and limits over all of them.

use super::{limited, separate};
use crate::packet::{Ecn, FlowTuple, ACK_FRAME, FULL_FRAME};
use crate::qdisc::cake::CakeTins;
use crate::qdisc::lab::{packet, queue_context, Answer, Lab};
use crate::qdisc::{Qdisc, Verdict};
use crate::rng::Rng;
use crate::spec::{CakeDiffserv, CakeIsolation, CakeMore, QdiscSpec};

const RATE: u64 = 100_000_000;

/// A flow of each of these codepoints.
fn lab(rate: Option<u64>, diffserv: CakeDiffserv, memory: u64, codepoints: &[u8]) -> Lab<CakeTins> {
    lab_with(rate, diffserv, CakeMore::default(), memory, codepoints)
}

/// Make a lab with keywords that few use.
fn lab_with(
    rate: Option<u64>,
    diffserv: CakeDiffserv,
    keywords: CakeMore,
    memory: u64,
    codepoints: &[u8],
) -> Lab<CakeTins> {
    let mut spec: QdiscSpec = limited(super::spec(rate, CakeIsolation::Flows, 0), memory);
    if let QdiscSpec::Cake { more, .. } = &mut spec {
        *more = keywords;
    }
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
    use CakeDiffserv::{Diffserv3, Diffserv4, Diffserv8, Precedence};
    for (rate, diffserv, codepoints, expected) in [
        // The tins above best effort get their part of the rate, and best effort gets the rest.
        (Some(RATE), Diffserv3, &[0, 8, 46][..], &[11.0 / 16.0, 1.0 / 16.0, 4.0 / 16.0][..]),
        (Some(RATE), Diffserv4, &[0, 1, 34, 46], &[3.0 / 16.0, 1.0 / 16.0, 8.0 / 16.0, 4.0 / 16.0]),
        // Each of the eight tins has 7/8 of the one before. The last two have (7/8)^7 and (7/8)^6, and leave the rest to the one before.
        (Some(RATE), Diffserv8, &[46, 48, 0, 1], &[0.448_795, 0.392_696, 0.158_509, 0.0]),
        (Some(RATE), Precedence, &[40, 48, 56], &[0.158_509, 0.448_795, 0.392_696]),
        (None, Precedence, &[40, 48, 56], &[130.0 / 341.0, 113.0 / 341.0, 98.0 / 341.0]),
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

#[test]
fn washed_packets_leave_with_codepoint_0_after_it_has_chosen_their_tin() {
    let wash = CakeMore { wash: true, ..CakeMore::default() };
    for diffserv in [CakeDiffserv::Besteffort, CakeDiffserv::Diffserv3] {
        let mut lab = lab_with(Some(RATE), diffserv, wash, 1 << 30, &[0, 46]);
        for flow in [0, 1] {
            lab.offer(packet(flow, FULL_FRAME, 0, Ecn::Ect0));
        }
        for _ in 0..2 {
            lab.now += 1_000_000;
            let Answer::Packet(p) = lab.dequeue() else { panic!("a packet is due") };
            let sent = [0, 46][p.flow()];
            assert_eq!((p.codepoint(sent), p.ecn(), p.is_washed()), (0, Ecn::Ect0, p.flow() == 1));
        }
        let found: Vec<(&str, u64)> = lab.qdisc.classes().iter().map(|tin| (tin.name, tin.arrived_packets)).collect();
        let three = [("bulk", 0), ("best_effort", 1), ("voice", 1)];
        assert_eq!(found, if diffserv == CakeDiffserv::Besteffort { vec![("tin0", 2)] } else { three.to_vec() });
    }
}

#[test]
fn in_ingress_mode_what_is_dropped_has_taken_its_time() {
    for (ingress, counted) in [(false, false), (true, true)] {
        let more = CakeMore { ingress, ..CakeMore::default() };
        let mut lab = lab_with(Some(RATE), CakeDiffserv::Besteffort, more, 1 << 30, &[0]);
        lab.offer_full(0, 7000, Ecn::NotEct);
        let mut sent = 0;
        while sent < 6000 && send(&mut lab).is_some() {
            sent += 1;
        }
        let dropped = lab.dropped.len() as u64;
        assert!(dropped >= 10, "{dropped}");
        let times = sent - 1 + if counted { dropped } else { 0 };
        let expected = times as f64 * 121_120.0;
        assert!((lab.now as f64 / expected - 1.0).abs() < 1e-3, "{ingress}: {} ns, not {expected}", lab.now);
        assert_eq!(lab.qdisc.classes()[0].dropped, dropped);
    }
}

#[test]
fn in_ingress_mode_the_gate_grows_with_the_bulk_flows() {
    // At 10 Mbit/s a full frame takes 1.2112 ms: 2 x 8 of them are more than the target of 5 ms.
    let more = CakeMore { ingress: true, ..CakeMore::default() };
    let mut lab = lab_with(Some(10_000_000), CakeDiffserv::Besteffort, more, 1 << 30, &[0; 8]);
    assert_eq!(lab.qdisc.gates(), [5_000_000]);
    for flow in 0..8 {
        lab.offer_full(flow, 20, Ecn::Ect0);
    }
    for _ in 0..20 {
        send(&mut lab);
    }
    assert_eq!(lab.qdisc.classes()[0].tin.unwrap().bulk_flows, 8);
    assert_eq!(lab.qdisc.gates(), [16 * 1_211_200]);
}
