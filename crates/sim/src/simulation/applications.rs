//! Lets applications act once all packets of an instant have been dealt with.

use super::World;
use crate::outbox::End;

impl World<'_> {
    /// Nothing else happens at this time: the applications read and write that waited for that.
    pub(super) fn on_applications(&mut self) {
        for (flow, end) in self.network.take_applications() {
            let Some(f) = self.arena.flow_if_there(flow) else { continue };
            match end {
                End::Sender => f.sender.on_application(&mut self.network),
                End::Receiver => f.receiver.on_application(&mut self.network),
            }
        }
    }
}
