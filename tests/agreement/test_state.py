"""Comparing state on two engines: the scenarios of the set, and what is compared of two runs."""

import numpy as np
import pytest

from dumbbell.agreement import state
from dumbbell.agreement.sets import find_set
from dumbbell.agreement.shared import Shared
from dumbbell.engines import engine
from dumbbell.errors import BadInput
from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario


@pytest.fixture(scope="module")
def shared():
    """The abilities that the kernel and the simulator share."""
    return Shared.of(engine("kernel").capabilities(), engine("sim").capabilities())


def test_the_set_has_all_controls_that_tell_linux_something_and_all_laws(shared):
    found = find_set("state", shared, count=30)
    assert {flow.cc.kind for each in found.scenarios if each.repeat == 1 for flow in each.flows} == set(state.CONTROLS)
    laws = [each for each in found.scenarios if each.repeat > 1]
    assert {each.path.bottleneck.qdisc.kind for each in laws} == set(state.LAWS)
    assert len(laws) == 6
    assert all(each.series.state == ["control", "queue"] for each in found.scenarios)
    assert found.scenarios == find_set("state", shared, count=30).scenarios


def test_the_set_is_drawn_from_controls_that_tell_something(shared):
    alone = [each for each in find_set("state", shared, count=4, ccs=["vegas"]).scenarios if each.repeat == 1]
    assert {flow.cc.kind for each in alone for flow in each.flows} == {"vegas"}
    with pytest.raises(BadInput, match="expected congestion controls that tell the kernel's inet_diag something: dctcp, bbr"):
        find_set("state", shared, ccs=["cubic"])


class Compared:
    """A comparison of runs with runs."""

    in_real_time = ()

    def __init__(self, scenario, pairs):
        self.scenario_set = type("Set", (), {"scenarios": [scenario]})
        self.pairs = pairs


def test_runs_that_are_the_same_agree_in_every_sample_and_others_do_not(shared):
    scenario = next(each for each in find_set("state", shared, count=7).scenarios if each.flows[0].cc.kind == "vegas")
    runs = [compute(run) for run in scenario.expand()]
    found = state.variables(Compared(scenario, [(run, run) for run in runs]))
    assert {each.variable for each in found} >= {"base_rtt_ms", "round_rtt_ms", "rtt_samples", "drops"}
    assert all(each.within == 1 and each.apart == 0 for each in found if each.variable != "diff")
    assert state.summary(found)["whole"] > 0.9
    settings = scenario.dump()
    longer = Scenario.model_validate({**settings, "path": {**settings["path"], "rtt": "90ms"}})
    others = [compute(run) for run in longer.expand()]
    apart = {each.variable: each for each in state.variables(Compared(scenario, list(zip(runs, others, strict=True))))}
    assert apart["base_rtt_ms"].within == 0
    assert apart["base_rtt_ms"].apart > 0.02


def test_the_interval_over_starts_says_what_is_chance():
    assert state._has_zero(np.array([1.0, -1.0, 0.5, -0.4]))
    assert not state._has_zero(np.array([1.0, 1.1, 0.9, 1.0]))
    assert state._has_zero(np.zeros(3))
    assert not state._has_zero(np.ones(3))
