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

/// Adds a segment to ranges in order; false if it was there.
#[inline]
pub(in crate::tcp) fn insert(ranges: &mut VecDeque<(u32, u32)>, seq: u32) -> bool {
    match ranges.back_mut() {
        Some(last) if last.1 == seq => last.1 += 1,
        Some(last) if last.1 > seq => return insert_below(ranges, seq),
        _ => ranges.push_back((seq, seq + 1)),
    }
    true
}

/// Adds a segment that lies below the end of the last range; false if it was there.
#[inline(never)]
fn insert_below(ranges: &mut VecDeque<(u32, u32)>, seq: u32) -> bool {
    let at = ranges.partition_point(|&(start, _)| start <= seq);
    let continues = match at.checked_sub(1).map(|i| ranges[i].1) {
        Some(end) if end > seq => return false,
        before => before == Some(seq),
    };
    let reaches = ranges.get(at).is_some_and(|&(start, _)| start == seq + 1);
    match (continues, reaches) {
        (true, true) => {
            ranges[at - 1].1 = ranges[at].1;
            ranges.remove(at);
        }
        (true, false) => ranges[at - 1].1 += 1,
        (false, true) => ranges[at].0 = seq,
        (false, false) => ranges.insert(at, (seq, seq + 1)),
    }
    true
}

/// Puts the range of a segment first among the latest `most`, joined with those that it touches.
pub(in crate::tcp) fn put_first(latest: &mut Vec<(u32, u32)>, seq: u32, most: usize) {
    // Usually the latest range goes on, and does not reach another one.
    if let Some((first, others)) = latest.split_first_mut() {
        if first.1 == seq && others.iter().all(|&(start, _)| start != seq + 1) {
            first.1 += 1;
            return;
        }
    }
    let mut head = (seq, seq + 1);
    latest.retain(|&(start, end)| {
        let joins = start <= head.1 && head.0 <= end;
        if joins {
            head = (head.0.min(start), head.1.max(end));
        }
        !joins
    });
    latest.truncate(most - 1);
    latest.insert(0, head);
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, VecDeque};

    use proptest::prelude::*;

    use super::{insert, put_first};

    #[test]
    fn the_latest_range_comes_first_with_what_it_touches() {
        let mut latest = vec![];
        for seq in [10, 20, 30, 11, 21, 12, 40, 50] {
            put_first(&mut latest, seq, 4);
        }
        assert_eq!(latest, [(50, 51), (40, 41), (10, 13), (20, 22)]);
        put_first(&mut latest, 41, 4);
        assert_eq!(latest, [(40, 42), (50, 51), (10, 13), (20, 22)]);
        for seq in [14, 13] {
            put_first(&mut latest, seq, 4);
        }
        assert_eq!(latest, [(10, 15), (40, 42), (50, 51)]);
    }

    proptest! {
        #[test]
        fn ranges_hold_what_was_added_and_never_touch(seqs in prop::collection::vec(0..60_u32, 1..100)) {
            let (mut ranges, mut model) = (VecDeque::new(), BTreeSet::new());
            for seq in seqs {
                prop_assert_eq!(insert(&mut ranges, seq), model.insert(seq));
                let held = ranges.iter().flat_map(|&(start, end)| start..end);
                prop_assert!(held.eq(model.iter().copied()));
                prop_assert!(ranges.iter().zip(ranges.iter().skip(1)).all(|(a, b)| a.1 < b.0));
            }
        }
    }
}
