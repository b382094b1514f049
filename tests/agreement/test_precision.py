"""The rule for further starts, on hand-made runs."""

import pytest
from support import one_flow as run

from dumbbell.agreement.precision import Precision, means


def starts(*goodputs):
    return [means(run("s", mbit)) for mbit in goodputs]


def test_starts_are_added_while_the_mean_is_not_known():
    # Mean 10, standard deviation 1: a standard error of 5 % with four runs.
    four = starts(9, 9, 11, 11)
    error = 1.1547 / 2 / 10
    assert Precision(error * 0.99, 3).further([four]) == [range(4, 7)]
    assert Precision(error * 1.01, 3).further([four]) == [range(0)]


def test_a_single_start_stays_alone_and_a_hundred_are_enough():
    wide = Precision(0.001, 30)
    assert wide.further([starts(10), starts(*[5, 15] * 45), starts(*[5, 15] * 50)]) == [range(0), range(90, 100), range(0)]


@pytest.mark.parametrize(("reference", "ours"), [(1, 1), (10, 40)])
def test_ours_has_four_times_as_many_where_there_are_several(reference, ours):
    assert Precision(0.01, 10).our_starts(reference) == ours
