//! Worlds that several tests are made of.

use dumbbell_sim::output::Output;
use dumbbell_sim::simulate;
use dumbbell_sim::spec::{
    CakeFraming, CakeIsolation, FlowSpec, HostSpec, NetworkSpec, PortSpec, QdiscSpec, ShaperSpec, StackSpec,
};

pub const MS: u64 = 1_000_000;
pub const SEC: u64 = 1_000_000_000;
pub const MSS: u64 = 1448;

pub fn host() -> HostSpec {
    HostSpec {
        tso: false,
        rmem: [4096, 131_072, 6_291_456],
        rcvbuf: None,
        wmem: [4096, 16_384, 4_194_304],
        sndbuf: None,
        cached_ssthresh: None,
    }
}

pub fn flow(name: &str, cc: &str, stack: &str) -> FlowSpec {
    FlowSpec {
        name: name.into(),
        cc: cc.into(),
        stack: StackSpec { name: stack.into(), options: serde_json::Map::new() },
        host: host(),
        ecn: cc.contains("dctcp"),
        sce_echo: false,
        local_first_port: false,
        forward: vec![0, 1],
        reverse: vec![2],
        start_ns: 0,
        stop_ns: None,
        transfer_bytes: None,
        src_host: 1,
        dst_host: 2,
        from_right: false,
        first_write_bytes: None,
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
    }
}

/// One way out (delay, then the bottleneck), one delay back.
pub fn dumbbell(qdisc: QdiscSpec, shaper: ShaperSpec, rtt_ns: u64, seconds: u64, flows: Vec<FlowSpec>) -> NetworkSpec {
    let delay =
        |name: &str| PortSpec::Delay { name: name.into(), delay_ns: rtt_ns / 2, rate_bps: None, limit_packets: None };
    NetworkSpec {
        seed: 1,
        duration_ns: seconds * SEC,
        sample_ns: 100 * MS,
        ports: vec![
            delay("out"),
            PortSpec::Queue { name: "bottleneck".into(), qdisc, shaper, delay_ns: 0 },
            delay("back"),
        ],
        flows,
        udp: vec![],
        impairments: vec![],
        capture: false,
    }
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

/// Bits of every number of a run, for comparison.
pub fn fingerprint(output: &Output) -> Vec<u64> {
    let series = output.tables.iter().flat_map(|t| &t.values);
    series.chain(&output.flows.values).chain(&output.ports.values).map(|v| v.to_bits()).collect()
}
