"""A run that is exported in the tests of every format."""

import pytest

from dumbbell.executor import Threads
from dumbbell.results import Store
from dumbbell.running.execute import execute
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Scenario

BOTTLENECK = {"rate": "20mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}


def stored(folder, **more):
    """The results of a scenario, in a folder."""
    content = {
        "name": "probe",
        "path": {"rtt": "40ms", "bottleneck": BOTTLENECK},
        "flows": [{"cc": "cubic"}, {"cc": "bbr"}],
        "background": [{"kind": "ping", "name": "pinger"}],
        "duration": "20s",
    }
    return execute(prepare(Scenario.model_validate(content | more).runs()), Store(folder), Threads(1))


@pytest.fixture(scope="session")
def probed(tmp_path_factory):
    """A results folder with a run of two flows and a ping."""
    folder = tmp_path_factory.mktemp("probed")
    stored(folder)
    return folder
