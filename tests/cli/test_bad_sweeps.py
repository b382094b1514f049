"""What is wrong with a sweep is told with file, line, key and what was expected."""

import pytest
from bad_scenarios import assert_told

CASES = {
    # sweeps
    "a sweep of a wrong value": (
        "sample: 100ms",
        "sweep:\n  path.rtt: [10ms, 20]",
        13,
        "sweep.path.rtt",
        "20 has no unit",
        "(in the cell path.rtt: 20)",
    ),
    "a sweep of an unknown key": ("sample: 100ms", "sweep:\n  path.rrt: [10ms]", 13, "sweep.path.rrt", "(did you mean 'rtt'?)", "one of"),
    "a sweep of a flow that is not there": (
        "sample: 100ms",
        "sweep:\n  flows.3.cc: [reno]",
        13,
        "sweep.flows.3.cc",
        "'3' is not an entry",
        "dotted key",
    ),
    "a sweep below a value": (
        "sample: 100ms",
        "sweep:\n  path.rtt.ms: [1]",
        13,
        "sweep.path.rtt.ms",
        "lies below a single value",
        "dotted key",
    ),
    "a sweep without values": ("sample: 100ms", "sweep:\n  path.rtt: []", 13, "sweep.path.rtt", "has 0 entries", "at least 1"),
    "a sweep of one value": ("sample: 100ms", "sweep:\n  path.rtt: 10ms", 13, "sweep.path.rtt", "is not a list", "a list"),
    "a zip of unequal lists": (
        "sample: 100ms",
        "sweep:\n  zip: {seed: [1, 2], path.rtt: [1ms]}",
        12,
        "sweep",
        "differ in length",
        "equal lengths",
    ),
    "a sample of too many": (
        "sample: 100ms",
        "sweep:\n  sample: {count: 9, over: {seed: [1, 2]}}",
        12,
        "sweep",
        "9 of 2 cells",
        "at most 2",
    ),
    "a cell given twice": ("sample: 100ms", "sweep:\n  path.rtt: [1s, 1000ms]", 12, "sweep", "the same run", "different cells"),
    "a swept cc that is unknown": (
        "sample: 100ms",
        "sweep:\n  flows.0.cc: [reno, renoo]",
        13,
        "sweep.flows.0.cc",
        "(did you mean 'reno'?)",
        "one of",
    ),
}
"""By name: what is replaced in the good scenario, by what; line, key, what is wrong and what is expected, as told."""


@pytest.mark.parametrize("case", CASES)
def test_is_told_in_one_line(case, dumbbell, tmp_path):
    assert_told(CASES[case], dumbbell, tmp_path)
