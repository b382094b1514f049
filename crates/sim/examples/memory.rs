//! What a run keeps on the heap, as JSON: bytes for each connection that is idle, and for each segment in flight. An allocator counts;
//! a congestion control of its own looks at the count while the run goes on. Each figure is the difference of two runs, so that what
//! there is once (ports, the event set) drops out.

use std::alloc::System;
use std::sync::atomic::{AtomicUsize, Ordering};

use cap::Cap;
use dumbbell_sim::cc::{CongestionControl, CustomControl, RateSample, View, Window};
use dumbbell_sim::refusal::lines;
use dumbbell_sim::simulate_with;
use dumbbell_sim::spec::NetworkSpec;
use serde_json::{json, Value};

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// Most bytes on the heap when an ACK came, and most segments that were in flight then.
static BYTES: AtomicUsize = AtomicUsize::new(0);
static IN_FLIGHT: AtomicUsize = AtomicUsize::new(0);

/// A window that never moves and looks at the heap.
#[derive(Debug)]
struct Watch(u32);

impl CongestionControl for Watch {
    fn init(&mut self, _: &View, w: &mut Window) {
        w.cwnd = self.0;
    }
    fn ssthresh(&mut self, _: &View, _: &Window) -> u32 {
        self.0
    }
    fn cong_avoid(&mut self, _: &View, w: &mut Window, _: u32) {
        w.cwnd = self.0;
    }
    fn on_ack(&mut self, v: &View, _: &mut Window, _: &RateSample) {
        BYTES.fetch_max(HEAP.allocated(), Ordering::Relaxed);
        IN_FLIGHT.fetch_max(v.in_flight() as usize, Ordering::Relaxed);
    }
}

impl CustomControl for Watch {}

/// All packets of a window are on the way of the data; ACKs return at once. The watching flow starts when the others are idle.
fn network(idle: usize) -> NetworkSpec {
    let workload = |id: &str, cc: &str, bytes: Value, connections: Vec<Value>| {
        json!({
            "kind": "tcp", "id": id, "path": 0, "from": 0, "to": 1, "direction": "forward", "opener": "from",
            "cc": {"kind": cc}, "stack": {"name": "linux-6.12", "options": {}}, "ecn": false, "sce_echo": false,
            "host": {"tso": false, "rmem": [4096, 131_072, 6_291_456], "rcvbuf": 1 << 30, "wmem": [4096, 16384, 4_194_304],
                     "sndbuf": 1 << 30, "cached_ssthresh": null},
            "transfer_bytes": bytes, "first_write_bytes": null, "connections": connections,
        })
    };
    let connection = |name: String, port: usize, start_ms: u64| json!({"name": name, "start_ns": start_ms * 1_000_000, "stop_ns": null, "ports": [10_000 + port, 5000]});
    let link = |id: &str, direction: &str, delay_ns: u64| {
        json!({"kind": "link", "id": id, "name": id, "direction": direction, "delay_ns": delay_ns, "rate_bps": null,
               "limit_packets": null})
    };
    let idle = (0..idle).map(|i| connection(format!("idle{i}"), i, 0)).collect();
    serde_json::from_value(json!({
        "format": 1, "seed": 1, "duration_ns": 35_000_000_000_u64, "sample_ns": 0, "capture": false,
        "hosts": [{"id": "left", "side": "left", "number": 1, "egress": null}, {"id": "right", "side": "right", "number": 2, "egress": null}],
        "ports": [link("out", "forward", 1_000_000_000), link("back", "reverse", 0)],
        "paths": [{"id": "path", "forward": [0], "reverse": [1], "base_rtt_ns": 1_000_000_000, "rate_bps": 0}],
        "workloads": [
            workload("idle", "cubic", json!(1448), idle),
            workload("watch", "watch", Value::Null, vec![connection("watch".into(), 9_999, 10_000)]),
        ],
        "schedule": [],
    }))
    .expect("a network")
}

/// Bytes that the run has on the heap, and segments in flight.
fn measure(idle: usize, window: u32) -> Result<(usize, usize), String> {
    let net = network(idle);
    let before = HEAP.allocated();
    BYTES.store(0, Ordering::Relaxed);
    IN_FLIGHT.store(0, Ordering::Relaxed);
    simulate_with(&net, &move |_| Some(Box::new(Watch(window)))).map_err(|refusals| lines(&refusals))?;
    Ok((BYTES.load(Ordering::Relaxed) - before, IN_FLIGHT.load(Ordering::Relaxed)))
}

fn main() -> Result<(), String> {
    const FLOWS: usize = 1024;
    // Rings hold a power of two: this window fills them, one more segment doubles them.
    const FULL: u32 = 1 << 16;
    let (alone, few) = measure(0, 64)?;
    let (crowd, _) = measure(FLOWS, 64)?;
    let (loaded, many) = measure(0, FULL)?;
    let (doubled, more) = measure(0, FULL + 1)?;
    let per_segment = |bytes: usize, segments: usize| (bytes - alone) as f64 / (segments - few) as f64;
    println!(
        "{}",
        json!({
            "bytes_per_idle_flow": (crowd - alone) as f64 / FLOWS as f64,
            "bytes_per_segment_in_flight": per_segment(loaded, many),
            "bytes_per_segment_in_flight_after_doubling": per_segment(doubled, more),
            "segments_in_flight": many,
        })
    );
    Ok(())
}
