//! Builds the world of a [`NetworkSpec`] and runs its events.

use crate::capture::{Capture, FlowHeaders};
use crate::cc::{AnyCc, CustomControl, CONTROLS};
use crate::events::MAX_SOURCES;
use crate::flow::Flow;
use crate::network::{Network, Route, PORTS};
use crate::output::Output;
use crate::packet::{flags, FlowTuple, MSS};
use crate::port::{Port, Schedule};
use crate::probe::Sampler;
use crate::spec::{FlowSpec, NetworkSpec, UdpSpec};
use crate::tap::Tap;
use crate::tcp::bsd;
use crate::tcp::endpoint::{Receiver, Sender};
use crate::tcp::implementation::{check_bsd, Implementation};
use crate::tcp::linux::stack::Stack;
use crate::tcp::linux::{receiver, sender};
use crate::time::{Time, MAX_TIME, NEVER};
use crate::traffic::Udp;

/// Event source of the sampler.
const SAMPLER: usize = 0;
/// Event source of the impairments.
const IMPAIRMENTS: usize = 1;
/// Event sources of a flow: the receiver's, the sender's timer, start and stop.
const FLOW_SOURCES: usize = receiver::SOURCES + 2;
const SENDER_TIMER: usize = receiver::SOURCES;
const CONTROL: usize = receiver::SOURCES + 1;

/// Runs a network to its end.
///
/// # Errors
/// The description cannot be run: what is wrong, in one line.
pub fn simulate(spec: &NetworkSpec) -> Result<Output, String> {
    simulate_with(spec, &|_| None)
}

/// As [`simulate`], with congestion controls of the caller's own: `controls` is asked for names that are not built in.
///
/// # Errors
/// The description cannot be run: what is wrong, in one line.
pub fn simulate_with(spec: &NetworkSpec, controls: &Controls) -> Result<Output, String> {
    let mut world = World::build(spec, controls)?;
    world.run();
    Ok(world.finish())
}

/// Runs a network to its end and returns a hash of all that happened to its packets and of what was counted.
///
/// # Errors
/// As [`simulate`].
#[cfg(feature = "fingerprint")]
pub fn fingerprint(spec: &NetworkSpec) -> Result<u64, String> {
    let mut world = World::build(spec, &|_| None)?;
    world.run();
    let mut fingerprint = world.network.fingerprint;
    let inside = world.network.inside();
    for (f, (drops, (data, acks))) in world.flows.iter().zip(world.network.drops.iter().zip(&inside)) {
        let (s, r) = (f.sender.counters(), f.receiver.counters());
        let sample = f.sender.sample();
        for value in [
            s.sent,
            s.retransmits,
            r.arrived,
            r.duplicates,
            drops.data,
            *data,
            r.acks_sent,
            s.acks_arrived,
            drops.acks,
            *acks,
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
    for p in &world.network.ports {
        let c = &p.counters;
        let stats = crate::probe::stats(p);
        for value in
            [c.arrived, c.sent, c.sent_bytes, c.lost, c.first_drop.unwrap_or(NEVER), stats.ce_marks, stats.sce_marks]
        {
            fingerprint.add(value);
        }
        c.dropped.iter().for_each(|&n| fingerprint.add(n));
        fingerprint.add(p.backlog().1);
    }
    Ok(fingerprint.value())
}

/// Checks a network without running it.
///
/// # Errors
/// The description cannot be run: what is wrong, in one line.
pub fn check(spec: &NetworkSpec) -> Result<(), String> {
    World::build(spec, &|_| None).map(|_| ())
}

/// Makes a congestion control by name.
pub type Controls = dyn Fn(&str) -> Option<Box<dyn CustomControl>>;

/// Largest transfer: sequence numbers count segments in 32 bits.
const MAX_TRANSFER: u64 = (u32::MAX as u64 - 2) * MSS as u64;
/// Least buffer: two segments and what the kernel charges for them.
const MIN_BUFFER: u64 = 4608;

struct World {
    network: Network,
    flows: Vec<Flow>,
    udp: Vec<Udp>,
    impairments: Schedule,
    sampler: Sampler,
    /// Of the flows, for a capture.
    headers: Vec<FlowHeaders>,
    end: Time,
    first_flow_source: usize,
    events: u64,
}

impl World {
    fn build(spec: &NetworkSpec, controls: &Controls) -> Result<Self, String> {
        let first_flow_source = PORTS + 2 * spec.ports.len();
        let first_udp_source = first_flow_source + FLOW_SOURCES * spec.flows.len();
        let sources = first_udp_source + spec.udp.len();
        if sources > MAX_SOURCES || spec.ports.len() > usize::from(u16::MAX) {
            let [flows, udp, ports] = [spec.flows.len(), spec.udp.len(), spec.ports.len()];
            return Err(format!("{flows} flows, {udp} streams of datagrams and {ports} ports are too many"));
        }
        if spec.duration_ns > MAX_TIME {
            return Err(format!(
                "duration of {} s; at most {} s",
                spec.duration_ns / 1_000_000_000,
                MAX_TIME / 1_000_000_000
            ));
        }
        let ports: Vec<Port> = spec.ports.iter().map(|port| Port::build(port, spec.seed)).collect::<Result<_, _>>()?;
        let impairments = Schedule::build(&spec.impairments, &ports)?;
        let (mut routes, mut tuples, mut flows, mut udp) = (vec![], vec![], vec![], vec![]);
        let tuple = |index: u32, src: u32, dst: u32| FlowTuple {
            src,
            dst,
            sport: 10_000 + (index % 50_000) as u16,
            dport: 5_000 + (index / 50_000) as u16,
        };
        for (flow, index) in spec.flows.iter().zip(0..) {
            routes.push(Self::route(flow, &ports)?);
            tuples.push(tuple(index, flow.src_host, flow.dst_host));
            let source = first_flow_source + FLOW_SOURCES * index as usize;
            flows.push(Self::flow(flow, index, source, spec.duration_ns, controls)?);
        }
        for (stream, i) in spec.udp.iter().zip(0..) {
            let index = flows.len() as u32 + i;
            routes.push(Self::one_way(stream, &ports)?);
            tuples.push(tuple(index, stream.src_host, stream.dst_host));
            udp.push(Udp::build(stream, index, first_udp_source + i as usize)?);
        }
        let mut network = Network::new(ports, routes, tuples, sources, spec.seed);
        let headers = if spec.capture { Self::headers(spec, &flows, &network.shared.tuples) } else { vec![] };
        if spec.capture {
            network.tap = Some(Box::new(Tap::new(headers.iter().map(|flow| flow.from_right))));
        }
        for (i, flow) in flows.iter().enumerate() {
            network.events.set(first_flow_source + FLOW_SOURCES * i + CONTROL, flow.start);
        }
        for (stream, spec) in udp.iter().zip(&spec.udp) {
            stream.schedule(spec.start_ns, &mut network);
        }
        network.events.set(IMPAIRMENTS, impairments.next());
        if spec.sample_ns > 0 {
            network.events.set(SAMPLER, 0);
        }
        let sampler = Sampler::new(spec.sample_ns, &flows, &network.ports);
        let end = spec.duration_ns;
        Ok(Self { network, flows, udp, impairments, sampler, headers, end, first_flow_source, events: 0 })
    }

    /// What a capture says of all flows.
    fn headers(spec: &NetworkSpec, flows: &[Flow], tuples: &[FlowTuple]) -> Vec<FlowHeaders> {
        let tcp = spec.flows.iter().zip(flows).zip(tuples);
        let tcp = tcp.map(|((spec, flow), tuple)| FlowHeaders::tcp(spec, *tuple, flow.receiver.window_scale()));
        let udp = spec.udp.iter().zip(&tuples[flows.len()..]);
        tcp.chain(udp.map(|(spec, tuple)| FlowHeaders::udp(spec.from_right, *tuple))).collect()
    }

    fn hops(list: &[usize], ports: &[Port], whose: &str) -> Result<Box<[u16]>, String> {
        if list.is_empty() || list.len() > 255 {
            return Err(format!("{whose} path has {} ports; 1 to 255 expected", list.len()));
        }
        list.iter()
            .map(|&i| {
                if i < ports.len() {
                    Ok(i as u16)
                } else {
                    Err(format!("{whose} path names port {i} of {}", ports.len()))
                }
            })
            .collect()
    }

    fn one_way(spec: &UdpSpec, ports: &[Port]) -> Result<Route, String> {
        let forward = Self::hops(&spec.forward, ports, &format!("udp {}: the forward", spec.name))?;
        Ok(Route { forward, reverse: Box::default() })
    }

    fn route(spec: &FlowSpec, ports: &[Port]) -> Result<Route, String> {
        let hops = |list: &[usize], way: &str| Self::hops(list, ports, &format!("flow {}: the {way}", spec.name));
        let route = Route { forward: hops(&spec.forward, "forward")?, reverse: hops(&spec.reverse, "reverse")? };
        let takes_time = |list: &[u16]| list.iter().any(|&i| ports[usize::from(i)].takes_time());
        if !takes_time(&route.forward) && !takes_time(&route.reverse) {
            return Err(format!("flow {}: its round trip takes no time; give it a delay or a rate", spec.name));
        }
        Ok(route)
    }

    fn flow(spec: &FlowSpec, index: u32, source: usize, end: Time, controls: &Controls) -> Result<Flow, String> {
        let at = |e: String| format!("flow {}: {e}", spec.name);
        let stack = Implementation::from_spec(&spec.stack).map_err(at)?;
        if let Some(bytes) = spec.first_write_bytes.filter(|bytes| !(1..MSS).contains(bytes)) {
            return Err(at(format!("a first write of {bytes} bytes; 1 to {}", MSS - 1)));
        }
        match spec.transfer_bytes {
            Some(0) => return Err(at("a transfer of 0 bytes".to_owned())),
            Some(bytes) if bytes > MAX_TRANSFER => {
                return Err(at(format!("a transfer of {bytes} bytes; at most {MAX_TRANSFER}")));
            }
            _ => {}
        }
        let host = &spec.host;
        for (name, bytes) in [
            ("receive", host.rcvbuf.unwrap_or(host.rmem[1])),
            ("receive", host.rcvbuf.unwrap_or(host.rmem[2])),
            ("send", host.sndbuf.unwrap_or(host.wmem[2])),
        ] {
            if bytes < MIN_BUFFER {
                return Err(at(format!("a {name} buffer of {bytes} bytes; at least {MIN_BUFFER}")));
            }
        }
        let (sender, receiver) = match &stack {
            Implementation::Linux(stack) => Self::linux(spec, index, source, stack, controls).map_err(at)?,
            Implementation::Bsd(stack) => {
                check_bsd(spec, stack).map_err(at)?;
                let sender = bsd::sender::Sender::new(index, source + SENDER_TIMER, spec, stack);
                (Sender::Bsd(sender), Receiver::Bsd(bsd::receiver::Receiver::new(index, source, spec, stack)))
            }
        };
        Ok(Flow {
            name: spec.name.clone(),
            sender,
            receiver,
            start: spec.start_ns,
            stop: spec.stop_ns.unwrap_or(NEVER).min(end),
        })
    }

    fn linux(
        spec: &FlowSpec,
        index: u32,
        source: usize,
        stack: &Stack,
        controls: &Controls,
    ) -> Result<(Sender, Receiver), String> {
        let unknown = || format!("unknown congestion control {:?}", spec.cc);
        let own = || controls(&spec.cc).map(AnyCc::Custom);
        let cc = AnyCc::build(&spec.cc, stack).or_else(own).ok_or_else(unknown)?;
        let needs_ecn = CONTROLS.iter().any(|(name, _, needs)| *name == spec.cc && *needs);
        let receiver = receiver::Receiver::new(index, source, spec, stack, needs_ecn);
        let sender = sender::Sender::new(index, source + SENDER_TIMER, spec, stack.clone(), cc, needs_ecn);
        Ok((Sender::Linux(sender), Receiver::Linux(receiver)))
    }

    fn run(&mut self) {
        while let Some((time, source)) = self.network.events.first() {
            if time > self.end {
                break;
            }
            debug_assert!(time >= self.network.now(), "time goes back");
            self.network.shared.now = time;
            self.events += 1;
            self.dispatch(source);
            while let Some(p) = self.network.arrival() {
                let Some(flow) = self.flows.get_mut(p.flow()) else {
                    self.udp[p.flow() - self.flows.len()].arrived += 1;
                    continue;
                };
                if p.has(flags::ACK) {
                    flow.sender.on_ack(&p, &mut self.network);
                } else {
                    flow.receiver.on_packet(&p, &mut self.network);
                }
            }
        }
        self.network.shared.now = self.end;
    }

    #[inline]
    fn dispatch(&mut self, source: usize) {
        if source >= self.first_flow_source {
            let offset = source - self.first_flow_source;
            let (flow, which) = (offset / FLOW_SOURCES, offset % FLOW_SOURCES);
            let Some(f) = self.flows.get_mut(flow) else {
                return self.udp[offset - FLOW_SOURCES * self.flows.len()].on_timer(&mut self.network);
            };
            match which {
                SENDER_TIMER => f.sender.on_timer(&mut self.network),
                CONTROL => self.on_control(flow, source),
                _ => f.receiver.on_timer(which, &mut self.network),
            }
        } else if source >= PORTS {
            let port = (source - PORTS) / 2;
            if (source - PORTS).is_multiple_of(2) {
                self.network.on_shaper(port);
            } else {
                self.network.on_pipe(port);
            }
        } else if source == SAMPLER {
            let next = self.sampler.sample(&self.flows, &self.network);
            self.network.events.set(SAMPLER, next);
        } else {
            while let Some((port, what)) = self.impairments.due(self.network.now()) {
                self.network.ports[port].impair(what);
            }
            self.network.events.set(IMPAIRMENTS, self.impairments.next());
        }
    }

    fn on_control(&mut self, flow: usize, source: usize) {
        let f = &mut self.flows[flow];
        if self.network.now() >= f.stop {
            f.sender.abort();
            self.network.events.set(source, NEVER);
        } else {
            f.sender.connect(&mut self.network);
            self.network.events.set(source, f.stop);
        }
    }

    fn finish(self) -> Output {
        let inside = self.network.inside();
        let mut output = Output {
            conservation: self.conservation(&inside),
            events: self.events,
            delivered_packets: self.flows.iter().map(|f| f.receiver.counters().arrived).sum(),
            ..Output::default()
        };
        output.flows = crate::probe::flows(&self.flows, &self.udp, &self.network, &inside, self.end);
        output.ports = crate::probe::ports(&self.network);
        output.capture = self.network.tap.map(|tap| Box::new(Capture::new(*tap, self.headers)));
        output.tables = self.sampler.finish();
        output
    }

    /// Checks that every packet is where it should be.
    fn conservation(&self, inside: &[(u64, u64)]) -> Vec<String> {
        let mut wrong = vec![];
        let mut check = |what: String, sent: u64, found: u64| {
            if sent != found {
                wrong.push(format!("{what}: {sent} packets sent, {found} accounted for"));
            }
        };
        for (i, f) in self.flows.iter().enumerate() {
            let (data, acks) = inside[i];
            let drops = &self.network.drops[i];
            let (s, r) = (f.sender.counters(), f.receiver.counters());
            check(format!("flow {} data", f.name), s.sent, r.arrived + drops.data + data);
            check(format!("flow {} ACKs", f.name), r.acks_sent, s.acks_arrived + drops.acks + acks);
        }
        for (i, u) in self.udp.iter().enumerate() {
            let i = self.flows.len() + i;
            check(format!("udp {}", u.name), u.sent, u.arrived + self.network.drops[i].data + inside[i].0);
        }
        for p in &self.network.ports {
            let c = &p.counters;
            check(format!("port {}", p.name), c.arrived, c.sent + c.drops() + p.backlog().0 as u64);
        }
        wrong
    }
}
