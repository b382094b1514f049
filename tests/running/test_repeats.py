"""Scenarios that may have several seeds: those in which another seed can give another run."""

import pytest
from support import PATH, resolved

from dumbbell.engines import engine
from dumbbell.running.prepare import compute, prepare, refuse
from dumbbell.scenario import Scenario, ScenarioError

LOSSY = {**PATH, "rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "pfifo", "limit": "60p"}}}
"""Without random numbers of its own; long enough for all that draw to have drawn."""


def scenario(**more):
    return Scenario.model_validate({"name": "s", "path": LOSSY, "flows": [{"cc": "cubic"}], "duration": "2s", **more})


def test_repeats_that_could_not_differ_are_refused():
    with pytest.raises(ScenarioError, match=r"^repeat: 3 runs would be identical; expected start.jitter in a flow, a queue or a cc that"):
        prepare(scenario(repeat=3).runs())
    with pytest.raises(ScenarioError, match=r"^until: 50 runs would be identical; expected .*, or no until$"):
        prepare(scenario(until={"metric": "goodput", "ci": "2%"}).runs())


@pytest.mark.parametrize("cc", ["bbr", "bbr3", "cdg", "lp", "nv"])
def test_a_control_that_draws_may_be_repeated(cc):
    assert len(prepare(scenario(flows=[{"cc": cc}], repeat=3).runs())) == 3


def test_only_the_cells_that_are_repeated_for_nothing_are_refused(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text(
        "name: s\npath: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: pfifo, limit: 50p}}}\nflows: [{cc: bbr}]\nduration: 1s\n"
        "repeat: 2\nsweep:\n  flows.0.cc: [bbr, reno]\n"
    )
    with pytest.raises(ScenarioError) as error:
        prepare(Scenario.from_file(file).runs())
    (problem,) = error.value.problems
    assert str(problem).startswith(f"{file}:5: repeat: 2 runs would be identical; expected start.jitter")


def test_real_time_is_never_the_same_twice():
    assert engine("testbed").depends_on_seed(scenario())
    assert not engine("kernel").depends_on_seed(scenario())
    with pytest.raises(ScenarioError, match="would be identical"):
        refuse(run.on("kernel") for run in scenario(repeat=2).runs())


def test_controls_that_draw_say_so_and_no_others():
    """Each congestion control with some seeds through a queue that overflows: the series differ if it draws random numbers.

    lp is Reno with seven of eight seeds, and nv draws when it takes the minimum RTT again, after five seconds and more.
    """
    sim = engine("sim")
    for name, control in sim.capabilities().cc.items():
        if control.wants_sce:  # needs a stack of its own, and is one of the others without marks
            assert not control.draws
            continue
        flow = {"cc": name}
        if control.needs_ecn and name != "prague":  # which negotiates AccECN by itself
            flow["ecn"] = True
        if name == "prague":
            flow["stack"] = "linux-7.3"
        seconds, seeds = ("16s", 4) if name == "nv" else ("8s", 24 if name == "lp" else 4)
        runs = (compute(resolved(path=LOSSY, flows=[flow], duration=seconds, seed=seed), on=sim.name) for seed in range(1, seeds + 1))
        first = next(runs).digest
        assert control.draws == any(run.digest != first for run in runs), name


def test_linux_has_the_same_controls_that_draw():
    sim, kernel = (engine(name).capabilities().cc for name in ("sim", "kernel"))
    shared = sim.keys() & kernel.keys()
    assert {name for name in shared if sim[name].draws} == {name for name in shared if kernel[name].draws} == {"bbr", "cdg", "lp", "nv"}
