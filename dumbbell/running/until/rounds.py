"""Runs with further seeds of all cells, round by round: each round has the runs that the results of the earlier rounds ask for.

Only results decide which runs there are: not what was stored before, the workers, or interruptions. But a damaged run says nothing. A
stored run is not rerun, whoever asked for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from dumbbell.engines.prepared import NOTHING, Allowed
from dumbbell.errors import BadInput, DamagedRun, Interrupted
from dumbbell.executor.progress_state import Progress, ProgressState
from dumbbell.results import leave_out
from dumbbell.results.summary import Outline
from dumbbell.running.execute import Outcome, count_stored, execute_each, interrupted_at
from dumbbell.running.prepare import not_storable
from dumbbell.running.sweep import PreparedSweep
from dumbbell.running.until.rule import Rule, Verdict

if TYPE_CHECKING:
    from dumbbell.executor import Executor
    from dumbbell.results import Run, Store
    from dumbbell.scenario import Scenario

Repeats = list[tuple[int, range]]
"""Cells, and the numbers of their runs in a round."""


class Rounds:
    """The runs of several rounds, in the order of their cells and, within a cell, of their seeds. They are `Requested`."""

    def __init__(self) -> None:
        self._rounds: list[PreparedSweep] = []
        self._places: list[tuple[int, int, int]] = []
        """Cell, round, and position in it, of each run."""

    def add(self, jobs: PreparedSweep, cells: Iterable[int]) -> None:
        """Adds the runs of a round, which are of these cells."""
        self._places += [(cell, len(self._rounds), i) for i, cell in enumerate(cells)]
        self._places.sort()
        self._rounds.append(jobs)

    def __len__(self) -> int:
        return len(self._places)

    def key(self, position: int) -> str:
        """See `Requested`."""
        jobs, place = self._at(position)
        return jobs.key(place)

    def asked(self, position: int) -> tuple[str, dict[str, Any]]:
        """See `Requested`."""
        jobs, place = self._at(position)
        return jobs.asked(place)

    def _at(self, position: int) -> tuple[PreparedSweep, int]:
        _, number, place = self._places[position]
        return self._rounds[number], place


@dataclass(frozen=True)
class Repeated:
    """All runs of a scenario with `until`."""

    jobs: Rounds
    outcome: Outcome
    rule: Rule
    verdicts: Sequence[Verdict]
    """By cell."""


@dataclass(frozen=True)
class Asked:
    """The runs of a cell, as far as the stored results decide."""

    cell: int
    least: int
    """Number of runs that are asked for by now."""
    most: int
    """Maximum number of runs that may be asked for, once the missing ones are there."""
    missing: int
    """Number of the `least` runs that are not stored."""


@dataclass
class _Cell:
    """The runs of a cell until its last verdict."""

    taken: int = 0
    runs: list[Outline] = field(default_factory=list)
    verdict: Verdict | None = None


def repeat_until(
    scenario: Scenario,
    store: Store | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    allowed: Allowed = NOTHING,
    most_runs: int | None = None,
) -> Repeated:
    """Runs what `until` of a scenario asks for. Raises as `execute_each` and `PreparedSweep` do; the same call goes on from there."""
    rule, cells = Rule.of(scenario), [_Cell() for _ in range(scenario.cell_count)]
    at_hand: dict[str, Run] = {}
    damaged: dict[str, DamagedRun] = {}
    jobs, ran = Rounds(), 0
    before = now = ProgressState()

    def tell(state: ProgressState) -> None:
        nonlocal now
        now = state
        if progress is not None:
            progress(before + state)

    while chosen := _round(cells, rule):
        sweep = PreparedSweep(scenario, most_runs, chosen)
        if store is not None and sweep.functions:
            raise BadInput(not_storable(sweep.functions))
        try:
            outcome = execute_each(sweep, store, executor, tell, allowed=allowed)
        except Interrupted:
            raise interrupted_at(store, "" if store is None else str(len(jobs) + count_stored(sweep, store))) from None
        ran += outcome.ran
        _judge(cells, rule, chosen, _runs(sweep, chosen, outcome, rule))
        at_hand |= outcome.at_hand
        damaged |= outcome.damaged
        jobs.add(sweep, _cells_of(chosen))
        before = before + replace(now, running=())
        now = ProgressState()
    return Repeated(jobs, Outcome(jobs, store, at_hand, damaged, ran), rule, [cell.verdict for cell in cells if cell.verdict is not None])


def asked_so_far(scenario: Scenario, store: Store, wanted: Iterable[int], most_runs: int | None = None) -> Iterator[Asked]:
    """Yield the runs that the stored results of these cells ask for. Raises as `PreparedSweep` does."""
    rule, cells = Rule.of(scenario), {cell: _Cell() for cell in wanted}
    lacked: dict[int, int] = {}
    waiting = dict(cells)
    while chosen := _round(waiting, rule):
        sweep = PreparedSweep(scenario, most_runs, chosen)
        lacking = set(store.missing(map(sweep.key, range(len(sweep)))))
        places = zip(_cells_of(chosen), map(sweep.key, range(len(sweep))), strict=True)
        for number, listed in groupby(places, itemgetter(0)):
            if missing := sum(key in lacking for _, key in listed):
                lacked[number] = missing
                del waiting[number]
        for number, numbers in chosen:
            cells[number].taken = numbers.stop
        there = [(number, numbers) for number, numbers in chosen if number in waiting]
        _judge(waiting, rule, there, _stored(sweep, chosen, store, waiting, rule))
    for number, cell in cells.items():
        yield Asked(number, cell.taken, rule.most if number in lacked else cell.taken, lacked.get(number, 0))


def _round(cells: Sequence[_Cell] | Mapping[int, _Cell], rule: Rule) -> Repeats:
    """The next runs of those cells that are not known well enough."""
    numbered = cells.items() if isinstance(cells, Mapping) else enumerate(cells)
    more = [(i, cell, rule.least if cell.verdict is None else cell.verdict.more) for i, cell in numbered]
    return [(i, range(cell.taken, cell.taken + count)) for i, cell, count in more if count]


def _cells_of(chosen: Repeats) -> Iterator[int]:
    """The cell of each run of a round."""
    return (cell for cell, numbers in chosen for _ in numbers)


def _judge(cells: Sequence[_Cell] | Mapping[int, _Cell], rule: Rule, chosen: Repeats, runs: Iterable[tuple[int, Outline]]) -> None:
    """Takes the runs of a round, which come cell by cell, and gives each cell its verdict. Cells that are done keep no runs."""
    found = groupby(runs, itemgetter(0))
    number, listed = next(found, (-1, iter(())))
    for i, numbers in chosen:
        cell = cells[i]
        if number == i:
            cell.runs += [outline for _, outline in listed]
            number, listed = next(found, (-1, iter(())))
        cell.taken = numbers.stop
        cell.verdict = rule.judge(cell.runs, cell.taken)
        if not cell.verdict.more:
            cell.runs.clear()


def _runs(sweep: PreparedSweep, chosen: Repeats, outcome: Outcome, rule: Rule) -> Iterator[tuple[int, Outline]]:
    """The runs of a round with their cells; those that are damaged are left out."""
    places = zip(_cells_of(chosen), map(sweep.key, range(len(sweep))), strict=True)
    for run in outcome:
        cell = next(cell for cell, key in places if key == run.key)
        try:
            yield cell, rule.outline(run)
        except DamagedRun as damage:
            leave_out(damage)


def _stored(sweep: PreparedSweep, chosen: Repeats, store: Store, wanted: Collection[int], rule: Rule) -> Iterator[tuple[int, Outline]]:
    """Return the stored runs of a round that belong to these cells. A damaged run is left out; its reader will get a warning."""
    for i, cell in enumerate(_cells_of(chosen)):
        if cell in wanted:
            try:
                yield cell, rule.outline(store.get(sweep.key(i)))
            except DamagedRun:
                continue
