//! TCP as Linux does it, in segments. Reference: Linux 6.12 net/ipv4/tcp_{input,output,recovery,timer}.c; what older kernels did
//! differently is an option of the [`stack::Stack`].
//!
//! - `sender`: handshake, closing, ACK processing (`ack`, `sacktag`, `fast_path`), recovery and its undoing, timeouts, sending (`transmit`)
//!   (`loss` there: how a sender finds out what is lost, by time in `rack`, or in kernels before 4.18 by counting in `fack`)
//! - `receiver`: reassembly, the receive buffer, delayed, quick and compressed ACKs, ECN echo, closing
//! - `two_way`: an end that both sends and receives, made of these two halves (`stream` in both)
//! - `request`: a connection that the other end opens, until that answers the SYN-ACK
//! - `stack`, `options`: a named kernel as data
//! - `validate`: what an end drops before anything else looks at it
//! - `clock`: jiffies, and how the timer wheel rounds

mod accecn;
pub mod clock;
#[cfg(test)]
mod close_tests;
#[cfg(test)]
mod ecn_tests;
#[cfg(test)]
mod fast_path_tests;
pub mod options;
pub mod receiver;
mod request;
pub mod sender;
pub mod stack;
#[cfg(test)]
mod test_ends;
mod transport;
pub mod two_way;
#[cfg(test)]
mod two_way_tests;
mod validate;
