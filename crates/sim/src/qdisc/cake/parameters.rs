//! cake's parameters, with tc's words for them.

use super::LEAST_RATE_BPS;
use crate::catalogue::{Draws, Entry, Feature, Kind, Parameter, Preset};
use crate::qdisc::parameters::{LEAST_NS, MOST, MOST_NS};

/// cake's parameters.
pub const ENTRY: Entry = Entry {
    name: "cake",
    summary: "CAKE: shaper, tins, COBALT, DRR++, flow and host isolation, SCE",
    about: "Cake with tc's keywords, but `besteffort` unless `diffserv` says otherwise.",
    draws: Draws::Hash,
    parameters: &[
        Parameter::new(
            "rate",
            Kind::Rate,
            "rate_bps",
            "tc's keyword bandwidth; by default the bottleneck's rate. Not allowed behind another shaper.",
        )
        .or(Preset::Unset)
        .at_least(LEAST_RATE_BPS as i64)
        .example("10mbit")
        .tc("bandwidth {}bit"),
        Parameter::new(
            "isolation",
            Kind::Choice(&[
                "flowblind",
                "srchost",
                "dsthost",
                "hosts",
                "flows",
                "dual-srchost",
                "dual-dsthost",
                "triple-isolate",
            ]),
            "isolation",
            "Traffic that has a queue and a fair turn of its own: flows, hosts, or flows with fairness over hosts first.",
        )
        .or(Preset::Word("triple-isolate"))
        .example("flows")
        .tc("{}"),
        Parameter::new(
            "rtt",
            Kind::Duration,
            "rtt_ns",
            "The interval of COBALT; its target is a twentieth of it. Or one of tc's words: `datacentre` (100us), `lan` (1ms), `metro` (10ms), \
             `regional` (30ms), `internet` (100ms), `oceanic` (300ms), `satellite` (1s), `interplanetary` (1000s).",
        )
        .or_number(100_000_000)
        .at_least(LEAST_NS)
        .at_most(MOST_NS)
        .example("20ms")
        .tc("rtt {}us"),
        Parameter::new(
            "overhead",
            Kind::Integer("bytes"),
            "overhead_bytes",
            "Bytes added to each packet's IP length; None is tc's keyword `raw`: the length of the frame.",
        )
        .or(Preset::Unset)
        .at_least(-64)
        .at_most(256)
        .example("18")
        .tc("overhead {}"),
        Parameter::new(
            "mpu",
            Kind::Integer("bytes"),
            "mpu_bytes",
            "The shortest length that a packet is charged for, bytes; by default 0 or what `framing` has.",
        )
        .or(Preset::Unset)
        .at_least(0)
        .at_most(256)
        .example("64")
        .tc("mpu {}"),
        Parameter::new(
            "framing",
            Kind::Choice(&["noatm", "atm", "ptm"]),
            "framing",
            "Cells (`atm`, `ptm`, `noatm`), or tc's words for kinds of lines, which have their cells, `overhead` and `mpu`: `docsis`, `ethernet`, \
             `pppoe_ptm`, `bridged_ptm`, `pppoe_vcmux` ... `conservative`, `raw`; or several of them, such as `[pppoe_ptm, ether_vlan]`, whose \
             overheads add up.",
        )
        .or(Preset::Word("noatm"))
        .example("docsis")
        .tc("{}"),
        // A full packet as Linux charges it.
        Parameter::new(
            "memlimit",
            Kind::Size,
            "memory_limit_bytes",
            "Limit of the memory that packets take; by default cake derives it from the rate.",
        )
        .or(Preset::Unset)
        .at_least(2304)
        .at_most(MOST)
        .example("4MiB")
        .tc("memlimit {}"),
        Parameter::new(
            "sce",
            Kind::Integer(""),
            "sce",
            "The SCE ramp: true (`sce`), `single` (`sce-single`), N (`sce-thresh N`), or `single-steep`: `single` with the slope of `sce`.",
        )
        .or(Preset::Unset)
        .needs(Feature::Sce)
        .example("true"),
        Parameter::new(
            "diffserv",
            Kind::Choice(&["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"]),
            "diffserv",
            "Tins: one, three, four or eight, by the DSCP; `precedence`: eight, by its three high bits. tc's default is diffserv3.",
        )
        .or(Preset::Word("besteffort"))
        .sparse()
        .example("diffserv3")
        .tc("{}"),
        flag("wash", "more.wash", "Sets the codepoint of packets to 0, after it has chosen their tin.").tc("wash|"),
        flag(
            "ingress",
            "more.ingress",
            "Counts the packets that cake drops as sent, because they have already passed the link that it paces for. COBALT waits longer the \
             more bulk flows there are.",
        )
        .tc("ingress|"),
        Parameter::new(
            "ack_filter",
            Kind::Choice(&["off", "on", "aggressive"]),
            "more.ack_filter",
            "Drops ACKs that a later one in their queue makes needless: the older of two needless ACKs. `aggressive`: also a single one right \
             before the later one.",
        )
        .or(Preset::Word("off"))
        .sparse()
        .example("on")
        .tc("off=|on=ack-filter|aggressive=ack-filter-aggressive"),
        flag(
            "autorate_ingress",
            "more.autorate_ingress",
            "The rate follows that at which packets come, beginning with `rate`. Not allowed behind another shaper.",
        )
        .tc("autorate-ingress|"),
        Parameter::new(
            "nat",
            Kind::Flag,
            "",
            "Host isolation by the addresses behind NAT. There is none here, so that this changes nothing.",
        )
        .or(Preset::Flag(false))
        .example("true"),
    ],
    tc: &[
        "rate",
        "diffserv",
        "isolation",
        "overhead",
        "mpu",
        "framing",
        "rtt",
        "memlimit",
        "wash",
        "ingress",
        "ack_filter",
        "autorate_ingress",
    ],
    since: "4.19",
};

const fn flag(name: &'static str, field: &'static str, meaning: &'static str) -> Parameter {
    Parameter::new(name, Kind::Flag, field, meaning).or(Preset::Flag(false)).sparse().example("true")
}
