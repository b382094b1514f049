//! Hosts and paths between them.

use serde::{Deserialize, Serialize};

/// The side of the network that a host is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Forward paths begin here.
    Left,
    /// Forward paths end here.
    Right,
}

/// A direction along a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From left to right.
    Forward,
    /// From right to left.
    Reverse,
}

/// A host: a source or destination of data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSpec {
    /// Unique.
    pub id: String,
    /// Its side.
    pub side: Side,
    /// Its address, for hashing and captures; the two entries of a host that is used on both sides have the same.
    pub number: u32,
    /// The port that all of its packets leave through, if that is on the host: its TCP learns of a drop there at once.
    pub egress: Option<usize>,
}

/// The ports between two hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathSpec {
    /// Unique.
    pub id: String,
    /// Indices of the ports from left to right, in order.
    pub forward: Vec<usize>,
    /// Indices of the ports from right to left, in order.
    pub reverse: Vec<usize>,
    /// Its RTT without queues, ns; not used here.
    pub base_rtt_ns: u64,
    /// Its least rate from left to right, bit/s; not used here.
    pub rate_bps: u64,
}

impl PathSpec {
    /// The ports of packets that go in a direction.
    #[must_use]
    pub fn ports(&self, direction: Direction) -> &[usize] {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Reverse => &self.reverse,
        }
    }
}

impl Direction {
    /// The other one.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
        }
    }
}
