//! The ends of a connection for tests.

use serde_json::Map;

use crate::cc;
use crate::outbox::LoneOutbox;
use crate::spec::{StackSpec, TcpSpec};
use crate::tcp::linux::receiver::{self, Receiver};
use crate::tcp::linux::sender::{self, Sender};
use crate::tcp::linux::stack::Stack;

/// A sender and a receiver on a named stack with a congestion control, and what they act through: the receiver's event sources come first.
pub(super) fn ends(spec: &TcpSpec, stack: &str, cc: &str) -> (Sender, Receiver, LoneOutbox) {
    let stack = self::stack(stack);
    let (control, needs) = cc::build(cc, &Map::new(), &stack.control_parameters(), |_, _| None).unwrap();
    let r = Receiver::new(0, 0, spec, &stack, &needs);
    let s = Sender::new(0, receiver::SOURCES, spec, stack, control, needs);
    (s, r, LoneOutbox::new(receiver::SOURCES + sender::SOURCES))
}

/// A named stack.
pub(super) fn stack(name: &str) -> Stack {
    Stack::from_spec(&StackSpec { name: name.into(), options: Map::new() }).unwrap()
}
