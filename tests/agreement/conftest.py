"""Two engines without a kernel: the simulator, and the simulator with another TCP in the kernel's place."""

from dataclasses import replace

import pytest

from dumbbell.engines import Capabilities, kernel
from dumbbell.engines import engine as find_engine
from dumbbell.engines.base import Engine
from dumbbell.engines.capabilities import SCE
from dumbbell.plan import Tcp


class Flavour(Engine):
    """The simulator under the kernel's name, with stack options of its own."""

    name = "kernel"

    def __init__(self, **options):
        self.options = options
        self.made = []
        """Names of the runs that were produced."""

    def capabilities(self):
        return replace(find_engine("sim").capabilities(), engine="kernel", feature=frozenset([SCE]))

    def require(self):
        find_engine("sim").require()

    def compile(self, plan):
        changed = [replace(each, options={**each.options, **self.options}) if isinstance(each, Tcp) else each for each in plan.workloads]
        return find_engine("sim").compile(replace(plan, workloads=tuple(changed)))

    def told(self, compiled):
        return compiled

    def sources(self):
        return find_engine("sim").sources()

    def refusals(self, plan, compiled):
        return find_engine("sim").refusals(plan, compiled)

    def cpu_s(self, _plan):
        return 1.0

    def produce(self, prepared):
        self.made.append(prepared.resolved.name)
        run = find_engine("sim").produce(prepared)
        return replace(run, engine={"name": "kernel", "version": "6.12.0", "configuration": "abc"})


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
