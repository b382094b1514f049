"""The runs that the study asks for."""

from collections import Counter
from dataclasses import replace

import pytest

from dumbbell.running.prepare import prepare
from dumbbell.scenario.values import web
from dumbbell.study import Request, find_study
from dumbbell.study.calibration import read_rows
from dumbbell_studies.ordering import background, conditions
from dumbbell_studies.ordering.background import TYPES, points
from dumbbell_studies.ordering.conditions import BASE, CONGESTED, Times
from dumbbell_studies.ordering.controls import ERA, JUDGED, MODERN, PROTOCOLS
from dumbbell_studies.ordering.scenarios import document, run_of, runs
from dumbbell_studies.ordering.trials import trial_of

STUDY = find_study("ordering")


@pytest.mark.parametrize(
    ("part", "quick", "seeds", "count"),
    [("2006", False, 2, 224), ("2006", True, 1, 70), ("modern", True, 1, 70), ("variance", False, 1, 16), ("congested", False, 1, 40)],
)
def test_how_many_runs_a_part_has(part, quick, seeds, count):
    found = STUDY.parts[part].scenarios(Request(quick=quick, seeds=seeds))
    assert len(found) == count
    assert len({(run.name, *run.cell.values()) for run in found}) == count
    assert {run.cell["mode"] for run in found} == {part if part in ("2006", "modern") else "2006"}
    assert {run.cell["protocol"] for run in found} == set(JUDGED if quick else PROTOCOLS)


def test_correlations_are_over_enough_runs():
    cells = [run.cell for name in ("2006", "variance", "congested", "further") for run in STUDY.parts[name].scenarios(Request(seeds=1))]
    distinct = {tuple(cell.values()) for cell in cells}
    assert 10 * len(distinct) >= 1500
    assert {cell["rtt_ms"] for cell in cells} == {"20", "40", "80", "160", "320", "exponential"}
    assert {cell["flows"] for cell in cells} == {2, 4, 8, 16, 32}


def test_quick_runs_have_one_seed():
    assert all(part.quick_seeds == 1 for part in STUDY.parts.values())


def test_high_speed_flows_start_in_two_halves():
    (run,) = runs(Request(), [BASE], protocols=["BIC"])
    a, b = run.settings.flows[:2]
    assert (a.count, b.count) == (2, 2)
    assert (int(a.start.first), int(b.start.first)) == (0, 10 * 10**9)
    assert Counter(flow.direction for flow in run.settings.flows) == {"forward": 2, "reverse": 2}
    assert str(run.settings.path.bottleneck.qdisc.limit) == "1MiB"


def test_all_protocols_have_the_same_rtts():
    condition = replace(BASE, rtt_ms=None, flows=8)
    rtts = {name: [entry.get("rtt") for entry in document(condition, name, ERA, 3)["flows"]] for name in PROTOCOLS}
    assert len(set(map(tuple, rtts.values()))) == 1
    assert len(rtts["BIC"]) == 10
    assert document(condition, "BIC", ERA, 4)["flows"][0]["rtt"] != rtts["BIC"][0]


def test_the_congested_link_has_twelve_more_flows_and_starts_late():
    (run,) = runs(Request(), [CONGESTED[10.0, "40ms"]], protocols=["STCP"])
    assert len(run.settings.flows) == 2 + 12 + 2
    assert [int(flow.start.first) // 10**9 for flow in run.settings.flows[:2]] == [30, 130]
    assert str(run.settings.duration) == "1200s"


def test_controls_are_of_their_time():
    assert ERA.control("STCP") == {"kind": "scalable", "ai_cnt": 50}
    assert MODERN.control("STCP") == {"kind": "scalable"}
    assert MODERN.control("FAST") == ERA.control("FAST")


def test_an_override_runs_its_protocol_alone():
    found = runs(Request(override={"fast.alpha": 50}), [BASE])
    assert [run.cell["protocol"] for run in found] == ["FAST"]
    assert found[0].settings.flows[0].cc.parameters["alpha"] == 50


def test_an_override_of_the_web_keeps_the_condition():
    own, other = (runs(Request(override=override), [BASE], protocols=["BIC"])[0] for override in ({}, {"web.type1": "type1-large-windows"}))
    assert own.cell == other.cell
    assert str(own.settings.background[0].host.rcvbuf) != str(other.settings.background[0].host.rcvbuf)


def test_the_laws_are_those_that_the_formulae_give():
    for name, text in points().items():
        assert (background.LAWS / name).read_text() == text


def test_the_calibration_is_frozen_for_every_type():
    rows = read_rows(background.FROZEN)
    assert list(rows) == list(TYPES)
    for name, row in rows.items():
        assert abs(float(row["load_mbit"]) - web.LOAD_MBIT) <= 1
        assert float(row["cov"]) == pytest.approx(TYPES[name].cov, rel=0.02)
        assert str(background.calibrated(name, ERA).arrivals.every) in row["settings"]


def test_a_short_run_is_a_trial(monkeypatch):
    monkeypatch.setattr(conditions, "TIMES", Times(0.0, 0.5, 1.0, 4.0))
    resolved = run_of(replace(BASE, rtt_ms=40.0), "CUBIC", MODERN, 1)
    (prepared,) = prepare([resolved])
    run = prepared.produce()
    found = trial_of(replace(run, cell=resolved.cell))
    assert found.flow_bits.shape == (4, 3)
    assert 0.5 < found.utilization < 1
    assert found.flow_bits.sum() < found.bits.sum()
    assert run.status == "ok"


def test_background_alone_has_no_high_speed_flows():
    found = STUDY.parts["background"].scenarios(Request(seeds=1))
    assert [len(run.settings.flows) for run in found] == [2, 2, 14]
    assert {run.cell["protocol"] for run in found} == {"none"}


def test_experiments_change_what_they_say():
    found = {run.cell.get("experiment"): run for run in STUDY.parts["experiments"].scenarios(Request(seeds=1))}
    small = {"small-start-sack", "small-start-westwood"}
    assert set(found) == {None, "free-acks", "crowded-acks", "todays-filter", "cubic-2.0", "no-overshoot", *small}
    reverse = [flow for flow in found["crowded-acks"].settings.flows if flow.direction == "reverse"]
    assert [flow.count for flow in reverse] == [10, 10]
    assert str(found["free-acks"].settings.path.reverse.qdisc.limit) == "30kB"
    assert "version" not in found["todays-filter"].settings.flows[0].cc.parameters
    assert [flow.host.cached_ssthresh is None for flow in found["no-overshoot"].settings.flows] == [False, False, True, True]
    assert [str(flow.host.cached_ssthresh) for flow in found["small-start-sack"].settings.flows[:2]] == ["100p", "100p"]
