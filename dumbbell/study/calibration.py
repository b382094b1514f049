"""Calibrating background traffic: how often connections come, and how large the largest transfers are, for a load and a variability.

Only the background counts, from a warm-up on: the mean load of each bottleneck (RFC 5166, 2.1.1), and the coefficient of
variation, over bins of a second, of the bandwidth that it leaves. The load is met by scaling the rates at which connections come, the
variability by one size of the scenario, bisected on a logarithmic scale; every point is seen over the same seeds.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell import metrics
from dumbbell.errors import BadInput

if TYPE_CHECKING:
    from dumbbell.executor import Executor
    from dumbbell.executor.progress_state import Progress
    from dumbbell.results import Run, Store
    from dumbbell.scenario import Scenario
    from dumbbell.scenario.generated.kinds import Transfers

Interval = tuple[float, float, float]
"""A mean over seeds and its confidence limits, which are infinite for one seed."""
_ROUNDS = 8
"""Most times that the load of a point is corrected."""
_STEPS = 24
"""Most bisections; the range of sizes is then a factor of 2^-24 of what it was, on a logarithmic scale."""
_COV_WITHIN = 0.02
"""How near the variability must come to the one that is wanted, as a share of it."""
_BIN_S = 1.0
_NS_PER_S = 10**9


def shown(interval: Interval) -> str:
    """Mean and limits as people read them, or the mean alone if the limits are not known."""
    mean, low, high = interval
    return f"{mean:.4g} ({low:.4g} to {high:.4g})" if math.isfinite(low) else f"{mean:.4g}"


@dataclass(frozen=True)
class Knob:
    """A size of the scenario that the variability rises with."""

    key: str
    """Dotted key."""
    low: int
    """The minimum value that is tried, bytes."""
    high: int
    """The largest."""


@dataclass(frozen=True)
class Task:
    """A background to calibrate."""

    name: str
    scenario: Callable[[Mapping[str, Any]], Scenario]
    """The scenario with other values of dotted keys."""
    load_mbit: float | None = None
    """Wanted at each bottleneck; None: any."""
    cov: float | None = None
    """Wanted of the bandwidth that is left; None: any."""
    knob: Knob | None = None
    """The size to vary for it."""
    load_within_mbit: float = 1.0
    """How near the load must come to the one that is wanted."""
    seeds: int = 10
    warm_up_s: float = 60.0
    window_s: float = 600.0


@dataclass(frozen=True)
class Sample:
    """Load and variability of a background at one queue in one run, from the warm-up to the end."""

    port: str
    seed: int
    load_mbit: float
    """Counted as the queue's rate counts."""
    cov: float
    """Coefficient of variation of the bandwidth that is left, over bins of a second."""
    capacity_mbit: float


@dataclass(frozen=True)
class Point:
    """A background that was looked at."""

    settings: Mapping[str, str]
    """Dotted keys of the scenario and the values that make it this one."""
    samples: Sequence[Sample] = field(repr=False)

    @property
    def load_mbit(self) -> Interval:
        """The mean load of a queue, over seeds."""
        return self._over_seeds(lambda sample: sample.load_mbit)

    @property
    def cov(self) -> Interval:
        """The mean variability of what is left at a queue, over seeds."""
        return self._over_seeds(lambda sample: sample.cov)

    def cov_at(self, load_mbit: float | None) -> float:
        """The variability at another load: the variance of independent connections is proportional to their number."""
        mean_mbit, capacity = self.load_mbit[0], float(np.mean([sample.capacity_mbit for sample in self.samples]))
        if load_mbit is None:
            return self.cov[0]
        return self.cov[0] * (capacity - mean_mbit) / (capacity - load_mbit) * math.sqrt(load_mbit / mean_mbit)

    def _over_seeds(self, value: Callable[[Sample], float]) -> Interval:
        """Queues of one run are not independent: each seed counts once."""
        seeds = dict.fromkeys(sample.seed for sample in self.samples)
        means = [float(np.mean([value(sample) for sample in self.samples if sample.seed == seed])) for seed in seeds]
        if len(set(means)) == 1:
            return means[0], -math.inf, math.inf
        return metrics.confidence_interval(means)

    def as_json(self) -> dict[str, Any]:
        """Plain data for JSON; None is an infinite limit."""

        def interval(found: Interval) -> dict[str, float | None]:
            return {name: value if math.isfinite(value) else None for name, value in zip(("mean", "low", "high"), found, strict=True)}

        return {
            "settings": dict(self.settings),
            "load_mbit": interval(self.load_mbit),
            "cov": interval(self.cov),
            "samples": [vars(sample) for sample in self.samples],
        }


Look = Callable[[Mapping[str, str]], Point]
"""Looks at the background with these settings."""


def calibrate(task: Task, look: Look) -> list[Point]:
    """The points that were looked at; the last is the result. Without anything wanted it is the scenario as it is.

    Raises `BadInput` if what is wanted cannot be reached.
    """
    search = _Search(task, look)
    if task.cov is None:
        search.at_load(None)
    else:
        if task.knob is None:
            raise BadInput(f"{task.name}: a variability is wanted and nothing may vary; expected a key and a range of sizes")
        search.for_cov(task.cov, task.knob)
    return search.points


class _Search:
    """Looks for what is wanted, and keeps what it has looked at."""

    def __init__(self, task: Task, look: Look) -> None:
        self.task, self.look = task, look
        self.points: list[Point] = []
        self.carried = 1.0
        """Load over the payload that is offered, as seen at the last size."""

    def for_cov(self, wanted: float, knob: Knob) -> None:
        """Bisects the size."""
        low, high = knob.low, knob.high
        ends = [self.near_load(size).cov_at(self.task.load_mbit) for size in (low, high)]
        if not ends[0] < wanted < ends[1]:
            what = f"{knob.key} from {low}B to {high}B: CoV from {ends[0]:.4g} to {ends[1]:.4g}"
            raise BadInput(f"{self.task.name}: {what}; expected a range around {wanted:g}")
        for _ in range(_STEPS):
            middle = round(math.sqrt(low * high))
            if middle in (low, high):
                break
            found = self.near_load(middle).cov_at(self.task.load_mbit)
            if abs(found - wanted) <= _COV_WITHIN * wanted:
                found = self.at_load(middle).cov[0]
                if abs(found - wanted) <= _COV_WITHIN * wanted:
                    return
            low, high = (middle, high) if found < wanted else (low, middle)
        raise BadInput(f"{self.task.name}: {knob.key}: nothing between {low}B and {high}B has a CoV near {wanted:g}; expected another key")

    def near_load(self, size: int) -> Point:
        """The point with a size about at the load that is wanted."""
        return self.at_load(size, rounds=1)

    def at_load(self, size: int | None, rounds: int = _ROUNDS) -> Point:
        """The point with a size at the load that is wanted, or after less than `_ROUNDS` corrections the last of them.

        Other arrivals are also other draws, so that the load is not quite proportional to their rate: it is corrected by the mean of what
        was seen at this size.
        """
        sizes = {} if size is None or self.task.knob is None else {self.task.knob.key: f"{size}B"}
        wanted = self.task.load_mbit
        if wanted is None:
            return self._seen(sizes)
        arrivals = Arrivals.of(self.task.name, self.task.scenario(sizes))
        carried: list[float] = []
        for _ in range(rounds):
            scale = wanted / (self.carried * arrivals.offered_mbit)
            point = self._seen({**arrivals.scaled(scale), **sizes})
            carried.append(point.load_mbit[0] / (scale * arrivals.offered_mbit))
            self.carried = float(np.mean(carried))
            if abs(point.load_mbit[0] - wanted) <= self.task.load_within_mbit:
                return point
        if rounds < _ROUNDS:
            return point
        what = f"{_ROUNDS} rates of arrivals give {point.load_mbit[0]:.4g} Mbit/s at last"
        raise BadInput(f"{self.task.name}: {what}; expected a load near {wanted:g} Mbit/s, which the bottleneck and the windows must allow")

    def _seen(self, settings: Mapping[str, str]) -> Point:
        self.points.append(self.look(settings))
        return self.points[-1]


@dataclass(frozen=True)
class Arrivals:
    """When the connections of a scenario come."""

    offered_mbit: float
    """Payload that they bring in each direction, on average."""
    written: Mapping[str, int | float]
    """Dotted key -> time from one connection to the next (ns), or load (a share)."""

    @classmethod
    def of(cls, name: str, scenario: Scenario) -> Arrivals:
        """Return the arrivals of a scenario. Raises `BadInput` if none can be scaled."""
        written: dict[str, int | float] = {}
        offered: dict[str, float] = {}
        for i, entry in enumerate(scenario.background):
            if entry.kind != "transfers":
                continue
            if entry.arrivals.kind not in ("poisson", "regular") or entry.size is None:
                what = f"background.{i}.arrivals: those of the kind {entry.arrivals.kind} have no rate to scale"
                raise BadInput(f"{name}: {what}; expected poisson or regular")
            value = entry.arrivals.every or entry.arrivals.load
            written[f"background.{i}.arrivals.{'load' if entry.arrivals.every is None else 'every'}"] = value or 1
            for direction in ("forward", "reverse") if entry.direction == "both" else (entry.direction,):
                offered[direction] = offered.get(direction, 0.0) + _offered_mbit(scenario, entry, direction)
        if not written:
            raise BadInput(f"{name}: background: no transfers; expected connections that come and go, whose number can be scaled")
        return cls(float(np.mean(list(offered.values()))), written)

    def scaled(self, scale: float) -> dict[str, str]:
        """Settings with which so many times as many come."""
        return {
            key: f"{value * scale:.6g}" if key.endswith("load") else f"{max(1, round(value / scale))}ns"
            for key, value in self.written.items()
        }


def _offered_mbit(scenario: Scenario, entry: Transfers, direction: str) -> float:
    from dumbbell.scenario.values.distributions import mean

    assert entry.size is not None
    bottleneck = scenario.path.bottleneck
    if direction == "reverse" and not isinstance(scenario.path.reverse, str | list):
        bottleneck = scenario.path.reverse
    shaped_bps = None if bottleneck is None else bottleneck.rate_bps
    return float(mean(entry.size)) * 8 * _NS_PER_S / entry.interval_ns(shaped_bps) / 1e6


def settings_alone(task: Task) -> dict[str, Any]:
    """Settings with which a scenario is its background alone, seen from the warm-up on."""
    return {
        "flows": [],
        "sweep": None,
        "repeat": task.seeds,
        "duration": f"{task.warm_up_s + task.window_s:g}s",
        "sample": f"{_BIN_S:g}s",
        "series": {"flows": "none", "groups": "none", "ports": "all", "shares": "none"},
    }


def samples_of(task: Task, run: Run, seed: int) -> list[Sample]:
    """Return a sample for each queue with a rate that packets of the run passed."""
    from dumbbell.results.capacity import capacities, sent_bytes

    found = []
    start_s, stop_s = task.warm_up_s, task.warm_up_s + task.window_s
    for port, capacity in capacities(run).items():
        if not run.counters[f"port/{port}"]["sent_packets"]:
            continue
        bits = metrics.bits_by_bin(sent_bytes(run, port), start_s, stop_s, _BIN_S)
        rate_mbit = capacity.mean_mbit(start_s, stop_s)
        cov = metrics.available_variation(bits, rate_mbit * 1e6, _BIN_S)
        found.append(Sample(port, seed, float(np.mean(bits)) / _BIN_S / 1e6, cov, rate_mbit))
    if not found:
        raise BadInput(f"{task.name}: its traffic passes no queue with a rate; expected a bottleneck")
    return found


def looking(task: Task, store: Store, executor: Executor | None = None, progress: Progress | None = None) -> Look:
    """Looks by running the scenario; runs that the store has are not run again. Raises `BadInput` if a run is invalid."""
    from dumbbell.running.execute import execute
    from dumbbell.running.prepare import prepare

    def look(settings: Mapping[str, str]) -> Point:
        scenario = task.scenario({**settings_alone(task), **settings})
        runs = [replace(run, cell={**settings, "seed": run.seed}) for run in scenario.expand()]
        samples: list[Sample] = []
        for run, asked in zip(execute(prepare(runs), store, executor, progress), runs, strict=True):
            if run.status == "invalid":
                raise BadInput(f"{task.name}: a run is invalid: {'; '.join(run.reasons)}; expected runs that end regularly")
            samples += samples_of(task, run, asked.seed)
        return Point(dict(settings), samples)

    return look


COLUMNS = ("name", "settings", *(f"{what}{which}" for what in ("load_mbit", "cov") for which in ("", "_low", "_high")), "seeds", "window_s")
"""Columns of calibration.csv."""


def row(task: Task, point: Point) -> dict[str, str]:
    """A point as a row of calibration.csv; its settings as `dumbbell run --set` takes them, with spaces between."""
    numbers = (*point.load_mbit, *point.cov)
    shown = (f"{value:.6g}" if math.isfinite(value) else "" for value in numbers)
    settings = " ".join(f"{key}={value}" for key, value in point.settings.items())
    return dict(zip(COLUMNS, (task.name, settings, *shown, str(task.seeds), f"{task.window_s:g}"), strict=True))


def read_rows(path: Path) -> dict[str, dict[str, str]]:
    """The rows of a calibration.csv by name."""
    with path.open(newline="", encoding="utf-8") as file:
        return {found["name"]: found for found in csv.DictReader(file)}


def settings_of(found: Mapping[str, str]) -> dict[str, str]:
    """Dotted keys and values of a row of calibration.csv."""
    return {key: value for key, _, value in (each.partition("=") for each in found["settings"].split())}
