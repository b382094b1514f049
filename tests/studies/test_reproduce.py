"""`dumbbell reproduce` with the simulator."""

import json
import re

import pytest

from dumbbell.study.registry import OURS, find_study, study_names


def test_the_simulator_agrees_with_the_kernel_and_reuses_its_runs(dumbbell, tmp_path):
    out = tmp_path / "oracle"
    status, printed, err = dumbbell("reproduce", "oracle", "--quick", "--no-figures", "--check", "--json", "--out", out)
    assert status == 0, err
    first = json.loads(printed)
    assert (first["runs"], first["all_metrics"]["cells"], first["invalid"], first["below_bar"]) == (14, 14, [], [])
    assert first["all_metrics"]["share_within"] >= 0.9
    assert first["metrics"]["goodput_after10s_mbps"]["share_within"] == 1
    assert json.loads((out / "agreement.json").read_text())["metrics"] == first["metrics"]
    runs = {path: path.stat().st_mtime_ns for path in (out / "runs").glob("*/run.json")}
    assert len(runs) == 14

    status, printed, _ = dumbbell("reproduce", "oracle", "--quick", "--no-figures", "--json", "--out", out)
    assert status == 0
    assert json.loads(printed)["metrics"] == first["metrics"]
    assert {path: path.stat().st_mtime_ns for path in (out / "runs").glob("*/run.json")} == runs


def test_a_report_is_complete_and_the_same_bytes_each_time(dumbbell, tmp_path):
    for out in ("a", "b"):
        assert (
            dumbbell("reproduce", "oracle", "--quick", "--no-figures", "--workers", 1 if out == "a" else 4, "--out", tmp_path / out)[0] == 0
        )
    for name in ("agreement.md", "agreement.json", "tables/oracle.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    status, out, _ = dumbbell("compare", tmp_path / "a", tmp_path / "b" / "tables" / "oracle.csv", "--json")
    assert status == 0
    assert json.loads(out)["all_metrics"] == {"cells": 14, "share_within": 1.0}


def test_an_overlay_of_kernel_and_simulator(dumbbell, tmp_path):
    dumbbell("reproduce", "oracle", "--quick", "--no-figures", "--out", tmp_path / "o")
    status, out, _ = dumbbell("plot", tmp_path / "o", "--figure", "reno_10m_20ms_pfifobdp", "--from", 5, "--to", 8, "--json")
    assert status == 0
    assert [path.rsplit("/", 1)[-1] for path in json.loads(out)] == [
        f"reno_10m_20ms_pfifobdp-from-5s-to-8s.{form}" for form in ("png", "svg")
    ]


@pytest.mark.parametrize("name", study_names(OURS))
def test_the_help_names_the_parts_of_a_study_with_their_costs(name, dumbbell):
    study = find_study(name)
    assert study.cpu_minutes.keys() == study.parts.keys()
    words = " ".join(dumbbell("reproduce", f"{name}/any", "--help").out.split())
    listed = words.partition(f"Parts of {name} (the first is the default), with the time of one processor: ")[2]
    for part in study.parts:
        assert re.search(rf"(^|\. ){re.escape(part)} .*?About [\d.]+ (min|h)\.", listed), part
