//! FreeBSD stacks as named data. An option is named as the last part of its sysctl (`net.inet.tcp.*`, `kern.hz`,
//! `kern.ipc.maxsockbuf`), with its unit where it has one.

use serde::{Deserialize, Serialize};

use crate::refusal::Flaws;

/// Most bytes that an option may be.
const MOST_BYTES: u64 = 1 << 29;

/// One stack. Wide because each field is an option that a scenario may override by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    /// Ticks a second.
    pub hz: u32,
    /// Initial window of ten segments (RFC 6928).
    pub initcwnd10: bool,
    /// Initial window of RFC 3390 (else RFC 5681's); also the window after idling.
    pub rfc3390: bool,
    /// Limited transmit.
    pub rfc3042: bool,
    /// Appropriate byte counting.
    pub rfc3465: bool,
    /// Most segments that an ACK adds in slow start, and counts for in congestion avoidance.
    pub abc_l_var: u32,
    /// Every second segment is acknowledged at once, a single one when the timer fires.
    pub delayed_ack: bool,
    /// Delay of an acknowledgement, ms.
    pub delacktime_ms: u32,
    /// Least retransmission timeout, ms.
    pub rexmit_min_ms: u32,
    /// Added to every retransmission timeout, ms.
    pub rexmit_slop_ms: u32,
    /// Most holes of a scoreboard.
    pub sack_maxholes: u32,
    /// First size of a send buffer that no application has set, bytes.
    pub sendspace: u64,
    /// Step of such a buffer's growth, bytes; 0: it does not grow.
    pub sendbuf_inc: u64,
    /// The most that it grows to, bytes.
    pub sendbuf_max: u64,
    /// First size of a receive buffer that no application has set, bytes.
    pub recvspace: u64,
    /// Step of such a buffer's growth, bytes; 0: it does not grow.
    pub recvbuf_inc: u64,
    /// The most that it grows to, bytes.
    pub recvbuf_max: u64,
    /// Most memory of a socket buffer, bytes; sets the window scale.
    pub maxsockbuf: u64,
}

/// The settings of a 9.2-RELEASE host; `initcwnd10` is off as on the hosts of CAIA TR 140630A, where the source has it on.
const FREEBSD_9: Stack = Stack {
    hz: 1000,
    initcwnd10: false,
    rfc3390: true,
    rfc3042: true,
    rfc3465: true,
    abc_l_var: 2,
    delayed_ack: true,
    delacktime_ms: 100,
    rexmit_min_ms: 30,
    rexmit_slop_ms: 200,
    sack_maxholes: 128,
    sendspace: 32_768,
    sendbuf_inc: 8192,
    sendbuf_max: 2_097_152,
    recvspace: 65_536,
    recvbuf_inc: 16_384,
    recvbuf_max: 2_097_152,
    maxsockbuf: 2_097_152,
};

/// Name, summary and data of every stack.
pub const STACKS: &[(&str, &str, Stack)] =
    &[("freebsd-9", "FreeBSD 9 (NewReno with SACK, byte counting, delayed ACKs of 100 ms)", FREEBSD_9)];

/// The congestion controls that run on these stacks.
pub const CONTROLS: &[&str] = &["reno"];

/// Bytes of an mbuf, and of its cluster.
const MSIZE: u64 = 256;
const MCLBYTES: u64 = 2048;
/// Largest unscaled window, and largest scale.
pub(super) const MAX_WINDOW: u64 = 65_535;
const MAX_SCALE: u32 = 14;

impl Stack {
    /// Largest buffer that an application may set, bytes: what is left of `maxsockbuf` when every cluster has its mbuf.
    #[must_use]
    pub fn most_buffer(&self) -> u64 {
        self.maxsockbuf * MCLBYTES / (MSIZE + MCLBYTES)
    }

    /// The window scale that a host asks for: the least that covers `maxsockbuf`, whatever the size of the buffer.
    pub(super) fn window_scale(&self) -> u32 {
        (0..MAX_SCALE).find(|scale| MAX_WINDOW << scale >= self.maxsockbuf).unwrap_or(MAX_SCALE)
    }

    /// Milliseconds in ticks.
    pub(super) fn ticks(&self, ms: u32) -> u64 {
        u64::from(ms) * u64::from(self.hz) / 1000
    }

    /// Refuses values that no kernel can have.
    pub(in crate::tcp) fn check(&self) -> Result<(), Flaws> {
        let mut flaws = Flaws::default();
        for (name, value, unit, range) in [
            ("hz", self.hz, "ticks a second", 100..=1000),
            ("abc_l_var", self.abc_l_var, "segments", 1..=100),
            ("delacktime_ms", self.delacktime_ms, "ms", 10..=10_000),
            ("rexmit_min_ms", self.rexmit_min_ms, "ms", 10..=60_000),
            ("rexmit_slop_ms", self.rexmit_slop_ms, "ms", 0..=60_000),
            ("sack_maxholes", self.sack_maxholes, "holes", 1..=65_536),
        ] {
            flaws.range(name, value, unit, range);
        }
        for (name, bytes, range) in [
            ("maxsockbuf", self.maxsockbuf, 65_536..=MOST_BYTES),
            ("sendspace", self.sendspace, 8192..=self.most_buffer()),
            ("recvspace", self.recvspace, 8192..=self.most_buffer()),
            ("sendbuf_max", self.sendbuf_max, 8192..=MOST_BYTES),
            ("recvbuf_max", self.recvbuf_max, 8192..=MOST_BYTES),
            ("sendbuf_inc", self.sendbuf_inc, 0..=MOST_BYTES),
            ("recvbuf_inc", self.recvbuf_inc, 0..=MOST_BYTES),
        ] {
            flaws.range(name, bytes, "bytes", range);
        }
        flaws.done()
    }
}
