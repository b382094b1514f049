//! Writing and reading capture files, and the connections and RTTs in them.

mod common;

use common::*;
use dumbbell_trace::packet::{flags, Counters, Offer, Packet, Sacks};
use dumbbell_trace::{Frame, LeftOut, TcpOption, Transport};
use proptest::prelude::*;

/// The bytes of a packet's Ethernet frame, as the writer stores them.
fn ethernet_bytes(f: &Frame) -> Vec<u8> {
    file(std::slice::from_ref(f))[24 + 16..].to_vec()
}

/// A pcap file with one packet; `time` is its seconds and their fraction.
fn pcap(magic: [u8; 4], link_type: u8, time: [u32; 2], big_endian: bool, packet: &[u8]) -> Vec<u8> {
    let word = |v: u32| if big_endian { v.to_be_bytes() } else { v.to_le_bytes() };
    let half = |v: u16| if big_endian { v.to_be_bytes() } else { v.to_le_bytes() };
    let mut file = magic.to_vec();
    file.extend([half(2), half(4)].concat());
    file.extend([word(0), word(0), word(65_535), word(u32::from(link_type))].concat());
    let length = packet.len() as u32;
    file.extend([word(time[0]), word(time[1]), word(length), word(length + 1448)].concat());
    file.extend(packet);
    file
}

fn data() -> Frame {
    frame(3, 1, 1, flags::ACK | flags::PSH, 1448, true)
}

fn expected(time_ns: i64) -> Packet {
    Packet {
        time_ns,
        source: endpoint(CLIENT),
        destination: endpoint(SERVER),
        id: 2,
        seq: 1,
        ack: 1,
        flags: flags::ACK | flags::PSH,
        window: 511,
        timestamps: Some((3, 7)),
        sacks: Sacks::default(),
        offer: Offer::default(),
        counters: None,
        ecn: 2,
        cut: 1448,
        payload: 1448,
        length: 1500,
    }
}

#[test]
fn the_option_of_accecn_is_read_back_in_both_orders_and_beside_blocks() {
    for (kind, ect0_first) in [(TcpOption::ACCURATE_ECT1_FIRST, false), (TcpOption::ACCURATE_ECT0_FIRST, true)] {
        for (count, blocks) in [(3, 0), (2, 2), (1, 0), (0, 3), (3, 1)] {
            let values = [1 << 23, 0, 0x00ff_ffff];
            let mut f = data();
            let Transport::Tcp { options, .. } = &mut f.transport else { panic!("a segment") };
            options.push(TcpOption::AccurateEcn(kind, values[..count].to_vec()));
            if blocks > 0 {
                options.push(TcpOption::Sack((0..blocks).map(|n| (n * 10, n * 10 + 5)).collect()));
            }
            let capture = read(&file(&[f])).unwrap();
            let (found, tally) = (&capture.packets[0], &capture.tally);
            let fields = std::array::from_fn(|n| (n < count).then_some(values[n]));
            assert_eq!(found.counters, Some(Counters { ect0_first, fields }));
            assert_eq!((found.sacks.blocks().len(), found.timestamps), (blocks as usize, Some((3, 7))));
            assert_eq!((tally.options_cut, tally.options_invalid), (0, 0));
        }
    }
}

#[test]
fn the_option_of_accecn_ends_no_options_where_there_are_no_timestamps() {
    let options = vec![
        TcpOption::MaximumSegmentSize(1460),
        TcpOption::SackPermitted,
        TcpOption::AccurateEcn(TcpOption::ACCURATE_ECT0_FIRST, vec![1, 2, 3]),
        TcpOption::WindowScale(7),
    ];
    let transport = Transport::Tcp { seq: 0, ack: 0, flags: flags::SYN, window: 1, options };
    let capture = read(&file(&[Frame { transport, payload: 0, ..data() }])).unwrap();
    let fields = [1, 2, 3].map(Some);
    assert_eq!(capture.packets[0].counters, Some(Counters { ect0_first: true, fields }));
    assert_eq!(capture.packets[0].offer.window_scale, Some(7));
}

#[test]
fn written_packets_are_read_back() {
    let capture = read(&file(&[data()])).unwrap();
    assert_eq!(capture.packets, [expected(EPOCH_NS + 3 * MS)]);
    let tally = capture.tally;
    assert_eq!((tally.tcp_packets, tally.other_packets(), tally.options_cut, tally.options_invalid), (1, 0, 0, 0));
    assert!(tally.cut_short.is_none() && tally.damage.is_none());
}

#[test]
fn options_are_written_and_read_back() {
    let syn = vec![
        TcpOption::MaximumSegmentSize(1460),
        TcpOption::SackPermitted,
        TcpOption::Timestamps(1, 0),
        TcpOption::WindowScale(7),
    ];
    let sack = vec![TcpOption::Timestamps(1, 0), TcpOption::Sack(vec![(5, 9), (1, 2), (7, 8)])];
    for (options, header, blocks) in [(syn, 40, 0), (sack, 20 + 12 + 28, 3)] {
        let transport = Transport::Tcp { seq: 0, ack: 0, flags: flags::ACK, window: 1, options };
        let capture = read(&file(&[Frame { transport, payload: 0, ..data() }])).unwrap();
        assert_eq!((capture.packets[0].length, capture.packets[0].sacks.blocks().len()), (20 + header, blocks));
        assert_eq!(capture.packets[0].timestamps, Some((1, 0)));
    }
}

#[test]
fn pcap_of_either_byte_order_and_time_unit() {
    let packet = ethernet_bytes(&data());
    for (magic, time, big_endian) in [
        ([0xd4, 0xc3, 0xb2, 0xa1], [1, 5], false),
        ([0xa1, 0xb2, 0xc3, 0xd4], [1, 5], true),
        ([0x4d, 0x3c, 0xb2, 0xa1], [1, 5_000], false),
        ([0xa1, 0xb2, 0x3c, 0x4d], [1, 5_000], true),
    ] {
        let capture = read(&pcap(magic, 1, time, big_endian, &packet)).unwrap();
        assert_eq!(capture.packets, [expected(1_000_005_000)], "{magic:x?}");
    }
}

#[test]
fn link_layer_headers_are_skipped() {
    let ethernet = ethernet_bytes(&data());
    let ip = &ethernet[14..];
    let cooked = [vec![0; 14], vec![8, 0], ip.to_vec()].concat();
    let cooked_2 = [vec![8, 0], vec![0; 18], ip.to_vec()].concat();
    let loopback = [vec![2, 0, 0, 0], ip.to_vec()].concat();
    let tagged = [ethernet[..12].to_vec(), vec![0x81, 0, 0, 9, 8, 0], ip.to_vec()].concat();
    let magic = [0x4d, 0x3c, 0xb2, 0xa1];
    for (link, packet) in [(1, tagged), (101, ip.to_vec()), (113, cooked), (0, loopback)] {
        let capture = read(&pcap(magic, link, [0, 9], false, &packet)).unwrap();
        assert_eq!(capture.packets, [expected(9)], "link {link}");
    }
    let mut cooked_2_file = pcap(magic, 0, [0, 9], false, &cooked_2);
    cooked_2_file[20..24].copy_from_slice(&276_u32.to_le_bytes());
    assert_eq!(read(&cooked_2_file).unwrap().packets, [expected(9)]);
    let wireless = read(&pcap(magic, 105, [0, 9], false, ip)).unwrap_err();
    assert!(wireless.contains("link type 105"), "{wireless}");
}

/// A pcapng file with one packet, captured `ticks` units of `resolution` (if_tsresol) after the interface's offset.
fn pcapng(resolution: u8, offset_s: i64, ticks: u64, big_endian: bool, packet: &[u8]) -> Vec<u8> {
    let word = |v: u32| if big_endian { v.to_be_bytes() } else { v.to_le_bytes() };
    let half = |v: u16| if big_endian { v.to_be_bytes() } else { v.to_le_bytes() };
    let wide = |v: i64| if big_endian { v.to_be_bytes() } else { v.to_le_bytes() };
    let block = |kind: u32, body: Vec<u8>| {
        let length = word((12 + body.len()) as u32);
        [&word(kind)[..], &length, &body, &length].concat()
    };
    let section = [&word(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat();
    let units = [&half(9)[..], &half(1), &[resolution, 0, 0, 0]].concat();
    let offset = [&half(14)[..], &half(8), &wide(offset_s)].concat();
    let interface = [&half(1)[..], &half(0), &word(1024), &units, &offset, &[0; 4]].concat();
    let length = packet.len() as u32;
    let head = [0, (ticks >> 32) as u32, ticks as u32, length, length + 1448].map(word).concat();
    let padding = vec![0; packet.len().next_multiple_of(4) - packet.len()];
    let body = [&head[..], packet, &padding].concat();
    [block(0x0a0d_0d0a, section), block(1, interface), block(6, body)].concat()
}

#[test]
fn pcapng_timestamps_have_a_resolution_and_an_offset() {
    let packet = ethernet_bytes(&data());
    for big_endian in [false, true] {
        for (resolution, ticks, expected_ns) in [
            (6, 1_000_003_u64, 1_000_003_000),
            (9, 1_000_003, 1_000_003),
            (0, 3, 3_000_000_000),
            // 0.75 s in units of 2^-20 s.
            (0x80 | 20, 3 << 18, 750_000_000),
        ] {
            for offset_s in [0, 5, -2] {
                let file = pcapng(resolution, offset_s, ticks, big_endian, &packet);
                let capture = read(&file).unwrap();
                assert_eq!(
                    capture.packets,
                    [expected(expected_ns + offset_s * 1000 * MS)],
                    "{resolution:x} {big_endian}"
                );
                let cut = read(&file[..file.len() - 3]).unwrap();
                assert!(cut.tally.cut_short.is_some() && cut.packets.is_empty());
            }
        }
    }
    for resolution in [20, 0x80 | 64] {
        let unknown = read(&pcapng(resolution, 0, 1, false, &packet)).unwrap_err();
        assert!(unknown.contains("unit of time"), "{unknown}");
    }
}

#[test]
fn pcap_with_the_longer_record_headers_of_the_modified_format() {
    let packet = ethernet_bytes(&data());
    let mut file = pcap([0x34, 0xcd, 0xb2, 0xa1], 1, [1, 5], false, &packet);
    file.splice(40..40, [0; 8]);
    assert_eq!(read(&file).unwrap().packets, [expected(1_000_005_000)]);
}

#[test]
fn other_files_are_refused_and_truncated_captures_are_read_up_to_the_cut() {
    assert!(read(b"hello, world, this is no capture at all").unwrap_err().contains("no packet capture"));
    assert!(read(b"").unwrap_err().contains("no packet capture"));
    let whole = file(&[data(), data()]);
    let cut = read(&whole[..whole.len() - 5]).unwrap();
    assert_eq!((cut.packets.len(), cut.tally.cut_short), (1, Some(whole.len() as u64 - 5)));
}

#[test]
fn udp_packets_are_counted_apart() {
    let udp = Frame { transport: Transport::Udp, ..data() };
    let capture = read(&file(&[udp])).unwrap();
    assert_eq!((capture.packets.len(), capture.tally.left_out(LeftOut::OtherProtocol)), (0, 1));
}

#[test]
fn counts_and_times_of_a_connection() {
    let ack = flags::ACK;
    let capture = read(&file(&[
        frame(0, 0, 0, flags::SYN, 0, true),
        frame(20, 0, 1, flags::SYN | ack, 0, false),
        frame(20, 1, 1, ack, 1000, true),
        frame(21, 2001, 1, ack, 1000, true),
        frame(22, 1001, 1, ack, 1000, true),
        frame(40, 1, 1001, ack, 0, false),
        frame(50, 1, 1, ack, 1000, true),
        frame(60, 1, 3001, ack, 0, false),
    ]))
    .unwrap();
    let all = analysis(&capture.packets);
    assert_eq!(all.len(), 1);
    let (c, f) = (all.connection(0), all.connection(0).forward);
    let (v, span) = (&f.volume, &f.span);
    assert_eq!((c.client, c.server), (endpoint(CLIENT), endpoint(SERVER)));
    assert_eq!((v.packets, v.data_packets, v.bytes, v.unique_bytes), (5, 4, 4000, 3000));
    assert_eq!((f.again().packets, f.again().bytes, f.again().out_of_order), (1, 1000, 1));
    let at = |ms: i64| EPOCH_NS + ms * MS;
    assert_eq!((span.first_ns, span.last_ns, span.first_data_ns), (at(0), at(50), at(20)));
    assert_eq!((c.reverse.volume.packets, c.reverse.volume.bytes), (3, 0));
    let expected = 3000.0 * 8.0 / 0.030;
    assert!((f.throughput_bps() - expected).abs() < 1.0);
    // SYN, then the first segment. The last ACK gives no RTT: data below its segment were seen later, and the first were retransmitted.
    let packets = &capture.packets;
    assert_eq!((rtts_ns(packets, false), rtts_ns(packets, true)), (vec![20 * MS, 20 * MS], vec![0]));
}

#[test]
fn a_new_syn_on_the_same_ports_starts_another_connection() {
    let new_syn = Frame { id: 9, ..frame(100, 77, 0, flags::SYN, 0, true) };
    let capture =
        read(&file(&[frame(0, 0, 0, flags::SYN, 0, true), frame(1, 0, 0, flags::SYN, 0, true), new_syn])).unwrap();
    let all = analysis(&capture.packets);
    assert_eq!((0..all.len()).map(|i| all.connection(i).forward.volume.packets).collect::<Vec<_>>(), [2, 1]);
}

/// Captures at the sender and at the receiver of a data packet every 5 ms for a second, over one-way delays `forth` and `back` (ns). The
/// receiver acknowledges every second packet 2 ms after it, its clock is ahead by `skew` (ns), and packet `lost` of every 50 is lost.
fn exchange(forth: i64, back: i64, skew: i64, lost: u32) -> (Vec<Packet>, Vec<Packet>) {
    let (mut near, mut far) = (vec![], vec![]);
    let packet = |f: Frame, at: i64| Packet { time_ns: at, ..read(&file(&[f])).unwrap().packets[0] };
    for n in 0..200_u32 {
        let sent = i64::from(n) * 5 * MS;
        let data = frame(i64::from(n), 1 + n * 1000, 1, flags::ACK, 1000, true);
        near.push(packet(data.clone(), sent));
        if n % 50 == lost {
            continue;
        }
        far.push(packet(data, sent + forth + skew));
        if n % 2 == 1 {
            let answer = frame(i64::from(n) + 1000, 1, 1 + (n + 1) * 1000, flags::ACK, 0, false);
            let left = sent + forth + 2 * MS;
            far.push(packet(answer.clone(), left + skew));
            near.push(packet(answer, left + back));
        }
    }
    near.sort_by_key(|p| p.time_ns);
    far.sort_by_key(|p| p.time_ns);
    (near, far)
}

proptest! {
    #[test]
    fn packet_pairs_measure_the_path_whatever_the_clock_offset(forth in 1..80_i64, back in 1..80_i64, skew in -5_000..5_000_i64, lost in 0..60_u32) {
        let (near, far) = exchange(forth * MS, back * MS, skew * MS, lost);
        for (first, second) in [(&near, &far), (&far, &near)] {
            let pairs = between(first, second).unwrap();
            prop_assert_eq!(pairs.len(), 1);
            prop_assert_eq!((pairs[0].source, pairs[0].destination), (endpoint(CLIENT), endpoint(SERVER)));
            prop_assert!(pairs[0].samples.len() >= 96);
            for sample in &pairs[0].samples {
                prop_assert_eq!(sample.rtt_ns, (forth + back) * MS);
            }
        }
        // At one point, the delay of the ACK counts as well.
        prop_assert!(rtts_ns(&near, false).iter().all(|rtt_ns| *rtt_ns >= (forth + back + 2) * MS));
    }

    #[test]
    fn no_input_causes_a_panic(noise in prop::collection::vec(any::<u8>(), 0..400), at in 0..200_usize) {
        let _ = read(&noise);
        let mut damaged = file(&[data(), data()]);
        for (target, byte) in damaged.iter_mut().skip(at).zip(&noise) {
            *target = *byte;
        }
        if let Ok(capture) = read(&damaged) {
            let _ = analysis(&capture.packets);
            let _ = between(&capture.packets, &capture.packets);
        }
        let section = [&[0x0a, 0x0d, 0x0d, 0x0a], &noise[..]].concat();
        let _ = read(&section);
    }

    #[test]
    fn bytes_are_counted_across_a_wrap_of_sequence_numbers(start in any::<u32>(), order in Just((0..64_u32).collect::<Vec<_>>()).prop_shuffle()) {
        let base = read(&file(&[data()])).unwrap().packets[0];
        let packets: Vec<_> = std::iter::once(0).chain(order.iter().copied())
            .map(|n| Packet { seq: start.wrapping_add(n * 1000), payload: 1000, ..base }).collect();
        let all = analysis(&packets);
        prop_assert_eq!(all.connection(0).forward.volume.unique_bytes, 64_000);
        prop_assert_eq!(all.connection(0).forward.again().packets, 1);
    }
}

/// The packet of a frame, captured at `time_ms`.
fn at(time_ms: i64, f: Frame) -> Packet {
    Packet { time_ns: time_ms * MS, ..read(&file(&[f])).unwrap().packets[0] }
}

/// A frame whose IP identification is 0, as many stacks send it.
fn without_id(seq: u32, ack: u32, payload: u16, from_client: bool) -> Frame {
    Frame { id: 0, ..frame(0, seq, ack, flags::ACK, payload, from_client) }
}

#[test]
fn a_retransmission_identical_to_the_lost_packet_does_not_get_its_time() {
    let (first, second) = (without_id(1, 1, 1000, true), without_id(1001, 1, 1000, true));
    let (answer, last) = (without_id(1, 1001, 0, false), without_id(1, 2001, 0, false));
    // The second segment is lost at 1 ms and retransmitted at 300 ms.
    let near = [
        at(0, first.clone()),
        at(1, second.clone()),
        at(20, answer.clone()),
        at(300, second.clone()),
        at(320, last.clone()),
    ];
    let far = [at(10, first), at(10, answer), at(310, second), at(310, last)];
    let pairs = between(&near, &far).unwrap();
    assert_eq!(pairs[0].samples.iter().map(|s| s.rtt_ns / MS).collect::<Vec<_>>(), [20]);
}

#[test]
fn timestamps_tell_copies_apart() {
    let copy = |stamp: u32| {
        let transport = Transport::Tcp {
            seq: 1,
            ack: 1,
            flags: flags::ACK,
            window: 511,
            options: vec![TcpOption::Timestamps(stamp, 7)],
        };
        Frame { transport, ..without_id(1, 1, 1000, true) }
    };
    let answer = without_id(1, 1001, 0, false);
    let near = [at(0, copy(0)), at(300, copy(300)), at(320, answer.clone())];
    let far = [at(310, copy(300)), at(310, answer)];
    let pairs = between(&near, &far).unwrap();
    assert_eq!(pairs[0].samples.iter().map(|s| s.rtt_ns / MS).collect::<Vec<_>>(), [20]);
}

#[test]
fn two_captures_of_one_point_are_refused() {
    let (near, _) = exchange(10 * MS, 10 * MS, 0, 60);
    assert!(between(&near, &near).unwrap_err().contains("expected two points"));
    assert!(between(&near, &[]).unwrap().is_empty());
}

#[test]
fn clocks_may_drift_by_more_than_the_path_takes() {
    let (near, mut far) = exchange(MS, MS, 0, 60);
    // The far clock runs 1 % too fast: it is 10 ms ahead after a second, on a path of 2 ms.
    far.iter_mut().for_each(|p| p.time_ns += p.time_ns / 100);
    let pairs = between(&near, &far).unwrap();
    assert_eq!(pairs[0].source, endpoint(CLIENT));
    assert!(pairs[0].samples.iter().all(|s| (s.rtt_ns - 2 * MS).abs() < MS / 10));
}

#[test]
fn each_of_several_connections_on_the_same_ports_is_measured() {
    let (mut near, mut far) = (vec![], vec![]);
    for (round, delay_ms) in [(0, 10), (1, 25)] {
        let start = 1000 * i64::from(round);
        let syn = Frame { id: 0, ..frame(0, 5 + round, 0, flags::SYN, 0, true) };
        let (data, answer) = (without_id(100 * round + 6, 1, 100, true), without_id(1, 100 * round + 106, 0, false));
        near.extend([
            at(start, syn.clone()),
            at(start + 100, data.clone()),
            at(start + 100 + 2 * delay_ms, answer.clone()),
        ]);
        far.extend([at(start + delay_ms, syn), at(start + 100 + delay_ms, data), at(start + 100 + delay_ms, answer)]);
    }
    let pairs = between(&near, &far).unwrap();
    let rtts: Vec<_> = pairs.iter().flat_map(|p| &p.samples).map(|s| s.rtt_ns / MS).collect();
    assert_eq!(rtts, [20, 50]);
}

#[test]
fn partly_new_segments_are_counted_byte_by_byte() {
    let packets = [
        at(0, without_id(1, 1, 1000, true)),
        at(1, without_id(501, 1, 1000, true)),
        at(2, without_id(3001, 1, 1000, true)),
    ];
    let late = [at(3, without_id(2001, 1, 500, true)), at(4, without_id(1, 1, 200, true))];
    let all = analysis(&[&packets[..], &late[..]].concat());
    let f = all.connection(0).forward;
    assert_eq!((f.volume.bytes, f.volume.unique_bytes), (3700, 3000));
    assert_eq!((f.again().packets, f.again().bytes, f.again().out_of_order), (2, 700, 1));
}
