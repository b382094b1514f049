"""The draft's claims about two flows. Each is decided by a small function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.study.claims import MissingRunError, Outcome
from dumbbell_studies.sce import pairs
from dumbbell_studies.sce.reductions import GridPoint

if TYPE_CHECKING:
    from dumbbell.results import Run

GRID: tuple[GridPoint, ...] = tuple((bandwidth, delay) for bandwidth in pairs.BANDWIDTHS_MBIT for delay in pairs.DELAYS_MS)
DEFAULT, SINGLE, ISOLATED = pairs.QUEUE_MODES


class PairCells:
    """The numbers of the two-flow runs that claims use. All are medians over seeds."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._repeats = pairs.pair_runs(runs)

    def jain(self, mode: str, ccs: tuple[str, str]) -> dict[GridPoint, float]:
        """Jain's index at each grid point."""
        return self._grid(mode, ccs, lambda run: run.jain)

    def share(self, mode: str, ccs: tuple[str, str], cc: str) -> dict[GridPoint, float]:
        """Share of the flow with congestion control `cc` at each grid point."""
        return self._grid(mode, ccs, lambda run: run.shares[ccs.index(cc)])

    def rtt_ms(self, mode: str, ccs: tuple[str, str]) -> dict[GridPoint, float]:
        """Mean of the two flows' RTTs at each grid point."""
        return self._grid(mode, ccs, lambda run: sum(run.rtt_ms) / 2)

    def reductions(self, mode: str, ccs: tuple[str, str], cc: str) -> dict[GridPoint, float]:
        """Window reductions of the flow with congestion control `cc` because of CE or loss, at each grid point."""
        return self._grid(mode, ccs, lambda run: run.cwnd_reductions[ccs.index(cc)])

    def _grid(self, mode: str, ccs: tuple[str, str], of: Callable[[pairs.PairRun], float]) -> dict[GridPoint, float]:
        found = {}
        for point in GRID:
            repeats = self._repeats.get(pairs.PairCell(mode, *ccs, *point))
            if repeats is None:
                raise MissingRunError(f"no run of {ccs[0]} and {ccs[1]}, {mode}, at {point[0]:g} Mbit/s, {point[1]:g} ms")
            found[point] = float(np.median([of(run) for run in repeats]))
        return found


_SMALL_BDP: tuple[GridPoint, ...] = ((1.0, 0.0), (1.0, 10.0), (1.0, 20.0), (5.0, 0.0), (10.0, 0.0))
"""Grid points at ccs, according to the draft, Reno-SCE and DCTCP-SCE share acceptably with the default ramp."""
_DIP: tuple[GridPoint, ...] = ((5.0, 80.0), (10.0, 80.0))
"""Grid points at ccs, according to the draft, an SCE flow cannot use its share."""


def reno_with_reno(cells: PairCells) -> Outcome:
    """S018: two Reno flows share one queue."""
    least = _least(cells.jain(DEFAULT, ("reno", "reno")))
    return Outcome(least[1] >= 0.98, f"least index {_at(least)}")


def reno_with_reno_sce(cells: PairCells) -> Outcome:
    """S019: with the default ramp Reno-SCE shares with Reno at small BDP only, and is not starved."""
    index = cells.jain(DEFAULT, ("reno", "reno-sce"))
    small = _least({point: index[point] for point in _SMALL_BDP})
    unequal = sum(value <= 0.80 for value in index.values())
    shares = cells.share(DEFAULT, ("reno", "reno-sce"), "reno-sce")
    starved = _least({point: min(share, 1 - share) for point, share in shares.items()})
    holds = small[1] >= 0.90 and unequal >= 10 and starved[1] >= 0.03
    return Outcome(holds, f"least index at small BDP {_at(small)}; <= 0.80 in {unequal} of 20 cells; smallest share {_at(starved)}")


def reno_sce_yields(cells: PairCells) -> Outcome:
    """S020: the SCE sender yields to early marks while the other waits for CE."""
    ccs = ("reno", "reno-sce")
    greatest = _greatest(cells.share(DEFAULT, ccs, "reno-sce"))
    index = cells.jain(DEFAULT, ccs)
    sce, plain = (cells.reductions(DEFAULT, ccs, cc) for cc in ("reno-sce", "reno"))
    unequal = [point for point in GRID if index[point] < 0.8]
    more = [point for point in unequal if sce[point] > 0.5 * plain[point]]
    text = f"greatest share {_at(greatest)}; reductions more than half of Reno's in {len(more)} of {len(unequal)} unequal cells"
    return Outcome(greatest[1] < 0.5 and not more, text)


def dctcp_over_cubic(cells: PairCells) -> Outcome:
    """S021: DCTCP takes more than CUBIC."""
    share = cells.share(DEFAULT, ("cubic", "dctcp"), "dctcp")
    above = sum(value > 0.5 for value in share.values())
    fast = _least({point: value for point, value in share.items() if point[0] >= 10 and point[1] <= 20})
    return Outcome(above >= 18 and fast[1] >= 0.55, f"share over 0.5 in {above} of 20 cells; least from 10 Mbit/s to 20 ms {_at(fast)}")


def cubic_with_dctcp_sce(cells: PairCells) -> Outcome:
    """S022: with the default ramp DCTCP-SCE loses ground to CUBIC as the BDP rises."""
    index = cells.jain(DEFAULT, ("cubic", "dctcp-sce"))
    small = _least({point: index[point] for point in _SMALL_BDP})
    fast = _greatest({point: value for point, value in index.items() if point[0] >= 50})
    shares = cells.share(DEFAULT, ("cubic", "dctcp-sce"), "dctcp-sce")
    least, most = _least(shares), _greatest(shares)
    holds = small[1] >= 0.90 and fast[1] <= 0.70 and least[1] >= 0.03 and most[1] < 0.5
    text = f"least index at small BDP {_at(small)}; greatest from 50 Mbit/s {_at(fast)}; share from {_at(least)} to {_at(most)}"
    return Outcome(holds, text)


def later_ramp_for_reno_sce(cells: PairCells) -> Outcome:
    """S026: the later ramp restores most of the fairness between Reno and Reno-SCE."""
    single, default = (cells.jain(mode, ("reno", "reno-sce")) for mode in (SINGLE, DEFAULT))
    better, gain = _gain(single, default)
    fair = sum(value >= 0.90 for value in single.values())
    holds = better >= 18 and gain >= 0.10 and fair >= 15
    return Outcome(holds, f"better in {better} of 20 cells, by {gain:+.3f} in the mean; >= 0.90 in {fair}")


def later_ramp_for_dctcp_sce(cells: PairCells) -> Outcome:
    """S027: it also helps CUBIC against DCTCP-SCE, yet several cells stay unfair."""
    single, default = (cells.jain(mode, ("cubic", "dctcp-sce")) for mode in (SINGLE, DEFAULT))
    better, gain = _gain(single, default)
    unfair = sum(value < 0.80 for value in single.values())
    holds = better >= 16 and 0.08 <= gain <= 0.22 and unfair >= 4
    return Outcome(holds, f"better in {better} of 20 cells, by {gain:+.3f} in the mean; < 0.80 in {unfair}")


def isolation(cells: PairCells) -> Outcome:
    """S029+S030: with per-flow queueing CUBIC or DCTCP shares equally with DCTCP-SCE, except for a dip."""
    index = {cc: cells.jain(ISOLATED, (cc, "dctcp-sce")) for cc in ("cubic", "dctcp")}
    share = {cc: cells.share(ISOLATED, (cc, "dctcp-sce"), "dctcp-sce") for cc in index}
    level = {cc: _least({point: value for point, value in found.items() if point not in _DIP}) for cc, found in index.items()}
    dip = {cc: [found[point] for point in _DIP] for cc, found in index.items()}
    apart = _greatest({point: abs(index["cubic"][point] - index["dctcp"][point]) for point in GRID})
    holds = (
        all(least >= 0.88 for _, least in level.values())
        and all(0.58 <= value <= 0.85 for values in dip.values() for value in values)
        and all(share[cc][point] < 0.5 for cc in index for point in _DIP)
        and apart[1] <= 0.08
    )
    text = "; ".join(f"{cc}: least {_at(level[cc])}, dip {dip[cc][0]:.3f} and {dip[cc][1]:.3f}" for cc in index)
    return Outcome(holds, f"{text}; furthest apart {_at(apart)}")


def later_marks_delay(cells: PairCells) -> Outcome:
    """SX1: marking later costs queueing delay."""
    found, holds = [], True
    for cc in ("reno-sce", "dctcp-sce"):
        single, default = (cells.rtt_ms(mode, (cc, cc)) for mode in (SINGLE, DEFAULT))
        longer, increase = _gain(single, default)
        holds = holds and longer >= 17 and 3 <= increase <= 15
        found.append(f"{cc}: longer in {longer} of 20 cells, by {increase:+.1f} ms in the mean")
    return Outcome(holds, "; ".join(found))


CHECKS: Mapping[str, Callable[[PairCells], Outcome]] = {
    "S018": reno_with_reno,
    "S019": reno_with_reno_sce,
    "S020": reno_sce_yields,
    "S021": dctcp_over_cubic,
    "S022": cubic_with_dctcp_sce,
    "S026": later_ramp_for_reno_sce,
    "S027": later_ramp_for_dctcp_sce,
    "S029+S030": isolation,
    "SX1": later_marks_delay,
}


def _gain(values: Mapping[GridPoint, float], base: Mapping[GridPoint, float]) -> tuple[int, float]:
    """Number of grid points with a value greater than the base, and the mean difference."""
    differences = [values[point] - base[point] for point in GRID]
    return sum(difference > 0 for difference in differences), float(np.mean(differences))


def _least(values: Mapping[GridPoint, float]) -> tuple[GridPoint, float]:
    return min(values.items(), key=lambda item: item[1])


def _greatest(values: Mapping[GridPoint, float]) -> tuple[GridPoint, float]:
    return max(values.items(), key=lambda item: item[1])


def _at(found: tuple[GridPoint, float]) -> str:
    (bandwidth, delay), value = found
    return f"{value:.3f} at ({bandwidth:g},{delay:g})"
