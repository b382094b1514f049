"""`dumbbell list KIND`: names that scenarios and commands may use."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from dumbbell.cli.output import JsonOption, print_columns, print_json


class Kind(StrEnum):
    """What can be listed."""

    CC = "cc"
    QDISC = "qdisc"
    STACK = "stack"
    STUDY = "study"
    ENGINE = "engine"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="list")(_list)


def _list(kind: Annotated[Kind, typer.Argument(help="What to list.")], json: JsonOption = False) -> None:
    """List congestion controls, queue disciplines, stacks, studies or engines."""
    entries = _entries(kind)
    if json:
        print_json(entries)
    elif entries:
        print_columns([(entry["name"], *_engines(entry), f"{entry['summary']}{_variants(entry)}") for entry in entries])


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
        from dumbbell.studies.registry import find_study, study_names

        studies = [find_study(name) for name in study_names()]
        return [{"name": study.name, "summary": study.title, "source": study.source, "parts": list(study.parts)} for study in studies]
    from dumbbell.engines import ENGINES, engine
    from dumbbell.engines.capabilities import OTHER_KERNELS
    from dumbbell.scenario.qdiscs import variants

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
        if kind is Kind.QDISC and (names := variants(name)):
            entry["variants"] = {v: engines if v == names[0] else others for v in names}
        if kind is Kind.STACK:
            entry["options"] = dict(capability.options)
        entries.append(entry)
    return entries
