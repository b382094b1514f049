//! Where the bytes of a half of a connection lie in its segments. All are full but those of a table: where a write of the application ended
//! in a segment that is short, and where it closed. A transfer is written at once, so that only its last segment is short, and the first if the first write is a
//! short one that leaves at once, as the header that iperf 2 sends ahead of its data (24 bytes). A stream of writes has a short segment for
//! each write whose rest left before the next write came (Linux 6.12 net/ipv4/tcp.c `tcp_sendmsg_locked` adds to the last segment while that
//! was not sent).

use std::collections::VecDeque;

use crate::spec::TcpSpec;

/// No segment.
const NONE: u32 = u32::MAX;

/// A segment that is not full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Short {
    segment: u32,
    /// Payload, bytes.
    payload: u32,
    /// Bytes that the short segments before this one lack of being full.
    lack_before: u64,
}

/// The segments of one half; number 0 is the SYN.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Payload of a full segment, bytes.
    mss: u32,
    /// The short segments, in order.
    shorts: VecDeque<Short>,
    /// The first of them, the one before the last, and the last; `NONE` if there is none. Both ends of a transfer are found with these, so that
    /// a bulk flow never searches the table.
    first: u32,
    before_last: u32,
    last: u32,
    /// Bytes that the short segments lack of being full, those that were forgotten among them.
    lack: u64,
    /// First segment beyond what is written; the largest number if there is no end.
    end: u32,
    /// The first write, or the whole transfer, is shorter than a segment.
    short_write_first: bool,
    /// A stream of writes: any segment may be short, so that nothing of the table is kept beside it.
    is_stream: bool,
    /// Where segments of a transfer ended early: its bytes, and the segment with the rest of them.
    cut: Option<(u64, u32)>,
}

impl Layout {
    /// The segments of the described flow.
    #[must_use]
    pub fn of(spec: &TcpSpec) -> Self {
        let mss = spec.payload_bytes();
        let mut layout = Self { is_stream: false, first: NONE, before_last: NONE, ..Self::stream(mss) };
        let first = u64::from(spec.first_write_bytes.unwrap_or(mss)).min(spec.transfer_bytes.unwrap_or(u64::MAX));
        if first < u64::from(mss) {
            layout.append(first, 0);
            layout.short_write_first = true;
        }
        match spec.transfer_bytes {
            Some(bytes) => layout.append(bytes - layout.total(), NONE),
            None => layout.end = NONE,
        }
        layout
    }

    /// A half whose application has written nothing yet, with segments of `mss` bytes.
    #[must_use]
    pub fn stream(mss: u32) -> Self {
        Self {
            mss,
            shorts: VecDeque::new(),
            first: 0,
            before_last: NONE,
            last: NONE,
            lack: 0,
            end: 1,
            short_write_first: false,
            is_stream: true,
            cut: None,
        }
    }

    /// Makes the segments below `end` of a transfer those of a stream, and forgets the later ones: what they carry is not written yet.
    pub fn become_stream(&mut self, end: u32) {
        let later = self.shorts.split_off(self.shorts.partition_point(|s| s.segment < end));
        self.lack = later.front().map_or(self.lack, |s| s.lack_before);
        (self.first, self.before_last, self.last) = (0, NONE, NONE);
        (self.end, self.is_stream) = (end, true);
    }

    /// A half whose numbers count bytes, as if each were a segment, and that has no end yet.
    #[must_use]
    pub fn bytes() -> Self {
        Self { is_stream: false, first: NONE, end: NONE, ..Self::stream(1) }
    }

    /// The half ends before a number.
    pub fn end_at(&mut self, end: u32) {
        self.end = end;
    }

    /// A stream of writes, whose numbers count bytes on the wire.
    #[inline]
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.is_stream
    }

    /// Payload of a full segment, bytes.
    #[inline]
    #[must_use]
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// First segment beyond what is written; the largest number if there is no end.
    #[inline]
    #[must_use]
    pub fn end(&self) -> u32 {
        self.end
    }

    /// Payload of all that is written, bytes; the largest number if there is no end.
    #[must_use]
    pub fn total(&self) -> u64 {
        if self.end == NONE {
            u64::MAX
        } else {
            self.before(self.end)
        }
    }

    /// The application writes `bytes` more. They fill up the last segment if that is short and not below `unsent`, the first segment that was
    /// not sent.
    pub fn append(&mut self, bytes: u64, unsent: u32) {
        self.append_in(self.mss, bytes, unsent);
    }

    /// [`Self::append`] in segments of `most` bytes.
    pub fn append_in(&mut self, most: u32, bytes: u64, unsent: u32) {
        let mut bytes = bytes;
        if let Some(&Short { segment, payload, .. }) = self.shorts.back().filter(|s| s.segment + 1 == self.end) {
            if bytes > 0 && segment >= unsent && payload < most {
                self.shorts.pop_back();
                self.lack -= u64::from(self.mss - payload);
                self.end = segment;
                bytes += u64::from(payload);
            }
        }
        let (full, rest) = (bytes / u64::from(most), (bytes % u64::from(most)) as u32);
        if most < self.mss {
            (self.end..).take(full as usize).for_each(|segment| self.add_short(segment, most));
        }
        // More than there are numbers is refused; here it only must not end in a panic before all else that is wrong is found.
        self.end = self.end.saturating_add(u32::try_from(full).unwrap_or(u32::MAX));
        if rest > 0 {
            self.add_short(self.end, rest);
            self.end = self.end.saturating_add(1);
        }
        self.note_ends();
    }

    /// The peer's segment `segment` has arrived and has `payload` bytes. Segments may arrive again and in any order.
    pub fn note(&mut self, segment: u32, payload: u32) {
        self.end = self.end.max(segment + 1);
        if payload == self.mss {
            return;
        }
        let at = self.shorts.partition_point(|s| s.segment < segment);
        if self.shorts.get(at).is_some_and(|s| s.segment == segment) {
            return;
        }
        let later = self.shorts.split_off(at);
        self.lack -= later.iter().map(|s| u64::from(self.mss - s.payload)).sum::<u64>();
        self.add_short(segment, payload);
        for s in later {
            self.add_short(s.segment, s.payload);
        }
        self.note_ends();
    }

    /// A segment of the peer's transfer has arrived: it may have ended early.
    #[inline]
    pub fn hear(&mut self, segment: u32, payload: u32) {
        if payload < self.mss && payload > 0 {
            self.hear_short(segment, payload);
        }
    }

    #[cold]
    #[inline(never)]
    fn hear_short(&mut self, segment: u32, payload: u32) {
        let is_rest = self.cut.map_or(segment + 1 == self.end, |(_, rest)| segment == rest);
        if is_rest || self.payload(segment) != payload {
            self.end_early(segment, payload);
        }
    }

    /// A segment of a transfer ends after `payload` bytes. What it lacks moves to those behind it, of which the others that ended early stay as
    /// they are; true if that takes one more.
    #[cold]
    #[inline(never)]
    pub fn end_early(&mut self, segment: u32, payload: u32) -> bool {
        let (end, mss) = (self.end, u64::from(self.mss));
        let has_bare = self.last == end - 1 && self.payload(self.last) == 0;
        let (total, rest) = self.cut.unwrap_or_else(|| (self.total(), end - 1 - u32::from(has_bare)));
        let from = self.shorts.partition_point(|s| s.segment < segment.min(rest));
        let later = self.shorts.split_off(from);
        self.lack = later.front().map_or(self.lack, |s| s.lack_before);
        let stays = |s: &&Short| s.segment != segment && s.segment != rest && (1..self.mss).contains(&s.payload);
        let stay: Vec<(u32, u32)> = later.iter().filter(stays).map(|s| (s.segment, s.payload)).collect();
        let at = stay.partition_point(|&(other, _)| other < segment);
        for &(segment, payload) in stay[..at].iter().chain(&[(segment, payload)]).chain(&stay[at..]) {
            self.add_short(segment, payload);
        }
        if end < NONE {
            let last_cut = self.shorts.back().map_or(0, |s| s.segment);
            let segments = (total + self.lack).div_ceil(mss) as u32;
            self.end = segments.max(last_cut) + 1;
            self.cut = Some((total, NONE));
            if segments > last_cut {
                self.cut = Some((total, segments));
                let payload = (total + self.lack - u64::from(segments - 1) * mss) as u32;
                if payload < self.mss {
                    self.add_short(segments, payload);
                }
            }
            if has_bare {
                self.append_bare();
            }
        }
        self.note_ends();
        self.end > end
    }

    /// A segment without payload follows: a FIN of its own.
    pub fn append_bare(&mut self) {
        self.add_short(self.end, 0);
        self.end += 1;
        self.note_ends();
    }

    /// Cuts a segment apart: what is left behind its first `payload` bytes is the next segment, and the later ones move up.
    pub fn cut(&mut self, segment: u32, payload: u32) {
        let rest = self.payload(segment) - payload;
        self.replace(segment, 1, &[payload, rest]);
    }

    /// A segment takes in what follows until it has `most` bytes; returns how many segments there are in place of two.
    pub fn fill_up(&mut self, segment: u32, most: u32) -> u32 {
        let both = self.payload(segment) + self.payload(segment + 1);
        if both <= most {
            self.replace(segment, 2, &[both]);
            return 1;
        }
        self.replace(segment, 2, &[most, both - most]);
        2
    }

    /// Puts segments of these payloads in the place of `old` segments from `segment` on.
    fn replace(&mut self, segment: u32, old: u32, payloads: &[u32]) {
        let later = self.shorts.split_off(self.shorts.partition_point(|s| s.segment < segment));
        self.lack = later.front().map_or(self.lack, |s| s.lack_before);
        for (segment, &payload) in (segment..).zip(payloads) {
            if payload < self.mss {
                self.add_short(segment, payload);
            }
        }
        let moved = |segment: u32| segment + payloads.len() as u32 - old;
        for s in later.iter().filter(|s| s.segment >= segment + old) {
            self.add_short(moved(s.segment), s.payload);
        }
        self.end = moved(self.end);
        self.note_ends();
    }

    /// Makes [`Self::next_short`] find the last segment even if it is full.
    pub fn mark_last(&mut self) {
        if !self.is_stream && self.last != self.end - 1 {
            self.add_short(self.end - 1, self.mss);
            self.note_ends();
        }
    }

    /// Nothing before `segment` will be asked for again, one by one: the table keeps what is not acknowledged, or not read.
    pub fn forget(&mut self, segment: u32) {
        if self.first < segment {
            while self.shorts.front().is_some_and(|s| s.segment < segment) {
                self.shorts.pop_front();
            }
            self.note_ends();
        }
    }

    fn add_short(&mut self, segment: u32, payload: u32) {
        self.shorts.push_back(Short { segment, payload, lack_before: self.lack });
        self.lack += u64::from(self.mss - payload);
    }

    fn note_ends(&mut self) {
        if self.is_stream {
            return;
        }
        let segment = |s: Option<&Short>| s.map_or(NONE, |s| s.segment);
        self.first = segment(self.shorts.front());
        self.last = segment(self.shorts.back());
        self.before_last = self.shorts.len().checked_sub(2).map_or(self.first, |at| self.shorts[at].segment);
    }

    /// True if the table has no segment: all are full, but for those that were forgotten.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.shorts.is_empty()
    }

    /// Payload of a segment, bytes.
    #[inline]
    #[must_use]
    pub fn payload(&self, segment: u32) -> u32 {
        if segment < self.first || (segment > self.before_last && segment != self.last) {
            self.mss
        } else {
            self.payload_in_table(segment)
        }
    }

    #[inline(never)]
    fn payload_in_table(&self, segment: u32) -> u32 {
        self.shorts.binary_search_by_key(&segment, |s| s.segment).map_or(self.mss, |at| self.shorts[at].payload)
    }

    /// True if a segment and the one after it have the same payload.
    #[inline]
    #[must_use]
    pub fn has_same(&self, segment: u32) -> bool {
        // Most segments are full.
        self.next_short(segment) > segment + 1 || self.payload(segment) == self.payload(segment + 1)
    }

    /// The first segment from `segment` on that may not be full; the largest number if all are.
    #[inline]
    #[must_use]
    pub fn next_short(&self, segment: u32) -> u32 {
        if segment <= self.first {
            self.first
        } else if segment > self.before_last {
            if segment <= self.last {
                self.last
            } else {
                NONE
            }
        } else {
            self.next_short_in_table(segment)
        }
    }

    #[inline(never)]
    fn next_short_in_table(&self, segment: u32) -> u32 {
        if self.is_stream {
            return segment;
        }
        self.shorts[self.shorts.partition_point(|s| s.segment < segment)].segment
    }

    /// Payload before a segment, bytes; nothing that was [forgotten](Self::forget) may lie behind it.
    #[inline]
    #[must_use]
    pub fn before(&self, segment: u32) -> u64 {
        if segment == 0 {
            return 0;
        }
        let lack = if self.is_full() { self.lack } else { self.lack_before(segment) };
        u64::from(segment - 1) * u64::from(self.mss) - lack
    }

    /// Bytes that the short segments before a segment lack of being full.
    #[inline(never)]
    fn lack_before(&self, segment: u32) -> u64 {
        match self.shorts.front() {
            Some(first) if segment <= first.segment => first.lack_before,
            _ => {
                let at = self.shorts.partition_point(|s| s.segment < segment);
                self.shorts.get(at).map_or(self.lack, |s| s.lack_before)
            }
        }
    }

    /// The segment behind whose beginning `bytes` of payload end.
    #[must_use]
    pub fn find(&self, bytes: u64) -> u32 {
        let end = |s: &Short| u64::from(s.segment - 1) * u64::from(self.mss) - s.lack_before + u64::from(s.payload);
        let at = self.shorts.partition_point(|s| end(s) <= bytes);
        let lack = self.shorts.get(at).map_or(self.lack, |s| s.lack_before);
        1 + ((bytes + lack) / u64::from(self.mss)) as u32
    }

    /// Payload of the segments `from..to`, bytes.
    #[inline]
    #[must_use]
    pub fn span(&self, from: u32, to: u32) -> u64 {
        self.before(to) - self.before(from)
    }

    /// True if the first write of a transfer ends with this segment, whatever comes after.
    #[inline]
    #[must_use]
    pub fn ends_first_write(&self, segment: u32) -> bool {
        self.short_write_first && segment == 1
    }
}

#[cfg(test)]
pub(crate) mod tests;
