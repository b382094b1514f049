import math

import numpy as np
import pytest

from dumbbell.metrics.datagrams import LOST, NOT_SENT, UNDER_WAY, Datagrams, arrivals, jitter_ms, reordered

MS = 1_000_000


def times(*numbers):
    """Whole ns of ms; negative numbers as they are."""
    return np.array([number if number < 0 else round(number * MS) for number in numbers], dtype=np.int64)


def test_delays_are_those_of_what_arrived_in_order_of_arrival():
    t_ns, delays_ms = arrivals(times(0, 10, 20, 30), times(25, LOST, 24, UNDER_WAY))
    assert t_ns.tolist() == [24 * MS, 25 * MS]
    assert delays_ms.tolist() == [4, 25]
    assert [len(each) for each in arrivals(times(0), times(LOST))] == [0, 0]


def test_jitter_is_that_of_rfc_3550():
    assert jitter_ms(np.array([5.0, 5.0, 5.0])).tolist() == [0, 0, 0]
    assert jitter_ms(np.array([5.0, 21.0, 5.0])).tolist() == [0, 1.0, 1.0 + 15 / 16]
    assert jitter_ms(np.empty(0)).size == 0
    # The jitter approaches a difference that stays.
    assert jitter_ms(np.resize([1.0, 3.0], 500))[-1] == pytest.approx(2.0, rel=1e-6)


def test_a_datagram_is_reordered_if_a_later_one_has_arrived():
    assert reordered(times(10, 20, 30)) == 0
    assert reordered(times(10, 40, LOST, 30, 35, UNDER_WAY)) == 1
    assert reordered(times(30, 20, LOST, 10)) == 2
    assert reordered(times(50, 10, 20)) == 1
    assert reordered(times(20, 20)) == 0
    assert reordered(times(LOST)) == 0


def test_what_is_under_way_is_neither_lost_nor_counted():
    stream = Datagrams(times(0, 1, 2, 3, 4, 5), times(10, LOST, 12, 13, UNDER_WAY, 15), times(20, NOT_SENT, LOST, UNDER_WAY, NOT_SENT, 25))
    assert stream.are_answered
    assert stream.lost.tolist() == [False, True, True, False, False, False]
    assert stream.under_way.tolist() == [False, False, False, True, True, False]
    assert stream.lost_share == 2 / 4
    assert math.isnan(Datagrams(times(0), times(UNDER_WAY), times(NOT_SENT)).lost_share)
    assert not Datagrams(times(0), times(9), times(NOT_SENT)).are_answered
