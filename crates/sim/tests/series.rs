//! Series of chosen entities: flows, groups, ports, and what ports hand on of flows and groups.

mod common;

use common::{dumbbell, flow, run, udp, with_udp, MS, SEC};
use dumbbell_sim::output::{Output, Table};
use dumbbell_sim::spec::{NetworkSpec, QdiscSpec, SeriesSpec, ShaperSpec, TcpSpec};

/// A workload of several flows, each of which starts 100 ms after the one before it.
fn group(name: &str, flows: u64) -> TcpSpec {
    let mut group = flow(name, "reno", "linux-6.12");
    let one = group.connections[0].clone();
    group.connections = (0..flows)
        .map(|i| {
            let mut each = one.clone();
            (each.name, each.start_ns) = (format!("{name}-{i}"), 100 * MS * i);
            each
        })
        .collect();
    group
}

/// Two groups over 10 Mbit/s and 100 ms: `a` has two flows, of which the second is stopped at 2.05 s, `b` three, each with 100 kB to send.
fn network(series: Option<SeriesSpec>) -> NetworkSpec {
    let (mut a, mut b) = (group("a", 2), group("b", 3));
    a.connections[1].stop_ns = Some(2_050 * MS);
    b.transfer_bytes = Some(100_000);
    let shaper = ShaperSpec::Tbf { rate_bps: 10_000_000, burst_bytes: 1540 };
    let net = dumbbell(QdiscSpec::Pfifo { limit_packets: 100 }, shaper, 100 * MS, 5, vec![a, b]);
    NetworkSpec { sample_ns: 20 * MS, series, ..net }
}

fn entities(out: &Output) -> Vec<&str> {
    out.tables.iter().map(|table| table.entity.as_str()).collect()
}

fn table<'a>(out: &'a Output, entity: &str) -> &'a Table {
    out.tables.iter().find(|table| table.entity == entity).unwrap()
}

/// Times and values of a series where there are samples.
fn series(out: &Output, entity: &str, name: &str) -> Vec<(i64, f64)> {
    let table = table(out, entity);
    let column = table.columns.iter().position(|each| *each == name).unwrap();
    let values = table.values.chunks(table.columns.len()).map(|row| row[column]);
    table.t_ns.iter().copied().zip(values).filter(|(_, value)| !value.is_nan()).collect()
}

/// Return the bits of the numbers, which tell numbers apart that are NaN as well.
fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn a_description_that_chooses_nothing_has_series_of_every_flow_and_port() {
    let out = run(&network(None));
    let all = ["flow/a-0", "flow/a-1", "flow/b-0", "flow/b-1", "flow/b-2", "port/out", "port/bottleneck", "port/back"];
    assert_eq!(entities(&out), all);
}

#[test]
fn what_is_chosen_has_series_and_what_happens_is_the_same() {
    let chosen =
        SeriesSpec { flows: vec![1], groups: vec![0], ports: vec![1], shares: vec![1], ..SeriesSpec::default() };
    let (all, some) = (run(&network(None)), run(&network(Some(chosen))));
    let flows = ["flow/b-0", "flow/b-1", "flow/b-2"];
    let shares: Vec<String> =
        flows.iter().chain(&["group/a"]).map(|entity| format!("share/bottleneck/{entity}")).collect();
    let mut expected = flows.to_vec();
    expected.extend(["group/a", "port/bottleneck"]);
    expected.extend(shares.iter().map(String::as_str));
    assert_eq!(entities(&some), expected);
    for entity in ["flow/b-0", "flow/b-2", "port/bottleneck"] {
        let (ours, theirs) = (table(&some, entity), table(&all, entity));
        assert_eq!((&ours.t_ns, ours.values.len()), (&theirs.t_ns, theirs.values.len()));
        assert_eq!(bits(&ours.values), bits(&theirs.values));
    }
    assert_eq!(bits(&all.flows.values), bits(&some.flows.values));
    assert_eq!(all.events, some.events);
}

#[test]
fn a_group_is_the_sum_or_the_mean_of_its_open_flows() {
    let chosen = SeriesSpec { flows: vec![0, 1], groups: vec![1, 0], ..SeriesSpec::default() };
    let out = run(&network(Some(chosen)));
    let flows: [&[&str]; 2] = [&["flow/a-0", "flow/a-1"], &["flow/b-0", "flow/b-1", "flow/b-2"]];
    for (group, flows) in ["group/a", "group/b"].into_iter().zip(flows) {
        let of = |name: &str| -> Vec<Vec<(i64, f64)>> { flows.iter().map(|flow| series(&out, flow, name)).collect() };
        let at = |several: &[Vec<(i64, f64)>], t: i64| -> Vec<f64> {
            several.iter().flatten().filter(|(time, _)| *time == t).map(|(_, value)| *value).collect()
        };
        let count = series(&out, group, "flows");
        assert_eq!(count.len(), 251);
        let cwnds = of("cwnd");
        for (name, total) in [("flows", count.clone()), ("cwnd", series(&out, group, "cwnd"))] {
            for (t, value) in total {
                let open = at(&cwnds, t);
                let expected = if name == "flows" { open.len() as f64 } else { open.iter().sum() };
                assert!((value - expected).abs() < 1e-9, "{group} {name} at {t}: {value}, not {expected}");
            }
        }
        let (srtts, least) = (of("srtt_ms"), of("min_rtt_ms"));
        let mean = series(&out, group, "srtt_ms");
        assert!(mean.len() > 20 && mean.len() < 251);
        for (t, value) in mean {
            let open = at(&srtts, t);
            assert!((value - open.iter().sum::<f64>() / open.len() as f64).abs() < 1e-9, "{group} at {t}");
        }
        for (t, value) in series(&out, group, "min_rtt_ms") {
            assert_eq!(value, at(&least, t).into_iter().fold(f64::INFINITY, f64::min), "{group} at {t}");
        }
    }
    // One flow is stopped at 2.05 s, the other lasts; those with a size are complete.
    let open: Vec<f64> = [40 * MS, 2 * SEC, 3 * SEC]
        .map(|t| series(&out, "group/a", "flows").into_iter().find(|(time, _)| *time == t as i64).unwrap().1)
        .to_vec();
    assert_eq!(open, [1.0, 2.0, 1.0]);
    assert_eq!(series(&out, "group/b", "flows").last().unwrap().1, 0.0);
}

#[test]
fn totals_of_a_group_never_fall_and_end_with_those_of_its_flows() {
    let out = run(&network(Some(SeriesSpec { groups: vec![0, 1], ..SeriesSpec::default() })));
    for (group, flows) in [("group/a", vec!["a-0", "a-1"]), ("group/b", vec!["b-0", "b-1", "b-2"])] {
        for name in ["rx_bytes", "delivered", "retransmits", "delivered_ce"] {
            let found = series(&out, group, name);
            assert!(found.windows(2).all(|pair| pair[1].1 >= pair[0].1), "{group} {name}");
            let end: f64 = flows.iter().map(|flow| out.flows.get(flow, name).unwrap()).sum();
            assert_eq!(found.last().unwrap(), &(5 * SEC as i64, end), "{group} {name}");
        }
    }
    assert_eq!(series(&out, "group/b", "rx_bytes").last().unwrap().1, 300_000.0);
}

#[test]
fn shares_of_all_flows_are_what_the_port_handed_on() {
    let chosen = SeriesSpec {
        flows: vec![0],
        groups: vec![0, 1],
        ports: vec![0, 1, 2],
        shares: vec![2, 1],
        ..SeriesSpec::default()
    };
    let out = run(&network(Some(chosen)));
    for port in ["back", "bottleneck"] {
        let whole = series(&out, &format!("port/{port}"), "sent_bytes");
        let groups = ["a", "b"].map(|name| series(&out, &format!("share/{port}/group/{name}"), "sent_bytes"));
        assert!(whole.last().unwrap().1 > 10_000.0);
        for (i, (t, bytes)) in whole.iter().enumerate() {
            assert_eq!(
                groups.iter().map(|group| group[i]).fold((*t, 0.0), |sum, each| (each.0, sum.1 + each.1)),
                (*t, *bytes)
            );
        }
        let flows = ["a-0", "a-1"].map(|name| series(&out, &format!("share/{port}/flow/{name}"), "sent_bytes"));
        let both: f64 =
            flows.iter().filter_map(|flow| flow.iter().find(|(t, _)| *t == 2 * SEC as i64)).map(|each| each.1).sum();
        assert_eq!(groups[0].iter().find(|(t, _)| *t == 2 * SEC as i64).unwrap().1, both);
    }
}

#[test]
fn what_there_is_not_is_refused() {
    let chosen =
        SeriesSpec { flows: vec![2], groups: vec![0, 7], ports: vec![3], shares: vec![9], ..SeriesSpec::default() };
    let refusals = dumbbell_sim::check(&network(Some(chosen))).unwrap_err();
    let told: Vec<String> = refusals.iter().map(|each| format!("{} {}", each.field, each.what)).collect();
    assert_eq!(
        told,
        [
            "series.flows workload 2",
            "series.groups workload 7",
            "series.ports port 3 of 3",
            "series.shares port 9 of 3"
        ]
    );
}

#[test]
fn datagrams_are_of_no_flow_and_change_no_share() {
    let chosen = SeriesSpec { groups: vec![0, 1], ports: vec![0, 1], shares: vec![0, 1], ..SeriesSpec::default() };
    let out = run(&with_udp(network(Some(chosen)), vec![udp(10 * MS, 3 * SEC)]));
    for port in ["out", "bottleneck"] {
        let last = |entity: String| series(&out, &entity, "sent_bytes").last().unwrap().1;
        let groups: f64 = ["a", "b"].map(|name| last(format!("share/{port}/group/{name}"))).iter().sum();
        let others = last(format!("port/{port}")) - groups;
        // 300 datagrams, less those that were dropped or are under way.
        assert!(others > 200.0 * 1000.0 && others <= 300.0 * 1514.0, "{port}: {others}");
    }
}
