//! Segments of a stream that are cut apart or joined: SACK blocks beside data take room that a full segment needs, a segment that was not sent takes
//! in what follows it, and one that is retransmitted takes in short ones behind it (Linux 6.12 net/ipv4/tcp_output.c `tcp_current_mss`, `tcp_grow_skb`,
//! `tso_fragment`, `tcp_fragment`, `tcp_retrans_try_collapse`). Segments are numbered one by one, and only within the sender: where one is added or goes,
//! the numbers of all later ones move, wherever they are kept. On the wire stand bytes.

use crate::cc::{CongestionControl, Event, Renumbering};
use crate::outbox::Outbox;
use crate::tcp::linux::sender::scoreboard::mark;
use crate::tcp::linux::sender::Sender;
use crate::time::Time;

/// The decision about the next segment of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp::linux::sender) enum Fit {
    /// It can go.
    Fits,
    /// It ends beyond the receiver's window.
    BeyondWindow,
    /// It is short, and waits for what is outstanding or for more to be written.
    Waits,
}

impl Sender {
    /// Payload of a full segment beside what goes with it, bytes.
    pub(in crate::tcp::linux::sender) fn current_mss(&self, out: &impl Outbox) -> u32 {
        self.stream.mss - out.option_bytes()
    }

    /// Gives the next segment, which may not have more than `mss` bytes, the length with which it goes. `may_wait`: it is now, and more window may be waited
    /// for.
    #[inline(never)]
    pub(in crate::tcp::linux::sender) fn fit_next(&mut self, mss: u32, is_probe: bool, may_wait: Option<Time>) -> Fit {
        let seq = self.view.snd_nxt;
        self.grow_next(mss);
        if !self.window_takes_next(mss) {
            return Fit::BeyondWindow;
        }
        let payload = self.layout.payload(seq);
        if payload < mss && seq + 1 == self.buffer.written && self.is_held_by_nagle(seq) && !is_probe {
            return Fit::Waits;
        }
        if payload > mss {
            if may_wait.is_some_and(|now| self.defers_part(now, payload)) {
                return Fit::BeyondWindow;
            }
            self.cut_unsent(seq, mss);
        }
        Fit::Fits
    }

    /// True if a segment of `payload` bytes, of which only a part may go because SACK blocks take room, waits for a window that has room for all of it:
    /// it counts as a TSO segment (`tcp_tso_should_defer`).
    fn defers_part(&self, now: Time, payload: u32) -> bool {
        let seq = self.view.snd_nxt;
        let window = self.stream.window_end.saturating_sub(self.begins_at(seq));
        let (full, len, is_tail) = (self.stream.mss, u64::from(payload), seq + 1 == self.buffer.written);
        let has_fin = self.close.flag_of(seq) != 0;
        (window <= len || !has_fin) && self.defers_until_ack(now, u64::from(full), window, (len, is_tail), full)
    }

    /// Cuts apart a segment that was not sent (`tso_fragment`).
    pub(in crate::tcp::linux::sender) fn cut_unsent(&mut self, seq: u32, payload: u32) {
        self.layout.cut(seq, payload);
        self.renumber_unsent(Renumbering::added(seq));
    }

    /// If the next segment has less than `mss` bytes, it takes in what it can of the one behind it (`tcp_grow_skb`).
    fn grow_next(&mut self, mss: u32) {
        let seq = self.view.snd_nxt;
        let grows = self.stack.tso_grow && seq + 1 < self.buffer.written;
        if grows && self.layout.payload(seq) < mss && self.layout.payload(seq + 1) > 0 {
            if self.layout.fill_up(seq, mss) == 1 {
                self.renumber_unsent(Renumbering::joined(seq));
            }
            self.find_window_end();
        }
    }

    /// The next segment, or its first `mss` bytes, lie in the receiver's window (`tcp_snd_wnd_test`).
    pub(in crate::tcp::linux::sender) fn window_takes_next(&self, mss: u32) -> bool {
        let seq = self.view.snd_nxt;
        let payload = self.layout.payload(seq);
        let fin = u64::from(payload <= mss && self.close.flag_of(seq) != 0);
        self.begins_at(seq) + u64::from(payload.min(mss)) + fin <= self.stream.window_end
    }

    /// Another short segment is outstanding, and what is written next may join this one (Minshall's variant of Nagle's algorithm; `tcp_nagle_test`).
    fn is_held_by_nagle(&self, seq: u32) -> bool {
        let sent_short = self.stream.short_end > self.view.snd_una && self.stream.short_end <= self.view.snd_nxt;
        !self.nodelay
            && !self.stream.is_pushed
            && self.view.packets_out > 0
            && sent_short
            && self.close.flag_of(seq) == 0
    }

    /// Gives segment `seq`, which is to be retransmitted, the length with which it goes, and returns its number then; `None` if it lies beyond the receiver's
    /// window.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp::linux::sender) fn refit(&mut self, seq: u32, out: &impl Outbox) -> Option<u32> {
        let seq = self.trim_acked(seq);
        let mss = self.current_mss(out);
        let mut room = self.stream.window_end.saturating_sub(self.begins_at(seq)).min(u64::from(u32::MAX)) as u32;
        if room == 0 {
            if seq != self.view.snd_una {
                return None;
            }
            room = mss;
        }
        let most = room.min(mss);
        if self.layout.payload(seq) > most {
            self.cut_sent(seq, most);
        } else {
            self.collapse(seq, most);
        }
        Some(seq)
    }

    /// Trims the part of segment `seq` that is acknowledged already, before it is retransmitted (`tcp_trim_head`). Returns the number of the rest.
    fn trim_acked(&mut self, seq: u32) -> u32 {
        let (begin, payload) = (self.begins_at(seq), u64::from(self.layout.payload(seq)));
        if seq != self.view.snd_una || self.stream.acked <= begin || self.stream.acked >= begin + payload {
            return seq;
        }
        self.cut_sent(seq, (self.stream.acked - begin) as u32);
        let marks = self.board.get(seq).marks;
        self.view.packets_out -= 1;
        self.view.lost_out -= u32::from(marks & mark::LOST != 0);
        self.view.retrans_out -= u32::from(marks & mark::RETRANS != 0);
        self.board.unlist(seq);
        self.view.snd_una = seq + 1;
        seq + 1
    }

    /// Cuts the next segment so that it lies in the receiver's window, as a probe of that; false if the window is closed (`tcp_write_wakeup`).
    pub(in crate::tcp::linux::sender) fn cut_to_window(&mut self, out: &impl Outbox) -> bool {
        let (seq, mss) = (self.view.snd_nxt, self.current_mss(out));
        let room = self.stream.window_end.saturating_sub(self.begins_at(seq)).min(u64::from(mss)) as u32;
        if room == 0 {
            return false;
        }
        let end = self.begins_at(seq + 1);
        self.stream.pushed_until = self.stream.pushed_until.max(end);
        self.buffer.push_next(seq);
        if self.layout.payload(seq) > room {
            // Both parts have the PSH bit.
            self.cut_unsent(seq, room);
            self.buffer.push_next(seq);
        }
        true
    }

    /// Cuts apart a segment that was sent.
    fn cut_sent(&mut self, seq: u32, payload: u32) {
        self.layout.cut(seq, payload);
        let marks = self.board.get(seq).marks;
        self.view.packets_out += 1;
        self.view.lost_out += u32::from(marks & mark::LOST != 0);
        self.view.retrans_out += u32::from(marks & mark::RETRANS != 0);
        self.renumber(Renumbering::added(seq));
    }

    /// Segment `seq` takes in those behind it that are not SACKed, as long as it has no more than `most` bytes.
    fn collapse(&mut self, seq: u32, most: u32) {
        let is_sacked = |this: &Self, seq| this.board.get(seq).marks & mark::SACKED != 0;
        while seq + 1 < self.view.snd_nxt && !is_sacked(self, seq) && !is_sacked(self, seq + 1) {
            let beyond = self.begins_at(seq + 2) > self.stream.window_end;
            // A copy that has not left the host shares its data (`skb_cloned`).
            let is_shared = self.board.get(seq + 1).sent_us() == self.view.mstamp_us || self.small_queue.holds(seq + 1);
            if self.layout.payload(seq) + self.layout.payload(seq + 1) > most || beyond || is_shared {
                break;
            }
            self.layout.fill_up(seq, most);
            let marks = self.board.get(seq + 1).marks;
            self.view.packets_out -= 1;
            self.view.lost_out -= u32::from(marks & mark::LOST != 0);
            self.view.retrans_out -= u32::from(marks & mark::RETRANS != 0);
            self.renumber(Renumbering::joined(seq));
        }
    }

    /// Among the segments that were not sent one is new or has gone.
    fn renumber_unsent(&mut self, r: Renumbering) {
        self.buffer.renumber(r);
        self.close.renumber(r);
        self.find_window_end();
    }

    /// Among the segments in flight one is new or has gone.
    fn renumber(&mut self, r: Renumbering) {
        let tells_seq = self.stack.loss_detection != crate::tcp::linux::options::LossDetection::Rack;
        self.board.renumber(r, self.view.snd_una..self.view.snd_nxt, tells_seq);
        if let Some(sampler) = &mut self.sampler {
            sampler.renumber(r, self.view.snd_una..self.view.snd_nxt);
        }
        r.apply(&mut self.view.snd_nxt);
        r.apply(&mut self.stream.short_end);
        self.rec.renumber(r);
        self.rtt.renumber(r);
        self.undo.renumber(r);
        self.probe.renumber(r);
        self.rack.renumber(r);
        self.fack.renumber(r);
        self.usage.renumber(r);
        self.small_queue.renumber(r);
        self.cc.on_event(&self.view, &mut self.window, Event::Renumbered(r));
        self.renumber_unsent(r);
    }
}
