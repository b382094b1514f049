//! Random peers against one end of a connection.

use std::panic::UnwindSafe;

use dumbbell_ends::{play, replay, seed_that_draws, Case, Options};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde::Serialize;

use crate::caught;

/// Draws cases and lets each play against the simulator's end. `options` is JSON. Returns a JSON list of `[case, answers]`.
#[pyfunction]
pub fn ends_play(py: Python<'_>, options: &str) -> PyResult<String> {
    let options: Options = parsed(options)?;
    working(py, || {
        let numbers = options.first..options.first + options.count;
        numbers.map(|number| play(&options, number)).collect::<Result<Vec<_>, _>>()
    })
}

/// Drives the simulator's end by cases (a JSON list). Returns a JSON list: `{Ok: answers}` for each case, or `{Err: {action, what}}` about a
/// packet that no peer of this end can have sent.
#[pyfunction]
pub fn ends_replay(py: Python<'_>, cases: &str) -> PyResult<String> {
    let cases: Vec<Case> = parsed(cases)?;
    working(py, || Ok(cases.iter().map(replay).collect::<Vec<_>>()))
}

/// The minimum `control_seed` of a case with which the end's congestion control draws these numbers first, each below `choices`; None: none is found.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "pyo3 extracts it")]
pub fn ends_seed(numbers: Vec<u32>, choices: u32) -> Option<u64> {
    seed_that_draws(&numbers, choices)
}

fn parsed<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Works without the GIL, and returns JSON.
fn working<T: Serialize>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, String> + UnwindSafe + Send,
) -> PyResult<String> {
    let written = move || work().map(|found| serde_json::to_string(&found).expect("plain data"));
    caught(py, move || Ok(written()))?.map_err(PyValueError::new_err)
}
