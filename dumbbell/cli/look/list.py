"""`dumbbell list KIND`: names that scenarios and commands may use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from dumbbell.catalogue import Parameter
from dumbbell.catalogue.feature import Feature
from dumbbell.cli.output import JsonOption, print_columns, print_json
from dumbbell.engines import ENGINES, Capabilities, engine
from dumbbell.plan.parameters import shown


class Kind(StrEnum):
    """Kinds of lists."""

    CC = "cc"
    QDISC = "qdisc"
    STACK = "stack"
    STUDY = "study"
    ENGINE = "engine"
    STATE = "state"
    PROGRAM = "program"


_ABOUT = {
    Kind.CC: "congestion controls with their parameters",
    Kind.QDISC: "queue disciplines with their parameters",
    Kind.STACK: "TCP stacks",
    Kind.STUDY: "published studies",
    Kind.ENGINE: "engines that run a scenario",
    Kind.STATE: "state variables for `series: [control, queue]`",
    Kind.PROGRAM: "ready-made programs that make flows",
}


def command(
    kind: Annotated[Kind | None, typer.Argument(help="Kind of names. Without a kind, dumbbell lists the kinds.")] = None,
    json: JsonOption = False,
) -> None:
    """List congestion controls, queue disciplines, stacks, studies, engines, programs, or state variables (`series: [control, queue]`)."""
    entries = [{"name": str(each), "summary": text} for each, text in _ABOUT.items()] if kind is None else _entries(kind)
    if json:
        print_json(entries)
    elif entries:
        print_columns([row for entry in entries for row in (_row(entry), *_parameters(entry), *_variables(entry))])


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    return (entry["name"], *_engines(entry), f"{entry['summary']}{_variants(entry)}")


def _parameters(entry: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, parameter in entry.get("parameters", {}).items():
        values = parameter["expected"]
        values += "" if parameter["default"] is None else f", {shown(parameter['default'])} by default"
        values += f"; since Linux {parameter['since']}" if "since" in parameter else ""
        meaning = f"{parameter['meaning'].removesuffix('.')}: " if parameter["meaning"] else ""
        yield f"  {name}", ", ".join(parameter["engines"]), meaning + values


def _variables(entry: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, state in entry.get("states", {}).items():
        words = f": {', '.join(state['words'])}" if state["words"] else ""
        yield f"  {name}", f"{state['meaning']}{words}{', ' + state['unit'] if state['unit'] else ''}"


def _engines(entry: dict[str, object]) -> tuple[str, ...]:
    engines = entry.get("engines")
    return (", ".join(engines),) if isinstance(engines, list) else ()


def _variants(entry: dict[str, object]) -> str:
    variants = entry.get("variants")
    return f" (variants: {', '.join(variants)})" if isinstance(variants, dict) else ""


def _entries(kind: Kind) -> list[dict[str, object]]:
    if kind is Kind.ENGINE:
        return [{"name": name, "summary": summary} for name, summary in ENGINES.items()]
    if kind is Kind.STATE:
        return list(_states())
    if kind is Kind.PROGRAM:
        return list(_programs())
    if kind is Kind.STUDY:
        from dumbbell.study.registry import find_study, study_names

        studies = [find_study(name) for name in study_names()]
        return [{"name": study.name, "summary": study.title, "source": study.source, "parts": list(study.parts)} for study in studies]
    from dumbbell.scenario.qdiscs import variants

    tables = [engine(name).capabilities() for name in ENGINES]
    others = [table.engine for table in tables if Feature.OTHER_KERNELS in table.feature]
    entries: list[dict[str, object]] = []
    known = {name: capability for table in reversed(tables) for name, capability in getattr(table, kind.value).items()}
    for name in dict.fromkeys(name for table in tables for name in getattr(table, kind.value)):
        capability = known[name]
        engines = [table.engine for table in tables if name in getattr(table, kind.value)]
        entry: dict[str, object] = {"name": name, "summary": capability.summary, "engines": engines}
        if kind is Kind.CC:
            entry["needs_ecn"] = capability.needs_ecn
            entry["parameters"] = _described(name, tables)
        if kind is Kind.QDISC:
            if names := variants(name):
                entry["variants"] = {v: engines if v == names[0] else others for v in names}
            entry["parameters"] = dict(_of_qdisc(name, tables))
        if kind is Kind.STACK:
            entry["options"] = dict(capability.options)
        entries.append(entry)
    return entries


def _programs() -> Iterator[dict[str, object]]:
    """The ready-made programs, with the programs of the machine that they take."""
    from dumbbell.engines.linux.applications import is_installed
    from dumbbell.scenario import ready_made

    for name, needed in ready_made.NEEDED.items():
        found = ready_made.ready_made(name)
        words = " ".join(f"{{{key}}} {value}" for key, value in (found.arguments if found else {}).items())
        lacking = [each for each in needed if not is_installed(each)]
        missing = f"; not installed: {', '.join(lacking)}" if lacking else ""
        arguments = f"; arguments: {words}" if words else ""
        yield {"name": name, "summary": f"{ready_made.SUMMARIES[name]}{arguments}{missing}", "needs": list(needed)}


def _described(cc: str, tables: Sequence[Capabilities]) -> dict[str, dict[str, object]]:
    """The parameters of a congestion control by name, with the engines that have them."""
    having = [table for table in tables if cc in table.cc]
    known = {name: parameter for table in reversed(having) for name, parameter in table.cc[cc].parameters.items()}
    names = dict.fromkeys(name for table in having for name in table.cc[cc].parameters)
    return {name: _facts(known[name], [table.engine for table in having if name in table.cc[cc].parameters]) for name in names}


def _of_qdisc(name: str, tables: Sequence[Capabilities]) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the parameters of a queue discipline by name, with the engines that have them."""
    from dumbbell.catalogue import entries

    for each in entries("qdisc")[name].parameters:
        lacking = {each.feature} if each.feature and each.kind != "choice" else set()
        yield each.name, _facts(each, [table.engine for table in tables if name in table.qdisc and lacking <= table.feature])


def _states() -> Iterator[dict[str, object]]:
    """Yield what has state variables, each with these by name."""
    from dumbbell.catalogue import states

    summaries = {"sender": "every sender, whatever its congestion control"}
    for group, of in (("sender", "control"), ("cc", "control"), ("qdisc", "queue")):
        for owner, listed in states(group).items():
            yield {
                "name": owner,
                "summary": summaries.get(owner, f"recorded by `series: [{of}]`"),
                "states": {each.name: {"unit": each.unit, "meaning": each.meaning, "words": list(each.words)} for each in listed},
            }


def _facts(parameter: Parameter, engines: list[str]) -> dict[str, object]:
    from dumbbell.plan.parameters import default, expected

    return {
        "kind": parameter.kind,
        "default": default(parameter),
        "expected": expected(parameter),
        "meaning": parameter.meaning,
        "engines": engines,
        **({"since": parameter.since} if parameter.since else {}),
    }
