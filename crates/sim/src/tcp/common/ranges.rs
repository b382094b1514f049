//! Ranges of segments, `[start, end)`: in order and apart from each other, or the latest first as SACK blocks are.

use std::collections::VecDeque;

/// Adds `[start, end)` to ranges in order.
#[inline]
pub(in crate::tcp) fn add(ranges: &mut VecDeque<(u32, u32)>, start: u32, end: u32) {
    match ranges.back_mut() {
        Some(last) if start > last.1 => return ranges.push_back((start, end)),
        Some(last) if start >= last.0 => {
            last.1 = last.1.max(end);
            return;
        }
        _ => {}
    }
    let from = ranges.partition_point(|&(_, e)| e < start);
    let to = ranges.partition_point(|&(s, _)| s <= end);
    if from == to {
        ranges.insert(from, (start, end));
    } else {
        let merged = (ranges[from].0.min(start), ranges[to - 1].1.max(end));
        ranges[from] = merged;
        ranges.drain(from + 1..to);
    }
}

/// Adds the segment `[start, end)` to ranges in order; false if it was there.
#[inline]
pub(in crate::tcp) fn insert(ranges: &mut VecDeque<(u32, u32)>, start: u32, end: u32) -> bool {
    match ranges.back_mut() {
        Some(last) if last.1 == start => last.1 = end,
        Some(last) if last.1 > start => return insert_below(ranges, start, end),
        _ => ranges.push_back((start, end)),
    }
    true
}

/// Adds a segment that begins below the end of the last range; false if it was there.
#[inline(never)]
fn insert_below(ranges: &mut VecDeque<(u32, u32)>, start: u32, end: u32) -> bool {
    let at = ranges.partition_point(|&(s, _)| s <= start);
    if at.checked_sub(1).is_some_and(|i| ranges[i].1 >= end) {
        return false;
    }
    add(ranges, start, end);
    true
}

/// The part of `[start, end)` that lies in sorted ranges, from the first piece to the last; `None` if no piece does.
pub(in crate::tcp) fn overlap(ranges: &VecDeque<(u32, u32)>, start: u32, end: u32) -> Option<(u32, u32)> {
    let from = ranges.partition_point(|&(_, e)| e <= start);
    let to = ranges.partition_point(|&(s, _)| s < end);
    (from < to).then(|| (ranges[from].0.max(start), ranges[to - 1].1.min(end)))
}

/// The ranges that were added to last, the latest first, at most `N`. What is not in use is empty: as segments count from 1, none touches it, and
/// no look for a range needs to know how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) struct Latest<const N: usize> {
    ranges: [(u32, u32); N],
    len: usize,
}

impl<const N: usize> Latest<N> {
    /// None.
    pub const fn new() -> Self {
        Self { ranges: [(0, 0); N], len: 0 }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All, those that are not in use behind the others.
    #[inline]
    pub fn all(&self) -> &[(u32, u32); N] {
        &self.ranges
    }

    #[inline]
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.ranges[..self.len]
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// Forgets those that do not begin above `next`.
    pub fn keep_above(&mut self, next: u32) {
        let before = *self;
        self.clear();
        for &range in before.as_slice().iter().filter(|&&(start, _)| start > next) {
            self.ranges[self.len] = range;
            self.len += 1;
        }
    }

    /// The first range that touches `[start, end)` reaches over it from now on, and stays where it is.
    pub fn extend(&mut self, start: u32, end: u32) {
        let touches = |range: &&mut (u32, u32)| start <= range.1 && range.0 <= end;
        if let Some(range) = self.ranges.iter_mut().find(touches) {
            *range = (range.0.min(start), range.1.max(end));
        }
    }

    /// Puts the range of segment `seq` first, joined with those that it touches.
    #[inline]
    pub fn put_first(&mut self, seq: u32) {
        self.put_range_first(seq, seq + 1);
    }

    /// Puts the range with `[start, end)` first, joined with those that it touches.
    #[inline]
    pub fn put_range_first(&mut self, start: u32, end: u32) {
        // Usually the latest range goes on, and does not reach another one.
        let reaches = self.ranges.iter().fold(false, |reaches, &(s, e)| reaches | (s <= end && e > start));
        if self.ranges[0].1 == start && !reaches {
            self.ranges[0].1 = end;
        } else {
            self.put_another_first(start, end);
        }
    }

    #[inline(never)]
    fn put_another_first(&mut self, start: u32, end: u32) {
        let before = *self;
        let mut head = (start, end);
        *self = Self { len: 1, ..Self::new() };
        for &(start, end) in before.as_slice() {
            if start <= head.1 && head.0 <= end {
                head = (head.0.min(start), head.1.max(end));
            } else if self.len < N {
                self.ranges[self.len] = (start, end);
                self.len += 1;
            }
        }
        self.ranges[0] = head;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, VecDeque};

    use proptest::prelude::*;

    use super::{insert, Latest};

    #[test]
    fn the_latest_range_comes_first_with_what_it_touches() {
        let mut latest = Latest::<4>::new();
        assert!(latest.is_empty());
        for seq in [10, 20, 30, 11, 21, 12, 40, 50] {
            latest.put_first(seq);
        }
        assert_eq!((latest.all(), latest.len()), (&[(50, 51), (40, 41), (10, 13), (20, 22)], 4));
        latest.put_first(41);
        assert_eq!(latest.all(), &[(40, 42), (50, 51), (10, 13), (20, 22)]);
        for seq in [14, 13] {
            latest.put_first(seq);
        }
        assert_eq!((latest.all(), latest.len()), (&[(10, 15), (40, 42), (50, 51), (0, 0)], 3));
        latest.keep_above(10);
        assert_eq!((latest.all(), latest.len()), (&[(40, 42), (50, 51), (0, 0), (0, 0)], 2));
    }

    proptest! {
        #[test]
        fn ranges_hold_what_was_added_and_never_touch(seqs in prop::collection::vec(0..60_u32, 1..100)) {
            let (mut ranges, mut model) = (VecDeque::new(), BTreeSet::new());
            for seq in seqs {
                prop_assert_eq!(insert(&mut ranges, seq, seq + 1), model.insert(seq));
                let held = ranges.iter().flat_map(|&(start, end)| start..end);
                prop_assert!(held.eq(model.iter().copied()));
                prop_assert!(ranges.iter().zip(ranges.iter().skip(1)).all(|(a, b)| a.1 < b.0));
            }
        }
    }
}
