//! The send buffer: how far the application has written, and how the buffer grows (Linux 6.12 net/ipv4/tcp_input.c
//! `tcp_sndbuf_expand`, `tcp_check_space`; net/core/stream.c). The application writes until the buffer is full and comes back when a
//! third of it is free. As long as the buffer grows with the window nobody notices; at its limit (sysctl `tcp_wmem`, or an explicit
//! SO_SNDBUF) the sender runs dry in between.
//!
//! Leaves out: memory pressure, `TCP_NOTSENT_LOWAT`.
//!
//! With TSO the data lie in skbs of many segments (`skbs`), and are written by `sendmsg`: then only what those are charged is known here.

use std::collections::VecDeque;

use crate::cc::{Renumbering, View};
use crate::spec::HostSettings;
use crate::tcp::linux::sender::peer_window::PeerWindow;
use crate::tcp::linux::stack::Stack;

/// Bytes that are counted on top of a segment when the buffer grows: room for headers (`MAX_TCP_HEADER` of a kernel without tunnels and
/// WLAN) and shared info, in an allocation of a power of two; and an sk_buff.
const GROWTH_BESIDE: u64 = 192 + 320;
const GROWTH_SK_BUFF: u64 = 256;
/// Least window counted on, segments.
const LEAST_WINDOW: u32 = 10;

/// Send buffer of a connection. Wide because what an ACK asks is computed ahead: what a segment is charged, and when there is room again.
#[derive(Clone, Debug)]
pub(in crate::tcp::linux) struct SendBuffer {
    /// First segment that is not written yet.
    pub written: u32,
    /// First segment beyond the transfer.
    end: u32,
    size: u64,
    /// The most that it grows to; None: it has a size of its own.
    most: Option<u64>,
    /// Window that the size was made for.
    grown_for: u32,
    /// First unacknowledged segment that shows the application that a third is free, if none is SACKed.
    refill_from: u32,
    /// Charged for a segment beside its payload, bytes, and all in all.
    head: u64,
    per_segment: u64,
    /// Windows that it has room for when it grows.
    windows: u64,
    /// Memory counted on for a segment when it grows, bytes.
    growth: u64,
    /// SACKed segments that are joined to the one before give back their heads; and how many have.
    merges: bool,
    merged: u32,
    /// Segments with the PSH bit that are not acknowledged yet, in order.
    pushed: VecDeque<u32>,
    /// The first of them that was not sent yet; the largest number if there is none.
    pub next_push: u32,
    /// There are skbs of many segments; what these are charged now, bytes.
    tso: bool,
    charged: u64,
    /// First segment after the last PSH.
    pushed_until: u32,
    /// The application writes now and then: each write ends in a PSH. What of it is here, bytes.
    stream: bool,
    payload: u64,
    /// True if the last segment of the transfer is not full.
    short_end: bool,
    /// The application was told that there is room, and has not written yet.
    is_awake: bool,
}

impl SendBuffer {
    /// The buffer of a sender of segments of `mss` bytes, whose MSS option says `option`.
    pub fn new(host: &HostSettings, stack: &Stack, [mss, option]: [u32; 2], end: u32, windows: u8) -> Self {
        let head = u64::from(stack.send_head());
        let (mss, option) = (u64::from(mss), u64::from(option));
        Self {
            written: 1,
            end,
            size: host.sndbuf.unwrap_or(host.wmem[1]),
            grown_for: 0,
            refill_from: 0,
            most: host.sndbuf.is_none().then_some(host.wmem[2]),
            head,
            per_segment: mss + head,
            windows: u64::from(windows),
            growth: match stack.growth_beside {
                Some(beside) => option + u64::from(beside),
                None => (option + GROWTH_BESIDE).next_power_of_two() + GROWTH_SK_BUFF,
            },
            merges: stack.merge_sacked && !host.tso,
            merged: 0,
            tso: host.tso,
            charged: 0,
            pushed: VecDeque::new(),
            next_push: u32::MAX,
            pushed_until: 1,
            stream: false,
            payload: 0,
            short_end: false,
            is_awake: false,
        }
    }

    /// The same, of a transfer whose last segment is `short`.
    pub fn ending_short(mut self, short: bool) -> Self {
        self.short_end = short;
        self
    }

    /// Makes this the buffer of a stream that is written up to segment `written`; `more`: and whose application waits for room.
    pub fn become_stream(&mut self, written: u32, more: bool) {
        self.stream = true;
        (self.written, self.end) = (written, written + u32::from(more));
    }

    /// First segment after the last one with the PSH bit.
    pub fn pushed_until(&self) -> u32 {
        self.pushed_until
    }

    /// A stream has room for one more segment (`sk_stream_memory_free`).
    pub fn has_room(&self, v: &View) -> bool {
        self.used(v) < self.size
    }

    /// A stream was written up to segment `written`; `more`: there was no room for all of it.
    pub fn extend(&mut self, written: u32, more: bool) {
        self.is_awake = false;
        (self.written, self.end) = (written, written + u32::from(more));
    }

    /// A stream has so many bytes that are written and not acknowledged.
    pub fn note_payload(&mut self, payload: u64) {
        self.payload = payload;
    }

    /// So many more bytes of a stream are written.
    pub fn add_payload(&mut self, bytes: u64) {
        self.payload += bytes;
    }

    /// A segment is new or has gone.
    pub fn renumber(&mut self, r: Renumbering) {
        for number in [&mut self.written, &mut self.end, &mut self.refill_from, &mut self.pushed_until] {
            r.apply(number);
        }
        self.pushed.iter_mut().for_each(|seq| r.apply_to_flag(seq));
        if self.next_push < u32::MAX {
            r.apply_to_flag(&mut self.next_push);
        }
    }

    /// The application adds to the last segment, if that was not sent: its write does not end there any more.
    pub fn unpush_last(&mut self, snd_nxt: u32) {
        if self.pushed.back().is_some_and(|&seq| seq >= snd_nxt && seq + 1 == self.written) {
            self.pushed.pop_back();
            self.pushed_until = self.pushed.back().map_or(snd_nxt, |&seq| seq + 1);
            self.next_push = self.pushed.iter().copied().find(|&seq| seq >= snd_nxt).unwrap_or(u32::MAX);
        }
    }

    /// The application writes now and then.
    pub fn is_stream(&self) -> bool {
        self.stream
    }

    /// The application has written all there is.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.written == self.end
    }

    /// A FIN in a segment of its own goes after all that is written. There is always room for it.
    pub fn append_bare(&mut self) {
        self.written += 1;
        self.end += 1;
    }

    /// Charged for an skb beside its payload, bytes.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// True if there is no room for another skb when so many bytes are charged.
    pub fn is_full(&self, charged: u64) -> bool {
        charged >= self.size
    }

    /// Skbs are charged so many bytes.
    pub fn note_charged(&mut self, charged: u64) {
        self.charged = charged;
    }

    /// Skbs were written up to the segment `written`, of which the last may not be as long yet as it is to be; `more`: and there is more to write.
    pub fn note_written(&mut self, written: u32, more: bool) {
        (self.written, self.end) = (written, written + u32::from(more));
    }

    /// The application writes, and does not wait for room.
    pub fn begin_to_write(&mut self) {
        self.is_awake = true;
    }

    /// The application has found no room, and waits for it.
    pub fn wait_for_room(&mut self) {
        self.is_awake = false;
    }

    /// False if [`Self::wakes`] has nothing to do while nothing is SACKed.
    #[inline]
    pub fn may_refill(&self, v: &View, cwnd: u32, window_full: bool, reordering: u32) -> bool {
        v.snd_una >= self.refill_from || (!window_full && cwnd.max(reordering + 1) > self.grown_for)
    }

    /// After an ACK was processed and what it allows was sent: true if there is room enough for the application to come back and
    /// [write](Self::fill). Until it has done that, nothing is asked again.
    #[inline(always)]
    pub fn wakes(&mut self, v: &View, cwnd: u32, window_full: bool, reordering: u32) -> bool {
        if self.written == self.end || self.is_awake {
            return false;
        }
        if !window_full {
            self.grow(cwnd, reordering);
        }
        self.is_awake = if v.sacked_out == 0 && !self.stream && !self.tso {
            v.snd_una >= self.refill_from
        } else {
            let used = self.used(v);
            self.size.saturating_sub(used) >= used >> 1
        };
        self.is_awake
    }

    /// The application was [woken](Self::wakes) and has not written since.
    pub fn is_awake(&self) -> bool {
        self.is_awake
    }

    /// The application has more to write than there was room for, and was not [woken](Self::wakes) since.
    #[inline]
    pub fn waits_for_room(&self) -> bool {
        self.written < self.end && !self.is_awake
    }

    /// Computes when a third is free next: `used + used / 2 <= size`.
    fn plan_refill(&mut self) {
        let used = (2 * self.size + 1) / 3;
        let segments = used / self.per_segment;
        self.refill_from = self.written.saturating_sub(u32::try_from(segments).unwrap_or(u32::MAX));
    }

    /// SACKed segments give back their heads when they are joined.
    pub fn merges(&self) -> bool {
        self.merges
    }

    /// For tests: how many SACKed segments are joined to the one before.
    #[cfg(test)]
    pub fn merged(&self) -> u32 {
        self.merged
    }

    /// A SACKed segment was joined to the one before.
    pub fn note_merged(&mut self) {
        self.merged += 1;
    }

    /// A SACKed segment is acknowledged.
    pub fn forget_merged(&mut self, merged: bool) {
        self.merged -= u32::from(merged);
    }

    /// A SACKed segment does not count as SACKed any more. (Linux does not take apart what was joined.)
    pub fn forget_all_merged(&mut self) {
        self.merged = 0;
    }

    /// Bytes charged now.
    fn used(&self, v: &View) -> u64 {
        if self.tso {
            return self.charged;
        }
        let segments = u64::from(self.written - v.snd_una);
        self.charged(if self.stream { self.payload } else { segments * (self.per_segment - self.head) }, v)
    }

    /// Bytes charged for so much payload that is here.
    pub fn charged(&self, payload: u64, v: &View) -> u64 {
        payload + u64::from(self.written - v.snd_una - self.merged) * self.head
    }

    /// True if segment `seq` has the PSH bit.
    #[inline]
    pub fn is_pushed(&self, seq: u32) -> bool {
        self.pushed.binary_search(&seq).is_ok()
    }

    /// The application writes as long as less than the whole buffer is used, so that the last allocation may overshoot.
    /// Segments leave as they are full. If the last one is left when all is written, because it is short or cannot be sent, it has the PSH bit;
    /// and so has the end of every half of the largest window (`tcp_push`, `forced_push`).
    /// The congestion window and pacing let `allowed` segments go now.
    pub fn fill(&mut self, v: &View, allowed: u32, peer: &PeerWindow) {
        self.is_awake = false;
        let room = self.size.saturating_sub(self.used(v));
        let segments = room.div_ceil(self.per_segment);
        let from = self.written;
        self.written = from.saturating_add(u32::try_from(segments).unwrap_or(u32::MAX)).min(self.end);
        self.plan_refill();
        while self.pushed.front().is_some_and(|&seq| seq < v.snd_una) {
            self.pushed.pop_front();
        }
        let half = (peer.largest() / 2).max(1);
        while self.pushed_until + half < self.written {
            self.push(self.pushed_until + half);
        }
        let allowed = allowed.min(peer.end().saturating_sub(v.snd_nxt));
        let short = self.short_end && self.written == self.end;
        let waits = short || self.written - v.snd_nxt > allowed;
        if waits && self.written > from && self.written > self.pushed_until {
            self.push(self.written - 1);
        }
    }

    /// Segment `seq`, which is sent next, has the PSH bit.
    pub fn push_next(&mut self, seq: u32) {
        let at = self.pushed.partition_point(|&other| other < seq);
        if self.pushed.get(at) != Some(&seq) {
            self.pushed.insert(at, seq);
            self.pushed_until = self.pushed_until.max(seq + 1);
        }
        self.next_push = seq;
    }

    /// Segment `next_push` was sent.
    pub fn push_sent(&mut self) {
        let after = self.pushed.partition_point(|&seq| seq <= self.next_push);
        self.next_push = self.pushed.get(after).copied().unwrap_or(u32::MAX);
    }

    /// The written data take one segment more.
    pub fn take_in_one_more(&mut self) {
        self.written += u32::from(self.written == self.end);
        self.end += 1;
    }

    /// Segment `seq`, above all that have it, has the PSH bit.
    pub fn push(&mut self, seq: u32) {
        self.next_push = self.next_push.min(seq);
        self.pushed.push_back(seq);
        self.pushed_until = seq + 1;
    }

    /// Grows if it has room for less than two windows.
    #[inline]
    pub fn grow(&mut self, cwnd: u32, reordering: u32) {
        let window = cwnd.max(LEAST_WINDOW).max(reordering + 1);
        if window > self.grown_for {
            self.grow_for(window);
        }
    }

    fn grow_for(&mut self, window: u32) {
        self.grown_for = window;
        if let Some(most) = self.most {
            self.size = self.size.max((self.windows * u64::from(window) * self.growth).min(most));
            self.plan_refill();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Growth;
    use crate::packet::{MSS, TIMESTAMPS};

    /// A window of so many segments, far above what is written.
    fn wide(segments: u32) -> PeerWindow {
        let mut peer = PeerWindow::new(MSS);
        peer.update(segments * MSS, 10_000 - segments);
        peer
    }

    fn host(sndbuf: Option<u64>, most: u64) -> HostSettings {
        HostSettings {
            tso: false,
            rmem: [4096, 131_072, 6_291_456],
            sender_rmem: None,
            rcvbuf: None,
            wmem: [4096, 16_384, most],
            sndbuf,
            cached_ssthresh: None,
            reads_bps: None,
            nodelay: false,
            max_pacing_bps: None,
        }
    }

    fn stack() -> Stack {
        let spec = crate::spec::StackSpec { name: "linux-6.12".into(), options: serde_json::Map::new() };
        Stack::from_spec(&spec).unwrap()
    }

    fn view(snd_una: u32, snd_nxt: u32) -> View {
        let mut v = View::new(1000, Growth::Segments, false);
        (v.snd_una, v.snd_nxt, v.packets_out) = (snd_una, snd_nxt, snd_nxt - snd_una);
        v
    }

    /// The application writes first.
    fn open(b: &mut SendBuffer, cwnd: u32, window: u32) {
        b.grow(cwnd, 3);
        b.fill(&view(1, 1), cwnd, &wide(window));
    }

    /// True if the application comes back, which writes at once.
    fn refill(b: &mut SendBuffer, v: &View, cwnd: u32, window_full: bool) -> bool {
        let wakes = b.wakes(v, cwnd, window_full, 3);
        if wakes {
            b.fill(v, cwnd.saturating_sub(v.in_flight()), &wide(40));
        }
        wakes
    }

    #[test]
    fn a_new_buffer_takes_two_windows() {
        let mut b = SendBuffer::new(&host(None, 4 << 20), &stack(), [MSS, MSS + TIMESTAMPS], u32::MAX, 2);
        open(&mut b, 10, 40);
        assert_eq!(b.written, 1 + 46_080_u32.div_ceil(2280));
    }

    #[test]
    fn the_application_comes_back_when_a_third_is_free() {
        let mut b = SendBuffer::new(&host(Some(228_000), 0), &stack(), [MSS, MSS + TIMESTAMPS], u32::MAX, 2);
        open(&mut b, 200, 40);
        assert_eq!(b.written, 101);
        assert!(!refill(&mut b, &view(34, 101), 200, false), "66 of 100 segments are still there");
        assert!(refill(&mut b, &view(35, 101), 200, false));
        assert_eq!(b.written, 135);
    }

    #[test]
    fn what_is_sacked_gives_room_only_where_it_is_merged() {
        for (merge_sacked, room) in [(true, true), (false, false)] {
            let mut b = SendBuffer::new(
                &host(Some(228_000), 0),
                &Stack { merge_sacked, ..stack() },
                [MSS, MSS + TIMESTAMPS],
                u32::MAX,
                2,
            );
            open(&mut b, 200, 40);
            let mut v = view(21, 101);
            v.sacked_out = 79;
            if b.merges() {
                (0..78).for_each(|_| b.note_merged());
            }
            assert_eq!(refill(&mut b, &v, 200, false), room);
        }
    }

    #[test]
    fn it_grows_only_while_the_window_is_not_full() {
        let mut b = SendBuffer::new(&host(None, 4 << 20), &stack(), [MSS, MSS + TIMESTAMPS], u32::MAX, 2);
        open(&mut b, 10, 40);
        refill(&mut b, &view(10, 30), 20, true);
        assert_eq!(b.size, 46_080);
        refill(&mut b, &view(12, 22), 20, false);
        assert_eq!(b.size, 2 * 20 * 2304);
    }

    #[test]
    fn a_write_that_waits_ends_in_a_push_and_so_does_half_a_window() {
        let pushed = |cwnd| {
            let mut b = SendBuffer::new(&host(Some(228_000), 0), &stack(), [MSS, MSS + TIMESTAMPS], u32::MAX, 2);
            open(&mut b, cwnd, 80);
            (1..200).filter(|&seq| b.is_pushed(seq)).collect::<Vec<_>>()
        };
        assert_eq!(pushed(99), [41, 82, 100]);
        assert_eq!(pushed(100), [41, 82]);
    }

    #[test]
    fn a_transfer_ends() {
        let mut b = SendBuffer::new(&host(None, 4 << 20), &stack(), [MSS, MSS + TIMESTAMPS], 5, 2);
        open(&mut b, 10, 40);
        assert_eq!(b.written, 5);
        assert!(!refill(&mut b, &view(3, 5), 10, false));
    }
}
