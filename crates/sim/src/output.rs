//! What a run returns.

use crate::capture::Capture;
use crate::time::Time;

/// What a run returns. What its tables hold says [`crate::probe::schema`].
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Sampled series, one table an entity.
    pub tables: Vec<Table>,
    /// What each flow came to, in order of the network's description: bulk flows, then what else was there from the start, then the
    /// connections that workloads made, if they were to have rows.
    pub flows: Rows,
    /// What each workload came to whose connections come and go, or exchange requests and responses.
    pub groups: Rows,
    /// What each port came to, in order of the network's description.
    pub ports: Rows,
    /// What each tin came to of a cake with several, or with keywords that few use: `PORT/TIN`.
    pub tins: Rows,
    /// What the conservation check found wrong; empty is good.
    pub conservation: Vec<String>,
    /// What of these numbers does not mean what its name says; empty is good.
    pub warnings: Vec<String>,
    /// Events handled.
    pub events: u64,
    /// Data packets delivered to receivers (new or not).
    pub delivered_packets: u64,
    /// Of every connection with requests and responses its name and these.
    pub transactions: Vec<(String, Vec<Transaction>)>,
    /// Of every stream of datagrams that measures its name and these, in the order of their sending.
    pub datagrams: Vec<(String, Vec<Datagram>)>,
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
    /// When it was sent, ns.
    pub sent: Time,
    /// When it reached the other end.
    pub there: Fate,
    /// When the reply, which sets out at the same time, was back.
    pub back: Fate,
}

/// What became of a packet by the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// When it arrived, ns.
    Arrived(Time),
    /// It was dropped on the way.
    Lost,
    /// It may still arrive.
    UnderWay,
    /// There was none.
    NotSent,
}

impl Fate {
    /// As one number: the time, or -1 for a packet that was lost, -2 for one under way, -3 for none.
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

/// The samples of one entity; values are row-major, one row a time.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// `flow/NAME` or `port/NAME`.
    pub entity: String,
    /// Names of the series.
    pub columns: Vec<&'static str>,
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

/// A row of numbers for each of several things; values are row-major. Counts and times in ns are whole numbers, and exact: they stay below
/// 2^53.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// What the rows are of.
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

    /// The number in a row and a column; none if there is no such row or column, or no number there.
    #[must_use]
    pub fn get(&self, name: &str, column: &str) -> Option<f64> {
        let row = self.names.iter().position(|each| each == name)?;
        let column = self.columns.iter().position(|each| *each == column)?;
        Some(self.values[row * self.columns.len() + column]).filter(|value| !value.is_nan())
    }
}
