"""The draft's claim about the ramp of SCE marks. It concerns the queue only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.study.claims import MissingRunError, Outcome
from dumbbell_studies.sce.marking import DEFAULT, SINGLE, TARGET_MS, departures_of

if TYPE_CHECKING:
    from dumbbell.metrics import Array
    from dumbbell.results import Run


class Ramps:
    """Departures of packets from the queue, by ramp."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._departures: dict[str, list[tuple[Array, Array]]] = {}
        for run in runs:
            found = departures_of(run)
            if found is not None:
                self._departures.setdefault(found[0], []).append(found[1])

    def marked(self, ramp: str, low: float, high: float) -> float:
        """Share of marked packets among the departures whose sojourn time is in (low, high], in units of the target."""
        repeats = self._departures.get(ramp)
        if repeats is None:
            raise MissingRunError(f"no run of the ramp {ramp}")
        sojourn_ms, marks = (np.concatenate(parts) for parts in zip(*repeats, strict=True))
        inside = (sojourn_ms > low * TARGET_MS) & (sojourn_ms <= high * TARGET_MS)
        if not inside.any():
            raise MissingRunError(f"ramp {ramp}: no departure with a sojourn time of {low:g} to {high:g} targets")
        return float(marks[inside].mean())


def default_ramp(ramps: Ramps) -> Outcome:
    """S023: marking begins at half the target and reaches 1 at the target."""
    return _ramp(ramps, DEFAULT, 0.5)


def single_ramp(ramps: Ramps) -> Outcome:
    """S024: with sce-single marking begins at the target, with the slope of the default ramp. The code has half of it."""
    return _ramp(ramps, SINGLE, 1.0)


def _ramp(ramps: Ramps, keyword: str, begins: float) -> Outcome:
    """Check a ramp that rises from 0 to 1 within half a target. `begins`: where it begins, in targets."""
    half, full = begins + 0.25, begins + 0.5
    least, middle, most = (
        ramps.marked(keyword, -1, begins),
        ramps.marked(keyword, half - 0.05, half + 0.05),
        ramps.marked(keyword, full, np.inf),
    )
    holds = least == 0 and abs(middle - 0.5) <= 0.1 and most >= 0.99
    return Outcome(holds, f"{least:.3f} to {begins:g}T, {middle:.3f} at {half:g}T, {most:.3f} from {full:g}T")


CHECKS: Mapping[str, Callable[[Ramps], Outcome]] = {"S023": default_ramp, "S024": single_ramp}
