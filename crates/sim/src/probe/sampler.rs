//! Samples of flows, groups and ports at a fixed interval.
//!
//! The series of a flow begin with connect() and end with the flow. A transfer ends when it is complete. A flow that is stopped ends for
//! its sender there and then. While its data are under way, the bytes that the receiver has read, and that ports have handed on, are still
//! sampled.

use super::row;
use super::schema::{count, names, place, Quantity, FLOW_SERIES, GROUP_SERIES, PORT_SERIES, SHARE_SERIES};
use super::states::States;
use super::totals::{GroupTotals, Volume};
use crate::flow::Flow;
use crate::network::Network;
use crate::output::Table;
use crate::port::media::Medium;
use crate::port::Port;
use crate::tcp::linux::sender as linux;
use crate::tcp::transport::{ReceivingEnd, SenderSample, SendingEnd};
use crate::time::Time;

const FLOW: usize = count(FLOW_SERIES);
const GROUP: usize = count(GROUP_SERIES);
const PORT: usize = count(PORT_SERIES);
const SHARE: usize = count(SHARE_SERIES);

/// Flows that are sampled together.
#[derive(Clone, Debug)]
pub struct Group {
    /// Name.
    pub name: String,
    /// Its flows.
    pub members: Members,
}

/// The flows of a group.
#[derive(Clone, Debug)]
pub enum Members {
    /// Their positions.
    Flows(Vec<usize>),
    /// Connections that a workload makes during the run; holds the workload's position among such workloads.
    Coming(usize),
}

/// Connections that come and go, by the workload that makes them.
pub trait Coming {
    /// Return the totals of the connections that are gone.
    fn gone(&self, workload: usize) -> &GroupTotals;

    /// Return the connections that are alive, each with its index among all flows, in no particular order.
    fn alive(&self, workload: usize) -> impl Iterator<Item = (usize, &Flow)>;
}

/// Positions of the entities that are sampled.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Flows.
    pub flows: Vec<usize>,
    /// Connections of applications: the position of each, counted from the first of them, and its name.
    pub connections: Vec<(usize, String)>,
    /// Groups.
    pub groups: Vec<Group>,
    /// Ports.
    pub ports: Vec<usize>,
    /// Ports at which the chosen flows and groups are counted.
    pub shares: Vec<usize>,
    /// State variables of the flows and ports, by name, or `control` and `queue` for all.
    pub state: Vec<String>,
}

/// Takes samples at a fixed interval.
#[derive(Debug)]
pub struct Sampler {
    interval: Time,
    chosen: Chosen,
    flows: Vec<Table>,
    connections: Vec<Table>,
    groups: Vec<Table>,
    ports: Vec<Table>,
    /// For each counted port: the chosen flows, then the groups.
    shares: Vec<Table>,
    /// Samples of state variables, if there are any.
    states: Option<Box<States>>,
}

/// The stage that a flow has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// It has not begun, or is over.
    None,
    /// It is open.
    Open,
    /// It was stopped, and data are under way.
    Draining,
}

impl Sampler {
    /// Make a sampler of the chosen entities.
    #[must_use]
    pub fn new(interval: Time, chosen: Chosen, flows: &[Flow], ports: &[Port]) -> Self {
        let table = |entity: String, list: &[Quantity]| Table { entity, columns: names(list), ..Table::default() };
        let flow_entities: Vec<String> = chosen.flows.iter().map(|&i| format!("flow/{}", flows[i].name)).collect();
        let group_entities: Vec<String> = chosen.groups.iter().map(|g| format!("group/{}", g.name)).collect();
        let connections: Vec<String> = chosen.connections.iter().map(|(_, name)| format!("flow/{name}")).collect();
        let senders: Vec<String> = flow_entities.iter().chain(&connections).cloned().collect();
        let both = || flow_entities.iter().chain(&group_entities);
        let port_entities: Vec<String> = chosen.ports.iter().map(|&i| format!("port/{}", ports[i].id)).collect();
        let shares = chosen
            .shares
            .iter()
            .map(|&port| &ports[port].id)
            .flat_map(|port| both().map(move |entity| table(format!("share/{port}/{entity}"), SHARE_SERIES)));
        Self {
            interval,
            shares: shares.collect(),
            states: States::of(&chosen.state, &senders, &port_entities),
            ports: port_entities.into_iter().map(|entity| table(entity, PORT_SERIES)).collect(),
            connections: connections.into_iter().map(|entity| table(entity, FLOW_SERIES)).collect(),
            flows: flow_entities.iter().map(|entity| table(entity.clone(), FLOW_SERIES)).collect(),
            groups: group_entities.iter().map(|entity| table(entity.clone(), GROUP_SERIES)).collect(),
            chosen,
        }
    }

    /// Time between samples; 0: none are taken.
    #[must_use]
    pub fn interval(&self) -> Time {
        self.interval
    }

    /// Takes a row of each; returns the time of the next.
    pub fn sample(&mut self, flows: &[Flow], coming: &impl Coming, network: &Network) -> Time {
        let now = network.now();
        for (&i, table) in self.chosen.flows.iter().zip(&mut self.flows) {
            match life(i, &flows[i], network) {
                Life::None => {}
                Life::Open => table.push(now, &of_flow(&flows[i])),
                Life::Draining => table.push(now, &of_receiver(&flows[i])),
            }
        }
        for (group, table) in self.chosen.groups.iter().zip(&mut self.groups) {
            let row = match &group.members {
                Members::Flows(places) => {
                    of_group(&GroupTotals::default(), places.iter().map(|&i| (i, &flows[i])), network)
                }
                Members::Coming(workload) => of_group(coming.gone(*workload), coming.alive(*workload), network),
            };
            table.push(now, &row);
        }
        for (&i, table) in self.chosen.ports.iter().zip(&mut self.ports) {
            table.push(now, &of_port(&network.ports[i]));
        }
        if self.states.is_some() {
            self.sample_states(flows, network);
        }
        if !self.shares.is_empty() {
            self.sample_shares(flows, network);
        }
        now + self.interval
    }

    /// True if connections of applications are sampled.
    #[must_use]
    pub fn has_connections(&self) -> bool {
        !self.chosen.connections.is_empty()
    }

    /// Takes a row of each connection of an application. `find` returns the sender of one whose data matter, and the bytes that its peer has
    /// read; `None` before it is opened and after it is stopped.
    pub fn sample_connections<'a>(&mut self, now: Time, find: impl Fn(usize) -> Option<(&'a linux::Sender, u64)>) {
        let first = self.chosen.flows.len();
        for (place, ((i, _), table)) in self.chosen.connections.iter().zip(&mut self.connections).enumerate() {
            let Some((sender, read)) = find(*i) else { continue };
            table.push(now, &of_sender(&SendingEnd::sample(sender), sender.counters.retransmits, read));
            if let Some(states) = &mut self.states {
                states.sample_flow(first + place, now, |tell| sender.state(now, tell));
            }
        }
    }

    #[cold]
    fn sample_states(&mut self, flows: &[Flow], network: &Network) {
        let Some(states) = &mut self.states else { return };
        let now = network.now();
        for (place, &i) in self.chosen.flows.iter().enumerate() {
            if life(i, &flows[i], network) == Life::Open {
                states.sample_flow(place, now, |tell| flows[i].sender.state(now, tell));
            }
        }
        for (place, &i) in self.chosen.ports.iter().enumerate() {
            states.sample_port(place, now, &network.ports[i]);
        }
    }

    fn sample_shares(&mut self, flows: &[Flow], network: &Network) {
        let Some(counted) = &network.shares else { return };
        let now = network.now();
        let mut tables = self.shares.iter_mut();
        for &port in &self.chosen.shares {
            for &i in &self.chosen.flows {
                let table = tables.next().expect("a table for each port and flow");
                if life(i, &flows[i], network) != Life::None {
                    table.push(now, &of_share(counted.bytes(port, i)));
                }
            }
            for group in &self.chosen.groups {
                let table = tables.next().expect("a table for each port and group");
                let bytes = match &group.members {
                    Members::Flows(places) => places.iter().map(|&i| counted.bytes(port, i)).sum(),
                    Members::Coming(workload) => counted.bytes_of_workload(port, *workload),
                };
                table.push(now, &of_share(bytes));
            }
        }
    }

    /// The tables: flows, groups, ports, flows and groups at ports; and those of state variables.
    #[must_use]
    pub fn finish(self) -> (Vec<Table>, Vec<Table<String>>) {
        if self.interval == 0 {
            return (vec![], vec![]);
        }
        let states = self.states.map_or_else(Vec::new, |states| states.finish());
        let flows = self.flows.into_iter().chain(self.connections);
        (flows.chain(self.groups).chain(self.ports).chain(self.shares).collect(), states)
    }
}

fn life(i: usize, f: &Flow, network: &Network) -> Life {
    let now = network.now();
    if now < f.start || f.receiver.completed().is_some() {
        Life::None
    } else if now <= f.stop {
        if f.is_being_opened() {
            Life::None
        } else {
            Life::Open
        }
    } else if f.sender.counters().sent + network.drops[i].data_copies
        > f.receiver.counters().arrived + network.drops[i].data
    {
        Life::Draining
    } else {
        Life::None
    }
}

fn of_flow(f: &Flow) -> [f64; FLOW] {
    of_sender(&f.sender.sample(), f.sender.counters().retransmits, f.receiver.bytes_read())
}

fn of_sender(s: &SenderSample, retransmits: u64, read: u64) -> [f64; FLOW] {
    row![FLOW_SERIES;
        "cwnd": s.cwnd,
        "ssthresh": s.ssthresh.unwrap_or(f64::NAN),
        "srtt_ms": s.srtt_ms.unwrap_or(f64::NAN),
        "rtt_ms": s.rtt_ms.unwrap_or(f64::NAN),
        "min_rtt_ms": s.min_rtt_ms.unwrap_or(f64::NAN),
        "inflight": f64::from(s.in_flight),
        "delivered": f64::from(s.delivered),
        "delivered_ce": f64::from(s.delivered_ce),
        "retransmits": retransmits as f64,
        "rx_bytes": read as f64,
        "ca_state": f64::from(s.state as u8),
    ]
}

/// The sender is gone.
fn of_receiver(f: &Flow) -> [f64; FLOW] {
    let mut row = [f64::NAN; FLOW];
    row[const { place(FLOW_SERIES, "rx_bytes") }] = f.receiver.bytes_read() as f64;
    row
}

/// Return the flows of a group. `gone` holds the totals of those that have left the group.
fn of_group<'a>(
    gone: &GroupTotals,
    members: impl Iterator<Item = (usize, &'a Flow)>,
    network: &Network,
) -> [f64; GROUP] {
    let (mut open, mut cwnd, mut inflight) = (0u64, 0.0, 0u64);
    let (mut srtt, mut measured, mut min_rtt) = (0.0, 0u64, f64::NAN);
    let mut volume = gone.volume();
    for (i, f) in members {
        let s = f.sender.sample();
        volume += Volume::of(f);
        if life(i, f, network) != Life::Open {
            continue;
        }
        open += 1;
        cwnd += s.cwnd;
        inflight += u64::from(s.in_flight);
        if let Some(ms) = s.srtt_ms {
            srtt += ms;
            measured += 1;
        }
        // The minimum of a number and NaN is the number.
        min_rtt = min_rtt.min(s.min_rtt_ms.unwrap_or(f64::NAN));
    }
    row![GROUP_SERIES;
        "flows": open as f64,
        "cwnd": cwnd,
        "srtt_ms": srtt / measured as f64,
        "min_rtt_ms": min_rtt,
        "inflight": inflight as f64,
        "delivered": volume.delivered as f64,
        "delivered_ce": volume.delivered_ce as f64,
        "retransmits": volume.retransmits as f64,
        "rx_bytes": volume.rx_bytes as f64,
    ]
}

fn of_share(bytes: u64) -> [f64; SHARE] {
    row![SHARE_SERIES; "sent_bytes": bytes as f64]
}

fn of_port(p: &Port) -> [f64; PORT] {
    let (packets, bytes) = p.backlog();
    let stats = p.medium.stats();
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
