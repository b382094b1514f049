//! dualpi2 as a whole: classes, order of operations, counters.

use super::scheduler::Class;
use crate::packet::{DropCause, Ecn, ACK_FRAME, FULL_FRAME};
use crate::qdisc::lab::{packet, Lab};
use crate::qdisc::{AnyQdisc, Qdisc, Verdict};
use crate::spec::{DualPi2Mask, DualPi2Spec, DualPi2Variant, QdiscSpec};
use crate::time::{MS, US};

/// Linux's defaults.
pub(crate) const SPEC: DualPi2Spec = DualPi2Spec {
    variant: DualPi2Variant::Linux,
    limit_packets: 10_000,
    memory_limit_bytes: None,
    coupling: 2,
    step_ns: MS,
    step_packets: None,
    min_qlen_step_packets: 0,
    ramp_from_ns: 800 * US,
    ramp_to_ns: 1200 * US,
    drop_on_overload: true,
    drop_enqueue: false,
    ecn_mask: DualPi2Mask::L4sEct,
    classic_protection: 10,
    target_ns: 15 * MS,
    tupdate_ns: 16 * MS,
    alpha: 41,
    beta: 819,
    split_gso: true,
};

fn lab(spec: DualPi2Spec) -> Lab {
    Lab::new(&QdiscSpec::DualPi2(spec), 1)
}

/// Packets sent, dropped and marked by the step in a class, and other marks.
fn counts(lab: &Lab, class: Class) -> [u64; 4] {
    let found = lab.qdisc.classes()[class as usize];
    let delays = found.delays.unwrap();
    [delays.sent_packets, found.dropped, delays.step_marks, found.ce_marks - delays.step_marks]
}

/// Sends all packets with a line that takes `each` for one.
fn drain(lab: &mut Lab, each: u64) -> Vec<Ecn> {
    std::iter::from_fn(|| {
        lab.now += each;
        lab.take().map(|p| p.ecn())
    })
    .collect()
}

#[test]
fn the_codepoint_chooses_the_class() {
    let classes = |ecn_mask| {
        let mut lab = lab(DualPi2Spec { ecn_mask, ..SPEC });
        [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].map(|ecn| {
            lab.offer_full(0, 1, ecn);
            let found = lab.qdisc.classes();
            lab.take();
            [0, 1].map(|class: usize| found[class].backlog_bytes / u64::from(FULL_FRAME))
        })
    };
    assert_eq!(classes(DualPi2Mask::L4sEct), [[0, 1], [0, 1], [1, 0], [1, 0]]);
    assert_eq!(classes(DualPi2Mask::AnyEct), [[0, 1], [1, 0], [1, 0], [1, 0]]);
}

#[test]
fn l4s_goes_first_until_its_credit_is_used() {
    let mut lab = lab(SPEC);
    lab.offer_full(0, 40, Ecn::NotEct);
    lab.offer_full(1, 40, Ecn::Ect1);
    let order: Vec<usize> = (0..40).filter_map(|_| lab.take()).map(|p| p.flow()).collect();
    // The credit is -80 frames: each L4S packet adds 10 until it is above 0, a classic packet takes 90 away.
    let classic: Vec<usize> = (0..40).filter(|&i| order[i] == 0).collect();
    assert_eq!(classic, [9, 19, 29, 39]);
}

#[test]
fn the_step_marks_what_waited_too_long_and_counts_marks_twice_as_linux_does() {
    let mut lab = lab(SPEC);
    lab.offer_full(0, 4, Ecn::Ect1);
    assert_eq!(drain(&mut lab, 400 * US), [Ecn::Ect1, Ecn::Ect1, Ecn::Ce, Ecn::Ce]);
    assert_eq!(counts(&lab, Class::L), [4, 0, 2, 0]);
    assert_eq!(lab.qdisc.stats().ce_marks, 2);
    // A packet that has CE already counts again.
    lab.offer_full(0, 1, Ecn::Ce);
    drain(&mut lab, 2 * MS);
    assert_eq!(lab.qdisc.stats().ce_marks, 3);
}

#[test]
fn the_step_may_be_in_packets_and_need_a_queue() {
    let mut by_packets = lab(DualPi2Spec { step_packets: Some(2), ..SPEC });
    by_packets.offer_full(0, 5, Ecn::Ect1);
    // Five, four and three are behind the packets that leave: those with more than two.
    assert_eq!(drain(&mut by_packets, US), [Ecn::Ce, Ecn::Ce, Ecn::Ect1, Ecn::Ect1, Ecn::Ect1]);
    let mut later = lab(DualPi2Spec { min_qlen_step_packets: 2, ..SPEC });
    later.offer_full(0, 4, Ecn::Ect1);
    // The first two arrived at a shorter queue.
    assert_eq!(drain(&mut later, 2 * MS), [Ecn::Ect1, Ecn::Ect1, Ecn::Ce, Ecn::Ce]);
}

/// Marks and drops by class of a queue that holds 40 ms of both classes for long, at 100 Mbit/s.
fn overloaded(spec: DualPi2Spec, ecn: [Ecn; 2]) -> Lab {
    let mut lab = lab(spec);
    lab.offer_full(0, 300, ecn[1]);
    lab.offer_full(1, 30, ecn[0]);
    for _ in 0..40_000 {
        lab.now += 121_120;
        match lab.take() {
            Some(p) if p.flow() == 1 => lab.offer_full(1, 1, ecn[0]),
            Some(_) => lab.offer_full(0, 1, ecn[1]),
            None => break,
        }
        let lost = lab.losers();
        lost.into_iter().for_each(|flow| lab.offer_full(flow as u32, 1, ecn[usize::from(flow == 0)]));
    }
    lab
}

#[test]
fn overload_drops_in_both_classes_and_marks_the_rest_of_l4s() {
    let lab = overloaded(SPEC, [Ecn::Ect1, Ecn::Ect0]);
    let ([sent, dropped, ..], [_, classic, ..]) = (counts(&lab, Class::L), counts(&lab, Class::C));
    assert!(dropped > sent / 4 && classic > 100, "{dropped} of {sent}, {classic}");
    let tolerant = overloaded(DualPi2Spec { drop_on_overload: false, ..SPEC }, [Ecn::Ect1, Ecn::Ect0]);
    let ([sent, dropped, _, coupled], [_, classic, ..]) = (counts(&tolerant, Class::L), counts(&tolerant, Class::C));
    assert!(dropped == 0 && classic == 0 && coupled > sent / 2, "{coupled} of {sent}");
}

#[test]
fn limits_are_over_both_classes() {
    let mut by_packets = lab(DualPi2Spec { limit_packets: 3, ..SPEC });
    by_packets.offer_full(0, 2, Ecn::Ect1);
    by_packets.offer_full(1, 1, Ecn::NotEct);
    assert_eq!(by_packets.offer(packet(0, ACK_FRAME, 9, Ecn::Ect1)), Verdict::Dropped);
    assert_eq!(by_packets.dropped[0].1, DropCause::Overflow);
    let mut by_memory = lab(DualPi2Spec { memory_limit_bytes: Some(3 * 2304), ..SPEC });
    by_memory.offer_full(0, 3, Ecn::Ect1);
    assert_eq!(by_memory.offer(packet(0, ACK_FRAME, 9, Ecn::NotEct)), Verdict::Dropped);
}

#[test]
fn drops_on_arrival_are_not_told_to_the_sender() {
    let lab = overloaded(DualPi2Spec { drop_enqueue: true, ..SPEC }, [Ecn::Ect1, Ecn::NotEct]);
    assert!(counts(&lab, Class::C)[1] > 100);
    let mut one = Lab::new(&QdiscSpec::DualPi2(DualPi2Spec { drop_enqueue: true, ..SPEC }), 1);
    one.offer_full(0, 4, Ecn::NotEct);
    // A head that is hours old: the next update makes drops certain.
    one.now = 3_600_000 * MS;
    for _ in 0..10 {
        assert_eq!(one.offer(packet(0, FULL_FRAME, 9, Ecn::NotEct)), Verdict::Queued);
    }
    assert!(!one.dropped.is_empty());
}

#[test]
fn short_queues_are_left_alone() {
    let mut lab = lab(SPEC);
    lab.offer_full(0, 2, Ecn::Ect0);
    lab.now = 100 * 16 * MS;
    // The probability is 1 by now, but one packet of two frames is behind this one.
    assert_eq!(lab.take().map(|p| p.ecn()), Some(Ecn::Ect0));
}

#[test]
fn the_rfc_s_ramp_needs_a_second_packet() {
    let rfc = DualPi2Spec { variant: DualPi2Variant::Rfc, tupdate_ns: 15 * MS, ..SPEC };
    let mut lab = lab(rfc);
    lab.offer_full(0, 3, Ecn::Ect1);
    assert_eq!(drain(&mut lab, 1300 * US), [Ecn::Ect1, Ecn::Ce, Ecn::Ect1]);
    let mut rng = crate::rng::Rng::for_component(1, "x");
    let backwards = QdiscSpec::DualPi2(DualPi2Spec { ramp_to_ns: 800 * US, ..rfc });
    assert_eq!(AnyQdisc::build(&backwards, FULL_FRAME, &mut rng).unwrap_err().fields(), ["ramp_to_ns"]);
}
