//! Worlds that several tests are made of.

#![allow(dead_code, reason = "each test is a crate of its own, and uses a part of this")]

use dumbbell_sim::output::Output;
use dumbbell_sim::simulate;
use dumbbell_sim::spec::{
    CakeDiffserv, CakeFraming, CakeIsolation, CakeMore, CcSpec, ConnectionSpec, DatagramsSpec, Direction,
    DistributionSpec, ExchangeSpec, HostSettings, HostSpec, NetworkSpec, OnOffSpec, Opener, PageSpec, PathSpec,
    PortSpec, QdiscSpec, ShaperSpec, Side, StackSpec, StreamingSpec, TcpSpec, TransfersSpec, WorkloadSpec, FORMAT,
};
use serde_json::Map;

pub const MS: u64 = 1_000_000;
pub const SEC: u64 = 1_000_000_000;
pub const MSS: u64 = 1448;

pub fn host() -> HostSettings {
    HostSettings {
        tso: false,
        rmem: [4096, 131_072, 6_291_456],
        sender_rmem: None,
        rcvbuf: None,
        wmem: [4096, 16_384, 4_194_304],
        sndbuf: None,
        cached_ssthresh: None,
        reads_bps: None,
        nodelay: false,
        max_pacing_bps: None,
    }
}

fn connection(name: &str) -> ConnectionSpec {
    ConnectionSpec { name: name.into(), start_ns: 0, stop_ns: None, ports: [0, 0] }
}

/// A connection from left to right for the whole run, a workload of its own.
pub fn flow(name: &str, cc: &str, stack: &str) -> TcpSpec {
    TcpSpec {
        id: name.into(),
        path: 0,
        from: 0,
        to: 1,
        direction: Direction::Forward,
        opener: Opener::From,
        cc: CcSpec { kind: cc.into(), parameters: Map::new() },
        stack: StackSpec { name: stack.into(), options: Map::new() },
        host: host(),
        ecn: cc.contains("dctcp"),
        sce_echo: false,
        ect: 0,
        accecn: None,
        sack: true,
        timestamps: true,
        window_scaling: true,
        segment_bytes: MSS as u32,
        dscp: 0,
        gro: false,
        transfer_bytes: None,
        first_write_bytes: None,
        connections: vec![connection(name)],
    }
}

/// The same from right to left.
pub fn back(flow: TcpSpec) -> TcpSpec {
    TcpSpec { from: 1, to: 0, direction: Direction::Reverse, ..flow }
}

/// Datagrams of a full frame, from left to right.
pub fn udp(interval_ns: u64, stop_ns: u64) -> DatagramsSpec {
    DatagramsSpec {
        id: "u".into(),
        path: 0,
        from: 0,
        to: 1,
        direction: Direction::Forward,
        dscp: 0,
        ect: None,
        interval_ns: DistributionSpec::Fixed(interval_ns),
        size_bytes: DistributionSpec::Fixed(1514),
        bursts: None,
        count: None,
        reply: false,
        measured: false,
        playout_ns: None,
        streams: vec![ConnectionSpec { stop_ns: Some(stop_ns), ..connection("u") }],
    }
}

pub fn cake(rate_bps: u64, isolation: CakeIsolation, sce: u32) -> QdiscSpec {
    QdiscSpec::Cake {
        rate_bps: Some(rate_bps),
        isolation,
        rtt_ns: 100 * MS,
        overhead_bytes: None,
        mpu_bytes: 0,
        framing: CakeFraming::Noatm,
        memory_limit_bytes: None,
        sce,
        diffserv: CakeDiffserv::Besteffort,
        more: CakeMore::default(),
    }
}

fn path(id: &str, forward: &[usize], reverse: &[usize]) -> PathSpec {
    PathSpec { id: id.into(), forward: forward.into(), reverse: reverse.into(), base_rtt_ns: 0, rate_bps: 0 }
}

/// A delay.
pub fn link(id: &str, direction: Direction, delay_ns: u64) -> PortSpec {
    PortSpec::Link {
        id: id.into(),
        name: id.into(),
        direction,
        delay_ns,
        rate_bps: None,
        limit_packets: None,
        coalesce_ns: None,
        own_rtt: None,
        faults: None,
    }
}

/// A queue without a delay.
pub fn queue(id: &str, direction: Direction, qdisc: QdiscSpec, shaper: ShaperSpec) -> PortSpec {
    PortSpec::Queue { id: id.into(), name: id.into(), direction, qdisc, shaper, delay_ns: 0 }
}

/// Path 0 goes out over a delay (port 0) and the bottleneck (port 1), and back over a delay (port 2). Path 1 is the same for host 2,
/// which has the bottleneck for its own port.
pub fn dumbbell(qdisc: QdiscSpec, shaper: ShaperSpec, rtt_ns: u64, seconds: u64, flows: Vec<TcpSpec>) -> NetworkSpec {
    let host = |id: &str, side, number, egress| HostSpec { id: id.into(), side, number, egress };
    let net = NetworkSpec {
        format: FORMAT,
        seed: 1,
        duration_ns: seconds * SEC,
        sample_ns: 100 * MS,
        capture: false,
        captured_ports: vec![],
        mtu_bytes: 1500,
        hosts: vec![
            host("left", Side::Left, 1, None),
            host("right", Side::Right, 2, None),
            host("local", Side::Left, 3, Some(1)),
        ],
        ports: vec![
            link("out", Direction::Forward, rtt_ns / 2),
            queue("bottleneck", Direction::Forward, qdisc, shaper),
            link("back", Direction::Reverse, rtt_ns / 2),
        ],
        paths: vec![path("path", &[0, 1], &[2]), path("local", &[1], &[2])],
        workloads: flows.into_iter().map(WorkloadSpec::Tcp).collect(),
        schedule: vec![],
        series: None,
    };
    numbered(net)
}

/// The same with datagrams.
pub fn with_udp(mut net: NetworkSpec, streams: Vec<DatagramsSpec>) -> NetworkSpec {
    net.workloads.extend(streams.into_iter().map(WorkloadSpec::Udp));
    numbered(net)
}

/// The same with requests and responses.
pub fn with_exchange(mut net: NetworkSpec, exchange: ExchangeSpec) -> NetworkSpec {
    net.workloads.push(WorkloadSpec::Exchange(exchange));
    numbered(net)
}

/// The same with an application.
pub fn with(mut net: NetworkSpec, workload: WorkloadSpec) -> NetworkSpec {
    net.workloads.push(workload);
    numbered(net)
}

/// The other direction gets a queue as well, port 3.
pub fn two_way(mut net: NetworkSpec) -> NetworkSpec {
    let PortSpec::Queue { qdisc, shaper, .. } = net.ports[1].clone() else { unreachable!("port 1 is the bottleneck") };
    net.ports.push(queue("bottleneck-reverse", Direction::Reverse, qdisc, shaper));
    net.paths[0].reverse = vec![2, 3];
    net
}

/// Every flow with a source port of its own.
fn numbered(mut net: NetworkSpec) -> NetworkSpec {
    let mut port = 10_000..;
    for workload in &mut net.workloads {
        let (WorkloadSpec::Tcp(TcpSpec { connections, .. })
        | WorkloadSpec::Exchange(ExchangeSpec { tcp: TcpSpec { connections, .. }, .. })
        | WorkloadSpec::OnOff(OnOffSpec { tcp: TcpSpec { connections, .. }, .. })
        | WorkloadSpec::Page(PageSpec { tcp: TcpSpec { connections, .. }, .. })
        | WorkloadSpec::Streaming(StreamingSpec { tcp: TcpSpec { connections, .. }, .. })
        | WorkloadSpec::Transfers(TransfersSpec { tcp: TcpSpec { connections, .. }, .. })
        | WorkloadSpec::Ping(DatagramsSpec { streams: connections, .. })
        | WorkloadSpec::Udp(DatagramsSpec { streams: connections, .. })
        | WorkloadSpec::Voip(DatagramsSpec { streams: connections, .. })) = workload;
        for (connection, port) in connections.iter_mut().zip(&mut port) {
            connection.ports = [port, 5000];
        }
    }
    net
}

pub fn run(network: &NetworkSpec) -> Output {
    let output = simulate(network).expect("a runnable network");
    assert_eq!(output.conservation, Vec::<String>::new());
    output
}

pub fn counter(output: &Output, entity: &str, name: &str) -> u64 {
    let (kind, of) = entity.split_once('/').expect("an entity is KIND/NAME");
    let table = if kind == "port" { &output.ports } else { &output.flows };
    assert!(table.names.iter().any(|each| each == of), "the entity exists");
    table.get(of, name).map_or(0, |value| value as u64)
}

/// The value of a series at a time in ms, where samples are a ms apart.
pub fn value(out: &Output, entity: &str, series: &str, ms: usize) -> f64 {
    let table = out.tables.iter().find(|t| t.entity == entity).expect("the entity exists");
    let column = table.columns.iter().position(|c| *c == series).expect("the series exists");
    table.values[ms * table.columns.len() + column]
}

/// Bits of every number of a run, for comparison.
pub fn fingerprint(output: &Output) -> Vec<u64> {
    let series = output.tables.iter().flat_map(|t| &t.values);
    series.chain(&output.flows.values).chain(&output.ports.values).map(|v| v.to_bits()).collect()
}
