"""The report of a whole folder, its claims, and the commands on it."""

import json

import pytest

from dumbbell.results.folder import open_folder
from dumbbell.study import Request, View, find_part
from dumbbell.study.folders import open_store
from dumbbell.study.reproduction import compare_folder, write_report
from dumbbell_studies.fairness.claims import CHECKS, EXCUSED, check_claims
from dumbbell_studies.fairness.figures import FIGURES
from dumbbell_studies.fairness.published import claim_rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory, published_runs):
    """A folder with the published numbers, and its report without figures."""
    path = tmp_path_factory.mktemp("fairness") / "2011"
    study, part = find_part("fairness", "2011")
    store = open_store(path, study, part, Request(), "sim")
    store.request([(run.name, run.cell, run.key) for run in published_runs])
    for run in published_runs:
        store.write(run)
    write_report(compare_folder(open_folder(path)), View(), draw=False)
    return path


def test_the_published_numbers_agree_with_themselves(folder):
    found = json.loads((folder / "agreement.json").read_text())["metrics"]
    assert found["elapsed_s"]["share_within"] == 1
    assert found["elapsed_s"]["informative"]["cells"] == 56 - 16 - 5
    assert found["rexmt_data_pkts"]["cells"] == 24
    assert found["avg_win_adv_bytes"]["share_within"] == 1


def test_every_claim_has_a_check():
    assert [row["claim_id"] for row in claim_rows()] == list(CHECKS)


def test_claims_in_the_published_numbers(published_runs):
    found = {claim.id: claim for claim in check_claims(published_runs)}
    assert {name for name, claim in found.items() if claim.status == "pass"} == CHECKS.keys() - EXCUSED.keys() - {"A016"}
    assert found["A016"].status == "not_applicable"
    assert found["A015"].status == "expected_fail"


def test_claims_fail_where_the_numbers_are_others(published_runs, make_run):
    changed = [make_run("Baseline8", {"S1": 12.0}), *(run for run in published_runs if run.cell["scenario"] != "Baseline8")]
    found = {claim.id: claim.status for claim in check_claims(changed)}
    assert found["A003"] == "fail"


def test_commands_on_the_folder(folder, dumbbell):
    status, out, _ = dumbbell("table", folder, "--number", "1", "--format", "csv")
    assert status == 0
    assert out.splitlines()[1].startswith("Baseline1,S1,SACK,0,dumbbell,9.29,90.31,5.3,2.0,0,5888")
    assert out.splitlines()[2].startswith(",,,,published,9.29,90.31,5.3,,,5888")
    status, out, _ = dumbbell("compare", folder, find_part("fairness")[1].published["alberta_runs"], "--json")
    assert status == 0
    assert json.loads(out)["metrics"]["elapsed_s"]["missing"] == 0
    assert (folder / "tables" / "fairness.csv").read_text().splitlines()[1].startswith("Combo1,CUBIC,20,46.68,10.36,")


def test_figures(folder, dumbbell, tmp_path):
    wanted = ["elapsed", "combo13-to-15"]
    assert set(wanted) < FIGURES.keys()
    status, _, _ = dumbbell("plot", folder, *(word for name in wanted for word in ("--figure", name)), "--out", tmp_path / "figures")
    assert status == 0
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == set(wanted)
