//! Counts of each tin, as `tc -s` shows them (Linux 6.12 net/sched/sch_cake.c, `cake_dump_stats`).

use super::Tin;
use crate::qdisc::ClassTotals;
use crate::time::Duration;

/// A mean of delays that moves by a power of two's part of each.
pub(super) fn moved(mean: u64, sample: u64, shift: u32) -> u64 {
    mean - (mean >> shift) + (sample >> shift)
}

/// Counts of a tin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// Packets and bytes offered.
    pub packets: u64,
    pub bytes: u64,
    /// Packets dropped, by the AQM or for want of room.
    pub drops: u64,
    /// ACKs that a later one made needless.
    pub ack_drops: u64,
    delays: Delays,
}

/// Moving means of how long packets waited, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Delays {
    average: u64,
    /// Follows longer ones faster.
    peak: u64,
    /// Follows shorter ones faster.
    base: u64,
}

impl Counters {
    /// A packet leaves that waited for `sojourn`.
    pub fn note_delay(&mut self, sojourn: Duration) {
        let Delays { average, peak, base } = self.delays;
        self.delays = Delays {
            average: moved(average, sojourn, 8),
            peak: moved(peak, sojourn, if sojourn > peak { 2 } else { 8 }),
            base: moved(base, sojourn, if sojourn < base { 2 } else { 8 }),
        };
    }
}

/// Totals that a tin has beside those of every [class](ClassTotals). It is wide because it is part of a row of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TinTotals {
    /// The part of the rate on which it has first claim, bit/s; 0 without a rate.
    pub threshold_bps: u64,
    /// COBALT's target and interval, ns.
    pub target: Duration,
    /// COBALT's interval, ns.
    pub interval: Duration,
    /// ACKs that were filtered.
    pub ack_drops: u64,
    /// Moving mean of sojourn times that follows long ones fast, ns.
    pub peak_delay: Duration,
    /// Moving mean of sojourn times, ns.
    pub average_delay: Duration,
    /// Moving mean of sojourn times that follows short ones fast, ns.
    pub base_delay: Duration,
    /// Queues with little to send, with those that only decay.
    pub sparse_flows: u64,
    /// Queues that always have something to send.
    pub bulk_flows: u64,
    /// Queues that BLUE drops of.
    pub unresponsive_flows: u64,
    /// The bytes that a queue may send a round if it is alone.
    pub flow_quantum: u32,
}

impl Tin {
    /// Return the totals.
    pub(super) fn totals(&self, name: &'static str) -> ClassTotals {
        let (cake, counters) = (&self.cake, &self.counters);
        let tin = TinTotals {
            threshold_bps: self.rate.unwrap_or(0) * 8,
            target: cake.cobalt.target,
            interval: cake.cobalt.interval,
            ack_drops: counters.ack_drops,
            peak_delay: counters.delays.peak,
            average_delay: counters.delays.average,
            base_delay: counters.delays.base,
            sparse_flows: cake.drr.sparse_flows(),
            bulk_flows: cake.drr.bulk_flows(),
            unresponsive_flows: cake.drr.queues.iter().filter(|q| q.cobalt.is_unresponsive()).count() as u64,
            flow_quantum: cake.drr.quantum(),
        };
        ClassTotals {
            name,
            arrived_packets: counters.packets,
            arrived_bytes: counters.bytes,
            dropped: counters.drops,
            ce_marks: cake.stats.ce_marks,
            sce_marks: cake.stats.sce_marks,
            backlog_bytes: cake.bytes,
            tin: Some(tin),
            delays: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Counters;

    #[test]
    fn delays_move_as_the_kernels_do() {
        let mut counters = Counters::default();
        // From 0: the peak takes a quarter of a longer delay, the others 1/256 of it.
        counters.note_delay(1_024_000);
        assert_eq!((counters.delays.average, counters.delays.peak, counters.delays.base), (4_000, 256_000, 4_000));
        // 4000 - 15 + 8; 256000 - 1000 + 8; 4000 - 1000 + 512.
        counters.note_delay(2_048);
        assert_eq!((counters.delays.average, counters.delays.peak, counters.delays.base), (3_993, 255_008, 3_512));
    }
}
