//! A case: what reaches an end, and what it answers. Sequence numbers count bytes from the SYN of whoever sends them, as a capture shows them
//! with relative numbers.

use dumbbell_sim::packet::{MSS, TIMESTAMPS};
use dumbbell_sim::tcp::linux::sender::Info;
use dumbbell_sim::time::Time;
use serde::{Deserialize, Serialize};

/// The role of the end under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It sends a transfer and closes.
    Send,
    /// It receives a transfer.
    Receive,
    /// It does both, with writes of any size.
    Both,
}

/// The bits of a TCP header.
pub mod bits {
    /// The sender of this sends nothing more.
    pub const FIN: u8 = 0x01;
    /// Opens a connection.
    pub const SYN: u8 = 0x02;
    /// There is no such connection.
    pub const RST: u8 = 0x04;
    /// A write ends here.
    pub const PSH: u8 = 0x08;
    /// Acknowledges.
    pub const ACK: u8 = 0x10;
    /// ECN echo.
    pub const ECE: u8 = 0x40;
    /// Congestion window reduced.
    pub const CWR: u8 = 0x80;
}

/// A packet on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// Header bits, see [`bits`].
    pub flags: u8,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Payload, bytes.
    pub payload: u32,
    /// The window field, not scaled.
    pub window: u32,
    /// Timestamp value, ms.
    pub tsval: u32,
    /// Timestamp echo, ms.
    pub tsecr: u32,
    /// The IP ECN field.
    pub ecn: u8,
    /// SACK blocks in their order.
    pub sacks: Vec<(u32, u32)>,
    /// In a SYN: the shift of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<u8>,
}

impl Segment {
    /// True if one of these [`bits`] is set.
    #[must_use]
    pub fn has(&self, bits: u8) -> bool {
        self.flags & bits != 0
    }

    /// The sequence number after this packet.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.seq + self.payload + u32::from(self.has(bits::SYN)) + u32::from(self.has(bits::FIN))
    }
}

/// Something that happens to an end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum What {
    /// The application calls connect().
    Open,
    /// The application writes.
    Write {
        /// Bytes.
        bytes: u64,
    },
    /// An application that reads at a rate reads at most so much.
    Read {
        /// Bytes.
        bytes: u64,
    },
    /// The application closes once it has written all.
    Close,
    /// The application closes with an SO_LINGER of 0, which resets the connection.
    Abort,
    /// The application reads nothing from now on.
    Stop,
    /// The application closes its socket, in both directions.
    Quit,
    /// A packet of the peer arrives.
    Packet(Segment),
}

/// Something that happens to an end at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// The time, ns.
    pub at_ns: Time,
    /// The call or the packet.
    #[serde(flatten)]
    pub what: What,
}

fn yes() -> bool {
    true
}

/// The stack of an end where a case names none.
pub fn usual_stack() -> String {
    "linux-6.12".into()
}

fn is_usual(stack: &String) -> bool {
    *stack == usual_stack()
}

/// All that reaches an end. It depends on no answer of the end, so that any implementation can be driven by it. Wide because it describes the
/// end as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Seed of the draw that it comes from, and its number there.
    pub seed: u64,
    /// See `seed`.
    pub number: u64,
    /// Seed of what the end's congestion control draws.
    #[serde(default)]
    pub control_seed: u64,
    /// The end's role.
    pub kind: Kind,
    /// The end's congestion control.
    pub cc: String,
    /// The end's stack; see [`dumbbell_sim::tcp::linux::stack::STACKS`].
    #[serde(default = "usual_stack", skip_serializing_if = "is_usual")]
    pub stack: String,
    /// The end negotiates ECN.
    pub ecn: bool,
    /// The end builds TSO segments.
    pub tso: bool,
    /// True if the ends agree on SACK.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub sack: bool,
    /// True if the ends agree on timestamps.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub timestamps: bool,
    /// The end sends a short segment while another one is outstanding (`TCP_NODELAY`).
    pub nodelay: bool,
    /// An explicit receive buffer, bytes; as the kernel counts it, twice what an application asks for.
    pub rcvbuf: Option<u64>,
    /// An explicit send buffer, bytes, doubled like `rcvbuf`.
    pub sndbuf: Option<u64>,
    /// The end's application reads at this rate, bit/s; `None`: all that there is at once.
    pub reads_bps: Option<u64>,
    /// Payloads of the peer's segments in order, bytes: those that repeat as often as the first number says. The last one also carries the FIN;
    /// a payload of 0 is a FIN alone.
    pub peer_segments: Vec<(u32, u32)>,
    /// The end is watched until this time, ns.
    pub end_ns: Time,
    /// Calls of the application and packets of the peer, in order of time.
    pub actions: Vec<Action>,
}

impl Case {
    /// Payload of a full segment, bytes.
    #[must_use]
    pub fn mss(&self) -> u32 {
        full_segment(self.timestamps)
    }
}

/// Payload of a full segment with or without timestamps, bytes.
#[must_use]
pub fn full_segment(timestamps: bool) -> u32 {
    if timestamps {
        MSS
    } else {
        MSS + TIMESTAMPS
    }
}

/// Something that an end shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Event {
    /// It has sent a packet.
    Packet(Segment),
    /// TCP_INFO after the end has processed a packet of the peer.
    Info {
        /// Index of that packet among the case's actions.
        action: usize,
        /// TCP_INFO.
        #[serde(flatten)]
        info: Info,
    },
}

/// Something that an end shows at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The time, ns.
    pub at_ns: Time,
    /// The packet, or TCP_INFO.
    #[serde(flatten)]
    pub event: Event,
}
