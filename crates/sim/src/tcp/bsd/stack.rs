//! FreeBSD stacks as named data. An option is named as the last part of its sysctl (`net.inet.tcp.*`, `kern.hz`,
//! `kern.ipc.maxsockbuf`), with its unit where it has one; those of the module `cdg` begin with its name.

use serde::{Deserialize, Serialize};

use crate::catalogue::options;
use crate::refusal::Flaws;

/// Most bytes that an option may be.
const MOST_BYTES: i64 = 1 << 29;
/// Least size of a socket buffer, bytes.
const LEAST_BUFFER: u64 = 8192;

options! {
    /// One stack. Wide because each field is an option that a scenario may override by its name.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Stack {
        /// Ticks a second.
        pub hz: u32 => .range("ticks a second", 100, 1000).sysctl("kern.hz={}"),
        /// Initial window of ten segments (RFC 6928).
        pub initcwnd10: bool => .sysctl("net.inet.tcp.experimental.initcwnd10=1|net.inet.tcp.experimental.initcwnd10=0"),
        /// Initial window of RFC 3390 (else RFC 5681's); also the window after idling.
        pub rfc3390: bool => .sysctl("net.inet.tcp.rfc3390=1|net.inet.tcp.rfc3390=0"),
        /// Limited transmit.
        pub rfc3042: bool => .sysctl("net.inet.tcp.rfc3042=1|net.inet.tcp.rfc3042=0"),
        /// Appropriate byte counting.
        pub rfc3465: bool => .sysctl("net.inet.tcp.rfc3465=1|net.inet.tcp.rfc3465=0"),
        /// Maximum number of segments that an ACK adds in slow start, and counts for in congestion avoidance.
        pub abc_l_var: u32 => .range("segments", 1, 100).sysctl("net.inet.tcp.abc_l_var={}"),
        /// Every second segment is acknowledged at once, a single one when the timer fires.
        pub delayed_ack: bool => .sysctl("net.inet.tcp.delayed_ack=1|net.inet.tcp.delayed_ack=0"),
        /// Delay of an acknowledgement, ms.
        pub delacktime_ms: u32 => .range("ms", 10, 10_000).sysctl("net.inet.tcp.delacktime={}"),
        /// Minimum retransmission timeout, ms.
        pub rexmit_min_ms: u32 => .range("ms", 10, 60_000).sysctl("net.inet.tcp.rexmit_min={}"),
        /// Added to every retransmission timeout, ms.
        pub rexmit_slop_ms: u32 => .range("ms", 0, 60_000).sysctl("net.inet.tcp.rexmit_slop={}"),
        /// Maximum number of holes in a scoreboard.
        pub sack_maxholes: u32 => .range("holes", 1, 65_536).sysctl("net.inet.tcp.sack.maxholes={}"),
        /// First size of a send buffer that no application has set, bytes.
        pub sendspace: u64 => .unit("bytes").sysctl("net.inet.tcp.sendspace={}"),
        /// Bytes by which a send buffer that no application has set grows at a time; 0: it does not grow.
        pub sendbuf_inc: u64 => .range("bytes", 0, MOST_BYTES).sysctl("net.inet.tcp.sendbuf_inc={}"),
        /// Maximum size that a send buffer grows to, bytes.
        pub sendbuf_max: u64 => .range("bytes", LEAST_BUFFER as i64, MOST_BYTES).sysctl("net.inet.tcp.sendbuf_max={}"),
        /// First size of a receive buffer that no application has set, bytes.
        pub recvspace: u64 => .unit("bytes").sysctl("net.inet.tcp.recvspace={}"),
        /// Bytes by which a receive buffer that no application has set grows at a time; 0: it does not grow.
        pub recvbuf_inc: u64 => .range("bytes", 0, MOST_BYTES).sysctl("net.inet.tcp.recvbuf_inc={}"),
        /// Maximum size that a receive buffer grows to, bytes.
        pub recvbuf_max: u64 => .range("bytes", LEAST_BUFFER as i64, MOST_BYTES).sysctl("net.inet.tcp.recvbuf_max={}"),
        /// Maximum memory of a socket buffer, bytes. It sets the window scale.
        pub maxsockbuf: u64 => .range("bytes", 65_536, MOST_BYTES).sysctl("kern.ipc.maxsockbuf={}"),
        /// `cc: cdg`: round trips after which growth is a segment more a round trip; 0: it stays at one segment.
        pub cdg_alpha_inc: u32 => .range("round trips", 0, 1000).sysctl("net.inet.tcp.cc.cdg.alpha_inc={}"),
        /// `cc: cdg`: window after backing off for the gradient, per cent.
        pub cdg_beta_delay: u32 => .range("per cent", 1, 100).sysctl("net.inet.tcp.cc.cdg.beta_delay={}"),
        /// `cc: cdg`: window after a loss, per cent.
        pub cdg_beta_loss: u32 => .range("per cent", 1, 100).sysctl("net.inet.tcp.cc.cdg.beta_loss={}"),
        /// `cc: cdg`: it backs off with probability 1 - exp(-gradient of the RTT in ms / this).
        pub cdg_exp_backoff_scale: u32 => .range("ms", 1, 1000).sysctl("net.inet.tcp.cc.cdg.exp_backoff_scale={}"),
        /// `cc: cdg`: gradients that are averaged.
        pub cdg_smoothing_factor: u32 => .range("round trips", 1, 1000).sysctl("net.inet.tcp.cc.cdg.smoothing_factor={}"),
        /// `cc: cdg`: after so many reductions without effect it takes the other flows for loss-based.
        pub cdg_loss_compete_consec_cong: u32 => .range("reductions", 0, 1000)
            .sysctl("net.inet.tcp.cc.cdg.loss_compete_consec_cong={}"),
        /// `cc: cdg`: then it does not back off so many times.
        pub cdg_loss_compete_hold_backoff: u32 => .range("reductions", 0, 1000)
            .sysctl("net.inet.tcp.cc.cdg.loss_compete_hold_backoff={}"),
    }
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
    cdg_alpha_inc: 0,
    cdg_beta_delay: 70,
    cdg_beta_loss: 50,
    cdg_exp_backoff_scale: 3,
    cdg_smoothing_factor: 8,
    cdg_loss_compete_consec_cong: 5,
    cdg_loss_compete_hold_backoff: 5,
};

/// Name, summary and data of every stack.
pub const STACKS: &[(&str, &str, Stack)] =
    &[("freebsd-9", "FreeBSD 9 (NewReno, CUBIC or CDG with SACK, byte counting, delayed ACKs of 100 ms)", FREEBSD_9)];

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

    /// The window scale that a host asks for: the minimum that covers `maxsockbuf`, whatever the size of the buffer.
    pub(super) fn window_scale(&self) -> u32 {
        (0..MAX_SCALE).find(|scale| MAX_WINDOW << scale >= self.maxsockbuf).unwrap_or(MAX_SCALE)
    }

    /// Milliseconds in ticks.
    pub(super) fn ticks(&self, ms: u32) -> u64 {
        u64::from(ms) * u64::from(self.hz) / 1000
    }

    /// Refuses first sizes of buffers that are more than an application may set.
    pub(in crate::tcp) fn check(&self) -> Result<(), Flaws> {
        let mut flaws = Flaws::default();
        for (name, bytes) in [("sendspace", self.sendspace), ("recvspace", self.recvspace)] {
            flaws.range(name, bytes, "bytes", LEAST_BUFFER..=self.most_buffer());
        }
        flaws.done()
    }
}
