"""The page's claims hold in its own numbers, and fail where they should."""

from dataclasses import replace

from dumbbell_studies.ordering.claims import CHECKS, check_claims
from dumbbell_studies.ordering.conditions import ALONE, BASE, CONGESTED
from dumbbell_studies.ordering.published import claim_rows


def statuses(runs):
    return {claim.id: claim for claim in check_claims(runs)}


def test_every_claim_has_a_check():
    assert [row["claim_id"] for row in claim_rows()] == list(CHECKS)


def test_the_claims_hold_in_the_published_numbers(published_runs):
    found = statuses(published_runs)
    tables = ("N013", "NX1", "NX2", "NX3", "NX4", "NX5", "NX6")
    assert {name: found[name].status for name in tables} == dict.fromkeys(tables, "pass"), [found[name].measured for name in tables]
    assert {found[name].status for name in found if name not in tables} == {"not_applicable"}


def test_claims_fail_where_the_numbers_are_others(published_runs, make_run):
    fast = [make_run(replace(BASE, buffer_mib=size), "FAST", 0.9) for size in (1, 2, 4, 8)]
    others = [run for run in published_runs if run.cell["protocol"] != "FAST"]
    found = statuses([*others, *fast])
    assert found["NX4"].status == "fail"
    assert found["NX4"].measured == "0.900 0.900 0.900 0.900"


def test_claims_about_the_background(make_run):
    first, second, congested = ALONE
    # Wobbles that leave bandwidth with a CoV of 0.05 and 0.15 next to 72.5 Mbit/s.
    runs = [make_run(first, "none", 0.175, 0.2257), make_run(second, "none", 0.175, 0.677), make_run(congested, "none", 0.8)]
    found = statuses(runs)
    assert {found[name].status for name in ("N003+N004", "N005+N008", "N006+N009+N010")} == {"pass"}
    assert found["N003+N004"].measured == "type1 CoV 0.050; type2 CoV 0.150"
    found = statuses([make_run(first, "none", 0.3), make_run(second, "none", 0.1), make_run(congested, "none", 0.99)])
    assert {found[name].status for name in ("N003+N004", "N005+N008", "N006+N009+N010")} == {"fail"}


def test_the_aggregate_must_predict_better_in_both_environments(make_run):
    runs = [
        make_run(condition, "BIC", 0.9 - 0.01 * seed, wobble=0.01 * seed, seed=seed)
        for condition in (BASE, CONGESTED[10.0, "20ms"])
        for seed in range(1, 31)
    ]
    # Both coefficients of flows in step are the same, so that neither predicts better.
    assert statuses(runs)["N011+N012"].status == "fail"
    assert statuses(runs[:30])["N011+N012"].status == "not_applicable"
