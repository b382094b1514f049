//! Keys of traffic that several kinds share, and the settings of hosts.

use super::bulk::MAX_READING;
use super::site::{LEAST_SEGMENT, MAX_BUFFER, MIN_BUFFER, MOST_MTU, MOST_PACING};
use crate::catalogue::{Entry, Kind, Parameter, Preset};
use crate::cc::INFINITE_SSTHRESH;
use crate::packet::TIMESTAMPS;
use crate::spec::{DIRECTIONS, MOST_DELAY_NS};

/// Settings of the hosts of a connection.
pub const HOST: Entry = Entry::plain(
    "host",
    "settings of hosts",
    "Settings of the two hosts of a flow that are not TCP's.",
    &[
        Parameter::new(
            "offload",
            Kind::Choice(&["none", "tso", "on"]),
            "",
            "`none`: TCP sends packet by packet; `tso`: it builds TSO segments, which the host cuts into \
             packets; `on`: TSO segments travel through the network whole, as between virtual machines.",
        )
        .or(Preset::Word("none"))
        .example("tso"),
        Parameter::new(
            "rcvbuf",
            Kind::Size,
            "rcvbuf",
            "SO_RCVBUF as the application sets it (Linux doubles it): no auto-tuning.",
        )
        .or(Preset::Unset)
        .within(MIN_BUFFER as i64, MAX_BUFFER as i64)
        .example("256KiB"),
        Parameter::new(
            "sndbuf",
            Kind::Size,
            "sndbuf",
            "SO_SNDBUF as the application sets it (Linux doubles it): no auto-tuning.",
        )
        .or(Preset::Unset)
        .within(MIN_BUFFER as i64, MAX_BUFFER as i64)
        .example("256KiB"),
        Parameter::new(
            "reads",
            Kind::Rate,
            "reads_bps",
            "Rate at which the receiving application reads. It reads every 10 ms. By default it reads \
             all there is at once.",
        )
        .or(Preset::Unset)
        .within(1, MAX_READING as i64)
        .example("2mbit"),
        Parameter::new(
            "nodelay",
            Kind::Flag,
            "nodelay",
            "TCP_NODELAY, as browsers, web servers and remote shells set it. Without it, as by default \
             in sockets, the short end of a write waits while another short segment is outstanding \
             (Nagle, in Minshall's variant). Bulk flows have no short end.",
        )
        .or(Preset::Flag(false))
        .example("true"),
        Parameter::new(
            "max_pacing_rate",
            Kind::Rate,
            "max_pacing_bps",
            "SO_MAX_PACING_RATE: senders pace their packets, no faster than this. By default they pace \
             only if the congestion control asks for it. It is an error on stacks without pacing \
             (linux-3.9, linux-2.6, freebsd-9).",
        )
        .or(Preset::Unset)
        .within(8, MOST_PACING as i64)
        .since("3.12")
        .example("20mbit"),
        Parameter::new(
            "rmem",
            Kind::Sizes,
            "rmem",
            "sysctl tcp_rmem of Linux: minimum (without effect in the simulator), initial, maximum.\n\n\
             `kernel`: the kernel's own sizes on a machine with enough memory. Series of Linux differ there, and the \
             engine `kernel` gives its guest the memory. In the simulator it is the default.",
        )
        .written_as("4KiB, 128KiB, 6MiB")
        .at_most(MAX_BUFFER as i64)
        .sysctl("net.ipv4.tcp_rmem={}")
        .example("[4KiB, 128KiB, 1MiB]"),
        Parameter::new(
            "sender_rmem",
            Kind::Sizes,
            "sender_rmem",
            "sysctl tcp_rmem of the host that sends the data, by default that of `rmem`. It gives the window that this host \
             advertises, which only captures show where no data come back.",
        )
        .or(Preset::Unset)
        .at_most(MAX_BUFFER as i64)
        .sysctl("net.ipv4.tcp_rmem={}")
        .example("[4KiB, 128KiB, 1MiB]"),
        Parameter::new(
            "wmem",
            Kind::Sizes,
            "wmem",
            "sysctl tcp_wmem of Linux: minimum, initial (both without effect in the simulator), maximum; or `kernel`.",
        )
        .written_as("4KiB, 16KiB, 4MiB")
        .at_most(MAX_BUFFER as i64)
        .sysctl("net.ipv4.tcp_wmem={}")
        .example("[4KiB, 16KiB, 1MiB]"),
        Parameter::new(
            "gro",
            Kind::Duration,
            "",
            "For the receiving host: time between the first unreported packet and the network card's \
             interrupt (rx-usecs). GRO merges the packets that came until then. By default every packet \
             is reported at once and none are merged.",
        )
        .or(Preset::Unset)
        .example("50us"),
        Parameter::new(
            "cached_ssthresh",
            Kind::Packets,
            "cached_ssthresh",
            "ssthresh that the metrics cache has stored for the destination.",
        )
        .or(Preset::Unset)
        .within(2, INFINITE_SSTHRESH as i64)
        .example("20p"),
        Parameter::new(
            "sysctls",
            Kind::Keys,
            "",
            "Settings of the kernel's network on both hosts, e.g. `net.ipv4.tcp_early_retrans: 0`.",
        )
        .or(Preset::Unset)
        .example("{net.ipv4.tcp_early_retrans: 0}"),
    ],
);

/// Headers of a packet without options, bytes: IP and TCP.
const HEADERS: u32 = 40;

/// Keys of flows and of all other traffic.
pub const WORKLOADS: &[Entry] = &[
    Entry::plain(
        "connection",
        "keys of TCP connections",
        "Settings that TCP connections of a kind share.",
        &[
            Parameter::new(
                "cc",
                Kind::Keys,
                "cc",
                "Congestion control by name, or with its parameters; `dumbbell list cc` names both.",
            )
            .example("cubic"),
            Parameter::key("stack", Kind::Keys, "A TCP stack by name, with some of its options overridden.")
                .example("{base: linux-6.12, initial_cwnd: 4}"),
            Parameter::key("host", Kind::Keys, "Settings of the two hosts of a flow that are not TCP's.")
                .example("{offload: tso}"),
            Parameter::key(
                "ecn",
                Kind::Keys,
                "Negotiate ECN: with the feedback of RFC 3168 (`on`), or with that of RFC 9768, which counts marks (`accecn`). By \
                 default `on` if the cc answers to marks or SCE is echoed, and `accecn` if the cc needs the number of marks \
                 (prague).",
            )
            .example("on"),
            Parameter::key(
                "accecn_option",
                Kind::Choice(&["ee1b", "ee0b", "off"]),
                "AccECN's option, by the field that comes first: the bytes that came with ECT(1) (`ee1b`, as Linux sends it) or \
                 with ECT(0) (`ee0b`). It takes 12 bytes of each segment. `off`: the field of three bits alone. By default `ee1b` \
                 with `ecn: accecn`.",
            )
            .example("ee0b"),
            Parameter::key(
                "ect",
                Kind::Choice(&["0", "1"]),
                "Codepoint of ECN-capable packets: ECT(0), or ECT(1), which asks for a queue of L4S (RFC 9331). By default 0, and \
                 1 if the cc needs the number of marks (prague). A codepoint that is given switches ECN on.",
            )
            .example("1"),
            Parameter::key(
                "sce_echo",
                Kind::Flag,
                "The receiver echoes SCE marks (its sysctl tcp_sce); by default on if the cc answers to them, and ECN is not \
                 switched off.",
            )
            .example("true"),
            Parameter::flag(
                "sack",
                true,
                "Negotiate SACK. Without it the sender knows losses from duplicate ACKs alone (NewReno), as behind middleboxes \
                 that remove the option. `false` is an error on stacks without RACK (linux-3.9, linux-2.6, freebsd-9).",
            )
            .sparse()
            .example("false"),
            Parameter::flag(
                "timestamps",
                true,
                "Negotiate timestamps. Without them a segment has 12 bytes more of payload, and no echo tells the sender that a \
                 timeout was needless. `false` is an error on stacks without RACK (linux-3.9, linux-2.6, freebsd-9).",
            )
            .sparse()
            .example("false"),
            Parameter::flag(
                "window_scaling",
                true,
                "Negotiate scaled windows. Without them, as behind middleboxes that remove the option, no window is larger than \
                 65,535 bytes. `false` is an error on freebsd-9.",
            )
            .sparse()
            .example("false"),
            Parameter::key("rtt", Kind::Duration, "Base RTT of these connections instead of the path's.")
                .at_most(MOST_DELAY_NS)
                .example("40ms"),
            Parameter::key(
                "mss",
                Kind::Integer("bytes"),
                "The largest segment that both ends ask for, bytes (TCP_MAXSEG, the MSS option of a SYN): payload and the 12 \
                 bytes of the timestamps. By default, and at most, the path's `mtu` less 40.",
            )
            .within((LEAST_SEGMENT + TIMESTAMPS) as i64, (MOST_MTU - HEADERS) as i64)
            .example("536"),
            Parameter::key(
                "dscp",
                Kind::Codepoint,
                "Codepoint of the packets of both ends (IP_TOS): a name such as EF, CS1 or AF41, or 0 to 63.",
            )
            .or_number(0)
            .example("EF"),
            Parameter::key(
                "src",
                Kind::Name,
                "Sending host, which cake's host isolation looks at; traffic that names none shares one.",
            )
            .example("alice"),
            Parameter::key(
                "dst",
                Kind::Name,
                "Receiving host, which cake's host isolation looks at; traffic that names none shares one.",
            )
            .example("bob"),
        ],
    ),
    Entry::plain(
        "flow",
        "a group of bulk flows",
        "A group of flows that are alike.",
        &[
            Parameter::key(
                "name",
                Kind::Name,
                "Name in the results; by default the cc. Flows that share a name are numbered.",
            )
            .example("download"),
            Parameter::key("count", Kind::Integer(""), "Number of flows in the group.")
                .or_number(1)
                .within(1, 100_000)
                .example("4"),
            Parameter::key("start", Kind::Start, "Start of the flows of a group.")
                .written_as("0s")
                .example("{first: 5s, jitter: 100ms}"),
            Parameter::key(
                "duration",
                Kind::Duration,
                "Time from the start until the sender is cut off; by default to the end of the run.",
            )
            .example("30s"),
            Parameter::key("bytes", Kind::Size, "Payload of a sized transfer; by default unlimited.").example("10MB"),
            Parameter::key(
                "first_write",
                Kind::Size,
                "Payload of a first, short write, which leaves in a segment of its own: iperf 2 sends 24 bytes ahead of its data.",
            )
            .example("24B"),
            Parameter::word(
                "direction",
                "forward",
                &["forward", "reverse"],
                "Direction of the data; ACKs go the other way.",
            )
            .example("reverse"),
            PATH,
            Parameter::word(
                "opens",
                "sender",
                &["sender", "receiver"],
                "The end that calls connect(). `receiver` is a download: the data begin to flow when the server has heard that \
                 the connection is open.",
            )
            .example("receiver"),
            Parameter::key(
                "application",
                Kind::Choice(&["iperf3", "ftp"]),
                "A real program that makes the flow (engines `kernel` and `testbed`): iperf3, or FTP by vsftpd and curl. The end \
                 that `opens` is its client.",
            )
            .example("iperf3"),
            Parameter::key(
                "program",
                Kind::Name,
                "A program that makes the flow: one of `programs`, or a ready-made one (`dumbbell list program`).",
            )
            .example("iperf3"),
            Parameter::key(
                "arguments",
                Kind::Keys,
                "Values of the program's own words in braces, such as `{size: 1000000}`.",
            )
            .example("{size: 20000}"),
        ],
    ),
    Entry::plain(
        "traffic",
        "keys of all other traffic",
        "Keys of all traffic but flows.",
        &[
            Parameter::key(
                "name",
                Kind::Name,
                "Name in the results; by default the kind. Entries that share a name are numbered.",
            )
            .example("office"),
            Parameter::word(
                "direction",
                "forward",
                DIRECTIONS,
                "Direction of the traffic: `forward` is from left to right.",
            )
            .example("reverse"),
            PATH,
            Parameter::key(
                "duration",
                Kind::Duration,
                "Time from the start until it ends; by default the end of the run.",
            )
            .example("30s"),
        ],
    ),
    Entry::plain(
        "datagrams",
        "keys of all datagrams",
        "Keys that all streams of datagrams share.",
        &[
            Parameter::key("start", Kind::Duration, "Time from which they are sent.").written_as("0s").example("5s"),
            Parameter::key("dscp", Kind::Codepoint, "Codepoint of the datagrams and of their replies.")
                .or_number(0)
                .example("EF"),
            Parameter::key(
                "ect",
                Kind::Choice(&["0", "1"]),
                "ECN codepoint of the datagrams and of their replies: 0 for ECT(0), 1 for ECT(1). By default they are not \
                 ECN-capable. Nothing responds to their marks.",
            )
            .example("1"),
        ],
    ),
    Entry::plain(
        "arrivals",
        "times at which connections come",
        "Times at which connections are made.",
        &[
            Parameter::key(
                "kind",
                Kind::Choice(&["regular", "poisson", "given", "trace"]),
                "`regular`: one every `every`. `poisson`: a Poisson process. `given`: the times in `at`. `trace`: times and sizes \
                 in `file`.",
            )
            .or(Preset::Required)
            .example("poisson"),
            Parameter::key(
                "every",
                Kind::Duration,
                "Time from one arrival to the next; the mean for a Poisson process.",
            )
            .example("100ms"),
            Parameter::key(
                "load",
                Kind::Keys,
                "Instead of `every`: the rate of arriving payload, as a share of the rate of the first shaped queue in its \
                 direction.",
            )
            .example("0.5"),
            Parameter::key("at", Kind::Keys, "Times of given arrivals, from `start` on.").example("[0s, 1s, 1.5s]"),
            Parameter::key(
                "file",
                Kind::Text(""),
                "CSV file of a trace. Each line has a time (from `start` on), a size and, if there is a third column, an RTT. The \
                 first line has their units.",
            )
            .example("trace.csv"),
        ],
    ),
];

/// The path that traffic takes.
const PATH: Parameter =
    Parameter::key("path", Kind::Name, "One of `paths`; by default the scenario's `path`, or the only one.")
        .example("home");
