"""Strategies for scenario files: valid ones, drawn from the models themselves so that a new key is drawn as well, and mutated ones."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dumbbell.catalogue import Parameter
from dumbbell.engines.sim.capabilities import capabilities
from dumbbell.scenario.discipline import Discipline
from dumbbell.scenario.faults import Jitter
from dumbbell.scenario.generated.impairments import Outage, RateStep
from dumbbell.scenario.generated.kinds import Background, Exchange, OnOff, Page, Ping, Streaming, Transfers, Udp
from dumbbell.scenario.generated.paths import DelayStage
from dumbbell.scenario.model import Flow, HostQueue, Path, Settings
from dumbbell.scenario.qdiscs import Red, Tc
from dumbbell.scenario.series import Series
from dumbbell.scenario.stages import Bottleneck, QueueStage
from dumbbell.scenario.tcp import Cc, Feedback, Host, Stack, Start
from dumbbell.scenario.units import Duration, Limit, Packets, Rate, Share, Size
from dumbbell.scenario.values.distributions import Distribution

Strategy = st.SearchStrategy[Any]

NAMES = st.sampled_from(["a", "b", "c", "left", "right", "x-1", "N0.me_+"])
"""Few, so that some of them meet."""
TIMES = st.sampled_from(["0s", "1ns", "250us", "5ms", "40ms", "0.3s", "2s"])
_QUANTITIES: dict[Any, Strategy] = {
    Duration: TIMES,
    Rate: st.sampled_from(["9kbit", "64kbit", "2mbit", "10mbit", "30mbit"]),
    Size: st.sampled_from(["1B", "300B", "1514B", "4608B", "20kB", "256KiB", "3MB"]),
    Packets: st.sampled_from(["1p", "10p", "300p"]),
    Share: st.sampled_from(["0%", "0.1%", "1%", "20%", "100%"]),
    Limit: st.sampled_from(["1p", "2p", "50p", "1000p", "0.5bdp", "2bdp", "1514B", "64KiB"]),
}
_DRAWN: dict[Any, Strategy] = {
    Duration: st.sampled_from([{"exponential": "20ms"}, {"uniform": ["0s", "0.3s"]}, {"lognormal": {"median": "5ms", "sigma": 1}}]),
    Size: st.sampled_from(
        [
            {"exponential": "15kB"},
            {"known": "web-search"},
            {"pareto": {"shape": 1.2, "least": "1kB", "most": "1MB"}},
            {"mixture": [{"share": 0.9, "of": "1kB"}, {"share": 0.1, "of": {"uniform": ["1B", "1MB"]}}]},
        ]
    ),
}
"""Distributions, by what is drawn."""
_MOST_OPTIONAL = 3
"""Keys of a mapping that need not be there."""
_USUAL_CC = st.sampled_from(["reno", "cubic", "dctcp", "reno-sce", "dctcp-sce", "cubic-sce"])
_USUAL_STACK = st.sampled_from(["linux-6.12", "linux-5.1-sce", "linux-3.9", "linux-2.6", "freebsd-9"])


def _declared_cc() -> Strategy:
    """Any congestion control that the simulator declares, with some of its parameters at their bounds, or within them."""

    def value(parameter: Parameter) -> Strategy:
        if parameter.kind == "integer":
            least, most, usual = parameter.least, parameter.most, int(parameter.default)
            return st.sampled_from(sorted({least, most, usual, max(least, usual // 2), min(most, 2 * usual)})) | st.integers(least, most)
        return st.booleans() if parameter.kind == "flag" else st.sampled_from(parameter.words)

    def control(name: str) -> Strategy:
        return _some({key: value(each) for key, each in known[name].parameters.items()}).map(lambda given: {"kind": name, **given})

    known = capabilities().cc
    return st.sampled_from(sorted(known)).flatmap(control)


def _declared_stack() -> Strategy:
    """Any stack that the simulator declares, with some of its options as they are elsewhere, or at extremes."""

    def value(option: str, default: Any) -> Strategy:
        if isinstance(default, bool) or not isinstance(default, int):
            return st.sampled_from([each.options[option] for each in known.values() if option in each.options])
        return st.sampled_from(sorted({0, 1, default // 2, default, 2 * default, 100 * default, 2**31 - 1}))

    def stack(name: str) -> Strategy:
        return _some({key: value(key, default) for key, default in known[name].options.items()}).map(lambda given: {"base": name, **given})

    known = capabilities().stack
    return st.sampled_from(sorted(known)).flatmap(stack)


def _some(strategies: Mapping[str, Strategy]) -> Strategy:
    """Mappings of some of these keys."""
    if not strategies:
        return st.just({})
    chosen = st.lists(st.sampled_from(sorted(strategies)), unique=True, max_size=_MOST_OPTIONAL)
    return chosen.flatmap(lambda keys: st.fixed_dictionaries({key: strategies[key] for key in keys}))


_BUFFER_STEPS = st.sampled_from([["4KiB", "128KiB", "6MiB"], ["4KiB", "16KiB", "20KiB"], ["1B", "4608B", "1GiB"]])
_SIZES = st.sampled_from(["1B", "20kB"]) | _DRAWN[Size]
_ARRIVALS = st.sampled_from(
    [
        {"kind": "regular", "every": "40ms"},
        {"kind": "poisson", "every": "7ms"},
        {"kind": "poisson", "load": 0.4},
        {"kind": "given", "at": ["0s", "50ms"]},
    ]
)
_AT = st.sampled_from(["20ms", "100ms"])
_FEEDBACK = st.sampled_from([True, False, "on", "off", "accecn"])
_BYTES = st.integers(1514, 300_000)


_FRAMES = st.sampled_from(["64B", "700B", "1514B", {"uniform": ["64B", "1514B"]}])
_INTERVALS = st.sampled_from(["5ms", "100ms", {"exponential": "20ms"}])
_OF_KEYS: dict[tuple[type[BaseModel], str], Strategy] = {
    (Flow, "count"): st.integers(1, 4),
    (Exchange, "connections"): st.integers(1, 3),
    (OnOff, "connections"): st.integers(1, 3),
    (Page, "connections"): st.integers(1, 4),
    (Page, "clients"): st.integers(1, 2),
    (Page, "objects"): st.integers(1, 10),
    (Streaming, "connections"): st.integers(1, 3),
    (Udp, "size"): _FRAMES,
    (Udp, "rate"): st.sampled_from(["1kbit", "500kbit", "20mbit"]),
    (Ping, "interval"): _INTERVALS,
    (Ping, "size"): _FRAMES,
    (Host, "rmem"): _BUFFER_STEPS | st.just("kernel"),
    (Host, "wmem"): _BUFFER_STEPS | st.just("kernel"),
    (Host, "sysctls"): st.just({}),
    (Series, "flows"): st.sampled_from(["all", "none"]),
    (Series, "groups"): st.sampled_from(["all", "none"]),
    (Series, "ports"): st.sampled_from(["all", "none", ["bottleneck"]]),
    (Series, "shares"): st.sampled_from(["none", ["bottleneck"]]),
    (Settings, "hosts"): st.deferred(lambda: st.dictionaries(st.sampled_from(["left", "right"]), of_type(HostQueue), max_size=2)),
}
"""Keys whose types allow more than makes sense, or that would make runs long."""


def of_model(model: type[BaseModel], *optional: str | None, **given: Strategy) -> Strategy:
    """Draw mappings of a model's keys: the required ones and any of the others, by their types; `given` keys are drawn as said.

    If `optional` has names, only these of the optional keys are drawn.
    """
    model.model_rebuild()  # a model is built at its first use
    required, others = {}, {}
    for name, field in model.model_fields.items():
        strategy = given[name] if name in given else _of_key(model, name, field)
        if field.is_required() or name in given or name == "kind":
            required[field.alias or name] = strategy
        elif not optional or name in optional:
            others[field.alias or name] = strategy
    chosen = st.lists(st.sampled_from(sorted(others)), unique=True, max_size=_MOST_OPTIONAL) if others else st.just([])
    return chosen.flatmap(lambda keys: st.fixed_dictionaries(required | {key: others[key] for key in keys}))


def _of_key(model: type[BaseModel], name: str, field: FieldInfo) -> Strategy:
    if name == "limit" and issubclass(model, Discipline):
        return (_BYTES if model.counts_bytes() else st.integers(2, 1000)).map(f"{{}}{'B' if model.counts_bytes() else 'p'}".format)
    return _OF_KEYS[model, name] if (model, name) in _OF_KEYS else of_type(field.annotation, field)


def of_type(annotation: Any, field: FieldInfo | None = None) -> Strategy:
    """Draw what a user may write where a model has this type."""
    origin, parts = get_origin(annotation), get_args(annotation)
    metadata = list(field.metadata) if field else []
    if annotation == Feedback:
        return _FEEDBACK
    if origin is Annotated:
        metadata += parts[1:]
        for each in parts[1:]:
            metadata += getattr(each, "metadata", [])
        return _whole(metadata) if parts[0] is int else of_type(parts[0])
    if annotation in _QUANTITIES:
        return _QUANTITIES[annotation]
    if isinstance(annotation, type) and issubclass(annotation, Distribution):
        return _DRAWN[(annotation.__pydantic_generic_metadata__["args"] or (Size,))[0]]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _OF_MODELS[annotation]() if annotation in _OF_MODELS else of_model(annotation)
    if origin in (Union, UnionType):
        return st.one_of(*(of_type(part) for part in parts))
    if origin is Literal:
        return st.sampled_from(parts)
    if origin is list:
        return st.lists(of_type(parts[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(NAMES, of_type(parts[1]), max_size=2)
    if annotation is int:
        return _whole(metadata)
    simple = {bool: st.booleans(), NoneType: st.none(), float: st.sampled_from([0.001, 0.02, 0.5, 1.0]), str: NAMES}
    return simple[annotation]


def _whole(metadata: list[Any]) -> Strategy:
    least = max((each.ge for each in metadata if hasattr(each, "ge")), default=0)
    most = min((each.le for each in metadata if hasattr(each, "le")), default=least + 300)
    return st.integers(least, min(most, least + 300))


def _dumbbell() -> Strategy:
    """Draw a path with all that it needs."""
    return of_model(Path, "delay", "access", "reverse", "impairments", rtt=TIMES, bottleneck=of_type(Bottleneck))


def _stages() -> Strategy:
    forward = st.tuples(st.lists(of_type(DelayStage), max_size=2), of_type(QueueStage)).map(lambda parts: [*parts[0], parts[1]])
    return of_model(Path, "impairments", forward=forward, reverse=st.sampled_from(["mirror", "none"]) | forward)


_OF_MODELS: dict[type[BaseModel], Callable[[], Strategy]] = {
    Cc: lambda: _USUAL_CC | _declared_cc(),
    Stack: lambda: _USUAL_STACK | _declared_stack(),
    Jitter: lambda: st.fixed_dictionaries({}, optional={"keep_order": st.booleans(), "correlation": of_type(Share)}).flatmap(
        lambda rest: st.sampled_from(["uniform", "normal", "pareto", "paretonormal"]).map(lambda shape: {shape: "3ms", **rest})
    ),
    Tc: lambda: st.just({"kind": "tc", "command": "hhf limit 1000"}),
    Red: lambda: of_model(Red, limit=_BYTES.map("{}B".format), min=st.just("20kB"), max=st.just("60kB"), avpkt=st.just("1000B")),
    Outage: lambda: of_model(Outage, "direction", at=_AT),
    RateStep: lambda: of_model(RateStep, "direction", at=_AT),
    Udp: lambda: (
        of_model(Udp, "direction", "start", "size", "count", "reply", rate=_OF_KEYS[Udp, "rate"])
        | of_model(Udp, "size", "measure", "reply", interval=_INTERVALS, on=_AT, off=_AT)
    ),
    Start: lambda: of_model(Start, first=st.sampled_from(["0s", "50ms"]), every=st.sampled_from(["0s", "20ms"])),
    Bottleneck: lambda: of_model(Bottleneck, rate=_QUANTITIES[Rate]),
    QueueStage: lambda: of_model(QueueStage, rate=_QUANTITIES[Rate]),
    Path: lambda: _dumbbell() | _stages(),
    Transfers: lambda: of_model(
        Transfers, size=_SIZES, arrivals=_ARRIVALS, rtt=st.sampled_from([None, "30ms", {"uniform": ["1ms", "50ms"]}])
    ),
}
"""Models that are not drawn as their types say."""

SCENARIOS: Strategy = of_model(
    Settings,
    name=st.just("any"),
    duration=st.sampled_from(["150ms", "700ms", "3s"]),
    sample=st.sampled_from(["0s", "10ms", "100ms"]),
    flows=st.lists(of_type(Flow), min_size=1, max_size=3),
    engine=st.just("sim"),
)
"""Scenario files as data. Most can be run, the rest contradict themselves."""


@cache
def extreme() -> Strategy:
    """Scenario files as data whose bottlenecks, RTTs and durations are at their extremes as well, and that differ in seed."""
    rates = st.sampled_from(["1kbit", "64kbit", "700kbit", "2mbit", "10mbit", "30mbit", "100mbit", "1gbit", "10gbit"])
    rtts = st.sampled_from(["0s", "1ns", "100us", "1ms", "5ms", "20ms", "40ms", "72ms", "150ms", "300ms", "2s", "60s"])
    dumbbell = of_model(Path, "delay", "access", "reverse", "impairments", "mtu", rtt=rtts, bottleneck=of_model(Bottleneck, rate=rates))
    return of_model(
        Settings,
        name=st.just("any"),
        duration=st.sampled_from(["100ms", "700ms", "2s", "5s", "10s", "30s", "60s", "300s", "3600s"]),
        sample=st.sampled_from(["0s", "10ms", "1s"]),
        path=dumbbell | dumbbell | of_type(Path),
        flows=st.lists(of_model(Flow, cc=of_type(Cc), stack=of_type(Stack)), min_size=1, max_size=3),
        background=st.just([]) | st.lists(of_type(Background), min_size=1, max_size=2),
        hosts=st.just({}) | _OF_KEYS[Settings, "hosts"],
        seed=st.integers(0, 2**32),
        engine=st.just("sim"),
    )


JUNK: Strategy = st.sampled_from(
    [
        *(None, True, -1, 0, 1e308, float("nan"), float("inf"), 2**63, 10**40, "", " ", "x" * 5000, "10mbti", "-5ms", "1e30s", "0bit"),
        *("999999h", "1e-9ns", "\u0661ms", "\x1b[31m", "../../etc/passwd", "%s", "*", "null", "\ud800".encode("utf-8", "replace").decode()),
        *([], {}, [[[[]]]], {"kind": "cubic"}, {"kind": []}, {"": {}}, ["a"] * 1000, {f"k{i}": i for i in range(1000)}),
    ]
)
"""Values that most keys do not take."""
_TOKENS = st.sampled_from(
    ["&a ", "*a", "<<: ", "!!python/object:os.system ", "\t", "---\n", "? ", "%", "{", "]", "'", '"', "\0", "\r", "#", "|\n", "é"]
)

_SWEPT = st.sampled_from(["flows.0.cc", "path.rtt", "flows.*.count", "a.b.c", "", "flows.99.cc", "path", "..."])


@st.composite
def mutated(draw: Callable[[Strategy], Any]) -> Any:
    """A scenario in which one to four things were removed, replaced, renamed, multiplied or put elsewhere."""
    tree = {"top": copy.deepcopy(draw(SCENARIOS))}
    for _ in range(draw(st.integers(1, 4))):
        _mutate(draw, tree)
    return tree.get("top")


def _mutate(draw: Callable[[Strategy], Any], tree: Any) -> None:
    if not (places := list(_places(tree))):
        return
    node, key = draw(st.sampled_from(places))
    match draw(st.sampled_from(["replace", "replace", "remove", "rename", "wrap", "multiply", "swap", "sweep"])):
        case "replace":
            node[key] = copy.deepcopy(draw(JUNK))
        case "remove":
            del node[key]
        case "rename" if isinstance(node, dict) and node is not tree:
            node[str(key)[:-1] + draw(st.sampled_from(["", "x", " ", "\x1b", "é"]))] = node.pop(key)
        case "multiply":
            node[key] = [copy.deepcopy(node[key]) for _ in range(draw(st.integers(2, 200)))]
        case "swap":
            other, place = draw(st.sampled_from(places))
            if isinstance(other, dict) == isinstance(node, dict):
                node[key] = copy.deepcopy(other[place])
        case "sweep" if isinstance(tree.get("top"), dict):
            swept = {draw(_SWEPT): copy.deepcopy(draw(JUNK))}
            forms = [swept, {"zip": swept}, {"cells": [swept]}, {"sample": {"count": 3, "over": swept}}]
            tree["top"]["sweep"] = draw(st.sampled_from(forms))
        case _:
            node[key] = [node[key]]


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every part of a tree, as the container it is in and its key or index there."""
    for key, value in list(node.items() if isinstance(node, dict) else enumerate(node)):
        yield node, key
        if isinstance(value, dict | list):
            yield from _places(value)


@st.composite
def mutated_text(draw: Callable[[Strategy], Any]) -> str:
    """The text of a scenario file in which characters were removed, doubled, exchanged, or tokens of YAML put in."""
    text = as_text(draw(SCENARIOS))
    for _ in range(draw(st.integers(1, 6))):
        at, length = draw(st.integers(0, len(text))), draw(st.integers(0, 40))
        part = draw(st.one_of(st.just(""), _TOKENS, st.text(max_size=5), st.just(text[at : at + length] * 2)))
        text = text[:at] + part + text[at + length :]
    return text


def as_text(tree: Any) -> str:
    """Draw a scenario file. JSON is YAML, except that JSON has a word for NaN that YAML takes for a name."""
    return json.dumps(tree, indent=1, ensure_ascii=False)
