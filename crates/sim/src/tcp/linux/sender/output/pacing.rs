//! Pacing: when a segment may leave (Linux 6.12 net/ipv4/tcp_output.c `tcp_update_skb_after_send`, `tcp_pacing_check`, `tcp_pace_kick`;
//! include/net/tcp.h `tcp_pacing_delay`). A TSO segment, or a segment where there is no TSO, leaves at once and sets the time before which the next
//! one does not: later by its payload over the pacing rate. Until then a timer of its own holds back new data and retransmissions. A sender that is
//! not paced has no such times. With `fq` at the host all senders are paced: segments go into its queue with their departure times, which may be in the
//! future, and the timer is not used. Timestamps and RTTs are counted from when a segment departs.

use crate::attachment::Attachment;
use crate::outbox::{End, Outbox};
use crate::packet::{Packet, Verdict, ACK_FRAME};
use crate::segment::Segment;
use crate::tcp::common::lazy_timer::Ticks;
use crate::tcp::linux::sender::{Phase, Sender, Sending};
use crate::time::{Time, MS, NEVER, SEC, US};

/// The first segments of a connection are not held back.
const UNPACED_SEGMENTS: u32 = 10;

/// How a sender is paced, if it [is](crate::cc::View::is_paced). Told of everything sent; asked before anything is.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::linux) struct Pacing {
    /// No faster than this, bytes/s (SO_MAX_PACING_RATE).
    max_rate: u64,
    /// Data segments sent, as far as they count.
    sent: u32,
    source: usize,
    /// The timer's event is set.
    waits: bool,
    /// The host's own queue holds back what may not leave yet, in the place of the timer (SK_PACING_FQ).
    in_host: bool,
}

impl Pacing {
    /// Nothing was sent yet.
    pub fn new(source: usize, max_rate: Option<u64>) -> Self {
        Self { max_rate: max_rate.unwrap_or(u64::MAX), sent: 0, source, waits: false, in_host: false }
    }

    /// No faster than this, bytes/s.
    #[inline]
    pub fn max_rate(&self) -> u64 {
        self.max_rate
    }

    /// When the next segment may leave, after `payload` bytes of `segments` that left when `departure` said or, if that had passed, `now`.
    fn next_departure(&mut self, departure: Time, now: Time, rate: u64, segments: u32, payload: u64) -> Time {
        let left = departure.max(now);
        self.sent = self.sent.saturating_add(segments);
        if rate == u64::MAX || rate == 0 || self.sent < UNPACED_SEGMENTS {
            return left;
        }
        let length = payload * SEC / rate;
        left + length - (length / 2).min(left - departure)
    }
}

/// Times that a sender's clock shows.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::linux::sender) struct Stamps {
    mstamp_us: u64,
    tsval: u32,
}

/// An outbox whose packets the host's own queue is not to let go before a time.
pub(in crate::tcp::linux::sender) struct Departing<'a, O> {
    pub at: Time,
    pub out: &'a mut O,
}

impl<O: Outbox> Outbox for Departing<'_, O> {
    #[inline]
    fn now(&self) -> Time {
        self.out.now()
    }

    fn send(&mut self, from: End, p: impl Into<Packet>) -> Verdict {
        self.out.send_at(from, p, self.at)
    }

    fn set_timer(&mut self, source: usize, at: Time) {
        self.out.set_timer(source, at);
    }

    fn attach(&mut self, attachment: Attachment) -> u32 {
        self.out.attach(attachment)
    }

    fn option_bytes(&self) -> u32 {
        self.out.option_bytes()
    }

    fn take_attachment(&mut self, slot: u32) -> Attachment {
        self.out.take_attachment(slot)
    }
}

impl Sender {
    /// The segments from `first` on, `sent` of them, leave together: the next ones wait.
    #[inline(always)]
    pub(in crate::tcp::linux::sender) fn pace(&mut self, now: Time, first: u32, sent: u32) {
        if sent == 0 {
            return;
        }
        let payload = if self.layout.next_short(first) >= first + sent {
            u64::from(sent) * u64::from(self.layout.mss())
        } else {
            (first..first + sent).map(|seq| u64::from(self.layout.payload(seq))).sum()
        };
        let departure = self.view.departure_ns;
        self.view.departure_ns = self.pacing.next_departure(departure, now, self.window.pacing_rate, sent, payload);
    }

    /// A packet without payload. It leaves at once, but its timestamp is that of the time at which what was sent before it departs
    /// (`__tcp_transmit_skb`).
    pub(in crate::tcp::linux::sender) fn bare_packet(&mut self, now: Time, seq: u32, flags: u16) -> Segment {
        if !self.view.is_paced {
            self.note_bare_departure(now);
            return self.packet(seq, ACK_FRAME, flags, self.control_ecn());
        }
        let (_, clock) = self.set_clock_to_departure(now);
        let packet = self.packet(seq, ACK_FRAME, flags, self.control_ecn());
        self.set_clock(clock);
        self.note_bare_departure(now);
        packet
    }

    /// A packet without payload leaves without waiting or letting others wait.
    pub(in crate::tcp::linux::sender) fn note_bare_departure(&mut self, now: Time) {
        self.view.departure_ns = self.view.departure_ns.max(now);
    }

    /// The host's own queue holds back what may not leave yet: this sender is paced, whatever its control, if its kernel sets departure times.
    /// Said before [`Self::connect`].
    pub fn pace_in_host(&mut self) {
        if !self.stack.pacing {
            return;
        }
        self.pacing.in_host = true;
        (self.view.is_paced, self.sending) = (true, Sending::NotedSteps);
    }

    /// It is too early to send.
    #[inline]
    pub(in crate::tcp::linux) fn is_early(&self, now: Time) -> bool {
        self.view.is_paced && self.view.departure_ns > now && !self.pacing.in_host
    }

    /// Returns how many segments leave now before one waits for those before it.
    pub(in crate::tcp::linux::sender) fn leave_at_once(&self, now: Time) -> u32 {
        match self.is_early(now) {
            true => 0,
            false if self.view.is_paced && !self.pacing.in_host => {
                UNPACED_SEGMENTS.saturating_sub(self.pacing.sent).max(1)
            }
            false => u32::MAX,
        }
    }

    /// Sets the clock to when something that is sent now departs, and returns that and what the clock was, to be [set back](Self::set_clock).
    #[inline]
    pub(in crate::tcp::linux::sender) fn set_clock_to_departure(&mut self, now: Time) -> (Time, Stamps) {
        let departure = self.view.departure_ns.max(now);
        let before = Stamps { mstamp_us: self.view.mstamp_us, tsval: self.form.tsval };
        self.set_clock(Stamps { mstamp_us: departure / US, tsval: (departure / MS) as u32 });
        (departure, before)
    }

    #[inline]
    pub(in crate::tcp::linux::sender) fn set_clock(&mut self, stamps: Stamps) {
        (self.view.mstamp_us, self.form.tsval) = (stamps.mstamp_us, stamps.tsval);
    }

    /// The host's own queue holds back what may not leave yet.
    #[inline]
    pub(in crate::tcp::linux::sender) fn is_held_in_host(&self) -> bool {
        self.pacing.in_host
    }

    /// The timer goes on until it is [not too early](Self::is_early) to send.
    #[inline(always)]
    pub(in crate::tcp::linux) fn wait_for_departure(&mut self, out: &mut impl Outbox) {
        if !self.pacing.waits {
            self.pacing.waits = true;
            out.set_timer(self.pacing.source, self.view.departure_ns);
        }
    }

    /// True if the timer is due at the very time at which a packet arrives, and has not come yet. In Linux it comes first: the softirq of timers (HRTIMER) runs
    /// in the pass in which the packet leaves the link (NET_TX), and that which receives it (NET_RX) in the next.
    #[inline]
    pub(in crate::tcp::linux) fn departs_before_ack(&self, now: Time) -> bool {
        self.pacing.waits && self.view.departure_ns <= now
    }

    /// Nothing but the timer lets anything go now, and [`Self::write`] would note nothing.
    pub(in crate::tcp::linux::sender) fn only_waits(&self, now: Time) -> bool {
        self.pacing.waits
            && self.is_early(now)
            && self.view.packets_out > 0
            && self.view.in_flight() < self.window.cwnd
            && self.chrono.is_window()
    }

    /// For how long the next segment is held back, ticks: timers start when it has left.
    #[inline]
    pub(in crate::tcp::linux) fn pacing_delay(&self, now: Time) -> u64 {
        if self.view.is_paced {
            self.clock.tick(self.view.departure_ns.saturating_sub(now))
        } else {
            0
        }
    }

    /// The time has come at which the next segment may leave.
    pub fn on_departure_timer(&mut self, out: &mut impl Outbox) {
        self.pacing.waits = false;
        if self.phase == Phase::Established {
            self.refresh(out.now());
            let resends = self.view.lost_out > self.view.retrans_out;
            self.retransmit_waiting(out);
            // After a retransmission new data usually wait.
            if !(resends && self.only_waits(out.now())) && self.write_inlined(out, false) > 0 {
                // Each transmission lets the buffer grow (`tcp_event_new_data_sent`).
                self.wake_application_separately(self.view.in_flight() >= self.window.cwnd, out);
            }
            if self.tso.enabled {
                self.let_device_take(out);
            }
            self.update_fast_path();
        }
        // Usually the next segment waits already, and the event is set.
        if !self.pacing.waits {
            out.set_timer(self.pacing.source, NEVER);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 1000 bytes at 1 MB/s: 1 ms each.
    fn times(starts: &[(Time, Time)]) -> Vec<Time> {
        let mut pacing = Pacing { sent: UNPACED_SEGMENTS, ..Pacing::new(0, None) };
        starts.iter().map(|&(departure, now)| pacing.next_departure(departure, now, 1_000_000, 1, 1000)).collect()
    }

    #[test]
    fn a_segment_takes_its_payload_over_the_rate_less_what_it_is_late_up_to_half_of_that() {
        let ms = SEC / 1000;
        assert_eq!(times(&[(5 * ms, 5 * ms), (5 * ms, 2 * ms)]), [6 * ms, 6 * ms], "in time, and before");
        assert_eq!(times(&[(5 * ms, 5 * ms + ms / 4)]), [6 * ms], "a quarter late: made up for");
        assert_eq!(times(&[(5 * ms, 9 * ms)]), [9 * ms + ms / 2], "long idle: half is");
    }

    #[test]
    fn the_tenth_segment_is_the_first_that_the_next_one_waits_for() {
        let mut pacing = Pacing::new(0, None);
        let next: Vec<Time> = (0..11).map(|_| pacing.next_departure(0, 0, 1_000_000, 1, 1000)).collect();
        assert_eq!(next[8..], [0, SEC / 1000, SEC / 1000]);
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        let mut pacing = Pacing { sent: 100, ..Pacing::new(0, None) };
        assert_eq!([u64::MAX, 0].map(|rate| pacing.next_departure(7, 9, rate, 1, 1000)), [9, 9]);
    }
}
