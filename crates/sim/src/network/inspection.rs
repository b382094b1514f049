//! A closer look at packets where hosts meet the network. It is taken only where something may be seen: corrupted packets, frames without
//! timestamps, or a capture.

use super::Network;
use crate::fingerprint::PacketEvent;
use crate::pool::Id;
use crate::port::media::Medium;

impl Network {
    /// Look at arriving packets for a wrong bit, if any port makes wrong bits.
    pub(super) fn expect_corruption(&mut self) {
        self.inspects |= self.ports.iter().any(|port| port.medium.may_corrupt());
    }

    /// A flow has come: look at its packets if their frames have other lengths than its ends count.
    pub(super) fn expect_headers(&mut self, flow: usize) {
        let differ = self.shared.headers.differ_on_wire(&self.shared.tuples[flow]);
        (self.refits, self.inspects) = (self.refits || differ, self.inspects || differ);
    }

    /// Gives a packet that an end sends the length that it has on the wire, and notes it.
    #[cold]
    #[inline(never)]
    pub(super) fn inspect_departure(&mut self, id: Id) {
        if self.refits {
            let p = &mut self.shared.packets[id].packet;
            *p = self.shared.headers.on_wire(*p, &self.shared.tuples[p.flow()]);
        }
        if let Some(tap) = &mut self.tap {
            let p = &mut self.shared.packets[id].packet;
            let to_own_queue = self.routes.has_egress(p.flow(), p.direction());
            tap.departs(self.shared.now, p, &self.shared.attachments, to_own_queue);
        }
    }

    /// The next packet that has reached an end with all its bits right, `id` being the first that has reached one. The checksums of the others
    /// are wrong there.
    #[cold]
    #[inline(never)]
    pub(super) fn inspect(&mut self, mut id: Id) -> Option<Id> {
        while self.shared.packets[id].packet.is_corrupt() {
            let p = &self.shared.packets[id].packet;
            self.fingerprint.note(self.shared.now, None, p, PacketEvent::Lost);
            self.forget(id);
            id = self.arrivals.pop(&self.shared.packets)?;
        }
        if let Some(tap) = &mut self.tap {
            tap.arrives(self.shared.now, &mut self.shared.packets[id].packet);
        }
        if self.refits {
            let p = &mut self.shared.packets[id].packet;
            *p = self.shared.headers.at_host(*p, &self.shared.tuples[p.flow()]);
        }
        Some(id)
    }
}
