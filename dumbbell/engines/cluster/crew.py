"""The workers that there are: which engines they can run, and what they are at. What is asked of all of them together is kept as they come
and go, so that handing out a batch costs the same however many there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dumbbell.engines.cluster.confirmation import Check
from dumbbell.engines.cluster.queue import Piece
from dumbbell.executor.cluster import Worker

Handed = Piece | Check
"""What a worker is given."""


class Crew:
    """Workers that may take another task some time, and what each has."""

    def __init__(self) -> None:
        self._able: dict[Worker, Sequence[str]] = {}
        self._runners: Counter[str] = Counter()
        """By engine, how many workers can run it."""
        self._having: dict[Worker, set[Handed]] = {}
        self._spared: set[Handed] = set()
        """Of what was lost with a worker, what it has not died of."""

    def __len__(self) -> int:
        return len(self._able)

    def joins(self, worker: Worker, able: Sequence[str]) -> None:
        """Adds a worker that can run these engines, or tells anew which it can."""
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
        """Whether a worker has nothing."""
        return worker not in self._having

    def has_alone(self, worker: Worker) -> bool:
        """Whether a worker has something that it may have nothing beside."""
        return any(isinstance(each, Piece) and each.is_alone for each in self._having.get(worker, ()))

    def takes(self, worker: Worker, of: Handed) -> None:
        """Notes what a worker was given."""
        self._having.setdefault(worker, set()).add(of)

    def gives_back(self, of: Handed, worker: Worker) -> None:
        """Notes that a worker has answered, or is lost."""
        self._spared.discard(of)
        if (has := self._having.get(worker)) is not None:
            has.discard(of)
            if not has:
                del self._having[worker]

    def loses(self, of: Handed, worker: Worker) -> bool:
        """Whether a worker that has died may have died of this.

        Of what it had at once, pieces whose runs had processes of their own are not suspected if it had anything else. How often a piece
        may be spared is up to the queue: in the end it has a worker to itself.
        """
        if of in self._having.get(worker, ()):
            lost = self._having.pop(worker)
            apart = {each for each in lost if isinstance(each, Piece) and each.deaths}
            if apart != lost:
                self._spared |= apart
        return of not in self._spared
