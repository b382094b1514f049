"""`dumbbell agree smoke`: the simulator compared with the real kernel."""

import json

import pytest
from required import missing

from dumbbell.engines import engine
from dumbbell.errors import EnvironmentFault


@pytest.fixture(scope="module", autouse=True)
def _kernel():
    try:
        engine("kernel").require()
    except EnvironmentFault as error:
        missing("kernel", error)


def test_the_simulator_agrees_with_the_kernel(dumbbell, tmp_path):
    answer = dumbbell("agree", "smoke", "--check", "--json", "--out", tmp_path / "agree")
    document = json.loads(answer.out)
    assert document["invalid"] == []
    assert document["below_bar"] == []
    assert answer.status == 0
    assert document["engines"]["kernel"]["version"].startswith("6.")
    assert {bar["metric"] for bar in document["bars"]} == {"goodput", "rtt_mean", "queue_delay", "windows"}
    assert document["metrics"]["goodput"]["cells"] == document["scenarios"]
