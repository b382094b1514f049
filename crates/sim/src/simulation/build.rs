//! Builds the world of a description, or finds all that cannot be run.

use super::{series, Controls, World, CHANGES, CONTROL, FLOW_SOURCES, SAMPLER, SENDER_TIMER};
use crate::capture::FlowHeaders;
use crate::cc::{self, AnyCc, Needs};
use crate::events::MAX_SOURCES;
use crate::flow::Flow;
use crate::network::{Network, Routes, PORTS};
use crate::packet::{FlowTuple, MSS};
use crate::port::{resolve, Change, Port, Schedule};
use crate::prefetch::MANY_FLOWS;
use crate::probe::Sampler;
use crate::refusal::{Flaws, Part, Place, Refusal};
use crate::spec::{
    CcSpec, ConnectionSpec, Direction, ExchangeSpec, HostSettings, NetworkSpec, Opener, PathSpec, PortSpec, TcpSpec,
    UdpSpec, WorkloadSpec, FORMAT,
};
use crate::tap::Tap;
use crate::tcp::bsd;
use crate::tcp::endpoint::{Receiver, Sender};
use crate::tcp::implementation::{check_bsd, Implementation};
use crate::tcp::linux::stack::Stack;
use crate::tcp::linux::two_way::{self, TwoWayEnd};
use crate::tcp::linux::{receiver, sender};
use crate::time::{Time, MAX_TIME, NEVER, SEC};
use crate::traffic::exchange::SOURCES as EXCHANGE_SOURCES;
use crate::traffic::{Exchange, Udp};

/// Largest transfer, bytes: sequence numbers count segments in 32 bits.
const MAX_TRANSFER: u64 = (u32::MAX as u64 - 2) * MSS as u64;
/// Least socket buffer, bytes: two segments and what the kernel charges for them.
const MIN_BUFFER: u64 = 4608;
/// Most ports of a path: a packet counts them in 8 bits.
const MAX_HOPS: usize = 255;
/// Most ports: the largest index stands for the end of a way.
const MAX_PORTS: usize = u16::MAX as usize;

/// The parts of a world, made from the parts of its description.
#[derive(Default)]
struct Parts {
    ports: Vec<Port>,
    changes: Vec<(Time, usize, Change)>,
    flows: Vec<Flow>,
    exchanges: Vec<Exchange>,
    udp: Vec<Udp>,
}

impl World {
    /// The world at time 0.
    pub(super) fn build(spec: &NetworkSpec, controls: &Controls) -> Result<Self, Vec<Refusal>> {
        let Parts { ports, changes, flows, exchanges, udp } = parts(spec, controls)?;
        let tuples = tuples(spec);
        let headers = if spec.capture { headers(spec, &flows, &exchanges, &tuples) } else { vec![] };
        let mut network = Network::new(ports, routes(spec), tuples, sources(spec), spec.seed);
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
            schedule,
            sampler,
            headers,
            looks_ahead,
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

/// All event sources.
fn sources(spec: &NetworkSpec) -> usize {
    first_stream_source(spec) + spec.streams().count()
}

/// Makes every part, so that every refusal is found.
fn parts(spec: &NetworkSpec, controls: &Controls) -> Result<Parts, Vec<Refusal>> {
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
    let connections = flows + spec.exchanges().count();
    for (i, workload) in spec.workloads.iter().enumerate() {
        let WorkloadSpec::Udp(udp) = workload else { continue };
        let source = first_stream_source(spec) + parts.udp.len();
        match streams(udp, spec, (connections + parts.udp.len()) as u32, source) {
            Ok(streams) => parts.udp.extend(streams),
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
    flaws.at_most("workloads", sources(spec), "timers of ports, connections and streams", MAX_SOURCES);
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
            WorkloadSpec::Tcp(tcp) | WorkloadSpec::Exchange(ExchangeSpec { tcp, .. }) => {
                (tcp.path, true, tcp.direction)
            }
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
fn check_index(field: &str, index: usize, kind: &str, count: usize) -> Result<(), Flaws> {
    if index < count {
        Ok(())
    } else {
        Err(Flaws::one(field, format_args!("{kind} {index} of {count}"), "one that there is"))
    }
}

/// Refuses a path and hosts that there are not.
fn check_ends(path: usize, from: usize, to: usize, spec: &NetworkSpec) -> Result<(), Flaws> {
    let hosts = Flaws::both(
        check_index("from", from, "host", spec.hosts.len()),
        check_index("to", to, "host", spec.hosts.len()),
    );
    Flaws::both(check_index("path", path, "path", spec.paths.len()), hosts).map(|_| ())
}

/// The connections of a workload; the first of them has the given index and event source.
fn connections(
    spec: &TcpSpec,
    network: &NetworkSpec,
    index: u32,
    source: usize,
    controls: &Controls,
) -> Result<Vec<Flow>, Flaws> {
    let mut flaws = Flaws::default();
    if spec.opener == Opener::To {
        flaws.add("opener", "to", "from");
    }
    flaws.range("first_write_bytes", spec.first_write_bytes.unwrap_or(1), "bytes", 1..=MSS - 1);
    flaws.range("transfer_bytes", spec.transfer_bytes.unwrap_or(1), "bytes", 1..=MAX_TRANSFER);
    check_buffers(&spec.host, &mut flaws);
    let stack = Flaws::within("stack", Implementation::from_spec(&spec.stack));
    let flow = |stack: &Implementation, connection: &ConnectionSpec, i: usize| {
        let (sender, receiver) = ends(spec, stack, index + i as u32, source + FLOW_SOURCES * i, controls)?;
        Ok(Flow {
            name: connection.name.clone(),
            sender,
            receiver,
            start: connection.start_ns,
            stop: connection.stop_ns.unwrap_or(NEVER).min(network.duration_ns),
        })
    };
    let flows =
        stack.and_then(|stack| spec.connections.iter().zip(0..).map(|(each, i)| flow(&stack, each, i)).collect());
    flaws.and(Flaws::both(check_ends(spec.path, spec.from, spec.to, network), flows)).map(|((), flows)| flows)
}

/// Refuses socket buffers without room.
fn check_buffers(host: &HostSettings, flaws: &mut Flaws) {
    match host.rcvbuf {
        Some(bytes) => flaws.at_least("host.rcvbuf", bytes, "bytes", MIN_BUFFER),
        None => flaws.at_least("host.rmem", host.rmem[1].min(host.rmem[2]), "bytes", MIN_BUFFER),
    }
    match host.sndbuf {
        Some(bytes) => flaws.at_least("host.sndbuf", bytes, "bytes", MIN_BUFFER),
        None => flaws.at_least("host.wmem", host.wmem[2], "bytes", MIN_BUFFER),
    }
}

/// The congestion control of an end.
fn control(spec: &CcSpec, stack: &Stack, controls: &Controls) -> Result<(AnyCc, Needs), Flaws> {
    Flaws::within("cc", cc::build(&spec.kind, &spec.parameters, &stack.control_parameters(), controls))
}

/// The two ends of a connection, as the stack's implementation makes them.
fn ends(
    spec: &TcpSpec,
    stack: &Implementation,
    index: u32,
    source: usize,
    controls: &Controls,
) -> Result<(Sender, Receiver), Flaws> {
    let timer = source + SENDER_TIMER;
    match stack {
        Implementation::Linux(stack) => {
            let (cc, needs) = control(&spec.cc, stack, controls)?;
            let receiver = receiver::Receiver::new(index, source, spec, stack, needs.ecn);
            let sender = sender::Sender::new(index, timer, spec, stack.clone(), cc, needs);
            Ok((Sender::Linux(sender), Receiver::Linux(receiver)))
        }
        Implementation::Bsd(stack) => {
            check_bsd(spec, stack)?;
            let sender = bsd::sender::Sender::new(index, timer, spec, stack);
            Ok((Sender::Bsd(sender), Receiver::Bsd(bsd::receiver::Receiver::new(index, source, spec, stack))))
        }
    }
}

/// The exchanges of a workload; the first of them has the given index and event source.
fn exchanges(
    spec: &ExchangeSpec,
    network: &NetworkSpec,
    index: u32,
    source: usize,
    controls: &Controls,
) -> Result<Vec<Exchange>, Flaws> {
    let (mut flaws, tcp) = (Flaws::default(), &spec.tcp);
    for (field, given) in
        [("transfer_bytes", tcp.transfer_bytes), ("first_write_bytes", tcp.first_write_bytes.map(u64::from))]
    {
        if let Some(bytes) = given {
            flaws.add(field, format_args!("{bytes} bytes"), "none beside requests and responses");
        }
    }
    if tcp.host.tso {
        flaws.add("host.tso", true, false);
    }
    check_buffers(&tcp.host, &mut flaws);
    let stack = Flaws::within("stack", Implementation::from_spec(&tcp.stack)).and_then(|stack| match stack {
        Implementation::Linux(stack) => Ok(stack),
        Implementation::Bsd(_) => Err(Flaws::one("stack.name", &tcp.stack.name, "a stack of Linux")),
    });
    let end = |stack: &Stack, index: u32, source: usize, first: bool| -> Result<TwoWayEnd, Flaws> {
        let opens = first == (tcp.opener == Opener::From);
        let (cc, needs) = control(&tcp.cc, stack, controls)?;
        Ok(TwoWayEnd::new(index, source, tcp, stack, cc, needs, first, opens))
    };
    let exchange = |stack: &Stack, connection: &ConnectionSpec, i: usize| {
        let (index, source) = (index + i as u32, source + EXCHANGE_SOURCES * i);
        let client = end(stack, index, source, true)?;
        let server = end(stack, index, source + two_way::SOURCES, false)?;
        Ok(Exchange::new(spec, connection, source, client, server, network.duration_ns))
    };
    let made =
        stack.and_then(|stack| tcp.connections.iter().zip(0..).map(|(each, i)| exchange(&stack, each, i)).collect());
    let made = flaws.and(Flaws::both(check_ends(tcp.path, tcp.from, tcp.to, network), made));
    let made = Flaws::within("tcp", made.map(|((), exchanges)| exchanges));
    Flaws::both(check_sizes(spec), made).map(|((), exchanges)| exchanges)
}

/// Refuses requests and responses without a byte, and more in all than sequence numbers count.
fn check_sizes(spec: &ExchangeSpec) -> Result<(), Flaws> {
    let mut flaws = Flaws::default();
    flaws.at_least("count", spec.count, "requests", 1);
    for (field, bytes) in [("request_bytes", spec.request_bytes), ("response_bytes", spec.response_bytes)] {
        let most = (MAX_TRANSFER / u64::from(MSS) / spec.count.max(1)).saturating_mul(u64::from(MSS));
        flaws.range(field, bytes, "bytes", 1..=most);
    }
    flaws.done()
}

/// The streams of a workload; the first of them has the given index and event source.
fn streams(spec: &UdpSpec, network: &NetworkSpec, index: u32, source: usize) -> Result<Vec<Udp>, Flaws> {
    let made = spec
        .streams
        .iter()
        .zip(0..)
        .map(|(stream, i)| Udp::build(spec, stream, network.duration_ns, index + i, source + i as usize));
    Flaws::both(check_ends(spec.path, spec.from, spec.to, network), made.collect()).map(|((), streams)| streams)
}

/// The ways of all flows; those of a path are shared by its flows.
fn routes(spec: &NetworkSpec) -> Routes {
    let mut routes = Routes::default();
    let mut way = |ports: &[usize]| routes.add_way(ports);
    let ways: Vec<[u32; 2]> = spec.paths.iter().map(|path| [way(&path.forward), way(&path.reverse)]).collect();
    let mut add = |path: usize, direction: Direction, from: usize| {
        let [forward, reverse] = ways[path];
        let (data, acks) = if direction == Direction::Forward { (forward, reverse) } else { (reverse, forward) };
        let egress = spec.hosts[from].egress;
        routes.add_flow(data, acks, egress.is_some() && egress == spec.paths[path].ports(direction).first().copied());
    };
    spec.connections().for_each(|(_, tcp, _)| add(tcp.path, tcp.direction, tcp.from));
    spec.exchanges().for_each(|(_, ExchangeSpec { tcp, .. }, _)| add(tcp.path, tcp.direction, tcp.from));
    spec.streams().for_each(|(_, udp, _)| add(udp.path, udp.direction, udp.from));
    routes
}

/// The addresses and ports of all flows, streams of datagrams last.
fn tuples(spec: &NetworkSpec) -> Vec<FlowTuple> {
    let tuple = |from: usize, to: usize, [sport, dport]: [u16; 2]| FlowTuple {
        src: spec.hosts[from].number,
        dst: spec.hosts[to].number,
        sport,
        dport,
    };
    let tcp = spec.connections().map(|(_, tcp, each)| tuple(tcp.from, tcp.to, each.ports));
    let exchanges = spec.exchanges().map(|(_, ExchangeSpec { tcp, .. }, each)| tuple(tcp.from, tcp.to, each.ports));
    tcp.chain(exchanges).chain(spec.streams().map(|(_, udp, each)| tuple(udp.from, udp.to, each.ports))).collect()
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
