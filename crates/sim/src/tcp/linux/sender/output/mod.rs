//! Sending: what goes out, when, and in which pieces (net/ipv4/tcp_output.c and what tcp_sendmsg of net/ipv4/tcp.c does).

pub(super) mod pacing;
pub(super) mod partial;
pub(super) mod refit;
pub(super) mod rtx_skbs;
pub(super) mod send_buffer;
pub(super) mod sendmsg;
pub(super) mod skbs;
pub(in crate::tcp::linux) mod small_queue;
pub(in crate::tcp::linux) mod transmit;
pub(in crate::tcp::linux) mod tso;
