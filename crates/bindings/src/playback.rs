//! Playback as a viewer sees it, for engines whose runs are not made here.

use dumbbell_sim::playback::{view, Player, Viewed};
use pyo3::prelude::*;

/// Return the totals by `end_ns` of a player that wanted to play from `start_ns` on, and whose chunks came at the times `ends_ns`: when
/// playing began (ns after the start, or None), stalls, ns of stalls, and the level of the buffer at each of the times `at_ns`, s.
#[pyfunction]
#[pyo3(signature = (chunk_ns, start_at_ns, chunks, start_ns, ends_ns, end_ns, at_ns))]
pub fn playback(
    chunk_ns: u64,
    start_at_ns: u64,
    chunks: Option<u64>,
    start_ns: u64,
    ends_ns: Vec<u64>,
    end_ns: u64,
    at_ns: Vec<u64>,
) -> (Option<u64>, u64, u64, Vec<f64>) {
    let player = Player { chunk_ns, start_at_ns, chunks };
    let (Viewed { startup_ns, stalls, stalled_ns }, levels) = view(player, start_ns, &ends_ns, end_ns, &at_ns);
    (startup_ns, stalls, stalled_ns, levels)
}
