//! What the hosts send: bulk flows ([`bulk`]), and beside them requests and responses, datagrams, connections that come and go. This file
//! lists the kinds beside bulk flows: it has a variant of [`AnyTraffic`] and an arm of [`build`] for each.

pub mod arrivals;
pub mod bulk;
mod exchange;
mod site;
mod transfers;
mod udp;

pub use exchange::Exchange;
pub use site::{Controls, Site, MOST_MTU};
pub use udp::Udp;

use self::arrivals::Making;
use crate::attachment::Attachment;
use crate::capture::FlowHeaders;
use crate::network::FlowDrops;
use crate::outbox::Outbox;
use crate::output::Transaction;
use crate::packet::{FlowTuple, Packet};
use crate::probe::{FlowRow, GroupTotals};
use crate::refusal::Flaws;
use crate::spec::{Direction, WorkloadSpec};
use crate::time::Time;

/// What tables of capabilities call the kinds beside bulk flows.
pub const FEATURES: &[&str] = &["exchanges", "transfers", "UDP"];

/// What two ends have sent each other, packets of all kinds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exchanged {
    /// Sent by the `from` end.
    pub sent: u64,
    /// Of these, what has arrived.
    pub arrived: u64,
    /// Sent by the `to` end.
    pub sent_back: u64,
    /// Of these, what has arrived.
    pub arrived_back: u64,
}

/// A connection or a stream, both its ends, that is there from the start of the run. Its events and its packets come to it; what it
/// does goes through an [`Outbox`].
pub trait Traffic {
    /// Event sources that it has.
    const SOURCES: usize;
    /// Those of a workload have a row in the table of groups.
    const HAS_GROUP: bool = false;

    /// Name in the results.
    fn name(&self) -> &str;

    /// Sets its first event.
    fn schedule(&self, out: &mut impl Outbox);

    /// The event of its source `which` came.
    fn on_timer(&mut self, which: usize, out: &mut impl Outbox);

    /// A packet has reached its end.
    fn on_packet(&mut self, p: &Packet, out: &mut impl Outbox);

    /// Whether the hosts of its `from` and of its `to` end have queues of their own. Said before the run begins.
    fn on_hosts_with_queues(&mut self, _has: [bool; 2]) {}

    /// A packet of it has left the queue of the host that it comes from, sent on or dropped. True if its sender waited for that: then
    /// [`Self::on_room_in_host`] is due once all that left at the same time is told.
    fn on_left_host(&mut self, _p: &Packet, _attachment: &Attachment) -> bool {
        false
    }

    /// There is room in the queue of the host that such packets come from, and their sender waited for it.
    fn on_room_in_host(&mut self, _p: &Packet, _out: &mut impl Outbox) {}

    /// Its packets so far.
    fn exchanged(&self) -> Exchanged;

    /// What it has come to by the end of the run; `inside` are the packets still under way, the data's way and back.
    fn row(&self, drops: &FlowDrops, inside: (u64, u64), end: Time) -> FlowRow;

    /// Adds what it has come to to that of its group.
    fn count(&self, _totals: &mut GroupTotals) {}

    /// Its requests and responses, if it has such.
    fn transactions(&self) -> &[Transaction] {
        &[]
    }

    /// What the headers of its packets have in common.
    fn headers(&self, direction: Direction, tuple: FlowTuple) -> FlowHeaders;
}

/// The kinds that are there from the start, dispatched statically.
macro_rules! any_traffic {
    ($($kind:ident),+) => {
        /// A connection or stream of any kind that is there from the start. There are few, and none is moved in a run: their size does
        /// not matter.
        #[allow(clippy::large_enum_variant)]
        #[derive(Debug)]
        pub enum AnyTraffic {
            $(#[allow(missing_docs, reason = "the kind's own are")] $kind($kind)),+
        }

        impl AnyTraffic {
            /// See [`Traffic::SOURCES`].
            #[must_use]
            pub fn sources(&self) -> usize {
                match self { $(Self::$kind(_) => $kind::SOURCES),+ }
            }

            /// See [`Traffic::HAS_GROUP`].
            #[must_use]
            pub fn has_group(&self) -> bool {
                match self { $(Self::$kind(_) => $kind::HAS_GROUP),+ }
            }

            /// See [`Traffic::name`].
            #[must_use]
            pub fn name(&self) -> &str {
                match self { $(Self::$kind(each) => each.name()),+ }
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
            pub fn on_hosts_with_queues(&mut self, has: [bool; 2]) {
                match self { $(Self::$kind(each) => each.on_hosts_with_queues(has)),+ }
            }

            /// See [`Traffic::on_left_host`].
            pub fn on_left_host(&mut self, p: &Packet, attachment: &Attachment) -> bool {
                match self { $(Self::$kind(each) => each.on_left_host(p, attachment)),+ }
            }

            /// See [`Traffic::on_room_in_host`].
            pub fn on_room_in_host(&mut self, p: &Packet, out: &mut impl Outbox) {
                match self { $(Self::$kind(each) => each.on_room_in_host(p, out)),+ }
            }

            /// See [`Traffic::exchanged`].
            #[must_use]
            pub fn exchanged(&self) -> Exchanged {
                match self { $(Self::$kind(each) => each.exchanged()),+ }
            }

            /// See [`Traffic::row`].
            #[must_use]
            pub fn row(&self, drops: &FlowDrops, inside: (u64, u64), end: Time) -> FlowRow {
                match self { $(Self::$kind(each) => each.row(drops, inside, end)),+ }
            }

            /// See [`Traffic::count`].
            pub fn count(&self, totals: &mut GroupTotals) {
                match self { $(Self::$kind(each) => each.count(totals)),+ }
            }

            /// See [`Traffic::transactions`].
            #[must_use]
            pub fn transactions(&self) -> &[Transaction] {
                match self { $(Self::$kind(each) => each.transactions()),+ }
            }

            /// See [`Traffic::headers`].
            #[must_use]
            pub fn headers(&self, direction: Direction, tuple: FlowTuple) -> FlowHeaders {
                match self { $(Self::$kind(each) => each.headers(direction, tuple)),+ }
            }
        }

        $(impl From<$kind> for AnyTraffic {
            fn from(each: $kind) -> Self {
                Self::$kind(each)
            }
        })+
    };
}

any_traffic!(Exchange, Udp);

/// What a workload is made of.
#[derive(Debug)]
pub enum Made<'a> {
    /// What is there from the start: one for each that it lists.
    Listed(Vec<AnyTraffic>),
    /// What makes connections while the run goes on.
    Making(Making<'a>),
}

/// Builds a workload; bulk flows have a place of their own ([`bulk::connections`]), and are none of these.
///
/// # Errors
/// All that cannot be run.
pub fn build<'a>(workload: &'a WorkloadSpec, site: &Site<'a>) -> Result<Made<'a>, Flaws> {
    match workload {
        WorkloadSpec::Tcp(_) => Ok(Made::Listed(vec![])),
        WorkloadSpec::Exchange(spec) => exchange::build(spec, site).map(listed),
        WorkloadSpec::Udp(spec) => udp::build(spec, site).map(listed),
        WorkloadSpec::Transfers(spec) => transfers::build(spec, site).map(Made::Making),
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
        WorkloadSpec::Udp(_) => Udp::SOURCES,
        WorkloadSpec::Tcp(_) | WorkloadSpec::Transfers(_) => 0,
    };
    workload.listed().map_or(arrivals::SOURCES, |listed| each * listed.len())
}
