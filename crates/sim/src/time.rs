//! Time is an unsigned count of nanoseconds since the start of the run.

/// A point in simulated time, ns.
pub type Time = u64;
/// A span of simulated time, ns.
pub type Duration = u64;

/// Nanoseconds in a microsecond.
pub const US: u64 = 1_000;
/// Nanoseconds in a millisecond.
pub const MS: u64 = 1_000_000;
/// Nanoseconds in a second.
pub const SEC: u64 = 1_000_000_000;
/// Latest time of a run, ns (about 4.8 hours): the event set packs a time and the index of its source into 64 bits.
pub const MAX_TIME: Time = (1 << 44) - 2;
/// A time that never comes.
pub const NEVER: Time = u64::MAX;

/// Time to serialise `bytes` at `rate_bps`, ns, rounded up.
#[must_use]
pub fn serialisation(bytes: u64, rate_bps: u64) -> Duration {
    (bytes * 8 * SEC).div_ceil(rate_bps)
}
