//! Deterministic packet-level simulator of TCP congestion control and queue management.
//!
//! No Python, no files, no clock, no globals: [`simulate`] is a function of a [`spec::NetworkSpec`].
//!
//! `dumbbell plan FILE --json` prints the plan of a scenario. This one has a cubic flow over 10 Mbit/s for 2 s:
//!
//! ```
//! let plan = include_str!("../examples/plan.json");
//! let spec: dumbbell_sim::spec::NetworkSpec = serde_json::from_str(plan).expect("a plan");
//! let output = dumbbell_sim::simulate(&spec).expect("a plan without contradictions");
//! assert!(output.conservation.is_empty());
//! assert!((1500..1660).contains(&output.delivered_packets));
//! ```

pub mod attachment;
pub mod capture;
pub mod catalogue;
pub mod cc;
pub mod draw;
mod events;
pub mod fingerprint;
mod flow;
mod headers;
mod network;
pub mod outbox;
pub mod output;
pub mod packet;
pub mod playback;
pub mod pool;
pub mod port;
mod prefetch;
pub mod probe;
pub mod qdisc;
pub mod refusal;
pub mod rng;
pub mod segment;
mod simulation;
pub mod spec;
pub mod tap;
pub mod tcp;
pub mod time;
pub mod traffic;

use catalogue::Feature;

#[cfg(feature = "fingerprint")]
pub use simulation::fingerprint;
pub use simulation::{check, check_with, simulate, simulate_until, simulate_with, Controls};

/// Return the catalogue of all that may be set: `{feature: {name: words}, qdisc: [...]}`, each entry as [`catalogue::Entry::listing`] has it;
/// and of the state variables that may be recorded, each as [`catalogue::State::listing`] has it.
#[must_use]
pub fn catalogue() -> serde_json::Value {
    use catalogue::Entry;
    use serde_json::{json, Value};
    let named = |feature: &Feature| (json!(feature).as_str().unwrap_or_default().to_owned(), json!(feature.words()));
    let features: serde_json::Map<String, Value> = Feature::ALL.iter().map(named).collect();
    let qdiscs: Vec<Value> = qdisc::DISCIPLINES.iter().chain([&qdisc::TC]).map(Entry::listing).collect();
    let controls: Vec<Value> = cc::CONTROLS.iter().map(cc::Control::listing).collect();
    let faults: Vec<Value> = port::FAULTS.iter().map(Entry::listing).collect();
    let states = json!({
        "sender": tcp::endpoint::STATE.iter().map(catalogue::State::listing).collect::<Vec<_>>(),
        "cc": catalogue::state::listing(cc::STATES),
        "qdisc": catalogue::state::listing(qdisc::STATES),
    });
    let listed = |entries: &[Entry]| entries.iter().map(Entry::listing).collect::<Vec<Value>>();
    json!({
        "feature": features,
        "qdisc": qdiscs,
        "cc": controls,
        "fault": faults,
        "stack": tcp::implementation::entries(),
        "shaper": listed(port::SHAPERS),
        "path": listed(&[&[spec::DELAY], spec::STAGES].concat()),
        "network": listed(spec::NETWORK),
        "impairment": listed(spec::IMPAIRMENTS),
        "workload": listed(traffic::WORKLOADS),
        "host": listed(&[traffic::HOST]),
        "traffic": listed(traffic::KINDS),
        "state": states,
    })
}

/// Abilities that not every engine has, apart from those of queue disciplines.
const FEATURES: &[Feature] = &[
    Feature::ApplicationSeries,
    Feature::BitErrors,
    Feature::Captures,
    Feature::ChosenPackets,
    Feature::Events,
    Feature::Faults,
    Feature::FirstWrites,
    Feature::GroupSeries,
    Feature::AccEcn,
    Feature::Ect1,
    Feature::HostQueues,
    Feature::OffloadGro,
    Feature::OffloadTso,
    Feature::Opportunities,
    Feature::Outages,
    Feature::OwnControls,
    Feature::OwnRtts,
    Feature::PortShares,
    Feature::RateSteps,
    Feature::RegularLosses,
    Feature::ReverseFlows,
    Feature::Sce,
    Feature::ServerOpens,
    Feature::SlowReaders,
    Feature::StateSeries,
];

/// Return the abilities of this engine, for error messages, listings and random scenarios.
///
/// - `cc`: `{name: {summary, needs_ecn, needs_accecn, wants_sce, draws, parameters: {name: ...}}}`. `needs_ecn`: it works on ECN marks; `needs_accecn`: on their
///   number; `wants_sce`: it
///   answers to SCE marks; `draws`: it draws random numbers; `parameters`: see [`catalogue::Parameter::listing`]
/// - `stack`: see [`tcp::implementation::listing`]
/// - `qdisc`: `{name: {summary}}`; `shaper`, `feature`: names
#[must_use]
pub fn capabilities() -> serde_json::Value {
    use cc::Needs;
    use serde_json::{json, Map, Value};
    use std::collections::BTreeSet;
    let cc: Map<String, Value> = cc::CONTROLS
        .iter()
        .map(|control| {
            let Needs { ecn, accecn, sce, random, .. } = control.needs;
            let parameters: Map<String, Value> =
                control.parameters.iter().map(|each| (each.name.to_owned(), each.listing())).collect();
            let facts = json!({
                "summary": control.summary,
                "needs_ecn": ecn,
                "needs_accecn": accecn,
                "wants_sce": sce,
                "draws": random,
                "parameters": parameters,
            });
            (control.name.to_owned(), facts)
        })
        .collect();
    let qdisc: Map<String, Value> = qdisc::DISCIPLINES
        .iter()
        .map(|discipline| (discipline.name.to_owned(), json!({"summary": discipline.summary})))
        .collect();
    let of_qdiscs = qdisc::DISCIPLINES.iter().flat_map(|each| each.parameters).filter_map(|each| each.feature);
    let features: BTreeSet<&str> =
        FEATURES.iter().chain(traffic::FEATURES).copied().chain(of_qdiscs).map(Feature::words).collect();
    json!({
        "cc": cc,
        "stack": tcp::implementation::listing(),
        "qdisc": qdisc,
        "shaper": port::SHAPERS.iter().map(|each| each.name).filter(|name| *name != "dummynet").collect::<Vec<_>>(),
        "feature": features,
    })
}
