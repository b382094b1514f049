//! Rules of Prague, step by step.

use serde_json::{json, Map};

use super::*;
use crate::cc::Growth;

const RTT_US: u32 = 10_000;

fn prague(given: &serde_json::Value) -> (Prague, View, Window) {
    let p = Parameters::resolve(CONTROL.parameters, &[], given.as_object().unwrap_or(&Map::new())).unwrap();
    let (mut v, mut w) = (View::new(1000, Growth::Segments, false), Window::new(100, 100));
    (v.srtt_us8, v.is_cwnd_limited, v.mss, v.snd_nxt) = (8 * RTT_US, true, 1448, 100);
    let mut control = Prague::new(&p);
    control.init(&v, &mut w);
    (control, v, w)
}

/// One round of a window of 100 segments, of which `marked` have a mark.
fn round(c: &mut Prague, v: &mut View, w: &mut Window, marked: u32) {
    if marked > 0 {
        c.on_event(v, w, Event::State(CaState::Cwr));
    }
    v.mstamp_us += u64::from(RTT_US);
    (v.delivered, v.delivered_ce) = (v.delivered + 100, v.delivered_ce + marked);
    v.snd_una = v.snd_nxt;
    v.snd_nxt += 100;
    c.cong_control(v, w, &RateSample { delivered: 100, rtt_us: RTT_US.into(), ..RateSample::default() });
}

/// The window with its fraction, segments.
fn segments(c: &Prague) -> f64 {
    c.frac_cwnd as f64 / ONE as f64
}

#[test]
fn the_first_mark_halves_and_the_window_follows_by_one_segment_an_ack() {
    let (mut c, mut v, mut w) = prague(&json!({}));
    round(&mut c, &mut v, &mut w, 1);
    let window = segments(&c);
    assert!((window - (50.0 + 99.0 / 50.0)).abs() < 0.02, "half, and the growth for 99 unmarked segments: {window}");
    assert_eq!((w.cwnd, w.ssthresh), (99, 99));
    round(&mut c, &mut v, &mut w, 0);
    assert_eq!(w.cwnd, 98);
}

#[test]
fn version_0_6_begins_with_a_share_of_1() {
    let (mut c, mut v, mut w) = prague(&json!({"version": "0.6"}));
    assert_eq!(c.alpha(), MAX_ALPHA);
    round(&mut c, &mut v, &mut w, 1);
    let window = segments(&c);
    assert!(
        (window - (50.0 + 99.0 / 100.0)).abs() < 0.02,
        "half, and the growth by the window for 99 unmarked: {window}"
    );
    assert_eq!((w.cwnd, w.ssthresh), (99, 99));
}

#[test]
fn the_window_of_version_0_6_is_whole_and_at_least_2() {
    let (mut c, mut v, mut w) = prague(&json!({"version": "0.6"}));
    (w.cwnd, w.ssthresh, c.frac_cwnd) = (3, 3, 3 << FRACTION);
    c.reduce_window_by(MAX_ALPHA, 3 << FRACTION);
    c.carry_to_window(&mut w);
    assert_eq!((w.cwnd, segments(&c)), (2, 1.5), "the carry is half a segment");
    c.reduce_window_by(MAX_ALPHA, 2 << FRACTION);
    c.carry_to_window(&mut w);
    assert_eq!((w.cwnd, segments(&c)), (2, 2.0), "the carry is lost at the least window");
    v.srtt_us8 = 8 * 10_000;
    c.set_pacing_rate(&v, &mut w);
    assert_eq!(w.pacing_rate, 2 * 1500 * 100, "the whole window paces");
}

#[test]
fn a_classic_queue_is_answered_as_by_reno() {
    let (mut c, mut v, mut w) = prague(&json!({"fallback": "on"}));
    v.min_rtt_us = RTT_US;
    c.ssthresh(&v, &Window { ssthresh: 100, ..w });
    c.saw_ce = true;
    for i in 0..400 {
        for j in 0..100 {
            let sample = RateSample { rtt_us: i64::from(RTT_US) + 120 * j, ..RateSample::default() };
            c.pkts_acked(&v, &mut w, &sample);
        }
        round(&mut c, &mut v, &mut w, u32::from(i % 20 == 0));
    }
    let mut told = 0.0;
    c.state(&v, &w, &mut |name, value| {
        if name == "classic" {
            told = value;
        }
    });
    assert_eq!(told, 1.0);
    assert!(c.alpha() < MAX_ALPHA / 20, "few packets are marked");
    let before = segments(&c);
    c.on_event(&v, &mut w, Event::State(CaState::Cwr));
    assert!((segments(&c) / before - (1.0 - 0.625 / 2.0)).abs() < 0.01, "5/8 of a half");
}

#[test]
fn the_share_of_marks_tends_to_what_is_marked() {
    let (mut c, mut v, mut w) = prague(&json!({"rtt_independence": false}));
    for _ in 0..300 {
        round(&mut c, &mut v, &mut w, 25);
    }
    let share = c.alpha() as f64 / MAX_ALPHA as f64;
    assert!((share - 0.25).abs() < 0.001, "{share}");
}

#[test]
fn a_segment_without_a_mark_grows_the_window_by_the_square_of_the_rtt() {
    let grown = |given: serde_json::Value| {
        let (mut c, mut v, mut w) = prague(&given);
        c.rounds = 10;
        let before = c.frac_cwnd;
        round(&mut c, &mut v, &mut w, 0);
        (c.frac_cwnd - before) as f64 / ONE as f64
    };
    assert!((grown(json!({"rtt_independence": false})) - 1.0).abs() < 0.01);
    assert!((grown(json!({})) - 0.16).abs() < 0.01, "(10 ms / 25 ms)^2");
}

#[test]
fn marked_segments_grow_nothing() {
    let (mut c, mut v, mut w) = prague(&json!({}));
    round(&mut c, &mut v, &mut w, 1);
    let before = c.frac_cwnd;
    round(&mut c, &mut v, &mut w, 100);
    assert!(c.frac_cwnd <= before);
}

#[test]
fn a_loss_halves_once_until_the_state_is_open() {
    let (mut c, v, mut w) = prague(&json!({}));
    c.on_event(&v, &mut w, Event::State(CaState::Recovery));
    c.on_event(&v, &mut w, Event::Loss);
    assert_eq!(c.frac_cwnd >> FRACTION, 50);
    assert_eq!(c.undo_cwnd(&v, &w), 100);
    c.on_event(&v, &mut w, Event::State(CaState::Open));
    assert!(!c.in_loss);
}

#[test]
fn a_window_of_up_to_four_segments_with_marks_is_steered_by_the_rate() {
    let steers_rate = |given: serde_json::Value, window: u64| {
        let (mut c, mut v, mut w) = prague(&given);
        (c.saw_ce, c.frac_cwnd) = (true, window << FRACTION);
        v.delivered += 1;
        c.cong_control(&v, &mut w, &RateSample { delivered: 1, rtt_us: RTT_US.into(), ..RateSample::default() });
        c.steers_rate
    };
    assert_eq!([1, 4, 5].map(|window| steers_rate(json!({}), window)), [true, true, false]);
    assert!(!steers_rate(json!({"version": "0.6"}), 1));
}
