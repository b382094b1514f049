"""reproduce, compare, table, plot and claims on folders of synthetic runs with the published numbers."""

import csv
import io
import json
from dataclasses import replace

import pytest

from dumbbell.results.folder import open_folder
from dumbbell.study import Request, find_part
from dumbbell.study.folders import open_store
from dumbbell.study.reproduction import compare_folder
from dumbbell_studies.sce.published import FOLDER

REFERENCE = FOLDER / "sce_one_flow.csv"
SCENARIO = """\
name: s
path: {rtt: 20ms, bottleneck: {rate: 1mbit, qdisc: {kind: pfifo, limit: 9p}}}
flows: [{cc: reno}]
duration: 1s
"""


def test_compare_with_a_file_gives_the_contract(dumbbell, keep, published_runs):
    folder = keep(published_runs[:100])
    status, out, err = dumbbell("compare", folder, REFERENCE, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert set(found["metrics"]) == {"throughput_mbit", "rtt_ms"}
    for metric in found["metrics"].values():
        assert {"expected", "cells", "missing", "share_within", "median_abs", "p95_abs", "median_rel", "p95_rel"} <= set(metric)
        assert (metric["expected"], metric["cells"], metric["missing"]) == (320, 100, 220)
        assert metric["share_within"] == 1
    assert len(found["worst"]) == 10


@pytest.mark.parametrize("name", ["sce", "sce/one-flow"])
def test_compare_with_a_study_by_name(dumbbell, keep, published_runs, name):
    status, out, _ = dumbbell("compare", keep(published_runs), name, "--json")
    assert status == 0
    assert json.loads(out)["metrics"]["rtt_ms"]["cells"] == 320


def test_compare_a_plain_results_folder(dumbbell, keep_plain, published_runs):
    status, out, _ = dumbbell("compare", keep_plain(published_runs[:3]), REFERENCE, "--json")
    assert status == 0
    assert json.loads(out)["metrics"]["rtt_ms"]["cells"] == 3


def test_reference_values_without_a_run_are_reported(dumbbell, keep, published_runs, tmp_path):
    folder = keep(published_runs)
    wrong = tmp_path / "mine.csv"
    wrong.write_text("cc,bandwidth_mbit,delay_ms,metric,value\nreno-sec,10,20,rtt_ms,25\n")
    status, out, err = dumbbell("compare", folder, wrong)
    assert (status, out) == (2, "")
    assert err.startswith(f"{wrong}:2: column cc: no run with reno-sec; expected one of cubic, reno,")
    assert err.count("\n") == 1
    wrong.write_text(wrong.read_text() + "reno,10,20,rtt_ms,25\nreno,10,25,rtt_ms,25\n")
    status, _, err = dumbbell("compare", folder, wrong)
    assert status == 0
    assert err.startswith(f"2 of 3 reference values have no run and count as missing, the first: {wrong}:2: column cc: ")


def test_compare_with_derived_tables(dumbbell, keep, published_runs):
    status, out, _ = dumbbell("compare", keep(published_runs), FOLDER / "sce_one_flow_diff.csv", "--json")
    assert status == 0
    assert json.loads(out)["metrics"]["throughput_diff_norm"]["share_within"] == 1


def test_compare_without_json_prints_the_worst_cells(dumbbell, keep, published_runs, make_run):
    odd = make_run({"cc": "reno", "bandwidth_mbit": 50.0, "delay_ms": 80.0, "seed": 1}, 12.5, 83.0)
    runs = [run for run in published_runs if run.name != odd.name]
    status, out, _ = dumbbell("compare", keep([*runs, odd]), "sce")
    assert status == 0
    assert "99.7 %" in out
    worst = next(line for line in out[out.index("Worst cells") :].splitlines() if line.startswith((" reno", "reno")))
    assert worst.split()[:3] == ["reno", "50", "80"]
    assert "chaotic" in worst


def test_compare_accepts_tolerances(dumbbell, keep, make_run):
    folder = keep([make_run({"cc": "reno", "bandwidth_mbit": 50.0, "delay_ms": 80.0, "seed": 1}, 30.0, 83.0)])
    share = {}
    for tolerance in ("throughput_mbit=1%", "throughput_mbit=20%bandwidth_mbit", "throughput_mbit=0.1,50%"):
        status, out, _ = dumbbell("compare", folder, "sce", "--json", "--tolerance", tolerance)
        assert status == 0
        share[tolerance] = json.loads(out)["metrics"]["throughput_mbit"]["share_within"]
    assert list(share.values()) == [0, 1, 1]


def test_check_fails_below_the_bar(dumbbell, keep, published_runs, make_run):
    good = keep(published_runs, name="good")
    assert dumbbell("compare", good, "sce", "--check")[0] == 0
    runs = [make_run(run.cell, 0.5 * run.cell["bandwidth_mbit"], 500.0) for run in published_runs]
    status, _, err = dumbbell("compare", keep(runs, name="bad"), "sce", "--check")
    assert status == 1
    assert "below the target: rtt_ms" in err


def test_invalid_runs_are_left_out_and_give_status_1(dumbbell, keep, make_run):
    good = make_run({"cc": "reno", "bandwidth_mbit": 50.0, "delay_ms": 80.0, "seed": 1}, 32.0, 83.0)
    bad = make_run({"cc": "reno", "bandwidth_mbit": 50.0, "delay_ms": 20.0, "seed": 1}, 45.0, 23.0, status="invalid")
    status, out, err = dumbbell("compare", keep([good, bad]), "sce", "--json")
    assert status == 1
    assert json.loads(out)["metrics"]["rtt_ms"]["cells"] == 1
    assert "packets lost from the books" in err


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (
            ["compare", "DIR", "sec"],
            "sec: no such study or file (did you mean 'sce'?); expected one of fairness, l4s, oracle, ordering, sce, teacup or a CSV file",
        ),
        (
            ["compare", "DIR", "sce/two"],
            "part 'two' of study sce is unknown (did you mean 'two-flow'?); expected one of draft, one-flow, two-flow",
        ),
        (["compare", "DIR", "none.csv"], "none.csv: cannot be read (No such file or directory); expected a CSV file"),
        (["compare", "DIR", "BAD"], ":2: column value: 'fast'; expected a number"),
        (["compare", "DIR", "HEADER"], ":1: column bandwidth lacking; expected the header of"),
        (["compare", "DIR", "oracle"], "none of its 1 runs is named by run, flow, rtt_ms"),
        (["compare", "nowhere", "sce"], "nowhere: no such folder; expected a results folder"),
        (["compare", "BAD", "sce"], "is a file; expected a results folder"),
        (["compare", "DIR", "sce", "--tolerance", "rtt=10%"], "expected METRIC=TERMS with METRIC one of throughput_mbit, rtt_ms"),
        (["compare", "DIR", "sce", "--tolerance", "rtt_ms=10 percent"], "expected 10%, 3%COLUMN or a number"),
        (["table", "DIR", "--number", "11"], "--number 11: no such table; expected one of 1 to 4, 12 to 21\n"),
        (["table", "DIR", "--number", "12", "--tidy"], "expected one of them"),
        (["plot", "DIR", "--figure", "sawtoth"], "figure 'sawtoth' is unknown (did you mean 'sawtooth'?)"),
        (["plot", "DIR", "--size", "poster"], "--size 'poster' is unknown; expected screen, one-column, two-column or print"),
        (["plot", "DIR", "--from", "20", "--to", "10"], "--to 10 is not after --from 20"),
        (["plot", "DIR", "--to", "nan"], "--to nan is no time; expected a number of s"),
        (["plot", "DIR", "--from", "inf"], "--from inf is no time; expected a number of s"),
        (["plot", "DIR", "--from", "1000", "--figure", "sawtooth"], "no samples from 1000 s to 300 s; expected a time up to 300 s"),
        (
            ["plot", "DIR", "--from", "1000", "--figure", "run-cc-reno-bandwidth_mbit-50.0-delay_ms-80.0-seed-1"],
            "no samples from 1000 s to 300 s; expected a time up to 300 s",
        ),
        (["plot", "DIR", "--out", "BAD"], "expected a writable folder"),
        (["claims", "oracle", "DIR"], "oracle/main makes no claims; expected a study or part with claims, such as sce"),
        (["claims", "sce/cubic-sce", "DIR"], "sce/cubic-sce makes no claims"),
        (["compare", "DIR", "sce/cubic-sce"], "has no published numbers; expected a CSV file\n"),
        (["table", "sce/two-flow"], "results/sce-two-flow: no such folder; expected what `dumbbell reproduce sce/two-flow` leaves"),
        (["table", "DIR", "--runs", "--tidy"], "--tidy and --runs were given together; expected one of them"),
        (["plot", "DIR", "--figure", "7"], "figure '7' is unknown"),
        (["table", "DIR", "--nubmer", "12"], "No such option: --nubmer"),
        (["reproduce", "sce", "--seeds", "three"], "for '--seeds'"),
        (["reproduce", "sce", "two-flow"], " (see `dumbbell reproduce --help`)\n"),
        (["claims", "sce"], "Missing argument 'DIR' (see `dumbbell claims --help`)\n"),
        (["reprduce", "sce"], "Did you mean 'reproduce'? (see `dumbbell --help`)\n"),
        (["claims", "sce", "PLAIN"], "none of its 1 runs is a cell of sce/draft; expected some"),
        (["table", "DIR", "--json", "--format", "csv"], "--json and --format were both given; expected one of them"),
        (["table", "DIR", "--json", "--tidy"], "--json and --tidy were both given; expected one of them"),
        (["run", "SCENARIO", "--out", "DIR"], "is of dumbbell reproduce; expected another folder, or "),
        (["plan", "sce"], "sce: no such file; expected a scenario file, or `dumbbell reproduce sce` for the study"),
        (["claims", "scee", "DIR"], "study 'scee' is unknown (did you mean 'sce'?)"),
        (["reproduce", "sce", "--out", "BAD"], "is a file; expected a folder"),
        (["reproduce", "sce", "--out", "BAD/below"], "bad.csv/below: cannot be made (a file is in the way)"),
        (["reproduce", "sce", "--out", "OTHER"], "holds other files; expected an empty folder"),
        (["reproduce", "oracle", "--out", "DIR"], "was made for study sce; expected oracle, or another folder"),
        (["reproduce", "sce", "--part", "three-flow", "--out", "X"], "part 'three-flow' of study sce is unknown"),
        (["reproduce", "sce", "--engine", "ns3", "--out", "X"], "engine 'ns3' is unknown; expected one of sim"),
    ],
)
def test_bad_input_is_one_line_and_status_2(dumbbell, keep, keep_plain, make_run, tmp_path, monkeypatch, arguments, what):
    monkeypatch.chdir(tmp_path)
    lines = REFERENCE.read_text().splitlines()
    (tmp_path / "bad.csv").write_text(f"{lines[0]}\n12,cubic,0.5,0,throughput_mbit,fast\n")
    (tmp_path / "header.csv").write_text(lines[0].replace("bandwidth_mbit", "bandwidth") + "\n" + lines[1] + "\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("")
    folder = keep([make_run({"cc": "reno", "bandwidth_mbit": 50.0, "delay_ms": 80.0, "seed": 1}, 32.0, 83.0)])
    plain = keep_plain([replace(make_run({"cc": "reno"}, 32.0, 83.0), cell={"run": "reno_10m_20ms_pfifo180"})])
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    places = {
        "DIR": str(folder),
        "PLAIN": str(plain),
        "SCENARIO": "scenario.yaml",
        "BAD": "bad.csv",
        "HEADER": "header.csv",
        "OTHER": "other",
        "BAD/below": "bad.csv/below",
    }
    status, out, err = dumbbell(*(places.get(argument, argument) for argument in arguments))
    assert status == 2
    assert out == ""
    assert what.replace("column bandwidth lacking", "column bandwidth_mbit lacking; column bandwidth unknown") in err
    assert err.count("\n") == 1


def test_tidy_has_the_reference_s_columns_and_compares_with_itself(dumbbell, keep, published_runs, tmp_path):
    folder = keep(published_runs)
    status, out, _ = dumbbell("table", folder, "--tidy")
    assert status == 0
    published, ours = (list(csv.reader(io.StringIO(text))) for text in (REFERENCE.read_text(), out))
    assert ours[0] == published[0]
    assert {tuple(row[:5]) for row in ours} == {tuple(row[:5]) for row in published}
    (tmp_path / "ours.csv").write_text(out)
    status, again, _ = dumbbell("compare", folder, tmp_path / "ours.csv", "--json")
    assert status == 0
    assert json.loads(again)["metrics"]["rtt_ms"]["p95_rel"] < 1e-5


def test_a_numbered_table_in_three_forms(dumbbell, keep, published_runs):
    folder = keep(published_runs)
    assert "Table 12" in dumbbell("table", folder, "--number", "12")[1]
    comma = dumbbell("table", folder, "--number", "12", "--format", "csv")[1]
    assert comma.splitlines()[0] == "bandwidth_mbit,0 ms,2 ms,5 ms,10 ms,20 ms,40 ms,80 ms,160 ms"
    assert "| ---: |" in dumbbell("table", folder, "--number", "12", "--format", "markdown")[1]


def test_a_plain_table_has_one_row_per_flow(dumbbell, keep_plain, make_run):
    folder = keep_plain([make_run({"cc": "reno", "path.rtt": "80ms"}, 32.0, 83.0)])
    status, out, _ = dumbbell("table", folder, "--format", "csv")
    assert status == 0
    assert out.splitlines() == [
        "cc,path.rtt,flow,flow_goodput_mbit,srtt_mean_ms,srtt_p95_ms,cwnd_mean_packets,retransmits,completion_s,rwnd_limited,sndbuf_limited,app_limited",
        "reno,80ms,1,32,83,83,20,0,,,,",
    ]
    assert dumbbell("table", folder, "--tidy")[1].splitlines()[1] == "reno,80ms,1,flow_goodput_mbit,32"


def test_a_table_as_json(dumbbell, keep, published_runs):
    folder = keep(published_runs)
    summary = json.loads(dumbbell("table", folder, "--json")[1])["rows"]
    assert len(summary) == len(published_runs)
    assert {"cc", "bandwidth_mbit", "flow_goodput_mbit", "completion_s"} <= set(summary[0])
    assert summary[0]["cc"] == "cubic"
    assert isinstance(summary[0]["flow_goodput_mbit"], float)
    assert summary[0]["completion_s"] is None
    numbered = json.loads(dumbbell("table", folder, "--number", "12", "--json")[1])
    assert numbered["title"].startswith("Table 12")
    assert numbered["rows"][0]["bandwidth_mbit"] == 0.5


def test_claims_as_json(dumbbell, keep, published_runs):
    status, out, _ = dumbbell("claims", "sce", keep(published_runs), "--json")
    assert status == 0
    found = json.loads(out)
    assert found["pass"] + found["fail"] + found["expected_fail"] + found["not_applicable"] == len(found["claims"]) == 22
    assert {"id", "status", "measured", "expected"} <= set(found["claims"][0])
    assert found["claims"][-1]["status"] == "not_applicable"


def test_figures_are_the_same_bytes_each_time(dumbbell, keep, make_run):
    folder = keep([make_run({"cc": cc, "bandwidth_mbit": 50.0, "delay_ms": 80.0, "seed": 1}, 32.0, 83.0) for cc in ("reno", "reno-sce")])
    for out in ("a", "b"):
        status, _, err = dumbbell(
            "plot", folder, "--figure", "sawtooth", "--figure", "heatmap-reno", "--size", "print", "--out", folder / out
        )
        assert status == 0
        assert "sawtooth" in err
    names = {path.name for path in (folder / "a").iterdir()}
    assert names == {f"{name}-print.{form}" for name in ("sawtooth", "heatmap-reno") for form in ("png", "svg")}
    for name in names:
        assert (folder / "a" / name).read_bytes() == (folder / "b" / name).read_bytes()


def test_any_run_can_be_drawn(dumbbell, keep_plain, make_run):
    folder = keep_plain([make_run({"cc": "reno", "path.rtt": "80ms"}, 32.0, 83.0)])
    status, out, _ = dumbbell("plot", folder, "--list")
    assert (status, out) == (0, "run-cc-reno-rtt-80ms\n")
    status, out, _ = dumbbell("plot", folder, "--json", "--from", "10", "--to", "20")
    assert status == 0
    name = "run-cc-reno-rtt-80ms-from-10s-to-20s"
    assert [path.rsplit("/", 1)[-1] for path in json.loads(out)] == [f"{name}.png", f"{name}.svg"]


def test_a_quick_request_is_noted_once(keep, published_runs):
    (note,) = compare_folder(open_folder(keep(published_runs[:5], Request(quick=True), part="draft"))).notes
    assert note.startswith("--quick: 3 bandwidths x 3 delays instead of 8 x 8,")
    assert note.count("--quick") == 1


def test_a_quick_request_is_remembered_and_a_full_one_may_follow(keep, published_runs):
    study, part = find_part("sce/one-flow")
    folder = keep(published_runs[:5], Request(quick=True))
    assert open_folder(folder).quick
    open_store(folder, study, part, Request(seeds=2), "sim")
    assert not open_folder(folder).quick
    assert len(open_folder(folder).runs) == 5
