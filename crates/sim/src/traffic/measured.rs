//! Streams of datagrams that measure: when each was sent, when it reached the other end and, if that sends it back, when it was back.

use super::pace::Pace;
use super::udp::{codepoint, datagram, number};
use super::{Exchanged, Site, Traffic};
use crate::capture::FlowHeaders;
use crate::catalogue::{Entry, Kind, Parameter};
use crate::network::FlowDrops;
use crate::outbox::{End, Outbox};
use crate::output::{Datagram, Fate};
use crate::packet::{Ecn, FlowTuple, Packet};
use crate::probe::{flow_row, FlowRow};
use crate::refusal::Flaws;
use crate::spec::{ConnectionSpec, DatagramsSpec, Direction, Heading};
use crate::time::Time;

/// Entry in the catalogue.
pub const VOIP: Entry = Entry::plain(
    "voip",
    "one way of a voice call",
    "One way of a voice call: G.711 over RTP, a packet every 20 ms, without silence suppression. \
             `direction: both` is a conversation.",
    &[Parameter::new(
        "buffer",
        Kind::Duration,
        "playout_ns",
        "Playout buffer: the first packet that arrives is played after this time, and the others \
             with the same delay from their sending. A packet that arrives later is lost to the \
             listener.",
    )
    .written_as("60ms")
    .example("40ms")],
);

/// Entry in the catalogue.
pub const PING: Entry = Entry::plain(
    "ping",
    "ICMP echo requests",
    "ICMP echo requests, which the other host answers at once.",
    &[
        Parameter::new("interval", Kind::DrawnDuration, "interval_ns", "Time from one request to the next.")
            .written_as("200ms")
            .example("20ms"),
        Parameter::new(
            "size",
            Kind::DrawnSize,
            "size_bytes",
            "Frame size: 14 bytes Ethernet, 28 IP and ICMP, the rest payload. ping(8) has a payload of 56 bytes.",
        )
        .written_as("98B")
        .example("128B"),
        Parameter::optional_count("count", "count", "Requests; by default as many as there is time for.")
            .example("100"),
    ],
);

/// A stream, both ends.
#[derive(Debug)]
pub struct Measured {
    name: String,
    /// Index among all flows.
    flow: u32,
    /// Event source.
    source: usize,
    pace: Pace,
    start: Time,
    /// The other end sends every datagram back.
    reply: bool,
    /// They are ICMP echo requests.
    icmp: bool,
    /// The ECN field of each, and of its reply.
    ecn: Ecn,
    /// All that were sent. A packet's number is its place here.
    datagrams: Vec<Datagram>,
    arrived: u64,
    marked: u64,
    back: u64,
}

/// The streams of a workload; `icmp`: of ICMP echo requests.
pub fn build(spec: &DatagramsSpec, icmp: bool, site: &Site) -> Result<Vec<Measured>, Flaws> {
    let made = spec.streams.iter().zip(0..).map(|(stream, i)| Measured::build(spec, stream, icmp, i, site));
    Flaws::both(site.check(Heading::from(spec)), made.collect()).map(|((), streams)| streams)
}

impl Measured {
    /// The stream `i` of a workload, which has not begun.
    fn build(spec: &DatagramsSpec, stream: &ConnectionSpec, icmp: bool, i: u32, site: &Site) -> Result<Self, Flaws> {
        Ok(Self {
            name: stream.name.clone(),
            flow: site.index + i,
            source: site.source + Self::SOURCES * i as usize,
            pace: Pace::build(spec, stream, site.network.seed, site.network.duration_ns)?,
            start: stream.start_ns,
            reply: spec.reply,
            icmp,
            ecn: codepoint(spec)?,
            datagrams: vec![],
            arrived: 0,
            marked: 0,
            back: 0,
        })
    }
}

impl Traffic for Measured {
    const SOURCES: usize = 1;

    fn name(&self, _which: usize) -> &str {
        &self.name
    }

    fn schedule(&self, out: &mut impl Outbox) {
        out.set_timer(self.source, self.pace.first());
    }

    /// A datagram is due.
    fn on_timer(&mut self, _which: usize, out: &mut impl Outbox) {
        let (len, next) = self.pace.send(out.now());
        out.set_timer(self.source, next);
        let seq = self.datagrams.len() as u32;
        self.datagrams.push(Datagram { sent: out.now(), there: Fate::Lost, back: Fate::NotSent });
        out.send(End::Sender, datagram(self.flow, End::Sender, len, seq, self.ecn));
    }

    /// The other end answers every arriving datagram at once, in a packet of the same size. It answers a copy too. The first one to arrive
    /// counts.
    fn on_packet(&mut self, p: &Packet, out: &mut impl Outbox) {
        let arrived = Fate::Arrived(out.now());
        let Some(it) = self.datagrams.get_mut(number(p) as usize) else { return };
        if p.is_reverse() {
            self.back += 1;
            if it.back == Fate::Lost {
                it.back = arrived;
            }
            return;
        }
        self.arrived += 1;
        self.marked += u64::from(p.ecn() == Ecn::Ce);
        if it.there == Fate::Lost {
            it.there = arrived;
        }
        if self.reply {
            if it.back == Fate::NotSent {
                it.back = Fate::Lost;
            }
            // The answer to an echo request has the codepoint with which that came.
            let mut answer = datagram(self.flow, End::Receiver, p.len, number(p), self.ecn);
            if self.icmp && p.is_washed() {
                answer.wash();
            }
            out.send(End::Receiver, answer);
        }
    }

    fn exchanged(&self, _which: usize) -> Exchanged {
        Exchanged {
            sent: self.datagrams.len() as u64,
            arrived: self.arrived,
            sent_back: if self.reply { self.arrived } else { 0 },
            arrived_back: self.back,
        }
    }

    fn row(&self, which: usize, drops: &FlowDrops, inside: (u64, u64), end: Time) -> FlowRow {
        let Exchanged { sent, arrived, sent_back, arrived_back } = self.exchanged(which);
        let of_replies = |count: u64| if self.reply { count as f64 } else { f64::NAN };
        flow_row! {
            "start_ns": self.start,
            "end_ns": self.pace.stop().min(end).max(self.start),
            "sent_packets": sent,
            "arrived_packets": arrived,
            "dropped_packets": drops.data,
            "in_flight_packets": inside.0,
            "duplicated_packets": drops.data_copies,
            "ce_arrived": self.marked,
            "acks_sent": of_replies(sent_back),
            "acks_arrived": of_replies(arrived_back),
            "acks_dropped": of_replies(drops.acks),
            "acks_in_flight": of_replies(inside.1),
            "acks_duplicated": of_replies(drops.ack_copies),
        }
    }

    fn on_end_of_run(&mut self, p: &Packet) {
        let Some(it) = self.datagrams.get_mut(number(p) as usize) else { return };
        let fate = if p.is_reverse() { &mut it.back } else { &mut it.there };
        // Another copy may have arrived.
        if *fate == Fate::Lost {
            *fate = Fate::UnderWay;
        }
    }

    fn take_datagrams(&mut self) -> Option<Vec<Datagram>> {
        Some(std::mem::take(&mut self.datagrams))
    }

    fn headers(&self, _which: usize, direction: Direction, tuple: FlowTuple) -> FlowHeaders {
        FlowHeaders::datagrams(direction, tuple, self.icmp)
    }
}
