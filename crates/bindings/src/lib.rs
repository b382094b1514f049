//! The simulator as a Python module: converts, releases the GIL, nothing else.

mod capture;
mod controls;
mod ends;
mod events;
mod playback;
mod rounds;
mod trace;

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{self, AssertUnwindSafe, UnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use controls::Own;
use dumbbell_foreign::Fault;
use dumbbell_sim::draw::Distribution;
use dumbbell_sim::output::{Datagram, Events, Output, Rows, Table};
use dumbbell_sim::refusal::{lines, Flaws, Part, Place, Refusal};
use dumbbell_sim::rng::Rng;
use dumbbell_sim::spec::{DistributionSpec, NetworkSpec};
use dumbbell_sim::traffic::arrivals as coming;
use dumbbell_sim::traffic::datagrams_listed;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::json;

create_exception!(
    _native,
    Refused,
    PyValueError,
    "A plan that cannot be run. `args[0]` is a JSON list of all that is wrong: `{place: {kind, index}, field, what, expected}`."
);

create_exception!(_native, Stopped, PyException, "A run ended before its time, since `Stop.set` was called.");

create_exception!(
    _native,
    Misbehaved,
    PyRuntimeError,
    "A congestion control of the user's own did what no control may do."
);

thread_local! {
    /// Place and reason of this thread's last panic.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Ends the runs that are given it.
#[pyclass(frozen)]
#[derive(Default)]
struct Stop(Arc<AtomicBool>);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Let the runs end soon, in whatever thread they are, with [`Stopped`].
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A plan that can be run, as [`check`] read it.
#[pyclass(frozen)]
struct Checked(NetworkSpec);

/// A plan to run: checked already, or as JSON.
#[derive(FromPyObject)]
enum Given<'py> {
    Checked(PyRef<'py, Checked>),
    Text(String),
}

/// Run a plan (JSON, or what [`check`] made of it) and return its output: series and tables (bytes for `numpy.frombuffer`), conservation.
/// `libraries`: the paths of the libraries with congestion controls that it may load, by their names in the plan. `functions`: those in
/// Python by number. `stop` ends it.
#[pyfunction]
#[pyo3(signature = (plan, libraries=None, functions=None, stop=None))]
fn simulate<'py>(
    py: Python<'py>,
    plan: Given<'py>,
    libraries: Option<HashMap<String, PathBuf>>,
    functions: Option<HashMap<u64, rounds::Function>>,
    stop: Option<&Stop>,
) -> PyResult<Bound<'py, PyDict>> {
    let parsed;
    let network = match &plan {
        Given::Checked(plan) => &plan.0,
        Given::Text(text) => {
            parsed = parse(text)?;
            &parsed
        }
    };
    let stop = stop.map(|stop| Arc::clone(&stop.0)).unwrap_or_default();
    let work = || {
        let controls = Own::new(libraries.unwrap_or_default(), functions.unwrap_or_default());
        dumbbell_sim::simulate_until(network, &move |kind, given| controls.control(kind, given), &stop)
    };
    let output = caught(py, AssertUnwindSafe(work))?;
    to_dict(py, output.ok_or_else(|| Stopped::new_err("the run was ended"))?)
}

fn parse(plan: &str) -> PyResult<NetworkSpec> {
    serde_json::from_str(plan).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Run `work` without the GIL. Its refusals become a [`Refused`], a [`Fault`] a [`Misbehaved`], and any other panic a RuntimeError.
fn caught<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Vec<Refusal>> + UnwindSafe + Send) -> PyResult<T> {
    let why = |panic: Box<dyn Any + Send>| match panic.downcast::<Fault>() {
        Ok(fault) => Misbehaved::new_err(fault.0),
        Err(_) => PyRuntimeError::new_err(PANIC.with(RefCell::take)),
    };
    py.detach(|| panic::catch_unwind(work))
        .map_err(why)?
        .map_err(|refusals| Refused::new_err(json!(refusals).to_string()))
}

fn samples<'py, N: IntoPyObject<'py>>(py: Python<'py>, tables: Vec<Table<N>>) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let dict = |table: Table<N>| {
        let dict = PyDict::new(py);
        dict.set_item("entity", table.entity)?;
        dict.set_item("columns", table.columns)?;
        dict.set_item("t_ns", little_endian(py, &table.t_ns, |v| v.to_le_bytes())?)?;
        dict.set_item("values", little_endian(py, &table.values, |v| v.to_le_bytes())?)?;
        Ok(dict)
    };
    tables.into_iter().map(dict).collect()
}

fn to_dict(py: Python<'_>, output: Output) -> PyResult<Bound<'_, PyDict>> {
    let captures = PyDict::new(py);
    if let Some(capture) = &output.capture {
        for (name, file) in capture::files(capture).map_err(PyRuntimeError::new_err)? {
            captures.set_item(name, PyBytes::new(py, &file))?;
        }
    }
    let dict = PyDict::new(py);
    dict.set_item("captures", captures)?;
    dict.set_item("tables", samples(py, output.tables)?)?;
    dict.set_item("states", samples(py, output.states)?)?;
    dict.set_item("happened", output.happened.map(|events| happened(py, &events)).transpose()?)?;
    dict.set_item("flows", rows(py, output.flows)?)?;
    dict.set_item("groups", rows(py, output.groups)?)?;
    dict.set_item("ports", rows(py, output.ports)?)?;
    dict.set_item("tins", rows(py, output.classes)?)?;
    dict.set_item("datagrams", datagrams(py, output.datagrams)?)?;
    dict.set_item("conservation", output.conservation)?;
    dict.set_item("warnings", output.warnings)?;
    dict.set_item("events", output.events)?;
    dict.set_item("delivered_packets", output.delivered_packets)?;
    Ok(dict)
}

/// The record of events: for each column its numbers, and the texts of the reasons.
fn happened<'py>(py: Python<'py>, events: &Events) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("t_ns", little_endian(py, &events.t_ns, |v| v.to_le_bytes())?)?;
    dict.set_item("flow", little_endian(py, &events.flow, |v| u64::from(v).to_le_bytes())?)?;
    dict.set_item("kind", PyBytes::new(py, &events.kind))?;
    dict.set_item("reason", little_endian(py, &events.reason, |v| u64::from(v).to_le_bytes())?)?;
    dict.set_item("values", little_endian(py, &events.values, |v| v.to_le_bytes())?)?;
    dict.set_item("reasons", &events.reasons)?;
    Ok(dict)
}

fn rows(py: Python<'_>, rows: Rows) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("names", rows.names)?;
    dict.set_item("columns", rows.columns)?;
    dict.set_item("values", little_endian(py, &rows.values, |v| v.to_le_bytes())?)?;
    Ok(dict)
}

/// Return for each stream that measures: its name, and for all its datagrams the times at which they were sent, arrived and were back.
fn datagrams(py: Python<'_>, streams: Vec<(String, Vec<Datagram>)>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let of_stream = |(name, all): (String, Vec<Datagram>)| {
        let dict = PyDict::new(py);
        dict.set_item("name", name)?;
        dict.set_item("sent_ns", little_endian(py, &all, |each| each.sent.to_le_bytes())?)?;
        dict.set_item("there_ns", little_endian(py, &all, |each| each.there.number().to_le_bytes())?)?;
        dict.set_item("back_ns", little_endian(py, &all, |each| each.back.number().to_le_bytes())?)?;
        Ok(dict)
    };
    streams.into_iter().map(of_stream).collect()
}

fn little_endian<'py, T: Copy>(
    py: Python<'py>,
    values: &[T],
    bytes: fn(T) -> [u8; 8],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, values.len() * 8, |buffer| {
        for (chunk, value) in buffer.chunks_exact_mut(8).zip(values) {
            chunk.copy_from_slice(&bytes(*value));
        }
        Ok(())
    })
}

/// Check a plan (JSON) without running it, and without loading anything: errors of a library are only known when it runs.
#[pyfunction]
fn check(py: Python<'_>, plan: &str) -> PyResult<Checked> {
    let network = parse(plan)?;
    caught(py, || dumbbell_sim::check_with(&network, &controls::unloaded))?;
    Ok(Checked(network))
}

/// Numbers drawn from a distribution (JSON, as a plan has it) for a component of a run with `seed`: u64, little endian.
#[pyfunction]
fn draws<'py>(
    py: Python<'py>,
    distribution: &str,
    seed: u64,
    component: &str,
    count: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let spec: DistributionSpec =
        serde_json::from_str(distribution).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let distribution =
        Distribution::build(&spec).map_err(|flaws| no_plan(flaws, Place { kind: Part::Run, index: None }))?;
    let mut rng = Rng::for_component(seed, component);
    let numbers: Vec<u64> = (0..count).map(|_| distribution.draw(&mut rng)).collect();
    little_endian(py, &numbers, u64::to_le_bytes)
}

/// Name, times and sizes of a stream.
type Listed<'py> = (String, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Return for each stream of datagrams of a plan (JSON): its name, the time at which it sends each, ns, and their sizes, bytes: u64, little
/// endian.
#[pyfunction]
#[pyo3(name = "datagrams")]
fn datagrams_of_plan<'py>(py: Python<'py>, plan: &str) -> PyResult<Vec<Listed<'py>>> {
    let network = parse(plan)?;
    let mut found = vec![];
    for (i, workload) in network.workloads.iter().enumerate() {
        let Some(spec) = workload.datagrams() else { continue };
        for stream in &spec.streams {
            let listed = datagrams_listed(spec, stream, network.seed, network.duration_ns);
            let place = || Place { kind: Part::Workload, index: Some(i) };
            let (times, sizes) = listed.map_err(|flaws| no_plan(flaws, place()))?;
            let [times, sizes] = [times, sizes].map(|each| little_endian(py, &each, u64::to_le_bytes));
            found.push((stream.name.clone(), times?, sizes?));
        }
    }
    Ok(found)
}

/// Return the error for the flaws of a part of a plan.
fn no_plan(flaws: Flaws, place: Place) -> PyErr {
    let refusals: Vec<Refusal> = flaws.at(place).collect();
    PyValueError::new_err(lines(&refusals))
}

/// The connections that a workload of a plan (JSON) makes: of each its time (ns), payload (bytes), class and ports (the source port in the
/// upper half), u64, little endian.
#[pyfunction]
fn arrivals<'py>(py: Python<'py>, plan: &str, workload: usize) -> PyResult<Bound<'py, PyBytes>> {
    let network = parse(plan)?;
    let drawn = caught(py, || {
        let place = Place { kind: Part::Workload, index: Some(workload) };
        coming::drawn(&network, workload).map_err(|flaws| flaws.at(place).collect::<Vec<Refusal>>())
    })?;
    let fields = |arrival: &coming::Arrival| {
        let [source, destination] = arrival.ports.map(u64::from);
        [arrival.at, arrival.bytes, arrival.class as u64, source << 32 | destination]
    };
    let numbers: Vec<u64> = drawn.iter().flat_map(fields).collect();
    little_endian(py, &numbers, u64::to_le_bytes)
}

/// Return rows of the table of groups for the connections that workload `workload` of a plan (JSON) made, in the order of [`arrivals`].
/// `came` has for each, as u64 in the machine's order: how long it took (ns; the largest number: not complete), payload read, packets sent,
/// segments retransmitted.
#[pyfunction]
fn group_rows<'py>(py: Python<'py>, plan: &str, workload: usize, came: Vec<u8>) -> PyResult<Bound<'py, PyDict>> {
    let network = parse(plan)?;
    let table = caught(py, || {
        let place = Place { kind: Part::Workload, index: Some(workload) };
        let numbers = came.chunks_exact(8).map(|chunk| u64::from_ne_bytes(chunk.try_into().expect("8 bytes")));
        let numbers: Vec<u64> = numbers.collect();
        coming::group_rows(&network, workload, &numbers).map_err(|flaws| flaws.at(place).collect::<Vec<Refusal>>())
    })?;
    rows(py, table)
}

/// The table of a distribution of jitter: `normal`, `pareto` or `paretonormal`.
#[pyfunction]
fn jitter_table(name: &str) -> PyResult<Vec<i16>> {
    use dumbbell_sim::port::{normal, pareto, paretonormal};
    match name {
        "normal" => Ok(normal()),
        "pareto" => Ok(pareto()),
        "paretonormal" => Ok(paretonormal()),
        _ => Err(PyValueError::new_err(format!("{name:?} is no distribution of jitter"))),
    }
}

/// Return the simulator's abilities, as JSON.
#[pyfunction]
fn capabilities() -> String {
    dumbbell_sim::capabilities().to_string()
}

/// Return the schema of a run's tables, as JSON.
#[pyfunction]
fn schema() -> String {
    dumbbell_sim::probe::listing().to_string()
}

/// Return the catalogue of all that may be set, as JSON.
#[pyfunction]
fn catalogue() -> String {
    dumbbell_sim::catalogue().to_string()
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // A panic becomes a Python exception that says where; the default hook would print it as well.
    panic::set_hook(Box::new(|info| PANIC.with(|last| *last.borrow_mut() = info.to_string())));
    module.add("Refused", module.py().get_type::<Refused>())?;
    module.add("Misbehaved", module.py().get_type::<Misbehaved>())?;
    module.add("Stopped", module.py().get_type::<Stopped>())?;
    module.add_class::<Stop>()?;
    module.add_class::<Checked>()?;
    module.add("SOURCE_HASH", env!("SOURCE_HASH"))?;
    module.add("TRACE_HASH", env!("TRACE_HASH"))?;
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(draws, module)?)?;
    module.add_function(wrap_pyfunction!(datagrams_of_plan, module)?)?;
    module.add_function(wrap_pyfunction!(arrivals, module)?)?;
    module.add_function(wrap_pyfunction!(group_rows, module)?)?;
    module.add_class::<trace::Analysis>()?;
    module.add_function(wrap_pyfunction!(trace::analyze, module)?)?;
    module.add_function(wrap_pyfunction!(trace::packet_pairs, module)?)?;
    module.add_function(wrap_pyfunction!(ends::ends_play, module)?)?;
    module.add_function(wrap_pyfunction!(ends::ends_replay, module)?)?;
    module.add_function(wrap_pyfunction!(ends::ends_seed, module)?)?;
    module.add_function(wrap_pyfunction!(playback::playback, module)?)?;
    module.add_function(wrap_pyfunction!(jitter_table, module)?)?;
    module.add_function(wrap_pyfunction!(capabilities, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)
}
