//! Changes of ports at set times.

use serde::{Deserialize, Serialize};

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
