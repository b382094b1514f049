//! A sender and single packets of a peer that the test plays: windows, PSH bits, short segments, closing.

use crate::cc::{AnyCc, Needs, Reno};
use crate::outbox::LoneOutbox;
use crate::packet::{Ecn, ACK_FRAME, HEADERS, MSS};
use crate::segment::{flags, Segment};
use crate::spec::TcpSpec;
use crate::tcp::common::layout::tests::bulk_flow;
use crate::tcp::linux::sender::tests::Pair;
use crate::tcp::linux::sender::{FastPath, Sender, SOURCES};
use crate::tcp::linux::stack::Stack;
use crate::time::{MS, US};

/// The sender of a described flow.
pub(in crate::tcp::linux::sender) fn sender(spec: &TcpSpec) -> Pair {
    let stack = Stack::from_spec(&spec.stack).unwrap();
    let s = Sender::new(0, 0, spec, stack, AnyCc::Reno(Reno), Needs::default());
    Pair::of(s, LoneOutbox::new(SOURCES))
}

/// The same, connected to a receiver that offers a window of so many bytes in its SYN-ACK; and what it sent then.
pub(in crate::tcp::linux::sender) fn connected(spec: &TcpSpec, window: u32) -> (Pair, Vec<Segment>) {
    let mut pair = sender(spec);
    pair.s.connect(&mut pair.out);
    pair.out.take_sent();
    pair.out.now += 20 * MS;
    let syn_ack = Segment { window, ..pair.out.ack_packet(1, &[], 0, flags::SYN | flags::ECE) };
    pair.s.on_ack(&syn_ack, &mut pair.out);
    let sent = pair.out.take_sent().split_off(1);
    (pair, sent)
}

pub(in crate::tcp::linux::sender) fn transfer(bytes: u64) -> TcpSpec {
    TcpSpec { transfer_bytes: Some(bytes), ..bulk_flow() }
}

/// Number, payload and bits of each packet.
pub(in crate::tcp::linux::sender) fn shown(sent: &[Segment]) -> Vec<(u32, u32, u16)> {
    let bits = flags::PSH | flags::FIN | flags::CWR;
    sent.iter().map(|p| (p.seq, u32::from(p.len) - HEADERS, p.flags & bits)).collect()
}

/// An ACK that offers a window of so many bytes, and what is sent upon it.
pub(in crate::tcp::linux::sender) fn ack(pair: &mut Pair, ack: u32, window: u32) -> Vec<(u32, u32, u16)> {
    let p = Segment { window, ..pair.out.ack_packet(ack, &[], (pair.out.now / MS) as u32, 0) };
    pair.s.on_ack(&p, &mut pair.out);
    shown(&pair.out.take_sent())
}

/// Waits for the timer to do something; what it sends.
pub(in crate::tcp::linux::sender) fn wait(pair: &mut Pair) -> Vec<(u32, u32, u16)> {
    loop {
        pair.out.now = pair.out.timer(0);
        pair.s.on_timer(&mut pair.out);
        let sent = pair.out.take_sent();
        if !sent.is_empty() {
            return shown(&sent);
        }
    }
}

#[test]
fn a_short_last_segment_has_the_psh_bit_and_a_full_one_only_if_it_had_to_wait() {
    let (_, sent) = connected(&transfer(2 * u64::from(MSS) + 9), 100 * MSS);
    assert_eq!(shown(&sent), [(1, MSS, 0), (2, MSS, 0), (3, 9, flags::PSH), (4, 0, flags::FIN)]);
    let (_, sent) = connected(&transfer(2 * u64::from(MSS)), 100 * MSS);
    assert_eq!(shown(&sent), [(1, MSS, 0), (2, MSS, 0), (3, 0, flags::FIN)]);
}

#[test]
fn short_segments_and_a_fin_take_their_bytes_of_the_window() {
    let bytes = 2 * u64::from(MSS) + 9;
    for (beyond, segments) in [(0, 2), (8, 2), (9, 3), (10, 4)] {
        let (_, sent) = connected(&transfer(bytes), 2 * MSS + beyond);
        assert_eq!(sent.len(), segments, "{beyond} bytes more than two segments");
    }
}

#[test]
fn an_ack_that_others_have_overtaken_does_not_take_back_their_window() {
    let (mut pair, sent) = connected(&bulk_flow(), 10 * MSS);
    assert_eq!(sent.len(), 10);
    ack(&mut pair, 3, 20 * MSS);
    let nxt = pair.s.view.snd_nxt;
    assert_eq!(ack(&mut pair, 3, 10 * MSS), []);
    assert_eq!(pair.s.peer.end(), 23);
    ack(&mut pair, nxt, 0);
    assert_eq!(pair.s.peer.end(), nxt);
}

#[test]
fn an_ack_without_anything_to_send_does_not_say_that_the_window_limits() {
    let (mut pair, _) = connected(&transfer(5 * u64::from(MSS)), 100 * MSS);
    pair.s.window.cwnd = 4;
    ack(&mut pair, 2, 100 * MSS);
    assert!(pair.s.view.packets_out >= pair.s.window.cwnd && !pair.s.view.is_cwnd_limited);
}

#[test]
fn an_ack_with_an_old_timestamp_is_not_heard_although_it_acknowledges_more() {
    let (mut pair, _) = connected(&bulk_flow(), 100 * MSS);
    pair.out.now += 20 * MS;
    let newest = Segment { tsval: 50, ..pair.out.ack_packet(3, &[], 20, 0) };
    pair.s.on_ack(&newest, &mut pair.out);
    assert_eq!(pair.s.fast_path, FastPath::OneCall);
    let late = Segment { tsval: 20, ..pair.out.ack_packet(5, &[], 20, 0) };
    pair.s.on_ack(&late, &mut pair.out);
    assert_eq!(pair.s.view.snd_una, 3);
}

#[test]
fn a_window_smaller_than_a_segment_is_probed_with_what_it_has_room_for() {
    let spec = transfer(10 * u64::from(MSS));
    let (mut pair, _) = connected(&spec, 2 * MSS);
    assert_eq!(ack(&mut pair, 3, MSS - 8), [], "a whole segment does not fit");
    assert_eq!(wait(&mut pair), [(3, MSS - 8, flags::PSH)]);
    assert_eq!(ack(&mut pair, 4, 100 * MSS)[..2], [(4, MSS, flags::PSH), (5, MSS, flags::PSH)]);
    let layout = &pair.s.layout;
    assert_eq!((layout.span(1, layout.end()), layout.payload(11)), (10 * u64::from(MSS), 8));
}

#[test]
fn segments_have_half_of_a_small_window_until_it_was_larger() {
    let (mut pair, sent) = connected(&bulk_flow(), 2000);
    assert_eq!(shown(&sent).iter().map(|p| p.1).collect::<Vec<_>>(), [1000, 1000]);
    let sent = ack(&mut pair, 3, 100 * MSS);
    assert_eq!(sent.last().map(|p| p.1), Some(MSS));
}

#[test]
fn a_tso_segment_fills_the_window_unless_another_short_one_is_outstanding() {
    let mut spec = bulk_flow();
    spec.host.tso = true;
    let (mut pair, sent) = connected(&spec, 100 * MSS);
    assert_eq!(sent.len(), 10);
    let mut payloads = |una: u32, window: u32| ack(&mut pair, una, window).iter().map(|p| p.1).collect::<Vec<_>>();
    assert_eq!(payloads(3, 9 * MSS + 100), [MSS, 100]);
    assert_eq!(payloads(4, 10 * MSS + 50), [MSS], "the rest waits");
}

#[test]
fn reordering_is_measured_in_bytes() {
    // A short segment and a FIN behind two full ones are delivered before the first.
    let (mut pair, _) = connected(&transfer(2 * u64::from(MSS) + 9), 100 * MSS);
    pair.s.note_reordering(1, 5);
    assert!(pair.s.reordering.was_seen() && !pair.s.reordering.is_known());
}

#[test]
fn the_first_data_tell_of_a_lost_syn() {
    for (consent, cwr) in [(flags::ECE, flags::CWR), (0, 0)] {
        let mut pair = sender(&TcpSpec { ecn: true, ..bulk_flow() });
        pair.s.connect(&mut pair.out);
        pair.out.take_sent();
        wait(&mut pair);
        let syn_ack = pair.out.ack_packet(1, &[], (pair.out.now / MS) as u32, flags::SYN | consent);
        pair.s.on_ack(&syn_ack, &mut pair.out);
        let sent = pair.out.take_sent();
        assert_eq!((sent[1].flags & flags::CWR, sent[2].flags & flags::CWR), (cwr, 0));
    }
}

#[test]
fn an_answer_to_the_first_of_three_syns_leaves_the_window() {
    for (echoes_first, cwnd) in [(true, 10), (false, 1)] {
        let mut pair = sender(&bulk_flow());
        pair.s.connect(&mut pair.out);
        let first = pair.out.now;
        wait(&mut pair);
        wait(&mut pair);
        let echoed = if echoes_first { first } else { pair.out.now };
        let syn_ack = pair.out.ack_packet(1, &[], (echoed / MS) as u32, flags::SYN);
        pair.s.on_ack(&syn_ack, &mut pair.out);
        assert_eq!(pair.s.window.cwnd, cwnd);
    }
}

#[test]
fn a_lost_syn_leaves_a_rate_of_one_segment() {
    let mut rates = [false, true].map(|is_lost| {
        let mut pair = sender(&bulk_flow());
        pair.s.connect(&mut pair.out);
        if is_lost {
            wait(&mut pair);
        }
        let sent = pair.out.now;
        pair.out.now += 20 * MS;
        let syn_ack = pair.out.ack_packet(1, &[], (sent / MS) as u32, flags::SYN);
        pair.s.on_ack(&syn_ack, &mut pair.out);
        pair.s.window.pacing_rate
    });
    rates[1] *= 10;
    assert_eq!(rates[0], rates[1]);
}

#[test]
fn the_first_packet_after_the_syn_ack_changes_its_window() {
    let (mut pair, _) = connected(&bulk_flow(), 100 * MSS);
    ack(&mut pair, 1, 90 * MSS);
    assert_eq!(pair.s.peer.end(), 91);
    ack(&mut pair, 1, 80 * MSS);
    assert_eq!(pair.s.peer.end(), 91, "others that offer more have overtaken it");
}

#[test]
fn a_syn_ack_that_comes_again_is_answered() {
    let (mut pair, _) = connected(&bulk_flow(), 100 * MSS);
    pair.ack_with(1, flags::SYN);
    let answers = pair.out.take_sent();
    assert_eq!((answers.len(), u32::from(answers[0].len)), (1, ACK_FRAME));
}

#[test]
fn time_wait_answers_all_but_an_ack_of_what_it_has_sent() {
    let (mut pair, _) = connected(&transfer(9), 100 * MSS);
    pair.ack_with(3, flags::FIN);
    assert!(pair.s.has_closed());
    let first = pair.out.take_sent();
    let mut answers = |flags: u16, times: usize| {
        (0..times).for_each(|_| pair.ack_with(3, flags));
        pair.out.take_sent()
    };
    let again = answers(flags::FIN, 2);
    assert_eq!(again.len(), 2, "each FIN");
    assert!(again.iter().all(|p| p.tsecr == first[0].tsecr && p.ecn() == Ecn::NotEct));
    assert_eq!(answers(flags::CLOSED, 3).len(), 0);
    assert_eq!(answers(0, 3).len(), 1, "ACKs from before the FIN, one in half a second");
}

#[test]
fn a_duplicate_within_a_block_is_tagged_where_the_block_comes_to_it() {
    let (mut pair, _) = connected(&bulk_flow(), 100 * MSS);
    pair.s.counters.retransmits = 1;
    // Segment 2 was sent before 4, which is reported twice: the RTT sample is that of segment 2.
    pair.out.now += 20 * MS;
    pair.s.board.get_mut(4).set_sent_us(30_000);
    pair.s.board.get_mut(2).set_sent_us(25_000);
    let before = pair.s.rtt.last_us();
    let p = pair.out.ack_packet(1, &[(4, 5), (2, 6)], 0, 0);
    pair.s.on_ack(&p, &mut pair.out);
    assert_ne!(pair.s.rtt.last_us(), before);
    assert_eq!(pair.s.rtt.last_us(), (pair.out.now / 1000) as u32 - 25_000);
}

#[test]
fn what_is_joined_to_a_retransmitted_segment_counts_as_retransmitted() {
    use crate::tcp::linux::sender::scoreboard::mark;
    let (mut pair, _) = connected(&bulk_flow(), 100 * MSS);
    let ever = |pair: &Pair, seq| pair.s.board.get(seq).marks & mark::EVER_RETRANS != 0;
    pair.s.board.get_mut(4).marks |= mark::EVER_RETRANS;
    pair.ack(1, &[(3, 4)]);
    pair.ack(1, &[(6, 7), (3, 4)]);
    pair.ack(1, &[(3, 6), (6, 7)]);
    assert_eq!([2, 3, 4, 5, 6, 7].map(|seq| ever(&pair, seq)), [false, true, true, true, true, false]);
}

#[test]
fn a_fin_that_is_too_old_is_answered_each_time_and_not_heard() {
    let (mut pair, _) = connected(&transfer(9), 100 * MSS);
    let newest = Segment { tsval: 50, ..pair.out.ack_packet(3, &[], 20, 0) };
    pair.s.on_ack(&newest, &mut pair.out);
    pair.out.take_sent();
    for _ in 0..3 {
        let fin = Segment { tsval: 1, ..pair.out.ack_packet(3, &[], 20, flags::FIN) };
        pair.s.on_ack(&fin, &mut pair.out);
    }
    assert_eq!(pair.out.take_sent().len(), 3);
    assert!(!pair.s.has_heard_fin());
}

#[test]
fn acks_that_are_not_heard_are_answered_again_when_the_clock_has_counted_half_a_second() {
    let (mut pair, _) = connected(&bulk_flow(), 100 * MSS);
    let newest = Segment { tsval: 50, ..pair.out.ack_packet(4, &[], 20, 0) };
    pair.s.on_ack(&newest, &mut pair.out);
    let mut answers = |now_us: u64| {
        pair.out.take_sent();
        pair.out.now = now_us * US;
        let late = Segment { tsval: 20, ..pair.out.ack_packet(3, &[], 20, 0) };
        pair.s.on_ack(&late, &mut pair.out);
        pair.out.take_sent().iter().filter(|p| p.len == ACK_FRAME as u16).count()
    };
    assert_eq!([answers(50_900), answers(549_900), answers(550_100)], [1, 0, 1]);
}

#[test]
fn timeouts_that_no_sample_has_followed_double_the_time_between_probes() {
    let intervals = |timestamps: bool| {
        let spec = TcpSpec { timestamps, ..bulk_flow() };
        let (mut pair, _) = connected(&spec, 2 * MSS);
        wait(&mut pair);
        wait(&mut pair);
        let echo = if timestamps { (pair.out.now / MS) as u32 } else { 0 };
        pair.out.now += 20 * MS;
        let all = pair.out.ack_packet(pair.s.view.snd_nxt, &[], echo, 0);
        pair.s.on_ack(&Segment { window: 0, tsval: echo, ..all }, &mut pair.out);
        let mut probed = || {
            let before = pair.out.now / MS;
            wait(&mut pair);
            pair.out.now / MS - before
        };
        let first = probed();
        (probed() as f64 / first as f64).round()
    };
    assert_eq!(intervals(true), 2.0);
    assert!(intervals(false) >= 4.0, "at least one timeout, and the probe");
}

#[test]
fn a_segment_that_was_cut_takes_in_only_the_next_one() {
    let (mut pair, _) = connected(&bulk_flow(), 2 * MSS);
    ack(&mut pair, 3, MSS - 8);
    assert_eq!(wait(&mut pair), [(3, MSS - 8, flags::PSH)]);
    // The rest takes in bytes of the next segment before the probe cuts it again: two pieces of 8 bytes.
    ack(&mut pair, 4, MSS - 8);
    assert_eq!(wait(&mut pair), [(4, MSS - 8, flags::PSH)]);
    let sent = ack(&mut pair, 5, 4 * MSS);
    assert_eq!(sent[..3], [(5, 16, flags::PSH), (6, MSS, 0), (7, MSS, flags::PSH)]);
}

#[test]
fn kernels_before_6_10_send_the_rest_of_a_cut_segment_alone() {
    let mut spec = bulk_flow();
    spec.stack.name = "linux-5.1-sce".into();
    let (mut pair, _) = connected(&spec, 2 * MSS);
    ack(&mut pair, 3, MSS - 8);
    wait(&mut pair);
    assert_eq!(ack(&mut pair, 4, 4 * MSS)[..2], [(4, 8, flags::PSH), (5, MSS, flags::PSH)]);
}

#[test]
fn an_ack_that_has_overtaken_the_fin_leaves_the_timestamp_to_echo() {
    let (mut pair, _) = connected(&transfer(9), 100 * MSS);
    pair.ack(3, &[]);
    for (tsval, flags) in [(70, flags::CLOSED), (60, flags::FIN)] {
        let p = Segment { tsval, ..pair.out.ack_packet(3, &[], 20, flags) };
        pair.s.on_ack(&p, &mut pair.out);
    }
    assert!(pair.s.has_heard_fin());
    assert_eq!(pair.out.take_sent().last().map(|p| p.tsecr), Some(60));
}

#[test]
fn each_timeout_into_a_closed_window_reduces_the_threshold_again() {
    let thresholds = |window: u32| {
        let (mut pair, sent) = connected(&transfer(100_000), 20 * MSS);
        assert_eq!(sent.len(), 10);
        pair.out.now += 30 * MS;
        ack(&mut pair, 1, window);
        let mut pass = || {
            wait(&mut pair);
            pair.s.window.ssthresh
        };
        [pass(), pass(), pass()]
    };
    assert_eq!(thresholds(0)[..2], [5, 2]);
    // Here the first is a loss probe.
    assert_eq!(thresholds(20 * MSS)[1..], [5, 5]);
}
