"""The whole study with two runs."""

import csv
import json

import pytest

from dumbbell.results.folder import open_folder
from dumbbell.study import find_part


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The folder of `reproduce teacup --quick` with 2 runs and without figures."""
    from dumbbell.study import Request, View
    from dumbbell.study.reproduction import run_part, write_report

    out = tmp_path_factory.mktemp("teacup")
    study, part = find_part("teacup")
    write_report(run_part(study, part, Request(quick=True, seeds=2), "sim", out), View(), draw=False)
    return out


def test_a_quick_reproduction_is_complete(quick):
    done = json.loads((quick / "agreement.json").read_text())
    assert (done["runs"], done["invalid"]) == (56, [])
    assert sum(done["claims"].values()) == 54
    assert done["claims"]["not_applicable"] == 4
    with (quick / "tables" / "claims.csv").open(newline="") as file:
        assert {row["claim"]: row["status"] for row in csv.DictReader(file)}["T045"] == "not applicable"
    with (quick / "tables" / "intervals.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "throughput_mbit"]
    assert len(rows) == 28
    assert all(5 < float(row["mean"]) < 9.6 for row in rows)
    text = (quick / "agreement.md").read_text()
    assert "Claims of the authors" in text
    assert "±" in text


def test_claims_and_plots_by_the_study_s_name(quick, dumbbell, tmp_path):
    status, out, _ = dumbbell("claims", "teacup", quick, "--json")
    assert status == 0
    found = json.loads(out)
    assert found["pass"] + found["fail"] == 50
    assert {claim["id"]: claim for claim in found["claims"]}["T016"]["measured"].startswith("max(rtt)-200 = ")
    status, out, _ = dumbbell("plot", "teacup", "--figure", "4", "--figure", "10", quick, "--size", "print", "--out", tmp_path, "--json")
    assert status == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"figure-{number}-print.{form}" for number in (10, 4) for form in ("png", "svg")
    ]


def test_the_same_runs_give_the_same_figure(quick, dumbbell, tmp_path):
    for name in ("a", "b"):
        assert dumbbell("plot", quick, "--figure", "figure-7", "--out", tmp_path / name)[0] == 0
    for name in ("figure-7.png", "figure-7.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_runs_can_be_compared_with_another_folder(quick, dumbbell):
    status, out, _ = dumbbell("compare", quick, quick / "tables" / "teacup.csv", "--json")
    assert status == 0
    metrics = json.loads(out)["metrics"]
    assert metrics["throughput_mbit"]["cells"] == 28
    assert metrics["queueing_p95_ms"]["share_within"] == 1


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (
            ["compare", "DIR", "teacup"],
            "20 and 200 ms has no published numbers, only claims; expected a CSV file, or `dumbbell claims teacup DIR`",
        ),
        (["plot", "DIR", "--figure", "1"], "figure '1' is unknown"),
        (["plot", "sce", "DIR"], "holds the study teacup; expected the study sce"),
        (["plot", "teacup", "nowhere"], "nowhere: no such folder; expected what `dumbbell reproduce teacup --out nowhere` leaves"),
        (["plot", "nowhere", "DIR"], "nowhere: no such folder, and no study; expected"),
    ],
)
def test_bad_arguments_are_reported(quick, dumbbell, arguments, what):
    status, _, err = dumbbell(*(quick if word == "DIR" else word for word in arguments))
    assert status == 2
    assert what in err


def test_the_bar_of_the_claims_is_checked(quick):
    from dumbbell.study.reproduction import compare_folder

    done = compare_folder(open_folder(quick))
    reached = done.as_json()["claims"]
    passed = reached["pass"] / (54 - reached["not_applicable"])
    assert bool(done.claims_below_bar()) == (passed < 0.9)
