//! The timers of senders that fire in the same tick. A kernel fires them one after the other, in an order that has nothing to do with the
//! number of a flow; behind a queue of a few packets, the first one gets the room.

use super::{series, World};
use crate::probe::Occasion;
use crate::tcp::endpoint::Turn;
use crate::time::NEVER;

impl World<'_> {
    /// The event of a sender's timer is first, whose `turn` has come: fire it, and those of other senders that fire now, each in its turn.
    #[cold]
    #[inline(never)]
    pub(super) fn fire_senders(&mut self, turn: Turn) {
        let now = self.network.now();
        let next = |world: &Self| world.arena.next_sender_timer(now, &world.network.events);
        let first = next(self).expect("its event is first");
        self.network.events.set(first, NEVER);
        let mut due = vec![(turn, first)];
        while let Some(timer) = next(self) {
            let (flow, _) = self.arena.flow_of_timer(timer);
            if let Some(turn) = flow.sender.turn(&mut self.network) {
                due.push((turn, timer));
                self.network.events.set(timer, NEVER);
            }
        }
        // The older connection of two equal turns is first, whatever slots they have, because events come in that order.
        due.sort_by_key(|&(turn, _)| turn);
        for (&(_, timer), place) in due.iter().zip(0..) {
            let (flow, bulk) = self.arena.flow_of_timer(timer);
            flow.sender.fire(place, &mut self.network);
            if let Some(bulk) = bulk.filter(|_| self.network.watch.is_some()) {
                series::look(&mut self.network, bulk, &flow.sender, Occasion::Timer);
            }
        }
    }
}
