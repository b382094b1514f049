//! Requests and responses, and transfers, packet by packet beside the real kernel's, as tests/engines/kernel/exchanges.py recorded them.

mod common;

use std::path::Path;

use common::*;
use dumbbell_sim::capture::Header;
use dumbbell_sim::segment::flags;
use dumbbell_sim::spec::{ExchangeSpec, NetworkSpec, QdiscSpec, ShaperSpec, TcpSpec};
use dumbbell_sim::tap::RIGHT;

/// A packet at one of the hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    at_server: bool,
    from_server: bool,
    seq: u32,
    len: u32,
    ack: i64,
    syn: bool,
    fin: bool,
    /// Window of the SYN and the SYN-ACK.
    window: Option<u16>,
}

/// Packets, each with its time, us.
type Packets = Vec<(u64, Seen)>;

/// The kernel's.
fn recorded(name: &str) -> Packets {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/engines/kernel/data/{name}.csv"));
    let text = std::fs::read_to_string(path).expect("a recording");
    let rows = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    rows.map(|row| {
        let [host, time, sender, seq, len, flags, ack, window, ..] = row[..] else { panic!("{row:?}") };
        let seen = Seen {
            at_server: host == "server",
            from_server: sender == "server",
            seq: seq.parse().unwrap(),
            len: len.parse().unwrap(),
            ack: ack.parse().unwrap(),
            syn: flags.contains('S'),
            fin: flags.contains('F'),
            window: flags.contains('S').then(|| window.parse().unwrap()),
        };
        (time.parse::<u64>().unwrap() / 1000, seen)
    })
    .collect()
}

/// Over the path of the recordings.
fn path(limit_packets: u64, flows: Vec<TcpSpec>) -> NetworkSpec {
    let shaper = ShaperSpec::Tbf { rate_bps: 10_000_000, burst_bytes: 1540 };
    two_way(dumbbell(QdiscSpec::Pfifo { limit_packets }, shaper, 20 * MS, 4, flows))
}

/// The simulator's packets of requests and responses.
fn exchanged(request_bytes: u64, response_bytes: u64, count: u64, limit_packets: u64) -> Packets {
    let tcp = flow("e", "cubic", "linux-6.12");
    let think_ns = if count > 1 { 10 * MS } else { 0 };
    let [request_bytes, response_bytes, think_ns] = [request_bytes, response_bytes, think_ns].map(Into::into);
    let exchange = ExchangeSpec { tcp, request_bytes, response_bytes, count, think_ns };
    simulated(with_exchange(path(limit_packets, vec![]), exchange))
}

/// The simulator's packets of a transfer.
fn transferred(bytes: u64, limit_packets: u64) -> Packets {
    let tcp = TcpSpec { transfer_bytes: Some(bytes), ..flow("t", "cubic", "linux-6.12") };
    simulated(path(limit_packets, vec![tcp]))
}

fn simulated(net: NetworkSpec) -> Packets {
    let net = NetworkSpec { capture: true, ..net };
    let capture = run(&net).capture.expect("a capture");
    let seen = |record| {
        let wire = capture.wire(record);
        let Header::Tcp { seq, ack, flags: bits, acknowledges, window, .. } = wire.header else {
            unreachable!("all is TCP")
        };
        let seen = Seen {
            at_server: record.place == RIGHT,
            from_server: wire.leftwards,
            seq,
            len: wire.payload.into(),
            ack: if acknowledges { ack.into() } else { -1 },
            syn: bits & flags::SYN != 0,
            fin: bits & flags::FIN != 0,
            window: (bits & flags::SYN != 0).then_some(window),
        };
        (record.time / 1000, seen)
    };
    capture.records().iter().map(seen).collect()
}

/// Packets of each end as each host sees them: four lists, in order.
fn split(all: &[(u64, Seen)]) -> Vec<Packets> {
    let of =
        |i: usize| move |(_, seen): &&(u64, Seen)| usize::from(seen.at_server) * 2 + usize::from(seen.from_server) == i;
    (0..4).map(|i| all.iter().filter(of(i)).cloned().collect()).collect()
}

/// Beginning of the simulator's list that is like the kernel's.
#[derive(Debug)]
struct Beginning {
    /// Packets before the first that differs.
    same: usize,
    /// Maximum difference of their times, us.
    apart: u64,
    /// Packets of ours and of the kernel's in all.
    ours: usize,
    kernel: usize,
}

fn beginnings(ours: &[(u64, Seen)], kernel: &[(u64, Seen)]) -> Vec<Beginning> {
    let lists = split(ours).into_iter().zip(split(kernel));
    let begin = |(ours, kernel): (Packets, Packets)| {
        let same = ours.iter().zip(&kernel).take_while(|(a, b)| a.1 == b.1);
        let (same, apart) = same.fold((0, 0), |(n, most), (a, b)| (n + 1, most.max(a.0.abs_diff(b.0))));
        Beginning { same, apart, ours: ours.len(), kernel: kernel.len() }
    };
    lists.map(begin).collect()
}

/// Every packet is the kernel's. The kernel's guest takes time by the microsecond for what the simulator does in none.
fn check_whole(name: &str, ours: &[(u64, Seen)], kernel: &[(u64, Seen)], apart_us: u64) {
    for list in beginnings(ours, kernel) {
        assert!(list.same == list.ours && list.ours == list.kernel, "{name}: {list:?}");
        assert!(list.apart <= apart_us, "{name}: {list:?}");
    }
}

#[test]
fn a_short_request_and_its_response_are_the_kernels_packet_by_packet() {
    check_whole("exchange-once", &exchanged(100, 30_000, 1, 100), &recorded("exchange-once"), 10);
}

#[test]
fn with_losses_in_both_directions_they_are_too() {
    check_whole("exchange-losses", &exchanged(20_000, 200_000, 2, 5), &recorded("exchange-losses"), 30);
}

/// The FIN goes alone if all data were sent when the application closed, and else with the last of them.
#[test]
fn transfers_are_the_kernels_packet_by_packet_to_the_last_acknowledgement() {
    for (name, bytes, limit) in [
        ("transfer-one", 1000, 100),
        ("transfer-window", 10 * 1448, 100),
        ("transfer-odd", 11 * 1448, 100),
        ("transfer-waits", 100_000, 100),
        ("transfer-losses", 300_000, 5),
    ] {
        // An end that only sends has no receive window here.
        let without_window = |list: Packets| {
            list.into_iter().map(|(time, seen)| (time, Seen { window: None, ..seen })).collect::<Vec<_>>()
        };
        check_whole(name, &without_window(transferred(bytes, limit)), &without_window(recorded(name)), 30);
    }
}

/// The client's receive buffer grows by the round trips that it measures. Its growth decides what the client acknowledges.
#[test]
fn repeated_exchanges_are_they_too() {
    check_whole("exchange-repeated", &exchanged(20_000, 200_000, 5, 100), &recorded("exchange-repeated"), 30);
}
