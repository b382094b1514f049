//! Events of packets, as columns.

use dumbbell_trace::packet::{flags, Packet};
use dumbbell_trace::Event;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::trace::columns;

/// Value of a field that a packet does not have.
const NONE: i64 = i64::MIN;

/// Columns of little-endian integers: 64 bits of each in `WIDE`, 16 of `kind`.
#[derive(Default)]
pub struct Columns {
    wide: [Vec<u8>; WIDE.len()],
    kind: Vec<u8>,
}

/// Names of the columns of 64 bits, in the order of `Columns::add`.
const WIDE: [&str; 12] = [
    "connection",
    "t_ns",
    "start",
    "payload",
    "ack",
    "window_bytes",
    "outstanding_bytes",
    "other_outstanding_bytes",
    "rtt_ns",
    "again_bytes",
    "sack_start",
    "sack_end",
];

impl Columns {
    /// Adds a packet. Bits of `kind` from the lowest: reverse, SYN, FIN, RST, out of order, probe, D-SACK, SACK, ECE, CWR, then two of
    /// the IP header's ECN field, and PSH.
    pub fn add(&mut self, p: &Packet, event: &Event) {
        let values = [
            event.connection as i64,
            p.time_ns,
            event.start.unwrap_or(NONE),
            i64::from(p.payload),
            event.ack.unwrap_or(NONE),
            event.window as i64,
            event.flight,
            event.other_flight,
            event.rtt_ns.unwrap_or(NONE),
            i64::from(event.again),
            event.sack.map_or(NONE, |(start, _)| start),
            event.sack.map_or(NONE, |(_, end)| end),
        ];
        for (column, value) in self.wide.iter_mut().zip(values) {
            column.extend(value.to_le_bytes());
        }
        let bits = [
            event.reverse,
            p.has(flags::SYN),
            p.has(flags::FIN),
            p.has(flags::RST),
            event.out_of_order,
            event.probe,
            event.dsack,
            !p.sacks.blocks().is_empty(),
            p.has(flags::ECE),
            p.has(flags::CWR),
            p.ecn & 1 != 0,
            p.ecn & 2 != 0,
            p.has(flags::PSH),
        ];
        let kind = bits.into_iter().enumerate().fold(0_u16, |all, (at, bit)| all | u16::from(bit) << at);
        self.kind.extend(kind.to_le_bytes());
    }

    /// The columns so far, which are then empty.
    pub fn drain<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut all: Vec<(&str, &[u8])> = WIDE.into_iter().zip(self.wide.iter().map(Vec::as_slice)).collect();
        all.push(("kind", &self.kind));
        let dict = columns(py, &all)?;
        self.wide.iter_mut().chain([&mut self.kind]).for_each(Vec::clear);
        Ok(dict)
    }
}
