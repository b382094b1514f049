//! Actions of the sender on ECN itself (RFC 3168 section 6.1): agreement of both ends, CWR on the first new segment after a reduction.

pub(super) mod accecn;

use super::Sender;
use crate::packet::Ecn;
use crate::segment::{flags, Segment};

/// Use of ECN, and CWR that waits to be sent. Told when the window was reduced; asked when new data are sent.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::linux) struct EcnState {
    /// The codepoint of data; Not-ECT without ECN.
    codepoint: Ecn,
    cwr_queued: bool,
    /// AccECN is offered, or agreed on: ECE is no echo, and CWR says nothing.
    accurate: bool,
    /// The ACE field of all packets, once the handshake is over; 0 without AccECN.
    ace: u16,
}

impl EcnState {
    /// Before the first reduction.
    pub fn new(codepoint: Ecn, accurate: bool) -> Self {
        Self { codepoint, cwr_queued: false, accurate, ace: 0 }
    }

    /// An ECN echo may come in the ECE flag.
    #[inline]
    pub fn is_echoed(&self) -> bool {
        self.is_on() && !self.accurate
    }

    /// The other end does not have AccECN, but the feedback of RFC 3168.
    pub fn be_classic(&mut self) {
        self.accurate = false;
    }

    /// True once packets count marks (AccECN).
    #[inline]
    pub fn counts(&self) -> bool {
        self.ace != 0
    }

    /// The ACE field of all packets.
    #[inline]
    pub fn ace(&self) -> u16 {
        self.ace & flags::ACE
    }

    /// From now on packets have this ACE field.
    pub fn count(&mut self, ace: u16) {
        // A bit that is none of the field's tells a count whose bits are 0 from none.
        self.ace = ace | flags::SYN;
    }

    /// The header bits of data.
    pub fn data_flags(&self) -> u16 {
        self.codepoint.flags() | self.ace()
    }

    /// The feedback fails: packets are not ECN-capable any more.
    pub fn fail(&mut self) {
        self.codepoint = Ecn::NotEct;
    }

    /// The codepoint of data.
    #[inline]
    pub fn codepoint(&self) -> Ecn {
        self.codepoint
    }

    /// Both ends agreed on it.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.codepoint != Ecn::NotEct
    }

    /// One of the ends does not want it.
    pub fn turn_off(&mut self) {
        (self.codepoint, self.cwr_queued, self.accurate) = (Ecn::NotEct, false, false);
    }

    /// The window was reduced: the next new segment says so.
    pub fn queue_cwr(&mut self) {
        self.cwr_queued = self.is_echoed();
    }

    /// CWR was sent, or the reduction was undone.
    #[inline]
    pub fn unqueue_cwr(&mut self) {
        self.cwr_queued = false;
    }

    /// The next new segment has CWR.
    #[inline]
    pub fn cwr_queued(&self) -> bool {
        self.cwr_queued
    }
}

impl Sender {
    /// Flags of a SYN, by which it offers ECN unless it is one that is sent `again` (`tcp_ecn_clear_syn`).
    pub(in crate::tcp::linux::sender) fn ecn_offer(&self, again: bool) -> u16 {
        if let Some(offer) = self.accurate_offer() {
            return offer;
        }
        if self.ecn.is_on() && !(again && self.stack.ecn_fallback) {
            flags::ECN_SETUP
        } else {
            0
        }
    }

    /// Flags of a SYN-ACK, by which it agrees to ECN.
    pub(in crate::tcp::linux::sender) fn ecn_consent(&self) -> u16 {
        if self.accecn.is_some() {
            return if self.handshake_timeouts() > 0 { 0 } else { self.accurate_reflection() };
        }
        if self.ecn.is_on() {
            flags::ECE
        } else {
            0
        }
    }

    /// The other end's SYN or SYN-ACK has come. Unless it has all of the flags `asked`, ECN is not used, and what needs it is Reno
    /// (`dctcp_init`).
    pub(in crate::tcp::linux) fn hear_of_ecn(&mut self, p: &Segment, asked: u16) {
        if self.accecn.is_some() {
            return self.hear_of_accecn(p, asked == flags::ECN_SETUP);
        }
        if p.flags & asked == asked || !self.ecn.is_on() {
            return;
        }
        self.do_without_ecn();
    }
}
