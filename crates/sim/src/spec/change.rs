//! Changes of ports at set times.

use serde::{Deserialize, Serialize};

use super::port::{DIRECTIONS, MOST_RATE_BPS};
use crate::catalogue::{Entry, Kind, Parameter, Preset};

/// Minimum rate of a shaper, bit/s: cake counts in bytes per second.
const LEAST_RATE_BPS: i64 = 8;

/// Disturbances of a path in the catalogue: the keys that all share, then each.
pub const IMPAIRMENTS: &[Entry] = &[
    Entry::plain(
        "impairment",
        "what disturbances share",
        "Keys that all impairments share.",
        &[
            Parameter::key("at", Kind::Duration, "Virtual time of the run.").or(Preset::Required).example("10s"),
            Parameter::word(
                "direction",
                "forward",
                DIRECTIONS,
                "Direction of the packets concerned: `forward` is from left to right.",
            )
            .example("reverse"),
            Parameter::key(
                "stage",
                Kind::Name,
                "The queue stage concerned, of `path.forward` or of `stages`; by default the bottleneck, or the only queue \
                 stage of the path.",
            )
            .example("dsl"),
        ],
    ),
    Entry::plain(
        "outage",
        "nothing leaves for a while",
        "An outage: all packets that leave the bottleneck are lost for a while.",
        &[Parameter::new("for", Kind::Duration, "for_ns", "Duration; the key is `for`.").example("200ms")],
    ),
    Entry::plain(
        "rate",
        "another rate",
        "The shaper's rate changes.",
        &[Parameter::new("rate", Kind::Rate, "rate_bps", "Rate of the shaper from `at` on.")
            .within(LEAST_RATE_BPS, MOST_RATE_BPS)
            .example("1mbit")],
    ),
    Entry::plain(
        "drop",
        "packets that are lost",
        "Some of the packets that leave the queue are lost, from `at` on.",
        &[
            Parameter::new("packets", Kind::Packets, "packets", "Number of packets to lose.").example("3p"),
            Parameter::integer(
                "every",
                1,
                1,
                u32::MAX,
                "One packet in this number is lost: the first that leaves, then each time after so many.",
            )
            .example("10"),
        ],
    ),
    Entry::plain(
        "hold",
        "packets that go later",
        "Packets that leave the queue are set aside, and go on together after a time: reordering, or a link that stalls.",
        &[
            Parameter::new("for", Kind::Duration, "for_ns", "Time after `at` at which they go on; the key is `for`.")
                .example("200ms"),
            Parameter::new(
                "packets",
                Kind::Packets,
                "packets",
                "Number of packets to set aside, so that later ones overtake them. By default all that leave in that time.",
            )
            .or(Preset::Unset)
            .example("5p"),
        ],
    ),
];

/// Something that happens to a queue port at a set time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ChangeSpec {
    /// Whatever leaves the queue is lost for a while: after the shaper, before the propagation delay.
    Outage {
        /// Index of the port.
        port: usize,
        /// When, ns.
        at_ns: u64,
        /// Duration, ns.
        for_ns: u64,
    },
    /// The shaper's rate changes, as by `tc qdisc change`.
    Rate {
        /// Index of the port.
        port: usize,
        /// When, ns.
        at_ns: u64,
        /// The new rate, bit/s.
        rate_bps: u64,
    },
    /// Some of the packets that leave the queue are lost.
    Drop {
        /// Index of the port.
        port: usize,
        /// When, ns.
        at_ns: u64,
        /// Number of packets to lose.
        packets: u64,
        /// One packet in so many is lost, the first one among them.
        every: u64,
    },
    /// Packets that leave the queue are set aside, and go on together later.
    Hold {
        /// Index of the port.
        port: usize,
        /// When, ns.
        at_ns: u64,
        /// Time until they go on, ns.
        for_ns: u64,
        /// Number of packets to set aside; all that leave in that time by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        packets: Option<u64>,
    },
}
