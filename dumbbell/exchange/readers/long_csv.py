"""Long CSV: a row a sample, with the columns `t_ns` or `t_s`, `entity`, `series` and `value`, and if need be `unit`, `key` (for several
runs in one file), and for flows `cc` and `direction`.

`dumbbell export --format csv` writes this format, and any other data can be turned into it. Series are those of a run, by their names. A
`unit` that is not that of the series is converted if it is one of the same kind, and an error if not.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping

from dumbbell.catalogue import state_names
from dumbbell.errors import shortened
from dumbbell.exchange.imported import Found, FoundFlow, FoundPort, Points, delays
from dumbbell.exchange.reading import FilePlace, lines
from dumbbell.results import schema
from dumbbell.results.tables import DATAGRAM_KINDS

VERSION = 2
_COLUMNS = {"t_ns", "t_s", "entity", "series", "value", "unit", "key", "cc", "direction"}
_NEEDED = {"entity", "series", "value"}
_FACTORS: dict[tuple[str, str], float] = {
    ("s", "ms"): 1e3,
    ("us", "ms"): 1e-3,
    ("µs", "ms"): 1e-3,
    ("ns", "ms"): 1e-6,
    ("ms", "s"): 1e-3,
    ("kB", "bytes"): 1e3,
    ("MB", "bytes"): 1e6,
    ("bit", "bytes"): 1 / 8,
    ("B", "bytes"): 1.0,
    ("segments", "packets"): 1.0,
}
"""(Unit, unit of the series) -> the factor for values."""
_LEFT_OUT = ("group", "share")
"""Kinds of entities that are not read."""

_Entities = dict[str, dict[str, Points]]
"""Entity -> series -> its samples."""


def recognises(content: bytes) -> bool:
    """True if a file looks like one."""
    head = content[:1000].decode("utf-8-sig", "replace").partition("\n")[0]
    return set(head.strip().split(",")) >= _NEEDED


def found_in(content: bytes, place: FilePlace) -> list[Found]:
    """Return the content of a file. Raises `BadInput`."""
    rows = csv.reader((f"{line}\n" for line in lines(content, place)), strict=True)
    points: dict[str, _Entities] = {}
    traits: dict[tuple[str, str], dict[str, str]] = {}
    left_out: dict[str, None] = {}
    try:
        header = next(rows, [])
        clock = _checked(header, place.line(1))
        for row in rows:
            at = place.line(rows.line_num)
            if len(row) != len(header):
                raise at.wrong(f"has {len(row)} fields", f"{len(header)}, as many as the header")
            field = dict(zip(header, row, strict=True))
            entity, name = field["entity"], field["series"]
            kind, slash, own = entity.partition("/")
            known = schema().series.get(kind, {})
            if slash and kind in _LEFT_OUT:
                left_out[entity] = None
                at.few(left_out)
                continue
            if not slash or kind not in ("flow", "port", *DATAGRAM_KINDS):
                raise at.wrong(f"entity is {shortened(repr(entity), 60)}", "flow/NAME, port/NAME, ping/NAME, udp/NAME or voip/NAME")
            at.name(own)
            if name not in known:
                usual = [each for each in known if each not in state_names()]
                raise at.wrong(
                    f"the unit of the series {shortened(repr(name), 60)} is not known",
                    f"a series of a {kind}: {', '.join(usual)}, or one that `dumbbell list state` shows",
                )
            value = at.number(field["value"]) * _factor(field.get("unit", ""), known[name].unit, name, at)
            t_ns = at.count(field[clock]) if clock == "t_ns" else at.time_ns(field[clock])
            if kind == "flow":
                _note(traits.setdefault((field.get("key", ""), entity), {}), field, entity, at)
            entities = points.setdefault(field.get("key", ""), {})
            entities.setdefault(entity, {}).setdefault(name, Points()).add(t_ns, value)
            at.few(points)
            at.few(entities)
    except csv.Error as error:
        raise place.line(rows.line_num).wrong(str(error), "comma-separated values") from None
    return [_one(key, entities, traits, list(left_out)) for key, entities in points.items()]


def _checked(header: list[str], at: FilePlace) -> str:
    """The column of the times."""
    clocks = {"t_ns", "t_s"} & set(header)
    if not set(header) >= _NEEDED or len(clocks) != 1 or len(set(header)) != len(header):
        raise at.wrong(
            f"the header is {shortened(','.join(header), 60)!r}",
            "t_ns or t_s, entity, series, value, and perhaps unit, key, cc and direction",
        )
    if unknown := set(header) - _COLUMNS:
        raise at.wrong(f"has the column {shortened(repr(sorted(unknown)[0]), 60)}", f"only {', '.join(sorted(_COLUMNS))}")
    return clocks.pop()


def _factor(unit: str, expected: str, name: str, at: FilePlace) -> float:
    if unit in ("", expected):
        return 1.0
    if (unit, expected) not in _FACTORS:
        raise at.wrong(f"{name} is in {shortened(repr(unit), 40)}", f"{expected or 'no unit'}")
    return _FACTORS[unit, expected]


def _note(known: dict[str, str], field: Mapping[str, str], entity: str, at: FilePlace) -> None:
    """Control and direction of a flow, of which each row says the same or nothing."""
    for name in ("cc", "direction"):
        value = field.get(name, "")
        if value and known.setdefault(name, value) != value:
            raise at.wrong(f"{name} of {entity} is {shortened(repr(value), 40)} after {shortened(repr(known[name]), 40)}", "one of them")
    if cc := field.get("cc"):
        at.name(cc)
    if field.get("direction", "") not in ("", "forward", "reverse"):
        raise at.wrong(f"direction is {shortened(repr(field['direction']), 40)}", "forward or reverse")


def _one(key: str, entities: _Entities, traits: Mapping[tuple[str, str], Mapping[str, str]], left_out: list[str]) -> Found:
    found = Found("long CSV", ["tables of flows and ports are not known, beyond what follows from the series"])
    if left_out:
        found.unknown.append(f"not read: {', '.join(left_out)}")
    if key:
        found.cell["key"] = key[:100]
    for entity, series in entities.items():
        kind, _, name = entity.partition("/")
        read = {each: listed.samples() for each, listed in series.items()}
        if kind == "port":
            found.ports.append(FoundPort(name, series=read))
            continue
        flow = FoundFlow(name, kind="tcp" if kind == "flow" else kind, series=read)
        known = traits.get((key, entity), {})
        flow.cc = known.get("cc", flow.cc)
        flow.direction = "reverse" if known.get("direction") == "reverse" else "forward"
        for each in ("rx_bytes", "retransmits"):
            if kind == "flow" and each in read:
                flow.columns[each] = int(read[each][1][-1])
        for each in ("rtt_ms", "owd_ms", "owd_back_ms"):
            if kind != "flow" and each in read:
                flow.columns |= delays(each.removesuffix("_ms"), read[each][1])
        found.flows.append(flow)
    return found
