//! The delayed ACK: how long it waits, its timer, and the quick ACKs that do not wait (Linux 6.12 net/ipv4/tcp_input.c
//! `tcp_event_data_recv`, tcp_output.c `tcp_send_delayed_ack`, `tcp_delack_max`, tcp_timer.c `tcp_delack_timer_handler`).

use super::{Receiver, MAX_QUICK};
use crate::outbox::Outbox;
use crate::tcp::common::lazy_timer::{LazyTimer, Ticks, Turn};
use crate::tcp::linux::clock::Clock;
use crate::tcp::linux::stack::Stack;
use crate::time::Time;

/// Least delayed-ACK interval, ms (also the quick-ACK interval).
const LEAST_MS: u64 = 40;
/// Largest one, ms.
const MOST_MS: u64 = 200;
/// The largest one where nothing caps it, ms.
const MOST_UNCAPPED_MS: u64 = 500;

/// How long ACKs wait for more data. Told of every segment in order and of every ACK; asked when something is to be acknowledged. Intervals are
/// in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckDelay {
    /// Fires even when nothing waits for it any more.
    timer: LazyTimer,
    /// An ACK waits for the timer (ICSK_ACK_TIMER).
    waiting: bool,
    /// Something waits to be acknowledged (ICSK_ACK_SCHED).
    scheduled: bool,
    /// Both ends take turns: an ACK waits for data, or a FIN, to ride on.
    ping_pong: bool,
    /// ACKs left that do not wait.
    quick: u32,
    interval: u64,
    least: u64,
    /// Half the minimum interval.
    step: u64,
    /// No interval is longer than `most`, and no ACK waits for longer than `longest`.
    most: u64,
    longest: u64,
    /// The largest interval, and the one where nothing caps it.
    capped: u64,
    uncapped: u64,
    /// The interval that [`Self::wait_lazily`] waits for: the minimum one; `u64::MAX` if no ACK may wait for so long.
    lazy: u64,
    /// Half the minimum interval, ns; and that after the last arrival of data in order.
    short_gap: Time,
    short_gap_ends: Time,
    /// When the connection was established, which counts as the last arrival until data come. 0: nothing does (`lrcvtime`).
    established: Time,
}

/// Bounds of a delay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Smoothed RTT, ticks; 0: not known.
    pub srtt: u64,
    /// Waiting longer than the largest interval is no use: a write has ended, or the ends take turns.
    pub short: bool,
}

impl AckDelay {
    /// Nothing has come yet.
    pub fn new(source: usize, clock: &Clock, stack: &Stack) -> Self {
        let least = clock.from_ms(LEAST_MS);
        let most = if stack.delayed_ack_capped { clock.from_ms(MOST_MS) } else { u64::MAX };
        let below_rto = clock.from_ms(u64::from(stack.rto_min_ms)).max(2) - 1;
        let longest = if stack.delayed_ack_below_rto { most.min(below_rto) } else { most };
        Self {
            timer: LazyTimer::new(source),
            waiting: false,
            scheduled: false,
            ping_pong: false,
            quick: 0,
            interval: 0,
            least,
            step: least / 2,
            most,
            longest,
            capped: clock.from_ms(MOST_MS),
            uncapped: clock.from_ms(MOST_UNCAPPED_MS),
            lazy: if least <= longest { least } else { u64::MAX },
            short_gap: clock.start(least / 2),
            short_gap_ends: 0,
            established: 0,
        }
    }

    /// Something has to be acknowledged, now or later.
    #[inline]
    pub fn schedule(&mut self) {
        self.scheduled = true;
    }

    /// Something has to be acknowledged.
    #[inline]
    pub fn is_scheduled(&self) -> bool {
        self.scheduled
    }

    /// An ACK waits for its timer.
    pub fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// ACKs left that do not wait.
    #[inline]
    pub fn quick(&self) -> u32 {
        self.quick
    }

    /// Both ends take turns.
    pub fn in_ping_pong(&self) -> bool {
        self.ping_pong
    }

    /// They do from now on.
    pub fn enter_ping_pong(&mut self) {
        self.ping_pong = true;
    }

    /// They do not, or not any more.
    pub fn leave_ping_pong(&mut self) {
        self.ping_pong = false;
    }

    /// At least `n` ACKs do not wait.
    pub fn grant_quick(&mut self, n: u32) {
        self.quick = self.quick.max(n);
    }

    /// The window was widened: the next ACK tells.
    #[inline]
    pub fn grant_odd(&mut self) {
        self.quick |= 1;
    }

    /// All ACKs wait again.
    pub fn revoke_quick(&mut self) {
        self.quick = 0;
    }

    /// Back to the minimum interval.
    pub fn reset(&mut self) {
        self.interval = self.least;
    }

    /// The connection is established, as if data had come.
    pub fn establish(&mut self, now: Time) {
        self.established = now;
    }

    /// An ACK was sent. One that nothing had asked for costs no quick ACK (`tcp_dec_quickack_mode`).
    #[inline]
    pub fn note_ack(&mut self) {
        if self.scheduled {
            self.note_scheduled_ack();
        } else {
            self.waiting = false;
        }
    }

    /// Nothing waits to be acknowledged any more.
    #[inline]
    pub fn note_scheduled_ack(&mut self) {
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.interval = self.least;
            }
        }
        (self.scheduled, self.waiting) = (false, false);
    }

    /// Another packet took the ACK along.
    pub fn stop_waiting(&mut self) {
        self.waiting = false;
    }

    /// Data came in order: adapts the interval to their spacing; true if this is a time for quick ACKs. `rto`: the sender's, as far as it is
    /// known, ticks.
    #[inline(always)]
    pub fn note_data(&mut self, now: Time, rto: u64, clock: &Clock) -> bool {
        let hurry = if now < self.short_gap_ends {
            self.interval = (self.interval >> 1) + self.step;
            false
        } else {
            self.note_gap(now, rto, clock)
        };
        self.short_gap_ends = now + self.short_gap;
        hurry
    }

    #[inline(never)]
    fn note_gap(&mut self, now: Time, rto: u64, clock: &Clock) -> bool {
        if self.interval == 0 {
            self.interval = self.least;
            return true;
        }
        // Segments out of order may have set the interval before any data came in order.
        let gap = self.ticks_since_data(now, clock);
        if gap <= self.step {
            self.interval = (self.interval >> 1) + self.step;
        } else if gap < self.interval {
            self.interval = self.bounded((self.interval >> 1) + gap, rto);
        } else {
            return gap > rto;
        }
        false
    }

    fn ticks_since_data(&self, now: Time, clock: &Clock) -> u64 {
        match self.short_gap_ends.saturating_sub(self.short_gap).max(self.established) {
            0 => u64::MAX,
            last => clock.tick(now) - clock.tick(last),
        }
    }

    /// Data of this end follow those of the other so soon that both take turns.
    pub fn takes_turns(&self, now: Time, clock: &Clock) -> bool {
        self.ticks_since_data(now, clock) < self.interval
    }

    fn bounded(&self, interval: u64, rto: u64) -> u64 {
        interval.min(rto).min(self.most)
    }

    /// Delays the ACK; false if one that waits is so nearly due that it should go at once.
    pub fn wait(&mut self, bounds: Bounds, clock: &Clock, out: &mut impl Outbox) -> bool {
        let mut interval = self.interval;
        if interval > self.least {
            let mut most = if bounds.short { self.capped } else { self.uncapped };
            if bounds.srtt > 0 {
                most = most.min(bounds.srtt.max(self.least));
            }
            interval = interval.min(most);
        }
        interval = interval.min(self.longest);
        let now = clock.tick(out.now());
        let mut expires = now + interval;
        if let Some(pending) = self.waiting.then(|| self.timer.expires(clock)).flatten() {
            if pending <= now + (interval >> 2) {
                return false;
            }
            expires = expires.min(pending);
        }
        self.timer.set_inline(clock, now, expires, out);
        self.waiting = true;
        true
    }

    /// Delays the ACK by the minimum interval without asking which tick that is, if no ACK waits yet and the timer's event comes before; true
    /// if it did.
    #[inline]
    pub fn wait_lazily(&mut self, now: Time) -> bool {
        let lazily = self.interval == self.lazy && !self.waiting && self.timer.covers(now, LEAST_MS * 1000);
        if lazily {
            self.timer.set_later(now, LEAST_MS * 1000);
            self.waiting = true;
        }
        lazily
    }

    /// True if the ACK that waits began to so short a time ago that [`Self::wait`] would leave its timer as it is.
    #[inline]
    pub fn has_just_begun(&self, now: Time) -> bool {
        // An ACK may wait on for a timer that has fired: that one was set longer ago than this.
        self.waiting && self.timer.set_later_at().is_some_and(|from| now < from + self.short_gap)
    }

    /// Where the timer comes among those that fire now, if it fires.
    pub fn turn(&mut self, clock: &Clock, out: &mut impl Outbox) -> Option<Turn> {
        self.timer.turn(clock, out)
    }

    /// The timer's event came; true if it fires.
    pub fn fires(&mut self, clock: &Clock, out: &mut impl Outbox) -> bool {
        self.timer.expired(clock, out)
    }

    /// The timer has fired; true if an ACK has waited for it.
    pub fn has_waited(&mut self) -> bool {
        std::mem::take(&mut self.waiting) && self.scheduled
    }

    /// Nothing came while the ACK waited: the next one waits twice as long.
    pub fn double(&mut self, rto: u64) {
        self.interval = self.bounded(self.interval << 1, rto);
    }
}

impl Receiver {
    /// Adapts the delayed-ACK interval to the spacing of the data.
    #[inline(always)]
    pub(super) fn time_delayed_ack(&mut self, now: Time) {
        if self.delay.note_data(now, self.rtt.rto, &self.clock) {
            self.request_quick(MAX_QUICK);
        }
    }

    /// The timer of the delayed ACK fires now, and before the sender's, whose turn is `other`. Of both that a packet sets it is the last one.
    pub(in crate::tcp::linux) fn acknowledges_before(&mut self, other: Turn, out: &mut impl Outbox) -> bool {
        let is_first = |turn| turn < other || (turn == other && self.clock.is_last_set_first());
        self.delay.turn(&self.clock, out).is_some_and(is_first)
    }

    /// Acknowledges later, unless an ACK is nearly due.
    pub(super) fn delay_ack(&mut self, out: &mut impl Outbox) {
        if !self.waits_to_acknowledge(out) {
            self.send_ack(self.rcv_nxt, out);
        }
    }

    /// Delays the ACK; false if one that waits is so nearly due that it should go at once.
    #[inline(always)]
    pub(super) fn waits_to_acknowledge(&mut self, out: &mut impl Outbox) -> bool {
        let bounds = Bounds { srtt: self.rtt.srtt, short: self.pushed || self.delay.in_ping_pong() };
        self.delay.wait(bounds, &self.clock, out)
    }

    /// A timer's event: 0 is the delayed ACK, 1 the compressed ACK, and once the receiver closes the FIN.
    pub fn on_timer(&mut self, which: usize, out: &mut impl Outbox) {
        if which == 1 && !self.established {
            self.on_syn_timer(out);
        } else if which == 1 && self.closing.is_waiting() {
            self.on_fin_timer(out);
        } else if which == 1 {
            self.on_compression_timer(out);
        } else if self.delay.fires(&self.clock, out) {
            self.on_delayed_ack_timer(out);
        }
    }

    /// The timer of the delayed ACK fires, which lets go what is held back, whether or not an ACK waits (`tcp_delack_timer_handler`).
    fn on_delayed_ack_timer(&mut self, out: &mut impl Outbox) {
        if self.compression.holds() {
            self.flush_compressed(out);
        } else if self.delay.has_waited() {
            if self.delay.in_ping_pong() {
                // Nothing came for the ACK to ride on.
                self.delay.leave_ping_pong();
                self.delay.reset();
            } else {
                self.delay.double(self.rtt.rto);
            }
            self.send_ack(self.rcv_nxt, out);
        }
    }
}
