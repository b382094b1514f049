//! Builds the world of a description, or finds all that cannot be run.

use super::slots::{Group, Slots};
use super::workloads::{connections, exchanges, group, streams};
use super::{series, Controls, World, CHANGES, CONTROL, FLOW_SOURCES, SAMPLER};
use crate::capture::FlowHeaders;
use crate::events::{EventSet, MAX_SOURCES};
use crate::flow::Flow;
use crate::network::{FlowWay, Network, Routes, PORTS};
use crate::packet::FlowTuple;
use crate::port::{resolve, Change, Port, Schedule};
use crate::prefetch::MANY_FLOWS;
use crate::probe::Sampler;
use crate::refusal::{Flaws, Part, Place, Refusal};
use crate::spec::{
    Direction, ExchangeSpec, NetworkSpec, PathSpec, PortSpec, TcpSpec, TransfersSpec, WorkloadSpec, FORMAT,
};
use crate::tap::Tap;
use crate::time::{Time, MAX_TIME, SEC};
use crate::traffic::exchange::SOURCES as EXCHANGE_SOURCES;
use crate::traffic::{Exchange, Udp};

/// Most ports of a path: a packet counts them in 8 bits.
const MAX_HOPS: usize = 255;
/// Most ports: the largest index stands for the end of a way.
const MAX_PORTS: usize = u16::MAX as usize;

/// The parts of a world, made from the parts of its description.
#[derive(Default)]
struct Parts<'a> {
    ports: Vec<Port>,
    changes: Vec<(Time, usize, Change)>,
    flows: Vec<Flow>,
    exchanges: Vec<Exchange>,
    udp: Vec<Udp>,
    groups: Vec<Group<'a>>,
}

impl<'a> World<'a> {
    /// The world at time 0.
    pub(super) fn build(spec: &'a NetworkSpec, controls: &'a Controls) -> Result<Self, Vec<Refusal>> {
        let Parts { ports, changes, flows, exchanges, udp, groups } = parts(spec, controls)?;
        let tuples = tuples(spec);
        let headers = if spec.capture { headers(spec, &flows, &exchanges, &tuples) } else { vec![] };
        let sources = sources(spec);
        let events = EventSet::new(sources.min(first_flow_source(spec)), sources, FLOW_SOURCES);
        let (routes, ways) = routes(spec);
        let mut slots = Slots::new(groups, ways, sources, spec, controls);
        let mut network = Network::new(ports, routes, tuples, events, spec.seed);
        if spec.capture {
            network.tap = Some(Box::new(Tap::new(headers.iter().map(|flow| flow.from_right))));
        }
        let first_flow_source = first_flow_source(spec);
        for (i, flow) in flows.iter().enumerate() {
            network.events.set(first_flow_source + FLOW_SOURCES * i + CONTROL, flow.start);
        }
        exchanges.iter().for_each(|exchange| exchange.schedule(&mut network));
        for (stream, (.., spec)) in udp.iter().zip(spec.streams()) {
            stream.schedule(spec.start_ns, &mut network);
        }
        slots.groups.iter_mut().for_each(|group| group.arrivals.schedule(&mut network));
        let schedule = Schedule::new(changes);
        network.events.set(CHANGES, schedule.next());
        if spec.sample_ns > 0 {
            network.events.set(SAMPLER, 0);
        }
        network.shares = series::shares(spec);
        let sampler = Sampler::new(spec.sample_ns, series::chosen(spec), &flows, &network.ports);
        let end = spec.duration_ns;
        let looks_ahead = network.routes.flows() >= MANY_FLOWS;
        Ok(Self {
            network,
            flows,
            exchanges,
            udp,
            slots,
            schedule,
            sampler,
            headers,
            looks_ahead,
            approaching: None,
            end,
            first_flow_source,
            events: 0,
        })
    }
}

/// Event source of the first flow.
fn first_flow_source(spec: &NetworkSpec) -> usize {
    PORTS + 2 * spec.ports.len()
}

/// Event source of the first exchange, after those of the flows.
fn first_exchange_source(spec: &NetworkSpec) -> usize {
    first_flow_source(spec) + FLOW_SOURCES * spec.connections().count()
}

/// Event source of the first stream of datagrams.
fn first_stream_source(spec: &NetworkSpec) -> usize {
    first_exchange_source(spec) + EXCHANGE_SOURCES * spec.exchanges().count()
}

/// Event source of the first workload that makes connections.
fn first_arrival_source(spec: &NetworkSpec) -> usize {
    first_stream_source(spec) + spec.streams().count()
}

/// All event sources that there are from the start.
fn sources(spec: &NetworkSpec) -> usize {
    first_arrival_source(spec) + spec.transfers().count()
}

/// Makes every part, so that every refusal is found.
fn parts<'a>(spec: &'a NetworkSpec, controls: &Controls) -> Result<Parts<'a>, Vec<Refusal>> {
    let (mut parts, mut refusals) = (Parts::default(), vec![]);
    let mut refuse = |kind, index, flaws: Flaws| refusals.extend(flaws.at(Place { kind, index }));
    if let Err(flaws) = check_run(spec) {
        refuse(Part::Run, None, flaws);
    }
    for (i, host) in spec.hosts.iter().enumerate() {
        let egress = host.egress.map_or(Ok(()), |port| check_index("egress", port, "port", spec.ports.len()));
        if let Err(flaws) = egress {
            refuse(Part::Host, Some(i), flaws);
        }
    }
    for (i, port) in spec.ports.iter().enumerate() {
        match Port::build(port, spec.seed) {
            Ok(port) => parts.ports.push(port),
            Err(flaws) => refuse(Part::Port, Some(i), flaws),
        }
    }
    for ((i, path), uses) in spec.paths.iter().enumerate().zip(uses(spec)) {
        if let Err(flaws) = check_path(path, uses, &spec.ports) {
            refuse(Part::Path, Some(i), flaws);
        }
    }
    // All TCP first: their event sources lie between those of the ports and those of the streams.
    for (i, workload) in spec.workloads.iter().enumerate() {
        let WorkloadSpec::Tcp(tcp) = workload else { continue };
        let source = first_flow_source(spec) + FLOW_SOURCES * parts.flows.len();
        match connections(tcp, spec, parts.flows.len() as u32, source, controls) {
            Ok(flows) => parts.flows.extend(flows),
            Err(flaws) => refuse(Part::Workload, Some(i), flaws),
        }
    }
    let flows = spec.connections().count();
    for (i, workload) in spec.workloads.iter().enumerate() {
        let WorkloadSpec::Exchange(exchange) = workload else { continue };
        let source = first_exchange_source(spec) + EXCHANGE_SOURCES * parts.exchanges.len();
        match exchanges(exchange, spec, (flows + parts.exchanges.len()) as u32, source, controls) {
            Ok(exchanges) => parts.exchanges.extend(exchanges),
            Err(flaws) => refuse(Part::Workload, Some(i), flaws),
        }
    }
    let first_stream = flows + spec.exchanges().count();
    for (i, workload) in spec.workloads.iter().enumerate() {
        let WorkloadSpec::Udp(udp) = workload else { continue };
        let source = first_stream_source(spec) + parts.udp.len();
        match streams(udp, spec, (first_stream + parts.udp.len()) as u32, source) {
            Ok(streams) => parts.udp.extend(streams),
            Err(flaws) => refuse(Part::Workload, Some(i), flaws),
        }
    }
    for (i, transfers) in spec.transfers() {
        match group(transfers, spec, first_arrival_source(spec) + parts.groups.len(), controls) {
            Ok(group) => parts.groups.push(group),
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

/// Refuses another format, and a run that is too large or too long.
fn check_run(spec: &NetworkSpec) -> Result<(), Flaws> {
    let mut flaws = Flaws::default();
    flaws.range("format", spec.format, "", FORMAT..=FORMAT);
    flaws.at_most("ports", spec.ports.len(), "ports", MAX_PORTS);
    // Keys of the event set need room for one slot at least.
    let in_slots = if spec.transfers().next().is_some() { FLOW_SOURCES } else { 0 };
    flaws.at_most("workloads", sources(spec), "timers of ports, connections and streams", MAX_SOURCES - in_slots);
    if spec.duration_ns > MAX_TIME {
        let [duration, most] = [spec.duration_ns, MAX_TIME].map(|ns| ns / SEC);
        flaws.add("duration_ns", format_args!("{duration} s"), format_args!("at most {most} s"));
    }
    Flaws::both(flaws.done(), series::check(spec)).map(|_| ())
}

/// What goes over a path.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    tcp: bool,
    forward: bool,
    reverse: bool,
}

/// Of each path, what goes over it.
fn uses(spec: &NetworkSpec) -> Vec<Uses> {
    let mut all = vec![Uses::default(); spec.paths.len()];
    for workload in &spec.workloads {
        let (path, tcp, direction) = match workload {
            WorkloadSpec::Tcp(tcp)
            | WorkloadSpec::Exchange(ExchangeSpec { tcp, .. })
            | WorkloadSpec::Transfers(TransfersSpec { tcp, .. }) => (tcp.path, true, tcp.direction),
            WorkloadSpec::Udp(udp) => (udp.path, false, udp.direction),
        };
        let Some(uses) = all.get_mut(path) else { continue };
        uses.tcp |= tcp;
        uses.forward |= tcp || direction == Direction::Forward;
        uses.reverse |= tcp || direction == Direction::Reverse;
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

/// Refuses the position of what there is not.
pub(super) fn check_index(field: &str, index: usize, kind: &str, count: usize) -> Result<(), Flaws> {
    if index < count {
        Ok(())
    } else {
        Err(Flaws::one(field, format_args!("{kind} {index} of {count}"), "one that there is"))
    }
}

/// The ways of all flows; those of a path are shared by its flows. Then those of each workload that makes connections, in order.
fn routes(spec: &NetworkSpec) -> (Routes, Vec<FlowWay>) {
    let mut routes = Routes::default();
    let mut add = |ports: &[usize]| routes.add_way(ports);
    let ways: Vec<[u32; 2]> = spec.paths.iter().map(|path| [add(&path.forward), add(&path.reverse)]).collect();
    let way = |path: usize, direction: Direction, from: usize| {
        let [forward, reverse] = ways[path];
        let (data, acks) = if direction == Direction::Forward { (forward, reverse) } else { (reverse, forward) };
        let egress = spec.hosts[from].egress;
        let first = spec.paths[path].ports(direction).first().copied();
        FlowWay { data, acks, egress: egress.is_some() && egress == first }
    };
    let of_tcp = |tcp: &TcpSpec| way(tcp.path, tcp.direction, tcp.from);
    spec.connections().for_each(|(_, tcp, _)| routes.add_flow(of_tcp(tcp)));
    spec.exchanges().for_each(|(_, exchange, _)| routes.add_flow(of_tcp(&exchange.tcp)));
    spec.streams().for_each(|(_, udp, _)| routes.add_flow(way(udp.path, udp.direction, udp.from)));
    (routes, spec.transfers().map(|(_, transfers)| of_tcp(&transfers.tcp)).collect())
}

/// The addresses and ports of all flows, streams of datagrams last.
fn tuples(spec: &NetworkSpec) -> Vec<FlowTuple> {
    let tcp = spec.connections().map(|(_, tcp, each)| tuple(spec, tcp.from, tcp.to, each.ports));
    let exchanges = spec.exchanges().map(|(_, e, each)| tuple(spec, e.tcp.from, e.tcp.to, each.ports));
    tcp.chain(exchanges).chain(spec.streams().map(|(_, udp, each)| tuple(spec, udp.from, udp.to, each.ports))).collect()
}

/// The addresses and ports of a flow between two hosts.
pub(super) fn tuple(spec: &NetworkSpec, from: usize, to: usize, [sport, dport]: [u16; 2]) -> FlowTuple {
    FlowTuple { src: spec.hosts[from].number, dst: spec.hosts[to].number, sport, dport }
}

/// What a capture says of all flows.
fn headers(spec: &NetworkSpec, flows: &[Flow], exchanges: &[Exchange], tuples: &[FlowTuple]) -> Vec<FlowHeaders> {
    let tcp = spec.connections().zip(flows).zip(tuples);
    let tcp = tcp.map(|(((_, tcp, _), flow), tuple)| FlowHeaders::tcp(tcp, *tuple, flow.receiver.window_scale()));
    let (two_way, udp) = tuples[flows.len()..].split_at(exchanges.len());
    let two_way = spec.exchanges().zip(exchanges).zip(two_way).map(|(((_, spec, _), exchange), tuple)| {
        FlowHeaders::two_way(&spec.tcp, *tuple, [exchange.client.window_scale(), exchange.server.window_scale()])
    });
    let udp = spec.streams().zip(udp);
    tcp.chain(two_way).chain(udp.map(|((_, udp, _), tuple)| FlowHeaders::udp(udp, *tuple))).collect()
}
