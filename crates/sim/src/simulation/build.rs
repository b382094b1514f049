//! Builds the world of a description, or finds all that cannot be run.

use super::arena::Arena;
use super::slots::{Group, Slots};
use super::sources::Sources;
use super::tuples::tuples;
use super::{series, taps, Bounds, World, CHANGES, MOST_NOTED, SAMPLER};
use crate::capture::FlowHeaders;
use crate::events::{EventSet, MAX_SOURCES};
use crate::flow::Flow;
use crate::network::{FlowWay, Network, Routes, Watch, PORTS};
use crate::packet::{self, FlowTuple, ETHERNET, FULL_FRAME};
use crate::port::media::SharedMedia;
use crate::port::{resolve, Change, Port, Schedule};
use crate::prefetch::MANY_FLOWS;
use crate::probe::Sampler;
use crate::refusal::{Flaws, Part, Place, Refusal};
use crate::segment::TcpHeaders;
use crate::spec::{Direction, Heading, NetworkSpec, PathSpec, PortSpec, FORMAT};
use crate::tcp::implementation::Implementation;
use crate::tcp::transport::{ReceivingEnd, SendingEnd};
use crate::time::{Time, MAX_TIME, SEC};
use crate::traffic::arrivals::Making;
use crate::traffic::bulk::{CONTROL, SOURCES as FLOW_SOURCES};
use crate::traffic::{build, AnyTraffic, Controls, Made, Site, MOST_MTU};

/// Most ports of a path: a packet counts them in 8 bits.
const MAX_HOPS: usize = 255;
/// Most connections and streams that are there from the start. Each takes some 13 kB before anything is sent.
const MAX_CONNECTIONS: usize = 100_000;
/// Most ports: the largest index stands for the end of a way.
const MAX_PORTS: usize = u16::MAX as usize;

/// The parts of a world, made from the parts of its description.
#[derive(Default)]
struct Parts<'a> {
    ports: Vec<Port>,
    changes: Vec<(Time, usize, Change)>,
    flows: Vec<Flow>,
    others: Vec<AnyTraffic>,
    /// The names of their workloads, each with how many are of it.
    listed: Vec<(String, usize)>,
    groups: Vec<Group<'a>>,
}

impl<'a> World<'a> {
    /// The world at time 0.
    pub(super) fn build(spec: &'a NetworkSpec, controls: &'a Controls) -> Result<Self, Vec<Refusal>> {
        check_size(spec).map_err(|flaws| -> Vec<_> { flaws.at(Place { kind: Part::Run, index: None }).collect() })?;
        let sources = Sources::of(spec);
        let Parts { ports, changes, flows, others, listed, groups } = parts(spec, &sources, controls)?;
        let tuples = tuples(spec);
        let events = EventSet::new(PORTS..sources.flows, sources.end, FLOW_SOURCES);
        let (routes, ways) = routes(spec, &groups);
        let slots = Slots::new(groups, ways, sources.end, spec, controls);
        let mut arena = Arena::new(flows, others, slots, &sources);
        let headers = if spec.captures() { headers(spec, &arena, &tuples) } else { vec![] };
        let mut network = Network::new(ports, routes, tuples, &TcpHeaders, events, spec.seed);
        if let Some(source) = sources.hosts {
            network.put_on_hosts(spec.hosts.iter().filter_map(|host| host.egress), source);
        }
        network.applications_act_by(sources.applications);
        if spec.captures() {
            network.put_tap(taps::put(spec, &headers));
        }
        for (i, flow) in arena.flows.iter_mut().enumerate() {
            flow.sender.on_host_with_queue(network.host_queue(i, packet::Direction::Forward));
            if network.paces(i) {
                flow.sender.pace_in_host();
            }
        }
        let mut first = arena.flows.len();
        for other in &mut arena.others {
            other.on_hosts_with_queues(
                [packet::Direction::Forward, packet::Direction::Reverse]
                    .map(|direction| network.host_queue(first, direction)),
            );
            first += other.flows();
        }
        for (i, flow) in arena.flows.iter().enumerate() {
            network.events.set(sources.flows + FLOW_SOURCES * i + CONTROL, flow.start);
        }
        arena.others.iter().for_each(|each| each.schedule(&mut network));
        arena.slots.groups.iter().for_each(|group| group.making.arrivals.schedule(&mut network));
        let schedule = Schedule::new(changes);
        network.events.set(CHANGES, schedule.next());
        if spec.sample_ns > 0 {
            network.events.set(SAMPLER, 0);
        }
        network.count_shares(series::shares(spec));
        network.watch = series::recorder(spec).map(|recorder| recorder as Box<dyn Watch>);
        let sampler = Sampler::new(spec.sample_ns, series::chosen(spec), &arena.flows, &network.ports);
        let looks_ahead = network.routes.flows() >= MANY_FLOWS;
        Ok(Self {
            network,
            arena,
            listed,
            schedule,
            sampler,
            headers,
            looks_ahead,
            approaching: None,
            bounds: Bounds { end: spec.duration_ns, noted: MOST_NOTED, slots: MAX_CONNECTIONS },
            first_flow_source: sources.flows,
            events: 0,
        })
    }
}

/// Make every part, so that every refusal is found.
fn parts<'a>(spec: &'a NetworkSpec, sources: &Sources, controls: &'a Controls) -> Result<Parts<'a>, Vec<Refusal>> {
    let (mut parts, mut refusals) = (Parts::default(), vec![]);
    let mut refuse = |kind, index, flaws: Flaws| refusals.extend(flaws.at(Place { kind, index }));
    if let Err(flaws) = check_run(spec) {
        refuse(Part::Run, None, flaws);
    }
    for (i, host) in spec.hosts.iter().enumerate() {
        let egress = host.egress.map_or(Ok(()), |port| Flaws::position("egress", port, "port", spec.ports.len()));
        if let Err(flaws) = egress {
            refuse(Part::Host, Some(i), flaws);
        }
    }
    let mut lines = SharedMedia::default();
    for (i, port) in spec.ports.iter().enumerate() {
        match Port::build(port, spec.mtu_bytes, spec.seed, &mut lines) {
            Ok(port) => parts.ports.push(port),
            Err(flaws) => refuse(Part::Port, Some(i), flaws),
        }
    }
    for ((i, path), uses) in spec.paths.iter().enumerate().zip(uses(spec)) {
        if let Err(flaws) = check_path(path, uses, &spec.ports) {
            refuse(Part::Path, Some(i), flaws);
        }
    }
    for &(i, place) in &sources.workloads {
        let (workload, index) = (&spec.workloads[i], place.index as u32);
        match build(workload, &Site { network: spec, controls, index, source: place.source }) {
            Ok(Made::Bulk(flows)) => parts.flows.extend(flows),
            Ok(Made::Listed(others)) => {
                parts.listed.push((workload.id().to_owned(), others.len()));
                parts.others.extend(others);
            }
            Ok(Made::Making(making)) => parts.groups.push(Group::new(*making)),
            Err(flaws) => refuse(Part::Workload, Some(i), flaws),
        }
    }
    for (i, change) in spec.schedule.iter().enumerate() {
        match resolve(change, &spec.ports) {
            Ok(change) => parts.changes.push(change),
            Err(flaws) => refuse(Part::Change, Some(i), flaws),
        }
    }
    if refusals.is_empty() {
        Ok(parts)
    } else {
        Err(refusals)
    }
}

/// Refuses a run that is too large, before anything of it is made.
fn check_size(spec: &NetworkSpec) -> Result<(), Flaws> {
    let mut flaws = Flaws::default();
    flaws.at_most("ports", spec.ports.len(), "ports", MAX_PORTS);
    let connections = spec.connections().count() + spec.listed().count();
    flaws.at_most("workloads", connections, "connections", MAX_CONNECTIONS);
    flaws.done()?;
    // Keys of the event set need room for one slot at least.
    let in_slots = if spec.making().next().is_some() { FLOW_SOURCES } else { 0 };
    flaws.at_most(
        "workloads",
        Sources::of(spec).end,
        "timers of ports, connections and streams",
        MAX_SOURCES - in_slots,
    );
    flaws.done()
}

/// Refuses another format, and a run that is too long.
fn check_run(spec: &NetworkSpec) -> Result<(), Flaws> {
    let mut flaws = Flaws::default();
    flaws.range("format", spec.format, "", FORMAT..=FORMAT);
    flaws.range("mtu_bytes", spec.mtu_bytes, "bytes", FULL_FRAME - ETHERNET..=MOST_MTU);
    if spec.duration_ns > MAX_TIME {
        let [duration, most] = [spec.duration_ns, MAX_TIME].map(|ns| ns / SEC);
        flaws.add("duration_ns", format_args!("{duration} s"), format_args!("at most {most} s"));
    }
    taps::check(spec, &mut flaws);
    Flaws::both(flaws.done(), series::check(spec)).map(|_| ())
}

/// The traffic over a path.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    tcp: bool,
    forward: bool,
    reverse: bool,
}

/// For each path: the traffic over it.
fn uses(spec: &NetworkSpec) -> Vec<Uses> {
    let mut all = vec![Uses::default(); spec.paths.len()];
    for workload in &spec.workloads {
        let (Heading { path, direction, .. }, both) = (workload.heading(), workload.goes_both_ways());
        for &path in std::slice::from_ref(&path).iter().chain(workload.more_paths()) {
            let Some(uses) = all.get_mut(path) else { continue };
            uses.tcp |= workload.tcp().is_some();
            uses.forward |= both || direction == Direction::Forward;
            uses.reverse |= both || direction == Direction::Reverse;
        }
    }
    all
}

/// Refuses ports that there are not, no port for packets to take, and a round trip of TCP in no time.
fn check_path(path: &PathSpec, uses: Uses, ports: &[PortSpec]) -> Result<(), Flaws> {
    let mut flaws = Flaws::default();
    for (field, list, used) in [("forward", &path.forward, uses.forward), ("reverse", &path.reverse, uses.reverse)] {
        flaws.range(field, list.len(), "ports", usize::from(used)..=MAX_HOPS);
        if let Some(port) = list.iter().find(|&&port| port >= ports.len()) {
            flaws.add(field, format_args!("port {port} of {}", ports.len()), "ports that there are");
        }
    }
    flaws.done()?;
    if uses.tcp && !path.forward.iter().chain(&path.reverse).any(|&port| ports[port].takes_time()) {
        return Err(Flaws::one("", "a round trip that takes no time", "a delay or a rate"));
    }
    Ok(())
}

/// Return the ways of all flows. Flows of a path share its ways. Then return the ways of each workload that makes connections, in order,
/// one for each of its paths.
fn routes(spec: &NetworkSpec, groups: &[Group]) -> (Routes, Vec<Vec<FlowWay>>) {
    let mut routes = Routes::default();
    let mut add = |ports: &[usize]| routes.add_way(ports);
    let ways: Vec<[u32; 2]> = spec.paths.iter().map(|path| [add(&path.forward), add(&path.reverse)]).collect();
    let way = |Heading { path, direction, .. }, egress: [bool; 2]| {
        let [forward, reverse] = ways[path];
        let begin = if direction == Direction::Forward { [forward, reverse] } else { [reverse, forward] };
        FlowWay { begin, rtt: 0, egress }
    };
    let on_host = |path: usize, direction: Direction, from: usize| {
        let egress = spec.hosts[from].egress;
        egress.is_some() && egress == spec.paths[path].ports(direction).first().copied()
    };
    let of = |heading: Heading, both_send: bool| {
        let Heading { path, from, to, direction, .. } = heading;
        way(heading, [on_host(path, direction, from), both_send && on_host(path, direction.opposite(), to)])
    };
    spec.connections().for_each(|(_, tcp, _)| routes.add_flow(of(tcp.into(), false)));
    spec.listed().for_each(|(workload, _)| routes.add_flow(of(workload.heading(), true)));
    let ways_of = |Making { tcp, paths, .. }: &Making| {
        paths.iter().map(|&path| of(Heading { path, ..tcp.into() }, false)).collect()
    };
    (routes, groups.iter().map(|group| ways_of(&group.making)).collect())
}

/// Return the header fields of all flows, for captures.
fn headers(spec: &NetworkSpec, arena: &Arena, tuples: &[FlowTuple]) -> Vec<FlowHeaders> {
    let bulk = spec.connections().zip(&arena.flows).zip(tuples);
    let bulk = bulk.map(|(((_, tcp, _), flow), tuple)| {
        let stack = Implementation::from_spec(&tcp.stack).expect("connections are made of it");
        FlowHeaders::tcp(tcp, *tuple, stack.idle_window(tcp), flow.receiver.window_scale())
    });
    let others = spec.listed().zip(arena.all_others());
    bulk.chain(
        others.map(|((workload, _), (i, each, which))| each.headers(which, workload.heading().direction, tuples[i])),
    )
    .collect()
}
