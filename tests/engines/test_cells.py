"""The runs of a cell are planned and compiled from its first run, and nothing but the time shows it."""

from pathlib import Path

import pytest
from attack.scenario_files import SCENARIOS, as_text
from drawn import examples
from hypothesis import HealthCheck, Phase, assume, given, settings
from support import PATH

from dumbbell.engines import engine, sim
from dumbbell.errors import BadInput
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Duration, ResolvedScenario, Scenario, ScenarioError, Settings
from dumbbell.study import Request, find_part

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
STUDIES = [("sce", "one-flow"), ("sce", "two-flow"), ("teacup", None), ("fairness", None), ("ordering", None), ("oracle", None)]
JITTER = Duration(1_000_000)
BACKGROUND = [
    {"kind": "exchange", "cc": "reno", "request": "1kB", "response": "3kB", "connections": 3, "start": {"every": "7ms", "jitter": "5ms"}},
    {
        "kind": "page",
        "cc": "cubic",
        "size": "20kB",
        "clients": 2,
        "connections": 3,
        "direction": "both",
        "start": {"jitter": "900ms"},
        "duration": "50ms",
    },
    {"kind": "streaming", "cc": "cubic", "bitrate": "1mbit", "chunk": "1s", "buffer": "10s", "start": {"first": "1ms"}},
    {"kind": "transfers", "cc": "cubic", "size": {"exponential": "15kB"}, "arrivals": {"kind": "poisson", "every": "7ms"}},
    {"kind": "voip"},
    {"rate": "1mbit", "start": "10ms"},
]


def repeated(found):
    """The settings as a scenario of three runs: flows start at times that are drawn, where that fits in."""

    def later(flow):
        fits = flow.start.first + (flow.count - 1) * flow.start.every + JITTER < found.duration
        return flow.model_copy(update={"start": flow.start.model_copy(update={"jitter": JITTER})}) if fits else flow

    kept = {name: getattr(found, name) for name in Settings.model_fields}
    return Scenario.model_validate({**kept, "flows": list(map(later, found.flows)), "repeat": 3})


def compare(runs):
    """Check that runs that are prepared together are the same as those that are prepared alone."""
    together = prepare(runs)
    assert len(together) == len(runs)
    for made, run in zip(together, runs, strict=True):
        (alone,) = prepare([ResolvedScenario(run.settings, run.cell, run.origin)])
        assert made.key == alone.key
        assert made.compiled == alone.compiled
        assert (made.plan, made.planned.provenance) == (alone.plan, alone.planned.provenance)
        assert made.scenario == alone.scenario
        assert made.cpu_s == alone.cpu_s


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda path: path.stem)
def test_every_example(file):
    scenario = Scenario.from_file(file)
    for first in scenario.sample_runs(count=2):
        has_programs = any(flow.program or flow.application for flow in first.settings.flows)
        compare(repeated(first.settings.model_copy(update={"engine": "kernel" if has_programs else "sim"})).expand())


@pytest.mark.parametrize(("study", "part"), STUDIES)
def test_every_study(study, part):
    runs = find_part(study, part)[1].scenarios(Request(quick=True, seeds=1))
    for first in runs[:: max(1, len(runs) // 4)]:
        compare(repeated(first.settings).expand())


@settings(
    max_examples=examples(20),
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(SCENARIOS)
def test_any_scenario(tree):
    """Runs that the engine rejects are errors with every seed."""
    try:
        scenario = Scenario.from_text(as_text({**tree, "engine": "sim"}))
        runs = list(repeated(next(iter(scenario.runs())).settings).runs())
    except BadInput:
        assume(False)
    try:
        prepare(runs)
    except ScenarioError:
        for run in runs:
            with pytest.raises(ScenarioError):
                prepare([ResolvedScenario(run.settings, run.cell, run.origin)])
    else:
        compare(runs)


def swept(**more):
    flows = [{"cc": "cubic", "count": 2, "start": {"every": "3ms", "jitter": "5ms"}, "duration": "995ms"}, {"cc": "reno"}]
    written = {"name": "s", "path": PATH, "flows": flows, "background": BACKGROUND, "duration": "1s", **more}
    return Scenario.model_validate(written)


def test_cells_with_all_kinds_of_traffic():
    scenario = swept(sweep={"path.rtt": ["1ms", "9ms"], "seed": [7, 100]}, repeat=3, passive_rtt=True)
    compare(scenario.expand())
    compare(list(scenario.repeats([(3, range(2, 3)), (0, range(1, 3)), (1, range(2))])))


@pytest.mark.parametrize(("name", "stack"), [("kernel", "linux-6.12"), ("testbed", "host")])
def test_what_the_engines_of_linux_are_told(name, stack, monkeypatch):
    found = engine(name)
    monkeypatch.setattr(type(found), "sources", lambda *_: ("sources",))
    flows = [{"cc": "cubic", "start": {"jitter": "5ms"}, "duration": "995ms", "stack": stack}, {"cc": "reno", "stack": stack}]
    scenario = Scenario.model_validate({"name": "s", "path": PATH, "flows": flows, "duration": "1s", "repeat": 3, "engine": name})
    compare(scenario.expand())


def test_a_cell_is_looked_at_once(monkeypatch):
    real, calls = sim.native().check, []
    monkeypatch.setattr(sim.native(), "check", lambda network: calls.append(network) or real(network))
    prepare(swept(sweep={"path.rtt": ["1ms", "9ms"]}, repeat=4).runs())
    assert len(calls) == 2


def test_every_repeat_of_a_cell_that_is_refused_is_named():
    with pytest.raises(ScenarioError) as refused:
        prepare(swept(sweep={"flows.1.cc": ["reno", "nope"]}, repeat=2).runs())
    assert [str(problem).rpartition(", ")[2] for problem in refused.value.problems] == ["seed: 1)", "seed: 2)"]
