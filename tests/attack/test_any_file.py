"""Any scenario file, right or wrong: it is run, or dumbbell reports its errors in clear lines, soon and in little memory."""

import resource

import pytest
from drawn import examples
from hypothesis import HealthCheck, Phase, event, given, settings
from work import counted

from dumbbell.engines.base import expected_packets
from dumbbell.errors import BadInput
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Scenario

from .scenario_files import SCENARIOS, as_text, mutated, mutated_text

MOST_CALLS = 1_000_000
CALLS_A_CHARACTER = 60
"""In addition: a mutation can make a file of megabytes, and YAML is read in Python, with some 30 calls a character."""
MOST_KIB = 1 << 20
"""By which the largest memory of the process may grow; other tests may have run in it before."""
MOST_PACKETS = 100_000
"""Runs that are expected to have more are prepared, but not run."""
FILE = "any.yaml"
many = settings(
    max_examples=examples(150),
    phases=[Phase.explicit, Phase.generate],  # making a failing file smaller takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def tried(text):
    """Read and prepare a scenario file as `run` does. Return None if it was an error that is reported as it should be."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with counted() as work:
            return prepare(Scenario.from_text(text, FILE).runs())
    except BadInput as refused:
        lines = str(refused).splitlines()
        assert lines
        for line in lines:
            assert line.isprintable(), line
            assert len(line) < 6000
            if line.startswith("    "):  # an error of syntax is shown
                continue
            assert line.startswith((f"{FILE}:", "and ")), line
            assert "; expected " in line or line.startswith("and "), line
        return None
    finally:
        assert work.calls < MOST_CALLS + CALLS_A_CHARACTER * len(text)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_KIB


@many
@given(SCENARIOS)
def test_a_scenario_is_run_or_refused(tree):
    runs = tried(as_text(tree))
    event("refused" if runs is None else "prepared")
    for each in runs or ():
        if expected_packets(each.plan) < MOST_PACKETS:
            run = each.produce()
            assert run.status != "invalid", run.reasons
            event("run")


@many
@given(mutated().map(as_text))
def test_a_mutated_scenario_is_read_or_refused(text):
    event("refused" if tried(text) is None else "prepared")


@pytest.mark.filterwarnings("ignore:.* is defined again")
@many
@given(mutated_text())
def test_a_mutated_file_is_read_or_refused(text):
    event("refused" if tried(text) is None else "prepared")
