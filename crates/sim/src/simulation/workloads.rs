//! Makes what the workloads of a description are made of: connections, exchanges, streams of datagrams.

use super::build::check_index;
use super::slots::Group;
use super::{Controls, FLOW_SOURCES, SENDER_TIMER};
use crate::cc::{self, AnyCc, Needs};
use crate::flow::Flow;
use crate::packet::MSS;
use crate::refusal::Flaws;
use crate::spec::{
    CcSpec, ConnectionSpec, ExchangeSpec, HostSettings, NetworkSpec, Opener, TcpSpec, TransfersSpec, UdpSpec,
};
use crate::tcp::bsd;
use crate::tcp::endpoint::{Receiver, Sender};
use crate::tcp::implementation::{check_bsd, Implementation};
use crate::tcp::linux::stack::Stack;
use crate::tcp::linux::two_way::{self, TwoWayEnd};
use crate::tcp::linux::{receiver, sender};
use crate::time::NEVER;
use crate::traffic::exchange::SOURCES as EXCHANGE_SOURCES;
use crate::traffic::{Exchange, Transfers, Udp};

/// Largest transfer, bytes: sequence numbers count segments in 32 bits.
const MAX_TRANSFER: u64 = (u32::MAX as u64 - 2) * MSS as u64;
/// Least socket buffer, bytes: two segments and what the kernel charges for them.
const MIN_BUFFER: u64 = 4608;

/// The connections of a workload; the first of them has the given index and event source.
pub(super) fn connections(
    spec: &TcpSpec,
    network: &NetworkSpec,
    index: u32,
    source: usize,
    controls: &Controls,
) -> Result<Vec<Flow>, Flaws> {
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
    checked(spec, network, flows)
}

/// What was made for one-way connections, unless there are flaws besides.
fn checked<T>(spec: &TcpSpec, network: &NetworkSpec, made: Result<T, Flaws>) -> Result<T, Flaws> {
    let mut flaws = Flaws::default();
    if spec.opener == Opener::To {
        flaws.add("opener", "to", "from");
    }
    flaws.range("first_write_bytes", spec.first_write_bytes.unwrap_or(1), "bytes", 1..=MSS - 1);
    flaws.range("transfer_bytes", spec.transfer_bytes.unwrap_or(1), "bytes", 1..=MAX_TRANSFER);
    check_buffers(&spec.host, &mut flaws);
    flaws.and(Flaws::both(check_ends(spec.path, spec.from, spec.to, network), made)).map(|((), made)| made)
}

/// The two ends of a connection, as the stack's implementation makes them.
pub(super) fn ends(
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

/// The congestion control of an end.
fn control(spec: &CcSpec, stack: &Stack, controls: &Controls) -> Result<(AnyCc, Needs), Flaws> {
    Flaws::within("cc", cc::build(&spec.kind, &spec.parameters, &stack.control_parameters(), controls))
}

/// The exchanges of a workload; the first of them has the given index and event source.
pub(super) fn exchanges(
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

/// A workload that makes connections; `source` is the event source of its arrivals.
pub(super) fn group<'a>(
    spec: &'a TransfersSpec,
    network: &NetworkSpec,
    source: usize,
    controls: &Controls,
) -> Result<Group<'a>, Flaws> {
    let (mut flaws, tcp) = (Flaws::default(), &spec.tcp);
    if tcp.transfer_bytes.is_none() {
        flaws.add("transfer_bytes", "none", "bytes to send");
    }
    if !tcp.connections.is_empty() {
        flaws.add("connections", format_args!("{} connections", tcp.connections.len()), "none from the start on");
    }
    let stack = Flaws::within("stack", Implementation::from_spec(&tcp.stack));
    // The ends of one are made and forgotten, so that every flaw is found now.
    let stack = stack.and_then(|stack| ends(tcp, &stack, 0, 0, controls).map(|_| stack));
    let stack = Flaws::within("tcp", flaws.and(checked(tcp, network, stack)));
    let arrivals = Transfers::build(spec, network.seed, network.duration_ns, source);
    Flaws::both(arrivals, stack).map(|(arrivals, stack)| Group::new(spec, arrivals, stack))
}

/// The streams of a workload; the first of them has the given index and event source.
pub(super) fn streams(spec: &UdpSpec, network: &NetworkSpec, index: u32, source: usize) -> Result<Vec<Udp>, Flaws> {
    let made = spec
        .streams
        .iter()
        .zip(0..)
        .map(|(stream, i)| Udp::build(spec, stream, network.duration_ns, index + i, source + i as usize));
    Flaws::both(check_ends(spec.path, spec.from, spec.to, network), made.collect()).map(|((), streams)| streams)
}

/// Refuses a path and hosts that there are not.
fn check_ends(path: usize, from: usize, to: usize, spec: &NetworkSpec) -> Result<(), Flaws> {
    let hosts = Flaws::both(
        check_index("from", from, "host", spec.hosts.len()),
        check_index("to", to, "host", spec.hosts.len()),
    );
    Flaws::both(check_index("path", path, "path", spec.paths.len()), hosts).map(|_| ())
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
