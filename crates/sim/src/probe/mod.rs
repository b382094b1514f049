//! Sampled series and final counters. Nothing here is smoothed; srtt is the stack's own, rtt its last raw sample.

use crate::flow::Flow;
use crate::network::Network;
use crate::output::Table;
use crate::packet::DropCause;
use crate::port::{Kind, Port};
use crate::qdisc::{Qdisc, QdiscStats};
use crate::time::Time;
use crate::traffic::Udp;

const FLOW_COLUMNS: &[(&str, &str)] = &[
    ("cwnd", "packets"),
    ("ssthresh", "packets"),
    ("srtt_ms", "ms"),
    ("rtt_ms", "ms"),
    ("min_rtt_ms", "ms"),
    ("inflight", "packets"),
    ("delivered", "packets"),
    ("delivered_ce", "packets"),
    ("retransmits", "packets"),
    ("rx_bytes", "bytes"),
    ("ca_state", "0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss"),
];
const PORT_COLUMNS: &[(&str, &str)] = &[
    ("backlog_bytes", "bytes"),
    ("backlog_packets", "packets"),
    ("sojourn_ms", "ms"),
    ("drops", "packets"),
    ("ce_marks", "packets"),
    ("sce_marks", "packets"),
    ("sent_packets", "packets"),
    ("sent_bytes", "bytes"),
];

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
        let table = |kind: &str, name: &str, columns: &[(&'static str, &'static str)]| Table {
            entity: format!("{kind}/{name}"),
            columns: columns.to_vec(),
            ..Table::default()
        };
        Self {
            interval,
            flows: flows.iter().map(|f| table("flow", &f.name, FLOW_COLUMNS)).collect(),
            ports: ports.iter().map(|p| table("port", &p.id, PORT_COLUMNS)).collect(),
        }
    }

    /// Takes a row of each; returns the time of the next.
    pub fn sample(&mut self, flows: &[Flow], network: &Network) -> Time {
        let now = network.now();
        for (f, table) in flows.iter().zip(&mut self.flows) {
            if now < f.start {
                continue;
            }
            let s = f.sender.sample();
            table.t_ns.push(now as i64);
            table.values.extend([
                s.cwnd,
                s.ssthresh.unwrap_or(f64::NAN),
                s.srtt_ms.unwrap_or(f64::NAN),
                s.rtt_ms.unwrap_or(f64::NAN),
                s.min_rtt_ms.unwrap_or(f64::NAN),
                f64::from(s.in_flight),
                f64::from(s.delivered),
                f64::from(s.delivered_ce),
                f.sender.counters().retransmits as f64,
                f.receiver.bytes_read() as f64,
                f64::from(s.state as u8),
            ]);
        }
        for (p, table) in network.ports.iter().zip(&mut self.ports) {
            let (packets, bytes) = p.backlog();
            let stats = stats(p);
            table.t_ns.push(now as i64);
            table.values.extend([
                bytes as f64,
                packets as f64,
                stats.last_sojourn as f64 / 1e6,
                p.counters.drops() as f64,
                stats.ce_marks as f64,
                stats.sce_marks as f64,
                p.counters.sent as f64,
                p.counters.sent_bytes as f64,
            ]);
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

/// What the queue discipline of a port counted.
pub(crate) fn stats(p: &Port) -> QdiscStats {
    match &p.kind {
        Kind::Link { .. } => QdiscStats::default(),
        Kind::Queue { qdisc, .. } => *qdisc.stats(),
    }
}

/// Counters of every flow, stream of datagrams and port at the end of a run; `inside` are the packets still under way, by flow.
pub fn count(
    flows: &[Flow],
    udp: &[Udp],
    network: &Network,
    inside: &[(u64, u64)],
    end: Time,
    out: &mut Vec<(String, Vec<(String, u64)>)>,
) {
    let own = |list: Vec<(&str, u64)>| list.into_iter().map(|(k, v)| (k.to_owned(), v)).collect::<Vec<_>>();
    for (i, f) in flows.iter().enumerate() {
        let (s, r, drops) = (f.sender.counters(), f.receiver.counters(), &network.drops[i]);
        let (data, acks) = inside[i];
        let mut list = own(vec![
            ("sent_packets", s.sent),
            ("retransmits", s.retransmits),
            ("arrived_packets", r.arrived),
            ("duplicate_packets", r.duplicates),
            ("dropped_packets", drops.data),
            ("in_flight_packets", data),
            ("acks_sent", r.acks_sent),
            ("acks_arrived", s.acks_arrived),
            ("acks_dropped", drops.acks),
            ("acks_in_flight", acks),
            ("rx_bytes", f.receiver.bytes_read()),
            ("active_ns", f.receiver.completed().unwrap_or(f.stop).min(f.stop).min(end).saturating_sub(f.start)),
            ("rto_timeouts", s.rto_timeouts),
            ("tlp_probes", s.tlp_probes),
            ("undos", s.undos),
            ("ce_arrived", r.ce),
            ("sce_arrived", r.sce),
            ("delivered_ce", u64::from(f.sender.sample().delivered_ce)),
            ("cwnd_reductions", s.cwnd_reductions),
        ]);
        if let Some(t) = f.receiver.completed() {
            list.push(("completed_ns".to_owned(), t));
        }
        out.push((format!("flow/{}", f.name), list));
    }
    for (i, u) in udp.iter().enumerate() {
        let i = flows.len() + i;
        let list = own(vec![
            ("sent_packets", u.sent),
            ("arrived_packets", u.arrived),
            ("dropped_packets", network.drops[i].data),
            ("in_flight_packets", inside[i].0),
        ]);
        out.push((format!("udp/{}", u.name), list));
    }
    for p in &network.ports {
        let (c, st) = (&p.counters, stats(p));
        let mut list = own(vec![
            ("arrived_packets", c.arrived),
            ("sent_packets", c.sent),
            ("sent_bytes", c.sent_bytes),
            ("dropped_overflow", c.dropped[DropCause::Overflow as usize]),
            ("dropped_aqm", c.dropped[DropCause::Aqm as usize]),
            ("dropped_blue", c.dropped[DropCause::Blue as usize]),
            ("dropped_impairment", c.lost),
            ("queued_packets", p.backlog().0 as u64),
            ("ce_marks", st.ce_marks),
            ("sce_marks", st.sce_marks),
        ]);
        if let Some(t) = c.first_drop {
            list.push(("first_drop_ns".to_owned(), t));
        }
        out.push((format!("port/{}", p.id), list));
    }
}
