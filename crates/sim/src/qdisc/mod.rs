//! Queue disciplines: one file each, one small trait, chosen once per run.

mod any;
pub mod cake;
mod codel;
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
mod peek_buffer;
mod pie;
mod pie_2013;
#[cfg(test)]
mod properties;
mod red;
mod sfq;
mod truesize;

pub use any::AnyQdisc;
pub use cake::Cake;
pub use codel::Codel;
pub use fifo::{Fifo, Limit};
pub use fq::Fq;
pub use fq_codel::FqCodel;
pub use fq_pie::FqPie;
pub use peek_buffer::PeekBuffer;
pub use pie::Pie;
pub use pie_2013::Pie2013;
pub use red::Red;
pub use sfq::Sfq;

use crate::packet::{DropCause, FlowTuple, Packet, Verdict};
use crate::pool::{Id, Pool, Queue};
use crate::rng::Rng;
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

/// What a queue may touch besides itself.
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
    /// What it returns.
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
    /// Takes the next packet if `ready`, which is told its length, says that it goes now; if not, it stays as after a peek.
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
    /// The line asks for a packet at this time and there is none.
    fn found_empty(&mut self, _at: Time) {}
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
