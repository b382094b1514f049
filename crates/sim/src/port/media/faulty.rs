//! A link with [faults](Faults), which keeps its packets itself because they may leave in another order than that in which they came.

use super::{Coming, Entry, Fate, Medium};
use crate::packet::Packet;
use crate::pool::{Id, Pool};
use crate::port::{FaultCounts, Faults};
use crate::qdisc::{mark_ce, QueueContext};
use crate::time::Time;

/// A link with faults.
#[derive(Debug)]
pub struct Faulty(pub Faults);

impl Faulty {
    /// Apply all faults but duplication and loss to a packet or its copy.
    fn pass(&mut self, id: Id, s: &mut QueueContext, copies: bool) -> (Option<(Id, Fate)>, Fate) {
        // The copy is of the packet as it came.
        let came = s.packets[id].packet;
        if self.0.corrupts() {
            self.0.counts.corrupted += 1;
            s.packets[id].packet.corrupt();
        }
        if self.0.is_full() {
            return (None, Fate::Refused);
        }
        let copy = copies.then(|| self.copy(came, s));
        (copy, self.delay(id, s))
    }

    /// Makes a copy of a packet.
    fn copy(&mut self, mut packet: Packet, s: &mut QueueContext) -> (Id, Fate) {
        self.0.counts.duplicated += 1;
        s.attachments.copy(&mut packet);
        let id = s.packets.put(packet);
        let fate = if self.loses(id, s) { Fate::Lost } else { self.pass(id, s, false).1 };
        (id, fate)
    }

    fn loses(&mut self, id: Id, s: &mut QueueContext) -> bool {
        let is_lost = self.draws_loss(id, s);
        self.0.counts.lost += u64::from(is_lost);
        is_lost
    }

    /// True if a packet is lost; one that may be marked is marked instead (`INET_ECN_set_ce` of `netem_enqueue`).
    fn draws_loss(&mut self, id: Id, s: &mut QueueContext) -> bool {
        self.0.loses(s.packets[id].bytes()) && !(self.0.marks && mark_ce(&mut s.packets[id].packet))
    }

    /// A packet leaves when it is due, which may be now.
    fn delay(&mut self, id: Id, s: &mut QueueContext) -> Fate {
        match self.0.due(s.now, s.packets[id].bytes()) {
            Some(due) if due > s.now || self.0.next(&s.packets) <= due => {
                self.0.push(id, due, &mut s.packets);
                Fate::Stays
            }
            _ => Fate::Passes,
        }
    }
}

impl Medium for Faulty {
    #[cold]
    #[inline(never)]
    fn enter(&mut self, coming: Coming, s: &mut QueueContext) -> Entry {
        let twice = self.0.duplicates();
        let lost = self.draws_loss(coming.id, s);
        if lost && !twice {
            self.0.counts.lost += 1;
            return Entry::Kept { copy: None, original: Fate::Lost };
        }
        // If one of the two is lost, the other is all that there is.
        let (copy, original) = self.pass(coming.id, s, twice && !lost);
        Entry::Kept { copy, original }
    }

    fn pop(&mut self, packets: &Pool) -> Option<Id> {
        self.0.pop(packets)
    }

    fn next(&self, packets: &Pool) -> Time {
        self.0.next(packets)
    }

    fn for_each(&self, packets: &Pool, look: &mut dyn FnMut(&Packet)) {
        self.0.for_each(packets, look);
    }

    fn may_corrupt(&self) -> bool {
        self.0.may_corrupt()
    }

    fn faults(&self) -> Option<FaultCounts> {
        Some(self.0.counts)
    }
}
