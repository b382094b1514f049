//! RED's rules, one by one.

use super::super::lab::{packet, Lab};
use super::super::{Qdisc, Verdict};
use super::average::{Average, Filter};
use super::mark::{Action, Law, State};
use super::tc::IdleDamping;
use crate::packet::{DropCause, Ecn, FULL_FRAME};
use crate::rng::Rng;
use crate::spec::{QdiscSpec, RedSpec};
use crate::time::{MS, SEC};

/// 2 %, units of 2^-32.
const TWO_PERCENT: u64 = 85_899_345;
/// A full packet at 10 Mbit/s, ns.
const SLOT: u64 = 1_211_200;

pub(super) const SPEC: RedSpec = RedSpec {
    min_bytes: 30_000,
    max_bytes: 90_000,
    max_p: TWO_PERCENT,
    avpkt_bytes: 1000,
    burst_packets: 50,
    bandwidth_bps: 10_000_000,
    ecn: false,
    harddrop: false,
    nodrop: false,
    adaptive: false,
    gentle: false,
};

fn filter(wlog: u32) -> Filter {
    let mut shifts = Box::new([0; 256]);
    for (i, shift) in shifts.iter_mut().enumerate() {
        *shift = (i / 8) as u8;
    }
    Filter::new(wlog, IdleDamping { cell_log: 10, shifts })
}

fn lab(spec: RedSpec, limit_bytes: u64) -> Lab {
    Lab::new(&QdiscSpec::Red { limit_bytes, control: spec }, 1)
}

/// The part of packets signalled for while the average stays at `average` bytes.
fn signalled(law: &Law, average: u64) -> f64 {
    const PACKETS: u32 = 200_000;
    let (filter, mut state, mut rng) = (filter(5), State::default(), Rng::for_component(1, "red"));
    let mut signals = 0;
    for _ in 0..PACKETS {
        signals += u32::from(law.decide(&mut state, filter.scaled(average), &filter, &mut rng) != Action::Pass);
    }
    f64::from(signals) / f64::from(PACKETS)
}

/// Keeps `backlog` bytes in the queue, a packet in for each one out, until it has seen `packets`.
fn steady(lab: &mut Lab, backlog: u64, packets: u32, ecn: Ecn) {
    for _ in 0..packets {
        lab.now += SLOT;
        while lab.qdisc.bytes() > backlog {
            lab.take();
        }
        lab.offer_full(0, 1, ecn);
    }
}

#[test]
fn the_average_approaches_the_queue_by_a_power_of_two() {
    let (filter, mut average) = (filter(3), Average::default());
    let mut expected = 0.0;
    for _ in 0..100 {
        average.on_arrival(8000, 0, &filter);
        expected += (8000.0 - expected) / 8.0;
        assert!((average.at(0, &filter) as f64 / 8.0 - expected).abs() < 10.0);
    }
    assert_eq!(filter.bytes(average.at(0, &filter)), 8000);
}

#[test]
fn an_idle_time_replaces_the_queue_in_the_average() {
    let filter = filter(3);
    let mut settled = Average::default();
    for _ in 0..200 {
        settled.on_arrival(8000, 0, &filter);
    }
    let value = settled.at(0, &filter);
    let after = |idle_us: u64| {
        let mut average = settled;
        average.idle_from(SEC);
        average.on_arrival(8000, SEC + idle_us * 1000, &filter)
    };
    // Cells of 1024 us; the first eight have no shift: linear, down to a half.
    assert_eq!(after(512), value / 2);
    assert_eq!(after(256), value - value / 4);
    assert_eq!(after(5000), value / 2);
    assert_eq!(after(8 * 1024), value >> 1);
    assert_eq!(after(24 * 1024), value >> 3);
    assert_eq!(after(10_000_000), value >> 31);
    // Without an idle time, and once it is over, the queue counts.
    let mut average = settled;
    average.idle_from(SEC);
    assert_eq!(average.on_arrival(0, SEC, &filter), value - (value >> 3));
    assert_eq!(average.on_arrival(8000, 2 * SEC, &filter), value - (value >> 3) + 8000 - ((value - (value >> 3)) >> 3));
}

#[test]
fn signals_are_evenly_spread_between_the_thresholds() {
    let law = Law::new(30_000, 90_000, TWO_PERCENT as u32, false);
    assert_eq!(signalled(&law, 29_999), 0.0);
    assert_eq!(signalled(&law, 90_000), 1.0);
    // The distance of signals is uniform from 1 to 1/p: the rate is 2p.
    for (average, p) in [(45_000, 0.005), (60_000, 0.01), (89_999, 0.02)] {
        let rate = signalled(&law, average);
        assert!((rate / (2.0 * p) - 1.0).abs() < 0.08, "{average}: {rate}");
    }
}

#[test]
fn gentle_rises_from_the_largest_probability_to_one() {
    let law = Law::new(30_000, 90_000, (1_u64 << 31) as u32, true);
    // Return distances of signals at probability p: the minimum n with n p at least a uniform number.
    let rate = |p: f64| 1.0 / (0..).map(|n| (1.0 - p * f64::from(n)).max(0.0)).take(40).sum::<f64>();
    for (average, p) in
        [(60_000, 0.25), (89_999, 0.5), (90_000, 0.5), (112_500, 0.625), (135_000, 0.75), (179_999, 1.0)]
    {
        let got = signalled(&law, average);
        assert!((got / rate(p) - 1.0).abs() < 0.02, "{average}: {got} instead of {}", rate(p));
    }
    assert_eq!(signalled(&law, 180_000), 1.0);
    assert_eq!(signalled(&Law::new(30_000, 90_000, 1 << 31, false), 90_000), 1.0);
}

#[test]
fn the_largest_probability_moves_to_where_the_average_is_midway() {
    let mut law = Law::new(30_000, 90_000, TWO_PERCENT as u32, false);
    assert!(!law.adapt(54_000) && !law.adapt(66_000));
    assert!(law.adapt(66_001));
    assert_eq!(law.max_p(), 85_899_345 + 85_899_345 / 4);
    assert!(law.adapt(53_999));
    assert_eq!(law.max_p(), (85_899_345 + 85_899_345 / 4) / 10 * 9);
    while law.adapt(90_000) {}
    assert!((0.5..0.51).contains(&(f64::from(law.max_p()) / f64::from(u32::MAX))));
    while law.adapt(0) {}
    assert!((0.009..0.01).contains(&(f64::from(law.max_p()) / f64::from(u32::MAX))));
}

#[test]
fn below_min_nothing_and_above_max_everything_is_dropped() {
    let mut lab = lab(SPEC, 1_000_000);
    steady(&mut lab, 25_000, 5000, Ecn::NotEct);
    assert!(lab.dropped.is_empty());
    steady(&mut lab, 120_000, 2000, Ecn::NotEct);
    // At a full standstill the average passes the maximum, and then nothing is let in.
    lab.dropped.clear();
    for _ in 0..100 {
        let verdict = lab.offer(packet(0, FULL_FRAME, 1, Ecn::NotEct));
        assert!(verdict == Verdict::Congestion || lab.dropped.is_empty());
    }
    assert!(lab.dropped.len() > 50 && lab.dropped.iter().all(|(_, cause)| *cause == DropCause::Aqm));
}

#[test]
fn the_queue_has_a_limit_of_its_own() {
    let mut lab = lab(SPEC, 10 * u64::from(FULL_FRAME));
    lab.offer_full(0, 10, Ecn::NotEct);
    assert_eq!(lab.offer(packet(0, FULL_FRAME, 99, Ecn::NotEct)), Verdict::Dropped);
    assert_eq!(lab.dropped.len(), 1);
    assert_eq!(lab.dropped[0].1, DropCause::Overflow);
    assert_eq!(lab.peek(), Some(FULL_FRAME));
    assert_eq!(lab.qdisc.packets(), 10);
}

#[test]
fn marks_replace_drops_but_for_hard_ones_where_asked() {
    for harddrop in [false, true] {
        let mut lab = lab(RedSpec { ecn: true, harddrop, ..SPEC }, 10_000_000);
        steady(&mut lab, 60_000, 5000, Ecn::Ect0);
        let marks = lab.qdisc.stats().ce_marks;
        assert!(marks > 20 && lab.dropped.is_empty(), "{marks}");
        steady(&mut lab, 60_000, 5000, Ecn::NotEct);
        assert!(lab.dropped.len() > 20 && lab.qdisc.stats().ce_marks == marks);
        lab.dropped.clear();
        lab.offer_full(0, 1000, Ecn::Ect0);
        if harddrop {
            assert!(lab.dropped.len() > 500);
        } else {
            assert!(lab.dropped.is_empty() && lab.qdisc.stats().ce_marks > marks + 500);
        }
    }
}

#[test]
fn what_cannot_be_marked_passes_where_that_is_asked() {
    let mut lab = lab(RedSpec { ecn: true, nodrop: true, ..SPEC }, 10_000_000);
    steady(&mut lab, 60_000, 5000, Ecn::NotEct);
    lab.offer_full(0, 1000, Ecn::NotEct);
    assert!(lab.dropped.is_empty() && lab.qdisc.stats().ce_marks == 0);
    // Without ECN nothing would be marked, and it is dropped; so it is with `harddrop` above the upper threshold.
    for spec in [RedSpec { nodrop: true, ..SPEC }, RedSpec { ecn: true, nodrop: true, harddrop: true, ..SPEC }] {
        let mut lab = self::lab(spec, 10_000_000);
        steady(&mut lab, 60_000, 5000, Ecn::NotEct);
        lab.offer_full(0, 1000, Ecn::NotEct);
        assert!(lab.dropped.len() > 500);
    }
}

#[test]
fn only_a_line_that_asks_begins_an_idle_time() {
    let full = || {
        let mut lab = lab(RedSpec { ecn: true, ..SPEC }, 10_000_000);
        steady(&mut lab, 120_000, 3000, Ecn::Ect0);
        while lab.qdisc.packets() > 0 {
            lab.take();
        }
        lab
    };
    let marks = |lab: &mut Lab, asks: bool| {
        if asks {
            assert!(lab.take().is_none());
        }
        lab.now += 100 * SEC;
        let before = lab.qdisc.stats().ce_marks;
        lab.offer_full(0, 1, Ecn::Ect0);
        lab.qdisc.stats().ce_marks - before
    };
    assert_eq!(marks(&mut full(), true), 0);
    assert_eq!(marks(&mut full(), false), 1);
    // The link is busy with the last packet until then.
    let mut lab = full();
    lab.qdisc.found_empty(lab.now + 200 * SEC);
    assert_eq!(marks(&mut lab, false), 1);
}

#[test]
fn adaptation_holds_the_average_between_the_thresholds() {
    let mean = |adaptive: bool| {
        let mut lab = lab(RedSpec { adaptive, ..SPEC }, 10_000_000);
        let (mut sum, mut count) = (0, 0);
        while lab.now < 200 * SEC {
            lab.now += SLOT;
            // A fifth more than leaves, that no drop slows down.
            lab.offer_full(0, 1 + u32::from((lab.now / SLOT).is_multiple_of(5)), Ecn::NotEct);
            lab.take();
            if lab.now > 100 * SEC {
                (sum, count) = (sum + lab.qdisc.bytes(), count + 1);
            }
        }
        sum / count
    };
    let (fixed, adaptive) = (mean(false), mean(true));
    assert!((85_000..95_000).contains(&fixed), "{fixed}");
    assert!((50_000..70_000).contains(&adaptive), "{adaptive}");
}

#[test]
fn adaptation_runs_twice_a_second_also_while_nobody_comes() {
    let mut lab = lab(RedSpec { adaptive: true, ecn: true, max_p: 1 << 31, ..SPEC }, 10_000_000);
    // It began with the minimum probability: the pause changes nothing.
    lab.now = 50 * SEC + MS;
    steady(&mut lab, 60_000, 2000, Ecn::Ect0);
    let marks = lab.qdisc.stats().ce_marks;
    assert!((10..=40).contains(&marks), "{marks}");
}
