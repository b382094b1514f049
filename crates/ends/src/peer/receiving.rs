//! The receiving half of the peer: what has come, what it acknowledges, which window it advertises.

use std::collections::VecDeque;

use dumbbell_sim::attachment::most_blocks;
use dumbbell_sim::packet::MSS;
use dumbbell_sim::time::Time;

use super::draw::Drawn;
use crate::case::{bits, Segment};
use crate::play::Options;

/// The state of the receiving half. Wide because it is a whole half of the peer.
pub struct Receiving {
    /// The next number expected, and the last that was acknowledged.
    pub next: u32,
    pub acked: u32,
    /// Ranges received out of order, the latest first.
    early: Vec<(u32, u32)>,
    duplicate: Option<(u32, u32)>,
    reports_duplicates: bool,
    /// Most blocks that an ACK has.
    most_blocks: usize,
    /// Segments that are not acknowledged, and since when.
    waiting: u32,
    due: Option<Time>,
    every: u32,
    delay: Time,
    /// The next ACK has an ECN echo.
    pub echoes: bool,
    /// The FIN has come, and all before it.
    pub has_ended: bool,
    fin: Option<u32>,
    /// Lengths of the segments that the application has not read.
    unread: VecDeque<u32>,
    pub is_reading: bool,
    buffer: u64,
    scale: u8,
    /// Right edge of the window.
    edge: u64,
}

impl Receiving {
    pub fn new(drawn: &Drawn, options: &Options) -> Self {
        Self {
            next: 0,
            acked: 1,
            early: vec![],
            duplicate: None,
            reports_duplicates: drawn.reports_duplicates,
            most_blocks: most_blocks(options.sack, options.timestamps),
            waiting: 0,
            due: None,
            every: drawn.ack_every,
            delay: drawn.ack_delay,
            echoes: false,
            has_ended: false,
            fin: None,
            unread: VecDeque::new(),
            is_reading: false,
            buffer: drawn.buffer,
            scale: drawn.scale,
            edge: 0,
        }
    }

    /// Data or a FIN have come; true if they are acknowledged at once.
    pub fn take(&mut self, segment: &Segment, is_dctcp: bool) -> bool {
        let (from, to) = (segment.seq, segment.end());
        if segment.has(bits::CWR) && !is_dctcp {
            self.echoes = false;
        }
        let marked = segment.ecn == 3;
        let turns = is_dctcp && marked != self.echoes;
        self.echoes = marked || (self.echoes && !is_dctcp);
        if segment.has(bits::FIN) {
            self.fin = Some(to);
        }
        let is_known = to <= self.next || self.early.iter().any(|&(first, end)| first <= from && to <= end);
        if is_known {
            self.duplicate = self.reports_duplicates.then_some((from, to));
            return true;
        }
        if from > self.next {
            self.keep_early(from, to);
            return true;
        }
        let before = self.next;
        self.next = to;
        let fills = !self.early.is_empty();
        while let Some(at) = self.early.iter().position(|&(first, _)| first <= self.next) {
            self.next = self.next.max(self.early.remove(at).1);
        }
        self.unread.push_back(self.next - before);
        self.has_ended = self.fin == Some(self.next);
        self.waiting += 1;
        fills || turns || self.has_ended || self.waiting >= self.every
    }

    fn keep_early(&mut self, from: u32, to: u32) {
        let (mut first, mut end) = (from, to);
        self.early.retain(|&(a, b)| {
            let joins = a <= end && first <= b;
            if joins {
                (first, end) = (first.min(a), end.max(b));
            }
            !joins
        });
        self.early.insert(0, (first, end));
    }

    /// When the ACK goes at the latest, if that is not known yet.
    pub fn plan(&mut self, now: Time) -> Option<Time> {
        if self.due.is_some() {
            return None;
        }
        self.due = Some(now + self.delay);
        self.due
    }

    /// An ACK has waited long enough.
    pub fn is_due(&self, now: Time) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// An ACK was sent.
    pub fn note_ack(&mut self) {
        (self.waiting, self.due, self.duplicate, self.acked) = (0, None, None, self.next);
    }

    /// Room in the buffer, bytes.
    fn free(&self) -> u64 {
        self.buffer.saturating_sub(self.unread.iter().copied().map(u64::from).sum())
    }

    /// The window field. The right edge never goes back.
    pub fn advertise(&mut self) -> u32 {
        let next = u64::from(self.next);
        let unit = 1 << self.scale;
        let width = (self.free() / unit * unit).max(self.edge.saturating_sub(next).div_ceil(unit) * unit);
        let field = (width >> self.scale).min(u64::from(u16::MAX));
        self.edge = next + (field << self.scale);
        field as u32
    }

    /// The blocks of an ACK.
    pub fn blocks(&self) -> Vec<(u32, u32)> {
        self.duplicate.iter().chain(&self.early).copied().take(self.most_blocks).collect()
    }

    /// There is something to read, and nobody is about to.
    pub fn waits_to_read(&self) -> bool {
        !self.is_reading && !self.unread.is_empty()
    }

    /// Length of what is read next.
    pub fn first_unread(&self) -> u32 {
        self.unread.front().copied().unwrap_or(0)
    }

    /// Reads the next segment.
    pub fn read(&mut self) {
        self.unread.pop_front();
    }

    /// True if a window update is due: the window is twice as wide as last advertised, or was closed.
    pub fn opens_wide(&self) -> bool {
        let (free, segment) = (self.free(), u64::from(MSS));
        let left = self.edge.saturating_sub(u64::from(self.next));
        free >= 2 * left.max(segment) || (left < segment && free >= 2 * segment)
    }
}
