"""Metrics over a part of a run: a warm-up is left out, or only a stretch of the run counts.

A metric of a window is made of the samples in it, and a total of the difference between the last samples at or before the two ends. Where a
flow begins or ends within the window, its start and its end, with all that it has received, stand for samples. A metric that no series
tells (shares of limits, MOS, slowdowns, the account of a program) is not known for a window; only the whole run has it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dumbbell import metrics
from dumbbell.errors import BadInput
from dumbbell.metrics.window import at
from dumbbell.results.received import end_to_end
from dumbbell.scenario.units import Duration

_NS = metrics.NS_PER_S


class Sampled(Protocol):
    """A run, as far as windows look at it."""

    @property
    def scenario(self) -> Mapping[str, Any]:
        """The resolved scenario as plain data."""

    @property
    def plan(self) -> Mapping[str, Any] | None:
        """The plan that the engine was given."""

    @property
    def counters(self) -> Mapping[str, Mapping[str, int]]:
        """The integer columns of the tables by entity."""

    @property
    def groups(self) -> Any:
        """The table of groups."""

    def all_series(self, *names: str) -> dict[tuple[str, str], metrics.Series]:
        """These series of all entities that have samples."""


@dataclass(frozen=True)
class Window:
    """A part of a run, s. Both ends belong to it."""

    start_s: float = 0.0
    stop_s: float = math.inf

    @property
    def is_whole(self) -> bool:
        """True if it is the whole run."""
        return self.start_s <= 0 and math.isinf(self.stop_s)

    @property
    def words(self) -> str:
        """The window in words, for heads of tables and figures; empty for the whole run."""
        if self.is_whole:
            return ""
        return f"from {self.start_s:g} s" + ("" if math.isinf(self.stop_s) else f" to {self.stop_s:g} s")

    def within(self, duration_s: float) -> Window:
        """The window, ended by the end of a run."""
        return Window(self.start_s, min(self.stop_s, duration_s))


WHOLE = Window()


def window_of(from_: str | float | None, until: str | float | None, names: tuple[str, str] = ("--from", "--until")) -> Window:
    """The window that somebody asks for: durations such as `40s`, or seconds. Raises `BadInput` for others, and for an empty window."""
    ends = []
    for name, value, default in zip(names, (from_, until), (0.0, math.inf), strict=True):
        try:
            ends.append(default if value is None else _seconds(value))
        except ValueError as error:
            raise BadInput(f"{name} {value}: {error}; expected a time such as 40s") from None
    if ends[1] <= ends[0]:
        raise BadInput(f"{names[1]} {until} is not after {names[0]} {from_ or 0}; expected a later time")
    return Window(*ends)


def moment_of(value: str | float, name: str) -> float:
    """Return a time of a run in s: a duration such as `40s`, or seconds; 0 is the start. Raises `BadInput` for others."""
    try:
        return _seconds(value)
    except ValueError as error:
        raise BadInput(f"{name} {value}: {error}; expected a time such as 40s") from None


def _seconds(value: str | float) -> float:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return int(Duration.parse(value)) / _NS
    if not 0 <= value < math.inf:
        raise ValueError("is no time")
    return float(value)


def measured_window(run: Sampled) -> Window:
    """The window that the scenario of a run says (`measure`); the whole run without it."""
    asked = run.scenario.get("measure")
    if not isinstance(asked, Mapping):
        return WHOLE
    begin, end = (None if asked.get(key) is None else str(asked[key]) for key in ("from", "until"))
    return window_of(begin, end, names=("measure.from", "measure.until"))


class Counter:
    """A total over time, of a flow with a start and an end or of something that exists for the whole run."""

    def __init__(self, series: metrics.Series | None, start_s: float = 0.0, end_s: float = math.inf, total: float | None = None) -> None:
        self._series = None
        if series is not None and len(series[0]):
            whole = end_to_end(series, start_s, end_s, None if total is None else int(total)) if math.isfinite(end_s) else series
            self._series = whole

    def between(self, start_s: float, stop_s: float) -> float:
        """Return the amount added between two times; NaN without a series."""
        if self._series is None:
            return math.nan
        return self._at(stop_s) - self._at(start_s)

    def rate(self, start_s: float, stop_s: float) -> float:
        """The mean rate, a second, between the samples that stand for the two ends; NaN without time between these."""
        if self._series is None:
            return math.nan
        (t0, value0), (t1, value1) = self._sample(start_s), self._sample(stop_s)
        return (value1 - value0) / (t1 - t0) if t1 > t0 else math.nan

    def _at(self, t_s: float) -> float:
        return self._sample(t_s)[1]

    def _sample(self, t_s: float) -> tuple[float, float]:
        assert self._series is not None
        # Half a nanosecond: edges are sums of floats, samples whole nanoseconds.
        first = float(self._series[0][0])
        return at(self._series, t_s + 5e-10) if t_s + 5e-10 >= first else (t_s, 0.0)


class Counters:
    """The totals of a run over time, by entity and series."""

    def __init__(self, run: Sampled) -> None:
        self.run = run
        self.duration_s = (run.plan or {}).get("duration_ns", 0) / _NS
        names = ("rx_bytes", "retransmits", "delivered", "delivered_ce", "drops", "ce_marks", "sent_bytes", "sent_packets", "lost")
        self.samples = ("srtt_ms", "cwnd", "latency_ms", "owd_ms", "owd_back_ms", "rtt_ms", "jitter_ms", "backlog_bytes", "sojourn_ms")
        self.series = run.all_series(*names, *self.samples)
        if not self.duration_s:
            self.duration_s = max((float(t_s[-1]) for t_s, _ in self.series.values() if len(t_s)), default=0.0)

    def life_s(self, entity: str) -> tuple[float, float]:
        """Start and end of a flow."""
        counters = self.run.counters[entity]
        start = counters.get("start_ns", 0)
        return start / _NS, (start + counters["active_ns"]) / _NS

    def of_flow(self, entity: str, name: str) -> Counter:
        """A total of a flow."""
        start_s, end_s = self.life_s(entity)
        total = self.run.counters[entity].get(name)
        series = self.series.get((entity, name))
        if series is not None and len(series[0]):
            end_s = max(end_s, float(series[0][-1]))  # what is under way when a flow is stopped arrives later
        return Counter(series, start_s, end_s, total)

    def of(self, entity: str, name: str) -> Counter:
        """A total of a group or a port."""
        return Counter(self.series.get((entity, name)))

    def values(self, entity: str, name: str, start_s: float, stop_s: float) -> metrics.Array:
        """The samples in a window."""
        series = self.series.get((entity, name))
        return np.empty(0) if series is None else metrics.in_window(series, start_s - 5e-10, stop_s + 5e-10)[1]


def percentile(values: metrics.Array, q: float) -> float:
    """A percentile; NaN of nothing."""
    return float(np.percentile(values, q)) if values.size else math.nan


def halves(counters: Counters, groups: Mapping[str, Sequence[str]], window: Window) -> dict[str, tuple[float, float]]:
    """The goodput (Mbit/s) of each group of bulk flows, given by its entities, in both halves of a window. Groups that are not there for
    all of the window, or have no series, are left out."""
    found = {}
    whole = window.within(counters.duration_s)
    for group, entities in groups.items():
        lives = [counters.life_s(entity) for entity in entities]
        start_s, stop_s = max(whole.start_s, min(start for start, _ in lives)), whole.stop_s
        if (
            stop_s <= start_s
            or min(end for _, end in lives) < stop_s - 1e-9
            or max(start for start, _ in lives) > start_s + (stop_s - start_s) / 4
        ):
            continue
        middle_s = (start_s + stop_s) / 2
        series = [counters.of_flow(entity, "rx_bytes") for entity in entities]
        parts = [math.fsum(each.between(a, b) for each in series) * 8 / (b - a) / 1e6 for a, b in ((start_s, middle_s), (middle_s, stop_s))]
        if not any(map(math.isnan, parts)):
            found[group] = (parts[0], parts[1])
    return found


def rows_within(rows: Sequence[Mapping[str, Any]], window: Window) -> list[Mapping[str, Any]]:
    """Rows of transfers that were completed within a window: they began and ended in it."""
    return [
        row
        for row in rows
        if row.get("completed_ns") is not None and row["start_ns"] / _NS >= window.start_s and row["completed_ns"] / _NS <= window.stop_s
    ]
