//! The way out of a port for packets that nothing befalls: a loop of its own for each discipline, in which a packet is moved straight
//! from its queue into the pipe, or to the end of its route. Whatever else may happen to a packet is the fabric's to do.

use super::{Outlet, Shaper};
use crate::events::EventSet;
use crate::fabric::Route;
use crate::packet::Packet;
use crate::qdisc::{Dequeued, Qdisc, Surroundings, Visitor};
use crate::time::{Time, NEVER};

/// A port, without its discipline, and what packets that leave it touch.
#[derive(Debug)]
pub struct Exit<'a> {
    /// The shaper.
    pub shaper: &'a mut Shaper,
    /// What the discipline may touch.
    pub surroundings: Surroundings<'a>,
    /// What is behind the shaper.
    pub outlet: &'a mut Outlet,
    /// Pending events.
    pub events: &'a mut EventSet,
    /// Routes by flow.
    pub routes: &'a [Route],
    /// Packets that have reached an end.
    pub arrivals: &'a mut Vec<Packet>,
}

/// Why the loop ended.
#[derive(Debug)]
pub enum Served {
    /// Nothing may leave before this time; `NEVER`: nothing waits.
    Until(Time),
    /// This packet left the shaper at its `time`, and is not in the pipe.
    Packet(Packet),
}

impl Exit<'_> {
    /// Puts a packet that left the shaper into the pipe, or at once at the end of its route. Gives it back, untouched, if it is lost
    /// or there is another port at no distance.
    #[inline(always)]
    fn put(&mut self, mut p: Packet) -> Option<Packet> {
        let now = self.surroundings.now;
        if now < self.outlet.outage_until {
            return Some(p);
        }
        let arrives = p.time + self.outlet.delay;
        if arrives > now || !self.outlet.pipe.is_empty() {
            p.time = arrives;
            if self.outlet.pipe.is_empty() {
                self.events.set(self.outlet.source, arrives);
            }
            self.outlet.pipe.push_back(p);
        } else if self.routes[p.flow as usize].port(&p, p.hop + 1).is_none() {
            p.hop += 1;
            self.arrivals.push(p);
        } else {
            return Some(p);
        }
        self.outlet.counters.count_sent(p.len);
        None
    }
}

impl Visitor for Exit<'_> {
    type Output = Served;

    #[inline(always)]
    fn visit(&mut self, qdisc: &mut impl Qdisc) -> Served {
        loop {
            match self.shaper.dequeue(qdisc, &mut self.surroundings) {
                Dequeued::Packet(p) if !self.surroundings.dropped.is_empty() => return Served::Packet(p),
                Dequeued::Packet(p) => {
                    if let Some(p) = self.put(p) {
                        return Served::Packet(p);
                    }
                }
                Dequeued::Wait(t) => return Served::Until(t),
                Dequeued::Empty => return Served::Until(NEVER),
            }
        }
    }
}
