//! How a sender finds out what is lost: by the time of transmission (RACK, Linux 4.18 and later), or by counting what was SACKed above a
//! segment (FACK or RFC 6675, before). The stack's `loss_detection` decides.

pub(super) mod fack;
pub(super) mod rack;
