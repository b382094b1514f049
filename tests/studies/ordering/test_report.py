"""The report of a whole folder, and the commands on it."""

import json

import pytest

from dumbbell.results.folder import open_folder
from dumbbell.study import Request, View, find_part
from dumbbell.study.folders import open_store
from dumbbell.study.reproduction import compare_folder, write_report
from dumbbell_studies.ordering.conditions import ALONE, BASE, CONGESTED, VARIANCE, distinct
from dumbbell_studies.ordering.controls import PROTOCOLS


def stored(path, runs, part):
    study, part = find_part("ordering", part)
    store = open_store(path, study, part, Request(), "sim")
    store.request([(run.name, run.cell, run.key) for run in runs])
    for run in runs:
        store.write(run)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory, published_runs):
    """A folder of the part 2006 with the published utilisations, and its report without figures."""
    path = stored(tmp_path_factory.mktemp("ordering") / "2006", published_runs, "2006")
    write_report(compare_folder(open_folder(path)), View(), draw=False)
    return path


def test_the_report_has_the_agreement_as_payload_and_in_ip_packets(folder):
    found = json.loads((folder / "agreement.json").read_text())
    assert found["runs"] == 112
    assert found["metrics"]["utilization"]["share_within"] == 1
    assert found["metrics"]["utilization"]["informative"]["cells"] == 17 * 5
    assert found["further"]["ncsu_utilization_ip"]["metrics"]["utilization"]["share_within"] < 1
    assert found["claims"]["pass"] == 7
    assert found["claims"]["not_applicable"] == 4
    text = (folder / "agreement.md").read_text()
    assert "0.03, H-TCP 0.05" in text
    assert {path.stem for path in (folder / "tables").glob("*.csv")} >= {
        "table04", "table08", "stability", "orders", "correlations", "claims", "ncsu_utilization", "ordering_stability",
    }  # fmt: skip


def test_commands_on_the_folder(folder, dumbbell):
    status, out, _ = dumbbell("compare", folder, find_part("ordering")[1].published["ncsu_utilization"], "--json")
    assert status == 0
    assert json.loads(out)["metrics"]["utilization"]["missing"] == 0
    status, out, _ = dumbbell("table", folder, "--number", "5", "--format", "csv")
    assert status == 0
    assert out.splitlines()[1].startswith("40ms,dumbbell,0.9480,0.9556,")
    status, out, _ = dumbbell("table", folder, "--tidy")
    assert out.splitlines()[:2] == ["section,level,protocol,utilization", "4,320ms,CUBIC,0.871549"]
    status, out, _ = dumbbell("claims", "ordering", folder, "--json")
    assert json.loads(out)["fail"] == 0


def test_figures_of_every_section(folder, dumbbell, tmp_path):
    status, _, _ = dumbbell("plot", folder, "--figure", "section-5", "--figure", "section-4-load", "--out", tmp_path / "figures")
    assert status == 0
    assert sorted(path.name for path in (tmp_path / "figures").glob("*.png")) == ["section-4-load.png", "section-5.png"]


def test_all_parts_together_have_one_store(tmp_path, make_run):
    runs = [
        make_run(condition, name, seed=seed)
        for name in PROTOCOLS
        for condition in (*distinct(VARIANCE), CONGESTED[10.0, "20ms"])
        for seed in (1, 2)
    ]
    runs += [make_run(condition, "none") for condition in ALONE]
    path = stored(tmp_path / "all", runs, "correlation")
    done = compare_folder(open_folder(path))
    write_report(done, View(), draw=False)
    assert set(done.part.figures) >= {"correlations", "section-4-load", "section-5", "section-9-load", "section-9", "section-10"}
    figure = done.part.figures["correlations"](done.folder.runs, View("print"))
    assert len(figure.axes) == 4 * 3
    assert len(done.part.figures["section-3"](done.folder.runs, View("print")).axes) == 3
    (axes,) = done.part.figures["section-2"](done.folder.runs, View("print")).axes
    assert len(axes.lines) == 2
    text = (path / "tables" / "correlations.csv").read_text()
    assert "congested,queue CoV,CoV-PTP,16" in text
    assert [each.part.name for each in done.parts] == ["2006", "variance", "congested", "background", "further"]
    assert make_run(BASE, "BIC").cell["flows"] == 4


def test_the_experiments_have_a_table(tmp_path, make_run):
    from dumbbell_studies.ordering.experiments import EXPERIMENTS

    runs = [make_run(BASE, each.protocol, 0.7) for each in EXPERIMENTS] + [
        make_run(BASE, each.protocol, 0.9, experiment=each.name) for each in EXPERIMENTS
    ]
    done = compare_folder(open_folder(stored(tmp_path / "experiments", runs, "experiments")))
    write_report(done, View(), draw=False)
    assert [row[3:] for row in done.tables()[0].fields] == [["0.7000", "0.9000"]] * len(EXPERIMENTS)
