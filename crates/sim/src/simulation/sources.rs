//! The event sources that a run has from the start. Of two events at one time that of the lower source comes first.

use crate::network::PORTS;
use crate::spec::NetworkSpec;
use crate::traffic;
use crate::traffic::arrivals;
use crate::traffic::bulk::SOURCES as FLOW_SOURCES;

/// The first source of each kind, in their order; those of the first sample, the schedule and the ports come before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sources {
    /// Bulk flows.
    pub flows: usize,
    /// The other traffic that exists from the start, then the workloads that make connections.
    pub others: usize,
    /// Packets that have left hosts' own queues, if hosts have queues: behind all packets of the same time.
    pub hosts: Option<usize>,
    /// The applications that wait until all else of the same time is done.
    pub applications: usize,
    /// Samples after the first: the state that everything at the same time has led to.
    pub sampler: usize,
    /// One beyond the last.
    pub end: usize,
}

impl Sources {
    /// Give each part of a run its sources.
    pub fn of(spec: &NetworkSpec) -> Self {
        let mut end = PORTS;
        let mut take = |count: usize| {
            end += count;
            end - count
        };
        take(2 * spec.ports.len());
        let flows = take(FLOW_SOURCES * spec.connections().count());
        let listed = spec.others().filter(|(_, workload)| workload.listed().is_some());
        let others = take(listed.map(|(_, workload)| traffic::sources(workload)).sum());
        take(arrivals::SOURCES * spec.making().count());
        let hosts = spec.hosts.iter().any(|host| host.egress.is_some()).then(|| take(1));
        let applications = take(1);
        let sampler = take(1);
        Self { flows, others, hosts, applications, sampler, end }
    }
}
