//! The timers of senders that fire in the same tick. A kernel fires them one after the other, in an order that has nothing to do with the
//! number of a flow; behind a queue of a few packets, the first one gets the room.

use super::slots::Slots;
use super::{series, World};
use crate::flow::Flow;
use crate::probe::Occasion;
use crate::tcp::endpoint::Turn;
use crate::time::NEVER;
use crate::traffic::bulk::{SENDER_TIMER, SOURCES};

impl World<'_> {
    /// The first source of all, if it has the time `now` and is a sender's timer.
    fn next_sender_timer(&self, now: u64) -> Option<usize> {
        let (time, source) = self.network.events.first()?;
        let from_start = self.first_flow_source..self.first_flow_source + SOURCES * self.flows.len();
        let (source, first) = if from_start.contains(&source) {
            (source, from_start.start)
        } else if self.slots.has_source(source) {
            (self.network.events.first_in_slots(), self.slots.first_source())
        } else {
            return None;
        };
        (time == now && (source - first) % SOURCES == SENDER_TIMER).then_some(source)
    }

    /// The event of a sender's timer is first, whose `turn` has come: fire it, and those of other senders that fire now, each in its turn.
    #[cold]
    #[inline(never)]
    pub(super) fn fire_senders(&mut self, turn: Turn) {
        let now = self.network.now();
        let first = self.next_sender_timer(now).expect("its event is first");
        self.network.events.set(first, NEVER);
        let mut due = vec![(turn, first)];
        while let Some(timer) = self.next_sender_timer(now) {
            let sender = &mut flow_of(&mut self.flows, &mut self.slots, self.first_flow_source, timer).sender;
            if let Some(turn) = sender.turn(&mut self.network) {
                due.push((turn, timer));
                self.network.events.set(timer, NEVER);
            }
        }
        // The older connection of two equal turns is first, whatever slots they have, because events come in that order.
        due.sort_by_key(|&(turn, _)| turn);
        for (&(_, timer), place) in due.iter().zip(0..) {
            let flow = flow_of(&mut self.flows, &mut self.slots, self.first_flow_source, timer);
            flow.sender.fire(place, &mut self.network);
            if self.network.watch.is_some() {
                let which = (timer - self.first_flow_source) / SOURCES;
                if let Some(flow) = self.flows.get(which) {
                    series::look(&mut self.network, which, &flow.sender, Occasion::Timer);
                }
            }
        }
    }
}

/// The flow that a sender's timer is of; `first` is the first event source of `flows`.
fn flow_of<'a>(flows: &'a mut [Flow], slots: &'a mut Slots, first: usize, timer: usize) -> &'a mut Flow {
    if slots.has_source(timer) {
        slots.flow_of_source(timer)
    } else {
        &mut flows[(timer - first) / SOURCES]
    }
}
