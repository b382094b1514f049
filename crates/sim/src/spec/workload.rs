//! Workloads, which make the traffic.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Direction, DistributionSpec};
use crate::packet::Ecn;
use crate::segment::Options;

/// Connections or streams that are alike. There is one a group, and none is moved in a run: its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum WorkloadSpec {
    /// TCP connections.
    Tcp(TcpSpec),
    /// Requests and responses over TCP connections.
    Exchange(ExchangeSpec),
    /// Sources with a rate of their own over TCP connections.
    #[serde(rename = "onoff")]
    OnOff(OnOffSpec),
    /// Pages of many objects over TCP connections.
    Page(PageSpec),
    /// Streaming by chunks over TCP connections.
    Streaming(StreamingSpec),
    /// TCP connections that come and go.
    Transfers(TransfersSpec),
    /// ICMP echo requests, which are answered.
    Ping(DatagramsSpec),
    /// Datagrams over UDP.
    Udp(DatagramsSpec),
    /// One way of a voice call: RTP over UDP.
    Voip(DatagramsSpec),
}

/// Path, direction and ends of a workload's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading {
    /// Index of the path.
    pub path: usize,
    /// Index of the host that the data come from.
    pub from: usize,
    /// Index of the host that they go to.
    pub to: usize,
    /// Their direction along the path.
    pub direction: Direction,
    /// Differentiated services codepoint of their packets, and of the answers.
    pub dscp: u8,
}

impl From<&TcpSpec> for Heading {
    fn from(tcp: &TcpSpec) -> Self {
        Self { path: tcp.path, from: tcp.from, to: tcp.to, direction: tcp.direction, dscp: tcp.dscp }
    }
}

impl From<&DatagramsSpec> for Heading {
    fn from(each: &DatagramsSpec) -> Self {
        Self { path: each.path, from: each.from, to: each.to, direction: each.direction, dscp: each.dscp }
    }
}

impl WorkloadSpec {
    /// Its name in the results.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Ping(each) | Self::Udp(each) | Self::Voip(each) => &each.id,
            _ => self.tcp().map_or("", |tcp| &tcp.id),
        }
    }

    /// Return the settings that its connections share, or `None` if it is not TCP.
    #[must_use]
    pub fn tcp(&self) -> Option<&TcpSpec> {
        match self {
            Self::Tcp(tcp) => Some(tcp),
            Self::Exchange(exchange) => Some(&exchange.tcp),
            Self::OnOff(source) => Some(&source.tcp),
            Self::Page(page) => Some(&page.tcp),
            Self::Streaming(streaming) => Some(&streaming.tcp),
            Self::Transfers(transfers) => Some(&transfers.tcp),
            Self::Ping(_) | Self::Udp(_) | Self::Voip(_) => None,
        }
    }

    /// Return the datagram settings, or `None` for TCP.
    #[must_use]
    pub fn datagrams(&self) -> Option<&DatagramsSpec> {
        match self {
            Self::Ping(each) | Self::Udp(each) | Self::Voip(each) => Some(each),
            _ => None,
        }
    }

    /// True if the end that receives the data sends packets back.
    #[must_use]
    pub fn goes_both_ways(&self) -> bool {
        self.datagrams().is_none_or(|datagrams| datagrams.reply)
    }

    /// Return where its data go.
    #[must_use]
    pub fn heading(&self) -> Heading {
        match self {
            Self::Ping(each) | Self::Udp(each) | Self::Voip(each) => each.into(),
            Self::Tcp(tcp)
            | Self::Exchange(ExchangeSpec { tcp, .. })
            | Self::OnOff(OnOffSpec { tcp, .. })
            | Self::Page(PageSpec { tcp, .. })
            | Self::Streaming(StreamingSpec { tcp, .. })
            | Self::Transfers(TransfersSpec { tcp, .. }) => tcp.into(),
        }
    }

    /// Indices of the paths that its connections take, apart from that of its heading.
    #[must_use]
    pub fn more_paths(&self) -> &[usize] {
        match self {
            Self::Transfers(transfers) => &transfers.paths,
            _ => &[],
        }
    }

    /// The connections or streams that it has from the start of the run; `None` if it makes connections while the run goes on.
    #[must_use]
    pub fn listed(&self) -> Option<&[ConnectionSpec]> {
        match self {
            Self::Transfers(_) => None,
            Self::Ping(each) | Self::Udp(each) | Self::Voip(each) => Some(&each.streams),
            _ => self.tcp().map(|tcp| &*tcp.connections),
        }
    }
}

/// TCP connections that are alike. Wide because it says all there is to say of a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpSpec {
    /// Unique.
    pub id: String,
    /// Index of the path.
    pub path: usize,
    /// Index of the host that the data come from.
    pub from: usize,
    /// Index of the host that the data go to.
    pub to: usize,
    /// The direction of the data along the path.
    pub direction: Direction,
    /// The end that calls connect().
    pub opener: Opener,
    /// Congestion control.
    pub cc: CcSpec,
    /// The TCP stack of both ends.
    pub stack: StackSpec,
    /// Facts about the two hosts that are not TCP's.
    pub host: HostSettings,
    /// Negotiate ECN.
    pub ecn: bool,
    /// The receiver echoes SCE marks (its sysctl tcp_sce).
    pub sce_echo: bool,
    /// The codepoint of ECN-capable packets: ECT(0), or ECT(1) as L4S senders have it (RFC 9331).
    #[serde(default)]
    pub ect: u8,
    /// Negotiate AccECN (RFC 9768), with which option; `None`: the feedback of RFC 3168. It needs `ecn`.
    #[serde(default)]
    pub accecn: Option<AccEcnOption>,
    /// Negotiate SACK (RFC 2018).
    #[serde(default = "yes")]
    pub sack: bool,
    /// Negotiate timestamps (RFC 7323).
    #[serde(default = "yes")]
    pub timestamps: bool,
    /// Negotiate scaled windows (RFC 7323). Without them no window is larger than 65,535 bytes.
    #[serde(default = "yes")]
    pub window_scaling: bool,
    /// Payload of a full segment, bytes: the path's MTU or the MSS of the connection, minus headers and timestamps.
    #[serde(default = "full_segment")]
    pub segment_bytes: u32,
    /// Differentiated services codepoint that both ends set, 0 to 63.
    #[serde(default)]
    pub dscp: u8,
    /// Receiving hosts merge the packets that their network cards hand over at once; see [`super::PortSpec::Link`].
    #[serde(default)]
    pub gro: bool,
    /// Payload to send, bytes; `None` is unlimited.
    pub transfer_bytes: Option<u64>,
    /// Payload of a first, short write that leaves in a segment of its own, bytes.
    pub first_write_bytes: Option<u32>,
    /// The connections.
    pub connections: Vec<ConnectionSpec>,
}

impl TcpSpec {
    /// The options that both ends agree on.
    #[must_use]
    pub fn options(&self) -> Options {
        Options {
            sack: self.sack,
            timestamps: self.timestamps,
            window_scaling: self.window_scaling,
            ecn_bytes: self.has_ecn_bytes(),
        }
    }

    /// The connections with the receive buffer of the end that sends the data.
    #[must_use]
    pub fn at_sender(&self) -> Cow<'_, Self> {
        let Some(rmem) = self.host.sender_rmem else { return Cow::Borrowed(self) };
        let mut own = self.clone();
        own.host.rmem = rmem;
        Cow::Owned(own)
    }

    fn has_ecn_bytes(&self) -> bool {
        self.accecn.is_some_and(|option| option != AccEcnOption::Off)
    }

    /// Payload of a full segment, bytes: the AccECN option takes some of it.
    #[must_use]
    pub fn payload_bytes(&self) -> u32 {
        self.segment_bytes.saturating_sub(self.options().sender_option_bytes())
    }

    /// The ECN field of packets that queues may mark.
    #[must_use]
    pub fn codepoint(&self) -> Ecn {
        match (self.ecn, self.ect) {
            (false, _) => Ecn::NotEct,
            (true, 0) => Ecn::Ect0,
            (true, _) => Ecn::Ect1,
        }
    }
}

/// The option by which AccECN tells of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccEcnOption {
    /// None: only the ACE field.
    Off,
    /// Kind 174, as Linux sends it. The order of the fields is ECT(1), CE, ECT(0).
    Ee1b,
    /// Kind 172. The order of the fields is ECT(0), CE, ECT(1).
    Ee0b,
}

fn yes() -> bool {
    true
}

/// The full segment that Ethernet's MTU leaves room for.
fn full_segment() -> u32 {
    1448
}

/// Requests and responses over each of some TCP connections: the client writes a request; the server, having read all of it, writes the
/// response; then the client thinks for a while and asks again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExchangeSpec {
    /// The connections between the client (`from`) and the server (`to`). They have no transfer and no first write of their own.
    pub tcp: TcpSpec,
    /// Size of a request, bytes.
    pub request_bytes: DistributionSpec,
    /// Size of a response, bytes.
    pub response_bytes: DistributionSpec,
    /// Number of requests.
    pub count: u64,
    /// Time from the end of a response to the next request, ns.
    pub think_ns: DistributionSpec,
}

/// Data that an application produces at a rate of its own, over each of some TCP connections from `from` to `to`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnOffSpec {
    /// The connections. They have no transfer and no first write of their own.
    pub tcp: TcpSpec,
    /// Size of a write, bytes.
    pub write_bytes: u64,
    /// Time from one write to the next, ns; 0: all of a period is one write.
    pub interval_ns: u64,
    /// Length of the periods in which it produces data; `None`: it always does.
    pub on: Option<PeriodSpec>,
    /// Pause from the end of one period to the next, ns.
    pub off_ns: DistributionSpec,
}

/// Length of a period in which an application produces data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PeriodSpec {
    /// For a time.
    Time {
        /// Duration, ns.
        ns: DistributionSpec,
    },
    /// It lasts until this much is produced.
    Bytes {
        /// Amount, bytes.
        bytes: DistributionSpec,
    },
}

/// Pages of objects that browsers ask a server for, each over some TCP connections that stay open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageSpec {
    /// The connections between the browsers (`from`) and the server (`to`). They have no transfer and no first write of their own.
    pub tcp: TcpSpec,
    /// Connections of each browser: the first `connections_each` connections belong to the first browser, and so on.
    pub connections_each: u32,
    /// Size of a request, bytes.
    pub request_bytes: DistributionSpec,
    /// Size of the object that must have come before the others are asked for, bytes.
    pub first_bytes: Option<DistributionSpec>,
    /// Number of other objects.
    pub objects: u64,
    /// Size of each of these, bytes.
    pub size_bytes: DistributionSpec,
    /// Number of pages; `None`: as many as there is time for.
    pub count: Option<u64>,
    /// Time from the end of a page to the request for the next, ns.
    pub think_ns: DistributionSpec,
}

/// Players that ask a server for chunk after chunk, each over a TCP connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamingSpec {
    /// The connections between the players (`from`) and the server (`to`). They have no transfer and no first write of their own.
    pub tcp: TcpSpec,
    /// Size of a request, bytes.
    pub request_bytes: u64,
    /// Playing time of a chunk, ns.
    pub chunk_ns: u64,
    /// Its size, bytes.
    pub chunk_bytes: u64,
    /// Most that a player has in its buffer, ns of playing time.
    pub buffer_ns: u64,
    /// Playing time that must be in the buffer before it plays, at first and after a stall, ns.
    pub start_at_ns: u64,
    /// Number of chunks; `None`: there is no end.
    pub count: Option<u64>,
}

/// Sized transfers, each over a TCP connection of its own that is made when its time comes and gone when it is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransfersSpec {
    /// Settings that the connections share. No connection is listed. Their names are `ID-1`, `ID-2` and so on, and each has its own size.
    pub tcp: TcpSpec,
    /// Payload of each, bytes; a draw of 0 becomes 1.
    pub size_bytes: DistributionSpec,
    /// Times at which connections are made.
    pub arrivals: ArrivalsSpec,
    /// The RTT that each has of its own, which ports that say so add to their delay, ns; `None`: none.
    #[serde(default)]
    pub rtt_ns: Option<DistributionSpec>,
    /// Indices of the paths that they take, each as likely as any other: one for each class of RTTs. None is that of `tcp`.
    #[serde(default)]
    pub paths: Vec<usize>,
    /// Time from which connections are made, ns.
    pub start_ns: u64,
    /// No connection is made from this time on, ns; `None` is the end of the run. Connections that exist by then go on.
    pub stop_ns: Option<u64>,
    /// Most connections that are made; `None` is as many as come.
    pub count: Option<u64>,
    /// Source and destination port of the first. Source ports count up through `source_ports`, the destination port counts the turns, from a
    /// port that is 4 higher for each class.
    pub ports: [u16; 2],
    /// The minimum and the maximum source port.
    #[serde(default = "source_ports")]
    pub source_ports: [u16; 2],
    /// Each connection gets a row in the table of flows; else there is only that of the group.
    pub rows: bool,
}

impl TransfersSpec {
    /// Indices of the paths that they take.
    #[must_use]
    pub fn all_paths(&self) -> &[usize] {
        if self.paths.is_empty() {
            std::slice::from_ref(&self.tcp.path)
        } else {
            &self.paths
        }
    }
}

/// The usual source ports of connections that come and go.
fn source_ports() -> [u16; 2] {
    [10_000, 59_999]
}

/// Times at which connections are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ArrivalsSpec {
    /// One at once, then one every interval.
    Regular {
        /// Time from one to the next, ns.
        interval_ns: u64,
    },
    /// A Poisson process.
    Poisson {
        /// Mean time from one to the next, ns.
        mean_interval_ns: u64,
    },
    /// At times that are given.
    Listed {
        /// In order, since the workload's start, ns.
        at_ns: Vec<u64>,
        /// Payload of each, bytes; `None`: by the workload's distribution.
        sizes_bytes: Option<Vec<u64>>,
        /// For each connection: its path among the workload's paths. `None`: any.
        classes: Option<Vec<usize>>,
    },
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Opener {
    /// The host that the data come from; the client.
    From,
    /// The host that the data go to; the server.
    To,
}

/// A connection, or a stream of datagrams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionSpec {
    /// Unique; entity `flow/NAME`, `ping/NAME`, `udp/NAME` or `voip/NAME` of the results.
    pub name: String,
    /// Time at which a connection is opened, or the first datagram is sent, ns.
    pub start_ns: u64,
    /// Time from which nothing is sent, ns; `None` is the end of the run.
    pub stop_ns: Option<u64>,
    /// Source and destination port of the data.
    pub ports: [u16; 2],
}

/// Streams of datagrams that are alike. The streams do not react to the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatagramsSpec {
    /// Unique.
    pub id: String,
    /// Index of the path.
    pub path: usize,
    /// Index of the host that they come from.
    pub from: usize,
    /// Index of the host that they go to.
    pub to: usize,
    /// Their direction along the path.
    pub direction: Direction,
    /// Differentiated services codepoint, 0 to 63.
    #[serde(default)]
    pub dscp: u8,
    /// Their ECN field: 0 for ECT(0), 1 for ECT(1); `None`: they are not ECN-capable.
    #[serde(default)]
    pub ect: Option<u8>,
    /// Time from one datagram to the next, ns. The first is sent at the start if all intervals are the same, else an interval later.
    pub interval_ns: DistributionSpec,
    /// Frame length on the meter, bytes. A draw outside the sizes that Ethernet has becomes the nearest one.
    pub size_bytes: DistributionSpec,
    /// Sends for a time and is silent for a time, in turns; `None` sends all the time.
    pub bursts: Option<BurstsSpec>,
    /// Most datagrams of a stream; `None` is as many as there is time for.
    pub count: Option<u64>,
    /// The other end sends each back as soon as it arrives.
    pub reply: bool,
    /// True if the times of sending and arrival of each datagram are kept, for delays, jitter and losses.
    pub measured: bool,
    /// For a voice call: the playout buffer, ns. A datagram is played if its delay exceeds that of the first datagram to arrive by at most
    /// this time. Only the metrics depend on it.
    pub playout_ns: Option<u64>,
    /// The streams.
    pub streams: Vec<ConnectionSpec>,
}

/// Times of sending and of silence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BurstsSpec {
    /// Time for which it sends, ns.
    pub on_ns: DistributionSpec,
    /// Time for which it is then silent, ns.
    pub off_ns: DistributionSpec,
}

/// A congestion control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CcSpec {
    /// Name in `list cc`.
    pub kind: String,
    /// Its parameters.
    #[serde(flatten)]
    pub parameters: Map<String, Value>,
}

/// A named stack with fields of it overridden.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackSpec {
    /// Name in `list stack`.
    pub name: String,
    /// Field name to value; see [`crate::tcp::linux::stack::Stack`].
    #[serde(default)]
    pub options: Map<String, Value>,
}

/// Facts about the hosts of a workload that are not TCP's: offload, socket buffers, metrics cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSettings {
    /// TCP builds TSO segments (sizing and deferral).
    pub tso: bool,
    /// Receive buffer: least (without effect here), initial, most (sysctl tcp_rmem), bytes; Linux only.
    pub rmem: [u64; 3],
    /// Receive buffer of the end that sends the data, in the order of `rmem`; `None`: that of `rmem`. It gives the window of the packets that this
    /// end sends; Linux only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_rmem: Option<[u64; 3]>,
    /// An explicit SO_RCVBUF, bytes (as the kernel takes it: Linux doubles it): no auto-tuning.
    pub rcvbuf: Option<u64>,
    /// Send buffer: least, initial (both without effect here), most (sysctl tcp_wmem), bytes; Linux only.
    pub wmem: [u64; 3],
    /// An explicit SO_SNDBUF, bytes (as the kernel takes it: Linux doubles it): no auto-tuning.
    pub sndbuf: Option<u64>,
    /// ssthresh remembered for the destination by the metrics cache, segments.
    pub cached_ssthresh: Option<u32>,
    /// The receiving application reads at this rate, bit/s; `None` is all that there is at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_bps: Option<u64>,
    /// `TCP_NODELAY`: a short segment is sent while another one is outstanding.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nodelay: bool,
    /// `SO_MAX_PACING_RATE`: the sender is paced, and no faster than this, bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_pacing_bps: Option<u64>,
}
