//! Times at which a workload makes connections, the size of each, and the path that it takes. They do not depend on the network (open
//! loop): [`drawn`] lists them for engines that run the same workload elsewhere, by the routine that the simulator uses.

use crate::draw::{exponential, Distribution};
use crate::outbox::Outbox;
use crate::output::Rows;
use crate::probe::{Alone, GroupTotals, Volume};
use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::spec::{ArrivalsSpec, NetworkSpec, TcpSpec, TransfersSpec, WorkloadSpec};
use crate::tcp::implementation::Implementation;
use crate::time::{Time, MAX_TIME, NEVER, US};
use crate::traffic::site::{Site, MOST_SEGMENTS};

/// Event sources of a workload that makes connections.
pub const SOURCES: usize = 1;
/// Source ports that connections may have.
const SOURCE_PORTS: [u16; 2] = [10_000, 59_999];
/// Number of destination ports of a class: the first port of the next class is higher by this number.
const TURNS: u64 = 4;
/// Most classes of paths.
const MAX_CLASSES: usize = 64;

/// A workload that makes connections while the run goes on.
#[derive(Debug)]
pub struct Making<'a> {
    /// Settings that the connections share, with the size of the connection that was made last.
    pub tcp: TcpSpec,
    /// Paths that they take: one, or one for each class.
    pub paths: Vec<usize>,
    /// Each gets a row in the table of flows.
    pub rows: bool,
    /// Times at which they are made.
    pub arrivals: Arrivals<'a>,
    /// The stack of both ends.
    pub stack: Implementation,
}

impl Making<'_> {
    /// For each of the paths: the time of a transfer alone.
    #[must_use]
    pub fn alone(&self, network: &NetworkSpec) -> Vec<Alone> {
        alone(network, &self.tcp, &self.paths, &self.stack)
    }
}

/// For each of some paths: the time of a transfer alone.
fn alone(network: &NetworkSpec, tcp: &TcpSpec, paths: &[usize], stack: &Implementation) -> Vec<Alone> {
    paths.iter().map(|&path| Alone::of(network, path, tcp, stack.initial_cwnd())).collect()
}

/// A connection that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When, ns.
    pub at: Time,
    /// Payload, bytes.
    pub bytes: u64,
    /// Its path among the workload's paths.
    pub class: usize,
    /// The RTT that it has of its own, ns; 0: none.
    pub rtt: Time,
    /// Source and destination port.
    pub ports: [u16; 2],
}

/// The connections of a workload one after another, in the order in which they are made.
#[derive(Debug)]
pub struct Draws<'a> {
    spec: &'a TransfersSpec,
    sizes: Distribution,
    rtts: Option<Distribution>,
    /// Streams of the times, of the sizes, of the classes and of the RTTs: none of them shifts another.
    rngs: [Rng; 4],
    /// Return when the next one is due.
    next: Time,
    stop: Time,
    made: u64,
}

impl<'a> Draws<'a> {
    /// None has come yet.
    ///
    /// # Errors
    /// Arrivals in no time, lists that do not fit together, ports that are not in the range.
    pub fn build(spec: &'a TransfersSpec, network: &NetworkSpec) -> Result<Self, Flaws> {
        let (mut flaws, id) = (Flaws::default(), &spec.tcp.id);
        flaws.at_most("paths", spec.paths.len(), "paths", MAX_CLASSES);
        match &spec.arrivals {
            ArrivalsSpec::Regular { interval_ns } => flaws.at_least("arrivals.interval_ns", *interval_ns, "ns", 1),
            ArrivalsSpec::Poisson { mean_interval_ns } => {
                flaws.at_least("arrivals.mean_interval_ns", *mean_interval_ns, "ns", 1);
            }
            ArrivalsSpec::Listed { at_ns, sizes_bytes, classes } => {
                if !at_ns.is_sorted() {
                    flaws.add("arrivals.at_ns", "times that go back", "times in order");
                }
                for (field, len) in
                    [("sizes_bytes", sizes_bytes.as_ref().map(Vec::len)), ("classes", classes.as_ref().map(Vec::len))]
                {
                    if len.is_some_and(|len| len != at_ns.len()) {
                        flaws.add(&format!("arrivals.{field}"), "another number", format_args!("{}", at_ns.len()));
                    }
                }
                let paths = spec.paths.len().max(1);
                if classes.iter().flatten().any(|&class| class >= paths) {
                    flaws.add("arrivals.classes", "a class without a path", format_args!("below {paths}"));
                }
            }
        }
        let [least, most] = spec.source_ports;
        flaws.range("source_ports", least, "", SOURCE_PORTS[0]..=SOURCE_PORTS[1]);
        flaws.range("source_ports", most, "", least..=SOURCE_PORTS[1].max(least));
        flaws.range("ports", spec.ports[0], "", least..=most.max(least));
        let sizes = Flaws::within("size_bytes", Distribution::build(&spec.size_bytes));
        let rtts = Flaws::within("rtt_ns", spec.rtt_ns.as_ref().map(Distribution::build).transpose());
        let (sizes, rtts) = flaws.and(Flaws::both(sizes, rtts))?;
        let stream = |what: &str| Rng::for_component(network.seed, &format!("workload/{id}{what}"));
        let mut draws = Self {
            spec,
            sizes,
            rtts,
            rngs: ["", "/sizes", "/classes", "/rtts"].map(stream),
            next: spec.start_ns,
            stop: spec.stop_ns.unwrap_or(NEVER).min(network.duration_ns),
            made: 0,
        };
        if let ArrivalsSpec::Poisson { .. } = spec.arrivals {
            draws.next = draws.next.saturating_add(draws.interval());
        }
        Ok(draws)
    }

    fn interval(&mut self) -> Time {
        match &self.spec.arrivals {
            ArrivalsSpec::Regular { interval_ns } => *interval_ns,
            ArrivalsSpec::Poisson { mean_interval_ns } => exponential(&mut self.rngs[0], *mean_interval_ns),
            ArrivalsSpec::Listed { .. } => 0,
        }
    }

    /// One of the classes of the workload's paths, each as likely as any other.
    fn class(&mut self) -> usize {
        let classes = self.spec.paths.len() as u64;
        if classes < 2 {
            return 0;
        }
        ((u128::from(classes) * u128::from(self.rngs[2].u64())) >> u64::BITS) as usize
    }

    /// Source and destination port of connection `number`, from 0, in a class.
    fn ports(&self, number: u64, class: usize) -> [u16; 2] {
        let TransfersSpec { ports, source_ports: [least, most], .. } = self.spec;
        let (sources, i) = (u64::from(most - least) + 1, u64::from(ports[0] - least) + number);
        let turn = class as u64 * TURNS + i / sources;
        [least + (i % sources) as u16, ports[1].wrapping_add(turn as u16)]
    }
}

impl Iterator for Draws<'_> {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        if self.spec.count.is_some_and(|count| self.made >= count) {
            return None;
        }
        let (at, bytes, class) = if let ArrivalsSpec::Listed { at_ns, sizes_bytes, classes } = &self.spec.arrivals {
            let i = self.made as usize;
            let at = self.spec.start_ns.saturating_add(*at_ns.get(i)?);
            let bytes = sizes_bytes.as_ref().map_or_else(|| self.sizes.draw(&mut self.rngs[1]), |sizes| sizes[i]);
            (at, bytes, classes.as_ref().map(|classes| classes[i]))
        } else {
            (self.next, self.sizes.draw(&mut self.rngs[1]), None)
        };
        if at >= self.stop {
            return None;
        }
        let class = class.unwrap_or_else(|| self.class());
        let ports = self.ports(self.made, class);
        let rtt = self.rtts.as_ref().map_or(0, |rtts| rtts.draw(&mut self.rngs[3]).clamp(US, MAX_TIME));
        self.made += 1;
        self.next = self.next.saturating_add(self.interval());
        Some(Arrival {
            at,
            bytes: bytes.clamp(1, MOST_SEGMENTS * u64::from(self.spec.tcp.segment_bytes)),
            class,
            rtt,
            ports,
        })
    }
}

/// All connections that workload `workload` of a network makes.
///
/// # Errors
/// What of the workload cannot be run; that it makes none.
pub fn drawn(network: &NetworkSpec, workload: usize) -> Result<Vec<Arrival>, Flaws> {
    match network.workloads.get(workload) {
        Some(WorkloadSpec::Transfers(spec)) => Ok(Draws::build(spec, network)?.collect()),
        _ => Err(Flaws::one("", "connections that exist from the start", "a workload that makes connections")),
    }
}

/// Return the rows of the table of groups for the connections of workload `workload`, on every engine. `came` has for each, in the order of
/// [`drawn`]: how long it took (ns; the largest number stands for one that is not complete), payload read (bytes), packets sent and
/// segments retransmitted.
///
/// # Errors
/// Those of [`drawn`], and numbers of other connections.
pub fn group_rows(network: &NetworkSpec, workload: usize, came: &[u64]) -> Result<Rows, Flaws> {
    let drawn = drawn(network, workload)?;
    let WorkloadSpec::Transfers(spec) = &network.workloads[workload] else {
        unreachable!("the workload makes connections")
    };
    let stack = Flaws::within("tcp.stack", Implementation::from_spec(&spec.tcp.stack))?;
    if came.len() != 4 * drawn.len() {
        return Err(Flaws::one("", format_args!("{} numbers", came.len()), format_args!("{}", 4 * drawn.len())));
    }
    let alone = alone(network, &spec.tcp, spec.all_paths(), &stack);
    let (mut totals, mut rows) = (GroupTotals::default(), GroupTotals::table());
    for (arrival, numbers) in drawn.iter().zip(came.chunks_exact(4)) {
        let &[taken, rx_bytes, sent, retransmits] = numbers else { unreachable!("chunks of 4") };
        totals.begin_transfer(arrival.bytes);
        let volume = Volume { rx_bytes, sent, retransmits, ..Volume::default() };
        let taken = (taken != NEVER).then_some(taken);
        let alone = alone[arrival.class].time(arrival.bytes, arrival.rtt);
        totals.add_transfer(arrival.bytes, alone, taken, volume);
    }
    totals.push(&spec.tcp.id, &mut rows);
    Ok(rows)
}

/// The arrivals of a workload as a run goes on.
#[derive(Debug)]
pub struct Arrivals<'a> {
    /// Event source.
    source: usize,
    draws: Draws<'a>,
    next: Option<Arrival>,
}

impl<'a> Arrivals<'a> {
    /// None has come yet.
    ///
    /// # Errors
    /// As [`Draws::build`].
    pub fn build(spec: &'a TransfersSpec, site: &Site) -> Result<Self, Flaws> {
        let mut draws = Draws::build(spec, site.network)?;
        let next = draws.next();
        Ok(Self { source: site.source, draws, next })
    }

    /// Sets the time of the next.
    pub fn schedule(&self, out: &mut impl Outbox) {
        out.set_timer(self.source, self.next.map_or(NEVER, |arrival| arrival.at));
    }

    /// A connection is due: return its number in the group, from 1, and its arrival.
    pub fn on_timer(&mut self, out: &mut impl Outbox) -> (u64, Arrival) {
        let (number, arrival) = (self.draws.made, self.next.take().expect("the event of an arrival"));
        self.next = self.draws.next();
        self.schedule(out);
        (number, arrival)
    }
}
