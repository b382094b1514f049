//! TSO: how many segments the stack hands to the device at once, and when it waits for more window to make that larger (Linux 6.12
//! net/ipv4/tcp_output.c, `tcp_tso_autosize`, `tcp_tso_should_defer`; TSO segments that are always filled up and wait for two ticks: Linux
//! 3.9). A TSO segment is a run of full segments that the device cuts apart; on the line it is a burst.

use super::Sender;
use crate::cc::CaState;
use crate::outbox::Outbox;
use crate::tcp::linux::stack::TsoDefer;
use crate::time::{Time, MS};

/// Payload of the largest TSO segment, bytes (64 KiB less headers; `sk_setup_caps`, `tcp_xmit_size_goal`).
const MAX_TSO_BYTES: u32 = 65_536 - (192 + 1);
/// That of the first one: it is written when the receiver has advertised no more than 64 KiB, and is bound to half of that.
const FIRST_TSO_BYTES: u32 = 65_535 / 2;
/// It carries about 1/1024 s at the pacing rate (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// Added to that on short paths, halved for each step of the least RTT (`gso_max_size`), bytes.
const GSO_MAX_SIZE: u64 = 65_536;
/// Sending more than a third of the window is never deferred (sysctl tcp_tso_win_divisor).
const WINDOW_DIVISOR: u32 = 3;

/// State of a sender's segmentation offload.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::linux) struct Tso {
    /// The device cuts segments: the stack builds TSO segments at all.
    pub enabled: bool,
    /// The largest TSO segment, segments.
    pub most: u32,
    /// Segments that are left of the one that the application's write filled.
    left: u32,
    /// Tick since which more window is waited for.
    deferred: Option<u32>,
    /// Last transmission.
    last_sent: Time,
    /// First segment of the last TSO segment.
    last_start: u32,
    /// First segment behind the last one that ended early (`snd_sml`).
    short_end: u32,
}

/// The largest TSO segment, segments of `mss` bytes.
pub(super) fn most_segments(mss: u32) -> u32 {
    (MAX_TSO_BYTES / mss).max(1)
}

impl Tso {
    pub fn new(enabled: bool, mss: u32) -> Self {
        let (most, first) = (most_segments(mss), (FIRST_TSO_BYTES / mss).max(1));
        Self { enabled, most, left: first, deferred: None, last_sent: 0, last_start: 0, short_end: 0 }
    }

    /// First segment behind the last one that ended early.
    pub fn short_end(&self) -> u32 {
        self.short_end
    }

    /// A segment ends early, before `end`.
    pub fn note_short(&mut self, end: u32) {
        self.short_end = end;
    }

    /// First segment of the TSO segment that was sent last.
    pub fn last_start(&self) -> u32 {
        self.last_start
    }
}

impl Sender {
    /// Largest TSO segment now, segments.
    pub(super) fn tso_limit(&self) -> u32 {
        if !self.stack.tso_autosize {
            return self.tso.most;
        }
        let mut bytes = self.window.pacing_rate >> PACING_SHIFT;
        if let Some(log) = self.stack.tso_rtt_log {
            let halvings = self.view.min_rtt_us >> log;
            if halvings < u32::BITS {
                bytes += GSO_MAX_SIZE >> halvings;
            }
        }
        ((bytes / u64::from(self.layout.mss())).min(u64::from(self.tso.most)) as u32).max(self.window.min_tso_segments)
    }

    /// Sends a TSO segment of at most `n` new segments, or a single one without TSO; returns how many went.
    #[inline(always)]
    pub(super) fn send_tso_segment(&mut self, out: &mut impl Outbox, n: u32) -> u32 {
        if !self.tso.enabled {
            return self.send_run(out, n);
        }
        (self.tso.last_sent, self.tso.last_start) = (out.now(), self.view.snd_nxt);
        let sent = self.send_run(out, n.min(self.tso.left));
        self.tso.left = if self.tso.left > sent { self.tso.left - sent } else { self.tso.most };
        sent
    }

    /// True if sending should wait for more window. `limit` is that of [`Self::tso_limit`], `room` what the receiver's window leaves, and
    /// `limited` is set if it is the congestion window that is waited for, `receiver_limited` if it is the receiver's.
    pub(super) fn tso_defers(
        &mut self,
        now: Time,
        limit: u32,
        room: u32,
        limited: &mut bool,
        receiver_limited: &mut bool,
    ) -> bool {
        if self.tso.left <= 1 {
            false
        } else if matches!(self.stack.tso_defer, TsoDefer::TwoTicks | TsoDefer::Third) {
            self.defers_for_third(limit, room)
        } else {
            let wait = self.defers_until_ack(now, limit, room);
            let quota = self.window.cwnd - self.view.in_flight().min(self.window.cwnd);
            *limited |= wait && quota < room && quota <= self.tso.left;
            *receiver_limited |= wait && quota >= room && room <= self.tso.left;
            wait
        }
    }

    /// Segments that may be sent are a third of the window. Linux compares bytes.
    fn is_third(&self, sendable: u32, window: u32) -> bool {
        let mss = u64::from(self.layout.mss());
        u64::from(sendable) * mss >= u64::from(window) * mss / u64::from(WINDOW_DIVISOR)
    }

    /// If the TSO segment is not full and a third of the window is not free, two ticks at most.
    fn defers_for_third(&mut self, limit: u32, room: u32) -> bool {
        let (now, bounded) = (self.view.jiffies, self.stack.tso_defer == TsoDefer::TwoTicks);
        let overdue = bounded && self.tso.deferred.is_some_and(|since| now.wrapping_sub(since) > 1);
        let sendable = room.min(self.window.cwnd - self.view.in_flight().min(self.window.cwnd));
        let window = self.window.cwnd.min(self.peer.end() - self.view.snd_una);
        let enough = sendable >= limit.min(self.tso.left) || self.is_third(sendable, window);
        let ends = self.close.is_below(self.view.snd_nxt + self.tso.left);
        if self.view.state != CaState::Open || overdue || enough || ends {
            self.tso.deferred = None;
            return false;
        }
        self.tso.deferred.get_or_insert(now);
        true
    }

    /// Until the next ACK, if that is near.
    fn defers_until_ack(&self, now: Time, limit: u32, room: u32) -> bool {
        let last = if self.view.is_paced { self.view.departure_ns } else { self.tso.last_sent };
        if self.view.state >= CaState::Recovery || now > last + MS {
            return false;
        }
        let quota = self.window.cwnd - self.view.in_flight().min(self.window.cwnd);
        let sendable = room.min(quota);
        if sendable >= limit || sendable >= self.tso.left {
            return false;
        }
        let window = self.window.cwnd.min(self.peer.end() - self.view.snd_una);
        if self.is_third(sendable, window) || self.view.packets_out == 0 {
            return false;
        }
        let srtt_ns = u64::from(self.view.srtt_us8) * 125;
        let head_ns = self.board.get(self.view.snd_una).sent_us() * 1000;
        let wait = if self.stack.tso_defer == TsoDefer::HeadOld {
            now.saturating_sub(head_ns) >= srtt_ns / 2
        } else {
            head_ns + srtt_ns <= now + (srtt_ns / 2).min(MS)
        };
        // With a FIN it gets no more data to wait for.
        let segments = self.tso.left.min(self.buffer.written - self.view.snd_nxt);
        if self.close.is_below(self.view.snd_nxt + segments) && sendable > segments {
            return false;
        }
        wait
    }
}
