//! The sender's half of Accurate ECN: how many packets an ACK says were marked (RFC 9768 section 3.2.2 and Appendix A; Linux 7.3
//! net/ipv4/tcp_input.c `tcp_accecn_process`, `tcp_accecn_process_option`; include/net/tcp_ecn.h). The field of three bits wraps: for an ACK of more than
//! seven segments the option, or the usual number of segments an ACK, tells how often.

use crate::attachment::EcnBytes;
use crate::cc::{AnyCc, CaState, Reno};
use crate::packet::Ecn;
use crate::segment::{ace, flags, Segment};
use crate::spec::TcpSpec;
use crate::tcp::linux::accecn::{
    counting, initial, order, place, reflection, Feedback, Negotiation, FIRST_ACE, MOST_ACE,
};
use crate::tcp::linux::sender::ack::{flag, AckState};
use crate::tcp::linux::sender::Sender;

/// Weight and precision of the average of segments an ACK, bits; above so many segments ACKs are thinned.
const WEIGHT: u32 = 6;
const PRECISION: u32 = 6;
const THINNED: u32 = 4;
/// Without a valid option after so many bytes it is too late for one: its counters may have wrapped.
const LAST_BYTES: u64 = (1 << 23) - 1;

/// State of the AccECN feedback that ACKs brought.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::linux) struct Feedbacks {
    /// The packets with CE that it counts are ACKs.
    negotiation: Negotiation,
    /// The packet in hand has a later timestamp than any before.
    clock_progresses: bool,
    /// An option has come; its first counters were 0, so that it is not believed.
    has_option: bool,
    option_fails: bool,
    /// Bytes of payload that arrived with each codepoint.
    delivered_bytes: [u32; 3],
    /// The codepoint to which what an ACK without an option acknowledges is put down.
    likely: Option<Ecn>,
    /// Average of segments an ACK.
    segments_an_ack: u32,
}

impl Feedbacks {
    /// Before the handshake. `handshake`: the codepoint of this end's SYN or SYN-ACK.
    pub fn of(spec: &TcpSpec, handshake: Ecn) -> Option<Box<Self>> {
        spec.accecn?;
        Some(Box::new(Self::new(handshake)))
    }

    fn new(handshake: Ecn) -> Self {
        Self {
            negotiation: Negotiation::new(handshake),
            clock_progresses: false,
            has_option: false,
            option_fails: false,
            delivered_bytes: [0; 3],
            likely: None,
            segments_an_ack: 0,
        }
    }

    /// Takes in the option of an ACK for so many bytes; true if its counters can be used.
    fn take_option(&mut self, option: Option<&EcnBytes>, delivered_bytes: u32, bytes_sent: u64) -> bool {
        if self.option_fails {
            return false;
        }
        let likely = self.likely;
        let Some(option) = option else {
            if !self.has_option {
                self.option_fails = bytes_sent >= LAST_BYTES;
                return false;
            }
            if let Some(ecn) = likely {
                let counter = &mut self.delivered_bytes[place(ecn)];
                *counter = counter.wrapping_add(delivered_bytes);
            }
            return likely.is_some();
        };
        if !self.has_option {
            let values = &option.fields[..usize::from(option.count)];
            // A middlebox that clears options is found by the first and the third field.
            self.option_fails = values.iter().step_by(2).any(|value| *value == 0);
            self.has_option = true;
        }
        let (mut usable, mut ambiguous, mut changed) = (likely.is_some(), false, false);
        for (ecn, value) in order(option.ect0_first).into_iter().zip(&option.fields[..usize::from(option.count)]) {
            let counter = &mut self.delivered_bytes[place(ecn)];
            let news = value.wrapping_sub(initial(ecn)).wrapping_sub(*counter) & 0x00ff_ffff;
            // The counters have 24 bits and may go back.
            let news = (news << 8) as i32 >> 8;
            *counter = counter.wrapping_add_signed(news);
            if news < 0 {
                (usable, ambiguous) = (false, true);
            }
            if news != 0 && Some(ecn) != likely {
                if changed {
                    (usable, ambiguous) = (false, true);
                } else {
                    (self.likely, changed) = (Some(ecn), true);
                }
            }
        }
        if ambiguous {
            self.likely = None;
        }
        usable
    }

    fn average(&mut self, delivered: u32) {
        if delivered > 0 {
            let average = match self.segments_an_ack {
                0 => delivered << PRECISION,
                old => ((old << WEIGHT) - old + (delivered << PRECISION)) >> WEIGHT,
            };
            self.segments_an_ack = average.min(0xffff);
        }
    }
}

/// Facts about an ACK from which its number of marked packets follows.
#[derive(Clone, Copy, Debug)]
struct Ack<'a> {
    ace: u8,
    option: Option<&'a EcnBytes>,
    /// Segments newly delivered.
    delivered: u32,
    mss: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    /// Header prediction does not take it.
    slow: bool,
    /// The bytes that marked segments had can be compared with all that were delivered.
    comparable: bool,
}

impl Feedbacks {
    /// The number of packets that were marked, according to an ACK (`__tcp_accecn_process`).
    fn marks(&mut self, ack: &Ack) -> u32 {
        let Ack { delivered, mss, .. } = *ack;
        let delivered_bytes = delivered * mss;
        let before = self.delivered_bytes[place(Ecn::Ce)];
        let option = ack.option.filter(|_| ack.slow);
        let usable = self.take_option(option, delivered_bytes, ack.bytes_sent);
        self.average(delivered);
        if !ack.slow && delivered <= MOST_ACE {
            return 0;
        }
        let delta = u32::from(ack.ace).wrapping_sub(FIRST_ACE).wrapping_sub(ack.delivered_ce) & MOST_ACE;
        if delivered <= MOST_ACE {
            return delta;
        }
        let safe = delivered - ((delivered - delta) & MOST_ACE);
        if !usable {
            return if self.segments_an_ack > THINNED << PRECISION { delta } else { safe };
        }
        let marked_bytes = self.delivered_bytes[place(Ecn::Ce)].wrapping_sub(before);
        if marked_bytes == 0 {
            return delta;
        }
        if delivered >= 2 * (MOST_ACE + 1) && ack.comparable {
            if delivered_bytes <= marked_bytes {
                return safe;
            }
            let estimate = (u64::from(marked_bytes) * u64::from(delivered)).div_ceil(delivered_bytes.into()) as u32;
            return safe.min(delta + (estimate & !MOST_ACE));
        }
        if marked_bytes > delta * mss {
            safe
        } else if marked_bytes < safe * mss / 2 {
            delta
        } else {
            safe
        }
    }
}

impl Sender {
    /// The other end's SYN or SYN-ACK has come, to an end that offers AccECN.
    #[cold]
    pub(in crate::tcp::linux::sender) fn hear_of_accecn(&mut self, p: &Segment, is_syn: bool) {
        let Some(feedback) = &mut self.accecn else { return };
        match feedback.negotiation.hear(p, is_syn) {
            Feedback::Accurate => {}
            Feedback::Classic if !self.needs.accecn => {
                self.accecn = None;
                self.ecn.be_classic();
            }
            Feedback::Classic | Feedback::Off => {
                self.accecn = None;
                self.do_without_ecn();
            }
        }
    }

    /// ECN is not used, and what needs it is Reno.
    pub(in crate::tcp::linux::sender) fn do_without_ecn(&mut self) {
        self.ecn.turn_off();
        self.form.flags = Ecn::NotEct.flags();
        if self.needs.ecn {
            self.cc = AnyCc::Reno(Reno);
            (self.needs.ecn, self.needs.accecn) = (false, false);
            if self.needs.cong_control {
                // It was paced by a control that set the rate; Reno leaves that to the sender.
                self.needs.cong_control = false;
            }
        }
    }

    /// Flags of this end's SYN: it offers AccECN, also when it is retransmitted for the first time.
    pub(in crate::tcp::linux::sender) fn accurate_offer(&self) -> Option<u16> {
        self.accecn.as_ref()?;
        Some(Negotiation::offer(self.handshake_retransmits(), self.stack.ecn_fallback))
    }

    /// Flags that tell with which codepoint the other end's SYN, or SYN-ACK, came; 0 without AccECN.
    pub(in crate::tcp::linux::sender) fn accurate_reflection(&self) -> u16 {
        self.accecn.as_ref().map_or(0, |feedback| reflection(feedback.negotiation.peer))
    }

    /// The handshake is over: from now on the packets count.
    pub(in crate::tcp::linux::sender) fn begin_counting(&mut self) {
        if let Some(feedback) = &self.accecn {
            self.ecn.count(feedback.negotiation.counting());
            self.form.flags = self.ecn.data_flags();
        }
    }

    /// The packet that ends the handshake reflects this end's SYN-ACK (`tcp_accecn_third_ack`).
    #[cold]
    pub(in crate::tcp::linux::sender) fn hear_third_ack(&mut self, p: &Segment) {
        let Some(feedback) = &self.accecn else { return };
        match feedback.negotiation.arrived_as(p.flags) {
            None => self.ecn.fail(),
            Some(Ecn::Ce) => self.view.delivered_ce = 1,
            Some(_) => {}
        }
    }

    /// Notes what a packet of the receiver says beside its ACK, before its timestamp is taken in.
    #[inline]
    pub(in crate::tcp::linux::sender) fn note_codepoint(&mut self, p: &Segment) {
        if let Some(feedback) = &mut self.accecn {
            feedback.clock_progresses = p.tsval > self.form.tsecr;
            if p.ecn() == Ecn::Ce {
                feedback.negotiation.received_ce += 1;
                self.ecn.count(feedback.negotiation.counting());
                self.form.flags = self.ecn.data_flags();
            }
        }
    }

    /// Takes in what an ACK for `delivered` segments says of marks. `news`: it has SACK blocks, or offers another window.
    #[inline(never)]
    pub(in crate::tcp::linux::sender) fn process_accurate(
        &mut self,
        p: &Segment,
        option: Option<&EcnBytes>,
        news: bool,
        delivered: u32,
        a: &mut AckState,
    ) {
        let expected = counting(self.view.delivered_ce);
        let comparable = self.sack || matches!(self.view.state, CaState::Open | CaState::Cwr);
        let ack = Ack {
            ace: ace(p.flags),
            option,
            delivered,
            mss: self.layout.mss(),
            delivered_ce: self.view.delivered_ce,
            bytes_sent: u64::from(self.view.snd_nxt) * u64::from(self.layout.mss()),
            slow: news || option.is_some() || p.flags & flags::ACE != expected,
            comparable,
        };
        let Some(feedback) = &mut self.accecn else { return };
        if a.flags & flag::FORWARD_PROGRESS == 0 && !feedback.clock_progresses {
            return;
        }
        let marks = feedback.marks(&ack);
        if marks > 0 {
            self.view.delivered_ce += marks;
            a.flags |= flag::ECE;
            a.sample.ece = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(delivered: u32, marked: u8, option: Option<&EcnBytes>) -> Ack<'_> {
        Ack {
            ace: (5 + marked) & 7,
            option,
            delivered,
            mss: 1000,
            delivered_ce: 0,
            bytes_sent: 100_000,
            slow: true,
            comparable: true,
        }
    }

    #[test]
    fn few_segments_have_as_many_marks_as_the_field_says() {
        for marked in 0..8 {
            assert_eq!(Feedbacks::new(Ecn::NotEct).marks(&ack(7, marked, None)), u32::from(marked));
        }
    }

    /// tcp_accecn_delivered_largeack.pkt, tcp_accecn_delivered_falseoverflow_detect.pkt of the kernel's own tests in kind.
    #[test]
    fn a_large_ack_without_option_is_taken_for_the_most_marks_unless_acks_are_thinned() {
        let mut usual = Feedbacks::new(Ecn::NotEct);
        for _ in 0..400 {
            usual.average(2);
        }
        assert_eq!(usual.marks(&ack(12, 1, None)), 9, "12 segments may hide 8 marks more");
        let mut thinned = Feedbacks::new(Ecn::NotEct);
        for _ in 0..400 {
            thinned.average(12);
        }
        assert_eq!(thinned.marks(&ack(12, 1, None)), 1);
    }

    fn option(ect1: u32, ce: u32) -> EcnBytes {
        EcnBytes { ect0_first: false, count: 3, fields: [ect1 + 1, ce, 1] }
    }

    #[test]
    fn the_option_tells_how_often_the_field_has_wrapped() {
        let mut f = Feedbacks::new(Ecn::NotEct);
        assert_eq!(f.marks(&ack(2, 0, Some(&option(2000, 0)))), 0);
        assert_eq!(f.marks(&ack(20, 2, Some(&option(20_000, 2000)))), 2, "as many as their bytes say");
        let mut f = Feedbacks::new(Ecn::NotEct);
        f.marks(&ack(2, 0, Some(&option(2000, 0))));
        assert_eq!(f.marks(&ack(20, 4, Some(&option(2000, 20_000)))), 20, "all were marked");
    }

    #[test]
    fn an_option_that_begins_with_zeros_is_not_believed() {
        let mut f = Feedbacks::new(Ecn::NotEct);
        let cleared = EcnBytes { ect0_first: false, count: 3, fields: [0; 3] };
        f.marks(&ack(2, 0, Some(&cleared)));
        assert!(f.option_fails && !f.take_option(Some(&option(2000, 0)), 2000, 0));
    }

    #[test]
    fn counters_wrap_at_24_bits() {
        let mut f = Feedbacks::new(Ecn::NotEct);
        for value in [0x007f_fff1, 0x00ff_ffe1, 0x10] {
            f.take_option(Some(&EcnBytes { ect0_first: false, count: 1, fields: [value, 0, 0] }), 1000, 0);
        }
        assert_eq!(f.delivered_bytes[place(Ecn::Ect1)], 0x0100_000f);
    }
}
