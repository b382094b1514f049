//! STARTUP, DRAIN, PROBE_RTT, and pauses of the application.

use super::*;

#[test]
fn it_starts_at_four_times_ln_2_over_the_handshake() {
    for variant in BOTH {
        let lab = Lab::new(variant);
        // 10 segments in 40 ms: 10 * 2^24 / 40000 = 4194; times 1448, 710/256, 0.99 s, over 2^24.
        assert_eq!(lab.w.pacing_rate, (((4194 * 1448 * 710) >> 8) * 990_000) >> 24);
        assert_eq!((lab.w.ssthresh, lab.w.min_tso_segments), (INFINITE_SSTHRESH, 2));
    }
}

#[test]
fn the_pipe_is_full_after_three_rounds_without_growth_by_a_quarter() {
    use Mode::{Drain, Startup};
    for (variant, drain) in [(Variant::Draft, 128), (Variant::Google, 88)] {
        let mut lab = Lab::new(variant);
        let mut seen = vec![];
        for size in [20, 40, 80, 100, 100, 100, 100] {
            lab.v.packets_out = 2 * size;
            seen.push((lab.round(size), lab.bbr.full.rounds));
        }
        assert_eq!(seen, [0, 0, 0, 0, 1, 2, 3].map(|rounds| (if rounds < 3 { Startup } else { Drain }, rounds)));
        assert!(lab.bbr.full.is_now && lab.bbr.full.was);
        assert_eq!((lab.bbr.pacing_gain, lab.bbr.cwnd_gain), (drain, 512));
        assert_eq!(lab.w.pacing_rate, Bbr3::rate(&lab.v, bw(100), drain));
        assert_eq!(lab.w.cwnd, lab.bbr.bdp(bw(100), 512) + lab.bbr.extra_acked(), "two BDP and what ACKs aggregate");
    }
}

#[test]
fn growth_within_a_round_counts_in_googles_only() {
    let rounds = BOTH.map(|variant| {
        let mut lab = Lab::new(variant);
        lab.rounds(&[80, 100, 100]);
        assert_eq!(lab.bbr.full.rounds, 1);
        // Sent before the round began: it is none.
        let prior = lab.v.delivered - 200;
        let s = lab.sample(10_000, 1, prior);
        lab.take(&s);
        lab.bbr.full.rounds
    });
    assert_eq!(rounds, [1, 0]);
}

#[test]
fn what_the_application_limits_never_ends_startup() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.round(50);
        for _ in 0..40 {
            let prior = lab.v.delivered;
            let mut s = lab.sample(40_000, 20, prior);
            s.rate.is_app_limited = true;
            assert_eq!(lab.take(&s), Mode::Startup);
        }
        assert_eq!((lab.bbr.bounds.max_bw(), lab.bbr.full.rounds), (bw(50), 0));
    }
}

#[test]
fn drain_ends_with_a_bdp_in_flight() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.fill_pipe(100);
        lab.v.packets_out = 102;
        assert_eq!(lab.round(100), Mode::Drain);
        lab.v.packets_out = 101;
        assert_eq!(lab.round(100), Mode::Cruise, "by DOWN, which has nothing to drain");
    }
}

#[test]
fn what_leaves_until_the_next_segment_is_not_in_the_network_for_google() {
    let modes = BOTH.map(|variant| {
        let mut lab = Lab::new(variant);
        lab.fill_pipe(100);
        lab.v.packets_out = 150;
        let prior = lab.v.delivered;
        let s = lab.sample(40_000, 100, prior);
        // 20 ms later: 50 of the 150 are delivered by then.
        lab.v.departure_ns = (lab.v.mstamp_us + 20_000) * 1000;
        lab.take(&s)
    });
    assert_eq!(modes, [Mode::Drain, Mode::Cruise]);
}

#[test]
fn drain_lasts_three_rounds_in_the_draft_if_too_much_stays_in_flight() {
    let left = BOTH.map(|variant| {
        let mut lab = Lab::new(variant);
        lab.fill_pipe(100);
        (1..=10).find(|_| lab.round(90) != Mode::Drain)
    });
    assert_eq!(left, [Some(4), None]);
}

/// In PROBE_RTT; says how long after the RTT was seen last.
fn probe_rtt(lab: &mut Lab) -> u64 {
    let since = lab.v.mstamp_us;
    lab.v.min_rtt_us = 45_000;
    let waited = (0..200).find(|_| lab.round(100) == Mode::ProbeRtt);
    assert!(waited.is_some(), "not in ten seconds");
    lab.v.mstamp_us - since
}

#[test]
fn after_five_seconds_without_a_lower_round_trip_it_halves_what_is_in_flight_for_200_ms_and_a_round() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.cruise(100);
        // The RTT of 40 ms was that of the handshake, and all later ones were the same.
        let passed = lab.v.mstamp_us - 1_000_000;
        let after = probe_rtt(&mut lab) + passed;
        assert!((5_000_000..5_046_000).contains(&after), "{after}");
        let half = lab.bbr.bdp(lab.bbr.bw(), UNIT / 2);
        assert_eq!(lab.w.cwnd, half);
        assert!((44..=57).contains(&half), "{half}");
        assert_eq!(lab.w.app_limited, lab.v.delivered + lab.v.in_flight(), "rates seen now do not count");
        lab.v.packets_out = half + 1;
        let hold = |lab: &mut Lab, us: u64| {
            let prior = lab.v.delivered;
            let s = lab.sample(us, 10, prior);
            lab.take(&s)
        };
        assert_eq!(hold(&mut lab, 300_000), Mode::ProbeRtt, "too much in flight");
        lab.v.packets_out = half;
        assert_eq!(hold(&mut lab, 1000), Mode::ProbeRtt);
        assert_eq!(hold(&mut lab, 200_000), Mode::ProbeRtt, "strictly after");
        let prior_cwnd = lab.bbr.prior_cwnd;
        assert!(prior_cwnd > 2 * half);
        assert_eq!(hold(&mut lab, 1000), Mode::Cruise, "and not DOWN, as little is in flight");
        assert_eq!(lab.bbr.min_rtt.us(), 40_000, "that of ten seconds");
        assert!(lab.w.cwnd > 3 * half, "{} of {prior_cwnd}", lab.w.cwnd);
    }
}

#[test]
fn the_least_round_trip_of_ten_seconds_is_forgotten_after_these() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.cruise(100);
        lab.v.min_rtt_us = 45_000;
        let start = lab.v.mstamp_us;
        lab.v.packets_out = 20;
        let raised = (0..300).find(|_| {
            lab.round(100);
            lab.bbr.min_rtt.us() == 45_000
        });
        assert!(raised.is_some());
        let after = lab.v.mstamp_us - start;
        assert!((9_000_000..10_050_000).contains(&after), "{after}");
    }
}

#[test]
fn probe_rtt_in_startup_leads_back_to_it() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.v.min_rtt_us = 45_000;
        // Slower and slower growth, so that STARTUP goes on; few segments in flight, so that PROBE_RTT ends.
        lab.v.packets_out = 4;
        let mut seen = vec![];
        for _ in 0..140 {
            let prior = lab.v.delivered;
            let mut s = lab.sample(45_000, 10, prior);
            s.rate.is_app_limited = true;
            let mode = lab.take(&s);
            if seen.last() != Some(&mode) {
                seen.push(mode);
            }
        }
        assert_eq!(seen, [Mode::Startup, Mode::ProbeRtt, Mode::Startup]);
        assert!(!lab.bbr.full.was);
    }
}

#[test]
fn a_pause_of_the_application_takes_the_place_of_probe_rtt() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.cruise(100);
        lab.v.packets_out = 0;
        lab.v.mstamp_us += 6_000_000;
        lab.w.app_limited = lab.v.delivered;
        lab.bbr.on_event(&lab.v, &mut lab.w, Event::TxStart);
        assert!(lab.bbr.idle_restart);
        assert_eq!(lab.w.pacing_rate, Bbr3::rate(&lab.v, lab.bbr.bw(), UNIT));
        lab.v.min_rtt_us = 50_000;
        assert_ne!(lab.round(10), Mode::ProbeRtt);
        assert_eq!((lab.bbr.idle_restart, lab.bbr.min_rtt.us()), (false, 40_000));
        lab.w.app_limited = 0;
        lab.bbr.on_event(&lab.v, &mut lab.w, Event::TxStart);
        assert!(!lab.bbr.idle_restart, "a pause that the window made");
    }
}

#[test]
fn google_skips_acks_that_tell_nothing_new() {
    let extra = BOTH.map(|variant| {
        let mut lab = Lab::new(variant);
        lab.cruise(100);
        lab.v.packets_out = 20;
        (0..30).for_each(|_| {
            lab.round(100);
        });
        assert!(lab.bbr.at_target);
        let before = lab.bbr.extra_acked();
        // 40 at once, much more than is expected in a millisecond, but fewer than in a round trip.
        let prior = lab.v.delivered - 40;
        let mut s = lab.sample(1000, 40, prior);
        s.rate.is_app_limited = true;
        let mode = lab.bbr.mode;
        assert_eq!(lab.take(&s), mode);
        lab.bbr.extra_acked() - before
    });
    assert!(extra[0] > 30 && extra[1] == 0, "{extra:?}");
}
