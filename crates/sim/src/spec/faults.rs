//! What a link does to packets beside delaying them.

use serde::{Deserialize, Serialize};

/// A probability as netem has it: 0 is never, `u32::MAX` always.
pub type Chance = u32;

/// What a link does to packets beside delaying them, as Linux's netem (net/sched/sch_netem.c) does it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultsSpec {
    /// Packets are lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossSpec>,
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

/// What befalls a share of the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShareSpec {
    /// How many of them.
    pub share: Chance,
    /// How much a draw depends on the one before.
    pub correlation: Chance,
}

/// Which packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossSpec {
    /// A share of all, each by itself unless they are correlated.
    Random(ShareSpec),
    /// Gilbert and Elliott's chain of two states.
    Gilbert {
        /// From good to bad.
        p: Chance,
        /// From bad to good.
        r: Chance,
        /// Of a packet in the bad state, that it arrives.
        h: Chance,
        /// Of a packet in the good state, that it is lost.
        one_minus_k: Chance,
    },
    /// Those in whose frame a bit is wrong.
    BitErrors {
        /// Of a bit.
        rate: f64,
    },
}

/// How the delay varies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JitterSpec {
    /// By how much, ns.
    pub deviation_ns: u64,
    /// How much a draw depends on the one before.
    pub correlation: Chance,
    /// No packet overtakes the one before.
    pub keep_order: bool,
    /// How likely deviations are.
    pub shape: JitterShape,
}

/// How likely deviations are.
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

/// Which packets overtake others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReorderSpec {
    /// Of the packets that may go at once, how many do.
    pub share: Chance,
    /// How much a draw depends on the one before.
    pub correlation: Chance,
    /// One in so many may go at once.
    pub gap: u32,
}
