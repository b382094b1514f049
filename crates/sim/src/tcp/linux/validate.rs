//! Packets that an end drops before anything else looks at them, for both halves: which timestamps are too old (PAWS: RFC 7323 section 5; Linux 6.12
//! include/net/tcp.h `tcp_paws_check`, net/ipv4/tcp_input.c `tcp_tsval_replay`), and how often that is answered (`tcp_oow_rate_limited`).
//!
//! Leaves out: the replay window before 6.7, 1.024 retransmission timeouts and not 1.2.

use crate::tcp::common::lazy_timer::Ticks;
use crate::tcp::linux::clock::Clock;
use crate::tcp::linux::stack::Stack;
use crate::time::Time;

/// A timestamp may be so much older than the one to echo, ms (TCP_PAWS_WINDOW).
const PAWS_WINDOW_MS: u32 = 1;
/// Packets without data that come sooner after an answer are not answered, ms (sysctl tcp_invalid_ratelimit).
const ANSWER_INTERVAL_MS: u64 = 500;

/// True if a packet with timestamp `tsval` is taken for one of long ago by an end that echoes `recent`, ms.
#[inline]
pub fn is_old(tsval: u32, recent: u32) -> bool {
    tsval + PAWS_WINDOW_MS < recent
}

/// How much older than the one to echo the timestamp of a duplicate ACK may be that changes nothing, for a retransmission timeout of `rto_us`, ms.
pub fn replay_ms(rto_us: u64) -> u64 {
    rto_us * 1200 / 1_000_000
}

/// Answers to packets without data that were dropped.
#[derive(Clone, Copy, Debug)]
pub struct Answers {
    limited: bool,
    clock: Clock,
    /// The tick of the last one.
    last: Option<u64>,
}

impl Answers {
    /// None yet.
    pub fn new(stack: &Stack) -> Self {
        Self { limited: stack.limit_answers, clock: Clock::of(stack), last: None }
    }

    /// Such a packet came; true if it is answered.
    pub fn is_due(&mut self, now: Time) -> bool {
        let (tick, interval) = (self.clock.tick(now), self.clock.from_ms(ANSWER_INTERVAL_MS));
        let is_due = !self.limited || self.last.is_none_or(|last| tick - last >= interval);
        if is_due {
            self.last = Some(tick);
        }
        is_due
    }
}
