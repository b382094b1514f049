//! Sending: the transmit loop, chunk sizes and deferral, the window-limited test (Linux 6.12 net/ipv4/tcp_output.c; chunks that fill up and
//! wait two ticks: Linux 3.9).
//!
//! Leaves out: pacing, TSQ, Nagle for short writes (the application writes ahead), congestion window decay when idle.

use super::options::LossDetection;
use super::recovery::Recovery;
use super::sender::{Pending, Phase, Sender};
use super::stack::{CwndLimited, TsoDefer};
use super::tcb::{CaState, MSS};
use crate::cc::{CongestionControl, Event};
use crate::network::Network;
use crate::packet::{flags, Packet};
use crate::qdisc::Verdict;
use crate::time::{Time, MS};

/// Largest chunk, segments (64 KiB less headers; `tcp_xmit_size_goal`).
pub(super) const MAX_CHUNK: u32 = 45;
/// The first one, segments: it is written when the receiver has advertised no more than 64 KiB, and is bound to half of that.
const FIRST_CHUNK: u32 = 22;
/// Smallest chunk that the pacing rate asks for (sysctl tcp_min_tso_segs).
const MIN_CHUNK: u32 = 2;
/// A chunk carries about 1/1024 s at the pacing rate.
const PACING_SHIFT: u32 = 10;
/// Sending more than a third of the window is never deferred (sysctl tcp_tso_win_divisor).
const WINDOW_DIVISOR: u32 = 3;

/// No segment.
pub(super) const NONE: u32 = u32::MAX;

/// How the sender groups segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunks {
    /// Multi-segment chunks are built at all.
    pub enabled: bool,
    /// Segments left of the buffer that the application's write filled.
    left: u32,
    /// Tick since which more window is waited for.
    deferred: Option<u32>,
    /// Last transmission.
    last_sent: Time,
}

impl Chunks {
    pub fn new(enabled: bool) -> Self {
        Self { enabled, left: FIRST_CHUNK, deferred: None, last_sent: 0 }
    }
}

impl Sender {
    /// Largest chunk now, segments.
    fn chunk_limit(&self) -> u32 {
        if !self.chunks.enabled {
            return 1;
        }
        if !self.stack.tso_autosize {
            return MAX_CHUNK;
        }
        let mut bytes = self.t.pacing_rate >> PACING_SHIFT;
        if let Some(log) = self.stack.tso_rtt_log {
            let r = self.t.min_rtt_us >> log;
            if r < 32 {
                bytes += 65_536 >> r;
            }
        }
        ((bytes / u64::from(MSS)).min(u64::from(MAX_CHUNK)) as u32).max(MIN_CHUNK)
    }

    /// Sends what the windows allow; as a probe (`probe`) one segment beyond the congestion window.
    pub(super) fn write(&mut self, net: &mut Network, probe: bool) -> u32 {
        if self.phase != Phase::Established {
            return 0;
        }
        let idle = self.t.packets_out == 0;
        let (mut sent, mut limited, mut receiver_limited) = (0, false, false);
        while self.has_data() {
            let mut quota = self.t.cwnd.saturating_sub(self.t.in_flight());
            if quota == 0 {
                if !probe {
                    break;
                }
                quota = 1;
            }
            let room = self.window_end.saturating_sub(self.t.snd_nxt);
            if room == 0 {
                receiver_limited = true;
                break;
            }
            if !self.chunks.enabled {
                // Nothing is decided between single segments: they go in one run.
                sent = self.send_run(net, if probe { 1 } else { quota.min(room) });
                break;
            }
            let limit = self.chunk_limit();
            if self.chunks.left > 1 && !probe {
                let wait = if self.stack.tso_defer == TsoDefer::TwoTicks {
                    self.defer_two_ticks(limit, room)
                } else {
                    self.defer(net.now(), limit, room, &mut limited)
                };
                if wait {
                    break;
                }
            }
            if self.stack.tso_half_window {
                quota = quota.min((self.t.cwnd / 2).max(1));
            }
            let n = self.send_chunk(net, quota.min(limit).min(room).min(self.chunks.left));
            sent += n;
            if probe || n == 0 {
                break;
            }
        }
        limited |= self.t.in_flight() >= self.t.cwnd;
        self.note_sent(sent, limited);
        if sent > 0 {
            let rearm = idle || matches!(self.pending, Pending::LossProbe | Pending::EarlyRetransmit);
            if (probe || !self.schedule_loss_probe(net, false)) && rearm {
                self.rearm_rto(net);
            }
        } else if self.t.packets_out == 0 && !receiver_limited && self.has_data() {
            self.set_timer(net, Pending::Resend, self.rto_jiffies());
        }
        sent
    }

    /// Notes that `sent` segments were sent, and whether the window `limited` that.
    #[inline]
    pub(super) fn note_sent(&mut self, sent: u32, limited: bool) {
        if sent > 0 || (limited && self.stack.cwnd_limited == CwndLimited::Sticky) {
            self.validate_cwnd(limited);
        }
        if self.t.in_reduction() {
            self.rec.prr_out += sent;
        }
    }

    /// Sends a chunk of at most `n` new segments; returns how many went.
    fn send_chunk(&mut self, net: &mut Network, n: u32) -> u32 {
        self.chunks.last_sent = net.now();
        let sent = self.send_run(net, n);
        self.chunks.left = if self.chunks.left > sent { self.chunks.left - sent } else { MAX_CHUNK };
        sent
    }

    /// Sends at most `n` new segments back to back; returns how many went (fewer after a local drop).
    #[inline]
    fn send_run(&mut self, net: &mut Network, n: u32) -> u32 {
        if self.t.in_flight() == 0 {
            self.cc.cwnd_event(&mut self.t, Event::TxStart);
        }
        let end = self.t.snd_nxt.saturating_add(n);
        let last_of_chunk = if self.chunks.enabled && self.stack.push_chunks && n > 1 { end - 1 } else { NONE };
        self.send_segments(net, self.buffer.written.min(end), last_of_chunk)
    }

    /// Sends the new segments below `to`; returns how many went. They are counted together. `last_of_chunk` ends a chunk, unless it is
    /// [`NONE`] or not sent.
    #[inline(always)]
    pub(super) fn send_segments(&mut self, net: &mut Network, to: u32, last_of_chunk: u32) -> u32 {
        self.t.last_sent_jiffies = self.t.jiffies;
        let from = self.t.snd_nxt;
        debug_assert!(self.buffer.next_push >= from);
        let mut special = if self.queue_cwr { from } else { self.next_special(from).min(last_of_chunk) };
        let mut seq = from;
        let mut dropped = false;
        while seq < to {
            let p = Packet { seq, ..self.form };
            let verdict = if seq == special {
                let verdict = self.send_special(net, p, seq == from, seq == last_of_chunk);
                special = self.next_special(seq + 1).min(last_of_chunk);
                verdict
            } else {
                net.send(p)
            };
            if self.is_local_drop(verdict) {
                dropped = true;
                break;
            }
            seq += 1;
        }
        let sent = seq - from;
        self.counters.sent += u64::from(sent) + u64::from(dropped);
        if sent > 0 {
            self.queue_cwr = false;
            self.board.push_run(self.t.snd_una, from..seq, self.t.mstamp_us, self.t.delivered);
            self.t.snd_nxt = seq;
            self.t.packets_out += sent;
        }
        if dropped {
            self.enter_cwr();
        }
        sent
    }

    /// The first segment from `seq` on that may be short or have a flag for what the application wrote.
    #[inline]
    fn next_special(&self, seq: u32) -> u32 {
        self.layout.next_short(seq).min(self.buffer.next_push)
    }

    /// Sends the new segment `p`, `first` of its run or `last` of a chunk, which may be short or have flags.
    #[inline(never)]
    fn send_special(&mut self, net: &mut Network, p: Packet, first: bool, last: bool) -> Verdict {
        let seq = p.seq;
        let cwr = first && self.queue_cwr && self.ecn;
        let pushed = seq == self.buffer.next_push;
        let push = pushed || last || self.layout.ends_first_write(seq);
        let flags = if cwr { flags::CWR } else { 0 } | if push { flags::PSH } else { 0 };
        let verdict = net.send(Packet { len: self.frame_len(seq) as u16, flags, ..p });
        if pushed && !self.is_local_drop(verdict) {
            self.buffer.push_sent();
        }
        verdict
    }

    /// True if the sender learns that its packet was dropped.
    #[inline]
    fn is_local_drop(&self, verdict: Verdict) -> bool {
        verdict == Verdict::Dropped && self.local_first_port
    }

    /// True if sending should wait for more window, two ticks at most, if a chunk is not full and a third of the window is not free.
    fn defer_two_ticks(&mut self, limit: u32, room: u32) -> bool {
        let now = self.t.jiffies;
        let overdue = self.chunks.deferred.is_some_and(|since| now.wrapping_sub(since) > 1);
        let sendable = room.min(self.t.cwnd - self.t.in_flight().min(self.t.cwnd));
        let window = self.t.cwnd.min(self.window_end - self.t.snd_una);
        let enough = sendable >= limit.min(self.chunks.left) || sendable * MSS >= window * MSS / WINDOW_DIVISOR;
        if self.t.state != CaState::Open || overdue || enough {
            self.chunks.deferred = None;
            return false;
        }
        self.chunks.deferred.get_or_insert(now);
        true
    }

    /// True if sending should wait for more window (Nagle for chunks).
    fn defer(&self, now: Time, limit: u32, room: u32, limited: &mut bool) -> bool {
        if self.t.state >= CaState::Recovery || now > self.chunks.last_sent + MS {
            return false;
        }
        let quota = self.t.cwnd - self.t.in_flight().min(self.t.cwnd);
        let sendable = room.min(quota);
        if sendable >= limit || sendable >= self.chunks.left {
            return false;
        }
        let window = self.t.cwnd.min(self.window_end - self.t.snd_una);
        // Linux compares bytes: a third of the window, not of its segments.
        if sendable * MSS >= window * MSS / WINDOW_DIVISOR || self.t.packets_out == 0 {
            return false;
        }
        let srtt_ns = u64::from(self.t.srtt_us8) * 125;
        let head_ns = self.board.get(self.t.snd_una).sent_us() * 1000;
        let wait = if self.stack.tso_defer == TsoDefer::HeadOld {
            now - head_ns >= srtt_ns / 2
        } else {
            head_ns + srtt_ns <= now + (srtt_ns / 2).min(MS)
        };
        if wait && quota < room && quota <= self.chunks.left {
            *limited = true;
        }
        wait
    }

    /// Notes whether the window limited sending, for the growth to come.
    fn validate_cwnd(&mut self, limited: bool) {
        let t = &mut self.t;
        let new_window = t.snd_una >= self.cwnd_usage_seq;
        let refresh = match self.stack.cwnd_limited {
            CwndLimited::Sticky => limited || new_window || (!t.is_cwnd_limited && t.packets_out > t.max_packets_out),
            CwndLimited::AtMaximum => new_window || t.packets_out > t.max_packets_out,
            // The ACK tells.
            CwndLimited::AtAck => false,
        };
        if refresh {
            t.is_cwnd_limited = limited;
            t.max_packets_out = t.packets_out;
            self.cwnd_usage_seq = t.snd_nxt;
        }
    }

    fn noted_at_retransmission(&self) -> u32 {
        match self.stack.loss_detection {
            LossDetection::Rack => self.t.delivered,
            LossDetection::Fack | LossDetection::Sack => self.t.snd_nxt,
        }
    }

    /// Retransmits segment `seq`; false if the window or the local queue forbids it.
    pub(super) fn retransmit(&mut self, net: &mut Network, seq: u32, count_as_lost: bool) -> bool {
        use super::scoreboard::mark;
        if seq >= self.window_end && seq != self.t.snd_una {
            return false;
        }
        let p = self.packet(seq, self.frame_len(seq), flags::RETRANSMISSION | self.push_flag(seq), self.control_ecn());
        self.counters.sent += 1;
        self.counters.retransmits += 1;
        let verdict = net.send(p);
        let dropped = self.is_local_drop(verdict);
        if dropped {
            self.enter_cwr();
        }
        let now = self.t.mstamp_us;
        let noted = self.noted_at_retransmission();
        self.board.unlist(seq);
        self.board.append(seq);
        let segment = self.board.get_mut(seq);
        segment.marks |= mark::EVER_RETRANS;
        if !dropped {
            segment.set_sent_us(now);
            segment.noted = noted;
        }
        if count_as_lost {
            if !dropped {
                if self.t.retrans_out == 0 {
                    self.fack.lost_retrans_low = self.t.snd_nxt;
                }
                self.board.get_mut(seq).marks |= mark::RETRANS;
                self.t.retrans_out += 1;
            }
            let stamp = self.ts_ms();
            let rec: &mut Recovery = &mut self.rec;
            rec.retrans_stamp.get_or_insert(stamp);
            rec.undo_retrans = rec.undo_retrans.max(0) + 1;
        }
        !dropped
    }
}
