"""When a cell has been repeated often enough: what the interval of its runs says."""

import math

import pytest

from dumbbell.results.summary import FLOW_METRICS, RUN_METRICS, Outline, Summary, Traits
from dumbbell.running.until.rule import Rule
from dumbbell.scenario import Scenario, ScenarioError


def rule(**until):
    return Rule.of(
        Scenario.model_validate(
            {
                "name": "s",
                "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}},
                "flows": [{"cc": "bbr"}],
                "duration": "10s",
                "until": {"metric": "goodput", "ci": "2%", **until},
            }
        )
    )


def runs(*values, column="goodput_mbit", status="ok"):
    nothing = dict.fromkeys(RUN_METRICS, math.nan)
    return [Outline({"seed": i}, Summary(status, {}, {**nothing, column: value})) for i, value in enumerate(values)]


def flows(*pairs):
    """Runs of two flows, each a group, with these goodputs."""
    nothing = dict.fromkeys(FLOW_METRICS, math.nan)
    traits = {"flows": {name: Traits(name, "cubic", "forward") for name in "ab"}}
    return [
        Outline(
            {"seed": i},
            Summary(
                "ok",
                {name: {**nothing, "flow_goodput_mbit": value} for name, value in zip("ab", pair, strict=True)},
                {},
                {name: {"goodput_mbit": value} for name, value in zip("ab", pair, strict=True)},
                traits=traits,
            ),
        )
        for i, pair in enumerate(pairs)
    ]


FIVE = (9.9, 10.0, 10.1, 10.0, 10.0)
"""Mean 10, standard deviation 0.0707; half the interval is 2.776 x 0.0707 / sqrt 5 = 0.0878."""


@pytest.mark.parametrize(
    ("ci", "state", "more"),
    [
        ("1%", "narrow", 0),
        ("0.9%", "narrow", 0),
        ("0.8%", "wide", 2),  # 5 x (0.0878 / 0.08)^2 = 6.02
        ("0.5%", "wide", 5),  # 15.4 are twice as many and more
        ("90kbit", "narrow", 0),
        ("80kbit", "wide", 2),
    ],
)
def test_half_the_interval_decides(ci, state, more):
    verdict = rule(ci=ci).judge(runs(*FIVE), 5)
    assert (verdict.taken, verdict.state, verdict.more, verdict.of) == (5, state, more, "")
    assert verdict.estimate.centre == pytest.approx(10)
    assert (verdict.estimate.high - verdict.estimate.low) / 2 == pytest.approx(0.0878, abs=1e-4)


def test_there_are_no_more_than_the_most():
    narrow = rule(ci="0.1%", most=8)
    assert narrow.judge(runs(*FIVE), 5).more == 3
    verdict = narrow.judge(runs(*FIVE, *FIVE[:3]), 8)
    assert (verdict.state, verdict.more) == ("wide", 0)


def test_each_row_must_be_narrow_enough():
    pairs = [(5 + i / 1000, 4 + i) for i in range(5)]
    verdict = rule(per="group").judge(flows(*pairs), 5)
    assert (verdict.state, verdict.of, verdict.more) == ("wide", "b forward", 5)
    assert rule(per="flow").judge(flows(*[(a, a) for a, _ in pairs]), 5).state == "narrow"


def test_equal_repeats_have_no_interval_and_end_the_cell():
    verdict = rule().judge(runs(*[9.5] * 5), 5)
    assert (verdict.state, verdict.more, verdict.estimate.centre) == ("equal", 0, 9.5)
    assert not verdict.estimate.has_interval
    verdict = rule(per="group").judge(flows(*[(5 + i / 1000, 4) for i in range(5)]), 5)
    assert (verdict.state, verdict.of, verdict.more) == ("equal", "b forward", 0)
    verdict = rule(per="group").judge(flows(*[(5 + i, 4) for i in range(5)]), 5)
    assert (verdict.state, verdict.of, verdict.more) == ("wide", "a forward", 5)


def test_a_metric_without_values_ends_the_cell():
    verdict = rule().judge(runs(*[math.nan] * 5), 5)
    assert (verdict.state, verdict.more) == ("none", 0)
    assert rule().judge([], 5).state == "none"


def test_invalid_runs_say_nothing():
    verdict = rule().judge([*runs(*FIVE), *runs(0.0, 99.0, status="invalid")], 7)
    assert (verdict.state, verdict.taken, verdict.estimate.count) == ("narrow", 7, 5)


def test_a_mean_of_nothing_has_no_share():
    verdict = rule().judge(runs(-1.0, 1.0, -1.0, 1.0), 4)
    assert (verdict.state, verdict.more) == ("wide", 4)


@pytest.mark.parametrize(
    ("metric", "column", "per", "ci", "width"),
    [
        ("goodput_mbit", "goodput_mbit", "run", "100kbit", 0.1),
        ("srtt_mean", "srtt_mean_ms", "run", "1ms", 1.0),
        ("completion_s", "completion_s", "group", "10ms", 0.01),
        ("completion_p95", "completion_p95_ms", "group", "1s", 1000.0),
        ("cwnd_mean", "cwnd_mean_packets", "group", "2p", 2.0),
        ("jain_index", "jain_index", "run", 0.01, 0.01),
        ("jain_by_step", "jain_by_step", "run", 0.01, 0.01),
        ("rwnd_limited", "rwnd_limited", "group", 0.5, 0.5),
        ("owd_p99", "owd_p99_ms", "stream", "2ms", 2.0),
    ],
)
def test_a_width_is_in_the_unit_of_its_column(metric, column, per, ci, width):
    found = rule(metric=metric, ci=ci)
    assert (found.column, found.per, found.is_share) == (column, per, False)
    assert found.width == pytest.approx(width)
    assert rule(metric=metric, ci="3%").is_share


@pytest.mark.parametrize(
    ("until", "line"),
    [
        ({"metric": "goodputs"}, r"^until.metric: 'goodputs' is unknown \(did you mean 'goodput'\?\); expected one of flows, goodput_mbit"),
        ({"metric": "mos", "per": "run"}, r"^until.metric: 'mos' is unknown.*; expected one of flows"),
        (
            {"ci": "1ms"},
            r"^until.ci: 1ms is no width of goodput_mbit; expected a share of the mean such as 2%, or a .* as 100kbit$",
        ),
        ({"ci": 1}, r"^until.ci: 1 is no width of goodput_mbit"),
        ({"metric": "jain_index", "ci": "1p"}, r"^until.ci: 1p is no width of jain_index; expected .* a width such as 0.01$"),
    ],
)
def test_what_is_wrong_is_told(until, line):
    with pytest.raises(ScenarioError, match=line):
        rule(**until)
