//! A capture, from its bytes to the last number of `dumbbell analyze`.

use dumbbell_trace::packet::Packet;
use dumbbell_trace::{spp, Analysis, Reader};

/// Reads and analyses a capture, and pairs its packets with those of a second point that lost some and saw the others later.
///
/// # Panics
/// A count or an RTT cannot be.
pub fn run(file: &[u8]) {
    let Ok(mut reader) = Reader::new(file) else { return };
    let (mut found, mut near, mut far) = (Analysis::default(), spp::Point::default(), spp::Point::default());
    let mut count = 0_u64;
    while let Ok(Some(packet)) = reader.next_packet() {
        found.add(&packet);
        near.add(&packet);
        // Which packets are lost, and how late the others are, follows from the bytes of the file.
        if packet.seq % 5 != 4 {
            far.add(&Packet { time_ns: packet.time_ns.saturating_add(i64::from(packet.ack) << 8), ..packet });
        }
        count += 1;
    }
    let tally = reader.tally();
    assert_eq!(tally.tcp_packets, count);
    assert!(tally.options_cut + tally.options_invalid <= count && tally.earlier_than_previous <= count);
    found.sort_rtts();
    let mut packets = 0;
    for i in 0..found.len() {
        let connection = found.connection(i);
        for (direction, reverse) in [(connection.forward, false), (connection.reverse, true)] {
            packets += direction.packets;
            assert!(direction.unique_bytes <= direction.bytes && direction.data_packets <= direction.packets);
            assert!(direction.retransmitted_packets + direction.out_of_order_packets <= direction.data_packets);
            assert!(direction.retransmitted_packets <= direction.retransmitted_bytes());
            assert!(direction.first_ns <= direction.last_ns && direction.throughput_bps() >= 0.0);
            let rtts_ns = found.rtts_ns(i, reverse);
            assert!(rtts_ns.len() as u64 <= direction.data_packets && rtts_ns.iter().all(|rtt_ns| *rtt_ns >= 0));
        }
    }
    assert_eq!(packets, count);
    for pairs in spp::between(near, far, tally.options_cut > 0).unwrap_or_default() {
        assert!(pairs.samples.iter().all(|sample| sample.rtt_ns >= 0));
    }
}
