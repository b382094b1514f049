//! Sized transfers, each over a TCP connection of its own that is made when its time comes and gone when it is complete.

use super::arrivals::{Arrivals, Making, Said};
use super::bulk::{checked, ends};
use super::site::Site;
use crate::refusal::Flaws;
use crate::spec::TransfersSpec;
use crate::tcp::implementation::Implementation;

/// What makes the connections of a workload.
pub fn build<'a>(spec: &'a TransfersSpec, site: &Site) -> Result<Making<'a>, Flaws> {
    let (mut flaws, tcp) = (Flaws::default(), &spec.tcp);
    if tcp.transfer_bytes.is_none() {
        flaws.add("transfer_bytes", "none", "bytes to send");
    }
    if !tcp.connections.is_empty() {
        flaws.add("connections", format_args!("{} connections", tcp.connections.len()), "none from the start on");
    }
    if let Some(bps) = tcp.host.reads_bps {
        flaws.add("host.reads_bps", format_args!("{bps} bit/s"), "none where connections come and go");
    }
    let stack = Flaws::within("stack", Implementation::from_spec(&tcp.stack));
    // The ends of one are made and forgotten, so that every flaw is found now.
    let stack = stack.and_then(|stack| ends(tcp, &stack, 0, 0, site.controls).map(|_| stack));
    let stack = Flaws::within("tcp", flaws.and(checked(tcp, site, stack)));
    let TransfersSpec { arrivals: between, start_ns, stop_ns, count, ports, .. } = *spec;
    let arrivals = Arrivals::build(Said { between, start_ns, stop_ns, count, ports }, &tcp.id, site);
    Flaws::both(arrivals, stack).map(|(arrivals, stack)| Making { tcp, rows: spec.rows, arrivals, stack })
}
