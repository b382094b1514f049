//! Ranges of sequence numbers that wait for their ACK. Most connections have none of them or one, which takes no room of its own.

use std::collections::BTreeMap;

/// A range that waits for its ACK.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// The number after it.
    pub end: i64,
    /// Time of the last transmission, ns.
    pub time_ns: i64,
    /// Number of retransmissions.
    pub again: u32,
}

/// Sorted, disjoint ranges by their start.
#[derive(Debug, Default)]
pub enum Waiting {
    #[default]
    None,
    One(i64, Segment),
    /// Boxed, so that the others are small.
    #[expect(clippy::box_collection, reason = "half of the room in a connection without many")]
    Many(Box<BTreeMap<i64, Segment>>),
}

impl Waiting {
    /// True if there are more than one.
    pub fn is_many(&self) -> bool {
        matches!(self, Self::Many(_))
    }

    /// Adds a range that overlaps none.
    pub fn insert(&mut self, start: i64, segment: Segment) {
        match self {
            Self::None => *self = Self::One(start, segment),
            Self::One(first, one) => *self = Self::Many(Box::new(BTreeMap::from([(*first, *one), (start, segment)]))),
            Self::Many(all) => drop(all.insert(start, segment)),
        }
    }

    /// The range that starts there.
    pub fn get_mut(&mut self, start: i64) -> Option<&mut Segment> {
        match self {
            Self::None => None,
            Self::One(first, one) => (*first == start).then_some(one),
            Self::Many(all) => all.get_mut(&start),
        }
    }

    /// Return when the range that starts there was sent last.
    pub fn sent_ns(&self, start: i64) -> Option<i64> {
        match self {
            Self::None => None,
            Self::One(first, one) => (*first == start).then_some(one.time_ns),
            Self::Many(all) => all.get(&start).map(|segment| segment.time_ns),
        }
    }

    /// The first range that ends behind `place`.
    pub fn next_from(&self, place: i64) -> Option<(i64, i64)> {
        match self {
            Self::None => None,
            Self::One(first, one) => (one.end > place).then_some((*first, one.end)),
            Self::Many(all) => {
                let at = all.range(..=place).next_back().filter(|range| range.1.end > place);
                let range = at.or_else(|| all.range(place + 1..).next());
                range.map(|(start, segment)| (*start, segment.end))
            }
        }
    }

    /// Takes out the first range, if `which` holds of it.
    pub fn pop_first_if(&mut self, which: impl FnOnce(i64, &Segment) -> bool) -> Option<(i64, Segment)> {
        match self {
            Self::None => None,
            Self::One(start, segment) => {
                let found = (*start, *segment);
                which(found.0, &found.1).then(|| {
                    *self = Self::None;
                    found
                })
            }
            Self::Many(all) => {
                let found = all.first_entry().filter(|entry| which(*entry.key(), entry.get()))?.remove_entry();
                if all.is_empty() {
                    *self = Self::None;
                }
                Some(found)
            }
        }
    }
}
