"""Calibrating background traffic: the search on formulae, and the command on small scenarios."""

import csv
import json
import math

import pytest

from dumbbell.errors import BadInput
from dumbbell.scenario import Scenario
from dumbbell.study.calibration import Knob, Point, Sample, Task, calibrate, read_rows, row, settings_of

KEY = "background.0.size.pareto.most"
SCENARIO = {
    "name": "web",
    "path": {"rtt": "20ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "dummynet", "limit": "64KiB"}}},
    "background": [
        {
            "kind": "transfers",
            "name": "web",
            "cc": "reno",
            "size": {"pareto": {"shape": 1.1, "least": "5kB", "most": "100kB"}},
            "arrivals": {"kind": "poisson", "every": "50ms"},
        }
    ],
    "duration": "10s",
}


def scenario(changes):
    from dumbbell.documents.keys import assigned_at

    document = SCENARIO
    for key, value in changes.items():
        document = assigned_at(document, key.split("."), value)
    return Scenario.model_validate(document)


def look(settings, seeds=4):
    """A link of 100 Mbit/s whose load is 5 % above the payload that comes, and whose variance follows the largest size."""
    found = scenario(settings).background[0]
    offered = float(found.size.mean) * 8 / int(found.arrivals.every) * 1e3
    most = int(found.size.pareto.most)
    samples = []
    for seed in range(1, seeds + 1):
        load = 1.05 * offered * (1 + 0.001 * (seed - 2.5))
        samples.append(Sample("bottleneck", seed, load, math.sqrt(load * most / 1e6) / (100 - load), 100.0))
    return Point(dict(settings), samples)


def test_a_load_is_reached():
    points = calibrate(Task("t", scenario, load_mbit=30, load_within_mbit=0.1), look)
    assert [round(point.load_mbit[0], 1) for point in points] == [31.5, 30.0]
    assert points[-1].load_mbit[1] < 30 < points[-1].load_mbit[2]


def test_a_load_and_a_variability_are_reached():
    task = Task("t", scenario, load_mbit=30, cov=0.1, knob=Knob(KEY, 10_000, 100_000_000))
    final = calibrate(task, look)[-1]
    assert final.load_mbit[0] == pytest.approx(30, abs=1)
    assert final.cov[0] == pytest.approx(0.1, rel=0.02)
    # sqrt(30 most / 1e6) is to be 7.
    assert int(final.settings[KEY].removesuffix("B")) == pytest.approx(49e6 / 30, rel=0.06)
    assert set(final.settings) == {KEY, "background.0.arrivals.every"}


def test_nothing_wanted_is_looked_at_as_it_is():
    (point,) = calibrate(Task("t", scenario), look)
    assert point.settings == {}


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (Task("t", scenario, load_mbit=30, cov=0.5, knob=Knob(KEY, 10_000, 100_000)), "expected a range around 0.5"),
        (Task("t", scenario, cov=0.1), "nothing may vary"),
        (Task("t", lambda changes: scenario({**changes, "background": [{"kind": "udp", "rate": "1mbit"}]}), load_mbit=3), "no transfers"),
        (
            Task("t", lambda changes: scenario({**changes, "background.0.arrivals": {"kind": "given", "at": ["0s"]}}), load_mbit=3),
            "of the kind given have no rate",
        ),
    ],
)
def test_what_cannot_be_reached_is_said(task, words):
    with pytest.raises(BadInput, match=words):
        calibrate(task, look)


def test_a_load_that_does_not_settle_is_said():
    with pytest.raises(BadInput, match="expected a load near 30"):
        calibrate(Task("t", scenario, load_mbit=30), lambda settings: Point(settings, [Sample("q", 1, 20.0, 0.1, 100.0)]))


def test_one_seed_has_no_interval():
    point = Point({}, [Sample("q", 1, 20.0, 0.1, 100.0), Sample("q-reverse", 1, 22.0, 0.3, 100.0)])
    assert point.load_mbit == (21.0, -math.inf, math.inf)
    assert point.as_json()["cov"] == {"mean": pytest.approx(0.2), "low": None, "high": None}
    assert row(Task("t", scenario, seeds=1), point)["load_mbit_low"] == ""


def test_queues_of_one_run_count_once():
    samples = [Sample(port, seed, 20.0 + seed, 0.1, 100.0) for seed in (1, 2, 3) for port in ("a", "b")]
    # t(0.975, 2) s / sqrt(3) with s = 1.
    assert Point({}, samples).load_mbit[2] == pytest.approx(22 + 4.30265 / math.sqrt(3), rel=1e-5)


def test_a_row_has_settings_that_run_takes(tmp_path):
    point = look({KEY: "200000B", "background.0.arrivals.every": "1000000ns"})
    found = row(Task("web", scenario, seeds=4), point)
    path = tmp_path / "calibration.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, found)
        writer.writeheader()
        writer.writerow(found)
    assert settings_of(read_rows(path)["web"]) == dict(point.settings)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "web.yaml"
    path.write_text(json.dumps(SCENARIO))
    return path


def test_the_command_finds_a_load(file, dumbbell, tmp_path):
    arguments = ("calibrate", file, "--load", "8mbit", "--load-within", "500kbit", "--seeds", "2", "--warm-up", "2s", "--window", "20s")
    status, out, _ = dumbbell(*arguments, "--out", tmp_path / "out", "--json")
    assert status == 0
    (found,) = json.loads(out)["calibrations"]
    assert found["name"] == "web"
    assert abs(found["load_mbit"]["mean"] - 8) <= 0.5
    assert {sample["port"] for sample in found["samples"]} == {"bottleneck", "bottleneck-reverse"} or len(found["samples"]) >= 2
    assert read_rows(tmp_path / "out" / "calibration.csv")["web"]["seeds"] == "2"
    again = dumbbell(*arguments, "--out", tmp_path / "out")
    assert again.status == 0
    assert "result" in again.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--cov", "0.1"), "--cov was given alone"),
        (("--vary", f"{KEY}=1kB..2kB"), "--vary was given alone"),
        (("--cov", "0.1", "--vary", f"{KEY}=1kB"), "expected KEY=LOW..HIGH"),
        (("--cov", "0.1", "--vary", f"{KEY}=2MB..1MB"), "lower one first"),
        (("--cov", "0.1", "--vary", "background.0.size.pareto.mots=10kB..1MB"), "--vary: background.0.size.pareto.mots: unknown key (did"),
        (("--load", "8"), "--load"),
        (("--load", "1mbit", "--load-within", "2mbit"), "below 1mbit"),
        (("--window", "1s"), "at least 2s"),
    ],
)
def test_bad_options_are_one_line(file, dumbbell, arguments, words):
    status, _, err = dumbbell("calibrate", file, *arguments)
    assert status == 2
    assert words in err
    assert "--set" not in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("what", "words"),
    [("sce", "has no calibrated background"), ("ordering/type3", "no such background"), ("nothing.yaml", "no such file")],
)
def test_what_is_not_there_is_said(dumbbell, what, words):
    status, _, err = dumbbell("calibrate", what)
    assert status == 2
    assert words in err


def test_a_study_says_itself_what_is_wanted(dumbbell):
    status, _, err = dumbbell("calibrate", "ordering", "--load", "8mbit")
    assert status == 2
    assert "the study ordering says what is wanted" in err
