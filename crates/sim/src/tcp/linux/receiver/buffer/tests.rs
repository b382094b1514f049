//! The receive buffer: windows, growth, tuning.

use super::*;
use crate::packet::MSS;
use crate::time::MS;

const FULL: u64 = MSS as u64;

fn host(rcvbuf: Option<u64>) -> HostSettings {
    HostSettings {
        tso: false,
        rmem: [4096, 131_072, 67_108_864],
        sender_rmem: None,
        rcvbuf,
        wmem: [4096, 16_384, 67_108_864],
        sndbuf: None,
        cached_ssthresh: None,
        reads_bps: None,
        nodelay: false,
        max_pacing_bps: None,
    }
}

fn stack(name: &str) -> Stack {
    let spec = crate::spec::StackSpec { name: name.into(), options: serde_json::Map::new() };
    Stack::from_spec(&spec).unwrap()
}

#[test]
fn linux_3_9_offers_ten_segments_then_half_the_buffer_less_one() {
    let mut b = ReceiveBuffer::new(&host(Some(1_200_000)), &stack("linux-3.9"), MSS);
    assert_eq!((b.advertised.bytes, b.scale), (14_480, 4));
    b.measure(MSS, false);
    let grown = (0..1000).take_while(|_| b.grow(MSS, true, 0)).count();
    assert_eq!((grown, b.ssthresh), (202, 600_000 - 1448));
    // A held segment takes its whole truesize from the buffer.
    assert_eq!(b.free(100 * 2176), 600_000 - 100 * 2176 / 2);
}

#[test]
fn linux_2_6_offers_four_segments_then_three_quarters_of_the_buffer_less_one() {
    let mut b = ReceiveBuffer::new(&host(Some(249_856)), &stack("linux-2.6"), MSS);
    assert_eq!((b.advertised.bytes, b.scale), (5792, 11), "the scale is that of the largest buffer, 64 MiB");
    b.measure(MSS, false);
    let grown = (0..1000).take_while(|_| b.grow(MSS, true, 0)).count();
    assert_eq!((grown, b.ssthresh), (63, 187_392 - 1448), "129 segments, of which one is held back");
    let scaled = Stack { scale_by_buffer: true, ..stack("linux-2.6") };
    assert_eq!(ReceiveBuffer::new(&host(Some(249_856)), &scaled, MSS).scale, 2);
}

#[test]
fn linux_2_6_counts_on_so_much_that_three_quarters_of_it_hold_a_segment() {
    // tcp_rcv_space_adjust: 1460 + 208 + 16 + 172 = 1856, of which three quarters are 1392; 1984 are enough.
    let mut b = ReceiveBuffer::new(&host(None), &stack("linux-2.6"), MSS);
    b.rtt_by_timestamp(1, false, 81 * MS);
    b.tune(100 * FULL, 0, 0, 100_000);
    assert_eq!((b.size, b.clamp), (200 * 1984, 200 * 1448));
}

#[test]
fn twice_what_was_read_in_a_round_trip_grows_the_buffer() {
    let tuned = Stack { receive_tuning: ReceiveTuning::Twice, ..stack("linux-3.9") };
    let mut b = ReceiveBuffer::new(&host(None), &tuned, MSS);
    b.rtt_by_timestamp(1, false, 81 * MS);
    b.tune(100 * FULL, 0, 0, 100_000);
    assert_eq!((b.size, b.clamp), (200 * 2968, 200 * 1448));
}

#[test]
fn of_a_long_read_the_first_head_adapts_the_buffer() {
    let mut b = ReceiveBuffer::new(&host(None), &stack("linux-6.12"), MSS);
    b.rtt_by_timestamp(1, false, 81 * MS);
    let size = b.size;
    // 100 segments are there, of which 17 are read and 83 wait: nothing was gained. The next round trip counts from the 17th on.
    b.tune(17 * FULL, 83 * FULL, 0, 100_000);
    assert_eq!((b.size, b.reading.bytes), (size, 10 * 1448));
    b.tune(150 * FULL, 0, 0, 200_000);
    assert_eq!(b.reading.bytes, (150 - 17) * 1448);
    assert!(b.size > size);
}

#[test]
fn the_window_starts_as_linux_has_it() {
    let mut b = ReceiveBuffer::new(&host(None), &stack("linux-6.12"), MSS);
    assert_eq!(b.advertised.bytes, 65_160);
    assert_eq!(b.scale, 11);
    b.measure(MSS, false);
    assert_eq!(b.ratio, 162);
    assert_eq!(b.clamp, 82_944);
    assert!(b.grow(MSS, true, 0));
    assert_eq!(b.advertise(2, 0, 0), 67_584);
}

#[test]
fn a_buffer_whose_share_is_assumed_grows_by_whole_segments() {
    // Linux 5.1: 2 * 100 + 16 segments, and four times that for ninety more than the ten of the round trip before.
    let before = Stack { adv_win_scale: Some(1), ..stack("linux-6.12") };
    let mut b = ReceiveBuffer::new(&host(None), &before, MSS);
    b.rtt_by_timestamp(1, false, 81 * MS);
    b.tune(100 * FULL, 0, 0, 100_000);
    let segments = 216 + 2 * 216 * 90 / 10;
    assert_eq!((b.size, b.clamp), (segments * 2968, segments * 2968 / 2));
    let mut b = ReceiveBuffer::new(&host(None), &stack("linux-6.12"), MSS);
    b.measure(MSS, false);
    b.rtt_by_timestamp(1, false, 81 * MS);
    b.tune(100 * FULL, 0, 0, 100_000);
    assert_eq!(b.size, ((segments * u64::from(MSS)) << 8) / 162, "what segments cost here, once that is known");
}

#[test]
fn a_buffer_that_is_tuned_by_rtt_grows_by_what_the_rate_grew_and_with_what_is_early() {
    let grown = |rtt_ms: u64, early: u64| {
        let mut b = ReceiveBuffer::new(&host(None), &stack("linux-7.3"), MSS);
        b.measure(MSS, false);
        b.rtt_by_timestamp(1, false, (1 + rtt_ms) * MS);
        b.tune(100 * FULL, 0, early, 100_000);
        b.size
    };
    let holding = |window: u64| (window << 8) / 162;
    // Twice what was read, and twice that for ninety segments more than the ten of the round trip before.
    assert_eq!(grown(80, 0), holding(200 * FULL + 2 * 200 * FULL * 90 / 10));
    assert_eq!(grown(80, 7 * FULL), holding(200 * FULL + 2 * 200 * FULL * 90 / 10 + 7 * FULL));
    // A path of less than rcvbuf_low_rtt_us.
    let short = Stack { rcvbuf_low_rtt_us: 4000, ..stack("linux-7.3") };
    let mut b = ReceiveBuffer::new(&host(None), &short, MSS);
    b.measure(MSS, false);
    b.rtt_by_timestamp(1, false, 2 * MS);
    b.tune(100 * FULL, 0, 0, 100_000);
    assert_eq!(b.size, holding(200 * FULL + 200 * FULL / 4));
    // Early segments make room by themselves, and no read is needed.
    let size = b.size;
    b.make_room_for(60 * FULL);
    assert_eq!(b.size, holding(200 * FULL + 200 * FULL / 4 + 60 * FULL));
    assert!(b.size > size && b.grows_out_of_order());
    assert!(!ReceiveBuffer::new(&host(None), &stack("linux-6.12"), MSS).grows_out_of_order());
}

#[test]
fn the_first_windows_are_those_of_the_kernel() {
    // Linux 6.12 advertised these windows for the first eight segments at the default sysctls, each charged until it is read.
    let mut b =
        ReceiveBuffer::new(&HostSettings { rmem: [4096, 131_072, 6_291_456], ..host(None) }, &stack("linux-6.12"), MSS);
    assert_eq!((b.offered(), b.scale()), (65_160, 7));
    b.measure(MSS, false);
    let windows = (2..10).map(|seq| {
        b.grow(MSS, true, b.in_order.charged);
        b.advertise(seq, 0, b.in_order.charged) >> 7
    });
    assert_eq!(windows.collect::<Vec<_>>(), [524, 546, 569, 592, 614, 637, 637, 637]);
}

#[test]
fn the_first_windows_of_a_large_buffer_are_those_of_the_kernel() {
    // Linux 6.12 advertised this with 76 KiB by SO_RCVBUF, which it doubles: more than the SYN-ACK can say, from the first ACK on.
    let mut b = ReceiveBuffer::new(&host(Some(155_648)), &stack("linux-6.12"), MSS);
    assert_eq!((b.offered(), b.scale()), (65_535, 1));
    b.measure(MSS, false);
    let windows = (2..10).map(|seq| {
        b.grow(MSS, true, b.in_order.charged);
        b.advertise(seq, 0, b.in_order.charged)
    });
    assert_eq!(windows.collect::<Vec<_>>(), [79_272, 82_168, 85_064, 87_960, 90_856, 93_752, 96_648, 97_054]);
    // Until 6.10 the first window was what a SYN-ACK can say.
    let before = ReceiveBuffer::new(&host(Some(155_648)), &stack("linux-5.1-sce"), MSS);
    assert_eq!(before.advertised.bytes, 65_535);
}

#[test]
fn a_window_without_a_scale_is_whole_segments_and_stays_as_long_as_it_fits() {
    // Linux 6.12 with 40 kB by SO_RCVBUF: 27 segments in the SYN-ACK.
    let mut b = ReceiveBuffer::new(&host(Some(80_000)), &stack("linux-6.12"), MSS);
    assert_eq!((b.advertised.bytes, b.scale()), (27 * 1448, 0));
    b.measure(MSS, false);
    while b.grow(MSS, true, 0) {}
    assert_eq!(b.advertise(10, 0, 2280), 33 * 1448, "49182 bytes are free beside a segment");
    assert_eq!(b.select(2980), 33 * 1448, "48739 are, within a segment of what was offered");
    assert_eq!(b.select(5280), 32 * 1448, "47283 are, less than that");
}

#[test]
fn a_fixed_buffer_stays() {
    let mut b = ReceiveBuffer::new(&host(Some(600_000)), &stack("linux-6.12"), MSS);
    b.measure(MSS, false);
    b.rtt_by_timestamp(1, false, 21 * MS);
    for i in 1..1000u32 {
        b.grow(MSS, true, 0);
        b.tune(u64::from(i - 1) * FULL, 0, 0, u64::from(i) * 100_000);
    }
    assert_eq!(b.size, 600_000);
    assert!(b.advertise(1000, 0, 0) <= (600_000u32 * 162 / 256).next_multiple_of(2048));
}

#[test]
fn a_fast_flow_opens_the_window() {
    let mut b = ReceiveBuffer::new(&host(None), &stack("linux-6.12"), MSS);
    b.measure(MSS, false);
    b.rtt_by_timestamp(1, false, 81 * MS);
    let mut seq = 1;
    for round in 1..12u64 {
        for _ in 0..10 << round.min(8) {
            seq += 1;
            b.grow(MSS, true, 0);
        }
        b.tune(u64::from(seq - 1) * FULL, 0, 0, round * 100_000);
    }
    assert!(b.advertise(seq, 0, 0) > 4_000_000, "{}", b.advertised.bytes);
}
