"""Several paths by name, and the sketch of a plan."""

import json

import pytest
from support import PATH, planned

from dumbbell.engines import engine
from dumbbell.plan.sketch import sketch
from dumbbell.scenario import Scenario, ScenarioError

QUEUE = {"rate": "10mbit", "delay": "5ms", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}
STAGES = {"a": QUEUE, "b": {**QUEUE, "rate": "20mbit"}, "back": {"delay": "7ms"}}
PATHS = {"both": {"forward": ["a", "b"]}, "one": {"forward": ["b"], "reverse": ["back"]}}
FLOWS = [{"cc": "reno", "path": "both"}, {"cc": "cubic", "path": "one"}]


def several(engine="sim", **more):
    return planned(engine, **{"path": {}, "stages": STAGES, "paths": PATHS, "flows": FLOWS, **more}).plan


def ids(plan, ports):
    return [plan.ports[i].id for i in ports]


def ways(plan):
    return {path.id: (ids(plan, path.forward), ids(plan, path.reverse), path.base_rtt_ns, path.rate_bps) for path in plan.paths}


def test_a_stage_is_one_port_in_each_direction_whatever_passes_it():
    plan = several()
    assert ways(plan) == {
        "both": (["a", "b"], ["b-reverse", "a-reverse"], 20_000_000, 10_000_000),
        "one": (["b"], ["back-reverse"], 12_000_000, 20_000_000),
    }
    assert [port.id for port in plan.ports] == ["a", "b", "b-reverse", "a-reverse", "back-reverse"]
    assert [(workload.id, plan.paths[workload.path].id) for workload in plan.workloads] == [("reno", "both"), ("cubic", "one")]


def test_sizes_in_bdp_are_of_the_first_path():
    (limit,) = {port.qdisc["limit_packets"] for port in several().ports if port.id == "b"}
    assert limit == -(-20_000_000 * 20 // (1000 * 8 * 1514))


def test_traffic_that_names_none_has_the_only_path():
    plan = several(paths={"both": PATHS["both"]}, flows=[{"cc": "reno"}], background=[{"kind": "ping"}])
    assert ways(plan).keys() == {"both"}
    assert {workload.path for workload in plan.workloads} == {0}


def test_the_scenarios_path_is_that_of_traffic_that_names_none():
    plan = several(path=PATH, flows=[{"cc": "reno"}, {"cc": "cubic", "path": "one", "direction": "reverse"}])
    assert list(ways(plan)) == ["path", "one"]
    assert [plan.paths[workload.path].id for workload in plan.workloads] == ["path", "one"]


@pytest.mark.parametrize(("direction", "changed"), [("forward", ["b"]), ("reverse", ["b-reverse"]), ("both", ["b", "b-reverse"])])
def test_what_befalls_a_stage(direction, changed):
    outage = {"kind": "outage", "at": "1s", "for": "1s", "stage": "b", "direction": direction}
    plan = several(path={"impairments": [outage]})
    assert ids(plan, [change.port for change in plan.schedule]) == changed


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"flows": [{"cc": "reno"}]}, "flows.0.path: is missing, there are 2; expected one of both, one"),
        ({"flows": [{"cc": "reno", "path": "bot"}]}, "flows.0.path: there is no path 'bot' (did you mean 'both'?)"),
        ({"background": [{"kind": "ping"}]}, "background.0.path: is missing"),
        ({"paths": {"both": {"forward": ["a", "c"]}}, "flows": [{"cc": "reno"}]}, "paths.both.forward.1: there is no stage 'c'"),
        ({"paths": {"both": {"forward": ["a", "a"]}}, "flows": [{"cc": "reno"}]}, "paths.both.forward: passes 'a' 2 times"),
        ({"paths": {"both": {"forward": ["back"]}}, "flows": [{"cc": "reno"}]}, "paths.both.forward: limits no rate"),
        ({"paths": {"both": {"forward": []}}, "flows": [{"cc": "reno"}]}, "paths.both.forward: has 0 entries"),
        ({"paths": {}, "flows": [{"cc": "reno"}]}, "path: is missing"),
        ({"path": PATH, "paths": {}, "flows": [{"cc": "reno"}]}, "stages: are of no use without paths"),
        ({"stages": {**STAGES, "a": {**QUEUE, "name": "x"}}}, "stages.a.name: 'x' is a second name"),
        ({"path": PATH, "stages": {**STAGES, "bottleneck": QUEUE}}, "stages.bottleneck: 'bottleneck' may be the name of another port"),
        ({"stages": {**STAGES, "a-reverse": QUEUE}}, "stages.a-reverse: 'a-reverse' may be the name of another port"),
        ({"flows": [{**FLOWS[0], "rtt": "5ms"}, FLOWS[1]]}, "flows.0.rtt: needs path.rtt to replace"),
        ({"flows": [{**FLOWS[0], "src": "a"}, FLOWS[1]]}, "flows.0.src: 'a' is a stage of the path"),
        ({"stages": {**STAGES, "a": {**QUEUE, "delay": "2000s"}}}, "stages.a.delay: 2000s is too long"),
        ({"path": {"impairments": [{"kind": "rate", "at": "1s", "rate": "1mbit"}]}}, "path.impairments.0.stage: is missing"),
        (
            {"path": {"impairments": [{"kind": "rate", "at": "1s", "rate": "1mbit", "stage": "back"}]}},
            "path.impairments.0.stage: 'back' is no queue stage; expected one of a, b",
        ),
        (
            {
                "path": {"impairments": [{"kind": "rate", "at": "1s", "rate": "1mbit", "stage": "a", "direction": "reverse"}]},
                "flows": [{"cc": "cubic", "path": "one"}],
            },
            "path.impairments.0.stage: nothing passes 'a' in the direction reverse",
        ),
    ],
)
def test_what_cannot_be_is_refused(more, told):
    written = {"name": "s", "stages": STAGES, "paths": PATHS, "flows": FLOWS, "duration": "10s", **more}
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_text(json.dumps(written)).expand()
    assert told in str(caught.value)


def test_the_kernel_refuses_pings_on_several_paths():
    pings = [{"kind": "ping", "path": name} for name in PATHS]
    plan = several("kernel", background=pings)
    table = engine("kernel")
    (refusal,) = table.refusals(plan, table.compile(plan))
    assert (refusal.place.kind, refusal.place.index, refusal.field) == ("workload", 3, "path")
    assert "another ping takes 'both'" in refusal.what


def test_keys_of_runs_are_those_of_before_where_there_is_one_path():
    (run,) = Scenario.model_validate({"name": "s", "path": PATH, "flows": [{"cc": "cubic"}], "duration": "1s"}).expand()
    assert not {"stages", "paths"} & run.content.data.keys()
    (run,) = Scenario.model_validate({"name": "s", "stages": STAGES, "paths": PATHS, "flows": FLOWS, "duration": "1s"}).expand()
    assert {"stages", "paths"} < run.content.data.keys()


def test_a_sweep_reaches_into_stages_and_paths():
    scenario = Scenario.model_validate(
        {
            "name": "s",
            "stages": STAGES,
            "paths": PATHS,
            "flows": FLOWS,
            "duration": "1s",
            "sweep": {"stages.a.rate": ["1mbit", "2mbit"], "flows.0.path": ["both", "one"]},
        }
    )
    found = [(str(run.settings.stages["a"].rate), run.settings.flows[0].path) for run in scenario.expand()]
    assert found == [("1mbit", "both"), ("1mbit", "one"), ("2mbit", "both"), ("2mbit", "one")]


def test_the_sketch_of_several_paths():
    assert sketch(several()) == [
        "                a       b",
        "              10mbit  20mbit",
        "              pfifo   pfifo",
        "               5ms     5ms",
        "both  left  ----o-------o-----> right  reno",
        "one   left  ------------o-----> right  cubic",
        "",
        "                a     back    b",
        "              10mbit        20mbit",
        "              pfifo         pfifo",
        "               5ms    7ms    5ms",
        "both  left <----o-------------o------ right",
        "one   left <-----------o------------- right",
    ]


def test_the_sketch_of_a_dumbbell():
    path = {"rtt": "20ms", "delay": {"where": "ack-path"}, "reverse": "none", "bottleneck": PATH["bottleneck"]}
    assert sketch(planned(path=path, flows=[{"cc": "reno", "count": 3}, {"cc": "cubic", "direction": "reverse"}]).plan) == [
        "        bottleneck",
        "          10mbit",
        "          pfifo",
        "left  ------o-------> right  reno (3)",
        "",
        "        delay",
        "         20ms",
        "left <----o----- right  cubic",
    ]


def test_paths_that_cannot_be_drawn_are_listed():
    paths = {"there": {"forward": ["a", "b"]}, "across": {"forward": ["b", "a"]}}
    flows = [{"cc": "reno", "path": "there"}, {"cc": "cubic", "path": "across"}]
    assert sketch(several(paths=paths, flows=flows))[:2] == [
        "there  left > a 10mbit pfifo 5ms > b 20mbit pfifo 5ms > right  reno",
        "across  left > b 20mbit pfifo 5ms > a 10mbit pfifo 5ms > right  cubic",
    ]
    many = {f"p{i}": {"forward": ["a"]} for i in range(14)}
    lines = sketch(several(paths=many, flows=[{"cc": "reno", "path": name, "name": name} for name in many]))
    assert (len(lines), lines[12], lines[13]) == (27, "... and 2 more paths", "")
