"""Maximum that the queues of a run could send, which may vary: rates and their steps, or the opportunities of a trace."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell import metrics
from dumbbell.metrics import Array, Series
from dumbbell.scenario.units import ETHERNET_BYTES
from dumbbell.scenario.values.trace import OPPORTUNITY_BYTES

if TYPE_CHECKING:
    from dumbbell.results.run import Run

_NS_PER_S = 1e9
_MS_PER_S = 1e3


@dataclass(frozen=True)
class Capacity:
    """Capacity of a queue."""

    rates: Series
    """Times (s) and the rate from each on (Mbit/s), if it has rates."""
    opportunities_s: Array | None
    """Otherwise those of the whole run."""
    end_s: float
    """The end of the run."""
    uncounted_bytes: int = 0
    """Bytes of each frame that the rate does not count."""

    def steps(self, window_s: float) -> Series:
        """Rates (Mbit/s) as the two ends of each step; those of opportunities are means over windows."""
        if self.opportunities_s is not None:
            return metrics.opportunity_rate_mbit(self.opportunities_s, OPPORTUNITY_BYTES, window_s, self.end_s)
        times, mbit = self.rates
        return np.repeat(np.append(times, self.end_s), 2)[1:-1], np.repeat(mbit, 2)

    def delay_ms(self, waiting: Series) -> Array:
        """Return how long (ms) the last of the waiting bytes at each time (s, bytes) will wait, if no packet overtakes it and the rate
        stays."""
        if self.opportunities_s is not None:
            return metrics.drain_ms(self.opportunities_s, OPPORTUNITY_BYTES, waiting)
        (t_s, waiting_bytes), (times, mbit) = waiting, self.rates
        rate_mbit: Array = mbit[np.searchsorted(times, t_s, side="right").clip(1) - 1]
        return waiting_bytes * 8 / (rate_mbit * 1e3)

    def mean_mbit(self, start_s: float = 0.0, stop_s: float = math.inf) -> float:
        """Over a time within the run; ValueError if it is none."""
        stop_s = min(stop_s, self.end_s)
        if self.opportunities_s is None:
            return metrics.mean_rate(self.rates, start_s, stop_s)
        within = self.opportunities_s[self.opportunities_s > start_s] - start_s
        _, (mbit, _) = metrics.opportunity_rate_mbit(within, OPPORTUNITY_BYTES, stop_s - start_s, stop_s - start_s)
        return float(mbit)


def capacities(run: Run) -> dict[str, Capacity]:
    """By the port's id, of every queue with a shaper."""
    plan: Mapping[str, Any] = run.plan or {}
    end_s = plan.get("duration_ns", 0) / _NS_PER_S
    found = {}
    for i, port in enumerate(plan.get("ports", ())):
        shaper = port.get("shaper", {})
        rate_bps = shaper.get("rate_bps") or port.get("qdisc", {}).get("rate_bps")
        if port["kind"] != "queue" or not rate_bps:
            continue
        steps = sorted((c["at_ns"] / _NS_PER_S, c["rate_bps"] / 1e6) for c in plan["schedule"] if c["kind"] == "rate" and c["port"] == i)
        times, mbit = np.array([(0.0, rate_bps / 1e6), *steps], dtype=float).T
        at_s = _repeated(np.array(shaper["at_ms"]) / _MS_PER_S, end_s) if "at_ms" in shaper else None
        found[str(port["id"])] = Capacity((times, mbit), at_s, end_s, uncounted_bytes(port))
    return found


def uncounted_bytes(port: Mapping[str, Any]) -> int:
    """Return the bytes of each frame that the rate of a queue does not count: dummynet's counts IP packets, all others count frames."""
    return ETHERNET_BYTES if port["qdisc"]["kind"] == "dummynet" else 0


def sent_bytes(run: Run, port: str = "bottleneck") -> Series:
    """Times (s) and bytes that a queue has sent up to then, counted as its rate counts them. KeyError if there is none, or no series."""
    uncounted = capacities(run)[port].uncounted_bytes
    times, sent = run.series(f"port/{port}", "sent_bytes")
    return times, sent - uncounted * run.series(f"port/{port}", "sent_packets")[1]


def utilisation(run: Run, port: str = "bottleneck") -> float:
    """Return the share of its capacity in the whole run that a queue used, as its rate counts. KeyError if there is no such queue."""
    counters, capacity = run.counters[f"port/{port}"], capacities(run)[port]
    counted = counters["sent_bytes"] - capacity.uncounted_bytes * counters["sent_packets"]
    return metrics.utilisation(counted * 8 / capacity.end_s / 1e6, capacity.mean_mbit())


def _repeated(at_s: Array, end_s: float) -> Array:
    """Return the opportunities up to the end of a trace that starts again after its last one."""
    period_s = float(at_s[-1])
    turns = math.floor(end_s / period_s) + 1
    whole = np.concatenate([at_s + turn * period_s for turn in range(turns)])
    return whole[whole <= end_s]
