"""Promises of every engine about connections that come and go."""

import numpy as np
import pytest
from support import PATH

from dumbbell.running.prepare import compute, prepare
from dumbbell.scenario import Scenario, ScenarioError

WEB = {"kind": "transfers", "name": "web", "cc": "cubic", "size": {"exponential": "30kB"}, "arrivals": {"kind": "poisson", "load": 0.5}}
FIGURES = ("mean", "median", "p95", "p99", "max")


def rows_of(found, name="web"):
    return [row for row in found.flows.rows() if row["group"] == name]


def groups(found):
    return {row["group"]: row for row in found.groups.rows()}


SCENARIO = {"name": "contract", "path": PATH, "flows": [], "duration": "5s"}


def simulated(**more):
    (resolved,) = Scenario.model_validate({**SCENARIO, **more}).expand()
    return compute(resolved, on="sim")


@pytest.fixture(scope="module")
def web(run):
    """Transfers of half the load, each with a row."""
    return run(flows=[], background=[{**WEB, "rows": True, "duration": "4s"}], duration="6s")


def test_every_engine_makes_the_connections_that_are_drawn(web):
    expected = simulated(background=[{**WEB, "rows": True, "duration": "4s"}], duration="6s")
    assert web.status == "ok"
    assert [row["start_ns"] for row in rows_of(web)] == [row["start_ns"] for row in rows_of(expected)]
    assert [row["rx_bytes"] for row in rows_of(web)] == [row["rx_bytes"] for row in rows_of(expected)]
    took, takes = (np.array([row["completed_ns"] - row["start_ns"] for row in rows_of(each)]) for each in (web, expected))
    assert np.median(np.abs(took / takes - 1)) < 0.02
    # Half of 10 Mbit/s for 4 s are 83 transfers of 30 kB.
    assert 60 < len(took) < 110


def test_the_row_of_a_group_is_that_of_its_connections_and_each_class_of_sizes_has_one(web):
    rows, found = rows_of(web), groups(web)
    classes = {"web <10kB": (0, 10**4), "web 10kB-100kB": (10**4, 10**5), "web 100kB-1MB": (10**5, 10**6)}
    assert list(found) == ["web", *classes]
    for name, (least, beyond) in {"web": (0, 1 << 60), **classes}.items():
        members = [row for row in rows if least <= row["rx_bytes"] < beyond]
        row, taken_ms = found[name], np.array([each["completed_ns"] - each["start_ns"] for each in members]) / 1e6
        figures = [taken_ms.mean(), *np.percentile(taken_ms, [50, 95, 99]), taken_ms.max()]
        assert [row[f"completion_{figure}_ms"] for figure in FIGURES] == pytest.approx(figures)
        assert (row["connections"], row["completed"]) == (len(members), len(members))
        for column in ("rx_bytes", "sent_packets", "retransmits"):
            assert row[column] == sum(each[column] for each in members)
        assert (row["kind"], row["direction"], row.get("sizes")) == ("transfers", "forward", name.partition(" ")[2] or None)
        assert 0.9 < row["slowdown_median"] <= row["slowdown_p95"] <= row["slowdown_p99"]


def test_times_sizes_and_round_trips_are_those_of_a_trace(run, tmp_path):
    (tmp_path / "trace.csv").write_text("s,kB,ms\n0,14.48,20\n1,14.48,60\n1,1,60\n2,14.48,200\n")
    arrivals = {"kind": "trace", "file": str(tmp_path / "trace.csv")}
    background = [{"kind": "transfers", "name": "web", "cc": "reno", "arrivals": arrivals, "start": "1s", "rows": True}]
    found = run(flows=[], background=background, duration="5s")
    rows = rows_of(found)
    assert [row["start_ns"] / 1e9 for row in rows] == [1, 2, 2, 3]
    assert [row["rx_bytes"] for row in rows] == [14_480, 14_480, 1000, 14_480]
    taken_ms = [(row["completed_ns"] - row["start_ns"]) / 1e6 for row in rows]
    # One and a half round trips and ten packets on the line.
    assert taken_ms == pytest.approx([30 + 12, 90 + 12, 90 + 13, 300 + 12], abs=1.5)
    assert found.status == "ok"


def test_round_trips_are_drawn_from_classes(run):
    background = [{**WEB, "rtt": {"uniform": ["10ms", "100ms"]}, "size": "1kB", "arrivals": {"kind": "regular", "every": "10ms"}}]
    found = run(flows=[], background=[{**background[0], "rows": True}], duration="5s", series={"ports": ["bottleneck"]})
    assert found.status == "ok"
    rtts = np.array([row["completed_ns"] - row["start_ns"] for row in rows_of(found) if "completed_ns" in row]) / 1.5e6
    assert 10 < rtts.min() < 15
    assert 95 < rtts.max() < 102
    assert rtts.mean() == pytest.approx(55, rel=0.06)


def test_round_trips_are_exact_where_that_is_asked_for():
    written = {**WEB, "rtt": {"exponential": "50ms"}, "exact_rtts": True, "size": "1kB", "rows": True}
    found = simulated(background=[{**written, "arrivals": {"kind": "regular", "every": "5ms"}}], duration="10s")
    assert found.status == "ok"
    rows = [row for row in rows_of(found) if row["start_ns"] < 8 * 10**9]
    rtts_ms = np.array([row["completed_ns"] - row["start_ns"] for row in rows]) / 1.5e6
    assert len(set(np.round(rtts_ms, 3))) > 0.9 * len(rows) > 1000
    assert np.mean(rtts_ms) == pytest.approx(50, rel=0.1)
    assert [port for port in found.ports.names if "delay" in port] == ["delay-own", "delay-own-reverse"]
    with pytest.raises(ScenarioError, match="the engine kernel has no RTTs of single connections; expected engine: sim"):
        prepare(Scenario.model_validate({**SCENARIO, "background": [written]}).expand(), on="kernel")


def test_connections_of_both_directions_do_not_meet(run):
    background = [{**WEB, "direction": "both"}, {**WEB, "name": "more", "size": "5kB", "direction": "reverse"}]
    found = run(path={**PATH, "reverse": "mirror"}, background=background, duration="4s")
    assert found.status == "ok"
    rows = groups(found)
    assert {rows[name]["direction"] for name in ("web-reverse", "more")} == {"reverse"}
    for name in ("web", "web-reverse", "more"):
        assert rows[name]["completed"] > 0.6 * rows[name]["connections"] > 30
