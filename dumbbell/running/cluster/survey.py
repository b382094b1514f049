"""Engines that the workers of a cluster can run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell.engines import ENGINES, engine
from dumbbell.errors import EnvironmentFault
from dumbbell.executor.cluster import Cluster, Task, Worker
from dumbbell.running.cluster.batch import halt, standing
from dumbbell.running.cluster.sweep import why_not


@dataclass(frozen=True)
class Surveyed:
    """A worker."""

    address: str
    threads: int
    host: dict[str, Any]
    """Facts as in host.json."""
    engines: dict[str, str]
    """By engine: the reason why it cannot run the engine as it is here; empty if it can."""
    refused: str
    """Reason why it says nothing of itself; empty if it does."""


class _Survey:
    """Asks, and has nothing to do; a `TaskSource`."""

    waiting = False
    halting = Task(halt, "")

    @property
    def question(self) -> Task[Any]:
        return Task(standing, engines())

    def deserted(self) -> None:
        pass

    def refusal(self, _worker: Worker) -> str:
        return ""

    def lack(self, _worker: Worker) -> str:
        return ""

    def joins(self, _worker: Worker) -> None:
        pass

    def leaves(self, _worker: Worker) -> None:
        pass

    def next(self, _worker: Worker, _alone: bool = False) -> None:
        return None


def engines() -> tuple[str, ...]:
    """Return the engines that have no machines of their own."""
    return tuple(name for name in ENGINES if not engine(name).in_real_time)


def survey(cluster: Cluster) -> list[Surveyed]:
    """The workers that exist. Raises as `Cluster.connect`."""
    ours, lacking = _ours()
    found = []
    for worker in cluster.ask(_Survey()):
        facts = worker.facts or {}
        reasons = {**lacking, **why_not(ours, facts)} if facts else {}
        able = {name: reasons.get(name, "") for name in engines() if facts}
        found.append(Surveyed(worker.address, worker.threads, facts.get("host", {}), able, worker.refused))
    return found


def _ours() -> tuple[dict[str, Sequence[str]], dict[str, str]]:
    """The sources of the engines that are here, and why others are not."""
    ours: dict[str, Sequence[str]] = {}
    lacking = {}
    for name in engines():
        try:
            engine(name).require()
            ours[name] = engine(name).sources()
        except EnvironmentFault as fault:
            lacking[name] = f"not here: {fault}"
    return ours, lacking
