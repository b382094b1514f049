"""One suite for every engine that gives the same results each time; tests/engines/testbed has those of real time."""

import pytest
from required import missing
from support import PATH

from dumbbell.engines import ENGINES
from dumbbell.engines import engine as find_engine
from dumbbell.errors import EnvironmentFault
from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario


@pytest.fixture(scope="session", params=[name for name in ENGINES if not find_engine(name).in_real_time])
def engine(request):
    """The engine's module."""
    found = find_engine(request.param)
    try:
        found.require()
    except EnvironmentFault as error:
        missing(request.param, error)
    return found


@pytest.fixture(scope="session")
def run(engine):
    """A function that runs a scenario given by its keys; what is not given is a short cubic flow over 10 Mbit/s and 20 ms."""

    def call(**more):
        settings = {"name": "contract", "path": PATH, "flows": [{"cc": "cubic"}], "duration": "20s", "engine": engine.name, **more}
        (resolved,) = Scenario.model_validate(settings).expand()
        return compute(resolved, on=engine.name)

    return call
