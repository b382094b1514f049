//! Faults of a link: all that it does to packets beside delaying them.

use serde::{Deserialize, Serialize};

/// A probability as netem has it: 0 is never, `u32::MAX` always.
pub type Chance = u32;

/// Faults of a link, as Linux's netem (net/sched/sch_netem.c) makes them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultsSpec {
    /// Packets are lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossSpec>,
    /// An ECN-capable packet that would be lost is marked instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
    /// The delay varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterSpec>,
    /// Packets overtake those that are delayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderSpec>,
    /// Packets come twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<ShareSpec>,
    /// A bit of a packet is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<ShareSpec>,
}

/// A share of the packets that a fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShareSpec {
    /// The share.
    pub share: Chance,
    /// Dependence of a draw on the one before.
    pub correlation: Chance,
}

/// The rule that chooses packets to lose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossSpec {
    /// A share of all, each by itself unless they are correlated.
    Random(ShareSpec),
    /// Gilbert and Elliott's chain of two states.
    Gilbert {
        /// Probability of a change from good to bad.
        p: Chance,
        /// Probability of a change from bad to good.
        r: Chance,
        /// Probability that a packet in the bad state arrives.
        h: Chance,
        /// Probability that a packet in the good state is lost.
        one_minus_k: Chance,
    },
    /// A share of all, evenly spaced.
    Regular {
        /// The share.
        share: Chance,
    },
    /// Packets are lost if a bit of their frame is wrong.
    BitErrors {
        /// Probability that a bit is wrong.
        rate: f64,
    },
}

/// Variation of the delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JitterSpec {
    /// Size of one deviation, ns.
    pub deviation_ns: u64,
    /// Dependence of a draw on the one before.
    pub correlation: Chance,
    /// No packet overtakes the one before.
    pub keep_order: bool,
    /// Distribution of the deviations.
    pub shape: JitterShape,
}

/// Distribution of deviations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JitterShape {
    /// All alike, from less by the deviation to more by it.
    Uniform,
    /// A normal distribution.
    Normal,
    /// A Pareto distribution.
    Pareto,
    /// A quarter of a normal and three of a Pareto distribution.
    Paretonormal,
    /// By a table: a deviation is that of an entry over 8192.
    Table(Vec<i16>),
}

/// The rule that chooses packets to overtake others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReorderSpec {
    /// Share of the packets that go at once, among those that may.
    pub share: Chance,
    /// Dependence of a draw on the one before.
    pub correlation: Chance,
    /// One packet in this number may go at once.
    pub gap: u32,
}
