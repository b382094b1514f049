//! DCTCP-SCE: a round trip of SCE echoes takes half the window, scaled by `Stack::sce_scale_bytes`
//! (chromi/sce net/ipv4/tcp_dctcp_sce.c, June 2019; draft-morton-tsvwg-sce).

use super::sce::{Response, SceWindow};
use super::{AckEvent, CongestionControl, Event};
use crate::tcp::stack::Stack;
use crate::tcp::tcb::Tcb;

/// State of the sender.
#[derive(Clone, Debug)]
pub struct DctcpSce(SceWindow);

impl DctcpSce {
    /// The sender on a stack.
    #[must_use]
    pub fn new(stack: &Stack) -> Self {
        Self(SceWindow::new(stack, Response::HalfWindow))
    }
}

impl CongestionControl for DctcpSce {
    fn ssthresh(&mut self, t: &Tcb) -> u32 {
        self.0.ssthresh(t)
    }

    fn cong_avoid(&mut self, t: &mut Tcb, acked: u32) {
        self.0.slow_start(t, acked);
    }

    fn undo_cwnd(&mut self, t: &Tcb) -> u32 {
        self.0.undo_cwnd(t)
    }

    fn cwnd_event(&mut self, t: &mut Tcb, e: Event) {
        self.0.on_event(t, e);
    }

    fn in_ack_event(&mut self, t: &mut Tcb, e: AckEvent) {
        self.0.on_ack(t, e);
    }
}
