"""The runs of a scenario, all checked, in memory that hardly grows with their number.

A run of a large sweep is prepared twice: once to check it before anything runs, and again when it is its turn. In between, only what
identifies the run stays in memory: its key and its position, and for each cell the cost of a run, the engine and the coordinates.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from dumbbell.collector import collector_paused
from dumbbell.engines import default
from dumbbell.engines.prepared import Prepared
from dumbbell.running.prepare import prepare, prepared_each

if TYPE_CHECKING:
    from dumbbell.scenario import Scenario

MOST_KEPT = 1000
"""Runs that stay prepared, at 20 kB or so each."""
_KEY_BYTES = 16


class Requested(Protocol):
    """Runs that are asked for, by their position."""

    def __len__(self) -> int:
        """The number of runs."""

    def key(self, position: int) -> str:
        """The key of a run."""

    def asked(self, position: int) -> tuple[str, dict[str, Any]]:
        """Name of its scenario, and coordinates."""


class Jobs(Requested, Protocol):
    """Runs that can be prepared."""

    def __getitem__(self, position: int, /) -> Prepared:
        """A run, prepared."""

    def cpu_s(self, position: int) -> float:
        """Return its estimated cost, CPU seconds."""

    def engine(self, position: int) -> str:
        """The name of its engine."""

    def sources(self, position: int) -> tuple[str, ...]:
        """Return the name of its engine, and the hashes of the sources that compute it."""

    def part(self, positions: Sequence[int]) -> Portion:
        """Some of the runs, as they are sent to where they are computed."""

    @property
    def in_memory(self) -> bool:
        """True if all of them stay prepared, because they are few."""

    @property
    def libraries(self) -> Collection[str]:
        """The paths of libraries that any of them loads."""

    @property
    def own_programs(self) -> Mapping[str, str]:
        """The programs of scenarios' own that any of them runs, with their commands."""

    @property
    def in_kernel(self) -> Collection[str]:
        """The files of congestion controls that kernels load."""

    @property
    def functions(self) -> Collection[str]:
        """The names of functions in Python that are congestion controls of any of them."""


class Portion(Protocol):
    """Some runs. Can be pickled, and is small."""

    def prepared(self) -> Iterator[Prepared]:
        """The runs, sorted by position. Raises as `prepare`."""


@dataclass(frozen=True)
class _Listed:
    """Runs that are prepared; see `Portion`."""

    runs: tuple[Prepared, ...]

    def prepared(self) -> Iterator[Prepared]:
        """See `Portion`."""
        return iter(self.runs)


@dataclass(frozen=True)
class _OfScenario:
    """Runs of a scenario that are prepared again where they are computed; see `Portion`."""

    scenario: Scenario
    chosen: tuple[tuple[int, range], ...]
    most_runs: int | None

    def prepared(self) -> Iterator[Prepared]:
        """See `Portion`."""
        return prepared_each(self.scenario.repeats(self.chosen, self.most_runs))


class Listed:
    """Runs that are prepared."""

    in_memory = True
    """See `Jobs`."""

    def __init__(self, runs: Sequence[Prepared]) -> None:
        self._runs = runs

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, position: int) -> Prepared:
        return self._runs[position]

    def key(self, position: int) -> str:
        """See `Requested`."""
        return self._runs[position].key

    def cpu_s(self, position: int) -> float:
        """See `Jobs`."""
        return self._runs[position].cpu_s

    def engine(self, position: int) -> str:
        """See `Jobs`."""
        return self._runs[position].engine

    def sources(self, position: int) -> tuple[str, ...]:
        """See `Jobs`."""
        run = self._runs[position]
        return run.engine, *run.sources

    def part(self, positions: Sequence[int]) -> Portion:
        """See `Jobs`."""
        return _Listed(tuple(self._runs[position] for position in sorted(positions)))

    def asked(self, position: int) -> tuple[str, dict[str, Any]]:
        """See `Requested`."""
        resolved = self._runs[position].resolved
        return resolved.name, resolved.cell

    @property
    def libraries(self) -> Collection[str]:
        """See `Jobs`."""
        return {path for run in self._runs for path in run.libraries.values()}

    @property
    def own_programs(self) -> Mapping[str, str]:
        """See `Jobs`."""
        return {name: command for run in self._runs for name, command in run.own_programs.items()}

    @property
    def in_kernel(self) -> Collection[str]:
        """See `Jobs`."""
        return {path for run in self._runs for path in run.in_kernel.values()}

    @property
    def functions(self) -> Collection[str]:
        """See `Jobs`."""
        return {function.name for run in self._runs for function in run.functions.values()}


class PreparedSweep:
    """The runs of a scenario."""

    def __init__(self, scenario: Scenario, most_runs: int | None = None, chosen: Sequence[tuple[int, range]] | None = None) -> None:
        """Checks all runs; `chosen`: only these runs of these cells, see `Scenario.repeats`. Raises as `prepare` does."""
        # Said once here, the engine need not be added to each run.
        scenario = scenario.on(default())
        self._scenario, self._most_runs = scenario, most_runs
        self._keys, self._positions, self._cell_of = bytearray(), array("q"), array("l")
        """For each run: key, position among all that there may be (see `Scenario.run`), and cell."""
        self._firsts, self._costs = array("q"), array("d")
        self._sources: list[tuple[str, ...]] = []
        self._cells: list[str] = []
        """For each cell: the position of its first run, about what a run costs, engine and sources, and the first run's coordinates."""
        self._kept: list[Prepared] = []
        self.libraries: set[str] = set()
        """See `Jobs`."""
        self.own_programs: dict[str, str] = {}
        """See `Jobs`."""
        self.in_kernel: set[str] = set()
        """See `Jobs`."""
        self.functions: set[str] = set()
        """See `Jobs`."""
        all_runs = scenario.cell_count * scenario.least_repeats if chosen is None else sum(len(repeats) for _, repeats in chosen)
        self.in_memory = all_runs <= MOST_KEPT
        """See `Jobs`."""
        runs = scenario.runs(most_runs) if chosen is None else scenario.repeats(chosen, most_runs)
        first = None
        with collector_paused():
            for run, position in zip(prepared_each(runs), _positions(scenario, chosen), strict=True):
                if first is None or first is not run.resolved.first:
                    first = run.resolved.first or run.resolved
                    self._firsts.append(position)
                    self._costs.append(run.cpu_s)
                    self._sources.append((run.engine, *run.sources))
                    self._cells.append(json.dumps(run.resolved.cell))
                    self.libraries.update(run.libraries.values())
                    self.own_programs.update(run.own_programs)
                    self.in_kernel.update(run.in_kernel.values())
                    self.functions.update(function.name for function in run.functions.values())
                self._keys += bytes.fromhex(run.key)
                self._positions.append(position)
                self._cell_of.append(len(self._cells) - 1)
                if self.in_memory:
                    self._kept.append(run)

    def __len__(self) -> int:
        return len(self._positions)

    def __getitem__(self, position: int) -> Prepared:
        return self._kept[position] if self._kept else prepare([self._scenario.run(self._positions[position], self._most_runs)])[0]

    def key(self, position: int) -> str:
        """See `Requested`."""
        return self._keys[_KEY_BYTES * position : _KEY_BYTES * (position + 1)].hex()

    def cpu_s(self, position: int) -> float:
        """See `Jobs`."""
        return self._costs[self._cell_of[position]]

    def engine(self, position: int) -> str:
        """See `Jobs`."""
        return self.sources(position)[0]

    def sources(self, position: int) -> tuple[str, ...]:
        """See `Jobs`."""
        return self._sources[self._cell_of[position]]

    def part(self, positions: Sequence[int]) -> Portion:
        """See `Jobs`."""
        if self._kept:
            return _Listed(tuple(self._kept[position] for position in sorted(positions)))
        places = (divmod(self._positions[position], self._scenario.most_repeats) for position in sorted(positions))
        chosen: list[tuple[int, range]] = []
        for cell, repeat in places:
            if chosen and chosen[-1][0] == cell and chosen[-1][1].stop == repeat:
                chosen[-1] = cell, range(chosen[-1][1].start, repeat + 1)
            else:
                chosen.append((cell, range(repeat, repeat + 1)))
        return _OfScenario(self._scenario, tuple(chosen), self._most_runs)

    def asked(self, position: int) -> tuple[str, dict[str, Any]]:
        """See `Requested`."""
        cell = self._cell_of[position]
        coordinates = dict(_coordinates(self._cells[cell]))
        if repeats := self._positions[position] - self._firsts[cell]:
            coordinates["seed"] += repeats
        return self._scenario.name, coordinates


@lru_cache(maxsize=1)
def _coordinates(cell: str) -> Mapping[str, Any]:
    """From JSON. Runs of a cell follow each other."""
    return json.loads(cell)  # type: ignore[no-any-return]


def _positions(scenario: Scenario, chosen: Sequence[tuple[int, range]] | None) -> Iterator[int]:
    every = range(scenario.least_repeats)
    for cell, repeats in ((cell, every) for cell in range(scenario.cell_count)) if chosen is None else chosen:
        for repeat in repeats:
            yield cell * scenario.most_repeats + repeat


def requests(jobs: Requested) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Name, coordinates and key of each run, as a store takes them."""
    return ((*jobs.asked(i), jobs.key(i)) for i in range(len(jobs)))
