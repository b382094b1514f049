//! Segments that end before they are full, because the receiver's window has no room for more: the end of a TSO segment that fills the window, a probe
//! of a window that is smaller than a segment, and all segments while the window was never twice as large as one (Linux 6.12
//! net/ipv4/tcp_output.c `tcp_mss_split_point`, `tcp_minshall_check`, `tcp_write_wakeup`; include/net/tcp.h `tcp_bound_to_half_wnd`). What such a segment
//! lacks moves to those behind it, which are as full as before (`tcp_grow_skb`).
//!
//! A transfer whose segments do not end early has only full ones. Without TSO one that does becomes a stream whose application has written all of it.

use crate::outbox::Outbox;
use crate::tcp::linux::sender::Sender;

impl Sender {
    /// Bytes from the next new segment to the end of the receiver's window.
    pub(in crate::tcp::linux::sender) fn room_in_bytes(&self) -> u64 {
        let end = self.layout.before(self.view.snd_una) + u64::from(self.peer.bytes());
        end.saturating_sub(self.layout.before(self.view.snd_nxt))
    }

    /// Segment `seq`, which was not sent, ends after `payload` bytes.
    fn end_early(&mut self, seq: u32, payload: u32) {
        if self.layout.end_early(seq, payload) && !self.tso.enabled {
            self.buffer.take_in_one_more();
        }
        if self.close.is_requested() {
            self.layout.mark_last();
            self.close.move_fin(self.layout.end() - 1);
        }
        if self.tso.enabled {
            self.note_written();
        }
        self.end_window_in_bytes(self.view.snd_una);
    }

    /// The next segment is to probe the receiver's window: it ends with that, and has the PSH bit. False if there is no window at all.
    pub(in crate::tcp::linux::sender) fn fit_probe(&mut self, out: &impl Outbox) -> bool {
        let (next, room) = (self.view.snd_nxt, self.room_in_bytes());
        if room == 0 {
            return next < self.peer.end();
        }
        if self.tso.enabled {
            self.skbs.probe_with_head(room.min(u64::from(self.mss_now())));
            self.lay_out(self.skbs.head_len(), self.mss_now());
            return true;
        }
        if room < u64::from(self.layout.payload(next)) {
            self.become_stream();
            return self.cut_to_window(out);
        }
        self.buffer.push_next(next);
        true
    }

    /// The segments of a transfer that the application has not written yet wait to be written as bytes, so that any segment may be short, take in what
    /// follows it, and be cut. Those on the wire keep their numbers.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp::linux::sender) fn become_stream(&mut self) {
        // The first write of all may be shorter than a segment.
        let written = self.buffer.written.max(1 + u32::from(self.layout.ends_first_write(1)));
        let pushed_until = self.begins_at(self.buffer.pushed_until());
        let waiting = self.layout.total() - self.layout.before(written);
        self.layout.become_stream(written);
        self.buffer.become_stream(written, waiting > 0);
        self.stream.begin_transfer(waiting, pushed_until, self.layout.mss(), self.peer.most_bytes());
        self.stream.window_end = self.begins_at(self.view.snd_una) + u64::from(self.peer.bytes());
        self.find_window_end();
        self.sending = self.sending.in_steps();
    }

    /// The next `bytes`, which were not sent, lie in segments of `mss` bytes, but for the last.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp::linux::sender) fn lay_out(&mut self, bytes: u64, mss: u32) {
        let (mut seq, mut left) = (self.view.snd_nxt, bytes);
        while left > 0 {
            let payload = left.min(u64::from(mss)) as u32;
            if self.layout.payload(seq) != payload {
                self.end_early(seq, payload);
            }
            (seq, left) = (seq + 1, left - u64::from(payload));
        }
    }

    /// The next new segments, as far as the receiver's window can take them, have no more than half of the largest window that it has offered.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp::linux::sender) fn bound_to_half_window(&mut self) {
        if self.buffer.is_stream() || self.tso.enabled {
            return;
        }
        let most = self.peer.most_at_once();
        let mut next = self.view.snd_nxt;
        while most > 0 && next < self.buffer.written && next <= self.peer.end() {
            if self.layout.payload(next) > most {
                self.end_early(next, most);
            }
            next += 1;
        }
    }
}
