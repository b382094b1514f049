//! The client's half of the handshake (RFC 9293 section 3.5; Linux 6.12 net/ipv4/tcp_input.c, `tcp_rcv_synsent_state_process`, and
//! tcp_timer.c for lost SYNs).

use super::{Pending, Phase, Sender};
use crate::cc::CongestionControl;
use crate::outbox::{End, Outbox};
use crate::packet::{flags, Packet, Verdict, ACK_FRAME, SYN_FRAME};

/// The SYNs sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Handshake {
    /// When the first was sent, us.
    sent_us: u64,
    retransmits: u32,
}

impl Sender {
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
        let p = self.packet(0, SYN_FRAME, flags::SYN, self.control_ecn());
        self.counters.sent += 1;
        out.send(End::Sender, p)
    }

    /// No SYN-ACK came in time.
    pub(super) fn on_syn_timeout(&mut self, out: &mut impl Outbox) {
        self.counters.rto_timeouts += 1;
        self.handshake.retransmits += 1;
        if self.send_syn(out) == Verdict::Dropped {
            return self.set_timer(out, Pending::Retransmit, self.ticks_to_local_retry());
        }
        if self.handshake.retransmits > self.stack.syn_linear_timeouts {
            self.rtt.back_off();
        }
        self.set_timer(out, Pending::Retransmit, self.rto_ticks());
    }

    /// The SYN-ACK completes the handshake; data follows at once.
    pub(in crate::tcp::linux) fn on_syn_ack(&mut self, p: &Packet, out: &mut impl Outbox) {
        if self.phase != Phase::SynSent {
            return;
        }
        let rtt_us = self.view.mstamp_us - self.handshake.sent_us;
        let once = self.handshake.retransmits == 0;
        self.establish(p, once.then_some(rtt_us.max(1) as u32));
        let ack = self.packet(1, ACK_FRAME, flags::HANDSHAKE, self.control_ecn());
        self.counters.sent += 1;
        out.send(End::Sender, ack);
        self.buffer.open(&self.view, self.window.cwnd, &self.peer, self.reordering.degree());
        self.write_refilled(out);
    }

    /// The connection is established by the packet `p`; `rtt_us`: since ours that it answers, if that was sent once.
    pub(super) fn establish(&mut self, p: &Packet, rtt_us: Option<u32>) {
        self.phase = Phase::Established;
        self.clear_timer();
        self.form.tsecr = p.tsval;
        self.view.snd_una = 1;
        self.view.snd_nxt = 1;
        self.view.delivered = 1;
        self.board.highest_sacked = 1;
        self.usage.begin(1);
        self.peer.update(p.window, 1);
        if let Some(rtt_us) = rtt_us {
            self.take_rtt(rtt_us, rtt_us, false);
        }
        if self.handshake.retransmits > 1 {
            self.window.cwnd = 1;
        }
        self.cc.init(&self.view, &mut self.window);
        self.update_pacing_rate();
    }
}
