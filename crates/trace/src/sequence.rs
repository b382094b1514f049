//! The sequence numbers that one end of a connection has sent, unwrapped to 64 bits.

use std::collections::BTreeMap;

/// A sequence number stands for the unwrapped number within this of the highest so far. No TCP has as much in flight.
const HALF: i64 = 1 << 31;

/// Sorted, disjoint, half-open ranges of unwrapped sequence numbers. What lies more than 2^31 below the highest number is forgotten, since
/// no later packet can mean it.
#[derive(Debug, Default)]
pub struct SentRanges {
    /// The 32-bit sequence number that is unwrapped to 0; None before the first range.
    origin: Option<u32>,
    /// The highest range.
    highest: (i64, i64),
    /// The other ranges, start -> end; most connections have none.
    #[expect(clippy::box_collection, reason = "two thirds of the room in a connection without any")]
    lower: Option<Box<BTreeMap<i64, i64>>>,
}

impl SentRanges {
    /// The end of the highest range; 0 before the first.
    pub fn top(&self) -> i64 {
        self.highest.1
    }

    /// The unwrapped number that `seq` means: the one closest to [`SentRanges::top`]. None before the first range.
    pub fn unwrap(&self, seq: u32) -> Option<i64> {
        let top = self.origin?.wrapping_add(self.top() as u32);
        Some(self.top() + i64::from(seq.wrapping_sub(top) as i32))
    }

    /// Adds the `length` sequence numbers from `seq` on. Returns the unwrapped `seq`, and how many of the numbers are new.
    pub fn add(&mut self, seq: u32, length: u32) -> (i64, u32) {
        let Some(start) = self.unwrap(seq) else {
            self.origin = Some(seq);
            self.highest = (0, i64::from(length));
            return (0, length);
        };
        let end = start + i64::from(length);
        if start > self.highest.1 {
            let below = std::mem::replace(&mut self.highest, (start, end));
            let lower = self.lower.get_or_insert_default();
            lower.insert(below.0, below.1);
            while lower.first_entry().is_some_and(|range| *range.get() < end - HALF) {
                lower.pop_first();
            }
            return (start, length);
        }
        let overlap = |range: (i64, i64)| (range.1.min(end) - range.0.max(start)).max(0);
        let (mut covered, mut merged) = (0, (start, end));
        let touches_highest = end >= self.highest.0;
        if touches_highest {
            covered += overlap(self.highest);
            merged = (start.min(self.highest.0), end.max(self.highest.1));
        }
        if let Some(lower) = &mut self.lower {
            // Each range that is merged here was added once, so the loop costs every packet O(log n) on average.
            while let Some((&from, &to)) = lower.range(..=end).next_back().filter(|range| *range.1 >= start) {
                covered += overlap((from, to));
                merged = (merged.0.min(from), merged.1.max(to));
                lower.remove(&from);
            }
        }
        if touches_highest {
            self.highest = merged;
        } else {
            self.lower.get_or_insert_default().insert(merged.0, merged.1);
        }
        if self.lower.as_ref().is_some_and(|lower| lower.is_empty()) {
            self.lower = None;
        }
        (start, (i64::from(length) - covered) as u32)
    }
}
