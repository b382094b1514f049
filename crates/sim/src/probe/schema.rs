//! The tables of a run: name, unit, kind and meaning of every series and of every column. This is the one place that defines them. The
//! simulator puts its samples and counters in place by it. The Python package reads it as JSON for the other engines, the store, the
//! documents and exports.

use serde::Serialize;

/// The behaviour of a number over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// No number: a name.
    Label,
    /// An instant, since the start of the run.
    Time,
    /// A value at an instant; of a column at the end.
    Gauge,
    /// A total since the start, which never falls.
    Total,
}

/// Source of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Every engine.
    EveryEngine,
    /// Every engine, of TCP connections only.
    EveryEngineOfTcp,
    /// The simulator.
    Sim,
    /// The kernel.
    Kernel,
    /// Captures at both hosts, on every engine.
    Captures,
    /// Connections whose applications wait for something, on every engine.
    Requests,
    /// Streams of datagrams that measure, on every engine.
    Datagrams,
    /// Programs that made a flow in place of the engine, by their own accounts.
    Programs,
    /// Machines in real time, by the accounts of their kernels.
    Machines,
}

impl Source {
    const fn includes_sim(self) -> bool {
        matches!(self, Self::EveryEngine | Self::EveryEngineOfTcp | Self::Sim)
    }
}

/// A series or a column.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantity {
    /// Name in the results. The name has the unit if that is not clear otherwise.
    pub name: &'static str,
    /// Empty of names and of plain numbers.
    pub unit: &'static str,
    /// Behaviour over time.
    pub kind: Kind,
    /// Source of the number.
    pub source: Source,
    /// There may be none even so.
    pub optional: bool,
    /// In words.
    pub meaning: &'static str,
}

const fn label(name: &'static str, meaning: &'static str) -> Quantity {
    Quantity { name, unit: "", kind: Kind::Label, source: Source::EveryEngine, optional: false, meaning }
}

const fn time(name: &'static str, meaning: &'static str) -> Quantity {
    Quantity { name, unit: "ns", kind: Kind::Time, source: Source::EveryEngine, optional: false, meaning }
}

const fn gauge(name: &'static str, unit: &'static str, meaning: &'static str) -> Quantity {
    Quantity { name, unit, kind: Kind::Gauge, source: Source::EveryEngine, optional: false, meaning }
}

const fn total(name: &'static str, unit: &'static str, meaning: &'static str) -> Quantity {
    Quantity { name, unit, kind: Kind::Total, source: Source::EveryEngine, optional: false, meaning }
}

/// Time during which something limited a TCP connection. Not every stack counts it.
const fn limited(name: &'static str, meaning: &'static str) -> Quantity {
    total(name, "ms", meaning).by(Source::EveryEngineOfTcp).or_none()
}

impl Quantity {
    const fn by(self, source: Source) -> Self {
        Self { source, ..self }
    }

    const fn or_none(self) -> Self {
        Self { optional: true, ..self }
    }
}

/// The wait of an application, as the tables describe it.
const LATENCY: &str =
    "from a request to the last byte of the response, from a page's beginning to its last byte, or from when a source \
                       produced data to when the last byte was read; at the time of that";

/// Series of a TCP flow.
pub const FLOW_SERIES: &[Quantity] = &[
    gauge("cwnd", "packets", "congestion window, in segments of full size"),
    gauge("ssthresh", "packets", "slow-start threshold; no sample before it is set").or_none(),
    gauge("srtt_ms", "ms", "the stack's own smoothed RTT; no sample before the first measurement").or_none(),
    gauge("rtt_ms", "ms", "the last raw measurement of the RTT").by(Source::Sim).or_none(),
    gauge("min_rtt_ms", "ms", "the minimum RTT in the stack's memory (Linux: of the last 300 s)").or_none(),
    gauge("inflight", "packets", "segments sent and not known to be delivered or lost, retransmitted ones included"),
    total("delivered", "packets", "segments that the sender knows to be delivered, by ACK or SACK"),
    total("delivered_ce", "packets", "of these, those whose ACK echoed a CE mark"),
    total("retransmits", "packets", "retransmitted segments"),
    total("rx_bytes", "bytes", "payload that the receiving application has read"),
    gauge("ca_state", "state", "0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss"),
    gauge("latency_ms", "ms", LATENCY).by(Source::Requests).or_none(),
    gauge("buffer_s", "s", "of streaming: playing time in the buffer").by(Source::Requests).or_none(),
    gauge("passive_rtt_ms", "ms", "RTT by synthetic packet pairs, at the times of the pairs")
        .by(Source::Captures)
        .or_none(),
];

/// Series of a stream of datagrams that measures, at the times of the datagrams themselves.
pub const DATAGRAM_SERIES: &[Quantity] = &[
    gauge("owd_ms", "ms", "one-way delay, when a datagram reached the other end").by(Source::Datagrams).or_none(),
    gauge("jitter_ms", "ms", "interarrival jitter of RFC 3550 at the other end").by(Source::Datagrams).or_none(),
    gauge("owd_back_ms", "ms", "one-way delay of a reply, when it was back").by(Source::Datagrams).or_none(),
    gauge("jitter_back_ms", "ms", "interarrival jitter of the replies").by(Source::Datagrams).or_none(),
    gauge("rtt_ms", "ms", "from the sending of a datagram until its reply was back, at that time")
        .by(Source::Datagrams)
        .or_none(),
    total("lost", "packets", "of the datagrams sent so far, those that were lost on their way or whose reply was")
        .by(Source::Datagrams),
];

/// Series of a group: the TCP connections of an entry of the scenario, together. It is sampled throughout the run; a flow is open from its
/// start until it is complete or stopped.
pub const GROUP_SERIES: &[Quantity] = &[
    gauge("flows", "", "open flows").by(Source::Sim),
    gauge("cwnd", "packets", "congestion windows of the open flows, added up").by(Source::Sim),
    gauge("srtt_ms", "ms", "mean of the smoothed RTTs of the open flows that have one").by(Source::Sim).or_none(),
    gauge("min_rtt_ms", "ms", "the minimum of `min_rtt_ms` over the open flows").by(Source::Sim).or_none(),
    gauge("inflight", "packets", "of the open flows, added up").by(Source::Sim),
    total("delivered", "packets", "of all flows, those that ended included").by(Source::Sim),
    total("delivered_ce", "packets", "of all flows, those that ended included").by(Source::Sim),
    total("retransmits", "packets", "of all flows, those that ended included").by(Source::Sim),
    total("rx_bytes", "bytes", "of all flows, those that ended included").by(Source::Sim),
    gauge(
        "latency_ms",
        "ms",
        "of pages, which use several connections: from a page's beginning to its last byte, at the time of that",
    )
    .by(Source::Requests)
    .or_none(),
];

/// Series of a flow or group at a port.
pub const SHARE_SERIES: &[Quantity] =
    &[total("sent_bytes", "bytes", "of what the port handed on those of the flow or group, ACKs and headers included")
        .by(Source::Sim)];

/// Series of a port.
pub const PORT_SERIES: &[Quantity] = &[
    gauge("backlog_bytes", "bytes", "queued"),
    gauge("backlog_packets", "packets", "queued"),
    gauge("sojourn_ms", "ms", "how long the packet that left last was queued").by(Source::Sim),
    total("drops", "packets", "dropped by the queue, for whatever cause"),
    total("ce_marks", "packets", "marked CE by the queue discipline"),
    total("sce_marks", "packets", "marked SCE by the queue discipline").by(Source::Sim),
    total("sent_packets", "packets", "handed on"),
    total("sent_bytes", "bytes", "handed on, headers included"),
];

/// Series of a machine of a testbed, as shares of the time of all its processors since the sample before.
pub const HOST_SERIES: &[Quantity] = &[
    gauge("cpu", "", "share in which its processors were busy, with whatever; interrupts included")
        .by(Source::Machines),
    gauge("steal", "", "share that other virtual machines had of its processors").by(Source::Machines),
];

/// Columns of the table of flows: TCP connections and streams of datagrams, whose replies count as ACKs. A connection with requests and
/// responses has numbers of both directions. Of its packets, those of the client count as data and those of the server as ACKs.
pub const FLOW_COLUMNS: &[Quantity] = &[
    label("flow", "name, unique in the run"),
    label("group", "name of the entry in the scenario that it is of"),
    label("kind", "of traffic; `tcp` for bulk flows"),
    label("transport", "tcp, udp or icmp"),
    label("path", "name of its path: the ports from left to right, and back"),
    label("cc", "congestion control").by(Source::EveryEngineOfTcp),
    time("start_ns", "connect(), or the first datagram"),
    time("end_ns", "it was complete, was stopped, or the run ended"),
    time("completed_ns", "the last byte of a sized transfer was read; none if that did not happen")
        .by(Source::EveryEngineOfTcp)
        .or_none(),
    total("rx_bytes", "bytes", "payload that the receiving application has read").by(Source::EveryEngineOfTcp),
    total("sent_packets", "packets", "packets that left the sending host: data, also retransmitted, ACKs, SYN and FIN"),
    total("arrived_packets", "packets", "of these, those that reached the receiving host"),
    total("duplicate_packets", "packets", "of these, those that brought nothing new").by(Source::Sim),
    total("dropped_packets", "packets", "of those sent, those dropped on the way").by(Source::Sim),
    gauge("in_flight_packets", "packets", "of those sent, those under way").by(Source::Sim),
    total("duplicated_packets", "packets", "copies of data packets that links made").by(Source::Sim).or_none(),
    total("retransmits", "packets", "retransmitted segments").by(Source::EveryEngineOfTcp),
    limited(
        "cwnd_limited_ms",
        "how long the congestion window, or recovery, limited sending (of an exchange: the server's)",
    ),
    limited("rwnd_limited_ms", "how long the receiver's window did"),
    limited(
        "sndbuf_limited_ms",
        "how long the send buffer did: all of it was sent, and the application waited for room",
    ),
    limited("app_limited_ms", "how long everything written was acknowledged, connecting included"),
    total("acks_sent", "packets", "packets that left the receiving host").by(Source::Sim),
    total("acks_arrived", "packets", "of these, those that reached the sending host").by(Source::EveryEngineOfTcp),
    total("acks_dropped", "packets", "of these, those dropped on the way").by(Source::Sim),
    gauge("acks_in_flight", "packets", "of these, those under way").by(Source::Sim),
    total("acks_duplicated", "packets", "copies of such that links made").by(Source::Sim).or_none(),
    total("delivered", "packets", "segments that the sender knows to be delivered").by(Source::EveryEngineOfTcp),
    total("delivered_ce", "packets", "of these, those whose ACK echoed a CE mark").by(Source::EveryEngineOfTcp),
    total("ce_arrived", "packets", "data packets that arrived with a CE mark").by(Source::Sim),
    total("sce_arrived", "packets", "data packets that arrived with an SCE mark").by(Source::Sim),
    total("cwnd_reductions", "", "reductions of the window after a loss, a CE mark or an SCE mark").by(Source::Sim),
    total("rto_timeouts", "", "retransmission timeouts").by(Source::Sim),
    total("tlp_probes", "packets", "tail loss probes").by(Source::Sim),
    total("undos", "", "reductions of the window that were taken back").by(Source::Sim),
    gauge("min_rtt_ms", "ms", "the minimum RTT in the stack's memory").by(Source::Sim).or_none(),
    gauge("srtt_ms", "ms", "the stack's own smoothed RTT").by(Source::Sim).or_none(),
    total("trace_packets", "packets", "packets of both directions in a capture at the sending host (`analyze: true`)")
        .by(Source::Captures)
        .or_none(),
    total(
        "trace_retransmits",
        "packets",
        "data packets of that capture that were retransmitted, as tcptrace counts them",
    )
    .by(Source::Captures)
    .or_none(),
    gauge("trace_rtt_ms", "ms", "mean RTT in that capture, as tcptrace measures it").by(Source::Captures).or_none(),
    gauge("trace_window_bytes", "bytes", "mean window that the sending host advertises in that capture")
        .by(Source::Captures)
        .or_none(),
    gauge("startup_ms", "ms", "of streaming: from connect() to when playing began")
        .by(Source::EveryEngineOfTcp)
        .or_none(),
    total("stalls", "", "of streaming: how often the buffer ran empty").by(Source::EveryEngineOfTcp).or_none(),
    gauge("stalled_ms", "ms", "of streaming: for how long in all").by(Source::EveryEngineOfTcp).or_none(),
    total("reported_bytes", "bytes", "of a flow that a program makes: payload, as the program itself says")
        .by(Source::Programs)
        .or_none(),
    gauge("reported_ms", "ms", "likewise: how long its transfer took").by(Source::Programs).or_none(),
    gauge("reported_bps", "bit/s", "likewise: its throughput").by(Source::Programs).or_none(),
    total("reported_retransmits", "packets", "likewise: retransmitted segments; iperf3 and netperf say that")
        .by(Source::Programs)
        .or_none(),
    gauge("reported_rtt_ms", "ms", "likewise: mean round trip").by(Source::Programs).or_none(),
    gauge("reported_jitter_ms", "ms", "likewise: jitter").by(Source::Programs).or_none(),
    total("reported_packets", "packets", "likewise: packets that were sent").by(Source::Programs).or_none(),
    total("reported_lost_packets", "packets", "likewise: packets that were lost").by(Source::Programs).or_none(),
    total("reported_transactions", "", "likewise: requests, pings or objects that were answered")
        .by(Source::Programs)
        .or_none(),
    gauge("owd_mean_ms", "ms", "one-way delay of the data, the mean").by(Source::Datagrams).or_none(),
    gauge("owd_median_ms", "ms", "its median").by(Source::Datagrams).or_none(),
    gauge("owd_p95_ms", "ms", "its 95th percentile").by(Source::Datagrams).or_none(),
    gauge("owd_p99_ms", "ms", "its 99th percentile").by(Source::Datagrams).or_none(),
    gauge("owd_max_ms", "ms", "the longest").by(Source::Datagrams).or_none(),
    gauge("owd_back_mean_ms", "ms", "one-way delay of the replies, the mean").by(Source::Datagrams).or_none(),
    gauge("owd_back_median_ms", "ms", "its median").by(Source::Datagrams).or_none(),
    gauge("owd_back_p95_ms", "ms", "its 95th percentile").by(Source::Datagrams).or_none(),
    gauge("owd_back_p99_ms", "ms", "its 99th percentile").by(Source::Datagrams).or_none(),
    gauge("owd_back_max_ms", "ms", "the longest").by(Source::Datagrams).or_none(),
    gauge("rtt_mean_ms", "ms", "time from sending to the reply, the mean").by(Source::Datagrams).or_none(),
    gauge("rtt_median_ms", "ms", "its median").by(Source::Datagrams).or_none(),
    gauge("rtt_p95_ms", "ms", "its 95th percentile").by(Source::Datagrams).or_none(),
    gauge("rtt_p99_ms", "ms", "its 99th percentile").by(Source::Datagrams).or_none(),
    gauge("rtt_max_ms", "ms", "the longest").by(Source::Datagrams).or_none(),
    gauge("jitter_ms", "ms", "mean of the series `jitter_ms`").by(Source::Datagrams).or_none(),
    gauge("jitter_back_ms", "ms", "mean of the series `jitter_back_ms`").by(Source::Datagrams).or_none(),
    total("lost_packets", "packets", "datagrams that were lost on their way, or whose reply was")
        .by(Source::Datagrams)
        .or_none(),
    gauge("lost_share", "share", "of those not under way at the end").by(Source::Datagrams).or_none(),
    total("reordered_packets", "packets", "datagrams that arrived after one sent later (RFC 4737)")
        .by(Source::Datagrams)
        .or_none(),
    total("late_packets", "packets", "of a voice call, those that arrived too late to be played")
        .by(Source::Datagrams)
        .or_none(),
    gauge("r_factor", "rating", "of a voice call, the rating R of the E-model (ITU-T G.107); 0 for less")
        .by(Source::Datagrams)
        .or_none(),
    gauge("mos", "MOS", "of a voice call, the mean opinion score that R stands for").by(Source::Datagrams).or_none(),
];

/// Columns of the table of groups: workloads whose connections come and go while the run goes on, or whose applications wait for something.
pub const GROUP_COLUMNS: &[Quantity] = &[
    label("group", "name, unique in the run"),
    label("kind", "of traffic"),
    label("direction", "of its data along the path: forward or reverse; of requests"),
    label("sizes", "of a row for some of its transfers: their sizes, the first included").or_none(),
    label("path", "name of its path: the ports from left to right, and back"),
    label("cc", "congestion control"),
    total("connections", "", "made"),
    total("completed", "", "of these, those whose last byte was read"),
    gauge("completion_mean_ms", "ms", "from connect() to the last byte read, the mean over those").or_none(),
    gauge("completion_median_ms", "ms", "their median").or_none(),
    gauge("completion_p95_ms", "ms", "their 95th percentile").or_none(),
    gauge("completion_p99_ms", "ms", "their 99th percentile").or_none(),
    gauge("completion_max_ms", "ms", "the longest").or_none(),
    gauge(
        "slowdown_mean",
        "ratio",
        "of sized transfers, that time over the time alone on the path, by a formula; the mean",
    )
    .or_none(),
    gauge("slowdown_median", "ratio", "their median").or_none(),
    gauge("slowdown_p95", "ratio", "their 95th percentile").or_none(),
    gauge("slowdown_p99", "ratio", "their 99th percentile").or_none(),
    total("transactions", "", "responses, pages, chunks or writes that were read; none where nobody waits for such")
        .or_none(),
    gauge("latency_mean_ms", "ms", "how long each took (the series `latency_ms`), the mean over those").or_none(),
    gauge("latency_median_ms", "ms", "their median").or_none(),
    gauge("latency_p95_ms", "ms", "their 95th percentile").or_none(),
    gauge("latency_max_ms", "ms", "the longest").or_none(),
    gauge("startup_mean_ms", "ms", "of streaming: from connect() to when playing began, the mean over those that did")
        .or_none(),
    total("stalls", "", "of streaming: how often buffers ran empty").or_none(),
    gauge("stalled_ms", "ms", "of streaming: for how long in all").or_none(),
    total("rx_bytes", "bytes", "payload that applications have read"),
    total(
        "sent_packets",
        "packets",
        "packets that left the sending hosts: data, also retransmitted, ACKs, SYN and FIN",
    ),
    total("retransmits", "packets", "retransmitted segments"),
    total("rto_timeouts", "", "retransmission timeouts").by(Source::Sim),
];

/// Columns of the table of ports.
pub const PORT_COLUMNS: &[Quantity] = &[
    label("port", "name, unique in the run"),
    total("arrived_packets", "packets", "offered, as the queue discipline counts them"),
    total("sent_packets", "packets", "handed on, likewise"),
    total(
        "arrived_segments",
        "segments",
        "where packets may have several segments (`offload: on`): those that were offered",
    )
    .by(Source::Kernel)
    .or_none(),
    total("sent_segments", "segments", "likewise, those that were handed on").by(Source::Kernel).or_none(),
    total("sent_bytes", "bytes", "handed on, headers included"),
    total("dropped_overflow", "packets", "dropped for want of room"),
    total("dropped_aqm", "packets", "dropped by the queue discipline's own decision"),
    total("dropped_blue", "packets", "of cake, dropped by its BLUE; elsewhere 0").by(Source::Sim),
    total("dropped_impairment", "packets", "handed on and lost in an outage"),
    total("dropped_loss", "packets", "of a link with faults, lost at random").or_none(),
    total("duplicated_packets", "packets", "of a link with faults, copies that it made").or_none(),
    total(
        "corrupted_packets",
        "packets",
        "of a link with faults, handed on with a wrong bit, which costs them their lives at their ends",
    )
    .by(Source::Sim)
    .or_none(),
    total("reordered_packets", "packets", "of a link with faults, handed on at once, past those that are delayed")
        .or_none(),
    gauge("queued_packets", "packets", "queued"),
    gauge("delayed_packets", "packets", "handed on and in the port's delay").by(Source::Kernel),
    total("ce_marks", "packets", "marked CE by the queue discipline; red may drop some of them for want of room"),
    total("sce_marks", "packets", "marked SCE by the queue discipline").by(Source::Sim),
    time("first_drop_ns", "the first drop; none if there was none").by(Source::Sim).or_none(),
];

/// Columns of the table of classes, which results call tins: a row for each tin of a cake that has several of them, or keywords that few
/// use, and for each queue of dualpi2.
pub const CLASS_COLUMNS: &[Quantity] = &[
    label("tin", "name, unique in the run: that of the port, and that of the tin or queue in it"),
    label("port", "name of the port"),
    gauge("threshold_bps", "bit/s", "the part of the rate on which it has first claim; 0 without a rate").or_none(),
    gauge("target_ms", "ms", "COBALT's target").or_none(),
    gauge("interval_ms", "ms", "COBALT's interval").or_none(),
    total("arrived_packets", "packets", "offered"),
    total("arrived_bytes", "bytes", "offered, headers included"),
    total("dropped_packets", "packets", "dropped, but for ACKs that were filtered"),
    total("ack_drops", "packets", "ACKs that were dropped because a later one says all that they say").or_none(),
    total("ce_marks", "packets", "marked CE"),
    total("sce_marks", "packets", "marked SCE").by(Source::Sim),
    gauge("backlog_bytes", "bytes", "queued"),
    gauge("peak_delay_ms", "ms", "moving mean of the sojourn time that follows long ones fast").or_none(),
    gauge("average_delay_ms", "ms", "moving mean of the sojourn time").or_none(),
    gauge("base_delay_ms", "ms", "moving mean of the sojourn time that follows short ones fast").or_none(),
    gauge("sparse_flows", "", "queues with little to send, those that are empty and decay included").or_none(),
    gauge("bulk_flows", "", "queues that always have something to send").or_none(),
    gauge("unresponsive_flows", "", "queues that BLUE drops packets of").or_none(),
    gauge("flow_quantum_bytes", "bytes", "what a queue may send a round").or_none(),
    total("sent_packets", "packets", "of a queue of dualpi2, handed on").by(Source::Sim).or_none(),
    total(
        "step_marks",
        "packets",
        "of a queue of dualpi2, marked CE because of its own delay; the other marks are coupled",
    )
    .by(Source::Sim)
    .or_none(),
    gauge("sojourn_mean_ms", "ms", "of a queue of dualpi2, how long packets waited in it, the mean")
        .by(Source::Sim)
        .or_none(),
    gauge("sojourn_median_ms", "ms", "its median, to 3 %").by(Source::Sim).or_none(),
    gauge("sojourn_p99_ms", "ms", "its 99th percentile, to 3 %").by(Source::Sim).or_none(),
    gauge("sojourn_max_ms", "ms", "the longest").by(Source::Sim).or_none(),
];

/// Return how many numbers of a list the simulator fills in.
pub(crate) const fn count(list: &[Quantity]) -> usize {
    let (mut i, mut found) = (0, 0);
    while i < list.len() {
        found += is_number(&list[i]) as usize;
        i += 1;
    }
    found
}

/// Return the place of the number with this name among those that the simulator fills in. It is evaluated when the program is compiled,
/// where a wrong name is an error.
pub(crate) const fn place(list: &[Quantity], name: &str) -> usize {
    let (mut i, mut found) = (0, 0);
    while i < list.len() {
        if is_number(&list[i]) {
            if equal(list[i].name.as_bytes(), name.as_bytes()) {
                return found;
            }
            found += 1;
        }
        i += 1;
    }
    panic!("the schema has no such number of the simulator's")
}

/// The names of the numbers that the simulator fills in, in order.
pub(crate) fn names(list: &[Quantity]) -> Vec<&'static str> {
    list.iter().filter(|quantity| is_number(quantity)).map(|quantity| quantity.name).collect()
}

const fn is_number(quantity: &Quantity) -> bool {
    !matches!(quantity.kind, Kind::Label) && quantity.source.includes_sim()
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_once_in_a_list() {
        for list in [
            FLOW_SERIES,
            DATAGRAM_SERIES,
            GROUP_SERIES,
            PORT_SERIES,
            SHARE_SERIES,
            HOST_SERIES,
            FLOW_COLUMNS,
            GROUP_COLUMNS,
            PORT_COLUMNS,
            CLASS_COLUMNS,
        ] {
            for (i, quantity) in list.iter().enumerate() {
                assert!(list[..i].iter().all(|other| other.name != quantity.name), "{}", quantity.name);
                assert!(!quantity.meaning.is_empty());
            }
        }
    }

    #[test]
    fn places_are_those_of_the_names() {
        assert_eq!(place(FLOW_SERIES, "min_rtt_ms"), 4);
        assert_eq!(place(FLOW_COLUMNS, "start_ns"), 0);
        for (list, name) in [(FLOW_SERIES, "rx_bytes"), (FLOW_COLUMNS, "undos"), (PORT_COLUMNS, "ce_marks")] {
            assert_eq!(names(list)[place(list, name)], name);
            assert_eq!(names(list).len(), count(list));
        }
    }

    #[test]
    #[should_panic(expected = "no such number")]
    fn what_another_fills_in_has_no_place() {
        let _ = place(PORT_COLUMNS, "delayed_packets");
    }
}
