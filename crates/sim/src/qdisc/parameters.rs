//! Parameters, and bounds of parameters, that several disciplines share.

use crate::catalogue::{Draws, Entry, Kind, Parameter, Preset};

/// The maximum number that Linux takes over netlink.
pub(super) const MOST: i64 = u32::MAX as i64;
/// The shortest time that tc takes, ns: it counts in microseconds, and leaves out a time of none.
pub(super) const LEAST_NS: i64 = 1000;
/// The longest time that Linux takes over netlink in microseconds, ns.
pub(super) const MOST_NS: i64 = MOST * 1000;
/// The longest delay, ns, which is that of the stages of a path.
pub(super) use crate::spec::MOST_DELAY_NS;
/// Today's code, where a discipline has others, too.
pub(super) const TODAY: &[&str] = &["linux-6.12"];

/// A limit in packets.
pub(super) const fn limit_packets() -> Parameter {
    Parameter::new("limit", Kind::LimitPackets, "limit_packets", "Limit of the queue, packets or `bdp`.")
        .at_least(1)
        .at_most(MOST)
        .example("180p")
        .tc("limit {}")
}

/// A limit in bytes.
pub(super) const fn limit_bytes(meaning: &'static str) -> Parameter {
    Parameter::new("limit", Kind::LimitBytes, "limit_bytes", meaning).at_least(1).at_most(MOST).example("64KiB")
}

/// Bytes of a turn. Linux raises smaller numbers to the minimum one.
pub(super) const fn quantum(field: &'static str, frames: u32, meaning: &'static str) -> Parameter {
    Parameter::new("quantum", Kind::Size, field, meaning)
        .or(Preset::Frames(frames))
        .at_least(256)
        .at_most(1 << 20)
        .example("3028B")
        .tc("quantum {}")
}

/// The meaning of a quantum of one frame.
pub(super) const ONE_FRAME: &str =
    "Bytes that a flow may send in its turn; by default the largest frame: 1514B, or the path's `mtu` and 14 bytes.";

/// Time between ticks of a kernel's clock.
pub(super) const fn tick(meaning: &'static str) -> Parameter {
    Parameter::new("tick", Kind::Duration, "tick_ns", meaning)
        .or(Preset::Unset)
        .at_least(1)
        .at_most(1_000_000_000)
        .sparse()
        .example("1ms")
}

/// The entry for all disciplines of Linux, as tc calls them.
pub const TC: Entry = Entry {
    name: "tc",
    summary: "any queue discipline of Linux by its command",
    about: "Any queue discipline of Linux, as tc's command line names it.",
    draws: Draws::Hash,
    parameters: &[Parameter::new("command", Kind::Text(""), "command", "Name and parameters, e.g. `hhf limit 1000`.")
        .example("hhf limit 1000")
        .tc("{}")],
    tc: &[],
    since: "2.2",
};
