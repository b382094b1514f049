"""Traces that are an error in the simulator."""

import pytest

from dumbbell.plan import Place, Refusal

from .test_refused import base, refused


@pytest.mark.parametrize(
    ("at_ms", "what", "expected"),
    [
        ([], "no time at all", "opportunities, the last after 0 ms"),
        ([0, 0], "no time at all", "opportunities, the last after 0 ms"),
        ([2, 1], "in no order", "times that do not decrease"),
    ],
)
def test_what_is_no_trace(at_ms, what, expected):
    plan = base()
    plan["schedule"] = []
    plan["ports"][1]["shaper"] = {"kind": "trace", "at_ms": at_ms, "rate_bps": 1}
    assert refused(plan) == [Refusal(Place("port", 1), "shaper.at_ms", what, expected)]


def test_the_rate_of_a_trace_does_not_change():
    plan = base()
    plan["ports"][1]["shaper"] = {"kind": "trace", "at_ms": [1, 2], "rate_bps": 1}
    assert [each.what for each in refused(plan) if each.place.kind == "change"] == ["has the opportunities of a trace"]
