"""The catalogue: that what is made from it is up to date, and that Python and the simulator refuse by it alike."""

import copy
import json
import re
from functools import cache

import pytest
from support import PATH, docs_script

from dumbbell import catalogue
from dumbbell.documents.source import parse
from dumbbell.engines.linux.hosts import Profile
from dumbbell.native import native
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Scenario, ScenarioError
from dumbbell.scenario.base import parameters
from dumbbell.scenario.bounds import written
from dumbbell.scenario.qdiscs import DISCIPLINES
from dumbbell.scenario.scenario import KIND

QDISCS = catalogue.entries("qdisc")
NEEDED = {
    ("red", "nodrop"): {"ecn": True},
    ("fq_codel", "ce_threshold_selector"): {"ce_threshold": "1ms"},
    ("pie", "hz"): {"variant": "2013"},
    ("dualpi2", "ramp_from"): {"variant": "rfc9332", "ramp_to": "2s"},
    ("dualpi2", "ramp_to"): {"variant": "rfc9332"},
}
"""Keys that rules ask for besides the one that is tried."""
BOUNDS = [
    pytest.param(name, each, bound, beyond, id=f"{name}-{each.name}-{'least' if beyond < 0 else 'most'}")
    for name, entry in QDISCS.items()
    for each in entry.parameters
    for bound, beyond in ((each.least, -1), (each.most, 1))
    if bound is not None
]
CONTROLS = [
    pytest.param(name, each, id=f"{name}-{each.name}")
    for name, entry in catalogue.entries("cc").items()
    for each in entry.parameters
    if each.kind == "integer"
]


@pytest.fixture(scope="module")
def script():
    return docs_script("catalogue")


def test_what_is_made_from_the_sources_is_up_to_date(script):
    assert script.exported(script.laboratory()) == catalogue.FILE.read_text(encoding="utf-8"), "python docs/catalogue.py makes it anew"
    assert script.features() == script.FEATURES.read_text(encoding="utf-8"), "python docs/catalogue.py makes it anew"
    assert script.kinds() == script.KINDS.read_text(encoding="utf-8"), "python docs/catalogue.py makes it anew"
    for group, path in script.MODELS.items():
        assert script.models(group) == path.read_text(encoding="utf-8"), "python docs/catalogue.py makes it anew"


@pytest.mark.parametrize(("name", "entry"), QDISCS.items())
def test_every_parameter_is_a_key_with_a_meaning_and_an_example(name, entry):
    assert [each.name for each in entry.parameters] == [key for key in DISCIPLINES[name].model_fields if key != "kind"]
    for each in entry.parameters:
        assert each.meaning.endswith("."), each.name
        assert scenario(name, {each.name: parse(f"{each.name}: {each.example}", "example", KIND)[0][each.name]}).expand()


def scenario(name, keys):
    """Return a scenario with a discipline."""
    required = {each.name: each.example for each in QDISCS[name].parameters if each.required}
    beside = {key: value for tried in keys for key, value in NEEDED.get((name, tried), {}).items()}
    qdisc = {"kind": name, **required, **beside, **keys}
    rate = {} if "rate" in qdisc else {"rate": "10mbit"}
    path = {"rtt": "20ms", "bottleneck": {**rate, "qdisc": qdisc}}
    return Scenario(name="a", path=path, flows=[{"cc": "cubic"}], duration="2s", engine="kernel" if name == "tc" else "sim")


@cache
def plan(name, beside):
    """Return the plan of a discipline with its defaults but for a few keys."""
    (prepared,) = prepare(scenario(name, dict(beside)).expand())
    return json.loads(prepared.compiled.text)


def of_scenario(name, parameter, value):
    """Return the refusals of a value of a parameter in a scenario, as text."""
    key = parse(f"a: {written(parameter, value)}", "value", KIND)[0]["a"]
    try:
        scenario(name, {parameter.name: key}).expand()
    except ScenarioError as error:
        return [line for line in str(error).splitlines() if line.startswith(f"path.bottleneck.qdisc.{parameter.name}:")]
    return []


def of_simulator(name, parameter, value):
    """Return the refusals of a value of a parameter in a plan, as text."""
    tried = copy.deepcopy(plan(name, tuple(NEEDED.get((name, parameter.name), {}).items())))
    queue = next(port for port in tried["ports"] if port["kind"] == "queue")
    *path, last = parameter.field.split(".")
    inner = queue["qdisc"]
    for part in path:
        inner = inner.setdefault(part, {})
    inner[last] = int(value / 10**6 * 2**32) if parameter.kind == "probability" else value
    try:
        native().check(json.dumps(tried))
    except native().Refused as error:
        found = json.loads(error.args[0])
        return [f"{each['what']}; expected {each['expected']}" for each in found if each["field"] == f"qdisc.{parameter.field}"]
    except ValueError as error:
        return [str(error)]  # the type of the field has no such number
    return []


@pytest.mark.parametrize(("name", "parameter", "bound", "beyond"), BOUNDS)
def test_both_languages_take_a_bound_and_refuse_what_is_beyond_with_that_bound(name, parameter, bound, beyond):
    expected = f"expected at {'least' if beyond < 0 else 'most'} {written(parameter, bound)}"
    for refusals in (of_scenario, of_simulator):
        assert not any(line.endswith(expected) for line in refusals(name, parameter, bound))
    refused = of_scenario(name, parameter, bound + beyond)
    assert any(line.endswith((expected, "has no unit", "above 0") if bound + beyond <= 0 else expected) for line in refused), refused
    refused = of_simulator(name, parameter, bound + beyond)
    assert any(line.endswith(expected) or "invalid value" in line for line in refused), refused


@pytest.mark.parametrize(("name", "parameter"), CONTROLS)
def test_both_languages_take_the_bounds_of_a_control_and_refuse_what_is_beyond(name, parameter):
    (workload,) = (tried := copy.deepcopy(plan("pfifo", ())))["workloads"]

    def refusals(value):
        # A congestion control that works on the number of marks needs a stack with AccECN.
        stack = "linux-7.3" if name == "prague" else "linux-6.12"
        flow = {"cc": {"kind": name, parameter.name: value}, "stack": stack}
        written = {"name": "a", "path": PATH, "flows": [flow], "duration": "2s"}
        try:
            prepare(Scenario(**written).expand())
        except ScenarioError as error:
            yield str(error)
        workload["cc"], workload["stack"] = flow["cc"], {"name": stack, "options": {}}
        workload.update({"ecn": True, "accecn": "ee1b"} if name == "prague" else {})
        try:
            native().check(json.dumps(tried))
        except native().Refused as error:
            yield next(each["expected"] for each in json.loads(error.args[0]) if each["field"] == f"cc.{parameter.name}")

    for bound, beyond in ((parameter.least, -1), (parameter.most, 1)):
        assert list(refusals(bound)) == []
        told = list(refusals(bound + beyond))
        assert len(told) == 2
        assert all(f"a whole number from {parameter.least} to {parameter.most}" in line for line in told)


TRAFFIC = catalogue.entries("traffic")
HOST = catalogue.entries("host")["host"]


def with_traffic(kind, keys):
    """Return a scenario with an entry of `background`, whose other keys are those that it needs."""
    required = {each.name: yaml(each.name, each.example) for each in TRAFFIC[kind].parameters if each.required}
    needed = {"rate": "1mbit"} if kind in ("udp", "onoff") and "interval" not in keys else {}
    needed |= {} if kind in ("ping", "udp", "voip") else {"cc": "cubic"}
    needed |= {"size": "15kB"} if kind == "transfers" else {}
    needed |= {"rtt": {"exponential": "40ms"}} if "exact_rtts" in keys else {}
    needed |= {"on": "1s"} if keys.keys() & {"off"} else {"off": "1s"} if kind == "udp" and "on" in keys else {}
    return Scenario(name="a", path=PATH, background=[{"kind": kind, **required, **needed, **keys}], duration="60s")


def yaml(name, example):
    """Return the value of a key as a file has it."""
    return parse(f"{name}: {example}", "example", KIND)[0][name]


@pytest.mark.parametrize(("kind", "name"), [(kind, each.name) for kind, entry in TRAFFIC.items() for each in entry.parameters])
def test_every_key_of_traffic_has_a_meaning_and_an_example_that_runs(kind, name):
    parameter = next(each for each in TRAFFIC[kind].parameters if each.name == name)
    assert parameter.meaning.endswith(".")
    assert with_traffic(kind, {name: yaml(name, parameter.example)}).expand()


@pytest.mark.parametrize("parameter", HOST.parameters, ids=lambda each: each.name)
def test_every_setting_of_a_host_has_a_meaning_an_example_and_bounds_that_are_checked(parameter):
    def refusals(value):
        try:
            Scenario(name="a", path=PATH, flows=[{"cc": "cubic", "host": {parameter.name: value}}], duration="2s").expand()
        except ScenarioError as error:
            return str(error)
        return ""

    assert parameter.meaning.endswith(".")
    assert refusals(yaml(parameter.name, parameter.example)) == ""
    if parameter.kind in ("rate", "packets"):
        for bound, beyond, word in ((parameter.least, -1, "least"), (parameter.most, 1, "most")):
            assert refusals(written(parameter, bound)) == ""
            told = refusals(written(parameter, bound + beyond))
            assert told.endswith((f"expected at {word} {written(parameter, bound)}", "above 0")), told


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, each.name) for kind, entry in TRAFFIC.items() for each in entry.parameters if each.most and each.unit == "bytes"],
)
def test_sizes_of_traffic_are_refused_below_and_above_their_bounds(kind, name):
    parameter = next(each for each in TRAFFIC[kind].parameters if each.name == name)
    for value, bound, word in ((parameter.least - 1, parameter.least, "least"), (parameter.most + 1, parameter.most, "most")):
        with pytest.raises(ScenarioError, match=f"{name}: .* expected at {word} {written(parameter, bound)}"):
            with_traffic(kind, {name: written(parameter, value)}).expand()


@pytest.mark.parametrize(("stack", "implementation"), [("linux-6.12", "linux"), ("freebsd-9", "bsd")])
def test_the_simulator_takes_the_bounds_of_an_option_and_refuses_what_is_beyond(stack, implementation):
    options = catalogue.entries("stack")[implementation].parameters
    assert [each.name for each in options] == sorted(json.loads(native().capabilities())["stack"][stack]["options"], key=names(options))
    flow = {"cc": "reno", "ecn": False}
    for each in options:
        for bound, beyond in ((each.least, -1), (each.most, 1)):
            for value in () if bound is None else (bound, bound + beyond):
                stacked = {"base": stack, each.name: value}
                written = {"name": "a", "path": PATH, "flows": [{**flow, "stack": stacked}], "duration": "2s"}
                try:
                    prepare(Scenario(**written).expand())
                except ScenarioError as error:
                    told = [line for line in str(error).splitlines() if f"stack.{each.name}: " in line]
                    assert any(f"{each.least} to {each.most}" in line or "invalid value" in line for line in told) == (value != bound)
                else:
                    assert value == bound, each.name


def names(parameters):
    """Return a key that sorts names as parameters are declared."""
    return [each.name for each in parameters].index


def test_options_that_the_kernel_takes_are_sysctls_or_metrics_of_routes():
    scenario = Scenario(
        name="a",
        path=PATH,
        flows=[
            {
                "cc": "reno",
                "stack": {"initial_cwnd": 4, "rto_min_ms": 50, "reordering": 5, "sack_compression": False, "limit_answers": True},
            }
        ],
        duration="2s",
        engine="kernel",
    )
    (prepared,) = prepare(scenario.expand())
    profile = Profile.of(prepared.plan.workloads[0])
    assert profile.metrics == " initcwnd 4 rto_min 50ms"
    sysctls = dict(profile.sysctls)
    assert (sysctls["net.ipv4.tcp_reordering"], sysctls["net.ipv4.tcp_comp_sack_nr"]) == ("5", "0")
    assert "net.ipv4.tcp_invalid_ratelimit" not in sysctls


@pytest.mark.parametrize(
    ("key", "beside", "planned"),
    [
        ("jitter.uniform", {}, {"deviation_ns": 1, "correlation": 0, "keep_order": False, "shape": "uniform"}),
        ("reorder.gap", {"share": "1%"}, {"share": 1, "correlation": 0, "gap": 1}),
    ],
)
def test_both_languages_take_the_bounds_of_a_fault_and_refuse_what_is_beyond(key, beside, planned):
    fault, _, name = key.partition(".")
    parameter = next(each for each in catalogue.entries("fault")[fault].parameters if each.name == name)
    tried = copy.deepcopy(plan("pfifo", ()))
    link = next(port for port in tried["ports"] if port["kind"] == "link")

    def refusals(value):
        given = value if parameter.kind == "integer" else written(parameter, value)
        path = {"forward": [{"delay": "10ms", fault: {**beside, name: given}}, PATH["bottleneck"]], "reverse": "none"}
        try:
            Scenario(name="a", path=path, flows=[{"cc": "cubic"}], duration="2s").expand()
        except ScenarioError as error:
            yield str(error)
        link["faults"] = {fault: {**planned, parameter.field: value}}
        try:
            native().check(json.dumps(tried))
        except native().Refused as error:
            yield f"expected {json.loads(error.args[0])[0]['expected']}"
        except ValueError:
            yield f"expected at most {written(parameter, parameter.most)}"  # the type of the field has no such number

    for bound, beyond in ((parameter.least, -1), (parameter.most, 1)):
        assert list(refusals(bound)) == []
        told = list(refusals(bound + beyond))
        assert len(told) == 2
        assert all(line.endswith(f"expected at {'least' if beyond < 0 else 'most'} {written(parameter, bound)}") for line in told)


def test_every_key_of_a_scenario_has_one_entry_with_a_meaning_and_an_example(script):
    """A key is declared by the simulator's sources, or by the model of the laboratory, and never by both."""
    laboratory = {name: {each.name for each in entry.parameters} for name, entry in catalogue.entries("laboratory").items()}
    keys = docs_script("keys")
    schema = keys.models()
    for model in script.all_models(Scenario):
        name = "" if model is Scenario else re.sub(r"\W", "_", model.__name__)
        own = {each for base in model.__mro__ for each in laboratory.get(re.sub(r"\W", "_", base.__name__).partition("_")[0], ())}
        known = parameters(model)
        for key, node in keys.properties(schema[name]).items():
            if "const" in node:  # the kind, which is the name of the entry
                continue
            assert (key in known) != (key in own), f"{model.__name__}.{key}"
            if key in known:
                assert known[key].meaning.endswith("."), key
                assert known[key].example, key
                assert node["description"] == " ".join(known[key].meaning.split()), key
    for entry in catalogue.entries("laboratory").values():
        for each in entry.parameters:
            assert each.meaning, f"{entry.name}.{each.name}"
            assert each.example not in ("", "a"), f"{entry.name}.{each.name}"


PLACES = {
    ("path", "access"): {"path": {**PATH, "access": {}}},
    ("path", "bottleneck"): {"path": {"rtt": "20ms", "bottleneck": {"qdisc": "fq_codel"}}},
    ("path", "delay"): {"path": {**PATH, "delay": {}}},
    ("path", "delay_stage"): {"path": {"forward": [{}, PATH["bottleneck"]], "reverse": "none"}},
    ("path", "queue_stage"): {"path": {"forward": [dict(PATH["bottleneck"])], "reverse": "none"}},
    ("network", "path"): {"path": dict(PATH)},
    ("impairment", "rate"): {"path": {**PATH, "impairments": [{"kind": "rate", "at": "1s"}]}},
    ("impairment", "drop"): {"path": {**PATH, "impairments": [{"kind": "drop", "at": "1s", "packets": "1p"}]}},
    ("workload", "connection"): {"flows": [{"cc": "cubic"}]},
    ("workload", "flow"): {"flows": [{"cc": "cubic"}]},
}
"""Scenarios that lack a key of an entry, which is in the last list or mapping."""


@pytest.mark.parametrize(
    ("place", "parameter", "bound", "beyond"),
    [
        pytest.param(place, each, bound, beyond, id=f"{place[1]}-{each.name}-{'least' if beyond < 0 else 'most'}")
        for place in PLACES
        for each in catalogue.entries(place[0])[place[1]].parameters
        for bound, beyond in ((each.least, -1), (each.most, 1))
        if bound is not None
    ],
)
def test_keys_of_paths_and_flows_are_errors_beyond_the_bounds_that_the_catalogue_has(place, parameter, bound, beyond):
    def told(number):
        written_ = {"path": PATH, "flows": [{"cc": "cubic"}], **copy.deepcopy(PLACES[place])}
        top = "flows" if "flows" in PLACES[place] else "path"
        at = written_[top][0] if top == "flows" else written_[top]
        inner = {"access": "access", "bottleneck": "bottleneck", "delay": "delay"}.get(place[1])
        at = at[inner] if inner else at["forward"][0] if "_stage" in place[1] else at["impairments"][0] if "impairments" in at else at
        at[parameter.name] = number if parameter.kind == "integer" else written(parameter, number)
        try:
            Scenario(name="a", duration="60s", **written_).expand()
        except ScenarioError as error:
            return str(error)
        return ""

    assert "expected at" not in told(bound)
    expected = f"expected at {'least' if beyond < 0 else 'most'} {written(parameter, bound)}"
    assert told(bound + beyond).endswith((expected, "above 0")), told(bound + beyond)


def test_the_keys_that_every_flow_has_are_in_the_plan_of_the_simulator():
    """A field that the catalogue names is a field of the plan."""
    flow = plan("pfifo", ())["workloads"][0]
    for each in catalogue.entries("workload")["connection"].parameters:
        assert not each.field or each.sparse or each.field in flow, each.name
