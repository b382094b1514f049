"""Responsiveness (RPM) of made-up samples, and of the test that measures it."""

import math

import numpy as np
import pytest

from dumbbell import templates
from dumbbell.api import run
from dumbbell.metrics.responsiveness import grade, responsiveness
from dumbbell.results.responsiveness import measured
from dumbbell.scenario import Scenario

END_S = 20


def constant(value, every_s=0.1):
    times = np.arange(every_s, END_S + 1e-9, every_s)
    return times, np.full(len(times), float(value))


def load(rate=1e6, ramp_s=0.0):
    times = np.arange(0, END_S + 1e-9, 0.1)
    return times, rate * np.maximum(0, times - ramp_s)


def test_the_formula_is_that_of_the_draft_without_tls():
    found = responsiveness(load(), constant(40), constant(80), constant(120), END_S)
    assert found.rpm == pytest.approx((60_000 / 60 + 60_000 / 120) / 2)
    assert found.confidence == "high"
    # The fourth of 4 full averages of goodput ends at 7 s, the fourth value of responsiveness 4 s later.
    assert found.at_s == 11


def test_the_largest_twentieth_of_the_values_is_left_out():
    times, values = constant(40)
    values[::40] = 4000
    found = responsiveness(load(), (times, values), constant(40), constant(40), END_S)
    assert found.rpm == pytest.approx(60_000 / 40)


def test_probes_before_saturation_do_not_count():
    times, values = constant(30)
    values[times < 6] = 3000
    ramp = np.arange(0, END_S + 1e-9, 0.1)
    rising = ramp, np.cumsum(np.minimum(ramp, 8))  # goodput grows for 8 s
    found = responsiveness(rising, (times, values), (times, values), (times, values), END_S)
    assert found.rpm == pytest.approx(60_000 / 30)
    assert found.at_s > 12


@pytest.mark.parametrize(("end_s", "confidence"), [(2, "low"), (6, "low"), (END_S, "medium")])
def test_what_never_gets_stable_has_less_confidence(end_s, confidence):
    times, values = constant(30)
    restless = values * (1 + np.floor(times))
    found = responsiveness(load(), (times, restless), (times, restless), (times, restless), end_s)
    assert found.confidence == confidence


def test_without_probes_there_is_no_number():
    nothing = np.empty(0), np.empty(0)
    assert math.isnan(responsiveness(load(), nothing, nothing, nothing, END_S).rpm)
    assert grade(math.nan) == ""


@pytest.mark.parametrize(("rpm", "letter"), [(1000, "A"), (999, "B"), (400, "B"), (200, "C"), (100, "D"), (99, "F")])
def test_grades(rpm, letter):
    assert grade(rpm) == letter


@pytest.fixture(scope="module")
def runs():
    """The test for a download, with one seed, as the template has it."""
    scenario = Scenario.from_file(
        templates.file("responsiveness"),
        changes={"repeat": 1, "sweep.flows.0.direction": ["forward"]},
    )
    return {each.cell["path.bottleneck.qdisc"]: each for each in run(scenario)}


def test_a_full_link_with_a_managed_queue_is_responsive_and_one_without_is_not(runs):
    good, bad = (runs[name].responsiveness for name in ("fq_codel", "pfifo limit=1000p"))
    assert good == measured(runs["fq_codel"])
    assert good.confidence == bad.confidence == "high"
    assert min(good.at_s, bad.at_s) >= 7  # 4 averages of goodput over 4 s, from the first whole one on
    # A round trip of 30 ms, and a little more for the load's own queue.
    assert 60_000 / 40 < good.rpm < 60_000 / 30
    # 1000 packets at 50 Mbit/s are 242 ms on top.
    assert 60_000 / 272 - 30 < bad.rpm < 60_000 / 200
    assert runs["fq_codel"].summary.run["responsiveness_rpm"] == good.rpm


def test_other_runs_have_no_responsiveness():
    plain = {"name": "plain", "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": "codel"}}, "flows": [{"cc": "reno"}]}
    (found,) = run(Scenario.model_validate({**plain, "duration": "1s"}))
    assert measured(found) is None
    assert math.isnan(found.summary.run["responsiveness_rpm"])
