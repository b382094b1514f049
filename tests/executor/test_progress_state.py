"""Progress of a set of runs: by the cost of runs, not by their number."""

import pytest

from dumbbell.executor.progress_state import ProgressState

# One of 10 CPU seconds is done and took 20 s; 90 are left.
HALF = ProgressState(done=1, total=10, cost_done=10.0, cost_total=100.0, busy_s=20.0, packets=1_000_000, workers=2)


def test_nothing_is_known_before_the_first_run_is_done():
    fresh = ProgressState(total=3, cost_total=30.0, running=((0.0, 10.0),))
    assert (fresh.left_s(5.0), fresh.packets_per_s, fresh.share(5.0)) == (None, None, 0.0)


def test_the_rest_is_shared_by_the_workers():
    assert HALF.left_s(0.0) == 90.0
    assert HALF.share(0.0) == 0.1


def test_what_is_being_computed_counts_with_the_time_it_has_taken():
    running = ProgressState(**{**HALF.__dict__, "running": ((100.0, 40.0), (130.0, 20.0))})
    # At 140: 80 - 40 and 40 - 10 s are left of the two, and 60 s of the 30 CPU seconds that wait.
    assert running.left_s(140.0) == (60 + 40 + 30) / 2
    assert running.share(140.0) == pytest.approx((10 + 20 + 5) / 100)
    assert running.packets_per_s == 1_000_000 / 20 * 2


def test_no_less_is_left_than_the_longest_run_takes():
    last = ProgressState(done=9, total=10, cost_done=10.0, cost_total=50.0, busy_s=10.0, running=((0.0, 40.0),), workers=4)
    assert last.left_s(10.0) == 30.0
    assert last.left_s(45.0) == 0.0
    assert last.share(45.0) == 1.0


def test_two_sets_after_one_another():
    both = HALF + ProgressState(total=10, cost_total=300.0)
    assert (both.done, both.total, both.cost_done, both.cost_total, both.workers) == (1, 20, 10.0, 400.0, 2)
    assert both.left_s(0.0) == 390.0
