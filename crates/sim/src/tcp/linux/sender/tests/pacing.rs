//! Departure times of a paced sender, at a peer that the test plays.

use proptest::prelude::*;
use serde_json::{json, Value};

use crate::cc::{AnyCc, BoxedControl, CongestionControl, Needs, View, Window};
use crate::outbox::HostQueue;
use crate::outbox::LoneOutbox;
use crate::segment::{flags, Segment};
use crate::spec::TcpSpec;
use crate::tcp::common::layout::tests::bulk_flow;
use crate::tcp::linux::options::LossDetection;
use crate::tcp::linux::sender::tests::Pair;
use crate::tcp::linux::sender::{Sender, SOURCES};
use crate::tcp::linux::stack::Stack;
use crate::time::{Time, MS, NEVER, SEC, US};

/// Event source of pacing.
const DEPARTURE: usize = 1;

/// A window of a fixed size.
#[derive(Debug)]
struct Fixed(u32);

impl CongestionControl for Fixed {
    fn init(&mut self, _: &View, w: &mut Window) {
        w.cwnd = self.0;
    }
    fn ssthresh(&mut self, _: &View, _: &Window) -> u32 {
        self.0
    }
    fn cong_avoid(&mut self, _: &View, _: &mut Window, _: u32) {}
}

impl BoxedControl for Fixed {}

/// At most a segment a millisecond; the handshake is done at 20 ms.
fn paced(cwnd: u32, tso: bool) -> Pair {
    let mut spec = bulk_flow();
    spec.host.tso = tso;
    paced_as(spec, cwnd)
}

/// The same with options of the stack.
fn paced_on(options: Value, cwnd: u32) -> Pair {
    let Value::Object(options) = options else { panic!("options") };
    let mut spec = bulk_flow();
    spec.stack.options = options;
    paced_as(spec, cwnd)
}

/// The same where losses are found by counting.
fn paced_by_count(cwnd: u32) -> Pair {
    paced_on(json!({"loss_detection": "fack", "frto": "off", "tail_loss_probe": false}), cwnd)
}

fn paced_as(mut spec: TcpSpec, cwnd: u32) -> Pair {
    spec.host.max_pacing_bps = Some(8 * 1448 * 1000);
    let stack = Stack::from_spec(&spec.stack).unwrap();
    let cc = AnyCc::Boxed(Box::new(Fixed(cwnd)));
    let mut pair = Pair::of(Sender::new(0, 0, &spec, stack, cc, Needs::NOTHING), LoneOutbox::new(SOURCES));
    pair.connect();
    pair
}

fn data(pair: &mut Pair) -> Vec<u32> {
    let sent = pair.out.take_sent();
    sent.iter().filter(|p: &&Segment| !p.has(flags::SYN | flags::HANDSHAKE)).map(|p| p.seq).collect()
}

/// Lets the timer of pacing fire until it is not set; says what left when, us.
fn departures(pair: &mut Pair) -> Vec<(Time, u32)> {
    let mut found = vec![];
    while pair.out.timer(DEPARTURE) != NEVER {
        pair.out.now = pair.out.timer(DEPARTURE);
        pair.s.on_departure_timer(&mut pair.out);
        found.extend(data(pair).into_iter().map(|seq| (pair.out.now / US, seq)));
    }
    found
}

#[test]
fn ten_segments_leave_at_once_and_then_one_a_millisecond_until_the_window_is_full() {
    let mut pair = paced(14, false);
    assert_eq!(data(&mut pair), (1..=10).collect::<Vec<_>>());
    assert_eq!(departures(&mut pair), [(21_000, 11), (22_000, 12), (23_000, 13), (24_000, 14)]);
    // The timer went on once more, as the window is looked at after it. An ACK for three 20 ms later: one goes at once, and the next one after
    // half a millisecond, as the sender has been idle.
    assert_eq!(pair.out.now, 25 * MS);
    pair.ack(4, &[]);
    assert_eq!(data(&mut pair), [15]);
    assert_eq!(departures(&mut pair), [(45_500, 16), (46_500, 17)]);
}

#[test]
fn an_ack_before_the_departure_time_lets_nothing_go() {
    let mut pair = paced(11, false);
    data(&mut pair);
    pair.out.now -= 20 * MS - 400 * US;
    pair.ack(2, &[]);
    assert_eq!((data(&mut pair), pair.out.now), (vec![], 20 * MS + 400 * US));
    assert_eq!(departures(&mut pair), [(21_000, 11), (22_000, 12)]);
}

#[test]
fn what_is_lost_waits_as_well() {
    for mut pair in [paced(14, false), paced_by_count(14)] {
        data(&mut pair);
        departures(&mut pair);
        // Three segments are missing, and what was sent with them has come.
        pair.ack(1, &[(4, 15)]);
        let how = pair.s.stack.loss_detection;
        assert_eq!((pair.s.view.lost_out, data(&mut pair)), (3, vec![1]), "{how:?}");
        // At the rate of the window now, which is less than the most. Where losses are counted it is only set once the first one has left.
        let takes_ns = 1448 * SEC / pair.s.window.pacing_rate;
        let first_ns = if how == LossDetection::Rack { takes_ns } else { MS };
        let times = [first_ns / 2, first_ns / 2 + takes_ns].map(|ns| (45 * MS + ns) / US);
        assert_eq!(departures(&mut pair)[..2], [(times[0], 2), (times[1], 3)], "{how:?}");
    }
}

#[test]
fn the_rate_follows_the_window_where_losses_are_counted_too() {
    let mut pair = paced_by_count(14);
    pair.s.window.ssthresh = 14;
    pair.ack(2, &[]);
    let srtt_us8 = u64::from(pair.s.view.srtt_us8);
    assert_eq!(pair.s.window.pacing_rate, 1448 * 80_000 * 120 * 14 / srtt_us8, "120 % of 14 segments a round trip");
}

#[test]
fn a_segment_acknowledged_before_its_departure_took_no_time() {
    // The persist timer waits for two minutes at most, and sends whatever the departure time is.
    let mut pair = paced(10, false);
    data(&mut pair);
    pair.s.view.departure_ns = pair.out.now + 200 * SEC;
    pair.ack(11, &[]);
    assert!(data(&mut pair).is_empty());
    while data(&mut pair).is_empty() {
        pair.out.now = pair.out.timer(0);
        pair.s.on_timer(&mut pair.out);
    }
    assert!(pair.out.now < pair.s.board.get(11).sent_us() * US, "it is stamped with its departure");
    pair.ack(12, &[]);
    assert_eq!(pair.s.rtt.last_us(), 0);
    assert_eq!(pair.s.view.min_rtt_us, 1000, "a tick is the least");
}

#[test]
fn the_timestamp_of_a_departure_to_come_is_no_sample() {
    for mut pair in [paced_on(json!({"tail_loss_probe": false}), 10), paced_by_count(10)] {
        data(&mut pair);
        let before = pair.s.view.srtt_us8;
        pair.s.view.departure_ns = pair.out.now + 10 * SEC;
        while pair.s.counters.rto_timeouts == 0 {
            pair.out.now = pair.out.timer(0);
            pair.s.on_timer(&mut pair.out);
        }
        let stamp = pair.out.take_sent().last().unwrap().tsval;
        assert!(u64::from(stamp) > pair.out.now / MS, "{stamp}");
        let p = pair.out.ack_packet(2, &[], stamp, 0);
        pair.s.on_ack(&p, &mut pair.out);
        assert_eq!(pair.s.view.srtt_us8, before, "{:?}", pair.s.stack.loss_detection);
    }
}

#[test]
fn a_segment_is_as_late_as_the_ack_before_it_left_sooner() {
    // Two segments after a pause, the first of them 250 us after an ACK of the same end, or after none.
    let next = |ack: Option<Time>| {
        let mut pair = paced(12, false);
        let idle = pair.s.view.departure_ns.max(pair.out.now) + 50 * MS;
        if let Some(before) = ack {
            pair.s.depart_bare(idle - before);
        }
        pair.s.pace(idle, 1, 1);
        pair.s.view.departure_ns - idle
    };
    assert_eq!([next(None), next(Some(MS / 4)), next(Some(0))], [MS / 2, 3 * MS / 4, MS]);
}

#[test]
fn a_tso_segment_leaves_at_once_and_the_next_one_waits_for_all_of_it() {
    let mut pair = paced(100, true);
    let first = data(&mut pair);
    let chunk = pair.s.tso_limit();
    let left = departures(&mut pair);
    let mut times: Vec<Time> = left.iter().map(|&(time, _)| time).collect();
    times.dedup();
    assert!(chunk == 2 && first.len() >= 10 && times.len() > 2, "{chunk} {first:?} {times:?}");
    let size = |time: Time| left.iter().filter(|&&(at, _)| at == time).count() as u64;
    for pair in times.windows(2) {
        assert_eq!(pair[1] - pair[0], 1000 * size(pair[0]), "{left:?}");
    }
}

#[test]
fn timers_start_when_the_last_segment_has_left() {
    let mut pair = paced(10, false);
    data(&mut pair);
    let unpaced = pair.s.rto_ticks();
    pair.s.view.departure_ns = pair.out.now + 7 * MS + 900 * US;
    assert_eq!(pair.s.pacing_delay(pair.out.now), 7, "whole ticks");
    pair.s.rearm_rto(&mut pair.out);
    let now = u64::from(pair.s.view.jiffies);
    assert_eq!(pair.s.timer.expires(&pair.s.clock), Some(now + unpaced + 7));
}

#[test]
fn with_fq_at_the_host_segments_wait_there_and_count_from_when_they_depart() {
    let mut spec = bulk_flow();
    spec.host.max_pacing_bps = Some(8 * 1448 * 1000);
    let stack = Stack::from_spec(&spec.stack).unwrap();
    let cc = AnyCc::Boxed(Box::new(Fixed(14)));
    let mut s = Sender::new(0, 0, &spec, stack, cc, Needs::NOTHING);
    s.on_host_with_queue(HostQueue::Charges);
    s.pace_in_host();
    let mut pair = Pair::of(s, LoneOutbox::new(SOURCES));
    pair.connect();
    let mut stamps = vec![];
    loop {
        let sent: Vec<Segment> = pair.out.take_sent().into_iter().filter(|p| p.len > 100).collect();
        stamps.extend(sent.iter().map(|p| (p.seq, p.tsval)));
        // Each leaves at once, so that there is room for the next.
        let waited = sent.iter().filter(|p| pair.s.on_left_host(p)).count();
        if waited == 0 {
            break;
        }
        pair.s.on_room_in_host(&mut pair.out);
    }
    let expected: Vec<(u32, u32)> = (1..=14_u32).map(|seq| (seq, 20 + seq.saturating_sub(10))).collect();
    assert_eq!(stamps, expected, "ten at once, then one a millisecond");
    assert_eq!(pair.out.timer(DEPARTURE), NEVER, "no timer of TCP's own");
    for (seq, ms) in stamps {
        assert_eq!(pair.s.board.get(seq).sent_us(), u64::from(ms) * 1000);
    }
}

proptest! {
    /// Steps of so many us, each with an ACK that moves the cumulative point by so much and has a block so far above it, and so long.
    #[test]
    fn where_a_sender_only_waits_the_transmit_loop_would_change_nothing(
        steps in prop::collection::vec((1_u64..3000, 0_u32..4, 1_u32..6, 0_u32..4), 20..200),
    ) {
        let mut pair = paced(40, false);
        let mut waits = 0;
        for (us, acked, above, length) in steps {
            let time = pair.out.now + us * US;
            while let Some((due, timer)) = pair.out.next_timer().filter(|&(due, _)| due <= time) {
                pair.out.now = due;
                match timer {
                    DEPARTURE => pair.s.on_departure_timer(&mut pair.out),
                    _ => pair.s.on_timer(&mut pair.out),
                }
            }
            pair.out.now = time;
            let (una, nxt) = (pair.s.view.snd_una, pair.s.view.snd_nxt);
            let ack = (una + acked).min(nxt);
            let block = (ack + above, (ack + above + length).min(nxt));
            let blocks = [block].into_iter().filter(|&(start, end)| start < end).collect::<Vec<_>>();
            let p = pair.out.ack_packet(ack, &blocks, (time / MS) as u32, 0);
            pair.s.on_ack(&p, &mut pair.out);
            pair.out.take_sent();
            if pair.s.only_waits(time) {
                let before = (format!("{:?}", pair.s), pair.out.timer(DEPARTURE));
                prop_assert_eq!(pair.s.write(&mut pair.out, false), 0);
                prop_assert_eq!(before, (format!("{:?}", pair.s), pair.out.timer(DEPARTURE)));
                waits += 1;
            }
        }
        prop_assert!(waits > 0);
    }
}
