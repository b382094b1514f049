use super::loss::Loss;
use super::random::{Numbers, Share};
use super::{normal, pareto, paretonormal, Faults};
use crate::packet::Ecn;
use crate::pool::Pool;
use crate::qdisc::lab::packet;
use crate::rng::Rng;
use crate::spec::{FaultsSpec, JitterShape, JitterSpec, LossSpec, ReorderSpec, ShareSpec};
use crate::time::{MS, NEVER};

/// Half the width of the interval that holds 99.9 % of a normal distribution, in standard deviations.
const SURE: f64 = 3.29;

fn rng(what: &str) -> Rng {
    Rng::for_component(1, what)
}

fn chance(share: f64) -> u32 {
    (share * f64::from(u32::MAX)).round() as u32
}

fn share(share: f64) -> ShareSpec {
    ShareSpec { share: chance(share), correlation: 0 }
}

fn link(spec: &FaultsSpec, rate_bps: Option<u64>) -> Faults {
    Faults::build(spec, ("a", 1), 10 * MS, rate_bps, usize::MAX).unwrap()
}

/// Check that `found` of `n` events, each with probability `p`, are within the interval that holds 99.9 % of these counts.
fn assert_binomial(found: u64, n: u64, p: f64) {
    let (n, found) = (n as f64, found as f64);
    assert!((found - n * p).abs() <= SURE * (n * p * (1.0 - p)).sqrt(), "{found} of {n} for {p}");
}

#[test]
fn as_many_packets_are_lost_duplicated_and_reordered_as_were_asked_for() {
    for p in [1e-4, 1e-2, 0.3] {
        let spec = FaultsSpec {
            loss: Some(LossSpec::Random(share(p))),
            duplicate: Some(share(p)),
            corrupt: Some(share(p)),
            reorder: Some(ReorderSpec { share: chance(p), correlation: 0, gap: 1 }),
            ..FaultsSpec::default()
        };
        let (mut link, n, mut found) = (link(&spec, None), 1_000_000, [0; 4]);
        for _ in 0..n {
            let drawn = [link.duplicates(), link.loses(1514), link.corrupts(), link.due(0, 1514).is_none()];
            found.iter_mut().zip(drawn).for_each(|(count, hit)| *count += u64::from(hit));
        }
        found.into_iter().for_each(|count| assert_binomial(count, n, p));
        assert_eq!(link.counts.reordered, found[3]);
    }
}

#[test]
fn one_fault_does_not_shift_the_numbers_of_another() {
    let loss = Some(LossSpec::Random(share(0.1)));
    let alone = FaultsSpec { loss, ..FaultsSpec::default() };
    let beside = FaultsSpec { loss, duplicate: Some(share(0.1)), corrupt: Some(share(0.5)), ..FaultsSpec::default() };
    let lost = |spec| {
        let mut link = link(spec, None);
        (0..500).map(|_| (link.duplicates(), link.loses(1514), link.corrupts()).1).collect::<Vec<_>>()
    };
    assert_eq!(lost(&alone), lost(&beside));
    assert_eq!(lost(&alone).iter().filter(|&&lost| lost).count(), 47);
}

#[test]
fn nothing_befalls_at_a_share_of_nothing_and_all_at_one_of_all() {
    let [mut never, mut always] = [0, u32::MAX].map(|share| Share::new(ShareSpec { share, correlation: 0 }, rng("x")));
    assert!((0..1000).all(|_| !never.draw() && always.draw()));
}

#[test]
fn correlated_numbers_are_netems() {
    let (mut plain, correlation) = (rng("x"), chance(0.25));
    let mut numbers = Numbers::new(rng("x"), correlation);
    let mut last = u64::from(plain.u32());
    for _ in 0..100 {
        let rho = u64::from(correlation) + 1;
        last = (u64::from(plain.u32()) * ((1 << 32) - rho) + last * rho) >> 32;
        assert_eq!(u64::from(numbers.draw()), last);
    }
}

#[test]
fn bursts_are_those_of_gilbert_and_elliott() {
    let (p, r, h, k) = (0.01, 0.3, 0.2, 0.999);
    let spec = LossSpec::Gilbert { p: chance(p), r: chance(r), h: chance(h), one_minus_k: chance(1.0 - k) };
    let (mut loss, n) = (Loss::new(&spec, rng("x")), 2_000_000);
    let lost: Vec<bool> = (0..n).map(|_| loss.draw(66)).collect();
    let bad = p / (p + r);
    let expected = bad * (1.0 - h) + (1.0 - bad) * (1.0 - k);
    let found = lost.iter().filter(|&&lost| lost).count() as f64;
    // States of neighbouring packets are correlated by 1 - p - r, which widens the interval.
    let wider = (2.0 / (p + r)).sqrt();
    let deviation = (f64::from(n) * expected * (1.0 - expected)).sqrt() * wider;
    assert!((found - f64::from(n) * expected).abs() < SURE * deviation, "{found}");
}

#[test]
fn bursts_of_the_simple_chain_have_the_length_that_its_way_back_says() {
    let (p, r) = (0.01, 0.25);
    let spec = LossSpec::Gilbert { p: chance(p), r: chance(r), h: 0, one_minus_k: 0 };
    let (mut loss, n) = (Loss::new(&spec, rng("x")), 2_000_000);
    let lost: Vec<bool> = (0..n).map(|_| loss.draw(66)).collect();
    let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
    let all = lost.iter().filter(|&&lost| lost).count() as f64;
    let deviation = (1.0 - r).sqrt() / r;
    assert!((all / bursts - 1.0 / r).abs() < SURE * deviation / bursts.sqrt(), "{}", all / bursts);
}

#[test]
fn errors_of_bits_hit_long_frames_more_often() {
    for (rate, bytes, expected) in
        [(1e-6, 1514, 0.012_038), (1e-6, 66, 0.000_528), (1e-12, 9014, 7.211e-8), (1.0, 66, 1.0)]
    {
        let Loss::BitErrors(mut errors) = Loss::new(&LossSpec::BitErrors { rate }, rng("x")) else { unreachable!() };
        let found = errors.chance(bytes) as f64 / 2.0_f64.powi(64);
        assert!((found / expected - 1.0).abs() < 1e-3, "{rate} {bytes}: {found}");
    }
    let mut loss = Loss::new(&LossSpec::BitErrors { rate: 1e-6 }, rng("x"));
    let found = (0..1_000_000).filter(|_| loss.draw(1514)).count();
    assert_binomial(found as u64, 1_000_000, 0.012_038);
}

#[test]
fn regular_losses_are_evenly_spaced() {
    for (share, every) in [(0.25, 4..=4), (0.5, 2..=2), (0.3, 3..=4), (0.01, 100..=100)] {
        let mut loss = Loss::new(&LossSpec::Regular { share: chance(share) }, rng("x"));
        let hit: Vec<usize> = (0..100_000).filter(|_| loss.draw(1514)).collect();
        assert!(hit.windows(2).all(|pair| every.contains(&(pair[1] - pair[0]))), "{share}");
        assert!((hit.len() as f64 / 1e5 - share).abs() < 2e-5, "{share}: {}", hit.len());
    }
    let mut always = Loss::new(&LossSpec::Regular { share: u32::MAX }, rng("x"));
    assert!((0..1000).all(|_| always.draw(66)));
}

fn jitter(shape: JitterShape, keep_order: bool) -> FaultsSpec {
    let jitter = JitterSpec { deviation_ns: 2 * MS, correlation: 0, keep_order, shape };
    FaultsSpec { jitter: Some(jitter), ..FaultsSpec::default() }
}

#[test]
fn delays_have_the_moments_of_their_distributions() {
    let ms = MS as f64;
    // Mean and standard deviation, ms; netem cuts its Pareto distribution at 4 of its own deviations.
    for (shape, mean, deviation) in [
        (JitterShape::Uniform, 10.0, 2.0 / 3.0_f64.sqrt()),
        (JitterShape::Normal, 10.0, 2.0),
        (JitterShape::Pareto, 9.934, 1.642),
        (JitterShape::Table(vec![-8192, 8192]), 10.0, 2.0),
    ] {
        let mut link = link(&jitter(shape.clone(), false), None);
        let delays: Vec<f64> = (0..200_000).map(|_| link.due(0, 66).unwrap() as f64 / ms).collect();
        let n = delays.len() as f64;
        let found = delays.iter().sum::<f64>() / n;
        let spread = (delays.iter().map(|delay| (delay - found).powi(2)).sum::<f64>() / n).sqrt();
        assert!((found - mean).abs() < 0.03, "{shape:?}: mean {found}");
        assert!((spread - deviation).abs() < 0.05, "{shape:?}: deviation {spread}");
    }
}

#[test]
fn tables_are_those_of_tc() {
    let sums = [normal(), pareto(), paretonormal()].map(|table| {
        let hash = table.iter().fold(0_u32, |hash, &entry| hash.wrapping_mul(31).wrapping_add(entry as u32));
        (table.len(), table[1], table[2048], hash)
    });
    assert_eq!(sums, TABLES);
}

/// Length, two entries and a sum of normal.dist, pareto.dist and paretonormal.dist as Debian's iproute2 6.1.0 has them.
const TABLES: [(usize, i16, i16, u32); 3] =
    [(4096, -28307, 0, 637_024_795), (4096, -5460, -2622, 3_261_707_780), (4096, -11171, -1966, 2_918_022_304)];

/// Return the departure times of packets that come every ms, with their numbers, in the order in which they leave.
fn pass(mut link: Faults, count: u32, bytes: u32) -> Vec<(u64, u32)> {
    let (mut pool, mut out) = (Pool::default(), vec![]);
    for seq in 0..count {
        let now = u64::from(seq) * MS;
        while link.next(&pool) <= now {
            out.push((link.next(&pool), pool[link.pop(&pool).unwrap()].packet.number()));
        }
        match link.due(now, bytes) {
            Some(due) => {
                let id = pool.put(packet(0, bytes, seq, Ecn::NotEct));
                link.push(id, due, &mut pool);
            }
            None => out.push((now, seq)),
        }
    }
    while link.next(&pool) < NEVER {
        out.push((link.next(&pool), pool[link.pop(&pool).unwrap()].packet.number()));
    }
    out
}

#[test]
fn packets_leave_by_time_unless_they_keep_their_order() {
    let overtakes = |left: &[(u64, u32)]| left.windows(2).filter(|pair| pair[1].1 < pair[0].1).count();
    for shape in [JitterShape::Uniform, JitterShape::Normal] {
        let left = pass(link(&jitter(shape.clone(), false), None), 2000, 66);
        assert_eq!(left.len(), 2000);
        assert!(left.is_sorted_by_key(|&(time, _)| time) && overtakes(&left) > 300);
        let kept = pass(link(&jitter(shape.clone(), true), None), 2000, 66);
        assert!(kept.is_sorted_by_key(|&(time, _)| time) && overtakes(&kept) == 0);
        // Behind a link packets keep their order. The time between them is that of one packet.
        let line = pass(link(&jitter(shape, false), Some(1_000_000)), 2000, 125);
        assert!(overtakes(&line) == 0 && line.windows(2).all(|pair| pair[1].0 - pair[0].0 >= MS));
    }
}

#[test]
fn one_packet_in_a_gap_goes_ahead() {
    let spec =
        FaultsSpec { reorder: Some(ReorderSpec { share: u32::MAX, correlation: 0, gap: 5 }), ..FaultsSpec::default() };
    let left = pass(link(&spec, None), 20, 66);
    let at_once: Vec<u32> =
        left.iter().filter(|(time, seq)| *time == u64::from(*seq) * MS).map(|(_, seq)| *seq).collect();
    assert_eq!(at_once, [4, 9, 14, 19]);
    assert!(left.iter().all(|(time, seq)| at_once.contains(seq) || *time == (u64::from(*seq) + 10) * MS));
}

#[test]
fn what_cannot_be_is_refused() {
    let gap = FaultsSpec { reorder: Some(ReorderSpec { share: 1, correlation: 0, gap: 0 }), ..FaultsSpec::default() };
    let rate = FaultsSpec { loss: Some(LossSpec::BitErrors { rate: 1.5 }), ..FaultsSpec::default() };
    let mut long = jitter(JitterShape::Table(vec![]), false);
    long.jitter.as_mut().unwrap().deviation_ns = 3_000 * MS;
    for (spec, fields) in
        [(gap, vec!["reorder.gap"]), (rate, vec!["loss.rate"]), (long, vec!["jitter.deviation_ns", "jitter.shape"])]
    {
        let flaws = Faults::build(&spec, ("a", 1), 0, None, 1).unwrap_err();
        assert_eq!(flaws.fields(), fields);
    }
}
