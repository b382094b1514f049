//! Packets that a cake marks or drops at departure.

use super::{limited, spec, Lab};
use crate::packet::{DropCause, Ecn, ACK_FRAME, FULL_FRAME};
use crate::qdisc::lab::packet;
use crate::qdisc::Qdisc;
use crate::spec::CakeIsolation;
use crate::time::{MS, SEC};

#[test]
fn sce_marks_follow_sojourn_time() {
    // Without a rate the test sets the sojourn time; the target is 5 ms.
    for (sojourn, expected) in [(2_500_000, 0.0), (3_000_000, 0.2), (3_750_000, 0.5), (5_000_000, 0.998)] {
        let mut lab = Lab::separate(&spec(None, CakeIsolation::Flowblind, 1), 1);
        for seq in 0..20_000 {
            lab.offer(packet(0, FULL_FRAME, seq, Ecn::Ect0));
            lab.now += sojourn;
            let p = lab.send().unwrap();
            assert!(matches!(p.ecn(), Ecn::Ect0 | Ecn::Ect1));
        }
        let got = lab.qdisc.stats().sce_marks as f64 / 20_000.0;
        assert!((got - expected).abs() < 0.018, "{sojourn}: {got}, not {expected}");
        assert_eq!(lab.qdisc.stats().ce_marks, 0);
    }
}

#[test]
fn ce_wins_over_sce_and_a_new_queue_marks_its_second_late_packet() {
    let mut lab = Lab::separate(&spec(None, CakeIsolation::Flowblind, 1), 1);
    lab.fill(0, FULL_FRAME, 4);
    lab.now = 6 * MS;
    let marks: Vec<Ecn> = (0..4).map(|_| lab.send().unwrap().ecn()).collect();
    assert_eq!(marks, [Ecn::Ect1, Ecn::Ce, Ecn::Ect1, Ecn::Ect1]);
    assert_eq!((lab.qdisc.stats().ce_marks, lab.qdisc.stats().sce_marks), (1, 3));
}

#[test]
fn the_last_packet_is_never_dropped() {
    let mut lab = Lab::separate(&spec(None, CakeIsolation::Flowblind, 0), 1);
    for seq in 0..3 {
        lab.offer(packet(0, FULL_FRAME, seq, Ecn::NotEct));
    }
    lab.now = 6 * MS;
    // The second packet is due and goes; the third would have followed but is the last.
    assert_eq!(lab.send().unwrap().number(), 0);
    assert_eq!(lab.send().unwrap().number(), 2);
    assert_eq!(lab.dropped.len(), 1);
    assert_eq!((lab.dropped[0].0.number(), lab.dropped[0].1), (1, DropCause::Aqm));
    // A queue of one packet that is long overdue.
    for seq in 3..20 {
        lab.offer(packet(0, FULL_FRAME, seq, Ecn::NotEct));
        lab.now += SEC;
        assert_eq!(lab.send().unwrap().number(), seq);
    }
    assert_eq!(lab.dropped.len(), 1);
}

#[test]
fn overload_without_reaction_wakes_blue() {
    let spec = limited(spec(Some(10_000_000), CakeIsolation::Flowblind, 0), 100 * 2304);
    let mut lab = Lab::separate(&spec, 1);
    let mut causes = [0_u32; 4];
    for seq in 0..40_000 {
        // Twice the rate.
        lab.now += 605_600;
        lab.offer(packet(0, FULL_FRAME, seq, Ecn::Ect0));
        lab.dequeue();
        for (_, cause) in lab.dropped.drain(..) {
            causes[cause as usize] += 1;
        }
    }
    // Half the packets go by one cause or the other; BLUE takes over until the queue hardly overflows.
    let (overflow, blue) = (causes[DropCause::Overflow as usize], causes[DropCause::Blue as usize]);
    assert!((overflow + blue).abs_diff(20_000) < 200, "{causes:?}");
    assert!(blue > 15_000, "{causes:?}");
    assert_eq!(causes[DropCause::Aqm as usize], 0);
}

#[test]
fn an_empty_queue_decays_before_it_goes_out_of_service() {
    let mut lab = Lab::separate(&spec(Some(100_000_000), CakeIsolation::Flows, 0), 2);
    lab.fill(0, FULL_FRAME, 60);
    while lab.send().is_some() {}
    let queue = lab.queue_of(packet(0, 0, 0, Ecn::Ect0));
    assert!(lab.qdisc.drr.is_active(queue));
    // Other traffic gives it turns; its state needs an interval to come to rest.
    let mut last_active = lab.now;
    let start = lab.now;
    while lab.now < start + SEC {
        lab.now += 10 * MS;
        lab.fill(1, FULL_FRAME, 2);
        while lab.send().is_some() {}
        if lab.qdisc.drr.is_active(queue) {
            last_active = lab.now;
        }
    }
    assert!((start + 80 * MS..start + 900 * MS).contains(&last_active), "{}", last_active - start);
    // It comes back as a sparse flow.
    lab.fill(1, FULL_FRAME, 10);
    lab.send();
    lab.send();
    lab.offer(packet(0, ACK_FRAME, 7, Ecn::Ect0));
    assert_eq!(lab.send().unwrap().flow(), 0);
}
