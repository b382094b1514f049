//! Ports: a queue discipline behind a shaper, or a link, each with a pipe of packets in flight behind it; or a delay that connections have of
//! their own.

mod change;
mod faults;
mod htb;
mod opportunities;
mod shaper;
mod spread;
mod tbf;

pub use change::{resolve, Change, Schedule};
pub use faults::{normal, pareto, paretonormal, FaultCounts, Faults};
pub use htb::Htb;
pub use shaper::Shaper;
pub use spread::Spread;
pub use tbf::Tbf;

use crate::packet::{DropCause, DROP_CAUSES, ETHERNET};
use crate::pool::{Pool, Queue};
use crate::qdisc::{AnyQdisc, Qdisc};
use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::spec::{PortSpec, QdiscSpec};
use crate::time::{Duration, Time, MAX_TIME, NEVER};

/// A port.
#[derive(Debug)]
pub struct Port {
    /// Name in the results.
    pub id: String,
    /// The kind of port, which says what packets wait for.
    pub kind: Kind,
    /// Packets that have left the shaper, in order of arrival at the far end, which is the time of each.
    pub pipe: Queue,
    /// Propagation delay, ns.
    pub delay: Duration,
    /// End of the latest outage: a packet that leaves the queue before it is lost.
    pub outage_until: Time,
    /// True if it is on a host, whose TCP hears of the packets that leave.
    on_host: bool,
    /// True if its queue has a timer that comes late, so that an earlier caller already finds packets that may leave.
    may_ask_early: bool,
    /// Until this time a packet that leaves takes more work than passing it on: during outages, or always on a host, before a tap, and
    /// where flows' shares are counted.
    pub watched_until: Time,
    /// Time at which the shaper sends the next packet; `NEVER` if it waits for none.
    pub next: Time,
    /// True if more packets may leave than the shaper's timer says, as the next arrival finds out. Causes: a change of rate filled its
    /// bucket; fq holds back the packets of a host, and other packets pass them; or netem's timer waits for a tick.
    pub refilled: bool,
    /// Counters.
    pub counters: Counters,
}

/// The kinds of port.
#[derive(Debug)]
pub enum Kind {
    /// A FIFO line and a constant delay: the time a packet leaves is known when it arrives.
    Link {
        /// Line rate, bit/s.
        rate_bps: Option<u64>,
        /// Most packets inside.
        limit: usize,
        /// Time at which the link is free.
        free_at: Time,
    },
    /// A delay that connections have of their own.
    Spread(Spread),
    /// A link that loses, delays unevenly, reorders, duplicates or corrupts packets.
    Faulty(Box<Faults>),
    /// A queue discipline behind a shaper.
    Queue {
        /// The queue discipline.
        qdisc: AnyQdisc,
        /// The shaper.
        shaper: Shaper,
    },
    /// A network card, which gathers packets for its host.
    Card(Interrupts),
}

/// Interrupts of a network card. One interrupt reports all packets since the last one, this time after the first of them.
#[derive(Clone, Copy, Debug)]
pub struct Interrupts {
    after: Duration,
    next: Time,
}

impl Interrupts {
    fn every(after: Duration) -> Self {
        Self { after, next: 0 }
    }

    /// Return when the host hears of a packet that arrives at this time.
    pub fn tell(&mut self, arrival: Time) -> Time {
        if arrival >= self.next {
            self.next = arrival + self.after;
        }
        self.next
    }
}

/// The counters of a port.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Packets offered.
    pub arrived: u64,
    /// Packets that left the shaper.
    pub sent: u64,
    /// Bytes that left the shaper.
    pub sent_bytes: u64,
    /// Packets dropped, by cause.
    pub dropped: [u64; DROP_CAUSES],
    /// Packets that left the shaper and were lost in an outage.
    pub lost: u64,
    /// Time of the first drop.
    pub first_drop: Option<Time>,
}

impl Counters {
    /// Packets dropped.
    #[must_use]
    pub fn drops(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Counts a drop.
    pub fn drop(&mut self, cause: DropCause, now: Time) {
        self.dropped[cause as usize] += 1;
        self.first_drop.get_or_insert(now);
    }
}

impl Port {
    /// Builds a port that carries IP packets of `mtu` bytes.
    ///
    /// # Errors
    /// What of it cannot be.
    pub fn build(spec: &PortSpec, mtu: u32, seed: u64) -> Result<Self, Flaws> {
        let (id, delay, kind) = match spec {
            PortSpec::Link {
                id, delay_ns, own_rtt: Some(part), rate_bps, limit_packets, coalesce_ns, faults, ..
            } => {
                let mut flaws = Flaws::default();
                if rate_bps.is_some() || limit_packets.is_some() || coalesce_ns.is_some() || faults.is_some() {
                    flaws.add("own_rtt", "a line, a limit or faults besides", "none of them");
                }
                flaws.done()?;
                (id, *delay_ns, Kind::Spread(Spread::new(*part)))
            }
            PortSpec::Link { id, delay_ns, rate_bps, limit_packets, coalesce_ns, faults, .. } => {
                let limit = limit_packets.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
                if *rate_bps == Some(0) {
                    return Err(Flaws::one("rate_bps", "0 bit/s", "at least 1"));
                }
                let kind = match (coalesce_ns, faults) {
                    (None, Some(faults)) => {
                        let link = Faults::build(faults, (id, seed), *delay_ns, *rate_bps, limit);
                        Kind::Faulty(Box::new(Flaws::within("faults", link)?))
                    }
                    (None, None) => Kind::Link { rate_bps: *rate_bps, limit, free_at: 0 },
                    (Some(_), _) if rate_bps.is_some() || limit_packets.is_some() || faults.is_some() => {
                        return Err(Flaws::one(
                            "coalesce_ns",
                            "of a line, with a limit or faults",
                            "a network card alone",
                        ));
                    }
                    (Some(after), _) => Kind::Card(Interrupts::every(*after)),
                };
                (id, *delay_ns, kind)
            }
            PortSpec::Queue { id, qdisc, shaper, delay_ns, .. } => {
                let mut rng = Rng::for_component(seed, &format!("qdisc/{id}"));
                let qdisc = Flaws::within("qdisc", AnyQdisc::build(qdisc, mtu + ETHERNET, &mut rng));
                let (qdisc, shaper) =
                    Flaws::both(qdisc, Flaws::within("shaper", Shaper::build(shaper, mtu + ETHERNET)))?;
                let shapers = (qdisc.shapes_itself(), matches!(shaper, Shaper::Own));
                if shapers == (false, true) {
                    return Err(Flaws::one("shaper", "a qdisc that does not shape itself", "link, tbf or htb"));
                }
                if shapers == (true, false) {
                    return Err(Flaws::one("shaper", "a second one, the qdisc shapes itself", "own"));
                }
                (id, *delay_ns, Kind::Queue { qdisc, shaper })
            }
        };
        let mut flaws = Flaws::default();
        flaws.at_most("delay_ns", delay, "ns", MAX_TIME);
        flaws.done()?;
        let may_ask_early = matches!(spec, PortSpec::Queue { qdisc: QdiscSpec::Netem { tick_ns: Some(_), .. }, .. });
        Ok(Self {
            id: id.clone(),
            kind,
            pipe: Queue::default(),
            delay,
            outage_until: 0,
            on_host: false,
            may_ask_early,
            watched_until: 0,
            next: NEVER,
            refilled: may_ask_early,
            counters: Counters::default(),
        })
    }

    /// It is the port through which a host's packets leave.
    pub fn put_on_host(&mut self) {
        self.on_host = true;
        self.refilled = self.may_ask_early();
        self.watch();
    }

    /// It is on a host, and its queue holds packets until they may leave.
    #[must_use]
    pub fn paces(&self) -> bool {
        self.on_host && matches!(self.kind, Kind::Queue { qdisc: AnyQdisc::Fq(_), .. })
    }

    /// True if packets may leave before the port's timer: then every arrival asks the port.
    #[must_use]
    pub fn may_ask_early(&self) -> bool {
        self.may_ask_early || self.paces()
    }

    /// It is on a host, and its queue takes packets off the account of their connection when they come.
    #[must_use]
    pub fn orphans(&self) -> bool {
        self.on_host && matches!(self.kind, Kind::Queue { qdisc: AnyQdisc::Netem(_), .. })
    }

    /// Something besides passing it on is always to be done about a packet that leaves.
    pub fn watch(&mut self) {
        self.watched_until = NEVER;
    }

    /// True if it is on a host, whose TCP hears of the packets that leave.
    #[must_use]
    pub fn is_on_host(&self) -> bool {
        self.on_host
    }

    /// Something happens to a queue port.
    pub fn change(&mut self, what: Change) {
        let Kind::Queue { qdisc, shaper } = &mut self.kind else { unreachable!("the schedule names queue ports only") };
        match (what, shaper) {
            (Change::OutageUntil(end), _) => {
                self.outage_until = self.outage_until.max(end);
                self.watched_until = self.watched_until.max(end);
            }
            // A packet on the link comes out when it would have come out without the change.
            (Change::Rate(rate), Shaper::Link { rate_bps, .. }) => *rate_bps = rate,
            (Change::Rate(_), Shaper::Trace(_)) => unreachable!("a trace's rate changes by itself"),
            (Change::Rate(rate), Shaper::Htb(htb)) => htb.set_rate(rate),
            (Change::Rate(rate), Shaper::Own) => qdisc.set_rate(rate),
            (Change::Rate(rate), Shaper::Tbf(tbf)) => {
                tbf.set_rate(rate);
                self.refilled = true;
            }
        }
    }

    /// Packets and bytes that wait here (a link holds its packets in the pipe: none wait).
    #[must_use]
    pub fn backlog(&self) -> (usize, u64) {
        match &self.kind {
            Kind::Link { .. } | Kind::Spread(_) | Kind::Card(_) | Kind::Faulty(_) => (0, 0),
            Kind::Queue { qdisc, .. } => (qdisc.packets(), qdisc.bytes()),
        }
    }

    /// Return the counters of faults, or `None` for a port that is no link with faults.
    #[must_use]
    pub fn faults(&self) -> Option<FaultCounts> {
        match &self.kind {
            Kind::Faulty(link) => Some(link.counts),
            _ => None,
        }
    }

    /// Return when the first packet of the pipe comes out.
    #[must_use]
    pub fn pipe_time(&self, packets: &Pool) -> Time {
        self.pipe.first().map_or(NEVER, |id| packets[id].time)
    }
}
