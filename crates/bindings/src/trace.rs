//! Captures as plain data.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::PathBuf;

use dumbbell_trace::packet::{Endpoint, Packet};
use dumbbell_trace::{facts, spp, Error, LeftOut, Reader, Tally, Value};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::events::Columns;
use crate::little_endian;

/// Packets between two looks for Ctrl-C.
const BATCH: usize = 100_000;

/// The connections of a capture.
#[pyclass(frozen)]
pub struct Analysis {
    found: dumbbell_trace::Analysis,
    tally: Tally,
}

impl Analysis {
    /// The capture ends with its last packet, TCP or not.
    fn ended(mut found: dumbbell_trace::Analysis, tally: Tally) -> Self {
        if let Some(last_ns) = tally.last_ns {
            found.end(last_ns);
        }
        Self { found, tally }
    }
}

#[pymethods]
impl Analysis {
    /// Number of connections.
    fn __len__(&self) -> usize {
        self.found.len()
    }

    /// Connections `start` to `stop`, without `stop`: endpoints, whether it was closed, and the facts of each direction.
    fn connections<'py>(&self, py: Python<'py>, start: usize, stop: usize) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for i in start..stop.min(self.found.len()) {
            let connection = self.found.connection(i);
            let dict = ends(py, connection.client, connection.server)?;
            dict.set_item("closed", connection.is_closed())?;
            for (name, reverse) in [("forward", false), ("reverse", true)] {
                dict.set_item(name, direction(py, &facts(&connection, reverse))?)?;
            }
            list.append(dict)?;
        }
        Ok(list)
    }

    /// Return the counts of the packets that were understood, and of those that were not.
    fn tally<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = tally(py, &self.tally)?;
        dict.set_item("negative_rtts", self.found.negative_rtts())?;
        Ok(dict)
    }
}

/// Return the connections of a capture: a file's contents or its path. `sink` is called with the events of packets, many packets at a time.
#[pyfunction]
#[pyo3(signature = (file, sink = None))]
pub fn analyze(py: Python<'_>, file: &Bound<'_, PyAny>, sink: Option<&Bound<'_, PyAny>>) -> PyResult<Analysis> {
    let mut found = dumbbell_trace::Analysis::default();
    let Some(sink) = sink else {
        let tally = each_packet(py, file, |packet| _ = found.add(packet), |_| Ok(()))?;
        return Ok(Analysis::ended(found, tally));
    };
    let columns = std::sync::Mutex::new(Columns::default());
    let open = || columns.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let take = |packet: &Packet| open().add(packet, &found.add(packet));
    let tally = each_packet(py, file, take, |py| sink.call1((open().drain(py)?,)).map(drop))?;
    Ok(Analysis::ended(found, tally))
}

/// Samples, passages, and the tally of each capture.
type Between<'py> = (Bound<'py, PyList>, Bound<'py, PyList>, [Bound<'py, PyDict>; 2]);

/// Return RTTs by synthetic packet pairs between two captures, for the data of each connection that both hold; the passage of the packets
/// of each direction between them; and the tally of each capture.
#[pyfunction(name = "spp")]
pub fn packet_pairs<'py>(
    py: Python<'py>,
    left: &Bound<'py, PyAny>,
    right: &Bound<'py, PyAny>,
) -> PyResult<Between<'py>> {
    let (mut first, mut second) = (spp::Point::default(), spp::Point::default());
    let tallies = [
        each_packet(py, left, |packet| first.add(packet), |_| Ok(()))?,
        each_packet(py, right, |packet| second.add(packet), |_| Ok(()))?,
    ];
    let options_cut = tallies.iter().any(|tally| tally.options_cut > 0);
    let (pairs, passages) = py.detach(|| spp::between(first, second, options_cut)).map_err(PyValueError::new_err)?;
    let list = PyList::empty(py);
    for pair in pairs {
        let dict = ends(py, pair.source, pair.destination)?;
        let column = |of: fn(&spp::Sample) -> i64| {
            let values: Vec<i64> = pair.samples.iter().map(of).collect();
            little_endian(py, &values, |v| v.to_le_bytes())
        };
        dict.set_item("t_ns", column(|s| s.time_ns)?)?;
        dict.set_item("rtt_ns", column(|s| s.rtt_ns)?)?;
        dict.set_item("left_out", pair.left_out)?;
        list.append(dict)?;
    }
    let ways = PyList::empty(py);
    for passage in passages {
        let dict = ends(py, passage.source, passage.destination)?;
        dict.set_item("packets", passage.sent)?;
        dict.set_item("lost", passage.lost)?;
        dict.set_item("added", passage.added)?;
        dict.set_item("delays_ns", little_endian(py, &passage.delays_ns, |v| v.to_le_bytes())?)?;
        ways.append(dict)?;
    }
    Ok((list, ways, [tally(py, &tallies[0])?, tally(py, &tallies[1])?]))
}

/// Hands every TCP packet of a capture on, up to where it is damaged, and calls `between` after each batch of them. ValueError: no
/// capture; OSError: it cannot be read.
fn each_packet<'py>(
    py: Python<'py>,
    file: &Bound<'py, PyAny>,
    mut take: impl FnMut(&Packet) + Send,
    mut between: impl FnMut(Python<'py>) -> PyResult<()>,
) -> PyResult<Tally> {
    let stream: Box<dyn Read + Send> = if let Ok(bytes) = file.extract::<PyBackedBytes>() {
        Box::new(Cursor::new(bytes))
    } else {
        Box::new(File::open(file.extract::<PathBuf>()?)?)
    };
    let mut reader = Reader::new(stream).map_err(python_error)?;
    let mut batch = || {
        for _ in 0..BATCH {
            match reader.next_packet() {
                Ok(Some(packet)) => take(&packet),
                Ok(None) | Err(Error::Content(_)) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    };
    loop {
        let more = py.detach(&mut batch).map_err(python_error)?;
        py.check_signals()?;
        between(py)?;
        if !more {
            return Ok(reader.tally().clone());
        }
    }
}

fn python_error(error: Error) -> PyErr {
    match error {
        Error::Io(error) => PyErr::from(error),
        Error::Content(message) => PyValueError::new_err(message),
    }
}

fn tally<'py>(py: Python<'py>, tally: &Tally) -> PyResult<Bound<'py, PyDict>> {
    let left_out = PyDict::new(py);
    for (reason, name) in LeftOut::ALL {
        left_out.set_item(name, tally.left_out(reason))?;
    }
    let dict = PyDict::new(py);
    dict.set_item("tcp_packets", tally.tcp_packets)?;
    dict.set_item("other_packets", tally.other_packets())?;
    dict.set_item("left_out", left_out)?;
    dict.set_item("options_cut", tally.options_cut)?;
    dict.set_item("options_invalid", tally.options_invalid)?;
    dict.set_item("earlier_than_previous", tally.earlier_than_previous)?;
    dict.set_item("cut_short", tally.cut_short)?;
    dict.set_item("damage", tally.damage.as_deref())?;
    Ok(dict)
}

fn ends<'py>(py: Python<'py>, source: Endpoint, destination: Endpoint) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("source", (source.0.to_string(), source.1))?;
    dict.set_item("destination", (destination.0.to_string(), destination.1))?;
    Ok(dict)
}

fn direction<'py>(py: Python<'py>, all: &[(&'static str, Value)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in all {
        match value {
            Value::Count(count) => dict.set_item(name, count)?,
            Value::Difference(difference) => dict.set_item(name, difference)?,
            Value::Measure(measure) => dict.set_item(name, measure)?,
            Value::Flag(flag) => dict.set_item(name, flag)?,
        }
    }
    Ok(dict)
}

/// Columns of bytes by their names.
pub fn columns<'py>(py: Python<'py>, all: &[(&str, &[u8])]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, bytes) in all {
        dict.set_item(name, PyBytes::new(py, bytes))?;
    }
    Ok(dict)
}
