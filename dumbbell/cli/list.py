"""`dumbbell list KIND`: names that scenarios and commands may use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from dumbbell.cli.output import JsonOption, print_columns, print_json
from dumbbell.engines import Capabilities, engine
from dumbbell.plan.parameters import shown


class Kind(StrEnum):
    """Kinds of lists."""

    CC = "cc"
    QDISC = "qdisc"
    STACK = "stack"
    STUDY = "study"
    ENGINE = "engine"


def command(kind: Annotated[Kind, typer.Argument(help="What to list.")], json: JsonOption = False) -> None:
    """List congestion controls, queue disciplines, stacks, studies or engines."""
    entries = _entries(kind)
    if json:
        print_json(entries)
    elif entries:
        print_columns([row for entry in entries for row in (_row(entry), *_parameters(entry))])


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    return (entry["name"], *_engines(entry), f"{entry['summary']}{_variants(entry)}")


def _parameters(entry: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, parameter in entry.get("parameters", {}).items():
        meaning = f"{parameter['meaning']}: " if parameter["meaning"] else ""
        yield f"  {name}", ", ".join(parameter["engines"]), f"{meaning}{parameter['expected']}, {shown(parameter['default'])} by default"


def _engines(entry: dict[str, object]) -> tuple[str, ...]:
    engines = entry.get("engines")
    return (", ".join(engines),) if isinstance(engines, list) else ()


def _variants(entry: dict[str, object]) -> str:
    variants = entry.get("variants")
    return f" (variants: {', '.join(variants)})" if isinstance(variants, dict) else ""


def _entries(kind: Kind) -> list[dict[str, object]]:
    if kind is Kind.ENGINE:
        from dumbbell.engines import ENGINES

        return [{"name": name, "summary": summary} for name, summary in ENGINES.items()]
    if kind is Kind.STUDY:
        from dumbbell.study.registry import find_study, study_names

        studies = [find_study(name) for name in study_names()]
        return [{"name": study.name, "summary": study.title, "source": study.source, "parts": list(study.parts)} for study in studies]
    from dumbbell.scenario.qdiscs import OTHER_KERNELS, variants

    tables = [engine(name).capabilities() for name in ENGINES]
    others = [table.engine for table in tables if OTHER_KERNELS in table.feature]
    entries: list[dict[str, object]] = []
    known = {name: capability for table in reversed(tables) for name, capability in getattr(table, kind.value).items()}
    for name in dict.fromkeys(name for table in tables for name in getattr(table, kind.value)):
        capability = known[name]
        engines = [table.engine for table in tables if name in getattr(table, kind.value)]
        entry: dict[str, object] = {"name": name, "summary": capability.summary, "engines": engines}
        if kind is Kind.CC:
            entry["needs_ecn"] = capability.needs_ecn
            entry["parameters"] = _described(name, tables)
        if kind is Kind.QDISC and (names := variants(name)):
            entry["variants"] = {v: engines if v == names[0] else others for v in names}
        if kind is Kind.STACK:
            entry["options"] = dict(capability.options)
        entries.append(entry)
    return entries


def _described(cc: str, tables: Sequence[Capabilities]) -> dict[str, dict[str, object]]:
    """The parameters of a congestion control by name, with the engines that have them."""
    found: dict[str, dict[str, Any]] = {}
    for table in tables:
        for name, parameter in table.cc[cc].parameters.items() if cc in table.cc else ():
            words = {"expected": parameter.expected, "meaning": parameter.meaning}
            found.setdefault(name, {"kind": parameter.kind, "default": parameter.default, **words, "engines": []})["engines"].append(
                table.engine
            )
    return found
