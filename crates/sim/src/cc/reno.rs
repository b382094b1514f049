//! Reno: slow start and additive increase, counting acknowledged segments or ACKs, as the stack does (RFC 5681; Linux 6.12 and 3.9
//! net/ipv4/tcp_cong.c).

use super::CongestionControl;
use crate::tcp::linux::sender::tcb::Tcb;

/// Reno keeps no state of its own.
#[derive(Clone, Copy, Debug)]
pub struct Reno;

/// Growth of Reno and of all that grow like it.
#[inline]
pub fn reno_cong_avoid(t: &mut Tcb, acked: u32) {
    let acked = t.beyond_slow_start(acked);
    if acked > 0 {
        t.additive_increase(t.cwnd, acked);
    }
}

impl CongestionControl for Reno {
    fn ssthresh(&mut self, t: &Tcb) -> u32 {
        (t.cwnd / 2).max(2)
    }

    #[inline]
    fn cong_avoid(&mut self, t: &mut Tcb, acked: u32) {
        reno_cong_avoid(t, acked);
    }
}
