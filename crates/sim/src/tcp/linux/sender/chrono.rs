//! For how long what limits sending (Linux 6.12 net/ipv4/tcp_output.c `tcp_chrono_start`, `tcp_chrono_stop`, `tcp_write_xmit`,
//! `tcp_cwnd_validate`; tcp_input.c `tcp_clean_rtx_queue`, `tcp_check_space`; tcp.c `tcp_get_info_chrono_stats`). Only changes are accounted
//! for: an ACK that changes nothing pays for a comparison.
//!
//! Linux notices an application that waits for room only when an ACK lets the last of what was written go. Here it is also noticed when what the
//! application writes goes at once and leaves it waiting, which is the usual case where the buffer is smaller than the window.

use super::Sender;
use crate::tcp::common::lazy_timer::Ticks;
use crate::tcp::linux::clock::Clock;
use crate::time::Time;

/// What limits sending; of several that do, the last of this list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::tcp::linux) enum Limit {
    /// Everything written is acknowledged.
    #[default]
    Application,
    /// Neither of those below: the congestion window, or recovery.
    Window,
    /// The receiver's window.
    Receiver,
    /// Everything written is sent, and the application waits for room to write more.
    SendBuffer,
}

/// Time since the connection was made by what limited sending, us. All other time the application had nothing to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitedTimes {
    /// The congestion window.
    pub cwnd_us: u64,
    /// The receiver's window.
    pub rwnd_us: u64,
    /// The send buffer.
    pub sndbuf_us: u64,
}

/// The stopwatch: which time runs, since when, and what each has come to, in ticks. Told of what changes, asked at the end.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp::linux) struct Chrono {
    limit: Limit,
    since: u32,
    window: u32,
    receiver: u32,
    send_buffer: u32,
}

impl Chrono {
    /// The receiver's window limits sending, as far as is known.
    #[inline]
    pub fn is_receiver(&self) -> bool {
        self.limit == Limit::Receiver
    }

    /// Nothing but the congestion window or recovery limits sending, as far as is known.
    pub fn is_window(&self) -> bool {
        self.limit == Limit::Window
    }

    /// Something limits from now on, unless what comes first does.
    #[inline]
    fn start(&mut self, limit: Limit, now: u32) {
        if limit > self.limit {
            self.set(limit, now);
        }
    }

    /// Something limits no more; `empty`: nothing is left to send or to be acknowledged.
    #[inline]
    fn stop(&mut self, limit: Limit, empty: bool, now: u32) {
        if empty {
            self.set(Limit::Application, now);
        } else if limit == self.limit {
            self.set(Limit::Window, now);
        }
    }

    #[cold]
    #[inline(never)]
    fn set(&mut self, limit: Limit, now: u32) {
        self.count(now);
        self.limit = limit;
    }

    fn count(&mut self, now: u32) {
        let passed = now.saturating_sub(self.since);
        match self.limit {
            Limit::Application => {}
            Limit::Window => self.window += passed,
            Limit::Receiver => self.receiver += passed,
            Limit::SendBuffer => self.send_buffer += passed,
        }
        self.since = now;
    }

    fn times(mut self, now: u32, clock: &Clock) -> LimitedTimes {
        self.count(now);
        let us = |ticks: u32| clock.to_us(u64::from(ticks));
        LimitedTimes { cwnd_us: us(self.window), rwnd_us: us(self.receiver), sndbuf_us: us(self.send_buffer) }
    }
}

impl Sender {
    /// There is something to send.
    #[inline]
    pub(super) fn chrono_busy(&mut self) {
        self.chrono.start(Limit::Window, self.view.jiffies);
    }

    /// All that could be sent was: the receiver's window held the rest back, or not.
    #[inline]
    pub(super) fn chrono_sent(&mut self, receiver_limited: bool) {
        if receiver_limited {
            self.chrono.start(Limit::Receiver, self.view.jiffies);
        } else if self.chrono.is_receiver() {
            self.chrono.stop(Limit::Receiver, self.has_nothing_out(), self.view.jiffies);
        }
    }

    /// Something was sent, and the congestion window does not limit that.
    pub(super) fn chrono_starved(&mut self) {
        if !self.has_data() && self.buffer.waits_for_room() {
            self.chrono.start(Limit::SendBuffer, self.view.jiffies);
        }
    }

    /// The application has written as much as there was room for, and what that allowed was sent.
    pub(super) fn chrono_written(&mut self) {
        if !self.has_data() && self.buffer.waits_for_room() && self.view.in_flight() < self.window.cwnd {
            self.chrono.start(Limit::SendBuffer, self.view.jiffies);
        }
    }

    /// The application has room to write.
    pub(super) fn chrono_has_room(&mut self) {
        self.chrono.stop(Limit::SendBuffer, self.has_nothing_out(), self.view.jiffies);
    }

    /// Everything sent is acknowledged.
    pub(in crate::tcp::linux) fn chrono_acknowledged(&mut self) {
        self.chrono.stop(Limit::Window, self.has_nothing_out(), self.view.jiffies);
    }

    fn has_nothing_out(&self) -> bool {
        self.view.packets_out == 0 && !self.has_data()
    }

    /// For how long what has limited sending until now, which is the time of the last event or later, ticks.
    #[must_use]
    pub fn limited_times(&self, now: Time) -> LimitedTimes {
        self.chrono.times(self.clock.tick(now) as u32, &self.clock)
    }
}
