//! TCP as FreeBSD 9 does it: a state machine of its own that counts bytes where BSD counts bytes. Reference: FreeBSD 9.3
//! sys/netinet/tcp_{input,output,sack,timer,reass,syncache}.c and cc/cc_{newreno,cubic,cdg}.c; see `docs/stacks.md`. Every data segment is full
//! but the last of a transfer, so sequence numbers still count segments.

mod calls;
mod cdg;
pub(super) mod clock;
mod cubic;
mod ecn;
mod ertt;
mod input;
pub(super) mod modules;
mod newreno;
mod output;
pub mod receiver;
mod rtt;
mod sack;
pub mod sender;
mod sockbuf;
pub mod stack;
#[cfg(test)]
mod tests;
mod timer;
mod transport;
