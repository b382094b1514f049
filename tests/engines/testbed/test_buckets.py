"""Token buckets that last as long as timers may be late."""

import pytest
from support import PATH, planned

from dumbbell.engines.testbed.buckets import with_buckets


def bucket(late_us=0.0, **bottleneck):
    """The shaper that a bottleneck of 10 Mbit/s gets, and what is said of it."""
    path = {**PATH, "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "codel"}, **bottleneck}, "reverse": "none"}
    made = with_buckets(planned("testbed", path=path).plan, late_us)
    (port,) = (port for port in made.plan.ports if port.id == "bottleneck")
    return port.shaper, made.said


def test_a_line_becomes_a_bucket():
    shaper, said = bucket(shaper="link")
    assert shaper == {"kind": "tbf", "rate_bps": 10_000_000, "burst_bytes": 1540}
    assert said == ("port/bottleneck: link is tbf with a bucket of 1540 bytes, 1.23 ms of its rate",)


@pytest.mark.parametrize(("late_us", "burst"), [(0, 1540), (200, 1540), (1000, 5000), (10_000, 50_000)])
def test_it_lasts_four_times_as_long_as_timers_are_late(late_us, burst):
    assert bucket(late_us, shaper="tbf")[0]["burst_bytes"] == burst


def test_it_lasts_a_millisecond_at_least():
    assert bucket(shaper="tbf", rate="100mbit")[0]["burst_bytes"] == 12_500


def test_a_larger_one_that_is_asked_for_stays():
    shaper, said = bucket(1000, shaper="htb", burst="100kB")
    assert (shaper["kind"], shaper["burst_bytes"], said) == ("htb", 100_000, ())


def test_cake_shapes_without_one():
    shaper, said = bucket(1000, qdisc={"kind": "cake"})
    assert (shaper["kind"], said) == ("own", ())
