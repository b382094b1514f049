//! The entities that get series.

use serde::{Deserialize, Serialize};

/// The entities that get series, by their positions in the description.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesSpec {
    /// Workloads of bulk flows: each connection gets its own.
    pub flows: Vec<usize>,
    /// Workloads of bulk flows, or of connections that come and go: their connections get one together.
    pub groups: Vec<usize>,
    /// Ports.
    pub ports: Vec<usize>,
    /// Ports that count the bytes of each of these connections and groups.
    pub shares: Vec<usize>,
    /// State variables that are recorded of these flows and ports: names, or `control` and `queue` for all of senders and of queues.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<String>,
    /// Kinds of events that are recorded of these flows: `acks`, `losses`, `marks`, `state`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
}
