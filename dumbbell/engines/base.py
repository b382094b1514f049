"""What an engine is, and what all of them do with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dumbbell.engines import ENGINES, engine
from dumbbell.engines.capabilities import Capabilities
from dumbbell.scenario import Problem, ResolvedScenario, ScenarioError
from dumbbell.scenario.units import FRAME_BYTES

if TYPE_CHECKING:
    from dumbbell.results import Run

_SEGMENT_BYTES = 1448
"""Payload of a full segment."""
_MOST_CAPTURED = 2_000_000
"""Data packets of a run whose packets are captured: they are in memory at once, with their ACKs and at both hosts (1 kB or so each)."""


class Engine(ABC):
    """Lowers a resolved scenario to its own world and returns a run."""

    name: str
    """As scenarios and the command line know it."""

    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What the engine can run. Costs nothing, and needs nothing installed."""

    @abstractmethod
    def require(self) -> None:
        """Raises `EnvironmentFault` in one line if this machine lacks what the engine needs."""

    @abstractmethod
    def refuse_details(self, runs: Sequence[ResolvedScenario]) -> None:
        """Raises `ScenarioError` with what no table of capabilities shows."""

    @abstractmethod
    def key(self, resolved: ResolvedScenario) -> str:
        """The content hash of a run: what was asked (with seed and sampling), what that was lowered to, and the engine's sources."""

    @abstractmethod
    def produce(self, resolved: ResolvedScenario, run_key: str) -> Run:
        """Runs one scenario that has not been refused. A crash gives a run of status `invalid` without counters."""

    @abstractmethod
    def cpu_s(self, resolved: ResolvedScenario) -> float:
        """About what a run costs on this machine, CPU seconds."""

    def refuse(self, runs: Sequence[ResolvedScenario]) -> None:
        """Raises `ScenarioError` with everything in the runs that the engine cannot run; each problem once. Runs nothing."""
        self.capabilities().refuse(runs, [engine(other).capabilities() for other in ENGINES if other != self.name])
        if problems := dict.fromkeys(problem for run in runs if (problem := _too_many_packets(run))):
            raise ScenarioError(list(problems))
        self.refuse_details(runs)

    def run(self, resolved: ResolvedScenario) -> Run:
        """Runs one scenario. Raises `ScenarioError` for what the engine cannot do, `EnvironmentFault` for what the machine lacks."""
        self.refuse([resolved])
        self.require()
        return self.produce(resolved, self.key(resolved))


def _too_many_packets(resolved: ResolvedScenario) -> Problem | None:
    settings = resolved.settings
    if not settings.captures or (packets := expected_packets(resolved)) <= _MOST_CAPTURED:
        return None
    what = f"takes about {packets} packets in {settings.duration}; expected at most {_MOST_CAPTURED}, by a shorter duration"
    return resolved.problem(("capture" if settings.capture else "passive_rtt",), what)


def expected_packets(resolved: ResolvedScenario) -> int:
    """About how many data packets a run delivers, at most: the bottleneck full all the time, or all transfers complete."""
    settings = resolved.settings
    packets = settings.path_rate_bps * int(settings.duration) // (8 * FRAME_BYTES * 10**9)
    sizes = [flow.bytes for flow in settings.flows]
    if None not in sizes:
        packets = min(packets, sum(flow.count * (int(flow.bytes or 0) // _SEGMENT_BYTES + 1) for flow in settings.flows))
    seconds = int(settings.duration) / 10**9
    return packets + sum(int(int(udp.rate) / (8 * int(udp.size)) * seconds) for udp in settings.background)


def label(resolved: ResolvedScenario) -> str:
    """The run in messages: its name and where it is in the sweep."""
    cell = ", ".join(f"{name}: {value}" for name, value in resolved.cell.items())
    return f"{resolved.name} ({cell})" if cell else resolved.name
