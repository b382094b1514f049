"""Parameters of the simulator's own congestion controls: in its table, and taken by its runs."""

import pytest
from support import resolved

from dumbbell.engines import engine
from dumbbell.plan.parameters import takes
from dumbbell.running.prepare import compute, prepare


@pytest.fixture(scope="module")
def sim():
    """The simulator."""
    return engine("sim")


def test_every_parameter_takes_its_default(sim):
    controls = sim.capabilities().cc
    assert controls["reno"].parameters == {}
    for control in controls.values():
        for parameter in control.parameters.values():
            assert takes(parameter, parameter.default)
            assert parameter.meaning
    beta = controls["cubic"].parameters["beta"]
    assert (beta.kind, beta.default, beta.least, beta.most) == ("integer", 717, 205, 1023)


def test_a_run_takes_every_value_of_every_parameter(sim):
    for name, control in sim.capabilities().cc.items():
        for key, parameter in control.parameters.items():
            values = {"flag": ("on", "off"), "choice": parameter.words, "integer": (parameter.least, parameter.most)}[parameter.kind]
            (prepared, *others) = prepare([resolved(flows=[{"cc": {"kind": name, key: value}}]) for value in values], on=sim.name)
            assert prepared.key not in {other.key for other in others}


def test_a_parameter_changes_the_run(sim):
    plain, steep = (compute(resolved(flows=[{"cc": cc}], duration="5s"), on=sim.name) for cc in ("cubic", {"kind": "cubic", "beta": 500}))
    assert plain.digest != steep.digest
