"""Units are exact, must be given, and survive writing and reading."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.scenario import Duration, Limit, Packets, Rate, Size

WHOLE = st.integers(min_value=1, max_value=2**53)


@pytest.mark.parametrize("kind", [Rate, Duration, Size, Packets])
@given(value=WHOLE)
def test_a_quantity_is_read_back_as_it_was_written(kind, value):
    quantity = kind(value)
    assert kind.parse(str(quantity)) == value


@given(
    limit=st.one_of(
        WHOLE.map(lambda n: f"{n}p"), WHOLE.map(lambda n: f"{n}B"), st.decimals("0.001", 1000, places=3).map(lambda d: f"{d}bdp")
    )
)
def test_a_limit_is_read_back_as_it_was_written(limit):
    parsed = Limit.parse(limit)
    assert Limit.parse(str(parsed)) == parsed


@given(number=st.decimals(0, 10**6, places=3))
def test_decimal_fractions_are_exact(number):
    assert Duration.parse(f"{number}us") == Fraction(number) * 1000


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        (Rate, "10mbit", 10_000_000),
        (Rate, "0.5Mbit", 500_000),
        (Rate, "1gbit", 10**9),
        (Rate, "64 kbit", 64_000),
        (Duration, "20ms", 20_000_000),
        (Duration, "300us", 300_000),
        (Duration, "1.5s", 1_500_000_000),
        (Duration, "2min", 120 * 10**9),
        (Duration, "0s", 0),
        (Size, "100MiB", 100 << 20),
        (Size, "1.5kB", 1500),
        (Packets, "180p", 180),
    ],
)
def test_written_forms(kind, written, value):
    assert kind.parse(written) == value


@pytest.mark.parametrize(("value", "written"), [(0, "0s"), (1, "1ns"), (1_500_000, "1500us"), (300 * 10**9, "300s")])
def test_times_are_written_in_the_largest_unit_that_fits(value, written):
    assert str(Duration(value)) == written


@pytest.mark.parametrize(
    ("kind", "written", "why"),
    [
        (Rate, 10, "has no unit"),
        (Rate, 10.5, "has no unit"),
        (Rate, "10", "has no unit"),
        (Rate, "10mb", "unknown unit 'mb'"),
        (Rate, "10ms", "unknown unit 'ms'"),
        (Rate, "0mbit", "a rate of 0 never sends"),
        (Rate, "-1mbit", "is negative"),
        (Rate, "0.5bit", "not a whole number of bit/s"),
        (Rate, "fast", "not a number with a unit"),
        (Rate, True, "is not a rate"),
        (Rate, None, "is not a rate"),
        (Duration, "20", "has no unit"),
        (Duration, "20MS", "unknown unit 'MS'"),
        (Duration, "-20ms", "is negative"),
        (Duration, "0.5ns", "not a whole number of ns"),
        (Duration, "1e40s", "out of range"),
        (Duration, "300000000h", "out of range"),
        (Duration, "1 2ms", "not a number with a unit"),
        (Size, "1mib", "unknown unit 'mib'"),
        (Packets, "1.5p", "not a whole number of packets"),
        (Limit, 180, "has no unit"),
        (Limit, "180", "has no unit"),
        (Limit, "0p", "leaves no room"),
        (Limit, "0bdp", "leaves no room"),
        (Limit, "1.5p", "not a whole number"),
        (Limit, "180packets", "unknown unit 'packets'"),
        (Limit, ["180p"], "is not a limit"),
    ],
)
def test_bad_quantities_are_refused(kind, written, why):
    with pytest.raises(ValueError) as error:
        kind.parse(written)
    assert why in str(error.value)
    assert "; expected " in str(error.value)


@pytest.mark.parametrize(("rate", "rtt", "packets"), [(10, 20, 17), (10, 80, 67), (50, 20, 83), (50, 80, 331), (1, 0, 1)])
def test_a_bdp_is_rounded_up_to_whole_frames(rate, rtt, packets):
    assert Limit.parse("1bdp").packets(rate * 10**6, rtt * 10**6) == packets
    assert Limit.parse("1bdp").bytes(rate * 10**6, rtt * 10**6) == packets * 1514
