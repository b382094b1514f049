"""The runs that no worker has, and how many of them are handed out together."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dumbbell.running.sweep import Jobs

BATCH_S, _FIRST_S = 10.0, 1.0
"""Duration of a batch once the pace is known, and before. A task costs dask some 15 ms, whatever it does."""
_SHARES = 3
"""The last batches are smaller: none is more than this part of the remaining work of each thread, so that workers end together."""
_MOST_BATCH = 2000
LEAST_PACK = 10
"""Runs of a batch that are worth a pack: of longer ones, of which a batch has fewer, each gets a folder."""
TRIES = 3
"""Workers that may die of a run before it is given up; the last one has nothing else."""
SPARINGS = 5
"""Number of workers that may die of the other tasks that they had, before these runs get a worker to themselves."""


@dataclass(eq=False)
class Piece:
    """Runs of one engine that are handed out together."""

    positions: Sequence[int]
    cost: float
    """Estimated, CPU seconds."""
    deaths: int = 0
    """Number of workers that had them and died."""
    spared: int = 0
    """Number of workers that had them and died, but may have died of something else."""
    began: float = field(default_factory=time.monotonic)

    @property
    def is_alone(self) -> bool:
        """True if a worker that has them must have nothing else, so that it can die of nothing else."""
        return self.spared >= SPARINGS or (len(self.positions) == 1 and self.deaths >= TRIES - 1)


class Queue:
    """Runs by engine, the longest first; before them those that are tried again."""

    def __init__(self, jobs: Jobs, todo: Sequence[int]) -> None:
        self._jobs = jobs
        self._waiting: dict[str, deque[int]] = {}
        for position in todo:
            self._waiting.setdefault(jobs.engine(position), deque()).append(position)
        self._again: deque[Piece] = deque()
        self._left_s = sum(map(jobs.cpu_s, todo))

    def __bool__(self) -> bool:
        return bool(self._again or any(self._waiting.values()))

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines of all runs."""
        return tuple(self._waiting)

    @property
    def left(self) -> tuple[str, ...]:
        """The engines of the runs that no worker has."""
        again = {self._jobs.engine(piece.positions[0]) for piece in self._again}
        return tuple(name for name, waiting in self._waiting.items() if waiting or name in again)

    def take(self, able: Sequence[str], pace: float, threads: int, is_idle: bool = True) -> Piece | None:
        """Return the next runs for a worker that can run these engines; None if it can run none of them.

        Args:
            able: Names of engines.
            pace: Seconds that runs took for each second of their estimated cost; 0 if it is not yet known.
            threads: Those of all workers.
            is_idle: True if the worker has nothing else.
        """
        for piece in self._again:
            if self._jobs.engine(piece.positions[0]) in able and (is_idle or not piece.is_alone):
                self._again.remove(piece)
                piece.began = time.monotonic()
                return piece
        for name in able:
            if waiting := self._waiting[name]:
                return self._next(waiting, pace, threads)
        return None

    def _next(self, waiting: deque[int], pace: float, threads: int) -> Piece:
        """Runs for about the time of a batch, at least one."""
        most = BATCH_S / pace if pace else _FIRST_S
        share = max(min(most, self._left_s / (_SHARES * max(threads, 1))), _FIRST_S / max(pace, 1.0))
        positions = [waiting.popleft()]
        cost = self._jobs.cpu_s(positions[0])
        while waiting and len(positions) < _MOST_BATCH and cost + self._jobs.cpu_s(waiting[0]) <= share:
            positions.append(waiting.popleft())
            cost += self._jobs.cpu_s(positions[-1])
        self._left_s -= cost
        return Piece(positions, cost)

    def drop(self, there: Callable[[int], bool]) -> Piece | None:
        """Takes out the runs that exist by now; None if none is."""
        found = [position for waiting in self._waiting.values() for position in waiting if there(position)]
        dropped = frozenset(found)
        for waiting in self._waiting.values():
            left = [position for position in waiting if position not in dropped]
            waiting.clear()
            waiting.extend(left)
        cost = sum(map(self._jobs.cpu_s, found))
        self._left_s -= cost
        return Piece(found, cost) if found else None

    def put_back(self, piece: Piece) -> None:
        """Takes back runs whose worker may have died of others."""
        piece.spared += 1
        self._again.append(piece)

    def try_again(self, piece: Piece) -> bool:
        """Take back runs whose worker has died, in halves. Return False, and take nothing, for a run that was alone too often."""
        deaths = piece.deaths + 1
        if len(piece.positions) == 1 and deaths >= TRIES:
            return False
        middle = (len(piece.positions) + 1) // 2
        for part in filter(None, (piece.positions[:middle], piece.positions[middle:])):
            self._again.append(Piece(part, sum(map(self._jobs.cpu_s, part)), deaths, piece.spared))
        return True
