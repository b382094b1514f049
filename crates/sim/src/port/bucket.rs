//! Parts that shapers share: the form of their entries in the catalogue, and the bucket of those with tokens.

use crate::catalogue::{Entry, Kind, Parameter, Preset};
use crate::time::SEC;

/// Return the entry of a shaper.
pub(super) const fn entry(
    name: &'static str,
    summary: &'static str,
    parameters: &'static [Parameter],
    since: &'static str,
) -> Entry {
    Entry { since, ..Entry::plain(name, summary, summary, parameters) }
}

/// Return the bucket of a shaper, `beyond_frame` bytes larger than the largest frame by default. No bucket is smaller than the largest frame.
pub(super) const fn burst(beyond_frame: u32) -> Parameter {
    let meaning = "Size of the bucket. It has room for the largest frame at least.";
    let bucket = Parameter::new("burst", Kind::Size, "burst_bytes", meaning).or(Preset::FrameAnd(beyond_frame));
    bucket.at_least(1).example("3kB").tc("burst {}")
}

/// Time that `bytes` take at `rate_bps`, ns, rounded down; saturates well below overflow.
pub(super) fn tokens_for(bytes: u64, rate_bps: u64) -> i64 {
    i64::try_from(u128::from(bytes) * 8 * u128::from(SEC) / u128::from(rate_bps)).unwrap_or(i64::MAX / 4)
}
