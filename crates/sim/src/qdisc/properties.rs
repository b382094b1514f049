//! Properties of every discipline that does not shape itself, for any arrival pattern.

use proptest::prelude::*;

use super::lab::{packet, Lab};
use super::{Qdisc, Verdict};
use crate::packet::Ecn;
use crate::spec::{
    CodelFloor, CodelSpec, DualPi2Mask, DualPi2Spec, DualPi2Variant, FqSpec, Pie2013Spec, PieSpec, QdiscSpec,
    QueuesSpec, RedSpec, SfqSpec,
};
use crate::time::{Time, MS, US};

const FLOWS: u32 = 6;

/// An arrival: flow, length, whether ECN-capable, ns since the one before.
type Arrival = (u32, u32, bool, u64);

#[derive(Clone, Debug)]
struct Pattern {
    spec: QdiscSpec,
    /// Time that a byte takes on the line, ns.
    byte_ns: u64,
    /// The line looks at a packet before it takes it, as a token bucket does.
    peeks: bool,
    seed: u64,
    arrivals: Vec<Arrival>,
}

fn codel() -> impl Strategy<Value = CodelSpec> {
    let threshold = prop::option::of(0..20 * MS);
    let floor = prop::sample::select(vec![CodelFloor::Mtu, CodelFloor::LargestSeen]);
    let selector = prop::option::of((0..4_u8, 0..4_u8));
    (US..20 * MS, MS..50 * MS, any::<bool>(), threshold, selector, floor, any::<bool>()).prop_map(
        |(target_ns, interval_ns, ecn, ce_threshold_ns, ce_threshold_selector, floor, forgets_when_empty)| CodelSpec {
            target_ns,
            interval_ns,
            ecn,
            ce_threshold_ns,
            ce_threshold_selector,
            floor,
            forgets_when_empty,
        },
    )
}

fn pie() -> impl Strategy<Value = PieSpec> {
    (US..20 * MS, MS..40 * MS, 0..33_u32, 0..33_u32, any::<(bool, bool, bool)>()).prop_map(
        |(target_ns, tupdate_ns, alpha, beta, (ecn, bytemode, dq_rate_estimator))| PieSpec {
            target_ns,
            tupdate_ns,
            alpha,
            beta,
            ecn,
            bytemode,
            dq_rate_estimator,
        },
    )
}

fn red() -> impl Strategy<Value = RedSpec> {
    (1500..20_000_u64, 1..60_000_u64, 5000..=1_u64 << 32, 0..40_u64, any::<(bool, bool, bool, bool, bool)>()).prop_map(
        |(min_bytes, more, max_p, burst, (ecn, harddrop, nodrop, adaptive, gentle))| RedSpec {
            min_bytes,
            max_bytes: min_bytes + more,
            max_p,
            avpkt_bytes: 1000,
            burst_packets: 1 + min_bytes / 1000 + burst,
            bandwidth_bps: 10_000_000,
            ecn,
            harddrop,
            nodrop,
            adaptive,
            gentle,
        },
    )
}

fn sfq() -> impl Strategy<Value = SfqSpec> {
    let flows = prop::option::of(1..200_u32);
    (2..100_u64, 1..12_u32, 256..4000_u32, 2..130_u64, 0..3_u32, any::<bool>(), flows).prop_map(
        |(limit_packets, log, quantum_bytes, depth_packets, perturb_s, headdrop, flows)| SfqSpec {
            limit_packets,
            divisor: 1 << log,
            quantum_bytes,
            depth_packets,
            perturb_s,
            headdrop,
            flows,
        },
    )
}

fn fq() -> impl Strategy<Value = FqSpec> {
    let time = || prop::option::of(0..20 * MS);
    (1..100_u64, 1..50_u64, 256..4000_u32, 0..20_000_u32, time(), time()).prop_map(
        |(
            limit_packets,
            flow_limit_packets,
            quantum_bytes,
            initial_quantum_bytes,
            ce_threshold_ns,
            refill_delay_ns,
        )| FqSpec {
            limit_packets,
            flow_limit_packets,
            quantum_bytes,
            initial_quantum_bytes,
            ce_threshold_ns,
            refill_delay_ns,
        },
    )
}

fn dualpi2() -> impl Strategy<Value = DualPi2Spec> {
    let variant = prop::sample::select(vec![DualPi2Variant::Linux, DualPi2Variant::Rfc]);
    let mask = prop::sample::select(vec![DualPi2Mask::L4sEct, DualPi2Mask::AnyEct]);
    let step = (0..5 * MS, prop::option::of(0..20_u64), 0..20_u64);
    (1..100_u64, 1..5_u32, 0..101_u32, US..20 * MS, 50 * US..40 * MS, variant, mask, step, any::<(bool, bool)>())
        .prop_map(|(limit_packets, coupling, protection, target_ns, tupdate_ns, variant, ecn_mask, step, flags)| {
            DualPi2Spec {
                variant,
                limit_packets,
                memory_limit_bytes: None,
                coupling,
                step_ns: step.0,
                step_packets: step.1,
                min_qlen_step_packets: step.2,
                ramp_from_ns: step.0,
                ramp_to_ns: step.0 + MS,
                drop_on_overload: flags.0,
                drop_enqueue: flags.1,
                ecn_mask,
                classic_protection: protection,
                target_ns,
                tupdate_ns,
                alpha: 4100,
                beta: 8190,
                split_gso: true,
            }
        })
}

fn queues() -> impl Strategy<Value = QueuesSpec> {
    (1..2000_u32, 256..4000_u32, prop::option::of(2_000..200_000_u64))
        .prop_map(|(flows, quantum_bytes, memory_limit_bytes)| QueuesSpec { flows, quantum_bytes, memory_limit_bytes })
}

fn spec() -> impl Strategy<Value = QdiscSpec> {
    let limit = 1..100_u64;
    prop_oneof![
        limit.clone().prop_map(|limit_packets| QdiscSpec::Pfifo { limit_packets }),
        (1..100_000_u64).prop_map(|limit_bytes| QdiscSpec::Bfifo { limit_bytes }),
        (limit.clone(), codel()).prop_map(|(limit_packets, control)| QdiscSpec::Codel { limit_packets, control }),
        (limit.clone(), queues(), 1..70_u64, any::<bool>(), codel()).prop_map(
            |(limit_packets, queues, drop_batch, drops_raise_count, control)| {
                QdiscSpec::FqCodel { limit_packets, queues, drop_batch, drops_raise_count, control }
            }
        ),
        (limit.clone(), pie()).prop_map(|(limit_packets, control)| QdiscSpec::Pie { limit_packets, control }),
        (limit.clone(), MS..20 * MS, 10 * MS..40 * MS, 0..33_u32, 100..10_001_u32).prop_map(
            |(limit_packets, target_ns, tupdate_ns, alpha, hz)| {
                let control = Pie2013Spec { target_ns, tupdate_ns, alpha, beta: 20, hz };
                QdiscSpec::Pie2013 { limit_packets, control }
            }
        ),
        (1..200_000_u64, red()).prop_map(|(limit_bytes, control)| QdiscSpec::Red { limit_bytes, control }),
        sfq().prop_map(QdiscSpec::Sfq),
        fq().prop_map(QdiscSpec::Fq),
        dualpi2().prop_map(QdiscSpec::DualPi2),
        (limit, queues(), 0..101_u64, pie()).prop_map(|(limit_packets, queues, ecn_prob, control)| {
            QdiscSpec::FqPie { limit_packets, queues, ecn_prob, control }
        }),
    ]
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let gap = prop_oneof![4 => Just(0), 4 => 0..100_000_u64, 1 => 0..50 * MS];
    let arrivals = prop::collection::vec((0..FLOWS, 60..1515_u32, any::<bool>(), gap), 1..400);
    (spec(), 10..2_000_u64, any::<bool>(), any::<u64>(), arrivals)
        .prop_map(|(spec, byte_ns, peeks, seed, arrivals)| Pattern { spec, byte_ns, peeks, seed, arrivals })
}

/// The packets sent and dropped, with their times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct History {
    sent: Vec<(Time, usize, u32, u16, Ecn)>,
    dropped: Vec<(usize, u32, u16)>,
    ce_marks: u64,
}

/// A discipline behind a line, with the invariants checked at each step.
struct Run {
    lab: Lab,
    byte_ns: u64,
    peeks: bool,
    free_at: Time,
    history: History,
    offered: (usize, u64),
}

impl Run {
    fn arrive(&mut self, arrival: Arrival, seq: u32) {
        let (flow, len, ect, _) = arrival;
        self.offered.0 += 1;
        self.offered.1 += u64::from(len);
        let verdict = self.lab.offer(packet(flow, len, seq, if ect { Ecn::Ect0 } else { Ecn::NotEct }));
        let own = self.lab.dropped.iter().any(|(d, _)| d.number() == seq);
        assert!(verdict != Verdict::Dropped || own);
        assert!(verdict == Verdict::Queued || !self.lab.dropped.is_empty());
        self.check();
    }

    /// Everything is sent, dropped or held.
    fn check(&mut self) {
        let drops = self.lab.dropped.drain(..).map(|(p, _)| (p.flow(), p.number(), p.len));
        self.history.dropped.extend(drops);
        let h = &self.history;
        let bytes: u64 = h.sent.iter().map(|s| u64::from(s.3)).chain(h.dropped.iter().map(|d| u64::from(d.2))).sum();
        let held = (self.lab.qdisc.packets(), self.lab.qdisc.bytes());
        assert_eq!((h.sent.len() + h.dropped.len() + held.0, bytes + held.1), self.offered);
        assert_eq!(self.lab.found(), held);
    }

    /// Serves the queue up to `until`.
    fn serve(&mut self, until: Time) {
        while self.free_at.max(self.lab.now) <= until {
            self.lab.now = self.lab.now.max(self.free_at);
            let seen = if self.peeks { self.lab.peek() } else { None };
            self.check();
            let Some(p) = self.lab.take() else {
                assert_eq!(self.lab.qdisc.packets(), 0, "idle with packets held");
                break;
            };
            assert!(!self.peeks || seen == Some(u32::from(p.len)));
            assert!(self.peeks || self.lab.qdisc.stats().last_sojourn == self.lab.sojourn);
            self.free_at = self.lab.now + u64::from(p.len) * self.byte_ns;
            self.history.sent.push((self.lab.now, p.flow(), p.number(), p.len, p.ecn()));
            self.check();
        }
    }
}

fn run(pattern: &Pattern) -> History {
    let lab = Lab::new(&pattern.spec, pattern.seed);
    let (byte_ns, peeks) = (pattern.byte_ns, pattern.peeks);
    let mut run = Run { lab, byte_ns, peeks, free_at: 0, history: History::default(), offered: (0, 0) };
    let mut at = 0;
    for (seq, &arrival) in (0..).zip(&pattern.arrivals) {
        at += arrival.3;
        run.serve(at);
        run.lab.now = at;
        run.arrive(arrival, seq);
    }
    run.serve(Time::MAX / 2);
    assert_eq!((run.lab.qdisc.packets(), run.lab.qdisc.bytes()), (0, 0));
    run.history.ce_marks = run.lab.qdisc.stats().ce_marks;
    run.history
}

proptest! {
    #[test]
    fn packets_are_conserved_in_order_without_idling(pattern in pattern()) {
        let history = run(&pattern);
        let capable = |seq: u32| pattern.arrivals[seq as usize].2;
        for flow in 0..FLOWS {
            // dualpi2 has a queue for packets that are ECN-capable and one for the others.
            let queues = matches!(pattern.spec, QdiscSpec::DualPi2(_)).then_some([false, true]);
            for queue in queues.map_or(vec![None], |two| two.map(Some).to_vec()) {
                let sent = history.sent.iter().filter(|s| s.1 == flow as usize).map(|s| s.2);
                let order: Vec<u32> = sent.filter(|&seq| queue.is_none_or(|ect| capable(seq) == ect)).collect();
                prop_assert!(order.is_sorted_by(|a, b| a < b), "flow {flow}: {order:?}");
            }
        }
        prop_assert!(history.sent.iter().all(|s| capable(s.2) == (s.4 != Ecn::NotEct)));
        let marked = history.sent.iter().filter(|s| s.4 == Ecn::Ce).count() as u64;
        prop_assert!(marked <= history.ce_marks);
        prop_assert!(history.ce_marks == 0 || pattern.arrivals.iter().any(|a| a.2));
    }

    #[test]
    fn same_pattern_same_history(pattern in pattern()) {
        prop_assert_eq!(run(&pattern), run(&pattern));
    }
}
