//! TCP stacks as named data: what differs between implementations is a field here, never a branch on a name.
//!
//! Left out: of Linux 2.6.18 that a lost SYN leaves a window of three segments, or after a second one of one segment with a threshold of two; that RTTs
//! for controls are those of the oldest segment acknowledged; the prequeue; a send buffer's first growth to three segments.

use serde::{Deserialize, Serialize};

use crate::catalogue::options;
use crate::cc::{Growth, Value, Version};
use crate::packet::MSS;
use crate::refusal::Flaws;
use crate::spec::StackSpec;
use crate::tcp::common::overrides::overridden;
pub use crate::tcp::linux::options::{
    CwndLimited, CwndReduction, LossMarking, LostRetransmissions, PrrBelowSsthresh, SceEcho, TsoDefer,
};
use crate::tcp::linux::options::{
    EarlyRetransmit, Frto, HystartClock, LossDetection, ReceiveTuning, SmallQueues, TimerWheel,
};

/// Threshold that BIC started with, segments (Linux 2.6.18 net/ipv4/tcp_bic.c `initial_ssthresh`).
const EARLY_SSTHRESH: u32 = 100;

options! {
    /// One stack. Wide because each field is an option that a scenario may override by its name.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Stack {
        /// Ticks a second.
        pub hz: u32 => .range("ticks a second", 100, 1000),
        /// Initial window, segments.
        pub initial_cwnd: u32 => .range("segments", 1, 1000).sysctl("initcwnd {}"),
        /// Window after an idle time, and the minimum that unused window decays to, segments; null: the initial one.
        pub restart_cwnd: Option<u32> => .range("segments", 1, 1000),
        /// Segments of reordering assumed at first (sysctl tcp_reordering).
        pub reordering: u32 => .range("segments", 1, 300).sysctl("net.ipv4.tcp_reordering={}"),
        /// Least retransmission timeout, ms.
        pub rto_min_ms: u32 => .range("ms", 1, 120_000).sysctl("rto_min {}ms"),
        /// Timeout of a SYN and of a SYN-ACK, ms (3000 until 3.0).
        pub rto_initial_ms: u32 => .range("ms", 1, 120_000),
        /// Retransmissions of a SYN before its timeout doubles (sysctl tcp_syn_linear_timeouts, 6.5 and later).
        pub syn_linear_timeouts: u32 => .since("6.5"),
        /// See [`TimerWheel`].
        pub timer_wheel: TimerWheel,
        /// The RTT is taken from echoed timestamps and is counted in ticks (until 3.14).
        pub rtt_in_ticks: bool,
        /// See [`LossDetection`].
        pub loss_detection: LossDetection,
        /// See [`LossMarking`].
        pub loss_marking: LossMarking,
        /// See [`LostRetransmissions`].
        pub lost_retransmissions: LostRetransmissions,
        /// A segment that comes late shows reordering by an ACK without SACK blocks, too, and after a timeout that may be undone (3.9, not 2.6.18).
        pub reordering_by_ack: bool,
        /// While a reduction may yet be undone a connection is in disorder, for a round trip after recovery, too, and each ACK bounds the window
        /// by `max_burst` (2.6.18).
        pub disorder_until_acked: bool,
        /// Segments by which the window may exceed the segments in flight where it is bounded by them (`tcp_moderate_cwnd`; 3 in 2.6.18); null:
        /// the degree of reordering.
        pub max_burst: Option<u32> => .range("segments", 1, 1000),
        /// See [`EarlyRetransmit`].
        pub early_retransmit: EarlyRetransmit,
        /// See [`Frto`].
        pub frto: Frto,
        /// Largest assumed reordering, segments (sysctl tcp_max_reordering; a constant until 3.18).
        pub max_reordering: u32 => .range("segments", 1, 10_000),
        /// See [`Growth`].
        pub growth: Growth,
        /// See [`HystartClock`].
        pub hystart_clock: HystartClock,
        /// Scalable TCP raises a large window by one for so many segments or ACKs (50 until 4.16).
        pub scalable_ai_cnt: u32 => .range("segments", 1, 1 << 24),
        /// Congestion controls as 2.6.18 had them, unless a scenario says otherwise: CUBIC 2.0, the first H-TCP, BIC with a threshold of 100 segments.
        pub early_controls: bool,
        /// CUBIC's curve stands still while nothing is sent.
        pub cubic_idle_shift: bool,
        /// SACKs beyond the third duplicate are merged for up to 5 % of an RTT, at most 1 ms.
        pub sack_compression: bool => .sysctl("|net.ipv4.tcp_comp_sack_nr=0").since("4.18"),
        /// SACK compression of 4.18 to 5.7: without slack, 41 ACKs at most, and what is held back goes when a fifth range makes the receiver forget another;
        /// later with a segment of the third range, at most 44, and with a slack of 0.1 ms.
        pub early_sack_compression: bool,
        /// SACKs beyond the third duplicate wait for at most this share of an RTT (sysctl tcp_comp_sack_rtt_percent, commit 416dd649f3aa); null: a
        /// twentieth (until 6.18).
        pub sack_compression_rtt_percent: Option<u32> => .range("%", 1, 1000).sysctl("net.ipv4.tcp_comp_sack_rtt_percent={}").since("6.19"),
        /// They may go so much later, with another timer (sysctl tcp_comp_sack_slack_ns; 100 until 6.18, commit ca412f25d6b2).
        pub sack_compression_slack_us: u32 => .range("us", 0, 1000).sysctl("net.ipv4.tcp_comp_sack_slack_ns={}000").since("5.8"),
        /// The timestamp of an ACK that waited for other SACKs is that of the last arrival or read, not of the time when it goes (`tcp_compressed_ack_kick`
        /// before 7.x looks at no clock).
        pub sack_compression_stale_clock: bool,
        /// A packet without data that comes late, with an old timestamp and a number before the one expected, is dropped without an answer
        /// (commit 124c4c32e9f3, 6.14 and later).
        pub ignore_old_acks: bool => .since("6.14"),
        /// Packets without data that are dropped are answered once in half a second (sysctl tcp_invalid_ratelimit, 4.0 and later); else each is.
        pub limit_answers: bool => .sysctl("|net.ipv4.tcp_invalid_ratelimit=0").since("4.0"),
        /// A SYN that is retransmitted does not offer ECN any more (sysctl tcp_ecn_fallback, 4.2 and later).
        pub ecn_fallback: bool => .sysctl("|net.ipv4.tcp_ecn_fallback=0").since("4.2"),
        /// Connections can agree on AccECN (6.18 and later).
        pub accecn: bool => .since("6.18"),
        /// See [`CwndLimited`].
        pub cwnd_limited: CwndLimited,
        /// The window is restarted after an idle time, and decays while the application limits sending (sysctl tcp_slow_start_after_idle).
        pub slow_start_after_idle: bool => .sysctl("|net.ipv4.tcp_slow_start_after_idle=0"),
        /// See [`CwndReduction`].
        pub cwnd_reduction: CwndReduction,
        /// See [`PrrBelowSsthresh`].
        pub prr_below_ssthresh: PrrBelowSsthresh,
        /// See [`TsoDefer`].
        pub tso_defer: TsoDefer,
        /// A TSO segment carries about a millisecond at the rate of the window (3.12 and later), not all that fits.
        pub tso_autosize: bool => .since("3.12"),
        /// Larger TSO segments on short paths: 64 KiB >> (min RTT in us >> this) is added to one; null: not.
        pub tso_rtt_log: Option<u32> => .range("", 0, 31),
        /// No TSO segment is larger than half the window.
        pub tso_half_window: bool,
        /// Senders can be paced, by the departure times that TCP sets (4.20 and later): bbr, `max_pacing_rate` and `fq` at the host need that. Linux
        /// before 3.12 has no rate to pace by, so that `fq` only shares there.
        pub pacing: bool => .since("4.20"),
        /// See [`SmallQueues`].
        pub small_queues: SmallQueues,
        /// The most that a connection may have in its host's queue, bytes (sysctl tcp_limit_output_bytes; 128 KiB until 4.19).
        pub output_limit_bytes: u32 => .range("bytes", 1, i32::MAX as i64).sysctl("net.ipv4.tcp_limit_output_bytes={}").since("3.6"),
        /// That limit holds for paced connections, too (commit c4221a8cc3a7, 6.16 and later).
        pub output_limit_paced: bool => .since("6.16"),
        /// Small queues hold nothing back while one TSO segment is outstanding (5.17 and later), else only while none is.
        pub small_queues_spare_one: bool => .since("5.17"),
        /// Congestion control hears of an ACK before the acknowledged segments are counted (true) or after (6.12.117).
        pub ack_event_first: bool,
        /// An skb that was not sent takes in as much of the next one as the window allows, or a segment needs (6.10 and later).
        pub tso_grow: bool => .since("6.10"),
        /// The last segment of a TSO segment has a PSH (5.4 and later).
        pub tso_push: bool => .since("5.4"),
        /// A full segment that ends the sender's write is acknowledged as soon as it is read (6.6 and later); a short one always is.
        pub ack_full_push: bool => .since("6.6"),
        /// A FIN is sent even where the congestion window is full (not in 6.12.117 any more).
        pub fin_beyond_cwnd: bool,
        /// Tail loss probes (sysctl tcp_early_retrans 3).
        pub tail_loss_probe: bool => .sysctl("|net.ipv4.tcp_early_retrans=0").since("3.10"),
        /// Every segment out of order asks for 16 quick ACKs (until 4.17).
        pub quick_acks_out_of_order: bool,
        /// A delayed ACK never waits longer than 200 ms; else an interval above 40 ms is bound by half a second and the RTT alone.
        pub delayed_ack_capped: bool,
        /// A delayed ACK waits less than the minimum retransmission timeout (6.7 and later).
        pub delayed_ack_below_rto: bool => .since("6.7"),
        /// See [`ReceiveTuning`].
        pub receive_tuning: ReceiveTuning,
        /// The RTT below which a receive buffer that is tuned `by-rtt` grows less (sysctl tcp_rcvbuf_low_rtt, commit ecfea98b7d0d).
        pub rcvbuf_low_rtt_us: u32 => .range("us", 0, 1_000_000).sysctl("net.ipv4.tcp_rcvbuf_low_rtt={}").since("6.19"),
        /// The receiver's estimate of the RTT takes a longer sample only if the application has read all that came before (commit a00f135cd986,
        /// 6.16 and later).
        pub receive_rtt_of_read: bool => .since("6.16"),
        /// The receive buffer is tuned by the time of the last arrival, not of the read (commit 0ae1ac7335ca, 6.19 and later).
        pub tune_by_arrival: bool => .since("6.19"),
        /// Share of the receive buffer that is window: 1 - 2^-n (sysctl tcp_adv_win_scale); null: what the first segment shows (6.6 and later).
        pub adv_win_scale: Option<u32> => .range("", 1, 31),
        /// First window offered, segments (3.0 to 4.19); null: as much as the buffer takes.
        pub initial_rwnd: Option<u32> => .range("segments", 1, 1000),
        /// The first window is no larger than a SYN can offer without a scale, 65535 bytes (until 6.10); else only the SYN says so little.
        pub initial_window_unscaled: bool,
        /// A receive buffer with a size of its own bounds the window's scale (not in 2.6.18).
        pub scale_by_buffer: bool,
        /// Segments out of order widen the window, too (3.12 and later).
        pub widen_out_of_order: bool => .since("3.12"),
        /// A segment is acknowledged while it still takes room in the buffer (4.14 and later); before, a waiting application had read it.
        pub ack_before_read: bool => .since("4.14"),
        /// A connection gives back the memory that it has reserved and does not use, all but a part of a page (6.0 and later). Header prediction
        /// takes data only if that part is enough for them.
        pub returns_memory: bool => .since("6.0"),
        /// A segment that waits behind the one before it shares its head (3.5 and later, if the payload lies in pages).
        pub receive_coalescing: bool => .since("3.5"),
        /// Memory charged for a received segment of 1448 bytes, bytes.
        pub receive_truesize: u32 => .range("bytes", MSS as i64, 65_536),
        /// Memory charged for a segment of 1448 bytes in the send buffer without TSO, bytes.
        pub send_truesize: u32 => .range("bytes", MSS as i64, 65_536),
        /// Bytes that a growing buffer reserves for each segment besides its payload and timestamp (2.6.18: room for headers, 16, and an
        /// sk_buff); null: the memory that a later kernel allocates for one.
        pub growth_beside: Option<u32> => .range("bytes", 1, 65_536),
        /// SACKed segments in the send buffer are merged and give back their heads, even without TSO.
        pub merge_sacked: bool,
        /// DCTCP cuts by alpha/2 at the end of every observation window (fitted for `linux-5.1-sce`).
        pub dctcp_window_cut: bool,
        /// Only ECT(0), not SCE, tells a DCTCP receiver that congestion is over, when it also echoes SCE.
        pub dctcp_sce_latch: bool,
        /// See [`SceEcho`].
        pub sce_echo_variant: SceEcho,
        /// Bytes that the SCE senders take for one segment (536: the estimate of a peer that sends no data).
        pub sce_scale_bytes: u32 => .range("bytes", 88, MSS as i64),
        /// An SCE echo may only raise ssthresh.
        pub sce_ssthresh_ratchet: bool,
        /// Reno-SCE answers an SCE echo half as strongly.
        pub sce_half_response: bool,
        /// The SCE senders cut twice for one CE mark or loss: the stack to half, then the module to 3/4 or 7/8 of that; else the module's
        /// cut is the only one.
        pub sce_cut_twice: bool,
    }
}

const LINUX_6_12: Stack = Stack {
    hz: 1000,
    initial_cwnd: 10,
    restart_cwnd: None,
    reordering: 3,
    rto_min_ms: 200,
    rto_initial_ms: 1000,
    syn_linear_timeouts: 4,
    timer_wheel: TimerWheel::Levels,
    rtt_in_ticks: false,
    loss_detection: LossDetection::Rack,
    loss_marking: LossMarking::All,
    lost_retransmissions: LostRetransmissions::EverySack,
    reordering_by_ack: true,
    disorder_until_acked: false,
    max_burst: None,
    early_retransmit: EarlyRetransmit::Off,
    frto: Frto::Rfc5682,
    max_reordering: 300,
    growth: Growth::Segments,
    hystart_clock: HystartClock::Microseconds,
    scalable_ai_cnt: 100,
    early_controls: false,
    cubic_idle_shift: true,
    sack_compression: true,
    early_sack_compression: false,
    sack_compression_rtt_percent: None,
    sack_compression_slack_us: 100,
    sack_compression_stale_clock: true,
    ignore_old_acks: false,
    limit_answers: true,
    ecn_fallback: true,
    accecn: false,
    cwnd_limited: CwndLimited::Sticky,
    slow_start_after_idle: true,
    cwnd_reduction: CwndReduction::Prr,
    prr_below_ssthresh: PrrBelowSsthresh::Una,
    tso_defer: TsoDefer::AckNear,
    tso_autosize: true,
    tso_rtt_log: Some(9),
    tso_half_window: true,
    pacing: true,
    small_queues: SmallQueues::Rate,
    output_limit_bytes: 1 << 20,
    output_limit_paced: false,
    small_queues_spare_one: true,
    ack_event_first: false,
    tso_grow: true,
    tso_push: true,
    ack_full_push: true,
    fin_beyond_cwnd: false,
    tail_loss_probe: true,
    quick_acks_out_of_order: false,
    delayed_ack_capped: true,
    delayed_ack_below_rto: true,
    receive_tuning: ReceiveTuning::Ahead,
    rcvbuf_low_rtt_us: 1000,
    receive_rtt_of_read: false,
    tune_by_arrival: false,
    adv_win_scale: None,
    initial_rwnd: None,
    initial_window_unscaled: false,
    scale_by_buffer: true,
    widen_out_of_order: true,
    ack_before_read: true,
    returns_memory: true,
    receive_coalescing: true,
    receive_truesize: 2280,
    send_truesize: MSS + 832,
    growth_beside: None,
    merge_sacked: true,
    dctcp_window_cut: false,
    dctcp_sce_latch: false,
    sce_echo_variant: SceEcho::T1,
    sce_scale_bytes: MSS,
    sce_ssthresh_ratchet: false,
    sce_half_response: false,
    sce_cut_twice: false,
};

/// Linux 7.3.4. All that its TCP does differently from 6.12.117 is an option that names its commit, but for what no packet of the simulator brings
/// about: an answer to ACKs of data that was never sent (42726ec644cb), data beyond the window that was offered (9ca48d616ed7), and pruning.
const LINUX_7_3: Stack = Stack {
    accecn: true,
    sack_compression_rtt_percent: Some(33),
    sack_compression_slack_us: 10,
    sack_compression_stale_clock: false,
    ignore_old_acks: true,
    // tcp: increase tcp_limit_output_bytes default value to 4MB (commit 9ea3bfa61b09, 6.16).
    output_limit_bytes: 4 << 20,
    output_limit_paced: true,
    receive_tuning: ReceiveTuning::ByRtt,
    receive_rtt_of_read: true,
    tune_by_arrival: true,
    ..LINUX_6_12
};

const LINUX_5_1_SCE: Stack = Stack {
    early_sack_compression: true,
    cwnd_limited: CwndLimited::AtMaximum,
    prr_below_ssthresh: PrrBelowSsthresh::Retransmission,
    tso_defer: TsoDefer::HeadOld,
    tso_rtt_log: None,
    small_queues_spare_one: false,
    ack_event_first: true,
    tso_grow: false,
    tso_push: false,
    ack_full_push: false,
    fin_beyond_cwnd: true,
    delayed_ack_below_rto: false,
    adv_win_scale: Some(1),
    initial_window_unscaled: true,
    returns_memory: false,
    dctcp_window_cut: true,
    dctcp_sce_latch: true,
    sce_scale_bytes: 536,
    sce_cut_twice: true,
    ..LINUX_6_12
};

/// Linux 3.9 with the sysctls of its time but tcp_early_retrans 2, tcp_frto 2 and tcp_moderate_rcvbuf 0. What a segment is charged: allocations
/// of 4096 bytes for sending (payload, header room and shared info exceed 2048), of 1920 bytes by e1000e for receiving, and an sk_buff each.
const LINUX_3_9: Stack = Stack {
    sack_compression: false,
    limit_answers: false,
    ecn_fallback: false,
    syn_linear_timeouts: 0,
    timer_wheel: TimerWheel::Slack,
    rtt_in_ticks: true,
    loss_detection: LossDetection::Fack,
    early_retransmit: EarlyRetransmit::Delayed,
    frto: Frto::Rfc4138,
    max_reordering: 127,
    growth: Growth::Acks,
    hystart_clock: HystartClock::Ticks,
    scalable_ai_cnt: 50,
    cubic_idle_shift: false,
    cwnd_limited: CwndLimited::AtAck,
    prr_below_ssthresh: PrrBelowSsthresh::SlowStart,
    tso_defer: TsoDefer::TwoTicks,
    tso_autosize: false,
    tso_rtt_log: None,
    tso_half_window: false,
    pacing: false,
    small_queues: SmallQueues::Fixed,
    output_limit_bytes: 131_072,
    tso_grow: false,
    tso_push: false,
    ack_full_push: false,
    fin_beyond_cwnd: true,
    tail_loss_probe: false,
    quick_acks_out_of_order: true,
    delayed_ack_capped: false,
    delayed_ack_below_rto: false,
    receive_tuning: ReceiveTuning::Off,
    adv_win_scale: Some(1),
    initial_rwnd: Some(10),
    initial_window_unscaled: true,
    widen_out_of_order: false,
    ack_before_read: false,
    returns_memory: false,
    receive_coalescing: false,
    receive_truesize: 2176,
    send_truesize: 4352,
    merge_sacked: false,
    ..LINUX_6_12
};

/// Linux 2.6.18 with the sysctls of its time: no F-RTO, no byte counting, buffers that tune themselves. The destination is not in the route
/// cache, as tcp_no_metrics_save demands where runs are compared: then a connection begins with two segments, and only after an idle time
/// with the three of RFC 3390. 32 bits, cache lines of 128 bytes and ticks of 1 ms, as the distributions of the time built it: a segment to be
/// sent takes 256 bytes of room for headers and 1448 in whole cache lines, one that e1000 receives 1540 likewise, and an sk_buff of 172 each.
const LINUX_2_6: Stack = Stack {
    initial_cwnd: 2,
    restart_cwnd: Some(3),
    rto_initial_ms: 3000,
    timer_wheel: TimerWheel::Exact,
    loss_marking: LossMarking::Episode,
    lost_retransmissions: LostRetransmissions::NewHole,
    reordering_by_ack: false,
    disorder_until_acked: true,
    max_burst: Some(3),
    early_retransmit: EarlyRetransmit::Off,
    frto: Frto::Off,
    early_controls: true,
    cwnd_limited: CwndLimited::FullAtAck,
    cwnd_reduction: CwndReduction::RateHalving,
    tso_defer: TsoDefer::Third,
    small_queues: SmallQueues::Off,
    receive_tuning: ReceiveTuning::Twice,
    adv_win_scale: Some(2),
    initial_rwnd: Some(4),
    scale_by_buffer: false,
    receive_truesize: 1664 + 172,
    send_truesize: 1792 + 172,
    growth_beside: Some(208 + 16 + 172),
    ..LINUX_3_9
};

/// A stack that can be asked for by name.
pub struct NamedStack {
    /// Name in a description.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// The congestion controls of this Linux run on it.
    pub version: Version,
    /// Its options, which a description may override.
    pub options: Stack,
}

/// Every stack.
pub const STACKS: &[NamedStack] = &[
    NamedStack {
        name: "linux-6.12",
        summary: "Linux 6.12 (SACK, RACK-TLP, PRR, HyStart, SACK compression)",
        version: Version(6, 12),
        options: LINUX_6_12,
    },
    NamedStack {
        name: "linux-7.3",
        summary:
            "Linux 7.3 (as 6.12, with AccECN, SACK compression of a third of an RTT and receive buffers tuned by RTT)",
        version: Version(7, 3),
        options: LINUX_7_3,
    },
    NamedStack {
        name: "linux-5.1-sce",
        summary: "Linux 5.1.0-rc2 with the SCE patches of June 2019",
        version: Version(5, 1),
        options: LINUX_5_1_SCE,
    },
    NamedStack {
        name: "linux-3.9",
        summary: "Linux 3.9 as the TEACUP report set it up (FACK, PRR, early retransmit; counts ACKs)",
        version: Version(3, 9),
        options: LINUX_3_9,
    },
    NamedStack {
        name: "linux-2.6",
        summary: "Linux 2.6.18, of 2005 to 2007 (FACK, rate halving; starts with two segments, counts ACKs)",
        version: Version(2, 6),
        options: LINUX_2_6,
    },
];

impl Stack {
    /// Charged for a segment in the send buffer beside its payload, without TSO, bytes.
    #[must_use]
    pub fn send_head(&self) -> u32 {
        self.send_truesize - MSS
    }

    /// Charged for a received segment of `payload` bytes. Where payload lies in pages, head and sk_buff are the same for all sizes.
    #[must_use]
    pub fn receive_charge(&self, payload: u32) -> u32 {
        self.receive_truesize - MSS + payload
    }

    /// The stack of a description.
    ///
    /// # Errors
    /// A name or options that there are not, or values that no kernel can have.
    pub fn from_spec(spec: &StackSpec) -> Result<Self, Flaws> {
        let Some(base) = STACKS.iter().find(|stack| stack.name == spec.name) else {
            let names: Vec<&str> = STACKS.iter().map(|stack| stack.name).collect();
            return Err(Flaws::one("name", format_args!("unknown {:?}", spec.name), names.join(", ")));
        };
        overridden(&base.options, &spec.options, Self::PARAMETERS, Self::check)
    }

    /// Values of the stack's fields for the parameters of congestion controls.
    #[must_use]
    pub fn control_parameters(&self) -> Vec<(&'static str, Value)> {
        let clock = match self.hystart_clock {
            HystartClock::Microseconds => "microseconds",
            HystartClock::Ticks => "ticks",
        };
        let mut parameters = vec![
            ("hystart_clock", Value::Word(clock)),
            ("ai_cnt", Value::Integer(self.scalable_ai_cnt)),
            ("idle_shift", Value::Flag(self.cubic_idle_shift)),
            ("count", Value::Word(if self.ack_event_first { "acked" } else { "delivered" })),
            ("window_cut", Value::Flag(self.dctcp_window_cut)),
            ("scale_bytes", Value::Integer(self.sce_scale_bytes)),
            ("ssthresh_ratchet", Value::Flag(self.sce_ssthresh_ratchet)),
            ("half_response", Value::Flag(self.sce_half_response)),
            ("cut_twice", Value::Flag(self.sce_cut_twice)),
        ];
        if self.early_controls {
            // Each control takes the word that is one of its own.
            let words = ["2.0", "linux-2.6.18"].map(|word| ("version", Value::Word(word)));
            parameters.extend(words.into_iter().chain([("initial_ssthresh", Value::Integer(EARLY_SSTHRESH))]));
        }
        parameters
    }

    /// Refuses mechanisms that only the other way to find losses has.
    fn check(&self) -> Result<(), Flaws> {
        let (rack, rfc5682) = (self.loss_detection == LossDetection::Rack, self.frto == Frto::Rfc5682);
        let mut flaws = Flaws::default();
        if rack && !rfc5682 {
            flaws.add("frto", "frto is not what goes with loss_detection rack", "rfc5682");
        }
        if !rack && rfc5682 {
            flaws.add("frto", "frto is what only goes with loss_detection rack", "rfc4138 or off");
        }
        for (field, counts, expected) in [
            ("early_retransmit", self.early_retransmit != EarlyRetransmit::Off, "off"),
            ("loss_marking", self.loss_marking != LossMarking::All, "all"),
            ("lost_retransmissions", self.lost_retransmissions != LostRetransmissions::EverySack, "every-sack"),
            ("reordering_by_ack", !self.reordering_by_ack, "true"),
            ("disorder_until_acked", self.disorder_until_acked, "false"),
            ("max_burst", self.max_burst.is_some(), "null"),
            ("cwnd_reduction", self.cwnd_reduction != CwndReduction::Prr, "prr"),
        ] {
            if rack && counts {
                flaws.add(field, format_args!("{field} does not go with loss_detection rack"), expected);
            }
        }
        if rack && self.cwnd_limited == CwndLimited::FullAtAck {
            flaws.add("cwnd_limited", "cwnd_limited full-at-ack does not go with loss_detection rack", "sticky");
        }
        if !rack && self.tail_loss_probe {
            flaws.add("tail_loss_probe", "tail_loss_probe only goes with loss_detection rack", "false");
        }
        flaws.done()
    }
}

#[cfg(test)]
mod tests;
