//! Media: what packets of a port wait for, and what becomes of them there. One kind a file, behind one trait. A medium that several ports share
//! is behind a trait of its own, [`Shared`]: each of its ports is a [`Queue`] that asks it for leave to send.

mod card;
mod faulty;
mod line;
mod queue;
mod shared;
mod shared_line;
mod spread;

pub use card::Card;
pub use faulty::Faulty;
pub use line::Line;
pub use queue::Queue;
pub use shared::{Shared, SharedMedia, Station};
pub use shared_line::SharedLine;
pub use spread::Spread;

use super::FaultCounts;
use crate::catalogue::Tell;
use crate::packet::{Packet, Verdict};
use crate::pool::{Id, Pool};
use crate::qdisc::{ClassTotals, QdiscStats, QueueContext};
use crate::time::{Duration, Time, NEVER};

/// A packet that comes to a medium, and what the medium has to know of its port.
#[derive(Clone, Copy, Debug)]
pub struct Coming<'a> {
    /// The packet.
    pub id: Id,
    /// Packets in the port's pipe.
    pub in_pipe: usize,
    /// Propagation delay of the port, ns.
    pub delay: Duration,
    /// The RTT that each flow has of its own, ns.
    pub rtts: &'a [Time],
}

/// The ways in which a medium treats a packet that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The packet leaves at this time, after all that came before it, and enters the port's pipe.
    Leaves(Time),
    /// There is no room for it.
    Refused,
    /// A queue discipline has it, or has dropped it, with this verdict.
    Offered(Verdict),
    /// The medium keeps packets itself, and this becomes of the packet. A copy that the medium made of it is before it.
    Kept {
        /// The copy.
        copy: Option<(Id, Fate)>,
        /// The fate of the packet.
        original: Fate,
    },
}

/// The fate of a packet in a medium that keeps packets itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is lost.
    Lost,
    /// There is no room for it.
    Refused,
    /// It comes out at once.
    Passes,
    /// It comes out when the medium [says](Medium::next).
    Stays,
}

/// A medium. What is left out has none of it.
pub trait Medium {
    /// A packet comes.
    fn enter(&mut self, coming: Coming, s: &mut QueueContext) -> Entry;
    /// The next packet of those that the medium keeps itself comes out.
    fn pop(&mut self, _packets: &Pool) -> Option<Id> {
        None
    }
    /// Return when that happens.
    fn next(&self, _packets: &Pool) -> Time {
        NEVER
    }
    /// Calls `look` for every packet held.
    fn for_each(&self, _packets: &Pool, _look: &mut dyn FnMut(&Packet)) {}
    /// Packets and bytes that wait.
    fn backlog(&self) -> (usize, u64) {
        (0, 0)
    }
    /// The packet that leaves next, if the medium has looked at it.
    fn peeked(&self) -> Option<Id> {
        None
    }
    /// A packet comes after the next; see [`Self::expect`].
    fn expect_later(&self, _p: &Packet) {}
    /// A packet comes next: load the memory ahead that it will touch. True if nothing waits before it.
    fn expect(&self, _p: &Packet) -> bool {
        false
    }
    /// All packets of the flow with this index are gone, and the next packet belongs to another flow.
    fn forget(&mut self, _flow: usize) {}
    /// The rate changes, bit/s. True if more may leave now than the shaper has said.
    fn set_rate(&mut self, _rate_bps: u64) -> bool {
        false
    }
    /// True if it holds packets until the times that their host has set.
    fn paces(&self) -> bool {
        false
    }
    /// True if a host takes packets off the account of their connection when they come.
    fn orphans(&self) -> bool {
        false
    }
    /// True if packets may come out with a wrong bit.
    fn may_corrupt(&self) -> bool {
        false
    }
    /// Counters of the queue discipline.
    fn stats(&self) -> QdiscStats {
        QdiscStats::default()
    }
    /// The totals of each class of the queue discipline.
    fn classes(&self) -> Vec<ClassTotals> {
        vec![]
    }
    /// Tells the state of the queue discipline.
    fn state(&self, _now: Time, _tell: &mut Tell) {}
    /// The counters of faults, of a medium that has faults.
    fn faults(&self) -> Option<FaultCounts> {
        None
    }
}

/// Any medium.
#[derive(Debug)]
pub enum AnyMedium {
    /// A FIFO line.
    Line(Line),
    /// A network card.
    Card(Card),
    /// A delay that connections have of their own.
    Spread(Spread),
    /// A link with faults.
    Faulty(Box<Faulty>),
    /// A queue discipline behind a shaper.
    Queue(Queue),
}

macro_rules! dispatch {
    ($self:ident, $medium:ident => $call:expr) => {
        match $self {
            Self::Queue($medium) => $call,
            Self::Line($medium) => $call,
            Self::Card($medium) => $call,
            Self::Spread($medium) => $call,
            Self::Faulty($medium) => $call,
        }
    };
}

impl Medium for AnyMedium {
    fn enter(&mut self, coming: Coming, s: &mut QueueContext) -> Entry {
        dispatch!(self, medium => medium.enter(coming, s))
    }
    fn pop(&mut self, packets: &Pool) -> Option<Id> {
        dispatch!(self, medium => medium.pop(packets))
    }
    fn next(&self, packets: &Pool) -> Time {
        dispatch!(self, medium => medium.next(packets))
    }
    fn for_each(&self, packets: &Pool, look: &mut dyn FnMut(&Packet)) {
        dispatch!(self, medium => medium.for_each(packets, look));
    }
    fn backlog(&self) -> (usize, u64) {
        dispatch!(self, medium => medium.backlog())
    }
    #[inline]
    fn peeked(&self) -> Option<Id> {
        dispatch!(self, medium => medium.peeked())
    }
    #[inline]
    fn expect_later(&self, p: &Packet) {
        dispatch!(self, medium => medium.expect_later(p));
    }
    #[inline]
    fn expect(&self, p: &Packet) -> bool {
        dispatch!(self, medium => medium.expect(p))
    }
    fn forget(&mut self, flow: usize) {
        dispatch!(self, medium => medium.forget(flow));
    }
    fn set_rate(&mut self, rate_bps: u64) -> bool {
        dispatch!(self, medium => medium.set_rate(rate_bps))
    }
    fn paces(&self) -> bool {
        dispatch!(self, medium => medium.paces())
    }
    fn orphans(&self) -> bool {
        dispatch!(self, medium => medium.orphans())
    }
    fn may_corrupt(&self) -> bool {
        dispatch!(self, medium => medium.may_corrupt())
    }
    fn stats(&self) -> QdiscStats {
        dispatch!(self, medium => medium.stats())
    }
    fn classes(&self) -> Vec<ClassTotals> {
        dispatch!(self, medium => medium.classes())
    }
    fn state(&self, now: Time, tell: &mut Tell) {
        dispatch!(self, medium => medium.state(now, tell));
    }
    fn faults(&self) -> Option<FaultCounts> {
        dispatch!(self, medium => medium.faults())
    }
}
