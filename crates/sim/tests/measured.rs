//! Streams of datagrams that measure: against what can be computed, and every datagram accounted for.

mod common;

use common::{counter, dumbbell, flow, run, two_way, udp, with_udp, MS, SEC};
use dumbbell_sim::output::{Datagram, Fate, Output};
use dumbbell_sim::spec::{
    BurstsSpec, ChangeSpec, DatagramsSpec, DistributionSpec, DrawnSpec, NetworkSpec, QdiscSpec, ShaperSpec,
    WorkloadSpec,
};
use dumbbell_sim::traffic::datagrams_listed;

const RATE: u64 = 10_000_000;

fn line() -> ShaperSpec {
    ShaperSpec::Link { rate_bps: RATE }
}

fn pfifo(limit_packets: u64) -> QdiscSpec {
    QdiscSpec::Pfifo { limit_packets }
}

fn measured(interval: DistributionSpec, size: DistributionSpec) -> DatagramsSpec {
    let mut stream = DatagramsSpec { measured: true, interval_ns: interval, size_bytes: size, ..udp(MS, 0) };
    stream.streams[0].stop_ns = None;
    stream
}

fn fixed(value: u64) -> DistributionSpec {
    DistributionSpec::Fixed(value)
}

fn exponential(mean: u64) -> DistributionSpec {
    DistributionSpec::Drawn(DrawnSpec::Exponential { mean })
}

fn datagrams(out: &Output) -> &[Datagram] {
    &out.datagrams.iter().find(|(name, _)| name == "u").expect("a stream that measures").1
}

fn ns_on_the_line(bytes: u64) -> u64 {
    bytes * 8 * SEC / RATE
}

#[test]
fn a_ping_takes_the_delays_and_its_time_on_the_line() {
    let mut net = dumbbell(pfifo(100), line(), 40 * MS, 2, vec![]);
    let ping = DatagramsSpec { reply: true, count: Some(7), ..measured(fixed(100 * MS), fixed(98)) };
    net.workloads.push(WorkloadSpec::Ping(ping));
    let out = run(&net);
    let all = datagrams(&out);
    assert_eq!(all.len(), 7);
    for (i, each) in all.iter().enumerate() {
        let there = each.sent + 20 * MS + ns_on_the_line(98);
        let expected = (i as u64 * 100 * MS, Fate::Arrived(there), Fate::Arrived(there + 20 * MS));
        assert_eq!((each.sent, each.there, each.back), expected);
    }
    assert_eq!(["acks_sent", "acks_arrived", "acks_dropped"].map(|name| counter(&out, "ping/u", name)), [7, 7, 0]);
}

#[test]
fn what_is_lost_is_lost_and_what_is_under_way_is_not() {
    // Twice the rate of the line: half is dropped, and the queue is full when the run ends. Replies are lost in an outage.
    let net = two_way(dumbbell(pfifo(20), line(), 40 * MS, 10, vec![]));
    let stream = DatagramsSpec { reply: true, ..measured(fixed(ns_on_the_line(1514) / 2), fixed(1514)) };
    let mut net = with_udp(net, vec![stream]);
    net.schedule.push(ChangeSpec::Outage { port: 3, at_ns: 3 * SEC, for_ns: SEC });
    let out = run(&net);
    let all = datagrams(&out);
    let count = |of: fn(&Datagram) -> Fate, fate: Fate| all.iter().filter(|each| of(each) == fate).count() as u64;
    let counters = |names: [&str; 2]| names.map(|name| counter(&out, "udp/u", name));
    let there = [Fate::Lost, Fate::UnderWay].map(|fate| count(|each| each.there, fate));
    let back = [Fate::Lost, Fate::UnderWay].map(|fate| count(|each| each.back, fate));
    assert_eq!(there, counters(["dropped_packets", "in_flight_packets"]));
    assert_eq!(back, counters(["acks_dropped", "acks_in_flight"]));
    // The queue, the line, and the delay on the way to it and back.
    assert!(there[0] > 7000 && (20..=60).contains(&there[1]), "{there:?}");
    assert!((800..900).contains(&back[0]) && (15..40).contains(&back[1]), "{back:?}");
    let none = count(|each| each.back, Fate::NotSent);
    assert_eq!(none, there[0] + there[1]);
    assert_eq!(counter(&out, "udp/u", "sent_packets"), all.len() as u64);
}

#[test]
fn bursts_end_and_a_pause_begins_with_none() {
    let bursts = Some(BurstsSpec { on_ns: fixed(95 * MS), off_ns: fixed(405 * MS) });
    let net = with_udp(
        dumbbell(pfifo(100), line(), 40 * MS, 2, vec![]),
        vec![DatagramsSpec { bursts, ..measured(fixed(10 * MS), fixed(500)) }],
    );
    let sent: Vec<u64> = datagrams(&run(&net)).iter().map(|each| each.sent / MS).collect();
    let expected: Vec<u64> = (0..4).flat_map(|burst| (0..10).map(move |i| 500 * burst + 10 * i)).collect();
    assert_eq!(sent, expected);
}

#[test]
fn what_another_engine_is_told_is_what_is_sent_here() {
    let uniform = DistributionSpec::Drawn(DrawnSpec::Uniform { low: 100, high: 1400 });
    let bursts = Some(BurstsSpec { on_ns: exponential(SEC), off_ns: exponential(300 * MS) });
    let stream = DatagramsSpec { bursts, ..measured(exponential(5 * MS), uniform) };
    let (times, sizes) = datagrams_listed(&stream, &stream.streams[0], 1, 20 * SEC).expect("a stream");
    let net = with_udp(dumbbell(pfifo(1000), line(), 40 * MS, 20, vec![]), vec![stream]);
    let out = run(&net);
    let sent: Vec<u64> = datagrams(&out).iter().map(|each| each.sent).collect();
    assert!(sent.len() > 1000);
    assert_eq!(sent, times);
    let arrived = datagrams(&out).iter().zip(&sizes).filter(|(each, _)| matches!(each.there, Fate::Arrived(_)));
    let bytes: u64 = arrived.map(|(_, bytes)| bytes).sum();
    let port = out.ports.get("bottleneck", "sent_bytes").expect("a port");
    // No datagram that has left the port is under way, because the delay is in front of the port.
    assert_eq!(bytes, port as u64);
}

#[test]
fn measuring_changes_nothing_for_others() {
    let of = |measured: bool| {
        let mut load = udp(3 * MS, 5 * SEC);
        load.measured = measured;
        let out =
            run(&with_udp(dumbbell(pfifo(30), line(), 40 * MS, 6, vec![flow("f", "cubic", "linux-6.12")]), vec![load]));
        ["rx_bytes", "retransmits", "delivered"].map(|name| counter(&out, "flow/f", name))
    };
    assert_eq!(of(true), of(false));
}

/// Mean time in the queue, ms, of datagrams at Poisson times, and what Pollaczek and Khinchine say of it.
///
/// W = lambda E[S^2] / (2 (1 - rho)), S the time on the line. Kleinrock, Queueing Systems I (1975), 5.6.
fn waiting_ms(size: DistributionSpec, mean_bytes: f64, mean_square: f64, load: f64, seconds: u64) -> (f64, f64) {
    let ns_a_byte = 8.0 * SEC as f64 / RATE as f64;
    let interval = mean_bytes * ns_a_byte / load;
    let net = dumbbell(pfifo(1_000_000), line(), 40 * MS, seconds, vec![]);
    let net = NetworkSpec { sample_ns: 0, ..net };
    let stream = measured(exponential(interval as u64), size);
    let (_, sizes) = datagrams_listed(&stream, &stream.streams[0], net.seed, net.duration_ns).expect("a stream");
    let out = run(&with_udp(net, vec![stream]));
    let waits: Vec<f64> = datagrams(&out)
        .iter()
        .zip(sizes)
        .filter_map(|(each, bytes)| match each.there {
            Fate::Arrived(there) => Some((there - each.sent - 20 * MS - ns_on_the_line(bytes)) as f64 / 1e6),
            _ => None,
        })
        .collect();
    assert!(waits.len() as f64 > 0.98 * seconds as f64 * 1e9 / interval);
    let measured = waits.iter().sum::<f64>() / waits.len() as f64;
    (measured, mean_square * ns_a_byte.powi(2) / interval / (2.0 * (1.0 - load)) / 1e6)
}

/// One size, at half the line's rate.
fn fixed_sizes(seconds: u64) -> (f64, f64) {
    waiting_ms(fixed(1250), 1250.0, 1250.0 * 1250.0, 0.5, seconds)
}

/// Nine of ten are small, and the tenth is a full frame, at six tenths of the line's rate.
fn two_sizes(seconds: u64) -> (f64, f64) {
    let part = |share, bytes| dumbbell_sim::spec::PartSpec { share, of: fixed(bytes) };
    let sizes = DistributionSpec::Drawn(DrawnSpec::Mixture { parts: vec![part(0.9, 200), part(0.1, 1500)] });
    let (mean, square) = (0.9 * 200.0 + 0.1 * 1500.0, 0.9 * 4e4 + 0.1 * 2.25e6);
    waiting_ms(sizes, mean, square, 0.6, seconds)
}

fn check((measured, expected): (f64, f64), tolerance: f64, what: &str) {
    let difference = measured / expected - 1.0;
    println!("{what}: {measured:.5} ms, {expected:.5} ms expected: {:+.2} %", 100.0 * difference);
    assert!(difference.abs() <= tolerance, "{what}: {measured} ms, not {expected} ms");
}

/// With 50,000 and 200,000 datagrams the mean has a standard deviation of some 1.5 to 2 %.
#[test]
fn queues_are_as_long_as_pollaczek_and_khinchine_say() {
    check(fixed_sizes(100), 0.04, "M/D/1");
    check(two_sizes(90), 0.04, "M/G/1");
}

/// Two and seven million datagrams: a standard deviation of some 0.3 %. Part of `make validate`.
#[test]
#[ignore = "takes long; part of make validate"]
fn long_queues_are_as_long_as_pollaczek_and_khinchine_say() {
    check(fixed_sizes(4000), 0.01, "M/D/1");
    check(two_sizes(3000), 0.01, "M/G/1");
}
