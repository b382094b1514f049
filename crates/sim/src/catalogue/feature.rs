//! Abilities that an engine may lack.

use serde::Serialize;

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident = $words:literal,)*) => {
        /// An ability that an engine may lack.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Feature {
            $(
                #[doc = $words]
                $name,
            )*
        }

        impl Feature {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its name in messages.
            #[must_use]
            pub const fn words(self) -> &'static str {
                match self {
                    $(Self::$name => $words,)*
                }
            }
        }
    };
}

features! {
    AccEcn = "AccECN",
    AdaptiveRed = "adaptive RED",
    ApplicationSeries = "series of applications",
    BitErrors = "bit errors",
    BpfControls = "congestion controls as BPF programs",
    Captures = "captures",
    ChosenPackets = "losses and delays of chosen packets",
    Ect1 = "ECT(1) of flows",
    Events = "records of events",
    Exchanges = "exchanges",
    Faults = "faults of links",
    FirstWrites = "first writes",
    FlowsByFtp = "flows by FTP",
    FlowsByIperf3 = "flows by iperf3",
    FlowsByPrograms = "flows by programs",
    FqCeThreshold = "ce_threshold of fq",
    GentleRed = "gentle RED",
    GroupSeries = "series of groups",
    HostQueues = "queues of hosts",
    ModuleControls = "congestion controls as kernel modules",
    NetemTick = "tick of netem",
    OffloadGro = "offload gro",
    OffloadOn = "offload on",
    OffloadTso = "offload tso",
    OnOffSources = "on-off sources",
    Opportunities = "opportunities of a trace",
    OtherKernels = "qdiscs of other kernels",
    Outages = "outages",
    OwnControls = "congestion controls of one's own",
    OwnRtts = "RTTs of single connections",
    Pages = "pages",
    Pings = "pings",
    PortShares = "shares of ports",
    RateSteps = "rate steps",
    RegularLosses = "regular losses",
    ReverseFlows = "reverse flows",
    Sce = "SCE",
    ServerOpens = "connections opened by the server",
    SlowReaders = "slow readers",
    SlowReadersOfOthers = "slow readers of other traffic than flows",
    StateSeries = "series of state variables",
    Streaming = "streaming",
    Sysctls = "sysctls",
    Transfers = "transfers",
    Udp = "UDP",
    VoiceCalls = "voice calls",
    WholeChunks = "queues of whole chunks",
}
