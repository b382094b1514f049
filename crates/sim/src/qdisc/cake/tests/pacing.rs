//! Departure times of a cake's packets, compared with the closed form of its shaper.

use super::{spec, Lab};
use crate::packet::{Ecn, ACK_FRAME, FULL_FRAME};
use crate::qdisc::lab::{packet, Answer};
use crate::qdisc::Qdisc;
use crate::spec::{CakeFraming, CakeIsolation, QdiscSpec};
use crate::time::{MS, SEC};

#[test]
fn departures_keep_the_rate_to_one_in_a_million() {
    for bps in [500_000, 1_000_000, 7_777_777, 50_000_000, 100_000_000, 1_000_000_000] {
        let mut lab = Lab::separate(&spec(Some(bps), CakeIsolation::Flowblind, 0), 1);
        lab.now = SEC;
        let mut bits = 0.0;
        for seq in 0..100_000 {
            let len = if seq % 3 == 0 { ACK_FRAME } else { FULL_FRAME };
            lab.offer(packet(0, len, seq, Ecn::Ect0));
            lab.offer(packet(0, len, seq, Ecn::Ect0));
            assert!(lab.send().is_some());
            bits += f64::from(len) * 8.0;
            assert!(lab.send().is_some());
            bits += f64::from(len) * 8.0;
        }
        // The clock stands at the last departure; the last packet's own time is charged to its successor.
        lab.offer(packet(0, FULL_FRAME, 0, Ecn::Ect0));
        lab.send();
        let exact = bits / (bps / 8 * 8) as f64 * 1e9;
        let took = (lab.now - SEC) as f64;
        assert!((took / exact - 1.0).abs() < 1e-6, "{bps}: {took} ns, not {exact}");
    }
}

#[test]
fn an_isolated_packet_leaves_at_once() {
    let mut lab = Lab::separate(&spec(Some(1_000_000), CakeIsolation::TripleIsolate, 1), 1);
    for now in [0, SEC, SEC + 12_112_000] {
        lab.now = now;
        lab.offer(packet(0, FULL_FRAME, 0, Ecn::Ect0));
        assert!(matches!(lab.dequeue(), Answer::Packet(p) if p.ecn() == Ecn::Ect0));
        assert_eq!(lab.qdisc.stats().last_sojourn, 0);
        assert!(matches!(lab.dequeue(), Answer::Empty));
    }
    // Its time is charged to the next one.
    lab.now += MS;
    lab.offer(packet(0, FULL_FRAME, 1, Ecn::Ect0));
    let Answer::Wait(t) = lab.dequeue() else { panic!("left too early") };
    assert!(t.abs_diff(SEC + 2 * 12_112_000) <= 2, "{t}");
}

#[test]
fn a_late_service_is_caught_up() {
    let mut lab = Lab::separate(&spec(Some(10_000_000), CakeIsolation::Flowblind, 0), 1);
    lab.fill(0, FULL_FRAME, 10);
    lab.now = 5 * 1_211_200 - 1_000;
    let mut left = 0;
    let wait = loop {
        match lab.dequeue() {
            Answer::Packet(_) => left += 1,
            Answer::Wait(t) => break t,
            Answer::Empty => panic!("five packets are left"),
        }
    };
    assert_eq!(left, 5);
    assert!(wait.abs_diff(5 * 1_211_200) <= 5);
}

#[test]
fn charged_length_paces_departures() {
    let mut spec = spec(Some(8_000_000), CakeIsolation::Flowblind, 0);
    if let QdiscSpec::Cake { overhead_bytes, framing, .. } = &mut spec {
        (*overhead_bytes, *framing) = (Some(32), CakeFraming::Atm);
    }
    let mut lab = Lab::separate(&spec, 1);
    lab.fill(0, FULL_FRAME, 2);
    lab.send();
    lab.send();
    // 1500 + 32 bytes take 32 cells of 53 bytes, 1 us a byte.
    assert!(lab.now.abs_diff(32 * 53 * 1_000) <= 1, "{}", lab.now);
    assert_eq!(lab.qdisc.bytes(), 0);
}

#[test]
fn a_cake_without_rate_never_waits() {
    let mut lab = Lab::separate(&spec(None, CakeIsolation::TripleIsolate, 0), 2);
    assert!(!lab.qdisc.shapes_itself());
    lab.fill(0, FULL_FRAME, 20);
    lab.fill(1, FULL_FRAME, 20);
    for _ in 0..40 {
        assert!(matches!(lab.dequeue(), Answer::Packet(_)));
    }
    assert!(matches!(lab.dequeue(), Answer::Empty));
}

#[test]
fn a_change_of_rate_makes_it_the_cake_of_that_rate() {
    for (from, to) in [(100_000_000, 500_000), (500_000, 1_000_000_000)] {
        let mut lab = Lab::separate(&spec(Some(from), CakeIsolation::TripleIsolate, 1), 1);
        lab.fill(0, FULL_FRAME, 3);
        assert!(lab.send().is_some());
        let next = lab.qdisc.shaper.next();
        lab.qdisc.set_rate(to);
        assert_eq!(lab.qdisc.shaper.next(), next, "the next departure stays when it was to be");
        let other = Lab::separate(&spec(Some(to), CakeIsolation::TripleIsolate, 1), 1).qdisc;
        assert_eq!(lab.qdisc.cobalt, other.cobalt);
        assert_eq!(lab.qdisc.ramp, other.ramp);
        assert_eq!(lab.qdisc.memory_limit, other.memory_limit);
    }
}
