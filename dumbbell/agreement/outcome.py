"""Writes the report of a comparison: agree.json, agree.md, lists of differences, changes, windows, pairs, stability and state as CSV, and
figures and scenarios of the largest differences."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.agreement.figures import overlay
from dumbbell.agreement.measures import METRICS, measures
from dumbbell.agreement.regression import NONE, Regression, moved_table, section
from dumbbell.agreement.sets import as_yaml
from dumbbell.agreement.statement import worst
from dumbbell.agreement.tables import (
    agree,
    definitions_table,
    differences_table,
    pairs_list,
    real_time,
    stability_list,
    state_list,
    windows_list,
    worst_table,
)
from dumbbell.drawing import style
from dumbbell.errors import BadInput
from dumbbell.files import SafeFolder, parse_json, write_within

if TYPE_CHECKING:
    from dumbbell.agreement.comparison import Comparison
    from dumbbell.comparing.difference import Cell, Difference
    from dumbbell.results import Run

DOCUMENT = "agree.json"
_EARLIER = re.compile(r"worst-.*\.(png|svg)|.*\.yaml")
"""The files of an earlier comparison, in its folder `worst`."""
_FIGURES = 5
"""Number of scenarios with a figure."""


def write(
    folder: Path, document: Mapping[str, Any], compared: Comparison, found: Difference, draw: bool = True, changes: Regression | None = None
) -> list[Path]:
    """Write all files; returns the paths of the figures. Figures and scenarios of an earlier comparison are removed.

    `changes`: what one kernel does differently from the other, if two are compared.
    """
    write_within(folder, DOCUMENT, json.dumps(document, indent=1, allow_nan=False) + "\n")
    write_within(folder, "differences.csv", differences_table(found, compared.engines).csv())
    lists = {
        "changes.csv": moved_table(changes or NONE),
        "windows.csv": windows_list(document),
        "pairs.csv": pairs_list(document),
        "stability.csv": stability_list(document),
    }
    lists["state.csv"] = state_list(document)
    for name, table in lists.items():
        if table.rows:
            write_within(folder, name, table.csv())
        else:
            SafeFolder(folder).remove(name)
    with suppress(FileNotFoundError):
        for stale in filter(_EARLIER.fullmatch, SafeFolder(folder).names("worst")):
            SafeFolder(folder).remove(f"worst/{stale}")
    drawn: list[Path] = []
    lines: list[str] = []
    scenarios = {scenario.name: scenario for scenario in compared.scenario_set.scenarios}
    cells: dict[str, Cell] = {}
    for cell in worst(found):
        cells.setdefault(str(cell.key["scenario"]), cell)
    for rank, (name, cell) in enumerate(list(cells.items())[:_FIGURES], 1):
        write_within(folder, f"worst/{name}.yaml", as_yaml(scenarios[name]))
        if draw:
            (reference, ours), values = _furthest(compared, name, cell)
            beside = " and ".join(f"{value:.4g} ({engine})" for value, engine in zip(values, compared.engines, strict=True))
            title = f"{name}, seed {reference.scenario['seed']}: {METRICS[cell.metric].title} {beside}"
            drawn += style.save(overlay(reference, ours, title), folder, f"worst/worst-{rank}")
            lines.append(f"![{title}](worst/worst-{rank}.png)\n")
    write_within(folder, "agree.md", _page(document, lines, "" if changes is None else section(changes)))
    return drawn


def read(folder: Path) -> dict[str, Any] | None:
    """The contents of agree.json in a folder; None if there is no such file. Raises `BadInput` if it cannot be read."""
    path = folder / DOCUMENT
    try:
        document = parse_json(SafeFolder(folder).read(DOCUMENT))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: cannot be read ({error}); expected a statement written by dumbbell agree") from None
    if (
        not isinstance(document, dict)
        or not {"set", "engines", "metrics", "shallow", "shares", "windows", "pairs", "bars"} <= document.keys()
    ):
        raise BadInput(f"{path}: is no statement of agreement; expected one written by dumbbell agree")
    return document


def _page(document: Mapping[str, Any], figures: list[str], changes: str) -> str:
    parts = [
        f"# Agreement of {document['engine']} with {document['reference']}\n",
        agree(document),
        *([f"{real_time(document)}\n"] if "in_real_time" in document else []),
        *([changes] if changes else []),
        "## The furthest apart\n",
        "In tolerances, which only rank. With several starts, only the distance outside the reference's range counts.\n",
        worst_table(document).markdown() if document["worst"] else "Nothing differs.\n",
        *figures,
        "## What is compared\n",
        definitions_table(document).markdown(),
    ]
    if document["invalid"]:
        listed = (f"- {each['scenario']} ({each['engine']}): {'; '.join(each['reasons'])}" for each in document["invalid"])
        parts += ["## Invalid runs, left out\n", "\n".join(listed) + "\n"]
    return "\n".join(parts)


def _furthest(compared: Comparison, name: str, cell: Cell) -> tuple[tuple[Run, Run], tuple[float, float]]:
    """The run of a scenario in which the engines differ most in the cell's metric, and both values."""
    at = (str(cell.key["entity"]), cell.metric)
    starts = [(pair, (measures(pair[0]).get(at, 0.0), measures(pair[1]).get(at, 0.0))) for pair in compared.pairs if pair[0].name == name]
    return max(starts, key=lambda start: abs(start[1][0] - start[1][1]))
