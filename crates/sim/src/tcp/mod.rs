//! TCP as Linux does it, in segments: one file a concern. Reference: Linux 6.12 net/ipv4/tcp_{input,output,recovery,timer}.c.
//! FreeBSD's stands apart, in `bsd`; a stack's `implementation` says whose it is.

mod ack;
pub mod bsd;
mod buffers;
mod ecn;
pub mod endpoint;
mod fack;
pub mod implementation;
pub mod layout;
pub mod options;
mod plain;
#[cfg(test)]
mod plain_tests;
mod rack;
mod ranges;
pub mod receiver;
mod recovery;
pub mod rtt;
pub mod sack;
mod sacktag;
pub mod scoreboard;
mod send_buffer;
pub mod sender;
pub mod stack;
pub mod tcb;
mod timeout;
pub mod timer;
mod transmit;
mod undo;
