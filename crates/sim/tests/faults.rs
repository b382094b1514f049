//! Whole runs over links with faults: nothing is lost but what is counted, data arrive in order and whole, and the same again.

mod common;

use common::{
    back, counter, dumbbell, fingerprint, flow, run, two_way, udp, with, with_exchange, with_udp, MS, MSS, SEC,
};
use dumbbell_sim::spec::{
    ArrivalsSpec, ExchangeSpec, FaultsSpec, JitterShape, JitterSpec, LossSpec, NetworkSpec, PortSpec, QdiscSpec,
    ReorderSpec, ShaperSpec, ShareSpec, TcpSpec, TransfersSpec, WorkloadSpec,
};
use proptest::prelude::*;

fn chance(share: f64) -> u32 {
    (share * f64::from(u32::MAX)) as u32
}

fn share(share: f64) -> ShareSpec {
    ShareSpec { share: chance(share), correlation: 0 }
}

/// 50 Mbit/s and 20 ms with a queue in each direction; the delays have these faults.
fn world(seconds: u64, flows: Vec<TcpSpec>, forward: &FaultsSpec, reverse: &FaultsSpec) -> NetworkSpec {
    let (qdisc, shaper) = (QdiscSpec::Pfifo { limit_packets: 200 }, ShaperSpec::Link { rate_bps: 50_000_000 });
    let mut net = two_way(dumbbell(qdisc, shaper, 20 * MS, seconds, flows));
    for (port, own) in [(0, forward), (2, reverse)] {
        let PortSpec::Link { faults, .. } = &mut net.ports[port] else { unreachable!("a delay") };
        *faults = (own != &FaultsSpec::default()).then(|| Box::new(own.clone()));
    }
    net
}

fn lossy(loss: f64) -> FaultsSpec {
    FaultsSpec { loss: Some(LossSpec::Random(share(loss))), ..FaultsSpec::default() }
}

#[test]
fn a_receiver_reports_what_came_twice_and_the_sender_stays_open() {
    let twice = FaultsSpec { duplicate: Some(share(0.05)), ..FaultsSpec::default() };
    let net = world(20, vec![flow("f", "cubic", "linux-6.12")], &twice, &FaultsSpec::default());
    let out = run(&net);
    let copies = counter(&out, "flow/f", "duplicated_packets");
    assert_eq!(copies, counter(&out, "port/out", "duplicated_packets"));
    assert!(copies > 1000);
    // Copies take room in the queue; whatever came and was no news was a copy or a retransmission.
    let stale = counter(&out, "flow/f", "duplicate_packets");
    assert!(stale > copies / 2 && stale <= copies + counter(&out, "flow/f", "retransmits"), "{stale} of {copies}");
    assert_eq!(counter(&out, "flow/f", "rto_timeouts"), 0);
}

#[test]
fn corrupted_packets_pass_the_queues_and_are_dropped_at_the_end() {
    let wrong = FaultsSpec { corrupt: Some(share(0.01)), ..FaultsSpec::default() };
    let net = world(10, vec![flow("f", "cubic", "linux-6.12")], &wrong, &FaultsSpec::default());
    let out = run(&net);
    let corrupted = counter(&out, "port/out", "corrupted_packets");
    assert!(corrupted > 50);
    // All but those in the delay have come to the queue.
    let came = counter(&out, "port/bottleneck", "arrived_packets");
    assert!((came..came + 50).contains(&counter(&out, "port/out", "arrived_packets")));
    let dropped = counter(&out, "flow/f", "dropped_packets") - counter(&out, "port/bottleneck", "dropped_overflow");
    let last = counter(&out, "flow/f", "in_flight_packets");
    assert!(dropped <= corrupted && corrupted <= dropped + last, "{dropped} of {corrupted}");
}

#[test]
fn reordering_is_learned_so_that_it_costs_little() {
    let reorder = FaultsSpec {
        jitter: Some(JitterSpec {
            deviation_ns: 2 * MS,
            correlation: 0,
            keep_order: false,
            shape: JitterShape::Uniform,
        }),
        ..FaultsSpec::default()
    };
    let net = world(20, vec![flow("f", "cubic", "linux-6.12")], &reorder, &FaultsSpec::default());
    let out = run(&net);
    let ceiling = 50_000_000 / 8 * 20 * MSS / 1514;
    assert!(counter(&out, "flow/f", "rx_bytes") > ceiling * 85 / 100);
    assert!(counter(&out, "flow/f", "retransmits") < counter(&out, "flow/f", "sent_packets") / 20);
}

#[test]
fn the_rarer_losses_are_the_more_is_delivered() {
    for cc in ["reno", "cubic"] {
        let rates = [0.05, 0.01, 0.002].map(|loss| {
            counter(
                &run(&world(20, vec![flow("f", cc, "linux-6.12")], &lossy(loss), &FaultsSpec::default())),
                "flow/f",
                "rx_bytes",
            )
        });
        assert!(rates.is_sorted() && rates[2] > 3 * rates[0], "{cc}: {rates:?}");
    }
}

fn any_share(most: f64) -> impl Strategy<Value = Option<ShareSpec>> {
    prop::option::of(
        (0.0..most, prop_oneof![Just(0), any::<u32>()])
            .prop_map(|(share, correlation)| ShareSpec { share: chance(share), correlation }),
    )
}

fn any_loss() -> impl Strategy<Value = Option<LossSpec>> {
    prop_oneof![
        any_share(0.2).prop_map(|share| share.map(LossSpec::Random)),
        (0.0..0.05, 0.1..1.0, 0.0..1.0).prop_map(|(p, r, h): (f64, f64, f64)| Some(LossSpec::Gilbert {
            p: chance(p),
            r: chance(r),
            h: chance(h),
            one_minus_k: chance(0.001)
        })),
        (0.0..1e-5).prop_map(|rate| Some(LossSpec::BitErrors { rate })),
    ]
}

fn any_jitter() -> impl Strategy<Value = Option<JitterSpec>> {
    let shape = prop_oneof![
        Just(JitterShape::Uniform),
        Just(JitterShape::Normal),
        Just(JitterShape::Pareto),
        Just(JitterShape::Table(vec![-8192, 0, 32_767]))
    ];
    prop::option::of((1..30 * MS, any::<bool>(), shape).prop_map(|(deviation_ns, keep_order, shape)| JitterSpec {
        deviation_ns,
        correlation: 0,
        keep_order,
        shape,
    }))
}

fn any_faults() -> impl Strategy<Value = FaultsSpec> {
    let reorder = prop::option::of((0.0..0.5, 1..9_u32).prop_map(|(share, gap)| ReorderSpec {
        share: chance(share),
        correlation: 0,
        gap,
    }));
    (any_loss(), any_jitter(), reorder, any_share(0.3), any_share(0.1), any::<bool>()).prop_map(
        |(loss, jitter, reorder, duplicate, corrupt, ecn)| FaultsSpec {
            loss,
            ecn,
            jitter,
            reorder,
            duplicate,
            corrupt,
        },
    )
}

/// Everything that sends over a link that may do anything.
fn any_world() -> impl Strategy<Value = NetworkSpec> {
    let stack = prop::sample::select(vec!["linux-6.12", "linux-5.1-sce", "linux-3.9", "linux-2.6", "freebsd-9"]);
    (stack, any_faults(), any_faults(), any::<u64>(), 0..4_u8).prop_map(|(stack, forward, reverse, seed, kind)| {
        let mut sized = flow("sized", "reno", stack);
        sized.transfer_bytes = Some(100_000);
        let mut net = world(
            6,
            vec![sized, flow("bulk", "reno", stack), back(flow("back", "cubic", "linux-6.12"))],
            &forward,
            &reverse,
        );
        net.seed = seed;
        let tcp = |id: &str| TcpSpec { connections: vec![], ..flow(id, "cubic", "linux-6.12") };
        match kind {
            0 => net,
            1 => with_udp(net, vec![udp(5 * MS, 2 * SEC)]),
            2 => {
                let [request_bytes, response_bytes, think_ns] = [200, 30_000, 10 * MS].map(Into::into);
                let tcp = flow("e", "cubic", "linux-6.12");
                with_exchange(net, ExchangeSpec { tcp, request_bytes, response_bytes, count: 5, think_ns })
            }
            _ => with(
                net,
                WorkloadSpec::Transfers(TransfersSpec {
                    tcp: tcp("t"),
                    size_bytes: 10_000.into(),
                    arrivals: ArrivalsSpec::Regular { interval_ns: 50 * MS },
                    rtt_ns: None,
                    paths: vec![],
                    start_ns: 0,
                    stop_ns: None,
                    count: None,
                    ports: [20_000, 6000],
                    source_ports: [20_000, 20_040],
                    rows: true,
                }),
            ),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn whatever_befalls_packets_they_are_conserved_and_data_arrive_in_order(net in any_world()) {
        // Every run checks that packets are conserved.
        let out = run(&net);
        for name in ["sized", "bulk", "back"] {
            let entity = format!("flow/{name}");
            let read = counter(&out, &entity, "rx_bytes");
            let arrived = counter(&out, &entity, "arrived_packets") - counter(&out, &entity, "duplicate_packets");
            prop_assert!(read.div_ceil(MSS) <= arrived, "{}", entity);
            prop_assert!(name != "sized" || read <= 100_000);
        }
        prop_assert_eq!(fingerprint(&out), fingerprint(&run(&net)));
    }
}
