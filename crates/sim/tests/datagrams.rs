//! Streams of datagrams, in whole runs.

mod common;

use common::{cake, counter, dumbbell, flow, run, udp, value, with_udp, MS, MSS, SEC};
use dumbbell_sim::output::Output;
use dumbbell_sim::spec::{CakeIsolation, DatagramsSpec, NetworkSpec, QdiscSpec, ShaperSpec};

const RATE: u64 = 10_000_000;
/// Time of a full frame at `RATE`, ns.
const FRAME_NS: u64 = 1514 * 800;

/// A run of 10 s of a single stream.
fn only(stream: DatagramsSpec, limit_packets: u64, shaper: ShaperSpec) -> Output {
    let net = dumbbell(QdiscSpec::Pfifo { limit_packets }, shaper, 20 * MS, 10, vec![]);
    run(&NetworkSpec { sample_ns: MS, ..with_udp(net, vec![stream]) })
}

#[test]
fn they_come_at_their_rate_from_start_to_stop() {
    let mut stream = udp(2 * MS, 3 * SEC);
    stream.streams[0].start_ns = SEC;
    let out = only(stream, 10, ShaperSpec::Tbf { rate_bps: RATE, burst_bytes: 1540 });
    assert_eq!(counter(&out, "udp/u", "sent_packets"), 1000);
    assert_eq!(counter(&out, "udp/u", "arrived_packets"), 1000);
    assert_eq!(value(&out, "port/bottleneck", "sent_packets", 1009), 0.0);
    assert_eq!(value(&out, "port/bottleneck", "sent_packets", 1011), 1.0);
}

#[test]
fn without_a_stop_they_come_to_the_end_of_the_run() {
    let mut stream = udp(2 * MS, 0);
    stream.streams[0].stop_ns = None;
    let out = only(stream, 10, ShaperSpec::Link { rate_bps: RATE });
    assert_eq!(counter(&out, "udp/u", "sent_packets"), 5000);
}

#[test]
fn a_short_queue_drops_those_that_the_rate_cannot_carry() {
    for shaper in [
        ShaperSpec::Tbf { rate_bps: RATE, burst_bytes: 1540 },
        ShaperSpec::Link { rate_bps: RATE },
        ShaperSpec::Htb { rate_bps: RATE, burst_bytes: 1600 },
    ] {
        let out = only(udp(FRAME_NS / 2, 10 * SEC), 5, shaper.clone());
        let [sent, arrived, dropped, inside] =
            ["sent_packets", "arrived_packets", "dropped_packets", "in_flight_packets"]
                .map(|name| counter(&out, "udp/u", name));
        assert_eq!(sent, arrived + dropped + inside);
        assert!(arrived.abs_diff((10 * SEC - 10 * MS) / FRAME_NS) <= 2, "{shaper:?}: {arrived} of {sent}");
        assert_eq!(dropped, counter(&out, "port/bottleneck", "dropped_overflow"));
    }
}

#[test]
fn what_leaves_a_queue_goes_before_what_comes_in_the_same_nanosecond() {
    // One waits from the start, and each of the others arrives as the last one leaves: there is room for it then.
    for shaper in [ShaperSpec::Link { rate_bps: RATE }, ShaperSpec::Tbf { rate_bps: RATE, burst_bytes: 1514 }] {
        let mut first = udp(SEC, SEC);
        (first.id, first.streams[0].name) = ("first".into(), "first".into());
        let net = dumbbell(QdiscSpec::Pfifo { limit_packets: 1 }, shaper, 20 * MS, 2, vec![]);
        let out = run(&with_udp(net, vec![first, udp(FRAME_NS, 2 * SEC)]));
        assert_eq!(counter(&out, "udp/first", "arrived_packets"), 1);
        assert_eq!(counter(&out, "port/bottleneck", "arrived_packets"), 1 + (2 * SEC - 10 * MS).div_ceil(FRAME_NS));
        assert_eq!(counter(&out, "port/bottleneck", "dropped_overflow"), 0);
    }
}

#[test]
fn cake_gives_them_a_queue_of_their_own() {
    let flows = vec![flow("f", "cubic", "linux-6.12")];
    let net = dumbbell(cake(RATE, CakeIsolation::Flows, 0), ShaperSpec::Own, 20 * MS, 20, flows);
    let out = run(&with_udp(net, vec![udp(FRAME_NS / 2, 20 * SEC)]));
    let half = RATE / 8 * 20 / 2;
    let (tcp, datagrams) =
        (counter(&out, "flow/f", "rx_bytes") * 1514 / MSS, counter(&out, "udp/u", "arrived_packets") * 1514);
    assert!(tcp.abs_diff(half) < half / 10, "{tcp} of {half}");
    assert!(datagrams.abs_diff(half) < half / 10, "{datagrams} of {half}");
}
