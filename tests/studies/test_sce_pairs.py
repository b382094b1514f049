"""The two-flow part of study sce: cells, reductions, tables, claims, figures."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dumbbell.comparing.agreement import cells_table
from dumbbell.results import Block
from dumbbell.results.folder import open_folder
from dumbbell.scenario import Scenario
from dumbbell.study import Request, find_part
from dumbbell.study.model import View
from dumbbell.study.reproduction import compare_folder, compare_format
from dumbbell_studies.sce import pairs, reductions
from dumbbell_studies.sce.claims import CHECKS
from dumbbell_studies.sce.claims.two_flow import CHECKS as PAIR_CHECKS
from dumbbell_studies.sce.claims.two_flow import GRID
from dumbbell_studies.sce.marking import TARGET_MS
from dumbbell_studies.sce.pair_figures import by_pair
from dumbbell_studies.sce.published import FOLDER, claim_rows
from dumbbell_studies.sce.scenarios import pair_document

PART = find_part("sce/two-flow")[1]
WHOLE = find_part("sce")[1]


def pair_cell(mode, cc1, cc2, bandwidth, delay, seed=1):
    return {"queue_mode": mode, "cc1": cc1, "cc2": cc2, "bandwidth_mbit": bandwidth, "delay_ms": delay, "seed": seed}


def test_the_part_is_every_cell_of_the_draft():
    columns = ("queue_mode", "cc1", "cc2", "bandwidth_mbit", "delay_ms")
    runs = [run for run in PART.scenarios(Request()) if "cc1" in run.cell]
    assert len(runs) == 900
    cells = {tuple(run.cell[column] for column in columns) for run in runs}
    assert len(cells) == 900
    assert {key for key, _ in PART.reference(PART.formats[1]).lookup()} <= cells
    assert {key[:5] for key, _ in PART.reference().lookup()} == cells


def test_a_cell_is_the_draft_s_topology_with_two_flows():
    settings = pair_document(pairs.PairCell("flowblind sce-single", "cubic", "dctcp-sce", 50.0, 80.0))
    assert settings["path"]["bottleneck"] == {"rate": "50mbit", "qdisc": {"kind": "cake", "isolation": "flowblind", "sce": "single"}}
    assert [(flow["name"], flow["cc"]) for flow in settings["flows"]] == [("1", "cubic"), ("2", "dctcp-sce")]
    assert settings["flows"][0]["stack"] == settings["flows"][1]["stack"] == "linux-5.1-sce"
    assert settings["duration"] == "300s"


def test_the_example_to_vary_is_a_cell_of_the_study():
    example = Scenario.from_file(Path(__file__).parents[2] / "examples" / "two-flows.yaml").expand()[0].settings
    cell = Scenario(**pair_document(pairs.PairCell("flowblind", "cubic", "dctcp-sce", 50.0, 20.0))).expand()[0].settings
    own = {"name", "duration"}
    assert example.model_dump(exclude=own) == cell.model_dump(exclude=own)


def test_repeats_start_each_flow_with_its_own_jitter():
    runs = [run for run in PART.scenarios(Request(quick=True, seeds=3)) if "cc1" in run.cell]
    assert {run.seed for run in runs} == {1, 2, 3}
    assert all((flow.start.jitter == 0) == (run.seed == 1) for run in runs for flow in run.settings.flows)


def test_a_run_is_reduced_to_means_of_each_flow(make_pair):
    cell = pair_cell("flowblind", "cubic", "reno", 10.0, 20.0)
    found = pairs.two_flow([make_pair(cell, (6.0, 3.0), (25.0, 26.0)), make_pair({**cell, "seed": 2}, (5.0, 4.0), (27.0, 28.0))])
    key = ("flowblind", "cubic", "reno", 10.0, 20.0)
    assert found[(*key, 1.0, "cubic"), reductions.THROUGHPUT] == pytest.approx([6.0, 5.0])
    assert found[(*key, 2.0, "reno"), reductions.RTT] == pytest.approx([26.0, 28.0])
    index = pairs.jain([make_pair(cell, (6.0, 3.0), (25.0, 26.0))])
    assert index == {(key, pairs.JAIN): [pytest.approx(81 / 90)]}


def test_other_runs_have_no_cell(make_run, make_pair):
    pair = make_pair(pair_cell("flowblind", "cubic", "reno", 10.0, 20.0), (5.0, 4.0), (25.0, 25.0))
    one = make_run({"cc": "reno", "bandwidth_mbit": 10.0, "delay_ms": 20.0, "seed": 1}, 7.5, 25.0)
    other = replace(pair, cell={**pair.cell, "implementation": "as designed"})
    assert pairs.two_flow([one, other]) == {}
    assert reductions.one_flow([pair]) == {}


def test_published_numbers_agree_with_themselves(published_pairs, keep):
    folder = open_folder(keep(published_pairs, part="two-flow"))
    found = compare_format(folder, PART, PART.formats[0])
    assert found.metrics[reductions.THROUGHPUT].expected == len(found.metrics[reductions.RTT].cells) == 1800
    assert all(cell.error == pytest.approx(0, abs=1e-5) for cell in found.cells)
    # The published indices are computed from unrounded throughputs.
    index = compare_format(folder, PART, PART.formats[1]).metrics[pairs.JAIN]
    assert (len(index.cells), index.expected) == (140, 140)
    assert all(abs(cell.error) < 0.01 for cell in index.cells)


def test_suspect_cells_are_compared_as_printed_and_marked(keep, published_pairs):
    mode, ccs = "flowblind sce-single", ("dctcp", "dctcp-sce")
    runs = [run for run in published_pairs if (run.cell["queue_mode"], run.cell["cc1"], run.cell["cc2"]) == (mode, *ccs)]
    folder = open_folder(keep(runs, part="two-flow"))
    marked = [cell for cell in compare_format(folder, PART, PART.formats[0]).cells if cell.fault]
    assert {(cell.metric, cell.key["bandwidth_mbit"], cell.key["delay_ms"]) for cell in marked} == {
        (reductions.RTT, 5.0, 10.0),
        (reductions.RTT, 10.0, 10.0),
    }
    assert sorted(cell.theirs for cell in marked) == [80.88, 154.57, 207.36, 380.51]
    assert [row[-1] for row in cells_table(marked, "").fields] == 4 * ["reference: suspect"]


def test_pairs_without_published_values_are_compared_with_a_file(dumbbell, keep, make_pair, tmp_path):
    runs = [make_pair(pair_cell("triple-isolate", "reno", cc, 10.0, 20.0), (4.0, 5.0), (25.0, 26.0)) for cc in ("dctcp", "cubic-sce")]
    file = tmp_path / "own.csv"
    head = (FOLDER / "sce_two_flow.csv").read_text().splitlines()[0]
    rows = [f"59,triple-isolate,reno,dctcp,10,20,{flow},{cc},throughput_mbit,4.1" for flow, cc in ((1, "reno"), (2, "dctcp"))]
    rows += ["0,triple-isolate,reno,cubic-sce,10,20,2,cubic-sce,rtt_ms,60", "0,triple-isolate,cubic,cubic-sce,10,20,2,cubic-sce,rtt_ms,60"]
    file.write_text("\n".join([head, *rows]) + "\n")
    status, out, _ = dumbbell("compare", keep(runs, part="two-flow"), file, "--json")
    assert status == 0
    found = json.loads(out)["metrics"]
    assert (found[reductions.THROUGHPUT]["cells"], found[reductions.THROUGHPUT]["share_within"]) == (2, 0.5)
    assert (found[reductions.RTT]["cells"], found[reductions.RTT]["missing"], found[reductions.RTT]["share_within"]) == (1, 1, 0)


@pytest.mark.parametrize("name", ["sce", "sce/two-flow", FOLDER / "sce_two_flow.csv"])
def test_compare_two_flow_runs(dumbbell, keep, published_pairs, name):
    status, out, _ = dumbbell("compare", keep(published_pairs[:30], part="two-flow"), name, "--json")
    assert status == 0
    found = json.loads(out)
    assert found["format"] == "sce_two_flow"
    assert (found["metrics"][reductions.RTT]["cells"], found["metrics"][reductions.RTT]["missing"]) == (60, 1740)
    assert found["metrics"][reductions.THROUGHPUT]["tolerance"] == "5%bandwidth_mbit"
    assert found["metrics"][reductions.RTT]["tolerance"] == "15%,1.5"


def test_compare_with_jain_s_tables(dumbbell, keep, published_pairs):
    status, out, _ = dumbbell("compare", keep(published_pairs, part="two-flow"), FOLDER / "sce_jain.csv", "--json", "--check")
    assert status == 0
    assert json.loads(out)["metrics"][pairs.JAIN]["share_within"] == 1
    assert json.loads(out)["metrics"][pairs.JAIN]["tolerance"] == "0.05"


def test_tables_have_the_draft_s_numbers(published_pairs, published_runs):
    tables = WHOLE.tables([*published_runs, *published_pairs])
    assert sorted(tables) == list(range(1, 112))
    published = PART.reference().lookup()
    table = tables[24]
    assert table.title == "Table 24: Mean throughput (Mbit/s), cubic and reno-sce, flowblind"
    assert table.columns == ["bandwidth_mbit", "flow", "cc", "0 ms", "10 ms", "20 ms", "80 ms"]
    assert table.fields[7][:3] == ["50", "2", "reno-sce"]
    assert float(table.fields[7][6]) == published[("flowblind", "cubic", "reno-sce", 50.0, 80.0, 2.0, "reno-sce"), reductions.THROUGHPUT]
    index = PART.reference(PART.formats[1]).lookup()
    assert tables[9].title == "Table 9: Jain's index, cubic and dctcp-sce, flowblind sce-single"
    assert float(tables[9].fields[4][4]) == pytest.approx(
        index[("flowblind sce-single", "cubic", "dctcp-sce", 100.0, 80.0), pairs.JAIN], abs=0.005
    )


def test_the_number_of_a_table_is_that_of_the_published_row():
    for format_ in PART.formats:
        with PART.published[format_.name].open() as file:
            for row in csv.DictReader(file):
                cell = tuple(float(row[column]) if column in format_.numbers else row[column] for column in format_.keys)
                assert format_.table_number(cell, row["metric"]) == int(row["table"])


def test_tidy_has_the_columns_of_each_format(dumbbell, keep, published_pairs):
    folder = keep(published_pairs[:3], part="two-flow")
    for kind in ("sce_two_flow", "sce_jain"):
        status, out, _ = dumbbell("table", folder, "--tidy", "--kind", kind)
        assert status == 0
        rows = list(csv.reader(io.StringIO(out)))
        assert ",".join(rows[0]) == (FOLDER / f"{kind}.csv").read_text().splitlines()[0]
        assert len(rows) == 1 + 3 * (4 if kind == "sce_two_flow" else 1)
    assert dumbbell("table", folder, "--tidy", "--kind", "sce_three_flow")[0] == 2
    assert dumbbell("table", folder, "--kind", "sce_jain")[0] == 2


def test_the_spread_of_the_repeats_is_reported(make_pair, keep):
    cell = pair_cell("flowblind", "cubic", "reno", 10.0, 20.0)
    runs = [make_pair({**cell, "seed": seed}, (rate, 9.0 - rate), (25.0, 26.0)) for seed, rate in ((1, 4.0), (2, 5.0), (3, 4.8))]
    done = compare_folder(open_folder(keep(runs, Request(seeds=3), part="two-flow")))
    spread = done.as_json()["metrics"][reductions.THROUGHPUT]["spread"]
    assert spread == {"cells": 2, "median": pytest.approx(1.0), "p95": pytest.approx(1.0), "share_beyond_tolerance": 1.0}
    assert done.as_json()["metrics"][reductions.RTT]["spread"]["share_beyond_tolerance"] == 0


def test_the_whole_draft_is_reported_part_by_part(keep, published_runs, published_pairs):
    done = compare_folder(open_folder(keep([*published_runs, *published_pairs], part="draft")))
    assert [each.part.name for each in done.parts] == ["one-flow", "two-flow"]
    assert [table.title for table in done.tables() if "SCE" in table.title] == [part.title for part in WHOLE.parts]
    assert set(done.as_json()["further"]) == {"sce_one_flow_diff", "sce_two_flow", "sce_jain"}


def test_a_folder_of_one_part_can_be_extended_to_the_draft(keep, published_runs):
    from dumbbell.errors import BadInput
    from dumbbell.study.folders import open_store

    study = find_part("sce")[0]
    folder = keep(published_runs[:2])
    open_store(folder, study, WHOLE, Request(), "sim")
    assert len(open_folder(folder).runs) == 2
    with pytest.raises(BadInput, match="was made for part draft; expected one-flow"):
        open_store(folder, study, find_part("sce/one-flow")[1], Request(), "sim")


def test_every_claim_is_checked():
    assert set(CHECKS) == {row["claim_id"] for row in claim_rows()}
    assert set(PAIR_CHECKS) == {row["claim_id"] for row in claim_rows() if "flows=2" in row["conditions"] or row["claim_id"] == "S029+S030"}


@pytest.mark.parametrize("name", sorted(PAIR_CHECKS))
def test_claims_hold_for_the_published_numbers(published_pairs, name):
    claims = {claim.id: claim for claim in PART.claims(published_pairs)}
    assert claims[name].status == "pass", claims[name]


@pytest.mark.parametrize("name", sorted(PAIR_CHECKS))
def test_claims_can_fail(make_pair, name):
    """The first flow of every pair has nine tenths of the throughput in every queue, and the RTT is the same in all queues."""
    runs = [
        make_pair(pair_cell(mode, *ccs, bandwidth, delay), (0.86 * bandwidth, 0.095 * bandwidth), (delay + 5, delay + 5))
        for mode in pairs.QUEUE_MODES
        for ccs in pairs.CC_PAIRS
        for bandwidth, delay in GRID
    ]
    claims = {claim.id: claim for claim in PART.claims(runs)}
    assert claims[name].status == "fail", claims[name]


def test_a_claim_without_its_runs_is_not_applicable(published_pairs):
    runs = [run for run in published_pairs if (run.cell["cc1"], run.cell["cc2"]) != ("reno", "reno")]
    claims = {claim.id: claim for claim in PART.claims(runs)}
    assert claims["S018"].status == "not_applicable"
    assert claims["S018"].measured == "no run of reno and reno, flowblind, at 1 Mbit/s, 0 ms"
    assert claims["S019"].status == "pass"


def ramp_run(make_run, ramp, probability):
    """A run with evenly spaced sojourn times. The marking probability is a function of sojourn time over the target."""
    count = 20_000
    sojourn = np.linspace(0, 3 * TARGET_MS, count)
    marked = np.floor(np.cumsum(probability(sojourn / TARGET_MS)))
    rows = np.stack([sojourn, np.arange(count), marked, np.zeros(count)])
    names = ("sojourn_ms", "sent_packets", "sce_marks", "ce_marks")
    block = Block("port/bottleneck", names, np.arange(count) * 10**6, rows)
    run = make_run({"cc": "reno", "bandwidth_mbit": 10.0, "delay_ms": 20.0}, 9.0, 25.0)
    return replace(run, cell={"ramp": ramp, "seed": 1}, samples=(block,))


@pytest.mark.parametrize(("slope", "status"), [(2.0, "pass"), (1.0, "fail")])
def test_the_ramp_is_measured_by_sojourn_time(make_run, slope, status):
    runs = [
        ramp_run(make_run, "sce", lambda s: np.clip(2 * s - 1, 0, 1)),
        ramp_run(make_run, "sce-single", lambda s: np.clip(slope * (s - 1), 0, 1)),
    ]
    claims = {claim.id: claim.status for claim in PART.claims(runs)}
    assert (claims["S023"], claims["S024"]) == ("pass", status)


def test_figures_of_fairness_and_of_a_cell(dumbbell, keep, make_pair):
    runs = [
        make_pair(pair_cell("flowblind", "cubic", "reno-sce", bandwidth, 20.0), (0.6 * bandwidth, 0.3 * bandwidth), (25.0, 26.0))
        for bandwidth in (1.0, 50.0)
    ]
    folder = keep(runs, part="two-flow")
    names = dumbbell("plot", folder, "--list")[1].split()
    assert {"fairness-flowblind", "fairness-cubic-reno-sce", "share-cubic-reno-sce-flowblind-50mbit-20ms"} <= set(names)
    for name in ("fairness-flowblind", "fairness-cubic-reno-sce", "share-cubic-reno-sce-flowblind-50mbit-20ms"):
        status, out, _ = dumbbell("plot", folder, "--figure", name, "--to", 60, "--json")
        assert status == 0
        assert [path.rsplit("/", 1)[-1] for path in json.loads(out)] == [f"{name}-to-60s.png", f"{name}-to-60s.svg"]
    svg = (folder / "figures" / "share-cubic-reno-sce-flowblind-50mbit-20ms-to-60s.svg").read_text()
    assert "cubic and reno-sce: 50 Mbit/s, 20 ms, flowblind" in svg


def test_small_shares_are_shown_as_integers(make_pair):
    figure = by_pair(("reno", "dctcp"), [make_pair(pair_cell("flowblind", "reno", "dctcp", 50.0, 20.0), (0.2, 40.0), (25.0, 25.0))], View())
    shares = next(axis for axis in figure.axes if axis.get_title("left").startswith("share of the first flow"))
    assert "0" in {text.get_text() for text in shares.texts}


@pytest.mark.parametrize(("ccs", "rows"), [(("cubic", "reno"), 3), (("reno", "cubic-sce"), 2)])
def test_a_pair_without_published_values_has_no_row_for_them(make_pair, ccs, rows):
    figure = by_pair(ccs, [make_pair(pair_cell("flowblind", *ccs, 50.0, 20.0), (20.0, 27.0), (25.0, 25.0))], View())
    titles = [axis.get_title("left") for axis in figure.axes]
    assert sum(title.endswith(", flowblind") for title in titles) == rows - 1
    assert sum(bool(title) for title in titles) == 3 * rows


def test_a_study_s_name_stands_for_its_default_folder(dumbbell, keep, published_pairs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keep(published_pairs[:3], part="two-flow", name="results/sce-two-flow")
    keep(published_pairs[:3], part="draft", name="results/sce")
    for name in ("sce", "sce/two-flow"):
        status, out, _ = dumbbell("table", name, "--number", "22", "--format", "csv")
        assert (status, out) == (0, PART.tables(published_pairs[:3])[22].csv())
        assert json.loads(dumbbell("compare", name, "sce/two-flow", "--json")[1])["metrics"][reductions.RTT]["cells"] == 6
    status, _, error = dumbbell("table", "sce/one-flow", "--number", "12")
    assert status == 2
    assert "results/sce-one-flow" in error


def test_values_outside_the_tolerance_are_attributed_to_sum_chance_or_shares(make_pair):
    published = PART.reference().lookup()

    def rates(cell):
        return tuple(published[(*list(cell.values())[:5], flow, cell[f"cc{flow:g}"]), reductions.THROUGHPUT] for flow in (1.0, 2.0))

    summed = pair_cell("triple-isolate", "reno", "reno", 10.0, 80.0)
    shared = pair_cell("flowblind", "cubic", "reno-sce", 50.0, 20.0)
    chance = pair_cell("flowblind sce-single", "cubic", "cubic", 100.0, 20.0)
    first, second = rates(chance)
    runs = [
        make_pair(summed, tuple(1.3 * rate for rate in rates(summed)), (90.0, 90.0)),
        make_pair(shared, tuple(reversed(rates(shared))), (25.0, 25.0)),
        *(make_pair({**chance, "seed": i + 1}, (first + by, second - by), (25.0, 25.0)) for i, by in enumerate((20.0, 22.0, -1.0))),
    ]
    rows = {tuple(row[:3]): row[3:] for row in PART.summaries(runs)["residual"].fields}
    assert rows[("triple-isolate", "0", "80 ms")][:5] == ["2", "2", "2", "0", "0"]
    assert rows[("flowblind", "1", "to 20 ms")] == ["2", "2", "0", "0", "2", "0.00 %"]
    assert rows[("flowblind sce-single", "0", "to 20 ms")][:5] == ["2", "2", "0", "2", "0"]
