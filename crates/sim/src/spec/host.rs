//! Hosts and paths between them.

use serde::{Deserialize, Serialize};

use super::port::MOST_DELAY_NS;
use crate::catalogue::{Entry, Kind, Parameter, Preset};

/// Paths and hosts in the catalogue.
pub const NETWORK: &[Entry] = &[
    Entry::plain(
        "path",
        "the path between two hosts",
        "The path between the two hosts.\n\n\
         Write either a dumbbell (`rtt`, `delay`, `access`, `bottleneck`, `reverse`), or `forward` and `reverse` as lists of stages. \
         The dumbbell becomes stages: forward = the access link, the delay before, the bottleneck, the delay behind; reverse = the \
         same without the access link, with the bottleneck mirrored, absent or its own.",
        &[
            Parameter::key("rtt", Kind::Duration, "Base RTT of the dumbbell.").at_most(MOST_DELAY_NS).example("40ms"),
            Parameter::key("delay", Kind::Keys, "Place of the base RTT on the path, and the faults there.")
                .example("{where: after}"),
            Parameter::key(
                "access",
                Kind::Keys,
                "Link of the sending host. Without it the host is infinitely fast.",
            )
            .example("{rate: 100mbit}"),
            Parameter::key("bottleneck", Kind::Keys, "A queue discipline behind a shaper.")
                .example("{rate: 10mbit, qdisc: fq_codel}"),
            Parameter::new(
                "mtu",
                Kind::Integer("bytes"),
                "",
                "Largest IP packet that every stage carries, bytes. Connections fill it unless their `mss` is less.",
            )
            .or_number(1500)
            .within(1500, 9000)
            .example("9000"),
            Parameter::key(
                "forward",
                Kind::Keys,
                "Stages that data pass, in order, in place of `rtt`, `delay`, `access` and `bottleneck`.",
            )
            .example("[{delay: 10ms}, {rate: 10mbit, qdisc: codel}]"),
            Parameter::key(
                "reverse",
                Kind::Keys,
                "The way back of the ACKs: `mirror` has the forward path's stages, `none` has no queue; or a bottleneck, or a list \
                 of stages.",
            )
            .example("none"),
            Parameter::key(
                "impairments",
                Kind::Keys,
                "Disturbances at set times: outages, changes of the rate, lost and delayed packets.",
            )
            .example("[{kind: outage, at: 10s, for: 200ms}]"),
        ],
    ),
    Entry::plain(
        "named_path",
        "one of several paths",
        "One of several paths, through stages that paths may share.",
        &[
            Parameter::key("forward", Kind::Keys, "Names of `stages`, in the order in which data pass them.")
                .or(Preset::Required)
                .example("[dsl, core]"),
            Parameter::key(
                "reverse",
                Kind::Keys,
                "`return`: the other directions of the same stages, from the last to the first; or those of the stages in a list, \
                 in its order; `none`: packets that go back pass no stage.",
            )
            .example("[core]"),
        ],
    ),
    Entry::plain(
        "host_queue",
        "properties of a host",
        "Properties of a host, the same for all its flows.",
        &[Parameter::key(
            "egress",
            Kind::Keys,
            "The queue that all packets of the host leave through, before the first stage of any path; its TCP hears of drops \
             there.",
        )
        .or(Preset::Required)
        .example("{rate: 1gbit, qdisc: fq_codel}")],
    ),
];

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
