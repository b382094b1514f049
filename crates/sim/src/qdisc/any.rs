//! The queue discipline of a port: one closed enum, so that the event loop dispatches statically.

use super::{Cake, Dequeued, Fifo, Limit, Qdisc, QdiscStats, Surroundings, Verdict};
use crate::network::QdiscSpec;
use crate::packet::Packet;
use crate::rng::Rng;

/// Any queue discipline.
#[derive(Clone, Debug)]
pub enum AnyQdisc {
    /// pfifo, bfifo.
    Fifo(Fifo),
    /// cake.
    Cake(Box<Cake>),
}

impl AnyQdisc {
    /// Builds the described discipline; `rng` is the port's stream (hash perturbation).
    ///
    /// # Errors
    /// A parameter outside what the discipline accepts, named.
    pub fn build(spec: &QdiscSpec, rng: &mut Rng) -> Result<Self, String> {
        match *spec {
            QdiscSpec::Pfifo { limit_packets: 0 } => Err("pfifo: limit_packets must be at least 1".into()),
            QdiscSpec::Bfifo { limit_bytes: 0 } => Err("bfifo: limit_bytes must be at least 1".into()),
            QdiscSpec::Pfifo { limit_packets } => {
                let limit = usize::try_from(limit_packets).map_err(|e| format!("pfifo: limit_packets: {e}"))?;
                Ok(Self::Fifo(Fifo::new(Limit::Packets(limit))))
            }
            QdiscSpec::Bfifo { limit_bytes } => Ok(Self::Fifo(Fifo::new(Limit::Bytes(limit_bytes)))),
            QdiscSpec::Cake { .. } => Ok(Self::Cake(Box::new(Cake::from_spec(spec, rng)?))),
        }
    }
}

impl AnyQdisc {
    /// Changes the rate of a discipline that shapes itself, bit/s.
    pub fn set_rate(&mut self, rate_bps: u64) {
        match self {
            Self::Fifo(_) => unreachable!("a FIFO does not shape"),
            Self::Cake(q) => q.set_rate(rate_bps),
        }
    }
}

impl Qdisc for AnyQdisc {
    #[inline]
    fn enqueue(&mut self, p: Packet, s: &mut Surroundings) -> Verdict {
        match self {
            Self::Fifo(q) => q.enqueue(p, s),
            Self::Cake(q) => q.enqueue(p, s),
        }
    }

    #[inline]
    fn dequeue(&mut self, s: &mut Surroundings) -> Dequeued {
        match self {
            Self::Fifo(q) => q.dequeue(s),
            Self::Cake(q) => q.dequeue(s),
        }
    }

    #[inline]
    fn peek(&mut self, s: &mut Surroundings) -> Option<u32> {
        match self {
            Self::Fifo(q) => q.peek(s),
            Self::Cake(q) => q.peek(s),
        }
    }

    fn for_each(&self, f: &mut dyn FnMut(&Packet)) {
        match self {
            Self::Fifo(q) => q.for_each(f),
            Self::Cake(q) => q.for_each(f),
        }
    }

    #[inline]
    fn shapes_itself(&self) -> bool {
        match self {
            Self::Fifo(q) => q.shapes_itself(),
            Self::Cake(q) => q.shapes_itself(),
        }
    }

    #[inline]
    fn packets(&self) -> usize {
        match self {
            Self::Fifo(q) => q.packets(),
            Self::Cake(q) => q.packets(),
        }
    }

    #[inline]
    fn bytes(&self) -> u64 {
        match self {
            Self::Fifo(q) => q.bytes(),
            Self::Cake(q) => q.bytes(),
        }
    }

    #[inline]
    fn stats(&self) -> &QdiscStats {
        match self {
            Self::Fifo(q) => q.stats(),
            Self::Cake(q) => q.stats(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AnyQdisc;
    use crate::network::QdiscSpec;
    use crate::rng::Rng;

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
