//! The receiver's half of ECN: RFC 3168 latch, DCTCP's state machine (RFC 8257 section 3.2), SCE echo.

use crate::packet::Ecn;
use crate::segment::flags;
use crate::tcp::linux::stack::SceEcho;

/// Action on a segment's codepoint, besides the latch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wish {
    /// Acknowledge first what came before this segment, with the flags as they were.
    pub special_ack: bool,
    /// That ACK is for this number, which is older than what came before; None: for what came before.
    pub special_at: Option<u32>,
    /// Then acknowledge this segment at once.
    pub ack_now: bool,
    /// Ask for that many quick ACKs.
    pub quick: u32,
    /// Return the delayed-ACK interval to its least.
    pub reset_interval: bool,
}

/// Echo state of a receiver.
#[derive(Clone, Debug)]
pub(super) struct Echo {
    enabled: bool,
    /// The codepoint of an unmarked segment.
    unmarked: Ecn,
    seen: bool,
    /// The ends have AccECN, or this one offers it: nothing is echoed here.
    accurate: bool,
    /// ECE on every ACK.
    pub latch: bool,
    /// DCTCP's machine runs; last state.
    dctcp: Option<bool>,
    sce: Option<SceEcho>,
    sce_keeps_dctcp: bool,
    /// Expected number when DCTCP's machine was last told of a segment, if others have come since (`prior_rcv_nxt`).
    dctcp_expected: Option<u32>,
    sce_prior: bool,
    /// ESCE on the next ACK.
    pub sce_request: bool,
}

impl Echo {
    /// `codepoint`: of the sender's unmarked data; Not-ECT without ECN.
    pub fn new(codepoint: Ecn, dctcp: bool, sce: Option<SceEcho>, sce_keeps_dctcp: bool) -> Self {
        let enabled = codepoint != Ecn::NotEct;
        Self {
            enabled,
            unmarked: codepoint,
            seen: false,
            accurate: false,
            latch: false,
            dctcp: (enabled && dctcp).then_some(false),
            sce: sce.filter(|_| enabled),
            sce_keeps_dctcp: sce_keeps_dctcp && sce.is_some(),
            dctcp_expected: None,
            sce_prior: false,
            sce_request: false,
        }
    }

    /// The end offers AccECN.
    pub fn accurate(mut self, accurate: bool) -> Self {
        self.accurate = accurate;
        self
    }

    /// The other end has the feedback of RFC 3168 alone.
    pub fn be_classic(&mut self) {
        self.accurate = false;
    }

    /// Both ends agree on ECN, as far as this one knows.
    pub fn is_on(&self) -> bool {
        self.enabled
    }

    /// The codepoint of an unmarked segment of a sender with ECN.
    pub fn unmarked(&self) -> Ecn {
        self.unmarked
    }

    /// ECT(1) is a mark of SCE; false where the sender itself sends it.
    #[inline]
    pub fn takes_ect1_for_sce(&self) -> bool {
        self.unmarked != Ecn::Ect1
    }

    /// One of the ends does not want ECN.
    pub fn turn_off(&mut self) {
        (self.enabled, self.dctcp, self.sce) = (false, None, None);
    }

    /// The sender has reduced its window.
    pub fn on_cwr(&mut self) {
        self.latch = false;
    }

    /// Flags of the next ACK.
    #[inline]
    pub fn take_flags(&mut self) -> u16 {
        let ece = if self.latch { flags::ECE } else { 0 };
        let esce = if std::mem::take(&mut self.sce_request) { flags::ESCE } else { 0 };
        ece | esce
    }

    /// True if codepoint `ecn` changes nothing and asks for nothing, so that another one like it does not, either.
    #[inline]
    pub fn expects(&self, ecn: Ecn) -> bool {
        !self.enabled || (ecn == self.unmarked && self.seen && self.is_at_rest())
    }

    /// Nothing that an unmarked segment would end is going on.
    fn is_at_rest(&self) -> bool {
        let dctcp = self.dctcp.is_none() || (self.dctcp == Some(false) && !self.latch);
        let sce = match self.sce {
            None | Some(SceEcho::Ta) => true,
            Some(SceEcho::T0 | SceEcho::T1) => !self.sce_prior && !self.sce_request,
            Some(SceEcho::Tb) => false,
        };
        dctcp && sce
    }

    /// A segment with codepoint `ecn`; `waiting`: a delayed ACK is pending; `before`: the number expected before this segment. With a special ACK due, the flags still
    /// describe what came before; call [`Echo::after_special`] when it is sent.
    pub fn on_segment(&mut self, ecn: Ecn, waiting: bool, before: u32) -> Wish {
        if !self.enabled {
            return Wish::default();
        }
        self.seen |= ecn != Ecn::NotEct;
        match ecn {
            // Without ECT although others had it: probably a retransmission.
            Ecn::NotEct if self.seen => Wish { quick: 2, reset_interval: true, ..Wish::default() },
            Ecn::NotEct => Wish::default(),
            Ecn::Ce => self.dctcp_event(true, waiting),
            Ecn::Ect1 if self.sce_keeps_dctcp => {
                if self.dctcp.is_some() {
                    self.dctcp_expected.get_or_insert(before);
                }
                self.sce_event(true, waiting)
            }
            // ECT(0), and a mark of SCE to a receiver whose DCTCP takes it for that.
            _ => merge(self.dctcp_event(false, waiting), self.sce_event(ecn == Ecn::Ect1, waiting)),
        }
    }

    fn dctcp_event(&mut self, ce: bool, waiting: bool) -> Wish {
        let mut wish = Wish::default();
        if let Some(prior) = self.dctcp {
            if prior != ce {
                if waiting {
                    // The special ACK says what came before, even if a CWR has just ended the echo (`dctcp_ece_ack_cwr`).
                    self.latch = prior;
                }
                wish.special_ack = waiting;
                wish.special_at = self.dctcp_expected.filter(|_| waiting);
                wish.ack_now = true;
            }
        }
        // A DCTCP receiver sets the latch before this test: it never asks for quick ACKs.
        if ce && !self.latch && self.dctcp.is_none() && !self.accurate {
            wish.quick = 2;
            wish.reset_interval = true;
        }
        wish
    }

    fn sce_event(&mut self, sce: bool, waiting: bool) -> Wish {
        let Some(variant) = self.sce else { return Wish::default() };
        if variant == SceEcho::Ta {
            return if sce { Wish { quick: 2, reset_interval: true, ..Wish::default() } } else { Wish::default() };
        }
        let changed = self.sce_prior != sce && waiting;
        Wish {
            special_ack: changed,
            special_at: None,
            ack_now: false,
            quick: match variant {
                SceEcho::Tb => 1,
                SceEcho::T1 => u32::from(changed),
                SceEcho::T0 | SceEcho::Ta => 0,
            },
            reset_interval: changed,
        }
    }

    /// Takes in the codepoint, after the special ACK if there was one.
    pub fn after_special(&mut self, ecn: Ecn) {
        if !self.enabled {
            return;
        }
        let no_ce = ecn == Ecn::Ect0 || (ecn == Ecn::Ect1 && !self.sce_keeps_dctcp);
        if let Some(state) = &mut self.dctcp {
            if ecn == Ecn::Ce || no_ce {
                *state = ecn == Ecn::Ce;
                self.latch = *state;
                self.dctcp_expected = None;
            }
        }
        if ecn == Ecn::Ce && !self.accurate {
            self.latch = true;
        }
        if let Some(variant) = self.sce {
            match ecn {
                Ecn::Ect1 => {
                    self.sce_request = true;
                    self.sce_prior = true;
                }
                Ecn::Ect0 if variant != SceEcho::Ta => {
                    self.sce_request = false;
                    self.sce_prior = false;
                }
                _ => {}
            }
        }
    }
}

fn merge(a: Wish, b: Wish) -> Wish {
    Wish {
        special_ack: a.special_ack || b.special_ack,
        special_at: a.special_at.or(b.special_at),
        ack_now: a.ack_now || b.ack_now,
        quick: a.quick.max(b.quick),
        reset_interval: a.reset_interval || b.reset_interval,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(e: &mut Echo, ecn: Ecn, waiting: bool) -> Wish {
        let w = e.on_segment(ecn, waiting, 0);
        e.after_special(ecn);
        w
    }

    #[test]
    fn rfc3168_latches_until_cwr() {
        let mut e = Echo::new(Ecn::Ect0, false, None, false);
        assert_eq!(feed(&mut e, Ecn::Ce, false).quick, 2);
        feed(&mut e, Ecn::Ect0, true);
        assert!(e.latch);
        assert_eq!(feed(&mut e, Ecn::Ce, false).quick, 0);
        e.on_cwr();
        assert!(!e.latch);
    }

    #[test]
    fn dctcp_acknowledges_each_change() {
        let mut e = Echo::new(Ecn::Ect0, true, None, false);
        let w = feed(&mut e, Ecn::Ce, true);
        assert!(w.special_ack && w.ack_now && e.latch);
        let w = feed(&mut e, Ecn::Ce, true);
        assert!(!w.special_ack && !w.ack_now && e.latch);
        let w = feed(&mut e, Ecn::Ect0, false);
        assert!(!w.special_ack && w.ack_now && !e.latch);
    }

    #[test]
    fn a_special_ack_of_dctcp_echoes_what_came_before_although_a_cwr_came_with_the_change() {
        let mut e = Echo::new(Ecn::Ect0, true, None, false);
        feed(&mut e, Ecn::Ce, false);
        e.on_cwr();
        assert!(e.on_segment(Ecn::Ect0, true, 0).special_ack && e.take_flags() == flags::ECE);
        e.after_special(Ecn::Ect0);
        assert_eq!(e.take_flags(), 0);
    }

    #[test]
    fn sce_marks_keep_a_dctcp_latch_in_the_sce_tree() {
        let mut e = Echo::new(Ecn::Ect0, true, Some(SceEcho::T1), true);
        feed(&mut e, Ecn::Ce, false);
        feed(&mut e, Ecn::Ect1, false);
        assert!(e.latch);
        feed(&mut e, Ecn::Ect0, false);
        assert!(!e.latch);
    }

    /// A DCTCP receiver acknowledges a change from where it was last told of a segment: SCE marks do not count as such in the SCE tree.
    #[test]
    fn the_special_ack_of_dctcp_after_sce_marks_is_an_old_one() {
        let mut e = Echo::new(Ecn::Ect0, true, Some(SceEcho::T1), true);
        feed(&mut e, Ecn::Ect0, false);
        for before in [1000, 2000] {
            e.on_segment(Ecn::Ect1, false, before);
            e.after_special(Ecn::Ect1);
        }
        let w = e.on_segment(Ecn::Ce, true, 3000);
        assert_eq!((w.special_ack, w.special_at), (true, Some(1000)));
        e.after_special(Ecn::Ce);
        let w = e.on_segment(Ecn::Ect0, true, 4000);
        assert_eq!((w.special_ack, w.special_at), (true, None));
    }

    #[test]
    fn sce_changes_are_acknowledged_apart() {
        let mut e = Echo::new(Ecn::Ect0, false, Some(SceEcho::T1), true);
        let w = feed(&mut e, Ecn::Ect1, true);
        assert!(w.special_ack && w.quick == 1 && e.sce_request);
        let w = feed(&mut e, Ecn::Ect1, true);
        assert_eq!(w, Wish::default());
        let w = feed(&mut e, Ecn::Ect0, true);
        assert!(w.special_ack && !e.sce_request);
        assert_eq!(Echo::new(Ecn::Ect0, false, None, true).on_segment(Ecn::Ect1, true, 0), Wish::default());
    }
}
