//! Builds the world of a [`NetworkSpec`] and runs its events.

mod applications;
mod arena;
mod build;
mod hosts;
mod senders;
mod series;
mod slots;
mod sources;
mod taps;
#[cfg(test)]
mod tests;
mod tuples;

use self::arena::Arena;
use crate::capture::{Capture, FlowHeaders};
use crate::network::{Network, PORTS};
use crate::output::{Output, Table};
use crate::packet::{Direction, Packet};
#[cfg(any(test, feature = "fingerprint"))]
use crate::port::media::Medium;
use crate::port::Schedule;
use crate::probe::{events, latencies, GroupTotals, Occasion, Sampler};
use crate::refusal::{Flaws, Part, Place, Refusal};
use crate::segment::Segment;
use crate::spec::NetworkSpec;
use crate::tcp::linux::receiver::reader::TURN;
use crate::tcp::transport::{ReceivingEnd, SendingEnd};
use crate::time::{Time, NEVER, SEC};
use crate::traffic::bulk::{CONTROL, DEPARTURE, SENDER_TIMER};
pub use crate::traffic::Controls;
use crate::traffic::{AnyTraffic, Exchanged};
use std::sync::atomic::{AtomicBool, Ordering};

/// Events between two looks at whether a run is to stop: some milliseconds.
const POLL: u64 = 1 << 14;
/// Most packets that are noted for captures: 2,000,000 of data, as the plan has it, each with an ACK.
const MOST_NOTED: usize = 4_000_000;
/// Event source of the first sample, which is taken before anything happens.
const SAMPLER: usize = 0;
/// Event source of the schedule of changes.
const CHANGES: usize = 1;
/// Warning about a smoothed RTT that the kernel's number is too small for.
const SRTT_WRAPPED: &str =
    "the smoothed RTT exceeded 536.87 s, where the 32 bits of the kernel's number wrap: srtt is not the RTT from then on";

/// Runs a network to its end.
///
/// # Errors
/// All that cannot be run.
pub fn simulate(spec: &NetworkSpec) -> Result<Output, Vec<Refusal>> {
    simulate_with(spec, &|_, _| None)
}

/// Simulate like [`simulate`], with congestion controls of the caller's own: `controls` is asked for names that are not built in.
///
/// # Errors
/// All that cannot be run.
pub fn simulate_with(spec: &NetworkSpec, controls: &Controls) -> Result<Output, Vec<Refusal>> {
    let output = simulate_until(spec, controls, &AtomicBool::new(false))?;
    Ok(output.expect("nobody stops it"))
}

/// Simulates like [`simulate_with`]; `None` if `stop` became true meanwhile. The event loop looks at it every [`POLL`] events.
///
/// # Errors
/// All that cannot be run.
pub fn simulate_until(
    spec: &NetworkSpec,
    controls: &Controls,
    stop: &AtomicBool,
) -> Result<Option<Output>, Vec<Refusal>> {
    let mut world = World::build(spec, controls)?;
    Ok(world.run(stop)?.then(|| world.finish()))
}

/// Run a network to its end and return a hash of all events of its packets and of all counts.
///
/// # Errors
/// Fails as [`simulate`] does.
#[cfg(feature = "fingerprint")]
pub fn fingerprint(spec: &NetworkSpec) -> Result<u64, Vec<Refusal>> {
    let mut world = World::build(spec, &|_, _| None)?;
    world.run(&AtomicBool::new(false))?;
    Ok(world.fingerprint())
}

/// Checks a network without running it.
///
/// # Errors
/// All that cannot be run.
pub fn check(spec: &NetworkSpec) -> Result<(), Vec<Refusal>> {
    check_with(spec, &|_, _| None)
}

/// Check like [`check`], with congestion controls of the caller's own.
///
/// # Errors
/// All that cannot be run.
pub fn check_with(spec: &NetworkSpec, controls: &Controls) -> Result<(), Vec<Refusal>> {
    World::build(spec, controls).map(|_| ())
}

/// The end of a run.
struct Bounds {
    end: Time,
    /// Most packets that are noted for captures.
    noted: usize,
    /// Maximum number of connections at once among those that come and go.
    slots: usize,
}

/// A run that has been built.
struct World<'a> {
    network: Network,
    arena: Arena<'a>,
    /// The names of the workloads of other traffic that exists from the start, each with how many are of it.
    listed: Vec<(String, usize)>,
    schedule: Schedule,
    sampler: Sampler,
    /// Header fields of the flows, for a capture.
    headers: Vec<FlowHeaders>,
    /// There are so many flows that the memory of their next packets is loaded ahead.
    looks_ahead: bool,
    /// The flow whose end was loaded ahead last, and the direction of the packet for which it was.
    approaching: Option<(usize, Direction)>,
    bounds: Bounds,
    first_flow_source: usize,
    /// Event source of the samples after the first.
    sampling: usize,
    events: u64,
}

impl World<'_> {
    /// Returns false if `stop` became true before the end. Not inlined: within a larger function the loop has fewer registers, and a packet
    /// takes 3 % more instructions.
    #[inline(never)]
    fn run(&mut self, stop: &AtomicBool) -> Result<bool, Vec<Refusal>> {
        while let Some((time, source)) = self.network.events.first() {
            if time > self.bounds.end {
                break;
            }
            debug_assert!(time >= self.network.now(), "time goes back");
            self.network.shared.now = time;
            self.events += 1;
            if self.events.is_multiple_of(POLL) && self.is_stopped(stop)? {
                return Ok(false);
            }
            self.dispatch(source);
            while let Some(p) = self.network.arrival::<Segment>() {
                // Every connection comes here, so that its packets are handled in this loop and not by a call.
                let Some((flow, in_slot)) = self.arena.flow(p.flow()) else {
                    self.on_other_arrival(&p.into());
                    continue;
                };
                if p.is_reverse() {
                    flow.sender.on_ack(&p, &mut self.network);
                    if self.network.watch.is_some() {
                        series::look(&mut self.network, p.flow(), &flow.sender, Occasion::Ack);
                    }
                } else {
                    flow.receiver.on_packet(&p, &mut self.network);
                }
                if in_slot {
                    self.arena.slots.check(p.flow(), &mut self.network);
                }
            }
        }
        self.network.shared.now = self.bounds.end;
        Ok(true)
    }

    /// Stop if more packets are to be noted, or more connections exist at once, than memory is meant to hold. The plan's bound of packets
    /// is an estimate, and nobody knows beforehand how many connections exist at once.
    #[cold]
    #[inline(never)]
    fn is_stopped(&self, stop: &AtomicBool) -> Result<bool, Vec<Refusal>> {
        let (noted, slots) = (self.network.noted(), self.arena.slots.taken());
        let refused = |field, most: usize, what: &str, expected: &str| {
            let s = self.network.now() as f64 / SEC as f64;
            let flaws = Flaws::one(field, format_args!("has more than {most} {what} after {s:.3} s"), expected);
            Err(flaws.at(Place { kind: Part::Run, index: None }).collect())
        };
        if noted > self.bounds.noted {
            return refused("capture", self.bounds.noted, "packets", "a shorter duration");
        }
        let happened = self.network.watch.as_ref().map_or(0, |watch| watch.count());
        if happened > events::MOST {
            return refused("events", events::MOST, "events", "fewer kinds of events, or a shorter duration");
        }
        if slots > self.bounds.slots {
            return refused(
                "workloads",
                self.bounds.slots,
                "connections at once",
                "fewer arrivals, or a shorter duration",
            );
        }
        Ok(stop.load(Ordering::Relaxed))
    }

    /// Load ahead the memory that the packets which come out of a port next will touch.
    #[cold]
    #[inline(never)]
    fn look_ahead(&mut self, port: usize) {
        if let Some((flow, direction)) = self.approaching.take() {
            self.arena.flows[flow].prefetch_behind(direction);
        }
        for p in self.network.look_ahead(port) {
            let (flow, direction) = (p.flow(), p.direction());
            if let Some(end) = self.arena.flows.get(flow) {
                end.prefetch(direction);
                self.approaching = Some((flow, direction));
            }
        }
    }

    #[inline(always)]
    fn dispatch(&mut self, source: usize) {
        if source >= self.first_flow_source {
            let Some((f, flow, which)) = self.arena.flow_of_event(source, &self.network.events) else {
                return self.on_other_timer(source);
            };
            match which {
                SENDER_TIMER => {
                    if let Some(turn) = f.sender.turn(&mut self.network) {
                        self.fire_senders(turn);
                    }
                }
                DEPARTURE => {
                    self.network.events.take(source);
                    f.sender.on_departure_timer(&mut self.network);
                    if self.network.watch.is_some() {
                        series::look(&mut self.network, flow, &f.sender, Occasion::Other);
                    }
                }
                CONTROL => self.on_control(flow, source),
                _ => {
                    self.network.events.take(source);
                    f.receiver.on_timer(which, &mut self.network);
                }
            }
        } else if source >= PORTS {
            let port = (source - PORTS) / 2;
            if (source - PORTS).is_multiple_of(2) {
                self.network.on_shaper(port);
            } else {
                self.network.on_pipe(port);
            }
            if self.looks_ahead {
                self.look_ahead(port);
            }
        } else {
            self.on_sampler_or_change(source);
        }
    }

    /// Not inlined: the loop of events would keep its constants in registers.
    #[cold]
    #[inline(never)]
    fn on_sampler_or_change(&mut self, source: usize) {
        if source == SAMPLER {
            self.network.events.set(SAMPLER, NEVER);
            self.sample();
        } else {
            while let Some((port, what)) = self.schedule.due(self.network.now()) {
                self.network.change(port, what);
            }
            self.network.events.set(CHANGES, self.schedule.next());
        }
    }

    /// Takes a sample. The next one comes behind all else of its time: a packet that is sent or arrives then shows in it, as in Linux, where
    /// no process reads anything before the softirq is over.
    fn sample(&mut self) {
        let next = self.sampler.sample(&self.arena.flows, &self.arena.slots, &self.network);
        if self.sampler.has_connections() {
            let (arena, now) = (&self.arena, self.network.now());
            let sender = |i: usize| arena.member(arena.flows.len() + i).and_then(|(other, which)| other.sender(which));
            self.sampler.sample_connections(now, sender);
        }
        self.network.events.set(self.sampling, next);
    }

    /// A packet of other traffic than TCP connections with one direction has reached its end.
    #[inline(never)]
    fn on_other_arrival(&mut self, p: &Packet) {
        let other = self.arena.other(p.flow()).expect("a flow is of a connection or of other traffic");
        other.on_packet(p, &mut self.network);
        if self.network.watch.is_some() {
            let occasion = if other.brings_acks(p) { Occasion::Ack } else { Occasion::Other };
            self.look_at_other(p.flow(), occasion);
        }
    }

    /// The event of other traffic or of arrivals came, or one that comes after all others of its time.
    #[inline(never)]
    fn on_other_timer(&mut self, source: usize) {
        if let Some((other, which)) = self.arena.other_of_event(source) {
            other.on_timer(which, &mut self.network);
            if self.network.watch.is_some() {
                self.look_at_all(source);
            }
            return;
        }
        if source == self.sampling {
            return self.sample();
        }
        // A slot is only reused when nothing is left to report about the connection before.
        self.on_release();
        match self.arena.group_of_event(source) {
            Some(group) => self.arena.slots.on_arrival(group, &mut self.network, &mut self.headers),
            None => self.on_applications(),
        }
    }

    /// The timer of event `source` may have changed the senders of some other traffic, whose events are recorded.
    #[cold]
    fn look_at_all(&mut self, source: usize) {
        for flow in self.arena.flows_of_event(source) {
            self.look_at_other(flow, Occasion::Timer);
        }
    }

    #[cold]
    fn look_at_other(&mut self, flow: usize, occasion: Occasion) {
        let sender = self.arena.member(flow).and_then(|(other, which)| other.sender(which));
        series::look_at(&mut self.network, flow, sender, occasion);
    }

    #[inline(never)]
    fn on_control(&mut self, flow: usize, source: usize) {
        let f = &mut self.arena.flows[flow];
        let now = self.network.now();
        if now == f.start && now < f.stop {
            f.connect(&mut self.network);
        } else if f.takes_turns && (now - f.start).is_multiple_of(TURN) {
            f.receiver.on_turn(&mut self.network);
        }
        if now >= f.stop {
            f.sender.abort();
            f.receiver.abort();
        }
        let turn = if f.takes_turns { now - (now - f.start) % TURN + TURN } else { NEVER };
        self.network.events.set(source, if now < f.stop { turn.min(f.stop) } else { turn });
    }

    /// Return a hash of all events of packets and of all counts.
    #[cfg(any(test, feature = "fingerprint"))]
    fn fingerprint(&self) -> u64 {
        let inside = self.network.inside();
        let mut fingerprint = self.network.fingerprint.clone();
        for (i, f) in self.arena.all_flows() {
            let (drops, (data, acks)) = (&self.network.drops[i], inside[i]);
            let (s, r) = (f.sender.counters(), f.receiver.counters());
            let sample = f.sender.sample();
            for value in [
                s.sent,
                s.retransmits,
                r.arrived,
                r.duplicates,
                drops.data,
                data,
                r.acks_sent,
                s.acks_arrived,
                drops.acks,
                acks,
                f.receiver.bytes_read(),
                f.receiver.completed().unwrap_or(NEVER),
                s.rto_timeouts,
                s.tlp_probes,
                s.undos,
                r.ce,
                r.sce,
                s.cwnd_reductions,
                u64::from(sample.delivered_ce),
                u64::from(sample.delivered),
                sample.cwnd.to_bits(),
                sample.srtt_ms.unwrap_or(f64::NAN).to_bits(),
            ] {
                fingerprint.add(value);
            }
        }
        for p in &self.network.ports {
            let c = &p.counters;
            let stats = p.medium.stats();
            for value in [
                c.arrived,
                c.sent,
                c.sent_bytes,
                c.lost,
                c.first_drop.unwrap_or(NEVER),
                stats.ce_marks,
                stats.sce_marks,
            ] {
                fingerprint.add(value);
            }
            c.dropped.iter().for_each(|&n| fingerprint.add(n));
            if let Some(f) = p.faults() {
                [f.lost, f.duplicated, f.corrupted, f.reordered].into_iter().for_each(|n| fingerprint.add(n));
            }
            fingerprint.add(p.backlog().1);
        }
        fingerprint.value()
    }

    fn finish(mut self) -> Output {
        let inside = self.network.inside();
        self.tell_end_of_run();
        let mut output = Output {
            conservation: self.conservation(&inside),
            warnings: self.warnings(),
            events: self.events,
            delivered_packets: self.arena.delivered_packets(),
            ..Output::default()
        };
        output.flows = crate::probe::flows(&self.arena.flows, &self.network, &inside, self.bounds.end);
        output.groups = GroupTotals::table();
        self.add_others(&inside, &mut output);
        let measuring = self.arena.others.iter_mut();
        output.datagrams =
            measuring.filter_map(|each| each.take_datagrams().map(|all| (each.name(0).to_owned(), all))).collect();
        self.arena.slots.finish(&self.network, &inside, &mut output.flows, &mut output.groups);
        output.ports = crate::probe::ports(&self.network);
        output.classes = crate::probe::classes(&self.network);
        output.capture = self.network.take_tap().map(|tap| Box::new(Capture::new(*tap, self.headers, self.bounds.end)));
        let (tables, states) = self.sampler.finish();
        output.tables.splice(0..0, tables);
        output.states = states;
        output.happened = series::happened(&mut self.network);
        output
    }

    /// Tells traffic which of its packets are still under way.
    fn tell_end_of_run(&mut self) {
        let arena = &mut self.arena;
        self.network.for_each_inside(|p| {
            if let Some(other) = arena.other(p.flow()) {
                other.on_end_of_run(p);
            }
        });
    }

    /// Add the results of the other traffic that exists from the start.
    fn add_others(&self, inside: &[(u64, u64)], output: &mut Output) {
        for (i, each, which) in self.arena.all_others() {
            output.flows.push(each.name(which), &each.row(which, &self.network.drops[i], inside[i], self.bounds.end).0);
            if which == 0 && !each.transactions().is_empty() {
                output.transactions.push((each.name(0).to_owned(), each.transactions().to_vec()));
            }
        }
        let interval = self.sampler.interval();
        let mut first = 0;
        for (name, count) in &self.listed {
            let members = &self.arena.others[first..first + count];
            first += count;
            if interval > 0 {
                output.tables.extend(members.iter().flat_map(|each| each.series(interval, self.bounds.end)));
                output.tables.extend(latencies_of_group(name, members));
            }
            let mut totals = GroupTotals::default();
            members.iter().for_each(|each| each.count(&mut totals, self.bounds.end));
            if members.iter().any(AnyTraffic::has_group) {
                totals.push(name, &mut output.groups);
            }
        }
    }

    /// Names the connections whose smoothed RTT exceeded the kernel's number.
    fn warnings(&self) -> Vec<String> {
        let all = self.arena.all_flows().map(|(_, flow)| flow);
        let wrapped = all.filter(|flow| flow.sender.srtt_has_wrapped());
        wrapped.map(|flow| format!("flow/{}: {SRTT_WRAPPED}", flow.name)).collect()
    }

    /// Checks that every packet is where it should be.
    fn conservation(&self, inside: &[(u64, u64)]) -> Vec<String> {
        let mut wrong = vec![];
        let mut check = |what: String, sent: u64, found: u64| {
            if sent != found {
                wrong.push(format!("{what}: {sent} packets sent, {found} accounted for"));
            }
        };
        for (i, f) in self.arena.all_flows() {
            let (data, acks) = inside[i];
            let drops = &self.network.drops[i];
            let (s, r) = (f.sender.counters(), f.receiver.counters());
            check(format!("flow {} data", f.name), s.sent + drops.data_copies, r.arrived + drops.data + data);
            check(format!("flow {} ACKs", f.name), r.acks_sent + drops.ack_copies, s.acks_arrived + drops.acks + acks);
        }
        for (i, each, which) in self.arena.all_others() {
            let ((data, back), drops) = (inside[i], &self.network.drops[i]);
            let Exchanged { sent, arrived, sent_back, arrived_back } = each.exchanged(which);
            check(format!("flow {}", each.name(which)), sent + drops.data_copies, arrived + drops.data + data);
            check(
                format!("flow {} back", each.name(which)),
                sent_back + drops.ack_copies,
                arrived_back + drops.acks + back,
            );
        }
        for p in &self.network.ports {
            let c = &p.counters;
            let faults = p.faults().unwrap_or_default();
            let found = c.sent + c.drops() + faults.lost + (p.backlog().0 + p.chosen.held.len()) as u64;
            check(format!("port {}", p.id), c.arrived + faults.duplicated, found);
        }
        wrong
    }
}

/// Return the time of each transaction of the applications that use several connections each; `None` if there are none.
fn latencies_of_group(name: &str, members: &[AnyTraffic]) -> Option<Table> {
    let several = members.iter().filter(|each| each.flows() > 1);
    let mut all: Vec<_> = several.flat_map(AnyTraffic::transactions).filter(|each| each.end.is_some()).collect();
    all.sort_by_key(|each| each.end);
    (!all.is_empty()).then(|| latencies(format!("group/{name}"), all))
}
