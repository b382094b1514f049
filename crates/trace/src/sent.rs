//! Data that one end of a connection has sent and the other acknowledged, as ranges of sequence numbers, unwrapped to 64 bits.
//!
//! The rules are tcptrace's (rexmit.c of 6.6.7). Data that overlap a range that was seen are retransmitted. Data below a range that was
//! seen, and that do not cover it as a whole, are out of order. The ACK that ends exactly where a segment ends gives its RTT, unless the
//! segment was retransmitted (ambiguous) or one below it was sent after it. Ranges that are acknowledged and touch are one. So the state
//! holds the ranges that wait for their ACK, and a range for each hole that the capture has (at most [`MOST_HOLES`], and nothing 2^31 below
//! the highest number). Unlike in tcptrace the numbers do not fall into quadrants, which cost tcptrace the RTT of a segment at each
//! boundary of 2^30.

use std::collections::BTreeMap;

use crate::waiting::{Segment, Waiting};

/// A sequence number stands for the unwrapped number within this of the highest so far. No TCP has as much in flight.
const HALF: i64 = 1 << 31;
/// Holes that are remembered below the highest ACK; of more, the lowest counts as filled.
const MOST_HOLES: usize = 1024;

/// Effect of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// The unwrapped number of its first.
    pub start: i64,
    /// Sequence numbers that were sent before.
    pub again: u32,
    /// True if it lies below the highest number seen, at least in part.
    pub out_of_order: bool,
    /// For how long the range above it had been seen, if it is out of order, ns.
    pub late_ns: i64,
    /// If it was sent before and waited: the time since, ns, and its number of retransmissions.
    pub gap: Option<(i64, u32)>,
}

/// The RTT that an ACK gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// A segment of this many sequence numbers, sent once, answered after this time, ns.
    Rtt(i64, u32),
    /// The segment was sent more than once; the time since the last, ns.
    Ambiguous(i64),
    /// Something below the segment was retransmitted after it.
    PostLoss,
}

/// Effect of an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// The ACK ends a segment.
    pub sample: Option<Sample>,
    /// Segments that it acknowledges besides.
    pub cumulative: u32,
    /// It acknowledges something for the first time.
    pub new: bool,
    /// It ends where an earlier ACK did.
    pub repeats: bool,
}

/// Sorted, disjoint, half-open ranges of unwrapped sequence numbers.
#[derive(Debug, Default)]
pub struct Sent {
    /// The 32-bit sequence number that is unwrapped to 0; None before the first range.
    origin: Option<u32>,
    /// The end of the highest range.
    top: i64,
    /// The highest range that is acknowledged; empty before the first ACK.
    acked: (i64, i64),
    /// Latest time at which a part of the acknowledged data was sent, ns.
    acked_ns: i64,
    /// ACKs that ended where `acked` does, since one came that is no duplicate (1 is the first).
    pub repeated: u32,
    /// Acknowledged ranges below `acked`: the capture has holes between them. None in most connections.
    #[expect(clippy::box_collection, reason = "two thirds of the room in a connection without any")]
    lower: Option<Box<BTreeMap<i64, i64>>>,
    /// Segments that wait for their ACK.
    waiting: Waiting,
}

/// Kind of a range.
#[derive(Clone, Copy)]
enum Kind {
    Acked,
    Lower,
    Waiting,
}

impl Sent {
    /// The end of the highest range; 0 before the first.
    pub fn top(&self) -> i64 {
        self.top
    }

    /// True once there is a range.
    pub fn begun(&self) -> bool {
        self.origin.is_some()
    }

    /// The unwrapped number that `seq` means: the one closest to [`Sent::top`]. None before the first range.
    pub fn unwrap(&self, seq: u32) -> Option<i64> {
        let top = self.origin?.wrapping_add(self.top as u32);
        Some(self.top + i64::from(seq.wrapping_sub(top) as i32))
    }

    /// Adds the `length` sequence numbers from `seq` on, of which there is at least one.
    pub fn add(&mut self, seq: u32, length: u32, time_ns: i64) -> Added {
        let start = match self.unwrap(seq) {
            Some(start) => start,
            None => {
                self.origin = Some(seq);
                0
            }
        };
        let end = start + i64::from(length);
        let mut added = Added { start, ..Added::default() };
        if start >= self.top {
            self.insert(start, end, time_ns);
            self.top = end;
            if self.waiting.is_many() {
                self.forget(end - HALF);
            }
            return added;
        }
        let (mut first, mut split) = (start, false);
        while first < end {
            let Some((kind, (from, to))) = self.next_from(first) else {
                self.insert(first, end, time_ns);
                break;
            };
            if first < from {
                if end < to {
                    added.out_of_order = true;
                    added.late_ns = self.sent_ns(kind, from).map_or(0, |since| (time_ns - since).max(0));
                }
                self.insert(first, end.min(from), time_ns);
                if end <= from {
                    break;
                }
                first = from;
            }
            let gap = self.again(kind, from, time_ns, !split);
            added.gap = added.gap.or(gap);
            added.again += (end.min(to) - first) as u32;
            split = true;
            first = to;
        }
        self.top = self.top.max(end);
        added
    }

    /// Takes in an ACK of everything before the unwrapped number `ack`, at `time_ns`.
    pub fn acknowledge(&mut self, ack: i64, time_ns: i64) -> Acknowledged {
        let mut found = Acknowledged { repeats: self.acked.1 == ack && self.acked.0 < ack, ..Acknowledged::default() };
        if ack > self.acked.1 {
            self.repeated = 1;
        }
        while let Some((start, segment)) = self.waiting.pop_first_if(|start, _| start < ack) {
            if segment.end == ack {
                let elapsed_ns = time_ns - segment.time_ns;
                found.sample = Some(if self.acked_ns > segment.time_ns && self.acked.0 < self.acked.1 {
                    Sample::PostLoss
                } else if segment.again == 0 {
                    Sample::Rtt(elapsed_ns, (segment.end - start) as u32)
                } else {
                    Sample::Ambiguous(elapsed_ns)
                });
            } else {
                found.cumulative += 1;
            }
            found.new = true;
            self.acked_ns =
                if self.acked.0 < self.acked.1 { self.acked_ns.max(segment.time_ns) } else { segment.time_ns };
            self.join(start, segment.end);
        }
        if found.new && !found.repeats {
            self.repeated = 1;
        }
        found
    }

    /// Adds an acknowledged range.
    fn join(&mut self, start: i64, end: i64) {
        if self.acked.0 == self.acked.1 {
            self.acked = (start, end);
        } else if start == self.acked.1 {
            self.acked.1 = end;
        } else if start > self.acked.1 {
            let below = std::mem::replace(&mut self.acked, (start, end));
            let lower = self.lower.get_or_insert_default();
            lower.insert(below.0, below.1);
            while lower.len() > MOST_HOLES {
                let (lowest, _) = lower.pop_first().expect("has more than a thousand ranges");
                match lower.first_entry() {
                    Some(next) => {
                        let end = next.remove();
                        lower.insert(lowest, end);
                    }
                    None => self.acked.0 = lowest,
                }
            }
        } else {
            self.fill(start, end);
        }
    }

    /// Adds a range to those below the highest acknowledged one.
    fn fill(&mut self, mut start: i64, mut end: i64) {
        let lower = self.lower.get_or_insert_default();
        if let Some((&from, _)) = lower.range(..start).next_back().filter(|range| *range.1 == start) {
            lower.remove(&from);
            start = from;
        }
        if end == self.acked.0 {
            self.acked.0 = start;
        } else {
            if let Some(to) = lower.remove(&end) {
                end = to;
            }
            lower.insert(start, end);
        }
        if lower.is_empty() {
            self.lower = None;
        }
    }

    fn insert(&mut self, start: i64, end: i64, time_ns: i64) {
        self.waiting.insert(start, Segment { end, time_ns, again: 0 });
    }

    /// The first range that ends behind `first`.
    fn next_from(&self, first: i64) -> Option<(Kind, (i64, i64))> {
        let some = self.acked.0 < self.acked.1;
        let mut next = (some && self.acked.1 > first).then_some((Kind::Acked, self.acked));
        let mut consider = |kind, range: Option<(i64, i64)>| {
            if let Some(range) = range.filter(|range| next.is_none_or(|(_, best)| range.0 < best.0)) {
                next = Some((kind, range));
            }
        };
        if let Some(lower) = &self.lower {
            let at = lower.range(..=first).next_back().filter(|range| *range.1 > first);
            consider(Kind::Lower, at.or_else(|| lower.range(first + 1..).next()).map(|range| (*range.0, *range.1)));
        }
        consider(Kind::Waiting, self.waiting.next_from(first));
        next
    }

    /// Return when a range was sent last, if it waits.
    fn sent_ns(&self, kind: Kind, start: i64) -> Option<i64> {
        match kind {
            Kind::Waiting => self.waiting.sent_ns(start),
            Kind::Acked | Kind::Lower => None,
        }
    }

    /// Count a retransmission of a range; `first`: it is the first of those that a packet overlaps. Return [`Added::gap`].
    fn again(&mut self, kind: Kind, start: i64, time_ns: i64, first: bool) -> Option<(i64, u32)> {
        match kind {
            Kind::Acked | Kind::Lower => {
                if first {
                    self.acked_ns = self.acked_ns.max(time_ns);
                }
                None
            }
            Kind::Waiting => {
                let segment = self.waiting.get_mut(start)?;
                segment.again += 1;
                if !first {
                    return None;
                }
                let since_ns = std::mem::replace(&mut segment.time_ns, time_ns);
                Some(((time_ns - since_ns).max(0), segment.again))
            }
        }
    }

    /// Forget the ranges below `least`: no later packet can mean them.
    fn forget(&mut self, least: i64) {
        while self.waiting.pop_first_if(|_, segment| segment.end < least).is_some() {}
        if let Some(lower) = &mut self.lower {
            while lower.first_entry().is_some_and(|range| *range.get() < least) {
                lower.pop_first();
            }
        }
    }
}
