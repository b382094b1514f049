//! DOWN, CRUISE, REFILL and UP.

use super::*;

#[test]
fn a_cycle_goes_through_its_phases_at_their_gains() {
    for (variant, down) in [(Variant::Draft, 230), (Variant::Google, 232)] {
        let mut lab = Lab::new(variant);
        lab.fill_pipe(100);
        lab.bbr.begin_down(&lab.v);
        let mut seen: Vec<(Mode, u32, u32)> = vec![];
        for _ in 0..70 {
            let mode = lab.round(100);
            lab.v.packets_out = if mode == Mode::Up { 125 } else { 100 };
            let now = (mode, lab.bbr.pacing_gain, lab.bbr.cwnd_gain);
            if seen.last() != Some(&now) {
                seen.push(now);
            }
        }
        let cycle = [(Mode::Down, down, 512), (Mode::Cruise, 256, 512), (Mode::Refill, 256, 512), (Mode::Up, 320, 576)];
        assert_eq!(seen[..6], [&cycle[..], &cycle[..2]].concat());
    }
}

#[test]
fn it_waits_for_two_to_three_seconds_or_63_rounds() {
    let waits: Vec<(u64, u32)> = (0..100)
        .map(|seed| {
            let mut lab = Lab::new(Variant::Draft);
            lab.v.seed = [seed, 0];
            lab.cruise(200);
            let rounds = (1..).find(|_| lab.round(200) == Mode::Refill).unwrap();
            (lab.bbr.probe.wait_us(), rounds)
        })
        .collect();
    assert!(waits.iter().all(|&(us, _)| (2_000_000..3_000_000).contains(&us)));
    assert!(waits.iter().any(|&(us, _)| us < 2_100_000) && waits.iter().any(|&(us, _)| us > 2_900_000));
    for &(us, rounds) in &waits {
        // Strictly after.
        let by_time = us / 40_000 + 1;
        assert!(u64::from(rounds) == by_time || (61..=63).contains(&rounds), "{us} us: {rounds} rounds");
    }
}

#[test]
fn a_small_window_probes_as_often_as_reno_would() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.cruise(12);
        let rounds = (1..).find(|_| lab.round(12) == Mode::Refill).unwrap();
        // 12 rounds, of which up to one is drawn and two have passed.
        assert!((9..=12).contains(&rounds), "{rounds}");
    }
}

#[test]
fn down_that_does_not_drain_ends_in_refill_when_it_is_time() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.fill_pipe(200);
        lab.bbr.begin_down(&lab.v);
        lab.v.packets_out = 300;
        let modes: Vec<Mode> = (0..80).map(|_| lab.round(190)).collect();
        let first_other = modes.iter().find(|mode| **mode != Mode::Down);
        assert_eq!(first_other, Some(&Mode::Refill));
    }
}

#[test]
fn refill_forgets_losses_and_up_probes_with_two_more_segments() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.cruise(100);
        (lab.bbr.bounds.bw_lo, lab.bbr.bounds.inflight_lo) = (bw(70), 70);
        while lab.round(70) != Mode::Refill {}
        assert_eq!((lab.bbr.bounds.bw_lo, lab.bbr.bounds.inflight_lo), (NONE, NONE));
        let budget = lab.bbr.inflight(&lab.v, &lab.w, bw(100), UNIT);
        assert_eq!(lab.round(100), Mode::Up);
        assert_eq!(lab.bbr.inflight(&lab.v, &lab.w, bw(100), UNIT), budget + 2);
    }
}

#[test]
fn what_the_application_limits_in_refill_leaves_the_bandwidth() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.cruise(100);
        while lab.round(100) != Mode::Refill {}
        let prior = lab.v.delivered;
        let mut s = lab.sample(40_000, 30, prior);
        s.rate.is_app_limited = true;
        assert_eq!(lab.take(&s), Mode::Up);
        assert_eq!(lab.bbr.bounds.max_bw(), bw(100));
    }
}

#[test]
fn the_bandwidth_is_the_most_of_two_cycles() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.cruise(100);
        let mut starts = 0;
        let mut before = lab.bbr.mode;
        let mut rounds = 0;
        while lab.bbr.bounds.max_bw() == bw(100) {
            // A tenth of the bandwidth from now on.
            lab.v.packets_out = 5;
            let mode = lab.round(10);
            starts += u32::from(mode == Mode::Up && before != Mode::Up);
            before = mode;
            rounds += 1;
            assert!(rounds < 1000);
        }
        assert_eq!(
            (lab.bbr.bounds.max_bw(), starts),
            (bw(10), 1),
            "STARTUP was of the cycle before; a round after the next probing it is forgotten"
        );
    }
}

#[test]
fn the_upper_bound_rises_by_1_2_4_segments_a_round_while_the_window_is_at_it() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.cruise(100);
        while lab.round(100) != Mode::Refill {}
        lab.bbr.bounds.inflight_hi = 100;
        assert_eq!(lab.round(100), Mode::Up);
        lab.v.is_cwnd_limited = true;
        let mut rises = vec![];
        for _ in 0..6 {
            let before = lab.bbr.bounds.inflight_hi;
            assert_eq!(lab.fine_round(100), Mode::Up, "bandwidth cannot grow, so that its plateau says nothing");
            rises.push(lab.bbr.bounds.inflight_hi - before);
        }
        // The round by one segment is the one that ended with the first ACK of these. By a little less later on, as the window has grown when a round
        // begins that is counted by it.
        assert!(rises.iter().zip([2, 4, 8, 16, 32, 64]).all(|(rise, n)| (3 * n / 4..=n).contains(rise)), "{rises:?}");
        assert!(lab.w.cwnd > 100);
        // Not at the bound: it stays.
        lab.v.is_cwnd_limited = false;
        let before = lab.bbr.bounds.inflight_hi;
        lab.round(100);
        assert_eq!(lab.bbr.bounds.inflight_hi, before);
    }
}

#[test]
fn what_is_in_flight_without_too_many_losses_raises_the_bound_in_any_phase() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.cruise(100);
        lab.bbr.bounds.inflight_hi = 100;
        let prior = lab.v.delivered;
        let mut s = lab.sample(40_000, 50, prior);
        (s.rate.tx_in_flight, s.rate.lost) = (130, 2);
        lab.take(&s);
        assert_eq!(lab.bbr.bounds.inflight_hi, 130, "2 of 130 are not too many");
        let prior = lab.v.delivered;
        let mut s = lab.sample(40_000, 50, prior);
        (s.rate.tx_in_flight, s.rate.lost) = (140, 3);
        lab.take(&s);
        assert_eq!(lab.bbr.bounds.inflight_hi, 130, "3 of 140 are");
    }
}

#[test]
fn cruise_leaves_15_percent_of_the_bound_free() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.cruise(100);
        lab.bbr.bounds.inflight_hi = 100;
        lab.round(100);
        assert_eq!((lab.bbr.mode, lab.w.cwnd), (Mode::Cruise, if variant.is_google() { 86 } else { 85 }));
        lab.bbr.bounds.inflight_hi = 5;
        lab.v.packets_out = 4;
        lab.round(100);
        assert_eq!(lab.w.cwnd, MIN_CWND);
    }
}

#[test]
fn down_waits_for_the_headroom_too() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.fill_pipe(100);
        lab.v.packets_out = 95;
        lab.bbr.bounds.inflight_hi = 100;
        assert_eq!(lab.round(100), Mode::Down, "95 are less than a BDP, but more than 85");
        lab.v.packets_out = 85;
        assert_eq!(lab.round(100), Mode::Cruise);
    }
}

#[test]
fn a_tiny_path_keeps_four_segments_in_flight_and_six_for_tso() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.v.packets_out = 4;
        (0..40).for_each(|_| {
            lab.round(1);
        });
        assert!(lab.bbr.mode.probes_bw());
        assert!((6..=8).contains(&lab.w.cwnd), "{}", lab.w.cwnd);
        lab.bbr.bounds.inflight_lo = 1;
        lab.round(1);
        assert_eq!(lab.w.cwnd, MIN_CWND);
        assert!(lab.w.pacing_rate <= Bbr3::rate(&lab.v, bw(1), 320));
    }
}
