"""`dumbbell bench`."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from dumbbell.bench import measure, recorded, table
from dumbbell.bench.cases import CASES
from dumbbell.cli import app
from dumbbell.errors import BadInput
from dumbbell.results import Store


def test_json_gives_packets_and_their_cost() -> None:
    result = CliRunner().invoke(app, ["bench", "reno-pfifo-1", "--json"])
    assert result.exit_code == 0
    (row,) = json.loads(result.stdout)
    assert row["name"] == "reno-pfifo-1"
    # 60 s at 50 Mbit/s are 247,700 frames; slow start and overshoot cost some of them.
    assert 200_000 < row["packets"] < 248_000
    assert row["packets_per_cpu_s"] == pytest.approx(row["packets"] / row["cpu_s"])
    assert row["instructions_per_packet"] is None
    assert row["targets"] == {}


def test_recorded_instructions_and_targets_stand_beside_the_measurement() -> None:
    result = CliRunner().invoke(app, ["bench", "cubic-fq_codel-1", "--json"])
    (row,) = json.loads(result.stdout)
    assert row["instructions_per_packet"] == recorded.read()["cubic-fq_codel-1"].instructions_per_packet
    assert row["targets"] == {"packets_per_cpu_s": 10e6, "instructions_per_packet": 1200}
    table = CliRunner().invoke(app, ["bench", "cubic-fq_codel-1"]).stdout
    assert "1,200" in table
    assert "10.00 M" in table


def test_start_up_is_a_whole_run_handed_over_to_python() -> None:
    result = CliRunner().invoke(app, ["bench", "start-up", "--json"])
    (row,) = json.loads(result.stdout)
    # 601 samples of the eight series of four ports, and one or two of a flow of one segment.
    assert 601 * 32 < row["values"] < 601 * 32 + 22
    assert row["ms"] == pytest.approx(1000 * row["cpu_s"])
    assert row["packets"] is None
    assert row["targets"] == {"ms": 5.0}


def test_a_table_is_measured_in_a_process_of_its_own(monkeypatch, tmp_path) -> None:
    filled = Store(tmp_path / "store")
    table.fill(filled, 20)
    assert len(filled.runs()) == len({run.key for run in filled.runs()}) == 20
    monkeypatch.setattr(table, "_store", lambda: SimpleNamespace(name=str(tmp_path / "store")))
    result = CliRunner().invoke(app, ["bench", "table-1000-runs", "--json"])
    (row,) = json.loads(result.stdout)
    # Python with its packages takes longer than 50 ms to start.
    assert 50 < row["ms"] == pytest.approx(1000 * row["cpu_s"])
    assert row["targets"] == {"ms": 1000.0}
    assert (row["packets"], row["runs"]) == (None, 1000)


def test_the_cost_at_a_long_path_is_relative_to_a_short_one() -> None:
    relative = {case.name: case.cost_relative_to for case in CASES.values() if case.cost_relative_to}
    long = {f"{cc}-pfifo-bdp-30000": f"{cc}-pfifo-bdp-300" for cc in ("cubic", "reno")}
    assert relative == long | {"one-flow-100gbit": "cubic-pfifo-bdp-300"}
    assert all(other in CASES for other in relative.values())


@pytest.mark.parametrize("name", CASES)
def test_every_case_is_a_scenario_that_the_simulator_runs(name: str) -> None:
    assert json.loads(measure.network(CASES[name].scenario))


def test_an_unknown_benchmark_names_the_known_ones() -> None:
    result = CliRunner().invoke(app, ["bench", "cubic-red-9"])
    assert isinstance(result.exception, BadInput)
    assert "cubic-cake-1" in str(result.exception)


def test_the_draft_is_all_its_runs_with_one_start_each(monkeypatch) -> None:
    from dumbbell import study

    found, draft = study.find_part("sce", "draft")
    asked = []

    def few(request):
        runs = draft.scenarios(request)
        cells = [run for run in runs if "delay_ms" in run.cell]
        asked.append((request.seeds, len(cells), len(runs) - len(cells)))
        return [cells[0], cells[-1], runs[-1]]

    monkeypatch.setattr(study, "find_part", lambda *_: (found, replace(draft, scenarios=few)))
    result = CliRunner().invoke(app, ["bench", "sce-draft", "--json"])
    (row,) = json.loads(result.stdout)
    assert asked == [(1, 320 + 900, 8)]
    assert row["runs"] == row["workers"] == 2
    assert row["cpu_s_per_worker"] == row["cpu_s"] / 2
    assert row["packets"] > 0
    assert row["targets"] == {"wall_s": 180.0}


def test_rounds_keep_the_least_time_and_relate_those(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([3.0, 20.0, 9.0, 2.0, 30.0, 8.0])  # of start-up, the long path and the short one, twice

    def measured(name: str) -> dict[str, object]:
        cpu_s = next(times)
        packets = None if name == "start-up" else 60
        return {"name": name, "cpu_s": cpu_s, "packets_per_cpu_s": packets and packets / cpu_s, "cost_ratio": -1.0}

    monkeypatch.setattr(measure, "_measure", measured)
    rows = measure.best_of_rounds(["start-up", "reno-pfifo-bdp-30000", "reno-pfifo-bdp-300"], 2)
    assert [row["cpu_s"] for row in rows] == [2.0, 20.0, 8.0]
    assert [row["cost_ratio"] for row in rows] == [-1.0, 2.5, -1.0]
