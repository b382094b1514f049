//! Every fact of one direction of a connection by its name, which is that of its column in tables and files. Times are in s or ms, as the
//! name says.

use crate::analysis::Connection;
use crate::direction::Direction;
use crate::limits::Held;
use crate::moments::Moments;

/// A fact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number of something.
    Count(u64),
    /// A difference, which may be below zero; None if it is not known.
    Difference(Option<i64>),
    /// A measure; None if there is nothing to measure.
    Measure(Option<f64>),
    /// Yes or no.
    Flag(bool),
}

use Value::{Count, Difference, Flag, Measure};

fn ms(ns: f64) -> Value {
    Measure(Some(ns / 1e6))
}

fn moments(all: &Moments) -> [Value; 5] {
    let some = all.count > 0;
    let of = |ns: f64| Measure(some.then_some(ns / 1e6));
    let mean = of(all.mean_ns().unwrap_or(0.0));
    [Count(all.count), of(all.min_ns as f64), mean, of(all.max_ns as f64), of(all.deviation_ns())]
}

/// The facts of the client's data, or of the server's (`reverse`).
#[must_use]
pub fn facts(connection: &Connection<'_>, reverse: bool) -> Vec<(&'static str, Value)> {
    let (own, other) =
        if reverse { (&connection.reverse, &connection.forward) } else { (&connection.forward, &connection.reverse) };
    let (first_ns, last_ns) = connection.span_ns();
    let mut all = vec![
        ("elapsed_s", Measure(Some((last_ns - first_ns) as f64 / 1e9))),
        ("first_s", Measure(Some(own.span.first_ns as f64 / 1e9))),
        ("last_s", Measure(Some(own.span.last_ns as f64 / 1e9))),
    ];
    all.extend(volume(own, (last_ns - first_ns) as f64 / 1e9));
    all.extend(sent(own, other));
    all.extend(answered(own, connection.rtts[usize::from(reverse)]));
    all.extend(congestion(own, other, &connection.held[usize::from(reverse)], connection.accurate_ecn));
    all
}

fn volume(d: &Direction, elapsed_s: f64) -> Vec<(&'static str, Value)> {
    let (v, k, again) = (&d.volume, &d.kinds, d.again());
    let stream = d.stream_bytes();
    vec![
        ("packets", Count(v.packets)),
        ("resets", Count(k.resets)),
        ("ack_packets", Count(k.acks)),
        ("pure_acks", Count(k.pure_acks)),
        ("sack_packets", Count(k.sacks)),
        ("dsack_packets", Count(k.dsacks)),
        ("sack_blocks_max", Count(k.most_blocks)),
        ("unique_bytes", Count(v.unique_bytes)),
        ("data_packets", Count(v.data_packets)),
        ("bytes", Count(v.bytes)),
        ("retransmitted_packets", Count(again.packets)),
        ("retransmitted_bytes", Count(again.bytes)),
        ("spurious_retransmissions", Count(again.spurious)),
        ("zero_window_probes", Count(again.probes)),
        ("zero_window_probe_bytes", Count(again.probe_bytes)),
        ("out_of_order_packets", Count(again.out_of_order)),
        ("reordering_max_bytes", Count(again.late_bytes.max(0) as u64)),
        ("reordering_max_ms", ms(again.late_ns as f64)),
        ("pushed_packets", Count(v.pushed_packets)),
        ("syns", Count(k.syns)),
        ("fins", Count(k.fins)),
        ("urgent_packets", Count(v.urgent_packets)),
        ("stream_bytes", Difference(stream)),
        ("missed_bytes", Difference(stream.map(|bytes| bytes - v.unique_bytes as i64))),
        ("cut_bytes", Count(v.cut_bytes)),
        ("cut_packets", Count(v.cut_packets)),
        ("data_time_s", Measure(Some((d.span.last_data_ns - d.span.first_data_ns) as f64 / 1e9))),
        ("idle_max_ms", ms(d.span.idle_max_ns as f64)),
        ("average_mbit", Measure((elapsed_s > 0.0).then(|| v.unique_bytes as f64 * 8e-6 / elapsed_s))),
        ("throughput_mbit", Measure(Some(d.throughput_bps() / 1e6))),
    ]
}

fn sent(own: &Direction, other: &Direction) -> Vec<(&'static str, Value)> {
    let (v, k, w) = (&own.volume, &own.kinds, &own.windows);
    let scaling = w.is_scaled() && other.windows.is_scaled();
    vec![
        ("window_scale", Difference(w.offered.map(i64::from))),
        ("timestamps", Flag(k.timestamps)),
        ("sack_permitted", Flag(k.sack_permitted)),
        ("mss", Difference(k.mss.map(i64::from))),
        ("segment_max_bytes", Count(u64::from(v.largest))),
        ("segment_min_bytes", Count(u64::from(v.smallest))),
        ("segment_avg_bytes", Measure((v.data_packets > 0).then(|| v.bytes as f64 / v.data_packets as f64))),
        ("window_max_bytes", Count(w.max)),
        ("window_min_bytes", Count(w.min)),
        ("window_avg_bytes", Count(w.mean(v.packets, scaling))),
        ("zero_windows", Count(w.zero)),
        ("initial_window_bytes", Count(v.initial_bytes)),
        ("initial_window_packets", Count(v.initial_packets)),
        ("outstanding_max_bytes", Count(own.outstanding.max.max(0) as u64)),
        ("outstanding_avg_bytes", Measure(Some(own.outstanding.mean()))),
    ]
}

fn answered(d: &Direction, rtts: &crate::Histogram) -> Vec<(&'static str, Value)> {
    let (a, again) = (&d.answers, d.again());
    let quantile = |q| Measure(rtts.quantile(q).map(|ns| ns.clamp(a.rtt.min_ns as f64, a.rtt.max_ns as f64) / 1e6));
    let mut all = vec![];
    let mut of = |names: [&'static str; 5], found: &Moments| all.extend(names.into_iter().zip(moments(found)));
    of(["rtt_samples", "rtt_min_ms", "rtt_avg_ms", "rtt_max_ms", "rtt_stdev_ms"], &a.rtt);
    of(["rtt_full_samples", "rtt_full_min_ms", "rtt_full_avg_ms", "rtt_full_max_ms", "rtt_full_stdev_ms"], &a.full);
    of(
        ["ambiguous_acks", "rtt_last_min_ms", "rtt_last_avg_ms", "rtt_last_max_ms", "rtt_last_stdev_ms"],
        &again.answered,
    );
    of(
        ["resent_gaps", "resent_gap_min_ms", "resent_gap_avg_ms", "resent_gap_max_ms", "resent_gap_stdev_ms"],
        &again.gaps,
    );
    all.extend([
        ("rtt_p5_ms", quantile(0.05)),
        ("rtt_median_ms", quantile(0.5)),
        ("rtt_p95_ms", quantile(0.95)),
        ("rtt_syn_ms", Measure(a.syn_ns.map(|ns| ns as f64 / 1e6))),
        ("post_loss_acks", Count(a.post_loss)),
        ("cumulative_acks", Count(a.cumulative)),
        ("duplicate_acks", Count(a.duplicates)),
        ("triple_duplicate_acks", Count(a.triple)),
        ("resent_times_max", Count(u64::from(again.most_times))),
    ]);
    all
}

fn congestion(d: &Direction, other: &Direction, h: &Held, accurate: bool) -> Vec<(&'static str, Value)> {
    let e = d.ecn();
    let [ect1, ce, ect0] = e.bytes.unwrap_or_default();
    // The counter of three bits hides eight marks, or a multiple, where one ACK is for more than seven packets.
    let marked = (ce * other.volume.data_packets).checked_div(other.volume.bytes).unwrap_or(0);
    vec![
        ("ect0_packets", Count(e.ect0)),
        ("ect1_packets", Count(e.ect1)),
        ("ce_packets", Count(e.ce)),
        ("ece_packets", Count(e.ece)),
        ("cwr_packets", Count(e.cwr)),
        ("ae_packets", Count(e.ae)),
        ("accurate_ecn", Flag(accurate)),
        ("ace_marks", Count(e.ace)),
        ("accecn_ect1_bytes", Count(ect1)),
        ("accecn_ce_bytes", Count(ce)),
        ("accecn_ect0_bytes", Count(ect0)),
        ("accecn_hidden_marks", Count(marked.saturating_sub(e.ace) / 8 * 8)),
        ("held_application_s", Measure(Some(h.application_ns as f64 / 1e9))),
        ("held_receiver_s", Measure(Some(h.receiver_ns as f64 / 1e9))),
        ("held_sender_s", Measure(Some(h.sender_ns as f64 / 1e9))),
        ("held_congestion_s", Measure(Some(h.congestion_ns as f64 / 1e9))),
        ("held_episodes", Count(h.episodes)),
        ("held_pauses", Count(h.pauses)),
        ("held_closings", Count(h.closings)),
        ("held_level_bytes", Count(h.level.max(0) as u64)),
        ("held_level_rounds", Count(h.rounds)),
    ]
}
