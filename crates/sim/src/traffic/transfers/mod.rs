//! Sized transfers, each over a TCP connection of its own that is made when its time comes and gone when it is complete.

pub mod arrivals;

use self::arrivals::{Arrivals, Making};
use super::bulk::{checked, ends};
use super::site::Site;
use crate::refusal::Flaws;
use crate::spec::{Heading, TransfersSpec};
use crate::tcp::implementation::Implementation;

/// Build the source of a workload's connections.
pub fn build<'a>(spec: &'a TransfersSpec, site: &Site) -> Result<Making<'a>, Flaws> {
    let (mut flaws, mut tcp) = (Flaws::default(), spec.tcp.clone());
    if let Some(bytes) = tcp.transfer_bytes {
        flaws.add("transfer_bytes", format_args!("{bytes} bytes"), "none: each has its own");
    }
    if !tcp.connections.is_empty() {
        flaws.add("connections", format_args!("{} connections", tcp.connections.len()), "none from the start on");
    }
    if let Some(bps) = tcp.host.reads_bps {
        flaws.add("host.reads_bps", format_args!("{bps} bit/s"), "none where connections come and go");
    }
    tcp.transfer_bytes = Some(1);
    let stack = Flaws::within("stack", Implementation::from_spec(&tcp.stack));
    // The ends of one are made and forgotten, so that every flaw is found now.
    let stack = stack.and_then(|stack| ends(&tcp, &stack, 0, 0, site.controls, [0; 2]).map(|_| stack));
    let mut flaws = Flaws::within("tcp", flaws.and(checked(&tcp, site, stack)));
    for (i, &path) in spec.paths.iter().enumerate() {
        let there = Flaws::within(&format!("paths.{i}"), site.check(Heading { path, ..Heading::from(&tcp) }));
        flaws = Flaws::both(flaws, there).map(|(stack, ())| stack);
    }
    let paths = spec.all_paths().to_vec();
    Flaws::both(Arrivals::build(spec, site), flaws).map(|(arrivals, stack)| Making {
        tcp,
        paths,
        rows: spec.rows,
        arrivals,
        stack,
    })
}
