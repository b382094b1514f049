"""A folder of `dumbbell agree` or `dumbbell regress` for the explorer: the measures of each scenario on two engines, with their runs."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dumbbell.agreement.measures import ALL, METRICS
from dumbbell.agreement.outcome import DOCUMENT
from dumbbell.agreement.regression import BARS, Bar
from dumbbell.comparing.format import Metric
from dumbbell.errors import BadInput
from dumbbell.files import SafeFolder, parse_json
from dumbbell.results import Store

DIFFERENCES, REGRESSION = "differences.csv", "regress.json"
_KEYS = ("scenario", "of")
_LEAST = 1e-9
"""A tolerance instead of none, by which differences are ranked."""
_MOVED = "moved by no more than chance, or by no more than their limits"
_RANKED = "are within the tolerance by which they are ranked"


def is_comparison(folder: Path) -> bool:
    """True if one of the commands wrote the folder."""
    return (folder / DOCUMENT).is_file() or (folder / REGRESSION).is_file()


def engines_of(folder: Path) -> tuple[str, str]:
    """Return the names of both engines, the reference first: each has a folder of results. Raises `BadInput` for a damaged file."""
    found = _document(folder)
    names = (
        (found.get("reference"), found.get("engine"))
        if "engine" in found
        else tuple(_named(found, each) for each in ("baseline", "kernel"))
    )
    for name in names:
        if not isinstance(name, str) or name in ("", ".", "..") or Path(name).name != name:
            raise BadInput(f"{folder}: {name!r} names no engine; expected a folder that `dumbbell agree` or `dumbbell regress` wrote")
    return names  # type: ignore[return-value]


def comparison_document(folder: Path) -> dict[str, Any] | None:
    """The differences, what moved and what is furthest apart first. None if there are none.

    A difference of two kernels counts if it is beyond chance and beyond its limit, as the commands say; one of other engines if it is
    beyond a tolerance that only ranks.
    """
    reference, ours = engines_of(folder)
    try:
        document = _document(folder)
        changes = document.get("changes") if "engine" in document else document
        moved = {(each["workload"], each["measure"]): each for each in (changes or {}).get("moved", ())}
        listed = list(_cells(folder, reference, ours))
        listed += [_moved_cell(each) for each in moved.values() if each["measure"] not in METRICS or not listed]
        runs = [_runs(folder / name) for name in (reference, ours)]
        for cell in listed:
            scenario, of = (cell["key"][name] for name in _KEYS)
            cell["runs"] = [key for each in runs for key in each.get(scenario, ())]
            if changes is not None:
                found = moved.get((scenario, cell["metric"])) if of == ALL or of.startswith("group/") else None
                cell |= {"within": found is None} | ({"fault": f"p = {found['p']:.1g}"} if found else {})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, csv.Error) as error:
        raise BadInput(f"{folder}: cannot be read ({error}); expected a folder that `dumbbell agree` or `dumbbell regress` wrote") from None
    if not listed:
        return None
    listed.sort(key=lambda cell: (cell["within"], -abs(cell["error"]) / cell["tolerance"]))
    described: dict[str, Metric | Bar] = {**BARS, **METRICS}
    metrics = {name: {"title": each.title, "unit": each.unit} for name, each in described.items()}
    words = {"names": {"ours": ours, "reference": reference}, "verdict": _RANKED if changes is None else _MOVED}
    return {"formats": [{"name": str(document["set"]), "keys": list(_KEYS), "metrics": metrics, "cells": listed, **words}]}


def _document(folder: Path) -> dict[str, Any]:
    name = DOCUMENT if (folder / DOCUMENT).is_file() else REGRESSION
    try:
        found = parse_json(SafeFolder(folder).read(name))
    except (OSError, ValueError) as error:
        raise BadInput(f"{folder / name}: cannot be read ({error}); expected the file that dumbbell wrote") from None
    if not isinstance(found, dict):
        raise BadInput(f"{folder / name}: holds no comparison; expected the file that dumbbell wrote")
    return found


def _named(document: Mapping[str, Any], key: str) -> object:
    engine = document.get(key)
    return engine.get("name") if isinstance(engine, dict) else None


def _cells(folder: Path, reference: str, ours: str) -> Iterator[dict[str, Any]]:
    """Yield the cells of differences.csv, whose columns are named after the engines. Yield nothing if there is no such file."""
    if not (folder / DIFFERENCES).is_file():
        return
    for row in csv.DictReader(SafeFolder(folder).read(DIFFERENCES).decode().splitlines()):
        columns = {"ours": ours, "reference": reference, "low": f"{ours}_low", "high": f"{ours}_high", "error": "difference"}
        numbers = {field: float(row[column]) for field, column in columns.items()}
        if row["metric"] not in METRICS or not all(map(math.isfinite, numbers.values())):
            continue
        key = {"scenario": row["scenario"], "of": row["entity"]}
        tolerance = max(METRICS[row["metric"]].tolerance.allowed(numbers["reference"], key), _LEAST)
        within = abs(numbers["error"]) <= tolerance
        yield {"key": key, "metric": row["metric"], **numbers, **_facts(tolerance, within), "repeats": int(row["starts"])}


def _moved_cell(moved: Mapping[str, Any]) -> dict[str, Any]:
    """A measure that only kernels are compared by."""
    bar = BARS[moved["measure"]]
    before, after = float(moved["baseline"]), float(moved["kernel"])
    key = {"scenario": str(moved["workload"]), "of": ALL}
    numbers = {"ours": after, "reference": before, "low": after, "high": after, "error": after - before}
    return {"key": key, "metric": moved["measure"], **numbers, **_facts(bar.least * max(abs(before), bar.floor), False), "repeats": 1}


def _facts(tolerance: float, within: bool) -> dict[str, Any]:
    return {"tolerance": tolerance, "within": within, "informative": True}


def _runs(folder: Path) -> dict[str, list[str]]:
    """The keys of an engine's runs by the name of their scenario."""
    found: dict[str, list[str]] = {}
    for run in Store(folder).runs(check_series=False):
        found.setdefault(run.name, []).append(run.key)
    return found
