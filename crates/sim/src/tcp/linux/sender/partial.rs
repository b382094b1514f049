//! Segments that end before they are full, because the receiver's window has no room for more: the end of a TSO segment that fills the window, a probe
//! of a window that is smaller than a segment, and all segments while the window was never twice as large as one (Linux 6.12
//! net/ipv4/tcp_output.c `tcp_mss_split_point`, `tcp_minshall_check`, `tcp_write_wakeup`; include/net/tcp.h `tcp_bound_to_half_wnd`). What such a segment
//! lacks moves to those behind it, which are as full as before (`tcp_grow_skb`).
//!
//! Only of a transfer.

use super::Sender;

impl Sender {
    /// Bytes from the next new segment to the end of the receiver's window.
    pub(super) fn room_in_bytes(&self) -> u64 {
        let end = self.layout.before(self.view.snd_una) + u64::from(self.peer.bytes());
        end.saturating_sub(self.layout.before(self.view.snd_nxt))
    }

    /// Segment `seq`, which was not sent, ends after `payload` bytes. What is left of it begins the next one, and PSH bits move with their bytes.
    pub(super) fn cut(&mut self, seq: u32, payload: u32) {
        self.buffer.move_pushes(seq);
        self.end_early(seq, payload);
        self.buffer.keep_pushes_in_what_is_written();
    }

    /// Segment `seq`, which was not sent, ends after `payload` bytes.
    fn end_early(&mut self, seq: u32, payload: u32) {
        if self.layout.end_early(seq, payload) {
            self.buffer.take_in_one_more();
        }
        if self.close.is_requested() {
            self.layout.mark_last();
            self.close.move_fin(self.layout.end() - 1);
        }
        self.end_window_in_bytes(self.view.snd_una);
    }

    /// The next segment is to probe the receiver's window: it ends with that, and has the PSH bit. False if there is no window at all.
    pub(super) fn fit_probe(&mut self) -> bool {
        let (next, room) = (self.view.snd_nxt, self.room_in_bytes());
        if room == 0 {
            return next < self.peer.end();
        }
        self.buffer.push_next(next);
        if room < u64::from(self.layout.payload(next)) {
            // Both parts have the PSH bit.
            self.cut(next, room as u32);
            self.buffer.push_next(next);
        }
        true
    }

    /// The next new segments, as far as the receiver's window can take them, have no more than half of the largest window that it has offered.
    #[cold]
    #[inline(never)]
    pub(super) fn bound_to_half_window(&mut self) {
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
