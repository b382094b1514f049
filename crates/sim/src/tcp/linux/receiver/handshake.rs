//! The receiver's half of the handshake (RFC 9293 section 3.5; Linux 6.12 net/ipv4/tcp_minisocks.c `tcp_check_req`, tcp_input.c
//! `tcp_rcv_state_process`).

use super::Receiver;
use crate::outbox::{End, Outbox};
use crate::packet::{Direction, Ecn, HEADERS, SYN_FRAME};
use crate::segment::{flags, Segment};
use crate::tcp::common::lazy_timer::Ticks;
use crate::tcp::linux::request::Reaction;
use crate::time::{Time, MS};

impl Receiver {
    /// A packet of the handshake arrives, or the first data if the third packet got lost.
    #[inline(never)]
    pub(super) fn on_handshake(&mut self, p: &Segment, out: &mut impl Outbox) {
        if p.has(flags::SYN) {
            if self.opening.has_begun {
                return self.on_syn_ack(p, out);
            }
            if self.established {
                // It came too late to open anything (`tcp_send_challenge_ack`).
                return self.answer_bare(out);
            }
            self.hear_request(p, out);
            return;
        }
        if self.has_closed() {
            return self.reset(p, out);
        }
        let was_established = self.established;
        if !was_established {
            if !self.hear_request(p, out) {
                return;
            }
            self.end_opening(out);
            self.establish(out.now());
            self.hear_third_ack(p);
            if self.opening.request.is_resent() {
                self.note_rtt_by_timestamp(p, out.now());
            }
        }
        if !p.has(flags::HANDSHAKE) {
            self.on_data(p, out);
        } else if was_established {
            self.on_bare(p, out);
        } else {
            self.note_timestamp(p.seq, p);
        }
    }

    /// RTT of a handshake in which something was retransmitted: the timestamps tell which packet `p` answers (`tcp_ack_update_rtt`).
    pub(super) fn note_rtt_by_timestamp(&mut self, p: &Segment, now: Time) {
        self.note_rtt(1000 * (now / MS).saturating_sub(u64::from(p.tsecr)).max(1));
    }

    /// A packet comes before the connection that the peer opens is established; true if it is taken in. The SYN-ACK echoes the first SYN, also
    /// where it is retransmitted.
    pub(in crate::tcp::linux) fn hear_request(&mut self, p: &Segment, out: &mut impl Outbox) -> bool {
        let data = u32::from(p.len) > HEADERS || p.has(flags::FIN);
        match self.opening.request.react(p, data, self.form.tsecr, out.now()) {
            Reaction::Take => return true,
            Reaction::SynAck => {
                if !self.opening.request.has_begun() {
                    self.form.tsecr = p.tsval;
                    self.hear_of_ecn(p, flags::ECN_SETUP);
                }
                self.send_syn_ack(out);
            }
            Reaction::Ack => {
                let ack = self.ack_packet(1, self.buffer.offered(), out.now());
                self.counters.acks_sent += 1;
                out.send(End::Receiver, Segment { flags: Direction::Reverse.flags() | Ecn::NotEct.flags(), ..ack });
            }
            Reaction::Nothing => {}
        }
        false
    }

    /// The other end has called this one.
    pub(in crate::tcp::linux) fn has_request(&self) -> bool {
        self.opening.request.has_begun()
    }

    /// The other end's SYN or SYN-ACK has come. Unless it has all of the flags `asked`, ECN is not used.
    pub(super) fn hear_of_ecn(&mut self, p: &Segment, asked: u16) {
        if self.accecn.is_some() {
            return self.hear_of_accecn(p, asked == flags::ECN_SETUP);
        }
        if p.flags & asked != asked {
            self.echo.turn_off();
            self.form.flags = Direction::Reverse.flags() | Ecn::NotEct.flags();
        }
    }

    /// Sends the SYN-ACK, perhaps again, and once more if nothing comes.
    pub(super) fn send_syn_ack(&mut self, out: &mut impl Outbox) {
        self.opening.request.note_sent();
        self.rtt.syn_ack_us = out.now() / 1000;
        let ack = self.ack_packet(1, self.buffer.offered(), out.now());
        let consent = match self.accurate_consent(self.opening.request.timeouts()) {
            Some(bits) => bits,
            None if self.echo.is_on() => flags::ECE,
            None => 0,
        };
        let len = SYN_FRAME + self.accurate_syn_ack_bytes(self.opening.request.is_resent());
        let mut syn_ack = Segment { len: len as u16, flags: ack.flags | flags::SYN | consent, ..ack };
        self.mark_handshake(&mut syn_ack);
        self.counters.acks_sent += 1;
        out.send(End::Receiver, syn_ack);
        if !self.has_closed() {
            self.time_opening(self.opening.request.timeout(), out);
        }
    }

    pub(super) fn establish(&mut self, now: Time) {
        self.established = true;
        if !self.opening.request.is_resent() {
            self.note_rtt(now / 1000 - self.rtt.syn_ack_us);
        }
        self.delay.establish(now);
        self.buffer.establish(now / 1000);
    }

    /// The only sample of an end that sends no data, us: RTO is three times it, with the variance's floor.
    pub(super) fn note_rtt(&mut self, rtt_us: u64) {
        self.rtt.srtt_us = rtt_us.max(1);
        self.rtt.srtt = self.clock.in_ticks(self.rtt.srtt_us);
        self.rtt.rto = self.clock.in_ticks(self.rtt.srtt_us + (self.rtt.srtt_us * 2).max(self.rtt.rto_min_us));
    }
}
