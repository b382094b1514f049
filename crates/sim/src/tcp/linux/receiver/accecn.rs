//! The receiver's half of Accurate ECN: counts what arrives with which codepoint, and tells of it (RFC 9768 section 3.2; Linux 7.3
//! include/net/tcp_ecn.h `tcp_ecn_received_counters`, net/ipv4/tcp_input.c, tcp_minisocks.c `tcp_ecn_openreq_child`). The option, if both ends
//! use it, is in every packet (tcp_ecn_option 2).

use super::Receiver;
use crate::attachment::{Attachment, Blocks};
use crate::outbox::Outbox;
use crate::packet::{Direction, Ecn, HEADERS};
use crate::segment::{ace, flags, Segment};
use crate::spec::TcpSpec;
use crate::tcp::linux::accecn::{place, reflection, Feedback, Negotiation, Sending, MOST_UNTOLD};

/// Counters of arrived packets and bytes by ECN codepoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    /// The codepoint of this end's packets once both have agreed.
    codepoint: Ecn,
    negotiation: Negotiation,
    /// CE packets that no ACK has reported yet.
    untold: u32,
    /// Bytes of payload by codepoint.
    bytes: [u32; 3],
    /// Fields of the option without which it would not tell of what has changed.
    least_fields: u8,
    /// The codepoint of the last packet.
    previous: Ecn,
    /// The next ACK reflects the SYN-ACK in place of the count.
    reflects: bool,
    sending: Option<Sending>,
}

impl Counts {
    /// Before the handshake. `handshake`: the codepoint of this end's SYN or SYN-ACK.
    pub fn of(spec: &TcpSpec, handshake: Ecn) -> Option<Box<Self>> {
        let option = spec.accecn?;
        Some(Box::new(Self {
            codepoint: spec.codepoint(),
            negotiation: Negotiation::new(handshake),
            untold: 0,
            bytes: [0; 3],
            least_fields: 0,
            previous: Ecn::NotEct,
            reflects: false,
            sending: Sending::of(option, spec.timestamps),
        }))
    }

    /// A packet with so many bytes of payload has arrived; true if that has to be acknowledged at once, because the codepoint is another one.
    fn count(&mut self, ecn: Ecn, payload: u32) -> bool {
        if ecn == Ecn::Ce {
            self.negotiation.received_ce += 1;
            self.untold = (self.untold + 1).min(15);
        }
        if ecn != Ecn::NotEct && payload > 0 {
            let at = place(ecn);
            self.bytes[at] = self.bytes[at].wrapping_add(payload);
            self.least_fields = self.least_fields.max(self.sending.map_or(0, |sending| sending.least_for(ecn)));
        }
        std::mem::replace(&mut self.previous, ecn) != ecn
    }

    /// Return the flags of the next ACK, and its attachment: the SACK blocks that fit and the AccECN option.
    fn tell(&mut self, blocks: Option<Blocks>) -> (u16, Option<Attachment>) {
        let flags = if std::mem::take(&mut self.reflects) {
            reflection(self.negotiation.peer)
        } else {
            self.untold = 0;
            self.negotiation.counting()
        };
        let mut blocks = blocks.unwrap_or_default();
        let fitting = self.sending.and_then(|s| s.fit(u32::from(blocks.count), self.least_fields).map(|fit| (s, fit)));
        let Some((sending, (fields, given_up))) = fitting else {
            return (flags, (blocks.count > 0).then(|| blocks.into()));
        };
        blocks.count -= given_up as u8;
        self.least_fields = 0;
        (flags, Some(Attachment::Accurate { blocks, bytes: sending.option(fields, &self.bytes) }))
    }
}

impl Receiver {
    /// Flags of this end's SYN: it offers AccECN, also when it is retransmitted for the first time (`tcp_retransmit_skb`).
    pub(super) fn accurate_offer(&self, retransmits: u32, falls_back: bool) -> Option<u16> {
        self.accecn.as_ref()?;
        Some(Negotiation::offer(retransmits, falls_back))
    }

    /// Flags of the SYN-ACK, which tell with which codepoint the SYN came, unless nothing came after a SYN-ACK that told of it
    /// (`tcp_ecn_make_synack`).
    pub(super) fn accurate_consent(&self, timeouts: u32) -> Option<u16> {
        let counts = self.accecn.as_ref()?;
        Some(if timeouts > 0 { 0 } else { reflection(counts.negotiation.peer) })
    }

    /// Gives the SYN-ACK its codepoint, which is not that of later packets.
    pub(super) fn mark_handshake(&self, p: &mut Segment) {
        if let Some(counts) = &self.accecn {
            p.set_ecn(counts.negotiation.handshake);
        }
    }

    /// Bytes that the option takes of the SYN-ACK.
    pub(super) fn accurate_syn_ack_bytes(&self, is_resent: bool) -> u32 {
        let has = self.accecn.as_ref().is_some_and(|counts| counts.sending.is_some());
        if has && !is_resent {
            crate::attachment::FULL_ECN_OPTION
        } else {
            0
        }
    }

    /// The other end's SYN or SYN-ACK has come, to an end that offers AccECN.
    #[cold]
    pub(super) fn hear_of_accecn(&mut self, p: &Segment, is_syn: bool) {
        let Some(counts) = &mut self.accecn else { return };
        let before = counts.negotiation.received_ce;
        match counts.negotiation.hear(p, is_syn) {
            Feedback::Accurate => {
                (counts.previous, counts.reflects) = (p.ecn(), !is_syn);
                counts.untold += counts.negotiation.received_ce - before;
                self.form.flags = Direction::Reverse.flags() | counts.codepoint.flags();
            }
            Feedback::Classic if !self.accurate_only => {
                self.accecn = None;
                self.echo.be_classic();
            }
            Feedback::Classic | Feedback::Off => {
                self.accecn = None;
                self.echo.turn_off();
                self.form.flags = Direction::Reverse.flags() | Ecn::NotEct.flags();
            }
        }
    }

    /// The packet that ends the handshake reflects this end's SYN-ACK. Without a reflection, or with one that cannot be, this end's packets are not
    /// ECN-capable any more (`tcp_accecn_third_ack`).
    #[cold]
    pub(super) fn hear_third_ack(&mut self, p: &Segment) {
        let Some(counts) = &self.accecn else { return };
        let fails = ace(p.flags) == 0 || (p.has(flags::HANDSHAKE) && counts.negotiation.arrived_as(p.flags).is_none());
        if fails {
            self.form.flags = Direction::Reverse.flags() | Ecn::NotEct.flags();
        }
    }

    /// Counts a packet that was taken in.
    #[inline]
    pub(super) fn count_codepoint(&mut self, p: &Segment, payload: u32) {
        if self.accecn.is_some() {
            self.count_codepoint_accurately(p, payload);
        }
    }

    #[inline(never)]
    fn count_codepoint_accurately(&mut self, p: &Segment, payload: u32) {
        // Data that bring news of the clock are looked at as an ACK is (`tcp_accecn_process`).
        let progresses = p.tsval > self.form.tsecr && self.buffer.is_acked(p.seq);
        let Some(counts) = &mut self.accecn else { return };
        self.ack_now |= counts.count(p.ecn(), payload) || (progresses && counts.untold >= MOST_UNTOLD);
    }

    /// Adds to the ACK `p` what it says of codepoints, with the SACK blocks.
    #[inline(never)]
    pub(super) fn tell_accurately(&mut self, p: &mut Segment, blocks: Option<Blocks>, out: &mut impl Outbox) {
        let Some(counts) = &mut self.accecn else { return };
        let (flags, attachment) = counts.tell(blocks);
        p.flags |= flags;
        if let Some(attachment) = attachment {
            p.len += attachment.option_bytes() as u16;
            p.attachment = out.attach(attachment);
        }
    }

    /// Payload of a packet, bytes.
    pub(super) fn payload_of(p: &Segment) -> u32 {
        u32::from(p.len).saturating_sub(HEADERS)
    }
}
