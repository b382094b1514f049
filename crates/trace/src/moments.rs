//! Minimum, mean, maximum, deviation and percentiles of a stream of times, in little memory.

/// Bits of a value that its bucket keeps: percentiles are off by at most 2^-8 of themselves.
const BITS: u32 = 7;

/// The moments of times in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    /// The minimum, ns.
    pub min_ns: i64,
    /// The maximum, ns.
    pub max_ns: i64,
    sum: f64,
    squares: f64,
}

impl Moments {
    /// Takes in a time.
    pub fn add(&mut self, ns: i64) {
        if self.count == 0 {
            (self.min_ns, self.max_ns) = (ns, ns);
        }
        (self.min_ns, self.max_ns) = (self.min_ns.min(ns), self.max_ns.max(ns));
        self.count += 1;
        self.sum += ns as f64;
        self.squares += (ns as f64).powi(2);
    }

    /// The mean, ns; None without times.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// The standard deviation of the times as a sample, ns; 0 of fewer than three, as tcptrace has it.
    #[must_use]
    pub fn deviation_ns(&self) -> f64 {
        if self.count < 3 {
            return 0.0;
        }
        let n = self.count as f64;
        ((self.squares - self.sum * self.sum / n) / (n - 1.0)).max(0.0).sqrt()
    }
}

/// Number of times that each value occurred, to 1/128 of it.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Bucket and count, in order of the buckets. There are at most 7,424, and only those that occur take room.
    buckets: Vec<(u16, u32)>,
}

impl Histogram {
    /// Takes in a value, which is not negative.
    pub fn add(&mut self, value: i64) {
        let bucket = bucket(value.max(0) as u64);
        match self.buckets.binary_search_by_key(&bucket, |each| each.0) {
            Ok(at) => self.buckets[at].1 = self.buckets[at].1.saturating_add(1),
            Err(at) => {
                // Most connections have few samples: room is made one by one at first.
                if self.buckets.len() < 8 {
                    self.buckets.reserve_exact(1);
                }
                self.buckets.insert(at, (bucket, 1));
            }
        }
    }

    /// The value below which the share `q` of them lies, in the middle of its bucket; None without values.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let total: u64 = self.buckets.iter().map(|each| u64::from(each.1)).sum();
        let wanted = (q * total as f64).ceil().max(1.0) as u64;
        let mut passed = 0;
        self.buckets.iter().find_map(|&(bucket, count)| {
            passed += u64::from(count);
            (passed >= wanted).then(|| middle(bucket))
        })
    }
}

fn bucket(value: u64) -> u16 {
    let shift = (64 - value.leading_zeros()).saturating_sub(BITS + 1);
    // At a shift above 0 the highest of the bits that are kept is set.
    (u64::from(shift << BITS) + (value >> shift)) as u16
}

fn middle(bucket: u16) -> f64 {
    let (bucket, half) = (u64::from(bucket), 1 << BITS);
    if bucket < 2 * half {
        return bucket as f64;
    }
    let shift = bucket / half - 1;
    ((bucket - shift * half) << shift) as f64 + ((1_u64 << shift) - 1) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bucket_holds_what_is_near_its_middle(value in 0_i64..i64::MAX) {
            let found = middle(bucket(value as u64));
            prop_assert!((found - value as f64).abs() <= value as f64 / 256.0 + 1e-9, "{} {}", value, found);
        }

        #[test]
        fn quantiles_are_those_of_the_sorted_values(mut values in prop::collection::vec(0_i64..1_000_000_000, 1..200), q in 0.0..1.0_f64) {
            let mut all = Histogram::default();
            values.iter().for_each(|value| all.add(*value));
            values.sort_unstable();
            let exact = values[((q * values.len() as f64).ceil().max(1.0) as usize) - 1] as f64;
            let found = all.quantile(q).unwrap();
            prop_assert!((found - exact).abs() <= exact / 256.0 + 1e-9, "{} {}", exact, found);
        }

        #[test]
        fn moments_are_those_of_all_values(values in prop::collection::vec(0_i64..1_000_000_000, 3..100)) {
            let mut found = Moments::default();
            values.iter().for_each(|value| found.add(*value));
            let mean = values.iter().sum::<i64>() as f64 / values.len() as f64;
            let variance = values.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64;
            prop_assert_eq!(found.min_ns, *values.iter().min().unwrap());
            prop_assert!((found.mean_ns().unwrap() - mean).abs() < 1e-3);
            prop_assert!((found.deviation_ns() - variance.sqrt()).abs() < 1.0 + 1e-6 * variance.sqrt());
        }
    }
}
