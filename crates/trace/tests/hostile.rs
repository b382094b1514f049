//! Captures that are cut, damaged, or whose clock was set back: packets that are not understood are counted, and nothing is wrong in
//! silence.

mod common;

use common::*;
use dumbbell_trace::packet::{flags, Packet};
use dumbbell_trace::{Error, Frame, LeftOut, Reader, TcpOption, Transport};

const ETHERNET: usize = 14;
const IP: usize = 20;

/// A pcap file with packets of these bytes; each was `length` bytes long.
fn pcap(packets: &[(Vec<u8>, u32)]) -> Vec<u8> {
    let mut file = file(&[]);
    for (bytes, length) in packets {
        for word in [0, 0, bytes.len() as u32, *length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(bytes);
    }
    file
}

/// The captured bytes of a data segment of 1448 bytes with these TCP options.
fn segment(options: Vec<TcpOption>) -> Vec<u8> {
    let transport = Transport::Tcp { seq: 1, ack: 1, flags: flags::ACK, window: 511, options };
    file(&[Frame { transport, ..frame(0, 1, 1, flags::ACK, 1448, true) }])[24 + 16..].to_vec()
}

#[test]
fn whatever_the_snap_length_a_packet_is_analysed_or_counted_by_reason() {
    let whole = segment(vec![TcpOption::Timestamps(3, 7), TcpOption::Sack(vec![(5, 9)])]);
    let length = whole.len() as u32 + 1448;
    for snap in 0..=whole.len() {
        let capture = read(&pcap(&[(whole[..snap].to_vec(), length)])).unwrap();
        let tally = capture.tally;
        if snap < ETHERNET + IP {
            assert_eq!((tally.tcp_packets, tally.left_out(LeftOut::IpHeaderCut)), (0, 1), "{snap}");
        } else if snap < ETHERNET + IP + 20 {
            assert_eq!((tally.tcp_packets, tally.left_out(LeftOut::TcpHeaderCut)), (0, 1), "{snap}");
        } else {
            assert_eq!((tally.tcp_packets, tally.other_packets()), (1, 0), "{snap}");
            assert_eq!(tally.options_cut, u64::from(snap < whole.len()), "{snap}");
            let p = capture.packets[0];
            assert_eq!((p.seq, p.ack, p.window, p.payload), (1, 1, 511, 1448));
            // Two NOPs stand in front of the timestamps.
            assert_eq!(p.timestamps.is_some(), snap >= ETHERNET + IP + 20 + 12, "{snap}");
            assert_eq!(p.sacks.blocks().len(), usize::from(snap == whole.len()), "{snap}");
        }
    }
}

#[test]
fn options_behind_an_unknown_one_are_read_and_invalid_ones_are_counted() {
    let stamps = segment(vec![TcpOption::Timestamps(3, 7)]);
    let at = ETHERNET + IP + 20;
    for (options, timestamps, invalid) in [
        // MPTCP, then timestamps; then an option without length, one of length 0, one beyond the header, timestamps of length 2.
        (vec![30, 2, 8, 10, 0, 0, 0, 3, 0, 0, 0, 7], Some((3, 7)), 0),
        (vec![1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 30], None, 1),
        (vec![30, 0, 8, 10, 0, 0, 0, 3, 0, 0, 0, 7], None, 1),
        (vec![30, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 7], None, 1),
        (vec![30, 13, 8, 10, 0, 0, 0, 3, 0, 0, 0, 7], None, 1),
        (vec![8, 2, 8, 10, 0, 0, 0, 3, 0, 0, 0, 7], None, 1),
        // Bytes after the end of the list are padding.
        (vec![0, 13, 8, 10, 0, 0, 0, 3, 0, 0, 0, 7], None, 0),
    ] {
        let mut packet = stamps.clone();
        packet.splice(at..at + 12, options.clone());
        let capture = read(&pcap(&[(packet, 1514)])).unwrap();
        assert_eq!(
            (capture.packets[0].timestamps, capture.tally.options_invalid),
            (timestamps, invalid),
            "{options:?}"
        );
    }
}

#[test]
fn each_packet_that_is_left_out_has_its_reason() {
    let tcp = segment(vec![]);
    let with = |at: usize, bytes: &[u8]| {
        let mut packet = tcp.clone();
        packet[at..at + bytes.len()].copy_from_slice(bytes);
        packet
    };
    let udp = file(&[Frame { transport: Transport::Udp, ..frame(0, 0, 0, 0, 9, true) }])[24 + 16..].to_vec();
    for (packet, reason) in [
        (udp, LeftOut::OtherProtocol),
        (with(12, &[8, 6]), LeftOut::NotIp),
        (with(ETHERNET, &[0x25]), LeftOut::NotIp),
        (with(ETHERNET, &[0x44]), LeftOut::IpHeaderInvalid),
        // More fragments follow; an offset.
        (with(ETHERNET + 6, &[0x20, 0]), LeftOut::Fragment),
        (with(ETHERNET + 6, &[0, 9]), LeftOut::Fragment),
        // A TCP header of 16 bytes; an IP packet that ends within its header.
        (with(ETHERNET + IP + 12, &[0x40]), LeftOut::TcpHeaderInvalid),
        (with(ETHERNET + 2, &[0, 39]), LeftOut::TcpHeaderInvalid),
    ] {
        let tally = read(&pcap(&[(packet, 1514)])).unwrap().tally;
        assert_eq!((tally.left_out(reason), tally.other_packets(), tally.tcp_packets), (1, 1, 0), "{reason:?}");
    }
}

fn block(kind: u32, body: &[u32]) -> Vec<u8> {
    let length = 12 + 4 * body.len() as u32;
    [kind, length].iter().chain(body).chain([&length]).flat_map(|word| word.to_le_bytes()).collect()
}

const SECTION: [u32; 4] = [0x1a2b_3c4d, 1, u32::MAX, u32::MAX];

#[test]
fn packets_of_an_unknown_link_type_or_without_a_time_are_counted() {
    // An interface for USB; one whose clock starts 2^40 s after 1970; a packet of each, and one without a time.
    let late = [1, 0, 8 << 16 | 14, 0, 1 << 8, 0];
    let packet = |interface: u32| block(6, &[interface, 0, 0, 4, 4, 0]);
    let blocks = [block(1, &[220, 0]), block(1, &late), packet(0), packet(1), block(3, &[4, 0])];
    let tally = read(&[block(0x0a0d_0d0a, &SECTION), blocks.concat()].concat()).unwrap().tally;
    assert_eq!((tally.left_out(LeftOut::LinkType), tally.left_out(LeftOut::NoTime), tally.other_packets()), (1, 2, 3));
}

/// A stream of a file and as many zeros as are asked for: an absurd length in it is no end of the file.
fn endless(file: &[u8]) -> impl std::io::Read + '_ {
    std::io::Read::chain(file, std::io::repeat(0))
}

#[test]
fn absurd_lengths_are_damage_and_allocate_nothing() {
    let section = block(0x0a0d_0d0a, &SECTION);
    let interface = block(1, &[1, 0]);
    let mut record = file(&[]);
    record.extend([0, 0, u32::MAX, u32::MAX].map(u32::to_le_bytes).concat());
    let block_of = |kind: u32, length: u32| [section.clone(), [kind, length].map(u32::to_le_bytes).concat()].concat();
    for (bytes, expected) in [
        (record, "is damaged at byte 24: a packet of 4294967295 bytes"),
        (block_of(1, 0xffff_fffc), "is damaged at byte 28: a block of 4294967292 bytes"),
        (block_of(6, 0xffff_fffc), "is damaged at byte 28: a block of 4294967292 bytes"),
        (block_of(6, 8), "is damaged at byte 28: a block of 8 bytes"),
        (block_of(6, 33), "is damaged at byte 28: a block of 33 bytes"),
        (block_of(0x0a0d_0d0a, 0), "is damaged at byte 28: a section without byte order"),
        (
            [&section[..], &interface, &block(6, &[0, 0, 0, 99, 99])].concat(),
            "is damaged at byte 48: a packet of 99 bytes",
        ),
        (
            [&section[..], &interface, &block(6, &[7, 0, 0, 0, 0])].concat(),
            "is damaged at byte 48: a packet of interface 7, which is not described",
        ),
        ([&section[..], &block(6, &[0; 4])].concat(), "is damaged at byte 28: a packet without a length"),
        ([&section[..], &block(1, &[1])].concat(), "is damaged at byte 28: an interface without a link type"),
        ([&section[..], &block(1, &[1, 0, 99 << 16 | 9])].concat(), "is damaged at byte 28: an option of 99 bytes"),
        ([section.clone(), interface.repeat(70_000)].concat(), "describes more than 65536 interfaces"),
    ] {
        let mut reader = Reader::new(endless(&bytes)).unwrap();
        match reader.next_packet() {
            Err(Error::Content(message)) => assert_eq!(message, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
    let mut lengths = section.clone();
    let end = lengths.len();
    lengths[end - 4] ^= 4;
    assert!(
        Reader::new(&lengths[..]).is_err_and(|error| matches!(error, Error::Content(m) if m.ends_with("two lengths")))
    );
}

#[test]
fn a_clock_that_is_set_back_gives_no_rtt_and_is_counted() {
    let ack = flags::ACK;
    let frames = [(50, 1, 1, 1000, true), (40, 1, 1001, 0, false), (60, 1001, 1, 1000, true), (75, 1, 2001, 0, false)];
    let capture =
        read(&file(&frames.map(|(at, seq, number, length, client)| frame(at, seq, number, ack, length, client))))
            .unwrap();
    assert_eq!(capture.tally.earlier_than_previous, 1);
    let found = analysis(&capture.packets);
    assert_eq!((rtts_ns(&capture.packets, false), found.negative_rtts()), (vec![15 * MS], 1));
    let reverse = found.connection(0).reverse.span;
    assert_eq!((reverse.first_ns, reverse.last_ns), (EPOCH_NS + 40 * MS, EPOCH_NS + 75 * MS));
}

#[test]
fn packet_pairs_are_never_negative() {
    // The second point's clock is set back by 100 ms between the data and its ACK.
    let packet =
        |at: i64, f: &Frame| Packet { time_ns: at * MS, ..read(&file(std::slice::from_ref(f))).unwrap().packets[0] };
    let frames: Vec<Frame> = (0..4_u32)
        .flat_map(|n| {
            let data = frame(i64::from(n), 1 + n * 1000, 1, flags::ACK, 1000, true);
            [data, frame(i64::from(n), 1, 1001 + n * 1000, flags::ACK, 0, false)]
        })
        .collect();
    let near: Vec<Packet> =
        [0, 20, 30, 50, 60, 80, 90, 110].iter().zip(&frames).map(|(at, f)| packet(*at, f)).collect();
    let far: Vec<Packet> =
        [10, 10, 40, -60, -30, -30, 0, 0].iter().zip(&frames).map(|(at, f)| packet(*at, f)).collect();
    let pairs = between(&near, &far).unwrap();
    assert_eq!((pairs[0].samples.len(), pairs[0].left_out), (3, 1));
    assert!(pairs[0].samples.iter().all(|sample| sample.rtt_ns == 20 * MS));
}
