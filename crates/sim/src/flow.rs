//! A flow: a TCP connection with its two ends.

use std::mem::offset_of;

use crate::outbox::Outbox;
use crate::packet::Direction;
use crate::prefetch::prefetch_around;
use crate::tcp::endpoint::{Receiver, Sender};
use crate::tcp::transport::{ReceivingEnd, SendingEnd};
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
    /// The receiver calls connect().
    pub is_download: bool,
}

impl Flow {
    /// Whoever opens it calls connect().
    pub fn connect(&mut self, out: &mut impl Outbox) {
        if self.is_download {
            self.receiver.connect(out);
        } else {
            self.sender.connect(out);
        }
    }

    /// The receiver calls connect(), and its sender has not heard of that to the end.
    #[must_use]
    pub fn is_being_opened(&self) -> bool {
        self.is_download && !self.sender.has_connected()
    }

    /// Loads ahead the end that a packet of this direction soon arrives at. Nothing of it is looked at, not even whose implementation it is:
    /// that would wait for memory.
    pub fn prefetch(&self, direction: Direction) {
        let at = offset_of!(Self, start);
        match direction {
            Direction::Reverse => prefetch_around(&self.start, at, offset_of!(Self, sender), size_of::<Sender>()),
            Direction::Forward => prefetch_around(&self.start, at, offset_of!(Self, receiver), size_of::<Receiver>()),
        }
    }

    /// Load ahead the memory that the end points to. Called a little after [`Self::prefetch`].
    pub fn prefetch_behind(&self, direction: Direction) {
        match direction {
            Direction::Reverse => self.sender.prefetch_behind(),
            Direction::Forward => self.receiver.prefetch_behind(),
        }
    }
}
