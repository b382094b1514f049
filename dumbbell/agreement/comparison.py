"""Runs the same scenarios on two engines and pairs the runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.agreement.measures import FORMAT, ONLY_WHERE, measured
from dumbbell.agreement.precision import means
from dumbbell.agreement.real_time import in_real_time
from dumbbell.comparing.difference import Difference, difference
from dumbbell.comparing.reference import ReferenceValue
from dumbbell.errors import BadInput, DumbbellError
from dumbbell.executor.progress_state import Progress, ProgressState
from dumbbell.files import SafeFolder, parse_json, write_within
from dumbbell.results import Store
from dumbbell.running.execute import execute
from dumbbell.running.prepare import prepare

if TYPE_CHECKING:
    from dumbbell.agreement.sets import ScenarioSet
    from dumbbell.comparing.format import Measured
    from dumbbell.engines.prepared import Prepared
    from dumbbell.executor import Executor
    from dumbbell.results import Run

_REFERENCE = "reference.json"
"""File in the folder of a comparison: a hash of the keys of the reference runs, and the date of the latest of them."""


@dataclass(frozen=True)
class Comparison:
    """The runs of two engines, for the same scenarios and seeds in the same order."""

    scenario_set: ScenarioSet
    engines: tuple[str, str]
    """The reference first."""
    reference: tuple[Run, ...]
    ours: tuple[Run, ...]
    date: str
    """Date of the reference runs, YYYY-MM-DD, UTC."""
    further: tuple[Run, ...] = ()
    """Our runs from starts that the reference does not have."""

    @property
    def pairs(self) -> list[tuple[Run, Run]]:
        """(reference, dumbbell) for each run that is valid on both engines."""
        return [pair for pair in zip(self.reference, self.ours, strict=True) if "invalid" not in (pair[0].status, pair[1].status)]

    @property
    def invalid(self) -> list[Run]:
        """The invalid runs of both engines."""
        return [run for run in (*self.reference, *self.ours, *self.further) if run.status == "invalid"]

    @property
    def in_real_time(self) -> list[str]:
        """The engines whose runs are not the same twice, and whose samples are taken when they could be."""
        return in_real_time(self.engines)

    @cached_property
    def values(self) -> tuple[Measured, Measured]:
        """The values of the reference's runs and of dumbbell's, in the order of `pairs`; dumbbell's go on with those of `further`."""
        further = [run for run in self.further if run.status != "invalid"]
        return measured([pair[0] for pair in self.pairs]), measured([*(pair[1] for pair in self.pairs), *further])

    def difference(self) -> Difference:
        """Every metric of every scenario: its centre over the seeds, with the reference's range over its seeds."""
        reference, ours = self.values
        return difference(ours, _values(reference, ours), FORMAT)


def compare(
    scenario_set: ScenarioSet,
    engines: tuple[str, str],
    folder: Path,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Run a set of scenarios on both engines, the reference first; runs stored in `folder`/ENGINE are reused.

    With `scenario_set.precision` a scenario with several starts has further ones, see there.

    Raises `BadInput` if the folder has other contents, and what `prepare` and `execute` raise.
    """
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: is a file; expected a folder, or a path at which one can be made")
    if folder.is_dir() and any(folder.iterdir()) and not any((folder / name).is_dir() for name in engines):
        raise BadInput(f"{folder}: holds other files; expected an empty folder or one written by dumbbell agree")
    starts = [range(scenario.least_repeats) for scenario in scenario_set.scenarios]
    before, now = ProgressState(), ProgressState()

    def prepared(engine: str, wanted: Sequence[range]) -> list[Prepared]:
        asked = zip(scenario_set.scenarios, wanted, strict=True)
        return prepare([run.on(engine) for scenario, numbers in asked for run in scenario.repeats([(0, numbers)])])

    def run_on(engine: str, on: Sequence[Prepared], wanted: Sequence[range], rest: ProgressState) -> list[list[Run]]:
        """The runs of each scenario, from the starts that are wanted of it."""
        nonlocal before, now

        def tell(state: ProgressState) -> None:
            nonlocal now
            now = state
            if progress is not None:
                progress(before + state + rest)

        done = execute(on, Store(SafeFolder(folder).below(engine)), executor, tell)
        if done.damaged:
            what = f"{len(done.damaged)} of its runs are damaged, so that runs cannot be paired"
            raise DumbbellError(f"{folder / engine}: {what}; expected whole runs (`dumbbell check --repair {folder / engine}`)")
        before, now = before + replace(now, running=()), ProgressState()
        runs = iter(done.runs)
        return [list(islice(runs, len(numbers))) for numbers in wanted]

    on = {engine: prepared(engine, starts) for engine in engines}
    ahead = ProgressState(total=len(on[engines[1]]), cost_total=sum(run.cpu_s for run in on[engines[1]]))
    reference = run_on(engines[0], on[engines[0]], starts, ahead)
    if (precision := scenario_set.precision) is not None:
        known = [list(map(means, runs)) for runs in reference]
        while any(more := precision.further(known)):
            for i, found in enumerate(run_on(engines[0], prepared(engines[0], more), more, ahead)):
                reference[i] += found
                known[i] += map(means, found)
    counts = [len(runs) for runs in reference]
    wanted = [range(count if precision is None else precision.our_starts(count)) for count in counts]
    ours = run_on(engines[1], on[engines[1]] if wanted == starts else prepared(engines[1], wanted), wanted, ProgressState())
    paired = chain.from_iterable(runs[:count] for runs, count in zip(ours, counts, strict=True))
    further = chain.from_iterable(runs[count:] for runs, count in zip(ours, counts, strict=True))
    reference_runs = tuple(chain.from_iterable(reference))
    return Comparison(scenario_set, engines, reference_runs, tuple(paired), _dated(folder, reference_runs), tuple(further))


def _dated(folder: Path, runs: Sequence[Run]) -> str:
    """The date of the reference runs from the folder's file; today, which is then written there, if that file is for other runs."""
    keys = sha256("".join(run.key for run in runs).encode()).hexdigest()
    try:
        noted = parse_json(SafeFolder(folder).read(_REFERENCE))
        if noted["keys"] == keys:
            return str(noted["date"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # missing or not readable: rewritten
    today = datetime.now(UTC).date().isoformat()
    write_within(folder, _REFERENCE, json.dumps({"date": today, "keys": keys}, indent=1) + "\n")
    return today


def _values(reference: Measured, ours: Measured) -> list[ReferenceValue]:
    """The reference's centres and ranges, of those metrics that are compared."""
    found = []
    for (key, metric), values in reference.items():
        finite = [value for value in values if np.isfinite(value)]
        if metric not in FORMAT.metrics or not finite:
            continue
        condition = ONLY_WHERE.get(metric)
        if condition is not None and not any(reference[key, condition] + ours.get((key, condition), [])):
            continue
        spread = (min(finite), max(finite)) if len(finite) > 1 else None
        found.append(ReferenceValue(key, metric, float(FORMAT.metrics[metric].centre(finite)), 0, spread))
    return found
