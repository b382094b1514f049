//! Measurements of a run: samples over time, totals of each flow and port, and packets as the hosts see them. Nothing is smoothed.

mod alone;
pub mod events;
mod sampler;
pub mod schema;
mod states;
mod totals;
mod waiting;

pub use alone::Alone;
pub use events::{Occasion, Recorder};
pub use sampler::{Chosen, Coming, Group, Members, Sampler};
pub use totals::{classes, flows, ports, FlowRow, GroupTotals, Limits, Volume};
pub use waiting::{latencies, levels};

/// The whole schema, as the Python package reads it.
#[must_use]
pub fn listing() -> serde_json::Value {
    let kinds: Vec<_> =
        events::KINDS.iter().map(|(name, meaning)| serde_json::json!({"name": name, "meaning": meaning})).collect();
    serde_json::json!({
        "series": {
            "flow": schema::FLOW_SERIES,
            "ping": schema::DATAGRAM_SERIES,
            "udp": schema::DATAGRAM_SERIES,
            "voip": schema::DATAGRAM_SERIES,
            "group": schema::GROUP_SERIES,
            "port": schema::PORT_SERIES,
            "share": schema::SHARE_SERIES,
            "host": schema::HOST_SERIES,
        },
        "flows": schema::FLOW_COLUMNS,
        "groups": schema::GROUP_COLUMNS,
        "ports": schema::PORT_COLUMNS,
        "tins": schema::CLASS_COLUMNS,
        "events": {
            "kinds": kinds,
            "columns": events::COLUMNS,
        },
    })
}

/// A row of the numbers of `$list` that the simulator fills in. A name that the list lacks, and one that is left out, is an error of the
/// compiler.
macro_rules! row {
    ($list:expr; $($name:literal: $value:expr),+ $(,)?) => {{
        const WIDTH: usize = $crate::probe::schema::count($list);
        const { assert!([$($name),+].len() == WIDTH, "every number of the list is filled in once") };
        let mut row = [f64::NAN; WIDTH];
        $(row[const { $crate::probe::schema::place($list, $name) }] = $value;)+
        row
    }};
}
pub(crate) use row;

/// A row of the table of flows with some of its numbers. A name that the table lacks is an error of the compiler.
macro_rules! flow_row {
    ($($name:literal: $value:expr),+ $(,)?) => {{
        use $crate::probe::schema::{count, place, FLOW_COLUMNS};
        let mut row = [f64::NAN; count(FLOW_COLUMNS)];
        $(row[const { place(FLOW_COLUMNS, $name) }] = $value as f64;)+
        $crate::probe::FlowRow(row)
    }};
}
pub(crate) use flow_row;
