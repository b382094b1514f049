//! Memory that a run keeps on the heap, as JSON: bytes for each connection that is idle and for each segment in flight, and for a whole run
//! of 10,000 idle connections and of 1,000,000 short ones that come and go. An allocator counts; a congestion control of its own looks at
//! the count during the run. Numbers for each are the difference of two runs, so that parts that exist once (ports, the event set) drop
//! out.

use std::alloc::System;
use std::sync::atomic::{AtomicUsize, Ordering};

use cap::Cap;
use dumbbell_sim::cc::{BoxedControl, CongestionControl, RateSample, View, Window};
use dumbbell_sim::output::Output;
use dumbbell_sim::refusal::lines;
use dumbbell_sim::simulate_with;
use dumbbell_sim::spec::NetworkSpec;
use serde_json::{json, Value};

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

const MS: u64 = 1_000_000;
const SHORT: u64 = 1_000_000;

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

impl BoxedControl for Watch {}

/// Connections to the right host, without the kind of workload that they are.
fn workload(id: &str, cc: &str, bytes: Value, connections: Vec<Value>) -> Value {
    json!({
        "id": id, "path": 0, "from": 0, "to": 1, "direction": "forward", "opener": "from",
        "cc": {"kind": cc}, "stack": {"name": "linux-6.12", "options": {}}, "ecn": false, "sce_echo": false,
        "host": {"tso": false, "rmem": [4096, 131_072, 6_291_456], "rcvbuf": 1 << 30, "wmem": [4096, 16384, 4_194_304],
                 "sndbuf": 1 << 30, "cached_ssthresh": null},
        "transfer_bytes": bytes, "first_write_bytes": null, "connections": connections,
    })
}

fn tcp(id: &str, cc: &str, bytes: Value, connections: Vec<Value>) -> Value {
    let mut tcp = workload(id, cc, bytes, connections);
    tcp["kind"] = json!("tcp");
    tcp
}

fn connection(name: &str, port: usize, start_ms: u64) -> Value {
    json!({"name": name, "start_ns": start_ms * MS, "stop_ns": null, "ports": [10_000 + port, 5000]})
}

/// All packets of a window are on the way of the data; ACKs return at once.
fn network(seconds: u64, delay_ns: u64, workloads: &[Value]) -> NetworkSpec {
    let link = |id: &str, direction: &str, delay_ns: u64| {
        json!({"kind": "link", "id": id, "name": id, "direction": direction, "delay_ns": delay_ns, "rate_bps": null,
               "limit_packets": null})
    };
    let host = |id: &str, number: u32| json!({"id": id, "side": id, "number": number, "egress": null});
    serde_json::from_value(json!({
        "format": 1, "seed": 1, "duration_ns": seconds * 1000 * MS, "sample_ns": 0, "capture": false,
        "hosts": [host("left", 1), host("right", 2)],
        "ports": [link("out", "forward", delay_ns), link("back", "reverse", 0)],
        "paths": [{"id": "path", "forward": [0], "reverse": [1], "base_rtt_ns": delay_ns, "rate_bps": 0}],
        "workloads": workloads, "schedule": [],
    }))
    .expect("a network")
}

/// The watching flow starts when the others are idle.
fn idle(count: usize) -> NetworkSpec {
    let connections = (0..count).map(|i| connection(&format!("idle{i}"), i, 0)).collect();
    let watch = tcp("watch", "watch", Value::Null, vec![connection("watch", 49_999, 10_000)]);
    network(35, 1000 * MS, &[tcp("idle", "cubic", json!(1448), connections), watch])
}

/// A million connections, one every 20 us, each of one segment and of two round trips of 5 ms.
fn short() -> NetworkSpec {
    let watch = tcp("watch", "watch", Value::Null, vec![connection("watch", 0, 0)]);
    let transfers = json!({
        "kind": "transfers", "tcp": workload("short", "cubic", Value::Null, vec![]), "size_bytes": 1448,
        "arrivals": {"kind": "regular", "interval_ns": 20_000}, "start_ns": 0, "stop_ns": null, "count": SHORT,
        "ports": [10_000, 6000], "rows": false,
    });
    network(21, 5 * MS, &[watch, transfers])
}

/// Results of a run.
struct Measured {
    /// Most bytes that it had on the heap.
    bytes: usize,
    /// Segments in flight then.
    in_flight: usize,
    output: Output,
}

/// Runs a network in which the watching flow has a window of `window` segments.
fn measure(net: &NetworkSpec, window: u32) -> Result<Measured, String> {
    let before = HEAP.allocated();
    BYTES.store(0, Ordering::Relaxed);
    IN_FLIGHT.store(0, Ordering::Relaxed);
    let output =
        simulate_with(net, &move |_, _| Some(Ok(Box::new(Watch(window))))).map_err(|refusals| lines(&refusals))?;
    let [bytes, in_flight] = [&BYTES, &IN_FLIGHT].map(|most| most.load(Ordering::Relaxed));
    Ok(Measured { bytes: bytes - before, in_flight, output })
}

fn main() -> Result<(), String> {
    const FLOWS: usize = 10_000;
    // Rings hold a power of two: this window fills them, one more segment doubles them.
    const FULL: u32 = 1 << 16;
    let alone = measure(&idle(0), 64)?;
    let crowd = measure(&idle(FLOWS), 64)?;
    let loaded = measure(&idle(0), FULL)?;
    let doubled = measure(&idle(0), FULL + 1)?;
    let short = measure(&short(), 1)?;
    let completed = short.output.groups.get("short", "completed");
    if completed != Some(SHORT as f64) {
        return Err(format!("{completed:?} of {SHORT} short connections are complete"));
    }
    let per_segment = |load: &Measured| (load.bytes - alone.bytes) as f64 / (load.in_flight - alone.in_flight) as f64;
    println!(
        "{}",
        json!({
            "bytes_per_idle_flow": (crowd.bytes - alone.bytes) as f64 / FLOWS as f64,
            "bytes_of_10000_idle_flows": crowd.bytes,
            "bytes_of_1000000_short_flows": short.bytes,
            "bytes_per_segment_in_flight": per_segment(&loaded),
            "bytes_per_segment_in_flight_after_doubling": per_segment(&doubled),
            "segments_in_flight": loaded.in_flight,
        })
    );
    Ok(())
}
