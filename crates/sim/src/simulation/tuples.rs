//! The addresses and ports of flows.

use crate::packet::{Agreed, FlowTuple};
use crate::spec::{Heading, NetworkSpec, TcpSpec};

/// The addresses and ports of all flows, bulk flows first.
pub(super) fn tuples(spec: &NetworkSpec) -> Vec<FlowTuple> {
    let bulk = spec.connections().map(|(_, tcp, each)| tuple(spec, tcp.into(), (Some(tcp), false), each.ports));
    let listed =
        spec.listed().map(|(workload, each)| tuple(spec, workload.heading(), (workload.tcp(), true), each.ports));
    bulk.chain(listed).collect()
}

/// The addresses and ports of a flow between two hosts, of its connection, if it is one, and whether both ends of that send.
pub(super) fn tuple(
    spec: &NetworkSpec,
    heading: Heading,
    (tcp, both_send): (Option<&TcpSpec>, bool),
    [sport, dport]: [u16; 2],
) -> FlowTuple {
    FlowTuple {
        src: spec.hosts[heading.from].number,
        dst: spec.hosts[heading.to].number,
        sport,
        dport,
        dscp: heading.dscp,
        agreed: tcp.map_or_else(Agreed::default, |tcp| tcp.options().agreed(both_send)),
    }
}
