"""The workers: which engines they can run, and what they work on. Facts about all of them together are updated as they come and go, so that
handing out a batch costs the same however many there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dumbbell.executor.cluster import Worker
from dumbbell.running.cluster.confirmation import Check
from dumbbell.running.cluster.queue import Piece

Handed = Piece | Check
"""A task that a worker gets."""


class Crew:
    """Workers that may take another task some time, with their tasks."""

    def __init__(self) -> None:
        self._able: dict[Worker, Sequence[str]] = {}
        self._runners: Counter[str] = Counter()
        """By engine, how many workers can run it."""
        self._having: dict[Worker, set[Handed]] = {}
        self._spared: set[Handed] = set()
        """Tasks that were lost with a worker, and that the worker has not died of."""

    def __len__(self) -> int:
        return len(self._able)

    def joins(self, worker: Worker, able: Sequence[str]) -> None:
        """Add a worker that can run these engines, or update which engines it can run."""
        self.leaves(worker)
        self._able[worker] = able
        self._runners.update(able)

    def leaves(self, worker: Worker) -> None:
        """Takes a worker out, if it is there."""
        self._runners.subtract(self._able.pop(worker, ()))

    def able(self, worker: Worker) -> Sequence[str]:
        """The engines that a worker can run."""
        return self._able[worker]

    def elsewhere(self, worker: Worker) -> list[str]:
        """The engines that another worker can run."""
        own = self._able[worker]
        return [name for name, count in self._runners.items() if count > (name in own)]

    def is_idle(self, worker: Worker) -> bool:
        """True if a worker has no task."""
        return worker not in self._having

    def has_alone(self, worker: Worker) -> bool:
        """True if a worker runs a task that must run alone."""
        return any(isinstance(each, Piece) and each.is_alone for each in self._having.get(worker, ()))

    def takes(self, worker: Worker, of: Handed) -> None:
        """Note a task that a worker got."""
        self._having.setdefault(worker, set()).add(of)

    def gives_back(self, of: Handed, worker: Worker) -> None:
        """Notes that a worker has answered, or is lost."""
        self._spared.discard(of)
        if (has := self._having.get(worker)) is not None:
            has.discard(of)
            if not has:
                del self._having[worker]

    def loses(self, of: Handed, worker: Worker) -> bool:
        """True if a worker that has died may have died of this task.

        A worker may have had several tasks at once. Pieces whose runs had processes of their own are not suspected if there were other
        tasks. The queue decides how often a piece may be spared: in the end the piece has a worker to itself.
        """
        if of in self._having.get(worker, ()):
            lost = self._having.pop(worker)
            apart = {each for each in lost if isinstance(each, Piece) and each.deaths}
            if apart != lost:
                self._spared |= apart
        return of not in self._spared
