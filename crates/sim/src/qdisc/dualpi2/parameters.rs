//! dualpi2's entry of the catalogue. Keys are tc's (iproute2 tc/q_dualpi2.c); defaults and bounds are those of Linux 7.3
//! net/sched/sch_dualpi2.c (`dualpi2_reset_default`, `dualpi2_policy`), and of RFC 9332, Appendix A.1, for the ramp.

use super::super::parameters::{limit_packets, LEAST_NS, MOST, MOST_NS};
use crate::catalogue::{Draws, Entry, Feature, Kind, Parameter, Preset, State};

/// The variants that have what only the kernel has, and what only the RFC has.
const LINUX: &[&str] = &["linux-7.3"];
const RFC: &[&str] = &["rfc9332"];
/// The longest period that the kernel keeps, in whole microseconds, ns: it has 32 bits for nanoseconds.
const LONGEST_PERIOD_NS: i64 = MOST / 1000 * 1000;
/// The maximum weight of the controller, units of 1/256 Hz.
const MOST_WEIGHT: i64 = (1 << 31) - 1;

/// dualpi2's parameters.
pub const ENTRY: Entry = Entry {
    name: "dualpi2",
    summary: "coupled queues for L4S and classic traffic (RFC 9332)",
    about: "DualPI2 (RFC 9332, Linux dualpi2): a queue with little delay for L4S traffic, and one for all else, whose marks and drops are \
            coupled.",
    draws: Draws::EachPacket,
    parameters: &[
        Parameter::new(
            "variant",
            Kind::Choice(&["linux-7.3", "rfc9332"]),
            "variant",
            "`rfc9332`: the pseudocode of RFC 9332, Appendix A, which marks L4S packets by a ramp, combines the two probabilities by their \
             maximum and draws no random numbers. Its defaults differ: `tupdate: 15ms`, `alpha: 38`, `beta: 768`, and 250 ms of the \
             link rate as `limit`.",
        )
        .or(Preset::Word("linux-7.3"))
        .needs(Feature::OtherKernels)
        .example("rfc9332"),
        limit_packets().or_number(10_000),
        Parameter::new(
            "memlimit",
            Kind::Size,
            "memory_limit_bytes",
            "Memory limit of both queues. By default `limit` times two of the largest frames.",
        )
        .or(Preset::Unset)
        .at_least(1)
        .at_most(MOST)
        .only(LINUX)
        .example("1MB")
        .tc("memlimit {}"),
        Parameter::new(
            "coupling_factor",
            Kind::Integer(""),
            "coupling",
            "Factor between the controller's probability and that of marks in the L4S queue. Classic packets are marked or dropped with the \
             square of the controller's probability.",
        )
        .or_number(2)
        .at_least(1)
        .at_most(255)
        .example("2")
        .tc("coupling_factor {}"),
        Parameter::new(
            "step_thresh",
            Kind::Duration,
            "step_ns",
            "Sojourn time above which every packet of the L4S queue is marked.",
        )
        .or_number(1_000_000)
        .at_most(LONGEST_PERIOD_NS)
        .only(LINUX)
        .example("500us")
        .tc("step_thresh {}us"),
        Parameter::new(
            "step_packets",
            Kind::Packets,
            "step_packets",
            "Length of the L4S queue above which every packet of it is marked. It replaces `step_thresh`; tc has one word for both.",
        )
        .or(Preset::Unset)
        .at_most(MOST)
        .only(LINUX)
        .example("5p")
        .tc("step_thresh {}p"),
        Parameter::new(
            "min_qlen_step",
            Kind::Packets,
            "min_qlen_step_packets",
            "Length of the L4S queue from which on arriving packets are subject to the step.",
        )
        .or_number(0)
        .at_most(MOST)
        .only(LINUX)
        .example("2p")
        .tc("min_qlen_step {}"),
        Parameter::new(
            "ramp_from",
            Kind::Duration,
            "ramp_from_ns",
            "Delay of the L4S queue at which the ramp of its marks begins.",
        )
        .or_number(800_000)
        .at_most(1_000_000_000)
        .only(RFC)
        .example("400us"),
        Parameter::new(
            "ramp_to",
            Kind::Duration,
            "ramp_to_ns",
            "Delay of the L4S queue from which on every packet of it is marked.",
        )
        .or_number(1_200_000)
        .at_most(MOST_NS)
        .only(RFC)
        .example("2ms"),
        Parameter::new(
            "drop_on_overload",
            Kind::Flag,
            "drop_on_overload",
            "Drops packets of both queues when marks alone do not suffice, so that the delay stays low. `false`: L4S packets are marked \
             until the limit is met.",
        )
        .or(Preset::Flag(true))
        .only(LINUX)
        .example("false")
        .tc("drop_on_overload|overflow"),
        Parameter::new(
            "drop_enqueue",
            Kind::Flag,
            "drop_enqueue",
            "Applies the coupled probabilities when a packet arrives, not when it leaves.",
        )
        .or(Preset::Flag(false))
        .only(LINUX)
        .example("true")
        .tc("drop_enqueue|drop_dequeue"),
        Parameter::new(
            "ecn_mask",
            Kind::Choice(&["l4s_ect", "any_ect"]),
            "ecn_mask",
            "Packets of the L4S queue: those with ECT(1) or CE (`l4s_ect`), or all that are ECN-capable (`any_ect`).",
        )
        .or(Preset::Word("l4s_ect"))
        .example("any_ect")
        .tc("l4s_ect=l4s_ect|any_ect=any_ect"),
        Parameter::new(
            "classic_protection",
            Kind::Integer("per cent"),
            "classic_protection",
            "Share of the classic queue, per cent, while both queues have packets.",
        )
        .or_number(10)
        .at_least(0)
        .at_most(100)
        .example("25")
        .tc("classic_protection {}%"),
        Parameter::new("target", Kind::Duration, "target_ns", "Delay that the controller aims at.")
            .or_number(15_000_000)
            .at_most(MOST_NS)
            .example("20ms")
            .tc("target {}us"),
        Parameter::new("tupdate", Kind::Duration, "tupdate_ns", "Time between updates of the probability.")
            .or_number(16_000_000)
            .at_least(LEAST_NS)
            .at_most(LONGEST_PERIOD_NS)
            .example("8ms")
            .tc("tupdate {}us"),
        weight("alpha", "Weight of the deviation from the target, 1/256 Hz: 41 is what tc writes as 0.16.", 41).example("64"),
        weight("beta", "Weight of the trend of the delay, 1/256 Hz: 819 is what tc writes as 3.2.", 819).example("512"),
        Parameter::new(
            "split_gso",
            Kind::Flag,
            "split_gso",
            "Splits chunks of several segments, so that each segment is marked or dropped on its own.",
        )
        .or(Preset::Flag(true))
        .only(LINUX)
        .example("true")
        .tc("split_gso|no_split_gso"),
    ],
    tc: &[
        "limit",
        "memlimit",
        "coupling_factor",
        "step_thresh",
        "step_packets",
        "min_qlen_step",
        "drop_on_overload",
        "drop_enqueue",
        "ecn_mask",
        "classic_protection",
        "target",
        "tupdate",
        "alpha",
        "beta",
        "split_gso",
    ],
    since: "6.17",
};

/// A weight of the controller. tc takes it in Hz.
const fn weight(name: &'static str, meaning: &'static str, default: i64) -> Parameter {
    Parameter::new(name, Kind::Integer("1/256 Hz"), name, meaning)
        .or_number(default)
        .at_least(1)
        .at_most(MOST_WEIGHT)
        .tc("{}")
}

/// State variables that a scenario may record.
pub const STATE: &[State] = &[
    State::new(
        "base_probability",
        "share",
        "probability p' of the controller, as of the last update before a packet came or went",
    ),
    State::new("classic_probability", "share", "probability of a mark or drop of a classic packet: p' squared"),
    State::new("coupled_probability", "share", "probability of a mark of an L4S packet by p': k p', at most 1"),
    State::new("wrr_credit_bytes", "bytes", "credit of the scheduler; classic packets go first if it is positive"),
    State::new("l4s_sojourn_ms", "ms", "how long the last packet waited that left the L4S queue"),
    State::new("classic_sojourn_ms", "ms", "how long the last packet waited that left the classic queue"),
];
