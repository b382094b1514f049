//! Whole runs: delivered packets a second of CPU, sampling off.
#![allow(missing_docs, reason = "criterion_group! writes an undocumented function")]

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use dumbbell_sim::network::Network;
use dumbbell_sim::simulate;
use serde_json::json;

/// One direction shaped, the delay on the way back; 10 s.
fn network(cc: &str, rate_mbit: u64, rtt_ms: u64, flows: usize, qdisc: &serde_json::Value) -> Network {
    let rate_bps = rate_mbit * 1_000_000;
    let own = qdisc["kind"] == "cake";
    let shaper =
        if own { json!({"kind": "own"}) } else { json!({"kind": "tbf", "rate_bps": rate_bps, "burst_bytes": 1540}) };
    let flows: Vec<_> = (0..flows)
        .map(|i| {
            json!({
                "name": format!("f{i}"), "cc": cc, "stack": {"name": "linux-6.12"}, "ecn": false, "sce_echo": false,
                "host": {"tso": false, "rmem": [4096, 131_072, 6_291_456], "rcvbuf": null,
                         "wmem": [4096, 16384, 4_194_304], "sndbuf": null, "cached_ssthresh": null},
                "forward": [0], "reverse": [1], "start_ns": i * 10_000_000, "stop_ns": null, "transfer_bytes": null,
                "src_host": 1, "dst_host": 2,
            })
        })
        .collect();
    serde_json::from_value(json!({
        "seed": 1, "duration_ns": 10_000_000_000_u64, "sample_ns": 0,
        "ports": [
            {"kind": "queue", "name": "q", "qdisc": qdisc, "shaper": shaper, "delay_ns": 0},
            {"kind": "delay", "name": "d", "delay_ns": rtt_ms * 1_000_000, "rate_bps": null, "limit_packets": null},
        ],
        "flows": flows,
    }))
    .expect("a network")
}

fn cake(rate_mbit: u64) -> serde_json::Value {
    json!({"kind": "cake", "rate_bps": rate_mbit * 1_000_000, "isolation": "triple-isolate", "rtt_ns": 100_000_000,
           "overhead_bytes": null, "mpu_bytes": 0, "framing": "noatm", "memory_limit_bytes": null, "sce": 0})
}

fn runs(c: &mut Criterion) {
    let mut group = c.benchmark_group("runs");
    group.sample_size(10);
    let cases = [
        ("cubic, cake 100 Mbit/s 40 ms", network("cubic", 100, 40, 1, &cake(100))),
        (
            "reno, pfifo 331 50 Mbit/s 80 ms",
            network("reno", 50, 80, 1, &json!({"kind": "pfifo", "limit_packets": 331})),
        ),
        ("32 cubic, cake 100 Mbit/s 40 ms", network("cubic", 100, 40, 32, &cake(100))),
    ];
    for (name, net) in cases {
        let packets = simulate(&net).expect("a runnable network").delivered_packets;
        group.throughput(Throughput::Elements(packets));
        group.bench_function(name, |b| b.iter(|| simulate(&net).expect("a runnable network").events));
    }
    group.finish();
}

criterion_group!(benches, runs);
criterion_main!(benches);
