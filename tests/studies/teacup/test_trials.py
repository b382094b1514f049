import math
from dataclasses import replace

import numpy as np
import pytest
from support import tables

from dumbbell.study.claims import MissingRunError
from dumbbell_studies.teacup.measures import MEASURES, measure_all, summaries
from dumbbell_studies.teacup.published import Experiment
from dumbbell_studies.teacup.trials import SEGMENT_KB, STEPS_S, coordinates_of, run_of, steps_within, trial_of, trials

HERE = Experiment("newreno", "codel", 20.0, 180)


def test_rates_are_those_of_active_flows(make_run):
    trial = trial_of(make_run(HERE, rates=(0.5, 0.3, 0.2), total=10.0))
    at = {end: trial.thr2[:, list(STEPS_S).index(end)] for end in (10.0, 20.0, 30.0, 50.0, 70.0, 90.0)}
    assert at[10.0][0] == pytest.approx(10)
    assert np.isnan(at[10.0][1:]).all()
    assert list(at[30.0][:2]) == [pytest.approx(6.25), pytest.approx(3.75)]
    assert list(at[50.0]) == [pytest.approx(5), pytest.approx(3), pytest.approx(2)]
    assert math.isnan(at[70.0][0])
    assert at[90.0][2] == pytest.approx(10)
    assert trial.agg_thr(2, 98) == pytest.approx(10)
    assert trial.shares(45, 60) == {1: pytest.approx(0.5), 2: pytest.approx(0.3), 3: pytest.approx(0.2)}
    assert set(trial.shares(65, 80)) == {2, 3}
    assert trial.jain(45, 60) == pytest.approx(1 / (3 * 0.38))


def test_windows_are_within_their_epoch(make_run):
    assert list(STEPS_S[steps_within(25, 28)]) == [27.0, 27.5, 28.0]
    trial = trial_of(make_run(HERE))
    assert trial.jain2().shape == (3 * 27,)
    assert trial.jain2().min() == pytest.approx(1)
    assert trial.covs() == [pytest.approx(0, abs=1e-6)] * 3
    assert min(trial_of(make_run(HERE, wobble=0.3)).covs()) > 0.1


def test_time_begins_at_the_first_start(make_run):
    run = make_run(HERE)
    later = {entity: {**counters, "start_ns": counters["start_ns"] + 50_000_000} for entity, counters in run.counters.items()}
    run = replace(run, **tables(later))
    trial = trial_of(run)
    assert [flow.start_s for flow in trial.flows] == [0, 20, 40]
    assert trial.flows[0].received[0][0] == pytest.approx(-0.05)


def test_units_and_queueing(make_run):
    trial = trial_of(make_run(HERE, cwnd=lambda t: 100 + 0 * t, queue_ms=lambda t: 10 + 0 * t))
    assert set(trial.flows[0].cwnd_kb[1]) == {100 * SEGMENT_KB}
    assert set(trial.rtt([(0, 100)])) == {30.0}
    assert trial.flows[0].cwnd_kb[0].max() <= 60


def test_a_flow_reaches_its_fair_share(make_run):
    assert trial_of(make_run(HERE)).time_to_fair_share_s(2) == 2
    # The first flow leaves at 60 s, and then the third has enough.
    assert trial_of(make_run(HERE, rates=(0.9, 0.05, 0.05))).time_to_fair_share_s(3) == pytest.approx(21.5)


def test_other_runs_do_not_belong_to_the_study(make_run):
    run = make_run(HERE, seed=4)
    assert coordinates_of(run) == (HERE, None, 4)
    assert run_of([run], HERE, 4) is run
    assert run_of([run], HERE, 1) is None
    assert coordinates_of(replace(run, cell={**run.cell, "limit_packets": "inf"})) is None
    run.cell.pop("qdisc")
    assert trial_of(run) is None
    assert trials([run]).experiments == {}


def test_an_experiment_without_runs_is_named():
    with pytest.raises(MissingRunError, match="no run of cubic, pie, 200 ms, 180 packets"):
        trials([]).of("cubic", "pie", 200)


def test_summaries_have_means_and_intervals(make_run):
    runs = [make_run(HERE, seed, total=total) for seed, total in ((1, 9.0), (2, 9.2), (3, 9.4))]
    assert measure_all(runs)[("newreno", "codel", 20.0, 180.0), "throughput_mbit"] == [pytest.approx(v) for v in (9.0, 9.2, 9.4)]
    tables = summaries(runs)
    (row,) = tables["summary"].fields
    assert row[:5] == ["newreno", "codel", "20", "180", "3"]
    assert row[5].startswith("9.200±0.49")
    assert len(tables["intervals"].fields) == len(MEASURES)
    assert tables["intervals"].fields[0][:6] == ["newreno", "codel", "20", "180", "throughput_mbit", "3"]
