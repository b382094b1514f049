//! The receive buffer: advertised window, its growth, and auto-tuning by dynamic right-sizing
//! (Linux 6.12 net/ipv4/tcp_input.c and tcp_output.c). The application reads once all packets of an instant have been dealt with, so
//! data in order take room until then; data out of order until the gap is filled.
//!
//! Leaves out: memory pressure, pruning, shrinking windows.

#[cfg(test)]
mod tests;

use super::window_rtt::WindowRtt;
use crate::packet::TIMESTAMPS;
use crate::spec::HostSettings;
use crate::tcp::linux::options::ReceiveTuning;
use crate::tcp::linux::stack::Stack;
use crate::time::{Time, NEVER, US};

/// Share of the buffer assumed for payload before the first segment, 256ths.
const DEFAULT_RATIO: u64 = 128;
/// What is counted on beside a segment when a buffer that assumes its share grows, bytes: room for headers, sk_buff and shared info, and
/// then in steps so much more that the share of it holds a segment.
const GROWTH_BESIDE: u64 = 304 + 576;
const GROWTH_STEP: u64 = 128;
/// Largest net.core.rmem_max considered for the window scale, bytes.
const RMEM_MAX: u64 = 212_992;

/// What a segment takes of the buffer, bytes.
#[derive(Clone, Copy, Debug)]
struct Charge {
    /// Memory charged for one full segment without offloads: payload, head, sk_buff and shared info.
    truesize: u64,
    /// Share of the buffer for payload once a segment has been measured, 256ths; None: it stays what it is.
    measured: Option<u64>,
    /// The share stays what it was assumed to be.
    assumed: bool,
    /// What is counted on beside a segment when a buffer that assumes its share grows, bytes.
    beside: u64,
}

/// The window last advertised.
#[derive(Clone, Copy, Debug)]
struct Advertised {
    bytes: u64,
    /// The segment that it is counted from.
    from: u32,
}

/// How much the application reads in a round trip.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// Bytes in the last one.
    bytes: u64,
    /// When it began, and at which segment.
    since_us: u64,
    since_seq: u32,
    /// When it ends, and the buffer is adapted if the application reads.
    until: Time,
}

/// Receive buffer and window of a connection. Told of every segment and of every read; asked for the window of each ACK.
#[derive(Clone, Debug)]
pub(super) struct ReceiveBuffer {
    /// Payload of a full segment, bytes; and what a number stands for: a segment, or a byte.
    mss: u64,
    per_number: u64,
    tuning: ReceiveTuning,
    charge: Charge,
    most: u64,
    size: u64,
    ratio: u64,
    /// Payload that fits into the empty buffer, and beside one segment, bytes.
    full: u64,
    beside_one: u64,
    clamp: u64,
    ssthresh: u64,
    scale: u32,
    advertised: Advertised,
    reading: Reading,
    rtt: WindowRtt,
    in_order: InOrder,
}

/// What holds for every segment in order until the buffer changes; see [`ReceiveBuffer::update_in_order`].
#[derive(Clone, Debug)]
struct InOrder {
    /// What is charged while a segment is acknowledged, bytes: nothing, or the one that is acknowledged before it is read.
    charged: u64,
    /// What may be advertised is all that it can be.
    grown: bool,
    /// The window to advertise, bytes, unless more was offered before; and the one when the segment has been read.
    window: u64,
    window_read: u64,
    /// So little of it is left after one segment that it may open wide, or that is not known.
    small: bool,
}

impl ReceiveBuffer {
    /// That of a receiver of segments of `mss` bytes.
    pub fn new(host: &HostSettings, stack: &Stack, mss: u32) -> Self {
        let (mss, truesize) = (u64::from(mss), u64::from(stack.receive_charge(mss)));
        let size = host.rcvbuf.unwrap_or(host.rmem[1]);
        let most = host.rmem[2];
        let ratio = stack.adv_win_scale.map_or(DEFAULT_RATIO, |scale| 256 - (256 >> scale));
        let full = (size * ratio) >> 8;
        let unlimited = if stack.initial_window_unscaled { 65_535 } else { u64::MAX };
        let first = stack.initial_rwnd.map_or(unlimited, |segments| u64::from(segments) * mss);
        let window = (full / mss * mss).clamp(mss, first);
        // An explicit buffer bounds the scale, too.
        let scaled =
            if host.rcvbuf.is_some() && stack.scale_by_buffer { full.max(1) } else { full.max(most).max(RMEM_MAX) };
        let scale = scaled.ilog2().saturating_sub(15).min(14);
        // One segment stays in reserve.
        let clamp = full.saturating_sub(mss).max(2 * mss);
        let ssthresh = window.min(clamp);
        let mut buffer = Self {
            mss,
            per_number: mss,
            tuning: if host.rcvbuf.is_some() { ReceiveTuning::Off } else { stack.receive_tuning },
            charge: Charge {
                truesize,
                assumed: stack.adv_win_scale.is_some(),
                beside: stack.growth_beside.map_or(GROWTH_BESIDE, |bytes| u64::from(bytes + TIMESTAMPS)),
                measured: stack.adv_win_scale.is_none().then(|| mss * 256 / truesize),
            },
            most,
            size,
            ratio,
            full,
            beside_one: (size.saturating_sub(truesize) * ratio) >> 8,
            clamp,
            ssthresh,
            scale,
            advertised: Advertised { bytes: window, from: 1 },
            reading: Reading { bytes: ssthresh.min(10 * mss), since_us: 0, since_seq: 1, until: NEVER },
            rtt: WindowRtt::default(),
            in_order: InOrder {
                charged: if stack.ack_before_read { truesize } else { 0 },
                grown: false,
                window: 0,
                window_read: 0,
                small: false,
            },
        };
        buffer.update_in_order();
        buffer
    }

    /// Makes this the buffer of an end that opens the connection: its first window is in segments without a timestamp, because whether there
    /// will be timestamps is not known yet (Linux 6.12 net/ipv4/tcp_output.c `tcp_connect_init`).
    pub fn open_first(&mut self) {
        let segment = self.mss + u64::from(TIMESTAMPS);
        let window = (self.advertised.bytes / segment * segment).max(segment);
        self.ssthresh = self.ssthresh.min(window);
        self.advertised.bytes = window;
        self.update_in_order();
    }

    /// Makes this the buffer of a stream, whose numbers count bytes.
    pub fn count_bytes(&mut self) {
        self.per_number = 1;
    }

    /// All numbers are `by` lower from now on.
    pub fn rebase(&mut self, by: u32) {
        self.advertised.from -= by;
        self.reading.since_seq = self.reading.since_seq.saturating_sub(by);
        self.rtt.rebase(by);
    }

    /// Called when the buffer, or what may be advertised of it, has changed.
    fn update_in_order(&mut self) {
        self.in_order.grown = self.room(self.in_order.charged) == 0;
        self.in_order.window = self.select(self.in_order.charged).min(65_535 << self.scale);
        self.in_order.window_read = self.select(0).min(65_535 << self.scale);
        self.in_order.small = !self.has_scale() || 2 * self.in_order.window.saturating_sub(self.mss) <= self.clamp;
    }

    /// The connection is established.
    pub fn establish(&mut self, now_us: u64) {
        self.reading.since_us = now_us;
        self.plan();
    }

    /// Plans the next adaptation: a round trip after the last one.
    fn plan(&mut self) {
        if self.rtt.us8() != 0 {
            self.reading.until = (self.reading.since_us + (self.rtt.us8() >> 3)) * US;
        }
    }

    /// The first full segment shows what a segment really costs.
    #[inline]
    pub fn measure(&mut self) {
        if let Some(measured) = self.charge.measured.take() {
            if self.ratio != measured {
                self.ratio = measured;
                self.resize(self.size);
                self.clamp = self.full;
                self.reading.bytes = self.reading.bytes.min(self.clamp);
                self.update_in_order();
            }
        }
    }

    /// Payload that fits into `space` bytes of buffer.
    fn payload_in(&self, space: u64) -> u64 {
        (space * self.ratio) >> 8
    }

    /// Free space for payload with `charged` bytes in use.
    #[inline]
    fn free(&self, charged: u64) -> u64 {
        match charged {
            0 => self.full,
            one if one == self.charge.truesize => self.beside_one,
            _ => self.payload_in(self.size.saturating_sub(charged)),
        }
    }

    /// How far what may be advertised can still be raised, bytes.
    fn room(&self, charged: u64) -> u64 {
        self.clamp.min(self.free(charged)).saturating_sub(self.ssthresh)
    }

    /// A full segment arrived: raises what may be advertised; true if it did.
    #[inline]
    pub fn grow(&mut self, charged: u64) -> bool {
        let room = self.room(charged);
        room > 0 && self.grow_into(room)
    }

    /// [`Self::grow`] with nothing out of order.
    #[inline]
    pub fn grow_in_order(&mut self) -> bool {
        !self.in_order.grown && self.grow(self.in_order.charged)
    }

    /// True if the first segment has shown what it had to show.
    pub fn is_measured(&self) -> bool {
        self.charge.measured.is_none() && self.rtt.is_timing()
    }

    /// Segment with which the window whose filling is timed is full.
    pub fn window_ends(&self) -> u32 {
        self.rtt.window_ends()
    }

    fn grow_into(&mut self, room: u64) -> bool {
        let increment = if self.payload_in(self.charge.truesize) <= self.mss {
            2 * self.mss
        } else {
            let (mut cost, mut window) = (self.payload_in(self.charge.truesize) >> 1, self.payload_in(self.most) >> 1);
            loop {
                if self.ssthresh > window {
                    return false;
                }
                if cost <= self.mss {
                    break 2 * self.mss;
                }
                cost >>= 1;
                window >>= 1;
            }
        };
        self.ssthresh += room.min(increment.max(2 * self.mss));
        self.update_in_order();
        true
    }

    /// Shift of the advertised windows.
    pub fn scale(&self) -> u8 {
        self.scale as u8
    }

    /// Bytes of the advertised window that are left at `rcv_nxt`.
    fn left(&self, rcv_nxt: u32) -> u64 {
        self.advertised.bytes.saturating_sub(u64::from(rcv_nxt - self.advertised.from) * self.per_number)
    }

    /// First number beyond the advertised window.
    pub fn end(&self) -> u32 {
        self.advertised.from + (self.advertised.bytes / self.per_number) as u32
    }

    /// True if a segment that is not acknowledged lies below [`Self::end`].
    #[inline]
    pub fn has_room_for(&self, seq: u32) -> bool {
        u64::from(seq - self.advertised.from + 1) * self.per_number <= self.advertised.bytes
    }

    /// First number that is not acknowledged.
    pub fn acked_until(&self) -> u32 {
        self.advertised.from
    }

    /// True if the sequence number `seq` is not beyond the last ACK.
    pub fn is_acked(&self, seq: u32) -> bool {
        seq <= self.advertised.from
    }

    /// To the next number that the shift of the window lets through.
    fn round_up(&self, bytes: u64) -> u64 {
        (bytes + (1 << self.scale) - 1) >> self.scale << self.scale
    }

    fn select(&self, charged: u64) -> u64 {
        let mut free = self.free(charged);
        let most = self.clamp.min(self.full);
        if free < most >> 1 {
            free = free >> self.scale << self.scale;
            if free < self.full >> 4 || free < self.mss {
                return 0;
            }
        }
        let free = free.min(self.ssthresh);
        if self.has_scale() {
            return self.round_up(free);
        }
        // Whole segments; the window offered last if that is within a segment of what there is.
        let offered = self.advertised.bytes;
        if offered + self.mss <= free || offered > free {
            free / self.mss * self.mss
        } else {
            offered
        }
    }

    /// Windows have a shift. Without one they are rounded by the one offered last, so that none can be known ahead.
    pub fn has_scale(&self) -> bool {
        self.scale > 0
    }

    /// The window to advertise at `rcv_nxt`, bytes. An offered window is never taken back. Inlined, as most ACKs out of order ask.
    #[inline(always)]
    pub fn advertise(&mut self, rcv_nxt: u32, charged: u64) -> u32 {
        let left = self.round_up(self.left(rcv_nxt));
        self.advertised.bytes = self.select(charged).max(left).min(65_535 << self.scale);
        self.advertised.from = rcv_nxt;
        self.advertised.bytes as u32
    }

    #[cold]
    fn advertise_separately(&mut self, rcv_nxt: u32, charged: u64) -> u32 {
        self.advertise(rcv_nxt, charged)
    }

    /// [`Self::advertise`] with nothing out of order.
    #[inline]
    pub fn advertise_in_order(&mut self, rcv_nxt: u32) -> u32 {
        if self.in_order.window < self.advertised.bytes {
            return self.advertise_separately(rcv_nxt, self.in_order.charged);
        }
        self.advertise_no_less(rcv_nxt, self.in_order.window)
    }

    /// [`Self::advertise`] when all has been read.
    #[inline]
    pub fn advertise_read(&mut self, rcv_nxt: u32) -> u32 {
        if self.in_order.window_read < self.advertised.bytes {
            return self.advertise_separately(rcv_nxt, 0);
        }
        self.advertise_no_less(rcv_nxt, self.in_order.window_read)
    }

    /// Advertises a window that is no less than the last one.
    #[inline]
    fn advertise_no_less(&mut self, rcv_nxt: u32, window: u64) -> u32 {
        self.advertised = Advertised { bytes: window, from: rcv_nxt };
        window as u32
    }

    /// The window of the SYN-ACK, which is not scaled, bytes.
    pub fn offered(&self) -> u32 {
        self.advertised.bytes.min(65_535) as u32
    }

    /// True if an ACK sent before the application has read would offer no less than the last one (`__tcp_ack_snd_check`).
    #[inline]
    pub fn advances(&self, charged: u64) -> bool {
        self.select(charged) >= self.advertised.bytes
    }

    /// [`Self::advances`] with nothing out of order.
    #[inline]
    pub fn advances_in_order(&self) -> bool {
        self.in_order.window >= self.advertised.bytes
    }

    /// True if reading has made room for twice the window that is left.
    #[inline]
    pub fn opens_wide(&self, rcv_nxt: u32, charged: u64) -> bool {
        let left = self.left(rcv_nxt);
        2 * left <= self.clamp && self.select(charged) >= 2 * left.max(1)
    }

    /// False if [`Self::opens_wide`] is with one segment unacknowledged.
    #[inline]
    pub fn may_open_wide(&self) -> bool {
        self.in_order.small || self.advertised.bytes < self.in_order.window
    }

    /// True if too little room is left to ask for quick ACKs.
    pub fn is_tight(&self, charged: u64) -> bool {
        charged > 0 && self.free(charged) < self.clamp.min(self.full) >> 1
    }

    /// [`Self::is_tight`] with nothing out of order.
    pub fn is_tight_in_order(&self) -> bool {
        self.is_tight(self.in_order.charged)
    }

    /// The receiver's own estimate of the RTT times 8, us; 0: none yet.
    pub fn rtt_us8(&self) -> u64 {
        self.rtt.us8()
    }

    /// RTT by the echo of our own timestamp on a full segment.
    #[inline]
    pub fn rtt_by_timestamp(&mut self, tsecr: u32, now: Time) {
        if self.rtt.is_new_echo(tsecr) {
            self.take_echo(tsecr, now);
        }
    }

    /// An echo that is no sample.
    pub fn note_echo(&mut self, tsecr: u32) {
        self.rtt.note_echo(tsecr);
    }

    #[inline(never)]
    fn take_echo(&mut self, tsecr: u32, now: Time) {
        if self.rtt.by_timestamp(tsecr, now) {
            self.plan();
        }
    }

    /// RTT by the time that a window takes to fill.
    #[inline]
    pub fn rtt_by_window(&mut self, rcv_nxt: u32, now: Time) {
        if self.rtt.is_window_full(rcv_nxt)
            && self.rtt.by_window(rcv_nxt, (self.advertised.bytes / self.per_number) as u32, now)
        {
            self.plan();
        }
    }

    /// The application reads everything: adapts the buffer once a round trip, when it has read what shares the first head. So many segments
    /// are behind that.
    #[inline(always)]
    pub fn on_read(&mut self, rcv_nxt: u32, behind_first: u32, now: Time) {
        if now >= self.reading.until {
            self.adapt(rcv_nxt - behind_first, behind_first, now / US);
        }
    }

    /// Memory counted on for a segment when a buffer that assumes its share grows, bytes.
    fn growth_per_segment(&self) -> u64 {
        let least = self.mss + self.charge.beside;
        // What it takes for the share of it to hold a segment.
        let holds = (self.mss << 8).div_ceil(self.ratio);
        least + holds.saturating_sub(least).next_multiple_of(GROWTH_STEP)
    }

    fn resize(&mut self, size: u64) {
        self.size = size;
        self.full = self.payload_in(size);
        self.beside_one = self.payload_in(size.saturating_sub(self.charge.truesize));
    }

    fn adapt(&mut self, read_to: u32, waiting: u32, now_us: u64) {
        let copied = u64::from((read_to - self.reading.since_seq).saturating_sub(waiting)) * self.per_number;
        self.reading.since_seq = read_to;
        self.tune(copied, now_us);
    }

    /// A round trip has passed since [`Self::tune`] was called.
    pub fn is_to_tune(&self, now: Time) -> bool {
        now >= self.reading.until
    }

    /// The application has read so many bytes since the last time, beyond those that wait to be read.
    pub fn tune(&mut self, copied: u64, now_us: u64) {
        if copied > self.reading.bytes {
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
            }
            self.reading.bytes = copied;
            self.update_in_order();
        }
        self.reading.since_us = now_us;
        self.plan();
    }
}
