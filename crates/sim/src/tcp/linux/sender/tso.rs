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
    /// Where the first skb ends that was not sent, and where the next one ends if that has given away its beginning: bytes of payload.
    head_end: u64,
    next_end: Option<u64>,
    /// An skb takes in from the next one what the window allows.
    grows: bool,
    /// Segments of the first skb.
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
    pub fn new(enabled: bool, mss: u32, grows: bool) -> Self {
        Self {
            enabled,
            most: most_segments(mss),
            head_end: 0,
            next_end: None,
            grows,
            left: 0,
            deferred: None,
            last_sent: 0,
            last_start: 0,
            short_end: 0,
        }
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

    /// The application has written: skbs leave as they are full, so that none takes in anything from the next one, until one has to wait
    /// (`tcp_push_one`).
    pub(super) fn push_written(&mut self, out: &mut impl Outbox) -> u32 {
        let nothing_waited = self.buffer.filled_from <= self.view.snd_nxt;
        let grows = self.tso.grows;
        self.tso.grows &= !nothing_waited;
        let sent = self.write(out, false);
        self.tso.grows = grows;
        sent
    }

    /// Payload of the first skb that was not sent, of which `most` segments may go, bytes (`tcp_sendmsg_locked`, `tcp_grow_skb`).
    fn head_skb(&mut self, most: u32) -> u64 {
        let mss = u64::from(self.mss_now());
        let goal = (u64::from(MAX_TSO_BYTES.min(self.peer.most_at_once())) / mss).max(1) * mss;
        let (at, written) = (self.layout.before(self.view.snd_nxt), self.layout.before(self.buffer.written));
        let tso = &mut self.tso;
        while tso.head_end <= at {
            tso.head_end = tso.next_end.take().unwrap_or(tso.head_end + goal);
        }
        let missing = (u64::from(most) * mss).saturating_sub(tso.head_end - at);
        if tso.grows && missing > 0 && tso.head_end < written {
            let next_end = tso.next_end.unwrap_or(tso.head_end + goal);
            let end = (tso.head_end + missing).min(next_end).min(written);
            tso.next_end = (end < next_end.min(written)).then_some(next_end);
            tso.head_end = end;
        }
        tso.head_end.min(written) - at
    }

    /// How many new segments go as the next TSO segment, for which the congestion window has room for `quota`; none if it waits. The last one may
    /// fill the receiver's window without being full, if no other that does is outstanding (`tcp_mss_split_point`, `tcp_minshall_check`).
    pub(super) fn next_tso_segment(
        &mut self,
        now: Time,
        quota: u32,
        probe: bool,
        limited: &mut bool,
        receiver_limited: &mut bool,
    ) -> Option<u32> {
        let next = self.view.snd_nxt;
        let room = self.peer.end().saturating_sub(next);
        let limit = self.tso_limit();
        let half = if self.stack.tso_half_window { (self.window.cwnd / 2).max(1) } else { quota };
        let most = quota.min(half).min(limit);
        let (mss, len) = (u64::from(self.mss_now()), self.head_skb(most));
        self.tso.left = (self.tso.head_end - self.layout.before(next)).div_ceil(mss) as u32;
        if room == 0 {
            *receiver_limited = true;
            return None;
        }
        if self.layout.payload(next) == 0 {
            return Some(1);
        }
        if !probe && self.tso_defers(now, (limit, room), len, limited, receiver_limited) {
            return None;
        }
        let (at, window) = (self.layout.before(next), self.room_in_bytes());
        let mut bytes = len.min(u64::from(most) * mss).min(window.max(u64::from(self.layout.payload(next))));
        if self.tso.short_end > self.view.snd_una && bytes > mss {
            bytes -= bytes % mss;
        }
        let mut n = self.layout.find(at + bytes).min(self.buffer.written) - next;
        if next + n > self.close.fin() && self.layout.payload(self.close.fin()) == 0 {
            n = self.close.fin() - next;
        }
        let rest = bytes - self.layout.span(next, next + n);
        if rest > 0 {
            self.cut(next + n, rest as u32);
            n += 1;
        }
        if bytes < u64::from(n) * mss {
            self.tso.short_end = next + n;
        }
        self.tso.grows |= self.stack.tso_grow && bytes < len;
        (self.tso.last_sent, self.tso.last_start) = (now, next);
        Some(n)
    }

    /// True if sending an skb of `len` bytes should wait for more window. `limit` is that of [`Self::tso_limit`], `room` what the receiver's window
    /// leaves in full segments, and `limited` is set if it is the congestion window that is waited for, `receiver_limited` if it is the receiver's.
    fn tso_defers(
        &mut self,
        now: Time,
        (limit, room): (u32, u32),
        len: u64,
        limited: &mut bool,
        receiver_limited: &mut bool,
    ) -> bool {
        if len <= u64::from(self.mss_now()) {
            return false;
        }
        if matches!(self.stack.tso_defer, TsoDefer::TwoTicks | TsoDefer::Third) {
            return self.defers_for_third(limit, room);
        }
        let mss = u64::from(self.mss_now());
        let quota = u64::from(self.window.cwnd.saturating_sub(self.view.in_flight())) * mss;
        let window = self.room_in_bytes();
        if !self.defers_until_ack(now, u64::from(limit) * mss, quota.min(window)) {
            return false;
        }
        let by_window = quota < window && quota <= len;
        let by_receiver = quota >= window && window <= len;
        *limited |= by_window;
        *receiver_limited |= by_receiver;
        // With a FIN it gets no more data to wait for.
        by_window || by_receiver || !self.close.is_below(self.view.snd_nxt + self.tso.left)
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

    /// Until the next ACK, if that is near, unless a full TSO segment, all of an skb that gets no more, or a third of the window may go: `limit` and
    /// `sendable` are bytes.
    fn defers_until_ack(&self, now: Time, limit: u64, sendable: u64) -> bool {
        let last = if self.view.is_paced { self.view.departure_ns } else { self.tso.last_sent };
        if self.view.state >= CaState::Recovery || now > last + MS {
            return false;
        }
        let (at, written) = (self.layout.before(self.view.snd_nxt), self.layout.before(self.buffer.written));
        let is_whole = self.tso.head_end < written && sendable >= self.tso.head_end - at;
        let window = u64::from(self.peer.bytes()).min(u64::from(self.window.cwnd) * u64::from(self.mss_now()));
        if sendable >= limit || is_whole || sendable >= window / u64::from(WINDOW_DIVISOR) || self.view.packets_out == 0
        {
            return false;
        }
        let srtt_ns = u64::from(self.view.srtt_us8) * 125;
        let head_ns = self.board.get(self.view.snd_una).sent_us() * 1000;
        if self.stack.tso_defer == TsoDefer::HeadOld {
            now.saturating_sub(head_ns) >= srtt_ns / 2
        } else {
            head_ns + srtt_ns <= now + (srtt_ns / 2).min(MS)
        }
    }

    /// Payload of a full segment, which a small window bounds.
    pub(super) fn mss_now(&self) -> u32 {
        self.layout.mss().min(self.peer.most_at_once().max(1))
    }
}
