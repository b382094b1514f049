"""A run as a case looks at it: phases, ACKs and series of its one flow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dumbbell.conform.case import NotSeenError
from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl

SEED = 1
"""Seed of all cases. Two runs with it are the same up to the first change of their paths."""
FLOW = "flow"


@dataclass(frozen=True, slots=True)
class Span:
    """A time that the flow spends in a state or phase, s."""

    name: str
    start: float
    end: float

    @property
    def length(self) -> float:
        """Its length, s."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Ack:
    """An ACK: when it came, s, and data in flight after it, segments."""

    t: float
    inflight: float


class Seen:
    """The record and the series of a run of one flow."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        (resolved,) = Scenario.model_validate(document).expand()
        self.duration = int(resolved.settings.duration) / 1e9
        self._run = compute(resolved)
        self.row = self._run.flows.rows()[0]
        self.name = str(self.row["flow"])

    @cached_property
    def _events(self) -> pl.DataFrame:
        events = self._run.events
        return events.filter(events["flow"] == self.name)

    @cached_property
    def _states(self) -> list[tuple[float, str, str, str]]:
        """Time, variable, old and new word of each change."""
        rows = self._events.filter(self._events["kind"] == "state").select("t_ns", "reason").rows()
        found = []
        for t_ns, reason in rows:
            name, _, change = reason.partition(" ")
            old, arrow, new = change.partition(" -> ")
            if arrow:
                found.append((t_ns / 1e9, name, old, new))
        return found

    @cached_property
    def spans(self) -> Sequence[Span]:
        """States outside of PROBE_BW and its phases, in order."""
        found: list[Span] = []
        current = ("none", 0.0)
        for t, name, _, new in [*self._states, (self.duration, "mode", "", "end")]:
            if name in ("mode", "phase") and new not in ("probe_bw", "none") and new != current[0]:
                found.append(Span(current[0], current[1], t))
                current = (new, t)
        return found[1:]

    def all(self, name: str) -> list[Span]:
        """All spans of this state or phase."""
        return [span for span in self.spans if span.name == name]

    def first(self, name: str, after: float = 0.0) -> Span:
        """The first span that begins after a time. Raises `NotSeenError`."""
        found = next((span for span in self.all(name) if span.start >= after), None)
        if found is None:
            raise NotSeenError(f"the run has no {name.upper()} after {after:.3f} s")
        return found

    def next(self, span: Span) -> Span | None:
        """The span after this one."""
        at = self.spans.index(span) + 1
        return self.spans[at] if at < len(self.spans) else None

    def order(self, start: float, end: float) -> list[str]:
        """Names of the spans that begin within a time."""
        return [span.name for span in self.spans if start <= span.start < end]

    def turns(self, name: str, new: str = "yes") -> list[float]:
        """Times at which a variable gets this word."""
        return [t for t, each, _, word in self._states if (each, word) == (name, new)]

    def times(self, kind: str) -> list[float]:
        """Times of events of a kind."""
        return [t / 1e9 for t in self._events.filter(self._events["kind"] == kind)["t_ns"].to_list()]

    def acks(self, start: float, end: float) -> Iterator[Ack]:
        """ACKs from a time on, up to another one and with it."""
        acks = self._events.filter(self._events["kind"] == "ack").select("t_ns", "inflight").rows()
        return (Ack(t_ns / 1e9, inflight) for t_ns, inflight in acks if start <= t_ns / 1e9 <= end)

    def series(self, name: str, start: float = 0.0, end: float = float("inf")) -> NDArray[np.float64]:
        """Values of a series of the flow after a time, up to another one and with it."""
        t, values = self.with_times(name, start, end)
        del t
        return values

    def with_times(self, name: str, start: float = 0.0, end: float = float("inf")) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Times and values of a series. Samples without a value are left out."""
        try:
            t, values = self._run.series(f"flow/{self.name}", name)
        except KeyError:
            return np.array([]), np.array([])
        chosen = (t > start) & (t <= end) & ~np.isnan(values)
        return t[chosen], values[chosen]

    def after(self, name: str, t: float) -> float:
        """The first value after a time. Raises `NotSeenError`."""
        return self._one(self.series(name, t)[:1], name, t)

    def before(self, name: str, t: float) -> float:
        """The last value up to a time. Raises `NotSeenError`."""
        return self._one(self.series(name, 0.0, t)[-1:], name, t)

    def has(self, name: str, t: float) -> bool:
        """True if the variable has a value at the first sample after a time."""
        times, _ = self.with_times(name, t)
        return bool(len(times)) and times[0] <= t + 0.0021

    def _one(self, values: NDArray[np.float64], name: str, t: float) -> float:
        if not len(values):
            raise NotSeenError(f"{name} has no value at {t:.3f} s")
        return float(values[0])

    def port(self, port: str, name: str, start: float, end: float) -> NDArray[np.float64]:
        """Values of a series of a port."""
        t, values = self._run.series(f"port/{port}", name)
        return values[(t > start) & (t <= end)]

    def rate_mbit(self, start: float, end: float) -> float:
        """Goodput of a time, Mbit/s."""
        t, read = self.with_times("rx_bytes")
        first, last = np.interp([start, end], t, read)
        return float((last - first) * 8e-6 / (end - start))
