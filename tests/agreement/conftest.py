"""Two engines without a kernel: the simulator, and the simulator with another TCP in the kernel's place."""

from dataclasses import replace

import pytest

from dumbbell.engines import Capabilities, kernel
from dumbbell.engines import engine as find_engine
from dumbbell.engines.base import Engine


class Flavour(Engine):
    """The simulator under the kernel's name, with stack options of its own."""

    name = "kernel"

    def __init__(self, **options):
        self.options = options
        self.made = []
        """Names of the runs that were produced."""

    def capabilities(self):
        return replace(find_engine("sim").capabilities(), engine="kernel", feature=frozenset())

    def require(self):
        find_engine("sim").require()

    def refuse_details(self, runs):
        find_engine("sim").refuse_details([self._flavoured(run) for run in runs])

    def key(self, resolved):
        return find_engine("sim").key(self._flavoured(resolved))

    def cpu_s(self, _resolved):
        return 1.0

    def produce(self, resolved, run_key):
        self.made.append(resolved.name)
        run = find_engine("sim").produce(self._flavoured(resolved), run_key)
        return replace(run, scenario=resolved.dump(), engine={"name": "kernel", "version": "6.12.0", "configuration": "abc"})

    def _flavoured(self, resolved):
        def changed(flow):
            stack = flow.stack.model_copy(update={"options": {**flow.stack.options, **self.options}})
            return flow.model_copy(update={"stack": stack})

        settings = resolved.settings.model_copy(update={"flows": [changed(flow) for flow in resolved.settings.flows]})
        return replace(resolved, settings=settings)


@pytest.fixture
def flavoured(monkeypatch):
    """A function that puts the simulator with other stack options in the kernel's place, and returns that engine."""

    def put(**options):
        engine = Flavour(**options)
        monkeypatch.setattr(kernel, "ENGINE", engine)
        return engine

    return put


@pytest.fixture
def tables():
    """(kernel's, simulator's) capabilities."""
    return find_engine("kernel").capabilities(), find_engine("sim").capabilities()


@pytest.fixture
def everything(tables):
    """A table with all that the engine kernel has: what sets are drawn from once the simulator has it too."""
    table = tables[0]
    assert isinstance(table, Capabilities)
    return replace(table, engine="other")
