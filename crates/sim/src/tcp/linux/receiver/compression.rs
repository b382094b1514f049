//! ACKs merged while a gap stays (Linux 6.12 net/ipv4/tcp_input.c `__tcp_ack_snd_check`, `tcp_sack_new_ofo_skb`, tcp_timer.c
//! `tcp_compressed_ack_kick`; the same of Linux 5.1). Left out: in 5.1 a timer that an ACK made needless runs on, and what the next gap holds back
//! goes with it.

use super::out_of_order::SACK_MEMORY;
use super::Receiver;
use crate::outbox::Outbox;
use crate::tcp::linux::stack::Stack;
use crate::time::{Time, MS, NEVER, US};

/// The share of an RTT that SACKs wait for where no option says, as Linux computes it: times 8 and in ns, 1000/8 of a twentieth.
const TWENTIETH: (u64, u64) = (125, 20);

/// Duplicate ACKs sent at once before compression sets in.
const DUPACKS_AT_ONCE: u32 = 3;
/// ACKs merged at most (sysctl tcp_comp_sack_nr).
const MERGED_MAX: u32 = 44;
/// Longest compression (sysctl tcp_comp_sack_delay_ns), ns.
const DELAY_MAX: Time = MS;

/// Changes of Linux 5.8.
#[derive(Clone, Copy, Debug)]
struct Rules {
    merged_max: u32,
    /// The timer may be late, to fire with another one (sysctl tcp_comp_sack_slack_ns).
    has_slack: bool,
    /// A segment of the range at this place, or of a new one behind it, lets go what is held back; the most recent range is at 0.
    last_place: usize,
    /// So does a segment of a range that is known.
    known_counts: bool,
}

/// Ranges behind the second may not fit in an ACK (`TCP_SACK_BLOCKS_EXPECTED`).
const LATE: Rules = Rules { merged_max: MERGED_MAX, has_slack: true, last_place: 2, known_counts: true };
/// The duplicates that were sent at once count as well. A new range lets go what is held back when it makes the receiver forget another.
const EARLY: Rules =
    Rules { merged_max: MERGED_MAX - DUPACKS_AT_ONCE, has_slack: false, last_place: SACK_MEMORY, known_counts: false };

/// Duplicate ACKs held back. Told of every duplicate ACK that is due, and of every ACK that is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compression {
    source: usize,
    enabled: bool,
    rules: &'static Rules,
    /// By how much the timer may be late, ns.
    slack: Time,
    /// Percent of an RTT that SACKs wait for; `None`: a twentieth.
    rtt_percent: Option<u32>,
    /// The timer does not look at the clock.
    stale_clock: bool,
    /// Duplicate ACKs sent for the present gap, and which that is.
    sent: u32,
    gap: u32,
    /// Duplicate ACKs held back.
    held: u32,
    /// From when on they go with whatever timer fires.
    due: Time,
    /// When the receiver has looked at the clock last, since then.
    looked: Time,
}

impl Compression {
    /// Nothing is held back, and nothing ever is without `sack`.
    pub fn new(source: usize, stack: &Stack, sack: bool) -> Self {
        let rules = if stack.early_sack_compression { &EARLY } else { &LATE };
        Self {
            source,
            enabled: stack.sack_compression && sack,
            rules,
            slack: if rules.has_slack { u64::from(stack.sack_compression_slack_us) * US } else { 0 },
            rtt_percent: stack.sack_compression_rtt_percent,
            stale_clock: stack.sack_compression_stale_clock,
            sent: 0,
            gap: 0,
            held: 0,
            due: 0,
            looked: 0,
        }
    }

    /// All numbers are `by` lower from now on.
    pub fn rebase(&mut self, by: u32) {
        self.gap = self.gap.saturating_sub(by);
    }

    /// ACKs are held back.
    #[inline]
    pub fn holds(&self) -> bool {
        self.held > 0
    }

    /// Another timer of precise time has fired: one that is due fires as well, before its slack has passed (`hrtimer_start_range_ns`,
    /// `__hrtimer_run_queues`).
    pub fn fires_with_another(&self, now: Time) -> bool {
        self.holds() && now >= self.due
    }

    /// When the receiver has looked at the clock last.
    pub fn looked(&self) -> Time {
        self.looked
    }

    /// How long SACKs wait at most where an RTT is `rtt_us8`/8 us, ns (`__tcp_ack_snd_check`).
    fn delay(&self, rtt_us8: u64) -> Time {
        let share = match self.rtt_percent {
            // A hundredth of 1000/8 is 1.25.
            Some(percent) => (rtt_us8 + (rtt_us8 >> 2)) * u64::from(percent),
            None => rtt_us8 * TWENTIETH.0 / TWENTIETH.1,
        };
        DELAY_MAX.min(share)
    }

    /// The receiver looks at the clock.
    pub fn look(&mut self, now: Time) {
        self.looked = now;
    }

    /// A duplicate ACK for `rcv_nxt` is due; true if it is held back.
    fn hold(&mut self, rcv_nxt: u32, now: Time) -> bool {
        if self.gap != rcv_nxt {
            self.gap = rcv_nxt;
            self.sent = 0;
        }
        let holds = self.enabled && self.held < self.rules.merged_max && self.sent >= DUPACKS_AT_ONCE;
        if holds {
            self.held += 1;
            self.looked = now;
        } else {
            self.sent += 1;
        }
        holds
    }

    /// Sends an ACK that is held back, if there is one, before a segment is taken in whose range is at a place (see [`OutOfOrder::place_of`]).
    #[inline]
    pub fn ends_with(&self, (place, known): (usize, bool)) -> bool {
        place >= self.rules.last_place && (self.rules.known_counts || !known)
    }

    /// An ACK says what the ones held back would have said.
    #[inline]
    pub fn note_ack(&mut self, out: &mut impl Outbox) {
        if self.held > 0 {
            self.held = 0;
            self.disarm(out);
        }
    }

    /// The timer's event has come, or is not needed any more.
    pub fn disarm(&self, out: &mut impl Outbox) {
        out.set_timer(self.source, NEVER);
    }
}

impl Receiver {
    /// Sends what is being held back.
    pub(super) fn flush_compressed(&mut self, out: &mut impl Outbox) {
        if self.compression.holds() {
            self.send_ack(self.rcv_nxt, out);
        }
    }

    /// The timer's event has come: sends what is held back. Where the timer does not look at the clock, the timestamp is that of the last arrival or
    /// read (`tcp_compressed_ack_kick`).
    pub(super) fn on_compression_timer(&mut self, out: &mut impl Outbox) {
        if self.compression.holds() {
            if !self.compression.stale_clock {
                self.compression.look(out.now());
            }
            let stamp = self.compression.looked;
            self.send_ack_stamped(self.rcv_nxt, stamp, out);
        } else {
            self.compression.disarm(out);
        }
    }

    /// The timer of pacing has fired, and that of what is held back does so with it.
    pub(in crate::tcp::linux) fn on_pacing_timer(&mut self, out: &mut impl Outbox) {
        if self.compression.fires_with_another(out.now()) {
            self.on_compression_timer(out);
        }
    }

    /// The time that the clock shows when the event of timer `which` comes `now`.
    pub(in crate::tcp::linux) fn clock_at(&self, which: usize, now: Time) -> Time {
        if which == 1 && self.compression.holds() && self.compression.stale_clock {
            self.compression.looked
        } else {
            now
        }
    }

    /// Sends a duplicate ACK, or holds it back for a share of an RTT.
    #[inline(always)]
    pub(super) fn compress_ack(&mut self, out: &mut impl Outbox) {
        if !self.compression.hold(self.rcv_nxt, out.now()) {
            self.send_ack(self.rcv_nxt, out);
        } else if self.compression.held == 1 {
            let (rtt_us8, srtt_us) = (self.buffer.rtt_us8(), self.rtt.srtt_us);
            let rtt_us8 = if srtt_us > 0 { rtt_us8.min(srtt_us << 3) } else { rtt_us8 };
            self.compression.due = out.now() + self.compression.delay(rtt_us8);
            out.set_timer(self.compression.source, self.compression.due + self.compression.slack);
        }
    }
}
