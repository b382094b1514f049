//! Segments out of order: ranges, and the SACK blocks that tell of them (RFC 2018, RFC 2883; Linux 6.12 net/ipv4/tcp_input.c
//! `tcp_data_queue_ofo`, `tcp_sack_new_ofo_skb`).

use std::collections::VecDeque;

use super::charge::Cost;
use super::Receiver;
use crate::attachment::{Blocks, MAX_BLOCKS};
use crate::outbox::Outbox;
use crate::packet::Packet;
use crate::prefetch::prefetch;
use crate::tcp::common::ranges;

/// Blocks remembered.
const SACK_MEMORY: usize = 4;

/// What came before what is missing. Told of every segment out of order and of gaps that close; asked for the blocks of each ACK.
#[derive(Clone, Debug)]
pub(super) struct OutOfOrder {
    /// Sorted; and what their segments are charged, bytes.
    ranges: VecDeque<(u32, u32)>,
    charged: u64,
    /// The most recent ranges first.
    recent: Vec<(u32, u32)>,
    /// A segment that came twice and is not reported yet.
    duplicate: Option<(u32, u32)>,
}

impl OutOfOrder {
    /// Nothing is missing.
    pub fn new() -> Self {
        Self { ranges: VecDeque::new(), charged: 0, recent: Vec::with_capacity(SACK_MEMORY + 1), duplicate: None }
    }

    /// Loads ahead where the ranges lie.
    pub fn prefetch(&self) {
        self.ranges.front().into_iter().chain(self.recent.first()).for_each(prefetch);
    }

    /// Nothing came before what is missing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// What the segments are charged that wait for what is missing, bytes.
    #[inline]
    pub fn charged(&self) -> u64 {
        self.charged
    }

    /// An ACK has no blocks.
    pub fn has_nothing_to_report(&self) -> bool {
        self.recent.is_empty() && self.duplicate.is_none()
    }

    /// Takes in a segment; false if it is there already.
    pub fn insert(&mut self, seq: u32, cost: &Cost) -> bool {
        if let Some(last) = self.ranges.back_mut().filter(|last| last.1 == seq) {
            self.charged += cost.behind(last.1 - last.0);
            last.1 += 1;
            return true;
        }
        let at = self.ranges.partition_point(|&(_, end)| end < seq);
        let run = self.ranges.get(at).filter(|&&(_, end)| end == seq).map_or(0, |&(start, end)| end - start);
        let new = ranges::insert(&mut self.ranges, seq);
        if new {
            self.charged += cost.behind(run);
        }
        new
    }

    /// True if the next block would push one out that no ACK has shown yet.
    pub fn forgets_for(&self, seq: u32) -> bool {
        let touches = |b: &(u32, u32)| seq <= b.1 && b.0 <= seq + 1;
        self.recent.iter().position(touches).unwrap_or(self.recent.len()) >= MAX_BLOCKS
    }

    /// The block with segment `seq` is the most recent one.
    pub fn remember(&mut self, seq: u32) {
        ranges::put_first(&mut self.recent, seq, SACK_MEMORY);
    }

    /// What is missing has come up to `next`: returns the range that follows without a gap, and what it was charged. A range that grew
    /// at its lower end has more heads than is counted here; the last one takes what is left.
    pub fn close_gap(&mut self, next: u32, cost: &Cost) -> Option<(u32, u32, u64)> {
        let &(start, end) = self.ranges.front()?;
        let closed = start <= next;
        let mut charged = 0;
        if closed {
            self.ranges.pop_front();
            charged = if self.ranges.is_empty() { self.charged } else { cost.run(end - start).min(self.charged) };
            self.charged -= charged;
        }
        let next = if closed { end } else { next };
        self.recent.retain(|&(start, _)| start > next);
        closed.then_some((start, end, charged))
    }

    /// Segment `seq` came again: the next ACK reports it.
    pub fn report_duplicate(&mut self, seq: u32) {
        self.duplicate = Some((seq, seq + 1));
    }

    /// Another segment came: what was not reported is not reported any more.
    pub fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// The blocks of an ACK, if it has any.
    #[inline]
    pub fn take_blocks(&mut self) -> Option<Blocks> {
        if self.has_nothing_to_report() {
            return None;
        }
        let recent = |i: usize| self.recent.get(i).copied().unwrap_or_default();
        let (ranges, count) = match self.duplicate.take() {
            Some(duplicate) => ([duplicate, recent(0), recent(1)], 1 + self.recent.len()),
            None => ([recent(0), recent(1), recent(2)], self.recent.len()),
        };
        Some(Blocks { ranges, count: count.min(MAX_BLOCKS) as u8 })
    }
}

impl Receiver {
    pub(super) fn out_of_order(&mut self, p: &Packet, out: &mut impl Outbox) {
        let seq = p.seq;
        self.on_codepoint(p.ecn(), self.rcv_nxt, out);
        self.delay.schedule();
        self.pushed |= self.ends_write(p);
        let charged_before = self.early.charged();
        if !self.early.insert(seq, &self.kernel.cost) {
            self.counters.duplicates += 1;
            self.early.report_duplicate(seq);
            return;
        }
        self.buffer.measure();
        // The segment is charged after that (`tcp_data_queue_ofo`).
        if self.kernel.widens_out_of_order && self.buffer.grow(charged_before) {
            self.delay.grant_odd();
        }
        if self.early.forgets_for(seq) {
            self.flush_compressed(out);
        }
        self.early.remember(seq);
    }
}
