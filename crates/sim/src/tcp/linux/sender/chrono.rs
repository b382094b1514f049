//! The time for which the congestion window, the receiver's window or the send buffer limited sending (Linux 6.12 net/ipv4/tcp_output.c `tcp_chrono_start`, `tcp_chrono_stop`, `tcp_write_xmit`,
//! `tcp_cwnd_validate`; tcp_input.c `tcp_clean_rtx_queue`, `tcp_check_space`; tcp.c `tcp_get_info_chrono_stats`).
//! Times are added up when the limit changes. An ACK that changes no limit costs one comparison.
//!
//! Two things differ from Linux. Linux counts in ticks, so that a transfer of less than a tick has no limit at all; this file counts in
//! microseconds. Linux counts until the last ACK comes, which may be long after the receiver has read everything. This file keeps the last
//! changes with their times, so that the times can end with the transfer.
//!
//! Linux notices that the application waits for room only when an ACK lets the last written byte go. This file also notices it when the bytes
//! that the application writes go at once. That is the usual case if the buffer is smaller than the window.

use super::Sender;
use crate::tcp::transport::LimitedTimes;
use crate::time::{Time, US};

/// Limit of sending; if several apply, the last of this list.
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

/// Changes of what limits that may come after a transfer is complete: what it waited for is acknowledged, and the FIN is held back, sent and
/// acknowledged.
const LATE_CHANGES: usize = 4;

/// The stopwatch: what limits, since when, and what each limit has come to, us. Told of what changes, asked at the end.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp::linux) struct Chrono {
    limit: Limit,
    since_us: u64,
    /// The time of each limit until then, in the order of their list.
    spent_us: [u64; 4],
    /// Earlier limits with the time from which each held, the latest first.
    before: [(Limit, u64); LATE_CHANGES],
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
    fn start(&mut self, limit: Limit, now_us: u64) {
        if limit > self.limit {
            self.set(limit, now_us);
        }
    }

    /// Something limits no more; `empty`: nothing is left to send or to be acknowledged.
    #[inline]
    fn stop(&mut self, limit: Limit, empty: bool, now_us: u64) {
        if empty {
            self.set(Limit::Application, now_us);
        } else if limit == self.limit {
            self.set(Limit::Window, now_us);
        }
    }

    #[cold]
    #[inline(never)]
    fn set(&mut self, limit: Limit, now_us: u64) {
        if now_us > self.since_us {
            self.spent_us[self.limit as usize] += now_us - self.since_us;
            self.before.rotate_right(1);
            self.before[0] = (self.limit, self.since_us);
        }
        (self.limit, self.since_us) = (limit, now_us);
    }

    /// The time of each limit until `at_us`, after which there were no more than [`LATE_CHANGES`].
    fn times(&self, at_us: u64) -> LimitedTimes {
        let mut spent_us = self.spent_us;
        spent_us[self.limit as usize] += at_us.saturating_sub(self.since_us);
        let mut end_us = self.since_us;
        for (limit, since_us) in self.before {
            spent_us[limit as usize] -= end_us.saturating_sub(at_us.max(since_us));
            end_us = since_us;
        }
        let [_, cwnd_us, rwnd_us, sndbuf_us] = spent_us;
        LimitedTimes { cwnd_us, rwnd_us, sndbuf_us }
    }
}

impl Sender {
    /// There is something to send.
    #[inline]
    pub(super) fn chrono_busy(&mut self) {
        self.chrono.start(Limit::Window, self.view.mstamp_us);
    }

    /// All that could be sent was: the receiver's window held the rest back, or not.
    #[inline]
    pub(super) fn chrono_sent(&mut self, receiver_limited: bool) {
        if receiver_limited {
            self.chrono.start(Limit::Receiver, self.view.mstamp_us);
        } else if self.chrono.is_receiver() {
            self.chrono.stop(Limit::Receiver, self.has_nothing_out(), self.view.mstamp_us);
        }
    }

    /// Something was sent, and the congestion window does not limit that.
    pub(super) fn chrono_starved(&mut self) {
        if !self.has_data() && self.buffer.waits_for_room() {
            self.chrono.start(Limit::SendBuffer, self.view.mstamp_us);
        }
    }

    /// The application has written as much as there was room for, and what that allowed was sent.
    pub(super) fn chrono_written(&mut self) {
        if !self.has_data() && self.buffer.waits_for_room() && self.view.in_flight() < self.window.cwnd {
            self.chrono.start(Limit::SendBuffer, self.view.mstamp_us);
        }
    }

    /// The application has room to write.
    pub(super) fn chrono_has_room(&mut self) {
        self.chrono.stop(Limit::SendBuffer, self.has_nothing_out(), self.view.mstamp_us);
    }

    /// Everything sent is acknowledged.
    pub(in crate::tcp::linux) fn chrono_acknowledged(&mut self) {
        self.chrono.stop(Limit::Window, self.has_nothing_out(), self.view.mstamp_us);
    }

    fn has_nothing_out(&self) -> bool {
        self.view.packets_out == 0 && !self.has_data()
    }

    /// For how long what has limited sending until `at`, which is when the transfer was complete or later.
    #[must_use]
    pub fn limited_times(&self, at: Time) -> LimitedTimes {
        self.chrono.times(at / US)
    }
}
