//! What versions of Linux do differently: values that options of a [`crate::tcp::linux::stack::Stack`] take.

use serde::{Deserialize, Serialize};

/// How losses are found, and with it which state machine handles an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossDetection {
    /// By time of transmission (RFC 8985; 4.18 and later have it alone).
    Rack,
    /// What is more than `reordering` segments below the highest SACKed one is lost, and so is a retransmission that was overtaken; by the
    /// number of SACKed segments once reordering was seen (sysctl tcp_fack 1, until 4.14).
    Fack,
    /// What has more than `reordering` SACKed segments above it is lost (RFC 6675; sysctl tcp_fack 0).
    Sack,
}

/// Fast retransmit with fewer than three duplicate ACKs when there is no more to send (RFC 5827; sysctl tcp_early_retrans, 3.5 to 4.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EarlyRetransmit {
    /// Never.
    Off,
    /// As soon as all but one segment is SACKed (sysctl value 1).
    AtOnce,
    /// A quarter of an RTT later, at least 2 ms (sysctl value 2).
    Delayed,
}

/// What a retransmission timeout does before it believes in losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Frto {
    /// All is marked lost, but one ACK decides (RFC 5682; 3.10 and later).
    Rfc5682,
    /// Nothing is marked lost until the second ACK decides, with the help of SACKs (RFC 4138; sysctl tcp_frto 2, until 3.9).
    Rfc4138,
    /// Slow start from one segment at once (sysctl tcp_frto 0).
    Off,
}

/// When kernel timers fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimerWheel {
    /// Rounded up to the granularity of a level of the wheel, an eighth of what is ahead at most (4.8 and later).
    Levels,
    /// In their tick, from 256 ticks on rounded up by at most 1/256 (2.6.36 to 4.7).
    Slack,
}

/// What HyStart measures with; see the parameter `hystart_clock` of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HystartClock {
    /// Microseconds.
    Microseconds,
    /// Ticks.
    Ticks,
}

/// How a receive buffer without a size of its own grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReceiveTuning {
    /// Not at all (sysctl tcp_moderate_rcvbuf 0).
    Off,
    /// To twice what was read in the last round trip (until 3.13).
    Twice,
    /// The same, and ahead of a sender that speeds up.
    Ahead,
}

/// What a connection may have in its host's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SmallQueues {
    /// Whatever it sends (until 3.5).
    Off,
    /// `output_limit_bytes` of new data; retransmissions are not asked (3.6 to 3.11).
    Fixed,
    /// Two TSO segments, or a millisecond at the pacing rate if that is more, and `output_limit_bytes` at most; twice as much for
    /// retransmissions. What still lies there is not sent again (4.14 and later).
    Rate,
}
