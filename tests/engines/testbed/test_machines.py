"""Facts of its machines that a run records."""

import numpy as np

from dumbbell.engines.testbed.machines import loads


def test_shares_are_of_the_time_between_two_readings(tmp_path):
    # Two processors for 1 s: 50 ticks busy and 10 stolen of 200; then nothing passes; then all of the next 100.
    rows = [[0, 1000, 5, 9000], [1e9, 1050, 15, 9200], [1.01e9, 1050, 15, 9200], [1.5e9, 1150, 15, 9300]]
    np.array(rows, dtype="<f8").tofile(tmp_path / "machine")
    (block,) = loads({"left1": tmp_path, "router": tmp_path / "none"})
    assert (block.entity, block.names) == ("host/left1", ("cpu", "steal"))
    assert block.t_ns.tolist() == [10**9, 15 * 10**8]
    assert block.values.tolist() == [[0.25, 1.0], [0.05, 0.0]]


def test_one_reading_is_no_share(tmp_path):
    np.array([[0, 1, 0, 2]], dtype="<f8").tofile(tmp_path / "machine")
    assert not list(loads({"here": tmp_path}))
