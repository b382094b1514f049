"""The study of "L4S Tests": its rows, its measures and its claims."""

import csv

import pytest

from dumbbell.catalogue import entries
from dumbbell.running.prepare import compute
from dumbbell.study import Request
from dumbbell_studies.l4s import STUDY
from dumbbell_studies.l4s.claims import check_claims
from dumbbell_studies.l4s.pam25 import PAM25
from dumbbell_studies.l4s.pam25_claims import Cell
from dumbbell_studies.l4s.pam25_claims import check_claims as check_pam25
from dumbbell_studies.l4s.two_flow import PUBLISHED, TABLE, TWO_FLOW, pairs, rates

CUBIC = {
    (rate, qdisc, "cubic", first, "cubic", second)
    for rate in (10.0, 50.0)
    for qdisc in ("dualpi2", "fq_codel", "pfifo")
    for first, second in ((10.0, 10.0), (20.0, 20.0), (160.0, 10.0))
}


def test_a_row_is_run_if_dumbbell_has_its_queue_and_its_controls():
    keys = {each.key for each in pairs()}
    assert keys >= CUBIC
    if "prague" not in entries("cc"):
        assert keys == CUBIC
    with TABLE.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert any(row["qdisc"] == "cnq_codel_af" for row in rows)
    assert {value.key for value in TWO_FLOW.reference().values} == keys
    assert list(STUDY.parts) == ["two-flow", "pam25"]


def test_quick_runs_the_slow_link_alone():
    runs = TWO_FLOW.scenarios(Request(quick=True, seeds=2))
    assert {run.cell["rate_mbit"] for run in runs} == {10.0}
    assert len(runs) == 2 * len({tuple(run.cell.values())[:6] for run in runs})


def test_a_row_is_measured_within_tolerance_of_what_is_printed():
    wanted = (10.0, "dualpi2", "cubic", 160.0, "cubic", 10.0)
    (run,) = [each for each in TWO_FLOW.scenarios(Request(quick=True)) if tuple(each.cell.values())[:6] == wanted]
    made = compute(run, on="sim")
    assert [key for key, _ in rates([made])] == [wanted]
    measured = TWO_FLOW.formats[0].measure([made])
    printed = {(value.key, value.metric): value.value for value in TWO_FLOW.reference().values}
    for (key, metric), (value,) in measured.items():
        assert value == pytest.approx(printed[key, metric], abs=1.0)


def test_claims_fail_where_the_rates_contradict_them():
    def judged(slow, fast):
        found = [((rate, "dualpi2", "cubic", 160.0, "cubic", 10.0), (slow * rate, fast * rate)) for rate in (10.0, 50.0)]
        found += [((rate, "pfifo", "cubic", 160.0, "cubic", 10.0), (0.9 * slow * rate, fast * rate)) for rate in (10.0, 50.0)]
        return {claim.id: claim.status for claim in check_claims(PUBLISHED / "claims.csv", found)}

    assert judged(0.2, 0.7) == {**dict.fromkeys(("L4S-1", "L4S-2", "L4S-3"), "not_applicable"), "L4S-4": "pass", "L4S-5": "fail"}
    assert judged(0.4, 0.5) == {**dict.fromkeys(("L4S-1", "L4S-2", "L4S-3"), "not_applicable"), "L4S-4": "fail", "L4S-5": "pass"}


def test_the_claim_about_the_fallback_is_judged_by_the_runs_with_it():
    aqms = {"Codel": 44.0, "single_queue_FQ": 40.0, "FQ_Codel_L4S": 40.0, "DualPI2": 9.0}

    def judged(rates):
        cells = [((1.0, 1.0, "cubic", "on", aqm, 5.0, 2.0, 10.0), Cell(rate, 95 - rate, 11.0)) for aqm, rate in rates.items()]
        claims = {claim.id: claim.status for claim in check_pam25(PUBLISHED / "pam25_claims.csv", (), cells)}
        return claims["PAM25-4"]

    assert judged(aqms) == "pass"
    assert judged({**aqms, "DualPI2": 45.0}) == "fail"
    assert judged({}) == "not_applicable"
    runs = PAM25.scenarios(Request(quick=True))
    with_fallback = [run for run in runs if "fallback" in run.cell]
    assert {run.cell["aqm"] for run in with_fallback} == {*aqms, "FQ"}
    assert {run.dump()["flows"][0]["cc"]["fallback"] for run in with_fallback} == {"module"}


def test_an_ablation_gives_prague_its_independence_of_the_rtt_back():
    (fitted,) = TWO_FLOW.fitted
    kinds = {}
    for name, request in (("fitted", Request()), ("ablation", Request(override=fitted.override))):
        flows = [flow for run in TWO_FLOW.scenarios(request) for flow in run.dump()["flows"]]
        kinds[name] = {flow["cc"]["rtt_independence"] for flow in flows if isinstance(flow["cc"], dict) and flow["cc"]["kind"] == "prague"}
    assert kinds == {"fitted": {False}, "ablation": {True}}
