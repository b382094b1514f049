"""Checks the parts of a record that describe the run: plan, scenario and engine.

Whoever reads a stored run relies on this, so that nobody has to ask again: a record that does not fit is damaged. Keys that are not listed
here are read by nobody, or shown as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic_core import SchemaValidator, ValidationError, to_json
from pydantic_core import core_schema as of

from dumbbell.results.imported import is_import
from dumbbell.results.names import LONGEST_NAME, MOST_INTEGER, NotOurs

_LONGEST_NS = 10**15
"""Maximum duration of a run; a scenario can ask for a hundredth of it."""
_MOST_OPPORTUNITIES = 50_000_000
"""Maximum number of delivery opportunities of a trace that starts over until the run ends."""


def check_described(record: Mapping[str, Any]) -> None:
    """Raise `ValueError` with the reason unless plan, scenario and engine of a record are well formed, `NotOurs` for a name."""
    checked = {"plan": record.get("plan"), "engine": record["engine"]}
    if is_import(record["engine"]):
        checked["scenario"] = record["scenario"]
    try:
        _validator().validate_python(checked)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        if first["type"] in ("string_pattern_mismatch", "string_too_long", "string_unicode"):
            raise NotOurs(f"{where} is no name") from None
        raise ValueError(f"{where}: {first['msg']}") from None
    shown = record["scenario"], record["engine"]
    try:
        text = to_json(shown, inf_nan_mode="strings")  # a third of the time that json takes
        if b'"NaN"' in text or b'Infinity"' in text:
            json.dumps(shown, allow_nan=False)
    except (ValueError, RecursionError):
        raise NotOurs("scenario or engine is no plain JSON") from None


@cache
def _validator() -> SchemaValidator:
    return SchemaValidator(_mapping({"plan": of.nullable_schema(_plan()), "engine": _engine()}, {"scenario": _imported()}))


def _engine() -> Any:
    return _mapping({}, {"name": _name()})


def _imported() -> Any:
    flow = _mapping({"flow": _name(), "cc": _name(), "direction": _DIRECTION}, {"segment_bytes": _count(1), "ports": _ports()})
    return _mapping({"file": _name(), "flows": _list(flow)})


def _plan() -> Any:
    rate = of.nullable_schema(of.union_schema([_count(), of.float_schema(strict=True, gt=0, allow_inf_nan=False)]))
    queue = _mapping(
        {"kind": _text(), "id": _name(), "name": _name(), "direction": _DIRECTION, "delay_ns": _count()},
        {
            "qdisc": _mapping({"kind": _name()}, {"rate_bps": rate}),
            "shaper": _mapping({}, {"rate_bps": rate, "at_ms": _list(_count(), min_length=1)}),
        },
    )
    host = _mapping({"side": of.literal_schema(["left", "right"]), "number": _count()})
    path = _mapping({"forward": _list(_count()), "reverse": _list(_count())})
    connection = _mapping({"name": _name()}, {"ports": _ports()})
    placed = {"id": _name(), "from": _count(), "to": _count(), "direction": _DIRECTION}
    some = {"connections": _list(connection), "segment_bytes": _count(1), "host": of.dict_schema(strict=True)}
    alone = _mapping({"kind": _name(), **placed}, some)
    within = _mapping({"kind": _name(), "tcp": _mapping(placed, some)})
    workload = of.tagged_union_schema(
        {"tcp": within, "alone": alone}, lambda each: "tcp" if isinstance(each, dict) and "tcp" in each else "alone", strict=True
    )
    change = _mapping({"kind": _text()}, {"at_ns": _count(), "rate_bps": _count(1), "port": _count()})
    plan = _mapping(
        {"duration_ns": of.int_schema(strict=True, ge=1, le=_LONGEST_NS)},
        {
            "hosts": _list(host),
            "ports": _list(queue),
            "paths": _list(path),
            "workloads": _list(workload),
            "schedule": _list(change),
            "series": _mapping({"flows": _list(_count())}),
        },
    )
    return of.no_info_after_validator_function(_check_places, plan)


def _check_places(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raise `ValueError` unless every position in a plan is one of its lists' entries."""
    hosts, ports = (len(plan.get(key, ())) for key in ("hosts", "ports"))
    for each in plan.get("workloads", ()):
        placed = each.get("tcp", each)
        if max(placed["from"], placed["to"]) >= hosts:
            raise ValueError(f"{placed['id']!r} is between hosts that are not listed")
    passed = [i for path in plan.get("paths", ()) for i in (*path["forward"], *path["reverse"])]
    steps = [each for each in plan.get("schedule", ()) if each["kind"] == "rate"]
    if any(not {"at_ns", "rate_bps", "port"} <= each.keys() for each in steps):
        raise ValueError("a change of rate lacks its time, rate or port")
    if any(i >= ports for i in (*passed, *(each["port"] for each in steps))):
        raise ValueError("a path or a change is of a port that is not listed")
    for port in plan.get("ports", ()):
        if port["kind"] == "queue" and "qdisc" not in port:
            raise ValueError(f"the queue {port['id']!r} has no discipline")
        at_ms = port.get("shaper", {}).get("at_ms")
        if at_ms is not None and not (at_ms[-1] and len(at_ms) * (plan["duration_ns"] // 10**6 // at_ms[-1] + 1) <= _MOST_OPPORTUNITIES):
            raise ValueError(f"the trace of {port['id']!r} has too many opportunities")
    return plan


_DIRECTION = of.literal_schema(["forward", "reverse"])


def _mapping(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> Any:
    """A mapping with these keys, and others that nobody reads."""
    fields = {name: of.typed_dict_field(schema, required=True) for name, schema in required.items()}
    fields |= {name: of.typed_dict_field(schema, required=False) for name, schema in (optional or {}).items()}
    return of.typed_dict_schema(fields, strict=True, extra_behavior="ignore")


def _list(each: Any, **more: Any) -> Any:
    return of.list_schema(each, strict=True, **more)


def _count(least: int = 0) -> Any:
    return of.int_schema(strict=True, ge=least, le=MOST_INTEGER)


def _text() -> Any:
    return of.str_schema(strict=True)


def _ports() -> Any:
    return _list(_count(), min_length=2, max_length=2)


def _name() -> Any:
    return of.str_schema(strict=True, max_length=LONGEST_NAME, pattern=r"^(?: |[^\p{C}\p{Z}])*$")
