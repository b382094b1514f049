//! Both ends open at once: their SYNs cross (RFC 9293 section 3.5; Linux 6.12 net/ipv4/tcp_input.c `tcp_rcv_synsent_state_process`,
//! `tcp_rcv_state_process`, `tcp_validate_incoming`). Each answers the other's SYN by a SYN-ACK, and whatever acknowledges that establishes the
//! connection: the other SYN-ACK, an ACK, or data.
//!
//! Leaves out: close() while the SYN-ACK is not acknowledged.

use super::TwoWayEnd;
use crate::attachment::Blocks;
use crate::outbox::Outbox;
use crate::packet::HEADERS;
use crate::segment::{flags, Segment};

impl TwoWayEnd {
    /// The end has answered a SYN that crossed its own, and waits for what acknowledges that.
    #[must_use]
    pub fn has_crossed(&self) -> bool {
        self.sender.is_crossed()
    }

    /// A SYN comes that crosses this end's, or one that comes after that: a SYN-ACK if it acknowledges something (`ack`). What is left of that is the
    /// SYN alone, which has come before, so that the ACK reports it as a duplicate.
    #[cold]
    #[inline(never)]
    pub(super) fn on_crossing_syn(&mut self, p: &Segment, ack: u32, out: &mut impl Outbox) -> Option<Segment> {
        if !self.sender.is_crossed() {
            self.receiver.cross(p);
            let (sender, mut out) = self.sending(out, Blocks::default());
            sender.cross(p, &mut out);
            None
        } else if ack == 0 || self.receiver.is_late(p) {
            let (receiver, mut out) = self.acknowledging(out);
            receiver.answer_bare(&mut out);
            None
        } else {
            Some(Segment { len: HEADERS as u16 + 1, flags: p.flags & !(flags::SYN | flags::ECE | flags::CWR), ..*p })
        }
    }

    /// The packet `p` with number `seq` answers the SYN-ACK of an end whose SYN was crossed; false if the end goes on waiting.
    #[cold]
    #[inline(never)]
    pub(super) fn end_crossing(
        &mut self,
        ack: &Segment,
        p: &Segment,
        seq: u32,
        is_syn_ack: bool,
        out: &mut impl Outbox,
    ) -> bool {
        if !self.sender.is_crossed() {
            return false;
        }
        let end = seq + u32::from(p.len) - HEADERS + u32::from(p.has(flags::FIN));
        if self.receiver.is_late(p) || self.receiver.is_stale(end) || self.receiver.is_beyond(seq) {
            self.answer_dropped(seq, end, out);
            return false;
        }
        self.receiver.end_crossing(out.now());
        let (sender, mut out) = self.sending(out, Blocks::default());
        sender.end_crossing(ack, is_syn_ack, &mut out);
        true
    }
}
