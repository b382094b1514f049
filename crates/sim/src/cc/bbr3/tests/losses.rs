//! Changes by losses, and how they are taken back.

use super::*;

/// An ACK a round trip after losses, in recovery.
fn end_of_loss_round(lab: &mut Lab, delivered: u32, tx_in_flight: u32, lost: i32, limited: bool) -> Mode {
    let prior = lab.v.delivered;
    let mut s = lab.sample(40_000, delivered, prior);
    (s.rate.tx_in_flight, s.rate.lost, s.losses, s.rate.is_app_limited) = (tx_in_flight, lost, 1, limited);
    lab.take(&s)
}

#[test]
fn six_losses_in_a_round_of_recovery_end_startup_if_they_are_more_than_2_percent() {
    // Lost segments, and the data in flight: gaps in the sequence, or ACKs that find losses.
    let ends = |variant: Variant, seqs: &[u32], acks: u32, tx_in_flight: u32, limited: bool| {
        let mut lab = Lab::new(variant);
        lab.rounds(&[20, 40, 80]);
        lab.w.cwnd = 160;
        lab.v.packets_out = 80;
        seqs.iter().zip(1..).for_each(|(&seq, lost)| lab.lose(seq, tx_in_flight, lost));
        lab.enter(CaState::Recovery);
        // ACKs that find losses before the round ends.
        for _ in 1..acks {
            let prior = lab.v.delivered - 50;
            let mut s = lab.sample(100, 1, prior);
            s.losses = 1;
            lab.take(&s);
        }
        let mode = end_of_loss_round(&mut lab, 60, tx_in_flight, seqs.len() as i32, limited);
        (mode != Mode::Startup).then_some((mode, lab.bbr.bounds.inflight_hi))
    };
    let gaps = [1, 3, 5, 7, 9, 11];
    let (draft, google) = (Variant::Draft, Variant::Google);
    assert_eq!(
        ends(draft, &gaps, 1, 160, false),
        Some((Mode::Down, 81)),
        "the BDP; DRAIN has nothing to do, but there is no headroom"
    );
    assert_eq!(ends(draft, &gaps, 1, 160, true), Some((Mode::Down, 81)), "whatever the application does");
    assert_eq!(ends(draft, &gaps[..5], 6, 160, false), None, "five gaps");
    assert_eq!(ends(draft, &[1, 2, 3, 4, 5, 6], 6, 160, false), None, "one gap");
    assert_eq!(ends(draft, &gaps, 1, 300, false), None, "6 of 300");
    assert_eq!(
        ends(google, &[1, 2, 3, 4, 5, 6], 6, 160, false),
        Some((Mode::Drain, 81)),
        "with the segments that leave next"
    );
    assert_eq!(ends(google, &gaps, 5, 160, false), None, "found by five ACKs");
}

#[test]
fn a_round_with_losses_takes_30_percent_but_not_what_is_delivered() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.cruise(100);
        (lab.w.cwnd, lab.v.packets_out) = (200, 90);
        lab.lose(1, 100, 1);
        assert_eq!(lab.bbr.bounds.bw_lo, NONE, "at the end of the round");
        lab.enter(CaState::Recovery);
        end_of_loss_round(&mut lab, 40, 100, 1, false);
        let kept = |n: u32| variant.kept().of(n);
        // In this round 100 were delivered before the loss.
        assert_eq!((lab.bbr.bounds.bw_lo, lab.bbr.bounds.inflight_lo), (bw(100), kept(200)));
        lab.lose(3, 100, 1);
        end_of_loss_round(&mut lab, 40, 100, 1, false);
        let inflight = kept(kept(200));
        assert_eq!((lab.bbr.bounds.bw_lo, lab.bbr.bounds.inflight_lo), (kept(bw(100)), inflight));
        assert!(lab.w.cwnd <= inflight);
        assert_eq!(lab.bbr.bw(), kept(bw(100)), "paced at that");
        lab.lose(5, 100, 1);
        end_of_loss_round(&mut lab, 40, 100, 1, false);
        lab.lose(7, 100, 1);
        end_of_loss_round(&mut lab, 40, 100, 1, false);
        assert_eq!(lab.bbr.bounds.bw_lo, bw(40), "what is delivered");
        assert_eq!(lab.bbr.bounds.inflight_lo, kept(kept(inflight)).max(40));
        // Without losses it stays.
        lab.round(40);
        assert_eq!(lab.bbr.bounds.bw_lo, bw(40));
    }
}

#[test]
fn probing_that_loses_more_than_2_percent_bounds_what_is_in_flight_and_ends() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.up(100);
        assert_eq!(lab.bbr.bounds.inflight_hi, NONE);
        (lab.w.cwnd, lab.v.packets_out) = (225, 125);
        lab.lose(1, 125, 1);
        lab.lose(2, 125, 2);
        assert_eq!(lab.bbr.mode, Mode::Up, "2 of 125");
        lab.lose(3, 125, 3);
        // 124 were in flight before it, 2 of these lost; one more of 124 is 2.4 %: the crossing is at 124 or the next one.
        let before = 124 + variant.most_loss().prefix(124, 2);
        assert_eq!(lab.bbr.bounds.inflight_hi, before.max(70));
        assert!((124..=125).contains(&before));
        assert_eq!((lab.bbr.mode, lab.bbr.probe.was_too_high, lab.bbr.probe.samples), (Mode::Down, true, false));
        lab.lose(4, 50, 50);
        assert_eq!(lab.bbr.bounds.inflight_hi, before, "once a probing");
    }
}

#[test]
fn the_bound_keeps_70_percent_of_what_is_meant_to_be_in_flight() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.up(100);
        (lab.w.cwnd, lab.v.packets_out) = (225, 125);
        // A BDP, and two segments in UP.
        let target = lab.bbr.target_inflight(&lab.v, &lab.w);
        assert_eq!(target, if variant.is_google() { 103 } else { 101 });
        lab.lose(1, 40, 20);
        assert_eq!(lab.bbr.bounds.inflight_hi, variant.kept().of(target));
    }
}

#[test]
fn losses_of_what_the_application_limits_end_probing_without_a_bound() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.up(100);
        let lost = Lost { seq: 1, tx_in_flight: 50, lost: 5, is_app_limited: true };
        lab.bbr.on_lost(&lab.v, &mut lab.w, &lost);
        assert_eq!((lab.bbr.mode, lab.bbr.bounds.inflight_hi), (Mode::Down, NONE));
    }
}

#[test]
fn a_sample_with_too_many_losses_ends_probing_in_googles_only() {
    let modes = BOTH.map(|variant| {
        let mut lab = Lab::new(variant);
        lab.up(100);
        lab.v.packets_out = 125;
        end_of_loss_round(&mut lab, 100, 125, 5, false)
    });
    assert_eq!(modes, [Mode::Up, Mode::Down]);
}

#[test]
fn the_probing_after_one_that_lost_too_much_stops_at_the_bound_and_then_goes_on() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.up(100);
        (lab.w.cwnd, lab.v.packets_out) = (225, 110);
        lab.lose(1, 110, 10);
        let hi = lab.bbr.bounds.inflight_hi;
        assert!(lab.bbr.mode == Mode::Down && hi > 100);
        lab.v.packets_out = 50;
        while lab.round(100) != Mode::Up {}
        lab.v.packets_out = hi;
        assert_eq!(lab.round(100), Mode::Down, "as much as lost too much before");
        assert!(lab.bbr.probe.was_cautious && !lab.bbr.probe.was_too_high);
        assert_eq!(lab.round(100), Mode::Refill, "and nothing was lost: at once again");
        assert_eq!(lab.round(100), Mode::Up);
        assert_eq!(lab.round(100), Mode::Up, "not stopped there any more");
    }
}

#[test]
fn a_loss_that_a_probe_repaired_is_one() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.up(100);
        lab.bbr.signals.inflight_latest = 100;
        lab.bbr.on_event(&lab.v, &mut lab.w, Event::ProbeRepairedLoss(false));
        assert!(lab.bbr.signals.loss_in_round && lab.bbr.mode == Mode::Up, "1 of 101");
        lab.bbr.signals.inflight_latest = 40;
        let target = lab.bbr.target_inflight(&lab.v, &lab.w);
        lab.bbr.on_event(&lab.v, &mut lab.w, Event::ProbeRepairedLoss(false));
        assert_eq!(lab.bbr.mode, Mode::Down, "1 of 41");
        assert_eq!(lab.bbr.bounds.inflight_hi, variant.kept().of(target));
    }
}

#[test]
fn an_undo_restores_the_bounds_and_in_the_draft_the_probing() {
    let modes = BOTH.map(|variant| {
        let mut lab = Lab::new(variant);
        lab.up(100);
        (lab.w.cwnd, lab.v.packets_out) = (225, 125);
        lab.lose(1, 125, 5);
        assert!(lab.bbr.mode == Mode::Down && lab.bbr.bounds.inflight_hi < NONE);
        lab.v.prior_cwnd = lab.w.cwnd;
        assert_eq!(lab.bbr.ssthresh(&lab.v, &lab.w), lab.w.ssthresh);
        lab.enter(CaState::Recovery);
        lab.w.cwnd = 100;
        assert_eq!(lab.bbr.undo_cwnd(&lab.v, &lab.w), 225);
        assert!(!lab.bbr.signals.loss_in_round);
        (lab.bbr.mode, lab.bbr.bounds.inflight_hi == NONE)
    });
    // Google saves when recovery begins, which is after the loss has set the bound.
    assert_eq!(modes, [(Mode::Refill, true), (Mode::Down, false)]);
}

#[test]
fn an_undo_of_the_losses_that_ended_startup_goes_back_to_it() {
    let mut lab = Lab::new(Variant::Draft);
    lab.rounds(&[20, 40, 80]);
    lab.v.packets_out = 150;
    [1, 3, 5, 7, 9, 11].iter().zip(1..).for_each(|(&seq, lost)| lab.lose(seq, 160, lost));
    lab.bbr.ssthresh(&lab.v, &lab.w);
    lab.enter(CaState::Recovery);
    assert_eq!(end_of_loss_round(&mut lab, 60, 160, 6, false), Mode::Drain);
    lab.bbr.undo_cwnd(&lab.v, &lab.w);
    assert_eq!((lab.bbr.mode, lab.bbr.full.was, lab.bbr.bounds.inflight_hi), (Mode::Startup, false, NONE));
}

#[test]
fn what_was_lowered_is_restored_by_an_undo() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.cruise(100);
        (lab.bbr.bounds.inflight_lo, lab.bbr.bounds.bw_lo) = (150, bw(90));
        lab.bbr.ssthresh(&lab.v, &lab.w);
        lab.lose(1, 100, 1);
        lab.enter(CaState::Recovery);
        end_of_loss_round(&mut lab, 40, 100, 1, false);
        end_of_loss_round(&mut lab, 40, 100, 1, false);
        assert!(lab.bbr.bounds.inflight_lo < 150 && lab.bbr.bounds.bw_lo < bw(90));
        lab.bbr.undo_cwnd(&lab.v, &lab.w);
        assert_eq!((lab.bbr.bounds.inflight_lo, lab.bbr.bounds.bw_lo), (150, bw(90)));
    }
}

#[test]
fn recovery_that_ends_restores_the_window_and_the_model_bounds_it() {
    let windows = BOTH.map(|variant| {
        let mut lab = Lab::new(variant);
        lab.cruise(100);
        (0..5).for_each(|_| {
            lab.round(100);
        });
        let before = lab.w.cwnd;
        lab.bbr.ssthresh(&lab.v, &lab.w);
        lab.enter(CaState::Recovery);
        lab.w.cwnd = 60;
        lab.enter(CaState::Open);
        (lab.w.cwnd == before, lab.w.cwnd)
    });
    assert!(windows[0].0 && windows[1].1 == 60, "google lowers it in recovery by the model alone: {windows:?}");
}

#[test]
fn a_timeout_looks_anew_for_a_plateau_in_googles_and_restores_the_window_in_both() {
    for variant in BOTH {
        let mut lab = Lab::new(variant);
        lab.cruise(100);
        let before = lab.w.cwnd;
        lab.bbr.full.rounds = 2;
        lab.bbr.ssthresh(&lab.v, &lab.w);
        lab.w.cwnd = 1;
        lab.enter(CaState::Loss);
        assert_eq!(lab.bbr.full.rounds, if variant.is_google() { 0 } else { 2 });
        assert_eq!(lab.bbr.bounds.inflight_lo, if variant.is_google() { before } else { NONE });
        lab.enter(CaState::Open);
        assert_eq!(lab.w.cwnd, before);
    }
}
