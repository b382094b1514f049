//! Hosts with a queue of their own: what TCP has in there, and that it goes on when something leaves.

mod common;

use common::{counter, dumbbell, flow, run, two_way, value, with_exchange, MS, MSS};
use dumbbell_sim::output::Output;
use dumbbell_sim::spec::{
    CodelFloor, CodelSpec, ExchangeSpec, FqSpec, HostSettings, NetworkSpec, PortSpec, QdiscSpec, QueuesSpec,
    ShaperSpec, StackSpec, TcpSpec, WorkloadSpec,
};
use serde_json::{json, Value};

const RATE: u64 = 10_000_000;
const SECONDS: u64 = 10;

/// Flows of host 2, whose own port is the bottleneck.
fn local(rate_bps: u64, qdisc: QdiscSpec, flows: Vec<TcpSpec>) -> NetworkSpec {
    let flows = flows.into_iter().map(|flow| TcpSpec { from: 2, path: 1, ..flow }).collect();
    let mut net = dumbbell(qdisc, ShaperSpec::Tbf { rate_bps, burst_bytes: 1540 }, 40 * MS, SECONDS, flows);
    net.sample_ns = MS;
    net
}

fn pfifo() -> QdiscSpec {
    QdiscSpec::Pfifo { limit_packets: 200 }
}

fn cubic(name: &str, stack: &str, options: Value) -> TcpSpec {
    let Value::Object(options) = options else { panic!("options") };
    TcpSpec { stack: StackSpec { name: stack.into(), options }, ..flow(name, "cubic", stack) }
}

/// Most packets that a sample found in the queue, and bytes that arrived as a share of what the line carries.
fn came_to(out: &Output, flows: &[&str], rate_bps: u64) -> (f64, f64) {
    let most = (0..SECONDS as usize * 1000).map(|ms| value(out, "port/bottleneck", "backlog_packets", ms));
    let bytes: u64 = flows.iter().map(|name| counter(out, &format!("flow/{name}"), "rx_bytes")).sum();
    (most.fold(0.0, f64::max), bytes as f64 / (rate_bps / 8 * SECONDS * MSS / 1514) as f64)
}

/// One flow, and two that share the port.
fn one_and_two(rate_bps: u64, stack: &str, options: &Value) -> [(f64, f64); 2] {
    [&["f"][..], &["f", "g"]].map(|names| {
        let flows = names.iter().map(|name| cubic(name, stack, options.clone())).collect();
        came_to(&run(&local(rate_bps, pfifo(), flows)), names, rate_bps)
    })
}

#[test]
fn small_queues_keep_a_connection_to_its_limit_and_the_line_busy() {
    // At this rate a millisecond is less than two segments: two may lie there, and one more that finds hardly anything outstanding.
    // In slow start, at twice the window's rate, a millisecond of 100 Mbit/s is 11 segments.
    for (rate_bps, stack, options, most) in [
        (RATE, "linux-6.12", json!({}), 2..=3),
        (RATE, "linux-5.1-sce", json!({}), 2..=3),
        (10 * RATE, "linux-6.12", json!({}), 7..=16),
        (10 * RATE, "linux-6.12", json!({"output_limit_bytes": 3 * 2280}), 3..=4),
        (RATE, "linux-3.9", json!({}), 25..=31),
        (RATE, "linux-2.6", json!({}), 190..=200),
        (RATE, "linux-6.12", json!({"small_queues": "off"}), 200..=200),
    ] {
        let came_to = one_and_two(rate_bps, stack, &options);
        for ((packets, share), flows) in came_to.into_iter().zip(1..) {
            assert!(
                packets <= f64::from(flows * most.end()).min(200.0),
                "{stack} {options}: {packets} packets of {flows}"
            );
            assert!(packets >= f64::from(*most.start()), "{stack} {options}: {packets} packets");
            assert!(share > 0.98, "{stack} {options}: {share} of the line");
        }
    }
}

fn fq() -> QdiscSpec {
    QdiscSpec::Fq(FqSpec {
        limit_packets: 10_000,
        flow_limit_packets: 100,
        quantum_bytes: 3028,
        initial_quantum_bytes: 15_140,
        refill_delay_ns: None,
        ce_threshold_ns: None,
    })
}

#[test]
fn with_fq_at_the_host_a_stack_gets_what_it_gets_with_other_queues() {
    // Before pacing there is nothing to pace by; with it the rate follows the window, also where losses are counted.
    let counts = json!({"loss_detection": "fack", "frto": "off", "tail_loss_probe": false});
    for (stack, options) in [
        ("linux-2.6", json!({})),
        ("linux-3.9", json!({})),
        ("linux-3.9", json!({"pacing": true})),
        ("linux-2.6", json!({"pacing": true})),
        ("linux-6.12", counts),
    ] {
        let share =
            |qdisc| came_to(&run(&local(RATE, qdisc, vec![cubic("f", stack, options.clone())])), &["f"], RATE).1;
        let (paced, other) = (share(fq()), share(pfifo()));
        assert!(paced > 0.97 * other && other > 0.9, "{stack} {options}: {paced} of the line, {other} with a pfifo");
    }
}

#[test]
fn a_queue_at_the_host_changes_nothing_for_a_slow_reader() {
    // Its window is closed most of the time: probes lie in the queue, and leave it.
    for stack in ["linux-6.12", "linux-5.1-sce", "linux-3.9", "linux-2.6"] {
        let came = |local_queue: bool| {
            let host = HostSettings { reads_bps: Some(30_000), rcvbuf: Some(4608), ..common::host() };
            let flow = TcpSpec { host, ..cubic("f", stack, json!({})) };
            let mut net = local(1000 * RATE, pfifo(), vec![flow]);
            net.duration_ns = 60 * SECONDS * 100 * MS;
            if !local_queue {
                net.hosts[2].egress = None;
            }
            counter(&run(&net), "flow/f", "rx_bytes")
        };
        assert_eq!(came(true), came(false), "{stack}");
    }
}

#[test]
fn with_tso_a_connection_may_have_two_tso_segments_there() {
    let tso = TcpSpec { host: HostSettings { tso: true, ..common::host() }, ..cubic("f", "linux-6.12", json!({})) };
    let (packets, share) = came_to(&run(&local(RATE, pfifo(), vec![tso])), &["f"], RATE);
    // At this rate one carries two segments.
    assert!((4.0..=6.0).contains(&packets) && share > 0.98, "{packets} packets, {share} of the line");
}

#[test]
fn what_the_port_drops_makes_room_as_well() {
    let codel = CodelSpec {
        target_ns: 5 * MS,
        interval_ns: 100 * MS,
        ecn: false,
        ce_threshold_ns: None,
        ce_threshold_selector: None,
        floor: CodelFloor::Mtu,
        forgets_when_empty: true,
    };
    let queues = QueuesSpec { flows: 16, quantum_bytes: 1514, memory_limit_bytes: None };
    let fq_codel =
        QdiscSpec::FqCodel { limit_packets: 12, queues, drop_batch: 64, drops_raise_count: true, control: codel };
    // More flows than that would keep the pfifo so full that no SYN of others gets in.
    for (qdisc, cause, flows) in [
        (QdiscSpec::Codel { limit_packets: 1000, control: codel }, "dropped_aqm", 20),
        (QdiscSpec::Pfifo { limit_packets: 9 }, "dropped_overflow", 5_u64),
        (fq_codel, "dropped_overflow", 20),
    ] {
        let names: Vec<String> = (0..flows).map(|i| format!("f{i:02}")).collect();
        let flows = names.iter().map(|name| cubic(name, "linux-6.12", json!({}))).collect();
        let mut net = local(RATE, qdisc, flows);
        for (workload, start) in net.workloads.iter_mut().zip((0..).step_by(100)) {
            let WorkloadSpec::Tcp(tcp) = workload else { panic!("TCP") };
            tcp.connections[0].start_ns = start * MS;
        }
        let out = run(&net);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (_, share) = came_to(&out, &names, RATE);
        assert!(counter(&out, "port/bottleneck", cause) > 100 && share > 0.95, "{cause}: {share} of the line");
        for name in &names {
            let bytes = counter(&out, &format!("flow/{name}"), "rx_bytes");
            assert!(bytes > RATE / 8 * SECONDS / names.len() as u64 / 20, "{cause}: {name} had {bytes} bytes");
        }
    }
}

#[test]
fn a_delay_stage_takes_packets_off_the_account_at_once() {
    let mut net = local(RATE, pfifo(), vec![cubic("f", "linux-6.12", json!({}))]);
    let PortSpec::Queue { id, name, direction, .. } = net.ports[1].clone() else { panic!("a queue") };
    net.ports[1] = PortSpec::Link {
        id,
        name,
        direction,
        delay_ns: 10 * MS,
        rate_bps: Some(RATE),
        limit_packets: Some(100),
        coalesce_ns: None,
        own_rtt: None,
        faults: None,
    };
    let out = run(&net);
    assert!(counter(&out, "port/bottleneck", "dropped_overflow") > 0, "it is full: nothing holds TCP back");
    assert_eq!(counter(&out, "flow/f", "retransmits"), 0, "TCP was told of each drop");
}

#[test]
fn a_netem_takes_packets_off_the_account_and_tells_what_it_refuses() {
    let netem = |limit_packets| QdiscSpec::Netem { delay_ns: 40 * MS, limit_packets, tick_ns: None };
    for offload in [false, true] {
        let flow = || {
            let host = HostSettings { tso: offload, ..common::host() };
            vec![TcpSpec { host, ..cubic("f", "linux-6.12", json!({})) }]
        };
        let (packets, share) = came_to(&run(&local(RATE, netem(1000), flow())), &["f"], RATE);
        assert!(packets > 150.0 && share > 0.95, "{packets} packets, {share} of the line: nothing holds TCP back");
        let out = run(&local(RATE, netem(60), flow()));
        let (packets, share) = came_to(&out, &["f"], RATE);
        assert!(packets <= 60.0 && share > 0.9, "{packets} packets, {share} of the line");
        let counted = |of, what| counter(&out, of, what);
        assert!(counted("port/bottleneck", "dropped_overflow") > 0);
        assert_eq!(counted("flow/f", "retransmits"), 0, "TCP was told of each drop");
    }
}

#[test]
fn a_netem_with_a_tick_lets_packets_out_in_bursts() {
    // 10 segments of the first window, 7 ms apart from the next tick in which they may go; with the way back 20 ms.
    let netem = |tick_ns| QdiscSpec::Netem { delay_ns: 25 * MS, limit_packets: 1000, tick_ns };
    let rtt = |tick_ns| {
        let out = run(&local(100 * RATE, netem(tick_ns), vec![cubic("f", "linux-6.12", json!({}))]));
        (0..200).map(|ms| value(&out, "flow/f", "rtt_ms", ms)).find(|rtt| *rtt > 0.0).unwrap()
    };
    let (exact, ticking) = (rtt(None), rtt(Some(10 * MS)));
    assert!((45.0..45.1).contains(&exact), "{exact} ms");
    assert!((50.0..50.1).contains(&ticking), "{ticking} ms: it set out at 0 and left at 30");
}

#[test]
fn an_end_that_answers_has_small_queues_in_its_own_host() {
    let tcp = cubic("e", "linux-6.12", json!({}));
    let exchange = ExchangeSpec {
        tcp,
        request_bytes: 20_000.into(),
        response_bytes: 1_000_000.into(),
        count: 3,
        think_ns: (10 * MS).into(),
    };
    let shaper = ShaperSpec::Tbf { rate_bps: RATE, burst_bytes: 1540 };
    let mut net = with_exchange(two_way(dumbbell(pfifo(), shaper, 40 * MS, SECONDS, vec![])), exchange);
    net.sample_ns = MS;
    net.hosts[0].egress = Some(1);
    net.hosts[1].egress = Some(3);
    (net.paths[0].forward, net.paths[0].reverse) = (vec![1, 0], vec![3, 2]);
    let out = run(&net);
    let most = |port| {
        (0..SECONDS as usize * 1000).map(|ms| value(&out, port, "backlog_packets", ms)).fold(0.0, f64::max) as usize
    };
    // ACKs do not count.
    assert!((1..=3).contains(&most("port/bottleneck")) && (2..=5).contains(&most("port/bottleneck-reverse")));
    assert_eq!(out.transactions[0].1.iter().filter(|t| t.end.is_some()).count(), 3);
}
