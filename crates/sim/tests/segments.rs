//! Connections whose full segments have another size than the usual one.

mod common;

use common::{counter, dumbbell, flow, run, value, MS, SEC};
use dumbbell_sim::capture::Header;
use dumbbell_sim::output::Output;
use dumbbell_sim::packet::HEADERS;
use dumbbell_sim::spec::{NetworkSpec, QdiscSpec, ShaperSpec, TcpSpec, WorkloadSpec};

const RATE: u64 = 20_000_000;
const SECONDS: u64 = 20;

/// Segments of so many bytes on a path with this MTU.
fn sized(segment_bytes: u32, mtu_bytes: u32, limit_packets: u64) -> NetworkSpec {
    let tcp = TcpSpec { segment_bytes, ..flow("f", "cubic", "linux-6.12") };
    let qdisc = QdiscSpec::Pfifo { limit_packets };
    let net = dumbbell(qdisc, ShaperSpec::Link { rate_bps: RATE }, 40 * MS, SECONDS, vec![tcp]);
    NetworkSpec { mtu_bytes, ..net }
}

/// Share of what the line carries beside headers that the application read.
fn used(out: &Output, segment_bytes: u32) -> f64 {
    let payload = RATE / 8 * SECONDS * u64::from(segment_bytes) / u64::from(segment_bytes + HEADERS);
    counter(out, "flow/f", "rx_bytes") as f64 / payload as f64
}

#[test]
fn a_full_line_carries_payload_beside_headers_whatever_the_size() {
    for (segment, mtu, limit) in [(8948, 9000, 20), (1448, 9000, 100), (524, 1500, 200), (76, 1500, 800)] {
        let out = run(&sized(segment, mtu, limit));
        let used = used(&out, segment);
        assert!((0.96..=1.0).contains(&used), "{segment} bytes: {used}");
        let frame = u64::from(segment + HEADERS);
        let [packets, bytes] = ["sent_packets", "sent_bytes"].map(|name| counter(&out, "port/bottleneck", name));
        assert!(bytes <= packets * frame && bytes + 10 * frame > packets * frame, "{segment} bytes: {packets}");
    }
}

#[test]
fn the_first_flight_is_ten_segments_of_any_size_that_the_window_offers() {
    // 20 ms there and back: the SYN-ACK comes at 40 ms, the first ACKs of data at 80 ms.
    for (segment, first) in [(1448, 10.0), (524, 10.0), (8948, 7.0)] {
        let out = run(&NetworkSpec { sample_ns: MS, ..sized(segment, 9000, 100) });
        assert_eq!(value(&out, "flow/f", "inflight", 60), first, "{segment} bytes");
    }
}

#[test]
fn captures_have_the_option_and_the_lengths() {
    for (segment, mtu) in [(8948, 9000), (524, 1500)] {
        let net = NetworkSpec { capture: true, duration_ns: SEC, ..sized(segment, mtu, 50) };
        let capture = run(&net).capture.expect("packets were noted");
        let wires: Vec<_> = capture.records().iter().map(|record| capture.wire(record)).collect();
        let options: Vec<u16> = wires
            .iter()
            .filter_map(|wire| match wire.header {
                Header::Tcp { syn: Some(syn), .. } => Some(syn.mss),
                _ => None,
            })
            .collect();
        assert_eq!(options, [segment as u16 + 12; 4], "SYN and SYN-ACK at both hosts");
        assert!(wires.iter().all(|wire| [0, segment as u16].contains(&wire.payload)));
        let seconds: Vec<u32> = wires
            .iter()
            .filter_map(|wire| match wire.header {
                Header::Tcp { seq, .. } if wire.payload > 0 => Some(seq),
                _ => None,
            })
            .collect();
        assert!(seconds.iter().all(|seq| seq % segment == 1) && seconds.len() > 20, "numbers count bytes");
    }
}

#[test]
fn a_transfer_takes_as_many_segments_as_its_bytes_fill() {
    let sent = |segment_bytes: u32| {
        let tcp = TcpSpec { transfer_bytes: Some(100_001), segment_bytes, ..flow("f", "reno", "linux-6.12") };
        let net = NetworkSpec { workloads: vec![WorkloadSpec::Tcp(tcp)], ..sized(segment_bytes, 9000, 100) };
        let out = run(&net);
        assert_eq!(counter(&out, "flow/f", "rx_bytes"), 100_001);
        counter(&out, "flow/f", "sent_packets") - u64::from(100_001_u32.div_ceil(segment_bytes))
    };
    // The other packets open and close the connection.
    assert_eq!([8948, 524].map(sent), [sent(1448); 2]);
}
