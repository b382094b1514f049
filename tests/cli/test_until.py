"""`until:` on the command line: what `run` says of each cell, and `plan` before."""

import json
import re

import pytest

TEXT = """\
name: shares
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: pfifo, limit: 1bdp}}}
flows:
  - {cc: cubic, start: {jitter: 100ms}}
  - {cc: reno, start: {jitter: 100ms}}
duration: 2s
sweep: {path.bottleneck.qdisc: [{kind: pfifo, limit: 1bdp}, fq_codel]}
until:
  metric: goodput
  per: group
  ci: 5%
  least: 3
  most: 6
"""


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "shares.yaml"
    file.write_text(TEXT)
    return file


def test_run_says_what_each_cell_took(file, dumbbell, tmp_path):
    out = tmp_path / "out"
    answer = dumbbell("run", file, "--out", out)
    assert answer.status == 0
    rows = [line.split() for line in answer.out.splitlines()]
    head = rows.index(["path.bottleneck.qdisc", "runs", "group", "goodput_mbit", "±", "95", "%", "interval"])
    assert rows[head + 1][:3] == ["pfifo", "limit=1bdp", "6"]
    assert rows[head + 1][-2:] == ["too", "wide"]
    assert (rows[head + 2][0], rows[head + 2][-2:]) == ("fq_codel", ["narrow", "enough"])
    (line,) = [line for line in answer.err.splitlines() if line.startswith("note: path")]
    assert line.startswith("note: path.bottleneck.qdisc: pfifo limit=1bdp: after 6 runs, the most, goodput_mbit of ")
    again = json.loads(dumbbell("run", file, "--out", out, "--json").out)
    assert again["ran"] == 0
    until = again["until"]
    assert (until["metric"], until["per"], until["ci"]) == ("goodput_mbit", "group", "5%")
    first = until["cells"][0]
    assert (first["cell"], first["runs"], first["state"]) == ({"path.bottleneck.qdisc": "pfifo limit=1bdp"}, 6, "wide")
    assert first["low"] < first["mean"] < first["high"]
    assert sum(cell["runs"] for cell in until["cells"]) == again["kept"]
    table = json.loads(dumbbell("table", out, "--statistic", "mean", "--y", "goodput", "--json").out)["rows"]
    found = next(row for row in table if row["path.bottleneck.qdisc"].startswith("pfifo") and row["group"] == first["of"].split()[0])
    assert float(found["goodput_mbit"]) == pytest.approx(first["mean"], rel=1e-5)
    assert float(found["goodput_mbit_low"]) == pytest.approx(first["low"], rel=1e-5)


def test_plan_shows_a_range_and_check_knows_which_runs_there_are(file, dumbbell, tmp_path):
    out = tmp_path / "out"
    before = json.loads(dumbbell("plan", file, "--out", out, "--json").out)
    assert (before["runs"], before["missing"], before["most"]["runs"], before["most"]["missing"]) == (6, 6, 12, 12)
    assert before["cpu_s"] < before["most"]["cpu_s"]
    rows = dict(line.split(None, 1) for line in dumbbell("plan", file, "--out", out).out.splitlines()[-5:])
    assert rows["runs"] == rows["missing"] == "6 to 12"
    assert " kB to " in rows["disk"]
    assert dumbbell("run", file, "--out", out).status == 0
    after = json.loads(dumbbell("plan", file, "--out", out, "--json").out)
    assert (after["missing"], after["most"]["missing"]) == (0, 0)
    checked = dumbbell("check", file, "--out", out)
    assert checked.status == 0
    assert checked.out.splitlines()[1].split()[1:] == [str(len(list(out.glob("*/run.json"))))] * 2 + ["0", "0"]


def test_a_plan_of_many_cells_is_that_of_a_sample(file, dumbbell, tmp_path):
    rtts = ", ".join(f"{i}ms" for i in range(1, 201))
    file.write_text(re.sub("sweep: .*", f"sweep: {{path.rtt: [{rtts}]}}", TEXT))
    found = json.loads(dumbbell("plan", file, "--out", tmp_path / "out", "--json").out)
    assert (found["runs"], found["checked"], found["missing"], found["most"]["missing"]) == (600, 100, 600, 1200)


def test_a_metric_without_values_is_told(file, dumbbell, tmp_path):
    file.write_text(TEXT.replace("goodput", "completion_s"))
    answer = dumbbell("run", file, "--out", tmp_path / "out")
    assert answer.status == 0
    lines = [line for line in answer.err.splitlines() if line.startswith("note: path")]
    assert lines[0] == "note: path.bottleneck.qdisc: pfifo limit=1bdp: none of 3 runs has a value of completion_s"
    assert len(lines) == 2
