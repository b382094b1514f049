//! Deterministic packet-level simulator of TCP congestion control and queue management.
//!
//! No Python, no files, no clock, no globals: [`simulate`] is a function of a [`spec::NetworkSpec`].

pub mod attachment;
pub mod capture;
pub mod cc;
pub mod events;
pub mod fingerprint;
pub mod flow;
pub mod network;
pub mod outbox;
pub mod output;
pub mod packet;
pub mod pool;
pub mod port;
pub mod probe;
pub mod qdisc;
pub mod refusal;
pub mod rng;
pub mod simulation;
pub mod spec;
pub mod tap;
pub mod tcp;
pub mod time;
pub mod traffic;

#[cfg(feature = "fingerprint")]
pub use simulation::fingerprint;
pub use simulation::{check, simulate, simulate_with};

/// What this engine can do, for refusals, listings and random scenarios.
///
/// - `cc`: `{name: {summary, needs_ecn, wants_sce}}`. `needs_ecn`: it works on ECN marks; `wants_sce`: it answers to SCE marks.
/// - `stack`: see [`tcp::implementation::listing`]
/// - `qdisc`: `{name: {summary}}`; `shaper`, `feature`: names
#[must_use]
pub fn capabilities() -> serde_json::Value {
    use cc::Needs;
    use serde_json::{json, Map, Value};
    let cc: Map<String, Value> = cc::CONTROLS
        .iter()
        .map(|control| {
            let Needs { ecn, sce, .. } = control.needs;
            (control.name.to_owned(), json!({"summary": control.summary, "needs_ecn": ecn, "wants_sce": sce}))
        })
        .collect();
    json!({
        "cc": cc,
        "stack": tcp::implementation::listing(),
        "qdisc": {
            "pfifo": {"summary": "tail drop by packets"},
            "bfifo": {"summary": "tail drop by bytes"},
            "cake": {"summary": "CAKE, one tin: shaper, COBALT, DRR++, flow and host isolation, SCE"},
            "codel": {"summary": "CoDel on one queue (RFC 8289)"},
            "fq_codel": {"summary": "CoDel on a queue per flow, sparse flows first (RFC 8290)"},
            "pie": {"summary": "PIE on one queue (RFC 8033)"},
            "fq_pie": {"summary": "PIE on a queue per flow, sparse flows first"},
            "red": {"summary": "RED, adaptive and gentle RED"},
            "sfq": {"summary": "stochastic fairness queueing: flows in turn, the longest queue loses"},
            "fq": {"summary": "fair queue: a queue per flow, new flows first"},
        },
        "shaper": ["link", "tbf", "htb", "cake"],
        "feature": [
            "SCE",
            "qdiscs of other kernels",
            "adaptive RED",
            "gentle RED",
            "ce_threshold of fq",
            "captures",
            "first writes",
            "offload tso",
            "outages",
            "rate steps",
            "UDP",
            "reverse flows",
        ],
    })
}
