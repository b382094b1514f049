//! Sending: the transmit loop, and the test whether the congestion window limits it (Linux 6.12 net/ipv4/tcp_output.c, `tcp_write_xmit`,
//! `tcp_cwnd_validate`). What is particular to TSO segments is in `tso`, the limit on what lies in the host's own queue in `small_queue`.
//!
//! Leaves out: Nagle for short writes (the application writes ahead), the byte that a FIN takes of the receiver's window.

use crate::cc::{CongestionControl, Event, Renumbering};
use crate::outbox::{End, Outbox};
use crate::packet::{Verdict, HEADERS};
use crate::segment::{flags, Segment};
use crate::tcp::linux::options::LossDetection;
use crate::tcp::linux::sender::output::pacing::Departing;
use crate::tcp::linux::sender::output::refit::Fit;
use crate::tcp::linux::sender::{Pending, Phase, Sender};
use crate::tcp::linux::stack::CwndLimited;

/// How much of the window is used.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp::linux) struct CwndUsage {
    /// Until when it is not asked again whether the window limits sending: once a round trip is enough.
    round_end: u32,
    /// Since when it was not full, ticks, and the most segments outstanding since.
    since: u32,
    used: u32,
}

impl CwndUsage {
    /// The connection is established: nothing below `seq` tells anything.
    pub fn begin(&mut self, seq: u32) {
        self.round_end = seq;
    }

    /// A segment in flight is new or has gone.
    pub fn renumber(&mut self, r: Renumbering) {
        r.apply(&mut self.round_end);
    }

    /// The control may have changed the window.
    #[inline]
    pub fn note_changed(&mut self, now: u32) {
        self.since = now;
    }

    /// The window is used to the full.
    #[inline]
    pub fn note_full(&mut self, now: u32) {
        (self.since, self.used) = (now, 0);
    }

    /// So much of it is used; returns for how many ticks it has not been full.
    pub fn note_used(&mut self, packets_out: u32, now: u32) -> u32 {
        self.used = self.used.max(packets_out);
        now.wrapping_sub(self.since)
    }

    /// Begins to count anew; returns the most that was used.
    pub fn begin_again(&mut self, now: u32) -> u32 {
        let used = self.used;
        self.note_full(now);
        used
    }
}

/// Result of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp::linux) enum Retransmission {
    Sent,
    /// Not tried: beyond the window, or still in the host's own queue.
    Held,
    /// The host's own queue dropped it.
    Dropped,
}

/// Part of the written data that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp::linux::sender) enum Push {
    /// All that the windows allow.
    Pending,
    /// The first skb, at once (`tcp_push_one`).
    One,
    /// One beyond the congestion window, as a loss probe.
    Probe,
    /// So many segments.
    AtMost(u32),
}

/// No segment.
pub(in crate::tcp::linux) const NONE: u32 = u32::MAX;

impl Sender {
    /// Sends what the windows allow; as a probe (`probe`) one segment beyond the congestion window.
    pub(in crate::tcp::linux) fn write(&mut self, out: &mut impl Outbox, probe: bool) -> u32 {
        self.write_inlined(out, probe)
    }

    /// [`Self::write`] of a part.
    #[inline(never)]
    pub(in crate::tcp::linux::sender) fn write_for(&mut self, out: &mut impl Outbox, push: Push) -> u32 {
        self.transmit(out, push)
    }

    /// [`Self::write`], for where it is called with most packets.
    #[inline(always)]
    pub(in crate::tcp::linux) fn write_inlined(&mut self, out: &mut impl Outbox, probe: bool) -> u32 {
        self.transmit(out, if probe { Push::Probe } else { Push::Pending })
    }

    #[inline(always)]
    fn transmit(&mut self, out: &mut impl Outbox, push: Push) -> u32 {
        let probe = push == Push::Probe;
        if self.phase != Phase::Established {
            return 0;
        }
        if !self.has_data() {
            // Nor is it asked whether the window limits sending (`tcp_push_pending_frames`).
            return 0;
        }
        if self.peer.is_small() {
            self.bound_to_half_window();
        }
        let idle = self.view.packets_out == 0;
        self.chrono_busy();
        let (mut sent, mut limited, mut receiver_limited) = (0, false, false);
        let mss = if self.layout.is_stream() { self.current_mss(out) } else { NONE };
        while self.has_data() {
            if self.is_early(out.now()) {
                self.wait_for_departure(out);
                break;
            }
            let mut quota = self.window.cwnd.saturating_sub(self.view.in_flight());
            if let Push::AtMost(most) = push {
                quota = quota.min(most - sent);
            }
            if quota == 0 {
                if !probe && !self.close.exceeds_window(self.view.snd_nxt) {
                    break;
                }
                quota = 1;
            }
            let room = if self.layout.is_stream() {
                match self.fit_next(mss, probe, (push == Push::Pending).then(|| out.now())) {
                    Fit::Fits => 1,
                    Fit::BeyondWindow => 0,
                    Fit::Waits => break,
                }
            } else {
                self.peer.end().saturating_sub(self.view.snd_nxt)
            };
            if room == 0 && !self.tso.enabled {
                receiver_limited = true;
                break;
            }
            if !self.sending.is_in_steps() {
                // Nothing is decided between two segments: they go in one run.
                sent = self.send_run(out, if probe { 1 } else { quota.min(room) });
                receiver_limited = !probe && room < quota && self.has_data() && self.view.snd_nxt >= self.peer.end();
                break;
            }
            let n = if self.tso.enabled {
                self.next_tso_segment(out.now(), quota, push, &mut limited, &mut receiver_limited)
            } else {
                Some(1)
            };
            let Some(n) = n else { break };
            if self.host_is_full_for_new(n) {
                break;
            }
            let first = self.view.snd_nxt;
            let n = self.send_run(out, n);
            self.note_in_host(first, n);
            if self.layout.is_stream() {
                self.note_short(first, n, mss);
                self.note_bare_departure(out.now());
            }
            sent += n;
            if matches!(push, Push::One | Push::Probe) || n == 0 {
                break;
            }
        }
        self.chrono_sent(receiver_limited);
        limited |= self.view.in_flight() >= self.window.cwnd;
        self.note_sent(sent, limited);
        if limited {
            self.usage.note_full(self.view.jiffies);
        } else if sent > 0 {
            self.use_less_than_window();
        }
        if sent > 0 {
            let rearm = idle || matches!(self.timer.pending(), Pending::LossProbe | Pending::EarlyRetransmit);
            if (probe || !self.schedule_loss_probe(out, false)) && rearm {
                self.rearm_rto(out);
            }
        } else if self.view.packets_out == 0 && push != Push::One {
            self.persist(out);
        }
        sent
    }

    /// Notes that `sent` segments were sent, and whether the window `limited` that.
    #[inline]
    pub(in crate::tcp::linux) fn note_sent(&mut self, sent: u32, limited: bool) {
        if sent > 0 || (limited && self.stack.cwnd_limited == CwndLimited::Sticky) {
            self.validate_cwnd(limited);
        }
        if self.view.in_reduction() {
            self.prr.count_sent(sent);
        }
    }

    /// Sends at most `n` new segments back to back; returns how many went (fewer after a local drop).
    #[inline(always)]
    pub(in crate::tcp::linux::sender) fn send_run(&mut self, out: &mut impl Outbox, n: u32) -> u32 {
        if self.view.in_flight() == 0 {
            self.cc.on_event(&self.view, &mut self.window, Event::TxStart);
        }
        let end = self.view.snd_nxt.saturating_add(n);
        let to = self.buffer.written.min(end);
        if self.tso.enabled {
            return self.send_skb(out, to);
        }
        if self.sending.is_noted() {
            self.send_noted_segments(out, to, NONE)
        } else {
            self.send_segments(out, to, NONE)
        }
    }

    /// [`Self::send_segments`], and what pacing and the rate sampler note of it.
    #[inline(never)]
    pub(in crate::tcp::linux::sender) fn send_noted_segments(
        &mut self,
        out: &mut impl Outbox,
        to: u32,
        tso_end: u32,
    ) -> u32 {
        let from = self.view.snd_nxt;
        if !self.view.is_paced {
            return self.send_unpaced_segments(out, to, tso_end);
        }
        let (departure, clock) = self.set_clock_to_departure(out.now());
        self.note_departure(from..to);
        let sent = if self.is_held_in_host() {
            self.send_segments_out_of_line(&mut Departing { at: departure, out }, to, tso_end)
        } else {
            self.send_segments(out, to, tso_end)
        };
        self.set_clock(clock);
        self.pace(out.now(), from, sent);
        sent
    }

    #[inline(never)]
    fn send_unpaced_segments(&mut self, out: &mut impl Outbox, to: u32, tso_end: u32) -> u32 {
        self.note_departure(self.view.snd_nxt..to);
        self.send_segments(out, to, tso_end)
    }

    #[cold]
    #[inline(never)]
    fn send_segments_out_of_line(&mut self, out: &mut impl Outbox, to: u32, tso_end: u32) -> u32 {
        self.send_segments(out, to, tso_end)
    }

    /// Sends the new segments below `to`; returns how many went. They are counted together. `tso_end` is the last one of a TSO segment; it is
    /// [`NONE`] where there are none, and need not be among those sent.
    #[inline(always)]
    pub(in crate::tcp::linux) fn send_segments(&mut self, out: &mut impl Outbox, to: u32, tso_end: u32) -> u32 {
        self.view.last_sent_jiffies = self.view.jiffies;
        let from = self.view.snd_nxt;
        debug_assert!(self.buffer.next_push >= from);
        let mut special = if self.ecn.cwr_queued() { from } else { self.next_special(from).min(tso_end) };
        let mut seq = from;
        let mut verdict = Verdict::Queued;
        while seq < to {
            verdict = if seq == special {
                let verdict = self.send_special(out, seq, seq == from, seq == tso_end);
                special = self.next_special(seq + 1).min(tso_end);
                verdict
            } else {
                out.send(End::Sender, Segment { seq, ..self.form })
            };
            if verdict != Verdict::Queued {
                break;
            }
            seq += 1;
        }
        let sent = seq - from;
        self.counters.sent += u64::from(sent);
        if sent > 0 {
            self.note_new(seq, sent);
        }
        if verdict == Verdict::Queued {
            sent
        } else {
            sent + self.on_local_drop(seq, verdict)
        }
    }

    /// The segments up to `end` were sent, `sent` of them.
    #[inline(always)]
    fn note_new(&mut self, end: u32, sent: u32) {
        self.ecn.unqueue_cwr();
        self.board.push_run(self.view.snd_una, end - sent..end, self.view.mstamp_us, self.view.delivered);
        self.view.snd_nxt = end;
        self.view.packets_out += sent;
        self.cc.on_sent(&self.view, &mut self.window, sent);
    }

    /// The host's own queue dropped something when segment `seq` was offered: the segment itself, or another one in its place. The window is
    /// reduced before the segment counts as sent. Returns how many were sent of it.
    #[cold]
    #[inline(never)]
    fn on_local_drop(&mut self, seq: u32, verdict: Verdict) -> u32 {
        self.counters.sent += 1;
        self.enter_cwr();
        if verdict == Verdict::Dropped {
            return 0;
        }
        self.note_new(seq + 1, 1);
        1
    }

    /// The first segment from `seq` on that may be short or have a flag for what the application did.
    #[inline]
    fn next_special(&self, seq: u32) -> u32 {
        self.layout.next_short(seq).min(self.buffer.next_push)
    }

    /// Sends the new segment `seq`, the `first` of its run or the `last` of a TSO segment, which may be short or have flags.
    #[inline(never)]
    fn send_special(&mut self, out: &mut impl Outbox, seq: u32, first: bool, last: bool) -> Verdict {
        let cwr = first && self.ecn.cwr_queued();
        let pushed = seq == self.buffer.next_push;
        let push = pushed || last || (!self.tso.enabled && self.layout.ends_first_write(seq));
        let mut p = Segment { seq: self.number(seq), len: self.frame_len(seq) as u16, ..self.form };
        if u32::from(p.len) == HEADERS {
            // A FIN without data: no first-time data, so that its codepoint is that of an ACK.
            p.set_ecn(self.control_ecn());
            p.flags |= flags::FIN;
        } else {
            let bits = [(cwr, flags::CWR), (push, flags::PSH), (self.close.flag_of(seq) != 0, flags::FIN)];
            p.flags = bits.iter().filter(|(has, _)| *has).fold(p.flags, |flags, (_, bit)| flags | bit);
        }
        let verdict = out.send(End::Sender, p);
        if pushed && verdict != Verdict::Dropped {
            self.buffer.push_sent();
        }
        verdict
    }

    /// Notes whether the window limited sending, for the growth to come.
    fn validate_cwnd(&mut self, limited: bool) {
        let v = &mut self.view;
        let new_window = v.snd_una >= self.usage.round_end;
        let refresh = match self.stack.cwnd_limited {
            CwndLimited::Sticky => limited || new_window || (!v.is_cwnd_limited && v.packets_out > v.max_packets_out),
            CwndLimited::AtMaximum => new_window || v.packets_out > v.max_packets_out,
            // The ACK tells.
            CwndLimited::AtAck | CwndLimited::FullAtAck => false,
        };
        if refresh {
            v.is_cwnd_limited = limited;
            v.max_packets_out = v.packets_out;
            self.usage.round_end = v.snd_nxt;
        }
    }

    fn noted_at_retransmission(&self) -> u32 {
        match self.stack.loss_detection {
            LossDetection::Rack => self.view.delivered,
            LossDetection::Fack | LossDetection::Sack => self.view.snd_nxt,
        }
    }

    /// Retransmits segment `seq` if the window and the host's own queue allow it.
    #[inline(never)]
    pub(in crate::tcp::linux) fn retransmit(
        &mut self,
        out: &mut impl Outbox,
        seq: u32,
        count_as_lost: bool,
    ) -> Retransmission {
        self.retransmit_inlined(out, seq, count_as_lost)
    }

    /// [`Self::retransmit`], for where most retransmissions are.
    #[inline(always)]
    pub(in crate::tcp::linux::sender) fn retransmit_inlined(
        &mut self,
        out: &mut impl Outbox,
        seq: u32,
        count_as_lost: bool,
    ) -> Retransmission {
        if self.tso.enabled {
            return self.resend_skb(out, seq, 1, count_as_lost);
        }
        if !self.view.is_paced {
            return self.send_again_unpaced(out, seq, 0, count_as_lost);
        }
        let (departure, clock) = self.set_clock_to_departure(out.now());
        let result = if self.is_held_in_host() {
            self.send_again_out_of_line(&mut Departing { at: departure, out }, seq, 0, count_as_lost)
        } else {
            self.send_again(out, seq, 0, count_as_lost)
        };
        self.set_clock(clock);
        if result == Retransmission::Sent {
            self.pace(out.now(), seq, 1);
        }
        result
    }

    #[inline(never)]
    pub(in crate::tcp::linux::sender) fn send_again_unpaced(
        &mut self,
        out: &mut impl Outbox,
        seq: u32,
        more: u16,
        count_as_lost: bool,
    ) -> Retransmission {
        self.note_bare_departure(out.now());
        self.send_again(out, seq, more, count_as_lost)
    }

    #[cold]
    #[inline(never)]
    pub(in crate::tcp::linux::sender) fn send_again_out_of_line(
        &mut self,
        out: &mut impl Outbox,
        seq: u32,
        more: u16,
        count_as_lost: bool,
    ) -> Retransmission {
        self.send_again(out, seq, more, count_as_lost)
    }

    /// Sends segment `seq` again, with `more` flags than it has.
    #[inline(always)]
    fn send_again(&mut self, out: &mut impl Outbox, seq: u32, more: u16, count_as_lost: bool) -> Retransmission {
        use crate::tcp::linux::sender::scoreboard::mark;
        if self.is_still_in_host(seq) {
            if count_as_lost {
                self.undo.note_retransmission(self.ts_ms());
            }
            return Retransmission::Held;
        }
        let fitted = if self.stream.counts_bytes {
            self.refit(seq, out)
        } else {
            Some(seq).filter(|&seq| seq < self.peer.end() || seq == self.view.snd_una)
        };
        let Some(seq) = fitted else { return Retransmission::Held };
        let more = flags::RETRANSMISSION | self.flags_of(seq) | more;
        let p = self.packet(seq, self.frame_len(seq), more, self.control_ecn());
        self.counters.sent += 1;
        self.counters.retransmits += 1;
        // A timeout takes all that is in flight as lost (tcp_event_data_sent).
        if self.view.in_flight() == 0 {
            self.cc.on_event(&self.view, &mut self.window, Event::TxStart);
        }
        self.view.last_sent_jiffies = self.view.jiffies;
        let verdict = out.send(End::Sender, p);
        let dropped = verdict == Verdict::Dropped;
        self.note_in_host(seq, u32::from(!dropped));
        if verdict != Verdict::Queued {
            self.enter_cwr();
        }
        let now = self.view.mstamp_us;
        let noted = self.noted_at_retransmission();
        self.board.unlist(seq);
        self.board.append(seq);
        if !dropped && self.sampler.is_some() {
            self.note_departure(seq..seq + 1);
        }
        let segment = self.board.get_mut(seq);
        segment.marks |= mark::EVER_RETRANS;
        if !dropped {
            segment.set_sent_us(now);
            segment.noted = noted;
        }
        if count_as_lost {
            if !dropped {
                if self.view.retrans_out == 0 {
                    self.fack.note_first_retransmission(self.view.snd_nxt);
                }
                self.board.get_mut(seq).marks |= mark::RETRANS;
                self.view.retrans_out += 1;
            }
            self.undo.note_retransmission(self.ts_ms());
        }
        if !dropped {
            self.cc.on_sent(&self.view, &mut self.window, 1);
            Retransmission::Sent
        } else {
            Retransmission::Dropped
        }
    }
}
