use super::super::lab::{packet, queue_context, Lab};
use super::super::{Qdisc, QdiscStats};
use super::{Law, Source, State};
use crate::packet::{DropCause, Ecn, FULL_FRAME};
use crate::pool::{self, Id, Pool};
use crate::rng::Rng;
use crate::spec::{CodelFloor, CodelSpec, QdiscSpec};
use crate::time::{Time, MS};

/// A full packet at 10 Mbit/s, ns.
const SLOT: u64 = 1_211_200;

fn spec(ecn: bool) -> CodelSpec {
    CodelSpec {
        target_ns: 5 * MS,
        interval_ns: 100 * MS,
        ecn,
        ce_threshold_ns: None,
        ce_threshold_selector: None,
        floor: CodelFloor::Mtu,
        forgets_when_empty: true,
    }
}

fn lab(control: CodelSpec) -> Lab {
    Lab::new(&QdiscSpec::Codel { limit_packets: 1000, control }, 1)
}

/// A packet leaves every slot and another comes; returns the times of signals up to `until`.
fn overload(lab: &mut Lab, ecn: Ecn, until: Time) -> Vec<Time> {
    let mut signals = vec![];
    while lab.now < until {
        lab.now += SLOT;
        let marks = lab.qdisc.stats().ce_marks;
        lab.take();
        let count = lab.dropped.drain(..).count() as u64 + lab.qdisc.stats().ce_marks - marks;
        signals.extend((0..count).map(|_| lab.now));
        lab.offer_full(0, 1, ecn);
    }
    signals
}

#[test]
fn signals_begin_after_an_interval_and_come_at_its_inverse_square_roots() {
    let mut lab = lab(spec(true));
    lab.offer_full(0, 100, Ecn::Ect0);
    let signals = overload(&mut lab, Ecn::Ect0, 1500 * MS);
    // The first packet that waited 5 ms leaves at the fifth slot; an interval later the first signal comes.
    let first = 5 * SLOT + 100 * MS;
    assert!((first..first + 2 * SLOT).contains(&signals[0]), "{signals:?}");
    for (n, pair) in (1..).zip(signals.windows(2)) {
        // The first Newton step, from 1, takes 1 / sqrt(2) for 1/2.
        let expected = if n == 2 { 50e6 } else { 100e6 / f64::from(n).sqrt() };
        let gap = (pair[1] - pair[0]) as f64;
        assert!((gap - expected).abs() < 3e6, "gap {n}: {gap}, not {expected}");
    }
    assert!(signals.len() > 40);
}

#[test]
fn what_cannot_be_marked_is_dropped() {
    let mut lab = lab(spec(true));
    lab.offer_full(0, 100, Ecn::NotEct);
    assert!(!overload(&mut lab, Ecn::NotEct, 500 * MS).is_empty());
    assert_eq!(lab.qdisc.stats().ce_marks, 0);
}

#[test]
fn a_full_packet_may_stand() {
    // One packet arrives when one leaves, having waited 50 ms: only one is ever left behind.
    let mut lab = lab(spec(false));
    lab.offer_full(0, 2, Ecn::NotEct);
    for _ in 0..100 {
        lab.now += 50 * MS;
        lab.take();
        lab.offer_full(0, 1, Ecn::NotEct);
    }
    assert!(lab.dropped.is_empty());
}

#[test]
fn an_old_kernel_tolerates_the_largest_packet_seen() {
    let control = CodelSpec { floor: CodelFloor::LargestSeen, ..spec(false) };
    let mut lab = lab(control);
    let small = |lab: &mut Lab| {
        lab.offer(super::super::lab::packet(0, 66, 0, Ecn::NotEct));
    };
    (0..5).for_each(|_| small(&mut lab));
    for _ in 0..100 {
        lab.now += 50 * MS;
        lab.take();
        small(&mut lab);
    }
    assert!(!lab.dropped.is_empty(), "four packets of 66 bytes are more than the largest");
}

#[test]
fn an_episode_soon_after_another_goes_on_at_its_frequency() {
    let mut lab = lab(spec(true));
    lab.offer_full(0, 100, Ecn::Ect0);
    let first = overload(&mut lab, Ecn::Ect0, 1000 * MS);
    while lab.take().is_some() {}
    lab.offer_full(0, 100, Ecn::Ect0);
    let until = lab.now + 300 * MS;
    let again = overload(&mut lab, Ecn::Ect0, until);
    let gap = again[1] - again[0];
    assert!(first[1] - first[0] > 95 * MS);
    assert!(gap < 30 * MS, "{gap}");
}

#[test]
fn an_episode_starts_anew_after_sixteen_intervals() {
    // Its first signal comes 106 ms after the queue has filled.
    for (idle, anew) in [(1400 * MS, false), (1600 * MS, true)] {
        let mut lab = lab(spec(true));
        lab.offer_full(0, 100, Ecn::Ect0);
        overload(&mut lab, Ecn::Ect0, 1000 * MS);
        while lab.take().is_some() {}
        lab.now += idle;
        lab.offer_full(0, 100, Ecn::Ect0);
        let until = lab.now + 300 * MS;
        let again = overload(&mut lab, Ecn::Ect0, until);
        assert_eq!(again[1] - again[0] > 95 * MS, anew, "{idle}: {again:?}");
    }
}

#[test]
fn an_episode_takes_up_what_the_last_one_alone_has_counted() {
    let mut lab = lab(spec(true));
    let mut gaps = vec![];
    for length in [1000 * MS, 250 * MS, 250 * MS] {
        lab.offer_full(0, 100, Ecn::Ect0);
        let until = lab.now + length;
        let signals = overload(&mut lab, Ecn::Ect0, until);
        gaps.push(signals[1] - signals[0]);
        while lab.take().is_some() {}
    }
    assert!(gaps[1] < 30 * MS && gaps[2] > gaps[1], "{gaps:?}");
}

#[test]
fn an_empty_queue_among_others_forgets_that_it_was_late_where_the_kernel_does() {
    /// One queue of a discipline that holds much else.
    struct One {
        state: State,
        packets: pool::Queue,
    }
    impl Source for One {
        fn state(&mut self) -> &mut State {
            &mut self.state
        }
        fn head(&self) -> Option<Id> {
            self.packets.first()
        }
        fn pop(&mut self, pool: &Pool) -> Option<Id> {
            self.packets.pop(pool)
        }
        fn backlog(&self) -> u64 {
            100_000
        }
    }
    for forgets_when_empty in [true, false] {
        let mut law = Law::new(&CodelSpec { forgets_when_empty, ..spec(false) }, FULL_FRAME);
        let (mut stats, mut s) = (QdiscStats::default(), queue_context(Rng::for_component(1, "port/q"), vec![]));
        let mut one = One { state: State::default(), packets: pool::Queue::default() };
        let mut take = |waiting: bool, now: Time| {
            s.now = now;
            if waiting {
                let id = s.packets.put(packet(0, FULL_FRAME, 0, Ecn::NotEct));
                s.packets[id].time = now - 10 * MS;
                one.packets.push(id, &mut s.packets);
            }
            law.dequeue(&mut one, &mut s, &mut stats).is_some()
        };
        assert!(take(true, 20 * MS), "late for the first time");
        assert!(!take(false, 30 * MS), "empty");
        let passes = take(true, 130 * MS);
        assert_eq!(passes, forgets_when_empty, "late for an interval, if the time before counts");
    }
}

#[test]
fn the_threshold_marks_whatever_waited_longer() {
    let mut lab = lab(CodelSpec { ce_threshold_ns: Some(2 * MS), ..spec(false) });
    lab.offer_full(0, 3, Ecn::Ect0);
    let taken = |lab: &mut Lab, at| {
        lab.now = at;
        lab.take().map(|p| p.ecn())
    };
    assert_eq!(taken(&mut lab, MS), Some(Ecn::Ect0));
    assert_eq!(taken(&mut lab, 3 * MS), Some(Ecn::Ce));
    assert_eq!(lab.qdisc.stats().ce_marks, 1);
}

#[test]
fn a_full_queue_drops_what_arrives() {
    let mut lab = Lab::new(&QdiscSpec::Codel { limit_packets: 2, control: spec(false) }, 1);
    lab.offer_full(0, 3, Ecn::NotEct);
    assert_eq!(
        lab.dropped.iter().map(|(p, cause)| (p.number(), *cause)).collect::<Vec<_>>(),
        [(3, DropCause::Overflow)]
    );
    // A packet in the peek buffer counts as held.
    lab.dropped.clear();
    assert!(lab.peek().is_some());
    lab.offer_full(0, 1, Ecn::NotEct);
    assert_eq!(lab.dropped.len(), 1);
}

#[test]
fn the_threshold_is_for_the_fields_that_are_selected() {
    // ECT(1), and the codepoint EF (46) beside any ECN field; flows of the lab have codepoint 0.
    for (selector, of_ect0, of_ect1) in
        [(None, 1, 1), (Some((1, 3)), 0, 1), (Some((46 << 2, 63 << 2)), 0, 0), (Some((2, 3)), 1, 0)]
    {
        for (ecn, marks) in [(Ecn::Ect0, of_ect0), (Ecn::Ect1, of_ect1), (Ecn::NotEct, 0)] {
            let control = CodelSpec { ce_threshold_ns: Some(MS), ce_threshold_selector: selector, ..spec(false) };
            let mut lab = lab(control);
            lab.offer_full(0, 1, ecn);
            lab.now += 2 * MS;
            assert!(lab.take().is_some());
            assert_eq!(lab.qdisc.stats().ce_marks, marks, "{selector:?} {ecn:?}");
        }
    }
}
