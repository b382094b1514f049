//! What a run keeps on the heap, as JSON: bytes for each connection that is idle, and for each segment in flight. An allocator counts;
//! a congestion control of its own looks at the count while the run goes on. Each figure is the difference of two runs, so that what
//! there is once (ports, the event set) drops out.

use std::alloc::System;
use std::sync::atomic::{AtomicUsize, Ordering};

use cap::Cap;
use dumbbell_sim::cc::{AckEvent, CongestionControl, CustomControl};
use dumbbell_sim::simulate_with;
use dumbbell_sim::spec::NetworkSpec;
use dumbbell_sim::tcp::linux::sender::tcb::Tcb;
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
    fn init(&mut self, t: &mut Tcb) {
        t.cwnd = self.0;
    }
    fn ssthresh(&mut self, _: &Tcb) -> u32 {
        self.0
    }
    fn cong_avoid(&mut self, t: &mut Tcb, _: u32) {
        t.cwnd = self.0;
    }
    fn in_ack_event(&mut self, t: &mut Tcb, _: AckEvent) {
        BYTES.fetch_max(HEAP.allocated(), Ordering::Relaxed);
        IN_FLIGHT.fetch_max(t.in_flight() as usize, Ordering::Relaxed);
    }
}

impl CustomControl for Watch {}

/// All packets of a window are on the way of the data; ACKs return at once. The watching flow starts when the others are idle.
fn network(idle: usize) -> NetworkSpec {
    let flow = |name: String, cc: &str, start_ms: u64, bytes: Value| {
        json!({
            "name": name, "cc": cc, "stack": {"name": "linux-6.12"}, "ecn": false, "sce_echo": false,
            "host": {"tso": false, "rmem": [4096, 131_072, 6_291_456], "rcvbuf": 1 << 30, "wmem": [4096, 16384, 4_194_304],
                     "sndbuf": 1 << 30, "cached_ssthresh": null},
            "forward": [0], "reverse": [1], "start_ns": start_ms * 1_000_000, "stop_ns": null, "transfer_bytes": bytes,
            "src_host": 1, "dst_host": 2,
        })
    };
    let mut flows: Vec<Value> = (0..idle).map(|i| flow(format!("idle{i}"), "cubic", 0, json!(1448))).collect();
    flows.push(flow("watch".into(), "watch", 10_000, Value::Null));
    serde_json::from_value(json!({
        "seed": 1, "duration_ns": 35_000_000_000_u64, "sample_ns": 0,
        "ports": [
            {"kind": "delay", "name": "out", "delay_ns": 1_000_000_000, "rate_bps": null, "limit_packets": null},
            {"kind": "delay", "name": "back", "delay_ns": 0, "rate_bps": null, "limit_packets": null},
        ],
        "flows": flows,
    }))
    .expect("a network")
}

/// Bytes that the run has on the heap, and segments in flight.
fn measure(idle: usize, window: u32) -> Result<(usize, usize), String> {
    let net = network(idle);
    let before = HEAP.allocated();
    BYTES.store(0, Ordering::Relaxed);
    IN_FLIGHT.store(0, Ordering::Relaxed);
    simulate_with(&net, &move |_| Some(Box::new(Watch(window))))?;
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
