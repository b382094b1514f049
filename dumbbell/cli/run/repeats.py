"""Report of `run` on the cells of a scenario with `until`: how many runs each cell took, and which cells did not reach the target."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dumbbell.cli.output import note, print_columns

if TYPE_CHECKING:
    from dumbbell.running.until.rounds import Repeated
    from dumbbell.running.until.rule import Verdict
    from dumbbell.scenario import Scenario

_MOST_TOLD = 10
"""Cells of which it is said in a line each that they did not get there."""
_STATES = {"narrow": "narrow enough", "wide": "too wide", "equal": "all equal", "none": "no value"}


def repeats_json(scenario: Scenario, repeated: Repeated) -> dict[str, Any]:
    """Return data for JSON."""
    cells = [{"cell": dict(scenario.coordinates(i)), **verdict.plain()} for i, verdict in enumerate(repeated.verdicts)]
    rule = repeated.rule
    return {"metric": rule.column, "per": rule.per, "ci": str(scenario.until and scenario.until.ci), "cells": cells}


def show_repeats(scenario: Scenario, repeated: Repeated) -> None:
    """Print a row a cell, and on stderr the cells that did not reach the target."""
    rule = repeated.rule
    rows: list[list[object]] = [[*scenario.coordinates(0), "runs", rule.per, rule.column, "± 95 %", "interval"]]
    for i, verdict in enumerate(repeated.verdicts):
        of = verdict.of or scenario.name
        rows.append([*scenario.coordinates(i).values(), verdict.taken, of, *_numbers(verdict), _STATES[verdict.state]])
    print_columns([[*row[:-4], *row[-3:]] if rule.per == "run" else row for row in rows])
    wide = [(i, verdict) for i, verdict in enumerate(repeated.verdicts) if verdict.state != "narrow"]
    for i, verdict in wide[:_MOST_TOLD]:
        place = ", ".join(f"{key}: {value}" for key, value in scenario.coordinates(i).items()) or scenario.name
        note(f"note: {place}: {_why(verdict, rule.column)}")
    if len(wide) > _MOST_TOLD:
        note(f"note: {len(wide) - _MOST_TOLD} more of {len(repeated.verdicts)} cells did not get to their interval")


def _why(verdict: Verdict, column: str) -> str:
    whose = f" of {verdict.of}" if verdict.of else ""
    if verdict.state == "none":
        return f"none of {verdict.taken} runs has a value of {column}"
    if verdict.state == "equal":
        return f"{column}{whose} is the same in {verdict.taken} runs, which have no interval"
    if not verdict.estimate.has_interval:
        return f"{column}{whose} has no interval after {verdict.taken} runs"
    half = (verdict.estimate.high - verdict.estimate.low) / 2
    return f"after {verdict.taken} runs, the most, {column}{whose} is still {verdict.estimate.centre:.4g} ± {half:.2g}"


def _numbers(verdict: Verdict) -> list[str]:
    found = verdict.estimate
    centre = "-" if math.isnan(found.centre) else f"{found.centre:.4g}"
    return [centre, f"{(found.high - found.low) / 2:.2g}" if found.has_interval else "-"]
