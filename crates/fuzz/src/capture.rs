//! A capture, from its bytes to the last number of `dumbbell analyze`.

use dumbbell_trace::packet::Packet;
use dumbbell_trace::{facts, spp, Analysis, Reader, Value};

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
        // The bytes of the file decide which packets are lost, and how late the others are.
        if packet.seq % 5 != 4 {
            far.add(&Packet { time_ns: packet.time_ns.saturating_add(i64::from(packet.ack) << 8), ..packet });
        }
        count += 1;
    }
    let tally = reader.tally();
    assert_eq!(tally.tcp_packets, count);
    assert!(tally.options_cut + tally.options_invalid <= count && tally.earlier_than_previous <= count);
    if let Some(last_ns) = tally.last_ns {
        found.end(last_ns);
    }
    let mut packets = 0;
    for i in 0..found.len() {
        let connection = found.connection(i);
        for (direction, reverse) in [(&connection.forward, false), (&connection.reverse, true)] {
            let (volume, span, again) = (&direction.volume, &direction.span, direction.again());
            packets += volume.packets;
            assert!(volume.unique_bytes <= volume.bytes && volume.data_packets <= volume.packets);
            assert!(again.packets <= again.bytes && again.packets + again.probes <= volume.packets);
            assert!(again.spurious <= again.packets && again.gaps.count <= again.packets);
            assert!(span.first_ns <= span.last_ns && direction.throughput_bps() >= 0.0);
            let (answers, held) = (&direction.answers, &connection.held[usize::from(reverse)]);
            assert!(answers.rtt.count <= volume.packets && answers.full.count <= answers.rtt.count);
            assert!(answers.rtt.min_ns >= 0 && answers.rtt.min_ns <= answers.rtt.max_ns);
            let times = [held.application_ns, held.receiver_ns, held.sender_ns, held.congestion_ns];
            assert!(times.iter().all(|ns| *ns >= 0));
            for (name, value) in facts(&connection, reverse) {
                if let Value::Measure(Some(measure)) = value {
                    assert!(measure.is_finite(), "{name}");
                }
            }
        }
    }
    assert_eq!(packets, count);
    let (pairs, ways) = spp::between(near, far, tally.options_cut > 0).unwrap_or_default();
    assert!(pairs.iter().flat_map(|each| &each.samples).all(|sample| sample.rtt_ns >= 0));
    assert!(ways.iter().all(|way| way.lost <= way.sent && way.delays_ns.len() <= way.sent));
}
