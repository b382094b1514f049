//! Datagrams that only load the network and do not respond to congestion: one after the other, even if they are lost.

use super::pace::Pace;
use super::{Exchanged, Site, Traffic};
use crate::capture::FlowHeaders;
use crate::catalogue::{Entry, Kind, Parameter, Preset};
use crate::network::FlowDrops;
use crate::outbox::{End, Outbox};
use crate::packet::{self, Body, Ecn, FlowTuple, Packet, Way, NO_ATTACHMENT};
use crate::probe::{flow_row, FlowRow};
use crate::refusal::Flaws;
use crate::spec::{ConnectionSpec, DatagramsSpec, Direction, Heading};
use crate::time::Time;

/// Entry in the catalogue.
pub const ENTRY: Entry = Entry::plain(
    "udp",
    "datagrams over UDP",
    "Datagrams that do not respond to congestion. The other end may send them back, and they may \
             measure.",
    &[
        Parameter::new(
            "rate",
            Kind::Rate,
            "",
            "Rate while it sends, in Ethernet frames, as the shapers count. Give either this or `interval`.",
        )
        .or(Preset::Unset)
        .example("1mbit"),
        Parameter::new("interval", Kind::DrawnDuration, "", "Time from one datagram to the next.")
            .or(Preset::Unset)
            .example("20ms"),
        Parameter::new(
            "size",
            Kind::DrawnSize,
            "size_bytes",
            "Frame size: 14 bytes Ethernet, 28 IP and UDP, the rest payload.",
        )
        .written_as("1514B")
        .example("200B"),
        Parameter::new(
            "on",
            Kind::DrawnDuration,
            "bursts.on_ns",
            "Time for which it sends before it is silent for `off`, in turns. By default it sends all the time.",
        )
        .or(Preset::Unset)
        .example("2s"),
        Parameter::new(
            "off",
            Kind::DrawnDuration,
            "bursts.off_ns",
            "Time for which it is silent after each time of sending.",
        )
        .or(Preset::Unset)
        .example("1s"),
        Parameter::optional_count(
            "count",
            "count",
            "Maximum number of datagrams; by default as many as there is time for.",
        )
        .example("100"),
        Parameter::new(
            "reply",
            Kind::Flag,
            "reply",
            "True if the other end sends each datagram back as soon as it arrives, as irtt does.",
        )
        .or(Preset::Flag(false))
        .example("true"),
        Parameter::new(
            "measure",
            Kind::Flag,
            "measured",
            "True if delays, jitter and losses are results; by default if there are replies.",
        )
        .or(Preset::Unset)
        .example("true"),
    ],
);

/// A stream, both ends.
#[derive(Debug)]
pub struct Udp {
    name: String,
    /// Index among all flows.
    flow: u32,
    /// Event source.
    source: usize,
    pace: Pace,
    start: Time,
    /// The ECN field of each.
    ecn: Ecn,
    sent: u64,
    arrived: u64,
    marked: u64,
}

/// The streams of a workload.
pub fn build(spec: &DatagramsSpec, site: &Site) -> Result<Vec<Udp>, Flaws> {
    let made = spec.streams.iter().zip(0..).map(|(stream, i)| Udp::build(spec, stream, i, site));
    Flaws::both(site.check(Heading::from(spec)), made.collect()).map(|((), streams)| streams)
}

impl Udp {
    /// The stream `i` of a workload, which has not begun.
    fn build(spec: &DatagramsSpec, stream: &ConnectionSpec, i: u32, site: &Site) -> Result<Self, Flaws> {
        Ok(Self {
            name: stream.name.clone(),
            flow: site.index + i,
            source: site.source + Self::SOURCES * i as usize,
            pace: Pace::build(spec, stream, site.network.seed, site.network.duration_ns)?,
            start: stream.start_ns,
            ecn: codepoint(spec)?,
            sent: 0,
            arrived: 0,
            marked: 0,
        })
    }
}

impl Traffic for Udp {
    const SOURCES: usize = 1;

    fn name(&self, _which: usize) -> &str {
        &self.name
    }

    fn schedule(&self, out: &mut impl Outbox) {
        out.set_timer(self.source, self.pace.first());
    }

    /// A datagram is due.
    fn on_timer(&mut self, _which: usize, out: &mut impl Outbox) {
        self.sent += 1;
        let (len, next) = self.pace.send(out.now());
        out.set_timer(self.source, next);
        out.send(End::Sender, datagram(self.flow, End::Sender, len, 0, self.ecn));
    }

    fn on_packet(&mut self, p: &Packet, _out: &mut impl Outbox) {
        self.arrived += 1;
        self.marked += u64::from(p.ecn() == Ecn::Ce);
    }

    fn exchanged(&self, _which: usize) -> Exchanged {
        Exchanged { sent: self.sent, arrived: self.arrived, ..Exchanged::default() }
    }

    fn row(&self, _which: usize, drops: &FlowDrops, inside: (u64, u64), end: Time) -> FlowRow {
        flow_row! {
            "start_ns": self.start,
            "end_ns": self.pace.stop().min(end).max(self.start),
            "sent_packets": self.sent,
            "arrived_packets": self.arrived,
            "dropped_packets": drops.data,
            "in_flight_packets": inside.0,
            "duplicated_packets": drops.data_copies,
            "ce_arrived": self.marked,
        }
    }

    fn headers(&self, _which: usize, direction: Direction, tuple: FlowTuple) -> FlowHeaders {
        FlowHeaders::datagrams(direction, tuple, false)
    }
}

/// The ECN field of the datagrams of a workload.
pub(super) fn codepoint(spec: &DatagramsSpec) -> Result<Ecn, Flaws> {
    match spec.ect {
        None => Ok(Ecn::NotEct),
        Some(0) => Ok(Ecn::Ect0),
        Some(1) => Ok(Ecn::Ect1),
        Some(other) => Err(Flaws::one("ect", other, "0 or 1")),
    }
}

/// A datagram with a number and an ECN field that the end `from` sends.
pub(super) fn datagram(flow: u32, from: End, len: u16, seq: u32, ecn: Ecn) -> Packet {
    let flags = from.direction().flags() | packet::Kind::Datagram.flags() | ecn.flags();
    Packet { way: Way::new(flow), len, flags, body: Body([seq, 0, 0, 0]), attachment: NO_ATTACHMENT }
}

/// The number of a datagram.
pub(super) fn number(p: &Packet) -> u32 {
    p.body.0[0]
}
