//! Queue disciplines: one file each, one small trait, and one closed enum of them all, chosen once per run, so that the event loop
//! dispatches statically.

pub mod cake;
mod class;
mod codel;
mod dualpi2;
mod dummynet;
mod ecn;
mod fifo;
mod flow_queues;
mod fq;
mod fq_codel;
mod fq_pie;
mod hash;
mod jiffies;
#[cfg(test)]
pub(crate) mod lab;
mod lists;
mod netem;
mod parameters;
mod peek_buffer;
mod pie;
mod pie_2013;
#[cfg(test)]
mod properties;
mod red;
mod sfq;
mod truesize;

pub use cake::{Cake, CakeTins, TinTotals};
pub use class::{ClassTotals, DelayTotals};
pub use codel::Codel;
pub use dualpi2::DualPi2;
pub use dummynet::Dummynet;
pub(crate) use ecn::mark_ce;
pub use fifo::{Fifo, Limit};
pub use fq::Fq;
pub use fq_codel::FqCodel;
pub use fq_pie::FqPie;
pub use netem::Netem;
pub use parameters::TC;
pub use peek_buffer::PeekBuffer;
pub use pie::Pie;
pub use pie_2013::Pie2013;
pub use red::Red;
pub use sfq::Sfq;

use self::peek_buffer::PeekByDequeue;
use crate::attachment::Attachments;
use crate::catalogue::{Entry, State, Tell};
use crate::headers::Headers;
use crate::packet::{DropCause, FlowTuple, Packet, Verdict};
use crate::pool::{Id, Pool, Queue};
use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::spec::{CakeDiffserv, CakeMore, QdiscSpec};
use crate::time::Time;

/// All of them, with their parameters.
pub const DISCIPLINES: &[Entry] = &[
    fifo::PFIFO,
    fifo::BFIFO,
    cake::ENTRY,
    codel::ENTRY,
    fq_codel::ENTRY,
    pie::ENTRY,
    fq_pie::ENTRY,
    red::ENTRY,
    sfq::ENTRY,
    fq::ENTRY,
    dualpi2::ENTRY,
    dummynet::ENTRY,
    netem::ENTRY,
];

/// The state variables of disciplines, by name. A discipline that is not listed has none.
pub const STATES: &[(&str, &[State])] = &[
    ("codel", codel::STATE),
    ("fq_codel", fq_codel::STATE),
    ("pie", pie::STATE),
    ("fq_pie", fq_pie::STATE),
    ("red", red::STATE),
    ("cake", cake::STATE),
    ("dualpi2", dualpi2::STATE),
];

/// The answer to a dequeue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dequeued {
    /// A packet to send.
    Packet(Id),
    /// A self-shaping qdisc holds packets that may not leave before this time.
    Wait(Time),
    /// Nothing to send.
    Empty,
}

/// All that a queue may touch besides itself.
#[derive(Debug)]
pub struct QueueContext {
    /// The current time.
    pub now: Time,
    /// The port the queue is of.
    pub port: usize,
    /// The ports' random streams.
    pub rngs: Vec<Rng>,
    /// Packets under way.
    pub packets: Pool,
    /// Packets dropped by this call; the simulation accounts for them and clears the list.
    pub dropped: Vec<(Id, DropCause)>,
    /// Addresses and ports of each flow, for hashing; index is that of the flow.
    pub tuples: Vec<FlowTuple>,
    /// The answers of the packets' transport about their headers.
    pub headers: &'static dyn Headers,
    /// Data that few of the packets carry beside their header.
    pub attachments: Attachments,
    /// Time at which the offered packet is to leave its host, as its sender says; 0: as soon as it can. Only fq looks at it.
    pub departure: Time,
}

/// Counters that every queue keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QdiscStats {
    /// Packets that got a CE mark here.
    pub ce_marks: u64,
    /// Packets that got an SCE mark here.
    pub sce_marks: u64,
    /// Sojourn time of the last packet that left, ns.
    pub last_sojourn: u64,
}

/// Something to do with a discipline whose type is known: a loop over packets is then compiled for that type, with its methods inlined.
pub trait QdiscVisitor {
    /// The type that it returns.
    type Output;
    /// Does it.
    fn visit<Q: Qdisc>(self, qdisc: &mut Q) -> Self::Output;
}

/// A queue discipline.
pub trait Qdisc {
    /// Offers a packet; the time in its slot is overwritten with that of its arrival.
    fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict;
    /// Takes the next packet.
    fn dequeue(&mut self, s: &mut QueueContext) -> Dequeued;
    /// Length of the next packet, which stays counted as held (see [`PeekBuffer`]).
    fn peek(&mut self, s: &mut QueueContext) -> Option<u32>;
    /// Take the next packet if `ready`, which gets its length, says that it goes now. Otherwise it stays as after a peek.
    #[inline]
    fn dequeue_when(&mut self, ready: impl FnOnce(u32) -> Time, s: &mut QueueContext) -> Dequeued
    where
        Self: Sized,
    {
        match self.peek(s).map(ready) {
            Some(t) if t > s.now => Dequeued::Wait(t),
            Some(_) => self.dequeue(s),
            None => Dequeued::Empty,
        }
    }
    /// Shows itself to a visitor; [`AnyQdisc`] shows the discipline that it is.
    #[inline(always)]
    fn accept<V: QdiscVisitor>(&mut self, visitor: V) -> V::Output
    where
        Self: Sized,
    {
        visitor.visit(self)
    }
    /// Moves the packets that may leave by now to `leaving`, in order, as far as its own shaper lets them; returns when the next may,
    /// or `NEVER` if none waits. Only for a discipline that [`Self::shapes_itself`].
    fn release(&mut self, _s: &mut QueueContext, _leaving: &mut Queue) -> Time {
        unreachable!("another shaper paces this discipline")
    }
    /// All packets of the flow with this index are gone, and the next packet belongs to another flow: forget the state that was kept by the
    /// index.
    fn forget(&mut self, _flow: usize) {}
    /// The line asks for a packet at this time and there is none.
    fn found_empty(&mut self, _at: Time) {}
    /// A packet comes after the next; see [`Self::expect`].
    fn expect_later(&self, _p: &Packet) {}
    /// A packet comes next: load the memory ahead that it will touch.
    fn expect(&self, _p: &Packet) {}
    /// The packet in the peek buffer: it leaves next.
    fn peeked(&self) -> Option<Id> {
        None
    }
    /// Calls `f` for every packet held, for counting.
    fn for_each(&self, packets: &Pool, f: &mut dyn FnMut(&Packet));
    /// True if the discipline paces packets itself.
    fn shapes_itself(&self) -> bool {
        false
    }
    /// Packets held.
    fn packets(&self) -> usize;
    /// Bytes held.
    fn bytes(&self) -> u64;
    /// Counters.
    fn stats(&self) -> &QdiscStats;
    /// The totals of its classes; none by default.
    fn classes(&self) -> Vec<ClassTotals> {
        vec![]
    }
    /// Tells the values of its state variables, which are declared in its file ([`STATES`]). Only the sampler calls it, where a scenario asks
    /// for them.
    fn state(&self, _now: Time, _tell: &mut Tell) {}
}

/// Any queue discipline.
#[derive(Clone, Debug)]
pub enum AnyQdisc {
    /// pfifo, bfifo.
    Fifo(Fifo),
    /// cake.
    Cake(Box<Cake>),
    /// cake with several tins.
    CakeTins(Box<CakeTins>),
    /// codel.
    Codel(Box<PeekBuffer<Codel>>),
    /// fq_codel.
    FqCodel(Box<PeekBuffer<FqCodel>>),
    /// pie.
    Pie(Box<PeekBuffer<Pie>>),
    /// pie as it was in 2013.
    Pie2013(Box<PeekBuffer<Pie2013>>),
    /// fq_pie.
    FqPie(Box<PeekBuffer<FqPie>>),
    /// red.
    Red(Box<Red>),
    /// sfq.
    Sfq(Box<PeekBuffer<Sfq>>),
    /// fq.
    Fq(Box<PeekBuffer<Fq>>),
    /// dualpi2.
    DualPi2(Box<PeekBuffer<DualPi2>>),
    /// A pipe of dummynet.
    Dummynet(Box<Dummynet>),
    /// netem that delays.
    Netem(Box<PeekBuffer<Netem>>),
}

impl AnyQdisc {
    /// Build the described discipline on a device whose largest frame has `frame` bytes; `rng` is the port's stream (hash perturbation).
    ///
    /// # Errors
    /// Parameters outside of their bounds, or that contradict each other.
    pub fn build(spec: &QdiscSpec, frame: u32, rng: &mut Rng) -> Result<Self, Flaws> {
        entry(spec).check(spec)?;
        let packets = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(match *spec {
            QdiscSpec::Pfifo { limit_packets } => Self::Fifo(Fifo::new(Limit::Packets(packets(limit_packets)))),
            QdiscSpec::Bfifo { limit_bytes } => Self::Fifo(Fifo::new(Limit::Bytes(limit_bytes))),
            QdiscSpec::Cake { diffserv: CakeDiffserv::Besteffort, more, .. } if more == CakeMore::default() => {
                Self::Cake(Box::new(Cake::from_spec(spec, frame, rng)?))
            }
            QdiscSpec::Cake { diffserv, .. } => {
                Self::CakeTins(Box::new(CakeTins::from_spec(spec, diffserv, frame, rng)?))
            }
            QdiscSpec::Codel { limit_packets, ref control } => {
                Self::Codel(boxed(Codel::new(packets(limit_packets), control, frame)))
            }
            QdiscSpec::FqCodel { limit_packets, ref queues, drop_batch, drops_raise_count, ref control } => {
                let limit = packets(limit_packets);
                Self::FqCodel(boxed(FqCodel::new(limit, queues, drop_batch, drops_raise_count, control, frame, rng)))
            }
            QdiscSpec::Pie { limit_packets, ref control } => {
                Self::Pie(boxed(Pie::new(packets(limit_packets), control, frame)))
            }
            QdiscSpec::Pie2013 { limit_packets, ref control } => {
                Self::Pie2013(boxed(Pie2013::new(packets(limit_packets), control)?))
            }
            QdiscSpec::FqPie { limit_packets, ref queues, ecn_prob, ref control } => {
                Self::FqPie(boxed(FqPie::new(packets(limit_packets), queues, ecn_prob, control, frame, rng)))
            }
            QdiscSpec::Red { limit_bytes, ref control } => Self::Red(Box::new(Red::new(limit_bytes, control)?)),
            QdiscSpec::Sfq(ref spec) => Self::Sfq(boxed(Sfq::new(spec, rng)?)),
            QdiscSpec::Fq(ref spec) => Self::Fq(boxed(Fq::new(spec, rng))),
            QdiscSpec::DualPi2(ref spec) => Self::DualPi2(boxed(DualPi2::new(spec, frame)?)),
            QdiscSpec::Dummynet { rate_bps: 0, .. } => return Err(Flaws::one("rate_bps", "0 bit/s", "at least 1")),
            QdiscSpec::Dummynet { rate_bps, limit_bytes, tick_ns } => {
                Self::Dummynet(Box::new(Dummynet::new(rate_bps, limit_bytes, tick_ns)))
            }
            QdiscSpec::Netem { delay_ns, limit_packets, tick_ns } => {
                Self::Netem(boxed(Netem::new(delay_ns, packets(limit_packets), tick_ns)))
            }
        })
    }
}

/// The entry of the catalogue that has the parameters of a discipline.
fn entry(spec: &QdiscSpec) -> &'static Entry {
    match spec {
        QdiscSpec::Pfifo { .. } => &fifo::PFIFO,
        QdiscSpec::Bfifo { .. } => &fifo::BFIFO,
        QdiscSpec::Cake { .. } => &cake::ENTRY,
        QdiscSpec::Codel { .. } => &codel::ENTRY,
        QdiscSpec::FqCodel { .. } => &fq_codel::ENTRY,
        QdiscSpec::Pie { .. } | QdiscSpec::Pie2013 { .. } => &pie::ENTRY,
        QdiscSpec::FqPie { .. } => &fq_pie::ENTRY,
        QdiscSpec::Red { .. } => &red::ENTRY,
        QdiscSpec::Sfq(_) => &sfq::ENTRY,
        QdiscSpec::Fq(_) => &fq::ENTRY,
        QdiscSpec::DualPi2(_) => &dualpi2::ENTRY,
        QdiscSpec::Dummynet { .. } => &dummynet::ENTRY,
        QdiscSpec::Netem { .. } => &netem::ENTRY,
    }
}

fn boxed<Q: PeekByDequeue>(qdisc: Q) -> Box<PeekBuffer<Q>> {
    Box::new(PeekBuffer::new(qdisc))
}

impl AnyQdisc {
    /// Changes the rate of a discipline that shapes itself, bit/s.
    pub fn set_rate(&mut self, rate_bps: u64) {
        match self {
            Self::Cake(q) => q.set_rate(rate_bps),
            Self::CakeTins(q) => q.set_rate(rate_bps),
            Self::Dummynet(q) => q.set_rate(rate_bps),
            _ => unreachable!("only cake and dummynet shape themselves"),
        }
    }
}

macro_rules! dispatch {
    ($($variant:ident),*) => {
        impl Qdisc for AnyQdisc {
            #[inline(always)]
            fn enqueue(&mut self, id: Id, s: &mut QueueContext) -> Verdict {
                match self { $(Self::$variant(q) => q.enqueue(id, s),)* }
            }
            #[inline]
            fn dequeue(&mut self, s: &mut QueueContext) -> Dequeued {
                match self { $(Self::$variant(q) => q.dequeue(s),)* }
            }
            #[inline]
            fn peek(&mut self, s: &mut QueueContext) -> Option<u32> {
                match self { $(Self::$variant(q) => q.peek(s),)* }
            }
            #[inline(always)]
            fn accept<V: QdiscVisitor>(&mut self, visitor: V) -> V::Output {
                match self { $(Self::$variant(q) => q.accept(visitor),)* }
            }
            #[inline]
            fn release(&mut self, s: &mut QueueContext, leaving: &mut Queue) -> Time {
                match self { $(Self::$variant(q) => q.release(s, leaving),)* }
            }
            #[inline]
            fn found_empty(&mut self, at: Time) {
                match self { $(Self::$variant(q) => q.found_empty(at),)* }
            }
            #[inline]
            fn expect_later(&self, p: &Packet) {
                match self { $(Self::$variant(q) => q.expect_later(p),)* }
            }
            #[inline]
            fn expect(&self, p: &Packet) {
                match self { $(Self::$variant(q) => q.expect(p),)* }
            }
            #[inline]
            fn peeked(&self) -> Option<Id> {
                match self { $(Self::$variant(q) => q.peeked(),)* }
            }
            fn forget(&mut self, flow: usize) {
                match self { $(Self::$variant(q) => q.forget(flow),)* }
            }
            fn for_each(&self, packets: &Pool, f: &mut dyn FnMut(&Packet)) {
                match self { $(Self::$variant(q) => q.for_each(packets, f),)* }
            }
            #[inline]
            fn shapes_itself(&self) -> bool {
                match self { $(Self::$variant(q) => q.shapes_itself(),)* }
            }
            #[inline]
            fn packets(&self) -> usize {
                match self { $(Self::$variant(q) => q.packets(),)* }
            }
            #[inline]
            fn bytes(&self) -> u64 {
                match self { $(Self::$variant(q) => q.bytes(),)* }
            }
            #[inline]
            fn stats(&self) -> &QdiscStats {
                match self { $(Self::$variant(q) => q.stats(),)* }
            }
            fn classes(&self) -> Vec<ClassTotals> {
                match self { $(Self::$variant(q) => q.classes(),)* }
            }
            #[cold]
            fn state(&self, now: Time, tell: &mut Tell) {
                match self { $(Self::$variant(q) => q.state(now, tell),)* }
            }
        }
    };
}

dispatch!(Fifo, Cake, CakeTins, Codel, FqCodel, Pie, Pie2013, FqPie, Red, Sfq, Fq, DualPi2, Dummynet, Netem);

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::{entry, AnyQdisc, DISCIPLINES};
    use crate::packet::FULL_FRAME;
    use crate::refusal::Flaws;
    use crate::rng::Rng;
    use crate::spec::QdiscSpec;

    /// A plan's value of each discipline.
    fn plans() -> Vec<Value> {
        let codel = json!({"target_ns": 5_000_000, "interval_ns": 100_000_000, "ecn": false, "ce_threshold_ns": 1_000_000, "floor": "mtu",
            "forgets_when_empty": true});
        let pie = json!({"target_ns": 15_000_000, "tupdate_ns": 15_000_000, "alpha": 2, "beta": 20, "ecn": false, "bytemode": false,
            "dq_rate_estimator": false});
        let pie_2013 = json!({"target_ns": 15_000_000, "tupdate_ns": 15_000_000, "alpha": 2, "beta": 20, "hz": 1000});
        let red = json!({"min_bytes": 30_000, "max_bytes": 90_000, "max_p": 85_899_345, "avpkt_bytes": 1000, "burst_packets": 50,
            "bandwidth_bps": 10_000_000, "ecn": true, "harddrop": false, "adaptive": false, "gentle": false});
        let queues = json!({"flows": 1024, "quantum_bytes": 1514, "memory_limit_bytes": 1 << 25});
        let cake = json!({"kind": "cake", "rate_bps": 10_000_000, "isolation": "flows", "rtt_ns": 100_000_000, "overhead_bytes": 18,
            "mpu_bytes": 64, "framing": "noatm", "memory_limit_bytes": 1 << 22, "sce": 0});
        vec![
            json!({"kind": "pfifo", "limit_packets": 10}),
            json!({"kind": "bfifo", "limit_bytes": 10_000}),
            cake,
            json!({"kind": "codel", "limit_packets": 1000, "control": codel}),
            json!({"kind": "fq_codel", "limit_packets": 1000, "control": codel, "queues": queues, "drop_batch": 64, "drops_raise_count": true}),
            json!({"kind": "pie", "limit_packets": 1000, "control": pie}),
            json!({"kind": "pie2013", "limit_packets": 1000, "control": pie_2013}),
            json!({"kind": "fq_pie", "limit_packets": 1000, "control": pie, "queues": queues, "ecn_prob": 10}),
            json!({"kind": "red", "limit_bytes": 200_000, "control": red}),
            json!({"kind": "sfq", "limit_packets": 127, "divisor": 1024, "quantum_bytes": 1514, "depth_packets": 127, "perturb_s": 10,
                "headdrop": false, "flows": 128}),
            json!({"kind": "fq", "limit_packets": 1000, "flow_limit_packets": 100, "quantum_bytes": 3028, "initial_quantum_bytes": 15140,
                "refill_delay_ns": 40_000_000, "ce_threshold_ns": 1_000_000}),
            json!({"kind": "dualpi2", "variant": "linux-7.3", "limit_packets": 10_000, "memory_limit_bytes": 1 << 20, "coupling": 2,
                "step_ns": 1_000_000, "step_packets": 5, "min_qlen_step_packets": 0, "ramp_from_ns": 800_000, "ramp_to_ns": 1_200_000,
                "drop_on_overload": true, "drop_enqueue": false, "ecn_mask": "l4s_ect", "classic_protection": 10,
                "target_ns": 15_000_000, "tupdate_ns": 16_000_000, "alpha": 41, "beta": 819, "split_gso": true}),
            json!({"kind": "dummynet", "rate_bps": 1_000_000, "limit_bytes": 50_000, "tick_ns": 1_000_000}),
            json!({"kind": "netem", "delay_ns": 1_000_000, "limit_packets": 100, "tick_ns": 1_000_000}),
        ]
    }

    fn built(plan: &Value) -> Result<AnyQdisc, Flaws> {
        let spec: QdiscSpec = serde_json::from_value(plan.clone()).unwrap();
        AnyQdisc::build(&spec, FULL_FRAME, &mut Rng::for_component(1, "port/q"))
    }

    /// The plan with another number in a field, if it has that field and the type of the field holds the number.
    fn with(plan: &Value, field: &str, number: i64) -> Option<Value> {
        let mut plan = plan.clone();
        let at = plan.pointer_mut(&format!("/{}", field.replace('.', "/")))?;
        *at = json!(number);
        serde_json::from_value::<QdiscSpec>(plan.clone()).is_ok().then_some(plan)
    }

    #[test]
    fn every_discipline_is_read_and_built_by_its_own_name() {
        let mut seen = vec![];
        for plan in plans() {
            built(&plan).unwrap_or_else(|flaws| panic!("{plan}: {flaws:?}"));
            seen.push(entry(&serde_json::from_value(plan).unwrap()).name);
        }
        assert!(DISCIPLINES.iter().all(|each| seen.contains(&each.name)), "{seen:?}");
    }

    #[test]
    fn every_bound_of_the_catalogue_is_the_last_value_that_is_taken() {
        let mut checked = 0;
        for plan in plans() {
            let spec: QdiscSpec = serde_json::from_value(plan.clone()).unwrap();
            for each in entry(&spec).parameters {
                for (bound, beyond) in [(each.least, -1), (each.most, 1)] {
                    let Some(bound) = bound.map(|bound| each.in_plan(bound) as i64) else { continue };
                    // A huge table, or a rule of several parameters, may refuse what the bound allows, by another name or in other words.
                    if let Some(inside) = with(&plan, each.field, bound) {
                        let spec: QdiscSpec = serde_json::from_value(inside).unwrap();
                        assert!(entry(&spec).check(&spec).is_ok(), "{} {}", entry(&spec).name, each.name);
                        checked += 1;
                    }
                    if let Some(outside) = with(&plan, each.field, bound + beyond) {
                        assert_eq!(built(&outside).unwrap_err().fields(), [each.field], "{plan} {}", bound + beyond);
                    }
                }
            }
        }
        assert!(checked > 80, "{checked}");
    }

    #[test]
    fn refusals_have_the_bound_as_a_scenario_has_it() {
        let refused = |field: &str, number: i64| {
            let plan = plans().into_iter().find(|plan| with(plan, field, number).is_some()).unwrap();
            built(&with(&plan, field, number).unwrap()).unwrap_err()
        };
        let expected = [
            ("control.target_ns", 300_000_000_000, "300s is out of range", "at most 274s"),
            ("control.target_ns", 999, "999ns is out of range", "at least 1us"),
            ("limit_packets", 0, "0p is out of range", "at least 1p"),
            ("queues.quantum_bytes", 100, "100B is out of range", "at least 256B"),
            ("control.max_p", 0, "0 is out of range", "at least 0.000001"),
            ("overhead_bytes", -65, "-65 is out of range", "at least -64"),
            ("perturb_s", 2_147_484, "2147484s is out of range", "at most 2147483s"),
        ];
        for (field, number, what, bound) in expected {
            assert_eq!(refused(field, number), Flaws::one(field, what, bound));
        }
    }
}
