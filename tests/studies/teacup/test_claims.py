import numpy as np
import pytest

from dumbbell.study.claims import count_statuses, share_passed
from dumbbell_studies.teacup.claims import CHECKS, UNCHECKED, capped, check_claims, delay, growth, sharing
from dumbbell_studies.teacup.published import Experiment, claim_rows
from dumbbell_studies.teacup.trials import trials


def make_trials(make_run, experiments, seeds=range(1, 11)):
    """Trials of these experiments: (cc, qdisc, rtt_ms, limit) -> arguments of `make_run`, or a function of the seed that returns them."""
    return trials(
        [
            make_run(Experiment(*experiment), seed, **(settings(seed) if callable(settings) else settings))
            for experiment, settings in experiments.items()
            for seed in seeds
        ]
    )


def test_every_claim_is_checked():
    claims = [row["claim_id"] for row in claim_rows()]
    assert list(CHECKS) == [claim for claim in claims if claim not in UNCHECKED]
    assert set(UNCHECKED) <= set(claims)
    assert (len(CHECKS), len(UNCHECKED)) == (53, 1)


def test_without_runs_nothing_is_judged():
    claims = check_claims([])
    assert {claim.status for claim in claims} == {"not_applicable"}
    assert share_passed(claims) is None


def test_every_claim_can_fail(synthetic_studies):
    statuses = {name: {claim.id: claim.status for claim in check_claims(runs)} for name, runs in synthetic_studies.items()}
    unfailing = {name for name in CHECKS if not any(found[name] == "fail" for found in statuses.values())}
    # In both synthetic_studies all cells are equal, which is what these two say; that they can fail is tested below.
    assert unfailing == {"T024+T025", "T068+T069"}
    assert count_statuses(check_claims(synthetic_studies["even"]))["pass"] > 0


def test_a_claim_without_a_check_says_why(synthetic_studies):
    claims = {claim.id: claim for claim in check_claims(synthetic_studies["even"])}
    for name, reason in UNCHECKED.items():
        assert (claims[name].status, claims[name].measured) == ("not_applicable", reason)


def test_a_window_that_the_receiver_caps(make_run):
    experiment = ("cubic", "pfifo", 200.0, 180)

    def outcome(**settings):
        made = make_trials(make_run, {experiment: {"cwnd": lambda t: 290 + 0 * t, **settings}}, seeds=(1,))
        return capped.capped_without_loss(made, "cubic", 1, (390, 460), lossless_s=(0, 20), constant_s=(5, 20), least_mbit=9.0)

    assert outcome().measured == "0 retransmissions; cwnd 420 to 420 kB; constant within 0.0 %; 9.56 Mbit/s"
    assert outcome(again=lambda t: 7 * (t > 20)).holds
    assert not outcome(again=lambda t: 1.0 * (t > 19)).holds
    assert not outcome(cwnd=lambda t: 320 + 0 * t).holds
    assert not outcome(cwnd=lambda t: 272 + 32 * (t > 12)).holds
    assert not outcome(total=8.5).holds


def test_ramps_of_slow_start(make_run):
    experiment = ("cubic", "pfifo", 200.0, 180)

    def outcome(every_s=0.2, rise=20.0, base=0.0):
        def queue(t):
            round_trip = np.floor(t / every_s + 1e-6)
            return base + rise * (1 + round_trip) * np.clip(t / every_s - round_trip, 0, 1)

        made = make_trials(make_run, {experiment: {"queue_ms": queue, "step_s": 0.02}}, seeds=(1,))
        return capped.slow_start_ramps(made, "cubic", (5, 8))

    assert outcome().holds, outcome()
    assert outcome().measured == "8 ramps; 200 to 200 ms apart; from 200 ms at most; maxima at least 18 ms apart"
    assert not outcome(every_s=0.24).holds
    assert not outcome(base=20.0).holds
    assert not outcome(rise=0.0).holds


def test_the_period_of_the_rtt(make_run):
    experiment = ("cubic", "pfifo", 200.0, 180)

    def outcome(period_s, low=30.0):
        made = make_trials(make_run, {experiment: {"queue_ms": lambda t: low + 110 * (t / period_s % 1), "step_s": 0.01}}, seeds=(1,))
        return capped.later_ramps(made, "cubic", period_ms=(104, 128), low_ms=(215, 245), high_ms=(320, 355))

    assert outcome(0.12).holds, outcome(0.12)
    assert outcome(0.12).measured.startswith("period 120 ms")
    assert not outcome(0.2).holds
    assert outcome(60.0).measured.startswith("no period")
    assert not outcome(0.12, low=60.0).holds


def test_losses_while_flows_overlap(make_run):
    experiment = ("cubic", "pfifo", 200.0, 180)

    def outcome(every_s):
        return capped.losses_in_overlap(
            make_trials(make_run, {experiment: {"cwnd": lambda t: 100 + 100 * (t % every_s)}}, seeds=(1,)), "cubic"
        )

    assert outcome(9).holds
    assert outcome(9).measured.startswith("drops 4 4 4; ")
    assert not outcome(50).holds


def test_avoidance_begins_below_the_plateau(make_run):
    def outcome(tail):
        made = {("cubic", "pfifo", 200.0, 180): {"cwnd": lambda t: tail + 0 * t}}
        made |= {("cubic", qdisc, 200.0, 180): {"cwnd": halvings(2.5)} for qdisc in ("pie", "codel", "fq_codel")}
        return growth.avoidance_below_plateau(make_trials(make_run, made, seeds=(1,)), "cubic", 0.6)

    assert outcome(400).holds
    assert not outcome(300).holds


def test_delay_that_aqms_add(make_run):
    def outcome(jain_of=(0.3, 0.3, 0.4), queue=40.0, rough=10.0):
        made = {}
        for rtt_ms, limits in ((20.0, (180, 2000)), (200.0, (180,))):
            made["cubic", "pfifo", rtt_ms, 180] = {"queue_ms": lambda t: 200 + 0 * t, "rates": (0.2, 0.3, 0.5)}
            for qdisc, limit in ((qdisc, limit) for qdisc in ("pie", "codel", "fq_codel") for limit in limits):
                swing = rough if qdisc == "pie" else 5.0
                made["cubic", qdisc, rtt_ms, limit] = {
                    "queue_ms": lambda t, swing=swing: queue + swing * np.sin(t),
                    "rates": jain_of if rtt_ms == 20 else (0.1, 0.3, 0.6),
                }
        found = make_trials(make_run, made, seeds=(1,))
        return delay.aqm_shares_better_and_adds_less(found, "cubic").holds, delay.less_smooth(found, "cubic").holds

    assert outcome() == (True, True)
    assert outcome(jain_of=(0.1, 0.3, 0.6)) == (False, True)
    assert outcome(queue=90.0) == (False, True)
    assert outcome(rough=7.0) == (True, False)


def test_lone_flows_fall_short_by_a_share_and_if_asked_for_late(make_run):
    made = {("cubic", qdisc, 200.0, 180): {"total": 9.0} for qdisc in ("pie", "codel", "fq_codel")}
    found = make_trials(make_run, {("cubic", "pfifo", 200.0, 180): {"total": 9.8}, **made}, seeds=(1,))
    assert growth.lone_flows_fall_short(found, ["cubic"], first_share=0.95).holds
    assert not growth.lone_flows_fall_short(found, ["cubic"], first_share=0.90).holds
    early = make_trials(make_run, {("cubic", "pfifo", 200.0, 180): {"total": 11.0}, **{cell: {"total": 9.6} for cell in made}}, seeds=(1,))
    assert not growth.lone_flows_fall_short(early, ["cubic"], first_share=0.95).holds
    assert growth.lone_flows_fall_short(early, ["cubic"], first_share=0.95, slow=False).holds


def aqm_trials(make_run, tail_queue, aqm_queue, aqm_total=9.5):
    tail = {(cc, "pfifo", 20.0, 180): {"queue_ms": lambda t: tail_queue + 0 * t} for cc in ("newreno", "cubic")}
    aqm = {
        (cc, qdisc, 20.0, 180): {"queue_ms": lambda t: aqm_queue + 0 * t, "total": aqm_total}
        for cc in ("newreno", "cubic")
        for qdisc in ("pie", "codel", "fq_codel")
    }
    return make_trials(make_run, {**tail, **aqm}, seeds=(1, 2))


@pytest.mark.parametrize(
    ("tail", "aqm", "total", "holds"), [(100, 10, 9.5, True), (70, 10, 9.5, False), (100, 50, 9.5, False), (100, 10, 8, False)]
)
def test_an_aqm_removes_the_standing_queue(make_run, tail, aqm, total, holds):
    outcome = delay.aqm_removes_standing_queue(aqm_trials(make_run, tail, aqm, total))
    assert outcome.holds is holds
    assert ("[no]" in outcome.measured) is not holds


def test_flow_queues_share_more_smoothly(make_run):
    def trials_with(smooth, rough):
        return make_trials(
            make_run,
            {("newreno", qdisc, 20.0, 180): {"wobble": smooth if qdisc == "fq_codel" else rough} for qdisc in ("pie", "codel", "fq_codel")},
            seeds=(1,),
        )

    assert sharing.smoother_with_flow_queues(trials_with(0.01, 0.2), ["newreno"]).holds
    assert not sharing.smoother_with_flow_queues(trials_with(0.18, 0.2), ["newreno"]).holds
    assert not sharing.smoother_with_flow_queues(trials_with(0.2, 0.01), ["newreno"]).holds


def test_shares_that_differ_between_runs(make_run):
    experiment = ("newreno", "pfifo", 20.0, 180)
    apart = make_trials(make_run, {experiment: lambda seed: {"rates": (0.3, 0.3 + 0.01 * seed, 0.3)}})
    assert sharing.share_differs_between_runs(apart, cc="newreno").holds
    assert sharing.split_differs_between_runs(apart, cc="newreno").holds
    alike = make_trials(make_run, {experiment: {}})
    assert not sharing.share_differs_between_runs(alike, cc="newreno").holds


def test_a_spread_needs_ten_repeats(make_run):
    (claim,) = (claim for claim in check_claims([make_run(Experiment("newreno", "pfifo", 20.0, 180))]) if claim.id == "T005+T008")
    assert (claim.status, claim.measured) == ("not_applicable", "too few seeds (1): a spread needs 10")


def test_the_incumbent_dominates(make_run):
    experiment = ("cubic", "pfifo", 20.0, 180)
    even = make_trials(make_run, {experiment: {}}, seeds=(1,))
    assert not sharing.incumbent_dominates(even, cc="cubic").holds
    outcome = sharing.incumbent_dominates(make_trials(make_run, {experiment: {"rates": (0.6, 0.2, 0.2)}}, seeds=(1,)), cc="cubic")
    assert outcome.measured.startswith("flow 1 over flow 2 in 20..40 s 3.00; ")


def test_the_saw_tooth_of_the_queue_is_measured(make_run):
    # The drops of `make_run` come every 5 s; the queue falls to 100 ms then and climbs to 210 ms.
    experiment = ("newreno", "pfifo", 20.0, 180)
    tooth = make_trials(make_run, {experiment: {"queue_ms": lambda t: 80 + 130 * ((t % 5) / 5)}}, seeds=(1,))
    outcome = delay.saw_tooth(tooth, cc="newreno", top_ms=(220, 260), bottom_ms=(80, 125))
    assert outcome.holds, outcome
    assert outcome.measured.startswith("max 227 ms; minima of cycles 100 ms")
    assert not delay.saw_tooth(tooth, cc="newreno", top_ms=(235, 260), bottom_ms=(80, 125)).holds
    assert not delay.saw_tooth(tooth, cc="newreno", top_ms=(220, 260), bottom_ms=(110, 125)).holds


def test_bands_of_rtt(make_run):
    def trials_with(pie):
        swing = {"pie": pie, "codel": 5.0, "fq_codel": 4.0}
        return make_trials(
            make_run,
            {("newreno", name, 20.0, 180): {"queue_ms": lambda t, width=width: width * (1 + np.sin(t))} for name, width in swing.items()},
            seeds=(1,),
        )

    assert delay.widest_band(trials_with(15.0), ["newreno"]).holds
    assert not delay.widest_band(trials_with(20.0), ["newreno"]).holds
    assert not delay.widest_band(trials_with(3.0), ["newreno"]).holds
    assert delay.narrow_band(trials_with(15.0), ["newreno"]).holds
    assert not delay.narrow_band(trials_with(15.0), ["newreno"], ["pie"]).holds


def test_the_limit_changes_nothing(make_run):
    def trials_with(**large):
        return make_trials(make_run, {("cubic", "pie", 20.0, 180): {}, ("cubic", "pie", 20.0, 2000): large}, seeds=(1,))

    assert delay.limit_changes_nothing(trials_with(), ["cubic"], ["pie"]).holds
    assert not delay.limit_changes_nothing(trials_with(total=9.0), ["cubic"], ["pie"]).holds
    assert not delay.limit_changes_nothing(trials_with(rates=(0.6, 0.2, 0.2)), ["cubic"], ["pie"]).holds
    assert not delay.limit_changes_nothing(trials_with(queue_ms=lambda t: 15 + 0 * t), ["cubic"], ["pie"]).holds


def halvings(*at):
    """A window (packets) that climbs to 400 in 2 s, is halved at these times, and else grows slowly."""

    def window(t):
        values = np.where(t < 2, 10 + 195 * t, 400 + t - 2)
        for time in at:
            values = np.where(t >= time, values / 2, values)
        return values

    return window


def test_halvings_that_end_slow_start(make_run):
    experiment = ("newreno", "codel", 200.0, 180)
    single = make_trials(make_run, {experiment: {"cwnd": halvings(2.5, 30)}}, seeds=(1, 2))
    double = make_trials(make_run, {experiment: {"cwnd": halvings(2.5, 4)}}, seeds=(1, 2))
    wanted = {"cc": "newreno", "qdiscs": ["codel"]}
    assert growth.first_halvings(single, **wanted, counts=[1], between_kb=(250, 330), of_peak=(0.45, 0.55)).holds
    assert not growth.first_halvings(single, **wanted, counts=[2], between_kb=(250, 330)).holds
    assert growth.first_halvings(double, **wanted, counts=[1, 2], between_kb=(120, 185)).holds
    assert growth.end_of_slow_start(single, **wanted, between_kb=(570, 590)).holds
    assert growth.start_of_avoidance(single, "newreno", "codel", (285, 295)).holds
    never = make_trials(make_run, {experiment: {"cwnd": lambda t: 100 + 0 * t}}, seeds=(1,))
    assert not any(growth.first_reductions(trial) for trial in never.of(*experiment))


def test_reductions_are_further_apart_on_the_long_path(make_run):
    def trials_with(long):
        return make_trials(
            make_run,
            {
                ("newreno", "pfifo", 20.0, 180): {"cwnd": lambda t: 100 + 100 * (t % 5)},
                ("newreno", "pfifo", 200.0, 180): {"cwnd": lambda t: 100 + 100 * (t % long)},
            },
            seeds=(1,),
        )

    assert growth.slower_oscillation(trials_with(15), cc="newreno").holds
    assert not growth.slower_oscillation(trials_with(6), cc="newreno").holds


def test_a_control_is_judged_at_the_first_onset_after_the_window_exceeded_400_kb(make_run):
    def trials_with(control_total):
        cell = Experiment("newreno", "pie", 200.0, 180)
        wide = {"cwnd": lambda t: np.where(t < 1.15, 100, 300), "queue_ms": lambda t: 0 * t}
        low = {"cwnd": lambda t: np.where(t < 1.0, 300, 140), "total": 140 * 1.448 * 8 / 200, "queue_ms": lambda t: 0 * t}
        runs = [make_run(Experiment("newreno", "pfifo", 200.0, 180), **wide), make_run(cell, **low)]
        runs += [make_run(cell, onset_s=onset, total=total) for onset, total in ((1.0, 1.0), (1.2, control_total), (1.4, 1.0))]
        return trials(runs)

    good = growth.deficit_from_early_exit(trials_with(9.56), ["newreno"], ["pie"])
    assert good.holds, good
    assert "control from 1.2 s x 1.000 of pfifo" in good.measured
    assert not growth.deficit_from_early_exit(trials_with(8.0), ["newreno"], ["pie"]).holds
