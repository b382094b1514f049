//! Bulk flows and transfers whose receiver calls connect().

mod common;

use common::*;
use dumbbell_sim::capture::Header;
use dumbbell_sim::output::Output;
use dumbbell_sim::refusal::lines;
use dumbbell_sim::segment::flags;
use dumbbell_sim::simulate;
use dumbbell_sim::spec::{ChangeSpec, NetworkSpec, Opener, QdiscSpec, ShaperSpec, TcpSpec};
use dumbbell_sim::tap::LEFT;
use proptest::prelude::*;

/// 10 Mbit/s and 20 ms with a queue in each direction, and a flow that either end opens.
fn world(opener: Opener, bytes: Option<u64>, limit_packets: u64, seconds: u64) -> NetworkSpec {
    let flow = TcpSpec { opener, transfer_bytes: bytes, ..flow("f", "cubic", "linux-6.12") };
    let shaper = ShaperSpec::Link { rate_bps: 10_000_000 };
    two_way(dumbbell(QdiscSpec::Pfifo { limit_packets }, shaper, 20 * MS, seconds, vec![flow]))
}

fn completed_ms(out: &Output) -> f64 {
    out.flows.get("f", "completed_ns").expect("complete") / 1e6
}

#[test]
fn a_download_takes_half_a_round_trip_longer() {
    for bytes in [1, 100_000, 3_000_000] {
        let [usual, turned] =
            [Opener::From, Opener::To].map(|opener| completed_ms(&run(&world(opener, Some(bytes), 100, 30))));
        assert!((10.0..10.5).contains(&(turned - usual)), "{bytes}: {turned} and {usual} ms");
    }
}

#[test]
fn the_receiver_sends_the_syn_and_the_data_follow_its_answer() {
    let mut net = world(Opener::To, Some(5000), 100, 2);
    net.capture = true;
    let capture = run(&net).capture.expect("a capture");
    // The packets as the sender on the left sees them.
    let seen = capture.records().iter().filter(|record| record.place == LEFT).map(|record| {
        let wire = capture.wire(record);
        let Header::Tcp { seq, ack, acknowledges, flags: bits, syn, .. } = wire.header else { unreachable!() };
        (wire.leftwards, seq, ack, acknowledges, syn.is_some(), bits & flags::FIN != 0, wire.payload)
    });
    let seen: Vec<_> = seen.collect();
    assert_eq!(seen[0], (true, 0, 0, false, true, false, 0), "SYN");
    assert_eq!(seen[1], (false, 0, 1, true, true, false, 0), "SYN-ACK");
    assert_eq!(seen[2], (true, 1, 1, true, false, false, 0));
    assert_eq!(seen[3], (false, 1, 1, true, false, false, 1448));
    let fins: Vec<_> = seen.iter().filter(|each| each.5).map(|each| each.0).collect();
    assert_eq!(fins, [false, true], "both ends close");
}

#[test]
fn there_is_no_sample_of_a_sender_that_nobody_has_connected_to() {
    let mut net = world(Opener::To, None, 100, 1);
    net.sample_ns = MS;
    let out = run(&net);
    let table = out.tables.iter().find(|table| table.entity == "flow/f").expect("samples");
    // Half a round trip for the SYN and a whole one for its answer, and the time of two headers on the line.
    assert_eq!(table.t_ns[0], 31 * MS as i64);
    assert!(out.flows.get("f", "rx_bytes").unwrap() > 0.9 * 10e6 / 8.0 * 0.95 * 0.95);
}

#[test]
fn a_flow_that_is_stopped_before_it_is_opened_sends_nothing() {
    let mut net = world(Opener::To, None, 100, 5);
    let dumbbell_sim::spec::WorkloadSpec::Tcp(tcp) = &mut net.workloads[0] else { unreachable!() };
    tcp.connections[0].stop_ns = Some(5 * MS);
    let out = run(&net);
    assert_eq!(out.flows.get("f", "rx_bytes"), Some(0.0));
    assert_eq!(out.flows.get("f", "acks_sent"), Some(1.0), "one SYN");
}

#[test]
fn the_sender_of_freebsd_opens() {
    let mut net = world(Opener::To, None, 100, 1);
    let dumbbell_sim::spec::WorkloadSpec::Tcp(tcp) = &mut net.workloads[0] else { unreachable!() };
    (tcp.stack.name, tcp.cc.kind) = ("freebsd-9".into(), "reno".into());
    let refused = lines(&simulate(&net).expect_err("refused"));
    assert_eq!(refused, "Workload 0.opener: to on the stack freebsd-9; expected from");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// Whatever is lost of the handshake, the transfer comes whole.
    #[test]
    fn every_download_ends(
        bytes in 1..200_000_u64,
        limit in 3..30_u64,
        stack in prop::sample::select(vec!["linux-6.12", "linux-5.1-sce", "linux-3.9", "linux-2.6"]),
        outages in prop::collection::vec((0..1500_u64, 1..40_u64, 0..2_usize), 0..4),
    ) {
        let mut net = world(Opener::To, Some(bytes), limit, 300);
        let dumbbell_sim::spec::WorkloadSpec::Tcp(tcp) = &mut net.workloads[0] else { unreachable!() };
        tcp.stack.name = stack.into();
        net.schedule = outages
            .iter()
            .map(|&(at, long, way)| ChangeSpec::Outage { port: [1, 3][way], at_ns: at * MS, for_ns: long * MS })
            .collect();
        let out = run(&net);
        prop_assert_eq!(out.flows.get("f", "rx_bytes"), Some(bytes as f64));
        prop_assert!(out.flows.get("f", "completed_ns").is_some());
    }
}
