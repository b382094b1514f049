//! Classes: packets that a discipline treats alike and apart from others, such as those of a tin of cake or of a queue of dualpi2. Each
//! has counters of its own.

use super::TinTotals;

/// Totals of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassTotals {
    /// Its name, unique in the discipline.
    pub name: &'static str,
    /// Packets offered.
    pub arrived_packets: u64,
    /// Bytes offered.
    pub arrived_bytes: u64,
    /// Packets dropped, but for ACKs that were filtered.
    pub dropped: u64,
    /// Packets marked CE.
    pub ce_marks: u64,
    /// Packets marked SCE.
    pub sce_marks: u64,
    /// Bytes held.
    pub backlog_bytes: u64,
    /// The counters that only a tin of cake has.
    pub tin: Option<TinTotals>,
    /// The counters that only a queue of dualpi2 has.
    pub delays: Option<DelayTotals>,
}

/// Departures from a class and the times that packets waited in it; no times without a departure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelayTotals {
    /// Packets handed on.
    pub sent_packets: u64,
    /// Marks by the class's own delay; the others are coupled to that of another.
    pub step_marks: u64,
    /// Mean sojourn time, ns.
    pub mean: Option<f64>,
    /// Median, ns.
    pub median: Option<f64>,
    /// 99th percentile, ns.
    pub p99: Option<f64>,
    /// The longest, ns.
    pub most: Option<f64>,
}
