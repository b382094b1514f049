//! Accurate ECN (RFC 9768; Linux 7.3 include/net/tcp_ecn.h, net/ipv4/tcp_output.c `tcp_options_fit_accecn`): what both halves of a connection
//! share. The SYNs agree on it by AE, CWR and ECE; afterwards these three bits count the packets with CE that arrived (the ACE field), and an option
//! counts the bytes of payload that arrived with each codepoint.
//!
//! Leaves out: middleboxes that remove the option (once agreed, every packet has it), options on demand (tcp_ecn_option 1), connections whose
//! ends both send.

use crate::attachment::EcnBytes;
use crate::packet::Ecn;
use crate::segment::{ace, ace_flags, flags, Segment};
use crate::spec::AccEcnOption;

/// The ACE field begins with this count (TCP_ACCECN_CEP_INIT_OFFSET), so that a field of zeros is none.
pub(super) const FIRST_ACE: u32 = 5;
/// Largest difference that the three bits can tell.
pub(super) const MOST_ACE: u32 = 7;
/// So many packets with CE that no ACK has told of are acknowledged at once (TCP_ACCECN_ACE_MAX_DELTA).
pub(super) const MOST_UNTOLD: u32 = 6;
/// Fields of the option.
const FIELDS: u8 = 3;
/// Bytes of all options of a header.
const OPTION_SPACE: u32 = 40;
/// Bytes that the SACK option has besides its blocks, with padding; a block; and timestamps with padding.
const SACK_BASE: u32 = 4;
const SACK_BLOCK: u32 = 8;
const TIMESTAMPS: u32 = 12;

/// The feedback that the SYNs agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feedback {
    /// None.
    Off,
    /// RFC 3168.
    Classic,
    /// RFC 9768.
    Accurate,
}

/// The flags of a SYN that offers it.
const OFFER: u16 = flags::AE | flags::CWR | flags::ECE;

/// The feedback that an end with AccECN uses after this SYN has come (`tcp_accecn_syn_requested`).
fn asked_by_syn(bits: u16) -> Feedback {
    match ace(bits) {
        0 => Feedback::Off,
        3 => Feedback::Classic,
        _ => Feedback::Accurate,
    }
}

/// The feedback that an end with AccECN uses after this SYN-ACK has come (`tcp_ecn_rcv_synack`).
fn agreed_by_syn_ack(bits: u16) -> Feedback {
    match ace(bits) {
        0 | 7 => Feedback::Off,
        1 => Feedback::Classic,
        _ => Feedback::Accurate,
    }
}

/// The flags that tell with which codepoint a SYN, or a SYN-ACK, came (`tcp_accecn_reflector_flags`).
pub(super) fn reflection(came: Ecn) -> u16 {
    ace_flags(match came {
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
        _ => 0b010,
    })
}

/// The codepoint that such flags tell of (`tcp_accecn_extract_syn_ect`).
fn reflected(bits: u16) -> Ecn {
    match ace(bits) {
        0b010 => Ecn::NotEct,
        0b110 => Ecn::Ce,
        0b000 | 0b100 => Ecn::Ect0,
        _ => Ecn::Ect1,
    }
}

/// True if a packet that was sent with one codepoint may come with another: nothing but a mark of an ECN-capable one (`tcp_ect_transition_valid`).
fn is_valid(sent: Ecn, came: Ecn) -> bool {
    came == sent || (sent != Ecn::NotEct && came != Ecn::NotEct && sent != Ecn::Ce)
}

/// The flags of a packet of an end at which so many packets with CE have arrived.
#[inline]
pub(super) fn counting(received_ce: u32) -> u16 {
    ace_flags((received_ce.wrapping_add(FIRST_ACE) & MOST_ACE) as u8)
}

/// Place of a codepoint in arrays of counters.
pub(super) fn place(ecn: Ecn) -> usize {
    usize::from(ecn.bits()) - 1
}

/// The codepoints of the option's fields, in their order (RFC 9768 section 3.2.3).
pub(super) fn order(ect0_first: bool) -> [Ecn; 3] {
    if ect0_first {
        [Ecn::Ect0, Ecn::Ce, Ecn::Ect1]
    } else {
        [Ecn::Ect1, Ecn::Ce, Ecn::Ect0]
    }
}

/// Initial value of the counter of a codepoint: that of CE alone begins with 0, so that a middlebox which clears the option is found.
pub(super) fn initial(ecn: Ecn) -> u32 {
    u32::from(ecn != Ecn::Ce)
}

/// An end's part in the agreement on AccECN: what it sent in the handshake, and what the other end's SYN or SYN-ACK told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Negotiation {
    /// The codepoint of this end's SYN or SYN-ACK.
    pub handshake: Ecn,
    /// The codepoint with which the other end's came.
    pub peer: Ecn,
    /// Packets with CE that have arrived.
    pub received_ce: u32,
}

impl Negotiation {
    /// Before the handshake.
    pub fn new(handshake: Ecn) -> Self {
        Self { handshake, peer: Ecn::NotEct, received_ce: 0 }
    }

    /// The flags of a SYN after so many retransmissions: it offers AccECN, also at the first of them (`tcp_retransmit_skb`).
    pub fn offer(retransmits: u32, falls_back: bool) -> u16 {
        if retransmits > 1 && falls_back {
            0
        } else {
            OFFER
        }
    }

    /// Takes in the other end's SYN or SYN-ACK, and returns the feedback that both ends use.
    pub fn hear(&mut self, p: &Segment, is_syn: bool) -> Feedback {
        let feedback = if is_syn { asked_by_syn(p.flags) } else { agreed_by_syn_ack(p.flags) };
        if feedback == Feedback::Accurate {
            self.peer = p.ecn();
            if !is_syn && p.ecn() == Ecn::Ce && is_valid(self.handshake, reflected(p.flags)) {
                self.received_ce += 1;
            }
        }
        feedback
    }

    /// The codepoint with which this end's SYN-ACK came, if the flags of the packet that ends the handshake tell a possible one
    /// (`tcp_accecn_third_ack`).
    pub fn arrived_as(&self, bits: u16) -> Option<Ecn> {
        match ace(bits) {
            0 => None,
            1 | 5 | 7 => Some(self.handshake),
            _ => Some(reflected(bits)).filter(|came| is_valid(self.handshake, *came)),
        }
    }

    /// The flags of a packet that counts.
    #[inline]
    pub fn counting(&self) -> u16 {
        counting(self.received_ce)
    }
}

/// The option of an end: which order its fields have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub ect0_first: bool,
    pub timestamps: bool,
}

impl Sending {
    /// None if the ends have agreed on the ACE field alone.
    pub fn of(option: AccEcnOption, timestamps: bool) -> Option<Self> {
        match option {
            AccEcnOption::Off => None,
            AccEcnOption::Ee1b => Some(Self { ect0_first: false, timestamps }),
            AccEcnOption::Ee0b => Some(Self { ect0_first: true, timestamps }),
        }
    }

    /// Return the number of option fields that fit next to `blocks` SACK blocks, and the number of blocks dropped for them; `None` if fewer
    /// than `least` fields fit, so that the option is left out (`tcp_options_fit_accecn`).
    pub fn fit(self, blocks: u32, least: u8) -> Option<(u8, u32)> {
        let sack = |blocks: u32| if blocks == 0 { 0 } else { SACK_BASE + SACK_BLOCK * blocks };
        let taken = if self.timestamps { TIMESTAMPS } else { 0 };
        let (mut fields, mut given_up) = (FIELDS, 0);
        loop {
            let room = OPTION_SPACE - taken - sack(blocks - given_up);
            if option_bytes(fields, blocks - given_up > 0) <= room {
                return Some((fields, given_up));
            }
            if fields == least && blocks - given_up > 2 && least > 0 {
                given_up += 1;
                fields = FIELDS;
            } else if fields == least {
                return None;
            } else {
                fields -= 1;
            }
        }
    }

    /// The option with so many fields, of these counters.
    pub fn option(self, fields: u8, bytes: &[u32; 3]) -> EcnBytes {
        let count = |ecn| bytes[place(ecn)].wrapping_add(initial(ecn)) & 0x00ff_ffff;
        EcnBytes { ect0_first: self.ect0_first, count: fields, fields: order(self.ect0_first).map(count) }
    }

    /// The number of fields that it takes to tell of the counter of this codepoint.
    pub fn least_for(self, ecn: Ecn) -> u8 {
        order(self.ect0_first).iter().position(|each| *each == ecn).map_or(0, |at| at as u8 + 1)
    }
}

/// Bytes that the option adds to a header: a multiple of 4, where beside SACK blocks it may use the two bytes of their padding.
fn option_bytes(fields: u8, beside_sack: bool) -> u32 {
    EcnBytes { ect0_first: false, count: fields, fields: [0; 3] }.option_bytes(beside_sack)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_syn_ack_tells_how_the_syn_came_and_every_answer_has_its_feedback() {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            assert_eq!(reflected(reflection(ecn)), ecn);
            assert_eq!(agreed_by_syn_ack(reflection(ecn)), Feedback::Accurate);
        }
        let after_syn = |bits| asked_by_syn(ace_flags(bits));
        let after_syn_ack = |bits| agreed_by_syn_ack(ace_flags(bits));
        assert_eq!([0, 3, 7].map(after_syn), [Feedback::Off, Feedback::Classic, Feedback::Accurate]);
        assert_eq!(
            [0, 1, 5, 7].map(after_syn_ack),
            [Feedback::Off, Feedback::Classic, Feedback::Accurate, Feedback::Off]
        );
    }

    #[test]
    fn a_codepoint_may_only_become_a_mark() {
        assert!(is_valid(Ecn::Ect1, Ecn::Ce) && is_valid(Ecn::Ect0, Ecn::Ect0) && is_valid(Ecn::Ect0, Ecn::Ect1));
        assert!(!is_valid(Ecn::Ect1, Ecn::NotEct) && !is_valid(Ecn::NotEct, Ecn::Ce) && !is_valid(Ecn::Ce, Ecn::Ect1));
    }

    #[test]
    fn the_field_begins_with_five_and_wraps() {
        assert_eq!([0, 1, 2, 3, 11].map(|ce| ace(counting(ce))), [5, 6, 7, 0, 0]);
    }

    /// tcp_accecn_sack_space_grab.pkt and tcp_accecn_sack_space_grab_with_ts.pkt of the kernel's own tests.
    #[test]
    fn the_option_makes_room_beside_sack_blocks() {
        let (with, without) =
            (Sending { ect0_first: false, timestamps: true }, Sending { ect0_first: false, timestamps: false });
        assert_eq!(
            [0, 1, 2, 3].map(|blocks| with.fit(blocks, 0)),
            [Some((3, 0)), Some((3, 0)), Some((2, 0)), Some((0, 0))]
        );
        assert_eq!(with.fit(3, 1), Some((2, 1)), "a block is given up");
        assert_eq!(with.fit(2, 3), None, "no block is given up where two are left");
        assert_eq!([2, 3, 4].map(|blocks| without.fit(blocks, 0)), [Some((3, 0)), Some((3, 0)), Some((1, 0))]);
        assert_eq!(
            (option_bytes(3, false), option_bytes(3, true), option_bytes(2, true), option_bytes(1, true)),
            (12, 12, 8, 4)
        );
        assert_eq!((option_bytes(0, false), option_bytes(0, true), option_bytes(1, false)), (4, 0, 8));
    }

    #[test]
    fn both_orders_tell_the_same() {
        let bytes = [10, 20, 30];
        let first = Sending { ect0_first: false, timestamps: true }.option(3, &bytes);
        let second = Sending { ect0_first: true, timestamps: true }.option(3, &bytes);
        assert_eq!((first.fields, second.fields), ([11, 30, 21], [21, 30, 11]));
    }
}
