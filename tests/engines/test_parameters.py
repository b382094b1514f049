"""Parameters of congestion controls: written, swept, planned, listed, and refused by the table of the engine."""

import json
from dataclasses import replace

import pytest
from support import PATH, resolved

from dumbbell.catalogue import Parameter
from dumbbell.engines import engine
from dumbbell.engines.sim import Sim
from dumbbell.plan import make
from dumbbell.running.prepare import refuse
from dumbbell.scenario import Scenario, ScenarioError

PARAMETERS = {
    "hystart": {"kind": "flag", "default": True, "meaning": "leaves slow start by HyStart"},
    "beta": {"kind": "integer", "default": 717, "least": 1, "most": 1023, "meaning": "window after a loss, 1024ths"},
    "growth": {"kind": "choice", "default": "cube", "words": ["cube", "line"], "meaning": "curve"},
}


@pytest.fixture(autouse=True)
def table(monkeypatch):
    """The simulator's table, with parameters of cubic."""
    found = engine("sim").capabilities()
    cubic = replace(found.cc["cubic"], parameters={name: Parameter(name, **each) for name, each in PARAMETERS.items()})
    changed = replace(found, cc={**found.cc, "cubic": cubic})
    monkeypatch.setattr(Sim, "capabilities", lambda _: changed)
    return changed


def control(table, cc):
    (workload,) = make(resolved(flows=[{"cc": cc}]), table).plan.tcp
    return workload.cc


def test_a_plan_has_the_parameters_that_are_given(table):
    assert control(table, "cubic") == control(table, {"kind": "cubic"}) == {"kind": "cubic"}
    for written, meant in (("off", False), ("on", True), (False, False)):
        assert control(table, {"kind": "cubic", "hystart": written, "beta": 600}) == {"kind": "cubic", "hystart": meant, "beta": 600}


def refused(**cc):
    with pytest.raises(ScenarioError) as error:
        refuse([resolved(flows=[{"cc": cc}])])
    return [str(problem) for problem in error.value.problems]


@pytest.mark.parametrize(
    ("cc", "line"),
    [
        (
            {"kind": "cubic", "hystrat": False},
            "flows.0.cc.hystrat: unknown parameter of cubic 'hystrat' (did you mean 'hystart'?); "
            "expected one of beta, growth, hystart; the engine is sim",
        ),
        ({"kind": "reno", "beta": 600}, "flows.0.cc.beta: unknown parameter of reno 'beta'; expected none; the engine is sim"),
        ({"kind": "cubic", "hystart": 1}, "flows.0.cc.hystart: '1' is no value of hystart; expected on or off; the engine is sim"),
        (
            {"kind": "cubic", "beta": 0},
            "flows.0.cc.beta: '0' is no value of beta; expected a whole number from 1 to 1023; the engine is sim",
        ),
        (
            {"kind": "cubic", "beta": True},
            "flows.0.cc.beta: 'on' is no value of beta; expected a whole number from 1 to 1023; the engine is sim",
        ),
        ({"kind": "cubic", "growth": "x"}, "flows.0.cc.growth: 'x' is no value of growth; expected one of cube, line; the engine is sim"),
    ],
)
def test_what_a_table_refuses(cc, line):
    assert refused(**cc) == [line]


def test_what_only_the_other_engine_has():
    with pytest.raises(
        ScenarioError,
        match=r"^flows\.0\.cc\.growth: the engine kernel has no parameter of cubic 'growth'; expected .*, hystart, .*, or engine: sim$",
    ):
        refuse([resolved(flows=[{"cc": {"kind": "cubic", "growth": "line"}}], engine="kernel")])


def test_a_parameter_of_what_is_unknown_is_not_complained_about():
    (line,) = refused(kind="cubik", beta=600)
    assert line.startswith("flows.0.cc.kind: unknown cc 'cubik' (did you mean 'cubic'?)")


FILE = """\
name: s
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: codel}}}
flows:
  - cc: {kind: cubic, hystart: off}
duration: 2s
sweep: {flows.0.cc.beta: [600, 2000]}
"""


def test_a_swept_parameter_is_refused_where_it_is_swept(tmp_path, table):
    file = tmp_path / "s.yaml"
    file.write_text(FILE)
    runs = Scenario.from_file(file).expand()
    assert [make(run, table).plan.workloads[0].cc for run in runs] == [{"kind": "cubic", "hystart": False, "beta": n} for n in (600, 2000)]
    place = f"{file}:6: sweep.flows.0.cc.beta: '2000' is no value of beta; expected a whole number from 1 to 1023; the engine is sim"
    with pytest.raises(ScenarioError) as error:
        refuse(runs[1:])
    assert str(error.value) == f"{place} (in the cell flows.0.cc.beta: 2000)"


@pytest.mark.parametrize("cc", ["cubic", {"kind": "cubic"}, {"kind": "cubic", "growth": "line"}])
def test_a_parameter_is_swept_however_the_control_is_written(cc):
    settings = {"name": "s", "path": PATH, "flows": [{"cc": cc}], "duration": "2s", "sweep": {"flows.*.cc.hystart": ["on", "off"]}}
    runs = Scenario.model_validate(settings).expand()
    assert [run.settings.flows[0].cc.parameters["hystart"] for run in runs] == ["on", "off"]
    assert {run.settings.flows[0].cc.kind for run in runs} == {"cubic"}
    assert [run.cell for run in runs] == [{"flows.*.cc.hystart": "on"}, {"flows.*.cc.hystart": "off"}]


def test_they_are_listed(dumbbell):
    listed = {entry["name"]: entry for entry in json.loads(dumbbell("list", "cc", "--json").out)}
    assert listed["reno"]["parameters"] == {}
    beta = {"kind": "integer", "default": 717, "expected": "a whole number from 1 to 1023", "engines": ["sim"]}
    assert listed["cubic"]["parameters"]["beta"] == beta | {"meaning": "window after a loss, 1024ths"}
    lines = dumbbell("list", "cc").out.splitlines()
    after = lines[[line.split()[0] for line in lines].index("cubic") + 1]
    assert [part.strip() for part in after.split("  ") if part] == [
        "hystart",
        "sim, kernel, testbed",
        "leaves slow start by HyStart: on or off, on by default",
    ]
