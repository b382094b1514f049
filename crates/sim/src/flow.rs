//! A flow: a TCP connection with its two ends.

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
}
