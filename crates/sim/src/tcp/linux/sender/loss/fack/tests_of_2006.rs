//! Differences of Linux 2.6.18, step by step as its net/ipv4/tcp_input.c has it. The segments leave at 1020 ms.

use serde_json::{json, Value};

use super::tests::Rig;
use crate::cc::{AnyCc, BoxedControl, CaState, CongestionControl, RateSample, View, Window};
use crate::segment::flags;
use crate::time::{MS, US};

/// A sender of `segments`, just connected over a path of 20 ms with a window of ten segments unless the options have another.
fn rig(segments: u32, options: Value) -> Rig {
    let mut all = json!({"initial_cwnd": 10});
    all.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    let mut rig = Rig::begun("linux-2.6", segments, all);
    rig.receive(1020, 1, &[], 1000, flags::SYN);
    // The first ACK after the SYN-ACK is no duplicate.
    rig.receive(1020, 1, &[], 1000, 0);
    rig
}

#[test]
fn each_second_ack_takes_a_segment_off_and_none_leaves_more_than_is_in_flight_and_one() {
    // tcp_cwnd_down. Segments 1 to 4 of ten are lost, the others are SACKed one by one.
    let mut r = rig(100, json!({}));
    let mut step = |ms, last| (r.ack(ms, 1, &[(5, last)]), r.s.window.cwnd, r.s.view.in_flight());
    assert_eq!(
        step(1040, 6),
        (vec![1], 8, 8),
        "10 - 1 SACKed - 2 lost are in flight: 7 and one, of which the first retransmission is one"
    );
    assert_eq!(step(1041, 7), (vec![2], 7, 7));
    assert_eq!(step(1042, 8), (vec![3], 6, 6));
    assert_eq!(step(1043, 9), (vec![], 5, 5), "5 and one would be 6, but it is a second ACK");
    assert_eq!(step(1044, 10), (vec![4], 5, 5));
    assert_eq!(step(1045, 11), (vec![], 4, 4), "below the threshold of 5: only half of that is Reno's least");
    assert_eq!((r.s.window.ssthresh, r.s.view.state), (5, CaState::Recovery));
    assert_eq!(r.ack(1060, 2, &[(5, 11)]), [11], "new data for the segment that is acknowledged");
}

#[test]
fn after_recovery_a_round_trip_is_disorder_and_slow_start_makes_up_for_the_threshold() {
    let mut r = rig(100, json!({}));
    r.ack(1040, 1, &[(5, 6)]);
    (7..=11).for_each(|last| drop(r.ack(1034 + u64::from(last), 1, &[(5, last)])));
    r.ack(1060, 2, &[(5, 11)]);
    assert_eq!(r.ack(1061, 11, &[]), [12, 13, 14], "tcp_complete_cwr: the least of window and threshold, 4 and 5");
    assert_eq!((r.s.view.state, r.s.window.cwnd, r.s.rec.end()), (CaState::Disorder, 4, 12));
    r.ack(1080, 12, &[]);
    assert_eq!((r.s.view.state, r.s.window.cwnd), (CaState::Disorder, 5), "not before something above is acknowledged");
    r.ack(1081, 13, &[]);
    assert_eq!((r.s.view.state, r.s.window.cwnd), (CaState::Open, 6), "slow start at the threshold, too");
}

#[test]
fn what_a_burst_of_losses_takes_from_the_flight_it_takes_from_the_window() {
    let mut r = rig(200, json!({"initial_cwnd": 40}));
    assert_eq!(r.ack(1040, 1, &[(21, 41)]), [1]);
    assert_eq!((r.s.window.cwnd, r.s.window.ssthresh), (1, 20), "20 SACKed and 20 lost of 40: none in flight, and one");
    assert_eq!(r.ack(1060, 2, &[(21, 41)]), [2], "one a round trip");
    let mut halved = rig(200, json!({"initial_cwnd": 40, "cwnd_reduction": "prr"}));
    assert!(halved.ack(1040, 1, &[(21, 41)]).len() > 10, "PRR answers with what was delivered");
}

#[test]
fn the_least_window_is_the_controls() {
    for (cc, least) in [("reno", 10), ("bic", 31), ("cubic", 31), ("htcp", 20), ("veno", 32), ("scalable", 17)] {
        let mut r = rig(200, json!({"initial_cwnd": 40}));
        (r.s.cc, _) =
            crate::cc::build(cc, &serde_json::Map::new(), &r.s.stack.control_parameters(), |_, _| None).unwrap();
        r.s.cc.init(&r.s.view, &mut r.s.window);
        r.s.window.ssthresh = r.s.cc.ssthresh(&r.s.view, &r.s.window);
        assert_eq!(r.s.cc.least_cwnd(&r.s.view, &r.s.window), least, "{cc}");
    }
}

#[test]
fn an_undo_leaves_a_burst_and_the_threshold_as_it_was() {
    // tcp_undo_cwr: nothing is in flight any more, and three may go at once.
    let mut r = rig(100, json!({}));
    r.ack(1040, 1, &[(5, 6)]);
    assert_eq!((r.s.window.cwnd, r.s.window.ssthresh), (8, 5));
    assert_eq!(r.receive(1045, 11, &[], 1020, 0), [11, 12, 13]);
    assert_eq!((r.s.window.cwnd, r.s.counters.undos), (3, 1));
    assert!(r.s.window.ssthresh > 1000);
}

#[test]
fn congestion_without_a_loss_bounds_the_window_at_once_and_halves_it() {
    // tcp_enter_cwr, and tcp_cwnd_down from tcp_try_to_open.
    let mut r = rig(100, json!({}));
    r.s.window.cwnd = 12;
    r.s.enter_cwr();
    assert_eq!((r.s.window.cwnd, r.s.window.ssthresh), (11, 6));
    let mut step = |ms, ack| (r.ack(ms, ack, &[]), r.s.window.cwnd);
    assert_eq!(step(1040, 2), (vec![11], 10));
    assert_eq!(step(1041, 3), (vec![], 9));
    assert_eq!(step(1042, 4), (vec![12], 9));
    assert_eq!(step(1043, 5), (vec![], 8));
    assert_eq!(step(1044, 11), (vec![13], 3), "6 at once: two of 8 are left in flight");
    assert_eq!(r.s.view.state, CaState::Cwr, "until something above is acknowledged");
    r.ack(1061, 12, &[]);
    assert_eq!(r.s.view.state, CaState::Open);
}

#[test]
fn only_what_was_out_when_recovery_began_is_marked() {
    let mut r = rig(100, json!({"initial_cwnd": 20}));
    r.ack(1040, 1, &[(2, 6)]);
    for last in 7..=21 {
        r.ack(1034 + u64::from(last), 1, &[(2, last)]);
    }
    let nxt = r.s.view.snd_nxt;
    assert!(nxt > 26, "{nxt}");
    r.ack(1062, 1, &[(2, 21), (25, nxt)]);
    assert_eq!(r.lost(), [1], "21 to 24 lie four and more below, but were sent since");
    let mut all = rig(100, json!({"initial_cwnd": 20, "loss_marking": "all"}));
    all.ack(1040, 1, &[(2, 6)]);
    (7..=21).for_each(|last| drop(all.ack(1034 + u64::from(last), 1, &[(2, last)])));
    all.ack(1062, 1, &[(2, 21), (25, nxt)]);
    assert!(all.lost().len() > 1);
}

#[test]
fn without_fack_the_distance_begins_recovery_and_the_first_segment_is_lost_until_something_new_is_sacked() {
    let mut r = rig(100, json!({"loss_detection": "sack"}));
    r.ack(1040, 1, &[(8, 10)]);
    assert_eq!((r.s.view.state, r.lost()), (CaState::Recovery, vec![1]));
    assert_eq!(r.ack(1041, 1, &[(7, 11)]), [11], "10 - 4 - 1 + 1 in flight, and one");
    assert_eq!(r.lost(), [1]);
    r.ack(1061, 1, &[(7, 12)]);
    assert_eq!(r.lost(), [1, 2, 3, 4, 5, 6], "FLAG_DATA_LOST: what lies more than three below");
}

/// Segment 1 of 20 is lost, and its retransmission; all others arrive, and the first one sent since. Returns what that ACK lets out.
fn lost_again(r: &mut Rig) -> Vec<u32> {
    assert_eq!(r.ack(1040, 1, &[(2, 6)]), [1]);
    for last in 7..=21 {
        r.ack(1034 + u64::from(last), 1, &[(2, last)]);
    }
    r.ack(1062, 1, &[(2, 22)])
}

#[test]
fn a_lost_retransmission_is_not_missed_while_only_the_first_block_grows() {
    let mut r = rig(100, json!({"initial_cwnd": 20}));
    assert!(!lost_again(&mut r).contains(&1));
    assert!(
        r.ack(1063, 1, &[(23, 24), (2, 22)]).contains(&1),
        "another hole: all is walked, and 1 is before what was sent after it"
    );
    let mut every = rig(100, json!({"initial_cwnd": 20, "lost_retransmissions": "every-sack"}));
    assert!(lost_again(&mut every).contains(&1));
}

#[test]
fn a_lost_retransmission_without_another_hole_costs_a_timeout() {
    let mut r = rig(100, json!({"initial_cwnd": 20}));
    lost_again(&mut r);
    for last in 23..r.s.view.snd_nxt {
        r.ack(1041 + u64::from(last), 1, &[(2, last)]);
    }
    let (ms, sent) = r.timer();
    assert_eq!((sent, r.s.view.state), (vec![1], CaState::Loss));
    assert_eq!(ms, 1260, "set with the retransmission at 1040, 20 + 200 ms");
}

#[test]
fn an_ack_raises_the_window_if_that_was_full() {
    // tcp_is_cwnd_limited: without TSO nothing may be unused.
    for (segments, cwnd) in [(10, 11), (9, 10)] {
        let mut r = rig(segments, json!({}));
        r.ack(1040, 3, &[]);
        assert_eq!(r.s.window.cwnd, cwnd);
    }
}

#[test]
fn reordering_is_seen_by_sacks_alone() {
    // tcp_clean_rtx_queue says nothing about it.
    for (options, degree) in [(json!({}), 3), (json!({"reordering_by_ack": true}), 9)] {
        let mut r = rig(100, options);
        r.ack(1040, 1, &[(8, 11)]);
        r.receive(1041, 11, &[], 1020, 0);
        assert_eq!(r.s.reordering.degree(), degree);
    }
}

#[test]
fn an_ack_that_others_have_overtaken_marks_nothing() {
    let mut r = rig(100, json!({}));
    r.ack(1040, 2, &[]);
    r.ack(1041, 1, &[(6, 11)]);
    assert_eq!((r.s.view.state, r.s.view.sacked_out), (CaState::Open, 5));
}

#[test]
fn timers_fire_in_their_tick_and_a_syn_waits_for_three_seconds() {
    let mut r = rig(100, json!({}));
    assert_eq!(r.timer(), (1240, vec![1]));
    assert_eq!((r.s.view.state, r.s.window.cwnd, r.lost().len()), (CaState::Loss, 1, 10), "no F-RTO");
    assert_eq!(r.timer().0, 1680);
    let mut r = Rig::begun("linux-2.6", 100, json!({}));
    for at in [4000, 10_000, 22_000] {
        let (time, _) = r.out.next_timer().unwrap();
        assert_eq!(time / MS, at);
        r.out.now = time;
        r.s.on_timer(&mut r.out);
    }
}

#[test]
fn a_connection_begins_with_two_segments() {
    let mut r = Rig::begun("linux-2.6", 100, json!({}));
    r.sent();
    assert_eq!(r.receive(1020, 1, &[], 1000, flags::SYN), [1, 2]);
}

#[test]
fn with_tso_a_sender_waits_for_a_third_of_the_window_however_long() {
    // tcp_tso_should_defer.
    for (tso_defer, later, out) in [("third", 0, 12), ("two-ticks", 3, 9)] {
        let options = json!({"tso_defer": tso_defer, "tso_grow": false, "initial_cwnd": 10});
        let mut r = Rig::begun_on("linux-2.6", 100, options, true);
        r.receive(1020, 1, &[], 1000, flags::SYN);
        assert_eq!((r.ack(1040, 3, &[]), r.s.window.cwnd), (vec![], 11), "3 of 11 are free");
        r.out.now = 1050 * MS;
        r.s.refresh(r.out.now);
        assert_eq!(r.s.write(&mut r.out, false), later, "{tso_defer}");
        r.ack(1051, 5, &[]);
        assert_eq!(r.s.view.in_flight(), out, "{tso_defer}: 5 are free, or only the 2 acknowledged");
    }
}

#[test]
fn a_control_that_asks_is_told_round_trips_in_microseconds() {
    for (rtt_stamps, told) in [(false, 20_000), (true, 20_400)] {
        let mut r = rig(100, json!({}));
        r.s.needs.rtt_stamps = rtt_stamps;
        r.s.cc = AnyCc::Boxed(Box::new(Told));
        r.out.now = 1_040_400 * US;
        let p = r.out.ack_packet(2, &[], 1020, 0);
        r.s.on_ack(&p, &mut r.out);
        assert_eq!(r.s.window.ssthresh, told, "kept there for the test");
        assert_eq!(r.s.rtt.last_us(), 20_000);
    }
}

/// Writes down the RTT that it is told.
#[derive(Debug)]
struct Told;

impl BoxedControl for Told {}

impl CongestionControl for Told {
    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        w.cwnd
    }

    fn cong_avoid(&mut self, _: &View, _: &mut Window, _: u32) {}

    fn pkts_acked(&mut self, _: &View, w: &mut Window, s: &RateSample) {
        w.ssthresh = s.rtt_us as u32;
    }
}
