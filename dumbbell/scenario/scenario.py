"""A scenario, from a file or made in Python, and the runs it asks for."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Annotated, Any, Self

from pydantic import Field, PrivateAttr, ValidationError

from dumbbell.scenario import source
from dumbbell.scenario.base import LONG
from dumbbell.scenario.check import is_random, wrong
from dumbbell.scenario.invalid import explain
from dumbbell.scenario.model import Settings
from dumbbell.scenario.problems import Location, Problem, ScenarioError, dotted
from dumbbell.scenario.series import Series
from dumbbell.scenario.sweep import Sweep

Coordinate = str | int | float


@dataclass(frozen=True)
class ResolvedScenario:
    """One run: every setting has its value, nothing is swept or repeated."""

    settings: Settings
    cell: dict[str, Coordinate] = field(default_factory=dict)
    """Where in the sweep: dotted key to value as written, and `seed` if the scenario repeats."""
    origin: Scenario | None = field(default=None, compare=False, repr=False)
    """What it was resolved from."""

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self.settings.name

    @property
    def seed(self) -> int:
        """The seed of every random stream of the run."""
        return self.settings.seed

    def problem(self, location: Location, what: str, expected: str) -> Problem:
        """A problem with a setting, at the line where the file gives it or sweeps it."""
        return self.origin.locate(location, what, expected, self.cell) if self.origin else Problem(dotted(location), what, expected)

    def on(self, engine: str) -> ResolvedScenario:
        """The same on another engine."""
        return replace(self, settings=self.settings.model_copy(update={"engine": engine}))

    def dump(self) -> dict[str, Any]:
        """All settings but the name, in plain data: what a run's key is made of."""
        # Of a scenario that chooses no series the key is what it was before there was a choice.
        usual = {"series"} if self.settings.series == Series() else set()
        return self.settings.model_dump(mode="json", exclude={"name", *usual})


class Scenario(Settings):
    """What a user writes: settings, and how to vary them."""

    sweep: Sweep | None = None
    """Replaces settings cell by cell; the scenario must stand by itself without it."""
    repeat: Annotated[int, Field(ge=1, le=100_000)] = 1
    """Runs of each cell, with the seeds `seed`, `seed` + 1, ..."""

    _source: source.Source | None = PrivateAttr(default=None)

    @classmethod
    def from_file(cls, path: str | FilePath) -> Self:
        """Reads a scenario file. Raises `ScenarioError` with the file, line and key of every problem."""
        return cls._from(*source.read(path))

    @classmethod
    def from_text(cls, text: str, name: str = "<text>") -> Self:
        """Reads the text of a scenario file; `name` stands for it in errors. Raises `ScenarioError`."""
        return cls._from(*source.parse(text, name))

    @classmethod
    def _from(cls, data: Any, origin: source.Source) -> Self:
        try:
            scenario = cls.model_validate(data)
        except ValidationError as error:
            raise ScenarioError([origin.problem(*found) for found in explain(error, cls)]) from None
        scenario._source = origin
        scenario.expand()
        return scenario

    def __eq__(self, other: object) -> bool:
        """Whether both have the same settings; where they are written does not matter."""
        return isinstance(other, Scenario) and self.model_dump() == other.model_dump()

    def dump(self) -> dict[str, Any]:
        """The scenario as written, in plain data."""
        return self.model_dump(mode="json", exclude_unset=True)

    def expand(self) -> list[ResolvedScenario]:
        """The runs, sweep cells in order (first key slowest), seeds within a cell. Raises `ScenarioError`."""
        if problems := [self.locate(*found) for found in wrong(self)]:
            raise ScenarioError(problems)
        written = self.model_dump(mode="json", exclude_unset=True, exclude={"sweep", "repeat"}, context=LONG)
        runs: list[ResolvedScenario] = []
        seen: dict[str, dict[str, Coordinate]] = {}
        for coordinates in self.sweep.coordinates() if self.sweep else [{}]:
            cell = {key: _label(value) for key, value in coordinates.items()}
            resolved = self._resolve(written, coordinates, cell)
            content = str(resolved.dump())
            if content in seen:
                what = f"{_cell_text(seen[content])} and {_cell_text(cell)} are the same run"
                raise ScenarioError([self.locate(("sweep",), what, "different cells")])
            seen[content] = cell
            if self.repeat > 1 and not is_random(resolved.settings):
                what = f"{self.repeat} runs would be identical"
                raise ScenarioError([self.locate(("repeat",), what, "start.jitter in a flow, or repeat: 1")])
            for seed in range(resolved.seed, resolved.seed + self.repeat):
                place = {**cell, "seed": seed} if self.repeat > 1 else cell
                runs.append(ResolvedScenario(resolved.settings.model_copy(update={"seed": seed}), place, self))
        return runs

    def _resolve(self, written: dict[str, Any], coordinates: dict[str, Any], cell: dict[str, Coordinate]) -> ResolvedScenario:
        settings = copy.deepcopy(written)
        for key, value in coordinates.items():
            try:
                _assign(settings, key.split("."), value)
            except (KeyError, IndexError, ValueError) as error:
                place = next(self.sweep.places(key)) if self.sweep else ()
                raise ScenarioError([self.locate(place, error.args[0], "a dotted key")]) from None
        try:
            resolved = Settings.model_validate(settings)
        except ValidationError as error:
            raise ScenarioError([self.locate(*found, cell) for found in explain(error, Settings)]) from None
        if problems := [self.locate(*found, cell) for found in wrong(resolved)]:
            raise ScenarioError(problems)
        return ResolvedScenario(resolved, cell, self)

    def locate(self, location: Location, what: str, expected: str, cell: dict[str, Coordinate] | None = None) -> Problem:
        """A problem at the line where the setting is swept, if it is, else where it is given."""
        for key in cell or {}:
            if self.sweep is None or not _covers(key, location):
                continue
            for place in self.sweep.places(key):
                there = f"{expected} (in the cell {_cell_text(cell or {})})"
                if self._source is None:
                    return Problem(dotted(place), what, there)
                line = self._source.find(place)[1]
                return Problem(dotted(place), what, there, self._source.file, line)
        if self._source is None:
            return Problem(dotted(location), what, expected)
        return self._source.problem(location, what, expected)


def _covers(key: str, location: Location) -> bool:
    """Whether a swept key sets the setting at `location`, or something in it."""
    parts, index = location, 0
    for word in key.split("."):
        while index < len(parts) and word not in ("*", str(parts[index])):
            index += 1  # the branch of a union, which the key does not name
        if index == len(parts):
            return False
        index += 1
    return True


def _cell_text(cell: dict[str, Coordinate]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in cell.items())


def _assign(settings: Any, key: list[str], value: Any) -> None:
    for node, last in _targets(settings, key):
        node[last] = value


def _targets(node: Any, key: list[str]) -> Iterator[tuple[Any, Any]]:
    """The containers and the index in each that a dotted key means; makes mappings on the way."""
    word, rest = key[0], key[1:]
    indices: list[Any]
    if isinstance(node, list):
        if word == "*":
            indices = list(range(len(node)))
        elif word.isascii() and word.isdigit() and len(word) < 10 and int(word) < len(node):
            indices = [int(word)]
        else:
            raise IndexError(f"{word!r} is not an entry of a list of {len(node)} (from 0, or * for all)")
    elif isinstance(node, dict):
        indices = [word]
    else:
        raise KeyError(f"{word!r} lies below a single value")
    for index in indices:
        if not rest:
            yield node, index
        else:
            if isinstance(node, dict):
                node.setdefault(index, {})
            yield from _targets(node[index], rest)


def _label(value: Any) -> Coordinate:
    """A sweep's value as a coordinate: numbers and text as written, the rest in one compact line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float) and type(value) in (int, float):
        return value
    if value is None:
        return "none"
    if isinstance(value, dict):
        return " ".join(str(_label(v)) if k in ("kind", "base") else f"{k}={_label(v)}" for k, v in value.items())
    if isinstance(value, list):
        return " ".join(str(_label(entry)) for entry in value)
    return str(value)
