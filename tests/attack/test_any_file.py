"""Any scenario file, right or wrong: what it says is run, or refused in clear lines, soon and in little memory."""

import os
import resource
import time

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings

from dumbbell.engines.prepared import prepare
from dumbbell.errors import BadInput
from dumbbell.scenario import Scenario

from .scenario_files import SCENARIOS, as_text, mutated, mutated_text

EXAMPLES = int(os.environ.get("DUMBBELL_EXAMPLES", "150"))
"""Files that each test tries; `DUMBBELL_EXAMPLES` sets more."""
MOST_CPU_S = 2.0
MOST_KIB = 1 << 20
"""By which the largest memory of the process may grow; other tests may have run in it before."""
CPU_S_A_CHARACTER = 1e-5
"""Beside that: a mutation can make a file of megabytes, and YAML is read in Python, at some 4 us a character."""
MOST_RUN_CPU_S = 0.2
"""Runs that are expected to take longer are prepared, but not run."""
FILE = "any.yaml"
many = settings(
    max_examples=EXAMPLES,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # making a failing file smaller takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def tried(text):
    """Reads and prepares a scenario file as `run` does. None if it was refused as it should be."""
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
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
        assert time.process_time() - began < MOST_CPU_S + CPU_S_A_CHARACTER * len(text)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_KIB


@many
@given(SCENARIOS)
def test_a_scenario_is_run_or_refused(tree):
    runs = tried(as_text(tree))
    event("refused" if runs is None else "prepared")
    for each in runs or ():
        if each.cpu_s < MOST_RUN_CPU_S:
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
