//! The sending half of an end that also receives: its application writes a stream of any sizes at any time (Linux 6.12 net/ipv4/tcp.c
//! `tcp_sendmsg_locked` and `tcp_push`; tcp_output.c `tcp_nagle_check`, `tcp_minshall_check`).
//!
//! Leaves out: autocorking.

use super::ack::flag;
use super::{Phase, Sender};
use crate::attachment::Blocks;
use crate::outbox::Outbox;
use crate::segment::Segment;
use crate::tcp::common::layout::Layout;
use crate::tcp::linux::request::Request;
use crate::time::{Time, MS};

/// The payload of a full segment before it is known, and the minimum one, bytes (TCP_MSS_DEFAULT; `tcp_bound_to_half_wnd`).
const MSS_UNKNOWN: u32 = 536;
const LEAST_MSS: u32 = 68 - 32;

/// The parts of a packet other than its ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp::linux) struct Beside {
    /// Data or a FIN.
    pub data: bool,
    /// Its own number is higher than that of the packet before it that changed the window, or lower.
    pub newer: bool,
    pub older: bool,
    /// Its ACK is news, and lies within a segment.
    pub advances: bool,
}

/// State that only the half of a stream has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stream {
    /// The numbers on the wire are those of bytes. Of a transfer they are those of segments.
    pub counts_bytes: bool,
    /// First number beyond the receiver's window.
    pub window_end: u64,
    /// The largest window ever, bytes, and the payload of a full segment, which is bound to half of it (`tcp_sync_mss`, `tcp_bound_to_half_wnd`).
    max_window: u32,
    pub mss: u32,
    /// Bytes that the application has written and the buffer had no room for.
    waiting: u64,
    /// First number beyond the last segment with the PSH bit (`pushed_seq`).
    pub pushed_until: u64,
    /// The first number that is not acknowledged, which may lie within a segment (`snd_una`).
    pub acked: u64,
    /// First segment beyond the last short one that was sent (`snd_sml`).
    pub short_end: u32,
    /// True if data sent now do not wait for more to be written (TCP_NAGLE_OFF of `__tcp_push_pending_frames`).
    pub is_pushed: bool,
    /// The packet in hand has a lower number than the one that changed the window last.
    is_old: bool,
}

impl Stream {
    /// A transfer in segments of `mss` bytes becomes a stream, `waiting` bytes of which are not in the buffer yet. `window`: the largest that was
    /// offered.
    pub fn begin_transfer(&mut self, waiting: u64, pushed_until: u64, mss: u32, window: u32) {
        (self.waiting, self.pushed_until) = (waiting, pushed_until);
        self.bind_mss(mss, window);
    }

    /// The largest window that was offered bounds the payload of segments that could have `mss` bytes.
    fn bind_mss(&mut self, mss: u32, window: u32) {
        if window > self.max_window {
            self.max_window = window;
            let most = if window > MSS_UNKNOWN { window / 2 } else { window };
            self.mss = mss.min(most.max(LEAST_MSS));
        }
    }
}

/// Segments that are acknowledged and of which it is known where they lay, at least, and as many as the largest window has: D-SACKs tell of them.
const REMEMBERED: u32 = 64;

impl Sender {
    /// The number with which segment `seq` begins: that of the segment, or at an end that also receives that of its first byte.
    #[inline]
    pub(in crate::tcp::linux) fn number(&self, seq: u32) -> u32 {
        if self.stream.counts_bytes {
            self.begins_at(seq) as u32
        } else {
            seq
        }
    }

    /// The SYN has number 0, the FIN takes one behind its segment. On the wire numbers wrap.
    #[inline(never)]
    pub(super) fn begins_at(&self, seq: u32) -> u64 {
        self.layout.before(seq) + u64::from(seq > 0) + u64::from(seq > self.close.fin())
    }

    /// The number of a packet without data: that of the next segment, or the end of the window if the peer has taken it back by more than what
    /// the `scale` of this end's own windows hides (`tcp_acceptable_seq`).
    pub(in crate::tcp::linux) fn acceptable(&self, scale: u8) -> u32 {
        let (next, end) = (self.begins_at(self.view.snd_nxt), self.stream.window_end);
        if next.saturating_sub(end) < 1 << scale {
            next as u32
        } else {
            end as u32
        }
    }

    /// A number of the wire, where numbers wrap.
    fn number_of(&self, wire: u32) -> u64 {
        let una = self.begins_at(self.view.snd_una);
        una.saturating_add_signed(i64::from(wire.wrapping_sub(una as u32) as i32))
    }

    /// The peer has acknowledged all before a number. True if that lies within the first segment and is news.
    pub(in crate::tcp::linux) fn note_acked(&mut self, wire: u32) -> bool {
        let (number, una) = (self.number_of(wire), self.view.snd_una);
        let is_news = number > self.stream.acked;
        self.stream.acked = self.stream.acked.max(number);
        is_news && number > self.begins_at(una) && una < self.view.snd_nxt && number < self.begins_at(una + 1)
    }

    /// The segment that a number lies in, and true if it is not its first.
    pub(in crate::tcp::linux) fn segment_of(&self, wire: u32) -> (u32, bool) {
        let number = self.number_of(wire);
        let fin = self.close.fin();
        if self.close.is_requested() && number >= self.begins_at(fin + 1) {
            return (fin + 1, number > self.begins_at(fin + 1));
        }
        let segment = self.layout.find(number.saturating_sub(1)).min(fin);
        (segment, self.begins_at(segment) < number)
    }

    /// The segments that lie within SACK blocks of the wire.
    pub(in crate::tcp::linux) fn segments_of(&self, blocks: &Blocks) -> Blocks {
        let mut segments = *blocks;
        for (start, end) in &mut segments.ranges[..usize::from(blocks.count)] {
            let (first, cut) = self.segment_of(*start);
            (*start, *end) = (first + u32::from(cut), self.segment_of(*end).0);
        }
        segments
    }

    /// Makes this the half of a stream in which nothing is written yet.
    #[must_use]
    pub fn streaming(mut self) -> Self {
        self.layout = Layout::stream(self.layout.mss());
        (self.stream.mss, self.stream.pushed_until) = (self.layout.mss(), 1);
        self.stream.counts_bytes = true;
        self.buffer.become_stream(1, false);
        self.small_queue.begin_to_ask();
        self.sending = self.sending.in_steps();
        self
    }

    /// The connection that the peer opened is established by the packet `p`; `rtt_us`: since the last SYN-ACK of its
    /// `request`.
    pub(in crate::tcp::linux) fn accept(&mut self, p: &Segment, request: Request, rtt_us: u32, out: &mut impl Outbox) {
        self.counters.acks_arrived += 1;
        self.refresh(out.now());
        self.handshake.request = request;
        // tcp_synack_rtt_meas: where several were sent, the timestamps tell which one is answered.
        let by_echo = || self.ms_since_echo(p.tsecr).filter(|_| p.tsecr > 0).map(|ms| 1000 * ms);
        let rtt_us = if request.is_resent() { by_echo() } else { Some(rtt_us) };
        self.establish(p, rtt_us);
        self.buffer.grow(self.window.cwnd, self.reordering.degree());
    }

    /// Takes in the ACK of a packet, which also brings data or SACK blocks, or neither.
    pub(in crate::tcp::linux) fn take_ack(&mut self, p: &Segment, beside: Beside, out: &mut impl Outbox) {
        self.counters.acks_arrived += 1;
        self.refresh(out.now());
        let Beside { data, newer, older, advances } = beside;
        self.stream.is_old = older;
        self.beside = (if data { flag::DATA } else { 0 }) | (if newer { flag::WIN_UPDATE } else { 0 });
        if advances {
            self.beside |= flag::UNA_ADVANCED | flag::WIN_UPDATE;
            self.rec.note_progress();
        }
        self.process_packet(p, out);
        self.beside = 0;
    }

    /// Takes in the window of an ACK for the segment `ack`, which an older packet may not change, unless `is_first`; true if it says something new
    /// (`tcp_may_update_window`).
    #[inline(never)]
    pub(super) fn update_window_in_bytes(&mut self, bytes: u32, ack: u32, is_first: bool) -> bool {
        let news = is_first
            || ack > self.view.snd_una
            || self.beside & flag::WIN_UPDATE != 0
            || (!self.stream.is_old && (bytes > self.peer.bytes() || bytes == 0));
        if news {
            self.peer.update(bytes, ack);
            self.stream.bind_mss(self.layout.mss(), bytes);
            self.view.mss = self.stream.mss;
        }
        self.stream.window_end = self.begins_at(ack).max(self.stream.acked) + u64::from(self.peer.bytes());
        self.find_window_end();
        news
    }

    /// The window of the SYN-ACK that a crossed SYN is answered by counts as scaled, although it is not (`tcp_rcv_state_process`).
    pub(super) fn take_unscaled_window(&mut self, bytes: u32) {
        self.peer.take_unscaled(bytes);
        self.stream.window_end = self.begins_at(1) + u64::from(bytes);
        self.find_window_end();
    }

    /// Finds the first segment that does not lie in the receiver's window as a whole.
    pub(super) fn find_window_end(&mut self) {
        let bytes = self.stream.window_end.saturating_sub(1);
        let fin = self.close.fin();
        // The FIN takes a number behind the payload of its segment.
        let end = if self.close.is_requested() && bytes <= self.layout.total() {
            self.layout.find(bytes).min(fin)
        } else {
            self.layout.find(bytes)
        };
        self.peer.set_end(end);
    }

    /// The peer has advertised this window last, bytes.
    pub(in crate::tcp::linux) fn is_window(&self, bytes: u32) -> bool {
        self.peer.bytes() == bytes
    }

    /// An ACK of a paced socket leaves: its timestamp is not before what was sent last departs, and the next segment is less late
    /// (`__tcp_transmit_skb`). Returns when that is, ms; 0: it is not paced.
    pub(in crate::tcp::linux) fn depart_bare(&mut self, now: Time) -> u32 {
        let departs_ms = self.view.departure_ns / MS;
        self.note_bare_departure(now);
        if self.view.is_paced && self.is_established() {
            departs_ms as u32
        } else {
            0
        }
    }

    /// Return the memory that a stream is charged for its written and unacknowledged data, bytes.
    pub(in crate::tcp::linux) fn charged(&self) -> u64 {
        self.buffer.charged(self.layout.span(self.view.snd_una, self.buffer.written), &self.view)
    }

    /// Smoothed RTT, us, and the retransmission timeout, ticks.
    pub(in crate::tcp::linux) fn estimates(&self) -> (u64, u64) {
        (u64::from(self.view.srtt_us8 >> 3), self.rto_ticks())
    }

    /// True from the end of the handshake until the flow is cut off.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.phase == Phase::Established
    }

    /// True from the end of the handshake on, also after the flow is cut off. The handshake counts as one delivered packet.
    #[must_use]
    pub fn has_connected(&self) -> bool {
        self.view.delivered != 0
    }

    /// The application writes, or makes what it still has to write longer while it waits for room.
    pub(in crate::tcp::linux) fn append(&mut self, bytes: u64, out: &mut impl Outbox) {
        let waits = self.stream.waiting > 0;
        self.stream.waiting += bytes;
        if waits {
            return;
        }
        self.refresh(out.now());
        self.in_process(|this| {
            this.note_write();
            this.take_written(out);
            this.write(out, false);
            this.chrono_written();
        });
    }

    /// The application gives up what the buffer had no room for.
    pub(in crate::tcp::linux) fn drop_waiting(&mut self) {
        self.stream.waiting = 0;
        self.buffer.extend(self.buffer.written, false);
    }

    /// Puts what is written into the last segment, if that was not sent, and into new ones as long as there is room, and sends each as soon as it is full;
    /// returns how many went. The segment that is left then has the PSH bit, and so has each with which more than half the largest window has
    /// come together since the last that has (`tcp_sendmsg_locked`, `forced_push`, `tcp_mark_push`, `tcp_push_one`).
    pub(super) fn take_written(&mut self, out: &mut impl Outbox) -> u32 {
        let (mss, una, end) = (self.current_mss(out), self.view.snd_una, self.layout.end());
        self.layout.forget(una.saturating_sub(self.peer.largest().max(REMEMBERED)));
        self.buffer.note_payload(self.layout.span(una, end));
        self.buffer.extend(end, false);
        let (mut copied, mut sent) = (false, 0);
        while self.stream.waiting > 0 {
            let last = self.layout.end() - 1;
            let is_unsent = last >= self.view.snd_nxt.max(1);
            let mut room = if is_unsent { mss.saturating_sub(self.layout.payload(last)) } else { 0 };
            if room == 0 {
                if !self.buffer.has_room(&self.view) {
                    break;
                }
                self.restart_after_idle();
                room = mss;
            } else if !copied {
                self.buffer.unpush_last(self.view.snd_nxt);
            }
            copied = true;
            self.copy(mss, self.stream.waiting.min(u64::from(room)));
            if self.stream.waiting > 0 {
                sent += self.send_full(out);
            }
        }
        let last = self.buffer.written - 1;
        self.buffer.extend(last + 1, self.stream.waiting > 0);
        if copied && last >= self.view.snd_nxt && !self.buffer.is_pushed(last) {
            self.mark_push(last);
        }
        sent
    }

    /// So many bytes, for which there is room in one segment of `mss` bytes, are taken.
    fn copy(&mut self, mss: u32, bytes: u64) {
        self.stream.waiting -= bytes;
        self.layout.append_in(mss, bytes, self.view.snd_nxt);
        self.buffer.add_payload(bytes);
        self.buffer.extend(self.layout.end(), false);
        self.find_window_end();
    }

    /// The last segment is full, and more follows: it is sent if nothing waits before it, or all is that has come together. Returns how many went.
    fn send_full(&mut self, out: &mut impl Outbox) -> u32 {
        let last = self.buffer.written - 1;
        let is_forced = self.begins_at(last + 1) > self.stream.pushed_until + u64::from(self.stream.max_window / 2);
        if is_forced {
            self.mark_push(last);
        } else if last != self.view.snd_nxt {
            return 0;
        }
        self.stream.is_pushed = true;
        let sent = self.write(out, false);
        self.stream.is_pushed = false;
        sent
    }

    /// Segment `seq`, the last one, has the PSH bit (`tcp_mark_push`).
    fn mark_push(&mut self, seq: u32) {
        self.buffer.push(seq);
        self.stream.pushed_until = self.begins_at(seq + 1);
    }

    /// The segments from `first` on were sent, `n` of them: a short one holds back the next (`tcp_minshall_update`).
    pub(super) fn note_short(&mut self, first: u32, n: u32, mss: u32) {
        if n > 0 && self.layout.payload(first) < mss {
            self.stream.short_end = first + 1;
        }
    }
}
