//! The door for a record of what happens: the network tells it of packets that ports drop, and knows nothing else of it.

use std::any::Any;
use std::fmt::Debug;

use super::Network;
use crate::packet::{DropCause, Packet};
use crate::pool::Id;
use crate::time::Time;

/// A record that hears of dropped packets. The simulation, which has made it, takes it for what it is by `as_any`.
pub trait Watch: Debug + Any {
    /// The port of this name dropped a packet, or its link lost it (no cause).
    fn note_drop(&mut self, now: Time, packet: Packet, port: &str, cause: Option<DropCause>);

    /// The number of events so far.
    fn count(&self) -> usize;

    /// The record itself.
    fn as_any(&mut self) -> &mut dyn Any;

    /// The record itself, at its end.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl Network {
    /// Port `i` dropped or lost a packet.
    #[cold]
    pub(super) fn record_drop(&mut self, i: usize, id: Id, cause: Option<DropCause>) {
        if let Some(watch) = &mut self.watch {
            watch.note_drop(self.shared.now, self.shared.packets[id].packet, &self.ports[i].id, cause);
        }
    }
}
