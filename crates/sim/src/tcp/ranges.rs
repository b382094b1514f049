//! Ranges of segments that arrived out of order: sorted, apart from each other, `[start, end)`.

use std::collections::VecDeque;

/// Adds a segment; false if it was there.
pub(super) fn insert(ranges: &mut VecDeque<(u32, u32)>, seq: u32) -> bool {
    let at = ranges.partition_point(|&(_, end)| end < seq);
    match ranges.get_mut(at) {
        Some(run) if run.0 <= seq && seq < run.1 => return false,
        Some(run) if run.1 == seq => {
            run.1 += 1;
            if ranges.get(at + 1).is_some_and(|next| next.0 == seq + 1) {
                ranges[at].1 = ranges[at + 1].1;
                ranges.remove(at + 1);
            }
        }
        Some(run) if run.0 == seq + 1 => run.0 = seq,
        _ => ranges.insert(at, (seq, seq + 1)),
    }
    true
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, VecDeque};

    use proptest::prelude::*;

    use super::insert;

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
