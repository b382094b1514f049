"""A scenario, from a file or made in Python, and the runs it asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path as FilePath
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, PrivateAttr, ValidationError

from dumbbell.documents.invalid import explain
from dumbbell.documents.keys import Coordinate, assigned_at, covers, label
from dumbbell.documents.model import validated
from dumbbell.documents.problems import Location, Problem, ScenarioError, Unfit, dotted
from dumbbell.documents.source import CHANGES, Kind, Source, parse, read
from dumbbell.scenario.base import LONG
from dumbbell.scenario.check import Check
from dumbbell.scenario.content import Content
from dumbbell.scenario.function import Function
from dumbbell.scenario.model import Settings
from dumbbell.scenario.sweep import Sweep, Until

MOST_RUNS = 100_000
"""Runs of a scenario, unless more are allowed."""
SAMPLE = 100
"""Cells that are checked when a scenario is read."""
KIND = Kind("a scenario file", "path, flows and duration")
_SWEEP, _OF_SWEEP = "sweep", ("grid", "zip", "cells", "sample")
_OF_DOTTED_KEYS = ("grid", "zip")
"""Words of `sweep` below which keys are dotted keys."""


@dataclass(frozen=True)
class ResolvedScenario:
    """One run: every setting has its value, nothing is swept or repeated."""

    settings: Settings
    cell: dict[str, Coordinate] = field(default_factory=dict)
    """Place in the sweep: dotted key to value as written, and `seed` if the scenario has several runs of each cell."""
    origin: Scenario | None = field(default=None, compare=False, repr=False)
    """The scenario that it was resolved from."""
    known: Content | None = field(default=None, compare=False, repr=False)
    """Its `content`, if that is known already."""
    first: ResolvedScenario | None = field(default=None, compare=False, repr=False)
    """For a run with a further seed: the first run of its cell. All settings but the seed are the same."""

    def __getstate__(self) -> dict[str, Any]:
        """A run that goes to another process stands by itself."""
        return {**vars(self), "first": None}

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
        known = None if self.known is None else self.known.replaced({"engine": engine})
        return ResolvedScenario(self.settings.model_copy(update={"engine": engine}), self.cell, self.origin, known)

    @property
    def content(self) -> Content:
        """All settings but the name: the content that a run's key is made of."""
        return Content.of(self.settings) if self.known is None else self.known

    def dump(self) -> dict[str, Any]:
        """The content as plain data, not to be changed."""
        return self.content.data


class Scenario(Settings):
    """A scenario as a user writes it: settings, and how to vary them."""

    sweep: Sweep | None = None
    """Replaces settings cell by cell; the scenario must stand by itself without it."""
    repeat: Annotated[int, Field(ge=1, le=100_000)] = 1
    """Runs of each cell, with the seeds `seed`, `seed` + 1, ..."""
    until: Until | None = None
    """In place of `repeat`: as many runs of each cell as a metric needs to be known well enough."""

    _source: Source | None = PrivateAttr(default=None)

    @classmethod
    def from_file(
        cls, path: str | FilePath, most_runs: int | None = None, changes: Mapping[str, Any] | None = None, changed_by: str = CHANGES
    ) -> Self:
        """Read a scenario file, and check it and `SAMPLE` of its cells (see `sample_runs`).

        Args:
            path: The file.
            most_runs: More runs are an error; by default `MOST_RUNS`.
            changes: Other values of settings by dotted key, as in `Sweep`; they replace what the file says.
            changed_by: The option that gave these values, for errors, such as `--set`.

        Raises `ScenarioError` with the file, line and key of every problem.
        """
        return cls._from(*_with_changes(*read(path, KIND), changes or {}, changed_by), most_runs)

    @classmethod
    def from_text(cls, text: str, name: str = "<text>") -> Self:
        """Read the text of a scenario file like `from_file`. `name` stands for the file in errors."""
        return cls._from(*parse(text, name, KIND))

    @classmethod
    def _from(cls, data: Any, origin: Source, most_runs: int | None = None) -> Self:
        scenario = validated(cls, data, origin)
        scenario._source = origin
        swept = scenario.sweep.keys if scenario.sweep else []
        for location in (tuple(key.split(".")) for key in origin.changes if not key.startswith("sweep.")):
            for key in (key for key in swept if covers(key, location)):
                raise ScenarioError([origin.problem(location, f"{key} is swept, which replaces it", "a key that is not, or sweep itself")])
        scenario.sample_runs(most_runs)
        return scenario

    def __repr__(self) -> str:
        """One line, because a notebook and an error show the object."""
        traffic = [f"{len(each)} {what}" for each, what in ((self.flows, "flows"), (self.background, "background")) if each]
        swept = "" if self.sweep is None else f"; {self.cell_count} cells of {', '.join(self.sweep.keys)}"
        seeds = f"; {self.most_repeats} seeds" if self.most_repeats > 1 else ""
        return f"<Scenario {self.name}: {', '.join([*traffic, str(self.duration)])}{swept}{seeds}>"

    def __eq__(self, other: object) -> bool:
        """True if both have the same settings, wherever they are written."""
        return isinstance(other, Scenario) and self.model_dump() == other.model_dump()

    def dump(self) -> dict[str, Any]:
        """The scenario as written, in plain data."""
        return self.model_dump(mode="json", exclude_unset=True)

    def on(self, engine: str) -> Self:
        """The same, with an engine for the runs that name none."""
        return self if self.engine is not None else self.model_copy(update={"engine": engine})

    @property
    def cell_count(self) -> int:
        """The number of cells of the sweep; 1 without a sweep."""
        return self.sweep.count if self.sweep else 1

    @property
    def least_repeats(self) -> int:
        """The number of runs that every cell has."""
        return self.repeat if self.until is None else self.until.least

    @property
    def most_repeats(self) -> int:
        """The number of runs that a cell may have."""
        return self.repeat if self.until is None else self.until.most

    @property
    def run_count(self) -> int:
        """The number of runs, at most: cells times runs of each."""
        return self.cell_count * self.most_repeats

    def expand(self, most_runs: int | None = None) -> list[ResolvedScenario]:
        """All runs, see `runs`."""
        return list(self.runs(most_runs))

    def sample_runs(self, most_runs: int | None = None, count: int = SAMPLE) -> list[ResolvedScenario]:
        """The first run of each of `count` cells, evenly spaced from the first to the last; of all cells if there are no more.

        Raises `ScenarioError` as `runs` does, for problems of these cells.
        """
        return list(self.repeats(((cell, range(1)) for cell in self.spread(count)), most_runs))

    def spread(self, count: int) -> Sequence[int]:
        """`count` cells, evenly spaced from the first to the last; all if there are no more."""
        cells = self.cell_count
        return range(cells) if cells <= count else [i * (cells - 1) // max(count - 1, 1) for i in range(count)]

    def runs(self, most_runs: int | None = None) -> Iterator[ResolvedScenario]:
        """The runs, made one by one: cells in order (first key slowest), seeds within a cell; with `until` those that every cell has.

        Raises `ScenarioError` for settings that contradict each other, when the cell with them is reached; for cells that are the same
        run; and if there are more runs than `most_runs`, by default `MOST_RUNS`.
        """
        return self.repeats(((cell, range(self.least_repeats)) for cell in range(self.cell_count)), most_runs)

    def run(self, position: int, most_runs: int | None = None) -> ResolvedScenario:
        """The run at a position among all that there may be, `most_repeats` of each cell. Raises as `runs` does, for its cell."""
        cell, repeat = divmod(position, self.most_repeats)
        (run,) = self.repeats([(cell, range(repeat, repeat + 1))], most_runs)
        return run

    def _repeated(self, first: ResolvedScenario, seed: int) -> ResolvedScenario:
        """The run of the same cell with another seed."""
        known = first.content.replaced({"seed": seed})
        return ResolvedScenario(first.settings.model_copy(update={"seed": seed}), {**first.cell, "seed": seed}, self, known, first)

    def repeats(self, chosen: Iterable[tuple[int, range]], most_runs: int | None = None) -> Iterator[ResolvedScenario]:
        """Some runs: of each of these cells the runs with these numbers, from 0. Raises as `runs` does, for problems of these cells."""
        most, key = MOST_RUNS if most_runs is None else most_runs, "repeat" if self.until is None else "until"
        if self.until is not None and "repeat" in self.model_fields_set:
            raise ScenarioError([self.locate(("until",), "cannot be combined with repeat", "the one or the other")])
        if self.run_count > most:
            number = f"repeat: {self.repeat}" if self.until is None else f"until.most: {self.until.most}"
            what = f"{self.run_count} runs ({self.cell_count} cells, {number})"
            raise ScenarioError([self.locate(("sweep" if self.sweep else key,), what, f"at most {most}, or --most-cells")])
        check = Check()
        if problems := [self.locate(*found) for found in check.wrong(self)]:
            raise ScenarioError(problems)
        context = self._source and self._source.context
        keys = [key.split(".") for key in (self.sweep.keys if self.sweep else ())]
        written = self.model_dump(mode="json", exclude_unset=True, exclude={"sweep", "repeat", "until"}, context=LONG)
        shared = {name: _shared(value, getattr(self, name), _below(keys, name)) for name, value in written.items()}
        before: dict[str, Any] = {}
        settings: Settings = self
        known = Content.of(self)
        seen: dict[bytes, int] = {}
        for index, numbers in chosen:
            coordinates, cell = self._cell(index)
            changed = _changed(before, coordinates)
            assigned = self._assigned(shared, settings, coordinates, changed)
            try:
                settings = Settings.model_validate(assigned, context=context)
            except ValidationError as error:
                raise ScenarioError([self.locate(*found, cell) for found in explain(error, Settings)]) from None
            if problems := [self.locate(*found, cell) for found in check.wrong(settings)]:
                raise ScenarioError(problems)
            before, known = coordinates, known.of_cell(settings, changed)
            if (same := seen.setdefault(blake2b(known.text.encode(), digest_size=16).digest(), index)) != index:
                what = f"{_cell_text(self._cell(same)[1])} and {_cell_text(cell)} are the same run"
                raise ScenarioError([self.locate(("sweep",), what, "different cells")])
            first = ResolvedScenario(settings, {**cell, "seed": settings.seed} if self.most_repeats > 1 else cell, self, known)
            for repeat in numbers:
                yield first if repeat == 0 else self._repeated(first, settings.seed + repeat)

    def coordinates(self, cell: int) -> dict[str, Coordinate]:
        """The coordinates of a cell, without the seed of a run."""
        return self._cell(cell)[1]

    def _cell(self, index: int) -> tuple[dict[str, Any], dict[str, Coordinate]]:
        """The settings of a cell as written, and as coordinates."""
        try:
            coordinates = self.sweep.cell(index) if self.sweep else {}
        except Unfit as error:
            raise ScenarioError([self.locate(("sweep", "sample"), error.what, error.expected)]) from None
        return coordinates, {key: self._label(key, value) for key, value in coordinates.items()}

    def _label(self, key: str, value: Any) -> Coordinate:
        """A swept value as a coordinate; functions of one name are numbered."""
        if not isinstance(value, Function) or self.sweep is None:
            return label(value)
        alike = [each for each in self.sweep.values(key) if isinstance(each, Function) and each.name == value.name]
        return f"{value} {alike.index(value) + 1}" if len(set(alike)) > 1 else str(value)

    def _assigned(self, shared: dict[str, Any], before: Settings, coordinates: dict[str, Any], changed: set[str]) -> dict[str, Any]:
        """The settings of a cell, to be validated. It has all keys but those that are `changed` in common with the cell before."""
        assigned: Any = dict(shared)
        for key, value in coordinates.items():
            top, *rest = key.split(".")
            if rest and top not in changed:
                assigned[top] = getattr(before, top)
                continue
            try:
                assigned = assigned_at(assigned, [top, *rest], value)
            except (KeyError, IndexError, ValueError) as error:
                place = next(self.sweep.places(key)) if self.sweep else ()
                raise ScenarioError([self.locate(place, error.args[0], "a dotted key")]) from None
        return assigned  # type: ignore[no-any-return]

    def locate(self, location: Location, what: str, expected: str, cell: dict[str, Coordinate] | None = None) -> Problem:
        """A problem at the line where the setting is swept, if it is, else where it is given."""
        for key in cell or {}:
            if self.sweep is None or not covers(key, location):
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


def _changed(before: dict[str, Any], now: dict[str, Any]) -> set[str]:
    """The first words of the keys that have another value in one cell than in the one before it."""
    differing = [key for key in before.keys() | now.keys() if key not in before or key not in now or before[key] is not now[key]]
    return {key.partition(".")[0] for key in differing}


def _cell_text(cell: dict[str, Coordinate]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in cell.items())


def _shared(written: Any, settings: Any, keys: list[list[str]]) -> Any:
    """Return the written scenario, with validated settings in place of all that no key touches, so that they are not validated again for
    each cell."""
    if not keys:
        return settings if isinstance(settings, BaseModel | list | dict) else written
    if isinstance(written, dict) and isinstance(settings, BaseModel) and [] not in keys:
        fields = type(settings).model_fields
        return {
            name: _shared(value, getattr(settings, name), _below(keys, name)) if name in fields else value
            for name, value in written.items()
        }
    if isinstance(written, list) and isinstance(settings, list) and [] not in keys:
        return [_shared(entry, settings[i], _below(keys, "*", str(i))) for i, entry in enumerate(written)]
    return written


def _below(keys: list[list[str]], *words: str) -> list[list[str]]:
    """Return the rest of each key that begins with one of the words."""
    return [rest for word, *rest in keys if word in words]


def _with_changes(data: Any, origin: Source, changes: Mapping[str, Any], by: str) -> tuple[Any, Source]:
    """Return the data with other values of some dotted keys. Raises `ScenarioError` for keys that lead nowhere."""
    for key, value in changes.items():
        try:
            data = assigned_at(data, _words(key), value)
        except (KeyError, IndexError) as error:
            raise ScenarioError([Problem(key, error.args[0], "a dotted key such as path.rtt or flows.*.cc", by)]) from None
    return data, replace(origin, changes=dict(changes), changed_by=by)


def _words(key: str) -> list[str]:
    """Return the words of a dotted key. A key below `sweep`, `sweep.zip` or `sweep.grid` is a dotted key itself."""
    first, dot, rest = key.partition(".")
    if not dot or first != _SWEEP:
        return key.split(".")
    word, dot, below = rest.partition(".")
    if dot and word in _OF_DOTTED_KEYS:
        return [first, word, below]
    return key.split(".") if word in _OF_SWEEP else [first, rest]
