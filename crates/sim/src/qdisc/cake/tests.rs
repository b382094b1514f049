//! A whole cake against the closed forms of its parts.

use super::flows::{associate, Place, QUEUES};
use super::Cake;
use crate::packet::{flags, DropCause, Ecn, Packet, ACK_FRAME, FULL_FRAME};
use crate::qdisc::lab::{self, packet, Answer};
use crate::qdisc::truesize::truesize;
use crate::qdisc::{AnyQdisc, FlowTuple, Qdisc, Verdict};
use crate::rng::Rng;
use crate::spec::{CakeFraming, CakeIsolation, QdiscSpec};
use crate::time::{MS, SEC};

/// A cake with its port's queue_context.
pub(super) type Lab = lab::Lab<Cake>;

/// tc's defaults.
pub(super) fn spec(rate_bps: Option<u64>, isolation: CakeIsolation, sce: u32) -> QdiscSpec {
    QdiscSpec::Cake {
        rate_bps,
        isolation,
        rtt_ns: 100 * MS,
        overhead_bytes: None,
        mpu_bytes: 0,
        framing: CakeFraming::Noatm,
        memory_limit_bytes: None,
        sce,
    }
}

/// The same with a memory limit.
pub(super) fn limited(mut spec: QdiscSpec, bytes: u64) -> QdiscSpec {
    if let QdiscSpec::Cake { memory_limit_bytes, .. } = &mut spec {
        *memory_limit_bytes = Some(bytes);
    }
    spec
}

/// Flow `i`: its own source and destination host.
fn separate(i: u32) -> FlowTuple {
    FlowTuple { src: 0x0a00_0001 + i, dst: 0x0a01_0001 + i, sport: i as u16, dport: 5_001 }
}

/// A cake between flows with these addresses.
pub(super) fn cake_lab(spec: &QdiscSpec, seed: u64, tuples: Vec<FlowTuple>) -> Lab {
    let mut rng = Rng::for_component(seed, "port/q");
    let cake = Cake::from_spec(spec, &mut rng).unwrap();
    Lab::with(cake, lab::queue_context(rng, tuples))
}

impl Lab {
    /// Flows between hosts of their own.
    fn separate(spec: &QdiscSpec, flows: u32) -> Self {
        cake_lab(spec, 1, (0..flows).map(separate).collect())
    }

    fn fill(&mut self, flow: u32, len: u32, n: u32) {
        for seq in 0..n {
            assert_eq!(self.offer(packet(flow, len, seq, Ecn::Ect0)), Verdict::Queued);
        }
    }

    /// The next packet, as soon as it may leave.
    fn send(&mut self) -> Option<Packet> {
        loop {
            match self.dequeue() {
                Answer::Packet(p) => return Some(p),
                Answer::Wait(t) => self.now = t,
                Answer::Empty => return None,
            }
        }
    }

    /// The queue a flow's packet goes to.
    fn queue_of(&mut self, p: Packet) -> usize {
        self.act(|cake, s| cake.flows.classify(&p, &s.tuples, &mut cake.drr))
    }

    /// Bytes of each flow sent while every flow keeps a few packets waiting; lengths are those of each flow.
    fn saturate(&mut self, lengths: &[u32], packets: u32) -> Vec<u64> {
        let mut sent = vec![0; lengths.len()];
        for (flow, &len) in (0..).zip(lengths) {
            self.fill(flow, len, 8);
        }
        for seq in 0..packets {
            let p = self.send().unwrap();
            sent[p.flow()] += u64::from(p.len);
            self.offer(packet(p.flow() as u32, u32::from(p.len), seq, Ecn::Ect0));
        }
        sent
    }
}

#[test]
fn departures_keep_the_rate_to_one_in_a_million() {
    for bps in [500_000, 1_000_000, 7_777_777, 50_000_000, 100_000_000, 1_000_000_000] {
        let mut lab = Lab::separate(&spec(Some(bps), CakeIsolation::Flowblind, 0), 1);
        lab.now = SEC;
        let mut bits = 0.0;
        for seq in 0..100_000 {
            let len = if seq % 3 == 0 { ACK_FRAME } else { FULL_FRAME };
            lab.offer(packet(0, len, seq, Ecn::Ect0));
            lab.offer(packet(0, len, seq, Ecn::Ect0));
            assert!(lab.send().is_some());
            bits += f64::from(len) * 8.0;
            assert!(lab.send().is_some());
            bits += f64::from(len) * 8.0;
        }
        // The clock stands at the last departure; the last packet's own time is charged to its successor.
        lab.offer(packet(0, FULL_FRAME, 0, Ecn::Ect0));
        lab.send();
        let exact = bits / (bps / 8 * 8) as f64 * 1e9;
        let took = (lab.now - SEC) as f64;
        assert!((took / exact - 1.0).abs() < 1e-6, "{bps}: {took} ns, not {exact}");
    }
}

#[test]
fn an_isolated_packet_leaves_at_once() {
    let mut lab = Lab::separate(&spec(Some(1_000_000), CakeIsolation::TripleIsolate, 1), 1);
    for now in [0, SEC, SEC + 12_112_000] {
        lab.now = now;
        lab.offer(packet(0, FULL_FRAME, 0, Ecn::Ect0));
        assert!(matches!(lab.dequeue(), Answer::Packet(p) if p.ecn == Ecn::Ect0));
        assert_eq!(lab.qdisc.stats().last_sojourn, 0);
        assert!(matches!(lab.dequeue(), Answer::Empty));
    }
    // Its time is charged to the next one.
    lab.now += MS;
    lab.offer(packet(0, FULL_FRAME, 1, Ecn::Ect0));
    let Answer::Wait(t) = lab.dequeue() else { panic!("left too early") };
    assert!(t.abs_diff(SEC + 2 * 12_112_000) <= 2, "{t}");
}

#[test]
fn a_late_service_is_caught_up() {
    let mut lab = Lab::separate(&spec(Some(10_000_000), CakeIsolation::Flowblind, 0), 1);
    lab.fill(0, FULL_FRAME, 10);
    lab.now = 5 * 1_211_200 - 1_000;
    let mut left = 0;
    let wait = loop {
        match lab.dequeue() {
            Answer::Packet(_) => left += 1,
            Answer::Wait(t) => break t,
            Answer::Empty => panic!("five packets are left"),
        }
    };
    assert_eq!(left, 5);
    assert!(wait.abs_diff(5 * 1_211_200) <= 5);
}

#[test]
fn charged_length_paces_departures() {
    let mut spec = spec(Some(8_000_000), CakeIsolation::Flowblind, 0);
    if let QdiscSpec::Cake { overhead_bytes, framing, .. } = &mut spec {
        (*overhead_bytes, *framing) = (Some(32), CakeFraming::Atm);
    }
    let mut lab = Lab::separate(&spec, 1);
    lab.fill(0, FULL_FRAME, 2);
    lab.send();
    lab.send();
    // 1500 + 32 bytes take 32 cells of 53 bytes, 1 us a byte.
    assert!(lab.now.abs_diff(32 * 53 * 1_000) <= 1, "{}", lab.now);
    assert_eq!(lab.qdisc.bytes(), 0);
}

#[test]
fn a_cake_without_rate_never_waits() {
    let mut lab = Lab::separate(&spec(None, CakeIsolation::TripleIsolate, 0), 2);
    assert!(!lab.qdisc.shapes_itself());
    lab.fill(0, FULL_FRAME, 20);
    lab.fill(1, FULL_FRAME, 20);
    for _ in 0..40 {
        assert!(matches!(lab.dequeue(), Answer::Packet(_)));
    }
    assert!(matches!(lab.dequeue(), Answer::Empty));
}

#[test]
fn sce_marks_follow_sojourn_time() {
    // Without a rate the sojourn is what the test makes it; the target is 5 ms.
    for (sojourn, expected) in [(2_500_000, 0.0), (3_000_000, 0.2), (3_750_000, 0.5), (5_000_000, 0.998)] {
        let mut lab = Lab::separate(&spec(None, CakeIsolation::Flowblind, 1), 1);
        for seq in 0..20_000 {
            lab.offer(packet(0, FULL_FRAME, seq, Ecn::Ect0));
            lab.now += sojourn;
            let p = lab.send().unwrap();
            assert!(matches!(p.ecn, Ecn::Ect0 | Ecn::Sce));
        }
        let got = lab.qdisc.stats().sce_marks as f64 / 20_000.0;
        assert!((got - expected).abs() < 0.018, "{sojourn}: {got}, not {expected}");
        assert_eq!(lab.qdisc.stats().ce_marks, 0);
    }
}

#[test]
fn ce_wins_over_sce_and_a_new_queue_marks_its_second_late_packet() {
    let mut lab = Lab::separate(&spec(None, CakeIsolation::Flowblind, 1), 1);
    lab.fill(0, FULL_FRAME, 4);
    lab.now = 6 * MS;
    let marks: Vec<Ecn> = (0..4).map(|_| lab.send().unwrap().ecn).collect();
    assert_eq!(marks, [Ecn::Sce, Ecn::Ce, Ecn::Sce, Ecn::Sce]);
    assert_eq!((lab.qdisc.stats().ce_marks, lab.qdisc.stats().sce_marks), (1, 3));
}

#[test]
fn the_last_packet_is_never_dropped() {
    let mut lab = Lab::separate(&spec(None, CakeIsolation::Flowblind, 0), 1);
    for seq in 0..3 {
        lab.offer(packet(0, FULL_FRAME, seq, Ecn::NotEct));
    }
    lab.now = 6 * MS;
    // The second packet is due and goes; the third would have followed but is the last.
    assert_eq!(lab.send().unwrap().seq, 0);
    assert_eq!(lab.send().unwrap().seq, 2);
    assert_eq!(lab.dropped.len(), 1);
    assert_eq!((lab.dropped[0].0.seq, lab.dropped[0].1), (1, DropCause::Aqm));
    // A queue of one packet that is long overdue.
    for seq in 3..20 {
        lab.offer(packet(0, FULL_FRAME, seq, Ecn::NotEct));
        lab.now += SEC;
        assert_eq!(lab.send().unwrap().seq, seq);
    }
    assert_eq!(lab.dropped.len(), 1);
}

#[test]
fn two_flows_between_one_pair_of_hosts_share_equally() {
    let pair = |port| FlowTuple { src: 1, dst: 2, sport: port, dport: 5001 };
    for isolation in [CakeIsolation::TripleIsolate, CakeIsolation::Flows, CakeIsolation::DualDsthost] {
        let mut lab = cake_lab(&spec(Some(50_000_000), isolation, 0), 1, vec![pair(40_000), pair(40_001)]);
        let sent = lab.saturate(&[FULL_FRAME, 500], 40_000);
        let share = sent[0] as f64 / (sent[0] + sent[1]) as f64;
        assert!((share - 0.5).abs() < 0.002, "{isolation:?}: {share}");
    }
}

#[test]
fn shares_of_hosts() {
    // Three flows of source 1 and one of source 2, to one destination.
    let tuples: Vec<FlowTuple> =
        [(1, 1), (1, 2), (1, 3), (2, 4)].map(|(src, sport)| FlowTuple { src, dst: 9, sport, dport: 5001 }).into();
    let backwards: Vec<FlowTuple> =
        tuples.iter().map(|t| FlowTuple { src: t.dst, dst: t.src, sport: t.dport, dport: t.sport }).collect();
    let last_share = |isolation, tuples: &[FlowTuple]| {
        let mut lab = cake_lab(&spec(Some(50_000_000), isolation, 0), 1, tuples.to_vec());
        let sent = lab.saturate(&[FULL_FRAME; 4], 20_000);
        sent[3] as f64 / sent.iter().sum::<u64>() as f64
    };
    let check = |isolation, tuples: &[FlowTuple], expected: f64| {
        let share = last_share(isolation, tuples);
        assert!((share - expected).abs() < 0.01, "{isolation:?}: {share}, not {expected}");
    };
    check(CakeIsolation::Flows, &tuples, 0.25);
    check(CakeIsolation::Srchost, &tuples, 0.5);
    check(CakeIsolation::Hosts, &tuples, 0.5);
    check(CakeIsolation::DualSrchost, &tuples, 0.5);
    check(CakeIsolation::DualDsthost, &tuples, 0.25);
    check(CakeIsolation::Dsthost, &backwards, 0.5);
    check(CakeIsolation::DualDsthost, &backwards, 0.5);
    check(CakeIsolation::DualSrchost, &backwards, 0.25);
    // All four flows share the destination, whose load of four then binds everybody.
    check(CakeIsolation::TripleIsolate, &tuples, 0.25);
}

#[test]
fn triple_isolation_divides_by_the_busier_host() {
    // Source 1 has three flows, source 2 one; destinations are distinct.
    let tuples = [(1, 1), (1, 2), (1, 3), (2, 4)].map(|(src, n)| FlowTuple {
        src,
        dst: 100 + u32::from(n),
        sport: n,
        dport: 5001,
    });
    let mut lab = cake_lab(&spec(Some(50_000_000), CakeIsolation::TripleIsolate, 0), 1, tuples.into());
    let sent = lab.saturate(&[FULL_FRAME; 4], 20_000);
    let total: u64 = sent.iter().sum();
    for (i, expected) in [1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0, 0.5].into_iter().enumerate() {
        let share = sent[i] as f64 / total as f64;
        assert!((share - expected).abs() < 0.01, "flow {i}: {share}");
    }
}

#[test]
fn a_sparse_flow_overtakes_bulk_flows() {
    let mut lab = Lab::separate(&spec(Some(10_000_000), CakeIsolation::TripleIsolate, 0), 3);
    lab.fill(0, FULL_FRAME, 50);
    lab.fill(1, FULL_FRAME, 50);
    for _ in 0..10 {
        lab.send();
    }
    let now = lab.now;
    lab.offer(packet(2, ACK_FRAME, 0, Ecn::Ect0));
    let p = lab.send().unwrap();
    assert_eq!(p.flow(), 2);
    assert!(lab.now - now <= 1_211_201);
    // A flow that goes on past its quantum becomes bulk and takes its turn.
    lab.fill(2, FULL_FRAME, 50);
    let flows: Vec<usize> = (0..30).map(|_| lab.send().unwrap().flow()).collect();
    for flow in 0..3 {
        let n = flows.iter().filter(|&&f| f == flow).count();
        assert!((9..=11).contains(&n), "{flow}: {n} of 30");
    }
}

#[test]
fn quantum_follows_the_rate() {
    for (bps, quantum) in [
        (Some(500_000), 300),
        (Some(10_000_000), 305),
        (Some(25_000_000), 762),
        (Some(100_000_000), 1514),
        (None, 1514),
    ] {
        // A new flow starts with one quantum: it stays ahead of the bulk flow until it has sent that much.
        let mut turned = Lab::separate(&spec(Some(40_000_000), CakeIsolation::Flows, 0), 2);
        bps.inspect(|&bps| turned.qdisc.set_rate(bps));
        let labs = [Some(Lab::separate(&spec(bps, CakeIsolation::Flows, 0), 2)), bps.map(|_| turned)];
        for mut lab in labs.into_iter().flatten() {
            lab.fill(0, 30, 200);
            for _ in 0..55 {
                lab.send();
            }
            lab.fill(1, 30, 100);
            let ahead = (0..100).take_while(|_| lab.send().is_some_and(|p| p.flow() == 1)).count() as u32;
            // Sent while the deficit is above zero; dithering takes at most one byte off the quantum.
            assert!([quantum, quantum - 1].map(|q: u32| q.div_ceil(30)).contains(&ahead), "{bps:?}: {ahead} packets");
        }
    }
}

#[test]
fn flowblind_is_a_fifo() {
    let mut lab = Lab::separate(&spec(Some(10_000_000), CakeIsolation::Flowblind, 0), 4);
    for seq in 0..40 {
        lab.offer(packet(seq % 4, FULL_FRAME, seq, Ecn::Ect0));
    }
    let order: Vec<u32> = std::iter::from_fn(|| lab.send().map(|p| p.seq)).collect();
    assert_eq!(order, (0..40).collect::<Vec<u32>>());
}

#[test]
fn eight_flows_of_one_set_get_queues_of_their_own() {
    let spec = spec(Some(10_000_000), CakeIsolation::TripleIsolate, 0);
    // Flows whose hashes fall into the set that the first one falls into, as far as nine of them.
    let all: Vec<FlowTuple> = (0..4_000).map(separate).collect();
    let mut probe = cake_lab(&spec, 1, all.clone());
    let set = |t: &FlowTuple| probe.qdisc.flows.hash(t) as usize % QUEUES / 8;
    let wanted = set(&all[0]);
    let same: Vec<FlowTuple> = all.iter().copied().filter(|t| set(t) == wanted).take(9).collect();
    assert_eq!(same.len(), 9);
    probe = cake_lab(&spec, 1, same);
    let mut queues = Vec::new();
    for flow in 0..9 {
        let p = packet(flow, FULL_FRAME, 0, Ecn::Ect0);
        probe.offer(p);
        queues.push(probe.queue_of(p));
    }
    let mut distinct = queues[..8].to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 8);
    assert!(distinct.contains(&queues[8]), "the ninth shares");
}

#[test]
fn places_of_a_hash() {
    let at = 1024 * 7 + 8 * 5 + 6;
    assert_eq!(associate(at, |i| i == 41, |_| true), Place::Mine(41));
    assert_eq!(associate(at, |_| false, |i| i != 46 && i != 47), Place::Free(40));
    assert_eq!(associate(at, |i| i == 48, |_| false), Place::Shared(46));
}

#[test]
fn hash_spreads_flows_evenly() {
    let mut lab = Lab::separate(&spec(None, CakeIsolation::Flows, 0), 0);
    let mut buckets = vec![0_u32; QUEUES];
    for i in 0..65_536 {
        buckets[lab.qdisc.flows.hash(&separate(i)) as usize % QUEUES] += 1;
    }
    // Chi-squared with 1023 degrees of freedom: mean 1023, deviation 45.
    let chi: f64 = buckets.iter().map(|&n| (f64::from(n) - 64.0).powi(2) / 64.0).sum();
    assert!((chi - 1023.0).abs() < 5.0 * 45.0, "{chi}");
    // Another seed, another spread.
    let first = lab.qdisc.flows.hash(&separate(0));
    lab = cake_lab(&spec(None, CakeIsolation::Flows, 0), 2, vec![]);
    assert_ne!(lab.qdisc.flows.hash(&separate(0)), first);
}

#[test]
fn acks_are_flows_of_the_other_direction() {
    let tuples = vec![separate(0), FlowTuple { src: separate(0).dst, dst: separate(0).src, sport: 5_001, dport: 0 }];
    let mut lab = cake_lab(&spec(Some(10_000_000), CakeIsolation::TripleIsolate, 0), 1, tuples);
    let data = packet(0, FULL_FRAME, 0, Ecn::Ect0);
    let ack = Packet { flags: flags::ACK, ..packet(0, ACK_FRAME, 0, Ecn::NotEct) };
    let reverse = packet(1, FULL_FRAME, 0, Ecn::Ect0);
    assert_ne!(lab.queue_of(data), lab.queue_of(ack));
    assert_eq!(lab.queue_of(reverse), lab.queue_of(ack));
}

#[test]
fn memory_charged_is_a_received_packets() {
    assert_eq!(truesize(FULL_FRAME), 2304);
    assert_eq!(truesize(ACK_FRAME), 768);
}

#[test]
fn memory_limits() {
    let limit = |rate, bytes: Option<u64>| {
        let spec = spec(rate, CakeIsolation::Flowblind, 0);
        let spec = bytes.map_or(spec.clone(), |b| limited(spec, b));
        Lab::separate(&spec, 1).qdisc.memory_limit
    };
    assert_eq!(limit(Some(10_000_000), None), 4 << 20);
    assert_eq!(limit(Some(100_000_000), None), 5_000_000);
    assert_eq!(limit(Some(1_000_000_000), None), 10_240 * 1514);
    assert_eq!(limit(None, None), 10_240 * 1514);
    assert_eq!(limit(Some(10_000_000), Some(100_000)), 100_000);
    assert_eq!(limit(Some(10_000_000), Some(64 << 20)), 64 << 20);
}

#[test]
fn overflow_drops_the_head_of_the_fattest_queue() {
    // Room for 20 full packets.
    let spec = limited(spec(Some(10_000_000), CakeIsolation::TripleIsolate, 0), 20 * 2304);
    let mut lab = Lab::separate(&spec, 3);
    lab.fill(0, FULL_FRAME, 5);
    lab.fill(1, FULL_FRAME, 10);
    lab.fill(2, FULL_FRAME, 5);
    assert_eq!(lab.offer(packet(0, FULL_FRAME, 5, Ecn::Ect0)), Verdict::Queued);
    assert_eq!(lab.offer(packet(1, FULL_FRAME, 10, Ecn::Ect0)), Verdict::Congestion);
    let heads: Vec<_> = lab.dropped.iter().map(|(p, cause)| (p.flow(), p.seq, *cause)).collect();
    assert_eq!(heads, [(1, 0, DropCause::Overflow), (1, 1, DropCause::Overflow)]);
    assert_eq!((lab.qdisc.packets(), lab.qdisc.bytes()), (20, 20 * 1514));
    // Sending changes who is the fattest.
    lab.dropped.clear();
    for round in 0..2_000_u32 {
        if round % 3 == 0 {
            lab.now += 3 * MS;
            lab.dequeue();
        }
        let most = lab.qdisc.drr.queues.iter().map(|q| q.backlog).max().unwrap();
        let flow = round * round % 7 % 3;
        let arriving = lab.queue_of(packet(flow, 0, 0, Ecn::Ect0));
        let grown = lab.qdisc.drr.queues[arriving].backlog + FULL_FRAME;
        let before: Vec<u32> = lab.qdisc.drr.queues.iter().map(|q| q.backlog).collect();
        lab.offer(packet(flow, FULL_FRAME, round, Ecn::Ect0));
        for (p, cause) in std::mem::take(&mut lab.dropped) {
            if cause == DropCause::Overflow {
                let victim = lab.queue_of(p);
                let had = if victim == arriving { grown } else { before[victim] };
                assert_eq!(had, most.max(grown), "round {round}");
            }
        }
    }
}

#[test]
fn a_packet_too_big_for_the_limit_is_dropped_itself() {
    let spec = limited(spec(Some(10_000_000), CakeIsolation::Flows, 0), 1_000);
    let mut lab = Lab::separate(&spec, 1);
    assert_eq!(lab.offer(packet(0, FULL_FRAME, 0, Ecn::Ect0)), Verdict::Dropped);
    assert_eq!((lab.qdisc.packets(), lab.dropped.len()), (0, 1));
    assert!(matches!(lab.dequeue(), Answer::Empty));
}

#[test]
fn overload_without_reaction_wakes_blue() {
    let spec = limited(spec(Some(10_000_000), CakeIsolation::Flowblind, 0), 100 * 2304);
    let mut lab = Lab::separate(&spec, 1);
    let mut causes = [0_u32; 4];
    for seq in 0..40_000 {
        // Twice the rate.
        lab.now += 605_600;
        lab.offer(packet(0, FULL_FRAME, seq, Ecn::Ect0));
        lab.dequeue();
        for (_, cause) in lab.dropped.drain(..) {
            causes[cause as usize] += 1;
        }
    }
    // Half the packets go by one cause or the other; BLUE takes over until the queue hardly overflows.
    let (overflow, blue) = (causes[DropCause::Overflow as usize], causes[DropCause::Blue as usize]);
    assert!((overflow + blue).abs_diff(20_000) < 200, "{causes:?}");
    assert!(blue > 15_000, "{causes:?}");
    assert_eq!(causes[DropCause::Aqm as usize], 0);
}

#[test]
fn an_empty_queue_decays_before_it_goes_out_of_service() {
    let mut lab = Lab::separate(&spec(Some(100_000_000), CakeIsolation::Flows, 0), 2);
    lab.fill(0, FULL_FRAME, 60);
    while lab.send().is_some() {}
    let queue = lab.queue_of(packet(0, 0, 0, Ecn::Ect0));
    assert!(lab.qdisc.drr.is_active(queue));
    // Other traffic gives it turns; its state needs an interval to come to rest.
    let mut last_active = lab.now;
    let start = lab.now;
    while lab.now < start + SEC {
        lab.now += 10 * MS;
        lab.fill(1, FULL_FRAME, 2);
        while lab.send().is_some() {}
        if lab.qdisc.drr.is_active(queue) {
            last_active = lab.now;
        }
    }
    assert!((start + 80 * MS..start + 900 * MS).contains(&last_active), "{}", last_active - start);
    // It comes back as a sparse flow.
    lab.fill(1, FULL_FRAME, 10);
    lab.send();
    lab.send();
    lab.offer(packet(0, ACK_FRAME, 7, Ecn::Ect0));
    assert_eq!(lab.send().unwrap().flow(), 0);
}

#[test]
fn a_peek_keeps_the_packet_counted() {
    let mut lab = Lab::separate(&spec(None, CakeIsolation::Flows, 0), 1);
    lab.fill(0, FULL_FRAME, 2);
    assert_eq!(lab.peek(), Some(FULL_FRAME));
    assert_eq!(lab.peek(), Some(FULL_FRAME));
    assert_eq!((lab.qdisc.packets(), lab.qdisc.bytes()), (2, 2 * 1514));
    let mut held = Vec::new();
    lab.act(|cake, s| cake.for_each(&s.packets, &mut |p| held.push(p.seq)));
    assert_eq!(held, [0, 1]);
    assert_eq!(lab.send().unwrap().seq, 0);
    assert_eq!(lab.send().unwrap().seq, 1);
    assert_eq!(lab.peek(), None);
    assert_eq!((lab.qdisc.packets(), lab.qdisc.bytes()), (0, 0));
}

#[test]
fn a_change_of_rate_makes_it_the_cake_of_that_rate() {
    for (from, to) in [(100_000_000, 500_000), (500_000, 1_000_000_000)] {
        let mut lab = Lab::separate(&spec(Some(from), CakeIsolation::TripleIsolate, 1), 1);
        lab.fill(0, FULL_FRAME, 3);
        assert!(lab.send().is_some());
        let next = lab.qdisc.shaper.next();
        lab.qdisc.set_rate(to);
        assert_eq!(lab.qdisc.shaper.next(), next, "the next departure stays when it was to be");
        let other = Lab::separate(&spec(Some(to), CakeIsolation::TripleIsolate, 1), 1).qdisc;
        assert_eq!(lab.qdisc.cobalt, other.cobalt);
        assert_eq!(lab.qdisc.ramp, other.ramp);
        assert_eq!(lab.qdisc.memory_limit, other.memory_limit);
    }
}

#[test]
fn errors_name_the_parameter() {
    let mut rng = Rng::for_component(1, "port/q");
    let base = || spec(Some(10_000_000), CakeIsolation::Flows, 0);
    let mut error = |change: fn(&mut QdiscSpec)| {
        let mut spec = base();
        change(&mut spec);
        AnyQdisc::build(&spec, &mut rng).unwrap_err()
    };
    macro_rules! with {
        ($field:ident = $value:expr) => {
            error(|s| {
                let QdiscSpec::Cake { $field, .. } = s else { panic!("not a cake") };
                *$field = $value;
            })
        };
    }
    assert!(with!(rate_bps = Some(7)).contains("rate_bps"));
    assert!(with!(rtt_ns = 1 << 60).contains("rtt_ns"));
    assert!(with!(overhead_bytes = Some(300)).contains("overhead_bytes"));
    assert!(with!(mpu_bytes = 300).contains("mpu_bytes"));
    assert!(with!(memory_limit_bytes = Some(1 << 32)).contains("memory_limit_bytes"));
    assert!(with!(sce = 2000).contains("sce"));
    assert!(AnyQdisc::build(&base(), &mut rng).is_ok());
}
