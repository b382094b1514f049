//! Which entities get series, as a description chooses them.

use crate::network::Shares;
use crate::probe::{Chosen, Group};
use crate::refusal::Flaws;
use crate::spec::{NetworkSpec, SeriesSpec, WorkloadSpec};

/// Refuses what there is not, and groups that are not of TCP.
pub fn check(spec: &NetworkSpec) -> Result<(), Flaws> {
    let mut flaws = Flaws::default();
    let Some(series) = &spec.series else { return Ok(()) };
    for (field, list) in [("series.flows", &series.flows), ("series.groups", &series.groups)] {
        if let Some(i) = list.iter().find(|&&i| !matches!(spec.workloads.get(i), Some(WorkloadSpec::Tcp(_)))) {
            flaws.add(field, format_args!("workload {i}"), "workloads of TCP");
        }
    }
    for (field, list) in [("series.ports", &series.ports), ("series.shares", &series.shares)] {
        if let Some(port) = list.iter().find(|&&port| port >= spec.ports.len()) {
            flaws.add(field, format_args!("port {port} of {}", spec.ports.len()), "ports that there are");
        }
    }
    flaws.done()
}

/// What is sampled; every flow and port if nothing is chosen.
pub fn chosen(spec: &NetworkSpec) -> Chosen {
    let Some(SeriesSpec { flows, groups, ports, shares }) = &spec.series else {
        let all = Chosen {
            flows: (0..spec.connections().count()).collect(),
            ports: (0..spec.ports.len()).collect(),
            ..Chosen::default()
        };
        return all;
    };
    let mut members = vec![vec![]; spec.workloads.len()];
    for (flow, (workload, ..)) in spec.connections().enumerate() {
        members[workload].push(flow);
    }
    let group = |workload: &usize| match &spec.workloads[*workload] {
        WorkloadSpec::Tcp(tcp) => Group { name: tcp.id.clone(), flows: members[*workload].clone() },
        _ => unreachable!("a group is of TCP"),
    };
    Chosen {
        flows: flows.iter().flat_map(|&workload| &members[workload]).copied().collect(),
        groups: groups.iter().map(group).collect(),
        ports: ports.clone(),
        shares: shares.clone(),
    }
}

/// What counts the bytes of flows at ports; nothing if nobody asks.
pub fn shares(spec: &NetworkSpec) -> Option<Box<Shares>> {
    let counted = &spec.series.as_ref()?.shares;
    let flows = spec.connections().count();
    (spec.sample_ns > 0 && !counted.is_empty()).then(|| Box::new(Shares::new(counted, spec.ports.len(), flows)))
}
