//! Datagrams that only load the network and do not respond to congestion: one after the other, even if they are lost. Not ECN-capable.

use super::pace::Pace;
use super::{Exchanged, Site, Traffic};
use crate::capture::FlowHeaders;
use crate::network::FlowDrops;
use crate::outbox::{End, Outbox};
use crate::packet::{Body, FlowTuple, Kind, Packet, Way, NO_ATTACHMENT};
use crate::probe::{flow_row, FlowRow};
use crate::refusal::Flaws;
use crate::spec::{ConnectionSpec, DatagramsSpec, Direction, Heading};
use crate::time::Time;

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
    sent: u64,
    arrived: u64,
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
            sent: 0,
            arrived: 0,
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
        out.send(End::Sender, datagram(self.flow, End::Sender, len, 0));
    }

    fn on_packet(&mut self, _p: &Packet, _out: &mut impl Outbox) {
        self.arrived += 1;
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
        }
    }

    fn headers(&self, _which: usize, direction: Direction, tuple: FlowTuple) -> FlowHeaders {
        FlowHeaders::datagrams(direction, tuple, false)
    }
}

/// A datagram with a number that the end `from` sends.
pub(super) fn datagram(flow: u32, from: End, len: u16, seq: u32) -> Packet {
    let flags = from.direction().flags() | Kind::Datagram.flags();
    Packet { way: Way::new(flow), len, flags, body: Body([seq, 0, 0, 0]), attachment: NO_ATTACHMENT }
}

/// The number of a datagram.
pub(super) fn number(p: &Packet) -> u32 {
    p.body.0[0]
}
