//! Classes: packets that a discipline treats alike and apart from others, such as those of a tin of cake. Each has counters of its own.

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
}
