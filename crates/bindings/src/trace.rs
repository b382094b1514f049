//! Captures as plain data.

use dumbbell_trace::connection::{connections, Direction};
use dumbbell_trace::one_point::{self, Sample};
use dumbbell_trace::packet::Endpoint;
use dumbbell_trace::{read, spp};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::little_endian;

/// The connections of a capture file: endpoints, facts of each direction and one-point RTTs of its data.
#[pyfunction]
pub fn analyze<'py>(py: Python<'py>, file: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    let capture = py.detach(|| read(file)).map_err(PyValueError::new_err)?;
    let list = PyList::empty(py);
    for connection in py.detach(|| connections(&capture.packets)) {
        let own = connection.packets_of(&capture.packets);
        let dict = ends(py, connection.client, connection.server)?;
        dict.set_item("forward", direction(py, &connection.forward, &one_point::rtt(&own, connection.client))?)?;
        dict.set_item("reverse", direction(py, &connection.reverse, &one_point::rtt(&own, connection.server))?)?;
        list.append(dict)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("connections", list)?;
    dict.set_item("tcp_packets", capture.packets.len())?;
    dict.set_item("other_packets", capture.other_packets)?;
    dict.set_item("cut_short", capture.cut_short)?;
    Ok(dict)
}

/// RTTs by synthetic packet pairs between two capture files, for the data of each connection that both hold.
#[pyfunction(name = "spp")]
pub fn packet_pairs<'py>(py: Python<'py>, left: &[u8], right: &[u8]) -> PyResult<Bound<'py, PyList>> {
    let files =
        py.detach(|| Ok::<_, String>([read(left)?.packets, read(right)?.packets])).map_err(PyValueError::new_err)?;
    let pairs = py.detach(|| spp::between(&files[0], &files[1])).map_err(PyValueError::new_err)?;
    let list = PyList::empty(py);
    for pair in pairs {
        let dict = ends(py, pair.source, pair.destination)?;
        samples(&dict, &pair.samples)?;
        list.append(dict)?;
    }
    Ok(list)
}

fn ends<'py>(py: Python<'py>, source: Endpoint, destination: Endpoint) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("source", (source.0.to_string(), source.1))?;
    dict.set_item("destination", (destination.0.to_string(), destination.1))?;
    Ok(dict)
}

fn direction<'py>(py: Python<'py>, d: &Direction, rtts: &[Sample]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in [
        ("packets", d.packets),
        ("data_packets", d.data_packets),
        ("bytes", d.bytes),
        ("unique_bytes", d.unique_bytes),
        ("retransmitted_packets", d.retransmitted_packets),
        ("retransmitted_bytes", d.retransmitted_bytes),
        ("out_of_order_packets", d.out_of_order_packets),
        ("sack_packets", d.sack_packets),
    ] {
        dict.set_item(name, value)?;
    }
    dict.set_item("first_ns", d.first_ns)?;
    dict.set_item("last_ns", d.last_ns)?;
    dict.set_item("throughput_bps", d.throughput_bps())?;
    samples(&dict, rtts)?;
    Ok(dict)
}

fn samples(dict: &Bound<'_, PyDict>, samples: &[Sample]) -> PyResult<()> {
    let py = dict.py();
    let column = |of: fn(&Sample) -> i64| -> PyResult<Bound<'_, PyBytes>> {
        let values: Vec<i64> = samples.iter().map(of).collect();
        little_endian(py, &values, |v| v.to_le_bytes())
    };
    dict.set_item("t_ns", column(|s| s.time_ns)?)?;
    dict.set_item("rtt_ns", column(|s| s.rtt_ns)?)
}
