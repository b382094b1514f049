//! Sharing of a cake between flows and between hosts.

use super::{cake_lab, separate, spec, Lab};
use crate::packet::{Agreed, Direction, Ecn, FlowTuple, Packet, ACK_FRAME, FULL_FRAME};
use crate::qdisc::cake::places::{associate, Place, QUEUES};
use crate::qdisc::lab::packet;
use crate::spec::CakeIsolation;

#[test]
fn two_flows_between_one_pair_of_hosts_share_equally() {
    let pair = |port| FlowTuple { src: 1, dst: 2, sport: port, dport: 5001, dscp: 0, agreed: Agreed::default() };
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
    let tuples: Vec<FlowTuple> = [(1, 1), (1, 2), (1, 3), (2, 4)]
        .map(|(src, sport)| FlowTuple { src, dst: 9, sport, dport: 5001, dscp: 0, agreed: Agreed::default() })
        .into();
    let backwards: Vec<FlowTuple> = tuples
        .iter()
        .map(|t| FlowTuple {
            src: t.dst,
            dst: t.src,
            sport: t.dport,
            dport: t.sport,
            dscp: 0,
            agreed: Agreed::default(),
        })
        .collect();
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
        dscp: 0,
        agreed: Agreed::default(),
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
    let order: Vec<u32> = std::iter::from_fn(|| lab.send().map(|p| p.number())).collect();
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
    let tuples = vec![
        separate(0),
        FlowTuple {
            src: separate(0).dst,
            dst: separate(0).src,
            sport: 5_001,
            dport: 0,
            dscp: 0,
            agreed: Agreed::default(),
        },
    ];
    let mut lab = cake_lab(&spec(Some(10_000_000), CakeIsolation::TripleIsolate, 0), 1, tuples);
    let data = packet(0, FULL_FRAME, 0, Ecn::Ect0);
    let ack = Packet { flags: Direction::Reverse.flags(), ..packet(0, ACK_FRAME, 0, Ecn::NotEct) };
    let reverse = packet(1, FULL_FRAME, 0, Ecn::Ect0);
    assert_ne!(lab.queue_of(data), lab.queue_of(ack));
    assert_eq!(lab.queue_of(reverse), lab.queue_of(ack));
}
