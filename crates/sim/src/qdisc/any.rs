//! The queue discipline of a port: one closed enum, so that the event loop dispatches statically.

use super::peek_buffer::{PeekBuffer, PeekByDequeue};
use super::{
    Cake, Codel, Dequeued, Fifo, Fq, FqCodel, FqPie, Limit, Pie, Pie2013, Qdisc, QdiscStats, QdiscVisitor,
    QueueContext, Red, Sfq, Verdict,
};
use crate::packet::Packet;
use crate::pool::{Id, Pool, Queue};
use crate::rng::Rng;
use crate::spec::QdiscSpec;
use crate::time::Time;

/// Any queue discipline.
#[derive(Clone, Debug)]
pub enum AnyQdisc {
    /// pfifo, bfifo.
    Fifo(Fifo),
    /// cake.
    Cake(Box<Cake>),
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
}

impl AnyQdisc {
    /// Builds the described discipline; `rng` is the port's stream (hash perturbation).
    ///
    /// # Errors
    /// A parameter outside what the discipline accepts, named.
    pub fn build(spec: &QdiscSpec, rng: &mut Rng) -> Result<Self, String> {
        Ok(match *spec {
            QdiscSpec::Pfifo { limit_packets } => {
                Self::Fifo(Fifo::new(Limit::Packets(at_least_1("pfifo", limit_packets)?)))
            }
            QdiscSpec::Bfifo { limit_bytes: 0 } => return Err("bfifo: limit_bytes must be at least 1".into()),
            QdiscSpec::Bfifo { limit_bytes } => Self::Fifo(Fifo::new(Limit::Bytes(limit_bytes))),
            QdiscSpec::Cake { .. } => Self::Cake(Box::new(Cake::from_spec(spec, rng)?)),
            QdiscSpec::Codel { limit_packets, ref control } => {
                Self::Codel(boxed(Codel::new(at_least_1("codel", limit_packets)?, control)?))
            }
            QdiscSpec::FqCodel { limit_packets, ref queues, drop_batch, drops_raise_count, ref control } => {
                let limit = at_least_1("fq_codel", limit_packets)?;
                Self::FqCodel(boxed(FqCodel::new(limit, queues, drop_batch, drops_raise_count, control, rng)?))
            }
            QdiscSpec::Pie { limit_packets, ref control } => {
                Self::Pie(boxed(Pie::new(at_least_1("pie", limit_packets)?, control)?))
            }
            QdiscSpec::Pie2013 { limit_packets, ref control } => {
                Self::Pie2013(boxed(Pie2013::new(at_least_1("pie", limit_packets)?, control)?))
            }
            QdiscSpec::FqPie { limit_packets, ref queues, ecn_prob, ref control } => {
                let limit = at_least_1("fq_pie", limit_packets)?;
                Self::FqPie(boxed(FqPie::new(limit, queues, ecn_prob, control, rng)?))
            }
            QdiscSpec::Red { limit_bytes, ref control } => Self::Red(Box::new(Red::new(limit_bytes, control)?)),
            QdiscSpec::Sfq(ref spec) => Self::Sfq(boxed(Sfq::new(spec, rng)?)),
            QdiscSpec::Fq(ref spec) => Self::Fq(boxed(Fq::new(spec, rng)?)),
        })
    }
}

fn boxed<Q: PeekByDequeue>(qdisc: Q) -> Box<PeekBuffer<Q>> {
    Box::new(PeekBuffer::new(qdisc))
}

fn at_least_1(kind: &str, limit_packets: u64) -> Result<usize, String> {
    match usize::try_from(limit_packets) {
        Ok(0) => Err(format!("{kind}: limit_packets must be at least 1")),
        Ok(limit) => Ok(limit),
        Err(e) => Err(format!("{kind}: limit_packets: {e}")),
    }
}

impl AnyQdisc {
    /// Changes the rate of a discipline that shapes itself, bit/s.
    pub fn set_rate(&mut self, rate_bps: u64) {
        match self {
            Self::Cake(q) => q.set_rate(rate_bps),
            _ => unreachable!("only cake shapes itself"),
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

dispatch!(Fifo, Cake, Codel, FqCodel, Pie, Pie2013, FqPie, Red, Sfq, Fq);

#[cfg(test)]
mod tests {
    use super::AnyQdisc;
    use crate::rng::Rng;
    use crate::spec::QdiscSpec;

    #[test]
    fn a_fifo_needs_room() {
        let mut rng = Rng::for_component(1, "port/q");
        let mut build = |spec| AnyQdisc::build(&spec, &mut rng);
        assert!(matches!(build(QdiscSpec::Pfifo { limit_packets: 1 }), Ok(AnyQdisc::Fifo(_))));
        assert!(matches!(build(QdiscSpec::Bfifo { limit_bytes: 1514 }), Ok(AnyQdisc::Fifo(_))));
        assert!(build(QdiscSpec::Pfifo { limit_packets: 0 }).unwrap_err().contains("limit_packets"));
        assert!(build(QdiscSpec::Bfifo { limit_bytes: 0 }).unwrap_err().contains("limit_bytes"));
    }
}
