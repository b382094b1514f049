//! Renumbers the scoreboard when a segment in flight is cut apart or joined to the one before it, as happens in streams.

use std::cmp::Reverse;
use std::ops::Range;

use super::{mark, Scoreboard, NIL};
use crate::cc::Renumbering;

impl Scoreboard {
    /// Renumbers the segments `flight`: one is new and was sent with the one before it, or one has gone. `notes_segments`: what is noted of each is a
    /// segment.
    #[cold]
    #[inline(never)]
    pub fn renumber(&mut self, r: Renumbering, flight: Range<u32>, notes_segments: bool) {
        let at = r.segment();
        let mut listed: Vec<u32> = std::iter::successors(self.oldest(), |&seq| self.younger(seq)).collect();
        let end = if r.is_addition() {
            if (flight.end + 1 - flight.start) as usize > self.ring.len() {
                self.grow(flight.start, &(flight.end..flight.end + 1));
            }
            for seq in (at..flight.end).rev() {
                *self.slot(seq + 1) = *self.get(seq);
            }
            if let Some(place) = listed.iter().position(|&seq| seq == at) {
                listed.iter_mut().for_each(|seq| r.apply(seq));
                listed.insert(place + 1, at + 1);
            } else {
                listed.iter_mut().for_each(|seq| r.apply(seq));
            }
            flight.end + 1
        } else {
            self.slot(at).marks |= self.get(at + 1).marks & mark::EVER_RETRANS;
            for seq in at + 1..flight.end - 1 {
                *self.slot(seq) = *self.get(seq + 1);
            }
            listed.retain(|&seq| seq != at + 1);
            listed.iter_mut().for_each(|seq| r.apply(seq));
            flight.end - 1
        };
        if notes_segments {
            (flight.start..end).for_each(|seq| r.apply(&mut self.slot(seq).noted));
        }
        (self.first, self.last, self.fresh) = (NIL, NIL, end..end);
        listed.into_iter().for_each(|seq| self.link(seq));
        for (start, end) in &mut self.runs {
            r.apply(start);
            r.apply(end);
        }
        let mut lost: Vec<u32> = std::mem::take(&mut self.lost).into_iter().map(|Reverse(seq)| seq).collect();
        lost.iter_mut().for_each(|seq| r.apply(seq));
        if r.is_addition() {
            lost.push(at + 1);
        }
        self.lost = lost.into_iter().map(Reverse).collect();
        r.apply(&mut self.unmarked_from);
        r.apply(&mut self.highest_sacked);
        for (start, end) in &mut self.walked.ranges[..usize::from(self.walked.count)] {
            r.apply(start);
            r.apply(end);
        }
    }
}
