//! Applications over connections that stay open: sources with a rate, pages, streaming.

mod common;

use common::*;
use dumbbell_sim::output::{Output, Transaction};
use dumbbell_sim::refusal::lines;
use dumbbell_sim::simulate;
use dumbbell_sim::spec::{
    ConnectionSpec, DistributionSpec, DrawnSpec, NetworkSpec, OnOffSpec, Opener, PageSpec, PeriodSpec, QdiscSpec,
    ShaperSpec, StreamingSpec, WorkloadSpec,
};
use proptest::prelude::*;

/// 10 Mbit/s and 20 ms, with a queue in each direction.
fn world(limit_packets: u64, seconds: u64, workload: WorkloadSpec) -> NetworkSpec {
    let qdisc = QdiscSpec::Pfifo { limit_packets };
    let shaper = ShaperSpec::Link { rate_bps: 10_000_000 };
    with(two_way(dumbbell(qdisc, shaper, 20 * MS, seconds, vec![])), workload)
}

fn source(on: Option<PeriodSpec>, off_ns: u64) -> OnOffSpec {
    OnOffSpec {
        tcp: flow("s", "cubic", "linux-6.12"),
        write_bytes: 10_000,
        interval_ns: 40 * MS,
        on,
        off_ns: off_ns.into(),
    }
}

fn page(count: u64, connections: usize) -> PageSpec {
    let mut tcp = flow("p", "cubic", "linux-6.12");
    let one = tcp.connections[0].clone();
    tcp.connections = (1..=connections).map(|i| ConnectionSpec { name: format!("p-{i}"), ..one.clone() }).collect();
    PageSpec {
        tcp,
        connections_each: connections as u32,
        request_bytes: 300.into(),
        first_bytes: None,
        objects: 12,
        size_bytes: 1000.into(),
        count: Some(count),
        think_ns: (500 * MS).into(),
    }
}

fn streaming(bitrate: u64) -> StreamingSpec {
    StreamingSpec {
        tcp: flow("v", "cubic", "linux-6.12"),
        request_bytes: 300,
        chunk_ns: 2 * SEC,
        chunk_bytes: bitrate / 4,
        buffer_ns: 10 * SEC,
        start_at_ns: 2 * SEC,
        count: None,
    }
}

fn transactions(out: &Output) -> &[Transaction] {
    assert_eq!(out.conservation, Vec::<String>::new());
    &out.transactions[0].1
}

fn took_ms(list: &[Transaction]) -> Vec<u64> {
    list.iter().map_while(|each| Some((each.end? - each.start) / MS)).collect()
}

#[test]
fn a_source_writes_at_its_pace_and_each_write_is_read_soon() {
    let out = run(&world(100, 4, WorkloadSpec::OnOff(source(None, 0))));
    let list = transactions(&out);
    assert_eq!(list.len(), 100);
    assert!(list.iter().zip(0..).all(|(each, i)| each.start == 40 * MS * i));
    let took = took_ms(list);
    // The first waits for the handshake; 10 kB take 8.3 ms on the line and 10 ms of way, in one window.
    assert!((38..40).contains(&took[0]), "{took:?}");
    assert!(took[1..].iter().all(|ms| (18..20).contains(ms)), "{took:?}");
    assert_eq!(out.flows.get("s", "rx_bytes"), Some(took.len() as f64 * 10_000.0));
}

#[test]
fn a_source_pauses_for_a_time_or_after_a_size() {
    let starts = |on, off_ns| {
        let out = run(&world(100, 2, WorkloadSpec::OnOff(source(Some(on), off_ns))));
        transactions(&out).iter().map(|each| each.start / MS).collect::<Vec<_>>()
    };
    assert_eq!(starts(PeriodSpec::Time { ns: (100 * MS).into() }, 700 * MS)[..5], [0, 40, 80, 800, 840]);
    assert_eq!(starts(PeriodSpec::Bytes { bytes: 15_000.into() }, 700 * MS)[..5], [0, 40, 780, 820, 1560]);
    let mut bursts = source(Some(PeriodSpec::Bytes { bytes: 100_000.into() }), SEC);
    bursts.interval_ns = 0;
    let out = run(&world(100, 3, WorkloadSpec::OnOff(bursts)));
    assert_eq!(transactions(&out).iter().map(|each| each.start).collect::<Vec<_>>(), [0, SEC, 2 * SEC]);
    assert_eq!(out.flows.get("s", "rx_bytes"), Some(300_000.0));
}

#[test]
fn a_source_that_is_too_fast_is_late_and_not_slower() {
    let mut fast = source(None, 0);
    fast.interval_ns = 5 * MS;
    let out = run(&world(100, 4, WorkloadSpec::OnOff(fast)));
    let list = transactions(&out);
    assert_eq!(list.len(), 800);
    let took = took_ms(list);
    assert!((400..500).contains(&took.len()), "{}", took.len());
    assert!(took[300] > took[200] && took[200] > took[100]);
}

#[test]
fn the_reader_may_open_the_connection_of_a_source() {
    let mut spec = source(None, 0);
    spec.tcp.opener = Opener::To;
    let out = run(&world(100, 4, WorkloadSpec::OnOff(spec)));
    // The source hears half a round trip later that it may write.
    assert!((48..50).contains(&took_ms(transactions(&out))[0]));
}

#[test]
fn no_request_begins_after_the_end_though_the_handshake_does() {
    // The end falls into the handshake of a connection that the server opens, whose second packet reaches the client after that.
    for ms in [5, 12, 15, 25, 29] {
        let mut spec = streaming(1_000_000);
        spec.tcp.opener = Opener::To;
        spec.tcp.connections[0].stop_ns = Some(ms * MS);
        let out = run(&world(100, 1, WorkloadSpec::Streaming(spec)));
        assert_eq!(out.conservation, Vec::<String>::new());
        let begun: Vec<u64> = out.transactions.iter().flat_map(|(_, all)| all).map(|each| each.start / MS).collect();
        assert!(begun.iter().all(|&at| at < ms), "{ms} ms: {begun:?}");
    }
}

#[test]
fn connections_share_the_objects_of_a_page() {
    let pages = |connections, first_bytes: Option<u64>| {
        let out = run(&world(
            100,
            8,
            WorkloadSpec::Page(PageSpec { first_bytes: first_bytes.map(Into::into), ..page(4, connections) }),
        ));
        let list = transactions(&out).to_vec();
        let bytes: f64 = (1..=connections).map(|i| out.flows.get(&format!("p-{i}"), "rx_bytes").unwrap()).sum();
        assert_eq!(bytes, 4.0 * (12.0 * 1300.0 + first_bytes.map_or(0.0, |first| first as f64 + 300.0)));
        assert!(list.windows(2).all(|pair| pair[1].start == pair[0].end.unwrap() + 500 * MS));
        took_ms(&list)
    };
    // A round trip for each turn of requests, the first after the handshake.
    for (connections, turns) in [(1, 12), (6, 2), (12, 1)] {
        let took = pages(connections, None);
        assert_eq!(took.len(), 4);
        assert!((20 * turns..20 * turns + 16).contains(&took[1]), "{connections}: {took:?}");
        assert!((took[1] + 19..took[1] + 22).contains(&took[0]), "{connections}: {took:?}");
        // The first object has a turn of its own.
        let with_first = pages(connections, Some(1000));
        assert!((took[1] + 19..took[1] + 25).contains(&with_first[1]), "{connections}: {with_first:?}");
    }
}

#[test]
fn pages_have_one_series_of_their_group_and_a_row_for_each_connection() {
    let mut spec = page(2, 6);
    spec.connections_each = 3;
    let mut net = world(100, 8, WorkloadSpec::Page(spec));
    net.sample_ns = 100 * MS;
    let out = run(&net);
    assert_eq!(
        out.transactions.iter().map(|(name, list)| (&**name, list.len())).collect::<Vec<_>>(),
        [("p-1", 2), ("p-4", 2)]
    );
    let table = out.tables.iter().find(|table| table.entity == "group/p").expect("latencies");
    assert_eq!((table.columns.as_slice(), table.t_ns.len()), (["latency_ms"].as_slice(), 4));
    assert!(table.t_ns.windows(2).all(|pair| pair[0] <= pair[1]));
    let of = |column| out.groups.get("p", column);
    assert_eq!(
        [of("connections"), of("completed"), of("transactions"), of("stalls")],
        [Some(6.0), Some(6.0), Some(4.0), None]
    );
    assert_eq!(out.flows.names, ["p-1", "p-2", "p-3", "p-4", "p-5", "p-6"]);
}

#[test]
fn a_player_fills_its_buffer_and_then_asks_as_it_plays() {
    let mut net = world(100, 40, WorkloadSpec::Streaming(streaming(2_000_000)));
    net.sample_ns = 100 * MS;
    let out = run(&net);
    let list = transactions(&out);
    // Five chunks follow each other; from then on one every 2 s.
    assert!(list[1..5].iter().zip(list).all(|(next, before)| next.start == before.end.unwrap()));
    assert!(list[6..].windows(2).all(|pair| pair[1].start.abs_diff(pair[0].start + 2 * SEC) < MS), "{list:?}");
    let levels = out.tables.iter().find(|table| table.columns == ["buffer_s"]).expect("levels");
    assert_eq!(levels.entity, "flow/v");
    let most = levels.values.iter().copied().fold(0.0, f64::max);
    assert!((9.0..=10.0).contains(&most), "{most}");
    let of = |column| out.flows.get("v", column);
    assert_eq!([of("stalls"), of("stalled_ms")], [Some(0.0), Some(0.0)]);
    assert!((440.0..500.0).contains(&of("startup_ms").unwrap()), "{:?}", of("startup_ms"));
    assert_eq!(out.groups.get("v", "startup_mean_ms"), of("startup_ms"));
}

#[test]
fn a_player_whose_link_is_too_slow_stalls() {
    let out = run(&world(100, 60, WorkloadSpec::Streaming(streaming(15_000_000))));
    let (stalls, stalled) = (out.flows.get("v", "stalls").unwrap(), out.flows.get("v", "stalled_ms").unwrap());
    // Only 9.6 of the 15 s of playing time come over the network in that time, so it stalls for more than a third.
    assert!((15.0..25.0).contains(&stalls), "{stalls}");
    assert!((18_000.0..26_000.0).contains(&stalled), "{stalled}");
}

#[test]
fn a_player_closes_when_it_has_all() {
    let spec = StreamingSpec { count: Some(3), ..streaming(2_000_000) };
    let out = run(&world(100, 20, WorkloadSpec::Streaming(spec)));
    assert_eq!(out.groups.get("v", "completed"), Some(1.0));
    assert_eq!(out.flows.get("v", "stalls"), Some(0.0));
}

#[test]
fn what_cannot_be_run_is_refused() {
    let refused = |workload| lines(&simulate(&world(100, 1, workload)).expect_err("refused"));
    let onoff = |change: &dyn Fn(&mut OnOffSpec)| {
        let mut spec = source(None, 0);
        change(&mut spec);
        refused(WorkloadSpec::OnOff(spec))
    };
    assert_eq!(onoff(&|s| s.write_bytes = 0), "Workload 0.write_bytes: 0 bytes; expected at least 1");
    let endless = "Workload 0.interval_ns: 0 ns; expected at least 1, or periods of a size with a time between";
    assert_eq!(onoff(&|s| s.interval_ns = 0), endless);
    assert_eq!(onoff(&|s| (s.interval_ns, s.on) = (0, Some(PeriodSpec::Bytes { bytes: 1.into() }))), endless);
    assert_eq!(
        onoff(&|s| s.on = Some(PeriodSpec::Time { ns: 0.into() })),
        "Workload 0.on.ns: 0 ns; expected at least 1"
    );
    assert!(onoff(&|s| s.write_bytes = 1 << 50).starts_with("Workload 0.write_bytes: 1125899906842624 bytes as often"));
    assert_eq!(onoff(&|s| s.tcp.host.tso = true), "Workload 0.tcp.host.tso: true; expected false");
    let uneven = refused(WorkloadSpec::Page(PageSpec { connections_each: 4, ..page(1, 6) }));
    assert_eq!(uneven, "Workload 0.connections_each: 4 of 6 connections; expected the same number for each browser");
    let nothing = refused(WorkloadSpec::Page(PageSpec { objects: 0, ..page(1, 6) }));
    assert_eq!(nothing, "Workload 0.objects: 0 objects; expected at least 1");
    let small = StreamingSpec { buffer_ns: SEC, ..streaming(1_000_000) };
    assert!(refused(WorkloadSpec::Streaming(small))
        .contains("Workload 0.buffer_ns: 1000000000 ns; expected at least 2000000000"));
    let late = StreamingSpec { start_at_ns: 11 * SEC, ..streaming(1_000_000) };
    assert_eq!(
        refused(WorkloadSpec::Streaming(late)),
        "Workload 0.start_at_ns: 11000000000 ns; expected 1 to 10000000000"
    );
}

/// Exponential with this mean.
fn drawn(mean: u64) -> DistributionSpec {
    DistributionSpec::Drawn(DrawnSpec::Exponential { mean })
}

#[test]
fn what_is_drawn_is_the_same_in_every_run_and_shifted_by_nothing() {
    let sizes = |think_ns: DistributionSpec, limit| {
        let mut spec = page(3, 1);
        (spec.size_bytes, spec.think_ns, spec.objects) = (drawn(20_000), think_ns, 1);
        let out = run(&world(limit, 30, WorkloadSpec::Page(spec)));
        (out.flows.get("p-1", "rx_bytes").unwrap(), transactions(&out).to_vec())
    };
    let (bytes, list) = sizes(drawn(100 * MS), 100);
    assert_eq!(sizes(drawn(100 * MS), 100), (bytes, list.clone()));
    // Other times to think, and another queue: the sizes stay as they are.
    let (same, other) = sizes(drawn(SEC), 5);
    assert_eq!(same, bytes);
    assert_ne!(list, other);
    let thought: Vec<_> = list.windows(2).map(|pair| pair[1].start - pair[0].end.unwrap()).collect();
    assert_ne!(thought[0], thought[1]);
}

#[test]
fn periods_and_bursts_may_be_drawn() {
    let mut spec = source(Some(PeriodSpec::Bytes { bytes: drawn(50_000) }), 0);
    (spec.interval_ns, spec.off_ns) = (0, drawn(200 * MS));
    let out = run(&world(100, 60, WorkloadSpec::OnOff(spec)));
    let (count, bytes) = (transactions(&out).len() as f64, out.flows.get("s", "rx_bytes").unwrap());
    // Some 300 of each: their means are within a fifth.
    assert!((240.0..360.0).contains(&count), "{count}");
    assert!((0.8..1.2).contains(&(bytes / count / 50_000.0)), "{}", bytes / count);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    /// Whatever is lost on the way, every page comes whole, and the same run has the same times.
    #[test]
    fn every_page_ends(
        objects in 1..30_u64,
        size in 1..40_000_u64,
        first in prop::option::of(1..20_000_u64),
        connections in 1..8_usize,
        limit in 3..20_u64,
        think_ms in 0..400_u64,
    ) {
        let spec = PageSpec {
            objects,
            size_bytes: size.into(),
            first_bytes: first.map(Into::into),
            think_ns: (think_ms * MS).into(),
            ..page(2, connections)
        };
        let net = world(limit, 300, WorkloadSpec::Page(spec));
        let out = run(&net);
        let list = transactions(&out);
        prop_assert_eq!(took_ms(list).len(), 2);
        let again = run(&net);
        prop_assert_eq!(list, transactions(&again));
    }
}
