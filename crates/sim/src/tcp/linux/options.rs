//! Differences between versions of Linux: values that options of a [`crate::tcp::linux::stack::Stack`] take.

use crate::catalogue::{words, Kind, OptionType};
use crate::cc::Growth;

words! {
    /// How losses are found, and with it which state machine handles an ACK.
    pub enum LossDetection {
        /// By time of transmission (RFC 8985; 4.18 and later have it alone).
        Rack = "rack",
        /// A segment is lost if it lies more than `reordering` segments below the highest SACKed one, and so is a retransmission that was
        /// overtaken. Once reordering was seen, the number of SACKed segments above it decides (sysctl tcp_fack 1, until 4.14).
        Fack = "fack",
        /// A segment is lost if more than `reordering` segments above it are SACKed (RFC 6675; sysctl tcp_fack 0).
        Sack = "sack",
    }

    /// Fast retransmit with fewer than three duplicate ACKs when there is no more to send (RFC 5827; sysctl tcp_early_retrans, 3.5 to 4.11).
    pub enum EarlyRetransmit {
        /// Never.
        Off = "off",
        /// Retransmits at once when all but one segment is SACKed (sysctl value 1).
        AtOnce = "at-once",
        /// A quarter of an RTT later, at least 2 ms (sysctl value 2).
        Delayed = "delayed",
    }

    /// Check of a retransmission timeout for being needless (F-RTO).
    pub enum Frto {
        /// All is marked lost, but one ACK decides (RFC 5682; 3.10 and later).
        Rfc5682 = "rfc5682",
        /// Nothing is marked lost until the second ACK decides, with the help of SACKs (RFC 4138; sysctl tcp_frto 2, until 3.9).
        Rfc4138 = "rfc4138",
        /// Slow start from one segment at once (sysctl tcp_frto 0).
        Off = "off",
    }

    /// When kernel timers fire.
    pub enum TimerWheel {
        /// Rounded up to the granularity of a level of the wheel, an eighth of what is ahead at most (4.8 and later).
        Levels = "levels",
        /// In their tick, from 256 ticks on rounded up by at most 1/256 (2.6.36 to 4.7).
        Slack = "slack",
        /// In their tick (until 2.6.35).
        Exact = "exact",
    }

    /// The clock of HyStart; see the parameter `hystart_clock` of CUBIC.
    pub enum HystartClock {
        /// Microseconds.
        Microseconds = "microseconds",
        /// Ticks.
        Ticks = "ticks",
    }

    /// How a receive buffer without a size of its own grows. A buffer with a size that the application set never grows.
    pub enum ReceiveTuning {
        /// Not at all (sysctl tcp_moderate_rcvbuf 0).
        Off = "off",
        /// To twice what was read in the last round trip (until 3.13).
        Twice = "twice",
        /// The same, and ahead of a sender that speeds up (3.14 and later).
        Ahead = "ahead",
        /// To twice what was read; more for a sender that speeds up, by what its rate grew (commit aa251c84636c); where the RTT is below
        /// `rcvbuf_low_rtt_us`, in proportion to the RTT; and for what came out of order, at once (commit 63ad7dfedfae; 6.19 and later).
        ByRtt = "by-rtt",
    }

    /// Bytes that a connection may have in its host's queue, if the host has a queue of its own.
    pub enum SmallQueues {
        /// Whatever it sends (until 3.5).
        Off = "off",
        /// `output_limit_bytes` of new data; retransmissions are not asked (3.6 to 3.11).
        Fixed = "fixed",
        /// Two TSO segments, or a millisecond at the pacing rate if that is more, and `output_limit_bytes` at most; twice as much for
        /// retransmissions. Segments that still lie there are not retransmitted (4.14 and later).
        Rate = "rate",
    }

    /// The rule by which the window limited sending.
    pub enum CwndLimited {
        /// Remember that the window was full at any time of the present window of data (Linux 6.0 and later).
        Sticky = "sticky",
        /// Only at the moment of the most segments outstanding; in slow start only the doubling rule counts (before 6.0).
        AtMaximum = "at-maximum",
        /// When an ACK finds no more than three segments of the window unused, or with TSO less than a third of it (until 3.15).
        AtAck = "at-ack",
        /// When an ACK finds the window full once its SACKs are counted, or with TSO less than a third of it unused (2.6.18).
        FullAtAck = "full-at-ack",
    }

    /// How PRR sends below ssthresh.
    pub enum PrrBelowSsthresh {
        /// max(delivered - sent, newly delivered), one more when the cumulative point advances without new loss (6.x).
        Una = "una",
        /// The same only when a retransmission was acknowledged; else what was newly delivered (4.x, 5.x).
        Retransmission = "retransmission",
        /// max(delivered - sent, newly delivered) and always one more (3.2 to 4.2).
        SlowStart = "slow-start",
    }

    /// When a sender that builds TSO segments waits for more window.
    pub enum TsoDefer {
        /// Only if the next ACK is nearer than min(1 ms, srtt/2) (6.x).
        AckNear = "ack-near",
        /// Only if the oldest segment out is older than srtt/2 (5.1).
        HeadOld = "head-old",
        /// Up to two ticks, whatever is under way (3.x).
        TwoTicks = "two-ticks",
        /// Until ACKs have freed a third of the window (2.6.18).
        Third = "third",
    }

    /// The receiver's answer to SCE marks. All four stand in the SCE tree's history (chromi/sce net/ipv4/tcp_input.c); which
    /// of them the draft's kernel had is not known.
    pub enum SceEcho {
        /// A change of marking while a segment waits is acknowledged at once, and so is the segment that changed it.
        T1 = "t1",
        /// Like T1, but the segment that changed the marking may wait.
        T0 = "t0",
        /// Each marked segment asks for two quick ACKs; unmarked ones do nothing.
        Ta = "ta",
        /// Like T1, and every segment asks for a quick ACK.
        Tb = "tb",
    }

    /// How the window comes down when congestion is found.
    pub enum CwndReduction {
        /// By what is delivered (PRR, RFC 6937; 3.2 and later).
        Prr = "prr",
        /// By one segment every second ACK, and each time to no more than what is in flight and one (rate halving, until 3.1). An undo leaves no
        /// more than what is in flight and a burst.
        RateHalving = "rate-halving",
    }

    /// The segments that SACKs prove lost. Only loss detection by counting has it.
    pub enum LossMarking {
        /// All that lie far enough below the highest SACKed one (3.9).
        All = "all",
        /// Only segments that were out when the episode began and are not retransmitted yet (2.6.18). An ACK marks them if it changes nothing
        /// but its SACK blocks, fills a hole in part, or SACKs a segment sent since. Once reordering was seen, it marks the first one alone,
        /// unless it SACKs a segment sent since. An ACK older than others marks nothing.
        Episode = "episode",
    }

    /// The ACKs at which the sender looks for retransmissions that later segments have overtaken. Only loss detection by counting has it.
    pub enum LostRetransmissions {
        /// Every ACK with SACK blocks (3.9).
        EverySack = "every-sack",
        /// An ACK that changes more than the end of its first block, or that comes after new data was acknowledged (2.6.18). Other ACKs walk only
        /// the new part of the block.
        NewHole = "new-hole",
    }
}

impl OptionType for Growth {
    const KIND: Kind = Kind::Choice(&["segments", "acks"]);
    const MEANINGS: &'static [(&'static str, &'static str)] = &[
        ("segments", "Segments that were delivered (3.13 and later)."),
        ("acks", "ACKs: each counts once, whatever it acknowledges. The threshold itself still belongs to slow start."),
    ];
    const ABOUT: &'static str = "The window grows by this.";
}
