"""Keys that tell runs apart: coordinates of sweeps, folder, engine; and keys that one folder sweeps and another has one value of."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from dumbbell.errors import DamagedRun
from dumbbell.results import leave_out
from dumbbell.results.columns import SEED, quantity
from dumbbell.results.imported import ENGINE as IMPORTED
from dumbbell.results.summary import Summarised
from dumbbell.results.windowed import WHOLE, Window

if TYPE_CHECKING:
    from dumbbell.results import Run

Coordinate = str | int | float
Cell = Mapping[str, Coordinate]

FOLDER, ENGINE, NAME = "folder", "engine", "name"
"""Coordinates that every run has: the folder that it lies in, who made it, and the name of its scenario."""
WHOSE = (ENGINE, FOLDER, NAME)
"""In the order in which figures choose among them."""
FLOW_LABELS = ("group", "cc", "direction", "flow")
"""Coordinates of flows, in the order in which figures choose among them."""
LABELS: Mapping[str, tuple[str, ...]] = {
    "run": (),
    "flow": FLOW_LABELS,
    "group": FLOW_LABELS[:3],
    "stream": ("stream", "direction"),
    "port": ("port",),
}
"""Kind of row of a value -> the row's coordinates in addition to those of the run."""
_NOT_THERE, _UNKNOWN = "none", "unknown"
"""Value of a key that a scenario lacks; value of a key of another tool's run, which nobody knows."""


def _itself(run: Any) -> Run:
    found: Run = run
    return found


@dataclass(frozen=True)
class RunSet:
    """Runs that belong together, such as those of a folder, and their name in figures."""

    label: str
    runs: Sequence[Summarised]
    opened: Callable[[Any], Run] = _itself
    """The whole run, with scenario and series, of one of them, which may be an outline."""
    cells: Sequence[Cell] = field(default=())
    """The coordinates of each, if they are not those of its own sweep alone."""
    window: Window = WHOLE
    """The part of each run that metrics are taken over; the whole run, or what its scenario says."""

    def placed(self) -> Iterator[tuple[Cell, Summarised]]:
        """Each run with its coordinates."""
        return zip(self.cells or (run.cell for run in self.runs), self.runs, strict=True)

    def only(self, wanted: Callable[[Cell], bool]) -> RunSet:
        """Return the runs with these coordinates, which may be those of `everywhere`."""
        kept = [(cell, run) for cell, run in self.placed() if wanted(everywhere(self, cell, run))]
        return replace(self, runs=[run for _, run in kept], cells=[cell for cell, _ in kept])


def everywhere(source: RunSet, cell: Cell, run: Summarised) -> dict[str, Coordinate]:
    """Return the coordinates of a run with those that every run has. Those of the sweep win."""
    return {FOLDER: source.label, ENGINE: run.summary.engine, NAME: run.name, **cell}


def swept_keys(sources: Iterable[RunSet]) -> list[str]:
    """The keys of all sweeps, without the seed."""
    return list(dict.fromkeys(key for source in sources for cell, _ in source.placed() for key in cell if key != SEED))


def completed(sources: Sequence[RunSet]) -> list[RunSet]:
    """The same runs, each with all keys that any of them sweeps, and quantities that are equal written alike.

    A key that is not in a run's own sweep has the value that its scenario says. It is called as other runs call it that sweep it: a sweep
    over queues says `fq_codel`, and the scenario of a run lists all that this means.
    """
    keys = swept_keys(sources)
    lacking = [key for key in keys if any(key not in cell for source in sources for cell, _ in source.placed())]
    called = {key: _called(sources, key) for key in lacking}
    cells = [[dict(cell) for cell, _ in source.placed()] for source in sources]
    looked_up: dict[str, list[tuple[dict[str, Coordinate], str]]] = {key: [] for key in lacking}
    for source, its in zip(sources, cells, strict=True):
        for cell, run in zip(its, source.runs, strict=True):
            missing = [key for key in lacking if key not in cell]
            scenario = _scenario(source, run) if missing else None
            for key in missing:
                if (there := _value(scenario, key)) is not None:
                    looked_up[key].append((cell, there))
                else:
                    cell[key] = _UNKNOWN if scenario is None or run.summary.engine == IMPORTED else _NOT_THERE
    for key, places in looked_up.items():
        _name(places, key, called[key])
    written: dict[tuple[str, tuple[str, float]], Coordinate] = {}
    for cell in chain.from_iterable(cells):
        for key, value in cell.items():
            if (size := quantity(value)) is not None:
                cell[key] = written.setdefault((key, size), value)
    return [replace(source, cells=its) for source, its in zip(sources, cells, strict=True)]


def _scenario(source: RunSet, run: Summarised) -> Mapping[str, Any] | None:
    try:
        return source.opened(run).scenario
    except DamagedRun as damage:
        leave_out(damage)
        return None


def _value(scenario: Mapping[str, Any] | None, key: str) -> str | None:
    """Return a scenario's value at a key, as JSON. For a key with `*`: the value that all entries share, or the list of them. None if there
    is nothing."""
    from dumbbell.documents.keys import values_at

    values = [] if scenario is None else list(dict.fromkeys(json.dumps(each, sort_keys=True) for each in values_at(scenario, key)))
    return values[0] if len(values) == 1 else f"[{', '.join(values)}]" if values else None


def _called(sources: Sequence[RunSet], key: str) -> dict[str, Coordinate]:
    """Return the swept values, as scenarios have them, in JSON -> the sweep's names for them. It looks at one run for each."""
    found: dict[Coordinate, str | None] = {}
    for source in sources:
        for cell, run in source.placed():
            if key in cell and cell[key] not in found:
                found[cell[key]] = _value(_scenario(source, run), key)
    return {value: name for name, value in found.items() if value is not None}


def _name(places: Sequence[tuple[dict[str, Coordinate], str]], key: str, called: Mapping[str, Coordinate]) -> None:
    """Give each cell its coordinate: a settled name, or for a mapping its kind and the keys that tell it from the others of this kind."""
    from dumbbell.documents.keys import label

    values = {value: json.loads(value) for value in dict.fromkeys((*called, *(value for _, value in places)))}
    for cell, value in places:
        plain = values[value]
        if value not in called and isinstance(plain, dict) and "kind" in plain:
            alike = [other for other in values.values() if isinstance(other, dict) and other.get("kind") == plain["kind"]]
            told = {word for other in alike for word in plain if other.get(word) != plain[word]}
            plain = {word: each for word, each in plain.items() if word == "kind" or word in told}
        cell[key] = called[value] if value in called else label(plain)
