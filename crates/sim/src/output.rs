//! The output of a run.

use crate::capture::Capture;
use crate::time::Time;

/// The output of a run. [`crate::probe::schema`] describes the tables.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Sampled series, one table an entity.
    pub tables: Vec<Table>,
    /// A row of totals for each flow, in order of the network's description: bulk flows, then the other flows that exist from the start,
    /// then the connections that workloads made, if the description asks for rows of those.
    pub flows: Rows,
    /// A row of totals for each workload whose connections come and go, or exchange requests and responses.
    pub groups: Rows,
    /// A row of totals for each port, in order of the network's description.
    pub ports: Rows,
    /// A row of totals for each class of a discipline: each tin of a cake with several tins, or with keywords that few use. Named `PORT/TIN`.
    pub classes: Rows,
    /// Violations that the conservation check found. Empty means none.
    pub conservation: Vec<String>,
    /// Warnings about numbers that do not mean what their names say. Empty means none.
    pub warnings: Vec<String>,
    /// Events handled.
    pub events: u64,
    /// Data packets delivered to receivers (new or not).
    pub delivered_packets: u64,
    /// For each connection with requests and responses: its name and its transactions.
    pub transactions: Vec<(String, Vec<Transaction>)>,
    /// For each stream of measuring datagrams: its name and its datagrams, in the order of their sending.
    pub datagrams: Vec<(String, Vec<Datagram>)>,
    /// Samples of state variables, if asked for, one table an entity.
    pub states: Vec<Table<String>>,
    /// The record of what happened to flows, if asked for.
    pub happened: Option<Events>,
    /// Every packet at both hosts, if asked for.
    pub capture: Option<Box<Capture>>,
}

/// A request and its response, as the client sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The request is written, ns.
    pub start: Time,
    /// The first byte of the response is read, ns.
    pub first_byte: Option<Time>,
    /// The last byte of the response is read, ns.
    pub end: Option<Time>,
}

/// A datagram of a stream that measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Time of sending, ns.
    pub sent: Time,
    /// Fate on the way to the other end.
    pub there: Fate,
    /// Fate of the reply, which sets out when the datagram arrives.
    pub back: Fate,
}

/// The state of a packet at the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Time of arrival, ns.
    Arrived(Time),
    /// It was dropped on the way.
    Lost,
    /// It may still arrive.
    UnderWay,
    /// There was none.
    NotSent,
}

impl Fate {
    /// Return the fate as one number: the arrival time, or -1 for a lost packet, -2 for one under way, -3 for none.
    #[must_use]
    pub fn number(self) -> i64 {
        match self {
            Self::Arrived(time) => time as i64,
            Self::Lost => -1,
            Self::UnderWay => -2,
            Self::NotSent => -3,
        }
    }
}

/// The samples of one entity; values are row-major, one row a time. `N` is a name of a series. The names of state variables are those that
/// the entity told.
#[derive(Clone, Debug, Default)]
pub struct Table<N = &'static str> {
    /// `flow/NAME`, `port/NAME`, or of state variables also `tin/PORT/NAME`.
    pub entity: String,
    /// Names of the series.
    pub columns: Vec<N>,
    /// Times, ns.
    pub t_ns: Vec<i64>,
    /// `t_ns.len() * columns.len()` values; NaN where there is no sample.
    pub values: Vec<f64>,
}

impl Table {
    /// Adds a row.
    pub(crate) fn push(&mut self, now: Time, row: &[f64]) {
        self.t_ns.push(now as i64);
        self.values.extend_from_slice(row);
    }
}

/// The record of what happened to flows, an element an event, in order. [`crate::probe::events`] says what the numbers mean.
#[derive(Clone, Debug, Default)]
pub struct Events {
    /// Times, ns.
    pub t_ns: Vec<i64>,
    /// Positions of the flows.
    pub flow: Vec<u32>,
    /// Kinds, by their places among [`crate::probe::events::KINDS`].
    pub kind: Vec<u8>,
    /// Reasons, by their places in `reasons`.
    pub reason: Vec<u16>,
    /// The numbers of [`crate::probe::events::COLUMNS`], row-major; NaN where there is none.
    pub values: Vec<f64>,
    /// The texts of the reasons.
    pub reasons: Vec<String>,
}

/// A row of numbers for each of several things; values are row-major. Counts and times in ns are whole numbers, and exact: they stay below
/// 2^53.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The name of each row's flow, workload, port or class.
    pub names: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// `names.len() * columns.len()` values; NaN where there is none.
    pub values: Vec<f64>,
}

impl Rows {
    pub(crate) fn new(columns: Vec<&'static str>) -> Self {
        Self { columns, ..Self::default() }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, name: &str, row: &[f64]) {
        self.names.push(name.to_owned());
        self.values.extend_from_slice(row);
    }

    /// Return the number in a row and a column; `None` if the row, the column or the number is missing.
    #[must_use]
    pub fn get(&self, name: &str, column: &str) -> Option<f64> {
        let row = self.names.iter().position(|each| each == name)?;
        let column = self.columns.iter().position(|each| *each == column)?;
        Some(self.values[row * self.columns.len() + column]).filter(|value| !value.is_nan())
    }
}
