"""The reduction of a run's transfers."""

import math

import pytest

from dumbbell.study.claims import MissingRunError
from dumbbell_studies.fairness.formats import FORMAT
from dumbbell_studies.fairness.transfers import of_run, transfers


def test_a_transfer_over_the_time_in_common_and_alone(make_run):
    first, second = of_run(make_run("Combo1", {"S1": 10.0, "S2": 40.0}, {"S1": 3}))
    assert (first.elapsed_s, second.elapsed_s, first.retransmits) == (10.0, 40.0, 3)
    assert first.mbit == pytest.approx(83.886, abs=1e-3)
    assert first.shared_mbit == pytest.approx(first.mbit, rel=1e-6)
    assert second.shared_mbit == pytest.approx(second.mbit, rel=1e-6)
    assert math.isnan(first.alone_mbit)
    assert second.alone_mbit == pytest.approx(second.mbit, rel=1e-6)
    assert (first.window_bytes, first.completed) == (5840, True)


def test_time_counts_from_each_ones_own_start(make_run):
    first, second = of_run(make_run("Combo1", {"S1": 10.0, "S2": 10.0}, starts={"S2": 2.0}))
    assert (first.elapsed_s, second.elapsed_s) == (10.0, 10.0)
    assert second.alone_mbit == pytest.approx(second.mbit, rel=1e-6)


def test_runs_of_others_are_no_transfers(make_run):
    assert (
        of_run(make_run("Combo1", {"S1": 1.0, "S2": 1.0}).__class__.crashed("no", key="k", name="n", cell={"seed": 1}, scenario={})) == []
    )
    assert of_run(make_run("Combo1", {"S1": 1.0, "S2": 1.0}, seed="x")) == []


def test_missing_runs_are_named(make_run):
    found = transfers([make_run("Baseline1", {"S1": 9.0})])
    with pytest.raises(MissingRunError, match="no run of 2011 Combo1 S1"):
        found.of("Combo1", "S1")


def test_experiments_are_not_compared_with_the_report(make_run):
    runs = [make_run("Baseline5", {"S1": 14.0}), make_run("Baseline5", {"S1": 9.0}, experiment="deep-delay")]
    assert FORMAT.measure(runs)[("Baseline5", "S1"), "elapsed_s"] == [14.0]
