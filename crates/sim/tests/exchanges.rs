//! Requests and responses over one connection.

mod common;

use common::*;
use dumbbell_sim::capture::Header;
use dumbbell_sim::output::Transaction;
use dumbbell_sim::refusal::lines;
use dumbbell_sim::segment::flags;
use dumbbell_sim::simulate;
use dumbbell_sim::spec::{ChangeSpec, ExchangeSpec, NetworkSpec, Opener, QdiscSpec, ShaperSpec};
use dumbbell_sim::tap::RIGHT;
use proptest::prelude::*;

const REQUEST: u64 = 20_000;
const RESPONSE: u64 = 200_000;

fn exchange(request_bytes: u64, response_bytes: u64, count: u64, think_ns: u64) -> ExchangeSpec {
    let [request_bytes, response_bytes, think_ns] = [request_bytes, response_bytes, think_ns].map(Into::into);
    ExchangeSpec { tcp: flow("e", "cubic", "linux-6.12"), request_bytes, response_bytes, count, think_ns }
}

/// 10 Mbit/s and 20 ms, with a queue in each direction.
fn world(limit_packets: u64, seconds: u64, exchange: ExchangeSpec) -> NetworkSpec {
    let qdisc = QdiscSpec::Pfifo { limit_packets };
    let shaper = ShaperSpec::Link { rate_bps: 10_000_000 };
    with_exchange(two_way(dumbbell(qdisc, shaper, 20 * MS, seconds, vec![])), exchange)
}

fn transactions(net: &NetworkSpec) -> Vec<Transaction> {
    let mut out = run(net);
    assert_eq!(out.transactions.len(), 1);
    out.transactions.remove(0).1
}

/// All were answered, in order.
fn check(list: &[Transaction], count: u64, think_ns: u64) {
    assert_eq!(list.len() as u64, count);
    for t in list {
        let (first, end) = (t.first_byte.expect("an answer"), t.end.expect("a whole answer"));
        assert!(t.start < first && first <= end, "{t:?}");
    }
    for pair in list.windows(2) {
        assert_eq!(pair[1].start, pair[0].end.unwrap() + think_ns);
    }
}

#[test]
fn a_small_request_takes_a_round_trip_after_the_handshake() {
    let list = transactions(&world(100, 4, exchange(100, 100, 1, 0)));
    check(&list, 1, 0);
    // 20 ms of handshake and little time on the line; then as much again.
    let (start, took) = (list[0].start, list[0].end.unwrap() - list[0].start);
    assert!((20 * MS..21 * MS).contains(&start) && (20 * MS..21 * MS).contains(&took), "{list:?}");
    assert_eq!(list[0].first_byte, list[0].end);
}

#[test]
fn either_end_may_open() {
    let mut spec = exchange(REQUEST, RESPONSE, 3, 10 * MS);
    check(&transactions(&world(100, 4, spec.clone())), 3, 10 * MS);
    spec.tcp.opener = Opener::To;
    let list = transactions(&world(100, 4, spec));
    check(&list, 3, 10 * MS);
    // The client asks when the packet that ends the handshake has come: half a round trip later.
    assert!((30 * MS..32 * MS).contains(&list[0].start), "{list:?}");
}

#[test]
fn a_window_that_was_idle_for_long_begins_anew() {
    // A response of 40 segments takes more than one round trip of the initial window, and only the first time unless the window is forgotten.
    let took = |think_ns| {
        let list = transactions(&world(100, 30, exchange(100, 40 * MSS, 4, think_ns)));
        check(&list, 4, think_ns);
        list.iter().map(|t| t.end.unwrap() - t.start).collect::<Vec<_>>()
    };
    let (short, long) = (took(10 * MS), took(5 * SEC));
    assert!(short[3] < short[0], "{short:?}");
    assert!(long[3] > short[3] && long[3] + 5 * MS > long[0], "{long:?} against {short:?}");
}

#[test]
fn a_capture_has_the_bytes_of_both_directions() {
    let mut net = world(100, 4, exchange(2000, 5000, 3, MS));
    net.capture = true;
    let capture = run(&net).capture.expect("a capture");
    // Packets arrive from the left and from the right in order, because nothing is lost: each begins where the last ended.
    let mut next = [1, 1];
    for record in capture.records() {
        let wire = capture.wire(record);
        let Header::Tcp { seq, ack, syn: None, flags: bits, .. } = wire.header else { continue };
        let from_right = usize::from(wire.leftwards);
        if (record.place == RIGHT) != wire.leftwards {
            assert_eq!(seq, next[from_right]);
            next[from_right] += u32::from(wire.payload) + u32::from(bits & flags::FIN != 0);
            assert!(ack <= next[1 - from_right], "{ack} of {next:?}");
        }
    }
    assert_eq!(next, [2 + 3 * 2000, 2 + 3 * 5000], "a byte for each SYN and FIN");
}

#[test]
fn what_cannot_be_run_is_refused() {
    let refused = |change: &dyn Fn(&mut ExchangeSpec)| {
        let mut spec = exchange(100, 100, 1, 0);
        change(&mut spec);
        lines(&simulate(&world(100, 1, spec)).expect_err("refused"))
    };
    assert_eq!(refused(&|e| e.tcp.host.tso = true), "Workload 0.tcp.host.tso: true; expected false");
    assert_eq!(refused(&|e| e.count = 0), "Workload 0.count: 0 requests; expected at least 1");
    assert!(refused(&|e| e.request_bytes = 0.into()).starts_with("Workload 0.request_bytes: 0 bytes; expected 1 to "));
    assert!(refused(&|e| e.response_bytes = (1 << 60).into())
        .starts_with("Workload 0.response_bytes: 1152921504606846976 bytes"));
    let bsd = refused(&|e| e.tcp.stack.name = "freebsd-9".into());
    assert_eq!(bsd, "Workload 0.tcp.stack.name: freebsd-9; expected a stack of Linux");
    let sized = refused(&|e| e.tcp.transfer_bytes = Some(1));
    assert_eq!(sized, "Workload 0.tcp.transfer_bytes: 1 bytes; expected none, because the application says it");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever is lost on the way, each byte is read once and in order: the sizes that are read add up, packets are conserved, and the same
    /// run has the same times.
    #[test]
    fn every_exchange_ends(
        request in 1..30_000_u64,
        response in 1..60_000_u64,
        count in 1..6_u64,
        think_ms in 0..400_u64,
        limit in 3..20_u64,
        from in any::<bool>(),
        stack in prop::sample::select(vec!["linux-6.12", "linux-5.1-sce", "linux-3.9", "linux-2.6"]),
        outage_ms in prop::option::of(0..300_u64),
    ) {
        let mut spec = exchange(request, response, count, think_ms * MS);
        spec.tcp.stack.name = stack.into();
        spec.tcp.opener = if from { Opener::From } else { Opener::To };
        let mut net = world(limit, 300, spec);
        if let Some(at) = outage_ms {
            let lost = |port| ChangeSpec::Outage { port, at_ns: at * MS, for_ns: 25 * MS };
            net.schedule = vec![lost(1), lost(3)];
        }
        let list = transactions(&net);
        check(&list, count, think_ms * MS);
        prop_assert_eq!(list, transactions(&net));
    }
}
