//! A plan (JSON): described, checked, and run for some thousand events if it is valid.

use dumbbell_sim::spec::{NetworkSpec, PathSpec, PortSpec, WorkloadSpec};
use dumbbell_sim::{check, simulate};
use serde_json::Value;

/// Packets, samples and arrivals of a run, about.
const EVENTS: u64 = 5_000;
/// Least packet, bits.
const PACKET_BITS: u64 = 66 * 8;
const ROUND_TRIPS: u64 = 30;
const MOST_ENTRIES: usize = 16;
const MOST_NS: u64 = 2_000_000_000;

/// Read, check and run a plan. The plan may be an error.
///
/// # Panics
/// Packets got lost in the accounts, or a plan that was written is not read back the same.
pub fn run(json: &[u8]) {
    let Ok(mut spec) = serde_json::from_slice::<NetworkSpec>(json) else { return };
    let described = serde_json::to_vec(&spec).expect("a plan is JSON");
    assert_eq!(serde_json::from_slice::<NetworkSpec>(&described).expect("and is read again"), spec);
    if check(&spec).is_err() {
        return;
    }
    let Some(duration_ns) = affordable(&spec) else { return };
    spec.duration_ns = spec.duration_ns.min(duration_ns);
    let Ok(output) = simulate(&spec) else { return };
    assert_eq!(output.conservation, Vec::<String>::new());
}

/// Return how long the plan can be run; `None` if it is too large for any time.
fn affordable(spec: &NetworkSpec) -> Option<u64> {
    let connections: usize = spec.workloads.iter().map(entries).sum();
    if [spec.hosts.len(), spec.ports.len(), spec.workloads.len(), connections].iter().any(|&n| n > MOST_ENTRIES) {
        return None;
    }
    // If no rate holds packets up, a window of them is sent each round trip.
    let mut duration_ns = MOST_NS.min(ROUND_TRIPS * spec.paths.iter().map(|path| round_trip_ns(spec, path)).min()?);
    shorten(&serde_json::to_value(spec).ok()?, &mut duration_ns);
    (duration_ns > 0).then_some(duration_ns)
}

fn round_trip_ns(spec: &NetworkSpec, path: &PathSpec) -> u64 {
    let delays = path.forward.iter().chain(&path.reverse).map(|&port| match &spec.ports[port] {
        PortSpec::Link { delay_ns, .. } | PortSpec::Queue { delay_ns, .. } => *delay_ns,
    });
    delays.fold(0, |sum, delay_ns| sum.saturating_add(delay_ns).min(MOST_NS))
}

fn entries(workload: &WorkloadSpec) -> usize {
    match workload {
        WorkloadSpec::Tcp(tcp) => tcp.connections.len(),
        other => other.listed().map_or(1, <[_]>::len),
    }
}

/// Shorten a run to the time that each rate and interval in it takes for this many events.
fn shorten(value: &Value, duration_ns: &mut u64) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let most = match (name.as_str(), field.as_u64()) {
                    ("rate_bps", Some(rate)) => {
                        (EVENTS * PACKET_BITS * 1_000_000_000).checked_div(rate).unwrap_or(MOST_NS)
                    }
                    ("interval_ns" | "mean_interval_ns" | "think_ns", Some(ns)) => ns.max(1).saturating_mul(EVENTS),
                    ("sample_ns" | "off_ns", Some(ns @ 1..)) => ns.saturating_mul(EVENTS),
                    _ => MOST_NS,
                };
                *duration_ns = most.min(*duration_ns);
                shorten(field, duration_ns);
            }
        }
        Value::Array(entries) => entries.iter().for_each(|entry| shorten(entry, duration_ns)),
        _ => {}
    }
}
