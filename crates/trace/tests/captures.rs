//! Capture files, written and read; connections and RTTs from them.

use std::net::{IpAddr, Ipv4Addr};

use dumbbell_trace::connection::connections;
use dumbbell_trace::packet::{flags, Endpoint, Packet};
use dumbbell_trace::{one_point, read, spp, Frame, TcpOption, Transport, Writer};
use proptest::prelude::*;

const CLIENT: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 1, 0, 1), 10_000);
const SERVER: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 2, 0, 2), 5_000);
const MS: i64 = 1_000_000;

fn end(of: (Ipv4Addr, u16)) -> Endpoint {
    (IpAddr::V4(of.0), of.1)
}

fn frame(time_ms: i64, seq: u32, ack: u32, bits: u16, payload: u16, from_client: bool) -> Frame {
    let (source, destination) = if from_client { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
    let options = vec![TcpOption::Timestamps(time_ms as u32, 7)];
    Frame {
        time_ns: (time_ms * MS) as u64,
        source,
        destination,
        id: (time_ms as u16) ^ seq as u16,
        ecn: 2,
        transport: Transport::Tcp { seq, ack, flags: bits, window: 511, options },
        payload,
    }
}

fn file(frames: &[Frame]) -> Vec<u8> {
    let mut writer = Writer::default();
    frames.iter().for_each(|f| writer.add(f).unwrap());
    writer.finish()
}

/// The Ethernet frame of a packet, out of a file with that packet alone.
fn bytes_of(f: &Frame) -> Vec<u8> {
    file(std::slice::from_ref(f))[24 + 16..].to_vec()
}

/// A classic file with one packet of some link type.
fn classic(magic: [u8; 4], link: u8, time: [u32; 2], big: bool, packet: &[u8]) -> Vec<u8> {
    let word = |v: u32| if big { v.to_be_bytes() } else { v.to_le_bytes() };
    let half = |v: u16| if big { v.to_be_bytes() } else { v.to_le_bytes() };
    let mut file = magic.to_vec();
    file.extend([half(2), half(4)].concat());
    file.extend([word(0), word(0), word(65_535), word(u32::from(link))].concat());
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
        source: end(CLIENT),
        destination: end(SERVER),
        id: 2,
        seq: 1,
        ack: 1,
        flags: flags::ACK | flags::PSH,
        window: 511,
        timestamps: Some((3, 7)),
        sacks: 0,
        payload: 1448,
        length: 1500,
    }
}

#[test]
fn what_is_written_is_read() {
    let capture = read(&file(&[data()])).unwrap();
    assert_eq!(capture.packets, [expected(3 * MS)]);
    assert_eq!((capture.others, capture.cut_short), (0, false));
}

#[test]
fn options_stand_in_their_places() {
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
        assert_eq!((capture.packets[0].length, capture.packets[0].sacks), (20 + header, blocks));
        assert_eq!(capture.packets[0].timestamps, Some((1, 0)));
    }
}

#[test]
fn every_order_and_unit_of_a_classic_file() {
    let packet = bytes_of(&data());
    for (magic, time, big) in [
        ([0xd4, 0xc3, 0xb2, 0xa1], [1, 5], false),
        ([0xa1, 0xb2, 0xc3, 0xd4], [1, 5], true),
        ([0x4d, 0x3c, 0xb2, 0xa1], [1, 5_000], false),
        ([0xa1, 0xb2, 0x3c, 0x4d], [1, 5_000], true),
    ] {
        let capture = read(&classic(magic, 1, time, big, &packet)).unwrap();
        assert_eq!(capture.packets, [expected(1_000_005_000)], "{magic:x?}");
    }
}

#[test]
fn what_is_before_the_ip_header() {
    let ethernet = bytes_of(&data());
    let ip = &ethernet[14..];
    let cooked = [vec![0; 14], vec![8, 0], ip.to_vec()].concat();
    let cooked_2 = [vec![8, 0], vec![0; 18], ip.to_vec()].concat();
    let loopback = [vec![2, 0, 0, 0], ip.to_vec()].concat();
    let tagged = [ethernet[..12].to_vec(), vec![0x81, 0, 0, 9, 8, 0], ip.to_vec()].concat();
    let magic = [0x4d, 0x3c, 0xb2, 0xa1];
    for (link, packet) in [(1, tagged), (101, ip.to_vec()), (113, cooked), (0, loopback)] {
        let capture = read(&classic(magic, link, [0, 9], false, &packet)).unwrap();
        assert_eq!(capture.packets, [expected(9)], "link {link}");
    }
    let mut second = classic(magic, 0, [0, 9], false, &cooked_2);
    second[20..24].copy_from_slice(&276_u32.to_le_bytes());
    assert_eq!(read(&second).unwrap().packets, [expected(9)]);
    let wireless = read(&classic(magic, 105, [0, 9], false, ip)).unwrap_err();
    assert!(wireless.contains("link type 105"), "{wireless}");
}

/// A pcapng file with one packet, `ticks` after the offset of its interface.
fn pcapng(resolution: u8, offset_s: i64, ticks: u64, big: bool, packet: &[u8]) -> Vec<u8> {
    let word = |v: u32| if big { v.to_be_bytes() } else { v.to_le_bytes() };
    let half = |v: u16| if big { v.to_be_bytes() } else { v.to_le_bytes() };
    let wide = |v: i64| if big { v.to_be_bytes() } else { v.to_le_bytes() };
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
fn pcapng_with_its_own_unit_of_time() {
    let packet = bytes_of(&data());
    for big in [false, true] {
        for (resolution, ticks, expected_ns) in [
            (6, 1_000_003_u64, 1_000_003_000),
            (9, 1_000_003, 1_000_003),
            (0, 3, 3_000_000_000),
            // Three quarters of a second in 2^-20 s.
            (0x80 | 20, 3 << 18, 750_000_000),
        ] {
            for offset_s in [0, 5, -2] {
                let file = pcapng(resolution, offset_s, ticks, big, &packet);
                let capture = read(&file).unwrap();
                assert_eq!(capture.packets, [expected(expected_ns + offset_s * 1000 * MS)], "{resolution:x} {big}");
                let cut = read(&file[..file.len() - 3]).unwrap();
                assert!(cut.cut_short && cut.packets.is_empty());
            }
        }
    }
    for resolution in [20, 0x80 | 64] {
        let unknown = read(&pcapng(resolution, 0, 1, false, &packet)).unwrap_err();
        assert!(unknown.contains("unit of time"), "{unknown}");
    }
}

#[test]
fn the_longer_packet_headers_of_one_old_variant() {
    let packet = bytes_of(&data());
    let mut file = classic([0x34, 0xcd, 0xb2, 0xa1], 1, [1, 5], false, &packet);
    file.splice(40..40, [0; 8]);
    assert_eq!(read(&file).unwrap().packets, [expected(1_000_005_000)]);
}

#[test]
fn what_is_no_capture_is_refused_and_what_is_cut_counts() {
    assert!(read(b"hello, world, this is no capture at all").unwrap_err().contains("no packet capture"));
    assert!(read(b"").unwrap_err().contains("no packet capture"));
    let whole = file(&[data(), data()]);
    let cut = read(&whole[..whole.len() - 5]).unwrap();
    assert_eq!((cut.packets.len(), cut.cut_short), (1, true));
}

#[test]
fn datagrams_are_others() {
    let udp = Frame { transport: Transport::Udp, ..data() };
    let capture = read(&file(&[udp])).unwrap();
    assert_eq!((capture.packets.len(), capture.others), (0, 1));
}

#[test]
fn facts_of_a_connection() {
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
    let all = connections(&capture.packets);
    assert_eq!(all.len(), 1);
    let (c, f) = (&all[0], &all[0].forward);
    assert_eq!((c.client, c.server), (end(CLIENT), end(SERVER)));
    assert_eq!((f.packets, f.data_packets, f.bytes, f.unique_bytes), (5, 4, 4000, 3000));
    assert_eq!((f.retransmitted_packets, f.retransmitted_bytes, f.out_of_order_packets), (1, 1000, 1));
    assert_eq!((f.first_ns, f.last_ns, f.first_data_ns), (0, 50 * MS, 20 * MS));
    assert_eq!((c.reverse.packets, c.reverse.bytes), (3, 0));
    let expected = 3000.0 * 8.0 / 0.030;
    assert!((f.throughput_bps() - expected).abs() < 1.0);
    // The second ACK ends with a segment that was overtaken: it says nothing, nor does what came again.
    let rtts = one_point::rtt(&capture.packets, c.client);
    assert_eq!(rtts.iter().map(|s| (s.time_ns, s.rtt_ns)).collect::<Vec<_>>(), [(40 * MS, 20 * MS)]);
}

#[test]
fn ports_used_again_are_another_connection() {
    let again = Frame { id: 9, ..frame(100, 77, 0, flags::SYN, 0, true) };
    let capture =
        read(&file(&[frame(0, 0, 0, flags::SYN, 0, true), frame(1, 0, 0, flags::SYN, 0, true), again])).unwrap();
    let all = connections(&capture.packets);
    assert_eq!(all.iter().map(|c| c.forward.packets).collect::<Vec<_>>(), [2, 1]);
}

/// Data every 5 ms for a second over a path of `forth` and `back`; the receiver answers every second packet, and the clock of its side
/// is wrong by `skew`.
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
            // It takes its time.
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
    fn pairs_give_the_path_alone_whatever_the_clocks(forth in 1..80_i64, back in 1..80_i64, skew in -5_000..5_000_i64, lost in 0..60_u32) {
        let (near, far) = exchange(forth * MS, back * MS, skew * MS, lost);
        for (first, second) in [(&near, &far), (&far, &near)] {
            let pairs = spp::between(first, second).unwrap();
            prop_assert_eq!(pairs.len(), 1);
            prop_assert_eq!((pairs[0].source, pairs[0].destination), (end(CLIENT), end(SERVER)));
            prop_assert!(pairs[0].samples.len() >= 96);
            for sample in &pairs[0].samples {
                prop_assert_eq!(sample.rtt_ns, (forth + back) * MS);
            }
        }
        // One point sees the receiver's wait as well.
        prop_assert!(one_point::rtt(&near, end(CLIENT)).iter().all(|s| s.rtt_ns >= (forth + back + 2) * MS));
    }

    #[test]
    fn no_bytes_make_it_fall(noise in prop::collection::vec(any::<u8>(), 0..400), at in 0..200_usize) {
        let _ = read(&noise);
        let mut damaged = file(&[data(), data()]);
        for (place, byte) in damaged.iter_mut().skip(at).zip(&noise) {
            *place = *byte;
        }
        if let Ok(capture) = read(&damaged) {
            let _ = connections(&capture.packets);
            let _ = spp::between(&capture.packets, &capture.packets);
        }
        let section = [&[0x0a, 0x0d, 0x0d, 0x0a], &noise[..]].concat();
        let _ = read(&section);
    }

    #[test]
    fn sequence_numbers_may_wrap(start in any::<u32>(), order in Just((0..64_u32).collect::<Vec<_>>()).prop_shuffle()) {
        let base = read(&file(&[data()])).unwrap().packets[0];
        let packets: Vec<_> = std::iter::once(0).chain(order.iter().copied())
            .map(|n| Packet { seq: start.wrapping_add(n * 1000), payload: 1000, ..base }).collect();
        let all = connections(&packets);
        prop_assert_eq!(all[0].forward.unique_bytes, 64_000);
        prop_assert_eq!(all[0].forward.retransmitted_packets, 1);
    }
}

/// A packet as both points know it, at a time in ms.
fn at(time_ms: i64, f: Frame) -> Packet {
    Packet { time_ns: time_ms * MS, ..read(&file(&[f])).unwrap().packets[0] }
}

/// As a stack that leaves the identification empty sends it, or IPv6.
fn unnumbered(seq: u32, ack: u32, payload: u16, from_client: bool) -> Frame {
    Frame { id: 0, ..frame(0, seq, ack, flags::ACK, payload, from_client) }
}

#[test]
fn what_looks_like_a_lost_packet_does_not_get_its_time() {
    let (first, second) = (unnumbered(1, 1, 1000, true), unnumbered(1001, 1, 1000, true));
    let (answer, last) = (unnumbered(1, 1001, 0, false), unnumbered(1, 2001, 0, false));
    // The second segment is lost at 1 ms and sent again at 300 ms.
    let near = [
        at(0, first.clone()),
        at(1, second.clone()),
        at(20, answer.clone()),
        at(300, second.clone()),
        at(320, last.clone()),
    ];
    let far = [at(10, first), at(10, answer), at(310, second), at(310, last)];
    let pairs = spp::between(&near, &far).unwrap();
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
        Frame { transport, ..unnumbered(1, 1, 1000, true) }
    };
    let answer = unnumbered(1, 1001, 0, false);
    let near = [at(0, copy(0)), at(300, copy(300)), at(320, answer.clone())];
    let far = [at(310, copy(300)), at(310, answer)];
    let pairs = spp::between(&near, &far).unwrap();
    assert_eq!(pairs[0].samples.iter().map(|s| s.rtt_ns / MS).collect::<Vec<_>>(), [20]);
}

#[test]
fn one_point_twice_is_refused() {
    let (near, _) = exchange(10 * MS, 10 * MS, 0, 60);
    assert!(spp::between(&near, &near).unwrap_err().contains("expected two points"));
    assert!(spp::between(&near, &[]).unwrap().is_empty());
}

#[test]
fn clocks_may_drift_by_more_than_the_path_takes() {
    let (near, mut far) = exchange(MS, MS, 0, 60);
    // A hundredth too fast: after a second 10 ms off, on a path of 2 ms.
    far.iter_mut().for_each(|p| p.time_ns += p.time_ns / 100);
    let pairs = spp::between(&near, &far).unwrap();
    assert_eq!(pairs[0].source, end(CLIENT));
    assert!(pairs[0].samples.iter().all(|s| (s.rtt_ns - 2 * MS).abs() < MS / 10));
}

#[test]
fn each_of_several_connections_on_the_same_ports_is_measured() {
    let (mut near, mut far) = (vec![], vec![]);
    for (round, take_ms) in [(0, 10), (1, 25)] {
        let start = 1000 * i64::from(round);
        let syn = Frame { id: 0, ..frame(0, 5 + round, 0, flags::SYN, 0, true) };
        let (data, answer) = (unnumbered(100 * round + 6, 1, 100, true), unnumbered(1, 100 * round + 106, 0, false));
        near.extend([
            at(start, syn.clone()),
            at(start + 100, data.clone()),
            at(start + 100 + 2 * take_ms, answer.clone()),
        ]);
        far.extend([at(start + take_ms, syn), at(start + 100 + take_ms, data), at(start + 100 + take_ms, answer)]);
    }
    let pairs = spp::between(&near, &far).unwrap();
    let rtts: Vec<_> = pairs.iter().flat_map(|p| &p.samples).map(|s| s.rtt_ns / MS).collect();
    assert_eq!(rtts, [20, 50]);
}

#[test]
fn a_segment_that_is_half_new_counts_by_its_bytes() {
    let packets = [
        at(0, unnumbered(1, 1, 1000, true)),
        at(1, unnumbered(501, 1, 1000, true)),
        at(2, unnumbered(3001, 1, 1000, true)),
    ];
    let late = [at(3, unnumbered(2001, 1, 500, true)), at(4, unnumbered(1, 1, 200, true))];
    let all = connections(&[&packets[..], &late[..]].concat());
    let f = &all[0].forward;
    assert_eq!((f.bytes, f.unique_bytes), (3700, 3000));
    assert_eq!((f.retransmitted_packets, f.retransmitted_bytes, f.out_of_order_packets), (2, 700, 1));
}
