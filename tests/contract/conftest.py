"""One suite for every engine."""

from importlib import import_module

import pytest
from support import PATH

from dumbbell.engines import ENGINES
from dumbbell.scenario import Scenario


@pytest.fixture(scope="session", params=ENGINES)
def engine(request):
    """The engine's module."""
    return import_module(f"dumbbell.engines.{request.param}")


@pytest.fixture(scope="session")
def run(engine):
    """A function that runs a scenario given by its keys; what is not given is a short cubic flow over 10 Mbit/s and 20 ms."""

    def call(**more):
        settings = {"name": "contract", "path": PATH, "flows": [{"cc": "cubic"}], "duration": "20s", **more}
        (resolved,) = Scenario.model_validate(settings).expand()
        return engine.run(resolved)

    return call
