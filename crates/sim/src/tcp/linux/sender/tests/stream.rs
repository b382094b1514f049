//! The sender of a stream of writes against a peer that the test plays.

use crate::cc::{AnyCc, Needs, Reno};
use crate::outbox::LoneOutbox;
use crate::packet::{HEADERS, MSS};
use crate::tcp::common::layout::tests::bulk_flow;
use crate::tcp::linux::sender::tests::Pair;
use crate::tcp::linux::sender::{Sender, SOURCES};
use crate::tcp::linux::stack::Stack;
use crate::time::MS;

/// A sender whose application has written nothing yet.
fn idle() -> Pair {
    let spec = bulk_flow();
    let stack = Stack::from_spec(&spec.stack).unwrap();
    let s = Sender::new(0, 0, &spec, stack, AnyCc::Reno(Reno), Needs::default()).streaming();
    let mut pair = Pair::of(s, LoneOutbox::new(SOURCES));
    pair.connect();
    pair.out.take_sent();
    pair
}

fn write(pair: &mut Pair, bytes: u32) {
    pair.s.append(u64::from(bytes), &mut pair.out);
}

/// Payloads of what was sent, bytes.
fn sent(pair: &mut Pair) -> Vec<u32> {
    pair.out.take_sent().iter().map(|p| u32::from(p.len) - HEADERS).collect()
}

#[test]
fn a_small_segment_behind_a_full_one_waits_for_the_device_and_grows_twice() {
    let mut pair = idle();
    write(&mut pair, 14 * MSS);
    assert_eq!(sent(&mut pair), [MSS; 10]);
    pair.s.cut_unsent(12, 60);
    pair.s.cut_unsent(13, 40);
    pair.ack(5, &[]);
    // With 60 bytes and the 40 behind them it would have gone at once.
    assert_eq!(sent(&mut pair), [MSS, MSS, MSS, MSS]);
}

#[test]
fn both_parts_of_a_segment_that_a_probe_of_the_window_cuts_have_the_push_bit() {
    let mut pair = idle();
    write(&mut pair, 14 * MSS);
    pair.s.stream.window_end = pair.s.begins_at(11) + 100;
    assert!(pair.s.cut_to_window(&pair.out));
    assert_eq!(pair.s.layout.payload(11), 100);
    let pushed: Vec<u32> = (9..16).filter(|&seq| pair.s.buffer.is_pushed(seq)).collect();
    assert_eq!(pushed, [11, 12, 15], "and the end of the write");
}

#[test]
fn the_window_decays_by_what_is_out_when_the_first_segment_of_a_write_goes() {
    let mut pair = idle();
    write(&mut pair, 10 * MSS);
    pair.ack(11, &[]);
    assert_eq!(pair.s.window.cwnd, 20);
    pair.out.now += 150 * MS;
    write(&mut pair, 34);
    pair.out.now += 100 * MS;
    write(&mut pair, 13 * MSS);
    // That is hardly more than nothing, and the initial window counts at least: (20 + 10) / 2.
    assert_eq!(pair.s.window.cwnd, 15);
}

#[test]
fn a_segment_of_which_a_copy_is_before_the_device_is_not_joined() {
    let collapsed = |later: u64| {
        let mut pair = idle();
        pair.s.nodelay = true;
        [100, 200].into_iter().for_each(|bytes| write(&mut pair, bytes));
        sent(&mut pair);
        pair.out.now += later;
        pair.s.refresh(pair.out.now);
        assert_eq!(pair.s.refit(1, &pair.out), Some(1));
        pair.s.layout.payload(1)
    };
    assert_eq!([collapsed(0), collapsed(20 * MS)], [100, 300]);
}
