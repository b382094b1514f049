use super::*;
use crate::outbox::LoneOutbox;
use crate::packet::{FULL_FRAME, MSS, SYN_FRAME};
use crate::tcp::common::layout::tests::bulk_flow;
use crate::time::US;

/// A receiver at the end of a line without delay, its handshake done.
struct Sink {
    receiver: Receiver,
    out: LoneOutbox,
}

impl Sink {
    fn new(stack: &str, rcvbuf: Option<u64>) -> Self {
        let mut sink = Self::listening(stack, rcvbuf);
        sink.shake_hands();
        sink
    }

    fn shake_hands(&mut self) {
        self.packet(0, SYN_FRAME, flags::SYN);
        self.packet(1, ACK_FRAME, flags::HANDSHAKE);
    }

    /// Nothing has come yet.
    fn listening(stack: &str, rcvbuf: Option<u64>) -> Self {
        let mut spec = bulk_flow();
        spec.stack.name = stack.into();
        spec.host.rcvbuf = rcvbuf;
        Self::of(&spec)
    }

    fn of(spec: &TcpSpec) -> Self {
        let receiver = Receiver::new(0, 0, spec, &Stack::from_spec(&spec.stack).unwrap(), &Needs::NOTHING);
        Self { receiver, out: LoneOutbox::new(SOURCES) }
    }

    /// The ACKs that a packet, 1 ms after the one before, brings about at once.
    fn packet(&mut self, seq: u32, len: u32, flags: u16) -> Vec<Segment> {
        self.late(seq, len, flags, 0)
    }

    /// The same of one that has been under way for so long, ms.
    fn late(&mut self, seq: u32, len: u32, flags: u16, ms: u32) -> Vec<Segment> {
        self.out.now += MS;
        let (way, tsval) = (Way::new(0), (self.out.now / MS) as u32 - ms);
        let (window, tsecr, attachment, ecn) = (0, 0, NO_ATTACHMENT, Ecn::NotEct);
        let p = Segment { way, len: len as u16, flags: flags | ecn.flags(), seq, window, tsval, tsecr, attachment };
        self.receiver.on_packet(&p, &mut self.out);
        self.out.take_sent()
    }

    fn segment(&mut self, seq: u32) -> Vec<Segment> {
        self.packet(seq, FULL_FRAME, 0)
    }
}

/// How many ACKs each of the segments `seqs` brings about at once, after `before` in order.
fn acks(stack: &str, before: u32, seqs: &[u32]) -> Vec<usize> {
    let mut sink = Sink::new(stack, Some(200_000));
    (1..=before).for_each(|seq| drop(sink.segment(seq)));
    seqs.iter().map(|&seq| sink.segment(seq).len()).collect()
}

#[test]
fn a_syn_that_comes_again_is_answered_by_the_echo_of_the_first() {
    let mut sink = Sink::listening("linux-6.12", None);
    let echoes: Vec<u32> = (0..2).flat_map(|_| sink.packet(0, SYN_FRAME, flags::SYN)).map(|p| p.tsecr).collect();
    assert_eq!(echoes, [1, 1]);
    sink.packet(1, ACK_FRAME, flags::HANDSHAKE);
    // The echoed timestamp tells which of the two the handshake ended with: the test's packets echo 0.
    assert_eq!(sink.receiver.rtt.srtt_us, 3000);
    let known = Sink::new("linux-6.12", None).receiver.rtt;
    assert_eq!(known.srtt_us, 1000);
}

#[test]
fn what_comes_out_of_order_first_widens_the_window_as_in_the_kernel() {
    // 6.12, the first eight segments lost: 65160 bytes offered, then these, in units of 128.
    let mut sink = Sink::new("linux-6.12", None);
    let windows: Vec<u32> = (9..13).flat_map(|seq| sink.segment(seq)).map(|p| p.window / 128).collect();
    assert_eq!(windows, [524, 546, 569, 592]);
}

#[test]
fn a_short_segment_is_charged_what_it_takes_and_widens_nothing() {
    // The last window of Linux 6.12 for a byte, and for the last 1171 bytes of a transfer.
    let last_window = |bytes: u32| {
        let mut spec = bulk_flow();
        spec.transfer_bytes = Some(u64::from(bytes));
        let mut sink = Sink::of(&spec);
        sink.shake_hands();
        let segments = (0..bytes).step_by(MSS as usize).map(|from| MSS.min(bytes - from));
        let sent = (1..).zip(segments).flat_map(|(seq, payload)| sink.packet(seq, HEADERS + payload, 0));
        sent.map(|p| p.window / 128).last()
    };
    assert_eq!(last_window(1), Some(510));
    assert_eq!(last_window(19 * MSS + 1171), Some(639));
}

#[test]
fn nothing_is_taken_in_where_the_window_is_closed() {
    let mut sink = Sink::new("linux-6.12", Some(9000));
    // The window is three segments, and the first one is missing.
    (2..4).for_each(|seq| drop(sink.segment(seq)));
    let beyond = sink.segment(5);
    assert_eq!(beyond.iter().map(|p| p.seq).collect::<Vec<_>>(), [1], "beyond the end of the window");
    assert_eq!(sink.receiver.early.charged(), 2 * 1448 + 832);
}

#[test]
fn a_full_window_opens_when_the_application_has_read() {
    // The ACK of the missing segment goes before the read, when all 66 segments behind it are still charged.
    let mut sink = Sink::new("linux-6.12", Some(155_648));
    (1..31).chain(32..98).for_each(|seq| drop(sink.segment(seq)));
    let windows: Vec<u32> = sink.segment(31).iter().map(|p| p.window).collect();
    assert_eq!(windows, [33_944, 98_496]);
}

#[test]
fn an_ack_that_would_shrink_the_window_waits_for_the_read() {
    // 98496 bytes were offered; with the second of two segments still charged it would be 97054.
    let mut sink = Sink::new("linux-6.12", Some(155_648));
    (1..31).chain(32..98).chain([31]).for_each(|seq| drop(sink.segment(seq)));
    let next = sink.receiver.rcv_nxt;
    let windows: Vec<u32> = (next..next + 8).flat_map(|seq| sink.segment(seq)).map(|p| p.window).collect();
    assert_eq!(windows, [98_496; 4]);
}

#[test]
fn the_first_segment_out_of_order_widens_the_window_before_it_is_charged() {
    // In order 97053 bytes are the most, with the segment in hand charged. What the gap adds to them earns an ACK of its own, before the
    // three that go at once.
    let mut sink = Sink::new("linux-6.12", Some(155_648));
    (1..31).for_each(|seq| drop(sink.segment(seq)));
    let acks: Vec<usize> = (32..38).map(|seq| sink.segment(seq).len()).collect();
    assert_eq!(acks, [1, 1, 1, 1, 0, 0]);
}

#[test]
fn only_what_is_read_adapts_the_buffer() {
    for stack in ["linux-6.12", "linux-3.9", "linux-2.6"] {
        let mut sink = Sink::new(stack, None);
        sink.receiver.buffer.rtt_by_timestamp(1, false, 11 * MS);
        (1..31).for_each(|seq| drop(sink.segment(seq)));
        sink.out.now += 10 * MS;
        (32..35).for_each(|seq| drop(sink.segment(seq)));
        assert!(sink.receiver.buffer.is_to_tune(sink.out.now), "{stack}: nothing was read since");
        sink.segment(31);
        assert!(!sink.receiver.buffer.is_to_tune(sink.out.now), "{stack}");
    }
}

#[test]
fn two_segments_earn_an_ack() {
    for stack in ["linux-6.12", "linux-3.9", "linux-2.6"] {
        let found = acks(stack, 61, &[62, 63, 64, 65]);
        assert!(found == [0, 1, 0, 1] || found == [1, 0, 1, 0], "{stack}: {found:?}");
    }
}

#[test]
fn the_first_segment_may_come_out_of_order() {
    // That sets the interval of delayed ACKs in Linux 3.9, before there was a segment in order to count from.
    for stack in ["linux-6.12", "linux-3.9", "linux-2.6"] {
        assert_eq!(acks(stack, 0, &[2, 1, 3]), [1, 1, 1], "{stack}");
    }
}

#[test]
fn a_gap_brings_quick_acks_until_4_17() {
    // tcp_data_queue enters quick-ACK mode for every segment out of order: 16 ACKs, of which two are used up by the gap.
    let seqs: Vec<u32> = [63, 62].into_iter().chain(64..84).collect();
    assert_eq!(acks("linux-6.12", 61, &seqs)[..6], [1, 1, 0, 1, 0, 1]);
    let old = acks("linux-3.9", 61, &seqs);
    assert_eq!(old[..16], [1; 16]);
    assert_eq!(old[16..], [0, 1, 0, 1, 0, 1]);
}

/// A sink with this least retransmission timeout, ms, to which 60 segments have come.
fn with_least_timeout(stack: &str, ms: u32) -> Sink {
    let mut spec = bulk_flow();
    spec.stack.name = stack.into();
    spec.stack.options.insert("rto_min_ms".into(), ms.into());
    let mut sink = Sink::of(&spec);
    sink.shake_hands();
    (1..=60).for_each(|seq| drop(sink.segment(seq)));
    sink
}

#[test]
fn a_gap_longer_than_the_receivers_own_timeout_brings_quick_acks() {
    // The handshake took 1 ms: the timeout is 41 ms (`tcp_event_data_recv`).
    let after = |gap_ms: u64| -> usize {
        let mut sink = with_least_timeout("linux-6.12", 40);
        sink.out.now += gap_ms * MS;
        (61..69).map(|seq| sink.segment(seq).len()).sum()
    };
    assert_eq!((after(40), after(41)), (4, 8));
}

#[test]
fn an_ack_waits_less_than_the_least_timeout_since_6_7() {
    let delay_ms = |stack, ms| {
        let mut sink = with_least_timeout(stack, ms);
        let odd = (61..).find(|&seq| sink.segment(seq).is_empty()).expect("every other segment is acknowledged later");
        assert_eq!(sink.receiver.rcv_nxt, odd + 1);
        let (from, acked) = (sink.out.now, sink.receiver.counters.acks_sent);
        while sink.receiver.counters.acks_sent == acked {
            sink.out.now = sink.out.timer(0);
            sink.receiver.on_timer(0, &mut sink.out);
        }
        (sink.out.now - from) / MS
    };
    // Timers fire in the tick after.
    assert_eq!([200, 40, 20].map(|ms| delay_ms("linux-6.12", ms)), [41, 40, 20]);
    assert_eq!(delay_ms("linux-5.1-sce", 20), 41);
}

#[test]
fn what_arrives_at_one_instant_is_read_together_and_acknowledged_by_one_packet() {
    // 98496 bytes were offered, less than that is left with any segment charged, and the application reads when all have come.
    let mut sink = Sink::new("linux-6.12", Some(155_648));
    (1..31).chain(32..98).chain([31]).for_each(|seq| drop(sink.segment(seq)));
    let burst = sink.receiver.rcv_nxt..sink.receiver.rcv_nxt + 24;
    sink.out.more_now = true;
    assert!(burst.clone().all(|seq| sink.segment(seq).is_empty()));
    sink.receiver.on_application(&mut sink.out);
    let acks: Vec<(u32, u32)> = sink.out.take_sent().iter().map(|p| (p.seq, p.window)).collect();
    assert_eq!(acks, [(burst.end, 98_496)]);
    sink.receiver.on_application(&mut sink.out);
    assert!(sink.out.take_sent().is_empty(), "there is nothing more to read");
}

#[test]
fn what_a_retransmission_has_overtaken_is_dropped_unless_it_is_one_millisecond_older() {
    for stack in ["linux-6.12", "linux-3.9", "linux-2.6"] {
        let mut sink = Sink::new(stack, None);
        (1..31).chain([32]).for_each(|seq| drop(sink.segment(seq)));
        sink.packet(31, FULL_FRAME, flags::RETRANSMISSION);
        let echoed = (sink.out.now / MS) as u32;
        assert_eq!((sink.receiver.rcv_nxt, sink.receiver.echoed()), (33, echoed), "{stack}");
        let answers: Vec<_> = sink.late(33, FULL_FRAME, 0, 3).iter().map(|p| (p.seq, p.tsecr)).collect();
        assert_eq!((answers, sink.receiver.rcv_nxt), (vec![(33, echoed)], 33), "{stack}: 2 ms older");
        sink.late(33, FULL_FRAME, 0, 3);
        assert_eq!((sink.receiver.echoed(), sink.receiver.rcv_nxt), (echoed, 34), "{stack}: 1 ms older");
        sink.late(40, FULL_FRAME, 0, 30);
        assert!(sink.receiver.early.is_empty(), "{stack}: nor may one behind a gap be older");
        // The original of the retransmission: a duplicate that is reported.
        let again = sink.late(31, FULL_FRAME, 0, 9);
        let reported: Vec<_> = again.iter().map(|p| sink.out.blocks(p).as_slice().to_vec()).collect();
        assert_eq!(reported, [[(31, 32)]], "{stack}");
        // A new one sets the timestamp again, and nothing is late any more.
        sink.segment(34);
        sink.segment(35);
        assert!(sink.receiver.echoed() > echoed, "{stack}");
    }
}

#[test]
fn what_lies_before_all_that_was_acknowledged_leaves_the_timestamp_to_echo() {
    let mut sink = Sink::new("linux-6.12", None);
    (1..31).for_each(|seq| drop(sink.segment(seq)));
    let (echoed, acked) = (sink.receiver.echoed(), sink.receiver.buffer.acked_until());
    assert_eq!(sink.segment(acked - 2).iter().map(|p| p.tsecr).collect::<Vec<_>>(), [echoed]);
    // One that ends where the ACK does is looked at: the ACK of the one before has moved there.
    assert_eq!(sink.receiver.buffer.acked_until(), 31);
    sink.segment(30);
    assert_eq!(u64::from(sink.receiver.echoed()), sink.out.now / MS);
}

#[test]
fn packets_without_data_that_are_dropped_are_answered_twice_a_second() {
    for (stack, answered) in [("linux-6.12", 4), ("linux-3.9", 2000)] {
        let mut sink = Sink::new(stack, None);
        (1..31).for_each(|seq| drop(sink.segment(seq)));
        let probes: usize = (0..2000).map(|_| sink.packet(20, ACK_FRAME, 0).len()).sum();
        assert_eq!(probes, answered, "{stack}");
        let next = sink.receiver.rcv_nxt;
        assert!(sink.packet(next, ACK_FRAME, flags::HANDSHAKE).is_empty(), "{stack}: what is next is not dropped");
        assert_eq!((sink.receiver.rcv_nxt, u64::from(sink.receiver.echoed())), (next, sink.out.now / MS), "{stack}");
    }
}

#[test]
fn a_compressed_ack_goes_with_its_event_and_takes_it_away() {
    let mut sink = Sink::new("linux-6.12", Some(200_000));
    (1..=40).for_each(|seq| drop(sink.segment(seq)));
    let held = (42..100).find(|&seq| sink.segment(seq).is_empty()).expect("the fourth duplicate ACK is held back");
    let due = sink.out.timer(1);
    assert!(due > sink.out.now && due < sink.out.now + 2 * MS);
    sink.out.now = due;
    sink.receiver.on_timer(1, &mut sink.out);
    let sent = sink.out.take_sent();
    assert_eq!(sent.iter().map(|p| sink.out.blocks(p).ranges[0]).collect::<Vec<_>>(), [(42, held + 1)]);
    assert_eq!(sink.out.timer(1), crate::time::NEVER);
}

#[test]
fn compressed_acks_go_with_the_third_range_and_until_linux_5_7_with_the_fifth() {
    let acks_of = |stack| acks(stack, 40, &[42, 52, 62, 63, 53, 43, 72, 82]);
    // The packet with 43 is an ACK for it as well: none is due any more, and with 72 nothing is held back.
    assert_eq!(acks_of("linux-6.12"), [1, 1, 1, 1, 0, 1, 0, 1]);
    assert_eq!(acks_of("linux-5.1-sce"), [1, 1, 1, 0, 0, 0, 0, 1]);
}

#[test]
fn so_many_acks_are_merged_at_most() {
    let merged = |stack| {
        acks(stack, 40, &(42..150).collect::<Vec<_>>())
            .iter()
            .skip_while(|&&sent| sent == 1)
            .take_while(|&&sent| sent == 0)
            .count()
    };
    assert_eq!(merged("linux-6.12"), 44);
    assert_eq!(merged("linux-5.1-sce"), 41, "the three that were sent at once count");
}

#[test]
fn the_timer_of_the_delayed_ack_sends_what_is_held_back_even_if_no_ack_waits_for_it() {
    let mut sink = Sink::new("linux-6.12", Some(200_000));
    (1..=40).for_each(|seq| drop(sink.segment(seq)));
    (42..100).find(|&seq| sink.segment(seq).is_empty()).expect("the fourth duplicate ACK is held back");
    assert!(!sink.receiver.delay.is_waiting());
    // The event comes early, and moves to where the last delayed ACK would have gone.
    for _ in 0..2 {
        sink.out.now = sink.out.timer(0);
        sink.receiver.on_timer(0, &mut sink.out);
    }
    let sent = sink.out.take_sent();
    assert_eq!(sent.iter().map(|p| u64::from(p.tsval)).collect::<Vec<_>>(), [sink.out.now / MS]);
}

#[test]
fn the_timer_of_compressed_acks_has_not_looked_at_the_clock() {
    let mut sink = Sink::new("linux-6.12", Some(200_000));
    (1..=40).for_each(|seq| drop(sink.segment(seq)));
    sink.out.now += 950 * US;
    (42..100).find(|&seq| sink.segment(seq).is_empty()).expect("the fourth duplicate ACK is held back");
    let arrived = sink.out.now / MS;
    sink.out.now = sink.out.timer(1);
    assert!(sink.out.now / MS > arrived);
    sink.receiver.on_timer(1, &mut sink.out);
    assert_eq!(sink.out.take_sent().iter().map(|p| u64::from(p.tsval)).collect::<Vec<_>>(), [arrived]);
}

#[test]
fn a_duplicate_moves_its_range_to_the_front_and_what_is_held_back_goes_before_that() {
    let mut sink = Sink::new("linux-6.12", Some(200_000));
    (1..=100).chain([102, 112]).for_each(|seq| drop(sink.segment(seq)));
    let blocks = |sink: &mut Sink, seq| {
        let sent = sink.segment(seq);
        sent.iter().map(|p| sink.out.blocks(p).as_slice().to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(blocks(&mut sink, 102), [[(102, 103), (102, 103), (112, 113)]]);
    assert_eq!(blocks(&mut sink, 122), [[(122, 123), (102, 103), (112, 113)]]);
    assert!(sink.segment(123).is_empty(), "held back");
    let sent = blocks(&mut sink, 113);
    assert_eq!(sent, [[(122, 124), (102, 103), (112, 114)]], "the third range grows, and stays where it was");
}

#[test]
fn a_syn_ack_is_sent_again_until_something_comes() {
    let mut sink = Sink::listening("linux-6.12", None);
    sink.packet(0, SYN_FRAME, flags::SYN);
    let mut again = || {
        sink.out.now = sink.out.timer(1);
        sink.receiver.on_timer(1, &mut sink.out);
        (sink.out.take_sent().len(), sink.out.now / MS)
    };
    // After 1 s and then 2 s more, where the timer wheel rounds to: the first tick of the connection is 1.
    assert_eq!([again(), again()], [(1, 1024), (1, 3072)]);
    sink.packet(1, ACK_FRAME, flags::HANDSHAKE);
    assert_eq!(sink.out.timer(1), crate::time::NEVER);
}

#[test]
fn the_end_of_the_handshake_sets_the_timestamp_to_echo() {
    let sink = Sink::new("linux-6.12", None);
    assert_eq!(u64::from(sink.receiver.echoed()), sink.out.now / MS);
}

#[test]
fn a_closed_receiver_resets_what_still_comes() {
    let mut spec = bulk_flow();
    spec.transfer_bytes = Some(1448);
    let mut sink = Sink::of(&spec);
    sink.shake_hands();
    sink.packet(1, FULL_FRAME, flags::FIN | flags::PSH);
    assert!(sink.late(2, ACK_FRAME, flags::CLOSED, 3).iter().all(|p| p.has(flags::FIN) || !p.has(flags::RST)));
    assert!(!sink.receiver.has_closed(), "the timestamp is too old");
    sink.packet(2, ACK_FRAME, flags::CLOSED);
    assert!(sink.receiver.has_closed());
    let resets = [sink.packet(1, FULL_FRAME, flags::FIN), sink.packet(2, ACK_FRAME, flags::CLOSED)].concat();
    let shown = resets.iter().map(|p| (p.has(flags::RST), p.has(flags::CLOSED), u32::from(p.len)));
    assert_eq!(shown.collect::<Vec<_>>(), [(true, false, 54), (true, true, 54)]);
}
