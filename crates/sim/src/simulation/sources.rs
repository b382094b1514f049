//! The indices and the event sources that a run has from the start. Of two events at one time that of the lower source comes first.

use crate::network::PORTS;
use crate::spec::{NetworkSpec, WorkloadSpec};
use crate::traffic;
use crate::traffic::bulk::SOURCES as FLOW_SOURCES;

/// The place of a workload: its first index among all flows, and its first event source.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub index: usize,
    pub source: usize,
}

/// The places of all workloads, and the first source of each kind in their order. Those of the sampler, the schedule and the ports come
/// before.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    /// The workloads by their position in the plan, in the order of their places: bulk flows, other traffic that exists from the start,
    /// workloads that make connections.
    pub workloads: Vec<(usize, Place)>,
    /// Bulk flows.
    pub flows: usize,
    /// All other workloads.
    pub others: usize,
    /// Packets that have left hosts' own queues, if hosts have queues: behind all packets of the same time.
    pub hosts: Option<usize>,
    /// The applications that wait until all else of the same time is done.
    pub applications: usize,
    /// One beyond the last.
    pub end: usize,
}

impl Sources {
    /// Give each part of a run its sources.
    pub fn of(spec: &NetworkSpec) -> Self {
        let flows = PORTS + 2 * spec.ports.len();
        let others = flows + FLOW_SOURCES * spec.connections().count();
        let (mut index, mut end) = (0, flows);
        let mut take = |count: usize| {
            end += count;
            end - count
        };
        let mut order: Vec<_> = spec.workloads.iter().enumerate().collect();
        let is_other = |workload: &WorkloadSpec| !matches!(workload, WorkloadSpec::Tcp(_));
        order.sort_by_key(|(_, workload)| (is_other(workload), workload.listed().is_none()));
        let place = |(i, workload): (usize, &WorkloadSpec)| {
            let place = Place { index, source: take(traffic::sources(workload)) };
            index += workload.listed().map_or(0, <[_]>::len);
            (i, place)
        };
        let workloads = order.into_iter().map(place).collect();
        let hosts = spec.hosts.iter().any(|host| host.egress.is_some()).then(|| take(1));
        let applications = take(1);
        Self { workloads, flows, others, hosts, applications, end }
    }
}
