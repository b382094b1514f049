//! Samples of flows and ports at a fixed interval.
//!
//! The series of a flow begin with connect() and end with the flow. A transfer ends when it is complete. A flow that is stopped ends for
//! its sender there and then; what the receiver has read is still sampled while data are under way.

use super::schema::{count, names, place, Quantity, FLOW_SERIES, PORT_SERIES};
use super::{row, stats};
use crate::flow::Flow;
use crate::network::Network;
use crate::output::Table;
use crate::port::Port;
use crate::time::Time;

const FLOW: usize = count(FLOW_SERIES);
const PORT: usize = count(PORT_SERIES);

/// Takes samples at a fixed interval.
#[derive(Debug)]
pub struct Sampler {
    interval: Time,
    flows: Vec<Table>,
    ports: Vec<Table>,
}

impl Sampler {
    /// A sampler of every flow and port.
    #[must_use]
    pub fn new(interval: Time, flows: &[Flow], ports: &[Port]) -> Self {
        let table = |kind: &str, name: &str, list: &[Quantity]| Table {
            entity: format!("{kind}/{name}"),
            columns: names(list),
            ..Table::default()
        };
        Self {
            interval,
            flows: flows.iter().map(|f| table("flow", &f.name, FLOW_SERIES)).collect(),
            ports: ports.iter().map(|p| table("port", &p.id, PORT_SERIES)).collect(),
        }
    }

    /// Takes a row of each; returns the time of the next.
    pub fn sample(&mut self, flows: &[Flow], network: &Network) -> Time {
        let now = network.now();
        for (i, (f, table)) in flows.iter().zip(&mut self.flows).enumerate() {
            if now < f.start || f.receiver.completed().is_some() {
                continue;
            }
            if now <= f.stop {
                table.push(now, &of_flow(f));
            } else if f.sender.counters().sent > f.receiver.counters().arrived + network.drops[i].data {
                table.push(now, &of_receiver(f));
            }
        }
        for (p, table) in network.ports.iter().zip(&mut self.ports) {
            table.push(now, &of_port(p));
        }
        now + self.interval
    }

    /// The tables, flows first.
    #[must_use]
    pub fn finish(self) -> Vec<Table> {
        if self.interval == 0 {
            return vec![];
        }
        self.flows.into_iter().chain(self.ports).collect()
    }
}

fn of_flow(f: &Flow) -> [f64; FLOW] {
    let s = f.sender.sample();
    row![FLOW_SERIES;
        "cwnd": s.cwnd,
        "ssthresh": s.ssthresh.unwrap_or(f64::NAN),
        "srtt_ms": s.srtt_ms.unwrap_or(f64::NAN),
        "rtt_ms": s.rtt_ms.unwrap_or(f64::NAN),
        "min_rtt_ms": s.min_rtt_ms.unwrap_or(f64::NAN),
        "inflight": f64::from(s.in_flight),
        "delivered": f64::from(s.delivered),
        "delivered_ce": f64::from(s.delivered_ce),
        "retransmits": f.sender.counters().retransmits as f64,
        "rx_bytes": f.receiver.bytes_read() as f64,
        "ca_state": f64::from(s.state as u8),
    ]
}

/// The sender is gone.
fn of_receiver(f: &Flow) -> [f64; FLOW] {
    let mut row = [f64::NAN; FLOW];
    row[const { place(FLOW_SERIES, "rx_bytes") }] = f.receiver.bytes_read() as f64;
    row
}

fn of_port(p: &Port) -> [f64; PORT] {
    let (packets, bytes) = p.backlog();
    let stats = stats(p);
    row![PORT_SERIES;
        "backlog_bytes": bytes as f64,
        "backlog_packets": packets as f64,
        "sojourn_ms": stats.last_sojourn as f64 / 1e6,
        "drops": p.counters.drops() as f64,
        "ce_marks": stats.ce_marks as f64,
        "sce_marks": stats.sce_marks as f64,
        "sent_packets": p.counters.sent as f64,
        "sent_bytes": p.counters.sent_bytes as f64,
    ]
}
