"""The same scenarios on two engines: running them, and setting the runs side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.agreement.measures import FORMAT, ONLY_WHERE, measured
from dumbbell.comparing.difference import Difference, difference
from dumbbell.comparing.reference import ReferenceValue
from dumbbell.engines.execute import Progress, execute
from dumbbell.engines.prepared import prepare
from dumbbell.errors import BadInput
from dumbbell.executor.standing import Standing
from dumbbell.files import write_text
from dumbbell.results import Store

if TYPE_CHECKING:
    from dumbbell.agreement.sets import ScenarioSet
    from dumbbell.comparing.format import Measured
    from dumbbell.executor import Executor
    from dumbbell.results import Run

_REFERENCE = "reference.json"
"""In the folder of a comparison: a hash of its reference runs, and the day on which the last of them was made."""


@dataclass(frozen=True)
class Comparison:
    """The runs of two engines: the same scenarios and seeds, in the same order."""

    asked: ScenarioSet
    engines: tuple[str, str]
    """The reference first."""
    reference: tuple[Run, ...]
    ours: tuple[Run, ...]
    date: str
    """Of the reference set, YYYY-MM-DD, UTC."""

    @property
    def pairs(self) -> list[tuple[Run, Run]]:
        """(reference, ours) of those runs that are valid on both engines."""
        return [pair for pair in zip(self.reference, self.ours, strict=True) if "invalid" not in (pair[0].status, pair[1].status)]

    @property
    def invalid(self) -> list[Run]:
        """The runs of either engine that failed its checks."""
        return [run for run in (*self.reference, *self.ours) if run.status == "invalid"]

    def difference(self) -> Difference:
        """Every metric of every scenario: its centre over the starts, and the reference's range over them."""
        reference, ours = (measured([pair[side] for pair in self.pairs]) for side in (0, 1))
        return difference(ours, _values(reference, ours), FORMAT)


def compare(
    asked: ScenarioSet,
    engines: tuple[str, str],
    folder: Path,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Run a set on both engines, the reference first; what `folder`/ENGINE holds already is not run again.

    Raises `BadInput` if the folder is of something else, and as `prepare` and `execute` do.
    """
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: is a file; expected a folder, or a path at which one can be made")
    if folder.is_dir() and any(folder.iterdir()) and not any((folder / name).is_dir() for name in engines):
        raise BadInput(f"{folder}: holds other files; expected an empty folder or one written by dumbbell agree")
    runs = [run for scenario in asked.scenarios for run in scenario.expand()]

    on = {engine: prepare([run.on(engine) for run in runs]) for engine in engines}
    told = Standing()

    def run_on(engine: str, rest: Standing) -> tuple[Run, ...]:
        def tell(standing: Standing) -> None:
            nonlocal told
            told = standing
            if progress is not None:
                progress(standing + rest)

        return tuple(execute(on[engine], Store(folder / engine), executor, tell))

    reference = run_on(engines[0], Standing(total=len(runs), cost_total=sum(run.cpu_s for run in on[engines[1]])))
    date = _dated(folder, reference)
    return Comparison(asked, engines, reference, run_on(engines[1], told), date)


def _dated(folder: Path, runs: Sequence[Run]) -> str:
    """The day on which the reference runs were made: as the folder notes it; today, which is then noted, if its note is of others."""
    keys = sha256("".join(run.key for run in runs).encode()).hexdigest()
    path = folder / _REFERENCE
    try:
        noted = json.loads(path.read_text(encoding="utf-8"))
        if noted["keys"] == keys:
            return str(noted["date"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # none yet, or none of ours
    today = datetime.now(UTC).date().isoformat()
    write_text(path, json.dumps({"date": today, "keys": keys}, indent=1) + "\n")
    return today


def _values(reference: Measured, ours: Measured) -> list[ReferenceValue]:
    """The reference's centres and ranges, of what is to be compared."""
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
