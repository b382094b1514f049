//! Keys of traffic that several kinds share, and the settings of hosts.

use super::bulk::MAX_READING;
use super::site::{MAX_BUFFER, MIN_BUFFER, MOST_PACING};
use crate::catalogue::{Entry, Kind, Parameter, Preset};
use crate::cc::INFINITE_SSTHRESH;

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
