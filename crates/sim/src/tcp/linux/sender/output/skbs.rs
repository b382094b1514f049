//! The skbs of a sender: what the application has written and the receiver has not acknowledged lies in two queues, `sk_write_queue` before it is sent
//! and `tcp_rtx_queue` after. An skb has a head, for which the send buffer is charged, and PSH bits belong to skbs, whose last byte carries them on the
//! wire (Linux 6.12 net/ipv4/tcp.c `tcp_skb_entail`, `tcp_mark_push`; net/ipv4/tcp_output.c `tcp_grow_skb`, `tso_fragment`, `tcp_fragment`,
//! `tcp_trim_head`; net/ipv4/tcp_input.c `tcp_shifted_skb`).
//!
//! Before an skb is sent it may end anywhere, so that its end is counted in bytes of payload. After that it ends with a segment.
//!
//! Only of hosts with TSO: without it each segment is one skb, and nothing of this is kept.

use std::collections::VecDeque;
use std::ops::Range;

/// An skb. Where it begins the one before it ends.
#[derive(Clone, Copy, Debug)]
struct Skb<Position> {
    end: Position,
    /// It has the PSH bit.
    pushed: bool,
}

/// Both queues.
#[derive(Clone, Debug)]
pub(in crate::tcp::linux::sender) struct Skbs {
    /// The skbs that were sent, and the first segment of the first of them.
    sent: VecDeque<Skb<u32>>,
    una: u32,
    /// The skbs that were not sent, and the payload before them, bytes.
    unsent: VecDeque<Skb<u64>>,
    nxt: u64,
    /// Where the last PSH bit was set (`pushed_seq`).
    pushed_until: u64,
}

impl Default for Skbs {
    fn default() -> Self {
        Self { sent: VecDeque::new(), una: 1, unsent: VecDeque::new(), nxt: 0, pushed_until: 0 }
    }
}

/// Segments that were not sent.
impl Skbs {
    /// Number of skbs: each is charged a head.
    pub fn count(&self) -> u64 {
        (self.sent.len() + self.unsent.len()) as u64
    }

    /// Payload written so far, bytes.
    pub fn written(&self) -> u64 {
        self.unsent.back().map_or(self.nxt, |skb| skb.end)
    }

    /// Payload of the last skb, bytes; none if all was sent.
    pub fn tail_len(&self) -> Option<u64> {
        let before = self.unsent.len().checked_sub(2).map_or(self.nxt, |at| self.unsent[at].end);
        self.unsent.back().map(|tail| tail.end - before)
    }

    /// Payload of the first skb, bytes.
    pub fn head_len(&self) -> u64 {
        self.unsent.front().map_or(0, |head| head.end - self.nxt)
    }

    /// Where the first skb ends, bytes.
    pub fn head_end(&self) -> u64 {
        self.nxt + self.head_len()
    }

    /// There is one skb and no other behind it.
    pub fn head_is_tail(&self) -> bool {
        self.unsent.len() == 1
    }

    /// The first skb has the PSH bit.
    pub fn head_is_pushed(&self) -> bool {
        self.unsent.front().is_some_and(|head| head.pushed)
    }

    /// An empty skb follows.
    pub fn entail(&mut self) {
        self.unsent.push_back(Skb { end: self.written(), pushed: false });
    }

    /// The last skb takes in `bytes` more, the first of a write or others. A write takes the PSH bit of what it adds to.
    pub fn append(&mut self, bytes: u64, begins_write: bool) {
        if let Some(tail) = self.unsent.back_mut() {
            tail.end += bytes;
            tail.pushed &= !begins_write;
        }
    }

    /// The last skb, if it was not sent, has the PSH bit.
    pub fn push(&mut self) {
        if let Some(tail) = self.unsent.back_mut() {
            tail.pushed = true;
            self.pushed_until = tail.end;
        }
    }

    /// More than `half` the largest window was written since the last PSH bit (`forced_push`).
    pub fn is_push_due(&self, half: u64) -> bool {
        self.written() > self.pushed_until + half
    }

    /// The first skb takes in as much of the next one, at most `bytes`.
    pub fn grow_head(&mut self, bytes: u64) {
        let Some(&next) = self.unsent.get(1) else { return };
        let head = &mut self.unsent[0];
        let taken = bytes.min(next.end - head.end);
        head.end += taken;
        if taken > 0 && head.end == next.end {
            head.pushed |= next.pushed;
            self.unsent.remove(1);
        }
    }

    /// The first skb ends after `len` bytes; what is left of it, with its PSH bit, is the next one.
    pub fn cut_head(&mut self, len: u64) {
        if let Some(head) = self.unsent.front_mut() {
            let rest = *head;
            *head = Skb { end: self.nxt + len, pushed: false };
            self.unsent.insert(1, rest);
        }
    }

    /// The first skb probes the receiver's window, which has room for `room` bytes: both parts have the PSH bit (`tcp_write_wakeup`).
    pub fn probe_with_head(&mut self, room: u64) {
        self.pushed_until = self.pushed_until.max(self.head_end());
        for _ in 0..2 {
            self.unsent.front_mut().into_iter().for_each(|head| head.pushed = true);
            if room < self.head_len() {
                self.cut_head(room);
            }
        }
    }

    /// The first skb was sent; `end` is the first segment behind it.
    pub fn send_head(&mut self, end: u32) {
        if let Some(Skb { end: bytes, pushed }) = self.unsent.pop_front() {
            self.nxt = bytes;
            self.sent.push_back(Skb { end, pushed });
        }
    }
}

/// Segments that were sent.
impl Skbs {
    /// Everything before segment `una` is acknowledged.
    pub fn forget(&mut self, una: u32) {
        while self.sent.front().is_some_and(|skb| skb.end <= una) {
            self.sent.pop_front();
        }
        self.una = self.una.max(una);
    }

    /// Number of skbs that are outstanding.
    pub fn outstanding(&self) -> usize {
        self.sent.len()
    }

    /// The skb with segment `seq`, or the next that will be sent.
    fn find(&self, seq: u32) -> usize {
        self.sent.partition_point(|skb| skb.end <= seq)
    }

    fn begin(&self, at: usize) -> u32 {
        at.checked_sub(1).map_or(self.una, |before| self.sent[before].end)
    }

    /// The segments of the skb that has segment `seq`; none if that was not sent or is acknowledged.
    pub fn around(&self, seq: u32) -> Option<Range<u32>> {
        let at = self.find(seq);
        self.sent.get(at).map(|skb| self.begin(at)..skb.end).filter(|skb| skb.contains(&seq))
    }

    /// An skb ends before segment `seq`, and the next one begins there, with the PSH bit if there is one; true if it did not before.
    pub fn split(&mut self, seq: u32) -> bool {
        let at = self.find(seq);
        let splits = at < self.sent.len() && self.begin(at) < seq;
        if splits {
            self.sent.insert(at, Skb { end: seq, pushed: false });
        }
        splits
    }

    /// The skb before segment `seq`, with which another one begins, takes in the segments before `end` of that.
    pub fn shift(&mut self, seq: u32, end: u32) {
        let at = self.find(seq);
        if at == 0 || at == self.sent.len() {
            return;
        }
        self.sent[at - 1].end = end;
        if end == self.sent[at].end {
            self.sent[at - 1].pushed |= self.sent[at].pushed;
            self.sent.remove(at);
        }
    }

    /// Segment `seq` ends an skb with the PSH bit.
    pub fn is_pushed(&self, seq: u32) -> bool {
        self.sent.get(self.find(seq)).is_some_and(|skb| skb.pushed && skb.end == seq + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three skbs of 100 bytes that are not sent, of which the second has the PSH bit.
    fn three() -> Skbs {
        let mut skbs = Skbs::default();
        for at in 0..3 {
            skbs.entail();
            skbs.append(100, true);
            if at == 1 {
                skbs.push();
            }
        }
        skbs
    }

    fn unsent(skbs: &Skbs) -> Vec<(u64, bool)> {
        skbs.unsent.iter().map(|skb| (skb.end, skb.pushed)).collect()
    }

    fn sent(skbs: &Skbs) -> Vec<(u32, bool)> {
        skbs.sent.iter().map(|skb| (skb.end, skb.pushed)).collect()
    }

    #[test]
    fn a_psh_bit_moves_with_the_end_of_its_skb() {
        let mut skbs = three();
        assert!(skbs.is_push_due(99) && !skbs.is_push_due(100), "100 bytes since");
        skbs.cut_head(30);
        assert_eq!(unsent(&skbs), [(30, false), (100, false), (200, true), (300, false)]);
        skbs.send_head(2);
        skbs.grow_head(40);
        assert_eq!(unsent(&skbs), [(140, false), (200, true), (300, false)]);
        skbs.grow_head(90);
        assert_eq!(unsent(&skbs), [(200, true), (300, false)], "all of the next one, and no more");
        skbs.grow_head(10);
        assert_eq!(unsent(&skbs), [(210, true), (300, false)]);
        skbs.cut_head(20);
        assert_eq!(unsent(&skbs), [(50, false), (210, true), (300, false)]);
    }

    #[test]
    fn a_write_that_adds_to_the_last_skb_takes_its_psh_bit() {
        let mut skbs = three();
        skbs.push();
        skbs.append(10, false);
        assert_eq!((unsent(&skbs)[2], skbs.tail_len()), ((310, true), Some(110)));
        skbs.append(10, true);
        assert_eq!(unsent(&skbs)[2], (320, false));
    }

    #[test]
    fn both_parts_of_a_probed_skb_have_the_psh_bit() {
        let mut skbs = three();
        skbs.probe_with_head(40);
        assert_eq!(unsent(&skbs)[..2], [(40, true), (100, true)]);
    }

    #[test]
    fn skbs_are_cut_and_joined_at_segments() {
        let mut skbs = three();
        [11, 21, 31].into_iter().for_each(|end| skbs.send_head(end));
        assert_eq!((skbs.split(16), skbs.split(21)), (true, false));
        assert_eq!(sent(&skbs), [(11, false), (16, false), (21, true), (31, false)]);
        assert_eq!((skbs.around(15), skbs.around(31)), (Some(11..16), None));
        skbs.shift(16, 18);
        assert_eq!(sent(&skbs), [(11, false), (18, false), (21, true), (31, false)]);
        skbs.shift(18, 21);
        assert_eq!(sent(&skbs), [(11, false), (21, true), (31, false)]);
        assert!(skbs.is_pushed(20) && !skbs.is_pushed(19) && !skbs.is_pushed(30));
        skbs.forget(13);
        assert_eq!((sent(&skbs), skbs.around(20)), (vec![(21, true), (31, false)], Some(13..21)));
        assert_eq!(skbs.count(), 2);
    }
}
