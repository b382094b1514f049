//! The state machines against a peer that the test plays.

use super::receiver::Receiver;
use super::sender::Sender;
use super::stack::{Stack, STACKS};
use crate::attachment::Blocks;
use crate::cc::CaState;
use crate::outbox::LoneOutbox;
use crate::outbox::Outbox;
use crate::packet::{Direction, Ecn, Way, ACK_FRAME, MSS, NO_ATTACHMENT};
use crate::segment::{flags, Segment};
use crate::spec::{HostSettings, StackSpec, TcpSpec};
use crate::tcp::common::layout::tests::bulk_flow;
use crate::time::{MS, SEC};

const RECEIVER_TIMER: usize = 0;
const SENDER_TIMER: usize = 1;
/// No segment.
const NOTHING: [u32; 0] = [];
/// A window that no scale rounds.
const WIDE: u32 = 512 * 64;

fn flow(rcvbuf: Option<u64>, sndbuf: Option<u64>, bytes: Option<u64>) -> TcpSpec {
    TcpSpec {
        stack: StackSpec { name: "freebsd-9".into(), options: serde_json::Map::new() },
        host: HostSettings {
            tso: false,
            rmem: [0; 3],
            sender_rmem: None,
            rcvbuf,
            wmem: [0; 3],
            sndbuf,
            cached_ssthresh: None,
            reads_bps: None,
            nodelay: false,
            max_pacing_bps: None,
        },
        transfer_bytes: bytes,
        ..bulk_flow()
    }
}

fn stack() -> Stack {
    STACKS[0].2.clone()
}

/// A sender with its peer played by the test.
struct Bench {
    out: LoneOutbox,
    sender: Sender,
    window: u32,
}

impl Bench {
    /// Established, with what the initial window allowed taken; one round trip is 10 ms.
    fn new(spec: &TcpSpec) -> Self {
        let mut out = LoneOutbox::new(2);
        let mut sender = Sender::new(0, SENDER_TIMER, spec, &stack());
        let answer = if spec.ecn { flags::ECE } else { 0 };
        out.now = SEC;
        sender.connect(&mut out);
        out.take_sent();
        out.now += 10 * MS;
        sender.on_ack(
            &Segment { flags: Direction::Reverse.flags() | flags::SYN | answer, window: 65_535, ..ack(1, 1000, &out) },
            &mut out,
        );
        Self { out, sender, window: 65_535 }
    }

    /// Segments on their way out, in order.
    fn taken(&mut self) -> Vec<u32> {
        self.out.take_sent().iter().filter(|p| !p.has(flags::HANDSHAKE)).map(|p| p.seq).collect()
    }

    fn ack_with(&mut self, seq: u32, blocks: &[(u32, u32)]) -> Vec<u32> {
        let sent_ms = (self.out.now / MS) as u32 - 10;
        let mut p = Segment { window: self.window, ..ack(seq, sent_ms, &self.out) };
        if !blocks.is_empty() {
            let mut list = Blocks::default();
            blocks.iter().for_each(|&b| list.push(b));
            p.attachment = self.out.attach(list.into());
        }
        self.sender.on_ack(&p, &mut self.out);
        self.taken()
    }

    /// Takes an ACK with an ECN echo. Return what left, with the bits of ECN: number, codepoint, CWR.
    fn echo(&mut self, seq: u32, blocks: &[(u32, u32)]) -> Vec<(u32, Ecn, bool)> {
        let sent_ms = (self.out.now / MS) as u32 - 10;
        let mut p = Segment { window: self.window, ..ack(seq, sent_ms, &self.out) };
        p.flags |= flags::ECE;
        let mut list = Blocks::default();
        blocks.iter().for_each(|&b| list.push(b));
        if !blocks.is_empty() {
            p.attachment = self.out.attach(list.into());
        }
        self.sender.on_ack(&p, &mut self.out);
        self.out.take_sent().iter().map(|p| (p.seq, p.ecn(), p.has(flags::CWR))).collect()
    }

    fn ack(&mut self, seq: u32) -> Vec<u32> {
        self.ack_with(seq, &[])
    }

    /// Grows the window by slow start until `segments` are out.
    fn grow(&mut self, segments: u32) -> u32 {
        self.window = 1 << 20;
        let mut next = *self.taken().last().unwrap() + 1;
        let mut una = 1;
        while next - una < segments {
            una += 1;
            if let Some(last) = self.ack(una).last() {
                next = last + 1;
            }
        }
        una
    }

    /// Lets the sender's timer come.
    fn fire(&mut self) -> Vec<u32> {
        loop {
            self.out.now = self.out.timer(SENDER_TIMER);
            self.sender.on_timer(&mut self.out);
            let sent = self.taken();
            if !sent.is_empty() {
                return sent;
            }
        }
    }

    fn cwnd(&self) -> f64 {
        self.sender.sample().cwnd
    }
}

fn ack(seq: u32, tsecr: u32, out: &LoneOutbox) -> Segment {
    Segment {
        way: Way::new(0),
        len: ACK_FRAME as u16,
        seq,
        window: WIDE,
        tsval: (out.now / MS) as u32,
        tsecr,
        attachment: NO_ATTACHMENT,
        flags: Direction::Reverse.flags(),
    }
}

#[test]
fn the_initial_window_is_three_full_segments() {
    let mut b = Bench::new(&flow(None, Some(600_000), None));
    assert_eq!(b.taken(), [1, 2, 3], "4380 bytes are 3 segments and 36 bytes, which wait");
    // Two segments acknowledged: two more, and the window grew by two.
    assert_eq!(b.ack(3), [4, 5, 6, 7]);
}

#[test]
fn the_first_two_duplicates_let_new_segments_out_and_the_third_retransmits() {
    let mut b = Bench::new(&flow(None, Some(600_000), None));
    let una = b.grow(20);
    let max = una + 20;
    let before = b.cwnd();
    // The window of the first duplicate differs when the last ACK showed data that was not read yet: it does not count.
    b.window += 64;
    assert_eq!(b.ack_with(una, &[(una + 1, una + 2)]), NOTHING);
    assert_eq!(b.ack_with(una, &[(una + 1, una + 3)]), [max]);
    assert_eq!(b.ack_with(una, &[(una + 1, una + 4)]), [max + 1]);
    assert!((b.cwnd() - before).abs() < 1e-9, "limited transmit leaves the window as it was");
    assert_eq!(b.ack_with(una, &[(una + 1, una + 5)]), [una]);
    let s = b.sender.sample();
    assert_eq!((s.state, s.cwnd), (CaState::Recovery, 1.0));
    assert_eq!(s.ssthresh, Some((before / 2.0).floor()));
}

#[test]
fn in_recovery_a_duplicate_adds_a_segment_while_less_than_half_a_window_is_out() {
    let mut b = Bench::new(&flow(None, Some(600_000), None));
    let una = b.grow(20);
    for i in 2..5 {
        b.ack_with(una, &[(una + 1, una + i)]);
    }
    // 22 out, 3 SACKed, 1 retransmitted: 22 - 4 + 1 = 19 are above ssthresh = 10 until 10 more are SACKed.
    let mut sent = vec![];
    for i in 5..=18 {
        sent.push(b.ack_with(una, &[(una + 1, una + i)]).len());
    }
    let first = sent.iter().position(|&n| n > 0).unwrap();
    assert_eq!(sent[..first], vec![0; first]);
    assert!(sent[first..].iter().all(|&n| n == 1), "{sent:?}");
    let s = b.sender.sample();
    assert!(f64::from(s.in_flight) <= s.ssthresh.unwrap(), "{s:?}");
}

#[test]
fn a_partial_ack_sends_one_segment_and_a_full_one_ends_recovery_at_half_the_window() {
    let mut b = Bench::new(&flow(None, Some(600_000), None));
    let una = b.grow(20);
    // Segments una and una + 2 are lost.
    for i in 3..6 {
        b.ack_with(una, &[(una + 1, una + 2), (una + 3, una + 1 + i)]);
    }
    let sent = b.ack_with(una + 2, &[(una + 3, una + 8)]);
    assert_eq!(sent[0], una + 2);
    let s = b.sender.sample();
    assert_eq!(s.state, CaState::Recovery);
    let end = una + 22;
    let after = b.ack(end);
    let s = b.sender.sample();
    assert_eq!(s.state, CaState::Open);
    assert!(s.cwnd <= s.ssthresh.unwrap(), "{s:?}");
    assert!(!after.is_empty());
}

#[test]
fn a_partial_ack_of_two_segments_lets_two_follow_and_of_one_a_single_one() {
    // Three segments are lost; what is new beside the retransmission is the minimum that recovery lets go.
    for (acked, more) in [(1, 1), (2, 2), (3, 2)] {
        let mut b = Bench::new(&flow(None, Some(600_000), None));
        let una = b.grow(40);
        for i in 1..4 {
            b.ack_with(una, &[(una + 4, una + 4 + i)]);
        }
        let before = b.sender.holes.retransmitted;
        b.ack_with(una + acked, &[(una + 4, una + 7)]);
        assert_eq!(b.cwnd(), f64::from(before - 1 + more), "{acked} of the lost segments acknowledged");
    }
}

#[test]
fn one_episode_lasts_until_what_was_out_at_its_start_is_acknowledged() {
    let mut b = Bench::new(&flow(None, Some(600_000), None));
    let una = b.grow(20);
    for i in 2..5 {
        b.ack_with(una, &[(una + 1, una + i)]);
    }
    let (reductions, ssthresh) = (b.sender.counters.cwnd_reductions, b.sender.sample().ssthresh);
    let recover = b.sender.snd_recover;
    assert_eq!(recover, una + 22);
    b.ack(recover - 1);
    assert_eq!(b.sender.sample().state, CaState::Recovery, "one segment of the episode is missing");
    b.ack(recover);
    assert_eq!(b.sender.sample().state, CaState::Open);
    assert_eq!((b.sender.counters.cwnd_reductions, b.sender.sample().ssthresh), (reductions, ssthresh));
}

#[test]
fn a_timeout_goes_back_and_slow_start_skips_what_is_sacked() {
    let mut b = Bench::new(&flow(None, Some(600_000), None));
    let una = b.grow(8);
    b.out.now += 5 * SEC;
    assert_eq!(b.fire(), [una]);
    let s = b.sender.sample();
    assert_eq!((s.cwnd, s.ssthresh), (1.0, Some(4.0)));
    assert_eq!((s.state, b.sender.counters.rto_timeouts), (CaState::Loss, 1));
    // Late enough not to take it for a mistake.
    b.out.now += SEC;
    assert_eq!(b.ack_with(una + 1, &[(una + 2, una + 5)]), [una + 1]);
    assert_eq!(b.cwnd(), 2.0);
    assert_eq!(b.ack_with(una + 1, &[(una + 2, una + 5)]), [una + 5], "limited transmit");
    assert_eq!(b.ack(una + 5), [una + 6, una + 7], "one segment an ACK after a timeout");
    assert_eq!(b.cwnd(), 3.0);
}

#[test]
fn an_ack_right_after_a_timeout_undoes_it() {
    let mut b = Bench::new(&flow(None, Some(600_000), None));
    let una = b.grow(8);
    let before = b.cwnd();
    b.fire();
    assert_eq!(b.cwnd(), 1.0);
    // Half of 10 ms has not passed.
    b.out.now += 2 * MS;
    let sent = b.ack(una + 1);
    assert_eq!(b.sender.counters.undos, 1);
    assert!(b.cwnd() >= before);
    assert_eq!(sent[0], una + 8, "and nothing is sent twice");
}

#[test]
fn timeouts_back_off_from_the_slop() {
    let mut b = Bench::new(&flow(None, Some(600_000), None));
    b.taken();
    // First sample 11 ticks: srtt 11, variance 5.5; 11 + 4 * 5.5 + 200.
    let armed = b.out.timer(SENDER_TIMER);
    assert_eq!((armed - b.out.now) / MS, 233);
    for (backoff, expected) in [(2, 266), (4, 332), (8, 464), (16, 728)] {
        b.fire();
        let next = b.out.timer(SENDER_TIMER) - b.out.now;
        assert_eq!(next / MS, expected, "33 times {backoff} and the slop");
    }
}

#[test]
fn the_fourth_timeout_in_a_row_gives_up_the_estimate() {
    let mut b = Bench::new(&flow(None, Some(600_000), None));
    b.taken();
    for timeouts in 1..=4 {
        b.fire();
        assert_eq!(b.sender.sample().srtt_ms.is_none(), timeouts == 4, "{timeouts}");
    }
    assert_eq!(b.sender.sample().min_rtt_ms, Some(10.0));
}

#[test]
fn a_lost_syn_comes_again_after_three_seconds_and_leaves_one_segment() {
    let mut out = LoneOutbox::new(2);
    let mut sender = Sender::new(0, SENDER_TIMER, &flow(None, Some(600_000), None), &stack());
    sender.connect(&mut out);
    assert_eq!(out.timer(SENDER_TIMER), 3 * SEC);
    out.now = 3 * SEC;
    sender.on_timer(&mut out);
    assert_eq!(out.timer(SENDER_TIMER) - out.now, 3200 * MS);
    out.now += 10 * MS;
    let p = Segment { flags: Direction::Reverse.flags() | flags::SYN, ..ack(1, 3000, &out) };
    sender.on_ack(&p, &mut out);
    assert_eq!(sender.sample().cwnd, 1.0);
}

#[test]
fn the_receivers_window_and_the_buffer_bound_what_is_out() {
    let mut b = Bench::new(&flow(None, Some(20 * u64::from(MSS)), None));
    let una = b.grow(20);
    assert_eq!(b.sender.sample().in_flight, 20);
    assert_eq!(b.ack(una + 1), NOTHING, "one segment's room does not wake the application");
    assert_eq!(b.ack(una + 2).len(), 2);
    b.window = 10 * MSS + 100;
    assert_eq!(b.ack(una + 12), NOTHING);
    assert_eq!(b.ack(una + 13), [una + 22]);
}

#[test]
fn a_closed_window_is_probed_and_not_forgotten() {
    let mut b = Bench::new(&flow(None, Some(600_000), None));
    let last = *b.taken().last().unwrap();
    b.window = 0;
    assert_eq!(b.ack(last + 1), NOTHING);
    assert_eq!(b.fire(), [last + 1], "a probe");
    assert_eq!(b.fire(), [last + 1], "and another");
    b.window = WIDE;
    assert!(b.ack(last + 2).len() > 1);
}

#[test]
fn idling_restarts_from_the_initial_window() {
    let mut b = Bench::new(&flow(None, Some(600_000), None));
    let una = b.grow(20);
    b.window = 0;
    b.ack(una + 20);
    b.out.now += 10 * SEC;
    b.fire();
    assert!((b.cwnd() * f64::from(MSS) - 4380.0).abs() < 1e-6, "{}", b.cwnd());
}

/// An ACK that the receiver sent: number, window, SACK blocks.
type Ack = (u32, u32, Vec<(u32, u32)>);

/// A receiver with its peer played by the test.
struct Sink {
    out: LoneOutbox,
    receiver: Receiver,
}

impl Sink {
    fn new(rcvbuf: Option<u64>) -> Self {
        let mut sink = Self {
            out: LoneOutbox::new(2),
            receiver: Receiver::new(0, RECEIVER_TIMER, &flow(rcvbuf, None, None), &stack()),
        };
        sink.out.now = SEC;
        let syn = sink.segment(0, flags::SYN);
        sink.receiver.on_packet(&syn, &mut sink.out);
        sink.out.take_sent();
        let handshake = sink.segment(1, flags::HANDSHAKE);
        sink.receiver.on_packet(&handshake, &mut sink.out);
        sink
    }

    fn segment(&self, seq: u32, flags: u16) -> Segment {
        Segment { len: 1514, flags, ..ack(seq, 0, &self.out) }
    }

    /// A pair from `new` whose window has been announced.
    fn open() -> Self {
        let mut sink = Self::new(Some(600_000));
        assert_eq!(sink.acks(), [(1, FULL, vec![])]);
        sink
    }

    /// ACKs that a segment makes.
    fn arrive(&mut self, seq: u32) -> Vec<Ack> {
        let p = self.segment(seq, 0);
        self.receiver.on_packet(&p, &mut self.out);
        self.acks()
    }

    fn acks(&mut self) -> Vec<Ack> {
        let packets = self.out.take_sent();
        packets
            .iter()
            .map(|p| (p.seq, p.window, self.out.take_attachment(p.attachment).blocks().as_slice().to_vec()))
            .collect()
    }
}

/// 415 segments, and less one, as the window field shows them.
const FULL: u32 = 415 * MSS / 64 * 64;
const LESS_ONE: u32 = 414 * MSS / 64 * 64;

#[test]
fn every_second_segment_is_acknowledged_with_itself_still_in_the_buffer() {
    let mut s = Sink::open();
    assert!(s.arrive(1).is_empty());
    assert_eq!(s.arrive(2), [(3, LESS_ONE, vec![])]);
    assert!(s.arrive(3).is_empty());
    assert_eq!(s.arrive(4), [(5, LESS_ONE, vec![])]);
}

#[test]
fn a_single_segment_is_acknowledged_after_100_ms_with_the_whole_window() {
    let mut s = Sink::open();
    s.out.now += MS / 2;
    s.arrive(1);
    assert_eq!(s.out.timer(RECEIVER_TIMER), SEC + 100 * MS, "in ticks");
    s.out.now = SEC + 100 * MS;
    s.receiver.on_timer(&mut s.out);
    assert_eq!(s.acks(), [(2, FULL, vec![])]);
}

#[test]
fn gaps_are_acknowledged_at_once_and_the_newest_range_comes_first() {
    let mut s = Sink::open();
    assert_eq!(s.arrive(3), [(1, FULL, vec![(3, 4)])]);
    assert_eq!(s.arrive(5), [(1, FULL, vec![(5, 6), (3, 4)])]);
    assert_eq!(s.arrive(7), [(1, FULL, vec![(7, 8), (5, 6), (3, 4)])]);
    assert_eq!(s.arrive(9), [(1, FULL, vec![(9, 10), (7, 8), (5, 6)])], "three blocks fit");
    assert_eq!(s.arrive(4), [(1, FULL, vec![(3, 6), (9, 10), (7, 8)])]);
    assert_eq!(s.arrive(4), [(1, FULL, vec![(3, 6), (9, 10), (7, 8)])], "a segment twice");
    assert_eq!(s.receiver.counters().duplicates, 1);
    // The one that fills a gap, before anything is read: the segment alone, then with five more.
    assert_eq!(s.arrive(1), [(2, LESS_ONE, vec![(3, 6), (9, 10), (7, 8)])]);
    assert_eq!(s.arrive(2), [(6, 411 * MSS / 64 * 64, vec![(9, 10), (7, 8)])]);
    assert_eq!(s.arrive(2), [(6, FULL, vec![(9, 10), (7, 8)])], "an old segment");
}

#[test]
fn a_filled_gap_that_frees_a_quarter_of_the_buffer_announces_its_window() {
    let mut s = Sink::open();
    for seq in 2..=120 {
        s.arrive(seq);
    }
    assert_eq!(s.arrive(1), [(121, 295 * MSS / 64 * 64, vec![]), (121, FULL, vec![])]);
    let mut less = Sink::open();
    for seq in 2..=100 {
        less.arrive(seq);
    }
    assert_eq!(less.arrive(1), [(101, 315 * MSS / 64 * 64, vec![])]);
}

#[test]
fn a_buffer_that_nobody_set_grows_by_a_step_a_round_trip_of_seven_eighths() {
    let mut s = Sink::new(None);
    let first = 66_608;
    let window = |s: &mut Sink, seq: u32, echo: u32| {
        let p = Segment { tsecr: echo, ..s.segment(seq, 0) };
        s.receiver.on_packet(&p, &mut s.out);
        s.acks().last().map(|a| a.1)
    };
    let mut seen = vec![];
    for seq in 1..=200 {
        s.out.now += MS / 10;
        // A round trip of 10 ms: a hundred segments.
        let echo = ((s.out.now - 10 * MS) / MS) as u32;
        seen.extend(window(&mut s, seq, echo));
    }
    assert_eq!(seen[0], (first - MSS) / 64 * 64);
    assert_eq!(*seen.iter().max().unwrap() / 64, (first + 16_384 - MSS) / 64, "one step in two round trips");
}

fn ecn_flow(cc: &str) -> TcpSpec {
    let mut spec = TcpSpec { ecn: true, ..flow(None, Some(600_000), None) };
    spec.cc.kind = cc.into();
    spec
}

#[test]
fn two_syns_offer_ecn_and_the_third_does_not() {
    let mut out = LoneOutbox::new(2);
    let mut sender = Sender::new(0, SENDER_TIMER, &ecn_flow("reno"), &stack());
    sender.connect(&mut out);
    let mut offers = Vec::new();
    while offers.len() < 3 {
        offers.extend(out.take_sent().iter().map(|p| p.flags & flags::ECN_SETUP));
        out.now = out.timer(SENDER_TIMER);
        sender.on_timer(&mut out);
    }
    assert_eq!(offers, [flags::ECN_SETUP, flags::ECN_SETUP, 0]);
}

#[test]
fn an_echo_halves_once_a_window_and_the_next_packet_says_so() {
    let mut b = Bench::new(&ecn_flow("reno"));
    let una = b.grow(40);
    let before = b.cwnd();
    let sent = b.echo(una + 1, &[]);
    assert_eq!(b.cwnd(), (before / 2.0).floor());
    assert!(sent.is_empty(), "more than that is out");
    assert_eq!(b.sender.counters.cwnd_reductions, 1);
    b.echo(una + 2, &[]);
    assert_eq!((b.cwnd(), b.sender.counters.cwnd_reductions), ((before / 2.0).floor(), 1));
    let mut first = Vec::new();
    let mut seq = una + 2;
    while first.is_empty() {
        seq += 1;
        first = b.echo(seq, &[]);
    }
    assert_eq!(first[0].1, Ecn::Ect0);
    assert!(first[0].2, "CWR goes with the next packet");
    assert!(b.echo(seq + 1, &[]).iter().all(|p| !p.2), "and with no other");
    assert_eq!(b.sender.sample().delivered_ce, seq + 1 - una);
}

#[test]
fn retransmissions_by_sack_are_ecn_capable_and_those_after_a_timeout_are_not() {
    let mut b = Bench::new(&ecn_flow("reno"));
    let una = b.grow(20);
    for end in [una + 3, una + 4] {
        b.ack_with(una, &[(una + 1, end)]);
    }
    let p = b.echo(una, &[(una + 1, una + 5)]);
    assert_eq!(p[0], (una, Ecn::Ect0, true), "the hole, with CWR of the loss");
    b.out.now = b.out.timer(SENDER_TIMER);
    b.sender.on_timer(&mut b.out);
    let sent = b.out.take_sent();
    assert!(!sent.is_empty() && sent.iter().all(|p| p.ecn() == Ecn::NotEct), "{sent:?}");
}

#[test]
fn cubic_and_cdg_halve_at_their_first_echo() {
    for cc in ["cubic", "cdg"] {
        let mut b = Bench::new(&ecn_flow(cc));
        let una = b.grow(40);
        let before = b.cwnd();
        b.echo(una + 1, &[]);
        assert!((b.cwnd() / before - 0.5).abs() < 0.03, "{cc}: {} of {before}", b.cwnd());
    }
}

#[test]
fn without_an_answer_there_is_no_ecn() {
    let mut b = Bench::new(&TcpSpec { ecn: false, ..ecn_flow("reno") });
    let una = b.grow(40);
    let before = b.cwnd();
    let sent = b.echo(una + 2, &[]);
    assert!(sent.iter().all(|p| p.1 == Ecn::NotEct && !p.2));
    assert!(b.cwnd() > before);
}

#[test]
fn the_receiver_echoes_a_mark_until_it_hears_of_the_reduction() {
    let mut s = Sink::new(Some(600_000));
    s.receiver = Receiver::new(0, RECEIVER_TIMER, &TcpSpec { ecn: true, ..flow(Some(600_000), None, None) }, &stack());
    s.out.take_sent();
    let syn = s.segment(0, flags::SYN | flags::ECN_SETUP);
    s.receiver.on_packet(&syn, &mut s.out);
    let answers = s.out.take_sent();
    assert!(answers.len() == 1 && answers[0].has(flags::ECE));
    let handshake = s.segment(1, flags::HANDSHAKE);
    s.receiver.on_packet(&handshake, &mut s.out);
    s.out.take_sent();
    let mut echoes = Vec::new();
    for (seq, ecn, cwr) in [
        (1, Ecn::Ect0, 0),
        (2, Ecn::Ect0, 0),
        (3, Ecn::Ce, 0),
        (4, Ecn::Ect0, 0),
        (5, Ecn::Ect0, 0),
        (6, Ecn::Ect0, 0),
        (7, Ecn::Ect0, flags::CWR),
        (8, Ecn::Ect0, 0),
        (9, Ecn::Ce, flags::CWR),
        (10, Ecn::Ect0, 0),
    ] {
        let mut p = s.segment(seq, cwr);
        p.set_ecn(ecn);
        s.receiver.on_packet(&p, &mut s.out);
        echoes.extend(s.out.take_sent().iter().filter(|p| p.seq % 2 == 1).map(|p| (p.seq, p.has(flags::ECE))));
    }
    echoes.dedup();
    assert_eq!(echoes, [(3, false), (5, true), (7, true), (9, false), (11, true)]);
}
