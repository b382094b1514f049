//! The window that the receiver advertises (RFC 9293), and which segments it lets go.

/// A window that a receiver with the minimum MSS would offer, bytes (`TCP_MSS_DEFAULT`).
const MSS_DEFAULT: u32 = 536;

/// Window that the receiver has advertised. Told of every ACK in order; asked before anything new is sent.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp::linux) struct PeerWindow {
    /// First segment beyond it.
    end: u32,
    /// Window as last advertised, bytes and whole segments.
    bytes: u32,
    segments: u32,
    /// Payload of a full segment, bytes.
    mss: u32,
    /// The largest ever, bytes and whole segments.
    most_bytes: u32,
    largest: u32,
    /// It was never so large that half of it takes a full segment.
    is_small: bool,
    /// The last ACK that advertised another size than the one before.
    changed_by: u32,
    /// No ACK has come since the SYN-ACK.
    by_syn_ack: bool,
}

impl PeerWindow {
    /// Nothing is advertised yet to a sender of segments of `mss` bytes.
    pub fn new(mss: u32) -> Self {
        Self {
            end: 0,
            bytes: 0,
            segments: 0,
            mss,
            most_bytes: 0,
            largest: 0,
            is_small: true,
            changed_by: 0,
            by_syn_ack: false,
        }
    }

    /// An ACK for `ack` advertises so many bytes.
    #[inline(always)]
    pub fn update(&mut self, bytes: u32, ack: u32) {
        if bytes != self.bytes {
            self.bytes = bytes;
            self.changed_by = ack;
            self.segments = bytes / self.mss;
            self.most_bytes = self.most_bytes.max(bytes);
            self.is_small = self.most_bytes < 2 * self.mss;
            self.largest = self.largest.max(self.segments);
        }
        self.end = ack + self.segments;
    }

    /// A window that is none of the largest, and is no more once the next one is another.
    pub fn take_unscaled(&mut self, bytes: u32) {
        (self.bytes, self.segments) = (bytes, bytes / self.mss);
    }

    /// Not all segments are full, and it ends here.
    pub fn set_end(&mut self, end: u32) {
        self.end = end;
    }

    /// The SYN-ACK has advertised it.
    pub fn note_syn_ack(&mut self) {
        self.by_syn_ack = true;
    }

    /// An ACK comes that acknowledges nothing; true if it is the first since the SYN-ACK, so that its number is higher (`tcp_init_wl`).
    pub fn is_first_after_syn_ack(&mut self) -> bool {
        std::mem::take(&mut self.by_syn_ack)
    }

    /// True if the first ACK for `ack` advertised another size than the one before.
    pub fn was_changed_by(&self, ack: u32) -> bool {
        self.changed_by == ack
    }

    /// Window as last advertised, bytes.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// First segment beyond the window.
    #[inline]
    pub fn end(&self) -> u32 {
        self.end
    }

    /// The window was never so large that half of it takes a full segment.
    #[inline]
    pub fn is_small(&self) -> bool {
        self.is_small
    }

    /// Half of the largest window ever, or all of one that is tiny, bytes: no segment, not even a TSO segment, is larger (`tcp_bound_to_half_wnd`).
    pub fn most_at_once(&self) -> u32 {
        if self.most_bytes > MSS_DEFAULT {
            self.most_bytes / 2
        } else {
            self.most_bytes
        }
    }

    /// Largest window ever, bytes.
    pub fn most_bytes(&self) -> u32 {
        self.most_bytes
    }

    /// Largest window ever, segments.
    #[inline]
    pub fn largest(&self) -> u32 {
        self.largest
    }
}
