//! Random peers against one end of a connection.

use std::panic::UnwindSafe;

use dumbbell_ends::{play, replay, Answer, Case, Options};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{json, Value};

use crate::caught;

/// Draws cases and lets each play against the simulator's end. `options` and what is returned are JSON: of each case `{case, answers}`.
#[pyfunction]
pub fn ends_play(py: Python<'_>, options: &str) -> PyResult<String> {
    let options: Options = serde_json::from_str(options).map_err(|e| PyValueError::new_err(e.to_string()))?;
    working(py, || {
        let one = |number| play(&options, number).map(|(case, answers)| json!({"case": case, "answers": answers}));
        (options.first..options.first + options.count).map(one).collect()
    })
}

/// Drives the simulator's end by cases (a JSON list). Of each, the answers, or `{fault}`: a line about what no peer of this end can have sent.
#[pyfunction]
pub fn ends_replay(py: Python<'_>, cases: &str) -> PyResult<String> {
    let cases: Vec<Case> = serde_json::from_str(cases).map_err(|e| PyValueError::new_err(e.to_string()))?;
    working(py, || {
        let answered =
            |found: Result<Vec<Answer>, String>| found.map_or_else(|fault| json!({"fault": fault}), |all| json!(all));
        Ok(cases.iter().map(|case| answered(replay(case))).collect())
    })
}

/// Works without the GIL.
fn working(py: Python<'_>, work: impl FnOnce() -> Result<Vec<Value>, String> + UnwindSafe + Send) -> PyResult<String> {
    let found = caught(py, move || Ok(work()))?;
    found.map(|all| Value::Array(all).to_string()).map_err(PyValueError::new_err)
}
