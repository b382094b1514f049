//! What the sender does about ECN itself (RFC 3168 section 6.1): whether both ends agree on it, CWR on the first new segment after a reduction.

use super::Sender;
use crate::cc::{AnyCc, Reno};
use crate::packet::Ecn;
use crate::segment::{flags, Segment};

/// Whether ECN is used, and whether CWR is to be sent. Told when the window was reduced; asked when new data are sent.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::linux) struct EcnState {
    /// The codepoint of data; Not-ECT without ECN.
    codepoint: Ecn,
    cwr_queued: bool,
}

impl EcnState {
    /// Before the first reduction.
    pub fn new(codepoint: Ecn) -> Self {
        Self { codepoint, cwr_queued: false }
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
    fn turn_off(&mut self) {
        (self.codepoint, self.cwr_queued) = (Ecn::NotEct, false);
    }

    /// The window was reduced: the next new segment says so.
    pub fn queue_cwr(&mut self) {
        self.cwr_queued = self.is_on();
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
    pub(super) fn ecn_offer(&self, again: bool) -> u16 {
        if self.ecn.is_on() && !(again && self.stack.ecn_fallback) {
            flags::ECN_SETUP
        } else {
            0
        }
    }

    /// Flags of a SYN-ACK, by which it agrees to ECN.
    pub(super) fn ecn_consent(&self) -> u16 {
        if self.ecn.is_on() {
            flags::ECE
        } else {
            0
        }
    }

    /// The other end's SYN or SYN-ACK has come. Unless it has all of the flags `asked`, ECN is not used, and what needs it is Reno
    /// (`dctcp_init`).
    pub(in crate::tcp::linux) fn hear_of_ecn(&mut self, p: &Segment, asked: u16) {
        if p.flags & asked == asked || !self.ecn.is_on() {
            return;
        }
        self.ecn.turn_off();
        self.form.flags = Ecn::NotEct.flags();
        if self.needs.ecn {
            self.cc = AnyCc::Reno(Reno);
            self.needs.ecn = false;
        }
    }
}
