//! Ports: a queue discipline behind a shaper, or a link, each with a pipe of packets in flight behind it; or a delay that connections have of
//! their own.

mod bucket;
mod change;
mod chosen;
mod faults;
mod htb;
pub mod media;
mod opportunities;
mod shaper;
mod tbf;

pub use change::{resolve, Change, Schedule};
pub use chosen::Chosen;
pub use faults::{normal, pareto, paretonormal, FaultCounts, Faults, ENTRIES as FAULTS};
pub use htb::Htb;
pub use media::AnyMedium;
pub use shaper::{Shaper, SHAPERS};
pub use tbf::Tbf;

use self::media::{Card, Faulty, Line, Medium, SharedLine, SharedMedia, Spread};
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
    /// The medium that packets wait for.
    pub medium: AnyMedium,
    /// Packets that have left the shaper, in order of arrival at the far end, which is the time of each.
    pub pipe: Queue,
    /// Propagation delay, ns.
    pub delay: Duration,
    /// End of the latest outage: a packet that leaves the queue before it is lost.
    pub outage_until: Time,
    /// Packets that leave and are chosen to be lost or to be late.
    pub chosen: Chosen,
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
    /// Packets that left the shaper and were lost, in an outage or as chosen.
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
    /// Builds a port that carries IP packets of `mtu` bytes. It may be one of several on one of the `lines`.
    ///
    /// # Errors
    /// What of it cannot be.
    pub fn build(spec: &PortSpec, mtu: u32, seed: u64, lines: &mut SharedMedia<SharedLine>) -> Result<Self, Flaws> {
        let (id, delay, medium) = match spec {
            PortSpec::Link {
                id, delay_ns, own_rtt: Some(part), rate_bps, limit_packets, coalesce_ns, faults, ..
            } => {
                let mut flaws = Flaws::default();
                if rate_bps.is_some() || limit_packets.is_some() || coalesce_ns.is_some() || faults.is_some() {
                    flaws.add("own_rtt", "a line, a limit or faults besides", "none of them");
                }
                flaws.done()?;
                (id, *delay_ns, AnyMedium::Spread(Spread::new(*part)))
            }
            PortSpec::Link { id, delay_ns, rate_bps, limit_packets, coalesce_ns, faults, .. } => {
                let limit = limit_packets.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
                if *rate_bps == Some(0) {
                    return Err(Flaws::one("rate_bps", "0 bit/s", "at least 1"));
                }
                let medium = match (coalesce_ns, faults) {
                    (None, Some(faults)) => {
                        let link = Faults::build(faults, (id, seed), *delay_ns, *rate_bps, limit);
                        AnyMedium::Faulty(Box::new(Faulty(Flaws::within("faults", link)?)))
                    }
                    (None, None) => AnyMedium::Line(Line::new(*rate_bps, limit)),
                    (Some(_), _) if rate_bps.is_some() || limit_packets.is_some() || faults.is_some() => {
                        return Err(Flaws::one(
                            "coalesce_ns",
                            "of a line, with a limit or faults",
                            "a network card alone",
                        ));
                    }
                    (Some(after), _) => AnyMedium::Card(Card::new(*after)),
                };
                (id, *delay_ns, medium)
            }
            PortSpec::Queue { id, qdisc, shaper, delay_ns, .. } => {
                let mut rng = Rng::for_component(seed, &format!("qdisc/{id}"));
                let qdisc = Flaws::within("qdisc", AnyQdisc::build(qdisc, mtu + ETHERNET, &mut rng));
                let (qdisc, shaper) =
                    Flaws::both(qdisc, Flaws::within("shaper", Shaper::build(shaper, mtu + ETHERNET, lines)))?;
                let shapers = (qdisc.shapes_itself(), matches!(shaper, Shaper::Own));
                if shapers == (false, true) {
                    return Err(Flaws::one("shaper", "a qdisc that does not shape itself", "link, tbf or htb"));
                }
                if shapers == (true, false) {
                    return Err(Flaws::one("shaper", "a second one, the qdisc shapes itself", "own"));
                }
                (id, *delay_ns, AnyMedium::Queue(media::Queue::new(qdisc, shaper)))
            }
        };
        let mut flaws = Flaws::default();
        flaws.at_most("delay_ns", delay, "ns", MAX_TIME);
        flaws.done()?;
        let may_ask_early = matches!(spec, PortSpec::Queue { qdisc: QdiscSpec::Netem { tick_ns: Some(_), .. }, .. });
        Ok(Self {
            id: id.clone(),
            medium,
            pipe: Queue::default(),
            delay,
            outage_until: 0,
            chosen: Chosen::default(),
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
        self.on_host && self.medium.paces()
    }

    /// True if packets may leave before the port's timer: then every arrival asks the port.
    #[must_use]
    pub fn may_ask_early(&self) -> bool {
        self.may_ask_early || self.paces()
    }

    /// It is on a host, and its queue takes packets off the account of their connection when they come.
    #[must_use]
    pub fn orphans(&self) -> bool {
        self.on_host && self.medium.orphans()
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

    /// Something happens to the port.
    pub fn change(&mut self, what: Change) {
        match what {
            Change::OutageUntil(end) => {
                self.outage_until = self.outage_until.max(end);
                self.watched_until = self.watched_until.max(end);
            }
            Change::Rate(rate) => self.refilled |= self.medium.set_rate(rate),
            Change::Drop { packets, every } => {
                self.chosen.lose(packets, every);
                self.watch();
            }
            Change::Hold(packets) => {
                self.chosen.hold(packets);
                self.watch();
            }
            Change::Release => {}
        }
    }

    /// Packets and bytes that wait here (a line holds its packets in the pipe: none wait).
    #[must_use]
    pub fn backlog(&self) -> (usize, u64) {
        self.medium.backlog()
    }

    /// Return the counters of faults, or `None` for a port that is no link with faults.
    #[must_use]
    pub fn faults(&self) -> Option<FaultCounts> {
        self.medium.faults()
    }

    /// Return when the first packet of the pipe comes out.
    #[must_use]
    pub fn pipe_time(&self, packets: &Pool) -> Time {
        self.pipe.first().map_or(NEVER, |id| packets[id].time)
    }
}
