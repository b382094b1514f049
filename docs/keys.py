"""The pages of every key of a scenario file, made from the JSON Schema that editors get."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from dumbbell.catalogue import entries
from dumbbell.cli.maintain.schema import names
from dumbbell.comparing.tables import Table
from dumbbell.escaping import in_markdown
from dumbbell.native import native
from dumbbell.scenario.connections import Connections
from dumbbell.scenario.schema import schema
from dumbbell.scenario.units import Duration, Limit, Packets, Rate, Share, Size

Node = Mapping[str, Any]
_UNITS = {kind.EXPECTED: kind.__name__.lower() for kind in (Rate, Duration, Size, Packets, Limit, Share)} | {Duration.EXPECTED: "time"}
_REF = "#/$defs/"


EXAMPLES = {
    ("", "name"): "two-flows",
    ("", "path"): "{rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: fq_codel}}",
    ("", "stages"): "{dsl: {rate: 10mbit, delay: 5ms, qdisc: fq_codel}, core: {delay: 15ms}}",
    ("", "paths"): "{home: {forward: [dsl, core]}}",
    ("", "hosts"): "{left: {egress: {rate: 1gbit, qdisc: fq_codel}}}",
    ("", "flows"): "[{cc: cubic, count: 2}, {cc: reno, start: 5s}]",
    ("", "background"): "[{kind: udp, rate: 1mbit}]",
    ("", "duration"): "60s",
    ("", "series"): "{flows: [cubic], ports: all}",
    ("", "events"): "[losses, state]",
    ("", "measure"): "{from: 40s, until: 120s}",
    ("", "seed"): "7",
    ("", "engine"): "kernel",
    ("", "programs"): '{mine: {client: [./mine, "{server}", "{port}"], server: [./mine, -s, "{port}"]}}',
    ("", "clock"): "2026-01-01",
    ("Program", "client"): '[./mine, "{server}", "{port}"]',
    ("Program", "server"): '[./mine, -s, "{port}"]',
    ("Program", "files"): "[./cert.pem]",
    ("Program", "environment"): "{TERM: dumb}",
    ("Program", "arguments"): "{size: 100000}",
    ("Program", "keep"): "['*.json']",
    ("Program", "report"): "{bps: end.sum_received.bits_per_second}",
    ("GivenFile", "path"): "./cert.pem",
    ("GivenFile", "name"): "cert.pem",
    ("Column", "json"): "streams.0.rtt",
    ("Column", "regex"): "'rate ([0-9.]+)'",
    ("Column", "count"): "'^done'",
    ("Column", "file"): "result.json",
    ("Column", "times"): "1000",
    ("", "sweep"): "{path.rtt: [10ms, 40ms], flows.0.cc: [cubic, reno]}",
    ("", "repeat"): "10",
    ("Trace", "file"): "traces/cellular.down",
    ("Program", "transport"): "icmp",
    ("Start", "first"): "5s",
    ("Start", "every"): "2s",
    ("Start", "jitter"): "100ms",
    ("Cc", "kind"): "cubic",
    ("Cc", "library"): "./mine.so",
    ("Cc", "sha256"): "3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b",
    ("Cc", "struct_ops"): "./mine.bpf.o",
    ("Cc", "module"): "./tcp_mine.ko",
    ("Cc", "name"): "mine",
    ("GivenFile", "sha256"): "3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b",
    ("Sample", "count"): "64",
    ("ParetoKeys_Duration_", "least"): "10ms",
    ("ParetoKeys_Duration_", "most"): "1s",
    ("Stack", "base"): "linux-6.12",
    ("Series", "flows"): "[cubic]",
    ("Series", "groups"): "all",
    ("Series", "ports"): "[bottleneck]",
    ("Series", "shares"): "[bottleneck]",
    ("Series", "state"): "[control, queue]",
    ("Measure", "from"): "40s",
    ("Measure", "until"): "120s",
    ("FromFile_Size_", "file"): "sizes.csv",
    ("FromFile_Duration_", "file"): "times.csv",
    ("Uniform_Size_", "uniform"): "[1kB, 3kB]",
    ("Lognormal_Size_", "lognormal"): "{median: 15kB, sigma: 1.5}",
    ("LognormalKeys_Size_", "sigma"): "1.5",
    ("Pareto_Size_", "pareto"): "{shape: 1.2, least: 1kB, most: 10MB}",
    ("ParetoKeys_Size_", "shape"): "1.2",
    ("ParetoKeys_Size_", "least"): "1kB",
    ("ParetoKeys_Size_", "most"): "10MB",
    ("Part_Size_", "share"): "0.9",
    ("Uniform_Duration_", "uniform"): "[10ms, 30ms]",
    ("Mixture_Size_", "mixture"): "[{share: 0.9, of: 15kB}, {share: 0.1, of: {exponential: 1MB}}]",
    ("Mixture_Duration_", "mixture"): "[{share: 0.9, of: 20ms}, {share: 0.1, of: {exponential: 100ms}}]",
    ("Sweep", "grid"): "{path.rtt: [10ms, 40ms], flows.0.cc: [cubic, reno]}",
    ("Sweep", "zip"): "{path.rtt: [10ms, 40ms], path.bottleneck.rate: [4mbit, 1mbit]}",
    ("Sweep", "cells"): "[{path.rtt: 10ms}, {path.bottleneck.rate: 1mbit}]",
    (
        "Sweep",
        "sample",
    ): "{method: sobol, count: 64, over: {path.rtt: {from: 10ms, to: 300ms, scale: log}, flows.0.cc: [cubic, bbr]}}",
    ("Sample", "over"): "{path.rtt: {from: 10ms, to: 300ms, scale: log}, flows.0.cc: [cubic, bbr]}",
    ("Range", "from"): "10ms",
    ("Range", "to"): "300ms",
    ("Range", "step"): "1ms",
    ("", "until"): "{metric: goodput, ci: 2%}",
    ("Until", "metric"): "srtt_mean",
    ("Until", "ci"): "1ms",
}
"""By model and key: those of keys that only the laboratory reads, where types do not tell. The catalogue has the others."""


def units() -> str:
    """The kinds of quantities."""
    rows = [[f"{_UNITS[kind.EXPECTED]}", kind.EXPECTED.partition(" ")[2]] for kind in (Rate, Duration, Size, Packets, Limit, Share)]
    return Table("", ["value", "written as"], rows).markdown()


def options(implementation: str) -> str:
    """The options of a TCP implementation, with the value that each of its stacks has."""
    entry = entries("stack")[implementation]
    listed = json.loads(native().capabilities())["stack"]
    stacks = {name: stack["options"] for name, stack in listed.items() if stack["implementation"] == implementation}
    rows = []
    for each in entry.parameters:
        named: dict[str, list[str]] = {}
        for stack, values in stacks.items():
            named.setdefault(_text(values[each.name]), []).append(stack)
        usual, *others = sorted(named.items(), key=lambda item: item[0] != _text(each.default))
        values = "; ".join([f"`{usual[0]}`", *(f"`{value}` ({', '.join(names)})" for value, names in others)])
        unit = "" if each.kind != "integer" else f" {each.unit}" if each.unit else ""
        bounds = "" if each.most is None else f", {each.least} to {each.most}"
        kind = {"flag": "`true`, `false`", "integer": f"whole number{bounds}{unit}"}.get(each.kind) or ", ".join(
            map("`{}`".format, each.words)
        )
        meanings = " ".join([each.meaning, *(f"`{word}`: {each.meanings[word]}" for word in each.words)])
        told = ", ".join(f"`{word}`" for word in each.word.split("|") if word)
        rows.append([f"`{each.name}`", kind, values, meanings, told])
    return Table("", ["option", "values", "value of the stacks", "meaning", "on the host"], rows).markdown()


PAGES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "scenario": ("The file", ("",)),
    "path": ("Path and bottleneck", ("Path", "Bottleneck", "Trace", "Access", "Delay")),
    "stages": ("Stages, several paths, hosts", ("NamedPath", "DelayStage", "QueueStage", "HostQueue")),
    "faults": ("Loss, jitter, reordering", ("Random", "BitErrors", "Regular", "Gilbert", "Jitter", "Reorder")),
    "impairments": ("Outages and other events", ("Outage", "RateStep", "Drop", "Hold")),
    "qdisc-fifo": ("Plain queues", ("Pfifo", "Bfifo", "Dummynet", "Netem", "Tc")),
    "qdisc-aqm": ("Queues with AQM", ("Codel", "Pie", "Red", "DualPi2")),
    "qdisc-fair": ("Queues for each flow", ("FqCodel", "FqPie", "Fq", "Sfq")),
    "qdisc-cake": ("cake", ("Cake",)),
    "flows": ("Flows", ("Flow", "Start", "Cc", "Stack")),
    "programs": ("Programs as flows", ("Program", "GivenFile", "Column")),
    "connections": ("TCP connections and their hosts", ("Connections", "Host")),
    "transfers": ("Transfers and requests", ("Transfers", "Arrivals", "Exchange")),
    "applications": ("Pages, video, limited senders", ("Page", "Streaming", "OnOff")),
    "datagrams": ("Datagrams, pings, calls", ("Udp", "Ping", "Voip")),
    "distributions": (
        "Random sizes and times",
        (
            *("Exponential_Size_", "Uniform_Size_", "Lognormal_Size_", "LognormalKeys_Size_", "Pareto_Size_", "ParetoKeys_Size_"),
            *("FromFile_Size_", "KnownSizes_Size_", "Mixture_Size_", "Part_Size_"),
        ),
    ),
    "measuring": ("Series and times", ("Series", "Measure")),
    "sweep": ("Sweeps and seeds", ("Sweep", "Sample", "Range", "Until")),
}
"""The pages of keys by their names: title, and the models whose keys they have. `scenario` is docs/scenario.md, the others are in
docs/scenario/."""
SHARED = "Connections"
"""The model of the keys that all TCP connections have. They have a section of their own and are left out of the other sections."""
OF_TIMES = "_Duration_"
"""Ending of models that are those of sizes with times in their place, so that one section shows both."""
TITLES = {"": "The file", SHARED: "Keys of all TCP connections"}


def page_of_keys(name: str) -> str:
    """Return the sections of a page of keys."""
    all_models = models()
    places = _places(all_models)
    first = f"{_drawn_places(places)}\n\n" if name == "distributions" else ""
    return first + "\n".join(_section(all_models, model, places) for model in PAGES[name][1])


def models() -> Mapping[str, Node]:
    """Return the schema of every mapping by the name of its model; the file itself has an empty name."""
    found = schema(names())
    listed: dict[str, Node] = {"": found} | found["$defs"]
    shared = list(Connections.model_fields)
    kinds = ", ".join(_of_tcp(listed))
    listed[SHARED] = {
        "description": f"These keys hold for `flows` and for each kind of `background` that makes TCP connections: {kinds}.",
        "properties": {key: node for key, node in listed["Flow"]["properties"].items() if key in shared},
        "required": ["cc"],
    }
    return listed


def _of_tcp(models: Mapping[str, Node]) -> list[str]:
    """The kinds of background traffic that have the shared keys."""
    found = [model for model in models.values() if "cc" in properties(model)]
    return [f"`{kind}`" for model in found if (kind := properties(model).get("kind", {}).get("const"))]


def _places(models: Mapping[str, Node]) -> Mapping[str, list[str]]:
    """Where each model stands, as dotted keys."""
    places: dict[str, list[str]] = {}
    _walk(models, "", "", places)
    return {**places, SHARED: ["flows.*", "background.*"]}


def _with_times(model: str) -> str:
    return model.replace("_Size_", OF_TIMES)


def _walk(models: Mapping[str, Node], model: str, place: str, places: dict[str, list[str]]) -> None:
    """Notes where a model and those below it stand, as dotted keys with `*` for every entry of a list and NAME for a name."""
    first = model not in places
    places.setdefault(model, []).append(place)
    for key, node in properties(models[model]).items() if first else ():
        for inner, suffix in _inner(node):
            _walk(models, inner, f"{place}.{key}{suffix}".removeprefix("."), places)


def _mappings(model: Node) -> list[Node]:
    """The mappings that a value may be, in whichever ways it may be written."""
    return [way for way in (model, *model.get("anyOf", ())) if "properties" in way]


def properties(model: Node) -> Mapping[str, Node]:
    """The keys of a mapping, whether or not it may also be written in another way."""
    return {key: node for way in _mappings(model) for key, node in way["properties"].items()}


def _required(model: Node) -> set[str]:
    """The keys that no way of writing a mapping lacks."""
    ways = [set(way.get("required", [])) for way in _mappings(model)]
    return set.intersection(*ways) if ways else set()


def _inner(node: Node) -> Iterator[tuple[str, str]]:
    """The models that a value may be or hold, and how their dotted keys go on."""
    if "$ref" in node:
        yield node["$ref"].removeprefix(_REF), ""
    for way in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        yield from _inner(way)
    if isinstance(items := node.get("items"), dict):
        yield from ((model, f".*{suffix}") for model, suffix in _inner(items))
    for values in _named(node):
        yield from ((model, f".NAME{suffix}") for model, suffix in _inner(values))


def _named(node: Node) -> list[Node]:
    """The values of a mapping whose keys are names."""
    ways = (node.get("additionalProperties"), *node.get("patternProperties", {}).values())
    return [values for values in ways if isinstance(values, dict)]


FAMILIAR = ("cubic", "linux-6.12")
"""Names that an example takes where there are many."""


def examples() -> Iterator[tuple[str, Node, str]]:
    """Every key with its schema and the example that the page has of it."""
    found = schema(names())
    models: Mapping[str, Node] = {"": found} | found["$defs"]
    for name, model in models.items():
        for key, node in properties(model).items():
            yield key, node, _written_example(models, name, key, node)


def described(models: Mapping[str, Node], model: str, key: str) -> dict[str, Any]:
    """Return a key that the laboratory alone reads as the catalogue has it: name, values, meaning, default, example."""
    node = properties(models[model])[key]
    default = {"default": node["default"]} if node.get("default") is not None else {}
    required = {"required": True} if key in _required(models[model]) else {}
    kind, meaning = _value(models, node).replace("`", ""), _meaning(models, node)
    return {"name": key, "kind": kind, "meaning": meaning, **default, **required, "example": _written_example(models, model, key, node)}


@cache
def _listed_examples() -> Mapping[tuple[str, str], list[str]]:
    """The examples that the catalogue has, by key and meaning."""
    found: dict[tuple[str, str], list[str]] = {}
    for group in ("qdisc", "fault", "path", "impairment", "network", "host", "workload", "traffic"):
        for each in (each for entry in entries(group).values() for each in entry.parameters):
            found.setdefault((each.name, " ".join(each.meaning.split())), []).append(each.example)
    return found


def _written_example(models: Mapping[str, Node], model: str, key: str, node: Node) -> str:
    for listed in _listed_examples().get((key, _description(node)), ()):
        if listed in node.get("enum", [listed]):
            return listed
    return EXAMPLES.get((model, key)) or _text(_example(models, node))


def _title(models: Mapping[str, Node], name: str, places: Mapping[str, list[str]]) -> str:
    """The heading of a section: what is written for `kind`, or the first place, or a key that tells distributions apart."""
    listed = properties(models[name])
    if name in TITLES:
        return TITLES[name]
    if kind := listed.get("kind", {}).get("const"):
        return f"`{kind}`"
    if "_Size_" in name and "Keys" not in name and not name.startswith("Part"):
        return f"`{next(iter(listed))}`"
    if name in NAMED:
        return NAMED[name]
    return f"`{places[name][0]}`"


NAMED = {
    "LognormalKeys_Size_": "Keys of `lognormal`",
    "ParetoKeys_Size_": "Keys of `pareto`",
    "Part_Size_": "Keys of a part of `mixture`",
    "Random": "Share of packets",
    "BitErrors": "Bit errors",
    "Regular": "Every Nth packet",
    "DelayStage": "A stage that delays",
    "QueueStage": "A stage with a queue",
}
"""Headings of sections whose first place is not a good one."""


ANCHORS = {"QueueStage": "path.forward.queue", "HostQueue": "hosts"}
"""Beginnings of anchors of sections whose first place is another section's, too."""


def _drawn_places(places: Mapping[str, list[str]]) -> str:
    """The keys whose values may be drawn."""
    listed = [", ".join(f"`{place}`" for place in dict.fromkeys(places[f"Exponential{end}"])) for end in ("_Size_", OF_TIMES)]
    return f"Sizes may be drawn in {listed[0]}.\n\nTimes may be drawn in {listed[1]}."


def _section(models: Mapping[str, Node], name: str, places: Mapping[str, list[str]]) -> str:
    model = models[name]
    keys, required = properties(model), _required(model)
    shared = set(properties(models[SHARED])) if name != SHARED and "cc" in keys else set()
    kind = keys.get("kind", {}).get("const")
    listed = list(dict.fromkeys((*places[name], *places.get(_with_times(name), ()))))
    start = anchor(ANCHORS.get(name, listed[0]), kind)
    rows = [
        [
            f'<a id="{start}{key}" href="#{start}{key}">`{key}`</a>',
            in_markdown(_limits(models, node, key in required, with_times="_Size_" in name)),
            in_markdown(f"{_meaning(models, node)} For example `{key}: {_written_example(models, name, key, node)}`."),
        ]
        for key, node in keys.items()
        if (key != "kind" or kind is None) and key not in shared
    ]
    said = [f"## {_title(models, name, places)}", " ".join(_description(model).split())]
    if name and ("_Size_" not in name or len(listed) == 2):
        said.append(f"Place: {', '.join(f'`{place}`' for place in listed)}.")
    if shared:
        said.append("Add the [keys of all TCP connections](connections.md#keys-of-all-tcp-connections), for example `cc`.")
    if rows:
        said.append("\n".join(f"| {' | '.join(row)} |" for row in (["key", "value", "meaning"], ["---"] * 3, *rows)))
    return "\n\n".join(said) + "\n"


def anchor(place: str, kind: str | None) -> str:
    """Return the beginning of the anchors of a section's keys: its first place, without `*`, and the kind."""
    return "".join(f"{part}." for part in (*place.split("."), kind) if part and part != "*")


def _limits(models: Mapping[str, Node], node: Node, required: bool, with_times: bool) -> str:
    """The values that a key takes, and its default."""
    value = _value(models, node)
    if with_times:
        value = re.sub(r"\bsize\b", "size or time", value)
    default = _default(node)
    return value + (". Required" if required else f". Default {default}" if default else "")


def _meaning(models: Mapping[str, Node], node: Node) -> str:
    """Return the description of a key, or else of its content, as sentences."""
    text = _description(node)
    if not text or text in _UNITS:
        held = next((_description(models[model]) for model, _ in _inner(node)), "") if not _kinds(models, node) else ""
        text = " ".join(held.partition("\n\n")[0].split())
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _description(node: Node) -> str:
    return str(node.get("description", ""))


def _kinds(models: Mapping[str, Node], node: Node) -> list[str]:
    """The kinds of mapping that there may be."""
    found = (properties(models[model]).get("kind", {}).get("const") for model, _ in _inner(node))
    return [kind for kind in found if kind]


def _value(models: Mapping[str, Node], node: Node) -> str:
    """The values that there may be, in words."""
    if "$ref" in node:
        model = models[node["$ref"].removeprefix(_REF)]
        return " or ".join(_ways(models, model["anyOf"])) if "anyOf" in model else "keys"
    if node.get("type") != "array" and (kinds := _kinds(models, node)):
        alone = "kind alone, or " if any("enum" in way for way in node.get("anyOf", ())) else ""
        return f"{alone}keys with a kind: {', '.join(f'`{kind}`' for kind in kinds)}"
    if ways := (*node.get("anyOf", ()), *node.get("oneOf", ())):
        return " or ".join(_ways(models, ways))
    if "const" in node or "enum" in node:
        return ", ".join(dict.fromkeys(f"`{_text(each)}`" for each in node.get("enum", (node.get("const"),))))  # 2013 is text or a number
    if "pattern" in node:
        return next((word for text, word in _UNITS.items() if _pattern(text) == node["pattern"]), "name")
    if "prefixItems" in node:
        return f"list of {' and '.join(_value(models, each) for each in node['prefixItems'])}"
    if node.get("type") == "array":
        return f"list of {_value(models, node.get('items', {}))}"
    if node.get("type") == "object":
        values = " or ".join(dict.fromkeys(_value(models, each) for each in _named(node)))
        return f"names, each with {values}" if values else "keys"
    words = {"integer": "whole number", "number": "number", "boolean": "`true`, `false`", "string": "text"}
    bounds = (("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "to"), ("exclusiveMaximum", "below"))
    return " ".join([words.get(node.get("type", ""), "anything"), *(f"{word} {node[key]}" for key, word in bounds if key in node)])


def _ways(models: Mapping[str, Node], ways: Any) -> list[str]:
    """Each way in words, once. A list of the values of the first way is called a list of them."""
    first, *others = dict.fromkeys(_value(models, way) for way in ways if way.get("type") != "null")
    return [first, *("a list of them" if each == f"list of {first}" else each for each in others)]


def _pattern(text: str) -> Any:
    """The pattern of the quantity that `text` is expected for."""
    kind = next(kind for kind in (Rate, Duration, Size, Packets, Limit, Share) if text == kind.EXPECTED)
    return TypeAdapter(kind).json_schema()["pattern"]


def _default(node: Node) -> str:
    return f"`{_text(node['default'])}`" if node.get("default") is not None else ""


def _text(value: Any) -> str:
    """A value as YAML has it, in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    return value if isinstance(value, str) else json.dumps(value)


def _example(models: Mapping[str, Node], node: Node) -> Any:
    """A value that may stand there, other than the default where there is a choice."""
    if not isinstance(node, dict):  # anything
        return "a"
    if node.get("examples") == TypeAdapter(Size).json_schema()["examples"]:
        return node.get("default") or "15kB"
    if "examples" in node:
        return next((name for name in node["examples"] if name in FAMILIAR), node["examples"][0])
    if "$ref" in node:
        return _example(models, models[node["$ref"].removeprefix(_REF)])
    ways = [way for way in (*node.get("anyOf", ()), *node.get("oneOf", ())) if way.get("type") != "null"]
    if ways:
        return _example(models, ways[0])
    if "const" in node or "enum" in node:
        known = [each for each in node.get("enum", [node.get("const")]) if each != node.get("default")]
        return known[0] if known else node.get("default", node.get("const"))
    kind = node.get("type")
    if kind == "array" and "prefixItems" in node:
        return [_example(models, each) for each in node["prefixItems"]]
    if kind == "array":
        return [_example(models, node["items"])] * node.get("minItems", 1)
    if kind == "object":
        named = node.get("properties") or {"a": node.get("additionalProperties", {})}
        return {key: _example(models, named[key]) for key in node.get("required") or list(named)[:1]}
    if kind == "boolean":
        return not node.get("default", False)
    if kind in ("integer", "number"):
        return node.get("default", 0) or node.get("minimum", 1) or 1
    return "a"
