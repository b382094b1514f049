"""The page of every key of a scenario file, made from the JSON Schema that editors get."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter

from dumbbell.catalogue import entries
from dumbbell.cli.maintain.schema import names
from dumbbell.comparing.tables import Table
from dumbbell.native import native
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
    ("", "sweep"): "{path.rtt: [10ms, 40ms], flows.0.cc: [cubic, reno]}",
    ("", "repeat"): "10",
    ("Trace", "file"): "traces/cellular.down",
    ("Path", "bottleneck"): "{rate: 10mbit, qdisc: fq_codel}",
    ("Path", "forward"): "[{delay: 10ms}, {rate: 10mbit, qdisc: codel}]",
    ("Path", "reverse"): "none",
    ("NamedPath", "forward"): "[dsl, core]",
    ("NamedPath", "reverse"): "[core]",
    ("Path", "impairments"): "[{kind: outage, at: 10s, for: 200ms}]",
    ("Series", "flows"): "[cubic]",
    ("Series", "groups"): "all",
    ("Series", "ports"): "[bottleneck]",
    ("Series", "shares"): "[bottleneck]",
    ("Series", "state"): "[control, queue]",
    ("Measure", "from"): "40s",
    ("Measure", "until"): "120s",
    ("Host", "sysctls"): "{net.ipv4.tcp_early_retrans: 0}",
    ("Transfers", "size"): "{exponential: 15kB}",
    ("Transfers", "rtt"): "{lognormal: {median: 40ms, sigma: 0.8}}",
    ("Transfers", "arrivals"): "{kind: poisson, load: 0.5}",
    ("Arrivals", "load"): "0.5",
    ("Arrivals", "at"): "[0s, 1s, 1.5s]",
    ("Arrivals", "file"): "trace.csv",
    ("FromFile_Size_", "file"): "sizes.csv",
    ("FromFile_Duration_", "file"): "times.csv",
    ("Uniform_Size_", "uniform"): "[1kB, 3kB]",
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
"""By model and key, those that types do not tell."""


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


def keys() -> str:
    """A section for each mapping, in the order in which they are met from the top: where it stands, and its keys."""
    found = schema(names())
    models: Mapping[str, Node] = {"": found} | found["$defs"]
    places: dict[str, list[str]] = {}
    _walk(models, "", "", places)
    return "\n".join(_section(models, model, listed) for model, listed in places.items())


def _walk(models: Mapping[str, Node], model: str, place: str, places: dict[str, list[str]]) -> None:
    """Notes where a model and those below it stand, as dotted keys with `*` for every entry of a list and NAME for a name."""
    first = model not in places
    places.setdefault(model, []).append(place)
    for key, node in _properties(models[model]).items() if first else ():
        for inner, suffix in _inner(node):
            _walk(models, inner, f"{place}.{key}{suffix}".removeprefix("."), places)


def _properties(model: Node) -> Mapping[str, Node]:
    """The keys of a mapping, whether or not it may also be written in another way."""
    return next((way["properties"] for way in (model, *model.get("anyOf", ())) if "properties" in way), {})


def _required(model: Node) -> list[str]:
    return next((way.get("required", []) for way in (model, *model.get("anyOf", ())) if "properties" in way), [])


def _inner(node: Node) -> Iterator[tuple[str, str]]:
    """The models that a value may be or hold, and how their dotted keys go on."""
    if "$ref" in node:
        yield node["$ref"].removeprefix(_REF), ""
    for way in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        yield from _inner(way)
    if isinstance(items := node.get("items"), dict):
        yield from ((model, f".*{suffix}") for model, suffix in _inner(items))
    if isinstance(values := node.get("additionalProperties"), dict):
        yield from ((model, f".NAME{suffix}") for model, suffix in _inner(values))


FAMILIAR = ("cubic", "linux-6.12")
"""Names that an example takes where there are many."""


def examples() -> Iterator[tuple[str, Node, str]]:
    """Every key with its schema and the example that the page has of it."""
    found = schema(names())
    models: Mapping[str, Node] = {"": found} | found["$defs"]
    for name, model in models.items():
        for key, node in _properties(model).items():
            yield key, node, _written_example(models, name, key, node)


def _written_example(models: Mapping[str, Node], model: str, key: str, node: Node) -> str:
    if key == "cc":
        return "cubic"
    return EXAMPLES.get((model, key)) or _text(_example(models, node))


def _section(models: Mapping[str, Node], name: str, places: list[str]) -> str:
    model = models[name]
    properties, required = _properties(model), _required(model)
    kind = properties.get("kind", {}).get("const")
    rows = [
        [
            f"`{key}`",
            _value(models, node),
            "required" if key in required else _default(node),
            f"`{key}: {_written_example(models, name, key, node)}`",
            _meaning(models, node),
        ]
        for key, node in properties.items()
        if key != "kind" or kind is None
    ]
    where = ", ".join(f"`{place}`" for place in dict.fromkeys(places)) if name else "The file"
    title = f"{where}: kind `{kind}`" if kind else where
    table = Table("", ["key", "value", "default", "example", "meaning"], rows).markdown() if rows else ""
    return f"### {title}\n\n{' '.join(_description(model).split())}\n\n{table}"


def _meaning(models: Mapping[str, Node], node: Node) -> str:
    """Return the description of a key, or else of its content."""
    text = _description(node)
    if text and text not in _UNITS:
        return text
    held = next((_description(models[model]) for model, _ in _inner(node)), "") if not _kinds(models, node) else ""
    return " ".join(held.partition("\n\n")[0].split())


def _description(node: Node) -> str:
    return str(node.get("description", ""))


def _kinds(models: Mapping[str, Node], node: Node) -> list[str]:
    """The kinds of mapping that there may be."""
    found = (_properties(models[model]).get("kind", {}).get("const") for model, _ in _inner(node))
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
        values = node.get("additionalProperties")
        return f"names, each with {_value(models, values)}" if isinstance(values, dict) else "keys"
    words = {"integer": "whole number", "number": "number", "boolean": "`true`, `false`", "string": "text"}
    bounds = (("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "to"), ("exclusiveMaximum", "below"))
    return " ".join([words.get(node.get("type", ""), "anything"), *(f"{word} {node[key]}" for key, word in bounds if key in node)])


def _ways(models: Mapping[str, Node], ways: Any) -> list[str]:
    return list(dict.fromkeys(_value(models, way) for way in ways if way.get("type") != "null"))


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
