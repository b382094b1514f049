"""The parts that the cells of a sweep share are validated, checked and planned once, and nothing but the time shows it."""

import json
from pathlib import Path

import pytest

from dumbbell.engines import engine
from dumbbell.plan import Kept, as_json, make
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Scenario, ScenarioError

PATH = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "codel", "limit": "1bdp", "target": "5ms"}}}
FLOWS = [{"cc": "cubic", "start": {"jitter": "5ms"}}, {"cc": "reno", "src": "a", "duration": "1s"}]
BACKGROUND = [{"kind": "exchange", "cc": "reno", "request": "1kB", "response": "3kB"}, {"rate": "1mbit"}]
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))


def scenario(sweep, **more):
    return Scenario.model_validate(
        {"name": "s", "path": PATH, "flows": FLOWS, "background": BACKGROUND, "duration": "2s", "sweep": sweep, **more}
    )


SWEEPS = [
    {"path.rtt": ["1ms", "2ms"], "flows.0.cc": ["reno", "cubic"], "duration": ["2s", "3s"]},
    {"flows.*.cc": ["reno", {"kind": "cubic", "hystart": "off"}], "path.bottleneck.qdisc.kind": ["codel", "fq_codel"]},
    {"background.0.think": ["1ms", "2ms"], "background.1": [{"kind": "udp", "rate": "2mbit"}, {"rate": "3mbit"}], "seed": [1, 2]},
    {"cells": [{"path.rtt": "5ms"}, {"duration": "4s"}, {"path": {**PATH, "rtt": "7ms"}}, {"flows.1.src": "b"}, {"hosts": {}, "seed": 3}]},
    {"path.mtu": [1500, 9000], "flows.0.mss": [536, 1460], "flows.1.dscp": ["EF", 0], "flows.0.host": [{"gro": "50us"}, {"gro": "1ms"}]},
    {"path.bottleneck.qdisc": ["fq_codel", {"kind": "cake", "sce": 1}, {"kind": "cake", "sce": True}], "flows.0.start.first": ["0s", "1s"]},
]


def alone(wanted, coordinates):
    """The scenario of one cell, written without a sweep."""
    written = json.loads(json.dumps({key: value for key, value in wanted.dump().items() if key != "sweep"}))
    for key, value in coordinates.items():
        *way, last = key.split(".")
        nodes = [written]
        for word in way:
            nodes = [each for node in nodes for each in (node if word == "*" else [node[int(word) if isinstance(node, list) else word]])]
        for node in nodes:
            node[int(last) if isinstance(node, list) else last] = value
    return Scenario.model_validate(written)


@pytest.mark.parametrize("sweep", SWEEPS)
def test_a_cell_is_what_it_is_alone(sweep):
    wanted = scenario(sweep)
    together = prepare(wanted.runs())
    assert len(together) == wanted.run_count
    for index, made in enumerate(together):
        (single,) = prepare(alone(wanted, wanted.sweep.cell(index)).runs())
        assert (made.key, made.plan, made.planned.provenance) == (single.key, single.plan, single.planned.provenance)
        assert made.scenario == single.scenario
        assert made.resolved.settings.model_fields_set >= {"path", "flows", "duration"}


def test_what_is_equal_but_not_the_same_is_planned_anew():
    kept, table = Kept(), engine("sim").capabilities()
    runs = scenario({"flows.1.stack.initial_cwnd": [1, True, 1.0]}).runs()
    assert [str(make(run, table, kept).plan.workloads[1].options["initial_cwnd"]) for run in runs] == ["1", "True", "1.0"]


@pytest.mark.parametrize("sweep", SWEEPS)
def test_a_plan_that_shares_workloads_is_the_same_text(sweep):
    kept, table = Kept(), engine("sim").capabilities()
    plans = [make(run, table, kept).plan for run in scenario(sweep).runs()]
    for plan in plans:
        assert as_json(plan, kept) == json.dumps(plan.plain(), separators=(",", ":"))


def test_a_flow_that_is_refused_is_refused_in_every_cell_that_has_it():
    runs = scenario({"flows.0.cc": ["cubic", "nope", "dctcp"], "path.rtt": ["1ms", "2ms"]}).runs()
    with pytest.raises(ScenarioError) as refused:
        prepare(runs)
    cells = [f"flows.0.cc: nope, path.rtt: {rtt}" for rtt in ("1ms", "2ms")]
    assert len(refused.value.problems) == len(cells)
    assert all(
        "unknown cc 'nope'" in str(problem) and cell in str(problem) for problem, cell in zip(refused.value.problems, cells, strict=True)
    )


@pytest.mark.parametrize(
    ("sweep", "what"),
    [
        ({"duration": ["2s", "1ms"]}, "the last flow may start at 5ms, after the run's 1ms"),
        ({"series.flows": [["reno"], ["nope"]]}, "there are no flows 'nope'"),
        ({"flows.1.src": ["b", "bottleneck"]}, "'bottleneck' is a stage of the path"),
        ({"path.bottleneck.rate": ["1mbit", "2000gbit"]}, "is too fast"),
    ],
)
def test_what_a_cell_breaks_is_found_though_nothing_of_it_is_swept(sweep, what):
    with pytest.raises(ScenarioError, match=what):
        scenario(sweep).expand()


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_settings_of_every_kind_can_be_shared(file):
    read = Scenario.from_file(file)
    written = read.model_copy(update={"sweep": None})
    swept = Scenario.model_validate({**written.dump(), "sweep": {"seed": [5, 6, 7]}})
    assert [each.settings.flows for each in swept.sample_runs()] == 3 * [read.flows]
