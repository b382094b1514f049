import json
import math
from dataclasses import replace

import pytest

from dumbbell.comparing.agreement import agreement_table, every_cell_table, worst_table
from dumbbell.comparing.difference import below_bar, difference
from dumbbell.comparing.format import Tolerance
from dumbbell.comparing.reference import ReferenceValue
from dumbbell.errors import BadInput


def reference(*values):
    return [ReferenceValue((cc, rate), metric, value, line) for line, (cc, rate, metric, value) in enumerate(values, 2)]


def test_counts_and_shares(format_):
    found = difference(
        {
            (("reno", 10.0), "throughput_mbit"): [9.3],
            (("cubic", 10.0), "throughput_mbit"): [9.56],
            (("dctcp", 10.0), "throughput_mbit"): [5.0],
            (("vegas", 10.0), "throughput_mbit"): [5.0],
        },
        reference(
            ("reno", 10.0, "throughput_mbit", 9.0),
            ("cubic", 10.0, "throughput_mbit", 9.56),
            ("dctcp", 10.0, "throughput_mbit", 6.0),
            ("bic", 10.0, "throughput_mbit", 6.0),
            ("bic", 10.0, "rtt_ms", 6.0),
        ),
        format_,
    )
    throughput = found.as_json()["metrics"]["throughput_mbit"]
    assert (throughput["expected"], throughput["cells"], throughput["missing"]) == (4, 3, 1)
    assert throughput["share_within"] == pytest.approx(2 / 3)
    # cubic's 9.56 is the ceiling of 10 Mbit/s
    assert throughput["informative"]["cells"] == 2
    assert throughput["informative"]["share_within"] == 0.5
    assert throughput["median_abs"] == pytest.approx(0.3)
    assert throughput["p95_abs"] == pytest.approx(0.93)
    assert throughput["median_rel"] == pytest.approx(0.3 / 9)
    assert found.as_json()["metrics"]["rtt_ms"] == {
        "expected": 1,
        "cells": 0,
        "missing": 1,
        "tolerance": "10%,1",
        "share_within": None,
        "median_abs": None,
        "p95_abs": None,
        "median_rel": None,
        "p95_rel": None,
        "share_within_spread": None,
        "chaotic": 0,
        "informative": {"cells": 0, "share_within": None, "median_abs": None, "p95_abs": None, "median_rel": None, "p95_rel": None},
    }
    assert found.worst[0].key == {"cc": "dctcp", "rate_mbit": 10.0}


def test_the_edge_of_the_tolerance_is_within(format_):
    edge = reference(("reno", 0.5, "throughput_mbit", 0.48), ("reno", 1.0, "rtt_ms", 50.0), ("reno", 2.0, "rtt_ms", 4.0))
    ours = {
        (("reno", 0.5), "throughput_mbit"): [0.48 - 0.015],
        (("reno", 1.0), "rtt_ms"): [55.0],
        (("reno", 2.0), "rtt_ms"): [5.0],
    }
    assert all(cell.within for cell in difference(ours, edge, format_).cells)
    beyond = {key: [values[0] * 1.001 if key[1] == "rtt_ms" else values[0] - 0.001] for key, values in ours.items()}
    assert not any(cell.within for cell in difference(beyond, edge, format_).cells)


def test_repeats_count_by_their_median_and_undefined_values_are_ignored(format_):
    found = difference({(("bic", 1.0), "rtt_ms"): [1.0, 2.0, 9.0, math.nan]}, reference(("bic", 1.0, "rtt_ms", 2.0)), format_)
    (cell,) = found.cells
    assert (cell.ours, cell.low, cell.high, cell.repeats) == (2.0, 1.0, 9.0, 3)
    nothing = difference({(("bic", 1.0), "rtt_ms"): [math.nan]}, reference(("bic", 1.0, "rtt_ms", 2.0)), format_)
    assert nothing.as_json()["metrics"]["rtt_ms"]["missing"] == 1


def test_a_chaotic_cell_is_also_judged_by_our_own_spread(format_):
    spread = {(("reno", 50.0), "throughput_mbit"): [30.0, 40.0, 45.0], (("bic", 50.0), "throughput_mbit"): [30.0, 40.0, 45.0]}
    theirs = reference(("reno", 50.0, "throughput_mbit", 32.0), ("bic", 50.0, "throughput_mbit", 32.0))
    chaotic, plain = difference(spread, theirs, format_).cells
    assert not chaotic.within
    assert chaotic.within_spread
    assert not plain.within_spread
    outside = difference(spread, reference(("reno", 50.0, "throughput_mbit", 28.4)), format_).cells[0]
    assert not outside.within_spread
    single = difference({(("reno", 50.0), "throughput_mbit"): [40.0, 30.0]}, theirs[:1], format_).cells[0]
    assert not single.within_spread


def test_given_tolerances_replace_those_of_the_format(format_):
    ours = {(("bic", 10.0), "rtt_ms"): [12.0], (("bic", 10.0), "throughput_mbit"): [9.0]}
    theirs = reference(("bic", 10.0, "rtt_ms", 10.0), ("bic", 10.0, "throughput_mbit", 9.25))
    found = difference(ours, theirs, format_, {"rtt_ms": Tolerance(relative=0.2)})
    assert [cell.within for cell in found.cells] == [True, True]
    assert [cell.within for cell in difference(ours, theirs, format_).cells] == [True, False]


def test_a_reference_of_zero_has_no_relative_error_and_valid_json(format_):
    found = difference({(("bic", 10.0), "rtt_ms"): [3.0]}, reference(("bic", 10.0, "rtt_ms", 0.0)), format_)
    assert found.cells[0].relative == math.inf
    text = json.dumps(found.as_json(), allow_nan=False)
    assert json.loads(text)["worst"][0]["relative"] is None


def test_the_ten_worst_are_measured_in_tolerances(format_):
    ours = {(("bic", float(rate)), "rtt_ms"): [100.0 + rate] for rate in range(1, 21)}
    ours[("bic", 100.0), "throughput_mbit"] = [50.0]
    theirs = reference(*(("bic", float(rate), "rtt_ms", 100.0) for rate in range(1, 21)), ("bic", 100.0, "throughput_mbit", 90.0))
    worst = difference(ours, theirs, format_).worst
    assert len(worst) == 10
    assert worst[0].metric == "throughput_mbit"
    assert [cell.key["rate_mbit"] for cell in worst[1:3]] == [20.0, 19.0]


def test_cells_that_agree_in_every_metric(format_):
    ours = {(("bic", 10.0), "rtt_ms"): [10.0], (("bic", 10.0), "throughput_mbit"): [5.0], (("reno", 10.0), "rtt_ms"): [10.0]}
    theirs = reference(("bic", 10.0, "rtt_ms", 10.0), ("bic", 10.0, "throughput_mbit", 9.0), ("reno", 10.0, "rtt_ms", 10.0))
    found = difference(ours, theirs, format_)
    assert found.as_json()["all_metrics"] == {"cells": 2, "share_within": 0.5}
    rows = every_cell_table(found, format_, "").fields
    assert [row[:3] for row in rows] == [["bic", "10", "FAIL"], ["reno", "10", "pass"]]
    assert rows[0][3] == "9 -44.4% ✗"


def test_bars(format_):
    ours = {(("bic", float(rate)), "throughput_mbit"): [0.5 * rate] for rate in range(1, 11)}
    good = reference(*(("bic", float(rate), "throughput_mbit", 0.5 * rate) for rate in range(1, 11)))
    assert below_bar(difference(ours, good, format_), format_) == []
    bad = reference(*(("bic", float(rate), "throughput_mbit", (0.5 if rate < 9 else 0.9) * rate) for rate in range(1, 11)))
    (line,) = below_bar(difference(ours, bad, format_), format_)
    assert line == "throughput_mbit, informative cells: 80.0 % within tolerance, the target is 90 %"


def test_tables_and_json_agree(format_):
    ours = {(("bic", 10.0), "rtt_ms"): [12.0], (("bic", 10.0), "throughput_mbit"): [9.0]}
    theirs = reference(("bic", 10.0, "rtt_ms", 10.0), ("bic", 10.0, "throughput_mbit", 9.25), ("bic", 20.0, "rtt_ms", 1.0))
    found = difference(ours, theirs, format_)
    throughput, informative, rtt = agreement_table(found, format_, "").fields
    assert throughput[:5] == ["Throughput (Mbit/s)", "3 % of rate", "1", "0", "100.0 %"]
    assert informative[0] == "below the ceiling"
    assert rtt[:5] == ["RTT (ms)", "10 % or 1 ms", "1", "1", "0.0 %"]
    assert worst_table(found).fields[0] == ["bic", "10", "rtt (ms)", "12", "10", "+2", "2.0"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10%,1", Tolerance(relative=0.1, absolute=1.0)),
        (" 3%rate_mbit ", Tolerance(of_column=("rate_mbit", 0.03))),
        ("0.5", Tolerance(absolute=0.5)),
        ("5%,.1,2%rate_mbit", Tolerance(0.05, 0.1, ("rate_mbit", 0.02))),
    ],
)
def test_tolerances_are_read_and_written(text, expected):
    found = Tolerance.parse(text, ["cc", "rate_mbit"])
    assert found == expected
    assert Tolerance.parse(str(found), ["cc", "rate_mbit"]) == expected


@pytest.mark.parametrize("text", ["", "-1", "ten", "10%%", "3%bandwidth", "3 rate_mbit", "1,,2", "10 %, 1 ms"])
def test_a_bad_tolerance_names_what_is_expected(text):
    with pytest.raises(BadInput, match="expected"):
        Tolerance.parse(text, ["rate_mbit"])


def test_relative_differences_have_a_floor(format_):
    floored = replace(format_, metrics={name: replace(metric, floor=10.0) for name, metric in format_.metrics.items()})
    measured = {(("reno", 10.0), "rtt_ms"): [3.0], (("cubic", 10.0), "rtt_ms"): [30.0]}
    values = reference(("reno", 10.0, "rtt_ms", 2.0), ("cubic", 10.0, "rtt_ms", 20.0))
    assert [cell.relative for cell in difference(measured, values, floored).cells] == [0.1, 0.5]
    assert [cell.relative for cell in difference(measured, values, format_).cells] == [0.5, 0.5]


def test_a_repeated_reference_has_a_range(format_):
    measured = {(("reno", 10.0), "rtt_ms"): [1.0, 5.0, 9.0], (("cubic", 10.0), "rtt_ms"): [4.0], (("dctcp", 10.0), "rtt_ms"): [4.0]}
    values = [
        ReferenceValue(("reno", 10.0), "rtt_ms", 6.0, 0, (5.0, 7.0)),
        ReferenceValue(("cubic", 10.0), "rtt_ms", 6.0, 0, (5.0, 7.0)),
        ReferenceValue(("dctcp", 10.0), "rtt_ms", 4.0, 2),
    ]
    cells = difference(measured, values, format_).cells
    assert [cell.inside for cell in cells] == [True, False, None]
    assert [(cell.as_json().get("reference_low"), cell.as_json().get("reference_high")) for cell in cells] == [(5, 7), (5, 7), (None, None)]
