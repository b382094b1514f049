//! Connections that are made while the run goes on.

use proptest::prelude::*;
use serde_json::{json, Value};

use std::sync::atomic::AtomicBool;

use super::World;
use crate::output::{Output, Rows};
use crate::spec::{NetworkSpec, PortSpec};
use crate::time::{MAX_TIME, MS, SEC};
use crate::traffic::arrivals::drawn;
use crate::{simulate, simulate_until};

/// A bottleneck of 10 Mbit/s with a queue in both directions, and 20 ms.
fn world(seed: u64, qdisc: &Value, workloads: &[Value]) -> NetworkSpec {
    let queue = |id: &str, direction: &str| {
        json!({"kind": "queue", "id": id, "name": id, "direction": direction, "qdisc": qdisc, "delay_ns": 10 * MS,
               "shaper": {"kind": "tbf", "rate_bps": 10_000_000, "burst_bytes": 3028}})
    };
    let host = |id: &str, side: &str, number: u32| json!({"id": id, "side": side, "number": number, "egress": null});
    serde_json::from_value(json!({
        "format": 1, "seed": seed, "duration_ns": 8 * SEC, "sample_ns": 0, "capture": false,
        "hosts": [host("left", "left", 1), host("right", "right", 2)],
        "ports": [queue("out", "forward"), queue("back", "reverse")],
        "paths": [{"id": "path", "forward": [0], "reverse": [1], "base_rtt_ns": 20 * MS, "rate_bps": 0}],
        "workloads": workloads,
        "schedule": [{"kind": "outage", "port": 0, "at_ns": 2 * SEC, "for_ns": 100 * MS},
                     {"kind": "outage", "port": 1, "at_ns": 3 * SEC, "for_ns": 100 * MS}],
    }))
    .expect("a network")
}

fn tcp(id: &str, stack: &str, reverse: bool, bytes: u64) -> Value {
    let (from, to, direction) = if reverse { (1, 0, "reverse") } else { (0, 1, "forward") };
    json!({
        "id": id, "path": 0, "from": from, "to": to, "direction": direction, "opener": "from",
        "cc": {"kind": if stack.starts_with("linux") { "cubic" } else { "reno" }},
        "stack": {"name": stack, "options": {}}, "ecn": false, "sce_echo": false,
        "host": {"tso": false, "rmem": [4096, 131_072, 6_291_456], "rcvbuf": null, "wmem": [4096, 16384, 4_194_304],
                 "sndbuf": null, "cached_ssthresh": null},
        "transfer_bytes": bytes, "first_write_bytes": null, "connections": [],
    })
}

/// Transfers of the size that `tcp` has.
fn transfers(tcp: &Value, arrivals: &Value, ports: [u16; 2]) -> Value {
    let mut own = tcp.clone();
    let size = own["transfer_bytes"].take();
    json!({"kind": "transfers", "tcp": own, "size_bytes": size, "arrivals": arrivals, "start_ns": 0, "stop_ns": 6 * SEC,
           "count": null, "ports": ports, "rows": true})
}

fn qdisc(which: usize) -> Value {
    let codel = json!({"target_ns": 5 * MS, "interval_ns": 100 * MS, "ecn": true, "ce_threshold_ns": null, "floor": "mtu",
                       "forgets_when_empty": true});
    let pie = json!({"target_ns": 15 * MS, "tupdate_ns": 15 * MS, "alpha": 2, "beta": 20, "ecn": false, "bytemode": false,
                     "dq_rate_estimator": false});
    let queues = json!({"flows": 16, "quantum_bytes": 1514, "memory_limit_bytes": null});
    match which {
        0 => json!({"kind": "pfifo", "limit_packets": 20}),
        1 => {
            json!({"kind": "fq_codel", "limit_packets": 100, "queues": queues, "drop_batch": 64, "drops_raise_count": true,
                    "control": codel})
        }
        2 => json!({"kind": "fq_pie", "limit_packets": 100, "queues": queues, "ecn_prob": 10, "control": pie}),
        3 => json!({"kind": "fq", "limit_packets": 100, "flow_limit_packets": 20, "quantum_bytes": 3028,
                    "initial_quantum_bytes": 15140, "ce_threshold_ns": null}),
        _ => json!({"kind": "sfq", "limit_packets": 127, "divisor": 16, "quantum_bytes": 1514, "depth_packets": 20,
                    "perturb_s": 1, "headdrop": false}),
    }
}

/// Fingerprint, output, connections made and slots taken.
fn run(net: &NetworkSpec, reuses: bool) -> (u64, Output, u64, usize) {
    let mut world = World::build(net, &|_, _| None).unwrap();
    world.arena.slots.reuses = reuses;
    assert_eq!(world.run(&AtomicBool::new(false)), Ok(true));
    let (fingerprint, made, slots) = (world.fingerprint(), world.arena.slots.made(), world.arena.slots.taken());
    (fingerprint, world.finish(), made, slots)
}

#[test]
fn a_connection_has_a_name_ports_and_a_row_and_its_group_the_sums() {
    let arrivals = json!({"kind": "regular", "interval_ns": SEC});
    let mut net = world(1, &qdisc(0), &[transfers(&tcp("web", "linux-6.12", false, 14_480), &arrivals, [59_998, 80])]);
    net.schedule.clear();
    let (_, out, made, slots) = run(&net, true);
    assert_eq!((made, slots), (6, 1));
    assert_eq!(out.conservation, Vec::<String>::new());
    assert_eq!(out.flows.names, ["web-1", "web-2", "web-3", "web-4", "web-5", "web-6"]);
    for (i, name) in out.flows.names.iter().enumerate() {
        assert_eq!(out.flows.get(name, "start_ns"), Some((i as u64 * SEC) as f64));
        assert_eq!(out.flows.get(name, "rx_bytes"), Some(14_480.0));
    }
    let group = |column| out.groups.get("web", column).unwrap();
    assert_eq!((group("connections"), group("completed"), group("rx_bytes")), (6.0, 6.0, 6.0 * 14_480.0));
    // One and a half round trips, and the line.
    assert!((39.0..41.0).contains(&group("completion_mean_ms")), "{:?}", out.groups);
    assert_eq!(group("completion_mean_ms"), group("completion_max_ms"));
}

#[test]
fn a_capture_tells_connections_apart_that_had_the_same_slot() {
    let arrivals = json!({"kind": "regular", "interval_ns": SEC});
    let mut net = world(1, &qdisc(0), &[transfers(&tcp("web", "linux-6.12", false, 2000), &arrivals, [59_998, 80])]);
    net.schedule.clear();
    net.capture = true;
    let (_, out, _, slots) = run(&net, true);
    assert_eq!(slots, 1);
    let capture = out.capture.expect("a capture");
    let mut ports: Vec<(u16, u16)> = capture
        .records()
        .iter()
        .map(|record| capture.wire(record))
        .filter(|wire| !wire.leftwards && wire.id == 1)
        .map(|wire| (wire.source.1, wire.destination.1))
        .collect();
    ports.dedup();
    assert_eq!(ports, [(59_998, 80), (59_999, 80), (10_000, 81), (10_001, 81), (10_002, 81), (10_003, 81)]);
}

#[test]
fn a_run_makes_the_connections_that_are_drawn_for_others() {
    let sizes = json!({"kind": "exponential", "mean": 20_000});
    let arrivals = json!({"kind": "poisson", "mean_interval_ns": 50 * MS});
    let mut web = transfers(&tcp("web", "linux-6.12", false, 1), &arrivals, [10_000, 80]);
    web["size_bytes"] = sizes;
    let mut net = world(1, &qdisc(0), &[web]);
    net.schedule.clear();
    let listed = drawn(&net, 0).unwrap();
    assert!((100..140).contains(&listed.len()), "{}", listed.len());
    let (_, out, made, _) = run(&net, true);
    assert_eq!(made as usize, listed.len());
    for (arrival, name) in listed.iter().zip(&out.flows.names) {
        assert_eq!(out.flows.get(name, "start_ns"), Some(arrival.at as f64));
        if out.flows.get(name, "completed_ns").is_some() {
            assert_eq!(out.flows.get(name, "rx_bytes"), Some(arrival.bytes as f64));
        }
    }
    assert_eq!(out.groups.names, ["web", "web <10kB", "web 10kB-100kB", "web 100kB-1MB"][..out.groups.names.len()]);
    assert!(drawn(&net, 1).is_err());
}

#[test]
fn given_times_sizes_and_classes_are_those_of_the_connections() {
    let arrivals = json!({"kind": "listed", "at_ns": [0, 0, SEC, 7 * SEC], "sizes_bytes": [1000, 2000, 3000, 4000],
                          "classes": [0, 1, 0, 1]});
    let mut web = transfers(&tcp("web", "linux-6.12", false, 1), &arrivals, [59_999, 80]);
    web["paths"] = json!([0, 0]);
    web["start_ns"] = json!(SEC);
    let mut net = world(1, &qdisc(0), &[web.clone()]);
    net.schedule.clear();
    let found: Vec<_> =
        drawn(&net, 0).unwrap().iter().map(|each| (each.at, each.bytes, each.class, each.ports)).collect();
    // The last is later than the workload's end; ports of classes do not meet.
    assert_eq!(found, [(SEC, 1000, 0, [59_999, 80]), (SEC, 2000, 1, [10_000, 85]), (2 * SEC, 3000, 0, [10_001, 81])]);
    let (_, out, ..) = run(&net, true);
    assert_eq!(out.groups.get("web", "rx_bytes"), Some(6000.0));
    for (field, wrong) in
        [("at_ns", json!([1, 0, 2, 3])), ("sizes_bytes", json!([1])), ("classes", json!([0, 1, 2, 0]))]
    {
        let mut bad = web.clone();
        bad["arrivals"][field] = wrong;
        let refused = crate::simulate(&world(1, &qdisc(0), &[bad])).unwrap_err();
        assert_eq!(refused[0].field, format!("arrivals.{field}"));
    }
}

#[test]
fn a_transfer_alone_takes_the_time_that_slowdowns_are_relative_to() {
    // The burst that the shaper's bucket lets through makes up to 6 %.
    for bytes in [1, 1448, 14_480, 14_481, 50_000, 300_000, 2_000_000] {
        let arrivals = json!({"kind": "listed", "at_ns": [0], "sizes_bytes": [bytes], "classes": null});
        let mut net = world(1, &qdisc(0), &[transfers(&tcp("web", "linux-6.12", false, 1), &arrivals, [10_000, 80])]);
        net.schedule.clear();
        let slowdown = run(&net, true).1.groups.get("web", "slowdown_mean").unwrap();
        assert!((0.93..1.04).contains(&slowdown), "{slowdown} for {bytes} bytes");
    }
}

/// The world with a link behind each queue, of which `part` of the RTT of their own is for connections.
fn spread(workload: &Value, delays: [u64; 2], parts: [Option<&str>; 2]) -> NetworkSpec {
    let mut net = world(1, &qdisc(0), std::slice::from_ref(workload));
    net.schedule.clear();
    for (i, direction) in ["forward", "reverse"].into_iter().enumerate() {
        let id = format!("own-{direction}");
        let link = json!({"kind": "link", "id": id, "name": id, "direction": direction, "delay_ns": delays[i],
                          "rate_bps": null, "limit_packets": null, "own_rtt": parts[i]});
        net.ports.push(serde_json::from_value(link).unwrap());
    }
    net.paths[0].forward.push(net.ports.len() - 2);
    net.paths[0].reverse.push(net.ports.len() - 1);
    net
}

#[test]
fn a_delay_that_connections_share_is_the_same_on_a_line_that_keeps_no_order() {
    let arrivals = json!({"kind": "poisson", "mean_interval_ns": 20 * MS});
    let mut web = transfers(&tcp("web", "linux-6.12", false, 20_000), &arrivals, [10_000, 80]);
    let kept = run(&spread(&web, [15 * MS + MS / 2, 15 * MS + MS / 2], [None, None]), true);
    web["rtt_ns"] = json!(31 * MS);
    let spread = run(&spread(&web, [0, 0], [Some("first-half"), Some("second-half")]), true);
    let column = |out: &Output, name| out.flows.names.iter().map(|flow| out.flows.get(flow, name)).collect::<Vec<_>>();
    assert_eq!(spread.2, kept.2);
    assert_eq!(spread.1.conservation, Vec::<String>::new());
    for name in ["start_ns", "rx_bytes", "retransmits"] {
        assert_eq!(column(&spread.1, name), column(&kept.1, name), "{name}");
    }
}

#[test]
fn each_connection_has_the_round_trip_that_is_drawn_for_it() {
    let arrivals = json!({"kind": "regular", "interval_ns": 5 * MS});
    let mut web = transfers(&tcp("web", "linux-6.12", false, 100), &arrivals, [10_000, 80]);
    web["rtt_ns"] = json!({"kind": "uniform", "low": MS, "high": 200 * MS});
    let net = spread(&web, [0, 0], [None, Some("whole")]);
    let drawn = drawn(&net, 0).unwrap();
    let (_, out, ..) = run(&net, true);
    assert_eq!(out.conservation, Vec::<String>::new());
    let mut compared = 0;
    for (arrival, name) in drawn.iter().zip(&out.flows.names) {
        let Some(end) = out.flows.get(name, "completed_ns") else { continue };
        // One and a half times the 20 ms of the others, and once the whole RTT of its own, which is on the way back.
        let own = end - arrival.at as f64 - 30.0 * MS as f64;
        assert!((own - arrival.rtt as f64).abs() < 2.0 * MS as f64, "{own} for {}", arrival.rtt);
        compared += 1;
    }
    assert!(compared > 1000, "{compared}");
    let alone = out.groups.get("web", "slowdown_mean").unwrap();
    assert!((0.97..1.03).contains(&alone), "{alone}");
    let again = run(&net, false);
    assert_eq!(again.0, run(&net, true).0);
}

#[test]
fn what_cannot_be_run_is_refused() {
    let arrivals = json!({"kind": "poisson", "mean_interval_ns": 0});
    let mut own = transfers(&tcp("web", "linux-6.12", false, 2000), &arrivals, [80, 80]);
    (own["tcp"]["transfer_bytes"], own["paths"]) = (json!(2000), json!([0, 7]));
    own["size_bytes"] = json!({"kind": "uniform", "low": 2, "high": 1});
    let net = world(1, &qdisc(0), &[own]);
    let refused = crate::simulate(&net).unwrap_err();
    let fields: Vec<&str> = refused.iter().map(|refusal| refusal.field.as_str()).collect();
    assert_eq!(fields, ["arrivals.mean_interval_ns", "ports", "size_bytes.high", "tcp.transfer_bytes", "paths.1.path"]);
    let mut late = world(1, &qdisc(0), &[]);
    late.ports = vec![serde_json::from_value(json!({
        "kind": "link", "id": "delay", "name": "delay", "direction": "forward", "delay_ns": MAX_TIME + 1, "rate_bps": null,
        "limit_packets": null,
    }))
    .unwrap()];
    let refused = crate::simulate(&late).unwrap_err();
    assert!(refused.iter().any(|refusal| refusal.field == "delay_ns"), "an arrival beyond what a time can be");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever slots connections have, every packet event and every number that comes of them is the same as if each had a fresh one.
    #[test]
    fn slots_that_are_used_again_change_nothing(
        seed in any::<u64>(),
        which in 0..5_usize,
        size in 1..60_000_u64,
        interval in 5..80_u64,
        poisson in any::<bool>(),
        back in prop::sample::select(vec!["linux-6.12", "linux-3.9", "linux-2.6", "freebsd-9"]),
        own_queues in any::<bool>(),
    ) {
        let arrivals = |ns: u64| if poisson {
            json!({"kind": "poisson", "mean_interval_ns": ns})
        } else {
            json!({"kind": "regular", "interval_ns": ns})
        };
        let mut bulk = tcp("bulk", "linux-6.12", false, 3_000_000);
        bulk["kind"] = json!("tcp");
        bulk["connections"] = json!([{"name": "bulk", "start_ns": 0, "stop_ns": null, "ports": [10_000, 5000]}]);
        let mut net = world(seed, &qdisc(which), &[
            bulk,
            transfers(&tcp("out", "linux-6.12", false, size), &arrivals(interval * MS), [10_000, 6000]),
            transfers(&tcp("back", back, true, 20_000), &arrivals(50 * MS), [10_000, 7000]),
        ]);
        if own_queues {
            (net.hosts[0].egress, net.hosts[1].egress) = (Some(0), Some(1));
        }
        let (again, fresh) = (run(&net, true), run(&net, false));
        prop_assert_eq!(again.0, fresh.0);
        let bits = |rows: &Rows| rows.values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        prop_assert!(again.1.flows.names == fresh.1.flows.names && bits(&again.1.flows) == bits(&fresh.1.flows));
        prop_assert!(bits(&again.1.groups) == bits(&fresh.1.groups));
        prop_assert_eq!(again.1.events, fresh.1.events);
        prop_assert_eq!(again.1.conservation, Vec::<String>::new());
        prop_assert_eq!((again.2, fresh.3 as u64), (fresh.2, fresh.2));
        prop_assert!(again.3 < fresh.3, "{} slots for {} connections", again.3, again.2);
    }
}

/// Flows whose packets find no room time out together, again and again: who comes first in a tick must not depend on their order in the plan.
#[test]
fn flows_that_time_out_together_share_alike() {
    const FLOWS: usize = 6;
    let mut read = [0.0; FLOWS];
    for phase in 0..14 {
        let connection = |i: usize| {
            let start = (37 + 11 * i as u64) * (phase + 1 + i as u64) % 500 * MS;
            json!({"name": format!("flow-{i}"), "start_ns": start, "stop_ns": null, "ports": [50_000 + i, 5001]})
        };
        let mut workload = tcp("flows", "linux-6.12", false, 0);
        workload["kind"] = json!("tcp");
        workload["transfer_bytes"] = Value::Null;
        workload["connections"] = (0..FLOWS).map(connection).collect();
        let mut net = world(1, &json!({"kind": "pfifo", "limit_packets": 1}), &[workload]);
        net.schedule.clear();
        net.duration_ns = 30 * SEC;
        for port in &mut net.ports {
            if let PortSpec::Queue { delay_ns, .. } = port {
                *delay_ns = MS / 2;
            }
        }
        let flows = run(&net, true).1.flows;
        (0..FLOWS).for_each(|i| read[i] += flows.get(&format!("flow-{i}"), "rx_bytes").unwrap());
    }
    let mean = read.iter().sum::<f64>() / FLOWS as f64;
    assert!(read.iter().all(|each| (each / mean - 1.0).abs() < 0.12), "{read:?}");
}

/// So many bulk flows.
fn bulk(connections: usize) -> Value {
    let each = |i: usize| json!({"name": format!("f-{i}"), "start_ns": 0, "stop_ns": null, "ports": [49152, 1024]});
    let mut all = tcp("f", "linux-6.12", false, 0);
    (all["kind"], all["transfer_bytes"]) = (json!("tcp"), Value::Null);
    all["connections"] = (0..connections).map(each).collect();
    all
}

/// So many connections, over which requests are answered.
fn exchanges(connections: usize) -> Value {
    let mut own = bulk(connections);
    own.as_object_mut().expect("a map").remove("kind");
    json!({"kind": "exchange", "tcp": own, "request_bytes": 100, "response_bytes": 1000, "count": 10, "think_ns": 0})
}

#[test]
fn a_run_ends_when_it_is_asked_to() {
    let net = world(1, &qdisc(0), &[bulk(1)]);
    let run = |stop| simulate_until(&net, &|_, _| None, &AtomicBool::new(stop)).unwrap();
    assert_eq!((run(true).is_some(), run(false).is_some()), (false, true));
}

#[test]
fn a_capture_is_bounded_by_what_is_sent() {
    let net = NetworkSpec { capture: true, ..world(1, &qdisc(0), &[bulk(1)]) };
    let mut world = World::build(&net, &|_, _| None).unwrap();
    world.bounds.noted = 1000;
    let refusals = world.run(&AtomicBool::new(false)).unwrap_err();
    let told = refusals[0].to_string();
    assert!(told.starts_with("Run.capture: has more than 1000 packets after "), "{told}");
    assert!(told.ends_with(" s; expected a shorter duration"), "{told}");
    world.bounds.noted = usize::MAX;
    assert_eq!(world.run(&AtomicBool::new(false)), Ok(true));
}

#[test]
fn connections_that_come_faster_than_they_go_are_bounded() {
    let arrivals =
        json!({"kind": "listed", "at_ns": (0..50_000).collect::<Vec<u64>>(), "sizes_bytes": null, "classes": null});
    let net = world(1, &qdisc(0), &[transfers(&tcp("a", "linux-6.12", false, 1000), &arrivals, [10_000, 59_999])]);
    let mut world = World::build(&net, &|_, _| None).unwrap();
    world.bounds.slots = 1000;
    let told = world.run(&AtomicBool::new(false)).unwrap_err()[0].to_string();
    assert!(told.starts_with("Run.workloads: has more than 1000 connections at once after 0.0"), "{told}");
}

#[test]
fn more_connections_than_fit_are_refused_before_any_is_made() {
    let net = world(1, &qdisc(0), &[bulk(60_000), bulk(40_001)]);
    let told: Vec<String> = simulate(&net).unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(told, ["Run.workloads: 100001 connections; expected at most 100000"]);
    // Connections with two ends have nearly twice the timers, and each workload that makes connections has one.
    let arrivals = json!({"kind": "listed", "at_ns": [0], "sizes_bytes": null, "classes": null});
    let making = transfers(&tcp("a", "linux-6.12", false, 1000), &arrivals, [10_000, 59_999]);
    let mut net = world(1, &qdisc(0), &[exchanges(100_000), making]);
    let making = net.workloads.pop().expect("a workload");
    net.workloads.extend(vec![making; 150_000]);
    let told: Vec<String> = simulate(&net).unwrap_err().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 1);
    let timers = "timers of ports, connections and streams; expected at most 1048571";
    assert!(told[0].ends_with(timers), "{told:?}");
}
