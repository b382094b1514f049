//! Totals of every flow and every port at the end of a run, a row each.

use std::ops::AddAssign;

use super::row;
use super::schema::{count, names, CLASS_COLUMNS, FLOW_COLUMNS, GROUP_COLUMNS, PORT_COLUMNS};
use crate::flow::Flow;
use crate::network::{FlowDrops, Network};
use crate::output::Rows;
use crate::packet::DropCause;
use crate::playback::Viewed;
use crate::port::media::Medium;
use crate::port::FaultCounts;
use crate::qdisc::{DelayTotals, TinTotals};
use crate::tcp::transport::{LimitedTimes, ReceivingEnd, SendingEnd};
use crate::time::Time;

/// The numbers of a connection in the table of flows.
#[derive(Clone, Copy, Debug)]
pub struct FlowRow(pub [f64; count(FLOW_COLUMNS)]);

impl FlowRow {
    /// Return the totals of a connection. `inside` holds its packets still under way, data and ACKs.
    #[must_use]
    pub fn of(f: &Flow, drops: &FlowDrops, inside: (u64, u64), end: Time) -> Self {
        let (s, r, (data, acks)) = (f.sender.counters(), f.receiver.counters(), inside);
        let sample = f.sender.sample();
        let ended = f.receiver.completed().unwrap_or(f.stop).min(f.stop).min(end).max(f.start);
        let limits = Limits::of(f.sender.limited_times(ended), ended - f.start);
        Self(row![FLOW_COLUMNS;
            "start_ns": f.start as f64,
            "end_ns": ended as f64,
            "completed_ns": f.receiver.completed().map_or(f64::NAN, |t| t as f64),
            "rx_bytes": f.receiver.bytes_read() as f64,
            "sent_packets": s.sent as f64,
            "arrived_packets": r.arrived as f64,
            "duplicate_packets": r.duplicates as f64,
            "dropped_packets": drops.data as f64,
            "in_flight_packets": data as f64,
            "duplicated_packets": drops.data_copies as f64,
            "retransmits": s.retransmits as f64,
            "cwnd_limited_ms": limits.cwnd_ms,
            "rwnd_limited_ms": limits.rwnd_ms,
            "sndbuf_limited_ms": limits.sndbuf_ms,
            "app_limited_ms": limits.app_ms,
            "acks_sent": r.acks_sent as f64,
            "acks_arrived": s.acks_arrived as f64,
            "acks_dropped": drops.acks as f64,
            "acks_in_flight": acks as f64,
            "acks_duplicated": drops.ack_copies as f64,
            "delivered": f64::from(sample.delivered),
            "delivered_ce": f64::from(sample.delivered_ce),
            "ce_arrived": r.ce as f64,
            "sce_arrived": r.sce as f64,
            "cwnd_reductions": s.cwnd_reductions as f64,
            "rto_timeouts": s.rto_timeouts as f64,
            "tlp_probes": s.tlp_probes as f64,
            "undos": s.undos as f64,
            "min_rtt_ms": sample.min_rtt_ms.unwrap_or(f64::NAN),
            "srtt_ms": sample.srtt_ms.unwrap_or(f64::NAN),
            "startup_ms": f64::NAN,
            "stalls": f64::NAN,
            "stalled_ms": f64::NAN,
        ])
    }
}

/// The time that each limit held a sender, in the columns of the table of flows, ms; NaN if it is not counted.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The congestion window.
    pub cwnd_ms: f64,
    /// The receiver's window.
    pub rwnd_ms: f64,
    /// The send buffer.
    pub sndbuf_ms: f64,
    /// The application.
    pub app_ms: f64,
}

impl Limits {
    /// Return the limits of a connection until the end of its life, which lasted this long, ns.
    #[must_use]
    pub fn of(times: Option<LimitedTimes>, lived: Time) -> Self {
        let Some(LimitedTimes { cwnd_us, rwnd_us, sndbuf_us }) = times else {
            return Self { cwnd_ms: f64::NAN, rwnd_ms: f64::NAN, sndbuf_ms: f64::NAN, app_ms: f64::NAN };
        };
        let [cwnd_ms, rwnd_ms, sndbuf_ms] = [cwnd_us, rwnd_us, sndbuf_us].map(|us| us as f64 / 1e3);
        let busy = (cwnd_us + rwnd_us + sndbuf_us) * 1000;
        Self { cwnd_ms, rwnd_ms, sndbuf_ms, app_ms: lived.saturating_sub(busy) as f64 / 1e6 }
    }
}

/// Totals of the data that connections sent and read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Volume {
    /// Payload that applications have read, bytes.
    pub rx_bytes: u64,
    /// Data packets sent, with retransmissions.
    pub sent: u64,
    /// Segments known to be delivered.
    pub delivered: u64,
    /// Delivered segments with an ECN echo.
    pub delivered_ce: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub rto_timeouts: u64,
}

impl AddAssign for Volume {
    fn add_assign(&mut self, other: Self) {
        self.rx_bytes += other.rx_bytes;
        self.sent += other.sent;
        self.delivered += other.delivered;
        self.delivered_ce += other.delivered_ce;
        self.retransmits += other.retransmits;
        self.rto_timeouts += other.rto_timeouts;
    }
}

impl Volume {
    /// Return the totals of a one-way connection.
    #[must_use]
    pub fn of(f: &Flow) -> Self {
        let (s, sample) = (f.sender.counters(), f.sender.sample());
        Self {
            rx_bytes: f.receiver.bytes_read(),
            sent: s.sent,
            delivered: sample.delivered.into(),
            delivered_ce: sample.delivered_ce.into(),
            retransmits: s.retransmits,
            rto_timeouts: s.rto_timeouts,
        }
    }
}

/// Classes of transfers by size: the name of each class, and the first size beyond it, bytes.
const SIZES: [(&str, u64); 4] =
    [("<10kB", 10_000), ("10kB-100kB", 100_000), ("100kB-1MB", 1_000_000), (">=1MB", u64::MAX)];

/// The class of a size.
fn size_class(bytes: u64) -> usize {
    SIZES.iter().position(|&(_, beyond)| bytes < beyond).unwrap_or(SIZES.len() - 1)
}

/// Totals of the connections of a class.
#[derive(Clone, Debug, Default)]
struct ClassTotals {
    connections: u64,
    /// Times from connect() to the last byte read, of the transfers that are complete, ns.
    completions: Vec<Time>,
    /// These times over the times alone on the path, if the latter are known.
    slowdowns: Vec<f32>,
    volume: Volume,
}

impl ClassTotals {
    /// Add the totals of another class.
    fn join(&mut self, mut other: Self) {
        self.connections += other.connections;
        self.completions.append(&mut other.completions);
        self.slowdowns.append(&mut other.slowdowns);
        self.volume += other.volume;
    }
}

/// Totals of the connections of a workload.
#[derive(Clone, Debug, Default)]
pub struct GroupTotals {
    /// Classes by size. Connections without a size are in the first class.
    classes: [ClassTotals; SIZES.len()],
    /// Times from a request to the last byte of its response, ns; `None` if there are no requests.
    latencies: Option<Vec<Time>>,
    /// Totals of the players; `None` if there are none.
    viewed: Option<Viewing>,
}

/// Totals of several players.
#[derive(Clone, Copy, Debug, Default)]
struct Viewing {
    /// Players that began to play, and the sum of their waits before that, ns.
    started: u64,
    startup_ns: Time,
    stalls: u64,
    stalled_ns: Time,
}

impl GroupTotals {
    /// A connection is made.
    pub fn begin(&mut self) {
        self.begin_transfer(0);
    }

    /// A connection is made for a transfer of `bytes`.
    pub fn begin_transfer(&mut self, bytes: u64) {
        self.classes[size_class(bytes)].connections += 1;
    }

    /// Adds a connection that is gone, or at the end of the run: how long it took, if it is complete, and its volume.
    pub fn add(&mut self, completion: Option<Time>, volume: Volume) {
        self.classes[0].completions.extend(completion);
        self.classes[0].volume += volume;
    }

    /// Add a transfer of `bytes` that would take `alone` on a path that nothing else uses.
    pub fn add_transfer(&mut self, bytes: u64, alone: Time, completion: Option<Time>, volume: Volume) {
        let class = &mut self.classes[size_class(bytes)];
        class.completions.extend(completion);
        class.slowdowns.extend(completion.map(|time| (time as f64 / alone.max(1) as f64) as f32));
        class.volume += volume;
    }

    /// Return the sum of the data that they sent and read.
    #[must_use]
    pub fn volume(&self) -> Volume {
        let mut sum = Volume::default();
        self.classes.iter().for_each(|class| sum += class.volume);
        sum
    }

    /// Adds requests that were answered, each with the time that took.
    pub fn add_latencies(&mut self, latencies: impl Iterator<Item = Time>) {
        self.latencies.get_or_insert_default().extend(latencies);
    }

    /// Add the totals of a player.
    pub fn add_viewed(&mut self, one: Viewed) {
        let all = self.viewed.get_or_insert_default();
        all.started += u64::from(one.startup_ns.is_some());
        all.startup_ns += one.startup_ns.unwrap_or(0);
        all.stalls += one.stalls;
        all.stalled_ns += one.stalled_ns;
    }

    /// A table of groups without rows.
    #[must_use]
    pub fn table() -> Rows {
        Rows::new(names(GROUP_COLUMNS))
    }

    /// Adds the group called `name` to the table; if its transfers are of several classes of size, each class has a row as well, whose name
    /// has a blank and the class behind that of the group.
    pub fn push(self, name: &str, table: &mut Rows) {
        let Self { mut classes, latencies, viewed } = self;
        let several = classes.iter().filter(|class| class.connections > 0).count() > 1;
        let rows =
            classes.each_mut().map(|class| (several && class.connections > 0).then(|| row_of(class, None, None)));
        let mut all = ClassTotals::default();
        // The first is taken over as it is: of a million transfers of one size nothing is copied.
        classes.into_iter().filter(|class| class.connections > 0).for_each(|class| {
            if all.connections == 0 {
                all = class;
            } else {
                all.join(class);
            }
        });
        table.push(name, &row_of(&mut all, latencies, viewed));
        for ((sizes, _), row) in SIZES.iter().zip(rows) {
            row.iter().for_each(|row| table.push(&format!("{name} {sizes}"), row));
        }
    }
}

/// Return the row of some connections, and of their requests and players, if they have any. It sorts the connections' times.
fn row_of(
    class: &mut ClassTotals,
    mut latencies: Option<Vec<Time>>,
    viewed: Option<Viewing>,
) -> [f64; count(GROUP_COLUMNS)] {
    let (completion, volume) = (Times::of(&mut class.completions), class.volume);
    let slowdown = Slowdowns::of(&mut class.slowdowns);
    let transactions = latencies.as_ref().map_or(f64::NAN, |latencies| latencies.len() as f64);
    let latency = Times::of(latencies.as_deref_mut().unwrap_or(&mut []));
    let viewed = |number: fn(Viewing) -> f64| viewed.map_or(f64::NAN, number);
    row![GROUP_COLUMNS;
        "connections": class.connections as f64,
        "completed": class.completions.len() as f64,
        "completion_mean_ms": completion.mean_ms,
        "completion_median_ms": completion.median_ms,
        "completion_p95_ms": completion.p95_ms,
        "completion_p99_ms": completion.p99_ms,
        "completion_max_ms": completion.max_ms,
        "slowdown_mean": slowdown.mean,
        "slowdown_median": slowdown.median,
        "slowdown_p95": slowdown.p95,
        "slowdown_p99": slowdown.p99,
        "transactions": transactions,
        "latency_mean_ms": latency.mean_ms,
        "latency_median_ms": latency.median_ms,
        "latency_p95_ms": latency.p95_ms,
        "latency_max_ms": latency.max_ms,
        "startup_mean_ms": viewed(|each| each.startup_ns as f64 / each.started as f64 / 1e6),
        "stalls": viewed(|each| each.stalls as f64),
        "stalled_ms": viewed(|each| each.stalled_ns as f64 / 1e6),
        "rx_bytes": volume.rx_bytes as f64,
        "sent_packets": volume.sent as f64,
        "retransmits": volume.retransmits as f64,
        "rto_timeouts": volume.rto_timeouts as f64,
    ]
}

/// Statistics of several slowdowns; NaN if there are none.
#[derive(Clone, Copy, Debug)]
struct Slowdowns {
    mean: f64,
    median: f64,
    p95: f64,
    p99: f64,
}

impl Slowdowns {
    /// Sorts them.
    fn of(slowdowns: &mut [f32]) -> Self {
        slowdowns.sort_unstable_by(f32::total_cmp);
        let [median, p95, p99] = [0.5, 0.95, 0.99].map(|share| quantile(slowdowns, share));
        let sum: f64 = slowdowns.iter().map(|&slowdown| f64::from(slowdown)).sum();
        Self { mean: sum / slowdowns.len() as f64, median, p95, p99 }
    }
}

/// Statistics of several times, ms; NaN if there are none.
#[derive(Clone, Copy, Debug)]
struct Times {
    mean_ms: f64,
    median_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
    max_ms: f64,
}

impl Times {
    /// Sorts the times, which are in ns.
    fn of(times: &mut [Time]) -> Self {
        times.sort_unstable();
        let sum: u128 = times.iter().map(|&time| u128::from(time)).sum();
        Self {
            mean_ms: sum as f64 / times.len() as f64 / 1e6,
            median_ms: quantile(times, 0.5) / 1e6,
            p95_ms: quantile(times, 0.95) / 1e6,
            p99_ms: quantile(times, 0.99) / 1e6,
            max_ms: times.last().map_or(f64::NAN, |&time| time as f64 / 1e6),
        }
    }
}

/// A quantile of sorted values, linear between neighbours, as numpy's default; NaN if there are none.
fn quantile<T: Number>(sorted: &[T], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share * last as f64;
    let below = place as usize;
    let [a, b] = [below, (below + 1).min(last)].map(|i| sorted[i].number());
    a + (b - a) * (place - below as f64)
}

/// A number that quantiles can be taken of.
trait Number: Copy {
    fn number(self) -> f64;
}

impl Number for Time {
    fn number(self) -> f64 {
        self as f64
    }
}

impl Number for f32 {
    fn number(self) -> f64 {
        self.into()
    }
}

/// The table of flows with the bulk flows; `inside` are the packets still under way, data and ACKs, in the same order.
#[must_use]
pub fn flows(flows: &[Flow], network: &Network, inside: &[(u64, u64)], end: Time) -> Rows {
    let mut table = Rows::new(names(FLOW_COLUMNS));
    for (i, f) in flows.iter().enumerate() {
        table.push(&f.name, &FlowRow::of(f, &network.drops[i], inside[i], end).0);
    }
    table
}

/// The table of ports.
#[must_use]
pub fn ports(network: &Network) -> Rows {
    let mut table = Rows::new(names(PORT_COLUMNS));
    for p in &network.ports {
        let (c, st) = (&p.counters, p.medium.stats());
        let faults = |count: fn(FaultCounts) -> u64| p.faults().map_or(f64::NAN, |f| count(f) as f64);
        let row = row![PORT_COLUMNS;
            "arrived_packets": c.arrived as f64,
            "sent_packets": c.sent as f64,
            "sent_bytes": c.sent_bytes as f64,
            "dropped_overflow": c.dropped[DropCause::Overflow as usize] as f64,
            "dropped_aqm": c.dropped[DropCause::Aqm as usize] as f64,
            "dropped_blue": c.dropped[DropCause::Blue as usize] as f64,
            "dropped_impairment": c.lost as f64,
            "dropped_loss": faults(|f| f.lost),
            "duplicated_packets": faults(|f| f.duplicated),
            "corrupted_packets": faults(|f| f.corrupted),
            "reordered_packets": faults(|f| f.reordered),
            "queued_packets": (p.backlog().0 + p.chosen.held.len()) as f64,
            "ce_marks": st.ce_marks as f64,
            "sce_marks": st.sce_marks as f64,
            "first_drop_ns": c.first_drop.map_or(f64::NAN, |t| t as f64),
        ];
        table.push(&p.id, &row);
    }
    table
}

fn in_ms(ns: f64) -> f64 {
    ns / 1e6
}

/// The numbers of a class.
pub(super) fn class_row(class: &crate::qdisc::ClassTotals) -> [f64; count(CLASS_COLUMNS)] {
    let delays = |value: fn(DelayTotals) -> Option<f64>| class.delays.and_then(value).unwrap_or(f64::NAN);
    let of_tin = |value: fn(TinTotals) -> f64| class.tin.map_or(f64::NAN, value);
    row![CLASS_COLUMNS;
        "threshold_bps": of_tin(|tin| tin.threshold_bps as f64),
        "target_ms": of_tin(|tin| tin.target as f64 / 1e6),
        "interval_ms": of_tin(|tin| tin.interval as f64 / 1e6),
        "arrived_packets": class.arrived_packets as f64,
        "arrived_bytes": class.arrived_bytes as f64,
        "dropped_packets": class.dropped as f64,
        "ack_drops": of_tin(|tin| tin.ack_drops as f64),
        "ce_marks": class.ce_marks as f64,
        "sce_marks": class.sce_marks as f64,
        "backlog_bytes": class.backlog_bytes as f64,
        "peak_delay_ms": of_tin(|tin| tin.peak_delay as f64 / 1e6),
        "average_delay_ms": of_tin(|tin| tin.average_delay as f64 / 1e6),
        "base_delay_ms": of_tin(|tin| tin.base_delay as f64 / 1e6),
        "sparse_flows": of_tin(|tin| tin.sparse_flows as f64),
        "bulk_flows": of_tin(|tin| tin.bulk_flows as f64),
        "unresponsive_flows": of_tin(|tin| tin.unresponsive_flows as f64),
        "flow_quantum_bytes": of_tin(|tin| f64::from(tin.flow_quantum)),
        "sent_packets": delays(|of| Some(of.sent_packets as f64)),
        "step_marks": delays(|of| Some(of.step_marks as f64)),
        "sojourn_mean_ms": delays(|of| of.mean.map(in_ms)),
        "sojourn_median_ms": delays(|of| of.median.map(in_ms)),
        "sojourn_p99_ms": delays(|of| of.p99.map(in_ms)),
        "sojourn_max_ms": delays(|of| of.most.map(in_ms)),
    ]
}

/// The table of classes. Numbers that only tins of cake have, or only queues of dualpi2, are none in other rows.
#[must_use]
pub fn classes(network: &Network) -> Rows {
    let mut table = Rows::new(names(CLASS_COLUMNS));
    for p in &network.ports {
        for class in p.medium.classes() {
            table.push(&format!("{}/{}", p.id, class.name), &class_row(&class));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{quantile, GroupTotals, Times, Volume};

    #[test]
    fn quantiles_lie_between_neighbours() {
        let times = [10, 20, 40, 80, 160];
        assert_eq!([0.0, 0.5, 0.625, 1.0].map(|share| quantile::<u64>(&times, share)), [10.0, 40.0, 60.0, 160.0]);
        assert_eq!(quantile(&[7_u64], 0.95), 7.0);
        assert!(quantile::<u64>(&[], 0.5).is_nan());
        let four = Times::of(&mut [4_000_000, 1_000_000, 2_000_000, 3_000_000]);
        assert_eq!((four.mean_ms, four.median_ms, four.max_ms), (2.5, 2.5, 4.0));
    }

    #[test]
    fn a_group_has_numbers_of_what_there_was() {
        let mut table = GroupTotals::table();
        let mut totals = GroupTotals::default();
        (0..3).for_each(|_| totals.begin());
        let volume = Volume { rx_bytes: 10, sent: 2, retransmits: 1, ..Volume::default() };
        [Some(4_000_000), None, Some(2_000_000)].into_iter().for_each(|each| totals.add(each, volume));
        totals.push("web", &mut table);
        let of = |column| table.get("web", column);
        assert_eq!([of("connections"), of("completed"), of("rx_bytes")], [Some(3.0), Some(2.0), Some(30.0)]);
        assert_eq!([of("completion_median_ms"), of("completion_max_ms")], [Some(3.0), Some(4.0)]);
        assert_eq!([of("transactions"), of("latency_mean_ms"), of("slowdown_mean")], [None, None, None]);
        assert_eq!(table.names, ["web"]);
    }

    #[test]
    fn transfers_of_several_classes_have_a_row_for_each() {
        let (mut table, mut totals) = (GroupTotals::table(), GroupTotals::default());
        let volume = Volume { rx_bytes: 1, ..Volume::default() };
        for (bytes, factor) in [(9_999, 1), (10_000, 2), (20_000, 4), (1_000_000, 3)] {
            totals.begin_transfer(bytes);
            totals.add_transfer(bytes, bytes, Some(bytes * factor), volume);
        }
        totals.begin_transfer(5_000_000);
        totals.add_transfer(5_000_000, 1, None, volume);
        totals.push("web", &mut table);
        assert_eq!(table.names, ["web", "web <10kB", "web 10kB-100kB", "web >=1MB"]);
        let column = |column| table.names.iter().map(|name| table.get(name, column).unwrap()).collect::<Vec<_>>();
        assert_eq!(column("connections"), [5.0, 1.0, 2.0, 2.0]);
        assert_eq!(column("completed"), [4.0, 1.0, 2.0, 1.0]);
        assert_eq!(column("rx_bytes"), [5.0, 1.0, 2.0, 2.0]);
        assert_eq!(column("slowdown_mean"), [2.5, 1.0, 3.0, 3.0]);
        assert_eq!(column("slowdown_median"), [2.5, 1.0, 3.0, 3.0]);
    }
}
