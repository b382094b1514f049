//! Sized transfers, each over a TCP connection of its own that is made when its time comes and gone when it is complete.

pub mod arrivals;

use self::arrivals::{Arrivals, Making};
use super::bulk::{checked, ends};
use super::site::Site;
use crate::catalogue::{Entry, Kind, Parameter, Preset};
use crate::refusal::Flaws;
use crate::spec::{Heading, TransfersSpec};
use crate::tcp::implementation::Implementation;

/// Entry in the catalogue.
pub const ENTRY: Entry = Entry::plain(
    "transfers",
    "connections that come and go",
    "Sized transfers. Each has a TCP connection of its own, which is made at its time of arrival \
             and goes when the transfer is complete.",
    &[
        Parameter::new(
            "direction",
            Kind::Choice(crate::spec::DIRECTIONS),
            "",
            "Direction of the data; ACKs go the other way.",
        )
        .or(Preset::Word("forward"))
        .example("reverse"),
        Parameter::new("start", Kind::Duration, "start_ns", "Time from which connections are made.")
            .written_as("0s")
            .example("5s"),
        Parameter::new(
            "duration",
            Kind::Duration,
            "",
            "Time during which connections are made; existing ones then go on. By default to the end of the run.",
        )
        .or(Preset::Unset)
        .example("30s"),
        Parameter::new("size", Kind::DrawnSize, "size_bytes", "Payload of each; a trace has its own.")
            .or(Preset::Unset)
            .example("15kB"),
        Parameter::new(
            "rtt",
            Kind::DrawnDuration,
            "",
            "Base RTT of each instead of the path's. A drawn RTT falls into one of 64 classes: the \
             quantiles of the distribution in the middle of each 64th, to the microsecond.",
        )
        .or(Preset::Unset)
        .example("40ms"),
        Parameter::new(
            "exact_rtts",
            Kind::Flag,
            "",
            "Gives each connection the RTT that is drawn, not that of a class.",
        )
        .or(Preset::Flag(false))
        .example("true"),
        Parameter::new("arrivals", Kind::Keys, "", "Times at which connections are made.")
            .example("{kind: poisson, load: 0.5}"),
        Parameter::optional_count(
            "count",
            "count",
            "Maximum number of connections; by default as many as there is time for.",
        )
        .example("100"),
        Parameter::new(
            "rows",
            Kind::Flag,
            "rows",
            "Gives each connection a row in the table of flows. Otherwise there is only the row of all \
             together, in the table of groups.",
        )
        .or(Preset::Flag(false))
        .example("true"),
    ],
);

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
