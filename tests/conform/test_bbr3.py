"""The test cases of draft-ietf-ccwg-bbr-06 run, and a flow that breaks a rule fails its case."""

import json

import pytest

from dumbbell.conform import SUITES
from dumbbell.conform.case import Case, Findings, NotSeenError
from dumbbell.errors import BadInput

SUITE = SUITES["bbr3"]


def test_there_are_the_22_cases_of_the_draft():
    assert [case.name for case in SUITE.cases] == [f"B{i:02}" for i in range(1, 23)]
    assert all(case.criterion and case.title for case in SUITE.cases)


@pytest.mark.parametrize(
    "name", ["B01", "B02", "B03", "B04", "B05", "B06", "B08", "B10", "B11", "B12", "B13", "B18", "B19", "B20", "B21", "B22"]
)
def test_the_draft_passes(name):
    (case,) = SUITE.chosen([name])
    outcome = case.judge({"kind": "bbr3"})
    assert outcome.passed, outcome.reason
    assert outcome.result == "pass"


def test_google_has_no_exit_of_drain_by_time():
    (case,) = SUITE.chosen(["B04"])
    outcome = case.judge({"kind": "bbr3", "variant": "google"})
    assert not outcome.passed
    assert "rounds have begun" in outcome.reason


def test_what_a_run_never_comes_to_fails_its_case():
    def check(_cc, _found):
        raise NotSeenError("the run has no UP")

    outcome = Case("X", "x", "x", check).judge({})
    assert (outcome.passed, outcome.reason) == (False, "the run has no UP")


def test_a_failed_condition_is_the_reason():
    def check(_cc, found: Findings):
        found.add("holds", True, a=1)
        found.add("does not hold", False, b=2)

    outcome = Case("X", "x", "x", check).judge({})
    assert (outcome.passed, outcome.reason, outcome.numbers) == (False, "does not hold", {"a": 1, "b": 2})


def test_unknown_cases_are_named():
    with pytest.raises(BadInput, match=r"bbr3 has no case 'B99'"):
        SUITE.chosen(["B99"])


def test_the_command(dumbbell):
    answer = dumbbell("conform", "bbr3", "--case", "b05", "--json")
    assert answer.status == 0
    found = json.loads(answer.out)
    assert (found["passed"], found["failed"], found["cases"][0]["result"]) == (1, 0, "pass")
    assert dumbbell("conform", "bbr3", "--case", "B04", "--variant", "google").status == 1
    for wrong in (("conform", "cubic"), ("conform", "bbr3", "--case", "B99")):
        answer = dumbbell(*wrong)
        assert (answer.status, answer.err.count("\n")) == (2, 1)
