//! Queue disciplines and their parameters.

use serde::{Deserialize, Serialize};

/// A queue discipline and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum QdiscSpec {
    /// FIFO by packets.
    Pfifo {
        /// Limit, packets.
        limit_packets: u64,
    },
    /// FIFO by bytes.
    Bfifo {
        /// Limit, bytes.
        limit_bytes: u64,
    },
    /// Cake.
    Cake {
        /// Shaper rate, bit/s; `None` is unlimited.
        rate_bps: Option<u64>,
        /// Flow isolation.
        isolation: CakeIsolation,
        /// Keyword `rtt`, ns (100 ms by default): interval; the target is a twentieth of it.
        rtt_ns: u64,
        /// Keyword `overhead`, bytes per packet added to the IP length; `None` is `raw` (the frame's own length).
        overhead_bytes: Option<i64>,
        /// Keyword `mpu`, least charged length, bytes.
        mpu_bytes: u64,
        /// Cell framing compensation.
        framing: CakeFraming,
        /// Keyword `memlimit`, bytes; `None` is Cake's own choice.
        memory_limit_bytes: Option<u64>,
        /// The SCE ramp's parameter: 0 off, 1 `sce`, k `sce-thresh k`, 65535 `sce-single`, 65534 the same as steep as `sce`.
        sce: u32,
        /// The scheme that chooses the tin of a packet.
        #[serde(default)]
        diffserv: CakeDiffserv,
        /// The other keywords.
        #[serde(default)]
        more: CakeMore,
    },
    /// CoDel on one queue.
    Codel {
        /// Limit, packets.
        limit_packets: u64,
        /// The control law.
        control: CodelSpec,
    },
    /// CoDel on each of many queues, served by DRR++.
    FqCodel {
        /// Limit, packets.
        limit_packets: u64,
        /// The queues.
        queues: QueuesSpec,
        /// Most packets dropped at once when a limit is met.
        drop_batch: u64,
        /// Such drops make CoDel signal more often (Linux 6.12; 3.10 does not).
        drops_raise_count: bool,
        /// The control law.
        control: CodelSpec,
    },
    /// PIE on one queue.
    Pie {
        /// Limit, packets.
        limit_packets: u64,
        /// The control law.
        control: PieSpec,
    },
    /// PIE as it was in 2013, on one queue.
    Pie2013 {
        /// Limit, packets.
        limit_packets: u64,
        /// The control law.
        control: Pie2013Spec,
    },
    /// PIE on each of many queues, served by DRR++.
    FqPie {
        /// Limit, packets.
        limit_packets: u64,
        /// The queues.
        queues: QueuesSpec,
        /// Above this drop probability, %, also packets that could be marked are dropped.
        ecn_prob: u64,
        /// The control law.
        control: PieSpec,
    },
    /// RED on a FIFO.
    Red {
        /// Limit, bytes.
        limit_bytes: u64,
        /// The control law.
        control: RedSpec,
    },
    /// Queues that flows are hashed to, served in turn.
    Sfq(SfqSpec),
    /// A queue per flow, served in turn, new flows first.
    Fq(FqSpec),
    /// Two coupled queues, for L4S and for other traffic.
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2Spec),
    /// A pipe of dummynet, which shapes itself.
    Dummynet {
        /// Rate, bit/s of IP packets.
        rate_bps: u64,
        /// Limit, bytes of IP packets.
        limit_bytes: u64,
        /// Between clock ticks, ns; `None`: an ideal server.
        #[serde(default)]
        tick_ns: Option<u64>,
    },
    /// netem that delays.
    Netem {
        /// Delay of each packet, ns.
        delay_ns: u64,
        /// Limit, packets.
        limit_packets: u64,
        /// Between clock ticks, at which its timer comes, ns; `None`: that is exact.
        #[serde(default)]
        tick_ns: Option<u64>,
    },
}

/// The queues of a discipline that hashes flows to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueuesSpec {
    /// Their number.
    pub flows: u32,
    /// Bytes of a turn.
    pub quantum_bytes: u32,
    /// Most memory, bytes; `None` is unlimited.
    pub memory_limit_bytes: Option<u64>,
}

/// CoDel's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodelSpec {
    /// Largest persistent sojourn time, ns.
    pub target_ns: u64,
    /// Initial interval of signals, ns.
    pub interval_ns: u64,
    /// Marks instead of dropping.
    pub ecn: bool,
    /// Marks everything that waited longer, ns.
    pub ce_threshold_ns: Option<u64>,
    /// The threshold applies only if the DS field and the ECN field beside it are the first number where the second one has ones.
    #[serde(default)]
    pub ce_threshold_selector: Option<(u8, u8)>,
    /// Floor of the queue; see [`CodelFloor`].
    pub floor: CodelFloor,
    /// A queue that was found empty has not been above the target for any time (Linux 6.12; 3.10 does not).
    pub forgets_when_empty: bool,
}

/// The backlog that CoDel always tolerates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodelFloor {
    /// A full frame of the device (Linux 6.12).
    Mtu,
    /// The largest packet seen so far (Linux 3.10).
    LargestSeen,
}

/// Parameters of the PIE of 2013.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pie2013Spec {
    /// Delay aimed at, ns; whole milliseconds.
    pub target_ns: u64,
    /// Between updates of the probability, ns; whole milliseconds.
    pub tupdate_ns: u64,
    /// Weight of the deviation from the target, in sixteenths.
    pub alpha: u32,
    /// Weight of the trend, in sixteenths.
    pub beta: u32,
    /// Ticks a second of the kernel, in which it counts time.
    pub hz: u32,
}

/// PIE's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PieSpec {
    /// Delay aimed at, ns.
    pub target_ns: u64,
    /// Between updates of the probability, ns.
    pub tupdate_ns: u64,
    /// Weight of the deviation from the target, in sixteenths.
    pub alpha: u32,
    /// Weight of the trend, in sixteenths.
    pub beta: u32,
    /// Marks instead of dropping while the probability is low.
    pub ecn: bool,
    /// Scales the probability by packet size.
    pub bytemode: bool,
    /// Estimates the delay from the departure rate instead of from time stamps.
    pub dq_rate_estimator: bool,
}

/// RED's parameters, as tc takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedSpec {
    /// Average queue at which signals begin, bytes.
    pub min_bytes: u64,
    /// Average queue at which they are most likely, bytes.
    pub max_bytes: u64,
    /// Probability of a signal there, units of 2^-32.
    pub max_p: u64,
    /// Average packet, bytes.
    pub avpkt_bytes: u64,
    /// Burst that is let through, packets.
    pub burst_packets: u64,
    /// Rate by which idle time is counted in packets, bit/s.
    pub bandwidth_bps: u64,
    /// Marks instead of dropping.
    pub ecn: bool,
    /// Drops above `max_bytes` nevertheless.
    pub harddrop: bool,
    /// Lets packets pass that would be marked and cannot be.
    #[serde(default)]
    pub nodrop: bool,
    /// Adapts `max_p`.
    pub adaptive: bool,
    /// Above `max_bytes` the probability rises to 1 at twice of it, instead of being 1.
    pub gentle: bool,
}

/// SFQ's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SfqSpec {
    /// Limit, packets.
    pub limit_packets: u64,
    /// Buckets that flows are hashed to, a power of two.
    pub divisor: u32,
    /// Bytes of a turn.
    pub quantum_bytes: u32,
    /// Most packets of a flow.
    pub depth_packets: u64,
    /// Between changes of the hash, s; 0: it does not change.
    pub perturb_s: u32,
    /// Drops the oldest packet of a queue instead of the newest.
    pub headdrop: bool,
    /// Most queues; `None`: 128.
    #[serde(default)]
    pub flows: Option<u32>,
}

/// fq's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqSpec {
    /// Limit, packets.
    pub limit_packets: u64,
    /// Most packets of a flow.
    pub flow_limit_packets: u64,
    /// Bytes of a turn.
    pub quantum_bytes: u32,
    /// Bytes of a flow's first turn.
    pub initial_quantum_bytes: u32,
    /// A flow that paused for longer has a whole turn again, ns; `None`: 40 ms.
    #[serde(default)]
    pub refill_delay_ns: Option<u64>,
    /// Marks everything that waited longer, ns.
    pub ce_threshold_ns: Option<u64>,
}

/// dualpi2's parameters. Wide because tc has as many. Times are taken in whole microseconds, as tc has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DualPi2Spec {
    /// The variant: Linux's rules or those of RFC 9332.
    pub variant: DualPi2Variant,
    /// Limit of both queues, packets.
    pub limit_packets: u64,
    /// Memory limit of both queues, bytes; `None`: `limit_packets` times two of the largest frames.
    pub memory_limit_bytes: Option<u64>,
    /// Coupling factor k.
    pub coupling: u32,
    /// Sojourn time above which packets of the L4S queue are marked, ns.
    pub step_ns: u64,
    /// Packets of the L4S queue above which they are marked instead.
    pub step_packets: Option<u64>,
    /// Length of the L4S queue from which on arriving packets are subject to the step, packets.
    pub min_qlen_step_packets: u64,
    /// Delay at which the RFC's ramp begins, ns.
    pub ramp_from_ns: u64,
    /// Delay at which it ends, ns.
    pub ramp_to_ns: u64,
    /// Drops packets of both queues once k p' is above 1.
    pub drop_on_overload: bool,
    /// Applies the coupled probabilities on arrival.
    pub drop_enqueue: bool,
    /// The packets of the L4S queue.
    pub ecn_mask: DualPi2Mask,
    /// Share of the classic queue while both have packets, per cent.
    pub classic_protection: u32,
    /// Delay aimed at, ns.
    pub target_ns: u64,
    /// Between updates of the probability, ns.
    pub tupdate_ns: u64,
    /// Weight of the deviation from the target, 1/256 Hz.
    pub alpha: u32,
    /// Weight of the trend, 1/256 Hz.
    pub beta: u32,
    /// Splits chunks of several segments; the simulator has no others.
    pub split_gso: bool,
}

/// The variant: Linux's rules or those of RFC 9332.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DualPi2Variant {
    /// Linux's.
    #[serde(rename = "linux-7.3")]
    Linux,
    /// The rules of RFC 9332, Appendix A.
    #[serde(rename = "rfc9332")]
    Rfc,
}

/// dualpi2's keywords for the packets of the L4S queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DualPi2Mask {
    /// ECT(1) and CE.
    L4sEct,
    /// All that are ECN-capable.
    AnyEct,
}

/// Cake's keywords for tins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CakeDiffserv {
    /// One tin.
    #[default]
    Besteffort,
    /// Three.
    Diffserv3,
    /// Four.
    Diffserv4,
    /// Eight.
    Diffserv8,
    /// Eight, by the three high bits of the codepoint alone.
    Precedence,
}

/// Keywords of cake that few use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CakeMore {
    /// Packets leave with codepoint 0.
    pub wash: bool,
    /// Dropped packets count as sent, because they came over the link that is paced for.
    pub ingress: bool,
    /// The rule that chooses ACKs to drop because a later one says all that they say.
    pub ack_filter: CakeAckFilter,
    /// The rate follows that at which packets come.
    pub autorate_ingress: bool,
}

/// Cake's keywords for filtering ACKs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CakeAckFilter {
    /// None.
    #[default]
    Off,
    /// The first of two.
    On,
    /// Also a single one right before.
    Aggressive,
}

/// Cake's isolation keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CakeIsolation {
    /// One queue.
    Flowblind,
    /// By source host.
    Srchost,
    /// By destination host.
    Dsthost,
    /// By pair of hosts.
    Hosts,
    /// By 5-tuple.
    Flows,
    /// By 5-tuple, fair over source hosts first.
    DualSrchost,
    /// By 5-tuple, fair over destination hosts first.
    DualDsthost,
    /// By 5-tuple, fair over both.
    TripleIsolate,
}

/// Cake's framing keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CakeFraming {
    /// None.
    Noatm,
    /// 53-byte cells carrying 48.
    Atm,
    /// 65 bytes on the wire for 64.
    Ptm,
}
