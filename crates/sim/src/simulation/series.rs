//! The entities that get series, as a description chooses them.

use crate::network::{Network, Shares};
use crate::output::Events;
use crate::probe::{Chosen, Group, Members, Occasion, Recorder};
use crate::refusal::Flaws;
use crate::spec::{NetworkSpec, SeriesSpec, WorkloadSpec};
use crate::tcp::endpoint::Sender;
use crate::tcp::linux::sender as linux;

/// Check the chosen entities. Entities that do not exist are an error, and so are groups that are not TCP connections with one direction.
pub fn check(spec: &NetworkSpec) -> Result<(), Flaws> {
    let mut flaws = Flaws::default();
    let Some(series) = &spec.series else { return Ok(()) };
    let workload = |i: usize| spec.workloads.get(i);
    let bulk = |i: usize| matches!(workload(i), Some(WorkloadSpec::Tcp(_)));
    let coming = |i: usize| workload(i).is_some_and(|each| each.listed().is_none());
    let listed = |i: usize| workload(i).is_some_and(|each| each.listed().is_some() && each.tcp().is_some());
    if let Some(i) = series.flows.iter().find(|&&i| !listed(i)) {
        flaws.add(
            "series.flows",
            format_args!("workload {i}"),
            "workloads of TCP connections that exist from the start",
        );
    }
    if let Some(i) = series.groups.iter().find(|&&i| !bulk(i) && !coming(i)) {
        flaws.add(
            "series.groups",
            format_args!("workload {i}"),
            "workloads of bulk flows or of connections that come and go",
        );
    }
    for (field, list) in [("series.ports", &series.ports), ("series.shares", &series.shares)] {
        if let Some(port) = list.iter().find(|&&port| port >= spec.ports.len()) {
            flaws.add(field, format_args!("port {port} of {}", spec.ports.len()), "ports that there are");
        }
    }
    flaws.done()
}

/// Return the entities to sample: every flow and port if the description chooses none.
pub fn chosen(spec: &NetworkSpec) -> Chosen {
    let Some(SeriesSpec { flows, groups, ports, shares, state, .. }) = &spec.series else {
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
    let group = |&workload: &usize| Group {
        name: spec.workloads[workload].id().to_owned(),
        members: match spec.making().position(|(i, _)| i == workload) {
            Some(among_those) => Members::Coming(among_those),
            None => Members::Flows(members[workload].clone()),
        },
    };
    let mut connections = vec![];
    let listed = spec.others().filter_map(|(i, workload)| Some((i, workload.listed()?)));
    for (place, (workload, each)) in listed.flat_map(|(i, all)| all.iter().map(move |each| (i, each))).enumerate() {
        if flows.contains(&workload) {
            connections.push((place, each.name.clone()));
        }
    }
    Chosen {
        connections,
        flows: flows.iter().flat_map(|&workload| &members[workload]).copied().collect(),
        groups: groups.iter().map(group).collect(),
        ports: ports.clone(),
        shares: shares.clone(),
        state: state.clone(),
    }
}

/// Return the recorder of events of the flows that get series; `None` if nobody asks for events.
pub fn recorder(spec: &NetworkSpec) -> Option<Box<Recorder>> {
    let kinds = &spec.series.as_ref()?.events;
    let bulk = spec.connections().map(|(_, tcp, _)| tcp.cc.kind.as_str());
    let first = spec.connections().count();
    let others = spec.listed().map(|(workload, _)| workload.tcp().map_or("", |tcp| tcp.cc.kind.as_str()));
    (!kinds.is_empty()).then(|| {
        let chosen = chosen(spec);
        let watched: Vec<usize> =
            chosen.flows.iter().copied().chain(chosen.connections.iter().map(|(i, _)| first + i)).collect();
        Recorder::of(kinds, &watched, &bulk.chain(others).collect::<Vec<_>>())
    })
}

/// Something may have changed the sender of a flow whose events are recorded.
#[cold]
#[inline(never)]
pub fn look(network: &mut Network, flow: usize, sender: &Sender, occasion: Occasion) {
    let now = network.shared.now;
    if let Some(recorder) = network.watch.as_mut().and_then(|watch| (**watch).as_any().downcast_mut::<Recorder>()) {
        recorder.look(now, flow, sender, occasion);
    }
}

/// Something may have changed the sender of an application's connection, whose events are recorded.
#[cold]
#[inline(never)]
pub fn look_at(network: &mut Network, flow: usize, sender: Option<(&linux::Sender, u64)>, occasion: Occasion) {
    let now = network.shared.now;
    let Some((sender, _)) = sender else { return };
    if let Some(recorder) = network.watch.as_mut().and_then(|watch| (**watch).as_any().downcast_mut::<Recorder>()) {
        recorder.look_at(now, flow, sender, occasion);
    }
}

/// Take the record of events out of the network; `None` if nobody asked for one.
pub fn happened(network: &mut Network) -> Option<Events> {
    let watch = network.watch.take()?;
    watch.into_any().downcast::<Recorder>().ok().map(|recorder| recorder.finish())
}

/// Return the counters of flows' bytes at ports; `None` if nobody asks for them.
pub fn shares(spec: &NetworkSpec) -> Option<Box<Shares>> {
    let counted = &spec.series.as_ref()?.shares;
    let flows = spec.connections().count();
    let workloads = spec.making().count();
    (spec.sample_ns > 0 && !counted.is_empty())
        .then(|| Box::new(Shares::new(counted, spec.ports.len(), flows, workloads)))
}
