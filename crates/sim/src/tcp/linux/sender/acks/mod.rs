//! The steps of an ACK that change the scoreboard: SACK blocks tag it, and acknowledged segments leave it.

mod removal;
pub(super) mod reordering;
mod sacktag;
