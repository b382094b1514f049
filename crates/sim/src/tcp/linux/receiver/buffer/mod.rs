//! The receive buffer: advertised window, its growth, and auto-tuning by dynamic right-sizing
//! (Linux 6.12 net/ipv4/tcp_input.c and tcp_output.c). The application reads once all packets of an instant have been dealt with, so
//! data in order take room until then; data out of order until the gap is filled.
//!
//! Leaves out: memory pressure, pruning, shrinking windows.

mod growth;
#[cfg(test)]
mod tests;

use super::window_rtt::WindowRtt;
use crate::packet::TIMESTAMPS;
use crate::spec::{HostSettings, TcpSpec};
use crate::tcp::linux::options::ReceiveTuning;
use crate::tcp::linux::stack::Stack;
use crate::time::{Time, NEVER, US};

/// Share of the buffer assumed for payload before the first segment, 256ths.
const DEFAULT_RATIO: u64 = 128;
/// Bytes added to each segment when a buffer that assumes its share grows: room for headers, sk_buff and shared info.
const GROWTH_BESIDE: u64 = 304 + 576;
/// Largest net.core.rmem_max considered for the window scale, bytes.
const RMEM_MAX: u64 = 212_992;
/// Largest window without a scale, bytes.
const LARGEST_UNSCALED: u64 = 65_535;

/// Assumed length of a full segment before one has come, bytes (TCP_MSS_DEFAULT).
const FULL_UNSEEN: u64 = 536;
/// Minimum length of a segment that may be a full one, with the header: 20 bytes more than the MSS that each host takes, or than the minimum one if it
/// does not end a write (TCP_MIN_MSS).
const LEAST_FULL: u64 = FULL_UNSEEN + 20;
const LEAST_FULL_INSIDE: u64 = 88 + 20;
/// TCP header without options, bytes.
const TCP_HEADER: u64 = 20;

/// Room that a segment takes of the buffer, bytes.
#[derive(Clone, Copy, Debug)]
struct Charge {
    /// Memory charged for one segment without offloads beside its payload: head, sk_buff and shared info.
    head: u64,
    /// The share of the buffer for payload stays what it was assumed to be, and is not measured.
    assumed: bool,
    /// Bytes that are counted on top of a segment when a buffer that assumes its share grows.
    beside: u64,
}

/// The window last advertised.
#[derive(Clone, Copy, Debug)]
struct Advertised {
    bytes: u64,
    /// The number that it is counted from.
    from: u32,
}

/// How much the application reads in a round trip.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// Bytes in the last one.
    bytes: u64,
    /// When it began, and after how many bytes.
    since_us: u64,
    since: u64,
    /// When it ends, and the buffer is adapted if the application reads.
    until: Time,
}

/// The bounds of the first window.
#[derive(Clone, Copy, Debug)]
struct FirstWindow {
    /// Maximum, bytes.
    most: u64,
    /// Maximum in segments, which takes the place of the other one.
    segments: Option<u64>,
}

impl FirstWindow {
    /// Return the first window of a buffer with room for `full` bytes of payload, in whole segments.
    fn of(self, full: u64, segment: u64) -> u64 {
        let most = self.segments.map_or(self.most, |segments| segments * segment);
        (full / segment * segment).clamp(segment, most)
    }
}

/// How long a segment is beside those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// It is as long as the longest ones.
    Full,
    /// Shorter: a write has ended in it.
    Short,
    /// It is as long as the one before, so that both are taken for full ones.
    FullAgain,
}

/// Receive buffer and window of a connection. Told of every segment and of every read; asked for the window of each ACK. Wide because it has what
/// Linux keeps of both in `tcp_sock`, and what every segment asks is computed ahead.
#[derive(Clone, Debug)]
pub(super) struct ReceiveBuffer {
    /// Payload of a full segment, bytes (`advmss`); as far as segments have shown it (`rcv_mss`); and that of the last segment if it may be a full one
    /// (`last_seg_size`).
    mss: u64,
    seen_mss: u64,
    last_length: u64,
    /// Bytes that timestamps take of a segment, not counted in `mss`.
    timestamps: u64,
    tuning: ReceiveTuning,
    /// The RTT below which a buffer that is tuned by RTT grows less, us.
    low_rtt_us: u64,
    charge: Charge,
    most: u64,
    size: u64,
    ratio: u64,
    /// Payload that fits into the empty buffer, bytes.
    full: u64,
    /// Largest window (`window_clamp`).
    clamp: u64,
    ssthresh: u64,
    scale: u32,
    /// The bytes of a window that its shift cuts off: the largest number of them.
    cut_off: u64,
    advertised: Advertised,
    reading: Reading,
    rtt: WindowRtt,
    in_order: InOrder,
    first: FirstWindow,
}

/// Facts that hold for every segment in order until the buffer changes; see [`ReceiveBuffer::update_in_order`].
#[derive(Clone, Debug)]
struct InOrder {
    /// Bytes that are charged while a segment is acknowledged: nothing, or the one that is acknowledged before it is read.
    charged: u64,
    /// True if the window that may be advertised is as large as it can be.
    grown: bool,
    /// The window to advertise, bytes, unless more was offered before; and the one when the segment has been read.
    window: u64,
    window_read: u64,
    /// So little of it is left after one segment that it may open wide, or that is not known.
    small: bool,
    /// With at least so many bytes charged, too little room is left to ask for quick ACKs.
    tight_from: u64,
}

impl ReceiveBuffer {
    /// Return the buffer of a connection whose full segments have `mss` bytes.
    pub fn of(spec: &TcpSpec, stack: &Stack, mss: u32) -> Self {
        let mut buffer = Self::new(&spec.host, stack, mss);
        if !spec.timestamps {
            buffer.without_timestamps();
        }
        if !spec.window_scaling {
            buffer.without_scaling();
        }
        buffer
    }

    /// That of a receiver of segments of `mss` bytes.
    fn new(host: &HostSettings, stack: &Stack, mss: u32) -> Self {
        let (mss, truesize) = (u64::from(mss), u64::from(stack.receive_charge(mss)));
        let size = host.rcvbuf.unwrap_or(host.rmem[1]);
        let most = host.rmem[2];
        let ratio = stack.adv_win_scale.map_or(DEFAULT_RATIO, |scale| 256 - (256 >> scale));
        let full = (size * ratio) >> 8;
        let first = FirstWindow {
            most: if stack.initial_window_unscaled { LARGEST_UNSCALED } else { u64::MAX },
            segments: stack.initial_rwnd.map(u64::from),
        };
        let window = first.of(full, mss);
        // An explicit buffer bounds the scale, too.
        let scaled =
            if host.rcvbuf.is_some() && stack.scale_by_buffer { full.max(1) } else { full.max(most).max(RMEM_MAX) };
        let scale = scaled.ilog2().saturating_sub(15).min(14);
        // One segment stays in reserve.
        let clamp = full.saturating_sub(mss).max(2 * mss);
        let ssthresh = window.min(clamp);
        let mut buffer = Self {
            mss,
            seen_mss: FULL_UNSEEN.min(mss),
            last_length: 0,
            timestamps: TIMESTAMPS.into(),
            tuning: if host.rcvbuf.is_some() { ReceiveTuning::Off } else { stack.receive_tuning },
            low_rtt_us: stack.rcvbuf_low_rtt_us.into(),
            charge: Charge {
                head: u64::from(stack.receive_charge(0)),
                assumed: stack.adv_win_scale.is_some(),
                beside: stack.growth_beside.map_or(GROWTH_BESIDE, |bytes| u64::from(bytes + TIMESTAMPS)),
            },
            most,
            size,
            ratio,
            full,
            clamp,
            ssthresh,
            scale,
            cut_off: (1 << scale) - 1,
            advertised: Advertised { bytes: window, from: 1 },
            reading: Reading { bytes: ssthresh.min(10 * mss), since_us: 0, since: 0, until: NEVER },
            rtt: WindowRtt::default().of_read(stack.receive_rtt_of_read),
            in_order: InOrder {
                charged: if stack.ack_before_read { truesize } else { 0 },
                grown: false,
                window: 0,
                window_read: 0,
                small: false,
                tight_from: 0,
            },
            first,
        };
        buffer.update_in_order();
        buffer
    }

    /// Makes this the buffer of a connection without timestamps.
    fn without_timestamps(&mut self) {
        self.timestamps = 0;
        self.charge.beside = self.charge.beside.saturating_sub(TIMESTAMPS.into());
        self.rtt.expect_no_echo();
    }

    /// Makes this the buffer of a connection without scaled windows (Linux 6.12 net/ipv4/tcp_output.c `tcp_select_initial_window`).
    fn without_scaling(&mut self) {
        (self.scale, self.cut_off) = (0, 0);
        self.clamp = self.clamp.min(LARGEST_UNSCALED);
        self.ssthresh = self.ssthresh.min(self.clamp);
        self.update_in_order();
    }

    /// Makes this the buffer of an end that opens the connection: its first window is in segments without a timestamp, because whether there
    /// will be timestamps is not known yet (Linux 6.12 net/ipv4/tcp_output.c `tcp_connect_init`).
    pub fn open_first(&mut self) {
        let segment = self.mss + self.timestamps;
        let window = self.first.of(self.full, segment);
        self.ssthresh = window.min(self.clamp);
        self.advertised.bytes = window;
        self.update_in_order();
    }

    /// All numbers are `by` lower from now on: those of a stream, which count bytes.
    pub fn rebase(&mut self, by: u32) {
        self.advertised.from -= by;
        self.reading.since = self.reading.since.saturating_sub(u64::from(by));
        self.rtt.rebase(by);
    }

    /// Called when the buffer, or what may be advertised of it, has changed.
    fn update_in_order(&mut self) {
        self.in_order.tight_from = self.tight_from();
        self.in_order.grown = self.room(self.in_order.charged) == 0;
        self.in_order.window = self.select(self.in_order.charged);
        self.in_order.window_read = self.select(0);
        self.in_order.small = !self.has_scale() || 2 * self.in_order.window.saturating_sub(self.mss) <= self.clamp;
    }

    /// The smallest number of bytes, more than none, with which less than half of the buffer is free when they are charged.
    fn tight_from(&self) -> u64 {
        match self.clamp.min(self.full) >> 1 {
            0 => u64::MAX,
            half => self.size.saturating_sub((half << 8).div_ceil(self.ratio)) + 1,
        }
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

    /// A segment of `payload` bytes arrived, which may be the end of a write: tells how long segments are, and what they really cost
    /// (`tcp_measure_rcv_mss`).
    #[inline]
    pub fn measure(&mut self, payload: u32, ends_write: bool) -> Length {
        if u64::from(payload) == self.seen_mss {
            self.last_length = 0;
            return Length::Full;
        }
        self.measure_other(u64::from(payload), ends_write)
    }

    #[inline(never)]
    fn measure_other(&mut self, payload: u64, ends_write: bool) -> Length {
        let before = std::mem::take(&mut self.last_length);
        if payload > self.seen_mss {
            self.seen_mss = payload.min(self.mss);
            if !self.charge.assumed {
                self.set_ratio((payload << 8) / (payload + self.charge.head));
            }
            self.update_in_order();
            return Length::Full;
        }
        let least = if ends_write { LEAST_FULL } else { LEAST_FULL_INSIDE };
        if payload + TCP_HEADER + self.timestamps >= least {
            self.last_length = payload;
            if payload == before {
                self.seen_mss = payload;
                self.update_in_order();
                return Length::FullAgain;
            }
        }
        Length::Short
    }

    fn set_ratio(&mut self, ratio: u64) {
        if self.ratio != ratio {
            self.ratio = ratio;
            self.resize(self.size);
            self.clamp = self.full;
            self.reading.bytes = self.reading.bytes.min(self.clamp);
        }
    }

    /// Payload of a full segment as far as segments have shown it, bytes.
    #[inline]
    pub fn seen_mss(&self) -> u64 {
        self.seen_mss
    }

    /// Payload that fits into `space` bytes of buffer.
    fn payload_in(&self, space: u64) -> u64 {
        (space * self.ratio) >> 8
    }

    /// Free space for payload with `charged` bytes in use.
    #[inline]
    fn free(&self, charged: u64) -> u64 {
        self.payload_in(self.size.saturating_sub(charged))
    }

    /// True if the first segments have shown what they had to show.
    pub fn is_measured(&self) -> bool {
        self.seen_mss == self.mss && self.rtt.is_timing()
    }

    /// Number at which the window whose filling is timed is full.
    pub fn window_ends(&self) -> u64 {
        self.rtt.window_ends()
    }

    /// Shift of the advertised windows.
    pub fn scale(&self) -> u8 {
        self.scale as u8
    }

    /// Bytes of the advertised window that are left once so many have come.
    #[inline]
    pub fn left(&self, came: u64) -> u64 {
        self.advertised.bytes.saturating_sub(came)
    }

    /// The window advertised last, bytes (`rcv_wnd`).
    pub fn advertised(&self) -> u64 {
        self.advertised.bytes
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
        (bytes + self.cut_off) & !self.cut_off
    }

    /// The window to advertise with so many bytes charged (`__tcp_select_window`).
    #[inline]
    fn select(&self, charged: u64) -> u64 {
        let mut free = self.free(charged);
        if self.is_tight(charged) {
            free &= !self.cut_off;
            if free < self.full >> 4 || free < self.seen_mss.min(self.clamp) {
                return 0;
            }
        }
        let free = free.min(self.ssthresh);
        if self.has_scale() {
            self.round_up(free)
        } else {
            self.select_without_scale(free)
        }
    }

    /// [`Self::select`] where windows have no shift and so many bytes are free.
    #[inline(never)]
    fn select_without_scale(&self, free: u64) -> u64 {
        let most = self.clamp.min(self.full);
        let mss = self.seen_mss.min(most);
        if mss == 0 {
            return 0;
        }
        // Whole segments; the window offered last if that is within a segment of what there is.
        let offered = self.advertised.bytes;
        if offered + mss <= free || offered > free {
            free / mss * mss
        } else if mss == most && free > offered + (most >> 1) {
            free
        } else {
            offered
        }
    }

    /// Windows have a shift. Without one they are rounded by the one offered last, so that none can be known ahead.
    pub fn has_scale(&self) -> bool {
        self.scale > 0
    }

    /// The window to advertise at `rcv_nxt`, bytes, `came` bytes behind the last ACK. An offered window is never taken back
    /// (`tcp_select_window`). Inlined, as most ACKs out of order ask.
    #[inline(always)]
    pub fn advertise(&mut self, rcv_nxt: u32, came: u64, charged: u64) -> u32 {
        let (left, selected) = (self.left(came), self.select(charged));
        let window = if selected < left { self.round_up(left) } else { selected };
        self.advertise_no_less(rcv_nxt, window)
    }

    #[cold]
    fn advertise_separately(&mut self, rcv_nxt: u32, charged: u64) -> u32 {
        self.advertise(rcv_nxt, u64::from(rcv_nxt - self.advertised.from) * self.mss, charged)
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

    /// Advertises a window that ends no earlier than the last one: the header may say less than the receiver counts on.
    #[inline]
    fn advertise_no_less(&mut self, rcv_nxt: u32, window: u64) -> u32 {
        self.advertised = Advertised { bytes: window, from: rcv_nxt };
        window.min(LARGEST_UNSCALED << self.scale) as u32
    }

    /// The window of the SYN-ACK, which is not scaled, bytes.
    pub fn offered(&self) -> u32 {
        self.advertised.bytes.min(LARGEST_UNSCALED) as u32
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

    /// True if so little of the window is left that [`Self::opens_wide`] may be.
    #[inline]
    pub fn is_half_used(&self, came: u64) -> bool {
        2 * self.left(came) <= self.clamp
    }

    /// True if reading has made room for twice the window that is left.
    pub fn opens_wide(&self, came: u64, charged: u64) -> bool {
        let window = self.select(charged);
        window > 0 && window >= 2 * self.left(came)
    }

    /// False if [`Self::is_half_used`] is with one segment unacknowledged.
    #[inline]
    pub fn may_open_wide(&self) -> bool {
        self.in_order.small || self.advertised.bytes < self.in_order.window
    }

    /// True if too little room is left to ask for quick ACKs.
    pub fn is_tight(&self, charged: u64) -> bool {
        charged >= self.in_order.tight_from
    }

    /// [`Self::is_tight`] with nothing out of order.
    pub fn is_tight_in_order(&self) -> bool {
        self.is_tight(self.in_order.charged)
    }

    /// The receiver's own estimate of the RTT times 8, us; 0: none yet.
    pub fn rtt_us8(&self) -> u64 {
        self.rtt.us8()
    }

    /// RTT by the echo of our own timestamp on a full segment, while something `waits` to be read or nothing does.
    #[inline]
    pub fn rtt_by_timestamp(&mut self, tsecr: u32, waits: bool, now: Time) {
        if self.rtt.is_new_echo(tsecr) {
            self.take_echo(tsecr, waits, now);
        }
    }

    /// An echo that is no sample.
    pub fn note_echo(&mut self, tsecr: u32) {
        self.rtt.note_echo(tsecr);
    }

    #[inline(never)]
    fn take_echo(&mut self, tsecr: u32, waits: bool, now: Time) {
        if self.rtt.by_timestamp(tsecr, waits, now) {
            self.plan();
        }
    }

    /// RTT by the time that a window takes to fill. All has come up to `rcv_nxt`; a number stands for so many bytes.
    #[inline]
    pub fn rtt_by_window(&mut self, rcv_nxt: u32, per_number: u32, now: Time) {
        let rcv_nxt = u64::from(rcv_nxt);
        if self.rtt.is_window_full(rcv_nxt)
            && self.rtt.by_window(rcv_nxt + self.advertised.bytes.div_ceil(u64::from(per_number)), now)
        {
            self.plan();
        }
    }

    fn resize(&mut self, size: u64) {
        self.size = size;
        self.full = self.payload_in(size);
    }
}
