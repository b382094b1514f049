//! A flow: a TCP connection with its two ends.

use std::mem::offset_of;

use crate::prefetch::prefetch_around;
use crate::tcp::endpoint::{Receiver, Sender};
use crate::time::Time;

/// A flow: two ends and a life.
#[derive(Debug)]
pub struct Flow {
    /// Name.
    pub name: String,
    /// Sender.
    pub sender: Sender,
    /// Receiver.
    pub receiver: Receiver,
    /// connect().
    pub start: Time,
    /// End of sending.
    pub stop: Time,
    /// Its receiving application has [turns](crate::tcp::linux::receiver::reader::TURN).
    pub takes_turns: bool,
}

impl Flow {
    /// Loads ahead the end that an ACK or another packet soon arrives at. Nothing of it is looked at, not even whose implementation it is:
    /// that would wait for memory.
    pub fn prefetch(&self, acks: bool) {
        let at = offset_of!(Self, start);
        if acks {
            prefetch_around(&self.start, at, offset_of!(Self, sender), size_of::<Sender>());
        } else {
            prefetch_around(&self.start, at, offset_of!(Self, receiver), size_of::<Receiver>());
        }
    }

    /// A little after [`Self::prefetch`]: loads ahead what the end points to.
    pub fn prefetch_behind(&self, acks: bool) {
        if acks {
            self.sender.prefetch_behind();
        } else {
            self.receiver.prefetch_behind();
        }
    }
}
