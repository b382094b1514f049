//! Unresponsive datagrams at a constant rate: one every interval, whatever becomes of them. Not ECN-capable.

use super::{Exchanged, Site, Traffic};
use crate::capture::FlowHeaders;
use crate::network::FlowDrops;
use crate::outbox::{End, Outbox};
use crate::packet::{FlowTuple, Packet, Way, FULL_FRAME, NO_ATTACHMENT};
use crate::probe::{flow_row, FlowRow};
use crate::refusal::Flaws;
use crate::spec::{ConnectionSpec, Direction, Heading, UdpSpec};
use crate::time::{Time, NEVER};

/// Least frame, bytes.
const LEAST_FRAME: u32 = 64;

/// A stream, both ends.
#[derive(Debug)]
pub struct Udp {
    name: String,
    /// Index among all flows.
    flow: u32,
    /// Event source.
    source: usize,
    len: u32,
    interval: Time,
    start: Time,
    /// No datagram is sent from this time on.
    stop: Time,
    sent: u64,
    arrived: u64,
}

/// The streams of a workload.
pub fn build(spec: &UdpSpec, site: &Site) -> Result<Vec<Udp>, Flaws> {
    let made = spec.streams.iter().zip(0..).map(|(stream, i)| Udp::build(spec, stream, i, site));
    Flaws::both(site.check(Heading::from(spec)), made.collect()).map(|((), streams)| streams)
}

impl Udp {
    /// The stream `i` of a workload, which has not begun.
    fn build(spec: &UdpSpec, stream: &ConnectionSpec, i: u32, site: &Site) -> Result<Self, Flaws> {
        let mut flaws = Flaws::default();
        flaws.at_least("interval_ns", spec.interval_ns, "ns", 1);
        flaws.range("size_bytes", spec.size_bytes, "bytes", LEAST_FRAME..=FULL_FRAME);
        flaws.done()?;
        Ok(Self {
            name: stream.name.clone(),
            flow: site.index + i,
            source: site.source + Self::SOURCES * i as usize,
            len: spec.size_bytes,
            interval: spec.interval_ns,
            start: stream.start_ns,
            stop: stream.stop_ns.unwrap_or(site.network.duration_ns),
            sent: 0,
            arrived: 0,
        })
    }

    fn send_at(&self, at: Time, out: &mut impl Outbox) {
        out.set_timer(self.source, if at < self.stop { at } else { NEVER });
    }
}

impl Traffic for Udp {
    const SOURCES: usize = 1;

    fn name(&self, _which: usize) -> &str {
        &self.name
    }

    fn schedule(&self, out: &mut impl Outbox) {
        self.send_at(self.start, out);
    }

    /// A datagram is due.
    fn on_timer(&mut self, _which: usize, out: &mut impl Outbox) {
        self.sent += 1;
        self.send_at(out.now().saturating_add(self.interval), out);
        out.send(
            End::Sender,
            Packet {
                way: Way::new(self.flow),
                len: self.len as u16,
                seq: 0,
                window: 0,
                tsval: 0,
                tsecr: 0,
                attachment: NO_ATTACHMENT,
                flags: 0,
            },
        );
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
            "end_ns": self.stop.min(end).max(self.start),
            "sent_packets": self.sent,
            "arrived_packets": self.arrived,
            "dropped_packets": drops.data,
            "in_flight_packets": inside.0,
        }
    }

    fn headers(&self, _which: usize, direction: Direction, tuple: FlowTuple) -> FlowHeaders {
        FlowHeaders::datagrams(direction, tuple)
    }
}
