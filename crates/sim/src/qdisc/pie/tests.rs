use super::super::lab::Lab;
use super::super::Qdisc;
use super::{Law, State, BURST, MAX_PROB, TICKS_PER_SEC};
use crate::packet::{DropCause, Ecn, FULL_FRAME};
use crate::rng::Rng;
use crate::spec::{PieSpec, QdiscSpec};
use crate::time::{MS, SEC};

const SPEC: PieSpec = PieSpec {
    target_ns: 15 * MS,
    tupdate_ns: 15 * MS,
    alpha: 2,
    beta: 20,
    ecn: false,
    bytemode: false,
    dq_rate_estimator: false,
};

fn law(spec: PieSpec) -> Law {
    Law::new(&spec, FULL_FRAME)
}

fn probability(state: &State) -> f64 {
    state.prob as f64 / MAX_PROB as f64
}

/// After one update with this delay and trend, ms.
fn updated(prob: f64, delay_ms: u64, before_ms: u64) -> f64 {
    let mut state = State {
        prob: (prob * MAX_PROB as f64) as u64,
        delay: (delay_ms * MS) >> 6,
        delay_before: (before_ms * MS) >> 6,
        ..State::default()
    };
    law(SPEC).update(&mut state, 100_000);
    probability(&state)
}

#[test]
fn the_controller_is_gentler_at_small_probabilities() {
    // alpha 2/16 and beta 20/16, Hz, scaled down at the steps of RFC 8033, 5.2.
    for (prob, scale) in
        [(0.0, 2048.0), (5e-6, 512.0), (5e-5, 128.0), (5e-4, 32.0), (5e-3, 8.0), (5e-2, 2.0), (0.5, 1.0)]
    {
        let expected = (0.125 * 0.010 + 1.25 * 0.005) / scale;
        let got = updated(prob, 25, 20) - prob;
        assert!((got / expected - 1.0).abs() < 2e-3, "{prob}: {got} instead of {expected}");
    }
}

#[test]
fn steps_are_bounded_above_ten_percent_and_larger_at_250_ms() {
    assert!((updated(0.5, 200, 20) - 0.52).abs() < 1e-6);
    let long = updated(0.5, 251, 251) - 0.5;
    assert!((long - 0.125 * 0.236 - 0.02).abs() < 0.03 && long > 0.02, "{long}");
    // The probability may exceed 1, as in Linux.
    assert!(updated(0.999, 300, 20) > 1.0);
    assert_eq!(updated(1e-7, 0, 200), 0.0);
}

#[test]
fn the_controller_wraps_as_in_linux() {
    // The terms wrap to just below 2^63 at a delay of minutes, and the step for long delays is added to that.
    let law = law(PieSpec { alpha: 32, beta: 0, target_ns: 0, ..SPEC });
    let weight = (32 * (MAX_PROB / TICKS_PER_SEC)) >> 5;
    let delay = i64::MAX as u64 / weight;
    let mut state = State { prob: MAX_PROB / 11, delay, delay_before: delay, ..State::default() };
    law.update(&mut state, 100_000);
    assert_eq!(state.prob, 0, "a sum below zero is a probability of none");
}

#[test]
fn without_delay_the_probability_decays() {
    let law = law(SPEC);
    let mut state = State { prob: MAX_PROB / 2, ..State::default() };
    law.update(&mut state, 0);
    let drift = 0.125 * 0.015;
    assert!((probability(&state) - (0.5 - drift) * (63.0 / 64.0)).abs() < 1e-6);
    // A backlog without a measurable delay does not count as none.
    let mut state = State { prob: MAX_PROB / 2, ..State::default() };
    law.update(&mut state, 1);
    assert!((probability(&state) - (0.5 - drift)).abs() < 1e-6);
}

#[test]
fn the_burst_allowance_returns_when_congestion_is_over() {
    let law = law(SPEC);
    let mut state = State { burst: 0, ..State::default() };
    law.update(&mut state, 0);
    assert_eq!(state.burst, BURST);
    let mut state = State { burst: 0, prob: MAX_PROB / 2, ..State::default() };
    law.update(&mut state, 0);
    assert_eq!(state.burst, 0);
}

#[test]
fn nothing_is_dropped_within_the_burst_below_half_the_target_or_on_a_short_queue() {
    let law = law(SPEC);
    let mut rng = Rng::for_component(1, "pie");
    let late = State { burst: 0, prob: MAX_PROB, delay: law.target, ..State::default() };
    let mut signals = |state: State, backlog| law.signals(&mut state.clone(), backlog, FULL_FRAME, &mut rng);
    assert!(signals(late.clone(), 100_000));
    assert!(!signals(State { burst: 1, ..late.clone() }, 100_000));
    assert!(!signals(late.clone(), 2 * u64::from(FULL_FRAME) - 1));
    let early = State { delay: law.target / 2 - 1, ..late };
    assert!(signals(early.clone(), 100_000));
    assert!(!signals(State { prob: MAX_PROB / 6, ..early }, 100_000));
}

#[test]
fn drops_are_spread() {
    let law = law(SPEC);
    let mut rng = Rng::for_component(1, "pie");
    let mut state = State { burst: 0, prob: MAX_PROB / 10, delay: law.target, ..State::default() };
    let (mut gaps, mut gap) = (vec![], 0);
    for _ in 0..20_000 {
        gap += 1;
        if law.signals(&mut state, 100_000, FULL_FRAME, &mut rng) {
            state.on_drop();
            gaps.push(gap);
            gap = 0;
        }
    }
    // The sum of probabilities lies between 0.85 and 8.5.
    assert!(gaps.iter().all(|g| (9..=86).contains(g)), "{gaps:?}");
    let mean = gaps.iter().sum::<u32>() as f64 / gaps.len() as f64;
    assert!((mean - 17.5).abs() < 1.0, "{mean}: 8 packets without, then one in ten");
}

#[test]
fn a_small_packet_is_spared_in_byte_mode() {
    let mut rng = Rng::for_component(1, "pie");
    let mut drops = |law: &Law, len| {
        let mut state = State { burst: 0, prob: MAX_PROB / 4, delay: law.target, ..State::default() };
        let dropped = |_: &u32| {
            let signal = law.signals(&mut state, 100_000, len, &mut rng);
            if signal {
                state.on_drop();
            }
            signal
        };
        (0..10_000_u32).filter(dropped).count()
    };
    let bytes = law(PieSpec { bytemode: true, ..SPEC });
    assert!(drops(&bytes, 66) * 10 < drops(&law(SPEC), 66));
    assert!(drops(&bytes, FULL_FRAME) * 10 > 9 * drops(&law(SPEC), FULL_FRAME));
}

#[test]
fn the_departure_rate_is_measured_over_sixteen_kilobytes() {
    let law = law(PieSpec { dq_rate_estimator: true, ..SPEC });
    let mut state = State::default();
    // A full packet every 1.2112 ms: 10 Mbit/s.
    for n in 1..200_u64 {
        law.on_departure(&mut state, (FULL_FRAME, 0), 50_000, n * 1_211_200);
    }
    let bytes_per_s = f64::from(state.rate) / 256.0 * TICKS_PER_SEC as f64;
    assert!((bytes_per_s / 1.25e6 - 1.0).abs() < 0.1, "{bytes_per_s}");
    law.update(&mut state, 50_000);
    let delay_s = state.delay as f64 / TICKS_PER_SEC as f64;
    assert!((delay_s - 0.04).abs() < 0.004, "{delay_s}");
}

#[test]
fn marks_stand_in_for_drops_up_to_ten_percent() {
    let mut lab = Lab::new(&QdiscSpec::Pie { limit_packets: 1000, control: PieSpec { ecn: true, ..SPEC } }, 1);
    let slot = 1_211_200;
    let run = |lab: &mut Lab, until, ecn, every: u64| {
        while lab.now < until {
            lab.now += slot;
            lab.offer_full(0, 1 + u32::from((lab.now / slot).is_multiple_of(every)), ecn);
            lab.take();
        }
    };
    // A little too much: marks, which do not help here, until the probability has passed 10 %.
    run(&mut lab, 5 * SEC, Ecn::Ect0, 20);
    let (marks, drops) = (lab.qdisc.stats().ce_marks, lab.dropped.len());
    assert!(marks > 10, "{marks}");
    run(&mut lab, 40 * SEC, Ecn::Ect0, 3);
    assert!(lab.dropped.len() > drops + 1000, "{drops} {}", lab.dropped.len());
    let marked = lab.qdisc.stats().ce_marks;
    run(&mut lab, 50 * SEC, Ecn::Ect0, 3);
    assert_eq!(lab.qdisc.stats().ce_marks, marked, "above 10 % nothing is marked");
}

#[test]
fn a_standing_queue_is_cut_to_the_target() {
    let mut lab = Lab::new(&QdiscSpec::Pie { limit_packets: 1000, control: SPEC }, 1);
    let slot = 1_211_200;
    let mut sojourns = vec![];
    while lab.now < 60 * SEC {
        lab.now += slot;
        // A tenth more than leaves.
        lab.offer_full(0, 1 + u32::from((lab.now / slot).is_multiple_of(10)), Ecn::NotEct);
        lab.take();
        if lab.now > 20 * SEC {
            sojourns.push(lab.qdisc.stats().last_sojourn);
        }
    }
    let mean = sojourns.iter().sum::<u64>() / sojourns.len() as u64;
    assert!((10 * MS..20 * MS).contains(&mean), "{mean}");
    assert!(lab.dropped.iter().all(|(_, cause)| *cause == DropCause::Aqm));
    let dropped = lab.dropped.len() as f64 / (60.0 * SEC as f64 / slot as f64 * 1.1);
    assert!((0.08..0.1).contains(&dropped), "{dropped}");
}
