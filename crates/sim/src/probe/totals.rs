//! What every flow and every port came to at the end of a run, a row each.

use super::schema::{count, names, place, FLOW_COLUMNS, GROUP_COLUMNS, PORT_COLUMNS};
use super::{row, stats};
use crate::flow::Flow;
use crate::network::{FlowDrops, Network};
use crate::output::Rows;
use crate::packet::DropCause;
use crate::time::Time;
use crate::traffic::Udp;

/// The numbers of a connection in the table of flows.
#[derive(Clone, Copy, Debug)]
pub struct FlowRow(pub [f64; count(FLOW_COLUMNS)]);

impl FlowRow {
    /// What a connection has come to; `inside` are its packets still under way, data and ACKs.
    #[must_use]
    pub fn of(f: &Flow, drops: &FlowDrops, inside: (u64, u64), end: Time) -> Self {
        let (s, r, (data, acks)) = (f.sender.counters(), f.receiver.counters(), inside);
        let sample = f.sender.sample();
        let ended = f.receiver.completed().unwrap_or(f.stop).min(f.stop).min(end).max(f.start);
        Self(row![FLOW_COLUMNS;
            "start_ns": f.start as f64,
            "end_ns": ended as f64,
            "completed_ns": f.receiver.completed().map_or(f64::NAN, |t| t as f64),
            "rx_bytes": f.receiver.bytes_read() as f64,
            "sent_packets": s.sent as f64,
            "arrived_packets": r.arrived as f64,
            "duplicate_packets": r.duplicates as f64,
            "dropped_packets": drops.data as f64,
            "in_flight_packets": data as f64,
            "retransmits": s.retransmits as f64,
            "acks_sent": r.acks_sent as f64,
            "acks_arrived": s.acks_arrived as f64,
            "acks_dropped": drops.acks as f64,
            "acks_in_flight": acks as f64,
            "delivered": f64::from(sample.delivered),
            "delivered_ce": f64::from(sample.delivered_ce),
            "ce_arrived": r.ce as f64,
            "sce_arrived": r.sce as f64,
            "cwnd_reductions": s.cwnd_reductions as f64,
            "rto_timeouts": s.rto_timeouts as f64,
            "tlp_probes": s.tlp_probes as f64,
            "undos": s.undos as f64,
            "min_rtt_ms": sample.min_rtt_ms.unwrap_or(f64::NAN),
            "srtt_ms": sample.srtt_ms.unwrap_or(f64::NAN),
        ])
    }
}

/// What the connections of a workload came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupTotals {
    made: u64,
    completed: u64,
    completion: Time,
    longest: Time,
    rx_bytes: u64,
    sent: u64,
    retransmits: u64,
    rto_timeouts: u64,
}

impl GroupTotals {
    /// A connection is made.
    pub fn begin(&mut self) {
        self.made += 1;
    }

    /// Adds a connection that is gone, or at the end of the run.
    pub fn add(&mut self, f: &Flow) {
        if let Some(completed) = f.receiver.completed() {
            self.completed += 1;
            self.completion += completed - f.start;
            self.longest = self.longest.max(completed - f.start);
        }
        let s = f.sender.counters();
        self.rx_bytes += f.receiver.bytes_read();
        self.sent += s.sent;
        self.retransmits += s.retransmits;
        self.rto_timeouts += s.rto_timeouts;
    }

    /// A table of groups without rows.
    #[must_use]
    pub fn table() -> Rows {
        Rows::new(names(GROUP_COLUMNS))
    }

    /// Adds the group called `name` to the table.
    pub fn push(&self, name: &str, table: &mut Rows) {
        let ms = |time: f64| if self.completed == 0 { f64::NAN } else { time / 1e6 };
        let row = row![GROUP_COLUMNS;
            "connections": self.made as f64,
            "completed": self.completed as f64,
            "completion_mean_ms": ms(self.completion as f64 / self.completed as f64),
            "completion_max_ms": ms(self.longest as f64),
            "rx_bytes": self.rx_bytes as f64,
            "sent_packets": self.sent as f64,
            "retransmits": self.retransmits as f64,
            "rto_timeouts": self.rto_timeouts as f64,
        ];
        table.push(name, &row);
    }
}

/// The table of flows: TCP, then streams of datagrams; `inside` are the packets still under way, data and ACKs, in the same order.
#[must_use]
pub fn flows(flows: &[Flow], udp: &[Udp], network: &Network, inside: &[(u64, u64)], end: Time) -> Rows {
    let mut table = Rows::new(names(FLOW_COLUMNS));
    for (i, f) in flows.iter().enumerate() {
        table.push(&f.name, &FlowRow::of(f, &network.drops[i], inside[i], end).0);
    }
    // Between the two lie connections with requests and responses.
    let first = inside.len() - udp.len();
    for (u, (drops, (data, _))) in udp.iter().zip(network.drops.iter().zip(inside).skip(first)) {
        let mut row = [f64::NAN; count(FLOW_COLUMNS)];
        for (place, value) in [
            (const { place(FLOW_COLUMNS, "start_ns") }, u.start),
            (const { place(FLOW_COLUMNS, "end_ns") }, u.stop.min(end).max(u.start)),
            (const { place(FLOW_COLUMNS, "sent_packets") }, u.sent),
            (const { place(FLOW_COLUMNS, "arrived_packets") }, u.arrived),
            (const { place(FLOW_COLUMNS, "dropped_packets") }, drops.data),
            (const { place(FLOW_COLUMNS, "in_flight_packets") }, *data),
        ] {
            row[place] = value as f64;
        }
        table.push(&u.name, &row);
    }
    table
}

/// The table of ports.
#[must_use]
pub fn ports(network: &Network) -> Rows {
    let mut table = Rows::new(names(PORT_COLUMNS));
    for p in &network.ports {
        let (c, st) = (&p.counters, stats(p));
        let row = row![PORT_COLUMNS;
            "arrived_packets": c.arrived as f64,
            "sent_packets": c.sent as f64,
            "sent_bytes": c.sent_bytes as f64,
            "dropped_overflow": c.dropped[DropCause::Overflow as usize] as f64,
            "dropped_aqm": c.dropped[DropCause::Aqm as usize] as f64,
            "dropped_blue": c.dropped[DropCause::Blue as usize] as f64,
            "dropped_impairment": c.lost as f64,
            "queued_packets": p.backlog().0 as f64,
            "ce_marks": st.ce_marks as f64,
            "sce_marks": st.sce_marks as f64,
            "first_drop_ns": c.first_drop.map_or(f64::NAN, |t| t as f64),
        ];
        table.push(&p.id, &row);
    }
    table
}
