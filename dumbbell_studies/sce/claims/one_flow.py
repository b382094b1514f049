"""The draft's claims about one flow. Each is decided by a small function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dumbbell import metrics
from dumbbell.study.claims import MissingRunError, Outcome
from dumbbell_studies.sce import reductions

if TYPE_CHECKING:
    from dumbbell.results import Run

_SIGNALS = ("dropped_overflow", "dropped_aqm", "ce_marks")
"""The counters of a port that a classic sender answers to."""
LONG_S = 300.0
"""Duration of the draft's runs."""


class Cells:
    """The numbers of the one-flow runs that claims use. All are medians over seeds."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._values = {key: float(np.median(values)) for key, values in reductions.one_flow(runs).items()}
        self._runs: dict[tuple[str, float, float], list[Run]] = {}
        for run in runs:
            cell = reductions.cell_of(run)
            if cell is not None:
                self._runs.setdefault(cell, []).append(run)

    def value(self, cc: str, bandwidth: float, delay: float, metric: str) -> float:
        """Throughput (Mbit/s) or RTT (ms) of a cell."""
        try:
            return self._values[(cc, bandwidth, delay), metric]
        except KeyError:
            raise MissingRunError(f"no run of {cc} at {bandwidth:g} Mbit/s, {delay:g} ms") from None

    def gain(self, cc_a: str, cc_b: str, bandwidth: float, delay: float) -> float:
        """Throughput of cc_a minus throughput of cc_b, over the bandwidth."""
        return (
            self.value(cc_a, bandwidth, delay, reductions.THROUGHPUT) - self.value(cc_b, bandwidth, delay, reductions.THROUGHPUT)
        ) / bandwidth

    def saving(self, cc_a: str, cc_b: str, bandwidth: float, delay: float) -> float:
        """RTT of cc_b minus RTT of cc_a, ms."""
        return self.value(cc_b, bandwidth, delay, reductions.RTT) - self.value(cc_a, bandwidth, delay, reductions.RTT)

    def signals(self, cc: str, bandwidth: float, delay: float) -> float:
        """Drops and CE marks of the bottleneck, mean over seeds."""
        if (cc, bandwidth, delay) not in self._runs:
            raise MissingRunError(f"no run of {cc} at {bandwidth:g} Mbit/s, {delay:g} ms")
        counters = [run.counters[reductions.BOTTLENECK] for run in self._runs[cc, bandwidth, delay]]
        return float(np.mean([sum(each.get(name, 0) for name in _SIGNALS) for each in counters]))

    def ramp(self, cc: str, bandwidth: float, delay: float) -> tuple[float, float]:
        """t_ramp (s) and the throughput (Mbit/s) after it.

        t_ramp is the first time at which the throughput over the next 5 s reaches 97 % of that over 270..300 s.
        """
        if (cc, bandwidth, delay) not in self._runs:
            raise MissingRunError(f"no run of {cc} at {bandwidth:g} Mbit/s, {delay:g} ms")
        found = []
        for run in self._runs[cc, bandwidth, delay]:
            received = run.series(reductions.flow_of(run), "rx_bytes")
            if received[0][-1] < LONG_S:
                raise MissingRunError(f"the run of {cc} at {bandwidth:g} Mbit/s, {delay:g} ms is shorter than {LONG_S:g} s")
            plateau = metrics.throughput_mbit(received, 270, LONG_S)
            starts = received[0][received[0] <= LONG_S - 5]
            t_ramp = next(float(t) for t in starts if metrics.throughput_mbit(received, t, t + 5) >= 0.97 * plateau)
            found.append((t_ramp, metrics.throughput_mbit(received, t_ramp, LONG_S)))
        times, rates = zip(*found, strict=True)
        return float(np.median(times)), float(np.median(rates))


_LONG = (10.0, 20.0, 40.0, 80.0, 160.0)
_FAST = tuple((bandwidth, delay) for bandwidth in (50.0, 100.0) for delay in (20.0, 40.0, 80.0, 160.0))
_GRID = tuple((bandwidth, delay) for bandwidth in reductions.BANDWIDTHS_MBIT for delay in reductions.DELAYS_MS)


def ramp_times(cells: Cells) -> Outcome:
    """S005+S006: how long DCTCP and DCTCP-SCE take to fill 100 Mbit/s, 160 ms."""
    plain, sce = cells.ramp("dctcp", 100, 160)[0], cells.ramp("dctcp-sce", 100, 160)[0]
    ratio = plain / sce if sce else math.inf
    holds = 180 <= plain <= 270 and 60 <= sce <= 105 and 2.0 <= ratio <= 3.8
    return Outcome(holds, f"dctcp {plain:.0f} s, dctcp-sce {sce:.0f} s, ratio {ratio:.2f}")


def plateau_rates(cells: Cells) -> Outcome:
    """S007+S008: throughput after the ramp."""
    plain, sce = cells.ramp("dctcp", 100, 160)[1], cells.ramp("dctcp-sce", 100, 160)[1]
    holds = 82 <= plain <= 92 and 92 <= sce <= 97 and 1.05 <= sce / plain <= 1.17
    return Outcome(holds, f"dctcp {plain:.1f}, dctcp-sce {sce:.1f} Mbit/s, ratio {sce / plain:.3f}")


def reno_gain_at_large_bdp(cells: Cells) -> Outcome:
    """S009: Reno-SCE uses large-BDP paths better than Reno, and its gain grows with the delay."""
    gains = {(b, d): cells.gain("reno-sce", "reno", b, d) for b in (25.0, 50.0, 100.0) for d in _LONG}
    trends = {b: metrics.rank_correlation(_LONG, [gains[b, d] for d in _LONG]) for b in (25.0, 50.0, 100.0)}
    least, top = min(gains, key=lambda cell: gains[cell]), gains[100.0, 160.0]
    holds = gains[least] > 0 and 0.15 <= top <= 0.40 and all(trend >= 0.9 for trend in trends.values())
    return Outcome(holds, f"least d {gains[least]:+.3f} at {_cell(least)}; d(100,160) {top:+.3f}; Spearman {_by_rate(trends)}")


def reno_deficit_at_low_rates(cells: Cells) -> Outcome:
    """S010: at low rates Reno-SCE leaves capacity unused."""
    rates = (0.5, 1.0, 2.0, 5.0, 10.0)
    worst = {b: min(cells.gain("reno-sce", "reno", b, d) for d in reductions.DELAYS_MS) for b in rates}
    trends = {b: _trend(cells, "reno-sce", "reno", b) for b in rates[:3]}
    behind = [(b, d) for b in rates for d in reductions.DELAYS_MS if cells.gain("reno-sce", "reno", b, d) < -0.05]
    slower = [cell for cell in behind if cells.saving("reno-sce", "reno", *cell) <= 0]
    holds = all(value <= -0.10 for value in worst.values()) and all(trend <= -0.8 for trend in trends.values()) and not slower
    return Outcome(holds, f"least d {_by_rate(worst)}; Spearman {_by_rate(trends)}; cells behind without lower RTT: {_cells(slower)}")


def reno_rtt_saving(cells: Cells) -> Outcome:
    """S011+S012: Reno-SCE's mean RTT is lower on most of the grid, most on slow and short paths."""
    saving = {(b, d): cells.saving("reno-sce", "reno", b, d) for b, d in _GRID}
    positive = sum(value > 0 for value in saving.values())
    rows = {b: float(np.mean([saving[b, d] for d in reductions.DELAYS_MS])) for b in reductions.BANDWIDTHS_MBIT}
    falling = all(rows[a] > rows[b] for a, b in zip((0.5, 1.0, 2.0, 5.0, 10.0), (1.0, 2.0, 5.0, 10.0, 25.0), strict=True))
    shorter = all(saving[b, 0.0] > saving[b, 160.0] for b in (0.5, 1.0, 2.0, 5.0, 10.0))
    holds = positive >= 0.75 * len(saving) and falling and shorter and all(rows[b] >= 10 for b in (0.5, 1.0, 2.0))
    return Outcome(
        holds, f"lower in {positive} of {len(saving)} cells; row means {_by_rate(rows, '.1f')} ms; e(0) > e(160) {_yes(shorter)}"
    )


def reno_rtt_on_fast_long_paths(cells: Cells) -> Outcome:
    """S013: on fast, long paths Reno-SCE queues very slightly more than Reno."""
    more = [-cells.saving("reno-sce", "reno", b, d) for b, d in _FAST]
    return Outcome(all(0 < value <= 2.0 for value in more), f"{min(more):+.2f} to {max(more):+.2f} ms over {len(more)} cells")


def dctcp_gain_at_large_bdp(cells: Cells) -> Outcome:
    """S014: DCTCP-SCE achieves more than DCTCP on large-BDP paths."""
    gains = {cell: cells.gain("dctcp-sce", "dctcp", *cell) for cell in _FAST}
    least = min(gains, key=lambda cell: gains[cell])
    long = min(value for (_, delay), value in gains.items() if delay >= 80)
    after = (cells.ramp("dctcp-sce", 100, 160)[1] - cells.ramp("dctcp", 100, 160)[1]) / 100
    holds = gains[least] > -0.005 and long >= 0.10 and 0.05 <= after <= 0.17
    return Outcome(
        holds, f"least d {gains[least]:+.3f} at {_cell(least)}; least d at 80 and 160 ms {long:+.3f}; after the ramp {after:+.3f}"
    )


def dctcp_deficit_at_low_rates(cells: Cells) -> Outcome:
    """S015: up to 25 Mbit/s DCTCP-SCE leaves capacity unused that DCTCP uses."""
    worst = {b: min(cells.gain("dctcp-sce", "dctcp", b, d) for d in reductions.DELAYS_MS) for b in (0.5, 1.0, 2.0, 5.0, 10.0, 25.0)}
    trends = {b: _trend(cells, "dctcp-sce", "dctcp", b) for b in (0.5, 1.0, 2.0, 5.0)}
    holds = all(value <= -0.10 for value in worst.values()) and all(trend <= -0.8 for trend in trends.values())
    return Outcome(holds, f"least d {_by_rate(worst)}; Spearman {_by_rate(trends)}")


def dctcp_rtt_saving(cells: Cells) -> Outcome:
    """S016: DCTCP-SCE lowers the mean RTT nearly everywhere."""
    lower = sum(cells.saving("dctcp-sce", "dctcp", b, d) > 0 for b, d in _GRID)
    return Outcome(lower >= 0.9 * len(_GRID), f"lower in {lower} of {len(_GRID)} cells")


def dctcp_rtt_at_largest_bdp(cells: Cells) -> Outcome:
    """S017: at the largest BDP the saving vanishes."""
    more = -cells.saving("dctcp-sce", "dctcp", 100, 160)
    return Outcome(abs(more) <= 0.5, f"{more:+.2f} ms")


def classic_signals_are_rare(cells: Cells) -> Outcome:
    """S031: where Reno-SCE gains most, it meets at most a tenth of Reno's drops and CE marks."""
    found = {cell: (cells.signals("reno", *cell), cells.signals("reno-sce", *cell)) for cell in _FAST}
    plain, sce = (sum(pair[which] for pair in found.values()) for which in (0, 1))
    most = max(pair[1] for pair in found.values())
    return Outcome(
        plain > 0 and sce <= 0.1 * plain,
        f"reno {plain:.0f}, reno-sce {sce:.0f} over {len(found)} cells; at most {most:.0f} in a run of 300 s",
    )


CHECKS: dict[str, Callable[[Cells], Outcome]] = {
    "S005+S006": ramp_times,
    "S007+S008": plateau_rates,
    "S009": reno_gain_at_large_bdp,
    "S010": reno_deficit_at_low_rates,
    "S011+S012": reno_rtt_saving,
    "S013": reno_rtt_on_fast_long_paths,
    "S014": dctcp_gain_at_large_bdp,
    "S015": dctcp_deficit_at_low_rates,
    "S016": dctcp_rtt_saving,
    "S017": dctcp_rtt_at_largest_bdp,
    "S031": classic_signals_are_rare,
}


def _trend(cells: Cells, cc_a: str, cc_b: str, bandwidth: float) -> float:
    return metrics.rank_correlation(reductions.DELAYS_MS, [cells.gain(cc_a, cc_b, bandwidth, d) for d in reductions.DELAYS_MS])


def _cell(cell: tuple[float, float]) -> str:
    return f"({cell[0]:g},{cell[1]:g})"


def _cells(cells: Iterable[tuple[float, float]]) -> str:
    return " ".join(map(_cell, cells)) or "none"


def _by_rate(values: dict[float, float], form: str = "+.2f") -> str:
    return ", ".join(f"{value:{form}} at {rate:g}" for rate, value in values.items())


def _yes(value: bool) -> str:
    return "yes" if value else "no"
