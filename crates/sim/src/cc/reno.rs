//! Reno: slow start and additive increase, counting acknowledged segments or ACKs, as the stack does (RFC 5681; Linux 6.12 and 3.9
//! net/ipv4/tcp_cong.c).

use super::{AnyCc, CongestionControl, Control, Needs, Version, View, Window};

pub(super) const CONTROL: Control = Control {
    name: "reno",
    summary: "NewReno growth as Linux counts it (RFC 5681, RFC 3465)",
    needs: Needs::NOTHING,
    since: Version(2, 6),
    parameters: &[],
    build: |_| AnyCc::Reno(Reno),
};

/// Reno keeps no state of its own.
#[derive(Clone, Copy, Debug)]
pub struct Reno;

/// Growth of Reno and of all that grow like it.
#[inline]
pub(super) fn reno_cong_avoid(v: &View, w: &mut Window, acked: u32) {
    let acked = w.beyond_slow_start(v, acked);
    if acked > 0 {
        w.additive_increase(v, w.cwnd, acked);
    }
}

impl CongestionControl for Reno {
    fn ssthresh(&mut self, _: &View, w: &Window) -> u32 {
        (w.cwnd / 2).max(2)
    }

    fn least_cwnd(&self, _: &View, w: &Window) -> u32 {
        w.ssthresh / 2
    }

    #[inline]
    fn cong_avoid(&mut self, v: &View, w: &mut Window, acked: u32) {
        reno_cong_avoid(v, w, acked);
    }
}
