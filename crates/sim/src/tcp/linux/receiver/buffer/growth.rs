//! How the window grows with what comes, and the buffer with what is read (Linux 6.12 net/ipv4/tcp_input.c `tcp_grow_window`,
//! `tcp_rcv_space_adjust`; 7.3 `tcp_rcvbuf_grow`).

use super::ReceiveBuffer;
use crate::tcp::linux::options::ReceiveTuning;
use crate::time::Time;

/// Steps in which more is counted on for a segment until the share of it holds the segment, bytes.
const GROWTH_STEP: u64 = 128;

impl ReceiveBuffer {
    /// How far what may be advertised can still be raised, bytes.
    pub(super) fn room(&self, charged: u64) -> u64 {
        self.clamp.min(self.free(charged)).saturating_sub(self.ssthresh)
    }

    /// A segment of `payload` bytes arrived, which may or may not be joined to another one: raises what may be advertised; true if it did
    /// (`tcp_grow_window`).
    #[inline]
    pub fn grow(&mut self, payload: u32, joins: bool, charged: u64) -> bool {
        let room = self.room(charged);
        room > 0 && self.grow_into(room, u64::from(payload), joins)
    }

    /// [`Self::grow`] for a full segment with nothing out of order.
    #[inline]
    pub fn grow_in_order(&mut self) -> bool {
        !self.in_order.grown && self.grow(self.mss as u32, true, self.in_order.charged)
    }

    fn grow_into(&mut self, room: u64, payload: u64, joins: bool) -> bool {
        // A head that may be shared is not counted where the share is measured (`truesize_adjust`).
        let head = if joins && !self.charge.assumed { 0 } else { self.charge.head };
        let cost = self.payload_in(payload + head);
        let increment = if cost <= payload {
            2 * self.mss
        } else {
            let (mut cost, mut window) = (cost >> 1, self.payload_in(self.most) >> 1);
            loop {
                if self.ssthresh > window {
                    return false;
                }
                if cost <= payload {
                    break 2 * self.seen_mss;
                }
                cost >>= 1;
                window >>= 1;
            }
        };
        self.ssthresh += room.min(increment.max(2 * payload));
        self.update_in_order();
        true
    }

    /// Memory counted on for a segment when a buffer that assumes its share grows, bytes.
    fn growth_per_segment(&self) -> u64 {
        let least = self.mss + self.charge.beside;
        // The buffer must hold a segment with its share of memory.
        let holds = (self.mss << 8).div_ceil(self.ratio);
        least + holds.saturating_sub(least).next_multiple_of(GROWTH_STEP)
    }

    /// A round trip has passed since [`Self::tune`] was called.
    #[inline]
    pub fn is_to_tune(&self, now: Time) -> bool {
        now >= self.reading.until
    }

    /// The application has read so many bytes of the connection, and others wait to be read. What came out of order reaches `early` bytes behind what
    /// is missing (`tcp_rcv_space_adjust`).
    #[inline]
    pub fn tune(&mut self, read: u64, waiting: u64, early: u64, now_us: u64) {
        let copied = (read - self.reading.since).saturating_sub(waiting);
        self.reading.since = read;
        self.reading.since_us = now_us;
        self.plan();
        if copied > self.reading.bytes {
            self.grow_for(copied, early);
        }
    }

    /// The application has read so many bytes in a round trip, more than ever.
    #[inline(never)]
    fn grow_for(&mut self, copied: u64, early: u64) {
        match self.tuning {
            ReceiveTuning::Off => {}
            ReceiveTuning::Twice => {
                let segments = (2 * copied / self.mss).max(1);
                let size = (segments * self.growth_per_segment()).min(self.most);
                if size > self.size {
                    self.resize(size);
                    self.clamp = 2 * copied;
                }
            }
            ReceiveTuning::Ahead => {
                // Twice for losses, and more while the sender speeds up.
                let mut window = (copied << 1) + 16 * self.mss;
                window += (window * (copied - self.reading.bytes) / self.reading.bytes) << 1;
                let size = if self.charge.assumed {
                    window / self.mss * self.growth_per_segment()
                } else {
                    (window << 8) / self.ratio
                };
                let size = size.min(self.most);
                if size > self.size {
                    self.resize(size);
                    self.clamp = self.full;
                }
            }
            ReceiveTuning::ByRtt => self.grow_by_rtt(copied, early),
        }
        self.reading.bytes = copied;
        self.update_in_order();
    }

    /// The buffer is tuned by RTT, and grows with what comes out of order.
    #[inline]
    pub fn grows_out_of_order(&self) -> bool {
        self.tuning == ReceiveTuning::ByRtt
    }

    /// A segment came out of order; what did reaches `early` bytes behind what is missing.
    #[inline(never)]
    pub fn make_room_for(&mut self, early: u64) {
        self.grow_by_rtt(self.reading.bytes, early);
        self.update_in_order();
    }

    /// Grows the buffer for `copied` bytes in a round trip and for what came out of order (7.3 `tcp_rcvbuf_grow`).
    fn grow_by_rtt(&mut self, copied: u64, early: u64) {
        let (before, rtt_us) = (self.reading.bytes, self.rtt.us8() >> 3);
        // The bytes that were read are those that came a round trip ago.
        let mut window = copied << 1;
        window += if rtt_us < self.low_rtt_us {
            window * rtt_us / self.low_rtt_us
        } else {
            (window << 1) * (copied - before) / before
        };
        let size = (((window + early) << 8) / self.ratio).min(self.most);
        if size > self.size {
            self.resize(size);
            self.clamp = self.full;
        }
    }
}
