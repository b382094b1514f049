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
    /// Kinds of events that are recorded of these flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventKind>,
}

/// A kind of events that may be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// ACKs that arrive.
    Acks,
    /// Losses, retransmissions and timeouts.
    Losses,
    /// ECN echoes.
    Marks,
    /// Changes of the congestion state.
    State,
}

#[cfg(test)]
mod tests {
    use super::{EventKind, SeriesSpec};

    #[test]
    fn an_unknown_kind_of_events_is_refused() {
        let read = |word: &str| {
            let series = serde_json::json!({"flows": [], "groups": [], "ports": [], "shares": [], "events": [word]});
            serde_json::from_value::<SeriesSpec>(series)
        };
        assert_eq!(read("losses").unwrap().events, [EventKind::Losses]);
        let error = read("loss").unwrap_err().to_string();
        assert_eq!(error, "unknown variant `loss`, expected one of `acks`, `losses`, `marks`, `state`");
    }
}
