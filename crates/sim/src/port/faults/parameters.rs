//! Parameters of the faults, with netem's bounds.

use crate::catalogue::{Draws, Entry, Kind, Parameter, Preset};

/// Most entries of a table (include/uapi/linux/pkt_sched.h, `NETEM_DIST_MAX`).
pub(super) const MOST_ENTRIES: usize = 16_384;

/// A share of all packets.
pub const RANDOM: Entry = entry(
    "random",
    "a share of the packets, drawn one by one or correlated",
    "A share of all packets.",
    &[
        Parameter::new("rate", Kind::Share, "share", "Share of the packets that it hits.").example("1%"),
        CORRELATION.meaning(
            "Dependence of a draw on the one before. Correlated draws are not uniform, so that a small `rate` hits fewer packets than it says.",
        ),
    ],
);

/// Losses by wrong bits.
pub const BIT_ERRORS: Entry = entry(
    "bit_errors",
    "frames with a wrong bit are lost",
    "Losses of frames in which a bit is wrong.",
    &[Parameter::new(
        "bit_error_rate",
        Kind::Ratio,
        "rate",
        "Probability that a bit is wrong, each by itself: a frame of n bits is lost with 1 - (1 - rate)^n.",
    )
    .at_least(0)
    .at_most(1)
    .example("1e-8")],
);

/// Losses that are evenly spaced.
pub const REGULAR: Entry = entry(
    "regular",
    "a share of the packets, evenly spaced",
    "A share of all packets, as evenly spaced as can be: of 25% every fourth packet.",
    &[share("regular", "share", "Share of the packets that it hits, evenly spaced.").example("2%")],
);

/// Losses in bursts.
pub const GILBERT: Entry = entry(
    "gilbert",
    "losses in bursts",
    "Losses in bursts: Gilbert and Elliott's chain of two states, with netem's four parameters and their defaults.",
    &[
        share("p", "p", "Probability of a change from the good state to the bad one, per packet."),
        share("r", "r", "Probability of a change from the bad state to the good one; by default 100% - p.")
            .or(Preset::Unset)
            .example("30%"),
        share("one_minus_h", "", "Share of the packets in the bad state that are lost.").or_number(100).example("80%"),
        share("one_minus_k", "one_minus_k", "Share of the packets in the good state that are lost.").or_number(0),
    ],
);

/// Variation of the delay.
pub const JITTER: Entry = entry(
    "jitter",
    "the delay varies from packet to packet",
    "Variation of the delay from packet to packet: one of `uniform`, `normal`, `pareto`, `paretonormal`, `table`.\n\nA time alone is `uniform`.",
    &[
        scale("uniform", "deviation_ns", "Half-width of a uniform distribution: from the delay minus this to the delay plus this."),
        scale("normal", "", "Standard deviation of a normal distribution."),
        scale(
            "pareto",
            "",
            "Scale of a Pareto distribution of shape 3 around the delay, netem's table: most packets are a little below the delay, few far above.",
        ),
        scale("paretonormal", "", "Scale of a mixture: a quarter normal, three quarters Pareto."),
        Parameter::new(
            "table",
            Kind::Text(""),
            "",
            "A file in the format of tc's distributions (/usr/lib/tc/NAME.dist): whole numbers, 8192 of which are one `deviation`.",
        )
        .or(Preset::Unset)
        .example("normal.dist"),
        scale("deviation", "", "Scale of a `table`."),
        Parameter::flag(
            "keep_order",
            false,
            "No packet overtakes the one before. Without it packets leave in the order of their times, as in netem.",
        )
        .example("true"),
        CORRELATION,
    ],
);

/// Packets that overtake others.
pub const REORDER: Entry = entry(
    "reorder",
    "packets overtake those that are delayed",
    "Packets that go at once, past those that are delayed: a share, or keys.",
    &[
        share("share", "share", "Share of the packets that go at once, among those that may."),
        Parameter::integer("gap", 1, 1, u32::MAX, "One packet in this number may go at once: the others are delayed.")
            .example("5"),
        CORRELATION,
    ],
);

/// All of them.
pub const ENTRIES: &[Entry] = &[RANDOM, BIT_ERRORS, REGULAR, GILBERT, JITTER, REORDER];

const CORRELATION: Parameter =
    share("correlation", "correlation", "Dependence of a draw on the one before.").or_number(0).example("25%");

const fn entry(
    name: &'static str,
    summary: &'static str,
    about: &'static str,
    parameters: &'static [Parameter],
) -> Entry {
    Entry { draws: Draws::EachPacket, since: "2.6.7", ..Entry::plain(name, summary, about, parameters) }
}

const fn share(name: &'static str, field: &'static str, meaning: &'static str) -> Parameter {
    Parameter::new(name, Kind::Share, field, meaning).example("1%")
}

/// A time that netem keeps in 31 bits of ns.
const fn scale(name: &'static str, field: &'static str, meaning: &'static str) -> Parameter {
    let bounded = Parameter::new(name, Kind::Duration, field, meaning).at_least(1).at_most(2_000_000_000);
    bounded.or(Preset::Unset).example("2ms")
}
