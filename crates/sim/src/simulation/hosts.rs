//! Reports packets that have left a host's own queue to TCP.

use super::World;
use crate::network::Released;
use crate::packet::Packet;

impl World<'_> {
    /// Packets have left hosts' own queues. All of them are taken off the accounts before any sender that waited for that sends, as in
    /// Linux.
    pub(super) fn on_release(&mut self) {
        let released = self.network.take_released();
        let mut waiting: Vec<Packet> = vec![];
        for one in &released {
            let has_sender = |p: &Packet| (p.flow(), p.direction()) == (one.0.flow(), one.0.direction());
            if self.take_off(one) && !waiting.iter().any(has_sender) {
                waiting.push(one.0);
            }
        }
        // The tasklet's list is a stack.
        for p in waiting.iter().rev() {
            self.send_more(p);
        }
    }

    /// Tells the sender of a packet that it has left the host; true if it waited for that.
    fn take_off(&mut self, (p, attachment): &Released) -> bool {
        if let Some(other) = self.arena.other(p.flow()) {
            return other.on_left_host(p, attachment);
        }
        self.arena.flow_if_there(p.flow()).is_some_and(|flow| flow.sender.on_left_host(&(*p).into()))
    }

    /// The sender of this packet waited for room in its host's queue, and there is some.
    fn send_more(&mut self, p: &Packet) {
        if let Some(other) = self.arena.other(p.flow()) {
            other.on_room_in_host(p, &mut self.network);
        } else if let Some(flow) = self.arena.flow_if_there(p.flow()) {
            flow.sender.on_room_in_host(&mut self.network);
        }
    }
}
