//! The counts and RTTs of a direction are those of tcptrace's rules, done plainly: every segment is in a list, which is walked for each packet.

mod common;

use common::*;
use dumbbell_trace::packet::{flags, Packet};
use dumbbell_trace::{Frame, TcpOption, Transport};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Segment {
    start: i64,
    end: i64,
    time_ns: i64,
    again: u32,
    /// ACKs that ended here since one that is no duplicate, that one included; 0 before the first.
    acked: u32,
}

/// Data that one end sent, segment by segment.
#[derive(Debug, Default, PartialEq)]
struct Plain {
    bytes: u64,
    unique: u64,
    again_packets: u64,
    again_bytes: u64,
    out_of_order: u64,
    rtts: Vec<i64>,
    ambiguous: u64,
    post_loss: u64,
    cumulative: u64,
    gaps: u64,
    duplicates: u64,
    triple: u64,
}

#[derive(Default)]
struct List {
    segments: Vec<Segment>,
    latest_ack: Option<i64>,
    found: Plain,
}

impl List {
    fn send(&mut self, start: i64, length: i64, time_ns: i64) {
        let end = start + length;
        let (mut first, mut again, mut split, mut out_of_order, mut at) = (start, 0, false, false, 0);
        let new = |first, end| Segment { start: first, end, time_ns, again: 0, acked: 0 };
        while first < end && at < self.segments.len() {
            let segment = &mut self.segments[at];
            if first >= segment.end {
                at += 1;
                continue;
            }
            if first < segment.start {
                out_of_order |= end < segment.end;
                let (from, to) = (segment.start, end.min(segment.start));
                self.segments.insert(at, new(first, to));
                first = if to == end { end } else { from };
                at += 1;
                continue;
            }
            segment.again += 1;
            if !split {
                self.found.gaps += u64::from(segment.acked == 0);
                segment.time_ns = time_ns;
            }
            split = true;
            again += end.min(segment.end) - first;
            first = segment.end;
        }
        if first < end {
            self.segments.push(new(first, end));
        }
        let found = &mut self.found;
        found.bytes += length as u64;
        found.unique += (length - again) as u64;
        found.again_packets += u64::from(again > 0);
        found.again_bytes += again as u64;
        found.out_of_order += u64::from(out_of_order);
    }

    fn acknowledge(&mut self, ack: i64, time_ns: i64) {
        let mut latest = i64::MIN;
        let repeated = self.latest_ack.replace(ack) == Some(ack);
        for segment in self.segments.iter_mut().filter(|segment| segment.start < ack) {
            latest = latest.max(segment.time_ns);
            let found = &mut self.found;
            if segment.acked > 0 {
                let duplicate = repeated && segment.end == ack;
                segment.acked = if duplicate { segment.acked + 1 } else { 1 };
                found.duplicates += u64::from(duplicate);
                found.triple += u64::from(duplicate && segment.acked == 4);
                continue;
            }
            segment.acked = 1;
            match segment {
                Segment { end, .. } if *end != ack => found.cumulative += 1,
                Segment { time_ns: sent, .. } if latest > *sent => found.post_loss += 1,
                Segment { again: 0, time_ns: sent, .. } => found.rtts.push(time_ns - *sent),
                _ => found.ambiguous += 1,
            }
        }
        // Segments that are acknowledged and touch are one.
        let mut at = 0;
        while at + 1 < self.segments.len() && self.segments[at].acked > 0 {
            if self.segments[at + 1].acked > 0 && self.segments[at].end == self.segments[at + 1].start {
                let next = self.segments.remove(at + 1);
                let segment = &mut self.segments[at];
                (segment.end, segment.acked) = (next.end, next.acked);
                segment.time_ns = segment.time_ns.max(next.time_ns);
            } else {
                at += 1;
            }
        }
    }
}

proptest! {
    #[test]
    fn counts_and_rtts_are_those_of_the_plain_rules(
        start in any::<u32>(),
        sent in prop::collection::vec((0..400_u32, 1..60_u32, any::<bool>(), 1..50_i64), 1..120),
    ) {
        let base = read(&file(&[frame(0, 0, 0, flags::ACK, 1, true)])).unwrap().packets[0];
        let (mut now, mut plain, mut most) = (0, List::default(), 0);
        let mut packets = vec![];
        // The first packet carries data, so that numbers count from there; acknowledgments never fall.
        for (n, &(at, length, data, later)) in sent.iter().enumerate() {
            now += later;
            if data || n == 0 {
                packets.push(Packet { time_ns: now, seq: start.wrapping_add(at), payload: length, ..base });
                plain.send(i64::from(at), i64::from(length), now);
            } else {
                most = most.max(at);
                let (source, destination) = (base.destination, base.source);
                packets.push(Packet { time_ns: now, source, destination, ack: start.wrapping_add(most), seq: 0, payload: 0, ..base });
                plain.acknowledge(i64::from(most), now);
            }
        }
        let found = analysis(&packets);
        let of_client = found.connection(0).client == base.source;
        let d = if of_client { found.connection(0).forward } else { found.connection(0).reverse };
        let (v, a, again) = (d.volume, d.answers, d.again());
        let ours = Plain {
            bytes: v.bytes,
            unique: v.unique_bytes,
            again_packets: again.packets,
            again_bytes: again.bytes,
            out_of_order: again.out_of_order,
            rtts: rtts_ns(&packets, !of_client),
            ambiguous: again.answered.count,
            post_loss: a.post_loss,
            cumulative: a.cumulative,
            gaps: again.gaps.count,
            duplicates: a.duplicates,
            triple: a.triple,
        };
        prop_assert_eq!(ours, plain.found);
        prop_assert!(d.span.first_ns <= d.span.last_ns && d.span.first_data_ns <= d.span.last_data_ns);
    }
}

/// A packet with these options.
fn with(
    time_ms: i64,
    seq: u32,
    ack: u32,
    bits: u16,
    payload: u16,
    from_client: bool,
    options: Vec<TcpOption>,
) -> Packet {
    let plain = frame(time_ms, seq, ack, bits, payload, from_client);
    let f = Frame { transport: Transport::Tcp { seq, ack, flags: bits, window: 500, options }, ..plain };
    read(&file(&[f])).unwrap().packets[0]
}

#[test]
fn a_retransmission_that_a_dsack_reports_was_for_nothing() {
    let ack = flags::ACK;
    let stamps = |value, echo| vec![TcpOption::Timestamps(value, echo)];
    let report = vec![TcpOption::Timestamps(9, 30), TcpOption::Sack(vec![(1, 1001)])];
    let packets = [
        with(0, 1, 1, ack, 1000, true, stamps(0, 1)),
        with(1, 1001, 1, ack, 1000, true, stamps(1, 1)),
        with(30, 1, 1, ack, 1000, true, stamps(30, 1)),
        // The ACK echoes the retransmission, so that only the report tells.
        with(35, 1, 2001, ack, 0, false, stamps(8, 30)),
        with(36, 1, 2001, ack, 0, false, report),
        // Acknowledged already.
        with(40, 1001, 1, ack, 1000, true, stamps(40, 1)),
    ];
    let before_report = analysis(&packets[..4]).connection(0).forward.again();
    assert_eq!((before_report.packets, before_report.spurious), (1, 0));
    let found = analysis(&packets);
    let again = found.connection(0).forward.again();
    assert_eq!((again.packets, again.spurious), (2, 2));
    assert_eq!(found.connection(0).reverse.kinds.dsacks, 1);
}

#[test]
fn an_accurate_counter_is_read_as_a_counter() {
    let all = flags::NS | flags::CWR | flags::ECE;
    let answer = flags::SYN | flags::ACK;
    let none = Vec::new;
    let ace = |count: u16| {
        flags::ACK
            | [0, flags::ECE][usize::from(count & 1 > 0)]
            | [0, flags::CWR][usize::from(count & 2 > 0)]
            | [0, flags::NS][usize::from(count & 4 > 0)]
    };
    let packets = [
        with(0, 0, 0, flags::SYN | all, 0, true, none()),
        with(10, 0, 1, answer | flags::CWR, 0, false, none()),
        // This codepoint says how the SYN-ACK was marked, and is no count.
        with(20, 1, 1, ace(2), 0, true, none()),
        with(21, 1, 1, ace(5), 1000, true, none()),
        // From 5: two marks, then seven more, of which the counter keeps the lowest three bits.
        with(40, 1, 1001, ace(7), 0, false, none()),
        with(41, 1, 1001, ace(6), 0, false, none()),
    ];
    let found = analysis(&packets);
    let connection = found.connection(0);
    assert!(connection.accurate_ecn);
    assert_eq!((connection.reverse.ecn().ace, connection.forward.ecn().ace, connection.reverse.ecn().ece), (9, 0, 0));
    let classic = [
        with(0, 0, 0, flags::SYN | flags::CWR | flags::ECE, 0, true, none()),
        with(10, 0, 1, answer | flags::ECE, 0, false, none()),
        with(20, 1, 1, flags::ACK | flags::ECE, 0, true, none()),
    ];
    let found = analysis(&classic);
    assert_eq!((found.connection(0).accurate_ecn, found.connection(0).forward.ecn().ece), (false, 1));
}

#[test]
fn data_that_the_capture_has_late_do_not_hide_a_duplicate() {
    let packets = [
        with(0, 1, 1, flags::ACK, 1000, true, vec![]),
        with(1, 2001, 1, flags::ACK, 1000, true, vec![]),
        with(10, 1, 3001, flags::ACK, 0, false, vec![]),
        with(11, 1, 3001, flags::ACK, 0, false, vec![]),
        with(12, 1001, 1, flags::ACK, 1000, true, vec![]),
        with(13, 1, 3001, flags::ACK, 0, false, vec![]),
        with(14, 1, 3001, flags::ACK, 0, false, vec![]),
    ];
    let answers = analysis(&packets).connection(0).forward.answers;
    assert_eq!((answers.duplicates, answers.triple), (3, 1));
}

#[test]
fn the_capture_ends_with_its_last_packet_of_any_kind() {
    let plain = frame(40, 0, 0, 0, 0, true);
    let datagram = Frame { transport: Transport::Udp, payload: 100, ..plain };
    let bytes = file(&[frame(0, 1, 1, flags::ACK, 1000, true), frame(10, 1, 1001, flags::ACK, 0, false), datagram]);
    let capture = read(&bytes).unwrap();
    let mut found = analysis(&capture.packets);
    let idle_ns = |found: &dumbbell_trace::Analysis| found.connection(0).forward.span.idle_max_ns;
    assert_eq!(idle_ns(&found), 10 * MS);
    found.end(capture.tally.last_ns.unwrap());
    assert_eq!(idle_ns(&found), 40 * MS);
}

#[test]
fn the_answer_to_a_repeated_syn_is_no_duplicate() {
    let answer = flags::SYN | flags::ACK;
    let packets = [
        with(0, 0, 0, flags::SYN, 0, true, vec![]),
        with(10, 0, 1, answer, 0, false, vec![]),
        with(20, 1, 1, flags::ACK, 0, true, vec![]),
        with(21, 1, 1, flags::ACK, 1000, true, vec![]),
        with(30, 1, 1001, flags::ACK, 0, false, vec![]),
        with(40, 0, 1, answer, 0, false, vec![]),
        with(50, 1001, 1, flags::ACK, 0, true, vec![]),
        with(51, 1001, 1, flags::ACK, 0, true, vec![]),
    ];
    let duplicates = |count: usize| analysis(&packets[..count]).connection(0).reverse.answers.duplicates;
    assert_eq!((duplicates(7), duplicates(8)), (0, 1));
}
