"""Two engines without a kernel: the simulator, and the simulator with other TCP options in place of the kernel."""

from dataclasses import replace

import pytest

from dumbbell import engines
from dumbbell.catalogue.feature import Feature
from dumbbell.engines import Capabilities
from dumbbell.engines import engine as find_engine
from dumbbell.engines.base import Engine
from dumbbell.plan import Tcp


class Flavour(Engine):
    """The simulator under the name of the kernel engine, with other stack options."""

    name = "kernel"

    def __init__(self, **options):
        self.options = options
        self.made = []
        """Names of the runs that it has produced."""

    def capabilities(self):
        return replace(find_engine("sim").capabilities(), engine="kernel", feature=frozenset([Feature.SCE]))

    def require(self, plan=None):
        find_engine("sim").require(plan)

    def compile(self, plan, _kept=None):
        changed = [replace(each, options={**each.options, **self.options}) if isinstance(each, Tcp) else each for each in plan.workloads]
        return find_engine("sim").compile(replace(plan, workloads=tuple(changed)))

    def as_text(self, compiled):
        return find_engine("sim").as_text(compiled)

    def sources(self, plan=None):
        return find_engine("sim").sources(plan)

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
    """A function that replaces the kernel engine by the simulator with other stack options, and returns that engine."""

    def put(**options):
        engine = Flavour(**options)
        real = engines._engine
        monkeypatch.setattr(engines, "_engine", lambda name: engine if name == engine.name else real(name))
        return engine

    return put


@pytest.fixture
def tables():
    """Capabilities of kernel and simulator."""
    return find_engine("kernel").capabilities(), find_engine("sim").capabilities()


@pytest.fixture
def everything(tables):
    """Capabilities of another engine that supports all that the kernel engine supports."""
    table = tables[0]
    assert isinstance(table, Capabilities)
    return replace(table, engine="other")
