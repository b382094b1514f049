"""Large sweeps: their size is known at once, and a plan takes no longer for more runs."""

import json

import pytest
from work import counted

from dumbbell.scenario import Scenario

GOOD = """\
name: good
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: fq_codel}}}
flows: [{cc: cubic, start: {jitter: 10ms}}]
duration: 2s
"""


def swept(cells, *, more=""):
    """A scenario with ten times `cells` / 10 cells."""
    rates = ", ".join(f"{i + 1}kbit" for i in range(cells // 10))
    rtts = ", ".join(f"{i + 1}ms" for i in range(10))
    return f"{GOOD}{more}sweep:\n  path.bottleneck.rate: [{rates}]\n  path.rtt: [{rtts}]\n"


@pytest.mark.parametrize("command", ["run", "plan"])
@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (swept(10_000, more="repeat: 11\n"), 6, "sweep: 110000 runs (10000 cells, repeat: 11)"),
        (GOOD + "sweep: {seed: &s [" + "1, " * 999 + "1], path.rtt: *s, duration: *s, path.delay.extra: *s}\n", 5, f"sweep: {10**12} runs"),
        (GOOD + "repeat: 100000\nsweep: {path.rtt: [1ms, 2ms]}\n", 6, "sweep: 200000 runs"),
    ],
)
def test_too_many_runs_are_refused_at_once(command, text, line, what, dumbbell, tmp_path):
    file = tmp_path / "large.yaml"
    file.write_text(text)
    with counted() as work:
        answer = dumbbell(command, file, "--out", tmp_path / "out")
    assert work.calls < 2_000_000
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"{file}:{line}: {what}")
    assert answer.err.endswith("; expected at most 100000, or --most-cells\n")
    assert not (tmp_path / "out").exists()


def test_more_runs_can_be_allowed(dumbbell, tmp_path):
    file = tmp_path / "large.yaml"
    file.write_text(swept(1000, more="repeat: 200\n"))
    assert dumbbell("plan", file, "--most-cells", "199999").status == 2
    answer = dumbbell("plan", file, "--out", tmp_path / "out", "--most-cells", "200000", "--json")
    assert answer.status == 0
    found = json.loads(answer.out)
    assert (found["runs"], found["checked"], found["missing"]) == (200_000, 300, 200_000)


def test_a_plan_is_estimated_from_a_stated_sample(dumbbell, tmp_path):
    file = tmp_path / "large.yaml"
    file.write_text(swept(600).replace("kbit", "mbit"))
    sampled = json.loads(dumbbell("plan", file, "--out", tmp_path / "out", "--json").out)
    file.write_text(swept(300).replace("kbit", "mbit"))
    whole = json.loads(dumbbell("plan", file, "--out", tmp_path / "out", "--json").out)
    assert (sampled["runs"], sampled["checked"]) == (600, 300)
    assert (whole["runs"], whole["checked"]) == (300, 300)
    assert sampled["packets"] == pytest.approx(4 * whole["packets"], rel=0.05)  # twice as many cells, of twice the rate on average
    text = dumbbell("plan", file.with_name("large.yaml"), "--out", tmp_path / "out").out
    assert "checked" not in text
    file.write_text(swept(600))
    assert "300 runs, evenly spaced (`dumbbell run` checks all)" in dumbbell("plan", file, "--out", tmp_path / "out").out


def test_a_run_checks_all_cells_and_a_plan_those_of_its_sample(dumbbell, tmp_path):
    file = tmp_path / "large.yaml"
    good = swept(1000)
    file.write_text(good.replace(" 51kbit,", " 51bogus,"))
    answer = dumbbell("run", file, "--out", tmp_path / "out")
    assert answer.status == 2
    assert "'51bogus' has an unknown unit" in answer.err
    assert "in the cell path.bottleneck.rate: 51bogus, path.rtt: " in answer.err
    assert not (tmp_path / "out").exists()
    file.write_text(good.replace(" 100kbit]", " 100bogus]"))
    assert dumbbell("plan", file, "--out", tmp_path / "out").status == 2


def test_equal_cells_are_found_wherever_they_are(dumbbell, tmp_path):
    file = tmp_path / "large.yaml"
    file.write_text(swept(1000).replace(" 77kbit,", " 3000bit,"))
    answer = dumbbell("run", file)
    assert answer.status == 2
    first, second = (f"path.bottleneck.rate: {rate}, path.rtt: 1ms" for rate in ("3kbit", "3000bit"))
    assert f"{first} and {second} are the same run" in answer.err


def test_cells_are_made_lazily():
    scenario = Scenario.from_text(swept(100_000))
    runs = scenario.runs()
    assert [next(runs).cell["path.rtt"] for _ in range(3)] == ["1ms", "2ms", "3ms"]


def test_the_sample_spans_the_sweep():
    runs = Scenario.from_text(swept(10_000)).sample_runs(count=11)
    assert [run.cell["path.bottleneck.rate"] for run in runs] == [f"{i}kbit" for i in (1, *range(100, 1000, 100), 1000)]


def checking(entries):
    """Return the number of calls that the checks of a scenario with this many entries of flows take."""
    flows = [{"cc": "cubic", "name": f"f{i}", "src": f"a{i}", "dst": f"b{i}"} for i in range(entries)]
    path = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "fq_codel"}}}
    scenario = Scenario.model_validate({"name": "s", "path": path, "flows": flows, "duration": "2s", "sample": "0s"})
    with counted() as work:
        scenario.expand()
    return work.calls


def test_entries_of_flows_are_checked_in_linear_time():
    checking(100)  # what is made once
    assert checking(10_000) < 11 * checking(1000)
