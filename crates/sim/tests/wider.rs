//! Datagrams, flows against each other, impairments and shapers, in whole runs.

mod common;

use common::{cake, counter, dumbbell, fingerprint, flow, run, MS, MSS, SEC};
use dumbbell_sim::output::Output;
use dumbbell_sim::simulate;
use dumbbell_sim::spec::{CakeIsolation, ImpairmentSpec, NetworkSpec, PortSpec, QdiscSpec, ShaperSpec, UdpSpec};

const RATE: u64 = 10_000_000;
/// Time of a full frame at `RATE`, ns.
const FRAME_NS: u64 = 1514 * 800;

fn tbf(rate_bps: u64) -> ShaperSpec {
    ShaperSpec::Tbf { rate_bps, burst_bytes: 1540 }
}

fn pfifo(limit_packets: u64) -> QdiscSpec {
    QdiscSpec::Pfifo { limit_packets }
}

fn udp(interval_ns: u64, stop_ns: u64) -> UdpSpec {
    UdpSpec {
        name: "u".into(),
        interval_ns,
        size_bytes: 1514,
        forward: vec![0, 1],
        start_ns: 0,
        stop_ns,
        src_host: 1,
        dst_host: 2,
        from_right: false,
    }
}

/// A run of 10 s of a single stream of datagrams.
fn only(stream: UdpSpec, qdisc: QdiscSpec, shaper: ShaperSpec, impairments: Vec<ImpairmentSpec>) -> Output {
    let net = dumbbell(qdisc, shaper, 20 * MS, 10, vec![]);
    run(&NetworkSpec { udp: vec![stream], impairments, sample_ns: MS, ..net })
}

/// The value of a series at a time in ms; samples are a ms apart.
fn value(out: &Output, entity: &str, series: &str, ms: usize) -> f64 {
    let table = out.tables.iter().find(|t| t.entity == entity).expect("the entity exists");
    let column = table.columns.iter().position(|c| *c == series).expect("the series exists");
    table.values[ms * table.columns.len() + column]
}

/// The other direction gets a queue as well.
fn two_way(mut net: NetworkSpec) -> NetworkSpec {
    let PortSpec::Queue { qdisc, shaper, .. } = net.ports[1].clone() else { unreachable!("port 1 is the bottleneck") };
    net.ports.push(PortSpec::Queue { name: "bottleneck-reverse".into(), qdisc, shaper, delay_ns: 0 });
    for f in &mut net.flows {
        (f.forward, f.reverse) = if f.name == "back" { (vec![2, 3], vec![0, 1]) } else { (vec![0, 1], vec![2, 3]) };
    }
    net
}

#[test]
fn datagrams_come_at_their_rate_from_start_to_stop() {
    let stream = UdpSpec { start_ns: SEC, ..udp(2 * MS, 3 * SEC) };
    let out = only(stream, pfifo(10), tbf(RATE), vec![]);
    assert_eq!(counter(&out, "udp/u", "sent_packets"), 1000);
    assert_eq!(counter(&out, "udp/u", "arrived_packets"), 1000);
    assert_eq!(value(&out, "port/bottleneck", "sent_packets", 1009), 0.0);
    assert_eq!(value(&out, "port/bottleneck", "sent_packets", 1011), 1.0);
}

#[test]
fn a_short_queue_drops_the_datagrams_that_the_rate_cannot_carry() {
    for shaper in
        [tbf(RATE), ShaperSpec::Link { rate_bps: RATE }, ShaperSpec::Htb { rate_bps: RATE, burst_bytes: 1600 }]
    {
        let out = only(udp(FRAME_NS / 2, 10 * SEC), pfifo(5), shaper.clone(), vec![]);
        let [sent, arrived, dropped, inside] =
            ["sent_packets", "arrived_packets", "dropped_packets", "in_flight_packets"]
                .map(|name| counter(&out, "udp/u", name));
        assert_eq!(sent, arrived + dropped + inside);
        assert!(arrived.abs_diff((10 * SEC - 10 * MS) / FRAME_NS) <= 2, "{shaper:?}: {arrived} of {sent}");
        assert_eq!(dropped, counter(&out, "port/bottleneck", "dropped_overflow"));
    }
}

#[test]
fn cake_gives_datagrams_a_queue_of_their_own() {
    let net = dumbbell(
        cake(RATE, CakeIsolation::Flows, 0),
        ShaperSpec::Own,
        20 * MS,
        20,
        vec![flow("f", "cubic", "linux-6.12")],
    );
    let out = run(&NetworkSpec { udp: vec![udp(FRAME_NS / 2, 20 * SEC)], ..net });
    let half = RATE / 8 * 20 / 2;
    let (tcp, datagrams) =
        (counter(&out, "flow/f", "rx_bytes") * 1514 / MSS, counter(&out, "udp/u", "arrived_packets") * 1514);
    assert!(tcp.abs_diff(half) < half / 10, "{tcp} of {half}");
    assert!(datagrams.abs_diff(half) < half / 10, "{datagrams} of {half}");
}

#[test]
fn an_outage_takes_what_leaves_the_queue_and_nothing_else() {
    let outage = |at_ns, for_ns| ImpairmentSpec::Outage { port: 1, at_ns, for_ns };
    // Two outages overlap, the first outlasts the second.
    let outages = vec![outage(2 * SEC, 200 * MS), outage(2050 * MS, 50 * MS), outage(5 * SEC, 100 * MS)];
    let out = only(udp(2 * MS, 10 * SEC), pfifo(10), tbf(RATE), outages);
    assert_eq!(counter(&out, "udp/u", "dropped_packets"), 100 + 50);
    assert_eq!(counter(&out, "port/bottleneck", "dropped_impairment"), 100 + 50);
    assert_eq!(counter(&out, "port/bottleneck", "sent_packets"), counter(&out, "port/bottleneck", "arrived_packets"));
    assert_eq!(counter(&out, "port/bottleneck", "dropped_overflow"), 0);
}

#[test]
fn an_outage_of_the_acks_way_loses_acks() {
    let net = two_way(dumbbell(pfifo(100), tbf(RATE), 20 * MS, 10, vec![flow("f", "cubic", "linux-6.12")]));
    let outage = ImpairmentSpec::Outage { port: 3, at_ns: 5 * SEC, for_ns: 100 * MS };
    let out = run(&NetworkSpec { impairments: vec![outage], ..net });
    let lost = counter(&out, "port/bottleneck-reverse", "dropped_impairment");
    assert_eq!(counter(&out, "flow/f", "acks_dropped"), lost);
    assert!((20..100).contains(&lost), "{lost}: one for every segment or two");
    assert_eq!(counter(&out, "port/bottleneck", "dropped_impairment"), 0);
}

#[test]
fn after_a_rate_step_every_shaper_sends_at_the_new_rate() {
    let shapers = [
        (pfifo(20), ShaperSpec::Link { rate_bps: RATE }),
        (pfifo(20), tbf(RATE)),
        (pfifo(20), ShaperSpec::Htb { rate_bps: RATE, burst_bytes: 1600 }),
        (cake(RATE, CakeIsolation::Flowblind, 0), ShaperSpec::Own),
    ];
    for (qdisc, shaper) in shapers {
        for rate_bps in [RATE / 5, RATE * 2] {
            let step = ImpairmentSpec::Rate { port: 1, at_ns: 3 * SEC, rate_bps };
            let out = only(udp(FRAME_NS / 4, 10 * SEC), qdisc.clone(), shaper.clone(), vec![step]);
            let sent = |ms| value(&out, "port/bottleneck", "sent_packets", ms);
            let expected = |rate: u64, seconds: f64| rate as f64 * seconds / 8.0 / 1514.0;
            assert!((sent(3000) - sent(1000) - expected(RATE, 2.0)).abs() <= 1.5, "{shaper:?} before");
            assert!((sent(10_000) - sent(3000) - expected(rate_bps, 7.0)).abs() <= 2.5, "{shaper:?} at {rate_bps}");
        }
    }
}

/// Packets sent up to chosen ms, where a rate of 80 kbit/s turns into 100 Mbit/s at 15 ms and datagrams come every 10 ms.
fn sent_around_a_step(qdisc: QdiscSpec, shaper: ShaperSpec, ms: [usize; 4]) -> [f64; 4] {
    let mut net = dumbbell(qdisc, shaper, 0, 10, vec![]);
    net.ports.remove(0);
    let stream = UdpSpec { forward: vec![0], ..udp(10 * MS, 10 * SEC) };
    let impairments = vec![ImpairmentSpec::Rate { port: 0, at_ns: 15 * MS, rate_bps: 100_000_000 }];
    let out = run(&NetworkSpec { udp: vec![stream], impairments, sample_ns: MS, ..net });
    ms.map(|ms| value(&out, "port/bottleneck", "sent_packets", ms))
}

#[test]
fn what_waits_at_a_rate_step_waits_as_in_linux() {
    const SLOW: u64 = 80_000;
    // tbf: 26 bytes are left for the datagram of 10 ms, which would wait for 138.8 ms more; the bucket is filled at 15 ms, and looked at
    // when the next arrives.
    assert_eq!(sent_around_a_step(pfifo(50), tbf(SLOW), [14, 19, 21, 31]), [1.0, 1.0, 3.0, 4.0]);
    // htb: 86 bytes let the datagram of 10 ms go and leave a debt of 1428 bytes less the 100 that 10 ms brought, 132.8 ms.
    let htb = ShaperSpec::Htb { rate_bps: SLOW, burst_bytes: 1600 };
    assert_eq!(sent_around_a_step(pfifo(50), htb, [9, 11, 142, 146]), [1.0, 2.0, 2.0, 15.0]);
    // A line is busy with the first datagram until 151.4 ms; it has been taken from the queue at once.
    let link = ShaperSpec::Link { rate_bps: SLOW };
    assert_eq!(sent_around_a_step(pfifo(50), link, [1, 21, 151, 155]), [1.0, 1.0, 1.0, 16.0]);
    // cake: the second datagram's time is set by the first, 151.4 ms; what has gathered follows every 0.12 ms.
    let own = cake(SLOW, CakeIsolation::Flowblind, 0);
    assert_eq!(sent_around_a_step(own, ShaperSpec::Own, [1, 21, 151, 152]), [1.0, 1.0, 1.0, 6.0]);
}

#[test]
fn flows_against_each_other_share_no_queue_but_meet_each_others_acks() {
    let flows = |names: &[&str]| names.iter().map(|name| flow(name, "cubic", "linux-6.12")).collect();
    let net = |names: &[&str]| two_way(dumbbell(pfifo(100), tbf(RATE), 20 * MS, 30, flows(names)));
    let (alone, both) = (run(&net(&["ahead"])), run(&net(&["ahead", "back"])));
    let capacity = RATE / 8 * 30 * MSS / 1514;
    for name in ["flow/ahead", "flow/back"] {
        let bytes = counter(&both, name, "rx_bytes");
        assert!(bytes > capacity * 3 / 5, "{name}: {bytes} of {capacity}");
        assert!(counter(&both, name, "acks_dropped") > 0, "{name}: its ACKs pass the other's full queue");
    }
    assert_eq!(counter(&alone, "flow/ahead", "acks_dropped"), 0);
    assert!(counter(&both, "flow/ahead", "rx_bytes") < counter(&alone, "flow/ahead", "rx_bytes"));
}

#[test]
fn the_wider_world_is_the_same_twice() {
    let flows = vec![flow("ahead", "cubic", "linux-6.12"), flow("back", "reno", "linux-6.12")];
    let mut net = two_way(dumbbell(cake(RATE, CakeIsolation::TripleIsolate, 0), ShaperSpec::Own, 20 * MS, 10, flows));
    net.udp = vec![udp(MS, 5 * SEC)];
    net.impairments = vec![
        ImpairmentSpec::Rate { port: 1, at_ns: 2 * SEC, rate_bps: RATE / 3 },
        ImpairmentSpec::Outage { port: 3, at_ns: 4 * SEC, for_ns: 300 * MS },
    ];
    assert_eq!(fingerprint(&run(&net)), fingerprint(&run(&net)));
    assert_ne!(fingerprint(&run(&net)), fingerprint(&run(&NetworkSpec { impairments: vec![], ..net.clone() })));
}

#[test]
fn the_order_of_impairments_in_the_description_does_not_matter() {
    let steps = [(6, RATE / 4), (2, RATE / 2), (4, RATE)]
        .map(|(at, rate_bps)| ImpairmentSpec::Rate { port: 1, at_ns: at * SEC, rate_bps })
        .to_vec();
    let mut sorted = steps.clone();
    sorted.swap(0, 1);
    sorted.swap(1, 2);
    let print = |list| fingerprint(&only(udp(FRAME_NS / 2, 10 * SEC), pfifo(20), tbf(RATE), list));
    assert_eq!(print(steps), print(sorted));
}

#[test]
fn what_cannot_befall_a_port_or_be_sent_is_refused_in_one_line() {
    let refused = |stream: UdpSpec, impairment: ImpairmentSpec, qdisc: QdiscSpec, shaper: ShaperSpec, what: &str| {
        let net = dumbbell(qdisc, shaper, 20 * MS, 1, vec![]);
        let message =
            simulate(&NetworkSpec { udp: vec![stream], impairments: vec![impairment], ..net }).expect_err(what);
        assert!(message.contains(what) && !message.contains('\n'), "{message}");
    };
    let fine = ImpairmentSpec::Outage { port: 1, at_ns: 0, for_ns: MS };
    let on = |port| ImpairmentSpec::Outage { port, at_ns: 0, for_ns: MS };
    let rate = |rate_bps| ImpairmentSpec::Rate { port: 1, at_ns: 0, rate_bps };
    let own = || cake(RATE, CakeIsolation::Flows, 0);
    refused(udp(MS, SEC), on(0), pfifo(9), tbf(RATE), "delay stage");
    refused(udp(MS, SEC), on(7), pfifo(9), tbf(RATE), "port 7");
    refused(udp(MS, SEC), rate(0), pfifo(9), tbf(RATE), "0 bit/s");
    refused(udp(MS, SEC), rate(7), own(), ShaperSpec::Own, "at least 8");
    refused(udp(0, SEC), fine.clone(), pfifo(9), tbf(RATE), "every 0 ns");
    refused(UdpSpec { size_bytes: 1515, ..udp(MS, SEC) }, fine.clone(), pfifo(9), tbf(RATE), "1515 bytes");
    refused(UdpSpec { forward: vec![], ..udp(MS, SEC) }, fine.clone(), pfifo(9), tbf(RATE), "0 ports");
    refused(udp(MS, SEC), fine, pfifo(9), ShaperSpec::Htb { rate_bps: 0, burst_bytes: 1600 }, "rate is 0");
}
