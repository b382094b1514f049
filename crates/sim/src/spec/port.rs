//! Ports and their shapers.

use serde::{Deserialize, Serialize};

use super::{Direction, FaultsSpec, QdiscSpec};
use crate::catalogue::{Draws, Entry, Kind, Parameter, Preset};

/// Longest delay of a stage, ns.
pub const MOST_DELAY_NS: i64 = 1_000_000_000_000;
/// Fastest link, bit/s.
pub const MOST_RATE_BPS: i64 = 1_000_000_000_000;
/// Directions of data, requests or delays.
pub const DIRECTIONS: &[&str] = &["forward", "reverse", "both"];

/// Stages and links in the catalogue.
pub const STAGES: &[Entry] = &[
    Entry::plain(
        "access",
        "link of the sending host",
        "Store-and-forward link of the sending host.",
        &[Parameter::new("rate", Kind::Rate, "", "Rate of the link, counted in Ethernet frames.")
            .at_most(MOST_RATE_BPS)
            .example("100mbit")],
    ),
    Entry::plain(
        "bottleneck",
        "a queue discipline behind a shaper",
        "A queue discipline behind a shaper.",
        &[
            Parameter::key(
                "rate",
                Kind::Rate,
                "Rate of the shaper, counted in Ethernet frames; may be left out if the qdisc has a rate of its own.",
            )
            .at_most(MOST_RATE_BPS)
            .example("10mbit"),
            Parameter::key(
                "trace",
                Kind::Keys,
                "Instead of a rate: a file with a capacity that varies, in mahimahi's format or as rates.",
            )
            .example("{file: traces/cellular.down}"),
            Parameter::key(
                "shaper",
                Kind::Keys,
                "`link` stores and forwards; `tbf` and `htb` let a packet of an idle bucket go at once; `cake` and `dummynet` are \
                 those of these qdiscs.\n\n\
                 By default cake's own for cake, always dummynet's own for dummynet, else `link`.",
            )
            .example("tbf"),
            Parameter::key(
                "burst",
                Kind::Size,
                "Bucket of `tbf` (by default 1540 bytes) or `htb` (1600 bytes). A path's `mtu` above 1500 adds the difference.",
            )
            .example("15kB"),
            Parameter::key(
                "qdisc",
                Kind::Keys,
                "Queue discipline: a kind alone (`fq_codel`), or keys with a kind (`{kind: codel, target: 10ms}`).",
            )
            .or(Preset::Required)
            .example("{kind: codel, target: 10ms}"),
        ],
    ),
    Entry::plain(
        "delay_stage",
        "a stage that delays",
        "A stage that delays, optionally behind a store-and-forward link. If it is mirrored, it has the same faults in both \
         directions.",
        &[
            Parameter::key("name", Kind::Name, "Name of the port in the results; by default `delay-N` at place N of the list.")
                .example("core"),
            Parameter::key("delay", Kind::Duration, "Time that the stage holds every packet for.")
                .written_as("0s")
                .at_most(MOST_DELAY_NS)
                .example("10ms"),
            Parameter::key(
                "rate",
                Kind::Rate,
                "Rate of a store-and-forward link in front of the delay, counted in Ethernet frames. Without it the stage only \
                 delays.",
            )
            .at_most(MOST_RATE_BPS)
            .example("1mbit"),
            Parameter::key(
                "limit",
                Kind::LimitPackets,
                "Maximum number of packets (or `bdp`) that the stage holds, as in netem. Without a limit it never overflows.",
            )
            .example("1000p"),
        ],
    ),
    Entry::plain(
        "queue_stage",
        "a stage that queues, then delays",
        "A stage that queues, then delays.",
        &[
            Parameter::key("name", Kind::Name, "Name of the port in the results; by default `queue-N` at place N of the list.")
                .example("dsl"),
            Parameter::key("delay", Kind::Duration, "Time that every packet takes from the queue to the next stage.")
                .written_as("0s")
                .at_most(MOST_DELAY_NS)
                .example("5ms"),
        ],
    ),
];

/// The delay of a path in the catalogue.
pub const DELAY: Entry = Entry {
    name: "delay",
    summary: "the base RTT on a path",
    about: "Place of the base RTT on the path, and the faults there.",
    draws: Draws::Nothing,
    parameters: &[
        Parameter::new(
            "where",
            Kind::Choice(&["before", "after", "ack-path"]),
            "",
            "`before`: half of it before the bottleneck's queue of each direction; `after`: half behind \
             each; `ack-path`: all of it on the reverse path.",
        )
        .or(Preset::Word("before"))
        .example("after"),
        Parameter::new(
            "extra",
            Kind::Duration,
            "",
            "Extra delay per direction, on top of the base RTT and at the same place (`ack-path`: behind \
             the bottleneck).",
        )
        .written_as("0s")
        .at_most(MOST_DELAY_NS)
        .example("5ms"),
        Parameter::new(
            "limit",
            Kind::LimitPackets,
            "",
            "Maximum number of packets (or `bdp`) that the delay stage holds, like netem's limit. \
             Without a limit it never overflows.",
        )
        .or(Preset::Unset)
        .example("1000p"),
        Parameter::new(
            "faults_in",
            Kind::Choice(DIRECTIONS),
            "",
            "Direction of the packets that faults concern: `loss`, `gilbert`, `jitter`, `reorder`, \
             `duplicate`, `corrupt`.",
        )
        .or(Preset::Word("forward"))
        .example("both"),
    ],
    tc: &[],
    since: "",
};

/// A port: somewhere a packet waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PortSpec {
    /// A constant delay behind an optional store-and-forward line, with a limit of its own, as of netem.
    Link {
        /// Unique; entity `port/ID` of the results, and the name of its random stream.
        id: String,
        /// For display.
        name: String,
        /// The direction of its packets.
        direction: Direction,
        /// Delay, ns.
        delay_ns: u64,
        /// Line rate, bit/s; `None` is infinitely fast.
        rate_bps: Option<u64>,
        /// Most packets held; `None` is unlimited.
        limit_packets: Option<u64>,
        /// Used for a network card: the interrupt comes this long after the first packet that it has not yet reported, ns. All packets that
        /// came until then pass at once.
        #[serde(default)]
        coalesce_ns: Option<u64>,
        /// The delay is longer by this part of the RTT that a connection has of its own. Packets leave by time, in whatever order they
        /// came. A port with this has neither link rate nor limit.
        #[serde(default)]
        own_rtt: Option<PartOfRtt>,
        /// Faults: all that it does to packets beside delaying them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        faults: Option<Box<FaultsSpec>>,
    },
    /// A queue discipline behind a shaper, then a propagation delay.
    Queue {
        /// Unique; entity `port/ID` of the results, and the name of the random streams of the port and of its qdisc.
        id: String,
        /// For display.
        name: String,
        /// The direction of its packets.
        direction: Direction,
        /// The queue discipline.
        qdisc: QdiscSpec,
        /// The shaper.
        shaper: ShaperSpec,
        /// Propagation delay after the shaper, ns.
        delay_ns: u64,
    },
}

/// A part of the RTT that a connection has of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartOfRtt {
    /// Half of it, rounded down.
    FirstHalf,
    /// The rest after the first half.
    SecondHalf,
    /// All of it.
    Whole,
}

impl PartOfRtt {
    /// This part of an RTT, ns.
    #[must_use]
    pub fn of(self, rtt_ns: u64) -> u64 {
        match self {
            Self::FirstHalf => rtt_ns / 2,
            Self::SecondHalf => rtt_ns - rtt_ns / 2,
            Self::Whole => rtt_ns,
        }
    }
}

impl PortSpec {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Link { id, .. } | Self::Queue { id, .. } => id,
        }
    }

    /// Its propagation delay for all connections, ns.
    #[must_use]
    pub fn delay_ns(&self) -> u64 {
        match self {
            Self::Link { delay_ns, .. } | Self::Queue { delay_ns, .. } => *delay_ns,
        }
    }

    /// The part of the RTT that a connection has of its own that it adds.
    #[must_use]
    pub fn part_of_rtt(&self) -> Option<PartOfRtt> {
        match self {
            Self::Link { own_rtt, .. } => *own_rtt,
            Self::Queue { .. } => None,
        }
    }

    /// Return its faults: all that it does to packets beside delaying them.
    #[must_use]
    pub fn faults(&self) -> Option<&FaultsSpec> {
        match self {
            Self::Link { faults, .. } => faults.as_deref(),
            Self::Queue { .. } => None,
        }
    }

    /// The rate of its line or its shaper, bit/s; `None` is infinitely fast.
    #[must_use]
    pub fn rate_bps(&self) -> Option<u64> {
        match self {
            Self::Link { rate_bps, .. } => *rate_bps,
            Self::Queue { shaper: ShaperSpec::Own, qdisc: QdiscSpec::Cake { rate_bps, .. }, .. } => *rate_bps,
            Self::Queue { shaper: ShaperSpec::Own, qdisc: QdiscSpec::Dummynet { rate_bps, .. }, .. } => Some(*rate_bps),
            Self::Queue { shaper, .. } => match shaper {
                ShaperSpec::Link { rate_bps }
                | ShaperSpec::Tbf { rate_bps, .. }
                | ShaperSpec::Htb { rate_bps, .. }
                | ShaperSpec::Shared { rate_bps, .. }
                | ShaperSpec::Trace { rate_bps, .. } => Some(*rate_bps),
                ShaperSpec::Own => None,
            },
        }
    }

    /// True if no packet passes in no time.
    #[must_use]
    pub fn takes_time(&self) -> bool {
        match self {
            Self::Link { delay_ns, rate_bps, coalesce_ns, own_rtt, .. } => {
                *delay_ns > 0 || rate_bps.is_some() || coalesce_ns.is_some() || own_rtt.is_some()
            }
            Self::Queue { .. } => true,
        }
    }
}

/// The way in which a port paces departures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ShaperSpec {
    /// Store and forward: a packet has left when its last bit has.
    Link {
        /// Rate, bit/s.
        rate_bps: u64,
    },
    /// Token bucket (Linux sch_tbf.c): an idle bucket lets a packet go at once; the next packet is already taken
    /// out of the qdisc while it waits for tokens.
    Tbf {
        /// Rate, bit/s.
        rate_bps: u64,
        /// Bucket, bytes.
        burst_bytes: u64,
    },
    /// One class of Linux's htb (sch_htb.c) with rate = ceil and burst = cburst: a packet may leave while there are
    /// tokens at all, and is taken out of the qdisc only then.
    Htb {
        /// Rate, bit/s.
        rate_bps: u64,
        /// Bucket, bytes.
        burst_bytes: u64,
    },
    /// Store and forward over a line that carries one packet at a time, whichever port sends it. Ports take turns.
    Shared {
        /// Name of the line. All ports that have it share the line.
        medium: String,
        /// Rate, bit/s: the same for all of them.
        rate_bps: u64,
    },
    /// A packet leaves at the opportunities of a trace, each of 1504 bytes; the trace repeats after its last one.
    Trace {
        /// The opportunities of one period, ms from its start, not decreasing.
        at_ms: Vec<u32>,
        /// The mean rate that they make, bit/s. It stands wherever a rate is needed.
        rate_bps: u64,
    },
    /// The qdisc shapes itself (cake, dummynet).
    Own,
}
