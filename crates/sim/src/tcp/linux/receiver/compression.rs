//! ACKs merged while a gap stays (Linux 6.12 net/ipv4/tcp_input.c `__tcp_ack_snd_check`, tcp_timer.c `tcp_compressed_ack_kick`).

use super::Receiver;
use crate::outbox::Outbox;
use crate::time::{Time, MS, NEVER, US};

/// Duplicate ACKs sent at once before compression sets in.
const DUPACKS_AT_ONCE: u32 = 3;
/// ACKs merged at most (sysctl tcp_comp_sack_nr).
const MERGED_MAX: u32 = 44;
/// Longest compression (sysctl tcp_comp_sack_delay_ns) and the timer's slack, ns.
const DELAY_MAX: Time = MS;
const SLACK: Time = 100 * US;

/// Duplicate ACKs held back. Told of every duplicate ACK that is due, and of every ACK that is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compression {
    source: usize,
    enabled: bool,
    /// Duplicate ACKs sent for the present gap, and which that is.
    sent: u32,
    gap: u32,
    /// Duplicate ACKs held back.
    held: u32,
}

impl Compression {
    /// Nothing is held back.
    pub fn new(source: usize, enabled: bool) -> Self {
        Self { source, enabled, sent: 0, gap: 0, held: 0 }
    }

    /// ACKs are held back.
    #[inline]
    pub fn holds(&self) -> bool {
        self.held > 0
    }

    /// A duplicate ACK for `rcv_nxt` is due; true if it is held back.
    fn hold(&mut self, rcv_nxt: u32) -> bool {
        if self.gap != rcv_nxt {
            self.gap = rcv_nxt;
            self.sent = 0;
        }
        let holds = self.enabled && self.held < MERGED_MAX && self.sent >= DUPACKS_AT_ONCE;
        if holds {
            self.held += 1;
        } else {
            self.sent += 1;
        }
        holds
    }

    /// An ACK says what the ones held back would have said.
    #[inline]
    pub fn note_ack(&mut self, out: &mut impl Outbox) {
        if self.held > 0 {
            self.held = 0;
            self.disarm(out);
        }
    }

    /// The timer's event has come, or is not needed any more.
    pub fn disarm(&self, out: &mut impl Outbox) {
        out.set_timer(self.source, NEVER);
    }
}

impl Receiver {
    /// Sends what is being held back (when its time has come, or a block would be forgotten unsent).
    pub(super) fn flush_compressed(&mut self, out: &mut impl Outbox) {
        if self.compression.holds() {
            self.send_ack(self.rcv_nxt, out);
        }
    }

    /// Sends a duplicate ACK, or holds it back for a twentieth of an RTT.
    pub(super) fn compress_ack(&mut self, out: &mut impl Outbox) {
        if !self.compression.hold(self.rcv_nxt) {
            self.send_ack(self.rcv_nxt, out);
        } else if self.compression.held == 1 {
            let (rtt_us8, srtt_us) = (self.buffer.rtt_us8(), self.rtt.srtt_us);
            let rtt_us8 = if srtt_us > 0 { rtt_us8.min(srtt_us << 3) } else { rtt_us8 };
            let delay = DELAY_MAX.min(rtt_us8 * 125 / 20);
            out.set_timer(self.compression.source, out.now() + delay + SLACK);
        }
    }
}
