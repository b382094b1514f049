//! A link that releases packets at the opportunities of a trace, as mahimahi's mm-link does (ravinet/mahimahi, src/frontend/link_queue.cc
//! of commit ae477d4). Each opportunity is good for [`OPPORTUNITY`] bytes. The bytes that a packet leaves serve the next waiting packet. A
//! packet that needs more leaves with the opportunity that brings its last byte. An opportunity is lost if no packet waits. At its end the
//! trace starts again.

use crate::packet::ETHERNET;
use crate::refusal::Flaws;
use crate::time::{Time, MS, NEVER};

/// Bytes of an opportunity.
pub const OPPORTUNITY: u32 = 1504;
/// Bytes that mahimahi adds to the length of an IP packet: the header of the tunnel device that the packet comes through.
const TUNNEL: u32 = 4;

/// A link with the opportunities of a trace.
#[derive(Clone, Debug)]
pub struct Opportunities {
    /// The opportunities of one period, ms from its start, not decreasing.
    at_ms: Vec<u32>,
    /// The next one, and the start of its period.
    next: usize,
    start: Time,
    period: Time,
    /// Time of the latest opportunity that was used, and its remaining bytes.
    used: Time,
    left: u32,
    /// Time at which the packet that was taken last is out.
    free_at: Time,
    /// The one that somebody waits for; others are lost when their time comes.
    awaited: Time,
}

impl Opportunities {
    /// Make a link of a trace that repeats after its last opportunity.
    ///
    /// # Errors
    /// A trace without opportunities, in no order, or that lasts no time.
    pub fn new(at_ms: &[u32]) -> Result<Self, Flaws> {
        let Some(&last) = at_ms.last().filter(|&&last| last > 0) else {
            return Err(Flaws::one("at_ms", "no time at all", "opportunities, the last after 0 ms"));
        };
        if !at_ms.is_sorted() {
            return Err(Flaws::one("at_ms", "in no order", "times that do not decrease"));
        }
        let period = Time::from(last) * MS;
        let at_ms = at_ms.to_vec();
        Ok(Self { at_ms, next: 0, start: 0, period, used: 0, left: 0, free_at: 0, awaited: NEVER })
    }

    /// Return when the packet that was taken last is out.
    #[must_use]
    pub fn out(&self) -> Time {
        self.free_at
    }

    /// Return the time of the next opportunity.
    fn coming(&self) -> Time {
        self.start + Time::from(self.at_ms[self.next]) * MS
    }

    /// Goes on to the one after the next.
    fn step(&mut self) {
        self.next += 1;
        if self.next == self.at_ms.len() {
            self.next = 0;
            self.start += self.period;
        }
    }

    /// Return when a packet may be taken that waits from `now` on at the latest: `now` itself if it may be taken.
    pub fn ready(&mut self, now: Time) -> Time {
        if self.free_at > now || (self.left > 0 && self.used == now) {
            return self.free_at.max(now);
        }
        while self.coming() < now || (self.coming() == now && self.awaited != now) {
            self.step();
        }
        self.awaited = self.coming();
        self.awaited
    }

    /// Takes a packet of a frame of `len` bytes, at a time that is [`ready`](Self::ready).
    pub fn take(&mut self, len: u32, now: Time) {
        if self.used != now {
            self.left = 0;
        }
        let mut need = len - ETHERNET + TUNNEL;
        while need > self.left {
            need -= self.left;
            (self.used, self.left) = (self.coming(), OPPORTUNITY);
            self.step();
        }
        self.left -= need;
        self.free_at = self.used;
    }

    /// Return when the packet behind one that was just taken may be taken; if nobody waits, never.
    pub fn next(&mut self, waits: bool, now: Time) -> Time {
        if !waits {
            self.awaited = NEVER;
            if self.free_at <= now {
                self.left = 0;
            }
            return NEVER;
        }
        if self.left == 0 && self.free_at <= now {
            self.awaited = self.coming();
            return self.awaited;
        }
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::{Opportunities, OPPORTUNITY};
    use crate::time::{Time, MS, NEVER};

    const FULL: u32 = 1514;

    /// The times at which packets leave a line, ms, that all wait from the start.
    fn departures(at_ms: &[u32], lens: &[u32]) -> Vec<Time> {
        let mut line = Opportunities::new(at_ms).unwrap();
        let (mut now, mut out) = (0, vec![]);
        for (i, &len) in lens.iter().enumerate() {
            now = line.ready(now);
            line.take(len, now);
            out.push(line.out() / MS);
            let next = line.next(i + 1 < lens.len(), now);
            assert!(next == NEVER || next >= now);
            now = next.min(line.out().max(now));
        }
        out
    }

    #[test]
    fn a_full_packet_takes_one_opportunity_and_the_trace_repeats() {
        assert_eq!(departures(&[2, 3, 3, 10], &[FULL; 7]), [2, 3, 3, 10, 12, 13, 13]);
    }

    #[test]
    fn small_packets_share_one_and_the_next_has_what_they_leave() {
        // 56 bytes each, as mahimahi counts them: 26 in one opportunity, and 48 bytes that the next packet takes.
        let lens = [vec![66; 27], vec![FULL]].concat();
        let out = departures(&[5, 6, 7], &lens);
        assert!(out[..26].iter().all(|&at| at == 5));
        assert_eq!(out[26..], [6, 7]);
        assert_eq!(26 * 56 + 48, OPPORTUNITY);
    }

    #[test]
    fn a_jumbo_frame_needs_several() {
        assert_eq!(departures(&[1, 2, 3, 4, 5, 6, 7], &[9014, FULL]), [6, 7]);
    }

    #[test]
    fn what_comes_while_nobody_waits_is_lost() {
        let mut line = Opportunities::new(&[1, 2, 4, 4, 8]).unwrap();
        // One that comes with an opportunity comes too late for it.
        assert_eq!(line.ready(2 * MS), 4 * MS);
        line.take(66, 4 * MS);
        assert_eq!((line.out(), line.next(false, 4 * MS)), (4 * MS, NEVER));
        // Neither the rest of that one nor the other of the same time is there any more.
        assert_eq!(line.ready(4 * MS), 8 * MS);
        assert_eq!(line.ready(15 * MS), 16 * MS);
    }

    #[test]
    fn a_packet_under_way_blocks_the_next_until_it_is_out() {
        let mut line = Opportunities::new(&[1, 3, 5]).unwrap();
        assert_eq!(line.ready(0), MS);
        line.take(66, MS);
        assert_eq!(line.next(true, MS), MS);
        line.take(FULL, MS);
        assert_eq!((line.out(), line.next(false, MS)), (3 * MS, NEVER));
        // The packets that come in the meantime use the rest of the last opportunity.
        assert_eq!(line.ready(2 * MS), 3 * MS);
        line.take(66, 3 * MS);
        assert_eq!(line.out(), 3 * MS);
    }

    #[test]
    fn a_trace_that_is_none_is_refused() {
        for at_ms in [&[][..], &[0, 0], &[2, 1]] {
            assert!(Opportunities::new(at_ms).is_err());
        }
    }
}
