//! The record of what happens to flows, where the network knows of it.

use super::Network;
use crate::packet::DropCause;
use crate::pool::Id;
use crate::probe::Occasion;
use crate::segment::Segment;
use crate::tcp::endpoint::Sender;

impl Network {
    /// True if events are recorded.
    #[inline]
    #[must_use]
    pub fn records(&self) -> bool {
        self.recorder.is_some()
    }

    /// Something may have changed the sender of a flow.
    #[cold]
    #[inline(never)]
    pub fn look(&mut self, flow: usize, sender: &Sender, occasion: Occasion) {
        if let Some(recorder) = &mut self.recorder {
            recorder.look(self.shared.now, flow, sender, occasion);
        }
    }

    /// Port `i` dropped or lost a packet.
    #[cold]
    pub(super) fn record_drop(&mut self, i: usize, id: Id, cause: Option<DropCause>) {
        let Some(recorder) = &mut self.recorder else { return };
        if recorder.wants_drops() {
            let p = Segment::from(self.shared.packets[id].packet);
            recorder.note_drop(self.shared.now, p.flow(), p.seq, &self.ports[i].id, cause, p.is_reverse());
        }
    }
}
