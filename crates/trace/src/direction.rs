//! Facts of one direction of a connection: the data that one end sent, and the answers to them.

use crate::ecn::Ecn;
use crate::moments::Moments;
use crate::window::Windows;

/// Amount of data sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Packets.
    pub packets: u64,
    /// Packets with payload.
    pub data_packets: u64,
    /// Packets with payload and PSH.
    pub pushed_packets: u64,
    /// Packets with payload and URG.
    pub urgent_packets: u64,
    /// Payload in bytes, retransmissions included.
    pub bytes: u64,
    /// Payload in bytes, counting each sequence number once, without zero-window probes. Bytes that the capture missed are not counted.
    pub unique_bytes: u64,
    /// Payload bytes that were sent but not captured (a small snap length).
    pub cut_bytes: u64,
    /// Packets of which some payload was not captured.
    pub cut_packets: u64,
    /// Payload in bytes sent before the first answer to payload.
    pub initial_bytes: u64,
    /// The packets of these.
    pub initial_packets: u64,
    /// Greatest payload, bytes.
    pub largest: u32,
    /// Least payload that is not zero, bytes.
    pub smallest: u32,
}

/// Packets by their flags and options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Packets with SYN.
    pub syns: u64,
    /// Packets with FIN.
    pub fins: u64,
    /// Packets with RST.
    pub resets: u64,
    /// Packets with ACK.
    pub acks: u64,
    /// Packets with ACK alone: no payload, SYN, FIN, RST.
    pub pure_acks: u64,
    /// Packets with SACK blocks.
    pub sacks: u64,
    /// Packets with SACK blocks, the first of which reports data that were received twice (RFC 2883).
    pub dsacks: u64,
    /// Most SACK blocks in a packet.
    pub most_blocks: u64,
    /// The SYN offers SACK.
    pub sack_permitted: bool,
    /// A packet has the Timestamps option.
    pub timestamps: bool,
    /// Maximum segment size that the SYN offers, bytes.
    pub mss: Option<u16>,
}

/// Time of sending, ns. All 0 if there was nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Earliest time of a packet.
    pub first_ns: i64,
    /// Latest time of a packet.
    pub last_ns: i64,
    /// Earliest time of a packet with payload.
    pub first_data_ns: i64,
    /// Latest time of a packet with payload.
    pub last_data_ns: i64,
    /// Time of the packet in front of the next.
    pub previous_ns: i64,
    /// Longest time between two packets.
    pub idle_max_ns: i64,
}

/// Data that were retransmitted, or came late. SYN and FIN count as a byte of payload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Again {
    /// Packets with at least one byte that an earlier packet carried.
    pub packets: u64,
    /// These bytes.
    pub bytes: u64,
    /// Payload packets among them that were not needed (see the file `spurious.rs`).
    pub spurious: u64,
    /// Maximum number of retransmissions of a segment.
    pub most_times: u32,
    /// Times from one transmission to the next.
    pub gaps: Moments,
    /// Times from the last transmission to an ACK that ends there.
    pub answered: Moments,
    /// Packets below the highest number seen: late ones, or retransmissions of data that were lost before the capture point.
    pub out_of_order: u64,
    /// Maximum distance: bytes between the packet and the highest number seen.
    pub late_bytes: i64,
    /// Maximum delay, ns: time since the data above it were seen.
    pub late_ns: i64,
    /// Packets into a closed window: counted as no data.
    pub probes: u64,
    /// Their payload.
    pub probe_bytes: u64,
}

/// Answers to the data sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answers {
    /// RTTs of segments that were sent once and acknowledged exactly.
    pub rtt: Moments,
    /// RTTs of the segments as large as the largest.
    pub full: Moments,
    /// Their size, bytes.
    pub full_size: u32,
    /// The RTT of the SYN, ns.
    pub syn_ns: Option<i64>,
    /// ACKs that give no RTT, because something below was retransmitted after their segment.
    pub post_loss: u64,
    /// Segments that were acknowledged together with a later one.
    pub cumulative: u64,
    /// Duplicate ACKs: no payload, the latest number and window again, with data sent.
    pub duplicates: u64,
    /// Third duplicates in a row.
    pub triple: u64,
    /// Acknowledgments whose time is before that of their segment: they give no RTT.
    pub negative: u64,
}

/// Data on their way, as the capture point saw it, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outstanding {
    /// Most.
    pub max: i64,
    /// The latest.
    pub now: i64,
    /// Bytes times ns.
    sum: f64,
    since_ns: i64,
    spent_ns: i64,
}

impl Outstanding {
    /// Take in the outstanding data from `time_ns` on; None before the first.
    pub fn set(&mut self, time_ns: i64, bytes: i64, begun: bool) {
        let passed_ns = if begun { (time_ns - self.since_ns).max(0) } else { 0 };
        self.sum += self.now as f64 * passed_ns as f64;
        // Times of a damaged capture may go back and forth by decades.
        self.spent_ns = self.spent_ns.saturating_add(passed_ns);
        self.since_ns = time_ns;
        self.now = bytes;
        self.max = self.max.max(bytes);
    }

    /// The mean over the time, bytes; 0 without any.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.spent_ns > 0 {
            self.sum / self.spent_ns as f64
        } else {
            0.0
        }
    }
}

/// The ends of the stream, unwrapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// Number of the SYN.
    pub syn: Option<i64>,
    /// Number of the FIN.
    pub fin: Option<i64>,
    /// The number after the latest packet.
    pub latest: i64,
}

/// One direction of a connection.
#[derive(Clone, Debug, Default)]
pub struct Direction {
    /// Amount of data sent.
    pub volume: Volume,
    /// Packets by flags and options.
    pub kinds: Kinds,
    /// When.
    pub span: Span,
    /// Boxed, as the next: most connections have none.
    again: Option<Box<Again>>,
    ecn: Option<Box<Ecn>>,
    /// The windows that the packets advertise.
    pub windows: Windows,
    /// Answers to the data sent.
    pub answers: Answers,
    /// Data in flight.
    pub outstanding: Outstanding,
    /// The ends of the stream.
    pub stream: Stream,
}

impl Direction {
    /// Return the data that were retransmitted, or came late.
    #[must_use]
    pub fn again(&self) -> Again {
        self.again.as_deref().copied().unwrap_or_default()
    }

    /// The same, to be changed.
    pub(crate) fn again_mut(&mut self) -> &mut Again {
        self.again.get_or_insert_default()
    }

    /// Marks in the packets, and their echoes of others.
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        self.ecn.as_deref().copied().unwrap_or_default()
    }

    /// The same, to be changed.
    pub(crate) fn ecn_mut(&mut self) -> &mut Ecn {
        self.ecn.get_or_insert_default()
    }

    /// `unique_bytes` per time from the first to the last packet with payload, bit/s; 0 if that time is 0.
    #[must_use]
    pub fn throughput_bps(&self) -> f64 {
        let span_ns = self.span.last_data_ns - self.span.first_data_ns;
        if span_ns > 0 {
            self.volume.unique_bytes as f64 * 8e9 / span_ns as f64
        } else {
            0.0
        }
    }

    /// Bytes from SYN to FIN (after a reset, to the latest packet); None unless both were seen.
    #[must_use]
    pub fn stream_bytes(&self) -> Option<i64> {
        let (syn, fin) = (self.stream.syn?, self.stream.fin?);
        Some(if self.kinds.resets > 0 { self.stream.latest } else { fin } - syn - 1)
    }
}
