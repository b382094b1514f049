"""Series as the page reads them."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.explorer.arrays import coded, deltas, gzipped, reduced, regular, within

INT64 = st.integers(-(2**62), 2**62)


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=60))
def test_values_come_back_to_the_last_bit(listed):
    check(np.array(listed))


@given(st.lists(st.integers(-(2**54), 2**54), min_size=1, max_size=60), st.sampled_from([1, 1000, 8000, 1_000_000]))
def test_whole_numbers_over_a_scale_come_back_to_the_last_bit(listed, scale):
    check(np.array(listed) / scale)


def check(values):
    how, content = coded(values)
    if how:
        steps = np.frombuffer(content, dtype=f"<i{how['bits'] // 8}").astype(np.int64)
        found = np.cumsum(steps) / how["scale"]
    else:
        found = np.frombuffer(content, dtype="<f8")
    assert found.tobytes() == values.tobytes()


@pytest.mark.parametrize(
    ("values", "how"),
    [
        pytest.param([1, 2, 300], {"scale": 1, "bits": 16}, id="counts"),
        pytest.param([1 / 3, 24.7716, 20.0], {}, id="no scale"),
        pytest.param([24.771625, 20.5], {"scale": 8000, "bits": 32}, id="eighths of a microsecond"),
        pytest.param([0.0, -0.0], {}, id="negative zero"),
        pytest.param([1.0, np.nan], {}, id="not a number"),
        pytest.param([], {}, id="none"),
    ],
)
def test_the_code_is_the_shortest_that_is_exact(values, how):
    assert coded(np.array(values, dtype=float))[0] == how


@given(st.lists(INT64, max_size=40))
def test_times_come_back(listed):
    t_ns = np.sort(np.array(listed, dtype=np.int64))
    assert np.array_equal(np.cumsum(np.frombuffer(deltas(t_ns), dtype="<i8")), t_ns)
    if (steps := regular(t_ns)) is not None:
        assert np.array_equal(steps[0] + steps[1] * np.arange(len(t_ns)), t_ns)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=300), st.integers(1, 40))
def test_reducing_keeps_the_extremes_of_every_part_at_their_times(listed, columns):
    values = np.array(listed)
    t_ns = np.cumsum(np.arange(len(values))).astype(np.int64)
    times, kept = reduced((t_ns, values), columns)
    assert len(kept) <= max(2 * columns, min(len(values), 2 * columns))
    assert (kept.min(), kept.max()) == (values.min(), values.max())
    places = np.searchsorted(t_ns, times)
    assert np.array_equal(t_ns[places], times)
    assert np.array_equal(values[places], kept)
    if len(values) > 2 * columns:
        span = t_ns[-1] - t_ns[0] + 1
        part = ((t_ns - t_ns[0]) * (columns / span)).astype(int).clip(0, columns - 1)
        for each in set(part):
            inside = np.isin(times, t_ns[part == each])
            assert (kept[inside].min(), kept[inside].max()) == (values[part == each].min(), values[part == each].max())


def test_a_part_has_one_sample_more_on_either_side():
    t_ns, values = np.arange(10) * 10**9, np.arange(10.0)
    assert within((t_ns, values), 2.5, 5.5)[1].tolist() == [2, 3, 4, 5, 6]
    assert within((t_ns, values), -1, 0)[1].tolist() == [0, 1]


def test_what_is_packed_has_no_time_in_it():
    assert gzipped(b"it")[4:8] == bytes(4)
    assert zlib.decompress(gzipped(b"it"), 31) == b"it"
