//! Segments out of order: ranges, SACK blocks, and ACKs merged while a gap stays (RFC 2018; Linux 6.12 net/ipv4/tcp_input.c
//! `tcp_data_queue_ofo`, `tcp_sack_new_ofo_skb`, `__tcp_ack_snd_check`).

use super::{Receiver, COMPRESSED_MAX, COMPRESS_MAX, COMPRESS_SLACK, DUPACKS_AT_ONCE, SACK_MEMORY};
use crate::attachment::MAX_BLOCKS;
use crate::outbox::Outbox;
use crate::packet::Packet;
use crate::tcp::common::ranges;

impl Receiver {
    pub(super) fn out_of_order(&mut self, p: &Packet, out: &mut impl Outbox) {
        let seq = p.seq;
        self.on_codepoint(p.ecn(), self.rcv_nxt, out);
        self.scheduled = true;
        self.pushed |= self.ends_write(p);
        if !ranges::insert(&mut self.ooo, seq) {
            self.counters.duplicates += 1;
            self.dsack = Some((seq, seq + 1));
            return;
        }
        self.held += 1;
        self.buffer.measure();
        if self.widen_out_of_order && self.buffer.grow(self.held) {
            self.quick |= 1;
        }
        self.remember_sack(seq, out);
    }

    /// Keeps the most recent ranges, newest first.
    fn remember_sack(&mut self, seq: u32, out: &mut impl Outbox) {
        let touches = |b: &(u32, u32)| seq <= b.1 && b.0 <= seq + 1;
        if self.sacks.iter().position(touches).unwrap_or(self.sacks.len()) >= MAX_BLOCKS {
            self.flush_compressed(out);
        }
        ranges::put_first(&mut self.sacks, seq, SACK_MEMORY);
    }

    /// Sends what is being held back (when its time has come, or a block would be forgotten unsent).
    pub(super) fn flush_compressed(&mut self, out: &mut impl Outbox) {
        if self.compressed > 0 {
            self.send_ack(self.rcv_nxt, out);
        }
    }

    pub(super) fn compress_ack(&mut self, out: &mut impl Outbox) {
        if self.dupacks_at != self.rcv_nxt {
            self.dupacks_at = self.rcv_nxt;
            self.dupacks = 0;
        }
        if !self.compress || self.compressed >= COMPRESSED_MAX || self.dupacks < DUPACKS_AT_ONCE {
            self.dupacks += 1;
            self.send_ack(self.rcv_nxt, out);
            return;
        }
        self.compressed += 1;
        if self.compressed == 1 {
            let rtt_us8 =
                if self.srtt_us > 0 { self.buffer.rtt_us8.min(self.srtt_us << 3) } else { self.buffer.rtt_us8 };
            let delay = COMPRESS_MAX.min(rtt_us8 * 125 / 20);
            out.set_timer(self.source + 1, out.now() + delay + COMPRESS_SLACK);
        }
    }
}
