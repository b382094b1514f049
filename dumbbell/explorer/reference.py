"""dumbbell's numbers compared with those of a reference, cell by cell, with the runs behind each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from dumbbell.comparing.difference import Difference
from dumbbell.comparing.format import Format, KeyValue
from dumbbell.explorer.collection import Document
from dumbbell.results import Run


def reference_document(compared: Iterable[tuple[Format, Difference]], runs: Sequence[Run]) -> Document | None:
    """The cells of each format, those furthest outside their tolerance first; None if there are none.

    A cell has the keys of the runs that alone have its value; values that take several runs have none.
    """
    formats = []
    for format_, found in compared:
        of_runs = _runs_of(format_, runs)
        cells = sorted(found.cells, key=lambda cell: -cell.error_in_tolerances)
        if cells:
            metrics = {name: {"title": metric.title, "unit": metric.unit} for name, metric in format_.metrics.items()}
            listed = [
                {"key": dict(cell.key), "runs": of_runs.get((tuple(cell.key.values()), cell.metric), []), **_values(cell.as_json())}
                for cell in cells
            ]
            formats.append({"name": format_.name, "keys": list(cells[0].key), "metrics": metrics, "cells": listed})
    return {"formats": formats} if formats else None


def _values(cell: dict[str, Any]) -> dict[str, Any]:
    names = ("metric", "ours", "reference", "error", "tolerance", "within", "informative", "low", "high", "repeats", "fault")
    return {name: cell[name] for name in names if name in cell}


def _runs_of(format_: Format, runs: Sequence[Run]) -> dict[tuple[tuple[KeyValue, ...], str], list[str]]:
    found: dict[tuple[tuple[KeyValue, ...], str], list[str]] = {}
    for run in runs:
        with suppress(ArithmeticError, LookupError, ValueError):  # a value that takes several runs
            for key, metric in format_.measure(type(runs)([run])):  # type: ignore[call-arg]
                found.setdefault((tuple(format_.named(key).values()), metric), []).append(run.key)
    return found
