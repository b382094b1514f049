//! Queue disciplines: one file each, one small trait, and one closed enum of them all, chosen once per run, so that the event loop
//! dispatches statically.

pub mod cake;
mod codel;
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
mod peek_buffer;
mod pie;
mod pie_2013;
#[cfg(test)]
mod properties;
mod red;
mod sfq;
mod truesize;

pub use cake::{Cake, CakeTins, TinTotals};
pub use codel::Codel;
pub use dummynet::Dummynet;
pub use fifo::{Fifo, Limit};
pub use fq::Fq;
pub use fq_codel::FqCodel;
pub use fq_pie::FqPie;
pub use netem::Netem;
pub use peek_buffer::PeekBuffer;
pub use pie::Pie;
pub use pie_2013::Pie2013;
pub use red::Red;
pub use sfq::Sfq;

use self::peek_buffer::PeekByDequeue;
use crate::attachment::Attachments;
use crate::headers::Headers;
use crate::packet::{DropCause, FlowTuple, Packet, Verdict};
use crate::pool::{Id, Pool, Queue};
use crate::refusal::Flaws;
use crate::rng::Rng;
use crate::spec::{CakeDiffserv, CakeMore, QdiscSpec};
use crate::time::Time;

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
    /// What the packets' transport says of their headers.
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
    /// A pipe of dummynet.
    Dummynet(Box<Dummynet>),
    /// netem that delays.
    Netem(Box<PeekBuffer<Netem>>),
}

impl AnyQdisc {
    /// Build the described discipline on a device whose largest frame has `frame` bytes; `rng` is the port's stream (hash perturbation).
    ///
    /// # Errors
    /// Parameters outside the discipline's ranges.
    pub fn build(spec: &QdiscSpec, frame: u32, rng: &mut Rng) -> Result<Self, Flaws> {
        Ok(match *spec {
            QdiscSpec::Pfifo { limit_packets } => {
                Self::Fifo(limited(limit_packets, |limit| Ok(Fifo::new(Limit::Packets(limit))))?)
            }
            QdiscSpec::Bfifo { limit_bytes } => {
                let mut flaws = Flaws::default();
                flaws.at_least("limit_bytes", limit_bytes, "bytes", 1);
                flaws.done()?;
                Self::Fifo(Fifo::new(Limit::Bytes(limit_bytes)))
            }
            QdiscSpec::Cake { diffserv: CakeDiffserv::Besteffort, more, .. } if more == CakeMore::default() => {
                Self::Cake(Box::new(Cake::from_spec(spec, frame, rng)?))
            }
            QdiscSpec::Cake { diffserv, .. } => {
                Self::CakeTins(Box::new(CakeTins::from_spec(spec, diffserv, frame, rng)?))
            }
            QdiscSpec::Codel { limit_packets, ref control } => {
                Self::Codel(boxed(limited(limit_packets, |limit| Codel::new(limit, control, frame))?))
            }
            QdiscSpec::FqCodel { limit_packets, ref queues, drop_batch, drops_raise_count, ref control } => {
                let make = |limit| FqCodel::new(limit, queues, drop_batch, drops_raise_count, control, frame, rng);
                Self::FqCodel(boxed(limited(limit_packets, make)?))
            }
            QdiscSpec::Pie { limit_packets, ref control } => {
                Self::Pie(boxed(limited(limit_packets, |limit| Pie::new(limit, control, frame))?))
            }
            QdiscSpec::Pie2013 { limit_packets, ref control } => {
                Self::Pie2013(boxed(limited(limit_packets, |limit| Pie2013::new(limit, control))?))
            }
            QdiscSpec::FqPie { limit_packets, ref queues, ecn_prob, ref control } => {
                let make = |limit| FqPie::new(limit, queues, ecn_prob, control, frame, rng);
                Self::FqPie(boxed(limited(limit_packets, make)?))
            }
            QdiscSpec::Red { limit_bytes, ref control } => Self::Red(Box::new(Red::new(limit_bytes, control)?)),
            QdiscSpec::Sfq(ref spec) => Self::Sfq(boxed(Sfq::new(spec, rng)?)),
            QdiscSpec::Fq(ref spec) => Self::Fq(boxed(Fq::new(spec, rng)?)),
            QdiscSpec::Dummynet { rate_bps, limit_bytes, tick_ns } => {
                Self::Dummynet(Box::new(Dummynet::new(rate_bps, limit_bytes, tick_ns)?))
            }
            QdiscSpec::Netem { delay_ns, limit_packets, tick_ns } => {
                Self::Netem(boxed(limited(limit_packets, |limit| Netem::new(delay_ns, limit, tick_ns))?))
            }
        })
    }
}

fn boxed<Q: PeekByDequeue>(qdisc: Q) -> Box<PeekBuffer<Q>> {
    Box::new(PeekBuffer::new(qdisc))
}

/// Make a discipline that has a limit in packets.
fn limited<Q>(limit_packets: u64, make: impl FnOnce(usize) -> Result<Q, Flaws>) -> Result<Q, Flaws> {
    let mut flaws = Flaws::default();
    flaws.at_least("limit_packets", limit_packets, "packets", 1);
    flaws.and(make(usize::try_from(limit_packets).unwrap_or(usize::MAX)))
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

    /// Return the totals of each tin of a cake; empty for a cake with a single tin and no keywords that few use.
    #[must_use]
    pub fn tins(&self) -> Vec<TinTotals> {
        match self {
            Self::CakeTins(q) => q.totals(),
            _ => Vec::new(),
        }
    }
}

macro_rules! dispatch {
    ($($variant:ident),*) => {
        impl Qdisc for AnyQdisc {
            #[inline]
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
        }
    };
}

dispatch!(Fifo, Cake, CakeTins, Codel, FqCodel, Pie, Pie2013, FqPie, Red, Sfq, Fq, Dummynet, Netem);

#[cfg(test)]
mod tests {
    use super::AnyQdisc;
    use crate::packet::FULL_FRAME;
    use crate::rng::Rng;
    use crate::spec::QdiscSpec;

    #[test]
    fn a_fifo_needs_room() {
        let mut rng = Rng::for_component(1, "port/q");
        let mut build = |spec| AnyQdisc::build(&spec, FULL_FRAME, &mut rng);
        assert!(matches!(build(QdiscSpec::Pfifo { limit_packets: 1 }), Ok(AnyQdisc::Fifo(_))));
        assert!(matches!(build(QdiscSpec::Bfifo { limit_bytes: 1514 }), Ok(AnyQdisc::Fifo(_))));
        assert_eq!(build(QdiscSpec::Pfifo { limit_packets: 0 }).unwrap_err().fields(), ["limit_packets"]);
        assert_eq!(build(QdiscSpec::Bfifo { limit_bytes: 0 }).unwrap_err().fields(), ["limit_bytes"]);
    }
}
