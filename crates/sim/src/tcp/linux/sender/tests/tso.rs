//! A sender with TSO and single packets of a peer that the test plays: its skbs, where their PSH bits are, and what they are charged.

use crate::packet::MSS;
use crate::segment::{flags, Segment};
use crate::tcp::common::layout::tests::bulk_flow;
use crate::tcp::linux::sender::tests::packets::{ack, connected, shown, transfer, wait};
use crate::tcp::linux::sender::tests::Pair;

/// A connected sender on a host with TSO and a send buffer of so many bytes, and what it sent.
fn offloading(sndbuf: u64, window: u32) -> (Pair, Vec<Segment>) {
    let mut spec = bulk_flow();
    (spec.host.tso, spec.host.sndbuf) = (true, Some(sndbuf));
    connected(&spec, window)
}

/// The segments with the PSH bit.
fn pushed(sent: &[(u32, u32, u16)]) -> Vec<u32> {
    sent.iter().filter(|p| p.2 & flags::PSH != 0).map(|p| p.0).collect()
}

/// How many heads the send buffer is charged, and how many bytes of payload.
fn charged(pair: &mut Pair) -> (u64, u64) {
    let charged = pair.s.charged_for_skbs();
    let written = pair.s.skbs.written() - pair.s.layout.before(pair.s.view.snd_una);
    ((charged - written) / pair.s.buffer.head(), written)
}

#[test]
fn skbs_are_filled_as_long_as_less_than_the_buffer_is_charged() {
    let (mut pair, sent) = offloading(100_000, 100 * MSS);
    assert_eq!(sent.len(), 10);
    // Each write of the full buffer leaves an skb that was cut, which the next write fills up without asking for room.
    let (heads, written) = charged(&mut pair);
    assert_eq!(heads, pair.s.skbs.count());
    assert!(written + heads * pair.s.buffer.head() >= 100_000);
    assert_eq!(pair.s.skbs.tail_len(), Some(u64::from(45 * MSS)), "the last skb is full");
}

#[test]
fn a_psh_bit_stays_at_the_end_of_its_skb() {
    let (mut pair, sent) = offloading(100_000, 1000 * MSS);
    let sent = shown(&sent);
    assert_eq!(pushed(&sent).len(), pair.s.skbs.outstanding(), "GSO puts it into the last segment");
    let sent = ack(&mut pair, 3, 1000 * MSS);
    assert_eq!((sent.len(), pushed(&sent)), (4, vec![14]), "the window is 12 then");
    pair.s.window.cwnd = pair.s.view.packets_out + 1;
    pair.s.write(&mut pair.out, false);
    assert!(pushed(&shown(&pair.out.take_sent())).is_empty(), "one that was cut off has none");
}

#[test]
fn a_transfer_that_a_small_window_cuts_apart_has_one_psh_bit() {
    let mut spec = transfer(1426);
    spec.host.tso = true;
    let (_, sent) = connected(&spec, 2816);
    assert_eq!(shown(&sent), [(1, 1408, 0), (2, 18, flags::PSH), (3, 0, flags::FIN)]);
}

#[test]
fn blocks_cut_skbs_apart_and_join_what_is_sacked() {
    let (mut pair, _) = offloading(1_000_000, 1000 * MSS);
    let heads = |pair: &mut Pair, blocks: &[(u32, u32)]| {
        pair.ack(1, blocks);
        pair.s.skbs.forget(1);
        (1..11).filter(|&seq| pair.s.skbs.around(seq).is_some_and(|skb| skb.start == seq)).collect::<Vec<_>>()
    };
    assert_eq!(heads(&mut pair, &[]), [1, 3, 5, 7, 9]);
    assert_eq!(heads(&mut pair, &[(2, 3)]), [1, 2, 3, 5, 7, 9], "the second half of the first");
    assert_eq!(heads(&mut pair, &[(2, 4)]), [1, 2, 4, 5, 7, 9], "the first half of the second goes over");
    assert_eq!(heads(&mut pair, &[(6, 7), (2, 4)]), [1, 2, 4, 5, 6, 7, 9]);
    assert_eq!(heads(&mut pair, &[(2, 7)]), [1, 2, 7, 9], "the hole, and what is behind it");
}

#[test]
fn a_timeout_sends_one_segment_of_the_first_skb() {
    let (mut pair, _) = offloading(1_000_000, 1000 * MSS);
    pair.s.stack.tail_loss_probe = false;
    pair.s.rearm_rto(&mut pair.out);
    let heads = charged(&mut pair).0;
    assert_eq!(wait(&mut pair), [(1, MSS, 0)]);
    assert_eq!(charged(&mut pair).0, heads + 1);
}

#[test]
fn one_segment_behind_two_waits_until_the_device_has_these() {
    let (mut pair, _) = offloading(1_000_000, 1000 * MSS);
    assert!(pair.s.small_queue.is_empty(), "a process has sent all there is");
    pair.s.window.cwnd = 13;
    assert_eq!(pair.s.write(&mut pair.out, false), 2);
    pair.s.let_device_take(&mut pair.out);
    assert_eq!(pair.s.view.packets_out, 13);
}
