//! The sending half of the peer: it fills the end's window, and retransmits what is not acknowledged.

use std::collections::VecDeque;

use dumbbell_sim::time::{Time, SEC};

use super::draw::{cuts, Drawn, Stream};
use crate::case::{bits, Segment};

/// Longest timeout.
const MOST_TIMEOUT: Time = 8 * SEC;
/// Duplicate ACKs after which the first segment is retransmitted.
const DUPLICATES: u32 = 3;

/// A segment: first number, payload, header bits beside ACK.
type Cut = (u32, u32, u8);

/// The state of the sending half. Wide because it is a whole half of the peer.
pub struct Sending {
    /// The number after the last byte sent.
    pub next: u32,
    /// The first that is not acknowledged.
    una: u32,
    /// Segments sent and not acknowledged.
    outstanding: VecDeque<Cut>,
    /// Payloads to come, of the writes that the application has made, and how many it has yet to make.
    unsent: VecDeque<u32>,
    writes: usize,
    /// The application closes when all is sent.
    pub closes: bool,
    fin_rides: bool,
    has_closed: bool,
    /// Right edge of the end's window, and the shift of its field.
    edge: u32,
    pub scale: u8,
    window: u32,
    most_window: u32,
    duplicates: u32,
    /// True if the end has echoed a mark; ACKs up to `reduced_until` ask for no other reduction.
    reduces: bool,
    reduced_until: u32,
    /// True if duplicate ACKs have SACK blocks.
    sack: bool,
    /// Payload of a full segment, bytes.
    mss: u32,
    timeout: Time,
    /// How often the timer was set, and how often it fired since something came.
    set: u32,
    backoff: u32,
    is_armed: bool,
}

impl Sending {
    pub fn new(drawn: &Drawn, stream: &Stream, sack: bool) -> Self {
        Self {
            next: 1,
            una: 1,
            outstanding: VecDeque::new(),
            unsent: VecDeque::new(),
            writes: stream.writes.len(),
            closes: false,
            fin_rides: stream.fin_rides,
            has_closed: false,
            edge: 1,
            scale: 0,
            window: drawn.window.min(10),
            most_window: drawn.window,
            duplicates: 0,
            reduces: false,
            reduced_until: 0,
            sack,
            mss: stream.mss,
            timeout: drawn.timeout,
            set: 0,
            backoff: 0,
            is_armed: false,
        }
    }

    /// Takes the window of the end's SYN-ACK.
    pub fn open(&mut self, segment: &Segment) {
        self.edge = 1 + segment.window;
    }

    /// The application writes.
    pub fn write(&mut self, bytes: u64) {
        self.writes -= 1;
        self.unsent.extend(cuts(bytes, self.mss).flat_map(|(times, payload)| (0..times).map(move |_| payload)));
    }

    /// The next segment, if the windows allow one.
    pub fn cut(&mut self) -> Option<Cut> {
        if self.outstanding.len() >= self.window as usize {
            return None;
        }
        let cut = match self.unsent.front() {
            Some(&payload) if self.next + payload <= self.edge => {
                self.unsent.pop_front();
                let ends = payload < self.mss || self.unsent.is_empty();
                self.has_closed = self.unsent.is_empty() && self.fin_rides && self.closes;
                let fin = if self.has_closed { bits::FIN } else { 0 };
                (self.next, payload, fin | if ends { bits::PSH } else { 0 })
            }
            None if self.closes && self.writes == 0 && !self.has_closed => {
                self.has_closed = true;
                (self.next, 0, bits::FIN)
            }
            _ => return None,
        };
        self.next += cut.1 + u32::from(cut.2 & bits::FIN != 0);
        self.outstanding.push_back(cut);
        Some(cut)
    }

    /// A packet of the end has come; true if the first segment is retransmitted.
    pub fn hear(&mut self, segment: &Segment) -> bool {
        let edge = segment.ack + (segment.window << self.scale);
        self.edge = self.edge.max(edge);
        if segment.has(bits::ECE) && segment.ack > self.reduced_until {
            (self.reduces, self.reduced_until) = (true, self.next);
            self.window = (self.window / 2).max(2);
        }
        if segment.ack > self.una {
            self.una = segment.ack;
            while self.outstanding.front().is_some_and(|cut| cut.0 < self.una) {
                self.outstanding.pop_front();
            }
            (self.duplicates, self.backoff, self.is_armed) = (0, 0, false);
            self.window = (self.window + 1).min(self.most_window);
            return false;
        }
        if segment.payload == 0 && !self.outstanding.is_empty() && segment.ack == self.una {
            self.duplicates += 1;
        }
        self.duplicates > 0 && self.duplicates.is_multiple_of(DUPLICATES) && self.sack != segment.sacks.is_empty()
    }

    /// The next new segment tells the end that its ECN echo was heard.
    pub fn takes_reduction(&mut self) -> bool {
        std::mem::take(&mut self.reduces)
    }

    /// The first number that is not acknowledged.
    pub fn una(&self) -> u32 {
        self.una
    }

    /// The first segment that is not acknowledged.
    pub fn first(&self) -> Option<Cut> {
        self.outstanding.front().copied()
    }

    /// Sets the timer if there is something to wait for and it is not set: when, and as which.
    pub fn arm(&mut self, now: Time) -> Option<(Time, u32)> {
        let waits = !self.outstanding.is_empty() || !self.unsent.is_empty();
        if !waits || self.is_armed {
            return None;
        }
        self.is_armed = true;
        self.set += 1;
        Some((now + (self.timeout << self.backoff.min(6)).min(MOST_TIMEOUT), self.set))
    }

    /// The timer with this number fired; true if it is the one that is set.
    pub fn times_out(&mut self, which: u32) -> bool {
        let counts = which == self.set && self.is_armed;
        if counts {
            self.is_armed = false;
            self.backoff += 1;
            self.window = (self.window / 2).max(2);
        }
        counts
    }
}
