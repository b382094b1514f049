//! The traffic that hosts send. It consists of bulk flows ([`bulk`]), applications over TCP connections that stay open ([`session`]:
//! requests and responses, sources, pages, streaming), datagrams, and connections that come and go. This file lists all kinds but bulk
//! flows: it has a variant of [`AnyTraffic`], an arm of [`build`] and an arm of [`sources`] for each.

mod amount;
pub mod bulk;
mod exchange;
mod measured;
mod onoff;
mod pace;
mod page;
mod parameters;
mod requests;
mod session;
mod site;
mod streaming;
mod transfers;
mod udp;

pub use exchange::Exchange;
pub use measured::Measured;
pub use onoff::OnOff;
pub use pace::listed as datagrams_listed;
pub use page::Page;
pub use parameters::{HOST, WORKLOADS};
pub use site::{Controls, Site, MOST_MTU};
pub use streaming::Streaming;
pub use transfers::arrivals;
pub use udp::Udp;

use self::arrivals::Making;
use crate::attachment::Attachment;
use crate::capture::FlowHeaders;
use crate::catalogue::{Entry, Feature};
use crate::flow::Flow;
use crate::network::FlowDrops;
use crate::outbox::{HostQueue, Outbox};
use crate::output::{Datagram, Table, Transaction};
use crate::packet::{FlowTuple, Packet};
use crate::probe::{FlowRow, GroupTotals};
use crate::refusal::Flaws;
use crate::spec::{Direction, WorkloadSpec};
use crate::tcp::linux::sender::Sender;
use crate::time::Time;

/// Names of the kinds, all but bulk flows, in tables of capabilities.
pub const FEATURES: &[Feature] = &[
    Feature::Exchanges,
    Feature::OnOffSources,
    Feature::Pages,
    Feature::Pings,
    Feature::Streaming,
    Feature::Transfers,
    Feature::Udp,
    Feature::VoiceCalls,
];

/// All kinds but bulk flows.
pub const KINDS: &[Entry] = &[
    exchange::ENTRY,
    onoff::ENTRY,
    page::ENTRY,
    measured::PING,
    streaming::ENTRY,
    transfers::ENTRY,
    udp::ENTRY,
    measured::VOIP,
];

/// Packets of all kinds that two ends have sent each other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exchanged {
    /// Sent by the `from` end.
    pub sent: u64,
    /// Packets of the `from` end that have arrived.
    pub arrived: u64,
    /// Sent by the `to` end.
    pub sent_back: u64,
    /// Packets of the `to` end that have arrived.
    pub arrived_back: u64,
}

/// A stream, or the connections that one application uses, both their ends, that exist from the start of the run. It gets their events and
/// packets, and acts through an [`Outbox`]. If one of its flows is meant, `which` counts them from 0.
pub trait Traffic {
    /// Event sources of each of its flows.
    const SOURCES: usize;
    /// True if its workload has a row in the table of groups.
    const HAS_GROUP: bool = false;

    /// Its connections or streams: each is a flow, with a row in the table of flows.
    fn flows(&self) -> usize {
        1
    }

    /// Name in the results.
    fn name(&self, which: usize) -> &str;

    /// Sets its first event.
    fn schedule(&self, out: &mut impl Outbox);

    /// The event of its source `which` came.
    fn on_timer(&mut self, which: usize, out: &mut impl Outbox);

    /// A packet has reached its end.
    fn on_packet(&mut self, p: &Packet, out: &mut impl Outbox);

    /// Take the kinds of queue that the hosts of its `from` and of its `to` end have of their own. Called before the run begins.
    fn on_hosts_with_queues(&mut self, _kinds: [HostQueue; 2]) {}

    /// A packet of it has left the queue of its host, sent on or dropped. Return true if its sender waited for that: then
    /// [`Self::on_room_in_host`] is called once all packets that left at the same time are reported.
    fn on_left_host(&mut self, _p: &Packet, _attachment: &Attachment) -> bool {
        false
    }

    /// There is room in the queue of the host that sends packets like this one, and their sender waited for it.
    fn on_room_in_host(&mut self, _p: &Packet, _out: &mut impl Outbox) {}

    /// The sender of a connection whose data matter, and the bytes of them that its peer has read; `None` for datagrams, and while the connection
    /// is not open.
    fn sender(&self, _which: usize) -> Option<(&Sender, u64)> {
        None
    }

    /// True if a packet brings ACKs to that sender.
    fn brings_acks(&self, _p: &Packet) -> bool {
        false
    }

    /// The packets of a flow so far.
    fn exchanged(&self, which: usize) -> Exchanged;

    /// Return the row of a flow at the end of the run. `inside` holds the packets still under way, in the data's direction and back.
    fn row(&self, which: usize, drops: &FlowDrops, inside: (u64, u64), end: Time) -> FlowRow;

    /// Add their totals at the end of the run to those of their group.
    fn count(&self, _totals: &mut GroupTotals, _end: Time) {}

    /// Return the transactions that its application has waited for; empty for an application that waits for none.
    fn transactions(&self) -> &[Transaction] {
        &[]
    }

    /// The run is over, and this packet of it is still under way.
    fn on_end_of_run(&mut self, _p: &Packet) {}

    /// Take all its datagrams, if it measures with datagrams.
    fn take_datagrams(&mut self) -> Option<Vec<Datagram>> {
        None
    }

    /// Series that it has of itself, at times of its own or every `interval` until the run's `end`.
    fn series(&self, _interval: Time, _end: Time) -> Vec<Table> {
        vec![]
    }

    /// Return the header fields that the packets of a flow share.
    fn headers(&self, which: usize, direction: Direction, tuple: FlowTuple) -> FlowHeaders;
}

/// The kinds that are there from the start, dispatched statically.
macro_rules! any_traffic {
    ($($kind:ident),+) => {
        /// Traffic of any kind that is there from the start. There is little, and none is moved in a run: its size does not
        /// matter.
        #[allow(clippy::large_enum_variant)]
        #[derive(Debug)]
        pub enum AnyTraffic {
            $(#[allow(missing_docs, reason = "the kind's own are")] $kind($kind)),+
        }

        impl AnyTraffic {
            /// Event sources that it has.
            #[must_use]
            pub fn sources(&self) -> usize {
                self.flows() * match self { $(Self::$kind(_) => $kind::SOURCES),+ }
            }

            /// See [`Traffic::flows`].
            #[must_use]
            pub fn flows(&self) -> usize {
                match self { $(Self::$kind(each) => each.flows()),+ }
            }

            /// See [`Traffic::HAS_GROUP`].
            #[must_use]
            pub fn has_group(&self) -> bool {
                match self { $(Self::$kind(_) => $kind::HAS_GROUP),+ }
            }

            /// See [`Traffic::name`].
            #[must_use]
            pub fn name(&self, which: usize) -> &str {
                match self { $(Self::$kind(each) => each.name(which)),+ }
            }

            /// See [`Traffic::schedule`].
            pub fn schedule(&self, out: &mut impl Outbox) {
                match self { $(Self::$kind(each) => each.schedule(out)),+ }
            }

            /// See [`Traffic::on_timer`].
            pub fn on_timer(&mut self, which: usize, out: &mut impl Outbox) {
                match self { $(Self::$kind(each) => each.on_timer(which, out)),+ }
            }

            /// See [`Traffic::on_packet`].
            pub fn on_packet(&mut self, p: &Packet, out: &mut impl Outbox) {
                match self { $(Self::$kind(each) => each.on_packet(p, out)),+ }
            }

            /// See [`Traffic::on_hosts_with_queues`].
            pub fn on_hosts_with_queues(&mut self, kinds: [HostQueue; 2]) {
                match self { $(Self::$kind(each) => each.on_hosts_with_queues(kinds)),+ }
            }

            /// See [`Traffic::on_left_host`].
            pub fn on_left_host(&mut self, p: &Packet, attachment: &Attachment) -> bool {
                match self { $(Self::$kind(each) => each.on_left_host(p, attachment)),+ }
            }

            /// See [`Traffic::on_room_in_host`].
            pub fn on_room_in_host(&mut self, p: &Packet, out: &mut impl Outbox) {
                match self { $(Self::$kind(each) => each.on_room_in_host(p, out)),+ }
            }

            /// See [`Traffic::sender`].
            #[must_use]
            pub fn sender(&self, which: usize) -> Option<(&Sender, u64)> {
                match self { $(Self::$kind(each) => each.sender(which)),+ }
            }

            /// See [`Traffic::brings_acks`].
            #[must_use]
            pub fn brings_acks(&self, p: &Packet) -> bool {
                match self { $(Self::$kind(each) => each.brings_acks(p)),+ }
            }

            /// See [`Traffic::exchanged`].
            #[must_use]
            pub fn exchanged(&self, which: usize) -> Exchanged {
                match self { $(Self::$kind(each) => each.exchanged(which)),+ }
            }

            /// See [`Traffic::row`].
            #[must_use]
            pub fn row(&self, which: usize, drops: &FlowDrops, inside: (u64, u64), end: Time) -> FlowRow {
                match self { $(Self::$kind(each) => each.row(which, drops, inside, end)),+ }
            }

            /// See [`Traffic::count`].
            pub fn count(&self, totals: &mut GroupTotals, end: Time) {
                match self { $(Self::$kind(each) => each.count(totals, end)),+ }
            }

            /// See [`Traffic::transactions`].
            #[must_use]
            pub fn transactions(&self) -> &[Transaction] {
                match self { $(Self::$kind(each) => each.transactions()),+ }
            }

            /// See [`Traffic::on_end_of_run`].
            pub fn on_end_of_run(&mut self, p: &Packet) {
                match self { $(Self::$kind(each) => each.on_end_of_run(p)),+ }
            }

            /// See [`Traffic::take_datagrams`].
            #[must_use]
            pub fn take_datagrams(&mut self) -> Option<Vec<Datagram>> {
                match self { $(Self::$kind(each) => each.take_datagrams()),+ }
            }

            /// See [`Traffic::series`].
            #[must_use]
            pub fn series(&self, interval: Time, end: Time) -> Vec<Table> {
                match self { $(Self::$kind(each) => each.series(interval, end)),+ }
            }

            /// See [`Traffic::headers`].
            #[must_use]
            pub fn headers(&self, which: usize, direction: Direction, tuple: FlowTuple) -> FlowHeaders {
                match self { $(Self::$kind(each) => each.headers(which, direction, tuple)),+ }
            }
        }

        $(impl From<$kind> for AnyTraffic {
            fn from(each: $kind) -> Self {
                Self::$kind(each)
            }
        })+
    };
}

any_traffic!(Exchange, Measured, OnOff, Page, Streaming, Udp);

/// The parts that a workload is made into.
#[derive(Debug)]
pub enum Made<'a> {
    /// Bulk flows.
    Bulk(Vec<Flow>),
    /// Traffic that exists from the start: one for each that the workload lists.
    Listed(Vec<AnyTraffic>),
    /// A source of connections during the run.
    Making(Box<Making<'a>>),
}

/// Builds a workload.
///
/// # Errors
/// All that cannot be run.
pub fn build<'a>(workload: &'a WorkloadSpec, site: &Site<'a>) -> Result<Made<'a>, Flaws> {
    match workload {
        WorkloadSpec::Tcp(spec) => bulk::connections(spec, site).map(Made::Bulk),
        WorkloadSpec::Exchange(spec) => exchange::build(spec, site).map(listed),
        WorkloadSpec::OnOff(spec) => onoff::build(spec, site).map(listed),
        WorkloadSpec::Page(spec) => page::build(spec, site).map(listed),
        WorkloadSpec::Streaming(spec) => streaming::build(spec, site).map(listed),
        WorkloadSpec::Ping(spec) => measured::build(spec, true, site).map(listed),
        WorkloadSpec::Udp(spec) | WorkloadSpec::Voip(spec) if spec.measured => {
            measured::build(spec, false, site).map(listed)
        }
        WorkloadSpec::Udp(spec) | WorkloadSpec::Voip(spec) => udp::build(spec, site).map(listed),
        WorkloadSpec::Transfers(spec) => transfers::build(spec, site).map(|making| Made::Making(Box::new(making))),
    }
}

fn listed<'a, T: Into<AnyTraffic>>(all: Vec<T>) -> Made<'a> {
    Made::Listed(all.into_iter().map(Into::into).collect())
}

/// Event sources of a workload that [`build`] builds.
#[must_use]
pub fn sources(workload: &WorkloadSpec) -> usize {
    let each = match workload {
        WorkloadSpec::Exchange(_) => Exchange::SOURCES,
        WorkloadSpec::OnOff(_) => OnOff::SOURCES,
        WorkloadSpec::Page(_) => Page::SOURCES,
        WorkloadSpec::Streaming(_) => Streaming::SOURCES,
        WorkloadSpec::Ping(_) | WorkloadSpec::Udp(_) | WorkloadSpec::Voip(_) => {
            const { assert!(Measured::SOURCES == Udp::SOURCES, "a stream has as many, measured or not") };
            Udp::SOURCES
        }
        WorkloadSpec::Tcp(_) => bulk::SOURCES,
        WorkloadSpec::Transfers(_) => 0,
    };
    workload.listed().map_or(arrivals::SOURCES, |listed| each * listed.len())
}
