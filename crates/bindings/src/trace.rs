//! Captures as plain data.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::PathBuf;

use dumbbell_trace::packet::{Endpoint, Packet};
use dumbbell_trace::{spp, Direction, Error, LeftOut, Reader, Tally};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::little_endian;

/// Packets between two looks for Ctrl-C.
const BATCH: usize = 100_000;

/// The connections of a capture.
#[pyclass(frozen)]
pub struct Analysis {
    found: dumbbell_trace::Analysis,
    tally: Tally,
}

#[pymethods]
impl Analysis {
    /// Number of connections.
    fn __len__(&self) -> usize {
        self.found.len()
    }

    /// Connections `start` to `stop`, without `stop`: endpoints, and the facts of each direction.
    fn connections<'py>(&self, py: Python<'py>, start: usize, stop: usize) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for i in start..stop.min(self.found.len()) {
            let connection = self.found.connection(i);
            let dict = ends(py, connection.client, connection.server)?;
            dict.set_item("forward", direction(py, connection.forward, self.found.rtts_ns(i, false))?)?;
            dict.set_item("reverse", direction(py, connection.reverse, self.found.rtts_ns(i, true))?)?;
            list.append(dict)?;
        }
        Ok(list)
    }

    /// The RTT samples of one direction of a connection in the order of the capture, ns, as little-endian int64.
    fn rtts_ns<'py>(&self, py: Python<'py>, connection: usize, reverse: bool) -> PyResult<Bound<'py, PyBytes>> {
        little_endian(py, &self.found.rtts_ns(connection, reverse), |v| v.to_le_bytes())
    }

    /// What was understood of the packets, and what was not.
    fn tally<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = tally(py, &self.tally)?;
        dict.set_item("negative_rtts", self.found.negative_rtts())?;
        Ok(dict)
    }
}

/// The connections of a capture: a file's contents or its path.
#[pyfunction]
pub fn analyze(py: Python<'_>, file: &Bound<'_, PyAny>) -> PyResult<Analysis> {
    let mut found = dumbbell_trace::Analysis::default();
    let tally = each_packet(py, file, |packet| found.add(packet))?;
    py.detach(|| found.sort_rtts());
    Ok(Analysis { found, tally })
}

/// RTTs by synthetic packet pairs between two captures, for the data of each connection that both hold, and the tally of each capture.
#[pyfunction(name = "spp")]
pub fn packet_pairs<'py>(
    py: Python<'py>,
    left: &Bound<'py, PyAny>,
    right: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyList>, [Bound<'py, PyDict>; 2])> {
    let (mut first, mut second) = (spp::Point::default(), spp::Point::default());
    let tallies =
        [each_packet(py, left, |packet| first.add(packet))?, each_packet(py, right, |packet| second.add(packet))?];
    let options_cut = tallies.iter().any(|tally| tally.options_cut > 0);
    let pairs = py.detach(|| spp::between(first, second, options_cut)).map_err(PyValueError::new_err)?;
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
    Ok((list, [tally(py, &tallies[0])?, tally(py, &tallies[1])?]))
}

/// Hands every TCP packet of a capture on. ValueError: no capture, or a damaged one; OSError: it cannot be read.
fn each_packet(py: Python<'_>, file: &Bound<'_, PyAny>, mut take: impl FnMut(&Packet) + Send) -> PyResult<Tally> {
    let stream: Box<dyn Read + Send> = if let Ok(bytes) = file.extract::<PyBackedBytes>() {
        Box::new(Cursor::new(bytes))
    } else {
        Box::new(File::open(file.extract::<PathBuf>()?)?)
    };
    let python_error = |error| match error {
        Error::Io(error) => PyErr::from(error),
        Error::Content(message) => PyValueError::new_err(message),
    };
    let mut reader = Reader::new(stream).map_err(python_error)?;
    let mut batch = || {
        for _ in 0..BATCH {
            match reader.next_packet()? {
                Some(packet) => take(&packet),
                None => return Ok(false),
            }
        }
        Ok(true)
    };
    while py.detach(&mut batch).map_err(python_error)? {
        py.check_signals()?;
    }
    Ok(reader.tally().clone())
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
    Ok(dict)
}

fn ends<'py>(py: Python<'py>, source: Endpoint, destination: Endpoint) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("source", (source.0.to_string(), source.1))?;
    dict.set_item("destination", (destination.0.to_string(), destination.1))?;
    Ok(dict)
}

fn direction<'py>(py: Python<'py>, d: &Direction, mut rtts_ns: Vec<i64>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in [
        ("packets", d.packets),
        ("data_packets", d.data_packets),
        ("bytes", d.bytes),
        ("unique_bytes", d.unique_bytes),
        ("retransmitted_packets", d.retransmitted_packets),
        ("retransmitted_bytes", d.retransmitted_bytes()),
        ("out_of_order_packets", d.out_of_order_packets),
        ("sack_packets", d.sack_packets),
    ] {
        dict.set_item(name, value)?;
    }
    dict.set_item("first_ns", d.first_ns)?;
    dict.set_item("last_ns", d.last_ns)?;
    dict.set_item("throughput_bps", d.throughput_bps())?;
    rtts_ns.sort_unstable();
    let (upper, lower) = (rtts_ns.len() / 2, rtts_ns.len().saturating_sub(1) / 2);
    let median_ns = rtts_ns.get(upper).map(|&value| (value as f64 + rtts_ns[lower] as f64) / 2.0);
    dict.set_item("rtt_min_ns", rtts_ns.first())?;
    dict.set_item("rtt_median_ns", median_ns)?;
    dict.set_item("rtt_samples", rtts_ns.len())?;
    Ok(dict)
}
