//! The counters of a class, with the distribution of its sojourn times.

use crate::time::Time;

/// Buckets to a doubling of the time, as a power of two: the width of a bucket is at most 1/32 of its times.
const FINE: u32 = 5;
/// Buckets: of times below 2^41 ns (36 minutes), which longer ones share the last of.
const BUCKETS: usize = (41 - FINE as usize + 1) << FINE;

/// Sojourn times, counted in buckets that are wider for longer times.
#[derive(Clone, Debug)]
pub(super) struct Sojourns {
    counts: Box<[u64; BUCKETS]>,
    count: u64,
    sum: u64,
    most: Time,
    last: Option<Time>,
}

impl Default for Sojourns {
    fn default() -> Self {
        Self { counts: Box::new([0; BUCKETS]), count: 0, sum: 0, most: 0, last: None }
    }
}

fn bucket(time: Time) -> usize {
    let shift = (Time::BITS - time.leading_zeros()).saturating_sub(FINE + 1);
    let index = ((shift as usize) << FINE) + (time >> shift) as usize;
    index.min(BUCKETS - 1)
}

/// The middle of a bucket.
fn middle(bucket: usize) -> f64 {
    let (shift, rest) = ((bucket >> FINE).saturating_sub(1), bucket & ((1 << FINE) - 1));
    let base = if bucket >> FINE == 0 { rest } else { rest + (1 << FINE) };
    let width = (1_u64 << shift) as f64;
    base as f64 * width + (width - 1.0) / 2.0
}

impl Sojourns {
    /// A packet waited for this time.
    #[inline]
    pub fn add(&mut self, time: Time) {
        self.counts[bucket(time)] += 1;
        self.count += 1;
        self.sum += time;
        self.most = self.most.max(time);
        self.last = Some(time);
    }

    /// The time of the last packet, ns; none of no packet.
    pub fn last(&self) -> Option<Time> {
        self.last
    }

    /// The number of packets.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean, ns; none of no packet.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The time below which `per_mille` thousandths of them lie, within a bucket, ns; none of no packet.
    pub fn quantile(&self, per_mille: u64) -> Option<f64> {
        let wanted = (self.count * per_mille).div_ceil(1000).max(1);
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Some(middle(found).min(self.most as f64))
    }

    /// The longest, ns; none of no packet.
    pub fn most(&self) -> Option<f64> {
        (self.count > 0).then_some(self.most as f64)
    }
}

/// The counters of a class.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub arrived_packets: u64,
    pub arrived_bytes: u64,
    pub dropped: u64,
    /// Marks by the coupled probability, and by the class's own delay.
    pub coupled_marks: u64,
    pub step_marks: u64,
    pub sojourns: Sojourns,
}

#[cfg(test)]
mod tests {
    use super::{bucket, middle, Sojourns, BUCKETS, FINE};

    #[test]
    fn buckets_are_narrow_and_in_order() {
        assert_eq!((0..64).map(bucket).collect::<Vec<_>>(), (0..64).collect::<Vec<_>>());
        let mut before = 0;
        for power in 6..41 {
            for part in 0..32 {
                let time = (1_u64 << power) + (part << (power - FINE));
                let here = bucket(time);
                assert_eq!(here, before.max(here), "{time}");
                let error = (middle(here) / time as f64 - 1.0).abs();
                assert!(error < 1.0 / 32.0, "{time}: {error}");
                before = here;
            }
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_of_a_uniform_distribution() {
        let mut sojourns = Sojourns::default();
        assert_eq!((sojourns.mean(), sojourns.quantile(500), sojourns.most()), (None, None, None));
        (0..10_000).for_each(|i| sojourns.add(i * 100));
        assert_eq!((sojourns.mean(), sojourns.most()), (Some(499_950.0), Some(999_900.0)));
        for (per_mille, expected) in [(500, 5e5), (950, 9.5e5), (990, 9.9e5)] {
            let found = sojourns.quantile(per_mille).unwrap();
            assert!((found / expected - 1.0).abs() < 0.035, "{per_mille}: {found}");
        }
    }
}
