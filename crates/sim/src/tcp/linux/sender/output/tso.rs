//! TSO: how many segments the stack hands to the device at once, and when it waits for more window to make that larger (Linux 6.12
//! net/ipv4/tcp_output.c, `tcp_tso_autosize`, `tcp_tso_should_defer`; TSO segments that are always filled up and wait for two ticks: Linux
//! 3.9). A TSO segment is a run of full segments that the device cuts apart; on the line it is a burst.

use crate::cc::CaState;
use crate::outbox::Outbox;
use crate::tcp::linux::sender::output::transmit::{Push, NONE};
use crate::tcp::linux::sender::Sender;
use crate::tcp::linux::stack::TsoDefer;
use crate::time::{Time, MS};

/// Payload of the largest TSO segment, bytes (64 KiB less headers; `sk_setup_caps`, `tcp_xmit_size_goal`).
pub(in crate::tcp::linux::sender) const MAX_TSO_BYTES: u32 = 65_536 - (192 + 1);
/// It carries about 1/1024 s at the pacing rate (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// Added to that on short paths, halved for each step of the minimum RTT (`gso_max_size`), bytes.
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
    /// Tick since which more window is waited for.
    deferred: Option<u32>,
    /// First segment behind the last one that ended early (`snd_sml`).
    short_end: u32,
}

/// The largest TSO segment, segments of `mss` bytes.
pub(in crate::tcp::linux::sender) fn most_segments(mss: u32) -> u32 {
    (MAX_TSO_BYTES / mss).max(1)
}

impl Tso {
    pub fn new(enabled: bool, mss: u32) -> Self {
        Self { enabled, most: most_segments(mss), deferred: None, short_end: 0 }
    }
}

impl Sender {
    /// Largest TSO segment now, segments.
    pub(in crate::tcp::linux::sender) fn tso_limit(&self) -> u32 {
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
        ((bytes.min(u64::from(MAX_TSO_BYTES)) / u64::from(self.mss_now())) as u32).max(self.window.min_tso_segments)
    }

    /// How many new segments go as the next TSO segment, for which the congestion window has room for `quota`; none if it waits (`tcp_write_xmit`).
    pub(in crate::tcp::linux::sender) fn next_tso_segment(
        &mut self,
        now: Time,
        quota: u32,
        push: Push,
        limited: &mut bool,
        receiver_limited: &mut bool,
    ) -> Option<u32> {
        let limit = self.tso_limit();
        let half = if self.stack.tso_half_window { (self.window.cwnd / 2).max(1) } else { quota };
        let most = quota.min(half).min(limit);
        let mss = u64::from(self.mss_now());
        let (allowed, window) = (u64::from(most) * mss, self.room_in_bytes());
        if self.stack.tso_grow {
            self.skbs.grow_head(allowed.saturating_sub(self.skbs.head_len()));
        }
        let (mut len, is_tail) = (self.skbs.head_len(), self.skbs.head_is_tail());
        let has_fin = is_tail && self.close.is_requested();
        if !self.window_takes_head() {
            *receiver_limited = true;
            return None;
        }
        let nagle_off = self.nodelay || self.stream.is_pushed || push == Push::Probe;
        let may_be_short = nagle_off || !self.has_short_outstanding();
        if len <= mss {
            if len < mss && is_tail && !may_be_short && !has_fin && self.view.packets_out > 0 {
                return None;
            }
        } else {
            if push == Push::Pending && self.tso_defers(now, limit, len, limited, receiver_limited) {
                return None;
            }
            let mut at_most = allowed;
            if allowed > window || is_tail {
                // The last segment may fill the receiver's window or end what is written without being full (tcp_mss_split_point).
                let needed = len.min(window);
                if needed < allowed {
                    at_most = if may_be_short || self.view.packets_out == 0 { needed } else { needed - needed % mss };
                }
            }
            if at_most < len {
                self.skbs.cut_head(at_most);
                len = at_most;
            }
        }
        let n = self.cut_in_segments(len, mss);
        if len > 0 && len < u64::from(n) * mss {
            self.tso.short_end = self.view.snd_nxt + n;
        }
        Some(n)
    }

    /// Sends the first skb, which ends before segment `to`; returns how many segments went.
    #[inline(never)]
    pub(in crate::tcp::linux::sender) fn send_skb(&mut self, out: &mut impl Outbox, to: u32) -> u32 {
        let from = self.view.snd_nxt;
        let push = self.skbs.head_is_pushed() || (self.stack.tso_push && to > from + 1);
        let last = if push { to - 1 } else { NONE };
        let sent = if self.sending.is_noted() {
            self.send_noted_segments(out, to, last)
        } else {
            self.send_segments(out, to, last)
        };
        self.note_bare_departure(out.now());
        if sent > 0 {
            if self.view.snd_nxt < to {
                self.skbs.cut_head(self.layout.span(from, self.view.snd_nxt));
            }
            self.skbs.send_head(self.view.snd_nxt);
            self.check_growth();
        }
        sent
    }

    /// The first segment of the next skb lies in the receiver's window (`tcp_snd_wnd_test`).
    pub(in crate::tcp::linux::sender) fn window_takes_head(&self) -> bool {
        let (mss, len) = (u64::from(self.mss_now()), self.skbs.head_len());
        let has_fin = self.skbs.head_is_tail() && self.close.is_requested();
        let needed = if len > mss { mss } else { len + u64::from(has_fin) };
        needed <= self.room_in_bytes()
    }

    /// A segment that is not full is outstanding (`tcp_minshall_check`).
    fn has_short_outstanding(&self) -> bool {
        self.tso.short_end > self.view.snd_una && self.tso.short_end <= self.view.snd_nxt
    }

    /// The next `bytes` go in segments of `mss` bytes, but for the last; returns how many these are.
    fn cut_in_segments(&mut self, bytes: u64, mss: u64) -> u32 {
        let next = self.view.snd_nxt;
        let n = (bytes.div_ceil(mss) as u32).max(1);
        let is_full = mss == u64::from(self.layout.mss()) && bytes == u64::from(n) * mss;
        if !is_full || self.layout.next_short(next) < next + n {
            self.lay_out(bytes, mss as u32);
        }
        n
    }

    /// True if sending an skb of `len` bytes should wait for more window. `limit` is that of [`Self::tso_limit`], and `limited` is set if it is the
    /// congestion window that is waited for, `receiver_limited` if it is the receiver's.
    fn tso_defers(&mut self, now: Time, limit: u32, len: u64, limited: &mut bool, receiver_limited: &mut bool) -> bool {
        let mss = u64::from(self.mss_now());
        if matches!(self.stack.tso_defer, TsoDefer::TwoTicks | TsoDefer::Third) {
            return self.defers_for_third(limit, len.div_ceil(mss) as u32);
        }
        let quota = u64::from(self.window.cwnd.saturating_sub(self.view.in_flight())) * mss;
        let window = self.room_in_bytes();
        let is_tail = self.skbs.head_is_tail();
        if !self.defers_until_ack(now, u64::from(limit) * mss, quota.min(window), (len, is_tail), self.mss_now()) {
            return false;
        }
        let by_window = quota < window && quota <= len;
        let by_receiver = quota >= window && window <= len;
        *limited |= by_window;
        *receiver_limited |= by_receiver;
        // With a FIN it gets no more data to wait for.
        by_window || by_receiver || !(self.close.is_requested() && self.skbs.head_is_tail())
    }

    /// Segments that may be sent are a third of the window. Linux compares bytes.
    fn is_third(&self, sendable: u32, window: u32) -> bool {
        let mss = u64::from(self.layout.mss());
        u64::from(sendable) * mss >= u64::from(window) * mss / u64::from(WINDOW_DIVISOR)
    }

    /// If the TSO segment, of an skb of so many `segments`, is not full and a third of the window is not free, two ticks at most.
    fn defers_for_third(&mut self, limit: u32, segments: u32) -> bool {
        let room = self.peer.end().saturating_sub(self.view.snd_nxt);
        let (now, bounded) = (self.view.jiffies, self.stack.tso_defer == TsoDefer::TwoTicks);
        let overdue = bounded && self.tso.deferred.is_some_and(|since| now.wrapping_sub(since) > 1);
        let sendable = room.min(self.window.cwnd - self.view.in_flight().min(self.window.cwnd));
        let window = self.window.cwnd.min(self.peer.end() - self.view.snd_una);
        let enough = sendable >= limit.min(segments) || self.is_third(sendable, window);
        let ends = self.close.is_requested() && self.skbs.head_is_tail();
        if self.view.state != CaState::Open || overdue || enough || ends {
            self.tso.deferred = None;
            return false;
        }
        self.tso.deferred.get_or_insert(now);
        true
    }

    /// Until the next ACK, if that is near, unless a full TSO segment, all of an skb that gets no more, or a third of the window may go: `limit`,
    /// `sendable` and the length of the skb are bytes, and `is_tail` tells whether that is the last.
    pub(super) fn defers_until_ack(
        &self,
        now: Time,
        limit: u64,
        sendable: u64,
        (len, is_tail): (u64, bool),
        mss: u32,
    ) -> bool {
        if self.view.state >= CaState::Recovery || now > self.view.departure_ns + MS {
            return false;
        }
        let is_whole = !is_tail && sendable >= len;
        let window = u64::from(self.peer.bytes()).min(u64::from(self.window.cwnd) * u64::from(mss));
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
    pub(in crate::tcp::linux::sender) fn mss_now(&self) -> u32 {
        self.layout.mss().min(self.peer.most_at_once().max(1))
    }
}
