//! A sender that is called: SYNs that come again, and what follows from SYN-ACKs that were retransmitted.

use crate::packet::ACK_FRAME;
use crate::segment::{flags, Segment};
use crate::tcp::common::layout::tests::bulk_flow;
use crate::tcp::linux::sender::tests::packets::sender;
use crate::tcp::linux::sender::tests::Pair;
use crate::time::MS;

/// A packet of the peer that opens: its SYN, or what follows the SYN-ACK. What the sender answers.
fn hear(pair: &mut Pair, ms: u64, tsval: u32, flags: u16) -> Vec<Segment> {
    pair.out.now = ms * MS;
    let p = Segment { tsval, ..pair.out.ack_packet(1, &[], 0, flags) };
    pair.s.on_ack(&p, &mut pair.out);
    pair.out.take_sent()
}

const SYN: u16 = flags::SYN | flags::HANDSHAKE;

#[test]
fn a_syn_that_comes_again_is_answered_twice_a_second() {
    let mut pair = sender(&bulk_flow());
    let answers: Vec<usize> = (0..1000).step_by(10).map(|ms| hear(&mut pair, ms, 500, SYN).len()).collect();
    assert_eq!(answers.iter().sum::<usize>(), 3, "the first SYN, the one after it, and the one half a second later");
    assert_eq!((answers[0], answers[1], answers[51]), (1, 1, 1));
}

#[test]
fn the_window_is_one_segment_if_two_syn_acks_were_sent_again_and_a_timeout_was_among_them() {
    let window = |timeout: bool| {
        let mut pair = sender(&bulk_flow());
        hear(&mut pair, 0, 500, SYN);
        hear(&mut pair, 10, 510, SYN);
        if timeout {
            pair.out.now = pair.out.timer(0);
            pair.s.on_timer(&mut pair.out);
            assert_eq!(pair.out.take_sent().len(), 1);
        } else {
            hear(&mut pair, 600, 1100, SYN);
        }
        hear(&mut pair, 1500, 2000, 0);
        pair.s.window.cwnd
    };
    assert_eq!((window(true), window(false)), (1, 10));
}

#[test]
fn what_follows_the_syn_ack_is_not_heard_if_it_is_older_than_the_syn() {
    let mut pair = sender(&bulk_flow());
    hear(&mut pair, 0, 500, SYN);
    let answers = hear(&mut pair, 20, 499, 0);
    assert_eq!(answers.iter().map(|p| (p.seq, p.len, p.tsecr)).collect::<Vec<_>>(), [(1, ACK_FRAME as u16, 500)]);
    assert!(hear(&mut pair, 30, 499, 0).is_empty(), "not too often");
    assert_eq!(hear(&mut pair, 40, 500, 0).len(), 10);
}

#[test]
fn a_syn_ack_that_was_sent_again_explains_a_duplicate() {
    let window = |again: bool| {
        let mut pair = sender(&bulk_flow());
        hear(&mut pair, 0, 500, SYN);
        if again {
            hear(&mut pair, 10, 510, SYN);
        }
        hear(&mut pair, 20, 520, 0);
        let p = Segment { tsval: 540, ..pair.out.ack_packet(3, &[(2, 3)], 20, 0) };
        pair.s.on_ack(&p, &mut pair.out);
        pair.s.view.delivered
    };
    assert_eq!((window(true), window(false)), (4, 3));
}
