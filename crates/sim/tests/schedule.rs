//! Changes of ports at set times, in whole runs: outages and new rates.

mod common;

use common::{cake, counter, dumbbell, fingerprint, flow, run, two_way, udp, value, with_udp, MS, SEC};
use dumbbell_sim::output::Output;
use dumbbell_sim::spec::{CakeIsolation, ChangeSpec, DatagramsSpec, NetworkSpec, QdiscSpec, ShaperSpec};

const RATE: u64 = 10_000_000;
/// Time of a full frame at `RATE`, ns.
const FRAME_NS: u64 = 1514 * 800;

fn tbf(rate_bps: u64) -> ShaperSpec {
    ShaperSpec::Tbf { rate_bps, burst_bytes: 1540 }
}

fn pfifo(limit_packets: u64) -> QdiscSpec {
    QdiscSpec::Pfifo { limit_packets }
}

/// A run of 10 s of a single stream of datagrams.
fn only(stream: DatagramsSpec, qdisc: QdiscSpec, shaper: ShaperSpec, schedule: Vec<ChangeSpec>) -> Output {
    let net = with_udp(dumbbell(qdisc, shaper, 20 * MS, 10, vec![]), vec![stream]);
    run(&NetworkSpec { schedule, sample_ns: MS, ..net })
}

#[test]
fn an_outage_takes_what_leaves_the_queue_and_nothing_else() {
    let outage = |at_ns, for_ns| ChangeSpec::Outage { port: 1, at_ns, for_ns };
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
    let outage = ChangeSpec::Outage { port: 3, at_ns: 5 * SEC, for_ns: 100 * MS };
    let out = run(&NetworkSpec { schedule: vec![outage], ..net });
    let lost = counter(&out, "port/bottleneck-reverse", "dropped_impairment");
    assert_eq!(counter(&out, "flow/f", "acks_dropped"), lost);
    assert!((20..100).contains(&lost), "{lost}: one for every segment or two");
    assert_eq!(counter(&out, "port/bottleneck", "dropped_impairment"), 0);
}

#[test]
fn after_a_change_of_rate_every_shaper_sends_at_the_new_rate() {
    let shapers = [
        (pfifo(20), ShaperSpec::Link { rate_bps: RATE }),
        (pfifo(20), tbf(RATE)),
        (pfifo(20), ShaperSpec::Htb { rate_bps: RATE, burst_bytes: 1600 }),
        (cake(RATE, CakeIsolation::Flowblind, 0), ShaperSpec::Own),
    ];
    for (qdisc, shaper) in shapers {
        for rate_bps in [RATE / 5, RATE * 2] {
            let step = ChangeSpec::Rate { port: 1, at_ns: 3 * SEC, rate_bps };
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
    let mut net = with_udp(dumbbell(qdisc, shaper, 0, 10, vec![]), vec![udp(10 * MS, 10 * SEC)]);
    net.paths[0].forward = vec![1];
    let schedule = vec![ChangeSpec::Rate { port: 1, at_ns: 15 * MS, rate_bps: 100_000_000 }];
    let out = run(&NetworkSpec { schedule, sample_ns: MS, ..net });
    ms.map(|ms| value(&out, "port/bottleneck", "sent_packets", ms))
}

#[test]
fn what_waits_at_a_change_of_rate_waits_as_in_linux() {
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
fn its_order_in_the_description_does_not_matter() {
    let steps = [(6, RATE / 4), (2, RATE / 2), (4, RATE)]
        .map(|(at, rate_bps)| ChangeSpec::Rate { port: 1, at_ns: at * SEC, rate_bps })
        .to_vec();
    let mut sorted = steps.clone();
    sorted.swap(0, 1);
    sorted.swap(1, 2);
    let print = |list| fingerprint(&only(udp(FRAME_NS / 2, 10 * SEC), pfifo(20), tbf(RATE), list));
    assert_eq!(print(steps), print(sorted));
}
