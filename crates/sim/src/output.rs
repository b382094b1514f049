//! What a run returns.

use crate::capture::Capture;

/// What a run returns.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Sampled series, one table an entity.
    pub tables: Vec<Table>,
    /// Counters, one map an entity (`flow/NAME`, `udp/NAME`, `port/NAME`), each kind in order of the network's description.
    pub counters: Vec<(String, Vec<(String, u64)>)>,
    /// What the conservation check found wrong; empty is good.
    pub conservation: Vec<String>,
    /// Events handled.
    pub events: u64,
    /// Data packets delivered to receivers (new or not).
    pub delivered_packets: u64,
    /// Every packet at both hosts, if asked for.
    pub capture: Option<Box<Capture>>,
}

/// The samples of one entity; values are row-major, one row a time.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// `flow/NAME` or `port/NAME`.
    pub entity: String,
    /// Series names and their units.
    pub columns: Vec<(&'static str, &'static str)>,
    /// Times, ns.
    pub t_ns: Vec<i64>,
    /// `t_ns.len() * columns.len()` values; NaN where there is none yet.
    pub values: Vec<f64>,
}
