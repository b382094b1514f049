//! Whole runs: conservation, in-order delivery, determinism and first principles over random and chosen worlds.

mod common;

use common::{
    back, cake, counter, dumbbell, fingerprint, flow, host, queue, run, two_way, udp, with_udp, MS, MSS, SEC,
};
use dumbbell_sim::cc::{BoxedControl, CongestionControl, View, Window};
use dumbbell_sim::output::Output;
use dumbbell_sim::refusal::Flaws;
use dumbbell_sim::simulate;
use dumbbell_sim::spec::{
    CakeIsolation, ChangeSpec, DatagramsSpec, Direction, DistributionSpec, DrawnSpec, HostSettings, NetworkSpec,
    PortSpec, QdiscSpec, ShaperSpec, TcpSpec, WorkloadSpec,
};
use proptest::prelude::*;
use serde_json::{Map, Value};

#[test]
fn the_worlds_run_with_overflow_checks_and_debug_assertions() {
    let most = std::hint::black_box(u32::MAX);
    assert!(std::panic::catch_unwind(|| most + 1).is_err(), "an overflow goes unnoticed");
    assert!(std::panic::catch_unwind(|| debug_assert!(most == 0)).is_err(), "a debug assertion is left out");
}

#[test]
fn a_saturated_link_delivers_its_rate_and_no_more() {
    for cc in ["reno", "cubic"] {
        let shaper = ShaperSpec::Tbf { rate_bps: 10_000_000, burst_bytes: 1540 };
        let net =
            dumbbell(QdiscSpec::Pfifo { limit_packets: 180 }, shaper, 20 * MS, 30, vec![flow("f", cc, "linux-6.12")]);
        let bytes = counter(&run(&net), "flow/f", "rx_bytes");
        let ceiling = 10_000_000 / 8 * 30 * MSS / 1514;
        assert!(bytes <= ceiling && bytes > ceiling * 97 / 100, "{cc}: {bytes} of {ceiling}");
    }
}

#[test]
fn every_control_runs_through_cake_with_marks() {
    for cc in ["reno", "cubic", "dctcp", "reno-sce", "dctcp-sce", "cubic-sce"] {
        let mut f = flow("f", cc, "linux-5.1-sce");
        f.ecn = true;
        f.sce_echo = true;
        f.host.tso = true;
        f.host.cached_ssthresh = Some(5);
        let net = dumbbell(cake(20_000_000, CakeIsolation::TripleIsolate, 1), ShaperSpec::Own, 40 * MS, 30, vec![f]);
        let out = run(&net);
        let ceiling = 20_000_000 / 8 * 30 * MSS / 1514;
        let bytes = counter(&out, "flow/f", "rx_bytes");
        assert!(bytes <= ceiling && bytes > ceiling * 70 / 100, "{cc}: {bytes} of {ceiling}");
        assert!(counter(&out, "port/bottleneck", "sce_marks") > 0, "{cc}");
        assert_eq!(counter(&out, "flow/f", "retransmits"), 0, "{cc}: marks, not drops");
    }
}

#[test]
fn freebsds_reno_fills_a_long_path_from_a_buffer_of_its_own_and_halves_at_its_end() {
    let mut f = flow("f", "reno", "freebsd-9");
    (f.host.rcvbuf, f.host.sndbuf) = (Some(600_000), Some(600_000));
    let shaper = ShaperSpec::Tbf { rate_bps: 10_000_000, burst_bytes: 1540 };
    let net = NetworkSpec {
        sample_ns: 10 * MS,
        ..dumbbell(QdiscSpec::Pfifo { limit_packets: 180 }, shaper, 200 * MS, 20, vec![f])
    };
    let out = run(&net);
    let table = &out.tables[0];
    let series = |name: &str| {
        let column = table.columns.iter().position(|c| *c == name).unwrap();
        table.values.chunks(table.columns.len()).map(move |row| row[column])
    };
    // The path and its queue hold about 350 segments; the window goes on to the receiver's, 600 kB less the segment not yet read.
    let peak = series("cwnd").fold(0.0, f64::max);
    assert!((414.0..416.0).contains(&peak), "{peak}");
    let halved = series("ssthresh").find(|v| !v.is_nan()).unwrap();
    assert_eq!(halved, (peak / 2.0).floor());
    let rtt = series("rtt_ms").fold(0.0, f64::max);
    assert!((410.0..425.0).contains(&rtt), "{rtt}: 200 ms and a queue of 218");
    assert_eq!(counter(&out, "flow/f", "rto_timeouts"), 0);
    let bytes = counter(&out, "flow/f", "rx_bytes");
    let ceiling = 10_000_000 / 8 * 20 * MSS / 1514;
    assert!(bytes <= ceiling && bytes > ceiling * 88 / 100, "{bytes} of {ceiling}");
}

#[test]
fn a_sized_transfer_completes_with_every_byte() {
    for (cc, stack, first) in [
        ("cubic", "linux-6.12", None),
        ("reno", "freebsd-9", None),
        ("cubic", "linux-3.9", Some(24)),
        ("reno", "freebsd-9", Some(24)),
    ] {
        let mut f = flow("f", cc, stack);
        f.transfer_bytes = Some(1_000_001);
        f.first_write_bytes = first;
        let shaper = ShaperSpec::Link { rate_bps: 10_000_000 };
        let out = run(&dumbbell(QdiscSpec::Pfifo { limit_packets: 20 }, shaper, 20 * MS, 10, vec![f]));
        assert_eq!(counter(&out, "flow/f", "rx_bytes"), 1_000_001, "{stack}");
        let took = counter(&out, "flow/f", "completed_ns");
        assert!(took > 850 * MS && took < 3 * SEC, "{stack}: {took}");
    }
}

#[test]
fn a_link_too_slow_to_finish_a_packet_ends_with_the_run() {
    let shaper = ShaperSpec::Link { rate_bps: 1 };
    let net = dumbbell(
        QdiscSpec::Pfifo { limit_packets: 10 },
        shaper,
        20 * MS,
        4 * 3600,
        vec![flow("f", "cubic", "linux-6.12")],
    );
    let out = run(&NetworkSpec { sample_ns: 0, ..net });
    assert_eq!(counter(&out, "flow/f", "rx_bytes"), 0);
}

#[test]
fn the_smallest_rtt_is_the_base_rtt() {
    let shaper = ShaperSpec::Tbf { rate_bps: 10_000_000, burst_bytes: 1540 };
    let mut f = flow("f", "reno", "linux-6.12");
    f.transfer_bytes = Some(1000);
    let out = run(&dumbbell(QdiscSpec::Pfifo { limit_packets: 100 }, shaper, 20 * MS, 2, vec![f]));
    let rtt = out.flows.get("f", "min_rtt_ms").unwrap();
    assert!((20.0..20.1).contains(&rtt), "{rtt}");
}

/// Two flows over 10 Mbit/s and 100 ms: one that is stopped at 2.05 s, one that has 100 kB to send.
fn stopped_and_complete() -> NetworkSpec {
    let shaper = ShaperSpec::Tbf { rate_bps: 10_000_000, burst_bytes: 1540 };
    let (mut stopped, mut sized) = (flow("stopped", "reno", "linux-6.12"), flow("sized", "reno", "linux-6.12"));
    stopped.connections[0].stop_ns = Some(2_050 * MS);
    (sized.connections[0].start_ns, sized.transfer_bytes) = (30 * MS, Some(100_000));
    let net = dumbbell(QdiscSpec::Pfifo { limit_packets: 100 }, shaper, 100 * MS, 5, vec![stopped, sized]);
    NetworkSpec { sample_ns: 20 * MS, ..net }
}

#[test]
fn the_series_of_a_flow_that_is_complete_end_there() {
    let out = run(&stopped_and_complete());
    let (start, completed) = (30 * MS as i64, out.flows.get("sized", "completed_ns").unwrap() as i64);
    let times = &out.tables[1].t_ns;
    assert!(times[0] >= start && times[0] < start + 20 * MS as i64);
    let last = *times.last().unwrap();
    assert!(last <= completed && completed < last + 20 * MS as i64, "{last} {completed}");
    assert_eq!(out.flows.get("sized", "end_ns"), out.flows.get("sized", "completed_ns"));
}

#[test]
fn a_flow_that_is_stopped_ends_for_the_sender_and_then_for_the_receiver() {
    let out = run(&stopped_and_complete());
    let table = &out.tables[0];
    let series = |name: &str| {
        let column = table.columns.iter().position(|c| *c == name).unwrap();
        let values = table.values.chunks(table.columns.len()).map(move |row| row[column]);
        table.t_ns.iter().copied().zip(values).filter(|(_, value)| !value.is_nan()).collect::<Vec<_>>()
    };
    let last = |name| series(name).last().unwrap().0 as u64;
    for name in ["cwnd", "srtt_ms", "delivered", "ca_state"] {
        assert_eq!(last(name), 2_040 * MS, "{name}");
    }
    // Packets under way take at least half an RTT, and the time of the queue that they find.
    assert!((2_100 * MS..2_300 * MS).contains(&last("rx_bytes")), "{}", last("rx_bytes"));
    let read = series("rx_bytes");
    assert!(read.windows(2).all(|w| w[0].1 <= w[1].1) && read.last().unwrap().1 > read[102].1);
    assert_eq!((read[102].0, out.flows.get("stopped", "end_ns")), (2_040 * MS as i64, Some(2.05e9)));
    // Ports are sampled to the end.
    assert_eq!(out.tables[2].t_ns.len(), 251);
}

/// The time for which each limit held the flow `f`, ms: the congestion window, the receiver, the send buffer, the application; and how long it lived.
fn limits(out: &Output) -> ([f64; 4], f64) {
    let get = |column: &str| out.flows.get("f", column).unwrap();
    let times = ["cwnd", "rwnd", "sndbuf", "app"].map(|what| get(&format!("{what}_limited_ms")));
    (times, (get("end_ns") - get("start_ns")) / 1e6)
}

#[test]
fn what_limits_a_transfer_is_told_until_it_is_complete() {
    let mut f = flow("f", "cubic", "linux-6.12");
    f.transfer_bytes = Some(14_480);
    let shaper = ShaperSpec::Link { rate_bps: 10_000_000 };
    let net = two_way(dumbbell(QdiscSpec::Pfifo { limit_packets: 100 }, shaper, 40 * MS, 100, vec![f]));
    // The last ACKs are lost for a minute.
    let schedule = vec![ChangeSpec::Outage { port: 3, at_ns: 60 * MS, for_ns: 60 * SEC }];
    let (times, lived) = limits(&run(&NetworkSpec { schedule, ..net.clone() }));
    assert_eq!((times, lived), limits(&run(&net)));
    assert!((times.iter().sum::<f64>() - lived).abs() < 0.002, "{times:?} of {lived}");
    assert!((times[3] - 40.0).abs() < 0.2 && lived < 73.0, "{times:?} of {lived}: it takes a round trip to connect");
}

#[test]
fn what_limits_a_transfer_of_less_than_a_tick_is_told() {
    for stack in ["linux-6.12", "linux-3.9"] {
        let mut f = flow("f", "cubic", stack);
        f.transfer_bytes = Some(65_536);
        let shaper = ShaperSpec::Link { rate_bps: 10_000_000_000 };
        let net = dumbbell(QdiscSpec::Pfifo { limit_packets: 100 }, shaper, MS / 10, 1, vec![f]);
        let ([cwnd, .., app], lived) = limits(&run(&net));
        assert!(lived < 1.0 && (app - 0.1).abs() < 0.01, "{stack}: {app} of {lived} ms: connecting takes a round trip");
        assert!((cwnd + app - lived).abs() < 0.002, "{stack}: {cwnd} and {app} of {lived}");
    }
}

#[test]
fn isolation_shares_equally_between_unlike_flows() {
    let mut b = flow("b", "cubic", "linux-6.12");
    b.connections[0].start_ns = 3 * MS;
    let flows = vec![flow("a", "reno", "linux-6.12"), b];
    let qdisc = cake(20_000_000, CakeIsolation::TripleIsolate, 0);
    let out = run(&dumbbell(qdisc, ShaperSpec::Own, 20 * MS, 60, flows));
    let (a, b) = (counter(&out, "flow/a", "rx_bytes"), counter(&out, "flow/b", "rx_bytes"));
    let share = a as f64 / (a + b) as f64;
    assert!((0.46..0.54).contains(&share), "{share}");
}

prop_compose! {
    fn any_flow()(
        cc in prop::sample::select(vec!["reno", "cubic", "dctcp", "reno-sce", "dctcp-sce", "cubic-sce"]),
        stack in prop::sample::select(vec!["linux-6.12", "linux-5.1-sce", "linux-3.9", "linux-2.6", "freebsd-9"]),
        (ecn, sce_echo, tso, local, reverse) in any::<(bool, bool, bool, bool, bool)>(),
        start_ms in 0u64..2000,
        stop_ms in prop::option::of(0u64..6000),
        bytes in prop::option::of(1u64..3_000_000),
        rcvbuf in prop::option::of(5_000u64..500_000),
        sndbuf in prop::option::of(5_000u64..500_000),
    ) -> TcpSpec {
        let mut f = flow("", cc, stack);
        f.ecn |= ecn;
        f.sce_echo = sce_echo;
        f.connections[0].start_ns = start_ms * MS;
        f.connections[0].stop_ns = stop_ms.map(|ms| (start_ms + ms) * MS);
        f.transfer_bytes = bytes;
        f.first_write_bytes = start_ms.is_multiple_of(3).then_some(24);
        f.host = HostSettings { tso, rcvbuf, sndbuf, ..host() };
        if ["linux-3.9", "linux-2.6"].contains(&stack) && !["reno", "cubic"].contains(&cc) {
            f.cc.kind = "cubic".into();
        }
        if stack == "freebsd-9" {
            f.cc.kind = "reno".into();
            (f.ecn, f.sce_echo, f.host.tso) = (false, false, false);
        }
        if reverse {
            // Against the others: data and ACKs meet in every port.
            back(f)
        } else if local {
            TcpSpec { from: 2, path: 1, ..f }
        } else {
            f
        }
    }
}

prop_compose! {
    fn any_udp()(
        interval_us in 100u64..50_000,
        size_bytes in 64u64..=1514,
        (start_ms, stop_ms) in (0u64..4000, 0u64..6000),
        reverse in any::<bool>(),
        (measured, reply) in any::<(bool, bool)>(),
        drawn in any::<bool>(),
    ) -> DatagramsSpec {
        let mut stream = DatagramsSpec { size_bytes: DistributionSpec::Fixed(size_bytes), ..udp(interval_us * 1000, stop_ms * MS) };
        stream.streams[0].start_ns = start_ms * MS;
        (stream.measured, stream.reply) = (measured, measured && reply);
        if drawn {
            stream.interval_ns = DistributionSpec::Drawn(DrawnSpec::Exponential { mean: interval_us * 1000 });
            stream.size_bytes = DistributionSpec::Drawn(DrawnSpec::Uniform { low: 64, high: size_bytes });
        }
        if reverse {
            DatagramsSpec { from: 1, to: 0, direction: Direction::Reverse, ..stream }
        } else {
            stream
        }
    }
}

fn any_change() -> impl Strategy<Value = ChangeSpec> {
    let at_ns = (0u64..6000).prop_map(|ms| ms * MS);
    prop_oneof![
        (at_ns.clone(), 1u64..1000).prop_map(|(at_ns, ms)| ChangeSpec::Outage { port: 1, at_ns, for_ns: ms * MS }),
        (at_ns, 10u64..50_000).prop_map(|(at_ns, kbit)| ChangeSpec::Rate { port: 1, at_ns, rate_bps: kbit * 1000 }),
    ]
}

prop_compose! {
    fn any_network()(
        flows in prop::collection::vec(any_flow(), 1..5),
        udp in prop::collection::vec(any_udp(), 0..3),
        schedule in prop::collection::vec(any_change(), 0..4),
        rate_kbit in 100u64..50_000,
        limit in 1u64..200,
        kind in 0..10,
        rtt_ms in 1u64..200,
        seed in any::<u64>(),
    ) -> NetworkSpec {
        let rate_bps = rate_kbit * 1000;
        let tbf = ShaperSpec::Tbf { rate_bps, burst_bytes: 1540 };
        let htb = ShaperSpec::Htb { rate_bps, burst_bytes: 1600 };
        let (qdisc, shaper) = match kind {
            0 => (QdiscSpec::Pfifo { limit_packets: limit }, tbf),
            1 => (QdiscSpec::Bfifo { limit_bytes: limit * 1514 }, tbf),
            2 => (QdiscSpec::Pfifo { limit_packets: limit }, ShaperSpec::Link { rate_bps }),
            3 => (cake(rate_bps, CakeIsolation::Flowblind, 1), ShaperSpec::Own),
            4 => (cake(rate_bps, CakeIsolation::Flows, 65_535), ShaperSpec::Own),
            5 => (cake(rate_bps, CakeIsolation::TripleIsolate, 0), ShaperSpec::Own),
            6 => (unlimited(cake(rate_bps, CakeIsolation::Flows, 0)), tbf),
            7 => (unlimited(cake(rate_bps, CakeIsolation::Flowblind, 1)), ShaperSpec::Link { rate_bps }),
            8 => (unlimited(cake(rate_bps, CakeIsolation::TripleIsolate, 0)), htb),
            _ => (QdiscSpec::Pfifo { limit_packets: limit }, htb),
        };
        let (mut flows, mut udp) = (flows, udp);
        flows.iter_mut().enumerate().for_each(|(i, f)| f.connections[0].name = format!("f{i}"));
        udp.iter_mut().enumerate().for_each(|(i, u)| u.streams[0].name = format!("u{i}"));
        NetworkSpec { seed, schedule, ..with_udp(dumbbell(qdisc, shaper, rtt_ms * MS, 5, flows), udp) }
    }
}

/// The same without a shaper of its own.
fn unlimited(mut qdisc: QdiscSpec) -> QdiscSpec {
    if let QdiscSpec::Cake { rate_bps, .. } = &mut qdisc {
        *rate_bps = None;
    }
    qdisc
}

/// The rate that a port keeps to, bit/s.
fn pace(port: &PortSpec) -> Option<u64> {
    let PortSpec::Queue { shaper, qdisc, .. } = port else { return None };
    match (shaper, qdisc) {
        (ShaperSpec::Link { rate_bps } | ShaperSpec::Tbf { rate_bps, .. } | ShaperSpec::Htb { rate_bps, .. }, _) => {
            Some(*rate_bps)
        }
        (ShaperSpec::Own, QdiscSpec::Cake { rate_bps, .. }) => *rate_bps,
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn packets_are_conserved_and_delivery_is_in_order_at_no_more_than_the_rate(net in any_network()) {
        let out = run(&net);
        let steady = !net.schedule.iter().any(|change| matches!(change, ChangeSpec::Rate { .. }));
        for port in net.ports.iter().filter(|_| steady) {
            if let Some(rate_bps) = pace(port) {
                // Besides: a bucket and the packet that overdraws it.
                let most = u128::from(rate_bps) * u128::from(net.duration_ns) / 8 / u128::from(SEC) + 2 * 1600;
                let sent = counter(&out, &format!("port/{}", port.id()), "sent_bytes");
                prop_assert!(u128::from(sent) <= most, "{sent} bytes of {most}");
            }
        }
        for (_, spec, connection) in net.connections() {
            let entity = format!("flow/{}", connection.name);
            let read = counter(&out, &entity, "rx_bytes");
            if let Some(bytes) = spec.transfer_bytes {
                prop_assert!(read <= bytes);
                prop_assert_eq!(counter(&out, &entity, "completed_ns") > 0, read == bytes);
            }
            // The segments read in order are those that arrived, less duplicates and those that wait for a gap to close.
            let arrived = counter(&out, &entity, "arrived_packets") - counter(&out, &entity, "duplicate_packets");
            prop_assert!(read.div_ceil(MSS) <= arrived);
            let rows = out.tables.iter().find(|t| t.entity == entity).unwrap();
            let column = rows.columns.iter().position(|c| *c == "rx_bytes").unwrap();
            let series: Vec<f64> = rows.values.chunks(rows.columns.len()).map(|r| r[column]).collect();
            prop_assert!(series.windows(2).all(|w| w[0] <= w[1]));
        }
    }

    #[test]
    fn the_same_network_gives_the_same_samples(net in any_network()) {
        prop_assert_eq!(fingerprint(&run(&net)), fingerprint(&run(&net)));
    }
}

prop_compose! {
    /// One transfer through a small queue that datagrams fill now and then, with outages both ways.
    fn lossy_transfer()(
        bytes in 1u64..400_000,
        limit in 2u64..20,
        rtt_ms in 1u64..100,
        (rcvbuf, sndbuf) in (prop::option::of(5_000u64..500_000), prop::option::of(5_000u64..500_000)),
        outages in prop::collection::vec((1u64..3, 0u64..4000, 1u64..200), 0..6),
        interval_us in 900u64..5000,
        seed in any::<u64>(),
    ) -> NetworkSpec {
        let mut f = flow("f", "reno", "freebsd-9");
        (f.transfer_bytes, f.host.rcvbuf, f.host.sndbuf) = (Some(bytes), rcvbuf, sndbuf);
        f.first_write_bytes = seed.is_multiple_of(2).then_some(24);
        let shaper = ShaperSpec::Tbf { rate_bps: 10_000_000, burst_bytes: 1540 };
        let pfifo = QdiscSpec::Pfifo { limit_packets: limit };
        let line = queue("line", Direction::Reverse, pfifo.clone(), shaper.clone());
        let net = dumbbell(pfifo, shaper, rtt_ms * MS, 600, vec![f]);
        let mut net = with_udp(net, vec![udp(interval_us * 1000, 5 * SEC)]);
        net.ports.push(line);
        net.paths[0].reverse = vec![3, 2];
        let schedule = outages
            .into_iter()
            .map(|(way, ms, for_ms)| ChangeSpec::Outage { port: [1, 3][way as usize - 1], at_ns: ms * MS, for_ns: for_ms * MS })
            .collect();
        NetworkSpec { seed, schedule, sample_ns: 0, ..net }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn freebsd_delivers_everything_whatever_is_lost(net in lossy_transfer()) {
        let out = run(&net);
        prop_assert_eq!(counter(&out, "flow/f", "rx_bytes"), net.connections().next().unwrap().1.transfer_bytes.unwrap());
        prop_assert!(counter(&out, "flow/f", "completed_ns") > 0);
    }
}

/// A window that never moves.
#[derive(Debug)]
struct FixedWindow(u32);

impl CongestionControl for FixedWindow {
    fn init(&mut self, _: &View, w: &mut Window) {
        w.cwnd = self.0;
    }
    fn ssthresh(&mut self, _: &View, _: &Window) -> u32 {
        self.0
    }
    fn cong_avoid(&mut self, _: &View, w: &mut Window, _: u32) {
        w.cwnd = self.0;
    }
}

impl BoxedControl for FixedWindow {}

#[test]
fn a_control_of_ones_own_steers_the_window() {
    let shaper = ShaperSpec::Link { rate_bps: 100_000_000 };
    let mut net =
        dumbbell(QdiscSpec::Pfifo { limit_packets: 100 }, shaper, 100 * MS, 20, vec![flow("f", "fixed", "linux-6.12")]);
    let control = |name: &str, given: &Map<String, Value>| -> Option<Result<Box<dyn BoxedControl>, Flaws>> {
        let window = given.get("window").and_then(Value::as_u64);
        let flaws = || Flaws::one("window", "none", "a number of segments");
        (name == "fixed").then(|| Ok(Box::new(FixedWindow(window.ok_or_else(flaws)? as u32)) as Box<dyn BoxedControl>))
    };
    let refused = dumbbell_sim::simulate_with(&net, &control).unwrap_err();
    assert_eq!(refused[0].to_string(), "Workload 0.cc.window: none; expected a number of segments");
    let WorkloadSpec::Tcp(tcp) = &mut net.workloads[0] else { unreachable!("a flow") };
    tcp.cc.parameters.insert("window".into(), 20.into());
    let out = dumbbell_sim::simulate_with(&net, &control).unwrap();
    // A window of 20 segments every 100 ms and the little that serialisation adds.
    let rate = counter(&out, "flow/f", "rx_bytes") as f64 / 20.0;
    let expected = 20.0 * MSS as f64 / 0.1;
    assert!((0.96..1.0).contains(&(rate / expected)), "{rate}");
    assert!(simulate(&net).is_err());
}

#[test]
fn delayed_acks_do_not_depend_on_the_tick() {
    let acks = |hz: u64| {
        let mut f = flow("f", "reno", "linux-6.12");
        f.stack.options.insert("hz".into(), hz.into());
        let shaper = ShaperSpec::Link { rate_bps: 100_000 };
        let out = run(&dumbbell(QdiscSpec::Pfifo { limit_packets: 10 }, shaper, 20 * MS, 60, vec![f]));
        counter(&out, "flow/f", "acks_sent")
    };
    let reference = acks(1000);
    for hz in [100, 250] {
        assert!(acks(hz).abs_diff(reference) <= reference / 50, "{hz}: {} against {reference}", acks(hz));
    }
}
