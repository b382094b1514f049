//! The handshake at the end that sends the data: as the client (RFC 9293 section 3.5; Linux 6.12 net/ipv4/tcp_input.c,
//! `tcp_rcv_synsent_state_process`, and tcp_timer.c for lost SYNs), or as the server of a download, whose application writes once the packet
//! that ends the handshake has come.

use super::{Pending, Phase, Sender};
use crate::cc::CongestionControl;
use crate::outbox::{End, Outbox};
use crate::packet::{Ecn, Verdict, ACK_FRAME, SYN_FRAME};
use crate::segment::{flags, Segment};
use crate::tcp::linux::clock::Clock;
use crate::tcp::linux::request::{Reaction, Request};
use crate::tcp::linux::stack::Stack;

/// The SYNs sent, or the SYN-ACKs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    /// When the first SYN, or the last SYN-ACK, was sent, us.
    sent_us: u64,
    /// Flags of the SYN-ACK by which this end answers a SYN that has crossed its own.
    crossed: u16,
    /// SYNs that were retransmitted.
    retransmits: u32,
    pub request: Request,
    /// The flow was cut off: nobody listens any more.
    pub is_over: bool,
}

impl Handshake {
    /// Before the first packet.
    pub fn new(stack: &Stack, clock: &Clock) -> Self {
        Self { sent_us: 0, crossed: 0, retransmits: 0, request: Request::new(stack, clock), is_over: false }
    }

    /// How often the SYN was retransmitted.
    pub fn syn_retransmits(&self) -> u32 {
        self.retransmits
    }

    /// How often a SYN or a SYN-ACK was retransmitted.
    pub fn retransmits(&self) -> u32 {
        self.retransmits + self.request.retransmits()
    }
}

impl Sender {
    /// How often the SYN was retransmitted.
    pub(super) fn handshake_retransmits(&self) -> u32 {
        self.handshake.syn_retransmits()
    }

    /// How often nothing came after the SYN-ACK.
    pub(super) fn handshake_timeouts(&self) -> u32 {
        self.handshake.request.timeouts()
    }

    /// connect(): sends the SYN.
    pub fn connect(&mut self, out: &mut impl Outbox) {
        self.refresh(out.now());
        self.phase = Phase::SynSent;
        self.send_syn(out);
        self.set_timer(out, Pending::Retransmit, self.rto_ticks());
    }

    fn send_syn(&mut self, out: &mut impl Outbox) -> Verdict {
        if self.handshake.retransmits == 0 {
            self.handshake.sent_us = self.view.mstamp_us;
        }
        let rest = match self.phase {
            Phase::Crossed => self.handshake.crossed,
            _ => self.ecn_offer(self.handshake.retransmits > 0),
        };
        let p = self.packet(0, SYN_FRAME, flags::SYN | rest, self.control_ecn());
        self.counters.sent += 1;
        out.send(End::Sender, p)
    }

    /// A SYN of the peer's comes while this end waits for a SYN-ACK: both have called connect(). This end's SYN goes again as a SYN-ACK, and from now
    /// on that is what is retransmitted (`tcp_rcv_synsent_state_process`, `tcp_send_synack`).
    #[cold]
    #[inline(never)]
    pub(in crate::tcp::linux) fn cross(&mut self, p: &Segment, out: &mut impl Outbox) {
        self.refresh(out.now());
        let offer = self.ecn_offer(self.handshake.retransmits > 0);
        self.hear_of_ecn(p, flags::ECN_SETUP);
        self.handshake.crossed = flags::HANDSHAKE | offer & self.ecn_consent();
        self.form.tsecr = p.tsval;
        self.update_window_in_bytes(p.window, 1, true);
        (self.phase, self.view.snd_nxt) = (Phase::Crossed, 1);
        self.send_syn(out);
    }

    /// The peer's SYN has crossed this end's, and nothing has answered the SYN-ACK yet.
    #[inline]
    pub(in crate::tcp::linux) fn is_crossed(&self) -> bool {
        self.phase == Phase::Crossed
    }

    /// The packet `p` answers the SYN-ACK of an end whose SYN was crossed; it is a SYN-ACK itself if `by_syn_ack`. A timeout of the SYN is undone,
    /// because nothing is noted of it any more when that is asked (`tcp_rcv_state_process`, `tcp_packet_delayed`).
    #[cold]
    #[inline(never)]
    pub(in crate::tcp::linux) fn end_crossing(&mut self, p: &Segment, by_syn_ack: bool, out: &mut impl Outbox) {
        self.counters.acks_arrived += 1;
        self.refresh(out.now());
        let rtt_us = self.rtt_of_syn(p);
        // The largest window is what the SYN said.
        let window = if by_syn_ack { self.peer.bytes() } else { p.window };
        self.establish(&Segment { window, ..*p }, rtt_us);
        if by_syn_ack {
            self.take_unscaled_window(p.window);
        }
        // `tcp_clean_rtx_queue` counts the SYN, and `tcp_rcv_state_process` the SYN-ACK.
        self.view.delivered = 2;
        self.ecn.unqueue_cwr();
        if self.handshake.retransmits > 0 && !self.sack {
            self.hold_loss_of_syn();
        }
        self.buffer.grow(self.window.cwnd, self.reordering.degree());
    }

    /// Time since the SYN that `p` answers, us, if it is known which.
    fn rtt_of_syn(&mut self, p: &Segment) -> Option<u32> {
        if self.handshake.retransmits > 0 {
            return self.us_since_echo(p);
        }
        let rtt_us = self.view.mstamp_us - self.handshake.sent_us;
        self.cc.on_syn_acked(rtt_us as i32);
        Some(rtt_us.max(1) as u32)
    }

    /// No SYN-ACK came in time, or nothing that answers this end's.
    pub(super) fn on_syn_timeout(&mut self, out: &mut impl Outbox) {
        self.counters.rto_timeouts += 1;
        self.handshake.retransmits += 1;
        // Every timeout queues CWR (`tcp_enter_loss`), so that the first data tell of it.
        self.ecn.queue_cwr();
        if self.send_syn(out) == Verdict::Dropped {
            return self.set_timer(out, Pending::Retransmit, self.ticks_to_local_retry());
        }
        if self.phase == Phase::Crossed || self.handshake.retransmits > self.stack.syn_linear_timeouts {
            self.rtt.back_off();
        }
        self.set_timer(out, Pending::Retransmit, self.rto_ticks());
    }

    /// A SYN of the receiver's arrives: the answer to ours, or its own if it has called connect().
    #[inline(never)]
    pub(super) fn on_handshake(&mut self, p: &Segment, out: &mut impl Outbox) {
        if !p.has(flags::HANDSHAKE) {
            return self.on_syn_ack(p, out);
        }
        if self.phase == Phase::Closed && self.handshake.is_over {
            return;
        }
        match self.phase {
            Phase::Closed | Phase::SynReceived => {
                self.hear_request(p, out);
            }
            // It came too late to open anything (`tcp_send_challenge_ack`).
            Phase::Established => self.answer_late(p, out),
            Phase::SynSent | Phase::Crossed => {}
        }
    }

    /// A packet comes before the connection that the peer opens is established; true if it is taken in. The SYN-ACK echoes the first SYN, also
    /// where it is retransmitted.
    pub(super) fn hear_request(&mut self, p: &Segment, out: &mut impl Outbox) -> bool {
        match self.handshake.request.react(p, false, self.form.tsecr, out.now()) {
            Reaction::Take => return true,
            Reaction::SynAck => {
                if !self.handshake.request.has_begun() {
                    self.phase = Phase::SynReceived;
                    self.form.tsecr = p.tsval;
                    self.hear_of_ecn(p, flags::ECN_SETUP);
                }
                self.answer_syn(out);
            }
            Reaction::Ack => {
                let ack = self.packet(1, ACK_FRAME, flags::HANDSHAKE, Ecn::NotEct);
                self.counters.sent += 1;
                out.send(End::Sender, ack);
            }
            Reaction::Nothing => {}
        }
        false
    }

    /// Sends the SYN-ACK, and again if nothing comes.
    fn answer_syn(&mut self, out: &mut impl Outbox) {
        self.handshake.sent_us = self.view.mstamp_us;
        self.handshake.request.note_sent();
        let answer = flags::SYN | flags::HANDSHAKE | self.ecn_consent();
        let option = if self.accecn.is_some() && !self.handshake.request.is_resent() { self.option_bytes } else { 0 };
        let p = self.packet(0, SYN_FRAME + option, answer, self.control_ecn());
        self.counters.sent += 1;
        out.send(End::Sender, p);
        self.set_timer(out, Pending::Retransmit, self.handshake.request.timeout());
    }

    /// Nothing came after the SYN-ACK.
    pub(super) fn on_syn_ack_timeout(&mut self, out: &mut impl Outbox) {
        self.handshake.request.note_timeout();
        self.answer_syn(out);
    }

    /// The packet that ends the handshake arrives, at the server: its application begins to write.
    #[inline(never)]
    pub(super) fn on_accept(&mut self, p: &Segment, out: &mut impl Outbox) {
        let since_sent = || (self.view.mstamp_us - self.handshake.sent_us).max(1) as u32;
        let rtt_us = if self.handshake.request.is_resent() { self.us_since_echo(p) } else { Some(since_sent()) };
        self.hear_third_ack(p);
        self.establish(p, rtt_us);
        self.begin_counting();
        self.note_write();
        self.open_buffer(out);
    }

    /// Time since what this answers was sent, us: of a SYN or a SYN-ACK that was retransmitted the timestamps tell which it is
    /// (`tcp_ack_update_rtt`). None without timestamps.
    fn us_since_echo(&self, p: &Segment) -> Option<u32> {
        self.timestamps.then(|| 1000 * self.ms_since_echo(p.tsecr).unwrap_or(1))
    }

    /// The SYN-ACK completes the handshake; data follows at once. One that comes again is answered (`tcp_send_challenge_ack`).
    pub(in crate::tcp::linux) fn on_syn_ack(&mut self, p: &Segment, out: &mut impl Outbox) {
        if self.phase == Phase::Established {
            return self.answer_late(p, out);
        }
        if self.phase != Phase::SynSent {
            return;
        }
        self.hear_of_ecn(p, flags::ECE);
        let rtt_us = self.rtt_of_syn(p);
        self.establish(p, rtt_us);
        self.peer.note_syn_ack();
        if self.handshake.retransmits > 0 && self.answers_resent_syn(p) {
            self.pace_as_after_lost_syn();
        }
        if self.handshake.retransmits > 0 && !self.sack {
            self.hold_loss_of_syn();
        }
        let ecn = if self.accecn.is_some() { self.ecn.codepoint() } else { self.control_ecn() };
        let ack = self.packet(1, ACK_FRAME, flags::HANDSHAKE | self.accurate_reflection(), ecn);
        self.begin_counting();
        self.counters.sent += 1;
        out.send(End::Sender, ack);
        self.note_bare_departure(out.now());
        self.note_write();
        self.open_buffer(out);
    }

    /// The application begins to write.
    fn open_buffer(&mut self, out: &mut impl Outbox) {
        self.buffer.grow(self.window.cwnd, self.reordering.degree());
        if self.layout.is_stream() {
            self.take_written(out);
        } else if !self.tso.enabled {
            self.fill_buffer(out.now());
        }
        self.write_refilled(out);
    }

    /// True if a SYN-ACK does not echo the first SYN, which would show that no timeout was due (`tcp_try_undo_recovery`, `tcp_init_transfer`).
    fn answers_resent_syn(&self, p: &Segment) -> bool {
        u64::from(p.tsecr) != self.handshake.sent_us / 1000
    }

    /// The SYN's timeout has left a window of one segment, which the rate is that of until data are acknowledged (`tcp_enter_loss`,
    /// `tcp_update_pacing_rate`).
    #[cold]
    fn pace_as_after_lost_syn(&mut self) {
        if !self.needs.cong_control {
            let cwnd = std::mem::replace(&mut self.window.cwnd, 1);
            self.update_pacing_rate();
            self.window.cwnd = cwnd;
        }
    }

    /// The connection is established by the packet `p`; `rtt_us`: since ours that it answers, if it is known which.
    pub(super) fn establish(&mut self, p: &Segment, rtt_us: Option<u32>) {
        let was_crossed = std::mem::replace(&mut self.phase, Phase::Established) == Phase::Crossed;
        self.clear_timer();
        self.form.tsecr = p.tsval;
        self.view.snd_una = 1;
        self.view.snd_nxt = 1;
        self.view.delivered = 1;
        self.board.highest_sacked = 1;
        self.usage.begin(1);
        if self.layout.is_stream() {
            self.update_window_in_bytes(p.window, 1, true);
        } else {
            self.take_peer_window(p.window, 1);
            if self.peer.is_small() && !self.tso.enabled {
                self.become_stream();
            }
        }
        match rtt_us {
            Some(rtt_us) => self.take_rtt(rtt_us, rtt_us, false),
            None => self.rtt.fall_back(),
        }
        let times_out = !was_crossed && self.handshake.retransmits > 1 && self.answers_resent_syn(p);
        if times_out || self.handshake.request.shrinks_window() {
            self.window.cwnd = 1;
        }
        self.view.mss = self.mss_now();
        self.cc.init(&self.view, &mut self.window);
        if self.needs.cong_control {
            self.window.pacing_rate = self.window.pacing_rate.min(self.pacing.max_rate());
        } else {
            self.update_pacing_rate();
        }
    }
}
