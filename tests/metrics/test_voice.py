import math

import numpy as np
import pytest

from dumbbell.metrics.datagrams import LOST, UNDER_WAY
from dumbbell.metrics.voice import Playout, burst_ratio, mos, r_factor

MS = 1_000_000


def test_the_default_values_give_the_published_rating():
    """G.107, 7.7: with all default values R is 93.2. The fourth decimal is that of another implementation of the Recommendation."""
    assert r_factor(0) == pytest.approx(93.206208, abs=1e-6)


@pytest.mark.parametrize(("r", "published"), [(90, 4.34), (80, 4.03), (70, 3.60), (60, 3.10), (50, 2.58)])
def test_scores_are_those_of_table_b_1(r, published):
    """G.107, table B.1: the limits of the categories of quality."""
    assert mos(r) == pytest.approx(published, abs=0.0065)


def test_scores_end_at_1_and_at_4_5():
    assert [mos(r) for r in (-40, 0, 100, 130)] == [1, 1, 4.5, 4.5]
    scores = [mos(r) for r in np.linspace(7, 100, 200)]
    assert scores == sorted(scores)
    assert min(mos(r) for r in np.linspace(0, 7, 50)) == 1


@pytest.mark.parametrize("delay_ms", [50, 100, 150, 200, 250])
def test_delay_costs_what_the_approximation_of_the_same_model_says(delay_ms):
    """Cole and Rosenbluth, Voice over IP performance monitoring (CCR 31(2), 2001): Id = 0.024 d + 0.11 (d - 177.3) above 177.3 ms."""
    approximated = 0.024 * delay_ms + 0.11 * max(0.0, delay_ms - 177.3)
    assert r_factor(0) - r_factor(delay_ms) == pytest.approx(approximated, abs=0.7)


def test_losses_cost_what_the_formula_of_the_equipment_says():
    """G.107, equation 7-29 with Ie 0 and Bpl 4.3: 95 Ppl / (Ppl / BurstR + Bpl)."""
    assert r_factor(0) - r_factor(0, 0.043) == pytest.approx(95 / 2)
    assert r_factor(0) - r_factor(0, 0.043, 2) == pytest.approx(95 / 1.5)


def test_losses_in_a_row_are_bursts():
    lost = np.zeros(100, dtype=bool)
    assert burst_ratio(lost) == 1
    lost[10:14] = lost[50:52] = True
    assert burst_ratio(lost) == pytest.approx(3 * 0.94)
    assert burst_ratio(~np.zeros(5, dtype=bool)) == 1
    assert burst_ratio(np.array([True, False, False])) == 1


def test_what_comes_after_its_time_is_not_played():
    sent = np.arange(6) * 20 * MS
    arrived = sent + np.array([30, 50, 91, 90, 0, 0]) * MS
    arrived[4:] = LOST, UNDER_WAY
    found = Playout.of(sent, arrived, 60 * MS)
    assert (found.delay_ms, found.late) == (90, 1)
    assert found.missing.tolist() == [False, False, True, False, True]


def test_the_first_that_arrives_sets_the_delay():
    found = Playout.of(np.array([0, 20, 40]) * MS, np.array([LOST, 80, 75]) * MS // np.array([MS, 1, 1]), 10 * MS)
    assert (found.delay_ms, found.late) == (45, 1)


def test_a_call_of_which_nothing_arrives_has_no_delay():
    found = Playout.of(np.array([0, 20]), np.array([LOST, UNDER_WAY]), 0)
    assert math.isnan(found.delay_ms)
    assert found.missing.tolist() == [True]
