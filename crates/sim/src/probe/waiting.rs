//! Series of the times that applications wait.

use crate::output::{Table, Transaction};
use crate::time::Time;

/// Return the time that each transaction took, at the time of its end and in that order.
#[must_use]
pub fn latencies<'a>(entity: String, transactions: impl IntoIterator<Item = &'a Transaction>) -> Table {
    let mut table = Table { entity, columns: vec!["latency_ms"], ..Table::default() };
    for Transaction { start, end, .. } in transactions {
        if let Some(end) = *end {
            table.push(end, &[(end - start) as f64 / 1e6]);
        }
    }
    table
}

/// Return the level of a player's buffer at the times `at`, s.
#[must_use]
pub fn levels(entity: String, at: &[Time], values: Vec<f64>) -> Table {
    Table { entity, columns: vec!["buffer_s"], t_ns: at.iter().map(|&t| t as i64).collect(), values }
}
