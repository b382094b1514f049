//! When a workload makes connections: at a regular pace, or as a Poisson process.

use super::site::Site;
use crate::draw::exponential;
use crate::outbox::Outbox;
use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::spec::{ArrivalsSpec, TcpSpec};
use crate::tcp::implementation::Implementation;
use crate::time::{Time, NEVER};

/// Event sources of a workload that makes connections.
pub const SOURCES: usize = 1;

/// Source ports of connections: these many, from the least one on.
const LEAST_PORT: u16 = 10_000;
const PORTS: u64 = 50_000;

/// A workload that makes connections while the run goes on.
#[derive(Debug)]
pub struct Making<'a> {
    /// What the connections have in common.
    pub tcp: &'a TcpSpec,
    /// Each gets a row in the table of flows.
    pub rows: bool,
    /// When they are made.
    pub arrivals: Arrivals,
    /// The stack of both ends.
    pub stack: Implementation,
}

/// What a workload says of its arrivals.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    /// The times between connections.
    pub between: ArrivalsSpec,
    /// From when on, ns.
    pub start_ns: Time,
    /// None from this time on, ns; `None` is the end of the run.
    pub stop_ns: Option<Time>,
    /// Most connections.
    pub count: Option<u64>,
    /// Source and destination port of the first.
    pub ports: [u16; 2],
}

/// The arrivals of a workload.
#[derive(Debug)]
pub struct Arrivals {
    /// Event source.
    source: usize,
    between: ArrivalsSpec,
    rng: Rng,
    start: Time,
    stop: Time,
    /// Connections made so far, and most.
    made: u64,
    count: u64,
    /// Ports of the first.
    ports: [u16; 2],
}

impl Arrivals {
    /// None has come yet to the workload called `id`.
    ///
    /// # Errors
    /// Arrivals in no time, and ports that are not in the range.
    pub fn build(said: Said, id: &str, site: &Site) -> Result<Self, Flaws> {
        let mut flaws = Flaws::default();
        match said.between {
            ArrivalsSpec::Regular { interval_ns } => flaws.at_least("arrivals.interval_ns", interval_ns, "ns", 1),
            ArrivalsSpec::Poisson { mean_interval_ns } => {
                flaws.at_least("arrivals.mean_interval_ns", mean_interval_ns, "ns", 1);
            }
        }
        flaws.range("ports", said.ports[0], "", LEAST_PORT..=LEAST_PORT + (PORTS - 1) as u16);
        flaws.done()?;
        Ok(Self {
            source: site.source,
            between: said.between,
            rng: Rng::for_component(site.network.seed, &format!("workload/{id}")),
            start: said.start_ns,
            stop: said.stop_ns.unwrap_or(site.network.duration_ns),
            made: 0,
            count: said.count.unwrap_or(u64::MAX),
            ports: said.ports,
        })
    }

    /// Sets the time of the first.
    pub fn schedule(&mut self, out: &mut impl Outbox) {
        let first = match self.between {
            ArrivalsSpec::Regular { .. } => self.start,
            ArrivalsSpec::Poisson { .. } => self.start.saturating_add(self.interval()),
        };
        self.wake_at(first, out);
    }

    /// A connection is due; returns its number in the group, from 1.
    pub fn on_timer(&mut self, out: &mut impl Outbox) -> u64 {
        self.made += 1;
        let next = out.now().saturating_add(self.interval());
        self.wake_at(next, out);
        self.made
    }

    /// Source and destination port of connection `number`.
    #[must_use]
    pub fn ports(&self, number: u64) -> [u16; 2] {
        let i = u64::from(self.ports[0] - LEAST_PORT) + number - 1;
        [LEAST_PORT + (i % PORTS) as u16, self.ports[1].wrapping_add((i / PORTS) as u16)]
    }

    fn wake_at(&self, at: Time, out: &mut impl Outbox) {
        out.set_timer(self.source, if at < self.stop && self.made < self.count { at } else { NEVER });
    }

    fn interval(&mut self) -> Time {
        match self.between {
            ArrivalsSpec::Regular { interval_ns } => interval_ns,
            ArrivalsSpec::Poisson { mean_interval_ns } => exponential(&mut self.rng, mean_interval_ns),
        }
    }
}
