//! The persist timer: probes of a window that is closed while nothing is outstanding (RFC 9293 section 3.8.6.1; Linux 6.12
//! net/ipv4/tcp_output.c `tcp_send_probe0`, `tcp_write_wakeup`; tcp_timer.c `tcp_probe_timer`; tcp_input.c `tcp_ack_probe`;
//! include/net/tcp.h `tcp_check_probe_timer`, `tcp_probe0_when`). The same timer tries again what the host's own queue dropped.
//!
//! Leaves out: giving up after 15 probes without an answer.

use super::{Pending, Sender};
use crate::outbox::{End, Outbox};
use crate::packet::Verdict;
use crate::tcp::common::lazy_timer::Ticks;

/// When it is tried again to send what a timer was for and the host's own queue dropped, us (`TCP_RESOURCE_PROBE_INTERVAL`).
const RESOURCE_PROBE_INTERVAL_US: u64 = 500_000;

impl Sender {
    /// Nothing is outstanding, and what there is to send could not be sent: sees after a while whether it can.
    #[cold]
    #[inline(never)]
    pub(super) fn persist(&mut self, out: &mut impl Outbox) {
        if self.timer.pending() == Pending::Nothing {
            self.set_timer(out, Pending::Persist, self.ticks_to_first_probe() + self.pacing_delay(out.now()));
        }
    }

    /// An ACK came while nothing was outstanding: the window is open, or is probed later.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp::linux) fn answer_of_probe(&mut self, out: &mut impl Outbox) {
        if !self.has_data() {
            return;
        }
        let is_open = if self.tso.enabled {
            self.skbs.head_len() <= self.room_in_bytes()
        } else {
            self.view.snd_nxt < self.peer.end()
        };
        if is_open {
            self.rtt.end_probes();
            self.clear_timer();
        } else {
            self.set_timer(out, Pending::Persist, self.ticks_to_probe());
        }
    }

    /// The persist timer: sends one segment, or as much of it as there is window for, or asks whether the window is still closed.
    pub(super) fn on_persist_timer(&mut self, out: &mut impl Outbox) {
        self.timer.mark_done();
        if self.view.packets_out > 0 || !self.has_data() {
            return;
        }
        let fits = if self.layout.is_stream() { self.cut_to_window(out) } else { self.fit_probe(out) };
        let verdict = if fits { self.send_one(out) } else { self.send_probe(out) };
        if self.view.packets_out > 0 {
            self.rtt.end_probes();
            self.rearm_rto(out);
        } else if verdict == Verdict::Dropped {
            self.set_timer(out, Pending::Persist, self.ticks_to_local_retry());
        } else {
            self.rtt.back_off_probes();
            self.set_timer(out, Pending::Persist, self.ticks_to_probe());
        }
    }

    fn send_one(&mut self, out: &mut impl Outbox) -> Verdict {
        let first = self.view.snd_nxt;
        let sent = self.send_run(out, 1);
        self.note_in_host(first, sent);
        if sent > 0 {
            Verdict::Queued
        } else {
            Verdict::Dropped
        }
    }

    /// An ACK with a number that was acknowledged before, which the receiver answers.
    fn send_probe(&mut self, out: &mut impl Outbox) -> Verdict {
        let mut probe = self.bare_packet(out.now(), self.view.snd_una, 0);
        probe.seq = probe.seq.wrapping_sub(1);
        self.counters.sent += 1;
        let verdict = out.send(End::Sender, probe);
        if verdict != Verdict::Dropped {
            self.note_probe_in_host(self.view.snd_una - 1);
        }
        verdict
    }

    /// After how many ticks the window is probed for the first time (`tcp_probe0_base`), and next.
    fn ticks_to_first_probe(&self) -> u64 {
        self.rto_ticks().max(self.clock.from_ms(u64::from(self.stack.rto_min_ms)))
    }

    fn ticks_to_probe(&self) -> u64 {
        self.rtt.ticks_to_probe(self.ticks_to_first_probe())
    }

    /// After how many ticks it is tried again to send what a timer was for and the host's own queue dropped.
    pub(super) fn ticks_to_local_retry(&self) -> u64 {
        self.clock.in_ticks(RESOURCE_PROBE_INTERVAL_US)
    }
}
