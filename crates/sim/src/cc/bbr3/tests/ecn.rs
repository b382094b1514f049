//! Marks, in google's variant.

use super::*;

/// Over 2 ms, with marks that count.
fn short(low: bool) -> Lab {
    Lab::over(2000, Variant::Google, low)
}

/// A round in which so many of the delivered are marked.
fn marked(lab: &mut Lab, delivered: u32, marked: u32) -> Mode {
    let prior = lab.v.delivered;
    let rtt_us = u64::from(lab.v.min_rtt_us);
    let mut s = lab.sample(rtt_us, delivered, prior);
    lab.v.delivered_ce += marked;
    (s.ece, s.rate.delivered_ce) = (marked > 0, marked);
    lab.take(&s)
}

#[test]
fn two_rounds_with_half_marked_end_startup() {
    let ends = |mut lab: Lab, marks: &[u32]| {
        lab.v.packets_out = 1000;
        let sizes = [20, 40, 80, 160];
        marks.iter().zip(sizes).position(|(&marks, size)| marked(&mut lab, size, marks) != Mode::Startup)
    };
    assert_eq!(ends(short(true), &[0, 20, 40, 80]), Some(2));
    assert_eq!(ends(short(true), &[0, 20, 39, 80]), None, "not twice in a row");
    assert_eq!(ends(short(false), &[0, 40, 80, 160]), None, "the route does not say that they mean that");
    assert_eq!(ends(Lab::over(6000, Variant::Google, true), &[0, 40, 80, 160]), None, "beyond 5 ms");
    assert_eq!(ends(Lab::over(2000, Variant::Draft, true), &[0, 40, 80, 160]), None);
}

#[test]
fn a_marked_round_takes_a_third_of_the_share_that_is_marked() {
    let mut lab = short(true);
    lab.cruise(100);
    // The share was taken for one, and falls by a sixteenth in each round without marks.
    let rounds = lab.bbr.round.count;
    let expected = (0..rounds).fold(256, |alpha, _| (240 * alpha) >> 8);
    assert_eq!(lab.bbr.ecn.share(), expected);
    lab.w.cwnd = 200;
    marked(&mut lab, 100, 50);
    let share = ((240 * expected) >> 8) + ((16 * 128) >> 8);
    assert_eq!(lab.bbr.ecn.share(), share);
    assert_eq!(lab.bbr.bounds.inflight_lo, (200 * (256 - ((share * 85) >> 8))) >> 8);
    assert_eq!(lab.bbr.bounds.bw_lo, NONE, "the rate stays");
}

#[test]
fn probing_ends_when_more_than_half_is_marked() {
    let mut lab = short(true);
    lab.up(100);
    (lab.w.cwnd, lab.v.packets_out) = (225, 125);
    assert_eq!(marked(&mut lab, 100, 50), Mode::Up);
    assert_eq!(marked(&mut lab, 100, 51), Mode::Down);
    assert_eq!(lab.bbr.bounds.inflight_hi, 125);
}

#[test]
fn marks_that_cease_let_it_probe_at_once_and_steeply() {
    let mut lab = short(true);
    lab.cruise(100);
    lab.bbr.bounds.inflight_hi = 100;
    let mode = marked(&mut lab, 100, 10);
    assert_eq!(mode, Mode::Cruise, "noted at the end of the ACK");
    assert_eq!(lab.round(100), Mode::Refill);
    // 2^5 of the first round are the largest power of two in half of the bound.
    assert_eq!(lab.round(100), Mode::Up);
    lab.v.is_cwnd_limited = true;
    lab.w.cwnd = 100;
    lab.round(64);
    assert!(lab.bbr.bounds.inflight_hi >= 100 + 64 / 3, "{}", lab.bbr.bounds.inflight_hi);
}

#[test]
fn it_needs_marks_one_by_one_only_where_they_count() {
    let needs = |word: &str, low: bool| {
        let given = serde_json::json!({"variant": word, "ecn_low": low});
        let p = Parameters::resolve(CONTROL.parameters, &[], given.as_object().unwrap()).unwrap();
        Bbr3::new(&p).needs().ecn
    };
    assert_eq!([needs("google", true), needs("google", false), needs("draft", true)], [true, false, false]);
}
